//! What a launch wrote, beside what it was to write.
//!
//! **Invariant:** nothing agrees that was not compared: a reference that is NaN, or that reads what nobody has initialised, is refused, and an
//! element that was never written is counted as that, whatever it holds.

use ndarray::{ArrayD, IxDyn};
use smol_str::SmolStr;
use tritium_semantics::{
    dtype::DType,
    launch::{self, Init, Launch, LaunchArg},
    program::Tolerance,
};
use tritium_tile::{Module, OpKind, Scalar, ops::DotPrecision};

use super::report::{Comparison, Output, Unwritten, Worst};
use crate::{device::Stores, expect, tensor::Tensor};

/// A launch that has run.
pub(super) struct Ran<'a> {
    pub(super) launch: &'a Launch,
    /// One tensor of each memory.
    pub(super) memories: &'a [launch::Tensor],
    pub(super) before: &'a [Tensor],
    pub(super) after: &'a [Tensor],
    pub(super) stores: &'a Stores,
}

/// A tensor after a launch.
struct Written<'a> {
    tensor: &'a Tensor,
    /// It held nothing before.
    was_empty: bool,
    /// By element of the storage, where every store was seen.
    stores: Option<&'a [bool]>,
}

impl Written<'_> {
    /// Whether the element held nothing before, and has not been written. On a GPU that is what it looks like.
    fn lacks(&self, element: u64) -> bool {
        let at = self.tensor.position(element);
        self.was_empty
            && match self.stores {
                Some(stores) => !stores.get(at).copied().unwrap_or(false),
                None => self.tensor.slot(at) == self.tensor.pattern(),
            }
    }

    fn unwritten(&self, count: u64, first: Option<u64>) -> Option<Unwritten> {
        let first = index_of(first?, &self.tensor.shape);
        Some(Unwritten { count, of: self.tensor.len(), first, seen: self.stores.is_some() })
    }

    /// Every store was seen, and none went here.
    fn is_untouched(&self) -> bool {
        self.stores.is_some_and(|stores| !stores.contains(&true))
    }
}

impl<'a> Ran<'a> {
    fn written(&self, index: usize) -> Written<'a> {
        let was_empty = self.memories.get(index).is_some_and(|t| t.init == Init::Empty);
        Written { tensor: &self.after[index], was_empty, stores: self.stores.of(index) }
    }

    pub(super) fn changed(&self, index: usize) -> bool {
        self.after[index].bytes != self.before[index].bytes
    }

    /// What the launch wrote, and what it was to write and did not.
    pub(super) fn outputs(&self) -> Vec<Output> {
        (0..self.after.len())
            .filter(|&index| self.changed(index) || self.written(index).was_empty)
            .map(|index| summary(&self.written(index)))
            .collect()
    }

    /// Against the launch's `expect`. `max_bytes`: what the reference may take.
    pub(super) fn expectations(&self, reduction: u64, max_bytes: u64) -> Vec<Comparison> {
        self.launch.expect.iter().map(|(name, text)| self.expectation(name, text, reduction, max_bytes)).collect()
    }

    fn expectation(&self, name: &SmolStr, text: &str, reduction: u64, max_bytes: u64) -> Comparison {
        let failed = |note: String| failed(name, text, note);
        let Some(index) = self.after.iter().position(|t| t.name == *name) else {
            return failed(format!("this launch has no tensor `{name}`"));
        };
        let reference = match self.reference(text, max_bytes) {
            Ok(reference) => reference,
            Err(message) => return failed(message),
        };
        let written = self.written(index);
        let tensor = written.tensor;
        let shape: Vec<u64> = reference.shape().iter().map(|&d| d as u64).collect();
        if shape != tensor.shape {
            return failed(format!("the expression has shape {shape:?}, `{name}` has {:?}", tensor.shape));
        }
        if tensor.is_empty() {
            return failed(format!("`{name}` has no elements, so nothing is compared"));
        }
        let values: Vec<f64> = reference.iter().copied().collect();
        let nan = values.iter().filter(|x| x.is_nan()).count();
        if let Some(first) = values.iter().position(|x| x.is_nan()) {
            let first = index_of(first as u64, &tensor.shape);
            let of = values.len();
            return failed(format!(
                "the reference is NaN at {nan} of {of} elements, the first at {first:?}: it says nothing there"
            ));
        }
        let bound = self.launch.tolerance.unwrap_or_else(|| bound(tensor.dtype, reduction));
        let mut comparison = compare(&written, &values, |_| false, text, bound);
        if comparison.ok && written.is_untouched() {
            comparison.note = Some("it holds what is expected, though the launch wrote none of it".to_owned());
        }
        comparison
    }

    /// The value of an expression over the inputs.
    fn reference(&self, text: &str, max_bytes: u64) -> Result<expect::Array, String> {
        let used = expect::names_in(text)?;
        let mut names = expect::Names::new();
        for (spec, tensor) in self.memories.iter().zip(self.before) {
            if !used.contains(&tensor.name) {
                names.insert(tensor.name.clone(), ArrayD::zeros(IxDyn(&[0])));
                continue;
            }
            if spec.init == Init::Empty {
                return Err(format!(
                    "it reads `{}`, which holds nothing before the launch: nothing can agree with that",
                    tensor.name
                ));
            }
            let shape: Vec<usize> = tensor.shape.iter().map(|&d| d as usize).collect();
            if let Ok(array) = ArrayD::from_shape_vec(IxDyn(&shape), tensor.values()) {
                names.insert(tensor.name.clone(), array);
            }
        }
        // A parameter goes before the item of a tuple that would be called the same.
        let (items, others): (Vec<_>, Vec<_>) = self.launch.args.iter().partition(|(_, arg)| matches!(arg, LaunchArg::Tuple(_)));
        for (name, arg) in others.into_iter().chain(items) {
            add_numbers(name.to_string(), arg, &mut names);
        }
        expect::evaluate(text, &names, max_bytes)
    }

    /// Against the same launch elsewhere, which rounds as often on its way.
    pub(super) fn against(&self, other: &Ran<'_>, what: &str, rounding: Rounding) -> Vec<Comparison> {
        let extent = largest_extent(self.launch);
        let one = |index: usize| {
            let (written, reference) = (self.written(index), other.written(index));
            if written.tensor.is_empty() {
                return None;
            }
            let values = reference.tensor.values();
            let neither = |element| reference.lacks(element) && written.lacks(element);
            let comparison = compare(&written, &values, neither, what, rounding.bound(written.tensor.dtype, extent));
            let numbers = || (0..).zip(&values).any(|(element, value)| !value.is_nan() && !reference.lacks(element));
            if comparison.ok && !numbers() {
                return Some(failed(&written.tensor.name, what, format!("everything that {what} wrote is NaN")));
            }
            Some(comparison)
        };
        (0..self.after.len()).filter(|&index| self.changed(index) || other.changed(index)).filter_map(one).collect()
    }
}

/// The numbers of an argument as an expression names them: `n`, and `t_0` of a tuple `t`.
fn add_numbers(name: String, arg: &LaunchArg, names: &mut expect::Names) {
    let value = match arg {
        LaunchArg::Int(value) => *value as f64,
        LaunchArg::Float(value) => *value,
        LaunchArg::Tuple(items) => {
            return items.iter().enumerate().for_each(|(i, item)| add_numbers(format!("{name}_{i}"), item, names));
        }
        LaunchArg::Bool(_) | LaunchArg::Tensor(_) | LaunchArg::None | LaunchArg::Descriptor { .. } => return,
    };
    names.entry(name).or_insert_with(|| ArrayD::from_elem(IxDyn(&[]), value));
}

/// A comparison that could not be made.
pub(super) fn failed(tensor: &str, reference: &str, note: String) -> Comparison {
    Comparison {
        tensor: tensor.to_owned(),
        reference: reference.to_owned(),
        error: 0.0,
        bound: 0.0,
        ok: false,
        worst: None,
        note: Some(note),
        unwritten: None,
        tolerance: None,
    }
}

fn summary(written: &Written<'_>) -> Output {
    let tensor = written.tensor;
    let (mut min, mut max, mut sum, mut count, mut nan) = (f64::INFINITY, f64::NEG_INFINITY, 0.0, 0u64, 0u64);
    let (mut unwritten, mut first_unwritten) = (0, None);
    let mut first = Vec::new();
    for (element, x) in (0..).zip(tensor.values()) {
        nan += u64::from(x.is_nan());
        if written.lacks(element) {
            unwritten += 1;
            first_unwritten.get_or_insert(element);
            continue;
        }
        if x.is_finite() && first.len() < 4 {
            first.push(x);
        }
        if !x.is_nan() {
            (min, max, sum, count) = (min.min(x), max.max(x), sum + x, count + 1);
        }
    }
    // JSON has no infinities; a tensor of NaN alone has no extremes.
    let finite = |x: f64| if x.is_finite() { x } else { 0.0 };
    Output {
        name: tensor.name.clone(),
        ty: spelled(tensor),
        min: finite(min),
        max: finite(max),
        mean: if count == 0 { 0.0 } else { finite(sum / count as f64) },
        nan,
        first,
        unwritten: written.unwritten(unwritten, first_unwritten),
    }
}

/// `f32[583, 931]`
pub(super) fn spelled(tensor: &Tensor) -> String {
    let dims: Vec<String> = tensor.shape.iter().map(u64::to_string).collect();
    format!("{}[{}]", tensor.dtype, dims.join(", "))
}

/// All elements but those that are passed over.
fn compare(written: &Written<'_>, reference: &[f64], passed_over: impl Fn(u64) -> bool, what: &str, bound: f64) -> Comparison {
    let tensor = written.tensor;
    let values = tensor.values();
    let exact = tensor.dtype.is_int();
    let (mut difference, mut norm, mut differing) = (0.0f64, 0.0f64, 0u64);
    let (mut unwritten, mut first_unwritten) = (0, None);
    let mut worst: Option<(usize, f64)> = None;
    for (i, (&value, &expected)) in values.iter().zip(reference).enumerate() {
        let element = i as u64;
        if passed_over(element) {
            continue;
        }
        // Equal infinities agree; a NaN agrees with a NaN only.
        let same = value == expected || (value.is_nan() && expected.is_nan());
        // What only looks unwritten and agrees has been written.
        if (written.stores.is_some() || !same) && written.lacks(element) {
            unwritten += 1;
            first_unwritten.get_or_insert(element);
            continue;
        }
        let delta = if same { 0.0 } else { (value - expected).abs() };
        let delta = if delta.is_nan() { f64::INFINITY } else { delta };
        if delta > 0.0 {
            differing += 1;
            if worst.is_none_or(|(_, d)| delta > d) {
                worst = Some((i, delta));
            }
        }
        difference += delta * delta;
        norm += if expected.is_finite() { expected * expected } else { 0.0 };
    }
    let error = match exact {
        true => differing as f64,
        false if difference == 0.0 => 0.0,
        false if norm == 0.0 => difference.sqrt(),
        false => (difference / norm).sqrt(),
    };
    let bound = if exact { 0.0 } else { bound };
    Comparison {
        tensor: tensor.name.clone(),
        reference: what.to_owned(),
        error,
        bound,
        ok: error <= bound && unwritten == 0,
        worst: worst.map(|(i, _)| Worst { index: index_of(i as u64, &tensor.shape), value: values[i], reference: reference[i] }),
        note: None,
        unwritten: written.unwritten(unwritten, first_unwritten),
        tolerance: None,
    }
}

/// One array beside another that a program compares it with: within what the program allows, or else within `bound`.
pub(super) fn beside(tensor: &Tensor, reference: &[f64], what: &str, tolerance: Option<Tolerance>, bound: f64) -> Comparison {
    if tensor.is_empty() {
        return failed(&tensor.name, what, "there are no elements, so nothing is compared".to_owned());
    }
    if let Some(first) = reference.iter().position(|x| x.is_nan()) {
        let first = index_of(first as u64, &tensor.shape);
        return failed(&tensor.name, what, format!("`{what}` is NaN, first at {first:?}: it says nothing there"));
    }
    let written = Written { tensor, was_empty: false, stores: None };
    let mut comparison = compare(&written, reference, |_| false, what, bound);
    if let Some(Tolerance { relative, absolute }) = tolerance {
        let values = tensor.values();
        let is_close = |(&a, &b): (&f64, &f64)| a == b || (a - b).abs() <= absolute + relative * b.abs();
        comparison.ok = values.iter().zip(reference).all(is_close);
        comparison.tolerance = Some([relative, absolute]);
    }
    comparison
}

fn index_of(mut flat: u64, shape: &[u64]) -> Vec<u64> {
    let mut index: Vec<u64> = shape
        .iter()
        .rev()
        .map(|&extent| {
            let i = flat % extent.max(1);
            flat /= extent.max(1);
            i
        })
        .collect();
    index.reverse();
    index
}

/// Elements that one output element may sum: the widest reduction or dot of the kernel, times the trips of the loops around it. Trips are
/// bounded by the largest extent of the launch's tensors, since a loop walks along one of them.
pub(super) fn longest_reduction(module: &Module, launch: &Launch) -> u64 {
    let (longest, loops) = reductions(module);
    if loops { longest.max(largest_extent(launch)) } else { longest }
}

fn largest_extent(launch: &Launch) -> u64 {
    launch.tensors.iter().flat_map(|t| &t.shape).copied().max().unwrap_or(1)
}

/// The most terms that one operation adds up, and whether there are loops, which may add up more.
fn reductions(module: &Module) -> (u64, bool) {
    let (mut longest, mut loops) = (1, false);
    for function in &module.functions {
        function.walk(|_, op| {
            let op = function.op(op);
            let along = |operand: usize, axis: usize| u64::from(function.ty(op.operands[operand]).shape()[axis]);
            match &op.kind {
                OpKind::Reduce { axis } | OpKind::Scan { axis, .. } => longest = longest.max(along(0, usize::from(*axis))),
                OpKind::Dot { .. } | OpKind::Wgmma { .. } => {
                    // The inner extent; a batch may stand in front.
                    longest = longest.max(along(0, function.ty(op.operands[0]).shape().len() - 1));
                }
                OpKind::For(_) | OpKind::While { .. } => loops = true,
                _ => {}
            }
        });
    }
    (longest, loops)
}

/// How a kernel rounds on its way from what it is given to what it leaves.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Rounding {
    /// The most terms that one operation adds up, and whether there are loops, which may add up more.
    terms: u64,
    loops: bool,
    /// The distance of 1 from the next number in the coarsest type that it rounds to: that of a cast, of arithmetic, of what a tensor core takes
    /// for `f32`.
    coarsest: f64,
}

impl Rounding {
    pub(super) fn of(module: &Module) -> Rounding {
        let (terms, loops) = reductions(module);
        let mut coarsest: f64 = 0.0;
        for function in &module.functions {
            function.walk(|_, op| {
                let op = function.op(op);
                coarsest = coarsest.max(match &op.kind {
                    // They take numbers as they are.
                    OpKind::Load { .. } | OpKind::Constant(_) => 0.0,
                    OpKind::Dot { precision: DotPrecision::Tf32, .. } => 2f64.powi(-10),
                    _ => op
                        .results
                        .iter()
                        .filter_map(|&result| function.ty(result).elem().scalar())
                        .map(eps_of)
                        .fold(0.0, f64::max),
                });
            });
        }
        Rounding { terms, loops, coarsest }
    }

    pub(super) fn bound(&self, dtype: DType, extent: u64) -> f64 {
        let terms = if self.loops { self.terms.max(extent) } else { self.terms };
        match eps(dtype) {
            0.0 => 0.0,
            eps => 4.0 * eps.max(self.coarsest) * (terms as f64).sqrt(),
        }
    }
}

fn eps_of(scalar: Scalar) -> f64 {
    match scalar {
        Scalar::F8E4M3 => eps(DType::F8E4M3),
        Scalar::F8E5M2 => eps(DType::F8E5M2),
        Scalar::BF16 => eps(DType::BF16),
        Scalar::F16 => eps(DType::F16),
        Scalar::F32 => eps(DType::F32),
        Scalar::F64 => eps(DType::F64),
        _ => 0.0,
    }
}

fn eps(dtype: DType) -> f64 {
    match dtype {
        DType::F8E4M3 => 2f64.powi(-3),
        DType::F8E5M2 => 2f64.powi(-2),
        DType::BF16 => 2f64.powi(-7),
        DType::F16 => 2f64.powi(-10),
        DType::F32 => f64::from(f32::EPSILON),
        DType::F64 => f64::EPSILON,
        _ => 0.0,
    }
}

pub(super) fn bound(dtype: DType, longest_reduction: u64) -> f64 {
    4.0 * eps(dtype) * (longest_reduction as f64).sqrt()
}
