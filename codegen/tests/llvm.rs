//! Kernels at level L1 and what stands in their LLVM text.
//!
//! Every `.tile` file in `tests/llvm` says in its first lines what the text must contain: `// has: …`, `// not: …`, `// N times: …`, for
//! one SM with `on` behind (`// has on sm_80: …`); or, for one SM, that it is refused: `// refuses sm_80: …`.

use std::{fs, path::Path};

use tritium_codegen::llvm::emit;
use tritium_semantics::target::Gpu;
use tritium_tile::{parse, verify};

#[test]
fn kernels_say_what_they_must() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/llvm");
    let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(files.len() >= 12, "the kernels are missing");
    for path in files {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let text = fs::read_to_string(&path).unwrap();
        let module = parse::parse(&text).unwrap_or_else(|e| panic!("{name}: {e:?}"));
        let problems = verify::verify(&module);
        assert!(problems.is_empty(), "{name}: {problems:?}");
        let expectations: Vec<&str> = text.lines().map_while(|line| line.strip_prefix("// ")).collect();
        assert!(!expectations.is_empty(), "{name} expects nothing");
        for sm in ["sm_80", "sm_89", "sm_90"] {
            let gpu = Gpu::find(sm).unwrap();
            let refusal = expectations.iter().find_map(|line| line.strip_prefix(&format!("refuses {sm}: ")));
            let llvm = match (emit(&module, gpu.sm), refusal) {
                (Err(refused), Some(message)) => {
                    assert!(refused.message.contains(message), "{name} on {sm}: {}", refused.message);
                    continue;
                }
                (Err(refused), None) => panic!("{name} on {sm}: {}", refused.message),
                (Ok(_), Some(message)) => panic!("{name} on {sm} is not refused: {message}"),
                (Ok(llvm), None) => llvm,
            };
            assert_eq!(Ok(&llvm), emit(&module, gpu.sm).as_ref(), "{name}: two runs, two texts");
            for line in &expectations {
                let (kind, pattern) = line.split_once(": ").unwrap_or_else(|| panic!("{name}: `{line}`"));
                let (kind, only) = kind.split_once(" on ").map_or((kind, None), |(kind, only)| (kind, Some(only)));
                if only.is_some_and(|only| only != sm) {
                    continue;
                }
                match kind.split_once(" times").map(|(n, _)| n.parse::<usize>()) {
                    Some(Ok(n)) => assert_eq!(llvm.matches(pattern).count(), n, "{name} on {sm}: `{pattern}`\n{llvm}"),
                    _ if kind == "has" => assert!(llvm.contains(pattern), "{name} on {sm} lacks `{pattern}`\n{llvm}"),
                    _ if kind == "not" => assert!(!llvm.contains(pattern), "{name} on {sm} has `{pattern}`\n{llvm}"),
                    _ => assert!(kind.starts_with("refuses "), "{name}: unknown expectation `{line}`"),
                }
            }
        }
    }
}

/// What is wrong with a module is said, not panicked about.
#[test]
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
