//! What the mathematical functions execute that are programs of several instructions.
//!
//! **Invariant:** the program that is counted is the one that the emitter writes out; what it only calls now and then (large arguments) counts
//! for nothing, and a loop as one trip.

use tritium_tile::{
    Scalar,
    math::{
        Program,
        tape::{Approx, Convert, FloatOp, IntOp, Node, Op},
    },
};

use super::work::{COMPARISON, Instructions, NOTHING, instructions};

pub(super) fn of(program: &Program) -> Instructions {
    program
        .nodes
        .iter()
        .map(node)
        .fold(NOTHING, |sum, row| instructions(sum.fma + row.fma, sum.alu + row.alu, sum.sfu + row.sfu, sum.flops + row.flops))
}

fn node(node: &Node) -> Instructions {
    match node.op {
        Op::Call(called) | Op::Loop(called) => of(called),
        Op::Float(op) => match op {
            FloatOp::Add | FloatOp::Sub | FloatOp::Mul => instructions(1.0, 0.0, 0.0, 1.0),
            FloatOp::Fma => instructions(1.0, 0.0, 0.0, 2.0),
            FloatOp::Div => instructions(8.0, 2.0, 1.0, 14.0),
            FloatOp::Sqrt => instructions(6.0, 2.0, 1.0, 10.0),
            // Modifiers of operands.
            FloatOp::Neg | FloatOp::Abs => NOTHING,
            FloatOp::CopySign | FloatOp::Rint | FloatOp::Trunc | FloatOp::Floor | FloatOp::Ceil => COMPARISON,
        },
        Op::Approx(Approx::DivFull | Approx::Div) => instructions(1.0, 0.0, 1.0, 1.0),
        Op::Approx(_) => instructions(0.0, 0.0, 1.0, 0.0),
        Op::Int(IntOp::Mul | IntOp::MulHiS | IntOp::MulHiU) => instructions(1.0, 0.0, 0.0, 0.0),
        // Conditions are combined where they are compared.
        Op::Int(_) if node.ty == Scalar::I1 => NOTHING,
        Op::Convert(Convert::Bits | Convert::ExtS | Convert::ExtU | Convert::Trunc) => NOTHING,
        Op::Int(_) | Op::Compare(_) | Op::Select | Op::Convert(_) | Op::Lookup(_) => COMPARISON,
        Op::Param(_) | Op::Const(_) | Op::CallIf(_) | Op::Part(_) => NOTHING,
    }
}
