// Feature: Names
//
//! Python's scopes: which places of a file name the same thing.
//!
//! One walk of the tree collects scopes, names, attributes, keywords, and strings that may name a parameter; [`links`] says what each
//! stands for across files. **Invariant:** what a name is bound to follows Python's rules alone: a function's names are its parameters and
//! what it assigns, a class's are seen by its own statements only, a comprehension has a scope of its own.

mod links;
mod walk;

use std::{collections::BTreeSet, ops::Range, sync::Arc};

use smol_str::SmolStr;
use tritium_semantics::{Db, SourceFile};

pub(crate) use links::{Linked, Symbol, keys_of, linked, linked_beside, reached, symbol_of_path};
pub(crate) use walk::dotted;

/// Index of a [`Scope`]; 0 is the module.
pub(crate) type ScopeId = usize;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ScopeKind {
    Module,
    Function,
    Class,
    Lambda,
    Comprehension,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Scope {
    pub(crate) kind: ScopeKind,
    pub(crate) parent: ScopeId,
    /// The whole `def`, decorators included.
    pub(crate) range: Range<usize>,
    /// A function's or class's name, and where it stands.
    pub(crate) name: Option<(SmolStr, Range<usize>)>,
    pub(crate) params: Vec<(SmolStr, Range<usize>)>,
    pub(crate) bound: BTreeSet<SmolStr>,
    pub(crate) globals: BTreeSet<SmolStr>,
    pub(crate) nonlocals: BTreeSet<SmolStr>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Role {
    Read,
    Write,
    /// A parameter, a `def`, a class.
    Declaration,
    Import,
    /// `name=` of a call.
    Keyword,
    /// A string that names a parameter.
    Text,
}

/// A name where it stands.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Occurrence {
    pub(crate) range: Range<usize>,
    pub(crate) name: SmolStr,
    /// Where Python begins to look for it.
    pub(crate) scope: ScopeId,
    pub(crate) role: Role,
    /// The function whose decorator it stands in.
    pub(crate) decorates: Option<ScopeId>,
    /// The module's name that the statement around it binds.
    pub(crate) owner: Option<SmolStr>,
}

/// `a.b`: `path` is `[a]`, the occurrence is `b`; an empty path where the receiver is not a row of names.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Attribute {
    pub(crate) path: Vec<SmolStr>,
    pub(crate) name: SmolStr,
    pub(crate) range: Range<usize>,
    pub(crate) scope: ScopeId,
}

/// A call, as far as keywords need it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Call {
    /// `kernel` of `kernel[grid](…)`, `a.helper` of `a.helper(…)`.
    pub(crate) callee: Vec<SmolStr>,
    pub(crate) callee_range: Range<usize>,
    pub(crate) scope: ScopeId,
    pub(crate) range: Range<usize>,
    /// `kernel[grid](…)`, `kernel.warmup(…, grid=grid)`, `kernel.run(…)`.
    pub(crate) grid: Option<Grid>,
    pub(crate) keywords: Vec<(SmolStr, Range<usize>)>,
    /// What stands behind `**`.
    pub(crate) spreads: Vec<GridArgument>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Grid {
    /// The subscript, or what `grid=` gives.
    Of(GridArgument),
    /// Not seen.
    Unknown,
}

/// An expression by its place, or by the name that holds it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum GridArgument {
    Inline(Range<usize>),
    Name(SmolStr),
}

/// How a string may name a parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TextKind {
    /// `{"BLOCK": …}`
    DictKey,
    /// `args["BLOCK"]`
    Subscript,
    Other,
}

/// A plain string; its range is between the quotes.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Text {
    pub(crate) range: Range<usize>,
    pub(crate) text: SmolStr,
    pub(crate) kind: TextKind,
    pub(crate) decorates: Option<ScopeId>,
    pub(crate) owner: Option<SmolStr>,
}

/// What an import binds, wherever it stands.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Import {
    pub(crate) scope: ScopeId,
    /// The name bound.
    pub(crate) name: SmolStr,
    pub(crate) level: u32,
    pub(crate) module: SmolStr,
    /// `None`: the module itself.
    pub(crate) member: Option<SmolStr>,
    /// Where the member is named.
    pub(crate) member_range: Option<Range<usize>>,
}

/// `name = value` where the value may matter elsewhere: a lambda, a dictionary.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct BoundValue {
    pub(crate) scope: ScopeId,
    pub(crate) name: SmolStr,
    pub(crate) value: Range<usize>,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Names {
    pub(crate) scopes: Vec<Scope>,
    pub(crate) occurrences: Vec<Occurrence>,
    pub(crate) attributes: Vec<Attribute>,
    pub(crate) calls: Vec<Call>,
    pub(crate) texts: Vec<Text>,
    pub(crate) imports: Vec<Import>,
    /// `from module import *`, as level and module.
    pub(crate) stars: Vec<(u32, SmolStr)>,
    pub(crate) values: Vec<BoundValue>,
}

/// The names of a file.
#[salsa::tracked(returns(clone), lru = 64)]
pub(crate) fn names(db: &dyn Db, file: SourceFile) -> Arc<Names> {
    Arc::new(walk::walk(db, file))
}

impl Names {
    /// The scope that a name means when looked for from `scope`; the module where nothing binds it.
    pub(crate) fn resolve(&self, scope: ScopeId, name: &str) -> ScopeId {
        let mut at = scope;
        loop {
            let Some(here) = self.scopes.get(at) else { return 0 };
            if here.globals.contains(name) {
                return 0;
            }
            let is_seen = here.kind != ScopeKind::Class || at == scope;
            if is_seen && here.bound.contains(name) && !here.nonlocals.contains(name) {
                return at;
            }
            if at == 0 {
                return 0;
            }
            at = here.parent;
        }
    }

    /// Whether `from module import *` brings a name that the module binds.
    fn exports(&self, name: &str) -> bool {
        if !self.scopes.first().is_some_and(|module| module.bound.contains("__all__")) {
            return !name.starts_with('_');
        }
        let mut listed = self.texts.iter().filter(|t| t.owner.as_deref() == Some("__all__")).peekable();
        // A list that is worked out may have any name.
        listed.peek().is_none() || listed.any(|t| t.text == name)
    }

    /// The functions that a name of a scope is bound to by `def`.
    pub(crate) fn functions(&self, scope: ScopeId, name: &str) -> impl Iterator<Item = ScopeId> {
        let is_it = move |s: &Scope| {
            s.kind == ScopeKind::Function && s.parent == scope && s.name.as_ref().is_some_and(|(n, _)| n == name)
        };
        self.scopes.iter().enumerate().filter(move |(_, s)| is_it(s)).map(|(id, _)| id)
    }

    /// The innermost scope around an offset.
    pub(crate) fn scope_at(&self, offset: usize) -> ScopeId {
        let around = self.scopes.iter().enumerate().filter(|(_, s)| s.range.start <= offset && offset <= s.range.end);
        around.min_by_key(|(id, s)| (s.range.len(), std::cmp::Reverse(*id))).map_or(0, |(id, _)| id)
    }
}
