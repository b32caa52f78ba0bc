//! Which tensor-core instruction a dot uses, and how its warps share the result.
//!
//! `mma.sync`: m16n8k16 for `f16` and `bf16`, m16n8k8 for `f32` as tf32, accumulating in `f32`. Warps are dealt so that each has a nearly
//! square part; in a chain of dots (attention) they all go along the rows, so that a result becomes the next left operand in registers.
//!
//! **Invariant:** afterwards every dot's result and accumulator are in one accumulator layout, its operands in the matching fragments.

use tritium_tile::{
    Function, Module, OpId, OpKind, Scalar, ValueId,
    layout::{
        Distributed, Layout, Side,
        mma::{self, dot_operand, k_of, mma16816_accumulator},
    },
    ops::DotPrecision,
    rewrite,
};

use super::{CompileOptions, Fact, Pass, Unsupported};

pub static PASS: Pass = Pass {
    name: "pick_mma",
    summary: "Give every dot a tensor-core instruction and the layouts it needs.",
    needs: &[Fact::HasLayouts, Fact::DotsFit],
    gives: &[Fact::DotsPicked],
    run,
};

/// Why no tensor core takes a dot as it is.
pub struct Refusal {
    pub message: String,
    /// Its extents would be fine.
    pub shape_fits: bool,
}

/// `None` if a tensor core takes this dot.
pub fn refusal(function: &Function, dot: OpId, precision: DotPrecision, tensor_cores: bool) -> Option<Refusal> {
    let op = function.op(dot);
    let ty = |n: usize| function.ty(op.operands[n]);
    let of = |n: usize| ty(n).elem().scalar();
    let (x, y, acc) = (of(0)?, of(1)?, of(2)?);
    let (left, right) = (ty(0).shape(), ty(1).shape());
    let (&[m, k], &[_, n]) = (&left[..], &right[..]) else {
        return Some(Refusal { message: "tensor cores take two-dimensional tiles".to_string(), shape_fits: false });
    };
    // An 8-bit operand is multiplied as f16.
    let fragment = k_of(x.bits().clamp(16, 32));
    if !tensor_cores || m < mma::M || n < mma::N || k < fragment {
        let message = if tensor_cores {
            format!("a dot of [{m}, {k}] by [{k}, {n}] is smaller than a tensor core's {}x{}x{fragment}", mma::M, mma::N)
        } else {
            "this GPU has no `mma.sync`".to_string()
        };
        return Some(Refusal { message, shape_fits: false });
    }
    let fits = match (x, y) {
        (Scalar::F16, Scalar::F16) | (Scalar::BF16, Scalar::BF16) => true,
        (Scalar::F32, Scalar::F32) => precision == DotPrecision::Tf32,
        _ => false,
    };
    if fits && acc == Scalar::F32 {
        return None;
    }
    let how = match (x, precision) {
        (Scalar::F32, DotPrecision::Ieee) => " in ieee precision",
        (Scalar::F32, DotPrecision::Tf32x3) => " in tf32x3 precision",
        (Scalar::F32, DotPrecision::Bf16x3 | DotPrecision::Bf16x6) => " in parts of bf16",
        _ => "",
    };
    Some(Refusal { message: format!("tensor cores do not multiply {x} by {y} into {acc}{how}"), shape_fits: true })
}

fn run(module: &mut Module, options: &CompileOptions) -> Result<(), Unsupported> {
    let function = &mut module.functions[0];
    let chained = chained_dots(function);
    let mut picked = false;
    for block in 0..function.blocks.len() {
        let ops = std::mem::take(&mut function.blocks[block].ops);
        let mut out = Vec::with_capacity(ops.len());
        for id in ops {
            if !matches!(function.op(id).kind, OpKind::Dot { .. }) {
                out.push(id);
                continue;
            }
            picked = true;
            let result = function.op(id).results[0];
            let ty = function.ty(result).clone();
            let (m, n) = (ty.shape()[0], ty.shape()[1]);
            let (warps_m, warps_n) = warps(m, n, options.num_warps, chained[id.index()]);
            let parent = mma16816_accumulator(ty.shape(), warps_m, warps_n);
            let operands = function.op(id).operands.clone();
            for (place, &operand) in operands.iter().enumerate() {
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

/// Warps along rows and along columns.
fn warps(m: u32, n: u32, num_warps: u32, chained: bool) -> (u32, u32) {
    let (mut rows, mut columns) = (1, 1);
    while rows * columns < num_warps {
        let (more_rows, more_columns) = (m / rows > mma::M, n / columns > mma::N);
        let taller = m / rows >= n / columns;
        if more_rows && (chained || taller || !more_columns) || !more_columns {
            rows *= 2;
        } else {
            columns *= 2;
        }
    }
    (rows, columns)
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
