// Feature: Recorded launches
//
//! What running programs have launched of a file's kernels (`TRITIUM_RECORD=1 python -m tritium …`): known launches like those of a launch block, and how
//! often each was made.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use tritium_runtime::recorded::{self, Recorded};
use tritium_semantics::{Db as _, Function, launch::Launch};

use crate::{Analysis, Host, history::age};

/// By file: the launches with the names under which they are known.
pub(crate) type RecordedLaunches = BTreeMap<PathBuf, Vec<(String, Recorded)>>;

impl Host {
    /// Reads what is recorded of a file's launches; whether that is anything new.
    pub fn read_recorded(&mut self, path: &Path) -> bool {
        self.set_recorded(path, recorded::named(&recorded::read(path)))
    }

    /// Says what is recorded of a file's launches; whether that is anything new.
    pub fn set_recorded(&mut self, path: &Path, launches: Vec<(String, Recorded)>) -> bool {
        let path = self.db.system().absolute(path);
        if self.recorded.get(&path).map_or(launches.is_empty(), |known| *known == launches) {
            return false;
        }
        let mut all = (*self.recorded).clone();
        match launches.is_empty() {
            true => all.remove(&path),
            false => all.insert(path, launches),
        };
        self.recorded = all.into();
        self.choose();
        true
    }

    /// The database is told what the options and the records say.
    pub(crate) fn choose(&mut self) {
        let recorded = self.recorded.iter().map(|(path, launches)| (path.clone(), recorded::text(launches))).collect();
        self.db.choose(tritium_semantics::Chosen { recorded, ..self.options.chosen() });
    }
}

impl Analysis {
    /// What is recorded of a launch, if it is known from a record.
    pub(crate) fn recorded(&self, launch: &Launch) -> Option<&Recorded> {
        let all = self.recorded.get(launch.kernel.file(self.db()).path(self.db()))?;
        all.iter().find(|(name, _)| *name == launch.name).map(|(_, recorded)| recorded)
    }

    /// A line for each launch of a kernel that programs have made: how often, and what was wrong with it last.
    pub(crate) fn recorded_lines(&self, kernel: Function, now: u64) -> String {
        let of_file = self.recorded.get(kernel.file(self.db()).path(self.db()));
        let mine = of_file.into_iter().flatten().filter(|(_, one)| one.kernel == *kernel.name(self.db()));
        mine.map(|(name, one)| {
            let ago = age(now.saturating_sub(one.at));
            let wrong = one.wrong.as_ref().map_or_else(String::new, |wrong| format!(": {wrong}"));
            format!("- `{name}` {} ({ago}){wrong}\n", sentence(one))
        })
        .collect()
    }
}

/// `ran 212 times on cpu`
pub(crate) fn sentence(recorded: &Recorded) -> String {
    let times = if recorded.count == 1 { "once".to_owned() } else { format!("{} times", recorded.count) };
    let wrong = if recorded.wrong.is_some() { ", last with a fault" } else { "" };
    format!("ran {times} on {}{wrong}", recorded.device)
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    const TEXT: &str = "import triton\nimport triton.language as tl\n\n\n@triton.jit\ndef scale(x, n, BLOCK: tl.constexpr):\n    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)\n    tl.store(x + at, 2 * tl.load(x + at, mask=at < n), mask=at < n)\n";

    fn launch(n: u64) -> Recorded {
        let block = format!(
            "[launch.NAME]\nkernel = \"scale\"\ngrid = [{}]\nargs = {{ x = \"f32[{n}] = normal(0, 1)\", n = {n} }}\nmeta = {{ BLOCK = 64 }}\n",
            n.div_ceil(64)
        );
        Recorded::now("scale", block, "cpu", None)
    }

    fn lenses(host: &Host, path: &Path) -> String {
        host.snapshot_at(path).code_lenses(path).into_iter().map(|lens| lens.title + "\n").collect()
    }

    #[test]
    fn what_a_program_launched_is_a_known_launch() {
        let mut host = Host::default();
        let path = Path::new("/nowhere/scale.py");
        host.set_text(path, TEXT.to_owned());
        assert_eq!(lenses(&host, path), "");
        let record = |host: &mut Host, all: &[Recorded]| host.set_recorded(path, recorded::named(all));
        let mut faulty = launch(4096);
        faulty.wrong = Some("outside".to_owned());
        assert!(record(&mut host, &[launch(100), launch(100), faulty.clone()]));
        assert!(!record(&mut host, &[launch(100), launch(100), faulty]));
        // Each is a configuration; one stands for all over the kernel.
        expect![[r#"
            ▶ Run (ran 2 times on cpu)
            Sanitize
            Bench
        "#]]
        .assert_eq(&lenses(&host, path));
        let analysis = host.snapshot_at(path);
        let kernel = &analysis.kernels(path)[0];
        assert_eq!(kernel.active.launch(analysis.db()).map(|launch| launch.grid), Some([2, 1, 1]));
        assert!(!analysis.hover(path, TEXT.find("scale").expect("it is there")).expect("a hover").markdown.contains("assumed"));
        expect![[r#"
            - `scale_recorded_1` ran 2 times on cpu (just now)
            - `scale_recorded_2` ran once on cpu, last with a fault (just now): outside
        "#]]
        .assert_eq(&analysis.recorded_lines(kernel.function, launch(1).at));
        // A process that runs it knows it too, but no more than it.
        let chosen = analysis.chosen_elsewhere(path).expect("the file is there");
        assert_eq!(chosen.recorded.len(), 1);
        drop(analysis);
        // What no longer fits is no launch, and nobody is told.
        host.set_text(path, TEXT.replace("(x, n,", "(x, size,").replace("< n", "< size"));
        assert_eq!(lenses(&host, path), "");
        assert!(host.snapshot_at(path).diagnostics(path).iter().all(|found| !found.code.starts_with("LCH")));
        assert!(record(&mut host, &[]));
    }
}
