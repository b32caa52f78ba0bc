//! What a run says: to people through `Display`, to scripts as JSON.
//!
//! **Invariant:** a number that JSON lacks is written as the string that names it (`"NaN"`, `"inf"`), so what is read back is what was written.

use std::{fmt, path::PathBuf};

use serde::{Deserialize, Serialize};
use thiserror::Error;
use tritium_semantics::{
    Database,
    host::EnteredWith,
    launch::{Launch, LaunchId},
};

use crate::timing::Timing;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Report {
    pub version: u32,
    pub file: PathBuf,
    pub launches: Vec<LaunchReport>,
    /// The function that was entered, as nobody calls it with known arguments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entered: Option<EnteredWith>,
    /// What the program itself asks of its results.
    #[serde(default)]
    pub checks: Vec<CheckReport>,
    /// What the device has looked for beside the results, and what it has not.
    pub checked: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LaunchReport {
    pub launch: String,
    pub kernel: String,
    /// `cpu`, or the GPU's name.
    pub device: String,
    pub grid: [u64; 3],
    pub num_warps: u32,
    /// Seconds from launch to finish, copies not counted; on a GPU the first launch, not a benchmark.
    pub seconds: f64,
    /// Where it was asked for.
    #[serde(default)]
    pub timing: Option<Timing>,
    /// The row of its tuner.
    #[serde(default)]
    pub row: Option<u32>,
    /// Tensors the launch changed.
    pub outputs: Vec<Output>,
    pub comparisons: Vec<Comparison>,
    /// What else there is to say of the results.
    pub note: Option<String>,
    /// Nothing is said of tensors that neither changed nor were compared.
    pub fault: Option<String>,
}

impl LaunchReport {
    /// Of a launch that has not run.
    pub(super) fn of(db: &Database, launch: &Launch, device: String, fault: Option<String>) -> LaunchReport {
        LaunchReport {
            launch: launch.name.to_string(),
            kernel: launch.kernel.name(db).to_string(),
            device,
            grid: launch.grid,
            num_warps: launch.options.num_warps,
            seconds: 0.0,
            timing: None,
            row: launch.config,
            outputs: Vec::new(),
            comparisons: Vec::new(),
            note: None,
            fault,
        }
    }

    /// `matmul:3`, of a row of its tuner.
    pub fn id(&self) -> String {
        LaunchId::new(&self.launch, self.row).to_string()
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Output {
    pub name: String,
    /// `f32[583, 931]`
    pub ty: String,
    pub min: f64,
    pub max: f64,
    pub mean: f64,
    /// Elements that are NaN, among them those never written.
    pub nan: u64,
    pub first: Vec<f64>,
    /// Elements that held nothing before the launch and that it did not write.
    pub unwritten: Option<Unwritten>,
}

/// Elements of a tensor that were never written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unwritten {
    pub count: u64,
    pub of: u64,
    pub first: Vec<u64>,
    /// Every store was seen. Otherwise (on a GPU) they still hold the pattern that the tensor was filled with, which a kernel could also write.
    pub seen: bool,
}

impl fmt::Display for Unwritten {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Unwritten { count, of, first, seen } = self;
        match seen {
            true => write!(f, "{count} of {of} elements were never written, the first at {first:?}"),
            false => write!(
                f,
                "{count} of {of} elements still hold the pattern that the tensor was filled with, so they were never written (or the \
                 kernel wrote just that), the first at {first:?}"
            ),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    pub tensor: String,
    /// What it was compared with: the `expect` expression, or `the CPU device`.
    pub reference: String,
    /// ‖out − ref‖₂ / ‖ref‖₂; for integers the number of elements that differ. Of the elements that were written.
    #[serde(with = "number")]
    pub error: f64,
    pub bound: f64,
    pub ok: bool,
    /// Where the largest difference is, and both values.
    pub worst: Option<Worst>,
    /// Why it could not be made, or what was assumed.
    pub note: Option<String>,
    /// Elements that there was nothing to compare of.
    pub unwritten: Option<Unwritten>,
    /// The relative and absolute difference that the program allows of every element, instead of `bound`.
    #[serde(default)]
    pub tolerance: Option<[f64; 2]>,
}

impl Comparison {
    /// What could not be compared is no mismatch.
    pub(crate) fn word(&self) -> &'static str {
        match (self.ok, &self.note) {
            (true, _) => "verified",
            (false, None) => "MISMATCH",
            (false, Some(_)) => "NOT VERIFIED",
        }
    }

    fn write_worst(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let (false, Some(worst)) = (self.ok, &self.worst) {
            let (value, reference) = (exact(worst.value), exact(worst.reference));
            writeln!(f, "     worst at {:?}: {value} instead of {reference}", worst.index)?;
        }
        Ok(())
    }

    /// What is wrong, or how far it agrees.
    pub(crate) fn verdict(&self) -> String {
        let Comparison { error, bound, .. } = self;
        if let Some(note) = &self.note {
            return note.clone();
        }
        if self.reference.is_empty() {
            return "it does not hold".to_owned();
        }
        let found = match &self.tolerance {
            Some([0.0, 0.0]) if self.ok => "equal, as the program asks".to_owned(),
            Some([0.0, 0.0]) => format!("relative error {error:.2e}, and the program asks that they are equal"),
            Some([relative, absolute]) => {
                let side = if self.ok { "within" } else { "beyond" };
                let (relative, absolute) = (short(*relative), short(*absolute));
                format!("relative error {error:.2e}, {side} the program's rtol={relative}, atol={absolute}")
            }
            None => format!("relative error {error:.2e}, allowed {bound:.2e}"),
        };
        match &self.unwritten {
            Some(unwritten) if unwritten.count == unwritten.of => unwritten.to_string(),
            Some(unwritten) => format!("{unwritten}; of those written: {found}"),
            None => found,
        }
    }
}

/// `torch.allclose(y, reference)` in host code.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CheckReport {
    pub file: PathBuf,
    pub line: u32,
    pub comparison: Comparison,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Worst {
    pub index: Vec<u64>,
    #[serde(with = "number")]
    pub value: f64,
    #[serde(with = "number")]
    pub reference: f64,
}

/// A number that may be infinite or none.
mod number {
    use serde::{Deserialize, Deserializer, Serializer, de::Error as _};

    pub(super) fn serialize<S: Serializer>(value: &f64, to: S) -> Result<S::Ok, S::Error> {
        if value.is_finite() { to.serialize_f64(*value) } else { to.serialize_str(&value.to_string()) }
    }

    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Written {
        Number(f64),
        Word(String),
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
        match Written::deserialize(from)? {
            Written::Number(value) => Ok(value),
            Written::Word(word) => word.parse().map_err(D::Error::custom),
        }
    }
}

/// A run that could not be made: wrong use, or a kernel that does not compile.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Error)]
#[error("{message}")]
pub struct Refusal {
    pub message: String,
    /// Wrong use of the program (exit 2), rather than a fault of the kernel (exit 1).
    pub usage: bool,
}

impl Refusal {
    pub fn new(message: impl Into<String>) -> Refusal {
        Refusal { message: message.into(), usage: true }
    }

    pub(super) fn kernel(message: impl Into<String>) -> Refusal {
        Refusal { message: message.into(), usage: false }
    }
}

impl Report {
    /// One line: the first fault or mismatch, else what was verified.
    pub fn summary(&self) -> String {
        let bad = |l: &&LaunchReport| l.fault.is_some() || l.comparisons.iter().any(|c| !c.ok);
        if let Some(launch) = self.launches.iter().find(bad) {
            if let Some(fault) = &launch.fault {
                return format!("{}: fault: {fault}", launch.launch);
            }
            let wrong = launch.comparisons.iter().find(|c| !c.ok);
            return wrong.map_or_else(String::new, |c| {
                let why = match (&c.note, &c.unwritten) {
                    (Some(note), _) => format!(": {note}"),
                    (None, Some(unwritten)) => format!(": {unwritten}"),
                    (None, None) => String::new(),
                };
                let what = if c.note.is_some() { "not verified:" } else { "mismatch in" };
                format!("{}: {what} {} against {}{why}", launch.launch, c.tensor, c.reference)
            });
        }
        if let Some(check) = self.checks.iter().find(|check| !check.comparison.ok) {
            let CheckReport { line, comparison: c, .. } = check;
            let what = if c.note.is_some() { "not verified:" } else { "mismatch in" };
            let why = c.note.as_ref().map_or_else(String::new, |note| format!(": {note}"));
            return format!("line {line}: {what} {} against {}{why}", c.tensor, c.reference);
        }
        let of = |l: &LaunchReport| {
            let verified: Vec<String> =
                l.comparisons.iter().map(|c| format!("verified {}, relative error {:.1e}", c.tensor, c.error)).collect();
            if verified.is_empty() && !self.checks.is_empty() {
                format!("{}: ran", l.launch)
            } else if verified.is_empty() {
                format!("{}: ran, nothing compared", l.launch)
            } else {
                format!("{}: {}", l.launch, verified.join(", "))
            }
        };
        let checked = |check: &CheckReport| {
            let c = &check.comparison;
            format!("verified {} against {}, relative error {:.1e}", c.tensor, c.reference, c.error)
        };
        self.launches.iter().map(of).chain(self.checks.iter().map(checked)).collect::<Vec<_>>().join("; ")
    }

    /// Nothing faulted and every comparison held.
    pub fn ok(&self) -> bool {
        self.launches.iter().all(|l| l.fault.is_none() && l.comparisons.iter().all(|c| c.ok))
            && self.checks.iter().all(|check| check.comparison.ok)
    }
}

/// Six digits that matter: `0.0637309`, `4.61e-6`, `1024`.
fn short(x: f64) -> String {
    if x != 0.0 && !(1e-4..1e7).contains(&x.abs()) {
        return format!("{x:.2e}");
    }
    let before = x.abs().max(1.0).log10() as usize;
    let text = format!("{x:.*}", 6usize.saturating_sub(before));
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(entered) = &self.entered {
            writeln!(f, "entered {entered}\n")?;
        }
        for (i, launch) in self.launches.iter().enumerate() {
            if i > 0 {
                writeln!(f)?;
            }
            write!(f, "{launch}")?;
        }
        if !self.checks.is_empty() {
            writeln!(f)?;
        }
        for CheckReport { file, line, comparison } in &self.checks {
            let place = if *file == self.file { format!("line {line}") } else { format!("{}:{line}", file.display()) };
            let (verdict, tensor, reference) = (comparison.word(), &comparison.tensor, &comparison.reference);
            let against = if reference.is_empty() { String::new() } else { format!(" against {reference}") };
            writeln!(f, "{verdict}  {place}: {tensor}{against}: {}", comparison.verdict())?;
            comparison.write_worst(f)?;
        }
        writeln!(f, "\nchecked: {}", self.checked)
    }
}

impl fmt::Display for LaunchReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Trailing axes of extent 1 say nothing.
        let axes = self.grid.iter().rposition(|&n| n != 1).map_or(1, |last| last + 1);
        let grid: Vec<String> = self.grid[..axes].iter().map(u64::to_string).collect();
        let grid = grid.join("×");
        write!(f, "{}  {} on {}, {grid} programs of {} warps", self.launch, self.kernel, self.device, self.num_warps)?;
        if let Some(fault) = &self.fault {
            writeln!(f, "\n  FAULT  {fault}")?;
            return Ok(());
        }
        writeln!(f, ", {:.1} ms", self.seconds * 1e3)?;
        // The verdict is what the run was made for, so it stands before the numbers.
        for c in &self.comparisons {
            let verdict = c.word();
            writeln!(f, "  {verdict}  {} against {}: {}", c.tensor, c.reference, c.verdict())?;
            c.write_worst(f)?;
        }
        if let Some(note) = &self.note {
            writeln!(f, "  {note}")?;
        }
        for output in &self.outputs {
            if let Some(unwritten) = &output.unwritten
                && unwritten.count == unwritten.of
            {
                writeln!(f, "  {}  {}\n     {unwritten}", output.name, output.ty)?;
                continue;
            }
            let first: Vec<String> = output.first.iter().map(|&x| short(x)).collect();
            let (min, max, mean) = (short(output.min), short(output.max), short(output.mean));
            writeln!(f, "  {}  {}", output.name, output.ty)?;
            if !first.is_empty() {
                writeln!(f, "     min {min}  max {max}  mean {mean}  first {} …", first.join(" "))?;
            }
            if output.nan > 0 {
                writeln!(f, "     {} elements are NaN", output.nan)?;
            }
            if let Some(unwritten) = &output.unwritten {
                writeln!(f, "     {unwritten}")?;
            }
        }
        Ok(())
    }
}

/// Every digit, and never hundreds of them.
fn exact(x: f64) -> String {
    if x == 0.0 || !x.is_finite() || (1e-5..1e16).contains(&x.abs()) { x.to_string() } else { format!("{x:e}") }
}
