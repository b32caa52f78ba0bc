// Feature: Hover
//
//! A value: its type, shape in numbers and in the user's names, what its axes run along, its bounds and alignment with where they come
//! from, layout after the passes. A kernel's name: its resources and roofline, the three lines that matter first.
//! A builtin: its page. Lists, never tables: some editors show Markdown tables raw.

use std::{ops::Range, path::Path};

use tritium_semantics::{
    Function,
    body::{Body, Expr, ExprId, Stmt},
    builtins::{Builtin, LIBRARY_PAGE, Library},
    items, lints,
    problem::{At, Place},
    types::Ty,
};

use crate::{
    Analysis,
    kernel_hover::{self, KernelText},
    kernels::Kernel,
};

#[derive(Debug, Clone, PartialEq)]
pub struct Hover {
    pub range: Range<usize>,
    pub markdown: String,
    /// What stands behind it, for who wants to know more; of a kernel's name alone.
    pub rest: String,
    /// An exact figure is being compiled that this hover gives as an estimate.
    pub awaits_exact: bool,
}

impl Hover {
    pub(crate) fn of(range: Range<usize>, markdown: String) -> Hover {
        Hover { range, markdown, rest: String::new(), awaits_exact: false }
    }

    /// With all that stands behind it.
    pub fn whole(&self) -> String {
        kernel_hover::whole(&self.markdown, &self.rest)
    }
}

/// An expression and its type as a kernel has it.
pub(crate) struct Typed {
    pub(crate) function: Function,
    pub(crate) id: ExprId,
    pub(crate) ty: Ty,
    pub(crate) range: Range<usize>,
}

impl Analysis {
    pub fn hover(&self, path: &Path, offset: usize) -> Option<Hover> {
        if !self.options().hover {
            return None;
        }
        let kernels = self.kernels(path);
        if let Some(kernel) = kernels.iter().find(|k| touches(&k.range, offset)) {
            let KernelText { first, rest, awaits_exact } = self.kernel_text(kernel);
            return Some(Hover { range: kernel.range.clone(), markdown: first, rest, awaits_exact });
        }
        let found =
            self.functions_at(path, offset).find_map(|function| self.value(function, self.seen_by(function, &kernels)?, offset));
        // What the line costs stands below what the word means, or alone.
        let Some((line, facts)) = kernels.iter().find_map(|kernel| self.line_facts(kernel, path, offset)) else { return found };
        let facts: String = facts.iter().map(|fact| format!("- {fact}\n")).collect();
        Some(match found {
            Some(hover) => Hover { markdown: format!("{}\n{facts}", hover.markdown.trim_end()), ..hover },
            None => Hover::of(line, facts),
        })
    }

    /// The functions of a file around an offset.
    pub(crate) fn functions_at(&self, path: &Path, offset: usize) -> impl Iterator<Item = Function> {
        let functions = self.file(path).map(|file| items::items(self.db(), file).functions.as_slice()).unwrap_or_default();
        functions.iter().map(|f| f.function).filter(move |&f| self.body_range(f).is_some_and(|range| touches(&range, offset)))
    }

    /// The whole `def` of a function, decorators included.
    pub(crate) fn body_range(&self, function: Function) -> Option<Range<usize>> {
        let (_, stmt) = items::function_body(self.db(), function)?;
        self.range(Place { function, at: At::Stmt(stmt) })
    }

    /// A function's name in its `def`.
    pub(crate) fn name_range(&self, function: Function) -> Option<Range<usize>> {
        self.range(Place { function, at: At::Name })
    }

    /// The kernel that has a function's types: itself, or one that reaches it, since helpers have no specialisation of their own.
    pub(crate) fn seen_by<'k>(&self, function: Function, kernels: &'k [Kernel]) -> Option<&'k Kernel> {
        let own = kernels.iter().find(|k| k.function == function);
        own.or_else(|| kernels.iter().find(|k| self.elaborated(k.active.instance).types.contains_key(&function)))
    }

    /// The innermost expression at an offset that has a type.
    pub(crate) fn typed_at(&self, path: &Path, offset: usize) -> Option<Typed> {
        let kernels = self.kernels(path);
        self.functions_at(path, offset).find_map(|function| self.typed_in(function, self.seen_by(function, &kernels)?, offset))
    }

    fn typed_in(&self, function: Function, kernel: &Kernel, offset: usize) -> Option<Typed> {
        let (start, map) = items::source_map(self.db(), function)?;
        let types = self.elaborated(kernel.active.instance).types.get(&function)?;
        let at = |id: ExprId| map.exprs.get(id.0 as usize).map(|range| items::in_file(start, *range));
        let found = types.iter().filter_map(|(id, ty)| Some((id, ty, at(id)?))).filter(|(.., range)| touches(range, offset));
        let (id, ty, range) = found.min_by_key(|(id, _, range)| (range.len(), std::cmp::Reverse(*id)))?;
        Some(Typed { function, id, ty: ty.clone(), range })
    }

    /// The innermost expression of `function` at the offset, as seen from `kernel`.
    fn value(&self, function: Function, kernel: &Kernel, offset: usize) -> Option<Hover> {
        let db = self.db();
        if let Some(hover) = self.parameter(function, kernel, offset) {
            return Some(hover);
        }
        let Typed { id, ty, range, .. } = self.typed_in(function, kernel, offset)?;
        let ty = &ty;
        let (body, _) = items::function_body(db, function)?;
        let text = self.text(function.file(db).path(db))?;
        let name = match body.expr(id) {
            Expr::Attribute { name, .. } => name.to_string(),
            _ => text.get(range.clone())?.to_owned(),
        };
        if let Ty::Callable(path) = ty
            && let Some(builtin) = Builtin::ALL.iter().find(|b| b.spelling() == *path)
        {
            let row = builtin.row();
            return Some(Hover::of(range, format!("```python\n{path}{}\n```\n{}", row.signature, row.page)));
        }
        if let Ty::Callable(path) = ty
            && let Some(function) = path.strip_prefix("libdevice.").and_then(Library::find)
        {
            let row = function.row();
            let markdown =
                format!("```python\n{path}{}\n```\n{} — {}.\n\n{LIBRARY_PAGE}", function.signature(), row.name, row.summary);
            return Some(Hover::of(range, markdown));
        }
        let mut markdown = format!("```python\n{}: {ty}\n```\n", one_line(&name));
        let mut facts = Vec::new();
        if let Some(symbolic) = ty.symbolic() {
            facts.push(format!("shape `{symbolic}`"));
        }
        let made = made_by(&body, id).unwrap_or(id);
        let launched = kernel.active.launch(db).map(|launch| lints::of_launch(db, launch)).unwrap_or_default();
        facts.extend(lints::described(db, kernel.active.instance, &launched, Place { function, at: At::Expr(made) }));
        if let Some(layout) = self.layout_facts(kernel, Place { function, at: At::Expr(made) }) {
            facts.extend(layout);
        }
        facts.push(format!("under {}", kernel.active.describe(self.db())));
        for fact in facts {
            markdown += &format!("- {fact}\n");
        }
        Some(Hover::of(range, markdown))
    }

    fn parameter(&self, function: Function, kernel: &Kernel, offset: usize) -> Option<Hover> {
        let db = self.db();
        let item = items::items(db, function.file(db)).function(function)?;
        let params = || item.params.iter().enumerate();
        let (index, range) = params().find_map(|(i, _)| {
            let range = self.range(Place { function, at: At::Param(i as u32) })?;
            touches(&range, offset).then_some((i, range))
        })?;
        if function != kernel.function {
            return None;
        }
        let argument = kernel.active.instance.arguments(db).get(index)?;
        let mut markdown = format!("```python\n{}: {argument}\n```\n", item.params[index].name);
        if let Some(fact) = argument.fact() {
            markdown += &format!("- {fact}\n");
        }
        markdown += &format!("- under {}\n", kernel.active.describe(self.db()));
        Some(Hover::of(range, markdown))
    }
}

/// The expression that makes a name's value: what it is assigned to here, or the only assignment there is.
fn made_by(body: &Body, id: ExprId) -> Option<ExprId> {
    let Expr::Name(name) = body.expr(id) else { return None };
    let is_name = |target: ExprId| matches!(body.expr(target), Expr::Name(other) if other == name);
    let mut found = Vec::new();
    for stmt in &body.stmts {
        let (targets, value) = match stmt {
            Stmt::Assign { targets, value } => (targets.as_slice(), Some(*value)),
            Stmt::AnnAssign { target, value, .. } => (std::slice::from_ref(target), *value),
            Stmt::AugAssign { target, .. } => (std::slice::from_ref(target), None),
            _ => continue,
        };
        if targets.contains(&id) {
            return value;
        }
        if targets.iter().any(|&target| is_name(target)) {
            found.push(value);
        }
    }
    if let [value] = found[..] { value } else { None }
}

fn touches(range: &Range<usize>, offset: usize) -> bool {
    range.start <= offset && offset <= range.end
}

/// Long expressions are cut: a hover's first line is the one that is read.
fn one_line(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() <= 60 { line } else { line.chars().take(59).chain(['…']).collect() }
}
