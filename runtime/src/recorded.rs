//! Launches that running programs have made of a file's kernels, beside the store: kept where somebody asks for it.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use serde::{Deserialize, Serialize};

use crate::kept::Kept;

const KEPT: Kept = Kept("recorded");
/// Different launches that are kept of a file: those that were made last.
const MAX_LAUNCHES: usize = 200;
/// Different launches of a kernel that count: those that were made most often.
const MAX_OF_KERNEL: usize = 4;
/// How long launches may be held back before they are written.
const PAUSE: Duration = Duration::from_secs(2);
/// Stands in a block where the launch's name comes.
const NAME: &str = "[launch.NAME]";

/// A launch, as often as it was made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recorded {
    pub kernel: String,
    /// The TOML of a launch block, under no name.
    block: String,
    /// `cpu`, `sim`, …
    pub device: String,
    pub count: u64,
    /// Seconds since 1970: the last time.
    pub at: u64,
    /// What the last one has shown: nothing, or the first thing that was wrong.
    #[serde(default)]
    pub wrong: Option<String>,
}

impl Recorded {
    /// One launch of now. `spelled`: its launch block under the name `NAME`.
    pub fn now(kernel: &str, spelled: String, device: &str, wrong: Option<String>) -> Recorded {
        let at = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        Recorded { kernel: kernel.to_owned(), block: spelled, device: device.to_owned(), count: 1, at, wrong }
    }

    fn is_of(&self, other: &Recorded) -> bool {
        (&self.kernel, &self.block, &self.device) == (&other.kernel, &other.block, &other.device)
    }
}

/// What programs have launched of a file's kernels, the launch that was made last at the end.
pub fn read(file: &Path) -> Vec<Recorded> {
    KEPT.read(file)
}

/// When a program has recorded something last.
pub fn changed_at(file: &Path) -> Option<SystemTime> {
    KEPT.changed_at(file)
}

/// The launches that count, with the names under which they are known: for each kernel those that were made most often, on whatever device.
pub fn named(all: &[Recorded]) -> Vec<(String, Recorded)> {
    let mut launches: Vec<Recorded> = Vec::new();
    for one in all {
        match launches.iter_mut().find(|known| (&known.kernel, &known.block) == (&one.kernel, &one.block)) {
            Some(known) => {
                known.count += one.count;
                if one.at >= known.at {
                    (known.at, known.wrong, known.device) = (one.at, one.wrong.clone(), one.device.clone());
                }
            }
            None => launches.push(one.clone()),
        }
    }
    launches.sort_by(|a, b| {
        (&a.kernel, std::cmp::Reverse(a.count), &a.block).cmp(&(&b.kernel, std::cmp::Reverse(b.count), &b.block))
    });
    let mut number = 0;
    let mut named: Vec<(String, Recorded)> = Vec::new();
    for launch in launches {
        number = if named.last().is_some_and(|(_, last)| last.kernel == launch.kernel) { number + 1 } else { 1 };
        if number <= MAX_OF_KERNEL {
            named.push((format!("{}_recorded_{number}", launch.kernel), launch));
        }
    }
    named
}

/// These as launch blocks.
pub fn text(named: &[(String, Recorded)]) -> String {
    named.iter().map(|(name, launch)| launch.block.replacen(NAME, &format!("[launch.{name}]"), 1)).collect()
}

/// What a process has launched and not written yet.
#[derive(Debug, Default)]
pub struct Recorder {
    held: HashMap<PathBuf, Vec<Recorded>>,
    written: Option<Instant>,
}

impl Recorder {
    pub fn add(&mut self, file: &Path, launch: Recorded) {
        join(self.held.entry(file.to_owned()).or_default(), launch);
        if self.written.is_none_or(|at| at.elapsed() > PAUSE) {
            self.flush();
        }
    }

    /// Writes what is held back.
    pub fn flush(&mut self) {
        for (file, new) in self.held.drain() {
            KEPT.change(&file, |mut all| {
                new.into_iter().for_each(|launch| join(&mut all, launch));
                all.drain(..all.len().saturating_sub(MAX_LAUNCHES));
                all
            });
        }
        self.written = Some(Instant::now());
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        self.flush();
    }
}

fn join(all: &mut Vec<Recorded>, mut launch: Recorded) {
    if let Some(index) = all.iter().position(|known| known.is_of(&launch)) {
        launch.count += all.remove(index).count;
    }
    all.push(launch);
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn those_that_were_made_most_often_count() {
        let launch = |kernel: &str, grid: u64, device: &str| {
            Recorded::now(kernel, format!("[launch.NAME]\nkernel = \"{kernel}\"\ngrid = [{grid}]\n"), device, None)
        };
        let mut all = Vec::new();
        for (kernel, grid, times) in [("b", 1, 1), ("a", 1, 2), ("a", 2, 7), ("a", 3, 3), ("a", 4, 4), ("a", 5, 5)] {
            (0..times).for_each(|_| join(&mut all, launch(kernel, grid, "cpu")));
        }
        join(&mut all, launch("b", 1, "sim"));
        let named = named(&all);
        let counts: Vec<String> = named.iter().map(|(name, launch)| format!("{name} {}", launch.count)).collect();
        expect!["a_recorded_1 7, a_recorded_2 5, a_recorded_3 4, a_recorded_4 3, b_recorded_1 2"].assert_eq(&counts.join(", "));
        expect![[r#"
            [launch.a_recorded_1]
            kernel = "a"
            grid = [2]
        "#]]
        .assert_eq(&text(&named[..1]));
    }
}
