//! A body as text: Python again, with every operation in parentheses.
//!
//! **Invariant:** what the body holds is what is printed; equal bodies print the same.

use std::fmt::{self, Write as _};

use super::{
    Arg, ArgKind, Body, Clause, ComprehensionKind, Expr, ExprId, FStringPart, ImportAlias, Param, ParamKind, Stmt, StmtId,
};

impl fmt::Display for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.block(&self.root, 0))
    }
}

fn joined(items: impl IntoIterator<Item = String>) -> String {
    items.into_iter().collect::<Vec<_>>().join(", ")
}

impl Body {
    fn block(&self, stmts: &[StmtId], depth: usize) -> String {
        if stmts.is_empty() && depth > 0 {
            return format!("{:1$}(nothing)\n", "", depth * 4);
        }
        stmts.iter().map(|&s| self.statement(s, depth)).collect()
    }

    fn statement(&self, id: StmtId, depth: usize) -> String {
        let pad = " ".repeat(depth * 4);
        let show = |e: ExprId| self.text_of(e);
        let list = |items: &[ExprId]| joined(items.iter().map(|&e| show(e)));
        let block = |stmts: &[StmtId]| self.block(stmts, depth + 1);
        let otherwise = |stmts: &[StmtId]| if stmts.is_empty() { String::new() } else { format!("{pad}else:\n{}", block(stmts)) };
        let decorated = |decorators: &[ExprId]| decorators.iter().map(|&d| format!("{pad}@{}\n", show(d))).collect::<String>();
        let line = match self.stmt(id) {
            Stmt::Missing => "<missing>".to_owned(),
            Stmt::Expr(e) => show(*e),
            Stmt::Assign { targets, value } => {
                let targets: String = targets.iter().map(|&t| format!("{} = ", show(t))).collect();
                format!("{targets}{}", show(*value))
            }
            Stmt::AugAssign { target, op, value } => format!("{} {op}= {}", show(*target), show(*value)),
            Stmt::AnnAssign { target, annotation, value } => {
                let value = value.map_or_else(String::new, |v| format!(" = {}", show(v)));
                format!("{}: {}{value}", show(*target), show(*annotation))
            }
            Stmt::Return(value) => value.map_or_else(|| "return".to_owned(), |v| format!("return {}", show(v))),
            Stmt::Pass => "pass".to_owned(),
            Stmt::If { condition, then, otherwise: rest } => {
                return format!("{pad}if {}:\n{}{}", show(*condition), block(then), otherwise(rest));
            }
            Stmt::For { target, iterable, body, otherwise: rest, is_async } => {
                let word = if *is_async { "async for" } else { "for" };
                return format!("{pad}{word} {} in {}:\n{}{}", show(*target), show(*iterable), block(body), otherwise(rest));
            }
            Stmt::While { condition, body, otherwise: rest } => {
                return format!("{pad}while {}:\n{}{}", show(*condition), block(body), otherwise(rest));
            }
            Stmt::With { items, body } => {
                let items = joined(items.iter().map(|(context, target)| {
                    let target = target.map_or_else(String::new, |t| format!(" as {}", show(t)));
                    format!("{}{target}", show(*context))
                }));
                return format!("{pad}with {items}:\n{}", block(body));
            }
            Stmt::Assert { test, message } => {
                let message = message.map_or_else(String::new, |m| format!(", {}", show(m)));
                format!("assert {}{message}", show(*test))
            }
            Stmt::Function(def) => {
                let word = if def.is_async { "async def" } else { "def" };
                let returns = def.returns.map_or_else(String::new, |r| format!(" -> {}", show(r)));
                let head = format!("{pad}{word} {}({}){returns}:\n", def.name, self.params(&def.params));
                return format!("{}{head}{}", decorated(&def.decorators), block(&def.body));
            }
            Stmt::Class { name, decorators, bases, body } => {
                return format!("{}{pad}class {name}({}):\n{}", decorated(decorators), self.args(bases), block(body));
            }
            Stmt::Import { modules } => format!("import {}", joined(modules.iter().map(alias))),
            Stmt::ImportFrom { level, module, names } => {
                let names = if names.is_empty() { "*".to_owned() } else { joined(names.iter().map(alias)) };
                format!("from {}{module} import {names}", ".".repeat(*level as usize))
            }
            Stmt::Try { body, handlers, otherwise: rest, finally } => {
                let mut out = format!("{pad}try:\n{}", block(body));
                for (exception, body) in handlers {
                    let exception = exception.map_or_else(String::new, |e| format!(" {}", show(e)));
                    out += &format!("{pad}except{exception}:\n{}", block(body));
                }
                out += &otherwise(rest);
                if !finally.is_empty() {
                    out += &format!("{pad}finally:\n{}", block(finally));
                }
                return out;
            }
            Stmt::Other { keyword, exprs, body } => {
                let line = format!("{pad}{keyword} {}", list(exprs));
                return format!("{}\n{}", line.trim_end(), if body.is_empty() { String::new() } else { block(body) });
            }
        };
        format!("{pad}{line}\n")
    }

    fn params(&self, params: &[Param]) -> String {
        let mut out = Vec::new();
        let mut keyword_only = false;
        for (i, param) in params.iter().enumerate() {
            if param.kind == ParamKind::KeywordOnly && !keyword_only {
                out.push("*".to_owned());
            }
            keyword_only |= matches!(param.kind, ParamKind::KeywordOnly | ParamKind::Rest);
            let stars = match param.kind {
                ParamKind::Rest => "*",
                ParamKind::RestKeywords => "**",
                ParamKind::PositionalOnly | ParamKind::Normal | ParamKind::KeywordOnly => "",
            };
            let annotation = param.annotation.map_or_else(String::new, |a| format!(": {}", self.text_of(a)));
            let default = param.default.map_or_else(String::new, |d| format!(" = {}", self.text_of(d)));
            out.push(format!("{stars}{}{annotation}{default}", param.name));
            if param.kind == ParamKind::PositionalOnly && params.get(i + 1).is_none_or(|p| p.kind != ParamKind::PositionalOnly) {
                out.push("/".to_owned());
            }
        }
        out.join(", ")
    }

    fn args(&self, args: &[Arg]) -> String {
        joined(args.iter().map(|arg| {
            let value = self.text_of(arg.value);
            match &arg.kind {
                ArgKind::Positional => value,
                ArgKind::Keyword(name) => format!("{name}={value}"),
                ArgKind::Spread => format!("*{value}"),
                ArgKind::SpreadKeywords => format!("**{value}"),
            }
        }))
    }

    /// An expression as Python, every operation in parentheses.
    pub fn text_of(&self, id: ExprId) -> String {
        stacker::maybe_grow(128 << 10, 2 << 20, || self.python(id))
    }

    fn python(&self, id: ExprId) -> String {
        let show = |e: ExprId| self.text_of(e);
        let list = |items: &[ExprId]| joined(items.iter().map(|&e| show(e)));
        match self.expr(id) {
            Expr::Missing => "<missing>".to_owned(),
            Expr::Name(name) => name.to_string(),
            Expr::Int(i) => i.to_string(),
            Expr::HugeInt => "<huge>".to_owned(),
            Expr::Float(x) => format!("{x:?}"),
            Expr::Imaginary(x) => format!("{x:?}j"),
            Expr::Str(s) => format!("{s:?}"),
            Expr::Bytes(b) => format!("b\"{}\"", b.escape_ascii()),
            Expr::Bool(true) => "True".to_owned(),
            Expr::Bool(false) => "False".to_owned(),
            Expr::None => "None".to_owned(),
            Expr::Ellipsis => "...".to_owned(),
            Expr::FString(parts) => format!("f\"{}\"", self.pieces(parts)),
            Expr::Tuple(items) if items.len() == 1 => format!("({},)", list(items)),
            Expr::Tuple(items) => format!("({})", list(items)),
            Expr::List(items) => format!("[{}]", list(items)),
            Expr::Set(items) => format!("{{{}}}", list(items)),
            Expr::Dict(items) => {
                let entry = |(key, value): &(Option<ExprId>, ExprId)| match key {
                    Some(key) => format!("{}: {}", show(*key), show(*value)),
                    None => format!("**{}", show(*value)),
                };
                format!("{{{}}}", joined(items.iter().map(entry)))
            }
            Expr::Comprehension { kind, key, element, clauses } => {
                let mut inner = key.map_or_else(String::new, |k| format!("{}: ", show(k)));
                inner.push_str(&show(*element));
                for clause in clauses {
                    let _ = match clause {
                        Clause::For { target, iterable } => write!(inner, " for {} in {}", show(*target), show(*iterable)),
                        Clause::If(condition) => write!(inner, " if {}", show(*condition)),
                    };
                }
                match kind {
                    ComprehensionKind::List => format!("[{inner}]"),
                    ComprehensionKind::Set | ComprehensionKind::Dict => format!("{{{inner}}}"),
                    ComprehensionKind::Generator => format!("({inner})"),
                }
            }
            Expr::Unary { op, operand } => match op.as_str() {
                "not" => format!("(not {})", show(*operand)),
                sign => format!("({sign}{})", show(*operand)),
            },
            Expr::Binary { op, lhs, rhs } => format!("({} {op} {})", show(*lhs), show(*rhs)),
            Expr::Bool2 { op, lhs, rhs } => format!("({} {op} {})", show(*lhs), show(*rhs)),
            Expr::Compare { first, rest } => {
                let rest: String = rest.iter().map(|(op, rhs)| format!(" {op} {}", show(*rhs))).collect();
                format!("({}{rest})", show(*first))
            }
            Expr::If { condition, then, otherwise } => {
                format!("({} if {} else {})", show(*then), show(*condition), show(*otherwise))
            }
            Expr::Lambda { params, body } => format!("(lambda {}: {})", self.params(params), show(*body)),
            Expr::Named { name, value } => format!("({name} := {})", show(*value)),
            Expr::Await(e) => format!("(await {})", show(*e)),
            Expr::Yield(value) => value.map_or_else(|| "(yield)".to_owned(), |v| format!("(yield {})", show(v))),
            Expr::Call { callee, args } => format!("{}({})", show(*callee), self.args(args)),
            Expr::Attribute { receiver, name } => format!("{}.{name}", show(*receiver)),
            Expr::Subscript { receiver, index } => match self.expr(*index) {
                // Slices stand in no parentheses.
                Expr::Tuple(items) if items.len() > 1 => format!("{}[{}]", show(*receiver), list(items)),
                _ => format!("{}[{}]", show(*receiver), show(*index)),
            },
            Expr::Slice { lower, upper, step } => {
                let part = |e: &Option<ExprId>| e.map(show).unwrap_or_default();
                let step = step.map_or_else(String::new, |s| format!(":{}", show(s)));
                format!("{}:{}{step}", part(lower), part(upper))
            }
            Expr::Starred(e) => format!("*{}", show(*e)),
        }
    }

    fn pieces(&self, parts: &[FStringPart]) -> String {
        let mut out = String::new();
        for part in parts {
            match part {
                FStringPart::Text(text) => out.push_str(&text.escape_debug().to_string().replace('{', "{{").replace('}', "}}")),
                FStringPart::Value { value, conversion, format } => {
                    let conversion = conversion.map_or_else(String::new, |c| format!("!{c}"));
                    let format = format.as_ref().map_or_else(String::new, |f| format!(":{}", self.pieces(f)));
                    let _ = write!(out, "{{{}{conversion}{format}}}", self.text_of(*value));
                }
            }
        }
        out
    }
}

fn alias(import: &ImportAlias) -> String {
    match &import.alias {
        Some(alias) => format!("{} as {alias}", import.path),
        None => import.path.to_string(),
    }
}
