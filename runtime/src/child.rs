//! How processes of ours end: with their owner, never after it.
//!
//! **Invariant:** `tritium exec` and `tritium worker` end when their input closes, which the system does when the process at its other end is
//! gone, however it went; a foreign program is killed with the process that started it.

use std::process::{Child, Command};

/// Ends this process at once, whatever its other threads do: no destructor runs, and nothing waits for a device or for LLVM.
pub fn end_now() -> ! {
    #[cfg(unix)]
    let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
    std::process::abort()
}

/// How a process is ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    Kill,
    /// Asked to end.
    Terminate,
}

#[cfg(unix)]
impl Ending {
    fn signal(self) -> rustix::process::Signal {
        match self {
            Ending::Kill => rustix::process::Signal::KILL,
            Ending::Terminate => rustix::process::Signal::TERM,
        }
    }
}

/// Ends the processes of the group that a child leads, which has not been waited for.
pub(crate) fn end_group(child: &Child, ending: Ending) {
    #[cfg(unix)]
    let _ = rustix::process::kill_process_group(rustix::process::Pid::from_child(child), ending.signal());
    #[cfg(not(unix))]
    let _ = (child, ending);
}

/// Lets the program live through Ctrl-C in the terminal of this process: whether that ends the work is for this process to say.
pub(crate) fn apart_from_the_terminal(command: &mut Command) {
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(command, 0);
    #[cfg(not(unix))]
    let _ = command;
}

/// Lets the program be ended when the thread that starts it ends; so that thread must wait for it.
pub(crate) fn ends_with_this_process(command: &mut Command, ending: Ending) {
    #[cfg(target_os = "linux")]
    {
        use std::os::unix::process::CommandExt as _;

        use rustix::{
            io::Errno,
            process::{getpid, getppid, set_parent_process_death_signal},
        };
        let owner = getpid();
        let before_exec = move || {
            set_parent_process_death_signal(Some(ending.signal()))?;
            // An owner that went before the line above sends nothing.
            if getppid() == Some(owner) { Ok(()) } else { Err(Errno::SRCH.into()) }
        };
        // SAFETY: between fork and exec it makes two system calls; it allocates nothing and takes no lock.
        unsafe { command.pre_exec(before_exec) };
    }
    #[cfg(not(target_os = "linux"))]
    let _ = (command, ending);
}
