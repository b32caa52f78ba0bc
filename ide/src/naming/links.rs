//! What every name of a file stands for, imports followed, and the strings and keywords that name a function's parameters.
//!
//! A parameter of a kernel is named in more places than Python knows: `key=["N"]`, `Config({"BLOCK": 64})`, `args["N"]` of a heuristic or a
//! grid, `kernel[grid](BLOCK=64)`. **Invariant:** a place is linked to a parameter only through a decorator, a launch or a call of that very
//! function; a place that several functions share is linked to all of them.

use std::{collections::BTreeSet, ops::Range, sync::Arc};

use smol_str::SmolStr;
use tritium_semantics::{
    Db, SourceFile,
    globals::{self, Global},
    items,
    launch::{self, WrittenName},
};

use super::{Call, Grid, GridArgument, Import, Names, Role, ScopeId, TextKind, names};

/// What a name stands for.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Symbol {
    /// Bound by a scope of a file.
    Name(SourceFile, ScopeId, SmolStr),
    /// A module that is a file.
    Module(SourceFile),
    /// A library's, by its path.
    Outside(SmolStr),
}

/// A place, and all that it stands for.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Linked {
    pub(crate) range: Range<usize>,
    pub(crate) text: SmolStr,
    pub(crate) role: Role,
    pub(crate) symbols: Vec<Symbol>,
}

/// Imports that lead to imports; a circle ends here.
const MAX_IMPORT_HOPS: usize = 16;
/// Module-level names that a decorator reaches through others.
const MAX_REACHED_NAMES: usize = 64;

/// Every name, attribute, keyword and string of a file that stands for something, in the order of the text.
#[salsa::tracked(returns(clone), lru = 64)]
pub(crate) fn linked(db: &dyn Db, file: SourceFile) -> Arc<Vec<Linked>> {
    let own = names(db, file);
    let links = Links { db, file, names: &own };
    let mut out: Vec<Linked> = Vec::new();
    for o in &own.occurrences {
        let symbols = vec![links.name(o.scope, &o.name)];
        out.push(Linked { range: o.range.clone(), text: o.name.clone(), role: o.role, symbols });
    }
    for a in &own.attributes {
        if let Some(symbol) = links.path(a.scope, &a.path).and_then(|receiver| links.member(&receiver, &a.name)) {
            out.push(Linked { range: a.range.clone(), text: a.name.clone(), role: Role::Read, symbols: vec![symbol] });
        }
    }
    for import in &own.imports {
        if let (Some(member), Some(range)) = (&import.member, &import.member_range) {
            let symbols = vec![links.imported(import, MAX_IMPORT_HOPS)];
            out.push(Linked { range: range.clone(), text: member.clone(), role: Role::Import, symbols });
        }
    }
    let mut texts = Texts { links: &links, out: &mut out };
    texts.of_decorators();
    texts.of_calls();
    texts.of_launch_blocks();
    texts.of_exports();
    out.sort_by_key(|found| (found.range.start, found.range.end, found.role));
    out.dedup_by(|next, kept| {
        let same = next.range == kept.range;
        if same {
            let new = std::mem::take(&mut next.symbols).into_iter().filter(|s| !kept.symbols.contains(s)).collect::<Vec<_>>();
            kept.symbols.extend(new);
        }
        same
    });
    Arc::new(out)
}

/// The module-level names of any file whose statements decide what a function's decorators mean.
pub(crate) fn reached(db: &dyn Db, file: SourceFile, function: ScopeId) -> Vec<(SourceFile, SmolStr)> {
    let own = names(db, file);
    let links = Links { db, file, names: &own };
    let mut out: Vec<(SourceFile, SmolStr)> = Vec::new();
    let start = own.occurrences.iter().filter(|o| o.decorates == Some(function) && o.role == Role::Read);
    let mut pending: Vec<Symbol> = start.map(|o| links.name(o.scope, &o.name)).collect();
    while let Some(symbol) = pending.pop() {
        let Symbol::Name(file, 0, name) = symbol else { continue };
        if out.contains(&(file, name.clone())) || out.len() >= MAX_REACHED_NAMES {
            continue;
        }
        let other = names(db, file);
        let links = Links { db, file, names: &other };
        let inside = other.occurrences.iter().filter(|o| o.owner.as_ref() == Some(&name) && o.role == Role::Read);
        pending.extend(inside.map(|o| links.name(o.scope, &o.name)));
        out.push((file, name));
    }
    out
}

/// The strings of a file that name a parameter of a function elsewhere, whose decorators use what the file defines.
pub(crate) fn keys_of(names: &Names, owner: &SmolStr, parameter: &SmolStr) -> Vec<Range<usize>> {
    let is_key = |kind| matches!(kind, TextKind::DictKey | TextKind::Subscript);
    let texts = names.texts.iter().filter(|t| t.owner.as_ref() == Some(owner) && is_key(t.kind) && &t.text == parameter);
    texts.map(|t| t.range.clone()).collect()
}

/// What `a.b.c` stands for where it stands in a scope. A name that nothing binds means what it means by custom: `tl`, `triton`.
pub(crate) fn symbol_of_path(db: &dyn Db, file: SourceFile, scope: ScopeId, path: &[SmolStr]) -> Option<Symbol> {
    let own = names(db, file);
    let links = Links { db, file, names: &own };
    let (first, rest) = path.split_first()?;
    let mut symbol = links.name(scope, first);
    if let Symbol::Name(_, 0, name) = &symbol
        && !own.scopes.first().is_some_and(|module| module.bound.contains(name))
        && let Some(Global::Module(path)) = globals::resolve(db, file, name.clone())
    {
        symbol = Symbol::Outside(path);
    }
    rest.iter().try_fold(symbol, |symbol, part| links.member(&symbol, part))
}

struct Links<'a> {
    db: &'a dyn Db,
    file: SourceFile,
    names: &'a Names,
}

impl Links<'_> {
    fn name(&self, scope: ScopeId, name: &SmolStr) -> Symbol {
        let scope = self.names.resolve(scope, name);
        let own = |i: &&Import| i.scope == scope && &i.name == name;
        match self.names.imports.iter().rev().find(own) {
            Some(import) => self.imported(import, MAX_IMPORT_HOPS),
            None if scope == 0 && !self.names.scopes.first().is_some_and(|module| module.bound.contains(name)) => {
                through_stars(self.db, self.file, self.names, name, MAX_IMPORT_HOPS)
                    .unwrap_or_else(|| Symbol::Name(self.file, 0, name.clone()))
            }
            None => Symbol::Name(self.file, scope, name.clone()),
        }
    }

    fn imported(&self, import: &Import, hops: usize) -> Symbol {
        imported(self.db, self.file, import, hops)
    }

    fn path(&self, scope: ScopeId, path: &[SmolStr]) -> Option<Symbol> {
        let (first, rest) = path.split_first()?;
        rest.iter().try_fold(self.name(scope, first), |symbol, part| self.member(&symbol, part))
    }

    fn member(&self, of: &Symbol, name: &SmolStr) -> Option<Symbol> {
        match of {
            Symbol::Module(file) => Some(member(self.db, *file, name, MAX_IMPORT_HOPS)),
            Symbol::Outside(path) => Some(Symbol::Outside(format!("{path}.{name}").into())),
            Symbol::Name(..) => None,
        }
    }

    /// The functions that a callee may be, each with the names of its file.
    fn callees(&self, call: &Call) -> Vec<(SourceFile, Arc<Names>, ScopeId)> {
        let Some(Symbol::Name(file, scope, name)) = self.path(call.scope, &call.callee) else { return vec![] };
        let other = names(self.db, file);
        let found: Vec<ScopeId> = other.functions(scope, &name).collect();
        found.into_iter().map(|id| (file, other.clone(), id)).collect()
    }

    /// Where the value of an expression stands that is a lambda, a function or a dictionary.
    fn held(&self, scope: ScopeId, handed: &GridArgument) -> Vec<Range<usize>> {
        match handed {
            GridArgument::Inline(range) => vec![range.clone()],
            GridArgument::Name(name) => {
                let scope = self.names.resolve(scope, name);
                let values = self.names.values.iter().filter(|h| h.scope == scope && &h.name == name).map(|h| h.value.clone());
                let functions = self.names.functions(scope, name).map(|id| self.names.scopes[id].range.clone());
                values.chain(functions).collect()
            }
        }
    }
}

fn imported(db: &dyn Db, file: SourceFile, import: &Import, hops: usize) -> Symbol {
    match (items::module(db, file, import.level, &import.module), &import.member) {
        (Some(items::Module::File(other)), None) => Symbol::Module(other),
        (Some(items::Module::File(other)), Some(name)) => member(db, other, name, hops),
        (Some(items::Module::Outside(path)), None) => Symbol::Outside(path),
        (Some(items::Module::Outside(path)), Some(name)) => Symbol::Outside(format!("{path}.{name}").into()),
        (None, name) => Symbol::Outside(format!("?.{}.{}", import.module, name.as_deref().unwrap_or_default()).into()),
    }
}

/// What `from module import *` brings under a name that the file itself does not bind; the last one counts.
fn through_stars(db: &dyn Db, file: SourceFile, own: &Names, name: &SmolStr, hops: usize) -> Option<Symbol> {
    let hops = hops.checked_sub(1)?;
    own.stars.iter().rev().find_map(|(level, module)| {
        let Some(items::Module::File(other)) = items::module(db, file, *level, module) else { return None };
        let names = names(db, other);
        if other == file || !names.exports(name) {
            return None;
        }
        if names.scopes.first().is_some_and(|module| module.bound.contains(name)) {
            return Some(member(db, other, name, hops));
        }
        through_stars(db, other, &names, name, hops)
    })
}

fn member(db: &dyn Db, file: SourceFile, name: &SmolStr, hops: usize) -> Symbol {
    let other = names(db, file);
    if other.scopes.first().is_some_and(|module| module.bound.contains(name)) {
        return match other.imports.iter().rev().find(|i| i.scope == 0 && &i.name == name) {
            Some(import) if hops > 0 => imported(db, file, import, hops - 1),
            _ => Symbol::Name(file, 0, name.clone()),
        };
    }
    if let Some(symbol) = through_stars(db, file, &other, name, hops) {
        return symbol;
    }
    match items::module(db, file, 1, name) {
        Some(items::Module::File(module)) if file.path(db).ends_with("__init__.py") => Symbol::Module(module),
        _ => Symbol::Name(file, 0, name.clone()),
    }
}

struct Texts<'a, 'n> {
    links: &'a Links<'n>,
    out: &'a mut Vec<Linked>,
}

impl Texts<'_, '_> {
    fn link(&mut self, range: &Range<usize>, text: &SmolStr, role: Role, symbol: Symbol) {
        self.out.push(Linked { range: range.clone(), text: text.clone(), role, symbols: vec![symbol] });
    }

    fn of_decorators(&mut self) {
        let (db, file, own) = (self.links.db, self.links.file, self.links.names);
        for (id, scope) in own.scopes.iter().enumerate() {
            let params: BTreeSet<&SmolStr> = scope.params.iter().map(|(name, _)| name).collect();
            if params.is_empty() || !own.texts.iter().any(|t| params.contains(&t.text)) {
                continue;
            }
            let decorated = own.occurrences.iter().any(|o| o.decorates == Some(id));
            let owners: Vec<SmolStr> = if decorated {
                reached(db, file, id).into_iter().filter(|(f, _)| *f == file).map(|(_, name)| name).collect()
            } else {
                vec![]
            };
            for text in &own.texts {
                let reached = text.owner.as_ref().is_some_and(|owner| owners.contains(owner)) && text.kind != TextKind::Other;
                if params.contains(&text.text) && (text.decorates == Some(id) || reached) {
                    self.link(&text.range, &text.text, Role::Text, Symbol::Name(file, id, text.text.clone()));
                }
            }
        }
    }

    fn of_calls(&mut self) {
        let own = self.links.names;
        for call in &own.calls {
            for (file, names, function) in self.links.callees(call) {
                let param = |name: &SmolStr| {
                    let found = names.scopes[function].params.iter().any(|(n, _)| n == name);
                    found.then(|| Symbol::Name(file, function, name.clone()))
                };
                for (name, range) in &call.keywords {
                    if let Some(symbol) = param(name) {
                        self.link(range, name, Role::Keyword, symbol);
                    }
                }
                for range in call.spreads.iter().flat_map(|handed| self.links.held(call.scope, handed)) {
                    for text in own.texts.iter().filter(|t| t.kind == TextKind::DictKey && within(&t.range, &range)) {
                        if let Some(symbol) = param(&text.text) {
                            self.link(&text.range, &text.text, Role::Text, symbol);
                        }
                    }
                    for dict in own.calls.iter().filter(|c| c.callee == ["dict"] && within(&c.range, &range)) {
                        for (name, range) in &dict.keywords {
                            if let Some(symbol) = param(name) {
                                self.link(range, name, Role::Keyword, symbol);
                            }
                        }
                    }
                }
                let Some(Grid::Of(grid)) = &call.grid else { continue };
                for range in self.links.held(call.scope, grid) {
                    for text in own.texts.iter().filter(|t| t.kind == TextKind::Subscript && within(&t.range, &range)) {
                        if let Some(symbol) = param(&text.text) {
                            self.link(&text.range, &text.text, Role::Text, symbol);
                        }
                    }
                }
            }
        }
    }

    /// `__all__ = ["scale"]`
    fn of_exports(&mut self) {
        let links = self.links;
        for text in links.names.texts.iter().filter(|t| t.owner.as_deref() == Some("__all__")) {
            self.link(&text.range, &text.text, Role::Text, links.name(0, &text.text));
        }
    }

    /// `args = { X = … }` of a launch written down.
    fn of_launch_blocks(&mut self) {
        let (db, file, own) = (self.links.db, self.links.file, self.links.names);
        for written in launch::written_names(db, file) {
            for symbol in meant(file, own, &written) {
                self.link(&written.range, &written.name, Role::Text, symbol);
            }
        }
    }
}

/// What a name in a launch that is written down stands for.
fn meant(file: SourceFile, names: &Names, written: &WrittenName) -> Vec<Symbol> {
    if written.is_kernel {
        return vec![Symbol::Name(file, 0, written.kernel.clone())];
    }
    let is_its = |id: &ScopeId| names.scopes[*id].params.iter().any(|(name, _)| *name == written.name);
    let functions = names.functions(0, &written.kernel).filter(is_its);
    functions.map(|id| Symbol::Name(file, id, written.name.clone())).collect()
}

/// The names in the `.launch.toml` beside a file, and what each stands for; ranges are bytes of that.
pub(crate) fn linked_beside(db: &dyn Db, file: SourceFile) -> Vec<(WrittenName, Vec<Symbol>)> {
    let own = names(db, file);
    let found = launch::names_beside(db, file).into_iter();
    found
        .map(|written| {
            let symbols = meant(file, &own, &written);
            (written, symbols)
        })
        .collect()
}

fn within(inner: &Range<usize>, outer: &Range<usize>) -> bool {
    outer.start <= inner.start && inner.end <= outer.end
}
