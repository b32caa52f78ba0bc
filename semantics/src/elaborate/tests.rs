//! Kernels in; tile IR, types and problems out.

mod budget;
mod builtins;
mod descriptors;
mod kernels;
mod language;
mod objects;
mod problems;

use std::fmt::Write as _;

use crate::{
    Argument, Database, Instance, SourceFile,
    constant::Const,
    dtype::DType,
    elaborate::{Elaborated, elaborate},
    items,
    problem::{Edit, Piece, Place},
    tests::database,
};

const HEADER: &str = "import triton\nimport triton.language as tl\n\n\n";

/// `x: *f32, n: i32:16, BLOCK = 64`, one for each parameter, in order.
fn arguments(text: &str) -> Vec<Argument> {
    text.split(';').map(str::trim).filter(|p| !p.is_empty()).map(argument).collect()
}

fn argument(text: &str) -> Argument {
    if let Some((_, value)) = text.split_once('=') {
        let value = value.trim();
        return Argument::Constexpr(match value {
            "None" => Const::None,
            "True" => Const::Bool(true),
            "False" => Const::Bool(false),
            _ => match (value.parse::<i128>(), value.parse::<f64>()) {
                (Ok(i), _) => Const::Int(i),
                (_, Ok(f)) => Const::float(f),
                _ => match DType::from_name(value.trim_start_matches("tl.")) {
                    Some(dtype) => Const::DType(dtype),
                    None => Const::Str(value.trim_matches('"').to_owned()),
                },
            },
        });
    }
    let (_, ty) = text.split_once(':').expect("name: type");
    crate::instance::parse_argument(ty).expect(text)
}

fn instance(db: &Database, file: SourceFile, name: &str, args: &str, triton: &str) -> Instance {
    let function = items::items(db, file).functions.iter().find(|f| f.function.name(db) == name).expect(name).function;
    Instance::new(db, function, arguments(args), smol_str::SmolStr::from(triton))
}

fn source(text: &str) -> String {
    let lines: Vec<&str> = text.trim_matches('\n').lines().collect();
    let indent = lines.iter().filter(|l| !l.trim().is_empty()).map(|l| l.len() - l.trim_start().len()).min().unwrap_or(0);
    let body: Vec<&str> = lines.iter().map(|l| l.get(indent..).unwrap_or("")).collect();
    format!("{HEADER}{}\n", body.join("\n"))
}

/// The module of `kernel`, and its problems if it has any.
fn module(text: &str, args: &str) -> String {
    let text = source(text);
    let (db, file) = database(&text);
    let result = elaborate(&db, instance(&db, file, "kernel", args, "3.6"));
    let mut out = tritium_tile::print(&result.module);
    if result.complete {
        check_module(result, &out);
    } else {
        out.push_str("incomplete\n");
    }
    out.push_str(&render(&db, file, result));
    out
}

fn check_module(result: &Elaborated, text: &str) {
    let errors = tritium_tile::verify(&result.module);
    assert!(errors.is_empty(), "{errors:?}\n{text}");
    for function in &result.module.functions {
        for op in &function.ops {
            assert!(op.origin.0 == u32::MAX || (op.origin.0 as usize) < result.origins.len(), "{op:?}");
        }
    }
}

/// Problems only.
fn problems(text: &str, args: &str) -> String {
    problems_under(text, args, "3.6")
}

fn problems_under(text: &str, args: &str, triton: &str) -> String {
    let text = source(text);
    let (db, file) = database(&text);
    let result = elaborate(&db, instance(&db, file, "kernel", args, triton));
    if result.complete {
        check_module(result, &tritium_tile::print(&result.module));
    }
    render(&db, file, result)
}

/// `name: type` for every binding.
fn types(text: &str, args: &str) -> String {
    types_under(text, args, "3.6")
}

fn types_under(text: &str, args: &str, triton: &str) -> String {
    let text = source(text);
    let (db, file) = database(&text);
    let result = elaborate(&db, instance(&db, file, "kernel", args, triton));
    let mut out = String::new();
    for (_, name, ty) in &result.bindings {
        let symbolic = ty.symbolic().map(|s| format!("  {s}")).unwrap_or_default();
        let _ = writeln!(out, "{name}: {ty}{symbolic}");
    }
    out.push_str(&render(&db, file, result));
    out
}

fn text_at<'t>(db: &Database, file: SourceFile, text: &'t str, place: Place) -> (usize, &'t str) {
    let range = range_of(db, file, place);
    (text[..range.0].matches('\n').count() + 1, text.get(range.0..range.1).unwrap_or("?"))
}

fn range_of(db: &Database, _: SourceFile, place: Place) -> (usize, usize) {
    let (_, range) = crate::places::range_of(db, place).expect("a place has a range");
    (range.start, range.end)
}

fn render(db: &Database, file: SourceFile, result: &Elaborated) -> String {
    let text = file.text(db).clone();
    let mut out = String::new();
    for problem in &result.problems {
        let (line, at) = text_at(db, file, &text, problem.place);
        let first = at.lines().next().unwrap_or_default();
        let _ = writeln!(out, "{line}: {} at `{first}`: {}", problem.code, problem.message);
        for (place, message) in &problem.related {
            let (line, at) = text_at(db, file, &text, *place);
            let _ = writeln!(out, "    {line}: `{}`: {message}", at.lines().next().unwrap_or_default());
        }
        for fix in &problem.fixes {
            let _ = write!(
                out,
                "    fix{}: {}:",
                if fix.applicability == crate::problem::Applicability::Safe { "" } else { "?" },
                fix.title
            );
            for edit in &fix.edits {
                let _ = match edit {
                    Edit::Replace(place, new) => write!(out, " `{}` -> `{new}`", text_at(db, file, &text, *place).1),
                    Edit::InsertBefore(place, new) => write!(out, " `{new}` before `{}`", text_at(db, file, &text, *place).1),
                    Edit::InsertAfter(place, new) => write!(out, " `{new}` after `{}`", text_at(db, file, &text, *place).1),
                    Edit::Rewrite(place, pieces) => {
                        let pieces = pieces.iter().map(|piece| match piece {
                            Piece::Text(new) => new.as_str(),
                            Piece::Source(part) => text_at(db, file, &text, *part).1,
                        });
                        write!(out, " `{}` -> `{}`", text_at(db, file, &text, *place).1, pieces.collect::<String>())
                    }
                    Edit::Around(_, name, before, after) => write!(out, " `{before}{name}{after}`"),
                    Edit::RemoveArgument(place) | Edit::RemoveStatement(place) => {
                        write!(out, " without `{}`", text_at(db, file, &text, *place).1)
                    }
                };
            }
            out.push('\n');
        }
        for call in &problem.calls {
            let (line, at) = text_at(db, file, &text, *call);
            let _ = writeln!(out, "    called at {line}: `{at}`");
        }
    }
    out
}
