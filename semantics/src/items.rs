//! What a file declares: its chunks, its `@triton.jit` functions, its module-level names and imports.
//!
//! A file is a row of top-level statements, the [`Chunk`]s, each known by its text, so a keystroke in one kernel parses and lowers that
//! kernel alone. **Invariant:** [`Items`] hold no bodies and no positions: an edit inside a kernel's body leaves them equal.

use std::{
    collections::BTreeSet,
    hash::{DefaultHasher, Hash, Hasher},
    sync::Arc,
};

use indexmap::IndexSet;
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::{SmallVec, smallvec};
use smol_str::SmolStr;
use tritium_syntax::{Encoding, LineIndex, Parse, PythonVersion, SyntaxError, TextRange};

use crate::{
    Db, Function, SourceFile,
    body::{
        ArgKind, Body, Clause, Expr, ExprId, FStringPart, FunctionDef, ParamKind, SourceMap, Stmt, StmtId, lower, lower_function,
    },
    dtype::DType,
};

mod declare;
pub(crate) mod decorators;
mod enclosing;
mod names;
mod origin;
pub(crate) mod records;
mod search_path;
pub(crate) mod strings;
mod unchecked;
mod values;

use decorators::{DecoratorEffect, Decorators};

pub(crate) use declare::{Bound, Definition, MAX_VALUE_HEIGHT, declared, name_of_value};
pub(crate) use enclosing::{Enclosing, enclosing};
pub(crate) use names::{
    Conditions, Folding, Meaning, circular, constant_at, follow, imported, language_dtype, meanings, meanings_beside, members,
    path,
};
pub use origin::{Module, module};
pub use records::{RecordClass, RecordField, RecordKind};
pub use strings::{StringModule, string_kernels, string_modules};
pub use unchecked::{Unchecked, UncheckedKernels, unchecked_kernels};
pub(crate) use values::{Folder, NameValues, cdiv, next_power_of_2, python_float, version_number};

/// The text of one top-level statement. It is tracked, not interned: a text that its file no longer has is let go of in the same revision,
/// with everything that was worked out from it, while salsa reuses an interned value only where nothing older in its shard is still in use.
#[salsa::tracked(debug)]
pub struct Chunk<'db> {
    #[returns(ref)]
    pub text: String,
}

/// Where each chunk of a file begins. Equal texts are one chunk: salsa compares a tracked struct with every other of the same hash, which
/// would take quadratic time in a file that says one thing many times. What a keystroke displaced stays until the next one: taken back, it
/// need not be lowered again.
#[salsa::tracked(returns(ref))]
pub fn chunks<'db>(db: &'db dyn Db, file: SourceFile) -> Vec<(u32, Chunk<'db>)> {
    let text = file.text(db);
    let split = db.split(file, text);
    let mut seen = FxHashMap::default();
    let mut chunk = |said| *seen.entry(said).or_insert_with(|| Chunk::new(db, String::from(said)));
    let places = split.chunks.iter().map(|place| (place.range.start().into(), chunk(place.text(text)))).collect();
    for text in &split.displaced {
        chunk(text);
    }
    places
}

#[salsa::tracked(returns(copy))]
pub fn chunk_count(db: &dyn Db, file: SourceFile) -> usize {
    chunks(db, file).len()
}

/// The tree of a chunk; its ranges count from the chunk's start.
#[salsa::tracked(returns(ref), lru = 16)]
pub fn chunk_tree<'db>(db: &'db dyn Db, chunk: Chunk<'db>) -> Parse {
    tritium_syntax::parse_chunk(chunk.text(db), PythonVersion::default())
}

/// A chunk without its text, and the way back.
#[derive(Debug, Clone, PartialEq)]
pub struct Lowered {
    pub body: Arc<Body>,
    pub map: Arc<SourceMap>,
    pub errors: Arc<[SyntaxError]>,
}

#[salsa::tracked(returns(ref))]
pub fn lowered<'db>(db: &'db dyn Db, chunk: Chunk<'db>) -> Lowered {
    let parse = chunk_tree(db, chunk);
    let (body, map) = lower(&parse.tree());
    Lowered { body: Arc::new(body), map: Arc::new(map), errors: parse.errors().into() }
}

/// One of a chunk's functions by itself, and where in the chunk it begins.
#[salsa::tracked(returns(ref))]
fn lowered_function<'db>(db: &'db dyn Db, chunk: Chunk<'db>, nth: usize) -> Option<(u32, Lowered)> {
    let whole = lowered(db, chunk);
    let range = *whole.map.stmts.get(whole.body.functions().nth(nth)?.0 as usize)?;
    let (body, map) = lower_function(&chunk_tree(db, chunk).tree(), range)?;
    Some((range.start().into(), Lowered { body: Arc::new(body), map: Arc::new(map), errors: Arc::default() }))
}

/// A chunk of a file, or behind the chunks one of the file's functions by itself, so that typing in what stands beside a function does not
/// change it. With where it begins.
fn part(db: &dyn Db, file: SourceFile, index: usize) -> Option<(u32, &Lowered)> {
    let all = chunks(db, file);
    if let Some((start, chunk)) = all.get(index) {
        return Some((*start, lowered(db, *chunk)));
    }
    let definition = declared(db, file).definitions.get(index - all.len())?;
    let (start, chunk) = all.get(definition.chunk)?;
    let (inside, function) = lowered_function(db, *chunk, definition.nth).as_ref()?;
    Some((start + inside, function))
}

/// The body of a file's `index`th chunk, or of the function by itself that stands for; equal bodies stop what depends on them from running
/// again.
#[salsa::tracked(returns(clone))]
pub fn chunk_body(db: &dyn Db, file: SourceFile, index: usize) -> Option<Arc<Body>> {
    Some(part(db, file, index)?.1.body.clone())
}

/// What a decorator makes of a function.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FunctionKind {
    /// `@triton.jit`
    Jit,
    /// `@triton.constexpr_function`: runs in Python, at compile time.
    Constexpr,
}

#[derive(Debug, Clone, PartialEq)]
pub struct FunctionItem {
    pub function: Function,
    pub kind: FunctionKind,
    /// The chunk that holds it.
    pub holder: usize,
    /// What it is the only statement of: its chunk where the chunk holds nothing else, or the function by itself.
    pub chunk: usize,
    /// The functions around it, innermost first: indices into the file's definitions.
    pub outer: Vec<usize>,
    /// Under `@triton.autotune` or `@triton.heuristics`: launched, never called.
    pub is_tuned: bool,
    /// Under a decorator that is not Triton's: what launches give may not be what the function gets.
    pub is_wrapped: bool,
    /// Defined under a condition: other functions of the same name may take its place.
    pub is_conditional: bool,
    /// The innermost condition of the module that it stands under: an index into the file's branches.
    pub branch: Option<usize>,
    pub params: Vec<ParamItem>,
    /// `do_not_specialize` of the decorator: parameters by position.
    pub unspecialised: BTreeSet<usize>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct ParamItem {
    pub name: SmolStr,
    pub kind: ParamKind,
    pub annotation: Annotation,
    pub default: Option<ExprId>,
}

/// What an annotation says to a launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Annotation {
    /// None, or one that Triton ignores.
    None,
    Constexpr,
    /// `tl.int64`, `"i64"`, `int`, …
    Scalar(DType),
    /// `"*fp32"`, `"*kfp32"`
    Pointer {
        elem: DType,
        is_const: bool,
    },
    /// `tl.const`
    ConstPointer,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct Items {
    pub functions: Vec<FunctionItem>,
    /// For each of the file's `def`s: the kernel or helper it makes.
    pub(crate) of_definition: Vec<Option<Function>>,
    pub imports_triton: bool,
    /// The definitions that are kernels in Gluon.
    gluon: Vec<usize>,
    /// Places in `functions`.
    index: FxHashMap<Function, usize>,
}

impl Items {
    pub fn function(&self, function: Function) -> Option<&FunctionItem> {
        self.functions.get(*self.index.get(&function)?)
    }
}

/// What the file declares.
#[salsa::tracked(returns(ref))]
pub fn items(db: &dyn Db, file: SourceFile) -> Items {
    let declared = declared(db, file);
    let mut items = Items { imports_triton: declared.imports_triton, ..Items::default() };
    // Functions that are compiled after their definition: `kernel = triton.jit(function)`.
    let compiled = compiled_by_name(db, file);
    let mut decorators = Decorators::new(db, file);
    let mut of_name: FxHashMap<SmolStr, u32> = FxHashMap::default();
    for (index, definition) in declared.definitions.iter().enumerate() {
        db.unwind_if_revision_cancelled();
        let nth = of_name.get(&definition.name).copied().unwrap_or(0);
        let makes = decorators.of_definition(definition);
        let found = function_item(db, file, index, nth, compiled.contains(&index), &makes);
        if found.is_none() && makes.contains(&DecoratorEffect::Gluon) {
            items.gluon.push(index);
        }
        items.of_definition.push(found.as_ref().map(|f| f.function));
        if let Some(found) = found {
            of_name.insert(definition.name.clone(), nth + 1);
            items.index.insert(found.function, items.functions.len());
            items.functions.push(found);
        }
    }
    items
}

/// The definitions that a call compiles, wherever it stands: `kernel = triton.jit(function)`.
fn compiled_by_name(db: &dyn Db, file: SourceFile) -> BTreeSet<usize> {
    let declared = declared(db, file);
    let defined: FxHashSet<&str> = declared.definitions.iter().map(|d| d.name.as_str()).collect();
    let mut out = BTreeSet::new();
    for (chunk, (_, parsed)) in chunks(db, file).iter().enumerate() {
        for (callee, name) in calls_with_a_name(db, *parsed) {
            // Most are calls of functions with a value.
            if !defined.contains(name.as_str()) {
                continue;
            }
            let Some(body) = chunk_body(db, file, chunk) else { continue };
            let around = function_around(&body, &body.root, *callee);
            let outer = around.and_then(|stmt| declared.definition_at.get(&(chunk, stmt)).copied());
            // All that the name stands for at some time: `kernel = triton.jit(kernel)` binds it anew.
            let bound: Vec<&Bound> = match enclosing(db, file, outer, name) {
                Some(found) => found.all.iter().collect(),
                None => declared.names.get(name).into_iter().flatten().map(|way| &way.to).collect(),
            };
            let definition = |bound: &Bound| if let Bound::Definition(index) = bound { Some(*index) } else { None };
            let mut found = bound.into_iter().filter_map(definition).peekable();
            if found.peek().is_some() && decorators::compiles(db, file, &body, *callee, outer) {
                out.extend(found);
            }
        }
    }
    out
}

/// The calls of a chunk that give a name and nothing else: the callee, the name.
#[salsa::tracked(returns(ref))]
fn calls_with_a_name<'db>(db: &'db dyn Db, chunk: Chunk<'db>) -> Vec<(ExprId, SmolStr)> {
    let body = &lowered(db, chunk).body;
    let of_call = |expr: &Expr| match expr {
        Expr::Call { callee, args } => match &args[..] {
            [arg] => match body.expr(arg.value) {
                Expr::Name(name) => Some((*callee, name.clone())),
                _ => None,
            },
            _ => None,
        },
        _ => None,
    };
    body.exprs.iter().filter_map(of_call).collect()
}

/// The innermost function of some statements that an expression stands in.
fn function_around(body: &Body, stmts: &[StmtId], expr: ExprId) -> Option<StmtId> {
    let mut pending: Vec<(&[StmtId], Option<StmtId>)> = vec![(stmts, None)];
    while let Some((stmts, around)) = pending.pop() {
        for &id in stmts {
            let stmt = body.stmt(id);
            let mut is_here = false;
            own_exprs(stmt, &mut |root| walk_expr(body, root, &mut |node| is_here |= node == Node::Expr(expr)));
            if is_here {
                return around;
            }
            match stmt {
                Stmt::Function(def) => pending.push((&def.body, Some(id))),
                _ => pending.extend(module_blocks(stmt).into_iter().map(|block| (block, around))),
            }
        }
    }
    None
}

fn function_item(
    db: &dyn Db,
    file: SourceFile,
    index: usize,
    nth: u32,
    is_compiled: bool,
    makes: &[DecoratorEffect],
) -> Option<FunctionItem> {
    let all = &declared(db, file).definitions;
    let definition = all.get(index)?;
    let whole = chunk_body(db, file, definition.chunk)?;
    let kind = if makes.contains(&DecoratorEffect::Jit) || is_compiled {
        FunctionKind::Jit
    } else if makes.contains(&DecoratorEffect::ConstexprFunction) {
        FunctionKind::Constexpr
    } else {
        return None;
    };
    let chunk = if whole.root == [definition.stmt] { definition.chunk } else { chunk_count(db, file) + index };
    let body = chunk_body(db, file, chunk)?;
    let Stmt::Function(def) = body.stmt(*body.root.first()?) else { return None };
    let function = Function::new(db, file, def.name.clone(), nth);
    let params: Vec<ParamItem> = def
        .params
        .iter()
        .map(|p| ParamItem {
            name: p.name.clone(),
            kind: p.kind,
            annotation: p.annotation.map_or(Annotation::None, |a| annotation(&body, a)),
            default: p.default,
        })
        .collect();
    // A tuner of the project's own says so by its configurations.
    let has_configs = def.decorators.iter().any(|&d| match body.expr(d) {
        Expr::Call { args, .. } => args.iter().any(|a| matches!(&a.kind, ArgKind::Keyword(k) if k == "configs")),
        _ => false,
    });
    Some(FunctionItem {
        function,
        kind,
        holder: definition.chunk,
        chunk,
        outer: std::iter::successors(definition.outer, |&outer| all[outer].outer).collect(),
        is_tuned: has_configs || makes.contains(&DecoratorEffect::Tuned),
        is_wrapped: makes.contains(&DecoratorEffect::Other),
        is_conditional: definition.is_conditional,
        branch: definition.branch,
        unspecialised: listed_parameters(&body, def, &["do_not_specialize"]),
        params,
    })
}

/// Whether the file has anything to do with Triton; others get no answers.
#[salsa::tracked(returns(copy))]
pub fn is_triton_file(db: &dyn Db, file: SourceFile) -> bool {
    // Not even parsed where a kernel cannot be: one imports Triton or has its language from somebody who does.
    let text = file.text(db);
    if !text.contains("triton") && !text.contains("tl.") {
        return false;
    }
    let items = items(db, file);
    items.imports_triton
        || !items.functions.is_empty()
        || !unchecked_kernels(db, file).is_empty()
        || !string_modules(db, file).is_empty()
}

/// The body that holds a function, and its statement in it.
#[salsa::tracked(returns(clone))]
pub fn function_body(db: &dyn Db, function: Function) -> Option<(Arc<Body>, StmtId)> {
    let file = function.file(db);
    let item = items(db, file).function(function)?;
    let body = chunk_body(db, file, item.chunk)?;
    let stmt = *body.root.first()?;
    Some((body, stmt))
}

/// What stands above a function's own statements, as a body with the same expressions: decorators, parameters and their defaults. Typing in
/// the function does not change it, so host code that launches the function is not evaluated again.
#[salsa::tracked(returns(clone))]
pub(crate) fn function_head(db: &dyn Db, function: Function) -> Option<(Arc<Body>, StmtId)> {
    let (body, stmt) = function_body(db, function)?;
    let Stmt::Function(def) = body.stmt(stmt) else { return None };
    let of_params = def.params.iter().flat_map(|param| [param.annotation, param.default]).flatten();
    let mut end = 0;
    for root in def.decorators.iter().copied().chain(of_params).chain(def.returns) {
        walk_expr(&body, root, &mut |node| {
            if let Node::Expr(id) = node {
                end = end.max(id.0 as usize + 1);
            }
        });
    }
    let head = FunctionDef { body: vec![], ..def.clone() };
    let stmt = StmtId(0);
    Some((Arc::new(Body { exprs: body.exprs[..end].to_vec(), stmts: vec![Stmt::Function(head)], root: vec![stmt] }), stmt))
}

/// A number for the text of the statement that defines a function; texts that differ have different ones, but for chance.
pub fn text_hash(db: &dyn Db, function: Function) -> u64 {
    let range = range_of_function(db, function);
    let mut hasher = DefaultHasher::new();
    range.and_then(|range| function.file(db).text(db).get(range)).hash(&mut hasher);
    hasher.finish()
}

/// The whole `def` in its file, decorators and all.
pub fn range_of_function(db: &dyn Db, function: Function) -> Option<std::ops::Range<usize>> {
    let (start, map) = source_map(db, function)?;
    let (_, stmt) = function_body(db, function)?;
    Some(in_file(start, *map.stmts.get(stmt.0 as usize)?))
}

/// The way back to the text: the file offset that the map's ranges count from, and the map.
#[salsa::tracked(returns(clone))]
pub fn source_map(db: &dyn Db, function: Function) -> Option<(u32, Arc<SourceMap>)> {
    let file = function.file(db);
    let item = items(db, file).function(function)?;
    chunk_map(db, file, item.chunk)
}

/// As [`source_map`], but with the number of the chunk in the file, which says less and changes less.
#[salsa::tracked(returns(clone))]
pub(crate) fn map_in_chunk(db: &dyn Db, function: Function) -> Option<(usize, Arc<SourceMap>)> {
    let file = function.file(db);
    let chunk = items(db, file).function(function)?.chunk;
    Some((chunk, chunk_map(db, file, chunk)?.1))
}

/// As [`source_map`], of a chunk or of a function by itself.
pub fn chunk_map(db: &dyn Db, file: SourceFile, chunk: usize) -> Option<(u32, Arc<SourceMap>)> {
    let (start, lowered) = part(db, file, chunk)?;
    Some((start, lowered.map.clone()))
}

/// What a module-level name is bound to in the text: the value of its assignment, or its `def`.
pub(crate) fn range_of_global(db: &dyn Db, file: SourceFile, name: &str) -> Option<std::ops::Range<usize>> {
    let declared = declared(db, file);
    let [binding] = declared.ways(name, None) else { return None };
    let (chunk, expr, stmt) = match &binding.to {
        Bound::Value { chunk, value } => (*chunk, Some(*value), None),
        Bound::Definition(index) => declared.definitions.get(*index).map(|d| (d.chunk, None, Some(d.stmt)))?,
        _ => return None,
    };
    let (start, map) = chunk_map(db, file, chunk)?;
    let range = match (expr, stmt) {
        (Some(expr), _) => map.exprs.get(expr.0 as usize)?,
        (None, stmt) => map.stmts.get(stmt?.0 as usize)?,
    };
    Some(in_file(start, *range))
}

/// Whether a file binds a module-level name itself.
pub(crate) fn binds(db: &dyn Db, file: SourceFile, name: &str) -> bool {
    declared(db, file).names.contains_key(name)
}

/// Whether a file hands a function around by name, or launches it with a list that it unpacks: launches that nobody sees decide about its
/// parameters.
pub(crate) fn is_passed_around(db: &dyn Db, file: SourceFile, name: &str) -> bool {
    chunks(db, file).iter().any(|(_, chunk)| handed(db, *chunk).contains(name))
}

/// What one chunk hands around. By chunk, so that a keystroke walks one of them.
#[salsa::tracked(returns(ref))]
fn handed<'db>(db: &'db dyn Db, chunk: Chunk<'db>) -> BTreeSet<SmolStr> {
    let body = &lowered(db, chunk).body;
    let mut names = BTreeSet::new();
    let mut used = vec![false; body.exprs.len()];
    for expr in &body.exprs {
        match expr {
            Expr::Attribute { receiver, .. } | Expr::Subscript { receiver, .. } => used[receiver.0 as usize] = true,
            Expr::Call { callee, args } => {
                used[callee.0 as usize] = true;
                if let Expr::Subscript { receiver, .. } = body.expr(*callee)
                    && let Expr::Name(name) = body.expr(*receiver)
                    && args.iter().any(|a| a.kind == ArgKind::Spread)
                {
                    names.insert(name.clone());
                }
            }
            _ => {}
        }
    }
    names.extend(body.exprs.iter().zip(&used).filter_map(|(expr, used)| match expr {
        Expr::Name(name) if !used => Some(name.clone()),
        _ => None,
    }));
    names
}

/// Whether a file names something in quotes, as keys of a tuning, heuristics and grids name parameters.
pub(crate) fn is_quoted(db: &dyn Db, file: SourceFile, name: &str) -> bool {
    chunks(db, file).iter().any(|(_, chunk)| quoted(db, *chunk).contains(name))
}

/// The words that one chunk has in quotes, comments and all.
#[salsa::tracked(returns(ref))]
fn quoted<'db>(db: &'db dyn Db, chunk: Chunk<'db>) -> BTreeSet<SmolStr> {
    let text = chunk.text(db);
    let is_quote = |c: char| c == '"' || c == '\'';
    let marks: Vec<usize> = text.match_indices(is_quote).map(|(at, _)| at).collect();
    let between = marks.windows(2).filter(|pair| text.as_bytes()[pair[0]] == text.as_bytes()[pair[1]]);
    let words = between.map(|pair| &text[pair[0] + 1..pair[1]]);
    words.filter(|word| !word.is_empty() && word.chars().all(|c| c.is_alphanumeric() || c == '_')).map(SmolStr::new).collect()
}

/// Whether a file has a text to put in the place of a word: by a dictionary of such texts, or by `replace`.
pub(crate) fn is_replaced(db: &dyn Db, file: SourceFile, word: &str) -> bool {
    chunks(db, file).iter().any(|(_, chunk)| replaced(db, *chunk).contains(word))
}

#[salsa::tracked(returns(ref))]
fn replaced<'db>(db: &'db dyn Db, chunk: Chunk<'db>) -> BTreeSet<SmolStr> {
    let body = &lowered(db, chunk).body;
    let mut words = BTreeSet::new();
    let mut word = |id: ExprId| {
        if let Expr::Str(text) = body.expr(id) {
            words.insert(text.into());
        }
    };
    for expr in &body.exprs {
        match expr {
            Expr::Dict(entries) => entries.iter().filter_map(|(key, _)| *key).for_each(&mut word),
            Expr::Call { callee, args } if matches!(body.expr(*callee), Expr::Attribute { name, .. } if name == "replace") => {
                args.first().into_iter().for_each(|arg| word(arg.value));
            }
            _ => {}
        }
    }
    words
}

/// Names that a file gives to modules and other objects: `tl.extract_slice = …`.
#[salsa::tracked(returns(ref))]
pub(crate) fn patched(db: &dyn Db, file: SourceFile) -> BTreeSet<SmolStr> {
    let mut names = BTreeSet::new();
    for body in (0..chunk_count(db, file)).filter_map(|chunk| chunk_body(db, file, chunk)) {
        for stmt in &body.stmts {
            let Stmt::Assign { targets, .. } = stmt else { continue };
            names.extend(targets.iter().filter_map(|&target| match body.expr(target) {
                Expr::Attribute { name, .. } => Some(name.clone()),
                _ => None,
            }));
        }
    }
    names
}

/// Whether a file is written for a Triton that compiles for something else than CUDA: what is silent there is silent for other reasons.
#[salsa::tracked(returns(copy))]
pub fn is_for_other_device(db: &dyn Db, file: SourceFile) -> bool {
    let is_named = file.path(db).iter().any(|part| {
        let part = part.to_string_lossy();
        part.split(['_', '-', '.']).any(|word| matches!(word, "ascend" | "npu" | "mlu" | "musa"))
    });
    is_named || ["torch_npu", "triton.language.extra.cann"].iter().any(|module| file.text(db).contains(module))
}

/// Whether a file runs its kernels in Triton's interpreter, where they may do what Python can: `os.environ["TRITON_INTERPRET"] = "1"`.
#[salsa::tracked(returns(copy))]
pub(crate) fn is_interpreted(db: &dyn Db, file: SourceFile) -> bool {
    let sets = |line: &str| {
        let (target, value) = line.split_once('=').unwrap_or_default();
        target.trim_start().starts_with("os.environ[") && target.contains("TRITON_INTERPRET") && value.contains('1')
    };
    file.text(db).contains("TRITON_INTERPRET") && file.text(db).lines().any(sets)
}

/// The lines of a file.
#[salsa::tracked(returns(ref), lru = 64)]
pub fn line_index(db: &dyn Db, file: SourceFile) -> LineIndex {
    LineIndex::new(file.text(db))
}

/// The line and the column of a byte of a file, counted from 1; the column in bytes.
pub fn line_column(db: &dyn Db, file: SourceFile, offset: usize) -> (u32, u32) {
    let offset = u32::try_from(offset).unwrap_or(u32::MAX);
    let at = line_index(db, file).line_column(offset.into(), Encoding::Bytes);
    (at.line + 1, at.column + 1)
}

/// The line of a byte of a file, counted from 1.
pub fn line_number(db: &dyn Db, file: SourceFile, offset: usize) -> u32 {
    line_column(db, file, offset).0
}

/// A range of a chunk as a byte range of its file.
pub fn in_file(start: u32, range: TextRange) -> std::ops::Range<usize> {
    let start = start as usize;
    start + usize::from(range.start())..start + usize::from(range.end())
}

/// What a function's body says about how it is used.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Uses {
    /// Every name it mentions.
    pub names: BTreeSet<SmolStr>,
    pub returns_value: bool,
}

#[salsa::tracked(returns(ref))]
pub fn uses(db: &dyn Db, function: Function) -> Uses {
    let mut uses = Uses::default();
    let Some((body, stmt)) = function_body(db, function) else { return uses };
    let Stmt::Function(def) = body.stmt(stmt) else { return uses };
    walk(&body, &def.body, &mut |node| match node {
        Node::Expr(id) => {
            if let Expr::Name(name) = body.expr(id) {
                uses.names.insert(name.clone());
            }
        }
        Node::Stmt(id) => uses.returns_value |= matches!(body.stmt(id), Stmt::Return(Some(_))),
    });
    uses
}

/// A function and those of its file that it may call, however far, judged by name.
pub fn with_helpers(db: &dyn Db, function: Function) -> IndexSet<Function> {
    let items = items(db, function.file(db));
    let mut found = IndexSet::from([function]);
    let mut next = 0;
    while let Some(&caller) = found.get_index(next) {
        let names = &uses(db, caller).names;
        found.extend(items.functions.iter().map(|item| item.function).filter(|callee| names.contains(callee.name(db))));
        next += 1;
    }
    found
}

/// The functions of a file that are launched rather than called: those that no other one mentions and that return nothing.
#[salsa::tracked(returns(ref))]
pub fn kernels(db: &dyn Db, file: SourceFile) -> Vec<Function> {
    let items = items(db, file);
    let jit = || items.functions.iter().filter(|f| f.kind == FunctionKind::Jit);
    // What a function mentions are the names of its module and of the functions around it.
    let mut called: FxHashSet<(Option<usize>, &SmolStr)> = FxHashSet::default();
    for f in jit() {
        for name in uses(db, f.function).names.iter().filter(|name| *name != f.function.name(db)) {
            called.extend(f.outer.iter().map(|&outer| Some(outer)).chain([None]).map(|scope| (scope, name)));
        }
    }
    jit()
        .filter(|f| {
            let is_called = called.contains(&(f.outer.first().copied(), f.function.name(db)));
            f.is_tuned || (!is_called && !uses(db, f.function).returns_value)
        })
        .map(|f| f.function)
        .collect()
}

/// The blocks whose statements bind names of the same module (or class).
pub(crate) fn module_blocks(stmt: &Stmt) -> SmallVec<[&[StmtId]; 2]> {
    match stmt {
        Stmt::With { body, .. } | Stmt::Class { body, .. } | Stmt::Other { body, .. } => smallvec![body.as_slice()],
        Stmt::If { then: body, otherwise, .. } | Stmt::For { body, otherwise, .. } | Stmt::While { body, otherwise, .. } => {
            [body.as_slice(), otherwise].into_iter().collect()
        }
        Stmt::Try { body, handlers, otherwise, finally } => {
            let handlers = handlers.iter().map(|h| h.1.as_slice());
            [body.as_slice(), otherwise, finally].into_iter().chain(handlers).collect()
        }
        _ => smallvec![],
    }
}

/// The parameters, by position, that a decorator lists under one of these keywords.
pub(crate) fn listed_parameters(body: &Body, def: &FunctionDef, keywords: &[&str]) -> BTreeSet<usize> {
    let mut out = BTreeSet::new();
    for value in decorator_options(body, def, keywords) {
        let (Expr::List(listed) | Expr::Tuple(listed)) = body.expr(value) else { continue };
        for &item in listed {
            match body.expr(item) {
                Expr::Int(index) => out.extend(usize::try_from(*index)),
                Expr::Str(name) => out.extend(def.params.iter().position(|p| p.name == name.as_str())),
                _ => {}
            }
        }
    }
    out
}

/// What the decorators of a function are given under these names.
pub(crate) fn decorator_options(body: &Body, def: &FunctionDef, keywords: &[&str]) -> impl Iterator<Item = ExprId> {
    let arguments = def.decorators.iter().flat_map(|&decorator| match body.expr(decorator) {
        Expr::Call { args, .. } => args.as_slice(),
        _ => &[],
    });
    arguments
        .filter(move |argument| matches!(&argument.kind, ArgKind::Keyword(name) if keywords.contains(&name.as_str())))
        .map(|argument| argument.value)
}

/// What a name means by custom where the file does not say.
pub(crate) fn conventional(name: &str) -> Option<&'static str> {
    match name {
        "triton" => Some("triton"),
        "tl" => Some("triton.language"),
        _ => None,
    }
}

fn annotation(body: &Body, id: ExprId) -> Annotation {
    match body.expr(id) {
        Expr::Name(name) | Expr::Attribute { name, .. } => named_annotation(name),
        Expr::Str(text) => named_annotation(text.trim()),
        // `tl.constexpr[int]`, `Optional[tl.constexpr]`
        Expr::Subscript { receiver, index } => match (annotation(body, *receiver), annotation(body, *index)) {
            (Annotation::Constexpr, _) | (_, Annotation::Constexpr) => Annotation::Constexpr,
            _ => Annotation::None,
        },
        Expr::Binary { lhs, rhs, .. } => match (annotation(body, *lhs), annotation(body, *rhs)) {
            (Annotation::Constexpr, _) | (_, Annotation::Constexpr) => Annotation::Constexpr,
            _ => Annotation::None,
        },
        _ => Annotation::None,
    }
}

fn named_annotation(text: &str) -> Annotation {
    if text.contains("constexpr") {
        return Annotation::Constexpr;
    }
    if let Some(pointee) = text.strip_prefix('*') {
        let (pointee, is_const) = match pointee.strip_prefix('k') {
            Some(rest) => (rest, true),
            None => (pointee, false),
        };
        return DType::from_name(pointee).map_or(Annotation::None, |elem| Annotation::Pointer { elem, is_const });
    }
    match text {
        "const" | "tl.const" => Annotation::ConstPointer,
        // Python's own types, as Triton reads them.
        "int" => Annotation::Scalar(DType::I32),
        "float" => Annotation::Scalar(DType::F32),
        _ => DType::from_name(text.strip_prefix("tl.").unwrap_or(text)).map_or(Annotation::None, Annotation::Scalar),
    }
}

/// A node of a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Node {
    Expr(ExprId),
    Stmt(StmtId),
}

/// Visits every statement and expression below `stmts`, a parent before its children.
pub fn walk(body: &Body, stmts: &[StmtId], visit: &mut dyn FnMut(Node)) {
    for &id in stmts {
        visit(Node::Stmt(id));
        let stmt = body.stmt(id);
        own_exprs(stmt, &mut |expr| walk_expr(body, expr, visit));
        match stmt {
            Stmt::Function(def) => walk(body, &def.body, visit),
            _ => module_blocks(stmt).into_iter().for_each(|block| walk(body, block, visit)),
        }
    }
}

/// The same without the statements of functions and classes inside.
fn walk_own(body: &Body, stmts: &[StmtId], visit: &mut dyn FnMut(Node)) {
    for &id in stmts {
        visit(Node::Stmt(id));
        let stmt = body.stmt(id);
        own_exprs(stmt, &mut |expr| walk_expr(body, expr, visit));
        if !matches!(stmt, Stmt::Class { .. }) {
            module_blocks(stmt).into_iter().for_each(|block| walk_own(body, block, visit));
        }
    }
}

/// Visits the expressions directly inside a statement.
fn own_exprs(stmt: &Stmt, visit: &mut dyn FnMut(ExprId)) {
    match stmt {
        Stmt::Missing | Stmt::Pass | Stmt::Import { .. } | Stmt::ImportFrom { .. } => {}
        Stmt::Expr(e) => visit(*e),
        Stmt::Assign { targets, value } => targets.iter().chain([value]).for_each(|&e| visit(e)),
        Stmt::AugAssign { target, value, .. } => [target, value].into_iter().for_each(|&e| visit(e)),
        Stmt::AnnAssign { target, annotation, value } => [target, annotation].into_iter().chain(value).for_each(|&e| visit(e)),
        Stmt::Return(value) => value.iter().for_each(|&e| visit(e)),
        Stmt::If { condition, .. } | Stmt::While { condition, .. } => visit(*condition),
        Stmt::For { target, iterable, .. } => [target, iterable].into_iter().for_each(|&e| visit(e)),
        Stmt::With { items, .. } => {
            items.iter().flat_map(|(context, target)| [context].into_iter().chain(target)).for_each(|&e| visit(e));
        }
        Stmt::Assert { test, message } => [test].into_iter().chain(message).for_each(|&e| visit(e)),
        Stmt::Function(def) => {
            let of_params = def.params.iter().flat_map(|p| p.annotation.iter().chain(&p.default));
            def.decorators.iter().chain(of_params).chain(&def.returns).for_each(|&e| visit(e));
        }
        Stmt::Class { decorators, bases, .. } => {
            decorators.iter().chain(bases.iter().map(|base| &base.value)).for_each(|&e| visit(e));
        }
        Stmt::Try { handlers, .. } => handlers.iter().filter_map(|h| h.0).for_each(visit),
        Stmt::Other { exprs, .. } => exprs.iter().for_each(|&e| visit(e)),
    }
}

/// Visits an expression and everything in it.
pub fn walk_expr(body: &Body, id: ExprId, visit: &mut dyn FnMut(Node)) {
    // Not recursive: expressions nest deeper than a stack.
    let mut left: SmallVec<[ExprId; 16]> = smallvec![id];
    while let Some(id) = left.pop() {
        visit(Node::Expr(id));
        let first = left.len();
        each_child(body, id, &mut |child| left.push(child));
        left[first..].reverse();
    }
}

/// The expressions directly inside one.
pub fn children(body: &Body, id: ExprId) -> SmallVec<[ExprId; 4]> {
    let mut out = smallvec![];
    each_child(body, id, &mut |child| out.push(child));
    out
}

fn each_child(body: &Body, id: ExprId, visit: &mut impl FnMut(ExprId)) {
    match body.expr(id) {
        Expr::Missing
        | Expr::Name(_)
        | Expr::Int(_)
        | Expr::HugeInt
        | Expr::Float(_)
        | Expr::Imaginary(_)
        | Expr::Str(_)
        | Expr::Bytes(_)
        | Expr::Bool(_)
        | Expr::None
        | Expr::Ellipsis => {}
        Expr::FString(parts) => each_value(parts, visit),
        Expr::Tuple(items) | Expr::List(items) | Expr::Set(items) => items.iter().for_each(|&e| visit(e)),
        Expr::Dict(items) => items.iter().flat_map(|(k, v)| k.iter().chain([v])).for_each(|&e| visit(e)),
        Expr::Comprehension { key, element, clauses, .. } => {
            key.iter().chain([element]).for_each(|&e| visit(e));
            for clause in clauses {
                match clause {
                    Clause::For { target, iterable } => [*target, *iterable].into_iter().for_each(&mut *visit),
                    Clause::If(condition) => visit(*condition),
                }
            }
        }
        Expr::Unary { operand, .. } => visit(*operand),
        Expr::Binary { lhs, rhs, .. } | Expr::Bool2 { lhs, rhs, .. } => [*lhs, *rhs].into_iter().for_each(visit),
        Expr::Compare { first, rest } => [*first].into_iter().chain(rest.iter().map(|r| r.1)).for_each(visit),
        Expr::If { condition, then, otherwise } => [*condition, *then, *otherwise].into_iter().for_each(visit),
        Expr::Lambda { params, body } => params.iter().filter_map(|p| p.default).chain([*body]).for_each(visit),
        Expr::Named { value, .. } => visit(*value),
        Expr::Await(e) | Expr::Starred(e) => visit(*e),
        Expr::Yield(e) => e.iter().for_each(|&e| visit(e)),
        Expr::Call { callee, args } => [*callee].into_iter().chain(args.iter().map(|arg| arg.value)).for_each(visit),
        Expr::Attribute { receiver, .. } => visit(*receiver),
        Expr::Subscript { receiver, index } => [*receiver, *index].into_iter().for_each(visit),
        Expr::Slice { lower, upper, step } => [lower, upper, step].into_iter().flatten().for_each(|&e| visit(e)),
    }
}

/// The values in an f-string, those in its format specifications too.
fn each_value(parts: &[FStringPart], visit: &mut impl FnMut(ExprId)) {
    for part in parts {
        if let FStringPart::Value { value, format, .. } = part {
            visit(*value);
            each_value(format.as_deref().unwrap_or_default(), visit);
        }
    }
}
