//! What host code makes of values that are not known: their kinds.
//!
//! A library's functions are called by somebody else, so of most of what they work with only the kind is known: `x.shape[0]` is an integer
//! whatever `x` is. **Invariant:** a kind holds whichever value it is; where that cannot be said the kind is [`Kind::Any`].

use std::collections::HashMap;

use smol_str::SmolStr;

use super::{
    interpret::ONE_OR_ANOTHER,
    torch::Args,
    value::{Doubt, Kind, Value},
};
use crate::{
    body::{BinaryOp, Body, Expr, ExprId, StmtId},
    constant::Const,
    dtype::DType,
    items::{self, Node},
};

/// What an annotation says, and whether it allows for `None`: `int`, `torch.Tensor | None`, `Optional[float]`, …
pub(super) fn annotated(body: &Body, annotation: ExprId) -> (Kind, bool) {
    // `A | B | C` nests as deep as it is long.
    stacker::maybe_grow(64 << 10, 1 << 20, || annotated_within(body, annotation))
}

fn annotated_within(body: &Body, annotation: ExprId) -> (Kind, bool) {
    let union = |parts: &[ExprId]| {
        let is_none = |&part: &ExprId| matches!(body.expr(part), Expr::None);
        let parts = parts.iter().filter(|part| !is_none(part)).map(|&part| annotated(body, part));
        parts.reduce(|(a, a_none), (b, b_none)| (a.or(b), a_none || b_none)).unwrap_or_default()
    };
    match body.expr(annotation) {
        Expr::Name(name) | Expr::Attribute { name, .. } => (named(name), false),
        Expr::Str(text) => {
            let mut parts = text.split('|').map(str::trim);
            let is_optional = parts.clone().any(|part| part == "None");
            let something = parts.by_ref().filter(|part| *part != "None");
            let kinds = something.map(|part| named(part.rsplit('.').next().unwrap_or(part)));
            (kinds.reduce(Kind::or).unwrap_or_default(), is_optional)
        }
        Expr::Binary { op: BinaryOp::BitOr, lhs, rhs } => {
            let is_optional = [lhs, rhs].iter().any(|side| matches!(body.expr(**side), Expr::None));
            let (kind, inner) = union(&[*lhs, *rhs]);
            (kind, is_optional || inner)
        }
        Expr::Subscript { receiver, index } => {
            let (Expr::Name(of) | Expr::Attribute { name: of, .. }) = body.expr(*receiver) else { return (Kind::Any, false) };
            let items: &[ExprId] = match body.expr(*index) {
                Expr::Tuple(items) => items,
                _ => std::slice::from_ref(index),
            };
            match of.as_str() {
                "Optional" => (union(items).0, true),
                "Union" => {
                    let (kind, inner) = union(items);
                    (kind, inner || items.iter().any(|&item| matches!(body.expr(item), Expr::None)))
                }
                "list" | "List" | "tuple" | "Tuple" | "Sequence" | "Iterable" => {
                    let items = items.iter().filter(|&&item| !matches!(body.expr(item), Expr::Ellipsis));
                    let is_int = items.map(|&item| annotated(body, item)).all(|item| item == (Kind::Int, false));
                    (if is_int { Kind::Ints } else { Kind::Any }, false)
                }
                "Literal" => {
                    let is_text = items.iter().all(|&item| matches!(body.expr(item), Expr::Str(_)));
                    (if is_text { Kind::Str } else { Kind::Any }, false)
                }
                "Annotated" => items.first().map_or((Kind::Any, false), |&item| annotated(body, item)),
                _ => (Kind::Any, false),
            }
        }
        _ => (Kind::Any, false),
    }
}

/// A value of which an annotation says more than is known: the kind, or the items of a tuple.
pub(super) fn refined(value: Value, body: &Body, annotation: ExprId) -> Value {
    let items_of = || match body.expr(annotation) {
        Expr::Subscript { receiver, index } => match (body.expr(*receiver), body.expr(*index)) {
            (Expr::Name(of) | Expr::Attribute { name: of, .. }, Expr::Tuple(items))
                if matches!(of.as_str(), "tuple" | "Tuple")
                    && !items.iter().any(|&item| matches!(body.expr(item), Expr::Ellipsis)) =>
            {
                Some(items)
            }
            _ => None,
        },
        _ => None,
    };
    match value {
        Value::Unknown(doubt) if doubt.kind == Kind::Any => match items_of() {
            Some(items) => Value::tuple(items.iter().map(|&item| refined(Value::Unknown(doubt.clone()), body, item)).collect()),
            _ => {
                let (kind, may_be_none) = annotated(body, annotation);
                Value::Unknown(Doubt { kind, may_be_none: may_be_none || kind == Kind::Any, ..doubt })
            }
        },
        Value::Tuple(parts) => match items_of() {
            Some(items) if items.len() == parts.len() => {
                Value::tuple(parts.iter().zip(items).map(|(part, &item)| refined(part.clone(), body, item)).collect())
            }
            _ => Value::Tuple(parts),
        },
        Value::Either(all) => {
            let all = all.iter().map(|one| refined(one.clone(), body, annotation));
            all.reduce(|a, b| a.or(b, ONE_OR_ANOTHER)).unwrap_or_else(|| Value::unknown(ONE_OR_ANOTHER))
        }
        other => other,
    }
}

/// Attributes that only tensors have.
pub(super) const OF_TENSORS: &[&str] = &[
    "contiguous",
    "data_ptr",
    "dtype",
    "element_size",
    "is_contiguous",
    "is_cuda",
    "ndim",
    "new_empty",
    "new_zeros",
    "numel",
    "shape",
    "stride",
    "view",
];

/// The names in a function of which an attribute is read that only tensors have.
pub(super) fn tensors_by_use(body: &Body, stmts: &[StmtId]) -> HashMap<SmolStr, Kind> {
    let mut out = HashMap::new();
    items::walk(body, stmts, &mut |node| {
        if let Node::Expr(id) = node
            && let Expr::Attribute { receiver, name } = body.expr(id)
            && let Expr::Name(of) = body.expr(*receiver)
            && OF_TENSORS.contains(&name.as_str())
        {
            out.insert(of.clone(), Kind::Tensor(None));
        }
    });
    out
}

/// What a class is the type of.
fn named(name: &str) -> Kind {
    match name {
        "int" => Kind::Int,
        "float" => Kind::Float,
        "bool" => Kind::Bool,
        "str" => Kind::Str,
        "dtype" => Kind::DType,
        "Tensor" | "FloatTensor" | "Parameter" => Kind::Tensor(None),
        "LongTensor" => Kind::Tensor(Some(DType::I64)),
        "IntTensor" => Kind::Tensor(Some(DType::I32)),
        "BoolTensor" => Kind::Tensor(Some(DType::I1)),
        "Size" => Kind::Ints,
        _ => Kind::Any,
    }
}

/// `receiver.name` that is not called.
pub(super) fn attribute(receiver: &Doubt, name: &str) -> Option<Value> {
    let of = |kind| Some(Value::some(kind, receiver.why.clone()));
    match (name, receiver.kind) {
        ("shape", _) => of(Kind::Ints),
        ("ndim" | "itemsize", _) => of(Kind::Int),
        ("is_cuda" | "requires_grad" | "is_contiguous", _) if receiver.kind != Kind::Any => of(Kind::Bool),
        ("dtype", Kind::Tensor(Some(dtype))) => Some(Value::Const(Const::DType(dtype))),
        ("dtype", _) => of(Kind::DType),
        ("T" | "mT" | "H" | "data", Kind::Tensor(dtype)) => of(Kind::Tensor(dtype)),
        _ => None,
    }
}

/// Methods whose results are known by their names, whatever they are called on.
pub(super) fn is_method(name: &str) -> bool {
    method(Kind::Any, name, &Args::default()).is_some()
}

/// What a method gives that is called on a value of a kind.
pub(super) fn method(receiver: Kind, name: &str, args: &Args) -> Option<Kind> {
    let is_one = !args.positional.is_empty() || args.keyword("dim").is_some();
    let elements = match receiver {
        Kind::Tensor(dtype) => dtype,
        _ => None,
    };
    let dtype = || match args.keyword("dtype") {
        Some(dtype) if dtype.to_const() != Some(Const::None) => dtype.as_dtype(),
        _ => elements,
    };
    Some(match name {
        "stride" | "size" if is_one => Kind::Int,
        "stride" | "size" => Kind::Ints,
        "numel" | "nelement" | "dim" | "ndimension" | "element_size" | "data_ptr" | "storage_offset" | "bit_length" => Kind::Int,
        "is_contiguous" | "is_floating_point" | "startswith" | "endswith" => Kind::Bool,
        // `x.view(dtype)` reads the same bits as another.
        "view" if matches!(args.positional.first().map(Value::kind), Some(Kind::DType | Kind::Any)) => {
            Kind::Tensor(args.positional.first().and_then(Value::as_dtype))
        }
        "contiguous" | "view" | "reshape" | "transpose" | "permute" | "t" | "flatten" | "unsqueeze" | "squeeze" | "expand"
        | "clone" | "detach" | "cuda" | "narrow" | "expand_as" | "view_as" | "requires_grad_" | "zero_" | "fill_" | "movedim"
        | "unflatten" | "flip" | "roll" | "masked_fill" | "repeat_interleave" | "abs" | "clamp" | "neg" | "repeat"
        | "swapaxes" | "broadcast_to" | "copy_" | "add_" | "mul_" | "div_" | "sub_" | "clamp_" | "cpu" | "tile" => {
            Kind::Tensor(elements)
        }
        "sum" | "mean" | "amax" | "amin" | "matmul" | "mm" | "bmm" | "eq" | "ne" | "lt" | "le" | "gt" | "ge" | "softmax"
        | "exp" | "sqrt" | "rsqrt" | "sigmoid" | "square" | "argmax" | "argmin" | "argsort" | "cumsum"
            if matches!(receiver, Kind::Tensor(_)) =>
        {
            Kind::Tensor(None)
        }
        "new_empty" | "new_zeros" | "new_ones" | "new_full" | "new_tensor" => Kind::Tensor(dtype()),
        "to" | "type" if receiver == Kind::Any && args.keyword("dtype").is_none() => {
            // Of a module, a string, …
            let wanted = args.positional.iter().find_map(Value::as_dtype)?;
            Kind::Tensor(Some(wanted))
        }
        "to" | "type" => {
            let all = || args.positional.iter().chain(args.keywords.iter().map(|(_, value)| value));
            let may_change = all().any(|value| matches!(value.kind(), Kind::Any | Kind::DType));
            Kind::Tensor(all().find_map(Value::as_dtype).or(if may_change { None } else { elements }))
        }
        "half" => Kind::Tensor(Some(DType::F16)),
        "bfloat16" => Kind::Tensor(Some(DType::BF16)),
        "float" => Kind::Tensor(Some(DType::F32)),
        "double" => Kind::Tensor(Some(DType::F64)),
        "int" => Kind::Tensor(Some(DType::I32)),
        "long" => Kind::Tensor(Some(DType::I64)),
        _ => return None,
    })
}

/// What a function gives, by its path.
pub(super) fn call(path: &str, args: &Args) -> Kind {
    let given = || args.positional.iter().map(Value::kind);
    let joined = || match &args.positional[..] {
        [one] if one.kind() == Kind::Ints => Kind::Int,
        // What is compared with an integer is one, if nothing else is known of it.
        _ => given().filter(|&kind| kind != Kind::Any).reduce(Kind::or).filter(|kind| kind.is_number()).unwrap_or_default(),
    };
    let dtype = |default: Option<DType>| match args.keyword("dtype") {
        Some(dtype) if dtype.to_const() != Some(Const::None) => dtype.as_dtype(),
        _ => default,
    };
    match path {
        "triton.cdiv"
        | "triton.next_power_of_2"
        | "math.ceil"
        | "math.floor"
        | "math.gcd"
        | "math.prod"
        | "builtins.len"
        | "builtins.int"
        | "builtins.ord" => Kind::Int,
        "builtins.round" if args.positional.len() == 1 => Kind::Int,
        "math.sqrt" | "math.log2" | "math.log" | "math.exp" | "math.pow" | "builtins.float" | "builtins.round" => Kind::Float,
        "builtins.isinstance"
        | "builtins.hasattr"
        | "builtins.any"
        | "builtins.all"
        | "builtins.bool"
        | "builtins.callable"
        | "torch.is_tensor"
        | "torch.is_floating_point"
        | "torch.is_grad_enabled" => Kind::Bool,
        "builtins.str" => Kind::Str,
        "builtins.min" | "builtins.max" | "builtins.abs" | "builtins.sum" | "builtins.pow" => joined(),
        "builtins.range" => Kind::Ints,
        "builtins.tuple" | "builtins.list" | "builtins.sorted" | "builtins.reversed" => match given().next() {
            Some(Kind::Ints) => Kind::Ints,
            _ => Kind::Any,
        },
        "torch.empty"
        | "torch.zeros"
        | "torch.ones"
        | "torch.rand"
        | "torch.randn"
        | "torch.linspace"
        | "torch.empty_strided" => Kind::Tensor(dtype(Some(DType::F32))),
        "torch.arange" | "torch.randint" | "torch.randperm" => Kind::Tensor(dtype(Some(DType::I64))),
        "torch.full" | "torch.tensor" | "torch.as_tensor" | "torch.from_numpy" => Kind::Tensor(dtype(None)),
        "torch.nn.Parameter" | "torch.nn.parameter.Parameter" => match given().next() {
            Some(Kind::Any) | None => Kind::Tensor(None),
            Some(kind) => kind,
        },
        "torch.empty_like" | "torch.zeros_like" | "torch.ones_like" | "torch.full_like" | "torch.rand_like"
        | "torch.randn_like" | "torch.clone" | "torch.squeeze" | "torch.unsqueeze" | "torch.transpose" | "torch.permute"
        | "torch.reshape" | "torch.flatten" | "torch.flip" => Kind::Tensor(dtype(match given().next() {
            Some(Kind::Tensor(elements)) => elements,
            _ => None,
        })),
        "torch.cat"
        | "torch.stack"
        | "torch.matmul"
        | "torch.sum"
        | "torch.cumsum"
        | "torch.where"
        | "torch.exp"
        | "torch.mm"
        | "torch.bmm"
        | "torch.einsum"
        | "torch.mean"
        | "torch.amax"
        | "torch.abs"
        | "torch.sigmoid"
        | "torch.addmm"
        | "torch.argsort"
        | "torch.bincount"
        | "torch.broadcast_to"
        | "torch.clamp"
        | "torch.concat"
        | "torch.cumprod"
        | "torch.div"
        | "torch.diff"
        | "torch.linalg.norm"
        | "torch.log"
        | "torch.max"
        | "torch.maximum"
        | "torch.min"
        | "torch.minimum"
        | "torch.mul"
        | "torch.nn.functional.gelu"
        | "torch.nn.functional.linear"
        | "torch.nn.functional.pad"
        | "torch.nn.functional.relu"
        | "torch.nn.functional.silu"
        | "torch.nn.functional.softmax"
        | "torch.outer"
        | "torch.pow"
        | "torch.prod"
        | "torch.repeat_interleave"
        | "torch.rsqrt"
        | "torch.softmax"
        | "torch.sqrt"
        | "torch.tanh"
        | "torch.tril"
        | "torch.triu" => Kind::Tensor(None),
        _ => Kind::Any,
    }
}

/// What an operator gives.
pub(super) fn binary(op: BinaryOp, lhs: Kind, rhs: Kind) -> Kind {
    match (lhs, rhs) {
        (Kind::Tensor(elements), Kind::Int | Kind::Float | Kind::Bool)
        | (Kind::Int | Kind::Float | Kind::Bool, Kind::Tensor(elements)) => {
            Kind::Tensor(elements.filter(|elements| elements.is_float()))
        }
        (Kind::Tensor(a), Kind::Tensor(b)) => Kind::Tensor(if a == b { a.filter(|a| a.is_float()) } else { None }),
        (Kind::Int | Kind::Bool | Kind::Any, Kind::Int | Kind::Bool | Kind::Any) => match op {
            // A tensor, a string or a list takes the others too.
            BinaryOp::FloorDiv
            | BinaryOp::Mod
            | BinaryOp::Shl
            | BinaryOp::Shr
            | BinaryOp::Add
            | BinaryOp::Sub
            | BinaryOp::Mul
                if lhs == Kind::Int && rhs == Kind::Int =>
            {
                Kind::Int
            }
            BinaryOp::Div if lhs != Kind::Any && rhs != Kind::Any => Kind::Float,
            BinaryOp::BitAnd | BinaryOp::BitOr | BinaryOp::BitXor if lhs == rhs => lhs,
            _ => Kind::Any,
        },
        (Kind::Float, other) | (other, Kind::Float) if other.is_number() => Kind::Float,
        _ => Kind::Any,
    }
}

/// An element, or a slice, of what is not known.
pub(super) fn part(whole: Kind, is_slice: bool) -> Kind {
    match whole {
        Kind::Ints if is_slice => Kind::Ints,
        Kind::Ints => Kind::Int,
        Kind::Tensor(_) => whole,
        _ => Kind::Any,
    }
}
