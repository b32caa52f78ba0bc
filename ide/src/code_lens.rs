// Feature: Code lens
//
//! ▶ Run over every kernel that the file launches: one lens a launch.

use std::{ops::Range, path::Path};

use tritium_semantics::launch;

use crate::Analysis;

#[derive(Debug, Clone, PartialEq)]
pub struct Lens {
    pub range: Range<usize>,
    pub title: String,
    pub kernel: String,
    pub launch: String,
}

impl Analysis {
    pub fn code_lenses(&self, path: &Path) -> Vec<Lens> {
        let Some(file) = self.file(path).filter(|_| self.options().code_lens) else { return Vec::new() };
        let launches = &launch::launches(self.db(), file).launches;
        let mut lenses = Vec::new();
        for kernel in self.kernels(path) {
            // The configurations of one launch share its name, and a run takes the first.
            let mut own: Vec<_> = launches.iter().filter(|l| l.kernel == kernel.function).collect();
            let mut seen = std::collections::BTreeSet::new();
            own.retain(|launch| seen.insert(&launch.name));
            for launch in &own {
                let title = if own.len() == 1 { "▶ Run".to_owned() } else { format!("▶ Run {}", launch.name) };
                lenses.push(Lens {
                    range: kernel.range.clone(),
                    title,
                    kernel: kernel.name.clone(),
                    launch: launch.name.to_string(),
                });
            }
        }
        lenses
    }
}
