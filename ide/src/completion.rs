// Feature: Completion
//
//! What only Triton's meaning can offer: masks of the pointer's shape, identities for `other=`, the words of string-valued parameters,
//! `key=[…]` names, `Config({…})` names, launch keywords, shapes and element types. What a Python server offers as well comes only where
//! there is none.
//!
//! **Invariant:** beside a Python server nothing is offered that it would offer too.

use std::{ops::Range, path::Path};

use tritium_semantics::{
    Function, SourceFile,
    builtins::{self, Builtin, words},
    dtype::DType,
    items::{self, Annotation},
    types::{Element, TileType, Ty, same_shape, shape_text, symbolic_shape},
};
use tritium_syntax::{
    AstNode,
    SyntaxKind::*,
    ast::{self, Expr},
};

use crate::{
    Analysis,
    call_at::{CallAt, Callee, token_at},
    naming::{ScopeId, ScopeKind, Symbol, names, symbol_of_path},
    signature_help::{first_paragraph, page_of},
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CompletionKind {
    Value,
    Variable,
    Parameter,
    Function,
    Type,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Completion {
    pub label: String,
    /// Shown after the label: a type, what a word means.
    pub detail: String,
    pub kind: CompletionKind,
    /// What is put in the place of [`Completion::replace`].
    pub insert: String,
    pub replace: Range<usize>,
    /// The page of a builtin by this spelling is the documentation.
    pub page: Option<String>,
}

/// The numbers that compile.
const WARPS: &[u32] = &[1, 2, 4, 8, 16];
const STAGES: &[u32] = &[1, 2, 3, 4, 5];

/// Where the cursor stands.
struct Spot {
    file: SourceFile,
    offset: usize,
    /// The word before the cursor, or what is between the quotes around it.
    replace: Range<usize>,
    /// Inside a string: words go in without quotes of their own.
    quoted: bool,
    /// A Python server offers names, `True` and `False` here already.
    served: bool,
}

impl Spot {
    fn item(&self, label: impl Into<String>, detail: impl Into<String>, kind: CompletionKind) -> Completion {
        let label = label.into();
        Completion { insert: label.clone(), label, detail: detail.into(), kind, replace: self.replace.clone(), page: None }
    }

    /// A string: with quotes where there are none.
    fn word(&self, text: &str, detail: impl Into<String>, kind: CompletionKind) -> Completion {
        let insert = if self.quoted { text.to_owned() } else { format!("\"{text}\"") };
        Completion { insert, ..self.item(text, detail, kind) }
    }
}

impl Analysis {
    /// In the order they are offered.
    pub fn completions(&self, path: &Path, offset: usize, generic: bool) -> Vec<Completion> {
        let Some(spot) = self.spot(path, offset).filter(|_| self.options().completion) else { return Vec::new() };
        let spot = Spot { served: !generic, ..spot };
        let mut out = Vec::new();
        if let Some(at) = self.call_at(path, offset) {
            out = self.in_call(path, &spot, &at);
        }
        if out.is_empty() && generic && !spot.quoted {
            out = self.generic(path, &spot);
        }
        out
    }

    /// The documentation of an item that was offered.
    pub fn completion_documentation(&self, path: Option<&Path>, page: &str) -> Option<String> {
        let text = first_paragraph(page_of(page)?);
        let note = path.and_then(|path| self.availability_note(path, page.strip_prefix("tl.")?));
        Some(note.map_or(text.clone(), |note| format!("{note}\n\n{text}")))
    }

    fn spot(&self, path: &Path, offset: usize) -> Option<Spot> {
        let file = self.file(path)?;
        let text = file.text(self.db());
        let before = text.get(..offset)?;
        let token = token_at(self.db(), file, offset);
        if let Some((base, token)) = &token {
            let range = items::in_file(*base, token.text_range());
            if token.kind() == COMMENT && range.end >= offset {
                return None;
            }
            let opens = token.text().find(['"', '\'']).map(|at| range.start + at + 1);
            if token.kind() == STRING
                && let Some(start) = opens.filter(|&start| start <= offset)
            {
                let rest = &text[offset..range.end];
                let end = offset + rest.find(|c: char| !(c == '_' || c == '.' || c.is_alphanumeric())).unwrap_or(rest.len());
                return Some(Spot { file, offset, replace: start..end, quoted: true, served: false });
            }
        }
        // A quote that nothing closes makes no string token on some lines.
        let word = before
            .rfind(|c: char| !(c == '_' || c.is_alphanumeric()))
            .map_or(0, |at| at + before[at..].chars().next().map_or(1, char::len_utf8));
        let quoted = before[..word].ends_with(['"', '\'']) && token.is_some_and(|(_, t)| t.kind() == ERROR_TOKEN);
        Some(Spot { file, offset, replace: word..offset, quoted, served: false })
    }

    fn in_call(&self, path: &Path, spot: &Spot, at: &CallAt) -> Vec<Completion> {
        match &at.callee {
            Callee::Builtin { builtin, method } => {
                let shift = usize::from(*method);
                let name = match &at.keyword {
                    Some(keyword) => keyword.clone(),
                    None => match builtin.signature().params.get(at.position + shift) {
                        // A new positional argument may be anything: only what is certain is offered.
                        Some(param) if spot.quoted || matches!(param.annotation, "const shape" | "const dtype") => {
                            param.name.to_owned()
                        }
                        _ => return Vec::new(),
                    },
                };
                self.value_of(path, spot, at, (*builtin, *method), &name)
            }
            Callee::Function { file, scope, launch: true } => self.launch_keywords(spot, at, *file, *scope),
            Callee::Config => self.in_config(path, spot, at),
            Callee::Autotune => self.in_autotune(spot, at),
            Callee::Library(_) | Callee::Function { .. } => Vec::new(),
        }
    }

    /// A value for a builtin's parameter.
    fn value_of(&self, path: &Path, spot: &Spot, at: &CallAt, callee: (Builtin, bool), name: &str) -> Vec<Completion> {
        let (builtin, _) = callee;
        let listed = words(builtin, name);
        if !listed.is_empty() {
            return listed.iter().map(|w| spot.word(w.value, w.means, CompletionKind::Value)).collect();
        }
        if spot.quoted {
            return Vec::new();
        }
        let Some(param) = builtin.signature().params.iter().find(|p| p.name == name) else { return Vec::new() };
        match param.annotation {
            "const dtype" => {
                let spelled = |n: &'static str| {
                    DType::from_name(n).map(|d| spot.item(format!("tl.{n}"), d.to_string(), CompletionKind::Type))
                };
                builtins::dtype_names().filter_map(spelled).collect()
            }
            "const shape" => self.shapes(path, spot),
            "const bool" if spot.served => Vec::new(),
            "const bool" => ["True", "False"].map(|v| spot.item(v, "", CompletionKind::Value)).into(),
            _ if name == "mask" => self.masks(path, spot, at, callee),
            _ if name == "other" && builtin == Builtin::Load => self.identities(path, spot, at),
            _ => Vec::new(),
        }
    }

    /// Masks in scope: those of the pointer's shape first. Beside a Python server, which offers their names, only what a name lacks: the
    /// mask of a load with what masked-off elements should be.
    fn masks(&self, path: &Path, spot: &Spot, at: &CallAt, (builtin, method): (Builtin, bool)) -> Vec<Completion> {
        let mut other = String::new();
        if spot.served {
            if builtin != Builtin::Load || at.argument("other", 2).is_some() {
                return Vec::new();
            }
            let Some(identity) = self.identities(path, spot, at).into_iter().next() else { return Vec::new() };
            other = format!(", other={}", identity.label);
        }
        let pointer = if method {
            match at.call.callee() {
                Some(Expr::AttributeExpr(attribute)) => attribute.receiver(),
                _ => None,
            }
        } else {
            at.argument("pointer", 0)
        };
        let shape = pointer.and_then(|expr| self.tile_of(path, at.range(expr.syntax()))).map(|ty| ty.shape);
        let mut out: Vec<(bool, Completion)> = Vec::new();
        for (name, ty) in self.tiles_in_scope(path, spot.offset) {
            if ty.elem != Element::Scalar(DType::I1) || ty.is_scalar() {
                continue;
            }
            let fits = shape.as_ref().is_none_or(|shape| same_shape(shape, &ty.shape));
            out.push((!fits, spot.item(name + &other, ty.to_string(), CompletionKind::Variable)));
        }
        out.sort_by_key(|(misfit, _)| *misfit);
        out.into_iter().map(|(_, item)| item).collect()
    }

    /// What masked-off elements should be: what changes nothing in the reduction that the value goes to.
    fn identities(&self, path: &Path, spot: &Spot, at: &CallAt) -> Vec<Completion> {
        let pointer = at.argument("pointer", 0).and_then(|expr| self.tile_of(path, at.range(expr.syntax())));
        let is_float = pointer.is_none_or(|ty| match ty.elem {
            Element::Ptr { pointee, .. } => pointee.is_float(),
            Element::Scalar(dtype) => dtype.is_float(),
        });
        let zero = if is_float { "0.0" } else { "0" };
        let mut out = vec![(zero, "of a sum or a product of matrices")];
        if is_float {
            out.push(("-float(\"inf\")", "of a maximum"));
            out.push(("float(\"inf\")", "of a minimum"));
        }
        out.push((if is_float { "1.0" } else { "1" }, "of a product"));
        let wanted = self.reduced_by(path, at);
        out.sort_by_key(|(_, of)| wanted.is_none_or(|wanted| *of != wanted));
        out.into_iter().map(|(value, of)| spot.item(value, format!("identity {of}"), CompletionKind::Value)).collect()
    }

    /// The reduction that the value of an assignment goes to, in the words of [`Analysis::identities`].
    fn reduced_by(&self, path: &Path, at: &CallAt) -> Option<&'static str> {
        let assign = at.call.syntax().ancestors().find_map(ast::AssignStmt::cast)?;
        let Some(Expr::NameExpr(name)) = assign.targets().next() else { return None };
        let (base, function) = (at.base, assign.syntax().ancestors().find_map(ast::FunctionDef::cast)?);
        let calls = function.syntax().descendants().filter_map(ast::CallExpr::cast);
        let uses = |call: &ast::CallExpr| matches!(call.args().next().and_then(|a| a.value()), Some(Expr::NameExpr(used)) if used.text() == name.text());
        calls.filter(uses).find_map(|call| {
            let start = items::in_file(base, call.arg_list()?.range()).start + 1;
            let Callee::Builtin { builtin, .. } = self.call_at(path, start)?.callee else { return None };
            match builtin.row().fold {
                Some(builtins::Fold::Max | builtins::Fold::ArgMax) => Some("of a maximum"),
                Some(builtins::Fold::Min | builtins::Fold::ArgMin) => Some("of a minimum"),
                Some(builtins::Fold::Product) => Some("of a product"),
                Some(builtins::Fold::Sum) => Some("of a sum or a product of matrices"),
                Some(builtins::Fold::Xor | builtins::Fold::Or) | None => None,
            }
        })
    }

    /// Shapes of the tiles in scope, in the user's names.
    fn shapes(&self, path: &Path, spot: &Spot) -> Vec<Completion> {
        let mut out: Vec<Completion> = Vec::new();
        for (_, ty) in self.tiles_in_scope(path, spot.offset) {
            if ty.is_scalar() {
                continue;
            }
            let label = symbolic_shape(&ty.shape).unwrap_or_else(|| shape_text(&ty.shape));
            if out.iter().all(|c| c.label != label) {
                out.push(spot.item(label, shape_text(&ty.shape), CompletionKind::Value));
            }
        }
        out.sort_by(|a, b| (b.label.matches(',').count(), &a.label).cmp(&(a.label.matches(',').count(), &b.label)));
        out
    }

    /// Tiles and scalars bound before an offset in the function around it, the latest first.
    fn tiles_in_scope(&self, path: &Path, offset: usize) -> Vec<(String, TileType)> {
        let kernels = self.kernels(path);
        let Some((function, kernel)) = self.functions_at(path, offset).find_map(|f| Some((f, self.seen_by(f, &kernels)?))) else {
            return Vec::new();
        };
        let mut out: Vec<(usize, String, TileType)> = Vec::new();
        for (place, name, ty) in &self.elaborated(kernel.active.instance).bindings {
            let Ty::Tile(ty) = ty else { continue };
            if place.function != function {
                continue;
            }
            let Some(range) = self.range(*place).filter(|range| range.end < offset) else { continue };
            match out.iter_mut().find(|(_, n, _)| n == name) {
                Some(known) if known.0 < range.start => *known = (range.start, name.to_string(), ty.clone()),
                Some(_) => {}
                None => out.push((range.start, name.to_string(), ty.clone())),
            }
        }
        out.sort_by_key(|(at, ..)| std::cmp::Reverse(*at));
        out.into_iter().map(|(_, name, ty)| (name, ty)).collect()
    }

    /// The type of the expression that is exactly there.
    fn tile_of(&self, path: &Path, range: Range<usize>) -> Option<TileType> {
        let typed = self.typed_at(path, range.end)?;
        match typed.ty {
            Ty::Tile(ty) if typed.range == range => Some(ty),
            _ => None,
        }
    }

    /// `BLOCK=` of `kernel[grid](…)`, and what Triton itself takes there.
    fn launch_keywords(&self, spot: &Spot, at: &CallAt, file: SourceFile, scope: ScopeId) -> Vec<Completion> {
        match at.keyword.as_deref() {
            Some("num_warps") => return numbers(spot, WARPS, "warps per program"),
            Some("num_stages") => return numbers(spot, STAGES, "stages of the pipeline"),
            Some(_) => return Vec::new(),
            None => {}
        }
        if spot.quoted {
            return Vec::new();
        }
        let given = at.given();
        let positional = at
            .call
            .args()
            .filter(|a| {
                a.name().is_none()
                    && a.range().end() < tritium_syntax::TextSize::from((spot.replace.start - at.base as usize) as u32)
            })
            .count();
        let names = names(self.db(), file);
        let params = names.scopes[scope].params.iter().skip(positional).map(|(name, _)| name.to_string());
        let tuned = self.tuned_names(file, scope);
        let params = params.filter(|name| !given.contains(name) && !tuned.contains(name));
        let mut out: Vec<Completion> =
            params.map(|name| spot.item(format!("{name}="), "parameter", CompletionKind::Parameter)).collect();
        for option in ["num_warps", "num_stages"] {
            if !given.iter().any(|g| g == option) && !tuned.iter().any(|t| t == option) {
                out.push(spot.item(format!("{option}="), "launch option", CompletionKind::Parameter));
            }
        }
        out
    }

    /// What the configurations of a kernel give, so that a launch must not.
    fn tuned_names(&self, file: SourceFile, scope: ScopeId) -> Vec<String> {
        let Some(function) = self.function_of_scope(file, scope) else { return Vec::new() };
        let mut out = Vec::new();
        for config in tritium_semantics::host::configs(self.db(), function) {
            out.extend(config.meta.0.iter().map(|(name, _)| name.to_string()));
            out.extend(config.options.num_warps.map(|_| "num_warps".to_owned()));
            out.extend(config.options.num_stages.map(|_| "num_stages".to_owned()));
        }
        out
    }

    fn function_of_scope(&self, file: SourceFile, scope: ScopeId) -> Option<Function> {
        let names = names(self.db(), file);
        let (_, range) = names.scopes.get(scope)?.name.as_ref()?;
        let functions = items::items(self.db(), file).functions.iter().map(|f| f.function);
        functions.into_iter().find(|f| self.name_range(*f).as_ref() == Some(range))
    }

    /// Names of compile-time parameters as keys, and the options of a configuration.
    fn in_config(&self, path: &Path, spot: &Spot, at: &CallAt) -> Vec<Completion> {
        match at.keyword.as_deref() {
            Some("num_warps") => return numbers(spot, WARPS, "warps per program"),
            Some("num_stages") => return numbers(spot, STAGES, "stages of the pipeline"),
            _ => {}
        }
        let written = at.argument("kwargs", 0);
        let keys: Vec<(Range<usize>, String)> = match &written {
            Some(Expr::DictExpr(dict)) => dict
                .dict_items()
                .filter_map(|item| match item.key()? {
                    Expr::StringExpr(key) => Some((at.range(key.syntax()), key.text_value()?)),
                    _ => None,
                })
                .collect(),
            // A dictionary whose first key has no value yet.
            Some(Expr::SetExpr(_)) => Vec::new(),
            _ => return Vec::new(),
        };
        let Some(around) = written.map(|one| at.range(one.syntax())) else { return Vec::new() };
        if !(around.start < spot.offset && spot.offset <= around.end) {
            return Vec::new();
        }
        // After a colon a value is written, not a key.
        let text = self.text(path).unwrap_or_default();
        let before = text[..spot.replace.start].trim_end_matches(['"', '\'']).trim_end();
        if !before.ends_with(['{', ',']) {
            return Vec::new();
        }
        let given =
            |name: &str| keys.iter().any(|(range, key)| key == name && !(range.start <= spot.offset && spot.offset <= range.end));
        let mut out = Vec::new();
        for function in self.tuned_functions(path, at) {
            let Some(item) = items::items(self.db(), spot.file).function(function) else { continue };
            for param in item.params.iter().filter(|p| p.annotation == Annotation::Constexpr) {
                if !given(&param.name) && out.iter().all(|c: &Completion| c.label != param.name) {
                    let detail = format!("constexpr of {}", function.name(self.db()));
                    out.push(spot.word(&param.name, detail, CompletionKind::Parameter));
                }
            }
        }
        out
    }

    /// The kernel that a decorator is on; else every tuned kernel of the file, since lists of configurations are made apart from kernels.
    fn tuned_functions(&self, path: &Path, at: &CallAt) -> Vec<Function> {
        let Some(file) = self.file(path) else { return Vec::new() };
        let functions = &items::items(self.db(), file).functions;
        let decorated = at.call.syntax().ancestors().find(|n| n.kind() == DECORATOR).and_then(|d| d.parent());
        if let Some(name) = decorated.and_then(ast::FunctionDef::cast).and_then(|def| def.name()) {
            let range = at.range(name.syntax());
            let own = functions.iter().map(|f| f.function).filter(|f| self.name_range(*f).as_ref() == Some(&range));
            return own.collect();
        }
        functions.iter().filter(|f| f.is_tuned).map(|f| f.function).collect()
    }

    /// Parameter names in `key=[…]`, `reset_to_zero=[…]`, `restore_value=[…]`.
    fn in_autotune(&self, spot: &Spot, at: &CallAt) -> Vec<Completion> {
        let Some(keyword) = at.keyword.as_deref() else { return Vec::new() };
        let path = spot.file.path(self.db()).clone();
        let Some(list) = at.call.keyword(keyword) else { return Vec::new() };
        let around = at.range(list.syntax());
        if !matches!(list, Expr::ListExpr(_)) || spot.offset <= around.start || around.end < spot.offset {
            return Vec::new();
        }
        let given: Vec<String> = list
            .syntax()
            .children()
            .filter_map(ast::StringExpr::cast)
            .filter(|s| {
                let range = at.range(s.syntax());
                !(range.start <= spot.offset && spot.offset <= range.end)
            })
            .filter_map(|s| s.text_value())
            .collect();
        let mut out = Vec::new();
        for function in self.tuned_functions(&path, at) {
            let Some(item) = items::items(self.db(), spot.file).function(function) else { continue };
            let types = self.kernel(function).map(|k| k.active.instance.arguments(self.db()).clone()).unwrap_or_default();
            for (i, param) in item.params.iter().enumerate() {
                let ty = types.get(i).map(ToString::to_string).unwrap_or_default();
                let fits = match keyword {
                    "key" => param.annotation != Annotation::Constexpr && !ty.starts_with('*'),
                    "reset_to_zero" | "restore_value" => ty.starts_with('*') || ty.is_empty() || ty == "unknown",
                    _ => false,
                };
                if fits && !given.iter().any(|g| param.name == g.as_str()) {
                    out.push(spot.word(&param.name, ty, CompletionKind::Parameter));
                }
            }
        }
        out
    }

    /// What any Python server offers: members of `tl`, names in scope.
    fn generic(&self, path: &Path, spot: &Spot) -> Vec<Completion> {
        let db = self.db();
        let text = spot.file.text(db);
        let before = &text[..spot.replace.start];
        let own = names(db, spot.file);
        let mut scope = own.scope_at(spot.offset);
        if let Some(receiver) = before.strip_suffix('.') {
            let dotted = receiver.rsplit(|c: char| !(c == '_' || c == '.' || c.is_alphanumeric())).next().unwrap_or_default();
            let parts: Vec<smol_str::SmolStr> = dotted.split('.').map(Into::into).collect();
            let meant = symbol_of_path(db, spot.file, scope, &parts);
            return match meant {
                Some(Symbol::Outside(path)) if path == "triton.language" => self.language(spot),
                Some(Symbol::Outside(path)) if path.ends_with(".libdevice") => {
                    builtins::Library::all().map(|l| spot.item(l.row().name, l.signature(), CompletionKind::Function)).collect()
                }
                Some(Symbol::Module(file)) => names(db, file).scopes[0]
                    .bound
                    .iter()
                    .map(|name| spot.item(name.as_str(), "", CompletionKind::Variable))
                    .collect(),
                Some(_) => Vec::new(),
                None => {
                    let methods = Builtin::ALL.iter().map(|b| b.row()).filter(|row| row.method);
                    methods.map(|row| spot.item(row.name, row.signature, CompletionKind::Function)).collect()
                }
            };
        }
        let mut out: Vec<Completion> = Vec::new();
        let tiles = self.tiles_in_scope(path, spot.offset);
        loop {
            let here = &own.scopes[scope];
            for name in &here.bound {
                if out.iter().any(|c| c.label == name.as_str()) {
                    continue;
                }
                let ty = tiles.iter().find(|(n, _)| n == name).map(|(_, ty)| ty.to_string()).unwrap_or_default();
                out.push(spot.item(name.as_str(), ty, CompletionKind::Variable));
            }
            if scope == 0 {
                break;
            }
            scope = here.parent;
            while own.scopes[scope].kind == ScopeKind::Class {
                scope = own.scopes[scope].parent;
            }
        }
        out
    }

    fn language(&self, spot: &Spot) -> Vec<Completion> {
        let mut out: Vec<Completion> = Vec::new();
        for name in builtins::language_names() {
            let row = Builtin::ALL.iter().map(|b| b.row()).find(|row| row.name == name);
            let mut item = match row {
                Some(row) => spot.item(name, row.signature, CompletionKind::Function),
                None => spot.item(name, "", CompletionKind::Type),
            };
            item.page = row.map(|_| format!("tl.{name}"));
            if out.iter().all(|c| c.label != item.label) {
                out.push(item);
            }
        }
        out
    }
}

fn numbers(spot: &Spot, all: &[u32], what: &str) -> Vec<Completion> {
    all.iter().map(|n| spot.item(n.to_string(), what, CompletionKind::Value)).collect()
}
