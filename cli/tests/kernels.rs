//! Every kernel of `codegen/tests/llvm` becomes machine code for every SM of the table, without spilling a register.

use std::{
    fs,
    path::{Path, PathBuf},
};

use tritium_codegen::llvm::emit;
use tritium_runtime::worker::{Pool, PtxRequest, passes_for, ptxas};
use tritium_semantics::target::SMS;
use tritium_tile::parse;

#[test]
fn kernels_assemble_for_every_sm() {
    let pool = Pool::new(PathBuf::from(env!("CARGO_BIN_EXE_tritium")));
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../codegen/tests/llvm");
    let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let mut assembled = 0;
    for path in files {
        let text = fs::read_to_string(&path).unwrap();
        let module = parse::parse(&text).unwrap();
        for sm in SMS {
            let name = format!("{} on {}", path.display(), sm.name);
            let llvm = match emit(&module, sm) {
                Ok(llvm) => llvm,
                Err(_) if text.contains(&format!("// refuses {}: ", sm.name)) => continue,
                // The folder names one SM of those without 8-bit floats.
                Err(refused) if text.contains("// refuses ") => {
                    assert!(refused.message.contains(sm.name), "{name}: {refused}");
                    continue;
                }
                Err(refused) => panic!("{name}: {refused}"),
            };
            let request = PtxRequest { llvm: &llvm, cpu: sm.ptx_target, features: sm.ptx_feature, passes: passes_for(&llvm) };
            let ptx = pool.ptx(&request).unwrap_or_else(|e| panic!("{name}: {e}\n{llvm}"));
            let code = pool
                .assemble(&ptxas::AssembleRequest { ptx: &ptx, sm: sm.ptx_target })
                .unwrap_or_else(|e| panic!("{name}: {e}\n{ptx}"));
            // What is printed is handed over in memory of the thread.
            let handed_over = if llvm.contains("@vprintf") { code.stack } else { 0 };
            assert_eq!((code.spill_stores, code.stack), (0, handed_over), "{name}: {}", code.log);
            assembled += 1;
        }
    }
    assert!(assembled > 50, "only {assembled} kernels were there");
}
