//! Launches written down: the `# /// tritium` comment block of a file, and the `<file>.launch.toml` beside it.
//!
//! **Invariant:** a launch is read whole or not at all, and what is wrong with it is said at the span that is wrong.

mod spelled;
mod written;

use std::ops::Range;

use indexmap::IndexMap;
use smol_str::SmolStr;
use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

use super::{
    GivenOptions, Impossible, Init, Launch, LaunchArg, LaunchPlace, LaunchProblem, LaunchSource, Launches, MemoryPlace, Tensor,
    arithmetic::{Reader, evaluate},
    limits,
};
use crate::{
    Db, SourceFile,
    constant::Const,
    diagnostics::{Code, Severity},
    dtype::DType,
    host,
    items::{Annotation, FunctionItem, items},
};

pub use spelled::spelled;
pub use written::{WrittenName, names_beside, written_names};

/// TOML cut out of a text; a sidecar is all TOML.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Block {
    toml: String,
    is_sidecar: bool,
    is_closed: bool,
}

/// A launch block where it stands in its file.
pub(super) struct PlacedBlock {
    block: Block,
    /// Where each line of the TOML begins, there and in the file.
    lines: Vec<(usize, usize)>,
    /// The line that opens it.
    opening: Range<usize>,
}

pub(super) fn of_sidecar(text: &str) -> Block {
    Block { toml: text.to_owned(), is_sidecar: true, is_closed: true }
}

/// The blocks of a file without their places: what comes or goes around them changes nothing here.
#[salsa::tracked(returns(ref))]
pub(super) fn blocks(db: &dyn Db, file: SourceFile) -> Vec<Block> {
    of_text(file.text(db)).into_iter().map(|placed| placed.block).collect()
}

/// The blocks of a file.
pub(super) fn of_text(text: &str) -> Vec<PlacedBlock> {
    let mut out = Vec::new();
    if !text.contains("# /// tritium") {
        return out;
    }
    let mut current: Option<PlacedBlock> = None;
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let content = line.trim_end();
        match &mut current {
            None => {
                if content == "# /// tritium" {
                    let block = Block { toml: String::new(), is_sidecar: false, is_closed: false };
                    current = Some(PlacedBlock { block, lines: vec![], opening: start..start + content.len() });
                }
            }
            Some(placed) if content == "# ///" => {
                placed.block.is_closed = true;
                out.extend(current.take());
            }
            Some(PlacedBlock { block, lines, .. }) => match content.strip_prefix('#') {
                Some(rest) => {
                    let toml = rest.strip_prefix(' ').unwrap_or(rest);
                    lines.push((block.toml.len(), start + content.len() - toml.len()));
                    block.toml.push_str(toml);
                    block.toml.push('\n');
                }
                // The comment ends before the block does.
                None => out.extend(current.take()),
            },
        }
        start += line.len();
    }
    out.extend(current);
    out
}

impl PlacedBlock {
    /// What is wrong at a span is told there, and of a block without an end where it begins.
    pub(super) fn range_or_opening(&self, span: &Range<usize>) -> Range<usize> {
        if self.block.is_closed { self.range(span.clone()) } else { self.opening.clone() }
    }

    /// A span of the TOML as a range of the file.
    fn range(&self, span: Range<usize>) -> Range<usize> {
        let place = |at: usize| {
            let after = self.lines.partition_point(|(toml, _)| *toml <= at);
            let line = after.checked_sub(1).map(|index| self.lines[index]);
            line.map_or(0, |(toml, file)| file + (at - toml))
        };
        let start = place(span.start);
        start..place(span.end).max(start)
    }

    /// Where the header of a launch stands in the file.
    pub(super) fn header(&self, launch: &str) -> Option<usize> {
        Some(self.range(self.block.header(launch)?).start)
    }
}

impl Block {
    /// Where the header of a launch stands in the TOML.
    fn header(&self, launch: &str) -> Option<Range<usize>> {
        let table = DeTable::parse(&self.toml).ok()?;
        let DeValue::Table(launches) = table.get_ref().get("launch")?.get_ref() else { return None };
        let (name, _) = launches.iter().find(|(name, _)| name.get_ref() == launch)?;
        Some(name.span())
    }

    pub(super) fn header_line(&self, launch: &str) -> Option<u32> {
        u32::try_from(self.line(self.header(launch)?.start)).ok()
    }

    fn line(&self, at: usize) -> usize {
        1 + self.toml.get(..at).map_or(0, |before| before.matches('\n').count())
    }

    fn source(&self) -> LaunchSource {
        if self.is_sidecar { LaunchSource::Sidecar } else { LaunchSource::Block }
    }
}

/// The launches of a text that no person has written: what of it does not fit the file as it is now is left out. Of a tuner's rows the one counts
/// that says what the launch says; one that none says stands by itself.
pub(super) fn read_recorded(db: &dyn Db, file: SourceFile, text: &str, out: &mut Launches) {
    let mut read = Launches::default();
    self::read(db, file, &of_sidecar(text), 0, &mut read);
    let mut known: Vec<Launch> = Vec::new();
    for launch in read.launches {
        let rows = host::configs(db, launch.kernel);
        let says_same = |row: &host::Config| {
            let is_same = |(name, value): (&SmolStr, &Const)| launch.meta.get(name) == Some(value);
            row.meta.0.iter().all(|(name, value)| is_same((name, value))) && row.options.over(launch.options) == launch.options
        };
        let config = launch.config.filter(|&row| rows.get(row as usize).is_some_and(says_same));
        let launch = Launch { config, ..launch };
        match known.iter_mut().find(|other| other.name == launch.name) {
            None => known.push(launch),
            Some(other) if other.config.is_none() => *other = launch,
            Some(_) => {}
        }
    }
    out.sources.extend(known.iter().map(|_| LaunchSource::Recorded));
    out.launches.extend(known);
}

/// What is wrong, and where in the TOML.
struct Wrong {
    code: Code,
    severity: Severity,
    message: String,
    span: Range<usize>,
}

impl Wrong {
    fn new(code: Code, message: String, span: Range<usize>) -> Wrong {
        Wrong { code, severity: Severity::Error, message, span }
    }

    fn of(found: Impossible, span: Range<usize>) -> Wrong {
        Wrong { code: found.code, severity: found.severity, message: found.message, span }
    }
}

fn wrong<T>(span: Range<usize>, message: impl Into<String>) -> Result<T, Wrong> {
    Err(Wrong::new(Code::LCH011, message.into(), span))
}

/// The launches of a block that have a size of this name.
fn with_size(block: &Block, size: &str) -> Vec<SmolStr> {
    let Ok(table) = DeTable::parse(&block.toml) else { return vec![] };
    let Some(DeValue::Table(launches)) = table.get_ref().get("launch").map(Spanned::get_ref) else { return vec![] };
    let has_it = |launch: &DeValue<'_>| match launch {
        DeValue::Table(fields) => match fields.get("sizes").map(Spanned::get_ref) {
            Some(DeValue::Table(sizes)) => sizes.contains_key(size),
            _ => false,
        },
        _ => false,
    };
    launches.iter().filter(|(_, launch)| has_it(launch.get_ref())).map(|(name, _)| name.get_ref().as_ref().into()).collect()
}

/// The launches of a file's blocks, and of the block beside it, that have a size of this name.
pub fn launches_with_size(db: &dyn Db, file: SourceFile, size: &str) -> Vec<SmolStr> {
    let beside = file.sidecar(db).as_ref().map(|text| of_sidecar(text));
    blocks(db, file).iter().chain(&beside).flat_map(|block| with_size(block, size)).collect()
}

type Entry<'a, 't> = (&'a Spanned<std::borrow::Cow<'t, str>>, &'a Spanned<DeValue<'t>>);

/// The launches of a block, the `nth` of its file.
pub(super) fn read(db: &dyn Db, file: SourceFile, block: &Block, nth: usize, out: &mut Launches) {
    let mut problems: Vec<(Option<SmolStr>, Wrong)> = Vec::new();
    if !block.is_closed {
        let message = "the launch block is not closed: write `# ///` after its last line".to_owned();
        let place = LaunchPlace::Block { nth, span: 0..0 };
        out.problems.push(LaunchProblem { code: Code::LCH011, severity: Severity::Error, message, launch: None, place });
        return;
    }
    match DeTable::parse(&block.toml) {
        Err(error) => {
            let message = error.message().lines().next().unwrap_or("not TOML").to_owned();
            problems.push((None, Wrong::new(Code::LCH011, message, error.span().unwrap_or(0..0))));
        }
        Ok(table) => {
            for (key, value) in table.get_ref() {
                match (key.get_ref().as_ref(), value.get_ref()) {
                    ("launch", DeValue::Table(table)) => {
                        for entry in table {
                            db.unwind_if_revision_cancelled();
                            let (launches, all) = launch(db, file, entry);
                            out.sources.extend(launches.iter().map(|_| block.source()));
                            out.launches.extend(launches);
                            let name: SmolStr = entry.0.get_ref().as_ref().into();
                            problems.extend(all.into_iter().map(|found| (Some(name.clone()), found)));
                        }
                    }
                    ("launch", _) => {
                        let message = "`launch` is a table: write `[launch.NAME]`".to_owned();
                        problems.push((None, Wrong::new(Code::LCH011, message, value.span())));
                    }
                    (other, _) => {
                        let message = format!("`{other}` is not known here: write `[launch.NAME]`");
                        problems.push((None, Wrong::new(Code::LCH011, message, key.span())));
                    }
                }
            }
        }
    }
    for (launch, Wrong { code, severity, message, span }) in problems {
        let (message, place) = match block.is_sidecar {
            true => (format!("{message} (line {} of the `.launch.toml`)", block.line(span.start)), LaunchPlace::Sidecar),
            false => (message, LaunchPlace::Block { nth, span }),
        };
        out.problems.push(LaunchProblem { code, severity, message, launch, place });
    }
}

/// One `[launch.NAME]`: its launches, none where something is wrong with it, and what is wrong or odd.
fn launch(db: &dyn Db, file: SourceFile, entry: Entry<'_, '_>) -> (Vec<Launch>, Vec<Wrong>) {
    match launches_of(db, file, entry) {
        Ok((launches, odd)) => (launches, odd),
        Err(problems) => (vec![], problems),
    }
}

fn launches_of(db: &dyn Db, file: SourceFile, (name, value): Entry<'_, '_>) -> Result<(Vec<Launch>, Vec<Wrong>), Vec<Wrong>> {
    let mut problems = Vec::new();
    let DeValue::Table(table) = value.get_ref() else {
        return Err(wrong::<()>(value.span(), "a launch is a table: write `[launch.NAME]`").err().into_iter().collect());
    };
    let mut fields: IndexMap<&str, Entry<'_, '_>> = IndexMap::new();
    for (key, value) in table {
        let known = ["kernel", "grid", "sizes", "args", "meta", "num_warps", "num_stages", "maxnreg", "expect", "tolerance"];
        if known.contains(&key.get_ref().as_ref()) {
            fields.insert(key.get_ref(), (key, value));
        } else {
            problems.extend(wrong::<()>(key.span(), format!("`{}` is none of {}", key.get_ref(), known.join(", "))).err());
        }
    }
    let mut take = |result: Result<(), Wrong>| problems.extend(result.err());

    let item = match kernel(db, file, name, fields.get("kernel").map(|e| e.1)) {
        Ok(item) => item,
        Err(w) => {
            take(Err(w));
            return Err(problems);
        }
    };
    let kernel = item.function;

    let mut sizes: IndexMap<String, Const> = IndexMap::new();
    for (key, value) in entries(&fields, "sizes", &mut take) {
        let name = key.get_ref().to_string();
        let chosen = db.settings().chosen(db).sizes.iter().find(|(chosen, _)| *chosen == name);
        match chosen.map_or_else(|| integer(value, &sizes), |(_, value)| Ok(i128::from(*value))) {
            Ok(i) => {
                sizes.insert(name, Const::Int(i));
            }
            Err(w) => take(Err(w)),
        }
    }

    let mut meta: IndexMap<SmolStr, Const> = IndexMap::new();
    for (key, value) in entries(&fields, "meta", &mut take) {
        let name = key.get_ref().as_ref();
        if !item.params.iter().any(|p| p.name == name) {
            take(wrong(key.span(), format!("`{name}` is no parameter of `{}`", kernel.name(db))));
        }
        match meta_value(db, file, value, &sizes) {
            Ok(v) => {
                meta.insert(name.into(), v);
            }
            Err(w) => take(Err(w)),
        }
    }

    let (mut args, mut tensors) = (IndexMap::new(), Vec::<Tensor>::new());
    for (key, value) in entries(&fields, "args", &mut take) {
        let name = key.get_ref().as_ref();
        let Some(param) = item.params.iter().find(|p| p.name == name) else {
            take(wrong(key.span(), format!("`{name}` is no parameter of `{}`", kernel.name(db))));
            continue;
        };
        if param.annotation == Annotation::Constexpr {
            match meta_value(db, file, value, &sizes) {
                Ok(v) => {
                    meta.insert(name.into(), v);
                }
                Err(w) => take(Err(w)),
            }
            continue;
        }
        match compound(name, value, &sizes, &mut tensors) {
            Ok(arg) => {
                args.insert(SmolStr::from(name), arg);
            }
            Err(w) => take(Err(w)),
        }
    }

    let position = |name: &SmolStr| item.params.iter().position(|p| p.name == *name);
    args.sort_by(|a, _, b, _| position(a).cmp(&position(b)));

    let mut option = |name: &str| match fields.get(name).map(|e| (e.1.span(), integer(e.1, &sizes))) {
        None => None,
        Some((span, Ok(given))) => {
            let (compiled, found) = limits::option(name, given);
            take(found.map_or(Ok(()), |found| Err(Wrong::of(found, span))));
            compiled
        }
        Some((_, Err(w))) => {
            take(Err(w));
            None
        }
    };
    let options =
        GivenOptions { num_warps: option("num_warps"), num_stages: option("num_stages"), max_registers: option("maxnreg") };

    let mut expect = IndexMap::new();
    for (key, value) in entries(&fields, "expect", &mut take) {
        let name = key.get_ref().as_ref();
        match value.get_ref() {
            DeValue::String(text) if tensors.iter().any(|t| t.name == name) => {
                expect.insert(SmolStr::from(name), text.to_string());
            }
            DeValue::String(_) => take(wrong(key.span(), format!("`{name}` is no tensor of this launch"))),
            _ => take(wrong(value.span(), "what is expected is a string: an expression over the inputs")),
        }
    }
    let tolerance = fields.get("tolerance").and_then(|(_, value)| match number(value) {
        Some(known) if known.as_float().is_some_and(|bound| bound >= 0.0 && bound.is_finite()) => known.as_float(),
        Some(known) => {
            take(wrong(value.span(), format!("`tolerance` is a relative error, 0 or more and finite, and this is {known}")));
            None
        }
        None => {
            take(wrong(value.span(), "`tolerance` is a number"));
            None
        }
    });
    let Some((_, grid)) = fields.get("grid") else {
        take(wrong(name.span(), format!("`launch.{}` has no grid: write `grid = [1]`", name.get_ref())));
        return Err(problems);
    };

    // What a tuning adds, one launch a row.
    let configs = host::configs(db, kernel);
    let rows: Vec<Option<u32>> = if configs.is_empty() { vec![None] } else { (0..configs.len() as u32).map(Some).collect() };
    let mut out = Vec::new();
    for config in rows {
        let row = config.map(|i| &configs[i as usize]);
        if row.is_some_and(host::Config::is_impossible) {
            // Told where the row stands.
            continue;
        }
        let mut meta = meta.clone();
        if let Some(row) = row {
            for (name, value) in &row.meta.0 {
                meta.entry(name.clone()).or_insert_with(|| value.clone());
            }
        }
        let mut args = args.clone();
        for (i, param) in item.params.iter().enumerate() {
            if args.contains_key(&param.name) || meta.contains_key(&param.name) {
                continue;
            }
            match (host::default_of(db, kernel, i), param.annotation) {
                (Some(value), Annotation::Constexpr) => {
                    meta.insert(param.name.clone(), value);
                }
                (Some(value), _) => {
                    if let Some(arg) = scalar(&value) {
                        args.insert(param.name.clone(), arg);
                    }
                }
                (None, _) => {}
            }
        }
        if item.is_tuned {
            let known = args.iter().filter_map(|(n, a)| Some((n.clone(), constant(a)?))).chain(meta.clone());
            let known: Vec<(SmolStr, super::Given)> = known.map(|(name, value)| (name, super::Given::Known(value))).collect();
            let ruled = host::Rules::of(db, kernel).map(|mut rules| rules.values(known));
            for (name, value) in ruled.into_iter().flatten() {
                if let super::Given::Known(value) = value {
                    meta.entry(name).or_insert(value);
                }
            }
        }
        let missing: Vec<String> = item
            .params
            .iter()
            .filter(|p| !args.contains_key(&p.name) && !meta.contains_key(&p.name))
            .map(|p| format!("`{}`", p.name))
            .collect();
        if !missing.is_empty() && is_right(&problems) {
            let message = format!("the launch of `{}` gives no argument for {}", kernel.name(db), missing.join(", "));
            problems.push(Wrong::new(Code::LCH001, message, name.span()));
        }
        let mut names = sizes.clone();
        names.extend(args.iter().filter_map(|(n, a)| Some((n.to_string(), constant(a)?))));
        names.extend(meta.iter().map(|(n, v)| (n.to_string(), v.clone())));
        let grid = match grid_of(grid, &names) {
            Ok((grid, odd)) => {
                if config.is_none_or(|row| row == 0) {
                    problems.extend(odd);
                }
                grid
            }
            Err(w) => {
                problems.push(w);
                break;
            }
        };
        let in_order = |names: &IndexMap<SmolStr, LaunchArg>| {
            item.params.iter().filter_map(|p| Some((p.name.clone(), names.get(&p.name)?.clone()))).collect()
        };
        out.push(Launch {
            name: name.get_ref().as_ref().into(),
            kernel,
            grid,
            args: in_order(&args),
            meta: item.params.iter().filter_map(|p| Some((p.name.clone(), meta.get(&p.name)?.clone()))).collect(),
            options: options.over(row.map(|row| row.options).unwrap_or_default().or_default()),
            config,
            tensors: tensors.clone(),
            expect: expect.clone(),
            tolerance,
        });
    }
    if is_right(&problems) { Ok((out, problems)) } else { Err(problems) }
}

/// Whether nothing is wrong, but perhaps odd.
fn is_right(problems: &[Wrong]) -> bool {
    problems.iter().all(|found| found.severity != Severity::Error)
}

/// The kernel that a launch names; the file's only one if it names none.
fn kernel<'db>(
    db: &'db dyn Db,
    file: SourceFile,
    launch: &Spanned<std::borrow::Cow<'_, str>>,
    given: Option<&Spanned<DeValue<'_>>>,
) -> Result<&'db FunctionItem, Wrong> {
    let functions = &items(db, file).functions;
    match given.map(|v| (v.span(), v.get_ref())) {
        Some((span, DeValue::String(name))) => match functions.iter().rfind(|f| f.function.name(db) == name.as_ref()) {
            Some(found) => Ok(found),
            None => wrong(span, format!("this file has no kernel `{name}`")),
        },
        Some((span, _)) => wrong(span, "`kernel` is the name of a kernel"),
        None => match crate::items::kernels(db, file).as_slice() {
            [only] => functions.iter().find(|f| f.function == *only).ok_or_else(|| Wrong {
                code: Code::LCH011,
                severity: Severity::Error,
                message: "this file has no kernel".to_owned(),
                span: launch.span(),
            }),
            _ => wrong(
                launch.span(),
                format!("`launch.{}` does not say which kernel: write `kernel = \"NAME\"`", launch.get_ref()),
            ),
        },
    }
}

/// The entries of a table among the fields.
fn entries<'a, 't>(
    fields: &IndexMap<&str, Entry<'a, 't>>,
    name: &str,
    take: &mut dyn FnMut(Result<(), Wrong>),
) -> Vec<Entry<'a, 't>> {
    match fields.get(name).map(|e| (e.1.span(), e.1.get_ref())) {
        None => vec![],
        Some((_, DeValue::Table(table))) => table.iter().collect(),
        Some((span, _)) => {
            take(wrong(span, format!("`{name}` is a table: write `{name} = {{ … }}`")));
            vec![]
        }
    }
}

fn number(value: &Spanned<DeValue<'_>>) -> Option<Const> {
    match value.get_ref() {
        DeValue::Integer(i) => i128::from_str_radix(&i.as_str().replace('_', ""), i.radix()).ok().map(Const::Int),
        DeValue::Float(f) => match f.as_str().trim_start_matches(['+', '-']) {
            "inf" => Some(Const::float(if f.as_str().starts_with('-') { f64::NEG_INFINITY } else { f64::INFINITY })),
            "nan" => Some(Const::float(f64::NAN)),
            _ => f.as_str().replace('_', "").parse().ok().map(Const::float),
        },
        DeValue::Boolean(b) => Some(Const::Bool(*b)),
        _ => None,
    }
}

/// An integer, or an expression over sizes.
fn integer(value: &Spanned<DeValue<'_>>, names: &IndexMap<String, Const>) -> Result<i128, Wrong> {
    let known = match value.get_ref() {
        DeValue::String(text) => match evaluate(text, &|n| names.get(n).cloned()) {
            Ok(known) => Some(known),
            Err(message) => return wrong(value.span(), message),
        },
        _ => number(value),
    };
    match known.as_ref().and_then(Const::as_int) {
        Some(i) => Ok(i),
        None => wrong(value.span(), "expected an integer, or an expression over sizes"),
    }
}

fn meta_value(
    db: &dyn Db,
    file: SourceFile,
    value: &Spanned<DeValue<'_>>,
    sizes: &IndexMap<String, Const>,
) -> Result<Const, Wrong> {
    if let Some(known) = number(value) {
        return Ok(known);
    }
    match value.get_ref() {
        DeValue::String(text) => {
            if text == "None" {
                return Ok(Const::None);
            }
            // A word in quotes of its own is a word, even one that names a type.
            if let Some(word) = text.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\'')) {
                return Ok(Const::Str(word.to_owned()));
            }
            if let Some(name) = text.strip_prefix("fn:") {
                let found = items(db, file).functions.iter().rfind(|f| f.function.name(db) == name);
                return found.map_or_else(
                    || wrong(value.span(), format!("this file has no `@triton.jit` function `{name}`")),
                    |f| Ok(Const::Function(f.function)),
                );
            }
            if let Some(dtype) = DType::from_name(text.strip_prefix("tl.").unwrap_or(text)) {
                return Ok(Const::DType(dtype));
            }
            // A word that is no size is a word.
            let is_word = text.chars().all(|c| c.is_alphanumeric() || c == '_') && !sizes.contains_key(text.as_ref());
            match evaluate(text, &|n| sizes.get(n).cloned()) {
                Ok(known) => Ok(known),
                Err(_) if is_word => Ok(Const::Str(text.to_string())),
                Err(message) => wrong(value.span(), message),
            }
        }
        DeValue::Array(items) => items.iter().map(|i| meta_value(db, file, i, sizes)).collect::<Result<_, _>>().map(Const::Tuple),
        _ => wrong(value.span(), "expected a number, a string, or a list of them"),
    }
}

enum Given {
    Tensor(Tensor),
    Value(LaunchArg),
}

fn scalar(value: &Const) -> Option<LaunchArg> {
    Some(match value {
        Const::Int(i) => LaunchArg::Int(*i),
        Const::Bool(b) => LaunchArg::Bool(*b),
        Const::Float(f) => LaunchArg::Float(f.get()),
        Const::None => LaunchArg::None,
        Const::Str(_) | Const::DType(_) | Const::Tuple(_) | Const::Function(_) => return None,
    })
}

fn constant(arg: &LaunchArg) -> Option<Const> {
    Some(match arg {
        LaunchArg::Tensor(_) | LaunchArg::Tuple(_) | LaunchArg::Descriptor { .. } => return None,
        LaunchArg::Int(i) => Const::Int(*i),
        LaunchArg::Float(f) => Const::float(*f),
        LaunchArg::Bool(b) => Const::Bool(*b),
        LaunchArg::None => Const::None,
    })
}

/// A tuple as a list, a descriptor as `{ tensor = "f16[M, N]", block = [64, 64], padding = "nan" }`, or something simple.
fn compound(
    name: &str,
    value: &Spanned<DeValue<'_>>,
    sizes: &IndexMap<String, Const>,
    tensors: &mut Vec<Tensor>,
) -> Result<LaunchArg, Wrong> {
    match value.get_ref() {
        DeValue::Array(items) => {
            let items = items.iter().enumerate().map(|(i, item)| compound(&format!("{name}_{i}"), item, sizes, tensors));
            items.collect::<Result<_, _>>().map(LaunchArg::Tuple)
        }
        DeValue::Table(fields) => {
            const FORM: &str =
                "a descriptor is `{ tensor = \"f16[M, N]\", block = [64, 64] }`, with `padding = \"nan\"` if wanted";
            let field = |key: &str| fields.iter().find(|(k, _)| k.get_ref().as_ref() == key).map(|(_, v)| v);
            let (Some(tensor), Some(block)) = (field("tensor"), field("block")) else { return wrong(value.span(), FORM) };
            let (Given::Tensor(tensor), DeValue::Array(block)) = (argument(name, tensor, sizes)?, block.get_ref()) else {
                return wrong(value.span(), FORM);
            };
            let mut sides = Vec::new();
            for side in block {
                let size = integer(side, sizes)?;
                match u32::try_from(size).ok().filter(|n| n.is_power_of_two()) {
                    Some(n) => sides.push(n),
                    None => return wrong(side.span(), format!("the extent of a block is a power of two, not {size}")),
                }
            }
            let nan = match field("padding").map(|p| p.get_ref()) {
                None => false,
                Some(DeValue::String(word)) if word == "nan" || word == "zero" => word == "nan",
                Some(_) => return wrong(value.span(), FORM),
            };
            if let Some(message) = host::descriptor_problem(&tensor, &sides, nan) {
                return wrong(value.span(), message);
            }
            Ok(LaunchArg::Descriptor { tensor: add(tensors, tensor), block: sides, nan })
        }
        _ => match argument(name, value, sizes)? {
            Given::Tensor(tensor) => Ok(LaunchArg::Tensor(add(tensors, tensor))),
            Given::Value(arg) => Ok(arg),
        },
    }
}

/// A tensor in a memory of its own; its index.
fn add(tensors: &mut Vec<Tensor>, mut tensor: Tensor) -> usize {
    tensor.memory.index = tensors.len();
    tensors.push(tensor);
    tensors.len() - 1
}

fn argument(name: &str, value: &Spanned<DeValue<'_>>, sizes: &IndexMap<String, Const>) -> Result<Given, Wrong> {
    if let Some(arg) = number(value).as_ref().and_then(scalar) {
        return Ok(Given::Value(arg));
    }
    let DeValue::String(text) = value.get_ref() else {
        return wrong(value.span(), "expected a type, a number, or an expression over sizes");
    };
    let result = if text == "None" {
        Ok(Given::Value(LaunchArg::None))
    } else if text.contains('[') {
        tensor(name, text, sizes).map(Given::Tensor)
    } else {
        evaluate(text, &|n| sizes.get(n).cloned())
            .and_then(|v| scalar(&v).ok_or_else(|| "expected a number".to_owned()))
            .map(Given::Value)
    };
    result.map_err(|message| Wrong::new(Code::LCH011, message, value.span()))
}

/// `f32[M, N] = normal(0, 1)`
pub(crate) fn tensor(name: &str, text: &str, sizes: &IndexMap<String, Const>) -> Result<Tensor, String> {
    let names = |n: &str| sizes.get(n).cloned();
    let mut reader = Reader::new(text);
    let ty = reader.word().unwrap_or_default();
    let dtype = DType::from_name(ty).ok_or_else(|| format!("`{ty}` is no type"))?;
    reader.expect("[")?;
    let mut shape = Vec::new();
    while !reader.eat("]") {
        let size = reader.expression(&names)?;
        let known = size.as_int().and_then(|i| u64::try_from(i).ok());
        shape.push(known.ok_or_else(|| format!("`{size}` is no extent of a tensor"))?);
        if !reader.eat(",") {
            reader.expect("]")?;
            break;
        }
    }
    let init = if reader.eat("=") { initialiser(&mut reader, &names)? } else { Init::Empty };
    reader.end()?;
    let tensor =
        Tensor { name: name.into(), dtype, strides: host::row_major(&shape), shape, init, memory: MemoryPlace::default() };
    limits::impossible_tensor(&tensor).map_or(Ok(tensor), Err)
}

fn initialiser(reader: &mut Reader<'_>, names: &dyn Fn(&str) -> Option<Const>) -> Result<Init, String> {
    let name = reader.word().ok_or("expected an initialiser behind `=`")?;
    reader.expect("(")?;
    if name == "file" {
        let path = reader.string()?;
        reader.expect(")")?;
        return Ok(Init::File(path));
    }
    let mut args = Vec::new();
    while !reader.eat(")") {
        let value = reader.expression(names)?;
        args.push(value.as_float().ok_or_else(|| format!("`{value}` is no number"))?);
        if !reader.eat(",") {
            reader.expect(")")?;
            break;
        }
    }
    match (name, &args[..]) {
        ("normal", []) => Ok(Init::Normal { mean: 0.0, std: 1.0 }),
        ("normal", &[mean, std]) => Ok(Init::Normal { mean, std }),
        ("uniform", []) => Ok(Init::Uniform { low: 0.0, high: 1.0 }),
        ("uniform", &[low, high]) => Ok(Init::Uniform { low, high }),
        ("randint", &[low, high]) => match (whole(low), whole(high)) {
            (Some(low), Some(high)) => Ok(Init::RandInt { low, high }),
            _ => Err(format!("`randint({low}, {high})` takes two whole numbers of 64 bits")),
        },
        ("arange", []) => Ok(Init::Arange),
        ("zeros", []) => Ok(Init::Zeros),
        ("ones", []) => Ok(Init::Ones),
        ("full", &[value]) => Ok(Init::Full(value)),
        ("normal" | "uniform" | "randint" | "arange" | "zeros" | "ones" | "full", _) => Err(format!(
            "`{name}` takes other arguments: normal(mean, std), uniform(lo, hi), randint(lo, hi), arange(), zeros(), ones(), full(v)"
        )),
        _ => Err(format!("`{name}` is none of normal, uniform, randint, arange, zeros, ones, full, file")),
    }
}

/// A number without a fraction.
fn whole(number: f64) -> Option<i64> {
    (number.fract() == 0.0 && number.abs() < 9.2e18).then_some(number as i64)
}

fn grid_of(value: &Spanned<DeValue<'_>>, names: &IndexMap<String, Const>) -> Result<([u64; 3], Option<Wrong>), Wrong> {
    let one = std::slice::from_ref(value);
    let items: &[Spanned<DeValue<'_>>] = match value.get_ref() {
        DeValue::Array(items) => items,
        _ => one,
    };
    if items.is_empty() || items.len() > 3 {
        let message = format!("a grid has one to three sizes, and this one has {}", items.len());
        return Err(Wrong::new(Code::LCH002, message, value.span()));
    }
    let sizes: Vec<i128> = items.iter().map(|item| integer(item, names)).collect::<Result<_, _>>()?;
    match limits::grid(&sizes) {
        Ok((grid, odd)) => Ok((grid, odd.map(|found| Wrong::of(found, value.span())))),
        Err(found) => Err(Wrong::of(found, value.span())),
    }
}
