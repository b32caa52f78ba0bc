//! Worker processes, with the real program: what they make, and what their callers see when they fail.

use std::path::{Path, PathBuf};
use std::time::Duration;

use tritium_codegen::ptx_strings::shared_note;
use tritium_runtime::exact::{compile_exact, compile_ptx};
use tritium_runtime::store::Store;
use tritium_runtime::worker::{LEAN_PASSES, Pool, PtxRequest, WorkerError, ptxas};

/// `y[i] = 2 * x[i]`, one element a thread.
const DOUBLE: &str = r#"
target triple = "nvptx64-nvidia-cuda"
define ptx_kernel void @double(ptr addrspace(1) %y, ptr addrspace(1) %x) #0 {
  %i = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %slot = alloca float
  %px = getelementptr float, ptr addrspace(1) %x, i32 %i
  %v = load float, ptr addrspace(1) %px
  store float %v, ptr %slot
  %u = load float, ptr %slot
  %w = fadd float %u, %u
  %py = getelementptr float, ptr addrspace(1) %y, i32 %i
  store float %w, ptr addrspace(1) %py
  ret void
}
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
attributes #0 = { "nvvm.maxntid"="128,1,1" }
"#;

/// LLVM has no instruction for this and aborts.
const UNSELECTABLE: &str = r#"
define ptx_kernel void @f(ptr addrspace(1) %y, float %x) {
  %s = call float @llvm.sin.f32(float %x)
  store float %s, ptr addrspace(1) %y
  ret void
}
declare float @llvm.sin.f32(float)
"#;

fn pool() -> Pool {
    Pool::new(PathBuf::from(env!("CARGO_BIN_EXE_tritium")))
}

fn hopper(llvm: &str) -> PtxRequest<'_> {
    PtxRequest { llvm, cpu: "sm_90a", features: "+ptx83", passes: LEAN_PASSES }
}

#[test]
fn llvm_text_becomes_ptx() {
    let ptx = pool().ptx(&hopper(DOUBLE)).unwrap();
    for expected in [".version 8.3\n.target sm_90a\n", ".visible .entry double(", ".maxntid 128, 1, 1", "ld.global.b32"] {
        assert!(ptx.contains(expected), "{expected} in\n{ptx}");
    }
    assert!(!ptx.contains(".local"), "the passes ran, so there is no stack slot:\n{ptx}");
}

#[test]
fn every_processor_of_the_table_is_known() {
    let pool = pool();
    for (cpu, features) in [
        ("sm_75", "+ptx63"),
        ("sm_80", "+ptx80"),
        ("sm_89", "+ptx83"),
        ("sm_90a", "+ptx83"),
        ("sm_100a", "+ptx86"),
        ("sm_120a", "+ptx87"),
    ] {
        let ptx = pool.ptx(&PtxRequest { cpu, features, ..hopper(DOUBLE) }).unwrap();
        assert!(ptx.contains(&format!(".target {cpu}\n")), "{ptx}");
    }
}

#[test]
fn llvm_says_what_is_wrong() {
    let pool = pool();
    let refused = |request: PtxRequest| match pool.ptx(&request) {
        Err(WorkerError::Refused(message)) => message,
        other => panic!("expected a refusal, got {other:?}"),
    };
    let message = refused(hopper("define void @f( {"));
    assert!(message.contains("cannot read the module") && message.contains("expected type"), "{message}");
    let message = refused(PtxRequest { passes: "no-such-pass", ..hopper(DOUBLE) });
    assert!(message.contains("no-such-pass"), "{message}");
    let message = refused(PtxRequest { features: "+ptx99", ..hopper(DOUBLE) });
    assert!(message.contains("does not know PTX 9.9"), "{message}");
    // The error of an asm constraint comes while code is made, and LLVM would go on without the instruction.
    let message =
        refused(hopper("define void @f() {\n  call void asm sideeffect \"// $0\", \"{nonsense}\"(i32 1)\n  ret void\n}"));
    assert!(message.contains("constraint"), "{message}");
    assert!(pool.ptx(&hopper(DOUBLE)).is_ok());
}

#[test]
fn an_abort_of_llvm_is_an_error_and_not_the_end() {
    let pool = pool();
    let error = pool.ptx(&hopper(UNSELECTABLE)).unwrap_err();
    assert!(matches!(&error, WorkerError::Crashed { signal: Some(6), .. }), "{error:?}");
    assert!(error.to_string().contains("Cannot select") || error.to_string().contains("no libcall"), "{error}");
    assert!(pool.ptx(&hopper(DOUBLE)).is_ok());
}

#[test]
fn every_fault_is_reported_and_the_next_request_works() {
    let pool = pool().with_faults().time_limit(Duration::from_secs(5)).memory_limit(2 << 30);
    for (fault, expected) in [
        ("refuse", "refused as asked"),
        ("abort", "the compiler process was stopped by signal 6"),
        ("exit", "the compiler process ended before it answered"),
        ("panic", "panicked"),
        ("hang", "LLVM took longer than 5 s and was stopped"),
        ("garble", "the compiler process was stopped by signal 9"),
        ("eat", "the compiler process was stopped by signal 6: memory allocation of"),
    ] {
        let error = pool.fault(fault).unwrap_err().to_string();
        assert!(error.contains(expected), "{fault}: {error}");
        assert_eq!(pool.fault("none").as_deref(), Ok("fine"), "after {fault}");
    }
}

#[test]
fn faults_need_the_switch() {
    let error = pool().fault("abort").unwrap_err();
    assert_eq!(error, WorkerError::Refused("the worker does not know this request".into()));
}

#[test]
fn another_program_is_not_taken_for_a_worker() {
    for program in ["/bin/cat", "/bin/echo"] {
        if !Path::new(program).exists() {
            continue;
        }
        let pool = Pool::new(program.into()).time_limit(Duration::from_secs(3));
        let error = pool.ptx(&hopper(DOUBLE)).unwrap_err();
        assert!(!matches!(error, WorkerError::Refused(_)), "{program}: {error:?}");
    }
}

#[test]
fn many_threads_share_the_pool() {
    let pool = pool();
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for _ in 0..4 {
                    assert!(pool.ptx(&hopper(DOUBLE)).is_ok());
                }
            });
        }
    });
}

#[test]
fn ptx_becomes_machine_code_and_comes_from_the_store_the_second_time() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::at(folder.path().to_owned(), 1 << 24);
    let first = compile_exact(&pool(), &store, &hopper(DOUBLE)).unwrap();
    assert!(first.code.cubin.starts_with(b"\x7fELF"));
    assert!((4..=32).contains(&first.code.registers), "{}", first.code.log);
    assert_eq!((first.code.spill_stores, first.code.spill_loads, first.code.stack), (0, 0, 0));

    let sass = ptxas::disassemble(&first.code.cubin).unwrap();
    assert!(sass.contains("FADD") && sass.contains("EXIT"), "{sass}");

    // A pool that cannot work shows that nothing is asked of it.
    let idle = Pool::new("no-such-program".into());
    assert_eq!(compile_exact(&idle, &store, &hopper(DOUBLE)).as_ref(), Ok(&first));
    assert!(compile_ptx(&idle, &store, &PtxRequest { passes: "", ..hopper(DOUBLE) }).is_err());
}

/// A loop carries 96 sums; shared memory leaves room for two CTAs or for all that registers allow.
#[test]
fn a_loop_is_scheduled_for_the_registers_that_its_ctas_leave() {
    let names = |name: &str| (0..96).map(|n| format!("%{name}{n}")).collect::<Vec<_>>();
    let each =
        |line: &dyn Fn(&str, &str) -> String| names("a").iter().zip(names("b")).map(|(a, b)| line(a, &b)).collect::<String>();
    let loads = each(&|a, _| format!("ld.global.f32 {a}, [%p];\nadd.s64 %p, %p, 4096;\n"));
    let work = each(&|a, b| format!("ld.global.f32 {b}, [%p];\nadd.s64 %p, %p, 4096;\nfma.rn.f32 {a}, {a}, {b}, {b};\n"));
    let stores = each(&|a, _| format!("st.global.f32 [%p], {a};\nadd.s64 %p, %p, 4096;\n"));
    let ptx = |shared: u32| {
        format!(
            "{}\n.version 8.3\n.target sm_90a\n.address_size 64\n\
             .visible .entry f(.param .u64 out, .param .u32 n)\n.maxntid 128, 1, 1\n{{\n\
             .reg .f32 %a<96>;\n.reg .f32 %b<96>;\n.reg .b64 %p;\n.reg .b32 %n;\n.reg .pred %q;\n\
             ld.param.u64 %p, [out];\nld.param.u32 %n, [n];\n{loads}$L__BB0_1:\n{work}\
             sub.s32 %n, %n, 1;\nsetp.gt.s32 %q, %n, 0;\n@%q bra $L__BB0_1;\n{stores}ret;\n}}\n",
            shared_note(shared)
        )
    };
    let registers = |shared| {
        let code = pool().assemble(&ptxas::AssembleRequest { ptx: &ptx(shared), sm: "sm_90a" }).unwrap();
        assert_eq!(code.spill_stores, 0);
        code.registers
    };
    assert!(registers(110 << 10) > registers(0), "{} {}", registers(110 << 10), registers(0));
}

#[test]
fn ptxas_says_what_is_wrong_and_where() {
    let ptx = ".version 8.3\n.target sm_90a\n.address_size 64\n.visible .entry f()\n{\n\tnot an instruction;\n}\n";
    let error = pool().assemble(&ptxas::AssembleRequest { ptx, sm: "sm_90a" }).unwrap_err();
    let WorkerError::Refused(message) = error else { panic!("{error:?}") };
    assert!(message.contains("kernel.ptx, line 6"), "{message}");
}

#[test]
fn a_worker_whose_owner_is_gone_stops_in_the_middle_of_anything() {
    use std::io::{Read, Write};
    use std::process::{Command, Stdio};

    let mut worker = Command::new(env!("CARGO_BIN_EXE_tritium"))
        .arg("worker")
        .env("TRITIUM_WORKER_FAULTS", "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut output = worker.stdout.take().unwrap();
    // It says who it is when it is ready.
    let mut length = [0; 4];
    output.read_exact(&mut length).unwrap();
    let mut hello = vec![0; u32::from_le_bytes(length) as usize];
    output.read_exact(&mut hello).unwrap();
    assert!(String::from_utf8_lossy(&hello).contains("worker, LLVM"));

    let mut input = worker.stdin.take().unwrap();
    // The second kind of request, with four bytes of text.
    input.write_all(b"\x06\0\0\0\x01\x04hang").unwrap();
    drop(input);
    // Its standard output closes when it ends; a worker that stayed would leave this waiting.
    assert_eq!(output.read_to_end(&mut Vec::new()).unwrap(), 0);
    // It ends itself whatever its other threads do, so there is no status of its own.
    assert!(!worker.wait().unwrap().success());
}
