//! The walk of the tree that collects names.
//!
//! **Invariant:** every identifier token of the file is met once; no tree, however broken, stops the walk.

use std::{collections::BTreeSet, ops::Range};

use smol_str::SmolStr;
use tritium_semantics::{Db, SourceFile, items};
use tritium_syntax::{
    AstNode,
    SyntaxKind::*,
    SyntaxNode, SyntaxToken,
    ast::{self, Expr},
};

use super::{
    Attribute, BoundValue, Call, Grid, GridArgument, Import, Names, Occurrence, Role, Scope, ScopeId, ScopeKind, Text, TextKind,
};

pub(super) fn walk(db: &dyn Db, file: SourceFile) -> Names {
    let mut walker = Walker { out: Names::default(), base: 0, scope: 0, decorates: None, owner: None };
    walker.open(ScopeKind::Module, 0..file.text(db).len());
    walker.scope = 0;
    for (start, chunk) in items::chunks(db, file) {
        db.unwind_if_revision_cancelled();
        walker.base = *start as usize;
        walker.children(&items::chunk_tree(db, *chunk).syntax());
    }
    walker.out
}

struct Walker {
    out: Names,
    /// Where the chunk begins in the file.
    base: usize,
    scope: ScopeId,
    decorates: Option<ScopeId>,
    owner: Option<SmolStr>,
}

impl Walker {
    fn range(&self, node: &SyntaxNode) -> Range<usize> {
        items::in_file(self.base as u32, node.text_range())
    }

    fn token_range(&self, token: &SyntaxToken) -> Range<usize> {
        items::in_file(self.base as u32, token.text_range())
    }

    fn open(&mut self, kind: ScopeKind, range: Range<usize>) -> ScopeId {
        let none = BTreeSet::new;
        self.out.scopes.push(Scope {
            kind,
            parent: self.scope,
            range,
            name: None,
            params: vec![],
            bound: none(),
            globals: none(),
            nonlocals: none(),
        });
        self.out.scopes.len() - 1
    }

    fn inside(&mut self, scope: ScopeId, walk: impl FnOnce(&mut Self)) {
        let before = std::mem::replace(&mut self.scope, scope);
        walk(self);
        self.scope = before;
    }

    fn bind(&mut self, scope: ScopeId, name: &str) {
        let here = &mut self.out.scopes[scope];
        if !here.globals.contains(name) {
            here.bound.insert(name.into());
        } else {
            self.out.scopes[0].bound.insert(name.into());
        }
    }

    fn name(&mut self, name: &ast::Name, role: Role) {
        let Some(token) = name.ident_token() else { return };
        let (range, text) = (self.token_range(&token), SmolStr::from(token.text()));
        if matches!(role, Role::Write | Role::Declaration | Role::Import) {
            self.bind(self.scope, &text);
        }
        self.out.occurrences.push(Occurrence {
            range,
            name: text,
            scope: self.scope,
            role,
            decorates: self.decorates,
            owner: self.owner.clone(),
        });
    }

    fn children(&mut self, node: &SyntaxNode) {
        for child in node.children() {
            self.node(&child, false);
        }
    }

    fn expr(&mut self, expr: Option<Expr>, store: bool) {
        if let Some(expr) = expr {
            self.node(expr.syntax(), store);
        }
    }

    /// `store`: what is named here is assigned to.
    fn node(&mut self, node: &SyntaxNode, store: bool) {
        match node.kind() {
            FUNCTION_DEF => self.function(node),
            CLASS_DEF => self.class(node),
            LAMBDA_EXPR => self.lambda(node),
            LIST_COMP | SET_COMP | DICT_COMP | GENERATOR_EXPR => self.comprehension(node),
            NAME_EXPR => {
                if let Some(name) = ast::NameExpr::cast(node.clone()).and_then(|n| n.name()) {
                    self.name(&name, if store { Role::Write } else { Role::Read });
                }
            }
            TUPLE_EXPR | LIST_EXPR | PAREN_EXPR | STARRED_EXPR => node.children().for_each(|c| self.node(&c, store)),
            NAMED_EXPR => self.named(node),
            ATTRIBUTE_EXPR => self.attribute(node),
            CALL_EXPR => self.call(node),
            STRING_EXPR => self.string(node),
            ASSIGN_STMT => self.assign(node),
            AUG_ASSIGN_STMT => {
                if let Some(stmt) = ast::AugAssignStmt::cast(node.clone()) {
                    self.expr(stmt.target(), true);
                    self.expr(stmt.value(), false);
                }
            }
            ANN_ASSIGN_STMT => {
                if let Some(stmt) = ast::AnnAssignStmt::cast(node.clone()) {
                    let owner = self.owner_of(stmt.target());
                    self.owned(owner, |w| {
                        w.expr(stmt.target(), true);
                        w.expr(stmt.annotation(), false);
                        w.expr(stmt.value(), false);
                    });
                    self.hold(stmt.target(), stmt.value());
                }
            }
            FOR_STMT => {
                if let Some(stmt) = ast::ForStmt::cast(node.clone()) {
                    self.expr(stmt.target(), true);
                    self.expr(stmt.iterable(), false);
                    node.children().filter(|c| matches!(c.kind(), BLOCK | ELSE_CLAUSE)).for_each(|c| self.node(&c, false));
                }
            }
            WITH_ITEM => {
                if let Some(item) = ast::WithItem::cast(node.clone()) {
                    self.expr(item.context(), false);
                    self.expr(item.target(), true);
                }
            }
            EXCEPT_CLAUSE | PATTERN | TYPE_ALIAS_STMT | TYPE_PARAM => {
                for child in node.children() {
                    match ast::Name::cast(child.clone()) {
                        Some(name) => self.name(&name, Role::Write),
                        // What a pattern names it binds.
                        None => self.node(&child, node.kind() == PATTERN),
                    }
                }
            }
            CASE_CLAUSE => {
                for child in node.children() {
                    self.node(&child, child.kind() == NAME_EXPR);
                }
            }
            DEL_STMT => node.children().for_each(|c| self.node(&c, true)),
            IMPORT_STMT => self.import(node),
            IMPORT_FROM_STMT => self.import_from(node),
            GLOBAL_STMT | NONLOCAL_STMT => {
                for name in node.children().filter_map(ast::Name::cast) {
                    let scope = &mut self.out.scopes[self.scope];
                    let outer = if node.kind() == GLOBAL_STMT { &mut scope.globals } else { &mut scope.nonlocals };
                    outer.insert(name.text().into());
                    self.name(&name, Role::Read);
                }
            }
            _ => self.children(node),
        }
    }

    /// The module's name that a statement of the module binds, to know what decorators reach.
    fn owner_of(&self, target: Option<Expr>) -> Option<SmolStr> {
        match target {
            Some(Expr::NameExpr(name)) if self.scope == 0 => Some(name.text().into()),
            _ => None,
        }
    }

    fn owned(&mut self, owner: Option<SmolStr>, walk: impl FnOnce(&mut Self)) {
        let before = self.owner.clone();
        if self.scope == 0 {
            self.owner = owner;
        }
        walk(self);
        self.owner = before;
    }

    fn assign(&mut self, node: &SyntaxNode) {
        let Some(stmt) = ast::AssignStmt::cast(node.clone()) else { return };
        let owner = self.owner_of(stmt.targets().next());
        self.owned(owner, |w| {
            for target in stmt.targets() {
                w.node(target.syntax(), true);
            }
            w.expr(stmt.value(), false);
        });
        for target in stmt.targets() {
            self.hold(Some(target), stmt.value());
        }
    }

    fn hold(&mut self, target: Option<Expr>, value: Option<Expr>) {
        let (Some(Expr::NameExpr(name)), Some(value)) = (target, value.and_then(Expr::without_parens)) else { return };
        if matches!(value, Expr::LambdaExpr(_) | Expr::DictExpr(_) | Expr::CallExpr(_)) {
            let held = BoundValue { scope: self.scope, name: name.text().into(), value: self.range(value.syntax()) };
            self.out.values.push(held);
        }
    }

    /// Takes down what a definition declares. At the top of a file, it owns what is inside of it.
    fn declared(&mut self, scope: ScopeId, name: Option<ast::Name>) -> Option<SmolStr> {
        let name = name?;
        self.name(&name, Role::Declaration);
        if let Some(token) = name.ident_token() {
            self.out.scopes[scope].name = Some((token.text().into(), self.token_range(&token)));
        }
        (self.scope == 0).then(|| name.text().into())
    }

    fn function(&mut self, node: &SyntaxNode) {
        let Some(def) = ast::FunctionDef::cast(node.clone()) else { return };
        let scope = self.open(ScopeKind::Function, self.range(node));
        let owner = self.declared(scope, def.name());
        let before = self.decorates.replace(scope);
        for decorator in def.decorators() {
            self.children(decorator.syntax());
        }
        self.decorates = before;
        self.owned(owner, |w| {
            for param in def.params() {
                w.expr(param.annotation(), false);
                w.expr(param.default(), false);
            }
            w.expr(def.returns(), false);
            w.inside(scope, |w| {
                w.params(scope, def.params());
                if let Some(params) = def.type_params() {
                    w.children(params.syntax());
                }
                if let Some(body) = def.body() {
                    w.children(body.syntax());
                }
            });
        });
    }

    fn params(&mut self, scope: ScopeId, params: impl Iterator<Item = ast::Param>) {
        for name in params.filter_map(|p| p.name()) {
            self.name(&name, Role::Declaration);
            if let Some(token) = name.ident_token() {
                let param = (token.text().into(), self.token_range(&token));
                self.out.scopes[scope].params.push(param);
            }
        }
    }

    fn class(&mut self, node: &SyntaxNode) {
        let Some(def) = ast::ClassDef::cast(node.clone()) else { return };
        let scope = self.open(ScopeKind::Class, self.range(node));
        let owner = self.declared(scope, def.name());
        self.owned(owner, |w| {
            for decorator in def.decorators() {
                w.children(decorator.syntax());
            }
            if let Some(bases) = def.arg_list() {
                for arg in bases.args() {
                    w.expr(arg.value(), false);
                }
            }
            w.inside(scope, |w| {
                if let Some(body) = def.body() {
                    w.children(body.syntax());
                }
            });
        });
    }

    fn lambda(&mut self, node: &SyntaxNode) {
        let Some(lambda) = ast::LambdaExpr::cast(node.clone()) else { return };
        for param in lambda.params() {
            self.expr(param.default(), false);
        }
        let scope = self.open(ScopeKind::Lambda, self.range(node));
        self.inside(scope, |w| {
            w.params(scope, lambda.params());
            w.expr(lambda.body(), false);
        });
    }

    fn comprehension(&mut self, node: &SyntaxNode) {
        let scope = self.open(ScopeKind::Comprehension, self.range(node));
        self.inside(scope, |w| {
            for child in node.children() {
                match ast::CompFor::cast(child.clone()) {
                    Some(clause) => {
                        w.expr(clause.target(), true);
                        w.expr(clause.iterable(), false);
                    }
                    None => w.node(&child, false),
                }
            }
        });
    }

    /// `name := value` binds outside of comprehensions.
    fn named(&mut self, node: &SyntaxNode) {
        let Some(named) = ast::NamedExpr::cast(node.clone()) else { return };
        let mut scope = self.scope;
        while self.out.scopes[scope].kind == ScopeKind::Comprehension {
            scope = self.out.scopes[scope].parent;
        }
        if let Some(name) = named.name() {
            self.inside(scope, |w| w.name(&name, Role::Write));
        }
        self.expr(named.value(), false);
    }

    fn attribute(&mut self, node: &SyntaxNode) {
        let Some(attribute) = ast::AttributeExpr::cast(node.clone()) else { return };
        if let Some(receiver) = attribute.receiver() {
            self.node(receiver.syntax(), false);
            if let Some(token) = attribute.name().and_then(|n| n.ident_token()) {
                let (name, range) = (token.text().into(), self.token_range(&token));
                let path = dotted(&receiver).unwrap_or_default();
                self.out.attributes.push(Attribute { path, name, range, scope: self.scope });
            }
        }
    }

    fn call(&mut self, node: &SyntaxNode) {
        let Some(call) = ast::CallExpr::cast(node.clone()) else { return };
        self.expr(call.callee(), false);
        let (callee, grid) = match call.callee().and_then(Expr::without_parens) {
            Some(Expr::SubscriptExpr(launch)) => {
                let grid = launch.index().map_or(Grid::Unknown, |index| Grid::Of(self.handed(&index)));
                (launch.receiver(), Some(grid))
            }
            Some(Expr::AttributeExpr(method))
                if method.name().is_some_and(|n| matches!(n.text().as_str(), "warmup" | "run"))
                    && call.keyword("grid").is_some() =>
            {
                let grid = call.keyword("grid").map_or(Grid::Unknown, |grid| Grid::Of(self.handed(&grid)));
                (method.receiver(), Some(grid))
            }
            other => (other, None),
        };
        let mut keywords = Vec::new();
        let mut spreads = Vec::new();
        for arg in call.args() {
            if let Some(token) = arg.name().and_then(|n| n.ident_token()) {
                keywords.push((token.text().into(), self.token_range(&token)));
            }
            if let Some(value) = arg.value() {
                if arg.star2_token().is_some() {
                    spreads.push(self.handed(&value));
                }
                self.node(value.syntax(), false);
            }
        }
        if let Some(callee) = callee
            && let Some(path) = dotted(&callee)
        {
            self.out.calls.push(Call {
                callee: path,
                callee_range: self.range(callee.syntax()),
                scope: self.scope,
                range: self.range(node),
                grid,
                keywords,
                spreads,
            });
        }
    }

    fn handed(&self, expr: &Expr) -> GridArgument {
        match expr {
            Expr::NameExpr(name) => GridArgument::Name(name.text().into()),
            _ => GridArgument::Inline(self.range(expr.syntax())),
        }
    }

    fn string(&mut self, node: &SyntaxNode) {
        // An f-string's values hold names.
        self.children(node);
        let Some(string) = ast::StringExpr::cast(node.clone()) else { return };
        let mut parts = string.string_parts();
        let (Some(ast::StringPart::StringLiteral(part)), None) = (parts.next(), parts.next()) else { return };
        let (Some(token), Some((before, after)), Some(text)) = (part.string_token(), part.affixes(), string.text_value()) else {
            return;
        };
        let whole = self.token_range(&token);
        let range = whole.start + before..whole.end - after;
        // With escapes the text is not what is written.
        if part.is_bytes()
            || range.len() != text.len()
            || text.is_empty()
            || !text.chars().all(|c| c == '_' || c.is_alphanumeric())
        {
            return;
        }
        let kind = match node.parent() {
            Some(parent) if parent.kind() == DICT_ITEM => match ast::DictItem::cast(parent).and_then(|item| item.key()) {
                Some(key) if key.syntax() == node => TextKind::DictKey,
                _ => TextKind::Other,
            },
            Some(parent) if parent.kind() == SUBSCRIPT_EXPR => TextKind::Subscript,
            _ => TextKind::Other,
        };
        self.out.texts.push(Text { range, text: text.into(), kind, decorates: self.decorates, owner: self.owner.clone() });
    }

    fn import(&mut self, node: &SyntaxNode) {
        for alias in node.children().filter_map(ast::ImportAlias::cast) {
            let Some(bound) = alias.bound_name() else { continue };
            let path = alias.path().map(|p| p.text()).unwrap_or_default();
            let module = if alias.alias().is_some() { path } else { bound.text() };
            self.out.imports.push(Import {
                scope: self.scope,
                name: bound.text().into(),
                level: 0,
                module: module.into(),
                member: None,
                member_range: None,
            });
            self.name(&bound, Role::Import);
        }
    }

    fn import_from(&mut self, node: &SyntaxNode) {
        let Some(stmt) = ast::ImportFromStmt::cast(node.clone()) else { return };
        let module = SmolStr::from(stmt.module().map(|m| m.text()).unwrap_or_default());
        if stmt.star_token().is_some() {
            self.out.stars.push((stmt.level(), module));
            return;
        }
        for alias in node.children().filter_map(ast::ImportAlias::cast) {
            let (Some(bound), Some(member)) = (alias.bound_name(), alias.path().and_then(|p| p.names().next())) else { continue };
            let member_range = member.ident_token().map(|t| self.token_range(&t));
            self.out.imports.push(Import {
                scope: self.scope,
                name: bound.text().into(),
                level: stmt.level(),
                module: module.clone(),
                member: Some(member.text().into()),
                member_range: member_range.filter(|_| alias.alias().is_some()),
            });
            self.name(&bound, Role::Import);
        }
    }
}

/// `a.b.c` as its parts.
pub(crate) fn dotted(expr: &Expr) -> Option<Vec<SmolStr>> {
    match expr {
        Expr::NameExpr(name) => Some(vec![name.text().into()]),
        Expr::AttributeExpr(attribute) => {
            let mut path = dotted(&attribute.receiver()?)?;
            path.push(attribute.name()?.text().into());
            Some(path)
        }
        _ => None,
    }
}
