//! What would make a launch faster, and by how much: a rule changes the work as the change of the code would, and the time model says what
//! that gains.
//!
//! **Invariant:** every rule is a row of [`RULES`]; a gain is the time model's, never a constant, and what gains less than [`LEAST`] is not
//! said.

use serde::Serialize;
use tritium_semantics::target::Gpu;

use super::{
    time::{Prediction, Waves, predict},
    traffic::{Reuse, TensorTraffic},
    units::Unit,
    work::Work,
};
use crate::occupancy::{Limiter, Occupancy};

/// Less than this nobody changes a kernel for.
const LEAST: f64 = 1.03;

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Advice {
    /// A stable name.
    pub rule: &'static str,
    pub text: String,
    /// Today's time over the time with the change, as the model has it.
    pub gain: f64,
}

/// What rules look at.
pub(super) struct Situation<'a> {
    pub total: &'a Work,
    pub programs: u64,
    pub gpu: &'a Gpu,
    pub occupancy: Option<&'a Occupancy>,
    pub waves: Option<Waves>,
    pub tensors: &'a [TensorTraffic],
    pub now: &'a Prediction,
}

/// The work and the programs after the change, and how to say it.
struct Change {
    total: Work,
    programs: u64,
    text: String,
}

type Rule = fn(&Situation) -> Option<Change>;

const RULES: &[(&str, Rule)] = &[
    ("coalesce", coalesce),
    ("share-through-l2", share_through_l2),
    ("fill-the-board", fill_the_board),
    ("even-waves", even_waves),
    ("tensor-cores", tensor_cores),
    ("narrower-products", narrower_products),
    ("larger-tiles", larger_tiles),
    ("exp2", exp2),
];

/// The greatest gain first.
pub(super) fn advice(situation: &Situation) -> Vec<Advice> {
    let mut out: Vec<Advice> = RULES
        .iter()
        .filter_map(|(rule, apply)| {
            let change = apply(situation)?;
            let then = predict(&change.total, change.programs, situation.gpu)?;
            let gain = situation.now.us / then.us;
            (gain >= LEAST).then_some(Advice { rule, text: change.text, gain })
        })
        .collect();
    out.sort_by(|a, b| b.gain.total_cmp(&a.gain));
    out
}

impl Situation<'_> {
    fn with(&self, text: String, change: impl FnOnce(&mut Work)) -> Option<Change> {
        let mut total = *self.total;
        change(&mut total);
        Some(Change { total, programs: self.programs, text })
    }
}

/// Sectors that carry bytes nobody asked for.
fn coalesce(s: &Situation) -> Option<Change> {
    let (moved, asked) = (s.total.of(Unit::L2), s.total.bytes());
    if moved <= 1.05 * asked {
        return None;
    }
    let text =
        format!("make neighbouring threads read neighbouring elements: {:.1}× the bytes asked for are moved", moved / asked);
    s.with(text, |work| work.units[Unit::L2 as usize] = asked)
}

/// Tensors that waves read again.
fn share_through_l2(s: &Situation) -> Option<Change> {
    let again = |t: &&TensorTraffic| t.reuse == Reuse::Waves && t.unique.is_some_and(|unique| t.dram > 1.1 * unique);
    let most = s.tensors.iter().filter(again).max_by(|a, b| a.dram.total_cmp(&b.dram))?;
    let saved: f64 = s.tensors.iter().filter(again).map(|t| t.dram - t.unique.unwrap_or(t.dram)).sum();
    let name = most.tensor.as_deref().unwrap_or("a tensor");
    let times = most.dram / most.unique.unwrap_or(most.dram);
    let text =
        format!("let programs that run at once share tiles (group them by rows and columns): `{name}` is read {times:.1} times");
    s.with(text, |work| work.units[Unit::Dram as usize] -= saved)
}

fn fill_the_board(s: &Situation) -> Option<Change> {
    let sms = u64::from(s.gpu.board?.sm_count);
    if s.programs == 0 || s.programs >= sms {
        return None;
    }
    let text =
        format!("make more programs, by smaller tiles or by splitting the inner loop: {} of {sms} SMs have work", s.programs);
    Some(Change { total: *s.total, programs: sms, text })
}

fn even_waves(s: &Situation) -> Option<Change> {
    let (waves, sms) = (s.waves?, u64::from(s.gpu.board?.sm_count));
    if s.programs <= sms || s.programs.is_multiple_of(sms) {
        return None;
    }
    let text = format!(
        "choose tiles so that the programs fill whole waves, or loop over tiles in a persistent kernel: {:.2} waves, {:.0} % of the last one idle",
        waves.waves,
        100.0 * waves.idle_in_tail
    );
    // The same work, evenly spread.
    Some(Change { total: *s.total, programs: s.programs.next_multiple_of(sms), text })
}

/// Products that single threads multiply.
fn tensor_cores(s: &Situation) -> Option<Change> {
    let tensor: f64 = Unit::ALL.iter().filter(|u| u.is_tensor()).map(|&u| s.total.of(u)).sum();
    // A dot's FLOP are all of them: two for every fused instruction.
    let fused = s.total.of(Unit::Fma);
    if tensor > 0.0 || s.total.flops < 1.9 * fused || fused == 0.0 || s.total.of(Unit::Shared) == 0.0 {
        return None;
    }
    let text = "let tensor cores multiply: `input_precision=\"tf32\"` or f16 operands".to_owned();
    s.with(text, |work| {
        work.units[Unit::TensorTf32 as usize] = 2.0 * fused;
        work.units[Unit::Fma as usize] = 0.0;
    })
}

fn narrower_products(s: &Situation) -> Option<Change> {
    let tf32 = s.total.of(Unit::TensorTf32);
    if tf32 == 0.0 {
        return None;
    }
    s.with("give the dots f16 or bf16 operands: they multiply twice as fast and take half the room".to_owned(), |work| {
        work.units[Unit::TensorTf32 as usize] = 0.0;
        work.units[Unit::TensorF16 as usize] += tf32;
        work.units[Unit::Shared as usize] /= 2.0;
    })
}

/// Operands that are read again and again from shared memory or L2.
fn larger_tiles(s: &Situation) -> Option<Change> {
    let tensor = Unit::ALL.iter().any(|&u| u.is_tensor() && s.total.of(u) > 0.0);
    let limiter = s.now.longest()?;
    if !tensor || !matches!(limiter, Unit::Shared | Unit::L2) || s.programs < 2 * u64::from(s.gpu.board?.sm_count) {
        return None;
    }
    let room = match s.occupancy.map(|o| o.limiter) {
        Some(Limiter::Registers) => "; registers limit the occupancy, so with more warps",
        _ => "",
    };
    let text = format!("make the tile of the product twice as wide: {} moves its operands less often{room}", limiter.name());
    // Of the two operands one is read half as often.
    s.with(text, |work| {
        work.units[Unit::Shared as usize] *= 0.75;
        work.units[Unit::L2 as usize] *= 0.75;
    })
    .map(|change| Change { programs: s.programs / 2, ..change })
}

fn exp2(s: &Situation) -> Option<Change> {
    let sfu = s.total.of(Unit::Sfu);
    if sfu == 0.0 || s.total.of(Unit::Fma) < sfu {
        return None;
    }
    s.with("use `tl.exp2` with the factor log2(e) folded into a scale that is multiplied anyway".to_owned(), |work| {
        work.units[Unit::Fma as usize] -= sfu;
    })
}
