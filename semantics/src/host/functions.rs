//! PyTorch's functions of what tensors hold, in terms of the few operations of a [`Program`](crate::program::Program).
//!
//! A function, a method and an operator are one row: `torch.exp(x)`, `x.exp()`, `torch.nn.functional.relu(x)`. **Invariant:** the shape and
//! dtype are PyTorch's; a form that is not followed is `None`.

use super::{
    contents::{expanded, inserted, narrowed, permuted},
    device,
    interpret::Host,
    torch::{Args, axis, is_countable, promote},
    value::{TensorValue, Value},
};
use crate::{
    constant::Const,
    dtype::DType,
    program::{Binary, Reduce, Scan, Unary},
};

/// Functions that are one operation.
const UNARY: &[(&str, Unary)] = &[
    ("neg", Unary::Neg),
    ("negative", Unary::Neg),
    ("abs", Unary::Abs),
    ("absolute", Unary::Abs),
    ("sign", Unary::Sign),
    ("exp", Unary::Exp),
    ("exp2", Unary::Exp2),
    ("log", Unary::Log),
    ("log2", Unary::Log2),
    ("sqrt", Unary::Sqrt),
    ("sin", Unary::Sin),
    ("cos", Unary::Cos),
    ("tan", Unary::Tan),
    ("asin", Unary::Asin),
    ("arcsin", Unary::Asin),
    ("acos", Unary::Acos),
    ("arccos", Unary::Acos),
    ("atan", Unary::Atan),
    ("arctan", Unary::Atan),
    ("sinh", Unary::Sinh),
    ("cosh", Unary::Cosh),
    ("tanh", Unary::Tanh),
    ("erf", Unary::Erf),
    ("special.erf", Unary::Erf),
    ("sigmoid", Unary::Sigmoid),
    ("special.expit", Unary::Sigmoid),
    ("floor", Unary::Floor),
    ("ceil", Unary::Ceil),
    ("round", Unary::Round),
    ("trunc", Unary::Trunc),
    ("logical_not", Unary::Not),
    ("isnan", Unary::IsNan),
    ("isinf", Unary::IsInf),
];

const BINARY: &[(&str, Binary)] = &[
    ("add", Binary::Add),
    ("sub", Binary::Sub),
    ("subtract", Binary::Sub),
    ("mul", Binary::Mul),
    ("multiply", Binary::Mul),
    ("div", Binary::Div),
    ("divide", Binary::Div),
    ("true_divide", Binary::Div),
    ("floor_divide", Binary::FloorDiv),
    ("remainder", Binary::Remainder),
    ("pow", Binary::Pow),
    ("maximum", Binary::Maximum),
    ("minimum", Binary::Minimum),
    ("lt", Binary::Less),
    ("less", Binary::Less),
    ("le", Binary::LessEqual),
    ("less_equal", Binary::LessEqual),
    ("eq", Binary::Equal),
    ("ne", Binary::NotEqual),
    ("not_equal", Binary::NotEqual),
    ("logical_and", Binary::And),
    ("bitwise_and", Binary::And),
    ("logical_or", Binary::Or),
    ("bitwise_or", Binary::Or),
    ("logical_xor", Binary::Xor),
    ("bitwise_xor", Binary::Xor),
];

/// Those whose result has the shape of their tensor even where their other arguments are not known.
const SHAPED_AS_INPUT: &[&str] = &["clamp", "softmax", "log_softmax", "layer_norm", "rms_norm", "dropout", "cumsum"];

/// Those that a `_` behind makes change their tensor: `x.add_(y)`.
const IN_PLACE: &[&str] = &[
    "add_",
    "sub_",
    "mul_",
    "div_",
    "exp_",
    "neg_",
    "abs_",
    "sqrt_",
    "relu_",
    "sigmoid_",
    "tanh_",
    "clamp_",
    "masked_fill_",
    "pow_",
];

impl Host<'_> {
    /// `torch.<name>(…)`, `torch.nn.functional.<name>(…)`, or a method with its tensor as first argument.
    pub(super) fn array_function(&mut self, name: &str, args: &Args) -> Option<Value> {
        let name = name.strip_prefix("nn.functional.").or(name.strip_prefix("linalg.")).unwrap_or(name);
        if let Some(value) = self.of_many(name, args) {
            return Some(value);
        }
        let Value::Tensor(x) = args.get(0, "input")? else {
            return match args.get(0, "input")?.as_float() {
                // `torch.maximum(1, x)` is no function, but `1 / x` is.
                Some(_) => self.two(name, args),
                None => None,
            };
        };
        let x = x.clone();
        if let Some(name) = name.strip_suffix('_').filter(|_| IN_PLACE.contains(&name)) {
            let Value::Tensor(made) = self.array_function(name, args)? else { return None };
            self.store(&x, &made);
            return Some(Value::Tensor(x));
        }
        if let Some((_, f)) = UNARY.iter().find(|(other, _)| *other == name) {
            return Some(Value::Tensor(self.unary(*f, &x)));
        }
        if let Some(value) = self.two(name, args) {
            return Some(value);
        }
        let made =
            self.pointwise(name, &x, args).or_else(|| self.normalised(name, &x, args)).or_else(|| self.arranged(name, &x, args));
        match made {
            Some(made) => Some(Value::Tensor(made)),
            None => self.divided(name, &x, args).or_else(|| self.reduced(name, &x, args)).or_else(|| {
                let made = self.computed(x.dtype, x.shape.clone(), None).on_cpu(x.on_cpu);
                SHAPED_AS_INPUT.contains(&name).then_some(Value::Tensor(made))
            }),
        }
    }

    /// A tensor, or a number as a tensor of the dtype that it has beside `other`.
    fn operand(&mut self, value: &Value, other: DType) -> Option<TensorValue> {
        match value {
            Value::Tensor(t) => Some(t.clone()),
            Value::Const(Const::Float(x)) => {
                let dtype = if other.is_float() { other } else { DType::F32 };
                Some(self.number(x.get(), dtype))
            }
            Value::Const(Const::Bool(b)) => Some(self.number(f64::from(u8::from(*b)), DType::I1)),
            Value::Const(Const::Int(i)) => {
                let dtype = if other == DType::I1 { DType::I64 } else { other };
                Some(self.number(*i as f64, dtype))
            }
            _ => None,
        }
    }

    fn two(&mut self, name: &str, args: &Args) -> Option<Value> {
        let (_, f) = BINARY.iter().find(|(other, _)| *other == name)?;
        let (a, b) = (args.get(0, "input")?, args.get(1, "other").or_else(|| args.keyword("exponent"))?);
        let made = self.binary_values(*f, a, b)?;
        let scaled = match (name, args.keyword("alpha")) {
            ("add" | "sub", Some(alpha)) => {
                let by = self.binary_values(Binary::Mul, b, alpha)?;
                return self.binary_values(*f, a, &by);
            }
            _ => made,
        };
        match args.keyword("rounding_mode") {
            Some(Value::Const(Const::Str(mode))) if mode == "floor" => self.binary_values(Binary::FloorDiv, a, b),
            Some(_) => None,
            None => Some(scaled),
        }
    }

    pub(super) fn binary_values(&mut self, f: Binary, a: &Value, b: &Value) -> Option<Value> {
        let dtype_of = |value: &Value| match value {
            Value::Tensor(t) => Some(t.dtype),
            _ => None,
        };
        let like = dtype_of(a).or(dtype_of(b))?;
        let (x, y) = (self.operand(a, like)?, self.operand(b, like)?);
        let weak =
            |value: &Value, own: DType| !matches!(value, Value::Tensor(_)) && (own.is_float() == like.is_float() || own.is_int());
        let dtype = if weak(a, x.dtype) {
            y.dtype
        } else if weak(b, y.dtype) {
            x.dtype
        } else {
            promote(x.dtype, y.dtype)
        };
        self.binary_as(f, &x, &y, dtype).map(Value::Tensor)
    }

    /// Element by element, in more than one step.
    fn pointwise(&mut self, name: &str, x: &TensorValue, args: &Args) -> Option<TensorValue> {
        let dtype = x.dtype;
        let n = |host: &mut Self, value: f64| host.number(value, dtype);
        Some(match name {
            "relu" => {
                let zero = n(self, 0.0);
                self.binary_of(Binary::Maximum, x, &zero)?
            }
            "leaky_relu" => {
                let slope = n(self, args.float(1, "negative_slope", 0.01)?);
                let (zero, scaled) = (n(self, 0.0), self.binary_of(Binary::Mul, x, &slope)?);
                let below = self.binary_of(Binary::Less, x, &zero)?;
                self.select(&below, &scaled, x)?
            }
            "square" => self.binary_of(Binary::Mul, x, x)?,
            "reciprocal" => {
                let one = n(self, 1.0);
                self.binary_of(Binary::Div, &one, x)?
            }
            "rsqrt" => {
                let (one, root) = (n(self, 1.0), self.unary(Unary::Sqrt, x));
                self.binary_of(Binary::Div, &one, &root)?
            }
            "log1p" => {
                let one = n(self, 1.0);
                let sum = self.binary_of(Binary::Add, x, &one)?;
                self.unary(Unary::Log, &sum)
            }
            "expm1" => {
                let (one, e) = (n(self, 1.0), self.unary(Unary::Exp, x));
                self.binary_of(Binary::Sub, &e, &one)?
            }
            "silu" => {
                let s = self.unary(Unary::Sigmoid, x);
                self.binary_of(Binary::Mul, x, &s)?
            }
            "logsigmoid" => {
                let s = self.unary(Unary::Sigmoid, x);
                self.unary(Unary::Log, &s)
            }
            "softplus" => {
                let (one, e) = (n(self, 1.0), self.unary(Unary::Exp, x));
                let sum = self.binary_of(Binary::Add, &e, &one)?;
                self.unary(Unary::Log, &sum)
            }
            "gelu" => self.gelu(x, args)?,
            "clamp" | "clip" => {
                let mut out = x.clone();
                for (index, bound, f) in [(1, "min", Binary::Maximum), (2, "max", Binary::Minimum)] {
                    let Some(limit) = args.get(index, bound).filter(|limit| !limit.is_none()) else { continue };
                    let limit = self.operand(limit, dtype)?;
                    out = self.binary_as(f, &out, &limit, dtype)?;
                }
                out
            }
            "masked_fill" => {
                let Value::Tensor(mask) = args.get(1, "mask")? else { return None };
                let mask = mask.clone();
                let fill = args.get(2, "value")?.as_float()?;
                let fill = n(self, fill);
                self.select(&mask, &fill, x)?
            }
            "where" => {
                let (a, b) = (args.get(1, "self")?, args.get(2, "other")?);
                let like = [a, b].iter().find_map(|v| if let Value::Tensor(t) = v { Some(t.dtype) } else { None });
                let like = like.unwrap_or(DType::F32);
                let (a, b) = (self.operand(a, like)?, self.operand(b, like)?);
                self.select(x, &a, &b)?
            }
            "lerp" => {
                let Value::Tensor(end) = args.get(1, "end")? else { return None };
                let (end, weight) = (end.clone(), self.operand(args.get(2, "weight")?, dtype)?);
                let delta = self.binary_of(Binary::Sub, &end, x)?;
                let part = self.binary_of(Binary::Mul, &delta, &weight)?;
                self.binary_of(Binary::Add, x, &part)?
            }
            _ => return None,
        })
    }

    fn gelu(&mut self, x: &TensorValue, args: &Args) -> Option<TensorValue> {
        let n = |host: &mut Self, value: f64| host.number(value, x.dtype);
        let (half, one) = (n(self, 0.5), n(self, 1.0));
        let exact = args.keyword("approximate").is_none_or(|how| how.to_const() == Some(Const::Str("none".into())));
        let inner = match exact {
            true => {
                let scale = n(self, std::f64::consts::FRAC_1_SQRT_2);
                let scaled = self.binary_of(Binary::Mul, x, &scale)?;
                self.unary(Unary::Erf, &scaled)
            }
            false => {
                let (cubic, scale) = (n(self, 0.044715), n(self, (2.0 / std::f64::consts::PI).sqrt()));
                let square = self.binary_of(Binary::Mul, x, x)?;
                let cube = self.binary_of(Binary::Mul, &square, x)?;
                let cube = self.binary_of(Binary::Mul, &cube, &cubic)?;
                let sum = self.binary_of(Binary::Add, x, &cube)?;
                let scaled = self.binary_of(Binary::Mul, &sum, &scale)?;
                self.unary(Unary::Tanh, &scaled)
            }
        };
        let sum = self.binary_of(Binary::Add, &inner, &one)?;
        let half_x = self.binary_of(Binary::Mul, x, &half)?;
        self.binary_of(Binary::Mul, &half_x, &sum)
    }

    fn softmax(&mut self, x: &TensorValue, at: usize) -> Option<TensorValue> {
        let z = self.shifted(x, at)?;
        let e = self.unary(Unary::Exp, &z);
        let total = self.reduce(Reduce::Sum, &e, &[at], true);
        self.binary_of(Binary::Div, &e, &total)
    }

    /// `x` less its maximum, so that no exponential overflows.
    fn shifted(&mut self, x: &TensorValue, at: usize) -> Option<TensorValue> {
        let most = self.reduce(Reduce::Max, x, &[at], true);
        self.binary_of(Binary::Sub, x, &most)
    }

    fn log_softmax(&mut self, x: &TensorValue, at: usize) -> Option<TensorValue> {
        let z = self.shifted(x, at)?;
        let e = self.unary(Unary::Exp, &z);
        let total = self.reduce(Reduce::Sum, &e, &[at], true);
        let log = self.unary(Unary::Log, &total);
        self.binary_of(Binary::Sub, &z, &log)
    }

    fn mean(&mut self, x: &TensorValue, axes: &[usize], keep: bool) -> Option<TensorValue> {
        let count: u64 = axes.iter().map(|&a| x.shape[a]).product();
        let sum = self.reduce(Reduce::Sum, x, axes, keep);
        let count = self.number(count as f64, sum.dtype);
        self.binary_of(Binary::Div, &sum, &count)
    }

    /// With `correction` elements less in the divisor.
    fn variance(&mut self, x: &TensorValue, axes: &[usize], keep: bool, correction: f64) -> Option<TensorValue> {
        let count: u64 = axes.iter().map(|&a| x.shape[a]).product();
        let mean = self.mean(x, axes, true)?;
        let centered = self.binary_of(Binary::Sub, x, &mean)?;
        let square = self.binary_of(Binary::Mul, &centered, &centered)?;
        let sum = self.reduce(Reduce::Sum, &square, axes, keep);
        let count = self.number(count as f64 - correction, sum.dtype);
        self.binary_of(Binary::Div, &sum, &count)
    }

    /// Functions of rows.
    fn normalised(&mut self, name: &str, x: &TensorValue, args: &Args) -> Option<TensorValue> {
        let rank = x.shape.len();
        let dim = |index: usize| args.get(index, "dim").or_else(|| args.keyword("axis")).and_then(|dim| axis(dim, rank));
        Some(match name {
            "softmax" => {
                let cast = args.keyword("dtype").and_then(Value::as_dtype);
                let x = cast.map_or_else(|| x.clone(), |dtype| self.copy(x, dtype));
                self.softmax(&x, dim(1)?)?
            }
            "log_softmax" => self.log_softmax(x, dim(1)?)?,
            "layer_norm" | "rms_norm" => {
                let axes = Value::as_shape(std::slice::from_ref(args.get(1, "normalized_shape")?))?.len();
                let axes: Vec<usize> = (rank.checked_sub(axes)?..rank).collect();
                let eps_default = if name == "layer_norm" { 1e-5 } else { f64::from(f32::EPSILON) };
                let index = if name == "layer_norm" { 4 } else { 3 };
                let eps = args.get(index, "eps").filter(|eps| !eps.is_none()).map_or(Some(eps_default), Value::as_float)?;
                let (mut y, spread) = if name == "layer_norm" {
                    let mean = self.mean(x, &axes, true)?;
                    (self.binary_of(Binary::Sub, x, &mean)?, self.variance(x, &axes, true, 0.0)?)
                } else {
                    let square = self.binary_of(Binary::Mul, x, x)?;
                    (x.clone(), self.mean(&square, &axes, true)?)
                };
                let eps = self.number(eps, spread.dtype);
                let sum = self.binary_of(Binary::Add, &spread, &eps)?;
                let root = self.unary(Unary::Sqrt, &sum);
                y = self.binary_of(Binary::Div, &y, &root)?;
                if let Some(Value::Tensor(weight)) = args.get(2, "weight") {
                    y = self.binary_of(Binary::Mul, &y, &weight.clone())?;
                }
                if let Some(Value::Tensor(bias)) = args.get(3, "bias").filter(|_| name == "layer_norm") {
                    y = self.binary_of(Binary::Add, &y, &bias.clone())?;
                }
                y
            }
            "group_norm" => {
                let groups = u64::try_from(args.get(1, "num_groups")?.as_int()?).ok().filter(|&n| n > 0)?;
                let [images, channels] = x.shape.get(..2)? else { return None };
                (channels % groups == 0).then_some(())?;
                let each = x.numel().checked_div(images * groups)?;
                let rows = self.reshaped(x, vec![*images, groups, each]);
                let (mean, spread) = (self.mean(&rows, &[2], true)?, self.variance(&rows, &[2], true, 0.0)?);
                let eps = self.number(args.float(4, "eps", 1e-5)?, spread.dtype);
                let sum = self.binary_of(Binary::Add, &spread, &eps)?;
                let root = self.unary(Unary::Sqrt, &sum);
                let centered = self.binary_of(Binary::Sub, &rows, &mean)?;
                let normal = self.binary_of(Binary::Div, &centered, &root)?;
                let mut y = self.reshaped(&normal, x.shape.clone());
                for (index, name, f) in [(2, "weight", Binary::Mul), (3, "bias", Binary::Add)] {
                    if let Some(Value::Tensor(by)) = args.get(index, name) {
                        let mut shape = vec![1; rank];
                        shape[1] = *channels;
                        let by = self.reshaped(&by.clone(), shape);
                        y = self.binary_of(f, &y, &by)?;
                    }
                }
                y
            }
            "normalize" => {
                let at = args.get(2, "dim").map_or(Some(1), |dim| axis(dim, rank))?;
                let square = self.binary_of(Binary::Mul, x, x)?;
                let sum = self.reduce(Reduce::Sum, &square, &[at], true);
                let norm = self.unary(Unary::Sqrt, &sum);
                let least = self.number(args.float(3, "eps", 1e-12)?, x.dtype);
                let norm = self.binary_of(Binary::Maximum, &norm, &least)?;
                self.binary_of(Binary::Div, x, &norm)?
            }
            "norm" | "vector_norm" => {
                let order = args.get(1, "p").or_else(|| args.keyword("ord")).map_or(Some(2.0), Value::as_float)?;
                let axes = match args.get(2, "dim") {
                    None => (0..rank).collect(),
                    Some(dim) => vec![axis(dim, rank)?],
                };
                (order == 2.0).then_some(())?;
                let square = self.binary_of(Binary::Mul, x, x)?;
                let keep = args.keyword("keepdim").is_some_and(|k| k.truth() == Some(true));
                let sum = self.reduce(Reduce::Sum, &square, &axes, keep);
                self.unary(Unary::Sqrt, &sum)
            }
            "cumsum" => self.scan(Scan::Sum, x, dim(1)?),
            "cumprod" => self.scan(Scan::Prod, x, dim(1)?),
            "logcumsumexp" => {
                let e = self.unary(Unary::Exp, x);
                let sum = self.scan(Scan::Sum, &e, dim(1)?);
                self.unary(Unary::Log, &sum)
            }
            "argsort" => {
                let at = dim(1).unwrap_or(rank.checked_sub(1)?);
                let descending = args.get(2, "descending").is_some_and(|value| value.truth() == Some(true));
                self.argsort(x, at, descending)
            }
            "cross_entropy" => {
                let Value::Tensor(target) = args.get(1, "target")? else { return None };
                let target = target.clone();
                if rank != 2
                    || target.shape.len() != 1
                    || args.keyword("label_smoothing").is_some()
                    || args.keyword("weight").is_some()
                {
                    return None;
                }
                let log = self.log_softmax(x, 1)?;
                let picked = self.take(&log, 1, &inserted(&target, 1))?;
                let loss = self.unary(Unary::Neg, &picked);
                let loss = self.reshaped(&loss, vec![x.shape[0]]);
                match args.keyword("reduction").map(Value::to_const) {
                    None => self.mean(&loss, &[0], false)?,
                    Some(Some(Const::Str(how))) if how == "none" => loss,
                    Some(Some(Const::Str(how))) if how == "mean" => self.mean(&loss, &[0], false)?,
                    Some(Some(Const::Str(how))) if how == "sum" => self.reduce(Reduce::Sum, &loss, &[0], false),
                    _ => return None,
                }
            }
            "scaled_dot_product_attention" => self.attention(x, args)?,
            _ => return None,
        })
    }

    fn attention(&mut self, q: &TensorValue, args: &Args) -> Option<TensorValue> {
        let (Value::Tensor(k), Value::Tensor(v)) = (args.get(1, "key")?, args.get(2, "value")?) else { return None };
        let (k, v) = (k.clone(), v.clone());
        let rank = k.shape.len();
        if rank < 2 || args.get(3, "attn_mask").is_some_and(|mask| !mask.is_none()) || args.keyword("enable_gqa").is_some() {
            return None;
        }
        let order: Vec<usize> = (0..rank - 2).chain([rank - 1, rank - 2]).collect();
        let scores = self.matmul(q, &permuted(&k, &order))?;
        let default = 1.0 / (*q.shape.last()? as f64).sqrt();
        let scale = args.keyword("scale").filter(|s| !s.is_none()).map_or(Some(default), Value::as_float)?;
        let scale = self.number(scale, scores.dtype);
        let mut scores = self.binary_of(Binary::Mul, &scores, &scale)?;
        if args.get(5, "is_causal").is_some_and(|causal| causal.truth() == Some(true)) {
            let above = self.triangle(&scores.shape[scores.shape.len() - 2..], 1, true)?;
            let least = self.number(f64::NEG_INFINITY, scores.dtype);
            scores = self.select(&above, &least, &scores)?;
        }
        let p = self.softmax(&scores, scores.shape.len() - 1)?;
        self.matmul(&p, &v)
    }

    /// Where columns lie on or above a diagonal of a matrix; or below it.
    fn triangle(&mut self, shape: &[u64], diagonal: i128, above: bool) -> Option<TensorValue> {
        let &[rows, cols] = shape else { return None };
        let (i, j) = (self.counted(rows), self.counted(cols));
        let shift = self.number(diagonal as f64, DType::I64);
        let i = self.binary_of(Binary::Add, &inserted(&i, 1), &shift)?;
        let j = inserted(&j, 0);
        if above { self.binary_of(Binary::LessEqual, &i, &j) } else { self.binary_of(Binary::LessEqual, &j, &i) }
    }

    /// The same elements elsewhere.
    fn arranged(&mut self, name: &str, x: &TensorValue, args: &Args) -> Option<TensorValue> {
        let rank = x.shape.len();
        let rest = || {
            let given: Vec<Value> = args.positional.iter().skip(1).cloned().collect();
            match &given[..] {
                [one @ (Value::Tuple(_) | Value::List(_))] => one.items(),
                _ => Some(given),
            }
        };
        let sizes = || rest()?.iter().map(Value::as_int).collect::<Option<Vec<i128>>>();
        let dim = |index: usize| args.get(index, "dim").and_then(|dim| axis(dim, rank));
        Some(match name {
            "squeeze" => {
                let keep = |a: &usize| match args.get(1, "dim") {
                    None => x.shape[*a] != 1,
                    Some(_) => dim(1) != Some(*a) || x.shape[*a] != 1,
                };
                permuted(x, &(0..rank).filter(keep).collect::<Vec<_>>())
            }
            "expand" | "broadcast_to" => {
                let sizes = sizes()?;
                let missing = sizes.len().checked_sub(rank)?;
                let extent = |(a, &size): (usize, &i128)| {
                    if size == -1 { x.shape.get(a.checked_sub(missing)?).copied() } else { u64::try_from(size).ok() }
                };
                let shape: Vec<u64> = sizes.iter().enumerate().map(extent).collect::<Option<_>>()?;
                expanded(x, &shape)?
            }
            "expand_as" => {
                let Value::Tensor(other) = args.get(1, "other")? else { return None };
                expanded(x, &other.shape)?
            }
            "view_as" | "reshape_as" => {
                let Value::Tensor(other) = args.get(1, "other")? else { return None };
                let shape = other.shape.clone();
                (x.numel() == other.numel()).then(|| self.reshaped(x, shape))?
            }
            "flatten" => {
                let from = args.get(1, "start_dim").map_or(Some(0), |d| axis(d, rank))?;
                let to = args.get(2, "end_dim").map_or(rank.checked_sub(1), |d| axis(d, rank))?;
                let merged = x.shape.get(from..=to)?.iter().product();
                let shape = [&x.shape[..from], &[merged], &x.shape[to + 1..]].concat();
                self.reshaped(x, shape)
            }
            "unflatten" => {
                let at = dim(1)?;
                let sizes = Value::as_shape(std::slice::from_ref(args.get(2, "sizes")?))?;
                (sizes.iter().product::<u64>() == x.shape[at]).then_some(())?;
                let shape = [&x.shape[..at], &sizes, &x.shape[at + 1..]].concat();
                self.reshaped(x, shape)
            }
            "narrow" => {
                let (at, from, len) = (dim(1)?, args.get(2, "start")?.as_int()?, args.get(3, "length")?.as_int()?);
                let (from, len) = (u64::try_from(from).ok()?, u64::try_from(len).ok()?);
                (from.checked_add(len)? <= x.shape[at]).then(|| narrowed(x, at, from, len))?
            }
            "select" => {
                let at = dim(1)?;
                let index = args.get(2, "index")?.as_int()?;
                let index = if index < 0 { index + i128::from(x.shape[at]) } else { index };
                let index = u64::try_from(index).ok().filter(|&i| i < x.shape[at])?;
                let one = narrowed(x, at, index, 1);
                permuted(&one, &(0..rank).filter(|&a| a != at).collect::<Vec<_>>())
            }
            "repeat" => {
                let times = sizes()?;
                let missing = times.len().checked_sub(rank)?;
                let times: Vec<u64> = times.iter().map(|&n| u64::try_from(n).ok()).collect::<Option<_>>()?;
                // Each axis behind one that says how often.
                let (mut shape, mut strides, mut merged) = (vec![], vec![], vec![]);
                for (a, &n) in times.iter().enumerate() {
                    let (extent, stride) = a.checked_sub(missing).map_or((1, 0), |own| (x.shape[own], x.strides[own]));
                    shape.extend([n, extent]);
                    strides.extend([0, stride]);
                    merged.push(n.checked_mul(extent)?);
                }
                is_countable(&merged).then_some(())?;
                let wide = x.view(shape, strides, x.offset);
                self.reshaped(&wide, merged)
            }
            "repeat_interleave" => {
                let (n, at) = (u64::try_from(args.get(1, "repeats")?.as_int()?).ok()?, dim(2)?);
                let mut wide = inserted(x, at + 1);
                wide.shape[at + 1] = n;
                wide.strides[at + 1] = 0;
                let mut merged = x.shape.clone();
                merged[at] = merged[at].checked_mul(n)?;
                is_countable(&merged).then_some(())?;
                self.reshaped(&wide, merged)
            }
            "tril" | "triu" => {
                let diagonal = args.get(1, "diagonal").map_or(Some(0), Value::as_int)?;
                let inside = self.triangle(x.shape.get(rank.checked_sub(2)?..)?, diagonal, name == "triu")?;
                let zero = self.number(0.0, x.dtype);
                self.select(&inside, x, &zero)?
            }
            "flip" => {
                let mut out = x.clone();
                for at in rest()?.iter().map(|v| axis(v, rank)) {
                    let at = at?;
                    let (count, last) = (self.counted(x.shape[at]), self.number(x.shape[at] as f64 - 1.0, DType::I64));
                    let index = self.binary_of(Binary::Sub, &last, &count)?;
                    out = self.indexed(&out, at, &index)?;
                }
                out
            }
            "index_select" | "gather" => {
                let (at, Value::Tensor(index)) = (dim(1)?, args.get(2, "index")?) else { return None };
                let index = index.clone();
                if name == "gather" { self.take(x, at, &index)? } else { self.indexed(x, at, &index)? }
            }
            "swapaxes" | "swapdims" => {
                let (a, b) = (dim(1)?, args.get(2, "dim1").and_then(|d| axis(d, rank))?);
                let mut order: Vec<usize> = (0..rank).collect();
                order.swap(a, b);
                permuted(x, &order)
            }
            _ => return None,
        })
    }

    /// Whole slices along an axis, by number: `x[index]`, an embedding.
    pub(super) fn indexed(&mut self, x: &TensorValue, at: usize, index: &TensorValue) -> Option<TensorValue> {
        let [count] = index.shape[..] else { return None };
        let mut shape = x.shape.clone();
        shape[at] = count;
        let mut strides = vec![0; shape.len()];
        strides[at] = index.strides[0];
        let index = index.view(shape, strides, index.offset);
        self.take(x, at, &index)
    }

    /// Functions with fewer axes.
    fn reduced(&mut self, name: &str, x: &TensorValue, args: &Args) -> Option<Value> {
        let rank = x.shape.len();
        let given = args.get(1, "dim").or_else(|| args.keyword("axis")).filter(|dim| !dim.is_none());
        let axes: Vec<usize> = match given {
            None => (0..rank).collect(),
            Some(dims @ (Value::Tuple(_) | Value::List(_))) => {
                dims.items()?.iter().map(|dim| axis(dim, rank)).collect::<Option<_>>()?
            }
            Some(dim) => vec![axis(dim, rank)?],
        };
        let is_spread = matches!(name, "var" | "std");
        let keep = args.get(if is_spread { 3 } else { 2 }, "keepdim").or_else(|| args.keyword("keepdims"));
        let keep = keep.is_some_and(|k| k.truth() == Some(true));
        let cast = args.keyword("dtype").and_then(Value::as_dtype);
        let x = &cast.filter(|dtype| *dtype != x.dtype).map_or_else(|| x.clone(), |dtype| self.copy(x, dtype));
        let tensor = |t: TensorValue| Some(Value::Tensor(t));
        let correction = || match args.get(2, "unbiased") {
            Some(unbiased) => unbiased.truth().map(|unbiased| f64::from(u8::from(unbiased))),
            None => args.keyword("correction").map_or(Some(1.0), Value::as_float),
        };
        match name {
            "sum" => tensor(self.reduce(Reduce::Sum, x, &axes, keep)),
            "prod" => tensor(self.reduce(Reduce::Prod, x, &axes, keep)),
            "mean" => tensor(self.mean(x, &axes, keep)?),
            "amax" => tensor(self.reduce(Reduce::Max, x, &axes, keep)),
            "amin" => tensor(self.reduce(Reduce::Min, x, &axes, keep)),
            "argmax" if given.is_some() => tensor(self.reduce(Reduce::ArgMax, x, &axes, keep)),
            "argmin" if given.is_some() => tensor(self.reduce(Reduce::ArgMin, x, &axes, keep)),
            "any" => tensor(self.reduce(Reduce::Max, x, &axes, keep)),
            "all" => tensor(self.reduce(Reduce::Min, x, &axes, keep)),
            "max" | "min" => {
                let (value, index) = if name == "max" { (Reduce::Max, Reduce::ArgMax) } else { (Reduce::Min, Reduce::ArgMin) };
                match given {
                    Some(Value::Tensor(_)) => None,
                    None => tensor(self.reduce(value, x, &axes, false)),
                    Some(_) => {
                        let (values, indices) = (self.reduce(value, x, &axes, keep), self.reduce(index, x, &axes, keep));
                        Some(pair(values, indices))
                    }
                }
            }
            "var" => tensor(self.variance(x, &axes, keep, correction()?)?),
            "std" => {
                let variance = self.variance(x, &axes, keep, correction()?)?;
                tensor(self.unary(Unary::Sqrt, &variance))
            }
            "logsumexp" => {
                let most = self.reduce(Reduce::Max, x, &axes, true);
                let z = self.binary_of(Binary::Sub, x, &most)?;
                let e = self.unary(Unary::Exp, &z);
                let total = self.reduce(Reduce::Sum, &e, &axes, keep);
                let log = self.unary(Unary::Log, &total);
                let most = self.reshaped(&most, log.shape.clone());
                tensor(self.binary_of(Binary::Add, &log, &most)?)
            }
            _ => None,
        }
    }

    /// Functions with several results.
    fn divided(&mut self, name: &str, x: &TensorValue, args: &Args) -> Option<Value> {
        let rank = x.shape.len();
        match name {
            "sort" | "topk" => {
                let (at, count, descending) = match name {
                    "sort" => {
                        let at = args.get(1, "dim").map_or(rank.checked_sub(1), |d| axis(d, rank))?;
                        (at, x.shape[at], args.get(2, "descending").is_some_and(|d| d.truth() == Some(true)))
                    }
                    _ => {
                        let at = args.get(2, "dim").map_or(rank.checked_sub(1), |d| axis(d, rank))?;
                        (
                            at,
                            u64::try_from(args.get(1, "k")?.as_int()?).ok()?,
                            args.get(3, "largest").is_none_or(|l| l.truth() == Some(true)),
                        )
                    }
                };
                (count <= x.shape[at]).then_some(())?;
                let order = self.argsort(x, at, descending);
                let order = narrowed(&order, at, 0, count);
                let values = self.take(x, at, &order)?;
                Some(pair(values, order))
            }
            "chunk" | "split" | "unbind" | "tensor_split" => {
                let dim = if name == "unbind" { args.get(1, "dim") } else { args.get(2, "dim") };
                let at = dim.map_or((rank > 0).then_some(0), |d| axis(d, rank))?;
                let extent = x.shape[at];
                let lens: Vec<u64> = match name {
                    "unbind" => vec![1; usize::try_from(extent).ok().filter(|&n| n <= 1 << 10)?],
                    "split" if args.get(1, "split_size").is_some_and(|v| v.as_int().is_none()) => {
                        Value::as_shape(std::slice::from_ref(args.get(1, "split_size")?))?
                    }
                    _ => {
                        let given =
                            u64::try_from(args.get(1, if name == "chunk" { "chunks" } else { "split_size" })?.as_int()?).ok()?;
                        let len = if name == "split" { given } else { extent.div_ceil(given.max(1)) };
                        (len > 0 && extent.div_ceil(len) <= 1 << 10).then_some(())?;
                        (0..extent.div_ceil(len)).map(|i| len.min(extent - i * len)).collect()
                    }
                };
                (lens.iter().sum::<u64>() == extent).then_some(())?;
                let mut from = 0;
                let parts = lens.iter().map(|&len| {
                    let part = narrowed(x, at, from, len);
                    from += len;
                    let part = if name == "unbind" {
                        permuted(&part, &(0..rank).filter(|&a| a != at).collect::<Vec<_>>())
                    } else {
                        part
                    };
                    Value::Tensor(part)
                });
                Some(Value::tuple(parts.collect()))
            }
            _ => None,
        }
    }

    /// Functions that do not begin with one tensor among others.
    fn of_many(&mut self, name: &str, args: &Args) -> Option<Value> {
        let tensor = |index: usize, name: &str| match args.get(index, name)? {
            Value::Tensor(t) => Some(t.clone()),
            _ => None,
        };
        let made = match name {
            "matmul" | "mm" | "bmm" | "dot" | "mv" => {
                self.matmul(&tensor(0, "input")?, &tensor(1, if name == "matmul" || name == "dot" { "other" } else { "mat2" })?)?
            }
            "addmm" | "baddbmm" => {
                let product = self.matmul(&tensor(1, "mat1")?, &tensor(2, "mat2")?)?;
                self.binary_of(Binary::Add, &tensor(0, "input")?, &product)?
            }
            "linear" => {
                let weight = tensor(1, "weight")?;
                (weight.shape.len() == 2).then_some(())?;
                let product = self.matmul(&tensor(0, "input")?, &permuted(&weight, &[1, 0]))?;
                match tensor(2, "bias") {
                    Some(bias) => self.binary_of(Binary::Add, &product, &bias)?,
                    None => product,
                }
            }
            "outer" => {
                let (a, b) = (tensor(0, "input")?, tensor(1, "vec2")?);
                self.binary_of(Binary::Mul, &inserted(&a, 1), &inserted(&b, 0))?
            }
            "einsum" => self.einsum(args)?,
            "embedding" => {
                let (index, table) = (tensor(0, "input")?, tensor(1, "weight")?);
                let flat = self.reshaped(&index, vec![index.numel()]);
                let rows = self.indexed(&table, 0, &flat)?;
                let shape = [&index.shape[..], &table.shape[1..]].concat();
                self.reshaped(&rows, shape)
            }
            "cat" | "concat" | "concatenate" | "stack" => {
                let parts: Option<Vec<TensorValue>> = args
                    .get(0, "tensors")?
                    .items()?
                    .into_iter()
                    .map(|part| match part {
                        Value::Tensor(t) => Some(t),
                        _ => None,
                    })
                    .collect();
                let mut parts = parts?;
                let rank = parts.first()?.shape.len() + usize::from(name == "stack");
                let at = args.get(1, "dim").map_or(Some(0), |dim| axis(dim, rank))?;
                if name == "stack" {
                    parts = parts.iter().map(|part| inserted(part, at)).collect();
                }
                self.joined(&parts, at)?
            }
            "where" if args.positional.len() == 3 => {
                let condition = tensor(0, "condition")?;
                self.pointwise("where", &condition, args)?
            }
            "eye" => {
                let n = u64::try_from(args.get(0, "n")?.as_int()?).ok()?;
                (args.positional.len() == 1).then_some(())?;
                let count = self.counted(n);
                let diagonal = self.binary_of(Binary::Equal, &inserted(&count, 1), &inserted(&count, 0))?;
                self.copy(&diagonal, args.keyword("dtype").map_or(Some(DType::F32), Value::as_dtype)?)
                    .on_cpu(device::makes_on_cpu(args, self.default_is_cpu))
            }
            _ => return None,
        };
        Some(Value::Tensor(made))
    }

    /// Products and sums over letters that name axes; each letter at most once in an operand.
    fn einsum(&mut self, args: &Args) -> Option<TensorValue> {
        let (Value::Const(Const::Str(text)), operands) = args.positional.split_first()? else { return None };
        let text: String = text.chars().filter(|c| !c.is_whitespace()).collect();
        let (inputs, output) = text.split_once("->")?;
        let inputs: Vec<Vec<char>> = inputs.split(',').map(|part| part.chars().collect()).collect();
        let output: Vec<char> = output.chars().collect();
        let mut letters = output.clone();
        inputs.iter().flatten().for_each(|c| {
            if !letters.contains(c) {
                letters.push(*c);
            }
        });
        (inputs.len() == operands.len() && letters.iter().all(char::is_ascii_alphabetic)).then_some(())?;
        let mut extents = vec![1; letters.len()];
        let mut aligned = Vec::new();
        for (names, operand) in inputs.iter().zip(operands) {
            let Value::Tensor(x) = operand else { return None };
            (names.len() == x.shape.len()).then_some(())?;
            let (mut shape, mut strides) = (vec![1; letters.len()], vec![0; letters.len()]);
            for (a, name) in names.iter().enumerate() {
                let at = letters.iter().position(|l| l == name)?;
                (strides[at] == 0).then_some(())?;
                (shape[at], strides[at]) = (x.shape[a], x.strides[a]);
                extents[at] = x.shape[a].max(extents[at]);
            }
            aligned.push(x.view(shape, strides, x.offset));
        }
        is_countable(&extents).then_some(())?;
        // Two operands that share summed letters only are a matrix product.
        if let [a, b] = &aligned[..] {
            let is_batch = |l: usize| l < output.len() && a.shape[l] == b.shape[l];
            let of = |x: &TensorValue, y: &TensorValue, l: usize| l < output.len() && x.shape[l] != 1 && y.shape[l] == 1;
            let batch: Vec<usize> = (0..letters.len()).filter(|&l| is_batch(l)).collect();
            let rows: Vec<usize> = (0..letters.len()).filter(|&l| of(a, b, l)).collect();
            let cols: Vec<usize> = (0..letters.len()).filter(|&l| of(b, a, l)).collect();
            let summed: Vec<usize> = (output.len()..letters.len()).collect();
            let whole = batch.len() + rows.len() + cols.len() + summed.len() == letters.len();
            if whole && summed.iter().all(|&l| a.shape[l] == b.shape[l]) {
                let size = |axes: &[usize], x: &TensorValue| axes.iter().map(|&l| x.shape[l]).product::<u64>();
                let (n_b, m, n, k) = (size(&batch, a), size(&rows, a), size(&cols, b), size(&summed, a));
                let left = permuted(a, &[&batch[..], &rows, &summed, &cols].concat());
                let right = permuted(b, &[&batch[..], &summed, &cols, &rows].concat());
                let left = self.reshaped(&left, vec![n_b, m, k]);
                let right = self.reshaped(&right, vec![n_b, k, n]);
                let product = self.matmul(&left, &right)?;
                let order = [&batch[..], &rows, &cols].concat();
                let shape = order.iter().map(|&l| extents[l]).collect();
                let product = self.reshaped(&product, shape);
                let back: Vec<usize> = (0..output.len()).map(|l| order.iter().position(|&o| o == l)).collect::<Option<_>>()?;
                return Some(permuted(&product, &back));
            }
        }
        let product = aligned.into_iter().try_fold(None, |all: Option<TensorValue>, next| match all {
            None => Some(Some(next)),
            Some(all) => self.binary_of(Binary::Mul, &all, &next).map(Some),
        })??;
        let product = expanded(&product, &extents)?;
        let axes: Vec<usize> = (output.len()..letters.len()).collect();
        Some(self.reduce(Reduce::Sum, &product, &axes, false))
    }
}

/// Two results: values and indices.
fn pair(values: TensorValue, indices: TensorValue) -> Value {
    Value::tuple(vec![Value::Tensor(values), Value::Tensor(indices)])
}
