//! The LLVM side of a worker: text in, PTX out. **Only worker processes run this; it may abort.**
//!
//! No other file names inkwell.

use std::cell::RefCell;
use std::ffi::{CStr, c_int, c_void};
use std::rc::Rc;
use std::sync::Once;

use inkwell::OptimizationLevel;
use inkwell::context::Context;
use inkwell::llvm_sys::LLVMDiagnosticSeverity;
use inkwell::llvm_sys::core::{
    LLVMContextSetDiagnosticHandler, LLVMDisposeMessage, LLVMGetDiagInfoDescription, LLVMGetDiagInfoSeverity,
};
use inkwell::llvm_sys::prelude::LLVMDiagnosticInfoRef;
use inkwell::llvm_sys::support::LLVMParseCommandLineOptions;
use inkwell::memory_buffer::MemoryBuffer;
use inkwell::passes::PassBuilderOptions;
use inkwell::targets::{CodeModel, FileType, InitializationConfig, RelocMode, Target, TargetMachine, TargetTriple};

use super::{PtxRequest, ptx};

/// The version of the LLVM linked into this program. Safe in any process.
pub fn version() -> String {
    let (major, minor, patch) = inkwell::support::get_llvm_version();
    format!("{major}.{minor}.{patch}")
}

/// Parses, checks, optimises and prints one module.
pub(super) fn ptx(request: &PtxRequest) -> Result<String, String> {
    // Idempotent, 50 microseconds the first time.
    Target::initialize_nvptx(&InitializationConfig::default());
    set_options();
    // LLVM turns these into C strings, and would stop at a zero byte or panic.
    if [request.cpu, request.features, request.passes].iter().any(|option| option.contains('\0')) {
        return Err("a zero byte in the processor, the features or the passes".into());
    }
    // Declared before the context, which therefore goes first and never sees it gone.
    let complaints = RefCell::new(Vec::<String>::new());
    let context = Context::create();
    // SAFETY: the handler is called only while this context works, with this very pointer, which outlives the context.
    unsafe { LLVMContextSetDiagnosticHandler(context.raw(), Some(complain), (&raw const complaints).cast_mut().cast()) };
    let buffer = MemoryBuffer::create_from_memory_range_copy(request.llvm.as_bytes(), "module");
    let module = context
        .create_module_from_ir(buffer)
        .map_err(|error| format!("LLVM cannot read the module: {}", error.to_string().trim_end()))?;
    module.verify().map_err(|error| format!("LLVM finds the module malformed: {}", error.to_string().trim_end()))?;

    let machine = machine(request.cpu, request.features)?;
    module.set_triple(&machine.get_triple());
    module.set_data_layout(&machine.get_target_data().get_data_layout());

    let options = PassBuilderOptions::create();
    // Loops are shaped by our own passes. Copies of an inline-asm loop body would break its labels and its cost.
    options.set_loop_unrolling(false);
    options.set_loop_vectorization(false);
    options.set_loop_slp_vectorization(false);
    options.set_loop_interleaving(false);
    if !request.passes.is_empty() {
        module.run_passes(request.passes, &machine, options).map_err(|error| format!("LLVM's passes failed: {error}"))?;
    }
    let text = machine.write_to_memory_buffer(&module, FileType::Assembly).map_err(|error| error.to_string())?;
    // LLVM prints PTX all the same when it has dropped an instruction whose constraints it cannot meet.
    if let Some(complaint) = complaints.borrow().first() {
        return Err(format!("LLVM cannot compile the module: {complaint}"));
    }
    let text = String::from_utf8_lossy(text.as_slice());
    ptx::finish(text.trim_end_matches('\0'), request)
}

/// A processor, features, and LLVM's machine for them.
type Known = (String, String, Rc<TargetMachine>);

/// The machine for a processor. Making one takes longer than some kernels do, and requests seldom ask for another than the last.
fn machine(cpu: &str, features: &str) -> Result<Rc<TargetMachine>, String> {
    thread_local!(static LAST: RefCell<Option<Known>> = const { RefCell::new(None) });
    LAST.with_borrow_mut(|last| {
        if let Some((_, _, machine)) = last.as_ref().filter(|known| known.0 == cpu && known.1 == features) {
            return Ok(machine.clone());
        }
        let triple = TargetTriple::create("nvptx64-nvidia-cuda");
        let target = Target::from_triple(&triple).map_err(|error| error.to_string())?;
        // The level above numbers all values once more, which our passes have done: the same PTX for a tenth more time.
        let level = OptimizationLevel::Default;
        let machine = target
            .create_target_machine(&triple, cpu, features, level, RelocMode::Default, CodeModel::Default)
            .ok_or("LLVM has no NVPTX target machine")?;
        let machine = Rc::new(machine);
        *last = Some((cpu.to_owned(), features.to_owned(), machine.clone()));
        Ok(machine)
    })
}

/// Switches LLVM's loop strength reduction off, and `mad.wide` on. The former makes a 64-bit pointer to carry of every address in a loop,
/// where ours are a scalar pointer plus offsets that stay the same, and so costs registers that kernels with tensor cores do not have (others
/// have it as a pass). The latter lets ptxas add up addresses beside a pointer that is a parameter: from `mul.wide` and `add` it makes a
/// multiplication that takes the pointer from a register, for which each warp waits until it is loaded (`LDC`).
fn set_options() {
    static ONCE: Once = Once::new();
    let words = [c"tritium", c"-disable-lsr", c"-nvptx-mad-wide-opt"].map(CStr::as_ptr);
    // SAFETY: two C strings that live for ever, and their number; LLVM's options are set once, before anything reads them.
    ONCE.call_once(|| unsafe { LLVMParseCommandLineOptions(words.len() as c_int, words.as_ptr(), std::ptr::null()) });
}

/// Notes what LLVM calls an error. Without this it would only be printed.
extern "C" fn complain(info: LLVMDiagnosticInfoRef, complaints: *mut c_void) {
    // SAFETY: LLVM passes a valid diagnostic and the pointer that was registered with this function; the message that
    // it makes is a C string of ours to free.
    unsafe {
        if LLVMGetDiagInfoSeverity(info) == LLVMDiagnosticSeverity::LLVMDSError {
            let message = LLVMGetDiagInfoDescription(info);
            let text = CStr::from_ptr(message).to_string_lossy().into_owned();
            LLVMDisposeMessage(message);
            (*complaints.cast_const().cast::<RefCell<Vec<String>>>()).borrow_mut().push(text);
        }
    }
}
