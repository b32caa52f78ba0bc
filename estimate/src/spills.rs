//! Whether the registers of a thread spill: what it needs beside what it may have, in three words.
//!
//! **Invariant:** hovers, reports, matrices and lints decide here and nowhere else. What a thread needs is an estimate with a known error, so the
//! margins stand at the comparisons of [`WORDS`] and in none of the figures that are compared.

use std::fmt;

use serde::Serialize;

use crate::fitted::WORDS;

/// Registers that a thread needs for all that is live at once, and those that it may have.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Pressure {
    pub needed: u32,
    pub limit: u32,
    pub spills: Spills,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Spills {
    Unlikely,
    May,
    Will,
}

impl Spills {
    const ALL: [Spills; WORDS.len()] = [Spills::Unlikely, Spills::May, Spills::Will];

    /// Of a hundred recorded kernels of Triton that get this word, how many spill.
    pub fn percent(self) -> u32 {
        WORDS[self as usize].1
    }
}

/// What the words mean, for the foot of a table.
pub fn legend() -> String {
    let [unlikely, may, will] = Spills::ALL.map(Spills::percent);
    format!(
        "Of Triton's kernels that are unlikely to spill {unlikely} % do, of those that may {may} %, of those that will {will} %"
    )
}

impl Pressure {
    pub fn new(needed: f64, limit: u32) -> Pressure {
        let ratio = needed / f64::from(limit.max(1));
        let word = WORDS.iter().rposition(|&(from, _)| ratio >= from).unwrap_or(0);
        Pressure { needed: needed.round() as u32, limit, spills: Spills::ALL[word] }
    }

    fn ratio(&self) -> f64 {
        f64::from(self.needed) / f64::from(self.limit.max(1))
    }

    /// `may, 1.1×`: for cells of a table.
    pub fn short(&self) -> String {
        let word = match self.spills {
            Spills::Unlikely => "unlikely",
            Spills::May => "may",
            Spills::Will => "will",
        };
        format!("{word}, {:.1}×", self.ratio())
    }
}

/// `may spill (1.1× of the 128 registers a thread has; 54 % of such kernels spill)`
impl fmt::Display for Pressure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = match self.spills {
            Spills::Unlikely => "unlikely to spill",
            Spills::May => "may spill",
            Spills::Will => "will spill",
        };
        let (ratio, limit, percent) = (self.ratio(), self.limit, self.spills.percent());
        write!(f, "{word} ({ratio:.1}× of the {limit} registers a thread has; {percent} % of such kernels spill)")
    }
}

#[cfg(test)]
mod tests {
    use super::{Pressure, Spills};

    #[test]
    fn the_margins_stand_at_the_comparison() {
        let word = |needed| Pressure::new(needed, 100).spills;
        assert_eq!([79.0, 80.0, 124.0, 125.0].map(word), [Spills::Unlikely, Spills::May, Spills::May, Spills::Will]);
        assert!(Spills::Unlikely.percent() < Spills::May.percent() && Spills::May.percent() < Spills::Will.percent());
    }

    #[test]
    fn a_pressure_says_the_ratio_and_how_often_such_kernels_spill() {
        let percent = Spills::May.percent();
        let said = format!("may spill (1.1× of the 128 registers a thread has; {percent} % of such kernels spill)");
        assert_eq!((Pressure::new(140.0, 128).to_string(), Pressure::new(140.0, 128).short()), (said, "may, 1.1×".to_owned()));
    }
}
