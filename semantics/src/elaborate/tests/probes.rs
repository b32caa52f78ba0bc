//! Probe programs with recorded verdicts and types, in bulk.

use super::promotion::recorded;
use std::fmt::Write as _;

use super::{HEADER, arguments};
use crate::{
    Argument, Instance,
    diagnostics::{Code, Severity},
    elaborate::elaborate,
    items,
    tests::database,
};

/// Agreement with the recorded verdicts of Triton 3.6: printed, and held above what has been reached.
#[test]
fn verdicts() {
    let Some(table) = recorded("probes.tsv") else { return };
    let Some(prelude) = recorded("probe_prelude.py") else { return };
    let show = std::env::var_os("TRITIUM_SHOW_PROBES").is_some();
    let (mut agree, mut differ, mut unknown) = (0u32, 0u32, 0u32);
    let mut listing = String::new();
    for line in table.lines().skip(1) {
        let cells: Vec<&str> = line.split('\t').collect();
        let (id, signature, body, verdict) = (cells[0], cells[3], cells[4], cells[5]);
        let body = match body.strip_prefix('"').and_then(|b| b.strip_suffix('"')) {
            Some(inner) => inner.replace("\"\"", "\""),
            None => body.to_owned(),
        };
        let Some((params, args)) = parameters(signature) else {
            unknown += 1;
            continue;
        };
        let mut text = format!("{prelude}\n{HEADER}@triton.jit\ndef REC(x): pass\n@triton.jit\ndef kern({params}):\n");
        for piece in body.split('⏎') {
            let _ = writeln!(text, "    {piece}");
        }
        let (db, file) = database(&text);
        let Some(function) = items::items(&db, file).functions.iter().find(|f| f.function.name(&db) == "kern") else {
            unknown += 1;
            continue;
        };
        let instance = Instance::new(&db, function.function, args, smol_str::SmolStr::from("3.6"));
        let result = elaborate(&db, instance);
        if result.complete {
            let errors = tritium_tile::verify(&result.module);
            assert!(errors.is_empty(), "probe {id}: {errors:?}\n{text}\n{}", tritium_tile::print(&result.module));
        }
        let errors: Vec<String> = result
            .problems
            .iter()
            .filter(|p| p.code.severity() == Severity::Error)
            .map(|p| format!("{} {}", p.code, p.message))
            .collect();
        if result.problems.iter().any(|p| p.code == Code::LIM002) || errors.is_empty() && !result.complete {
            unknown += 1;
        } else if errors.is_empty() == (verdict == "ok") {
            agree += 1;
        } else {
            differ += 1;
            if show {
                let _ = writeln!(
                    listing,
                    "{id} {verdict} {} | {body}\n      theirs: {}\n      ours: {}",
                    cells[1],
                    cells[8],
                    errors.join("; ")
                );
            }
        }
    }
    if show {
        std::fs::write(std::env::temp_dir().join("probes.txt"), &listing).expect("a writable temporary folder");
    }
    let known = agree + differ;
    let rate = f64::from(agree) / f64::from(known.max(1));
    // What has been reached; full agreement is the aim.
    assert!(rate >= 0.80, "{agree} of {known} agree ({unknown} not known): {rate:.3}");
    assert!(std::env::var_os("TRITIUM_SHOW_PROBES").is_none(), "{agree} of {known} agree ({unknown} not known): {rate:.3}");
}

/// Parameter names and arguments of a signature like `xp:*fp32;n:i32;C=4`.
fn parameters(signature: &str) -> Option<(String, Vec<Argument>)> {
    let mut names = Vec::new();
    let mut args = Vec::new();
    for piece in signature.split(';').filter(|p| !p.is_empty()) {
        match (piece.split_once('='), piece.split_once(':')) {
            (Some((name, _)), _) => {
                names.push(format!("{name}: tl.constexpr"));
                let plain = !piece.contains(['(', '[', '{', '.']);
                if !plain {
                    return None;
                }
                args.extend(arguments(piece));
            }
            (None, Some((name, ty))) => {
                let elem = ty.trim_start_matches('*').trim_start_matches('k').trim_end_matches(":16");
                crate::dtype::DType::from_name(elem)?;
                names.push(name.to_owned());
                args.extend(arguments(piece));
            }
            (None, None) => return None,
        }
    }
    Some((names.join(", "), args))
}
