//! Probe programs with recorded verdicts and types, in bulk.

use super::promotion::recorded;
use std::fmt::Write as _;

use super::{HEADER, arguments};
use crate::{
    Argument, Instance,
    body::Expr,
    diagnostics::{Code, Severity},
    dtype::DType,
    elaborate::elaborate,
    items,
    tests::database,
    types::Ty,
};

/// Agreement with the recorded verdicts of Triton 3.6: printed, and held above what has been reached.
#[test]
fn verdicts() {
    let Some(table) = recorded("probes.tsv") else { return };
    let Some(prelude) = recorded("probe_prelude.py") else { return };
    let show = std::env::var_os("TRITIUM_SHOW_PROBES").is_some();
    let (mut same_type, mut other_type) = (0u32, 0u32);
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
        if let Some(ours) = recorded_type(&db, function.function, result)
            && verdict == "ok"
            && errors.is_empty()
            && result.complete
            && !cells[6].is_empty()
            && !cells[6].contains("; ")
        {
            let theirs = spelled_as_ours(cells[6]);
            if ours == theirs {
                same_type += 1;
            } else {
                other_type += 1;
                if show {
                    let _ = writeln!(listing, "{id} TYPE | {body}\n      theirs: {theirs}\n      ours: {ours}");
                }
            }
        }
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
    let summary = format!(
        "verdicts: {agree} of {known} agree ({unknown} not known); types: {same_type} of {} agree",
        same_type + other_type
    );
    assert!(rate >= 0.965 && !show, "{summary}");
    assert!(f64::from(same_type) >= 0.95 * f64::from(same_type + other_type), "{summary}");
}

/// The type of what the probe gives to `REC`.
fn recorded_type(db: &crate::Database, function: crate::Function, result: &crate::Elaborated) -> Option<String> {
    let (body, _) = items::function_body(db, function)?;
    let types = result.types.get(&function)?;
    let argument = body.exprs.iter().find_map(|e| match e {
        Expr::Call { callee, args } if *body.expr(*callee) == Expr::Name("REC".into()) => args.first().map(|a| a.value),
        _ => None,
    })?;
    types.get(&argument).map(Ty::to_string)
}

/// `<['16'], fp32>` as `f32[16]`, `scalar int32` as `i32`, `constexpr(4)` and `int:4` as `constexpr[4]`.
fn spelled_as_ours(theirs: &str) -> String {
    if let Some(items) = theirs.strip_prefix('(').and_then(|t| t.strip_suffix(')')) {
        let mut pieces = Vec::new();
        let (mut depth, mut start) = (0, 0);
        for (at, c) in items.char_indices() {
            match c {
                '(' | '[' | '<' => depth += 1,
                ')' | ']' | '>' => depth -= 1,
                ',' if depth == 0 => {
                    pieces.push(spelled_as_ours(items[start..at].trim()));
                    start = at + 1;
                }
                _ => {}
            }
        }
        if !items[start..].trim().is_empty() {
            pieces.push(spelled_as_ours(items[start..].trim()));
        }
        return if pieces.len() == 1 { format!("({},)", pieces[0]) } else { format!("({})", pieces.join(", ")) };
    }
    let elem = |name: &str| match name.strip_prefix("pointer<").and_then(|n| n.strip_suffix('>')) {
        Some(inner) => DType::from_name(inner).map(|d| format!("*{d}")),
        None => DType::from_name(name).map(|d| d.to_string()),
    };
    if let Some(name) = theirs.strip_prefix("scalar ") {
        return elem(name).unwrap_or_else(|| theirs.to_owned());
    }
    if let Some(inner) = theirs.strip_prefix("<[").and_then(|t| t.strip_suffix('>'))
        && let Some((shape, name)) = inner.split_once("], ")
    {
        return format!("{}[{}]", elem(name).unwrap_or_else(|| name.to_owned()), shape.replace('\'', ""));
    }
    if let Some(name) = theirs.strip_prefix("dtype:") {
        return elem(name).map_or_else(|| theirs.to_owned(), |e| format!("constexpr[{e}]"));
    }
    if let Some(inner) = theirs.strip_prefix("constexpr(").and_then(|t| t.strip_suffix(')')) {
        return match elem(inner) {
            Some(e) => format!("constexpr[{e}]"),
            None => format!("constexpr[{}]", inner.replace('\'', "\"")),
        };
    }
    match theirs.split_once(':') {
        Some(("int" | "float" | "bool", value)) => format!("constexpr[{value}]"),
        _ => theirs.to_owned(),
    }
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
