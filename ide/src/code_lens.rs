// Feature: Code lens
//
//! ▶ Run, Sanitize and Bench over every kernel that the file launches: three lenses a launch, about the row of the active configuration; Tune, about
//! all rows, where the kernel has a tuner.
//! Over a kernel of whose launches none is wholly known they ask for sizes first: ▶ Run…

use std::{ops::Range, path::Path};

use tritium_semantics::{
    host,
    launch::{self, Launch},
};

use crate::{Analysis, kernels::Kernel, recorded};

#[derive(Debug, Clone, PartialEq)]
pub struct Lens {
    pub range: Range<usize>,
    pub title: String,
    pub deed: Deed,
    pub kernel: String,
    /// `rows`, `matmul:3`; `None`: what the launch takes is asked for.
    pub launch: Option<String>,
}

/// What a lens does with its launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Deed {
    Run,
    /// Under checks.
    Sanitize,
    /// Again and again, by the clock.
    Bench,
    /// Under every row of its tuner.
    Tune,
}

/// A launch that can be run, at the name of its kernel.
#[derive(Debug, Clone, PartialEq)]
pub struct Runnable {
    pub range: Range<usize>,
    pub kernel: String,
    /// `rows`, `matmul:3`
    pub launch: String,
    /// Its name, where it has rows to choose from.
    pub tuned: Option<String>,
    /// The kernel has no other.
    is_only: bool,
    /// How often a program has made it, where that is how it is known.
    recorded: Option<String>,
}

impl Analysis {
    pub fn code_lenses(&self, path: &Path) -> Vec<Lens> {
        if !self.options().code_lens {
            return Vec::new();
        }
        let deeds = [(Deed::Run, "▶ Run"), (Deed::Sanitize, "Sanitize"), (Deed::Bench, "Bench")];
        let lenses = |runnable: Runnable| {
            let tune = runnable.tuned.clone().map(|launch| Lens {
                range: runnable.range.clone(),
                title: format!("Tune {launch}"),
                deed: Deed::Tune,
                kernel: runnable.kernel.clone(),
                launch: Some(launch),
            });
            let one = deeds.map(|(deed, word)| {
                let Runnable { range, kernel, launch, is_only, recorded, .. } = runnable.clone();
                let title = if is_only { word.to_owned() } else { format!("{word} {launch}") };
                let title = match recorded.filter(|_| deed == Deed::Run) {
                    Some(ran) => format!("{title} ({ran})"),
                    None => title,
                };
                Lens { range, title, deed, kernel, launch: Some(launch) }
            });
            one.into_iter().chain(tune).collect::<Vec<_>>()
        };
        let asking = |kernel: Kernel| {
            deeds.map(|(deed, word)| {
                let (range, kernel) = (kernel.range.clone(), kernel.name.clone());
                Lens { range, title: format!("{word}…"), deed, kernel, launch: None }
            })
        };
        let mut out: Vec<Lens> = self.runnables(path).into_iter().flat_map(lenses).collect();
        let others =
            self.kernels(path).into_iter().filter(|kernel| self.runnable(kernel).is_empty() && self.is_launched(path, kernel));
        out.extend(others.flat_map(asking));
        out.sort_by_key(|lens| lens.range.start);
        out
    }

    /// Whether host code of the file launches a kernel, as far as its text or a caller shows.
    fn is_launched(&self, path: &Path, kernel: &Kernel) -> bool {
        let Some(file) = self.file(path) else { return false };
        let sites = host::host_launches(self.db(), file).sites.iter().map(|site| site.partial.kernel);
        sites.chain(host::called_in(self.db(), file).into_iter().map(|(_, kernel)| kernel)).any(|k| k == kernel.function)
    }

    /// What a file launches, one of each name.
    pub fn runnables(&self, path: &Path) -> Vec<Runnable> {
        let mut out = Vec::new();
        for kernel in self.kernels(path) {
            let runnable = self.runnable(&kernel);
            out.extend(runnable.iter().map(|launch| Runnable {
                range: kernel.range.clone(),
                kernel: kernel.name.clone(),
                launch: launch.id().to_string(),
                tuned: launch.config.map(|_| launch.name.to_string()),
                is_only: runnable.len() == 1 && launch.id().row.is_none(),
                recorded: self.recorded(launch).map(recorded::sentence),
            }));
        }
        out
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
        // Programs launch in many ways: of those the one that is looked at stands for all, else the one that was made most often.
        let is_recorded = |launch: &Launch| self.recorded(launch).is_some();
        let active = kernel.active.launch(self.db()).filter(|launch| is_recorded(launch)).map(|launch| &launch.name);
        let shown = active.or_else(|| out.iter().find(|launch| is_recorded(launch)).map(|launch| &launch.name)).cloned();
        out.retain(|launch| !is_recorded(launch) || shown.as_ref() == Some(&launch.name));
        out
    }
}
