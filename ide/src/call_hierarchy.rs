// Feature: Call hierarchy
//
//! Kernel ← launch ← host function, and helper ← kernel: a launch is a step of its own, since one function may launch a kernel in several
//! ways.

use std::{
    ops::Range,
    path::{Path, PathBuf},
};

use tritium_semantics::{SourceFile, items};

use crate::{
    Analysis, SymbolKind,
    naming::{self, Call, Names, ScopeId, ScopeKind, Symbol, names},
};

/// A function, a launch, or a file's own statements.
#[derive(Debug, Clone, PartialEq)]
pub struct Caller {
    pub path: PathBuf,
    pub name: String,
    pub detail: String,
    pub kind: SymbolKind,
    pub range: Range<usize>,
    pub selection: Range<usize>,
}

/// One step of the hierarchy, and where in the caller it is.
#[derive(Debug, Clone, PartialEq)]
pub struct CallStep {
    pub to: Caller,
    pub ranges: Vec<Range<usize>>,
}

impl Analysis {
    /// What is named at an offset, if it is a function.
    pub fn call_hierarchy(&self, path: &Path, offset: usize) -> Vec<Caller> {
        let Some(place) = self.linked_at(path, offset) else { return Vec::new() };
        self.functions_of(&place.symbols).into_iter().map(|(file, scope)| self.function_item(file, scope)).collect()
    }

    /// Who calls or launches an item that was handed out; `offset` is the start of its selection.
    pub fn incoming_calls(&self, path: &Path, offset: usize, kind: SymbolKind) -> Vec<CallStep> {
        let Some(file) = self.file(path) else { return Vec::new() };
        let own = names(self.db(), file);
        if kind == SymbolKind::Launch {
            let Some(call) = own.calls.iter().find(|c| c.callee_range.start == offset && c.grid.is_some()) else {
                return Vec::new();
            };
            let to = self.function_item(file, function_around(&own, call.scope));
            return vec![CallStep { to, ranges: vec![call.callee_range.clone()] }];
        }
        let Some((name, wanted)) = self.function_named_at(&own, offset) else { return Vec::new() };
        let mut out: Vec<CallStep> = Vec::new();
        for other in self.files_with(&name, path) {
            let names = names(self.db(), other);
            for call in &names.calls {
                if !self.callees(other, call).contains(&(file, wanted)) {
                    continue;
                }
                if call.grid.is_some() {
                    out.push(CallStep { to: self.launch_item(other, &names, call), ranges: vec![call.callee_range.clone()] });
                    continue;
                }
                let to = self.function_item(other, function_around(&names, call.scope));
                match out.iter_mut().find(|step| step.to == to) {
                    Some(step) => step.ranges.push(call.callee_range.clone()),
                    None => out.push(CallStep { to, ranges: vec![call.callee_range.clone()] }),
                }
            }
        }
        out
    }

    /// What an item calls or launches.
    pub fn outgoing_calls(&self, path: &Path, offset: usize, kind: SymbolKind) -> Vec<CallStep> {
        let Some(file) = self.file(path) else { return Vec::new() };
        let own = names(self.db(), file);
        let mut out: Vec<CallStep> = Vec::new();
        if kind == SymbolKind::Launch {
            let Some(call) = own.calls.iter().find(|c| c.callee_range.start == offset && c.grid.is_some()) else {
                return Vec::new();
            };
            for (file, scope) in self.callees(file, call) {
                out.push(CallStep { to: self.function_item(file, scope), ranges: vec![call.callee_range.clone()] });
            }
            return out;
        }
        let Some((_, from)) = self.function_named_at(&own, offset) else { return Vec::new() };
        for call in own.calls.iter().filter(|c| function_around(&own, c.scope) == from) {
            if call.grid.is_some() {
                out.push(CallStep { to: self.launch_item(file, &own, call), ranges: vec![call.callee_range.clone()] });
                continue;
            }
            for (file, scope) in self.callees(file, call) {
                let to = self.function_item(file, scope);
                match out.iter_mut().find(|step| step.to == to) {
                    Some(step) => step.ranges.push(call.callee_range.clone()),
                    None => out.push(CallStep { to, ranges: vec![call.callee_range.clone()] }),
                }
            }
        }
        out
    }

    fn function_named_at(&self, names: &Names, offset: usize) -> Option<(String, ScopeId)> {
        names.scopes.iter().enumerate().find_map(|(id, scope)| {
            let (name, range) = scope.name.as_ref()?;
            (range.start == offset && scope.kind == ScopeKind::Function).then(|| (name.to_string(), id))
        })
    }

    fn callees(&self, file: SourceFile, call: &Call) -> Vec<(SourceFile, ScopeId)> {
        let linked = naming::linked(self.db(), file);
        // The last part of `a.helper` stands at the end of the callee.
        let at = linked.iter().find(|l| l.range.end == call.callee_range.end && call.callee_range.start <= l.range.start);
        at.map(|l| self.functions_of(&l.symbols)).unwrap_or_default()
    }

    fn functions_of(&self, symbols: &[Symbol]) -> Vec<(SourceFile, ScopeId)> {
        let mut out = Vec::new();
        for symbol in symbols {
            if let Symbol::Name(file, scope, name) = symbol {
                out.extend(names(self.db(), *file).functions(*scope, name).map(|id| (*file, id)));
            }
        }
        out
    }

    fn function_item(&self, file: SourceFile, id: ScopeId) -> Caller {
        let db = self.db();
        let names = names(db, file);
        let scope = &names.scopes[id];
        let path = file.path(db).clone();
        let file_name = path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
        let Some((name, selection)) = &scope.name else {
            return Caller {
                path,
                name: file_name,
                detail: String::new(),
                kind: SymbolKind::Function,
                range: scope.range.clone(),
                selection: 0..0,
            };
        };
        let made = items::items(db, file).functions.iter().find(|f| self.name_range(f.function).as_ref() == Some(selection));
        let kind = match made {
            Some(f) if items::kernels(db, file).contains(&f.function) => SymbolKind::Kernel,
            Some(_) => SymbolKind::Helper,
            None => SymbolKind::Function,
        };
        let (range, selection) = (scope.range.clone(), selection.clone());
        Caller { path, name: name.to_string(), detail: file_name, kind, range, selection }
    }

    fn launch_item(&self, file: SourceFile, names: &Names, call: &Call) -> Caller {
        let around = &names.scopes[function_around(names, call.scope)];
        let holder = around.name.as_ref().map_or_else(|| "the module".to_owned(), |(name, _)| format!("`{name}`"));
        Caller {
            path: file.path(self.db()).clone(),
            name: format!("{}[…]", call.callee.join(".")),
            detail: format!("launch in {holder}"),
            kind: SymbolKind::Launch,
            range: call.range.clone(),
            selection: call.callee_range.clone(),
        }
    }
}

/// The `def` around a scope, or the module.
fn function_around(names: &Names, mut id: ScopeId) -> ScopeId {
    while id != 0 && names.scopes[id].kind != ScopeKind::Function {
        id = names.scopes[id].parent;
    }
    id
}
