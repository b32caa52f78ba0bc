//! Times of a launch: medians with their spread.

use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

/// How long the same launch took, again and again.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Timing {
    /// One launch after the other on the same memory, of which L2 keeps what it can.
    pub warm: Spread,
    /// With nothing of the launch in L2; on a GPU only.
    pub cold: Option<Spread>,
}

impl Timing {
    /// Of the same launch in several processes, at least one: the middle ones.
    pub fn of_rounds(rounds: &[Timing]) -> Option<Timing> {
        let cold: Vec<Spread> = rounds.iter().filter_map(|timing| timing.cold).collect();
        let warm: Vec<Spread> = rounds.iter().map(|timing| timing.warm).collect();
        Some(Timing { warm: Spread::middle(&warm)?, cold: Spread::middle(&cold) })
    }

    /// The one that a prediction is about: cold where there is one.
    pub fn median_us(&self) -> f64 {
        self.cold.unwrap_or(self.warm).median_us
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    pub median_us: f64,
    /// A fifth of the samples took less, and a fifth more.
    pub p20_us: f64,
    pub p80_us: f64,
    pub samples: u32,
}

impl Spread {
    /// The one of which as many are faster as are slower.
    fn middle(of: &[Spread]) -> Option<Spread> {
        let mut all = of.to_vec();
        all.sort_by(|a, b| a.median_us.total_cmp(&b.median_us));
        let samples = all.iter().map(|spread| spread.samples).sum();
        all.get(all.len() / 2).map(|middle| Spread { samples, ..*middle })
    }

    /// Of microseconds, at least one.
    pub fn of(mut us: Vec<f64>) -> Spread {
        us.sort_by(f64::total_cmp);
        let at = |share: f64| us.get(((us.len().saturating_sub(1)) as f64 * share).round() as usize).copied().unwrap_or(f64::NAN);
        Spread { median_us: at(0.5), p20_us: at(0.2), p80_us: at(0.8), samples: us.len() as u32 }
    }
}

/// Launches on the CPU that are timed: at least so many, and then until this long has passed.
const MIN_RUNS: usize = 3;
const MAX_RUNS: usize = 50;
const RUNS_TAKE: Duration = Duration::from_millis(500);

/// Times what takes a while by the clock.
pub fn by_clock<E>(mut once: impl FnMut() -> Result<(), E>) -> Result<Timing, E> {
    let begin = Instant::now();
    let mut us = Vec::new();
    while us.len() < MIN_RUNS || (us.len() < MAX_RUNS && begin.elapsed() < RUNS_TAKE) {
        let start = Instant::now();
        once()?;
        us.push(start.elapsed().as_secs_f64() * 1e6);
    }
    Ok(Timing { warm: Spread::of(us), cold: None })
}
