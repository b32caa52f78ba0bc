//! What goes over the two pipes between who asks for a run and who runs it.
//!
//! The far side says first who it is, in a line that is found among whatever a login shell prints. Then the near side sends an order: a job, and
//! behind it the bytes of its files; line ends follow for as long as somebody waits. The far side answers in lines of JSON: signs of life,
//! tensors that are saved (with their bytes behind the line), and last the answer.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::Job;
use crate::{
    bundle::Contents,
    run::{self, Findings, Observed, Report},
    tune::Tuning,
    watch::Stopped,
};

/// Changes when the messages do.
const PROTOCOL: u32 = 1;
const MARK: &str = "tritium exec ";
const WANTS: &str = "tritium is missing on ";

/// Who speaks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Hello {
    protocol: u32,
    pub(super) version: String,
}

impl Hello {
    pub(super) fn own() -> Hello {
        Hello { protocol: PROTOCOL, version: env!("CARGO_PKG_VERSION").to_owned() }
    }

    /// In a line of the far side, behind whatever stands before it.
    pub(super) fn find(line: &str) -> Option<Hello> {
        let said = &line[line.find(MARK)? + MARK.len()..];
        let (protocol, version) = said.trim_end().split_once(' ')?;
        Some(Hello { protocol: protocol.parse().ok()?, version: version.to_owned() })
    }
}

impl fmt::Display for Hello {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{MARK}{} {}", self.protocol, self.version)
    }
}

/// What a far side that shall be sent this program says of itself: `Linux x86_64`.
pub(super) fn wants(line: &str) -> Option<&str> {
    Some(line[line.find(WANTS)? + WANTS.len()..].trim())
}

/// How a shell says it.
pub(super) fn says_wants() -> String {
    format!("echo \"{WANTS}$(uname -s) $(uname -m)\"")
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Order {
    #[serde(flatten)]
    pub(super) job: Job,
    /// The files of another machine, whose bytes follow; without, the disk is read.
    #[serde(default)]
    pub(super) bundle: Option<Contents>,
}

/// A line of the far side.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Word {
    /// It is there, and does this.
    Alive(Option<String>),
    /// A file's name, and how many bytes of it follow the line.
    Saved(String, u64),
    #[serde(untagged)]
    Answer(Answer),
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Answer {
    Report(Box<Report>),
    Findings(Box<Findings>),
    Observed(Box<Observed>),
    Tuning(Box<Tuning>),
    /// The run could not be made; the message is complete.
    Refused(run::Refusal),
    Stopped(Stopped),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_greeting_is_found_behind_what_a_shell_prints() {
        let own = Hello::own();
        assert_eq!(Hello::find(&format!("{own}\n")), Some(own.clone()));
        assert_eq!(Hello::find(&format!("box> \u{1b}[0m{own}\r\n")), Some(own));
        for line in ["", "tritium exec", "tritium exec 1", "tritium exec: not found", "welcome to box"] {
            assert_eq!(Hello::find(line), None, "{line}");
        }
        assert_eq!(wants("tritium is missing on Linux aarch64\n"), Some("Linux aarch64"));
    }

    #[test]
    fn words_are_read_back() {
        for word in [Word::Alive(None), Word::Alive(Some("running".to_owned())), Word::Saved("X.npy".to_owned(), 80)] {
            let text = serde_json::to_string(&word).expect("JSON");
            assert_eq!(serde_json::from_str::<Word>(&text).expect(&text), word);
        }
        let refused = Word::Answer(Answer::Refused(run::Refusal::new("no")));
        let text = serde_json::to_string(&refused).expect("JSON");
        assert!(text.starts_with(r#"{"refused""#), "{text}");
        assert_eq!(serde_json::from_str::<Word>(&text).expect(&text), refused);
    }
}
