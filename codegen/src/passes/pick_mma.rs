//! Which tensor-core instruction a dot uses, and how its warps share the result.
//!
//! `mma.sync`: m16n8k16 for `f16` and `bf16`, m16n8k8 for `f32` as tf32, accumulating in `f32` or `f16` by `f16`; m16n8k32 for `i8`. Warps are dealt so that each has a nearly
//! square part; in a chain of dots (attention) they all go along the rows, so that a result becomes the next left operand in registers. A tile that is smaller
//! than the instruction is repeated in it.
//!
//! `wgmma`, where the SM has it and warpgroups have work: warpgroups lie below each other as far as there are rows, then side by side. Its
//! operands come from shared memory, except a left one that is computed from another dot's result: that stays in registers.
//!
//! What no tensor core takes is multiplied and added by single threads, whose blocks [`fma`] deals.
//!
//! **Invariant:** afterwards every dot's result and accumulator are in one accumulator layout, and what a tensor core reads from registers in
//! the matching fragments.

use tritium_semantics::target::Feature;
use tritium_tile::{
    Function, Module, OpId, OpKind, Scalar, ValueId,
    layout::{
        Distributed, Layout, Side, fma,
        mma::{self, dot_operand, k_of, mma16816_accumulator},
        wgmma,
    },
    ops::DotPrecision,
    rewrite,
};

use super::{CompileOptions, Fact, Pass, Unsupported, use_wgmma};

pub static PASS: Pass = Pass {
    name: "pick_mma",
    summary: "Give every dot a tensor-core instruction and the layouts it needs.",
    needs: &[Fact::HasLayouts, Fact::DotsFit],
    gives: &[Fact::DotsPicked],
    run,
};

/// What multiplies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    TensorCore,
    /// Multiplications and additions of single threads.
    Fma,
}

/// What takes this dot as it is; `None` if it must be rewritten first.
pub fn unit(function: &Function, dot: OpId, precision: DotPrecision, options: &CompileOptions) -> Option<Unit> {
    if use_wgmma::grouping(function, dot, options).is_some() {
        return Some(Unit::TensorCore);
    }
    let tensor_cores = options.sm.has(Feature::MmaSync);
    let op = function.op(dot);
    let ty = |n: usize| function.ty(op.operands[n]);
    let of = |n: usize| ty(n).elem().scalar();
    let (x, y, acc) = (of(0)?, of(1)?, of(2)?);
    let (left, right) = (ty(0).shape(), ty(1).shape());
    let rank = left.len();
    let (k, n) = (left[rank - 1], right[rank - 1]);
    let fits = tensor_cores && n >= mma::LEAST_N && k >= k_of(x.bits());
    match (x, y, acc) {
        (Scalar::F16, Scalar::F16, Scalar::F32)
        | (Scalar::BF16, Scalar::BF16, Scalar::F32)
        | (Scalar::I8, Scalar::I8, Scalar::I32) => Some(if fits { Unit::TensorCore } else { Unit::Fma }),
        // Single threads sum in f32.
        (Scalar::F16, Scalar::F16, Scalar::F16) => fits.then_some(Unit::TensorCore),
        (Scalar::F64, Scalar::F64, Scalar::F64) => Some(Unit::Fma),
        (Scalar::F32, Scalar::F32, Scalar::F32) => match precision {
            DotPrecision::Tf32 => Some(if fits { Unit::TensorCore } else { Unit::Fma }),
            DotPrecision::Ieee => Some(Unit::Fma),
            // Sums of products of parts recover what one product in full precision has at once.
            DotPrecision::Tf32x3 | DotPrecision::Bf16x3 | DotPrecision::Bf16x6 => (!fits).then_some(Unit::Fma),
        },
        _ => None,
    }
}

fn run(module: &mut Module, options: &CompileOptions) -> Result<(), Unsupported> {
    let function = &mut module.functions[0];
    let chained = chained_dots(function);
    let summed = dots_summed_in_loops(function);
    let mut picked = false;
    for block in 0..function.blocks.len() {
        let ops = std::mem::take(&mut function.blocks[block].ops);
        let mut out = Vec::with_capacity(ops.len());
        for id in ops {
            let OpKind::Dot { precision, .. } = function.op(id).kind else {
                out.push(id);
                continue;
            };
            picked = true;
            let result = function.op(id).results[0];
            let ty = function.ty(result).clone();
            let without = unit(function, id, precision, options) == Some(Unit::Fma);
            let groups = use_wgmma::grouping(function, id, options);
            let parent = match groups {
                Some((groups_m, groups_n)) => wgmma::accumulator(ty.shape(), groups_m, groups_n),
                None if without => fma::accumulator(ty.shape(), options.launch.num_warps),
                None => accumulator(ty.shape(), options.launch.num_warps, chained[id.index()], summed[id.index()]),
            };
            let operands = function.op(id).operands.clone();
            for (place, &operand) in operands.iter().enumerate() {
                // Without tensor cores the operands are read from scratch, wherever they come from; what `wgmma` reads from shared memory
                // may be written there from any layout.
                if place < 2 && (without || groups.is_some() && use_wgmma::is_free(function, &module.layouts, id, place)) {
                    continue;
                }
                let layout = fragment(function, operand, place, &parent);
                let layout = module.layouts.intern(Layout::Distributed(layout));
                let wanted = function.ty(operand).with_layout(layout);
                let convert = function.create_op(OpKind::ConvertLayout, &[operand], [wanted], &[], function.op(id).origin);
                let converted = function.op(convert).results[0];
                function.op_mut(id).operands[place] = converted;
                out.push(convert);
            }
            let layout = module.layouts.intern(Layout::Distributed(parent));
            let kind = function.op(id).kind.clone();
            let operands = function.op(id).operands.clone();
            let origin = function.op(id).origin;
            let dot = function.create_op(kind, &operands, [ty.with_layout(layout)], &[], origin);
            out.push(dot);
            // The old op becomes the way back, so users keep their value.
            let fresh = function.op(dot).results[0];
            let old = function.op_mut(id);
            old.kind = OpKind::ConvertLayout;
            old.operands = [fresh].into_iter().collect();
            out.push(id);
        }
        function.blocks[block].ops = out;
    }
    if picked {
        rewrite::compact(function);
    }
    Ok(())
}

fn fragment(function: &Function, operand: ValueId, place: usize, parent: &Distributed) -> Distributed {
    let ty = function.ty(operand);
    let side = match place {
        0 => Side::A,
        1 => Side::B,
        _ => return parent.clone(),
    };
    dot_operand(side, parent, ty.shape(), ty.elem().bits())
}

/// Warps first take different matrices of a batch, then share each.
fn accumulator(shape: &[u32], num_warps: u32, chained: bool, summed: bool) -> Distributed {
    let rank = shape.len();
    let (m, n) = (shape[rank - 2], shape[rank - 1]);
    let batch: u32 = shape[..rank - 2].iter().product();
    let apart = batch.min(num_warps);
    let (warps_m, warps_n) = warps(m, n, num_warps / apart, chained, summed);
    let mut layout = mma16816_accumulator(shape, warps_m, warps_n);
    for bit in 0..apart.ilog2() {
        let basis = (m * n) << bit;
        layout.register.retain(|b| *b != basis);
        layout.warp.push(basis);
    }
    layout
}

/// Warps along rows and along columns. What is as tall as wide goes by columns where these are summed up, so that each stays in a warp.
fn warps(m: u32, n: u32, num_warps: u32, chained: bool, summed: bool) -> (u32, u32) {
    let (mut rows, mut columns) = (1, 1);
    while rows * columns < num_warps {
        let (more_rows, more_columns) = (m / rows > mma::M, n / columns > mma::N);
        let taller = m / rows > n / columns || !summed && m / rows == n / columns;
        if more_rows && (chained || taller || !more_columns) || !more_columns {
            rows *= 2;
        } else {
            columns *= 2;
        }
    }
    (rows, columns)
}

/// Dots whose result a loop behind them begins with that reduces its columns, and not its rows, on each trip.
fn dots_summed_in_loops(function: &Function) -> Vec<bool> {
    let users = rewrite::users(function);
    let mut summed = vec![false; function.ops.len()];
    function.walk(|_, dot| {
        if !matches!(function.op(dot).kind, OpKind::Dot { .. }) {
            return;
        }
        let result = function.op(dot).results[0];
        let shape = function.ty(result).shape();
        let mut seen = vec![false; function.values.len()];
        // With whether a loop carries it.
        let mut pending = vec![(result, false)];
        let (mut columns, mut rows) = (false, false);
        while let Some((value, carried)) = pending.pop() {
            if function.ty(value).shape() != shape || std::mem::replace(&mut seen[value.index()], true) {
                continue;
            }
            for &user in &users[value.index()] {
                let op = function.op(user);
                match op.kind {
                    OpKind::Reduce { axis } if carried => {
                        columns |= usize::from(axis) + 2 == shape.len();
                        rows |= usize::from(axis) + 1 == shape.len();
                    }
                    OpKind::For(_) => {
                        let Some(around) = function.for_loop(user) else { continue };
                        let begun = around.init.iter().zip(around.args).filter(|(init, _)| **init == value);
                        pending.extend(begun.map(|(_, &arg)| (arg, true)));
                    }
                    ref kind if kind.is_elementwise() || matches!(kind, OpKind::ConvertLayout) => {
                        pending.extend(op.results.iter().map(|&result| (result, carried)));
                    }
                    _ => {}
                }
            }
        }
        summed[dot.index()] = columns && !rows;
    });
    summed
}

/// Dots whose result reaches another dot's left operand through elementwise ops, and those other dots.
fn chained_dots(function: &Function) -> Vec<bool> {
    let users = rewrite::users(function);
    let mut chained = vec![false; function.ops.len()];
    function.walk(|_, dot| {
        if !matches!(function.op(dot).kind, OpKind::Dot { .. }) {
            return;
        }
        let mut seen = vec![false; function.values.len()];
        let mut pending = vec![function.op(dot).results[0]];
        while let Some(value) = pending.pop() {
            if std::mem::replace(&mut seen[value.index()], true) {
                continue;
            }
            for &user in &users[value.index()] {
                let op = function.op(user);
                if matches!(op.kind, OpKind::Dot { .. }) && op.operands[0] == value {
                    chained[dot.index()] = true;
                    chained[user.index()] = true;
                } else if op.kind.is_elementwise() || matches!(op.kind, OpKind::ConvertLayout) {
                    pending.extend(&op.results);
                }
            }
        }
    });
    chained
}
