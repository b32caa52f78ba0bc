//! Assertions go where nobody asked for them: Triton compiles `tl.device_assert` under `debug` alone.

use tritium_tile::{Module, OpId, OpKind, rewrite};

use super::{CompileOptions, Fact, Pass, Unsupported};

pub static PASS: Pass = Pass {
    name: "drop_assertions",
    summary: "Leave assertions out unless they are asked for.",
    needs: &[Fact::OneFunction],
    gives: &[],
    run,
};

fn run(module: &mut Module, options: &CompileOptions) -> Result<(), Unsupported> {
    if options.assertions {
        return Ok(());
    }
    let function = &mut module.functions[0];
    let mut dropped: Vec<OpId> = Vec::new();
    function.walk(|_, op| {
        if matches!(function.op(op).kind, OpKind::Assert { .. }) {
            dropped.push(op);
        }
    });
    if dropped.is_empty() {
        return Ok(());
    }
    for op in dropped {
        rewrite::detach(function, op);
    }
    rewrite::erase_dead(function);
    rewrite::compact(function);
    Ok(())
}
