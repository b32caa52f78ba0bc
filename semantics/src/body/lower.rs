//! From the syntax tree of a chunk to its [`Body`].
//!
//! **Invariant:** total: what a syntax error left out becomes `Missing`; comments, blank lines and parentheses leave no trace; ids count in
//! the order of the text, so the same statements make the same body.

use smol_str::SmolStr;
use tritium_syntax::{
    AstNode, NodeOrToken, SyntaxKind, SyntaxNode, TextRange,
    ast::{self, CompClause, Literal, SmallStmt, StringPart, StringValue},
};

use super::{
    Arg, ArgKind, BinaryOp, Body, BoolOp, Clause, CompareOp, ComprehensionKind, Expr, ExprId, FStringPart, FunctionDef,
    ImportAlias, Param, ParamKind, SourceMap, Stmt, StmtId, UnaryOp,
};

/// Lowers one parsed chunk.
pub fn lower(module: &ast::Module) -> (Body, SourceMap) {
    let mut lowering = Lowering::default();
    let root = lowering.stmts(module.stmts());
    lowering.body.root = root;
    lowering.finish()
}

/// Lowers one function of a chunk by itself, as if nothing stood around it; its ranges count from its own start.
pub fn lower_function(module: &ast::Module, range: TextRange) -> Option<(Body, SourceMap)> {
    let inside = module.syntax().covering_element(range);
    let node = inside.ancestors().find(|node| node.text_range() == range && ast::FunctionDef::can_cast(node.kind()))?;
    let mut lowering = Lowering::default();
    let stmt = lowering.function(&ast::FunctionDef::cast(node)?);
    lowering.body.root = vec![stmt];
    let (body, mut map) = lowering.finish();
    map.count_from(range.start());
    Some((body, map))
}

/// Left on the stack before it grows, and what it grows by.
const RED_ZONE: usize = 128 << 10;
const STACK: usize = 2 << 20;

#[derive(Default)]
struct Lowering {
    body: Body,
    map: SourceMap,
}

impl Lowering {
    fn finish(mut self) -> (Body, SourceMap) {
        // Inner arguments come first.
        self.map.arguments.sort_unstable_by_key(|(value, _)| *value);
        (self.body, self.map)
    }

    fn expr(&mut self, expr: Expr, range: TextRange) -> ExprId {
        let id = ExprId(self.body.exprs.len() as u32);
        self.body.exprs.push(expr);
        self.map.exprs.push(range);
        id
    }

    fn stmt(&mut self, stmt: Stmt, range: TextRange) -> StmtId {
        let id = StmtId(self.body.stmts.len() as u32);
        self.body.stmts.push(stmt);
        self.map.stmts.push(range);
        id
    }

    fn stmts(&mut self, stmts: impl Iterator<Item = ast::Stmt>) -> Vec<StmtId> {
        let mut out = Vec::new();
        for stmt in stmts {
            match stmt {
                ast::Stmt::SimpleStmts(line) => out.extend(line.small_stmts().map(|small| self.small(&small))),
                other => out.push(self.compound(&other)),
            }
        }
        out
    }

    fn block(&mut self, block: Option<ast::Block>) -> Vec<StmtId> {
        block.map(|block| self.stmts(block.stmts())).unwrap_or_default()
    }

    fn small(&mut self, small: &SmallStmt) -> StmtId {
        let range = small.syntax().text_range();
        let stmt = match small {
            SmallStmt::ExprStmt(s) => Stmt::Expr(self.need(s.expr(), range)),
            SmallStmt::AssignStmt(s) => {
                let targets = s.targets().map(|t| self.lower(&t)).collect();
                Stmt::Assign { targets, value: self.need(s.value(), range) }
            }
            SmallStmt::AugAssignStmt(s) => {
                let target = self.need(s.target(), range);
                let value = self.need(s.value(), range);
                match s.binary_op().and_then(|op| BinaryOp::from_text(op.text())) {
                    Some(op) => Stmt::AugAssign { target, op, value },
                    None => Stmt::Missing,
                }
            }
            SmallStmt::AnnAssignStmt(s) => Stmt::AnnAssign {
                target: self.need(s.target(), range),
                annotation: self.need(s.annotation(), range),
                value: self.opt(s.value()),
            },
            SmallStmt::ReturnStmt(s) => Stmt::Return(self.opt(s.expr())),
            SmallStmt::PassStmt(_) => Stmt::Pass,
            SmallStmt::BreakStmt(_) => other("break"),
            SmallStmt::ContinueStmt(_) => other("continue"),
            SmallStmt::AssertStmt(s) => Stmt::Assert { test: self.need(s.test(), range), message: self.opt(s.message()) },
            SmallStmt::DelStmt(s) => {
                Stmt::Other { keyword: "del", exprs: self.opt(s.expr()).into_iter().collect(), body: vec![] }
            }
            SmallStmt::RaiseStmt(s) => {
                let exprs = [s.exception(), s.cause()].into_iter().flatten().map(|e| self.lower(&e)).collect();
                Stmt::Other { keyword: "raise", exprs, body: vec![] }
            }
            SmallStmt::ImportStmt(s) => Stmt::Import { modules: s.import_aliases().map(|a| import_alias(&a)).collect() },
            SmallStmt::ImportFromStmt(s) => Stmt::ImportFrom {
                level: s.level(),
                module: s.module().map(|m| m.text()).unwrap_or_default().into(),
                names: s.import_aliases().map(|a| import_alias(&a)).collect(),
            },
            SmallStmt::GlobalStmt(_) => other("global"),
            SmallStmt::NonlocalStmt(_) => other("nonlocal"),
            SmallStmt::TypeAliasStmt(_) => other("type"),
        };
        self.stmt(stmt, range)
    }

    fn compound(&mut self, stmt: &ast::Stmt) -> StmtId {
        let range = head(stmt.syntax());
        let lowered = match stmt {
            // taken apart by the caller
            ast::Stmt::SimpleStmts(_) | ast::Stmt::ErrorStmt(_) => Stmt::Missing,
            ast::Stmt::FunctionDef(f) => return self.function(f),
            ast::Stmt::ClassDef(c) => Stmt::Class {
                name: name(c.name()),
                decorators: c.decorators().map(|d| self.need(d.expr(), range)).collect(),
                bases: c.arg_list().into_iter().flat_map(|l| l.args()).map(|a| self.arg(&a)).collect(),
                body: self.block(c.body()),
            },
            ast::Stmt::IfStmt(s) => {
                let condition = self.need(s.condition(), range);
                let then = self.block(s.body());
                let elifs: Vec<_> = s.elif_clauses().collect();
                let otherwise = self.elifs(&elifs, s.else_clause());
                Stmt::If { condition, then, otherwise }
            }
            ast::Stmt::ForStmt(s) => Stmt::For {
                target: self.need(s.target(), range),
                iterable: self.need(s.iterable(), range),
                body: self.block(s.body()),
                otherwise: self.block(s.else_clause().and_then(|e| e.body())),
                is_async: s.async_token().is_some(),
            },
            ast::Stmt::WhileStmt(s) => Stmt::While {
                condition: self.need(s.condition(), range),
                body: self.block(s.body()),
                otherwise: self.block(s.else_clause().and_then(|e| e.body())),
            },
            ast::Stmt::WithStmt(s) => {
                let items = s.with_items().map(|i| (self.need(i.context(), range), self.opt(i.target()))).collect();
                Stmt::With { items, body: self.block(s.body()) }
            }
            ast::Stmt::TryStmt(s) => {
                let body = self.block(s.body());
                let otherwise = self.block(s.else_clause().and_then(|e| e.body()));
                let finally = self.block(s.finally_clause().and_then(|e| e.body()));
                let handlers = s.except_clauses().map(|c| (self.opt(c.exception()), self.block(c.body()))).collect();
                Stmt::Try { body, handlers, otherwise, finally }
            }
            ast::Stmt::MatchStmt(s) => {
                let exprs = self.opt(s.subject()).into_iter().collect();
                let mut body = Vec::new();
                for clause in s.case_clauses() {
                    body.extend(self.block(clause.body()));
                }
                Stmt::Other { keyword: "match", exprs, body }
            }
        };
        self.stmt(lowered, range)
    }

    /// `elif` is an `if` in the `else` before it.
    fn elifs(&mut self, elifs: &[ast::ElifClause], otherwise: Option<ast::ElseClause>) -> Vec<StmtId> {
        // From the last one up: a long chain must not be deep recursion.
        let mut conditions = Vec::new();
        for clause in elifs {
            let range = head(clause.syntax());
            conditions.push((self.need(clause.condition(), range), self.block(clause.body()), range));
        }
        let mut rest = self.block(otherwise.and_then(|e| e.body()));
        for (condition, then, range) in conditions.into_iter().rev() {
            rest = vec![self.stmt(Stmt::If { condition, then, otherwise: rest }, range)];
        }
        rest
    }

    fn function(&mut self, function: &ast::FunctionDef) -> StmtId {
        let range = function.syntax().text_range();
        let decorators = function.decorators().map(|d| self.need(d.expr(), range)).collect();
        let (params, names) = self.params(function.params());
        let returns = self.opt(function.returns());
        // Numbered before its own statements, so that its number stays when they come and go.
        let id = self.stmt(Stmt::Missing, range);
        let body = self.block(function.body());
        let name_range = function.name().map_or(range, |n| n.syntax().text_range());
        self.body.stmts[id.0 as usize] = Stmt::Function(FunctionDef {
            name: name(function.name()),
            decorators,
            params,
            returns,
            body,
            is_async: function.async_token().is_some(),
        });
        self.map.functions.push((id, name_range, names));
        id
    }

    fn params(&mut self, params: impl Iterator<Item = ast::Param>) -> (Vec<Param>, Vec<TextRange>) {
        let (mut out, mut ranges) = (Vec::<Param>::new(), Vec::new());
        let mut keyword_only = false;
        for param in params {
            let range = param.name().map_or_else(|| param.syntax().text_range(), |n| n.syntax().text_range());
            let kind = match (param.star_token().is_some(), param.star2_token().is_some(), param.name()) {
                (true, _, None) => {
                    keyword_only = true;
                    continue;
                }
                (true, _, Some(_)) => {
                    keyword_only = true;
                    ParamKind::Rest
                }
                (_, true, _) => ParamKind::RestKeywords,
                (_, _, None) => {
                    if param.slash_token().is_some() {
                        out.iter_mut().for_each(|p| p.kind = ParamKind::PositionalOnly);
                    }
                    continue;
                }
                _ if keyword_only => ParamKind::KeywordOnly,
                _ => ParamKind::Normal,
            };
            let annotation = self.opt(param.annotation());
            let default = self.opt(param.default());
            out.push(Param { kind, name: name(param.name()), annotation, default });
            ranges.push(range);
        }
        (out, ranges)
    }

    fn opt(&mut self, expr: Option<ast::Expr>) -> Option<ExprId> {
        expr.map(|e| self.lower(&e))
    }

    fn need(&mut self, expr: Option<ast::Expr>, around: TextRange) -> ExprId {
        match expr {
            Some(expr) => self.lower(&expr),
            None => self.expr(Expr::Missing, TextRange::empty(around.end())),
        }
    }

    fn arg(&mut self, arg: &ast::Arg) -> Arg {
        let kind = if arg.star_token().is_some() {
            ArgKind::Spread
        } else if arg.star2_token().is_some() {
            ArgKind::SpreadKeywords
        } else if arg.eq_token().is_some() {
            ArgKind::Keyword(name(arg.name()))
        } else {
            ArgKind::Positional
        };
        let range = arg.syntax().text_range();
        let value = self.need(arg.value(), range);
        self.map.arguments.push((value, range));
        Arg { kind, value }
    }

    fn clauses(&mut self, clauses: impl Iterator<Item = CompClause>) -> Vec<Clause> {
        clauses
            .map(|clause| {
                let range = clause.syntax().text_range();
                match clause {
                    CompClause::CompFor(f) => {
                        Clause::For { target: self.need(f.target(), range), iterable: self.need(f.iterable(), range) }
                    }
                    CompClause::CompIf(i) => Clause::If(self.need(i.condition(), range)),
                }
            })
            .collect()
    }

    fn comprehension(
        &mut self,
        kind: ComprehensionKind,
        key: Option<ast::Expr>,
        element: Option<ast::Expr>,
        clauses: impl Iterator<Item = CompClause>,
        range: TextRange,
    ) -> Expr {
        let clauses = self.clauses(clauses);
        let key = self.opt(key);
        Expr::Comprehension { kind, key, element: self.need(element, range), clauses }
    }

    /// Expressions nest as deeply as the parser allows, which is deeper than a thread's stack.
    fn lower(&mut self, expr: &ast::Expr) -> ExprId {
        stacker::maybe_grow(RED_ZONE, STACK, || self.expression(expr))
    }

    fn expression(&mut self, expr: &ast::Expr) -> ExprId {
        let range = expr.syntax().text_range();
        let lowered = match expr {
            ast::Expr::ParenExpr(e) => return self.need(e.expr(), range),
            ast::Expr::NameExpr(e) => Expr::Name(e.text().into()),
            ast::Expr::LiteralExpr(e) => literal(e),
            ast::Expr::StringExpr(e) => self.string(e),
            ast::Expr::TupleExpr(e) => Expr::Tuple(e.exprs().map(|x| self.lower(&x)).collect()),
            ast::Expr::ListExpr(e) => Expr::List(e.exprs().map(|x| self.lower(&x)).collect()),
            ast::Expr::SetExpr(e) => Expr::Set(e.exprs().map(|x| self.lower(&x)).collect()),
            ast::Expr::DictExpr(e) => {
                Expr::Dict(e.dict_items().map(|i| (self.opt(i.key()), self.need(i.value(), range))).collect())
            }
            ast::Expr::ListComp(e) => self.comprehension(ComprehensionKind::List, None, e.element(), e.comp_clauses(), range),
            ast::Expr::SetComp(e) => self.comprehension(ComprehensionKind::Set, None, e.element(), e.comp_clauses(), range),
            ast::Expr::GeneratorExpr(e) => {
                self.comprehension(ComprehensionKind::Generator, None, e.element(), e.comp_clauses(), range)
            }
            ast::Expr::DictComp(e) => {
                let (key, value) = e.item().map_or((None, None), |i| (i.key(), i.value()));
                self.comprehension(ComprehensionKind::Dict, key, value, e.comp_clauses(), range)
            }
            ast::Expr::UnaryExpr(e) => {
                let operand = self.need(e.operand(), range);
                e.op().and_then(|op| UnaryOp::from_text(op.text())).map_or(Expr::Missing, |op| Expr::Unary { op, operand })
            }
            ast::Expr::BinaryExpr(e) => {
                let (lhs, rhs) = (self.need(e.lhs(), range), self.need(e.rhs(), range));
                e.op().and_then(|op| BinaryOp::from_text(op.text())).map_or(Expr::Missing, |op| Expr::Binary { op, lhs, rhs })
            }
            ast::Expr::BoolExpr(e) => {
                let (lhs, rhs) = (self.need(e.lhs(), range), self.need(e.rhs(), range));
                e.op().and_then(|op| BoolOp::from_text(op.text())).map_or(Expr::Missing, |op| Expr::Bool2 { op, lhs, rhs })
            }
            ast::Expr::CompareExpr(e) => {
                let first = self.need(e.first(), range);
                let mut rest = Vec::new();
                for (op, operand) in e.rest() {
                    let operand = self.need(operand, range);
                    if let Some(op) = op.op().and_then(|op| CompareOp::from_text(op.text())) {
                        rest.push((op, operand));
                    }
                }
                if rest.is_empty() { Expr::Missing } else { Expr::Compare { first, rest } }
            }
            ast::Expr::IfExpr(e) => {
                let then = self.need(e.then(), range);
                Expr::If { condition: self.need(e.condition(), range), then, otherwise: self.need(e.otherwise(), range) }
            }
            ast::Expr::LambdaExpr(e) => {
                let (params, _) = self.params(e.params());
                Expr::Lambda { params, body: self.need(e.body(), range) }
            }
            ast::Expr::NamedExpr(e) => Expr::Named { name: name(e.name()), value: self.need(e.value(), range) },
            ast::Expr::AwaitExpr(e) => Expr::Await(self.need(e.expr(), range)),
            ast::Expr::YieldExpr(e) => Expr::Yield(self.opt(e.expr())),
            ast::Expr::CallExpr(e) => {
                let callee = self.need(e.callee(), range);
                Expr::Call { callee, args: e.args().map(|a| self.arg(&a)).collect() }
            }
            ast::Expr::AttributeExpr(e) => {
                let receiver = self.need(e.receiver(), range);
                match e.name() {
                    Some(n) => Expr::Attribute { receiver, name: n.text().into() },
                    None => Expr::Missing,
                }
            }
            ast::Expr::SubscriptExpr(e) => {
                let receiver = self.need(e.receiver(), range);
                Expr::Subscript { receiver, index: self.need(e.index(), range) }
            }
            ast::Expr::SliceExpr(e) => {
                Expr::Slice { lower: self.opt(e.lower()), upper: self.opt(e.upper()), step: self.opt(e.step()) }
            }
            ast::Expr::StarredExpr(e) => Expr::Starred(self.need(e.expr(), range)),
            ast::Expr::ErrorExpr(_) => Expr::Missing,
        };
        self.expr(lowered, range)
    }

    fn string(&mut self, string: &ast::StringExpr) -> Expr {
        match string.value() {
            Some(StringValue::Str(text)) => return Expr::Str(text),
            Some(StringValue::Bytes(bytes)) => return Expr::Bytes(bytes),
            None => {}
        }
        if !string.string_parts().any(|p| matches!(p, StringPart::FString(_))) {
            return Expr::Missing;
        }
        let mut parts = Vec::new();
        for part in string.string_parts() {
            match part {
                StringPart::StringLiteral(literal) => match literal.value() {
                    Some(StringValue::Str(text)) => parts.push(FStringPart::Text(text)),
                    _ => return Expr::Missing,
                },
                StringPart::FString(f) => {
                    let pieces = self.pieces(f.syntax(), &f);
                    parts.extend(pieces);
                }
            }
        }
        Expr::FString(parts)
    }

    /// Text and replacements of an f-string, or of a format in it.
    fn pieces(&mut self, node: &tritium_syntax::SyntaxNode, string: &ast::FString) -> Vec<FStringPart> {
        let mut parts = Vec::new();
        for element in node.children_with_tokens() {
            match element {
                NodeOrToken::Token(token) if token.kind() == SyntaxKind::FSTRING_TEXT => {
                    if let Some(text) = string.piece(&token) {
                        parts.push(FStringPart::Text(text));
                    }
                }
                NodeOrToken::Token(_) => {}
                NodeOrToken::Node(node) => {
                    let Some(replacement) = ast::Replacement::cast(node) else { continue };
                    let value = self.need(replacement.value(), replacement.syntax().text_range());
                    let conversion = replacement.conversion().and_then(|n| n.text().chars().next());
                    let format = replacement.format_spec().map(|spec| self.pieces(spec.syntax(), string));
                    parts.push(FStringPart::Value { value, conversion, format });
                }
            }
        }
        parts
    }
}

fn other(keyword: &'static str) -> Stmt {
    Stmt::Other { keyword, exprs: vec![], body: vec![] }
}

fn name(name: Option<ast::Name>) -> SmolStr {
    name.map(|n| n.text()).unwrap_or_default().into()
}

fn import_alias(alias: &ast::ImportAlias) -> ImportAlias {
    ImportAlias { path: alias.path().map(|p| p.text()).unwrap_or_default().into(), alias: alias.alias().map(|n| n.text().into()) }
}

fn literal(literal: &ast::LiteralExpr) -> Expr {
    match literal.kind() {
        Some(Literal::Int(_)) => literal.int_value().map_or(Expr::HugeInt, Expr::Int),
        Some(Literal::Float(_)) => literal.float_value().map_or(Expr::Missing, Expr::Float),
        Some(Literal::Imaginary(text)) => {
            text.trim_end_matches(['j', 'J']).replace('_', "").parse().map_or(Expr::Missing, Expr::Imaginary)
        }
        Some(Literal::True) => Expr::Bool(true),
        Some(Literal::False) => Expr::Bool(false),
        Some(Literal::None) => Expr::None,
        Some(Literal::Ellipsis) => Expr::Ellipsis,
        None => Expr::Missing,
    }
}

/// A compound statement up to its block: what is told of a loop or a branch is told of how it begins, as its block may be long.
fn head(statement: &SyntaxNode) -> TextRange {
    let is_written = |kind| !matches!(kind, SyntaxKind::WHITESPACE | SyntaxKind::NEWLINE | SyntaxKind::COMMENT);
    let before_block = statement.children_with_tokens().take_while(|part| part.kind() != SyntaxKind::BLOCK);
    let last = before_block.filter(|part| is_written(part.kind())).last();
    let start = statement.text_range().start();
    last.map_or(statement.text_range(), |part| TextRange::new(start, part.text_range().end()))
}
