//! Another machine that runs jobs, and the command that leads there.
//!
//! Nothing listens there and nothing stays there: a command (`ssh`, `srun`, `kubectl exec`) starts `tritium exec`, whose input and output it
//! carries. Only what was asked to be sent is left, this program itself.

use std::{
    fmt, fs,
    path::Path,
    process::Command,
    time::{Duration, UNIX_EPOCH},
};

use super::wire;

/// How long `ssh` may take until the far side greets.
const SSH_TIME: Duration = Duration::from_secs(60);
/// `ssh` asks nobody for a password, and notices within this many seconds that the other machine is gone.
const SSH_OPTIONS: [&str; 10] = [
    "-T",
    "-e",
    "none",
    "-o",
    "BatchMode=yes",
    "-o",
    "ConnectTimeout=15",
    "-oServerAliveInterval=5",
    "-oServerAliveCountMax=4",
    "--",
];

/// Another machine, as `--on` names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct On {
    way: Way,
    send: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Way {
    Ssh {
        destination: String,
        /// The program there.
        program: Option<String>,
    },
    /// For a shell of this machine; what is to be started there is added to it.
    Command(String),
}

impl On {
    /// `ssh:box`, `ssh:user@box:/path/to/tritium`, `ssh://user@box:2222`, or a command. `send`: this program is copied there if it is missing.
    pub fn parse(text: &str, send: bool) -> Result<On, String> {
        let text = text.trim();
        let way = match text.strip_prefix("ssh:") {
            Some(rest) => {
                let (destination, program) = destination(rest);
                let host = destination.trim_start_matches("ssh://");
                if host.is_empty() || host.starts_with('-') || host.contains(char::is_whitespace) {
                    return Err(format!("`{text}` names no host; `ssh:box`, `ssh:user@box` and `ssh://user@box:2222` do"));
                }
                Way::Ssh { destination, program }
            }
            None if text.is_empty() => return Err("it names no machine; `ssh:box` does".to_owned()),
            None => Way::Command(text.to_owned()),
        };
        Ok(On { way, send })
    }

    /// As it is told.
    pub fn name(&self) -> &str {
        match &self.way {
            Way::Ssh { destination, .. } => destination,
            Way::Command(command) => command,
        }
    }

    /// How long it may take until the far side greets; a queue of jobs may take for ever.
    pub(super) fn patience(&self) -> Option<Duration> {
        match &self.way {
            Way::Ssh { .. } => Some(SSH_TIME),
            Way::Command(_) => None,
        }
    }

    /// The command that starts `tritium exec` there; `own` is the program that is sent if it is missing.
    pub(super) fn command(&self, own: &Path) -> Command {
        let with_shell = |line: String| {
            let mut command = Command::new("sh");
            command.arg("-c").arg(line);
            command
        };
        match &self.way {
            Way::Ssh { destination, program } => {
                let line = match program {
                    Some(program) if !self.send => format!("{program} exec"),
                    Some(_) | None => format!("sh -c {}", quoted(&self.script(own))),
                };
                let mut command = Command::new("ssh");
                if self.send {
                    command.arg("-C");
                }
                command.args(SSH_OPTIONS).arg(destination).arg(line);
                command
            }
            Way::Command(text) if self.send => {
                let words = format!("sh -c {}", quoted(&self.script(own)));
                let program = text.split_whitespace().next().and_then(|word| Path::new(word).file_name());
                // It joins the words, and the shell at its other end reads them once more.
                let words = if program.is_some_and(|name| name == "ssh") { quoted(&words) } else { words };
                with_shell(format!("{text} {words}"))
            }
            Way::Command(text) => {
                let last = text.split_whitespace().last().and_then(|word| Path::new(word).file_name());
                let program = if last.is_some_and(|name| name == "tritium") { "" } else { " tritium" };
                with_shell(format!("{text}{program} exec"))
            }
        }
    }

    /// What a shell of the other machine does: it starts the copy of this program, or the one that is installed; or it waits for one to be
    /// sent. No `'`, `\`, `!` or line end: any login shell hands it on as it is.
    fn script(&self, own: &Path) -> String {
        let (name, bytes) = identity(own);
        let copy = format!(
            "p=\"${{XDG_CACHE_HOME:-$HOME/.cache}}/tritium/bin/{name}\"; if [ -x \"$p\" ]; then touch -c \"$p\"; exec \"$p\" exec; fi; "
        );
        if !self.send {
            return copy + "PATH=\"$PATH:$HOME/.cargo/bin:$HOME/.local/bin\"; exec tritium exec";
        }
        let wants = wire::says_wants();
        copy + &format!(
            "{wants}; d=\"${{p%/*}}\"; t=\"$p.$$\"; mkdir -p \"$d\" || exit 1; find \"$d\" -type f -mtime +30 -exec rm -f {{}} + 2>/dev/null; \
             if head -c {bytes} >\"$t\" && [ $(wc -c <\"$t\") = {bytes} ] && chmod 700 \"$t\" && mv \"$t\" \"$p\"; then exec \"$p\" exec; \
             else rm -f \"$t\"; exit 1; fi"
        )
    }

    pub(super) fn sends(&self) -> bool {
        self.send
    }
}

impl fmt::Display for On {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What `ssh` is given, and the program there: `user@box:/path`, `//user@box:2222/path`.
fn destination(text: &str) -> (String, Option<String>) {
    let program = |path: &str| if path.is_empty() { None } else { Some(path.to_owned()) };
    if let Some(url) = text.strip_prefix("//") {
        let (host, path) = url.split_once('/').unwrap_or((url, ""));
        return (format!("ssh://{host}"), program(path).map(|path| format!("/{path}")));
    }
    // An address may have colons, in brackets that `ssh` does not want.
    let from = text.find(']').unwrap_or(0);
    let (host, path) = match text[from..].find(':') {
        Some(at) => (&text[..from + at], &text[from + at + 1..]),
        None => (text, ""),
    };
    (host.replace(['[', ']'], ""), program(path))
}

/// What a copy of this program is called, and how long it is. Another build has another name.
fn identity(own: &Path) -> (String, u64) {
    let about = fs::metadata(own).ok();
    let bytes = about.as_ref().map_or(0, fs::Metadata::len);
    let made = about.and_then(|about| about.modified().ok()?.duration_since(UNIX_EPOCH).ok()).unwrap_or_default();
    (format!("tritium-{}-{bytes:x}-{:x}", env!("CARGO_PKG_VERSION"), made.as_nanos()), bytes)
}

/// One word of a shell.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ssh(text: &str) -> (String, Option<String>) {
        match On::parse(text, false).expect(text).way {
            Way::Ssh { destination, program } => (destination, program),
            Way::Command(command) => panic!("{command}"),
        }
    }

    #[test]
    fn hosts_and_programs_are_told_apart() {
        assert_eq!(ssh("ssh:box"), ("box".to_owned(), None));
        assert_eq!(ssh("ssh:me@box:"), ("me@box".to_owned(), None));
        assert_eq!(ssh("ssh:me@box:~/bin/tritium"), ("me@box".to_owned(), Some("~/bin/tritium".to_owned())));
        assert_eq!(ssh("ssh:me@[::1]:/opt/tritium"), ("me@::1".to_owned(), Some("/opt/tritium".to_owned())));
        assert_eq!(ssh("ssh://me@box:2222"), ("ssh://me@box:2222".to_owned(), None));
        assert_eq!(ssh("ssh://me@box:2222/opt/tritium"), ("ssh://me@box:2222".to_owned(), Some("/opt/tritium".to_owned())));
        for wrong in ["", "ssh:", "ssh://", "ssh:-oProxyCommand=evil", "ssh:a b"] {
            assert!(On::parse(wrong, false).is_err(), "{wrong}");
        }
    }

    fn line(text: &str, send: bool) -> String {
        let command = On::parse(text, send).expect(text).command(Path::new("/none"));
        command.get_args().last().expect("a line").to_str().expect("text").to_owned()
    }

    #[test]
    fn a_command_is_given_what_it_starts() {
        assert_eq!(line("srun --gres=gpu:1", false), "srun --gres=gpu:1 tritium exec");
        assert_eq!(line("kubectl exec -i pod -- /opt/tritium", false), "kubectl exec -i pod -- /opt/tritium exec");
        assert_eq!(line("ssh:box:/opt/tritium", false), "/opt/tritium exec");
        assert!(line("docker run -i image", true).starts_with("docker run -i image sh -c 'p="));
        // The words of a command `ssh` are read by two shells.
        assert!(line("ssh -J jump box", true).starts_with("ssh -J jump box 'sh -c '\\''p="));
    }

    #[test]
    fn every_shell_reads_the_script_alike() {
        for send in [false, true] {
            let script = On::parse("ssh:box", send).expect("a host").script(Path::new("/none"));
            assert!(!script.contains(['\'', '\\', '!', '\n', '`']), "{script}");
        }
    }
}
