//! PyTorch's functions that make tensors, and the methods that look at one from another side.
//!
//! **Invariant:** nothing here computes with what a tensor holds: that is in `functions.rs`.

use smol_str::SmolStr;

use super::{
    contents::inserted,
    device,
    value::{LARGEST, TensorValue, Value, row_major},
};
use crate::{body::BinaryOp, constant::Const, dtype::DType, launch::Init};

/// The arguments of a call, bound by the callee.
#[derive(Debug, Clone, Default)]
pub(crate) struct Args {
    pub(crate) positional: Vec<Value>,
    pub(crate) keywords: Vec<(SmolStr, Value)>,
}

impl Args {
    pub(crate) fn keyword(&self, name: &str) -> Option<&Value> {
        self.keywords.iter().find(|(n, _)| n == name).map(|(_, v)| v)
    }

    /// The argument at a position or of a name.
    pub(crate) fn get(&self, index: usize, name: &str) -> Option<&Value> {
        self.positional.get(index).or_else(|| self.keyword(name))
    }

    pub(super) fn float(&self, index: usize, name: &str, default: f64) -> Option<f64> {
        self.get(index, name).map_or(Some(default), Value::as_float)
    }
}

/// A call of `torch.<name>`; `None` if the function is not one of those followed. `default_is_cpu`: what is made without a device is on the
/// CPU for certain.
pub(crate) fn call(name: &str, args: &Args, default_is_cpu: bool) -> Option<Value> {
    let on_cpu = device::makes_on_cpu(args, default_is_cpu);
    let dtype = |default: DType| match args.keyword("dtype") {
        None | Some(Value::Const(Const::None)) => Some(default),
        Some(value) => value.as_dtype(),
    };
    let like = |init: Init| match args.positional.first().or_else(|| args.keyword("input")) {
        Some(Value::Tensor(t)) => dtype(t.dtype).map(|d| {
            let mut made = TensorValue::new(d, t.shape.clone(), Some(init)).on_cpu(device::makes_on_cpu(args, t.on_cpu));
            // Dense tensors keep their order of axes.
            if dense(t) {
                made.strides.clone_from(&t.strides);
            }
            Value::Tensor(made)
        }),
        _ => None,
    };
    let sized = |skip: usize, init: Init, default: DType| {
        let sizes = match args.keyword("size") {
            Some(size) => vec![size.clone()],
            None => args.positional.get(skip..).unwrap_or_default().to_vec(),
        };
        let shape = Value::as_shape(&sizes)?;
        Some(Value::Tensor(TensorValue::new(dtype(default)?, shape, Some(init)).on_cpu(on_cpu)))
    };
    match name {
        "empty" => sized(0, Init::Empty, DType::F32),
        "zeros" => sized(0, Init::Zeros, DType::F32),
        "ones" => sized(0, Init::Ones, DType::F32),
        "randn" => sized(0, Init::Normal { mean: 0.0, std: 1.0 }, DType::F32),
        "rand" => sized(0, Init::Uniform { low: 0.0, high: 1.0 }, DType::F32),
        "empty_like" => like(Init::Empty),
        "zeros_like" => like(Init::Zeros),
        "ones_like" => like(Init::Ones),
        "randn_like" => like(Init::Normal { mean: 0.0, std: 1.0 }),
        "rand_like" => like(Init::Uniform { low: 0.0, high: 1.0 }),
        "full" => {
            let shape = Value::as_shape(std::slice::from_ref(args.get(0, "size")?))?;
            let fill = args.get(1, "fill_value")?;
            let default = match fill.to_const()? {
                Const::Float(_) => DType::F32,
                Const::Bool(_) => DType::I1,
                _ => DType::I64,
            };
            Some(Value::Tensor(TensorValue::new(dtype(default)?, shape, Some(Init::Full(fill.as_float()?))).on_cpu(on_cpu)))
        }
        "full_like" => like(Init::Full(args.get(1, "fill_value")?.as_float()?)),
        "normal" => {
            let init = Init::Normal { mean: args.float(0, "mean", 0.0)?, std: args.float(1, "std", 1.0)? };
            sized(2, init, DType::F32)
        }
        "randint" => {
            // randint(high, size) or randint(low, high, size)
            let count = args.positional.iter().take_while(|v| v.as_int().is_some()).count();
            let (low, high, skip) = match (count, args.keyword("low"), args.keyword("high")) {
                (2.., _, _) => (args.positional[0].as_int()?, args.positional[1].as_int()?, 2),
                (1, _, Some(high)) => (args.positional[0].as_int()?, high.as_int()?, 1),
                (1, _, None) => (0, args.positional[0].as_int()?, 1),
                (_, low, Some(high)) => (low.map_or(Some(0), Value::as_int)?, high.as_int()?, 0),
                _ => return None,
            };
            sized(skip, Init::RandInt { low: low.try_into().ok()?, high: high.try_into().ok()? }, DType::I64)
        }
        "arange" => {
            let (start, end) = match &args.positional[..] {
                [end] => (0, end.as_int()?),
                [start, end] => (start.as_int()?, end.as_int()?),
                _ => return None,
            };
            (start == 0).then_some(())?;
            let n = u64::try_from(end).ok()?;
            Some(Value::Tensor(TensorValue::new(dtype(DType::I64)?, vec![n], Some(Init::Arange)).on_cpu(on_cpu)))
        }
        "tensor" => {
            let (shape, value) = nested(args.positional.first()?, MAX_RANK)?;
            let default = match value {
                Const::Float(_) => DType::F32,
                Const::Bool(_) => DType::I1,
                _ => DType::I64,
            };
            let init = if shape.iter().all(|&d| d == 1) { Some(Init::Full(value.as_float()?)) } else { None };
            Some(Value::Tensor(TensorValue::new(dtype(default)?, shape, init).on_cpu(on_cpu)))
        }
        "manual_seed" | "cuda.synchronize" | "cuda.manual_seed" | "set_default_device" | "cuda.set_device" => Some(Value::NONE),
        "cuda.is_available" => Some(Value::bool(true)),
        "cuda.current_device" => Some(Value::int(0)),
        "cuda.device_count" => Some(Value::int(1)),
        _ => None,
    }
}

/// The sizes that a function which makes tensors is given, where it makes none as they are too large.
pub(crate) fn oversized(name: &str, args: &Args) -> Option<Vec<u64>> {
    if !matches!(name, "empty" | "zeros" | "ones" | "randn" | "rand" | "full") {
        return None;
    }
    let given = match (args.keyword("size"), &args.positional[..]) {
        (Some(size), _) | (None, [size @ (Value::Tuple(_) | Value::List(_)), ..]) => size.items()?,
        (None, sizes) => sizes.to_vec(),
    };
    given.iter().map(|size| u64::try_from(size.as_int()?).ok()).collect()
}

/// Whether the elements fill their memory without gaps, in some order of axes.
fn dense(t: &TensorValue) -> bool {
    let mut axes: Vec<(u64, u64)> = t.strides.iter().copied().zip(t.shape.iter().copied()).filter(|a| a.1 > 1).collect();
    axes.sort_unstable();
    axes.iter().try_fold(1u64, |expected, &(stride, n)| if stride == expected { expected.checked_mul(n) } else { None }).is_some()
}

/// Axes of a tensor, as PyTorch has it.
pub(super) const MAX_RANK: usize = 64;

/// Shape and first element of nested sequences.
fn nested(value: &Value, axes_left: usize) -> Option<(Vec<u64>, Const)> {
    match value {
        Value::Tuple(_) | Value::List(_) => {
            let items = value.items()?;
            let (inner, first) = nested(items.first()?, axes_left.checked_sub(1)?)?;
            Some(([&[items.len() as u64][..], &inner].concat(), first))
        }
        _ => value.to_const().map(|c| (vec![], c)),
    }
}

/// An attribute of a tensor that is not called.
pub(crate) fn attribute(t: &TensorValue, name: &str) -> Option<Value> {
    Some(match name {
        "shape" => sizes(&t.shape),
        "dtype" => Value::Const(Const::DType(t.dtype)),
        "ndim" => Value::int(t.shape.len() as i128),
        "is_cuda" => Value::bool(!t.on_cpu),
        "requires_grad" => Value::bool(false),
        "device" => Value::Path("torch.device".into()),
        "T" | "mT" => method(t, "t", &Args::default())?,
        "data" => Value::Tensor(t.clone()),
        "itemsize" => Value::int(t.dtype.bytes()),
        _ => return None,
    })
}

fn sizes(dims: &[u64]) -> Value {
    Value::tuple(dims.iter().map(|&d| Value::int(d)).collect())
}

pub(super) fn axis(value: &Value, rank: usize) -> Option<usize> {
    let i = value.as_int()?;
    let i = if i < 0 { i + rank as i128 } else { i };
    usize::try_from(i).ok().filter(|&i| i < rank)
}

/// A call of a tensor's method; `None` if it is not one of those followed.
pub(crate) fn method(t: &TensorValue, name: &str, args: &Args) -> Option<Value> {
    let rank = t.shape.len();
    let tensor = |t: TensorValue| Some(Value::Tensor(t));
    let same = || Some(Value::Tensor(t.clone()));
    let cast = |dtype: DType| if dtype == t.dtype { same() } else { tensor(t.like(dtype)) };
    let swap = |a: usize, b: usize| {
        let (mut shape, mut strides) = (t.shape.clone(), t.strides.clone());
        shape.swap(a, b);
        strides.swap(a, b);
        tensor(t.view(shape, strides, t.offset))
    };
    let refill = |init: Init| {
        *t.storage.init.borrow_mut() = Some(init);
        same()
    };
    match name {
        "stride" => match args.get(0, "dim") {
            None => Some(sizes(&t.strides)),
            Some(dim) => axis(dim, rank).map(|a| Value::int(t.strides[a])),
        },
        "size" => match args.get(0, "dim") {
            None => Some(sizes(&t.shape)),
            Some(dim) => axis(dim, rank).map(|a| Value::int(t.shape[a])),
        },
        "numel" | "nelement" => Some(Value::int(t.numel())),
        "dim" | "ndimension" => Some(Value::int(rank as i128)),
        "element_size" => Some(Value::int(t.dtype.bytes())),
        "is_contiguous" => Some(Value::bool(t.is_contiguous())),
        "is_floating_point" => Some(Value::bool(t.dtype.is_float())),
        "detach" | "requires_grad_" => same(),
        "cpu" => tensor(t.clone().on_cpu(true)),
        "cuda" | "pin_memory" => tensor(t.clone().on_cpu(false)),
        "contiguous" => {
            if t.is_contiguous() {
                same()
            } else {
                tensor(t.like(t.dtype))
            }
        }
        "clone" => tensor(t.like(t.dtype)),
        "to" | "type" => {
            let wanted = args.positional.iter().chain(args.keywords.iter().map(|(_, v)| v)).find_map(Value::as_dtype);
            let made = wanted.map_or_else(same, cast)?;
            match made {
                Value::Tensor(made) => tensor(made.on_cpu(device::moved(t, args))),
                other => Some(other),
            }
        }
        "half" => cast(DType::F16),
        "bfloat16" => cast(DType::BF16),
        "float" => cast(DType::F32),
        "double" => cast(DType::F64),
        "int" => cast(DType::I32),
        "long" => cast(DType::I64),
        "bool" => cast(DType::I1),
        "t" if rank < 2 => same(),
        "t" => swap(rank - 2, rank - 1),
        "transpose" => swap(axis(args.get(0, "dim0")?, rank)?, axis(args.get(1, "dim1")?, rank)?),
        "permute" => {
            let order = Value::as_order(&args.positional, rank)?;
            tensor(t.view(order.iter().map(|&a| t.shape[a]).collect(), order.iter().map(|&a| t.strides[a]).collect(), t.offset))
        }
        "view" | "reshape" => {
            let shape = with_free_size(&args.positional, t.numel())?;
            let strides = row_major(&shape);
            if t.is_contiguous() {
                tensor(t.view(shape, strides, t.offset))
            } else if name == "reshape" {
                tensor(TensorValue::new(t.dtype, shape, t.like(t.dtype).init()).on_cpu(t.on_cpu))
            } else {
                None
            }
        }
        "unsqueeze" => tensor(inserted(t, axis(args.get(0, "dim")?, rank + 1)?)),
        "zero_" => refill(Init::Zeros),
        "fill_" => refill(Init::Full(args.get(0, "value")?.as_float()?)),
        "normal_" => refill(Init::Normal { mean: args.float(0, "mean", 0.0)?, std: args.float(1, "std", 1.0)? }),
        "uniform_" => refill(Init::Uniform { low: args.float(0, "from", 0.0)?, high: args.float(1, "to", 1.0)? }),
        "new_empty" | "new_zeros" | "new_ones" => {
            let shape = Value::as_shape(&args.positional)?;
            let dtype = args.keyword("dtype").map_or(Some(t.dtype), Value::as_dtype)?;
            let init = match name {
                "new_empty" => Init::Empty,
                "new_zeros" => Init::Zeros,
                _ => Init::Ones,
            };
            tensor(TensorValue::new(dtype, shape, Some(init)).on_cpu(device::makes_on_cpu(args, t.on_cpu)))
        }
        _ => None,
    }
}

impl Value {
    /// A permutation of `rank` axes.
    fn as_order(values: &[Value], rank: usize) -> Option<Vec<usize>> {
        let values = match values {
            [one @ (Value::Tuple(_) | Value::List(_))] => one.items()?,
            _ => values.to_vec(),
        };
        let order: Vec<usize> = values.iter().map(|v| axis(v, rank)).collect::<Option<_>>()?;
        let mut sorted = order.clone();
        sorted.sort_unstable();
        sorted.iter().copied().eq(0..rank).then_some(order)
    }
}

/// A shape in which one size may be -1.
pub(super) fn with_free_size(values: &[Value], numel: u64) -> Option<Vec<u64>> {
    let values = match values {
        [one @ (Value::Tuple(_) | Value::List(_))] => one.items()?,
        _ => values.to_vec(),
    };
    let given: Vec<i128> = values.iter().map(Value::as_int).collect::<Option<_>>()?;
    let known: u64 = given.iter().filter(|&&d| d >= 0).try_fold(1u64, |n, &d| n.checked_mul(u64::try_from(d).ok()?))?;
    let shape: Vec<u64> =
        given.iter().map(|&d| if d == -1 { numel.checked_div(known) } else { u64::try_from(d).ok() }).collect::<Option<_>>()?;
    (shape.iter().try_fold(1u64, |n, &d| n.checked_mul(d))? == numel).then_some(shape)
}

/// How a tensor under arithmetic with a number would be made, if it were made for a launch alone.
pub(super) fn scaled(op: BinaryOp, lhs: &Value, rhs: &Value) -> Option<Init> {
    let (t, number) = match (lhs, rhs) {
        (Value::Tensor(_), Value::Tensor(_)) => return None,
        (Value::Tensor(t), number) | (number, Value::Tensor(t)) => (t, number),
        _ => return None,
    };
    let init = t.init().filter(|_| t.is_contiguous())?;
    scale(op, init, number.as_float()?, matches!(lhs, Value::Tensor(_)))
}

/// An initialiser under `tensor op x` (or `x op tensor`).
fn scale(op: BinaryOp, init: Init, x: f64, tensor_first: bool) -> Option<Init> {
    // tensor * factor + shift
    let (factor, shift) = match (op, tensor_first) {
        (BinaryOp::Add, _) => (1.0, x),
        (BinaryOp::Sub, true) => (1.0, -x),
        (BinaryOp::Sub, false) => (-1.0, x),
        (BinaryOp::Mul, _) => (x, 0.0),
        (BinaryOp::Div, true) => (1.0 / x, 0.0),
        _ => return None,
    };
    Some(match init {
        Init::Zeros => Init::Full(shift),
        Init::Ones => Init::Full(factor + shift),
        Init::Full(v) => Init::Full(v * factor + shift),
        Init::Normal { mean, std } => Init::Normal { mean: mean * factor + shift, std: std * factor.abs() },
        Init::Uniform { low, high } if factor > 0.0 => Init::Uniform { low: low * factor + shift, high: high * factor + shift },
        Init::Uniform { .. } | Init::Empty | Init::RandInt { .. } | Init::Arange | Init::File(_) | Init::Computed => return None,
    })
}

pub(super) fn promote(a: DType, b: DType) -> DType {
    match (a.is_float(), b.is_float()) {
        (true, false) => a,
        (false, true) => b,
        (true, true) if a != b && a.bits() == b.bits() => DType::F32,
        _ => {
            if a.bits() >= b.bits() {
                a
            } else {
                b
            }
        }
    }
}

pub(super) fn broadcast(a: &[u64], b: &[u64]) -> Option<Vec<u64>> {
    let rank = a.len().max(b.len());
    let dim = |shape: &[u64], i: usize| (i + shape.len()).checked_sub(rank).map_or(1, |i| shape[i]);
    let one = |i: usize| match (dim(a, i), dim(b, i)) {
        (x, y) if x == y => Some(x),
        (1, y) => Some(y),
        (x, 1) => Some(x),
        _ => None,
    };
    let shape: Vec<u64> = (0..rank).map(one).collect::<Option<_>>()?;
    is_countable(&shape).then_some(shape)
}

/// Whether some memory could hold a tensor of this shape.
pub(super) fn is_countable(shape: &[u64]) -> bool {
    shape.len() <= MAX_RANK
        && shape.iter().try_fold(1u64, |n, &extent| n.checked_mul(extent.max(1)).filter(|&n| n <= LARGEST)).is_some()
}
