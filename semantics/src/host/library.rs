//! Functions of Python, `math`, `itertools` and Triton's host side that host code calls.
//!
//! **Invariant:** the answer is the function's own, or unknown by name.

use std::rc::Rc;

use indexmap::IndexMap;
use smol_str::SmolStr;

use super::{
    interpret::{Host, LONGEST},
    torch::{self, Args},
    value::{Config, DescriptorValue, IndexMapOf, Value},
};
use crate::{
    body::{BinaryOp, CompareOp},
    constant::{self, Const},
    items::{cdiv, next_power_of_2, python_float},
};

impl Host<'_> {
    pub(super) fn call_path(&mut self, path: &str, args: &Args) -> Value {
        let unknown = || Value::unknown(format!("`{}` is not followed", path.strip_prefix("builtins.").unwrap_or(path)));
        let number = |i: usize| args.positional.get(i).and_then(Value::as_float);
        let int = |i: usize, name: &str| args.get(i, name).and_then(Value::as_int);
        let float = |x: Option<f64>| x.map(|x| Value::Const(Const::float(x)));
        if let Some(name) = path.strip_prefix("torch.") {
            return torch::call(name, args).unwrap_or_else(unknown);
        }
        let found = match path {
            "triton.cdiv" => int(0, "x").zip(int(1, "y")).and_then(|(a, b)| cdiv(a, b)).map(Value::int),
            "triton.next_power_of_2" => int(0, "n").and_then(next_power_of_2).map(Value::int),
            "triton.Config" => config(args),
            "triton.tools.tensor_descriptor.TensorDescriptor" => descriptor(args, false),
            "triton.tools.tensor_descriptor.TensorDescriptor.from_tensor" => descriptor(args, true),
            "triton.language.constexpr" => args.positional.first().cloned(),
            "math.ceil" => number(0).and_then(whole).map(|x| Value::int(x.ceil() as i128)),
            "math.floor" => number(0).and_then(whole).map(|x| Value::int(x.floor() as i128)),
            "math.sqrt" => float(number(0).filter(|x| *x >= 0.0).map(f64::sqrt)),
            "math.log2" => float(number(0).filter(|x| *x > 0.0).map(f64::log2)),
            "math.log" => float(number(0).filter(|x| *x > 0.0).map(f64::ln)),
            "math.exp" => float(number(0).map(f64::exp)),
            "math.prod" => args
                .positional
                .first()
                .and_then(Value::items)
                .and_then(|items| items.iter().try_fold(1i128, |n, v| n.checked_mul(v.as_int()?)).map(Value::int)),
            "builtins.len" => args.positional.first().and_then(|v| match v {
                Value::Tensor(t) => t.shape.first().map(|&d| Value::int(d)),
                other => other.items().map(|items| Value::int(items.len() as i128)),
            }),
            "builtins.range" => match &args.positional[..] {
                [stop] => stop.as_int().map(|stop| Value::Range { start: 0, stop, step: 1 }),
                [start, stop] => start.as_int().zip(stop.as_int()).map(|(start, stop)| Value::Range { start, stop, step: 1 }),
                [start, stop, step] => match (start.as_int(), stop.as_int(), step.as_int()) {
                    (Some(start), Some(stop), Some(step)) if step != 0 => Some(Value::Range { start, stop, step }),
                    _ => None,
                },
                _ => None,
            },
            "builtins.min" | "builtins.max" => extreme(path == "builtins.max", args),
            "builtins.int" => args.positional.first().and_then(|v| match v {
                Value::Const(Const::Float(f)) => whole(f.get()).map(|x| Value::int(x.trunc() as i128)),
                Value::Const(Const::Str(s)) => s.trim().parse::<i128>().ok().map(Value::int),
                other => other.as_int().map(Value::int),
            }),
            "builtins.float" => args.positional.first().and_then(|v| match v {
                Value::Const(Const::Str(s)) => python_float(s).map(Value::Const),
                other => float(other.as_float()),
            }),
            "builtins.bool" => args.positional.first().and_then(Value::truth).map(Value::bool),
            "builtins.abs" => args.positional.first().and_then(|v| match v.to_const()? {
                Const::Float(f) => float(Some(f.get().abs())),
                other => other.as_int()?.checked_abs().map(Value::int),
            }),
            "builtins.sum" => args.positional.first().and_then(Value::items).and_then(|items| {
                items.iter().try_fold(Const::Int(0), |n, v| constant::binary(BinaryOp::Add, &n, &v.to_const()?)).map(Value::Const)
            }),
            "builtins.tuple" => args.positional.first().and_then(Value::items).map(Value::tuple),
            "builtins.list" => args.positional.first().map_or_else(|| Some(vec![]), Value::items).map(Value::list),
            "builtins.reversed" => args.positional.first().and_then(Value::items).map(|mut items| {
                items.reverse();
                Value::list(items)
            }),
            "builtins.enumerate" => args.positional.first().and_then(Value::items).map(|items| {
                Value::list(items.into_iter().enumerate().map(|(i, v)| Value::tuple(vec![Value::int(i as i128), v])).collect())
            }),
            "builtins.zip" => {
                let columns: Option<Vec<Vec<Value>>> = args.positional.iter().map(Value::items).collect();
                columns.map(|columns| {
                    let rows = columns.iter().map(Vec::len).min().unwrap_or(0);
                    Value::list((0..rows).map(|i| Value::tuple(columns.iter().map(|c| c[i].clone()).collect())).collect())
                })
            }
            "builtins.dict" => {
                let entries = args.keywords.iter().map(|(k, v)| (Const::Str(k.to_string()), v.clone()));
                args.positional.is_empty().then(|| Value::Dict(Rc::new(entries.collect::<IndexMap<_, _>>().into())))
            }
            "builtins.print" => Some(Value::NONE),
            "triton.runtime.driver.active.get_current_target" => Some(Value::Path(path.into())),
            "itertools.product" => product(args),
            _ => None,
        };
        found.unwrap_or_else(unknown)
    }
}

/// Floats whose whole part fits an integer.
fn whole(x: f64) -> Option<f64> {
    (x.is_finite() && x.abs() < 1e30).then_some(x)
}

fn extreme(largest: bool, args: &Args) -> Option<Value> {
    let items = match &args.positional[..] {
        [one] => one.items()?,
        many => many.to_vec(),
    };
    let mut best = items.first()?.to_const()?;
    for item in &items[1..] {
        let item = item.to_const()?;
        let op = if largest { CompareOp::Gt } else { CompareOp::Lt };
        if constant::compare(op, &item, &best)? {
            best = item;
        }
    }
    Some(Value::from_const(best))
}

fn product(args: &Args) -> Option<Value> {
    let mut rows: Vec<Vec<Value>> = vec![vec![]];
    for column in &args.positional {
        let column = column.items()?;
        if rows.len().saturating_mul(column.len()) > LONGEST {
            return None;
        }
        rows = rows.iter().flat_map(|row| column.iter().map(|v| [&row[..], std::slice::from_ref(v)].concat())).collect();
    }
    Some(Value::list(rows.into_iter().map(Value::tuple).collect()))
}

/// `triton.Config({…}, num_warps=…, num_stages=…)`
/// `TensorDescriptor(base, shape, strides, block_shape, padding)`, `TensorDescriptor.from_tensor(tensor, block_shape, padding)`
fn descriptor(args: &Args, whole: bool) -> Option<Value> {
    let (base, block, padding) = if whole { ("tensor", 1, 2) } else { ("base", 3, 4) };
    let Value::Tensor(tensor) = args.get(0, base)? else { return None };
    let numbers = |index: usize, name: &str| Value::as_shape(&args.get(index, name)?.items()?);
    let tensor = match whole {
        true => tensor.clone(),
        false => tensor.view(numbers(1, "shape")?, numbers(2, "strides")?),
    };
    let block = numbers(block, "block_shape")?.into_iter().map(|n| u32::try_from(n).ok()).collect::<Option<Vec<u32>>>()?;
    let nan = args.get(padding, "padding").is_some_and(|p| p.to_const() == Some(Const::Str("nan".into())));
    Some(Value::Descriptor(Rc::new(DescriptorValue { tensor, block, nan })))
}

fn config(args: &Args) -> Option<Value> {
    let Value::Dict(meta) = args.get(0, "kwargs")? else { return None };
    let meta = meta
        .borrow()
        .iter()
        .map(|(k, v)| match k {
            Const::Str(k) => v.to_const().map(|v| (SmolStr::from(k), v)),
            _ => None,
        })
        .collect::<Option<Vec<_>>>()?;
    let option = |index: usize, name: &str| args.get(index, name).and_then(Value::as_int).and_then(|i| u32::try_from(i).ok());
    Some(Value::Config(Rc::new(Config {
        meta: IndexMapOf(meta),
        num_warps: option(1, "num_warps"),
        num_stages: option(2, "num_stages"),
        has_pre_hook: args.keyword("pre_hook").is_some_and(|hook| hook.to_const() != Some(Const::None)),
    })))
}
