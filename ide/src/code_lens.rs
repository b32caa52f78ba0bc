// Feature: Code lens
//
//! ▶ Run and Sanitize over every kernel that the file launches: two lenses a launch, about the row of the active configuration.

use std::{ops::Range, path::Path};

use tritium_semantics::launch::{self, Launch};

use crate::{Analysis, kernels::Kernel};

#[derive(Debug, Clone, PartialEq)]
pub struct Lens {
    pub range: Range<usize>,
    pub title: String,
    pub deed: Deed,
    pub kernel: String,
    /// `rows`, `matmul:3`
    pub launch: String,
}

/// What a lens does with its launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Deed {
    Run,
    /// Under checks.
    Sanitize,
}

impl Analysis {
    pub fn code_lenses(&self, path: &Path) -> Vec<Lens> {
        if !self.options().code_lens {
            return Vec::new();
        }
        let mut lenses = Vec::new();
        for kernel in self.kernels(path) {
            let runnable = self.runnable(&kernel);
            for launch in &runnable {
                let id = launch.id();
                let is_only = runnable.len() == 1 && id.row.is_none();
                for (deed, word) in [(Deed::Run, "▶ Run"), (Deed::Sanitize, "Sanitize")] {
                    let title = if is_only { word.to_owned() } else { format!("{word} {id}") };
                    lenses.push(Lens {
                        range: kernel.range.clone(),
                        title,
                        deed,
                        kernel: kernel.name.clone(),
                        launch: id.to_string(),
                    });
                }
            }
        }
        lenses
    }

    /// Which launch a request to run means. A name alone means the row of the active configuration; no name, the active configuration of
    /// the kernel, or of the first that has a launch.
    pub fn launch_to_run(&self, path: &Path, kernel: Option<&str>, launch: Option<&str>) -> Option<String> {
        let mut kernels = self.kernels(path).into_iter().filter(|k| kernel.is_none_or(|name| k.name == name));
        let found = match launch {
            None => kernels.find_map(|kernel| Some(kernel.active.launch(self.db())?.id())),
            Some(name) => kernels.find_map(|kernel| Some(self.runnable(&kernel).into_iter().find(|l| l.name == name)?.id())),
        };
        found.map(|id| id.to_string()).or_else(|| launch.map(str::to_owned))
    }

    /// The launches of a kernel, one of each name: the row of the active configuration, or the first where the launch lacks it.
    fn runnable(&self, kernel: &Kernel) -> Vec<&Launch> {
        let mut out: Vec<&Launch> = Vec::new();
        for launch in launch::launches_of(self.db(), kernel.function) {
            match out.iter_mut().find(|known| known.name == launch.name) {
                None => out.push(launch),
                Some(known) if launch.config == kernel.active.row => *known = launch,
                Some(_) => {}
            }
        }
        out
    }
}
