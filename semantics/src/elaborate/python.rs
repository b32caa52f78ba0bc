//! What Python can and a kernel cannot: dictionaries, growing lists, item assignment, run-time f-strings, host libraries, breakpoints.
//!
//! **Invariant:** each is said with what a kernel does instead; nothing here has a meaning on the GPU.

use smol_str::SmolStr;

use super::{
    evaluator::{Evaluator, Poisoned, ProblemExt, problem},
    lint_hints::text,
    value::Value,
};
use crate::{
    body::{Arg, ArgKind, Body, Expr, ExprId, FStringPart, Stmt, StmtId},
    builtins::{self, Builtin, Known},
    constant::{Const, python},
    diagnostics::Code,
    items,
    problem::{Applicability, At, Edit, Place},
    python_names,
    types::Ty,
};

/// Methods of Python's lists, dictionaries and sets.
const COLLECTION_METHODS: &[&str] = &[
    "append",
    "extend",
    "insert",
    "pop",
    "remove",
    "clear",
    "reverse",
    "copy",
    "items",
    "keys",
    "values",
    "get",
    "update",
    "setdefault",
];

/// Modules all of whose functions run in Python: other modules of these libraries may hold Triton functions.
#[rustfmt::skip]
const HOST_MODULES: &[&str] = &[
    "cmath", "cupy", "jax", "jax.nn", "jax.numpy", "math", "numpy", "numpy.linalg", "numpy.random", "os", "os.environ", "os.path", "pdb",
    "random", "scipy", "scipy.special", "sys", "time", "torch", "torch.cuda", "torch.fft", "torch.linalg", "torch.nn", "torch.nn.functional",
    "torch.random", "torch.special",
];

/// What the host's libraries call what a kernel has under another name.
#[rustfmt::skip]
const OTHER_NAMES: &[(&str, &str)] = &[
    ("fabs", "abs"), ("absolute", "abs"), ("matmul", "dot"), ("mm", "dot"), ("clip", "clamp"), ("concatenate", "cat"), ("amax", "max"),
    ("amin", "min"), ("transpose", "trans"), ("view", "reshape"), ("fmax", "maximum"), ("fmin", "minimum"),
];

/// What Triton's language has under a name, as kernels write it.
pub(super) fn of_the_language(name: &str) -> Option<String> {
    match builtins::find(&format!("triton.language.{name}"))? {
        Known::Builtin(builtin) => Some(builtin.spelling().to_owned()),
        Known::DType(_) => Some(format!("tl.{name}")),
        _ => None,
    }
}

fn module_of(path: &str) -> &str {
    path.rsplit_once('.').map_or(path, |(module, _)| module)
}

/// Whether a path leads to a module of which nothing is known, or to something in it.
pub(super) fn is_unknown_module(path: &str) -> bool {
    let is_known = |path: &str| HOST_MODULES.binary_search(&path).is_ok();
    path.split('.').next() != Some("triton") && !is_known(path) && !is_known(module_of(path))
}

impl<'a> Evaluator<'a> {
    // ---- collections

    pub(super) fn no_collection(&mut self, expr: ExprId, what: &str) -> Poisoned {
        self.complete = false;
        let name = self.function.name(self.db);
        let message = format!(
            "{what} cannot be used in a Triton function (`{name}`): keep the values in a tuple, or pass them as parameters of their own"
        );
        let place = self.place(expr);
        self.problem(Code::LNG006, place, message)
    }

    /// `xs.append(v)`: whether it was one of these, and said so.
    pub(super) fn collection_method(&mut self, expr: ExprId, receiver: &Value, name: &str) -> bool {
        if receiver.items().is_none() || !COLLECTION_METHODS.contains(&name) {
            return false;
        }
        self.complete = false;
        let body = self.body;
        let Expr::Attribute { receiver: list, .. } = body.expr(expr) else { return false };
        let list_text = self.text(*list);
        let place = self.place(expr);
        let call = body.exprs.iter().position(|e| matches!(e, Expr::Call { callee, .. } if *callee == expr));
        let message = match name {
            "append" => format!(
                "`{list_text}` is a tuple in a Triton function, and tuples do not grow in place: write `{list_text} = {list_text} + (…,)`"
            ),
            _ => format!("`{list_text}` is a tuple in a Triton function, which has no `{name}`: build a new tuple"),
        };
        let mut report = problem(Code::LNG006, place, message);
        if let Some(call) = call
            && name == "append"
            && let Expr::Call { args, .. } = &body.exprs[call]
            && let [Arg { kind: ArgKind::Positional, value }] = &args[..]
        {
            let list = self.source(*list);
            let pieces = vec![list.clone(), text(" = "), list, text(" + ("), self.source(*value), text(",)")];
            let edit = Edit::Rewrite(self.place(ExprId(call as u32)), pieces);
            report = report.fix("Make a longer tuple", Applicability::Suggested, vec![edit]);
        }
        self.report(report);
        true
    }

    /// `x[i] = v`
    pub(super) fn item_assignment(&mut self, target: ExprId, receiver: ExprId, index: ExprId, from: Option<ExprId>) {
        self.complete = false;
        let name = self.text(receiver);
        let at = self.text(index);
        let value = self.eval_path(receiver);
        let position = self.eval_quietly(index);
        let place = self.place(target);
        let (message, line) = match &value {
            Value::Tile(tile) if tile.ty.elem.is_ptr() => {
                (format!("`{name}` is {}, a pointer: write memory with `tl.store({name} + {at}, …)`", tile.ty), None)
            }
            Value::Tile(tile) => {
                let line = match &tile.ty.shape[..] {
                    [only]
                        if matches!(&position, Some(Ty::Tile(t)) if t.is_scalar())
                            || matches!(position, Some(Ty::Constexpr(_))) =>
                    {
                        Some(format!("{}(0, {only}) == ", Builtin::Arange.spelling()))
                    }
                    _ => None,
                };
                let condition = match &line {
                    Some(line) => format!("{line}{at}"),
                    None => "where".to_owned(),
                };
                let remedy = format!("make a changed copy, `{name} = {}({condition}, …, {name})`", Builtin::Where.spelling());
                (format!("a tile (`{name}` is {}) cannot be changed in place: {remedy}", tile.ty), line)
            }
            Value::Unknown => return,
            other => (format!("`{name}` is {}, whose items cannot be assigned: make a new tuple", other.ty()), None),
        };
        let mut report = problem(Code::LNG007, place, message);
        if let (Some(line), Some(from), Expr::Name(_)) = (line, from, self.body.expr(receiver)) {
            let begin = format!("{}({line}{at}, ", Builtin::Where.spelling());
            let edits = vec![
                Edit::Rewrite(place, vec![self.source(receiver)]),
                Edit::InsertBefore(self.place(from), begin.clone()),
                Edit::InsertAfter(self.place(from), format!(", {name})")),
            ];
            if !begin.contains('…') {
                report = report.fix("Make a changed copy", Applicability::Suggested, edits);
            }
        }
        self.report(report);
    }

    /// The type of an index that may be a slice.
    fn eval_quietly(&mut self, index: ExprId) -> Option<Ty> {
        match self.body.expr(index) {
            Expr::Slice { .. } | Expr::Tuple(_) | Expr::Ellipsis => None,
            _ => Some(self.eval(index).ty()),
        }
    }

    // ---- printing

    pub(super) fn run_time_fstring(&mut self, expr: ExprId, value: ExprId, result: &Value) -> Poisoned {
        self.complete = false;
        let body = self.body;
        let place = self.place(expr);
        let message = format!(
            "an f-string is made at compile time, and `{}` is {}, known at run time only: print it with `tl.device_print(\"name\", value)`",
            self.text(value),
            result.ty()
        );
        let mut report = problem(Code::LNG008, place, message).related(Some(self.place(value)), "known at run time only");
        // `print(f"a {a}")`
        let printing = body.exprs.iter().position(|e| match e {
            Expr::Call { callee, args } => {
                let callee = self.text(*callee);
                matches!(&args[..], [Arg { kind: ArgKind::Positional, value }] if *value == expr)
                    && (callee == "print" || callee.ends_with("device_print"))
            }
            _ => false,
        });
        if let (Some(call), Expr::FString(parts)) = (printing, body.expr(expr)) {
            let words: String = parts
                .iter()
                .map(|p| match p {
                    FStringPart::Text(piece) => piece.as_str(),
                    FStringPart::Value { .. } => " ",
                })
                .collect();
            let words: Vec<&str> = words.split_whitespace().collect();
            let mut pieces = vec![text(format!("tl.device_print({:?}", words.join(" ")))];
            for part in parts {
                if let FStringPart::Value { value, .. } = part {
                    pieces.extend([text(", "), self.source(*value)]);
                }
            }
            pieces.push(text(")"));
            let edit = Edit::Rewrite(self.place(ExprId(call as u32)), pieces);
            report = report.fix("Print the values", Applicability::Suggested, vec![edit]);
        }
        self.report(report);
        Poisoned
    }

    /// A condition that is only looked at when debugging.
    pub(super) fn remark_assert(&mut self, place: Place, condition: &Value) {
        if !matches!(condition, Value::Tile(_)) || !self.is_entry {
            return;
        }
        let body = self.body;
        let debug = |arg: &Arg| matches!(&arg.kind, ArgKind::Keyword(name) if name == "debug");
        let mut jit = None;
        for &decorator in &self.def.decorators {
            match body.expr(decorator) {
                Expr::Call { args, .. } if args.iter().any(debug) => return,
                Expr::Call { .. } => {}
                _ => jit = Some(decorator),
            }
        }
        let name = self.function.name(self.db);
        let message = format!(
            "this assertion is not compiled in: `{name}` is not a debug kernel. Decorate it with `@triton.jit(debug=True)`, or set TRITON_DEBUG=1 while testing"
        );
        let mut report = problem(Code::DBG001, place, message);
        if let Some(jit) = jit {
            let edit = Edit::InsertAfter(self.place(jit), "(debug=True)".to_owned());
            report = report.fix("Make it a debug kernel", Applicability::Suggested, vec![edit]);
        }
        self.report(report);
    }

    // ---- Python's functions and libraries

    /// A name of Python that means something, though not to a kernel: whether that was said.
    pub(super) fn python_name(&mut self, expr: ExprId, name: &SmolStr) -> bool {
        let place = self.place(expr);
        match name.as_str() {
            "dict" | "set" | "frozenset" => {
                self.no_collection(expr, if name == "dict" { "a dictionary" } else { "a set" });
                true
            }
            "breakpoint" => {
                self.breakpoint(expr, "breakpoint()");
                true
            }
            _ if python_names::is_known(name) => {
                self.complete = false;
                let report =
                    match of_the_language(name) {
                        Some(new) => {
                            problem(Code::LNG018, place, format!("`{name}` is Python's own; in a Triton function it is `{new}`"))
                                .fix(format!("Change to `{new}`"), Applicability::Suggested, vec![Edit::Replace(place, new)])
                        }
                        None => {
                            problem(Code::LNG018, place, format!("`{name}` is Python's own, which a Triton function cannot call"))
                        }
                    };
                self.report(report);
                true
            }
            _ => false,
        }
    }

    fn breakpoint(&mut self, callee: ExprId, spelling: &str) {
        self.complete = false;
        let place = self.place(callee);
        let message = format!(
            "`{spelling}` stops Python, and a Triton function does not run in it (except with TRITON_INTERPRET=1): remove it"
        );
        let mut report = problem(Code::DBG003, place, message);
        if let Some(edit) = self.statement_of(callee).and_then(|stmt| self.removal_of(stmt)) {
            report = report.fix("Remove it", Applicability::Suggested, vec![edit]);
        }
        self.report(report);
    }

    /// `torch.exp(x)`: a call of a function of another library.
    pub(super) fn host_call(&mut self, path: &str, at: ExprId) -> Poisoned {
        self.complete = false;
        let Expr::Call { callee, .. } = self.body.expr(at) else { return Poisoned };
        let root = path.split('.').next().unwrap_or_default();
        let place = self.place(*callee);
        if root == "pdb" {
            self.breakpoint(*callee, &format!("{path}()"));
            return Poisoned;
        }
        if root == "triton" {
            let message = format!("`{path}` runs on the host: a kernel calls `@triton.jit` functions and `tl` only");
            return self.problem(Code::LNG003, place, message);
        }
        // What another module defines may well be a Triton function.
        if HOST_MODULES.binary_search(&module_of(path)).is_err() {
            return Poisoned;
        }
        let last = path.rsplit('.').next().unwrap_or_default();
        // See `type_info`.
        if matches!(last, "finfo" | "iinfo") {
            return Poisoned;
        }
        let name = OTHER_NAMES.iter().find(|(host, _)| *host == last).map_or(last, |(_, own)| *own);
        let written = self.text(*callee);
        let own = match builtins::find(&format!("triton.language.{name}")) {
            Some(Known::Builtin(builtin)) => Some(builtin.spelling().to_owned()),
            _ => builtins::Library::find(name).map(|function| format!("tl.{}", function.full_spelling())),
        };
        let message = match &own {
            Some(own) => format!("`{written}` runs in Python, on the host; in a Triton function it is `{own}`"),
            None => format!(
                "`{written}` runs in Python, on the host, and has no counterpart in `tl`: compute it before the launch and pass the result"
            ),
        };
        let mut report = problem(Code::LNG009, place, message);
        if let Some(own) = own {
            report = report.fix(format!("Change to `{own}`"), Applicability::Suggested, vec![Edit::Replace(place, own)]);
        }
        self.report(report);
        Poisoned
    }

    /// `torch.finfo(torch.float16).max`: Python calls these while it compiles, so what they say of a type is a number like any other.
    pub(super) fn type_info(&mut self, receiver: ExprId, name: &str) -> Option<Value> {
        let Expr::Call { callee, args } = self.body.expr(receiver) else { return None };
        let (Expr::Name(last) | Expr::Attribute { name: last, .. }) = self.body.expr(*callee) else { return None };
        let [Arg { kind: ArgKind::Positional, value }] = args[..] else { return None };
        if !matches!(last.as_str(), "finfo" | "iinfo") {
            return None;
        }
        let (Value::Module(callee), Value::Module(ty)) = (self.eval_path(*callee), self.eval_path(value)) else { return None };
        let Const::DType(dtype) = items::constant_at(&ty)? else { return None };
        let said = python::type_info(callee.strip_prefix("torch.")?, dtype)?;
        said.into_iter().find(|(what, _)| *what == name).map(|(_, value)| Value::constant(value))
    }

    // ---- statements

    /// The statement that is nothing but a call of this.
    fn statement_of(&self, callee: ExprId) -> Option<StmtId> {
        let call = self.body.exprs.iter().position(|e| matches!(e, Expr::Call { callee: c, .. } if *c == callee))?;
        let stmt = self.body.stmts.iter().position(|s| matches!(s, Stmt::Expr(e) if e.0 as usize == call))?;
        Some(StmtId(stmt as u32))
    }

    fn removal_of(&self, stmt: StmtId) -> Option<Edit> {
        removal_of(self.body, stmt, Place { function: self.function, at: At::Stmt(stmt) })
    }
}

/// Takes a statement out; a block that held nothing else keeps a `pass`.
pub(crate) fn removal_of(body: &Body, stmt: StmtId, place: Place) -> Option<Edit> {
    let holds = |block: &Vec<StmtId>| block.contains(&stmt);
    let block = body.stmts.iter().find_map(|s| match s {
        Stmt::If { then, otherwise, .. } => [then, otherwise].into_iter().find(|b| holds(b)),
        Stmt::For { body, otherwise, .. } | Stmt::While { body, otherwise, .. } => {
            [body, otherwise].into_iter().find(|b| holds(b))
        }
        Stmt::With { body, .. } | Stmt::Class { body, .. } | Stmt::Other { body, .. } => Some(body).filter(|b| holds(b)),
        Stmt::Function(def) => Some(&def.body).filter(|b| holds(b)),
        _ => None,
    })?;
    Some(if block.len() == 1 { Edit::Replace(place, "pass".to_owned()) } else { Edit::RemoveStatement(place) })
}
