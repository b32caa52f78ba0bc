//! Kernels at level L1 and what stands in their LLVM text.
//!
//! Every `.tile` file in `tests/llvm` is a test that says in its first lines what the text must contain: `// has: …`, `// not: …`,
//! `// N times: …`, for one SM with `on` behind (`// has on sm_80: …`); or, for one SM, that it is refused: `// refuses sm_80: …`.

use std::{fs, path::Path};

use tritium_codegen::llvm::emit;
use tritium_harness::{repository, test_each, tests};
use tritium_semantics::target::Gpu;
use tritium_tile::{parse, verify};

fn main() {
    let mut tests = test_each(&repository().join("codegen/tests/llvm"), "tile", check);
    tests.extend(tests![what_cannot_be_written_is_refused]);
    tritium_harness::run(tests);
}

fn check(path: &Path) {
    let text = fs::read_to_string(path).unwrap();
    let module = parse::parse(&text).unwrap_or_else(|e| panic!("{e:?}"));
    let problems = verify::verify(&module);
    assert!(problems.is_empty(), "{problems:?}");
    let expectations: Vec<&str> = text.lines().map_while(|line| line.strip_prefix("// ")).collect();
    assert!(!expectations.is_empty(), "it expects nothing");
    for sm in ["sm_80", "sm_89", "sm_90"] {
        let gpu = Gpu::find(sm).unwrap();
        let refusal = expectations.iter().find_map(|line| line.strip_prefix(&format!("refuses {sm}: ")));
        let llvm = match (emit(&module, gpu.sm), refusal) {
            (Err(refused), Some(message)) => {
                assert!(refused.message.contains(message), "{sm}: {}", refused.message);
                continue;
            }
            (Err(refused), None) => panic!("{sm}: {}", refused.message),
            (Ok(_), Some(message)) => panic!("{sm} does not refuse: {message}"),
            (Ok(llvm), None) => llvm,
        };
        assert_eq!(Ok(&llvm), emit(&module, gpu.sm).as_ref(), "two runs, two texts");
        for line in &expectations {
            let (kind, pattern) = line.split_once(": ").unwrap_or_else(|| panic!("`{line}`"));
            let (kind, only) = kind.split_once(" on ").map_or((kind, None), |(kind, only)| (kind, Some(only)));
            if only.is_some_and(|only| only != sm) {
                continue;
            }
            match kind.split_once(" times").map(|(n, _)| n.parse::<usize>()) {
                Some(Ok(n)) => assert_eq!(llvm.matches(pattern).count(), n, "{sm}: `{pattern}`\n{llvm}"),
                _ if kind == "has" => assert!(llvm.contains(pattern), "{sm} lacks `{pattern}`\n{llvm}"),
                _ if kind == "not" => assert!(!llvm.contains(pattern), "{sm} has `{pattern}`\n{llvm}"),
                _ => assert!(kind.starts_with("refuses "), "unknown expectation `{line}`"),
            }
        }
    }
}

/// What is wrong with a module is said, not panicked about.
fn what_cannot_be_written_is_refused() {
    let sm = Gpu::find("sm_90").unwrap().sm;
    for (text, message) in [
        ("module L0\nfunc @k() {\n  return\n}\n", "a CTA of 0 warps"),
        ("module L0 num_warps=4\nfunc @k() {\n  %0 = iota 0, 64 : i32[64]\n  return\n}\n", "no layout"),
    ] {
        if let Ok(module) = parse::parse(text) {
            let refused = emit(&module, sm).unwrap_err();
            assert!(refused.message.contains(message), "{}", refused.message);
        } else {
            panic!("{text}");
        }
    }
}
