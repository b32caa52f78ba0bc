//! Block pointers, written as tiles of pointers with masks.
//!
//! Rewritten is a name that is bound to `tl.make_block_ptr(…)` alone, moved by `p = tl.advance(p, …)`, and read in no other way than by
//! `tl.load(p, …)`, `tl.store(p, …)` and `p.dtype.element_ty`. What it is made of is kept in names of its own where it may change before
//! it is used. **Invariant:** every element is read from, written to and masked as the block pointer does it, in 64-bit arithmetic; what is not
//! certain to be so is left as it is.

use std::collections::{BTreeMap, BTreeSet};

use smol_str::SmolStr;

use crate::{
    Db, Function,
    body::{Arg, ArgKind, Body, Expr, ExprId, FunctionDef, Stmt, StmtId, UnaryOp},
    items::{self, Node, function_body, walk, walk_expr},
    places::range_of,
    problem::{Applicability, At, Edit, Fix, Place},
};

/// A name that can be rewritten: where it is made first, and how.
pub(super) struct Rewrite {
    pub place: Place,
    pub name: SmolStr,
    pub fix: Fix,
}

/// Axes of a block pointer that is rewritten.
const MAX_AXES: usize = 5;

pub(super) fn rewrites(db: &dyn Db, function: Function) -> Vec<Rewrite> {
    let Some((body, stmt)) = function_body(db, function) else { return vec![] };
    let Stmt::Function(def) = body.stmt(stmt) else { return vec![] };
    let reader = Reader { db, function, body: &body, def };
    reader.rewrites()
}

struct Reader<'a> {
    db: &'a dyn Db,
    function: Function,
    body: &'a Body,
    def: &'a FunctionDef,
}

/// `p = tl.make_block_ptr(base, shape, strides, offsets, block_shape, order)`, as text.
#[derive(Debug, Clone, PartialEq)]
struct Make {
    stmt: StmtId,
    callee: ExprId,
    language: String,
    base: Part,
    shape: Vec<Part>,
    strides: Vec<Part>,
    offsets: Vec<Part>,
    block: Vec<String>,
}

/// One of the things that a block pointer is made of.
#[derive(Debug, Clone, PartialEq)]
struct Part {
    text: String,
    /// It gives the same wherever it stands in the function.
    is_stable: bool,
    is_natural: bool,
}

/// What a function does with a name.
#[derive(Default)]
struct Uses {
    makes: Vec<Make>,
    /// Statement and how far along every axis.
    advances: Vec<(StmtId, Vec<Part>)>,
    /// The name itself, as the pointer of an access with its arguments.
    accesses: Vec<(ExprId, Vec<Arg>)>,
    /// `p` in `p.dtype.element_ty`.
    types: Vec<ExprId>,
    /// All places of the name that were understood.
    understood: usize,
}

impl Reader<'_> {
    fn rewrites(&self) -> Vec<Rewrite> {
        let mut uses: BTreeMap<SmolStr, Uses> = BTreeMap::new();
        let mut places: BTreeMap<SmolStr, usize> = BTreeMap::new();
        walk(self.body, &self.def.body, &mut |node| match node {
            Node::Stmt(stmt) => {
                if let Some((name, make)) = self.make(stmt) {
                    let uses = uses.entry(name).or_default();
                    uses.understood += 1;
                    uses.makes.push(make);
                } else if let Some((name, by)) = self.advance(stmt) {
                    let uses = uses.entry(name).or_default();
                    uses.understood += 2;
                    uses.advances.push((stmt, by));
                }
            }
            Node::Expr(expr) => match self.body.expr(expr) {
                Expr::Name(name) => *places.entry(name.clone()).or_default() += 1,
                Expr::Call { callee, args } if matches!(self.path(*callee).as_str(), "load" | "store") => {
                    if let [Arg { kind: ArgKind::Positional, value }, rest @ ..] = &args[..]
                        && let Expr::Name(name) = self.body.expr(*value)
                    {
                        let uses = uses.entry(name.clone()).or_default();
                        uses.understood += 1;
                        uses.accesses.push((*value, rest.to_vec()));
                    }
                }
                Expr::Attribute { receiver, name } if name == "element_ty" => {
                    if let Expr::Attribute { receiver, name } = self.body.expr(*receiver)
                        && name == "dtype"
                        && let Expr::Name(name) = self.body.expr(*receiver)
                    {
                        let uses = uses.entry(name.clone()).or_default();
                        uses.understood += 1;
                        uses.types.push(*receiver);
                    }
                }
                _ => {}
            },
        });
        let taken: BTreeSet<SmolStr> = places.keys().cloned().chain(self.def.params.iter().map(|p| p.name.clone())).collect();
        let whole = uses.into_iter().filter(|(name, uses)| {
            !uses.makes.is_empty()
                && places.get(name) == Some(&uses.understood)
                && self.def.params.iter().all(|p| p.name != *name)
        });
        whole.filter_map(|(name, uses)| self.rewrite(name, &uses, &taken)).collect()
    }

    fn rewrite(&self, name: SmolStr, uses: &Uses, taken: &BTreeSet<SmolStr>) -> Option<Rewrite> {
        let first = uses.makes.first()?;
        let axes = first.block.len();
        if uses.makes.iter().any(|make| make.block != first.block || make.language != first.language)
            || uses.advances.iter().any(|(_, by)| by.len() != axes)
        {
            return None;
        }
        // What all makes agree on and nothing changes is said where it is used; the rest is kept under a name.
        let part = |of: &dyn Fn(&Make) -> Part, suffix: String| {
            let all: Vec<Part> = uses.makes.iter().map(of).collect();
            let is_same = all.iter().all(|part| part.is_stable && part.text == all[0].text);
            if is_same { (all[0].text.clone(), false) } else { (format!("{name}_{suffix}"), true) }
        };
        let base = part(&|make| make.base.clone(), "base".to_owned());
        let shape: Vec<_> = (0..axes).map(|axis| part(&|make| make.shape[axis].clone(), format!("size{axis}"))).collect();
        let strides: Vec<_> = (0..axes).map(|axis| part(&|make| make.strides[axis].clone(), format!("stride{axis}"))).collect();
        let moved = |axis: usize| uses.advances.iter().any(|(_, by)| by[axis].text != "0");
        let offsets: Vec<_> = (0..axes)
            .map(|axis| match part(&|make| make.offsets[axis].clone(), format!("at{axis}")) {
                (_, false) if moved(axis) => (format!("{name}_at{axis}"), true),
                known => known,
            })
            .collect();
        let is_natural = |axis: usize| {
            let starts = uses.makes.iter().map(|make| &make.offsets[axis]);
            starts.chain(uses.advances.iter().map(|(_, by)| &by[axis])).all(|part| part.is_natural)
        };
        let new_names = [&base].into_iter().chain(&shape).chain(&strides).chain(&offsets).filter(|part| part.1);
        if new_names.clone().any(|(new, _)| taken.contains(new.as_str())) {
            return None;
        }

        let mut edits = Vec::new();
        for make in &uses.makes {
            let mut lines = Vec::new();
            let mut keep = |known: &(String, bool), part: &Part| {
                if known.1 {
                    lines.push(format!("{} = {}", known.0, bare(&part.text)));
                }
            };
            keep(&base, &make.base);
            for axis in 0..axes {
                keep(&shape[axis], &make.shape[axis]);
                keep(&strides[axis], &make.strides[axis]);
                keep(&offsets[axis], &make.offsets[axis]);
            }
            edits.push(self.statements(make.stmt, &lines)?);
        }
        for (stmt, by) in &uses.advances {
            let moves = by.iter().zip(&offsets).filter(|(part, _)| part.text != "0");
            let lines: Vec<String> = moves.map(|(part, at)| format!("{} += {}", at.0, bare(&part.text))).collect();
            edits.push(self.statements(*stmt, &lines)?);
        }
        let tl = &first.language;
        // Along one axis: `at + tl.arange(0, BLOCK)`.
        let along = |axis: usize| {
            let range = format!("{tl}.arange(0, {}).to({tl}.int64)", bare(&first.block[axis]));
            if offsets[axis].0 == "0" { range } else { format!("{} + {range}", offsets[axis].0) }
        };
        let spread = |axis: usize| {
            let all: Vec<&str> = (0..axes).map(|other| if other == axis { ":" } else { "None" }).collect();
            if axes == 1 { String::new() } else { format!("[{}]", all.join(", ")) }
        };
        let mut pointer = base.0.clone();
        for (axis, (stride, _)) in strides.iter().enumerate() {
            let at = format!("({}){}", along(axis), spread(axis));
            pointer += &match stride.as_str() {
                "1" => format!(" + {at}"),
                stride => format!(" + {at} * {stride}"),
            };
        }
        for (place, args) in &uses.accesses {
            edits.push(Edit::Replace(self.at(*place), pointer.clone()));
            let keyword =
                |name: &str| args.iter().find(|arg| matches!(&arg.kind, ArgKind::Keyword(k) if k == name)).map(|arg| arg.value);
            // Others than these have another meaning for pointers, or none.
            let is_known = |arg: &Arg| match &arg.kind {
                ArgKind::Keyword(name) => {
                    matches!(
                        name.as_str(),
                        "boundary_check" | "padding_option" | "cache_modifier" | "eviction_policy" | "volatile" | "value"
                    )
                }
                ArgKind::Positional => true,
                ArgKind::Spread | ArgKind::SpreadKeywords => false,
            };
            let positional = args.iter().filter(|arg| arg.kind == ArgKind::Positional).count();
            let is_store = args.first().is_some_and(|arg| arg.kind == ArgKind::Positional) || keyword("value").is_some();
            if !args.iter().all(is_known) || positional > usize::from(is_store) {
                return None;
            }
            let padding = match keyword("padding_option").map(|value| self.body.expr(value)) {
                None => None,
                Some(Expr::Str(word)) => match word.as_str() {
                    "" => None,
                    "zero" => Some("0"),
                    "nan" => Some("float(\"nan\")"),
                    _ => return None,
                },
                Some(_) => return None,
            };
            let mut checked = match keyword("boundary_check") {
                None => vec![],
                Some(value) => self.axes(value, axes)?,
            };
            checked.sort_unstable();
            checked.dedup();
            let within = checked.iter().map(|&axis| {
                let (at, end) = (along(axis), bare(&shape[axis].0));
                let below = match is_natural(axis) {
                    true => format!("({at} < {end})"),
                    false => format!("(({at} >= 0) & ({at} < {end}))"),
                };
                below + &spread(axis)
            });
            let mask = within.collect::<Vec<_>>().join(" & ");
            if let Some(value) = keyword("boundary_check") {
                let place = Place { function: self.function, at: At::Argument(value) };
                edits.push(if mask.is_empty() {
                    Edit::RemoveArgument(place)
                } else {
                    Edit::Replace(place, format!("mask={mask}"))
                });
            }
            if let Some(value) = keyword("padding_option") {
                let place = Place { function: self.function, at: At::Argument(value) };
                edits.push(match padding.filter(|_| !mask.is_empty()) {
                    Some(other) => Edit::Replace(place, format!("other={other}")),
                    None => Edit::RemoveArgument(place),
                });
            }
        }
        edits.extend(uses.types.iter().map(|&place| Edit::Replace(self.at(place), base.0.clone())));
        let title = format!("Write `{name}` as a tile of pointers");
        let fix = Fix { title, applicability: Applicability::Safe, edits };
        Some(Rewrite { place: self.at(first.callee), name, fix })
    }

    fn at(&self, expr: ExprId) -> Place {
        Place { function: self.function, at: At::Expr(expr) }
    }

    /// Lines in the place of a statement, as far in as it is; a statement that shares its line stays.
    fn statements(&self, stmt: StmtId, lines: &[String]) -> Option<Edit> {
        let place = Place { function: self.function, at: At::Stmt(stmt) };
        let (file, range) = range_of(self.db, place)?;
        let text = file.text(self.db);
        let before = text.get(..range.start)?.rsplit('\n').next()?;
        let after = text.get(range.end..)?.split('\n').next()?.trim_start();
        if !before.trim().is_empty() || !(after.trim_end().is_empty() || after.starts_with('#')) || text.get(range)?.contains('#')
        {
            return None;
        }
        Some(match lines {
            [] => Edit::Replace(place, "pass".to_owned()),
            lines => Edit::Replace(place, lines.join(&format!("\n{before}"))),
        })
    }

    /// What a callee is called in `triton.language`.
    fn path(&self, callee: ExprId) -> String {
        let file = self.function.file(self.db);
        let path = items::path(self.db, file, self.body, callee).unwrap_or_default();
        path.strip_prefix("triton.language.").unwrap_or_default().to_owned()
    }

    fn make(&self, stmt: StmtId) -> Option<(SmolStr, Make)> {
        let (name, value) = self.assigned(stmt)?;
        let Expr::Call { callee, args } = self.body.expr(value) else { return None };
        let Expr::Attribute { receiver, name: function } = self.body.expr(*callee) else { return None };
        if function != "make_block_ptr" || self.path(*callee) != "make_block_ptr" {
            return None;
        }
        let all = bound(args, &["base", "shape", "strides", "offsets", "block_shape", "order"])?;
        let parts = |expr| self.items(expr).map(|items| items.iter().map(|&item| self.part(item)).collect::<Vec<_>>());
        let (shape, strides, offsets) = (parts(all[1])?, parts(all[2])?, parts(all[3])?);
        let block = self.items(all[4])?;
        // A size known at compile time may stand where it is used.
        if !block.iter().all(|&size| self.is_arithmetic(size, |name| self.times_assigned(name) <= 1)) {
            return None;
        }
        let block: Vec<String> = block.iter().map(|&size| self.body.text_of(size)).collect();
        let axes = block.len();
        if !(1..=MAX_AXES).contains(&axes) || [&shape, &strides, &offsets].iter().any(|all| all.len() != axes) {
            return None;
        }
        let language = self.body.text_of(*receiver);
        Some((name, Make { stmt, callee: *callee, language, base: self.part(all[0]), shape, strides, offsets, block }))
    }

    fn advance(&self, stmt: StmtId) -> Option<(SmolStr, Vec<Part>)> {
        let (name, value) = self.assigned(stmt)?;
        let Expr::Call { callee, args } = self.body.expr(value) else { return None };
        if self.path(*callee) != "advance" {
            return None;
        }
        let all = bound(args, &["base", "offsets"])?;
        let Expr::Name(base) = self.body.expr(all[0]) else { return None };
        let by = self.items(all[1])?.iter().map(|&item| self.part(item)).collect();
        (*base == name).then_some((name, by))
    }

    /// `name = value`
    fn assigned(&self, stmt: StmtId) -> Option<(SmolStr, ExprId)> {
        let Stmt::Assign { targets, value } = self.body.stmt(stmt) else { return None };
        let [target] = targets[..] else { return None };
        let Expr::Name(name) = self.body.expr(target) else { return None };
        Some((name.clone(), *value))
    }

    fn items(&self, expr: ExprId) -> Option<&[ExprId]> {
        match self.body.expr(expr) {
            Expr::Tuple(items) | Expr::List(items) => Some(items),
            _ => None,
        }
    }

    fn axes(&self, expr: ExprId, axes: usize) -> Option<Vec<usize>> {
        let axis = |&item: &ExprId| match self.body.expr(item) {
            Expr::Int(axis) => usize::try_from(*axis).ok().filter(|&axis| axis < axes),
            _ => None,
        };
        self.items(expr)?.iter().map(axis).collect()
    }

    fn part(&self, expr: ExprId) -> Part {
        let is_stable = self.is_arithmetic(expr, |name| self.times_assigned(name) == 0);
        Part { text: self.body.text_of(expr), is_stable, is_natural: self.is_natural(expr) }
    }

    /// Numbers, names that pass a test, and calculations with them.
    fn is_arithmetic(&self, expr: ExprId, test: impl Fn(&str) -> bool) -> bool {
        let mut is_so = true;
        walk_expr(self.body, expr, &mut |node| {
            let Node::Expr(expr) = node else { return };
            is_so &= match self.body.expr(expr) {
                Expr::Int(_) | Expr::Unary { .. } | Expr::Binary { .. } => true,
                Expr::Name(name) => test(name),
                _ => false,
            };
        });
        is_so
    }

    /// Never negative, whatever the arguments are.
    fn is_natural(&self, expr: ExprId) -> bool {
        match self.body.expr(expr) {
            Expr::Int(value) => *value >= 0,
            Expr::Unary { op: UnaryOp::Pos, operand } => self.is_natural(*operand),
            Expr::Call { callee, .. } => self.path(*callee) == "program_id",
            _ => false,
        }
    }

    /// How often the function binds a name.
    fn times_assigned(&self, name: &str) -> usize {
        let mut times = 0;
        let is_it = |expr: ExprId| {
            let mut found = false;
            walk_expr(self.body, expr, &mut |node| {
                found |= matches!(node, Node::Expr(e) if matches!(self.body.expr(e), Expr::Name(n) if n == name));
            });
            found
        };
        walk(self.body, &self.def.body, &mut |node| match node {
            Node::Stmt(stmt) => match self.body.stmt(stmt) {
                Stmt::Assign { targets, .. } => times += targets.iter().filter(|&&target| is_it(target)).count(),
                Stmt::AugAssign { target, .. } => times += 2 * usize::from(is_it(*target)),
                Stmt::AnnAssign { target, .. } => times += usize::from(is_it(*target)),
                Stmt::For { target, .. } => times += 2 * usize::from(is_it(*target)),
                _ => {}
            },
            Node::Expr(expr) => {
                if matches!(self.body.expr(expr), Expr::Named { name: n, .. } if n == name) {
                    times += 2;
                }
            }
        });
        times
    }
}

/// The arguments of a call by the names of its parameters; `None` unless every one is given once.
fn bound(args: &[Arg], names: &[&str]) -> Option<Vec<ExprId>> {
    let mut out = vec![None; names.len()];
    for (at, arg) in args.iter().enumerate() {
        let slot = match &arg.kind {
            ArgKind::Positional => at,
            ArgKind::Keyword(name) => names.iter().position(|n| n == name)?,
            ArgKind::Spread | ArgKind::SpreadKeywords => return None,
        };
        let slot = out.get_mut(slot)?;
        if slot.replace(arg.value).is_some() {
            return None;
        }
    }
    out.into_iter().collect()
}

/// Without the parentheses around all of it.
fn bare(text: &str) -> &str {
    let Some(inside) = text.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')) else { return text };
    let mut depth = 0i32;
    let closes_early = inside.chars().any(|c| {
        depth += i32::from(matches!(c, '(' | '[')) - i32::from(matches!(c, ')' | ']'));
        depth < 0
    });
    let is_tuple = inside.contains(',');
    if closes_early || is_tuple { text } else { inside }
}

#[cfg(test)]
mod tests {
    use super::bare;

    #[test]
    fn parentheses_around_all_are_dropped() {
        assert_eq!(
            ["(a + b)", "(a) + (b)", "((a) * b)", "(a, b)", "f(x)"].map(bare),
            ["a + b", "(a) + (b)", "(a) * b", "(a, b)", "f(x)"]
        );
    }
}
