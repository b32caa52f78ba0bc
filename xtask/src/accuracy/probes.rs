//! Small programs with recorded verdicts for four versions of Triton, and recorded types for the first.
//!
//! **A probe that Tritium says it does not know yet counts as a disagreement.**

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
    fs,
};

use serde_json::{Map, Value, json};

use super::{
    Judge, Measured,
    ask::{Answer, ask},
    percent, share, table,
};

/// The version, the column of its verdict, and the share that must agree.
const VERSIONS: &[(&str, usize, f64)] = &[("3.6", 5, 97.0), ("3.7.1", 10, 95.0), ("3.8.0", 11, 95.0), ("3.9.0", 12, 95.0)];

struct Probe {
    id: String,
    body: String,
    request: Value,
    cells: Vec<String>,
}

pub(crate) fn measure(judge: &Judge) -> Result<Measured, String> {
    let prelude = judge.tables.join("probe_prelude.py");
    let prelude = fs::read_to_string(&prelude).map_err(|e| format!("{}: {e}", prelude.display()))?;
    let folder = judge.root.join("target/accuracy/probes");
    fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let mut probes = Vec::new();
    let mut left_out = 0;
    for cells in table(&judge.tables.join("probes.tsv"))? {
        if cells.len() < 13 {
            continue;
        }
        let Some((parameters, args, constexprs)) = signature(&cells[3]) else {
            left_out += 1;
            continue;
        };
        let file = folder.join(format!("probe_{}.py", cells[0]));
        let text = program(&prelude, &parameters, &cells[4]);
        fs::write(&file, text).map_err(|e| format!("{}: {e}", file.display()))?;
        let request = json!({
            "file": file, "kernel": "kern", "args": args, "constexprs": constexprs, "gpu": format!("sm_{}", cells[2]), "helpers": true,
        });
        probes.push(Probe { id: cells[0].clone(), body: cells[4].clone(), request, cells });
    }
    // What a later version records differently: by source and version.
    let changed: BTreeMap<(String, String), String> = table(&judge.tables.join("version_probe_diff.tsv"))?
        .into_iter()
        // That table tells probes of compile-time parameters apart by their source alone, and they share it.
        .filter(|cells| cells.first().is_some_and(|category| category != "constexpr-arg"))
        .filter_map(|cells| Some(((cells.get(1)?.clone(), cells.get(3)?.clone()), cells.get(5)?.clone())))
        .collect();
    let (mut disagreements, mut details, mut below) = (BTreeSet::new(), String::new(), Vec::new());
    let mut section = String::from(
        "## Probes\n\n| Triton | programs | verdict equal | types recorded | type equal | verdict and type equal |\n|---|--:|--:|--:|--:|--:|\n",
    );
    for &(version, column, floor) in VERSIONS {
        let requests = probes.iter().map(|probe| {
            let mut request = probe.request.clone();
            request["triton"] = version.into();
            request
        });
        let answers = ask(judge, requests.collect())?;
        let (mut verdicts, mut typed, mut types, mut both) = (0, 0, 0, 0);
        for (probe, answer) in probes.iter().zip(&answers) {
            let theirs = probe.cells[column].as_str();
            let ours = verdict(answer.as_ref());
            let mut agrees = ours == theirs;
            verdicts += usize::from(agrees);
            if !agrees {
                disagreements.insert(format!("{version}\t{}\t{theirs}\t{ours}", probe.id));
                let errors = answer.as_ref().map(|a| a.errors.join("\n      ")).unwrap_or_default();
                let message = if version == "3.6" { probe.cells[8].as_str() } else { "" };
                let _ = writeln!(
                    details,
                    "{version} {} {theirs}, here {ours} | {}\n      theirs: {message}\n      ours: {errors}",
                    probe.id, probe.body
                );
            }
            if theirs == "ok"
                && let Some(answer) = answer
                && let Some((theirs, ours)) = recorded(&types_in(version, probe, &changed), answer)
            {
                typed += 1;
                types += usize::from(theirs == ours);
                if theirs != ours {
                    agrees = false;
                    disagreements.insert(format!("{version}\t{}\t{theirs}\t{ours}", probe.id));
                    let _ = writeln!(details, "{version} {} type {theirs}, here {ours} | {}", probe.id, probe.body);
                }
            }
            both += usize::from(agrees);
        }
        let all = probes.len();
        let recorded = format!("| {typed} | {types} ({}) ", percent(types, typed));
        let _ = writeln!(
            section,
            "| {version} | {all} | {verdicts} ({}) {recorded}| {both} ({}) |",
            percent(verdicts, all),
            percent(both, all)
        );
        if share(both, all) < floor {
            below.push(format!("{version}: {both} of {all} agree ({}), not {floor} %", percent(both, all)));
        }
    }
    if left_out > 0 {
        let _ = writeln!(section, "\n{left_out} programs take arguments that a request cannot give (a Python dictionary).");
    }
    Ok(Measured { section, disagreements, details, below })
}

/// The recorded types under a version: those of 3.6, unless one up to it recorded others.
fn types_in(version: &str, probe: &Probe, changed: &BTreeMap<(String, String), String>) -> String {
    let mut types = probe.cells[6].clone();
    // The table of changes leaves out the line that several categories begin with.
    let source = probe.body.strip_prefix("x = tl.load(xp + tl.arange(0, 16))⏎").unwrap_or(&probe.body);
    for (other, ..) in VERSIONS {
        if let Some(new) = changed.get(&(source.to_owned(), (*other).to_owned())) {
            let new = new.split(" WARN").next().unwrap_or_default();
            new.strip_prefix("ok: ").unwrap_or_default().clone_into(&mut types);
        }
        if *other == version {
            break;
        }
    }
    types
}

fn verdict(answer: Option<&Answer>) -> &'static str {
    match answer {
        None => "no answer",
        Some(answer) if answer.unknown => "not known",
        Some(answer) if !answer.ok => "error",
        Some(answer) if !answer.complete => "not known",
        Some(_) => "ok",
    }
}

/// The whole file: every `REC(x)` of the body becomes a call of its own, so that each has its recorded type.
fn program(prelude: &str, parameters: &str, body: &str) -> String {
    let mut text = format!("{prelude}\n");
    let mut lines = String::new();
    let mut count = 0;
    for line in body.split('⏎') {
        let mut pieces = line.split("REC(");
        let mut line = pieces.next().unwrap_or_default().to_owned();
        for piece in pieces {
            let _ = write!(line, "REC_{count}({piece}");
            count += 1;
        }
        let _ = writeln!(lines, "    {line}");
    }
    for index in 0..count {
        let _ = writeln!(text, "@triton.jit\ndef REC_{index}(x): pass");
    }
    let _ = write!(text, "@triton.jit\ndef kern({parameters}):\n{lines}");
    text
}

/// Recorded and own types, where each recording has one place in the program.
fn recorded(theirs: &str, answer: &Answer) -> Option<(String, String)> {
    let mut ours: Vec<(usize, &str)> = answer
        .values
        .iter()
        .filter(|(_, _, name, _)| name == "x")
        .filter_map(|(function, _, _, ty)| Some((function.as_deref()?.strip_prefix("REC_")?.parse().ok()?, ty.as_str())))
        .collect();
    ours.sort_unstable();
    let theirs: Vec<String> = theirs.split("; ").filter(|t| !t.is_empty()).map(spelled_as_ours).collect();
    // What Triton itself prints as an object has no recorded type.
    if theirs.is_empty() || theirs.len() != ours.len() || theirs.iter().any(|t| t.contains(" object at ")) {
        return None;
    }
    Some((theirs.join("; "), ours.iter().map(|(_, ty)| *ty).collect::<Vec<_>>().join("; ")))
}

/// The parameters as written, their types, their compile-time values: `xp:*fp32;n:i32 C={'C': 4}`.
fn signature(text: &str) -> Option<(String, Value, Value)> {
    let (text, values) = match text.split_once(" C=") {
        Some((text, values)) => (text, Some(values)),
        None => (text, None),
    };
    let (mut names, mut args, mut constexprs) = (Vec::new(), Map::new(), Map::new());
    for piece in text.split(';').filter(|p| !p.is_empty()) {
        let (name, ty) = piece.split_once(':')?;
        names.push(name.to_owned());
        let ty = match ty.strip_prefix('(').and_then(|t| t.strip_suffix(')')) {
            Some(items) => items.split(", ").map(|i| Value::from(i.trim_matches('\''))).collect(),
            None => Value::from(ty),
        };
        args.insert(name.to_owned(), ty);
    }
    if let Some(values) = values {
        let (name, value) = values.strip_prefix("{'")?.strip_suffix('}')?.split_once("': ")?;
        names.push(format!("{name}: tl.constexpr"));
        let json = match value {
            "None" => Value::Null,
            _ => {
                let text = value
                    .replace('\'', "\"")
                    .replace('(', "[")
                    .replace(')', "]")
                    .replace("triton.language.float32", "\"tl.float32\"");
                serde_json::from_str(&text).ok().filter(|v: &Value| !v.is_object())?
            }
        };
        constexprs.insert(name.to_owned(), json);
    }
    Some((names.join(", "), args.into(), constexprs.into()))
}

/// Triton's spellings of elements.
const ELEMENTS: &[(&str, &str)] = &[
    ("fp8e4nv", "f8e4m3"),
    ("fp8e5", "f8e5m2"),
    ("fp16", "f16"),
    ("bf16", "bf16"),
    ("fp32", "f32"),
    ("fp64", "f64"),
    ("uint", "u"),
    ("int", "i"),
];

fn element(name: &str) -> String {
    if let Some(inner) = name.strip_prefix("pointer<").and_then(|n| n.strip_suffix('>')) {
        return match inner.starts_with('<') {
            true => format!("block_ptr<{}>", spelled_as_ours(inner)),
            false => format!("*{}", element(inner)),
        };
    }
    let name = name.trim_start_matches("triton.language.").replace("float", "fp").replace("bfp16", "bf16");
    match ELEMENTS.iter().find_map(|(theirs, ours)| name.strip_prefix(theirs).map(|rest| format!("{ours}{rest}"))) {
        Some(ours) => ours,
        None => name,
    }
}

/// `<['16'], fp32>` as `f32[16]`, `scalar int32` as `i32`, `constexpr(4)` and `int:4` as `constexpr[4]`.
fn spelled_as_ours(theirs: &str) -> String {
    let list = |text: &str| {
        let mut pieces: Vec<String> = Vec::new();
        let (mut depth, mut start) = (0, 0);
        for (at, c) in text.char_indices() {
            match c {
                '(' | '[' | '<' => depth += 1,
                ')' | ']' | '>' => depth -= 1,
                ',' if depth == 0 => {
                    pieces.push(spelled_as_ours(text[start..at].trim()));
                    start = at + 1;
                }
                _ => {}
            }
        }
        if !text[start..].trim().is_empty() {
            pieces.push(spelled_as_ours(text[start..].trim()));
        }
        pieces
    };
    let tuple = |pieces: Vec<String>| match &pieces[..] {
        [one] => format!("({one},)"),
        _ => format!("({})", pieces.join(", ")),
    };
    if let Some(items) = theirs.strip_prefix('(').and_then(|t| t.strip_suffix(')')) {
        return tuple(list(items));
    }
    if matches!(theirs, "void" | "scalar void") {
        return "None".to_owned();
    }
    if let Some(name) = theirs.strip_prefix("scalar ") {
        return element(name);
    }
    if let Some((shape, name)) =
        theirs.strip_prefix("<[").and_then(|t| t.strip_suffix('>')).and_then(|inner| inner.split_once("], "))
    {
        return format!("{}[{}]", element(name), shape.replace('\'', ""));
    }
    if let Some(name) = theirs.strip_prefix("dtype:") {
        return format!("constexpr[{}]", element(name));
    }
    if let Some((_, ty)) = theirs.split_once("_type:").filter(|(kind, _)| matches!(*kind, "pointer" | "block")) {
        return format!("type[{}]", if ty.starts_with('<') { spelled_as_ours(ty) } else { element(ty) });
    }
    if let Some(block) = theirs.strip_prefix("constexpr(").and_then(|t| t.strip_suffix(')')).filter(|t| t.starts_with("<[")) {
        return format!("type[{}]", spelled_as_ours(block));
    }
    if let Some(ty) = theirs.strip_prefix("constexpr(pointer<").and_then(|t| t.strip_suffix(">)")) {
        return format!("type[*{}]", element(ty));
    }
    let constant = |value: &str| match value.strip_prefix('(').and_then(|v| v.strip_suffix(')')) {
        Some(items) => tuple(items.split(", ").map(|i| i.replace("constexpr[", "").replace(']', "")).collect()),
        None if value.starts_with("triton.language.") => element(value),
        None => value.replace('\'', "\""),
    };
    if let Some(inner) = theirs.strip_prefix("constexpr(").and_then(|t| t.strip_suffix(')')) {
        return format!("constexpr[{}]", constant(inner));
    }
    if let Some(inner) = theirs.strip_prefix("constexpr[").and_then(|t| t.strip_suffix(']')) {
        return format!("constexpr[{}]", constant(inner));
    }
    match theirs.split_once(':') {
        Some(("int" | "float" | "bool" | "str", value)) => format!("constexpr[{}]", constant(value)),
        Some(("tensor_descriptor", ty)) => match ty.strip_prefix("tensor_descriptor<").and_then(|t| t.strip_suffix('>')) {
            Some(block) => format!("tensordesc<{}>", spelled_as_ours(block)),
            None => theirs.to_owned(),
        },
        Some(("JITFunction", _)) => "constexpr[<function>]".to_owned(),
        _ if theirs == "None" => "constexpr[None]".to_owned(),
        _ => theirs.to_owned(),
    }
}
