//! Calls become the bodies of their callees.
//!
//! **Invariant:** afterwards the module is its first function alone. Recursion cannot be inlined and is refused.

use tritium_tile::{
    Module,
    inline::{self, NotInlined},
};

use super::{CompileOptions, Fact, Pass, Unsupported};

pub static PASS: Pass = Pass {
    name: "inline",
    summary: "Put the body of every callee in place of its call.",
    needs: &[],
    gives: &[Fact::OneFunction],
    run,
};

/// Operations of a kernel with everything it calls in it.
const MAX_INLINED_OPS: usize = 1 << 17;

fn run(module: &mut Module, _options: &CompileOptions) -> Result<(), Unsupported> {
    let kernel = inline::inlined(module, MAX_INLINED_OPS).map_err(|why| match why {
        NotInlined::Endless { origin, callee } => {
            let message = format!("`{callee}` calls itself or nests too deeply to be inlined; write the recursion as a loop");
            Unsupported::new(origin, message)
        }
        NotInlined::TooLarge { origin, callee, times, ops } => {
            let message = format!(
                "the kernel with its helpers in place would be {ops} operations, and at most {MAX_INLINED_OPS} are compiled: `{callee}` would stand in it {times} times. Call it once and use the result again"
            );
            Unsupported::new(origin, message)
        }
    })?;
    let kernel = kernel.into_owned();
    module.functions = vec![kernel];
    Ok(())
}
