// Feature: Ahead-of-time builds
//
//! What of a file is compiled before it runs, and for which architectures.

use std::path::Path;

use tritium_runtime::build::{Plan, Source};
use tritium_semantics::target::Sm;

use crate::Analysis;

impl Analysis {
    /// A file as one to build: for these architectures, or that of its project's GPU.
    pub fn to_build(&self, path: &Path, archs: &[&'static Sm]) -> Option<Source> {
        let archs = if archs.is_empty() { vec![self.gpu().sm] } else { archs.to_vec() };
        Some(Source { path: path.to_owned(), file: self.file(path)?, archs })
    }

    /// What is to be compiled of files; `kernel`: only of this one. `all_variants`: also what their launches need whose integers differ.
    pub fn plan_build(&self, sources: &[Source], kernel: Option<&str>, all_variants: bool) -> Plan {
        Plan::new(self.db(), sources, kernel, all_variants)
    }
}
