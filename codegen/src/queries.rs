//! The stages of code generation as queries over a specialisation.
//!
//! **Invariant:** keyed by the specialisation and [`CompileOptions`] alone, so typing in one kernel compiles no other, and a board of the same SM
//! changes nothing here.

use tritium_semantics::{Db, FilePlace, Instance, elaborate::elaborate};
use tritium_tile::{Module, Origin, verify};

use crate::{CompileOptions, Unsupported, llvm, passes, tensor_map::TensorMap};

/// A kernel as LLVM text, and what a launch must know of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Llvm {
    pub text: String,
    /// The entry's name.
    pub kernel: String,
    /// Dynamic shared memory of a CTA.
    pub shared_bytes: u32,
    /// Run-time parameters in order.
    pub parameters: Vec<String>,
    /// Bytes for each program of the grid, in memory that a launch gives behind them if there are any.
    pub scratch_bytes: u32,
    /// Behind that, what a launch makes of the parameters.
    pub tensor_maps: Vec<TensorMap>,
}

/// The module after every pass: at L1, or at L2 where loads are pipelined or warpgroups multiply.
#[salsa::tracked(returns(ref), lru = 256)]
pub fn optimised(db: &dyn Db, instance: Instance, options: CompileOptions) -> Result<Module, Unsupported> {
    let module = verified(db, instance)?;
    passes::lower_observed(module, &options, &mut |_, _| db.unwind_if_revision_cancelled())
}

/// The tile IR of a kernel that is known to its end.
pub fn verified(db: &dyn Db, instance: Instance) -> Result<&Module, Unsupported> {
    let elaborated = elaborate(db, instance);
    if !elaborated.complete {
        let why = if elaborated.exhausted { "is too long to be followed" } else { "has errors" };
        return Err(Unsupported::new(Origin::NONE, format!("the kernel {why}; `tritium check` shows where")));
    }
    // What does not verify is a defect of elaboration; later stages must not meet it.
    match verify::verify(&elaborated.module).first() {
        None => Ok(&elaborated.module),
        Some(problem) => {
            Err(Unsupported::new(Origin::NONE, format!("a defect in Tritium: its tile IR does not verify ({problem:?})")))
        }
    }
}

/// LLVM IR as text.
#[salsa::tracked(returns(ref), lru = 256)]
pub fn llvm_text(db: &dyn Db, instance: Instance, options: CompileOptions) -> Result<Llvm, Unsupported> {
    let module = optimised(db, instance, options).as_ref().map_err(Clone::clone)?;
    let entry = module.entry();
    // The path of a file, but nothing that a comment in it could change.
    let origins = &elaborate(db, instance).origins;
    let file_of = |origin: Origin| {
        let place = origins.get(origin.0 as usize)?.place;
        let path = place.function.file(db).path(db).clone();
        Some(db.system().original(FilePlace { path, line: 1, column: 1 }).path.display().to_string())
    };
    let emission = llvm::Emission { max_registers: options.launch.max_registers, file_of: &file_of };
    let llvm::Text { llvm: text, mut scratch_bytes, tensor_maps } = llvm::emit_with(module, options.sm, &emission)?;
    if scratch_bytes > 0 {
        scratch_bytes = scratch_bytes.max(passes::asked_scratch::bytes(verified(db, instance)?, &options)?);
    }
    Ok(Llvm {
        text,
        kernel: llvm::entry_name(module),
        shared_bytes: module.shared_bytes.unwrap_or(0),
        parameters: entry.params.iter().map(|p| p.name.clone()).collect(),
        scratch_bytes,
        tensor_maps,
    })
}
