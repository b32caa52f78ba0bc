//! The stages of code generation as queries over a specialisation.
//!
//! **Invariant:** keyed by the specialisation and [`Options`] alone, so typing in one kernel compiles no other, and a board of the same SM
//! changes nothing here.

use tritium_semantics::{
    Db, Instance,
    elaborate::elaborate,
    target::{self, Sm},
};
use tritium_tile::{Module, Origin, verify};

use crate::{CompileOptions, Unsupported, llvm, passes, tensor_map::TensorMap};

/// What code is generated for, beyond the specialisation. Interned for good: there are few.
#[salsa::interned(unsafe(no_lifetime), revisions = usize::MAX, debug)]
pub struct Options {
    /// A row of [`target::SMS`], by name.
    #[returns(ref)]
    pub sm: String,
    #[returns(copy)]
    pub num_warps: u32,
    #[returns(copy)]
    pub num_stages: u32,
    /// Registers a thread may have at most (`maxnreg`).
    #[returns(copy)]
    pub max_registers: Option<u32>,
}

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
    /// Behind them, what a launch makes of them.
    pub tensor_maps: Vec<TensorMap>,
}

fn sm(db: &dyn Db, options: Options) -> Result<&'static Sm, Unsupported> {
    let name = options.sm(db);
    target::sm(name).ok_or_else(|| Unsupported::new(Origin::NONE, format!("no SM is called `{name}`")))
}

impl Options {
    pub fn compile_options(self, db: &dyn Db) -> Result<CompileOptions, Unsupported> {
        Ok(CompileOptions { sm: sm(db, self)?, num_warps: self.num_warps(db), num_stages: self.num_stages(db) })
    }
}

/// The module after every pass: at L1, or at L2 where loads are pipelined or warpgroups multiply.
#[salsa::tracked(returns(ref), lru = 256)]
pub fn optimised(db: &dyn Db, instance: Instance, options: Options) -> Result<Module, Unsupported> {
    let module = verified(db, instance)?;
    passes::lower_observed(module, &options.compile_options(db)?, &mut |_, _| db.unwind_if_revision_cancelled())
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
pub fn llvm_text(db: &dyn Db, instance: Instance, options: Options) -> Result<Llvm, Unsupported> {
    let module = optimised(db, instance, options).as_ref().map_err(Clone::clone)?;
    let entry = module.entry();
    // The path of a file, but nothing that a comment in it could change.
    let origins = &elaborate(db, instance).origins;
    let file_of = |origin: Origin| {
        let place = origins.get(origin.0 as usize)?.place;
        Some(place.function.file(db).path(db).display().to_string())
    };
    let emission = llvm::Emission { max_registers: options.max_registers(db), file_of: &file_of };
    let llvm::Text { llvm: text, tensor_maps } = llvm::emit_with(module, sm(db, options)?, &emission)?;
    Ok(Llvm {
        text,
        kernel: llvm::entry_name(module),
        shared_bytes: module.shared_bytes.unwrap_or(0),
        parameters: entry.params.iter().map(|p| p.name.clone()).collect(),
        tensor_maps,
    })
}
