//! Every function of the device library and every conversion becomes machine code, by way of LLVM and ptxas, in few kernels.

use std::{fmt::Write, fs};

use tritium_tests::tritium;
use tritium_tile::libdevice::{Arg, Symbol, all};

/// How many functions share a kernel.
const GROUP: usize = 40;

fn pointer(arg: Arg) -> &'static str {
    match arg {
        Arg::I32 | Arg::U32 => "i32",
        Arg::I64 | Arg::U64 => "i64",
        Arg::F32 => "fp32",
        Arg::F64 => "fp64",
    }
}

fn operand(arg: Arg, place: usize) -> String {
    let cast = match arg {
        Arg::U32 => ".to(tl.uint32)",
        Arg::U64 => ".to(tl.uint64)",
        Arg::I32 | Arg::I64 | Arg::F32 | Arg::F64 => "",
    };
    format!("tl.load({} + i + {place}){cast}", pointer(arg))
}

/// A kernel of many stores, and what a request for it says.
fn kernel(name: &str, lines: &[String]) -> String {
    let mut text = format!(
        "@triton.jit\ndef {name}(i1, i8, i16, i32, i64, e4m3, e5m2, fp16, bf16, fp32, fp64):\n    i = tl.arange(0, 128)\n"
    );
    for line in lines {
        let _ = writeln!(text, "    {line}");
    }
    text + "\n"
}

const ARGS: &str = r#""i1":"*i1:16","i8":"*i8:16","i16":"*i16:16","i32":"*i32:16","i64":"*i64:16","e4m3":"*fp8e4nv:16","e5m2":"*fp8e5:16","fp16":"*fp16:16","bf16":"*bf16:16","fp32":"*fp32:16","fp64":"*fp64:16""#;

const DTYPES: [(&str, &str); 14] = [
    ("i1", "tl.int1"),
    ("i8", "tl.int8"),
    ("i16", "tl.int16"),
    ("i32", "tl.int32"),
    ("i64", "tl.int64"),
    ("i8", "tl.uint8"),
    ("i32", "tl.uint32"),
    ("i64", "tl.uint64"),
    ("e4m3", "tl.float8e4nv"),
    ("e5m2", "tl.float8e5"),
    ("fp16", "tl.float16"),
    ("bf16", "tl.bfloat16"),
    ("fp32", "tl.float32"),
    ("fp64", "tl.float64"),
];

fn assembles(file: &str, kernels: &[(String, Vec<String>)], sms: &[&str]) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join(file);
    let mut text = "import triton\nimport triton.language as tl\nfrom triton.language.extra.cuda import libdevice\n\n".to_owned();
    let mut requests = String::new();
    for (name, lines) in kernels {
        text += &kernel(name, lines);
        for sm in sms {
            let shown = path.display();
            let _ = writeln!(
                requests,
                r#"{{"id":"{name} {sm}","file":"{shown}","kernel":"{name}","args":{{{ARGS}}},"constexprs":{{}},"num_warps":4,"gpu":"{sm}"}}"#
            );
        }
    }
    let list = folder.path().join("requests.jsonl");
    fs::write(&path, text).expect("the kernels are written");
    fs::write(&list, requests).expect("the requests are written");
    let said = std::process::Command::new(tritium())
        .args(["batch", list.to_str().expect("a plain path"), "--through", "sass"])
        .env("TRITIUM_CACHE", "off")
        .output()
        .expect("tritium starts");
    let answers = String::from_utf8(said.stdout).expect("text");
    let mut count = 0;
    for line in answers.lines() {
        let answer: serde_json::Value = serde_json::from_str(line).expect("an answer");
        assert_eq!(answer["ok"], true, "{}: {}", answer["id"], answer["diagnostics"]);
        assert!(answer["registers"].as_u64().is_some_and(|n| n > 0), "{}: {}", answer["id"], answer["diagnostics"]);
        count += 1;
    }
    assert_eq!(count, kernels.len() * sms.len(), "{}", String::from_utf8_lossy(&said.stderr));
}

#[test]
fn every_library_function_assembles() {
    let symbols: Vec<Symbol> = all().collect();
    let line = |s: &Symbol| {
        let overload = s.overload();
        let args: Vec<String> = overload.args.iter().enumerate().map(|(place, arg)| operand(*arg, place)).collect();
        format!("tl.store({} + i, libdevice.{}({}))", pointer(overload.result), s.function().name, args.join(", "))
    };
    let kernels: Vec<(String, Vec<String>)> = symbols
        .chunks(GROUP)
        .enumerate()
        .map(|(n, group)| (format!("functions_{n}"), group.iter().map(line).collect()))
        .collect();
    assembles("functions.py", &kernels, &["sm_80", "sm_90"]);
}

#[test]
fn every_operation_of_mathematics_assembles() {
    let unary = ["exp", "exp2", "log", "log2", "sin", "cos", "sqrt", "rsqrt", "erf", "floor", "ceil", "abs"];
    let mut lines = Vec::new();
    for ty in ["fp32", "fp64"] {
        for f in unary {
            lines.push(format!("tl.store({ty} + i, tl.{f}(tl.load({ty} + i)))"));
        }
        lines.push(format!("tl.store({ty} + i, tl.fma(tl.load({ty} + i), tl.load({ty} + i + 1), tl.load({ty} + i + 2)))"));
        lines.push(format!("tl.store({ty} + i, tl.load({ty} + i) % tl.load({ty} + i + 1))"));
    }
    for ty in ["fp16", "bf16", "fp32", "fp64"] {
        for op in ["+", "-", "*", "/"] {
            lines.push(format!("tl.store({ty} + i, tl.load({ty} + i) {op} tl.load({ty} + i + 1))"));
        }
        for f in ["tl.minimum", "tl.maximum"] {
            lines.push(format!("tl.store({ty} + i, {f}(tl.load({ty} + i), tl.load({ty} + i + 1)))"));
        }
        lines.push(format!("tl.store({ty} + i, tl.clamp(tl.load({ty} + i), tl.load({ty} + i + 1), tl.load({ty} + i + 2)))"));
        lines.push(format!("tl.store({ty} + i, tl.abs(-tl.load({ty} + i)))"));
    }
    for f in [
        "tl.sqrt_rn(tl.load(fp32 + i))",
        "tl.div_rn(tl.load(fp32 + i), tl.load(fp32 + i + 1))",
        "tl.fdiv(tl.load(fp32 + i), tl.load(fp32 + i + 1))",
    ] {
        lines.push(format!("tl.store(fp32 + i, {f})"));
    }
    for ty in ["i32", "i64"] {
        lines.push(format!(
            "tl.store({ty} + i, tl.umulhi(tl.load({ty} + i).to(tl.u{0}), tl.load({ty} + i + 1).to(tl.u{0})))",
            ty.replace('i', "int")
        ));
    }
    assembles("operations.py", &[("operations".to_owned(), lines)], &["sm_80", "sm_90"]);
}

/// A kernel for every type to convert from, and one of conversions toward zero, on SMs that have these types.
fn conversions(dtypes: &[(&str, &str)]) -> Vec<(String, Vec<String>)> {
    let bits = |name: &str| match name {
        "e4m3" | "e5m2" => 8,
        "fp16" | "bf16" => 16,
        "fp32" => 32,
        "fp64" => 64,
        _ => 0,
    };
    let mut kernels = Vec::new();
    let mut truncated = Vec::new();
    for &(from, dtype) in dtypes {
        let mut lines = Vec::new();
        for &(to, target) in dtypes {
            // The language has none between integers and floats of 8 bits.
            if (bits(from), bits(to)) == (0, 8) || (bits(from), bits(to)) == (8, 0) {
                continue;
            }
            let cast = if dtype.contains("uint") { format!(".to({dtype})") } else { String::new() };
            lines.push(format!("tl.store({to} + i, tl.load({from} + i){cast}.to({target}))"));
            if bits(to) > 0 && bits(to) < bits(from) {
                truncated.push(format!("tl.store({to} + i, tl.load({from} + i).to({target}, fp_downcast_rounding=\"rtz\"))"));
            }
        }
        kernels.push((format!("from_{}", dtype.replace("tl.", "")), lines));
    }
    kernels.push(("toward_zero".to_owned(), truncated));
    kernels
}

#[test]
fn every_conversion_assembles() {
    assembles("conversions.py", &conversions(&DTYPES), &["sm_89", "sm_90"]);
    let older: Vec<_> = DTYPES.into_iter().filter(|(name, _)| *name != "e4m3").collect();
    assembles("older_conversions.py", &conversions(&older), &["sm_80"]);
}
