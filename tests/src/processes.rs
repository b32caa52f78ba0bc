//! Processes and what becomes of them, as Linux tells it.

use std::{
    fs,
    process::{Child, Command},
    thread,
    time::{Duration, Instant},
};

/// Tells a hang, nothing else.
const PATIENCE: Duration = Duration::from_secs(60);
/// A hundredth of a second each: with so much work behind it a process is past its start.
pub const TICKS_AT_WORK: u64 = 30;

/// A launch that never ends.
pub const ENDLESS: &str = include_str!("../../editors/fixtures/endless.py");

/// The fields of `/proc/PID/stat` behind the name; `None` for what is gone, or is dead and only not buried.
pub fn stat(pid: u32) -> Option<Vec<String>> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let fields: Vec<String> = text.rsplit_once(')')?.1.split_whitespace().map(str::to_owned).collect();
    (!matches!(fields[0].as_str(), "Z" | "X")).then_some(fields)
}

pub fn processes() -> impl Iterator<Item = u32> {
    fs::read_dir("/proc").expect("Linux has it").flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

pub fn descendants(pid: u32) -> Vec<u32> {
    let children: Vec<u32> =
        processes().filter(|&other| stat(other).is_some_and(|fields| fields[1] == pid.to_string())).collect();
    children.iter().flat_map(|&child| [vec![child], descendants(child)].concat()).collect()
}

pub fn until<T>(what: &str, mut found: impl FnMut() -> Option<T>) -> T {
    let begin = Instant::now();
    loop {
        if let Some(found) = found() {
            return found;
        }
        assert!(begin.elapsed() < PATIENCE, "{what}: waited in vain");
        thread::sleep(Duration::from_millis(5));
    }
}

/// The descendants of a process, once one of them is at work.
pub fn at_work(pid: u32) -> Vec<u32> {
    let ticks = |pid: &u32| stat(*pid).map_or(0, |f| f[11].parse().unwrap_or(0) + f[12].parse().unwrap_or(0u64));
    until("a child at work", || Some(descendants(pid)).filter(|all| all.iter().any(|pid| ticks(pid) >= TICKS_AT_WORK)))
}

pub fn assert_gone(case: &str, pids: &[u32]) {
    let begin = Instant::now();
    until(case, || pids.iter().all(|&pid| stat(pid).is_none()).then_some(()));
    eprintln!("{case}: gone after {} ms", begin.elapsed().as_millis());
}

pub fn signal(name: &str, pid: impl ToString) {
    let status = Command::new("kill").args([format!("-{name}"), "--".to_owned(), pid.to_string()]).status();
    assert!(status.expect("kill is there").success(), "kill -{name}");
}

/// Is gone with the value.
pub struct Owned(pub Child);

impl Drop for Owned {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
