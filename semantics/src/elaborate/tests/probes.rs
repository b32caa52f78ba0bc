//! Probe programs in bulk: what is said to be whole is sound tile IR. Their verdicts and types are `cargo xtask accuracy`'s to compare.

use std::fmt::Write as _;

use super::{HEADER, arguments, promotion::recorded};
use crate::{Argument, Instance, elaborate::elaborate, items, tests::database};

#[test]
fn whole_kernels_verify() {
    let Some(table) = recorded("probes.tsv") else { return };
    let Some(prelude) = recorded("probe_prelude.py") else { return };
    let mut whole = 0;
    for line in table.lines().skip(1) {
        let cells: Vec<&str> = line.split('\t').collect();
        let (id, signature, body) = (cells[0], cells[3], cells[4]);
        let body = match body.strip_prefix('"').and_then(|b| b.strip_suffix('"')) {
            Some(inner) => inner.replace("\"\"", "\""),
            None => body.to_owned(),
        };
        let Some((params, args)) = parameters(signature) else { continue };
        let mut text = format!("{prelude}\n{HEADER}@triton.jit\ndef REC(x): pass\n@triton.jit\ndef kern({params}):\n");
        for piece in body.split('⏎') {
            let _ = writeln!(text, "    {piece}");
        }
        let (db, file) = database(&text);
        let Some(function) = items::items(&db, file).functions.iter().find(|f| f.function.name(&db) == "kern") else { continue };
        for triton in ["3.6", "3.9"] {
            let result = elaborate(&db, Instance::new(&db, function.function, args.clone(), smol_str::SmolStr::from(triton)));
            if result.complete {
                whole += 1;
                let errors = tritium_tile::verify(&result.module);
                assert!(errors.is_empty(), "probe {id}: {errors:?}\n{text}\n{}", tritium_tile::print(&result.module));
            }
        }
    }
    assert!(whole > 800, "only {whole} are whole");
}

/// Parameter names and arguments of a signature like `xp:*fp32;n:i32`; compile-time ones are left to the measure.
fn parameters(signature: &str) -> Option<(String, Vec<Argument>)> {
    let mut names = Vec::new();
    let mut args = Vec::new();
    for piece in signature.split(';').filter(|p| !p.is_empty()) {
        let (name, ty) = piece.split_once(':')?;
        let elem = ty.trim_start_matches('*').trim_start_matches('k').trim_end_matches(":16");
        crate::dtype::DType::from_name(elem)?;
        names.push(name.to_owned());
        args.extend(arguments(piece));
    }
    Some((names.join(", "), args))
}
