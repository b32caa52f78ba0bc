//! References written beside a launch: `expect = { Y = "softmax(X, axis=1)" }`.
//!
//! A reference is a Python expression over the launch's tensors and scalars, evaluated in `f64` on the values the inputs really hold
//! (already rounded to their types) with NumPy's broadcasting. **Invariant:** an expression that cannot be evaluated is an error that says
//! which part and why; it never yields a value that was not asked for.

use crate::files;
use indexmap::IndexMap;
use ndarray::{ArrayD, ArrayViewD, Axis, IxDyn, Zip};
use tritium_syntax::{
    PythonVersion,
    ast::{self, AstNode as _},
};

pub type Array = ArrayD<f64>;

/// What names may stand for.
pub type Names = IndexMap<String, Array>;

/// Deeper expressions are refused rather than risking the stack.
const MAX_DEPTH: u32 = 200;

/// The names that `text` reads, and those of the functions it calls.
pub fn names_in(text: &str) -> Result<Vec<String>, String> {
    let names = parsed(text)?.syntax().descendants().filter_map(ast::NameExpr::cast);
    Ok(names.map(|name| name.syntax().text().to_string()).collect())
}

/// Evaluates `text`, no value of which may take more than `max_bytes`; the message of an error is complete.
pub fn evaluate(text: &str, names: &Names, max_bytes: u64) -> Result<Array, String> {
    eval(&parsed(text)?, names, At { depth: 0, max_bytes })
}

/// Where an expression stands.
#[derive(Clone, Copy)]
struct At {
    depth: u32,
    max_bytes: u64,
}

impl At {
    fn inside(self) -> At {
        At { depth: self.depth + 1, ..self }
    }

    /// Asked before a value of this shape is made.
    fn fits(self, what: &str, shape: &[usize]) -> Result<(), String> {
        let bytes = shape.iter().try_fold(size_of::<f64>() as u64, |bytes, &extent| bytes.checked_mul(extent as u64));
        if bytes.is_some_and(|bytes| bytes <= self.max_bytes) {
            return Ok(());
        }
        let bytes = bytes.map_or_else(|| "more than can be counted".to_owned(), files::size);
        let most = files::size(self.max_bytes);
        Err(format!(
            "`{what}` has shape {shape:?} and takes {bytes}; {most} are left for it (`--memory` sets how much a run may take)"
        ))
    }
}

fn parsed(text: &str) -> Result<ast::Expr, String> {
    let parse = tritium_syntax::parse(text, PythonVersion::default());
    if let Some(error) = parse.errors().first() {
        return Err(format!("`{text}` is not an expression: {}", error.message));
    }
    let expression = parse.tree().syntax().descendants().find_map(ast::ExprStmt::cast).and_then(|s| s.expr());
    expression.ok_or_else(|| format!("`{text}` is not an expression"))
}

fn scalar(value: f64) -> Array {
    ArrayD::from_elem(IxDyn(&[]), value)
}

fn source(expr: &ast::Expr) -> String {
    expr.syntax().text().to_string()
}

fn eval(expr: &ast::Expr, names: &Names, at: At) -> Result<Array, String> {
    if at.depth > MAX_DEPTH {
        return Err("the expression is nested too deeply".to_owned());
    }
    let sub = |e: Option<ast::Expr>| eval(&e.ok_or_else(|| format!("`{}` is incomplete", source(expr)))?, names, at.inside());
    match expr {
        ast::Expr::ParenExpr(e) => sub(e.expr()),
        ast::Expr::NameExpr(e) => {
            let name = e.syntax().text().to_string();
            names.get(&name).cloned().ok_or_else(|| {
                let known: Vec<&str> = names.keys().map(String::as_str).collect();
                format!("`{name}` is neither a tensor nor a number of this launch (there are {})", known.join(", "))
            })
        }
        ast::Expr::LiteralExpr(_) => {
            number(&source(expr)).map(scalar).ok_or_else(|| format!("`{}` is not a number", source(expr)))
        }
        ast::Expr::UnaryExpr(e) => {
            let operand = sub(e.operand())?;
            match e.op() {
                Some(ast::UnaryOp::Neg) => Ok(-operand),
                Some(ast::UnaryOp::Pos) => Ok(operand),
                _ => Err(format!("`{}`: only + and - are supported", source(expr))),
            }
        }
        ast::Expr::BinaryExpr(e) => binary(at, e, sub(e.lhs())?, sub(e.rhs())?),
        ast::Expr::CompareExpr(e) => {
            let operands: Vec<ast::Expr> = e.exprs().collect();
            let (Some(a), Some(b), None) = (operands.first(), operands.get(1), operands.get(2)) else {
                return Err(format!("`{}`: one comparison at a time", source(expr)));
            };
            let (a, b) = (eval(a, names, at.inside())?, eval(b, names, at.inside())?);
            let test: fn(f64, f64) -> bool = match e.rest().first().and_then(|(op, _)| op.op()) {
                Some(ast::CompareOperator::Less) => |a, b| a < b,
                Some(ast::CompareOperator::LessEq) => |a, b| a <= b,
                Some(ast::CompareOperator::Greater) => |a, b| a > b,
                Some(ast::CompareOperator::GreaterEq) => |a, b| a >= b,
                Some(ast::CompareOperator::Eq) => |a, b| a == b,
                Some(ast::CompareOperator::NotEq) => |a, b| a != b,
                _ => return Err(format!("`{}`: unsupported comparison", source(expr))),
            };
            zip(at, &source(expr), &a, &b, |a, b| f64::from(u8::from(test(a, b))))
        }
        ast::Expr::AttributeExpr(e) => match e.name().map(|n| n.syntax().text().to_string()).as_deref() {
            Some("T") => Ok(sub(e.receiver())?.reversed_axes()),
            other => Err(format!("`.{}` is not supported in `expect`; only `.T` is", other.unwrap_or(""))),
        },
        ast::Expr::SubscriptExpr(e) => index(sub(e.receiver())?, &e.index().ok_or("missing index")?),
        ast::Expr::CallExpr(e) => call(e, names, at),
        _ => Err(format!("`{}` is not supported in `expect`", source(expr))),
    }
}

fn number(text: &str) -> Option<f64> {
    let plain = text.replace('_', "");
    match plain.as_str() {
        "True" => Some(1.0),
        "False" => Some(0.0),
        _ => plain.parse().ok(),
    }
}

fn zip(at: At, what: &str, a: &Array, b: &Array, f: impl Fn(f64, f64) -> f64) -> Result<Array, String> {
    let (a, b) = broadcast(at, what, a, b)?;
    Ok(Zip::from(&a).and(&b).map_collect(|&a, &b| f(a, b)))
}

/// Both as the shape that they have together, of which one value fits.
fn broadcast<'a>(at: At, what: &str, a: &'a Array, b: &'a Array) -> Result<(ArrayViewD<'a, f64>, ArrayViewD<'a, f64>), String> {
    let rank = a.ndim().max(b.ndim());
    let extent = |x: &Array, i: usize| (i + x.ndim()).checked_sub(rank).map_or(1, |i| x.shape()[i]);
    let mut shape = Vec::with_capacity(rank);
    for i in 0..rank {
        match (extent(a, i), extent(b, i)) {
            (x, y) if x == y => shape.push(x),
            (1, y) => shape.push(y),
            (x, 1) => shape.push(x),
            _ => return Err(format!("`{what}`: shapes {:?} and {:?} do not broadcast", a.shape(), b.shape())),
        }
    }
    at.fits(what, &shape)?;
    let message = || format!("`{what}`: shapes {:?} and {:?} do not broadcast", a.shape(), b.shape());
    Ok((a.broadcast(shape.clone()).ok_or_else(message)?, b.broadcast(shape).ok_or_else(message)?))
}

fn binary(at: At, e: &ast::BinaryExpr, a: Array, b: Array) -> Result<Array, String> {
    let what = e.syntax().text().to_string();
    let Some(op) = e.op() else { return Err(format!("`{what}` is incomplete")) };
    match op {
        ast::BinaryOp::Add => zip(at, &what, &a, &b, |a, b| a + b),
        ast::BinaryOp::Sub => zip(at, &what, &a, &b, |a, b| a - b),
        ast::BinaryOp::Mul => zip(at, &what, &a, &b, |a, b| a * b),
        ast::BinaryOp::Div => zip(at, &what, &a, &b, |a, b| a / b),
        ast::BinaryOp::FloorDiv => zip(at, &what, &a, &b, |a, b| (a / b).floor()),
        ast::BinaryOp::Mod => zip(at, &what, &a, &b, |a, b| a - b * (a / b).floor()),
        ast::BinaryOp::Pow => zip(at, &what, &a, &b, f64::powf),
        ast::BinaryOp::MatMul => matmul(at, &what, &a, &b),
        _ => Err(format!("`{what}`: this operator is not supported in `expect`")),
    }
}

fn matmul(at: At, what: &str, a: &Array, b: &Array) -> Result<Array, String> {
    let message = || format!("`{what}`: cannot multiply shapes {:?} and {:?}", a.shape(), b.shape());
    match (a.ndim(), b.ndim()) {
        (2, 2) if a.shape()[1] == b.shape()[0] => {
            at.fits(what, &[a.shape()[0], b.shape()[1]])?;
            let (a, b) = (a.view().into_dimensionality::<ndarray::Ix2>(), b.view().into_dimensionality::<ndarray::Ix2>());
            let (a, b) = (a.map_err(|_| message())?, b.map_err(|_| message())?);
            Ok(a.dot(&b).into_dyn())
        }
        (3, 3) if a.shape()[0] == b.shape()[0] && a.shape()[2] == b.shape()[1] => {
            at.fits(what, &[a.shape()[0], a.shape()[1], b.shape()[2]])?;
            let slices: Result<Vec<Array>, String> = (0..a.shape()[0])
                .map(|i| matmul(at, what, &a.index_axis(Axis(0), i).to_owned(), &b.index_axis(Axis(0), i).to_owned()))
                .collect();
            let slices = slices?;
            let views: Vec<_> = slices.iter().map(|s| s.view()).collect();
            ndarray::stack(Axis(0), &views).map_err(|_| message())
        }
        _ => Err(message()),
    }
}

/// Only `None` (a new axis of 1) and `:`.
fn index(value: Array, index: &ast::Expr) -> Result<Array, String> {
    let items: Vec<ast::Expr> = match index {
        ast::Expr::TupleExpr(t) => t.exprs().collect(),
        other => vec![other.clone()],
    };
    let mut value = value;
    for (axis, item) in items.iter().enumerate() {
        match source(item).trim() {
            "None" if axis <= value.ndim() => value = value.insert_axis(Axis(axis)),
            ":" => {}
            other => return Err(format!("index `{other}` is not supported in `expect`; `None` and `:` are")),
        }
    }
    Ok(value)
}

/// A function's arguments after evaluation.
struct Call {
    name: String,
    positional: Vec<Array>,
    keywords: IndexMap<String, Array>,
}

impl Call {
    fn take(&mut self, position: usize, name: &str) -> Option<Array> {
        self.keywords.shift_remove(name).or_else(|| self.positional.get(position).cloned())
    }

    fn need(&mut self, position: usize, name: &str) -> Result<Array, String> {
        self.take(position, name).ok_or_else(|| format!("`{}` needs `{name}`", self.name))
    }

    fn number(&mut self, position: usize, name: &str) -> Result<Option<f64>, String> {
        let Some(value) = self.take(position, name) else { return Ok(None) };
        if value.len() == 1 { Ok(value.iter().next().copied()) } else { Err(format!("`{name}` of `{}` is a number", self.name)) }
    }

    /// The axis counted from the front, `None` for all.
    fn axis(&mut self, rank: usize) -> Result<Option<usize>, String> {
        let Some(axis) = self.number(1, "axis")? else { return Ok(None) };
        let from_front = if axis < 0.0 { axis + rank as f64 } else { axis };
        if from_front >= 0.0 && from_front < rank as f64 {
            Ok(Some(from_front as usize))
        } else {
            Err(format!("axis {axis} of `{}` is out of range for {rank} dimension(s)", self.name))
        }
    }
}

fn call(e: &ast::CallExpr, names: &Names, at: At) -> Result<Array, String> {
    let name = match e.callee() {
        Some(ast::Expr::NameExpr(n)) => n.syntax().text().to_string(),
        _ => return Err(format!("`{}`: functions are called by name in `expect`", e.syntax().text())),
    };
    let mut call = Call { name, positional: Vec::new(), keywords: IndexMap::new() };
    for arg in e.arg_list().into_iter().flat_map(|list| list.args()) {
        let value = eval(&arg.value().ok_or("missing argument")?, names, at.inside())?;
        match arg.name() {
            Some(keyword) => drop(call.keywords.insert(keyword.syntax().text().to_string(), value)),
            None => call.positional.push(value),
        }
    }
    if let Some((_, f)) = MAPS.iter().find(|(n, _)| *n == call.name) {
        return Ok(call.need(0, "x")?.mapv(f));
    }
    if let Some((_, f)) = FOLDS.iter().find(|(n, _)| *n == call.name) {
        let x = call.need(0, "x")?;
        let axis = call.axis(x.ndim())?;
        let keep = call.number(2, "keepdims")?.is_some_and(|k| k != 0.0);
        return Ok(fold(&x, axis, keep, *f));
    }
    match call.name.as_str() {
        "maximum" | "minimum" => {
            let (a, b) = (call.need(0, "x")?, call.need(1, "y")?);
            zip(at, &call.name, &a, &b, if call.name == "maximum" { f64::max } else { f64::min })
        }
        "where" => {
            let (condition, a, b) = (call.need(0, "condition")?, call.need(1, "x")?, call.need(2, "y")?);
            let chosen = zip(at, "where", &condition, &a, |c, a| if c != 0.0 { a } else { 0.0 })?;
            let other = zip(at, "where", &condition, &b, |c, b| if c != 0.0 { 0.0 } else { b })?;
            // One of the two is exactly zero, so an infinity or NaN in the branch not taken does not leak.
            zip(at, "where", &chosen, &other, |a, b| if b == 0.0 { a } else { b })
        }
        "matmul" => {
            let (a, b) = (call.need(0, "a")?, call.need(1, "b")?);
            matmul(at, "matmul", &a, &b)
        }
        "softmax" | "log_softmax" => {
            let x = call.need(0, "x")?;
            let axis = call.axis(x.ndim())?.ok_or_else(|| format!("`{}` needs `axis`", call.name))?;
            let shifted = zip(at, &call.name, &x, &fold(&x, Some(axis), true, maximum), |x, m| x - m)?;
            let total = fold(&shifted.mapv(f64::exp), Some(axis), true, sum);
            if call.name == "softmax" {
                zip(at, "softmax", &shifted, &total, |z, t| z.exp() / t)
            } else {
                zip(at, "log_softmax", &shifted, &total, |z, t| z - t.ln())
            }
        }
        "layer_norm" | "rms_norm" => {
            let x = call.need(0, "x")?;
            let last = x.ndim().checked_sub(1).ok_or("a norm needs at least one dimension")?;
            let eps = call.number(3, "eps")?.unwrap_or(1e-5);
            let center = call.name == "layer_norm";
            let mean = if center { fold(&x, Some(last), true, mean) } else { scalar(0.0) };
            let centered = zip(at, &call.name, &x, &mean, |x, m| x - m)?;
            let variance = fold(&centered.mapv(|x| x * x), Some(last), true, self::mean);
            let mut y = zip(at, &call.name, &centered, &variance, |x, v| x / (v + eps).sqrt())?;
            if let Some(weight) = call.take(1, "weight") {
                y = zip(at, &call.name, &y, &weight, |y, w| y * w)?;
            }
            if let Some(bias) = call.take(2, "bias") {
                y = zip(at, &call.name, &y, &bias, |y, b| y + b)?;
            }
            Ok(y)
        }
        other => {
            let known: Vec<&str> =
                MAPS.iter().map(|m| m.0).chain(FOLDS.iter().map(|f| f.0)).chain(OTHERS.iter().copied()).collect();
            Err(format!("`{other}` is not a function of `expect`; there are {}", known.join(", ")))
        }
    }
}

const OTHERS: &[&str] = &["maximum", "minimum", "where", "matmul", "softmax", "log_softmax", "layer_norm", "rms_norm"];

type Map = (&'static str, fn(f64) -> f64);

const MAPS: &[Map] = &[
    ("exp", f64::exp),
    ("exp2", f64::exp2),
    ("log", f64::ln),
    ("log2", f64::log2),
    ("sqrt", f64::sqrt),
    ("rsqrt", |x| 1.0 / x.sqrt()),
    ("abs", f64::abs),
    ("sin", f64::sin),
    ("cos", f64::cos),
    ("tanh", f64::tanh),
    ("erf", libm::erf),
    ("floor", f64::floor),
    ("ceil", f64::ceil),
    ("sigmoid", |x| 1.0 / (1.0 + (-x).exp())),
    ("relu", |x| x.max(0.0)),
    ("silu", |x| x / (1.0 + (-x).exp())),
    ("gelu", |x| 0.5 * x * (1.0 + libm::erf(x * std::f64::consts::FRAC_1_SQRT_2))),
];

type Fold = (&'static str, fn(&[f64]) -> f64);

const FOLDS: &[Fold] = &[("sum", sum), ("mean", mean), ("max", maximum), ("min", minimum), ("var", variance), ("argmax", argmax)];

fn sum(x: &[f64]) -> f64 {
    x.iter().sum()
}

fn mean(x: &[f64]) -> f64 {
    sum(x) / x.len() as f64
}

fn maximum(x: &[f64]) -> f64 {
    x.iter().copied().fold(f64::NEG_INFINITY, f64::max)
}

fn minimum(x: &[f64]) -> f64 {
    x.iter().copied().fold(f64::INFINITY, f64::min)
}

fn variance(x: &[f64]) -> f64 {
    let m = mean(x);
    x.iter().map(|x| (x - m) * (x - m)).sum::<f64>() / x.len() as f64
}

fn argmax(x: &[f64]) -> f64 {
    let best = maximum(x);
    x.iter().position(|&v| v == best).unwrap_or(0) as f64
}

fn fold(x: &Array, axis: Option<usize>, keep: bool, f: fn(&[f64]) -> f64) -> Array {
    match axis {
        None => scalar(f(&x.iter().copied().collect::<Vec<f64>>())),
        Some(axis) => {
            let folded = x.map_axis(Axis(axis), |lane| f(&lane.iter().copied().collect::<Vec<f64>>()));
            if keep { folded.insert_axis(Axis(axis)) } else { folded }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names() -> Names {
        let x = ArrayD::from_shape_vec(IxDyn(&[2, 3]), vec![1.0, 2.0, 3.0, 0.0, 0.0, 0.0]).expect("six elements");
        Names::from([("X".to_owned(), x), ("n".to_owned(), scalar(3.0))])
    }

    fn value(text: &str) -> String {
        match evaluate(text, &names(), 80) {
            Ok(array) => format!("{:?} {:.4?}", array.shape(), array.iter().collect::<Vec<_>>()),
            Err(message) => format!("error: {message}"),
        }
    }

    #[test]
    fn values() {
        for (text, expected) in [
            ("X + n", "[2, 3] [4.0000, 5.0000, 6.0000, 3.0000, 3.0000, 3.0000]"),
            ("-X[0:1]", "error: index `0:1` is not supported in `expect`; `None` and `:` are"),
            ("softmax(X, axis=1)", "[2, 3] [0.0900, 0.2447, 0.6652, 0.3333, 0.3333, 0.3333]"),
            ("X @ X.T", "[2, 2] [14.0000, 0.0000, 0.0000, 0.0000]"),
            ("sum(X, axis=0) / 2", "[3] [0.5000, 1.0000, 1.5000]"),
            ("max(X)", "[] [3.0000]"),
            ("where(X > 1, X, -1)", "[2, 3] [-1.0000, 2.0000, 3.0000, -1.0000, -1.0000, -1.0000]"),
            ("layer_norm(X, eps=0.5)", "[2, 3] [-0.9258, 0.0000, 0.9258, 0.0000, 0.0000, 0.0000]"),
            (
                "X[:, :, None] + X[:, None]",
                "error: `X[:, :, None] + X[:, None]` has shape [2, 3, 3] and takes 144 bytes; 80 bytes are left for it (`--memory` sets how much a run may take)",
            ),
            ("Z", "error: `Z` is neither a tensor nor a number of this launch (there are X, n)"),
            ("softmax(X, axis=2)", "error: axis 2 of `softmax` is out of range for 2 dimension(s)"),
            ("X @ X", "error: `X @ X`: cannot multiply shapes [2, 3] and [2, 3]"),
        ] {
            assert_eq!(value(text), expected, "{text}");
        }
    }
}
