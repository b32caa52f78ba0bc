//! Calls become the bodies of their callees.
//!
//! **Invariant:** afterwards the module is its first function alone. Recursion cannot be inlined and is refused.

use tritium_tile::{
    Module,
    inline::{self, MAX_INLINED_OPS},
};

use super::{CompileOptions, Fact, Pass, Unsupported};

pub static PASS: Pass = Pass {
    name: "inline",
    summary: "Put the body of every callee in place of its call.",
    needs: &[],
    gives: &[Fact::OneFunction],
    run,
};

fn run(module: &mut Module, _options: &CompileOptions) -> Result<(), Unsupported> {
    let kernel = inline::inlined(module, MAX_INLINED_OPS)?.into_owned();
    module.functions = vec![kernel];
    Ok(())
}
