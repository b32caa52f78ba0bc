//! Functions of Python, `math`, `itertools` and Triton's host side that host code calls.
//!
//! **Invariant:** the answer is the function's own, or unknown by name.

use std::rc::Rc;

use smol_str::SmolStr;

use super::{
    budget,
    interpret::{Host, MAX_LIST_ITEMS, reason},
    kinds,
    operations::{distinct, python_str},
    statements::ENDS,
    torch::{self, Args},
    value::{self, Config, DescriptorValue, IndexMapOf, Kind, Value},
};
use crate::{
    body::{BinaryOp, CompareOp},
    constant::{self, Const},
    diagnostics::{Code, Severity},
    items::{cdiv, next_power_of_2, python_float, version_number},
    launch::{self, GivenOptions, Impossible},
    project, versions,
};

/// Functions that take integers and nothing else.
const INTEGERS: &[&str] = &[
    "builtins.max",
    "builtins.min",
    "builtins.range",
    "torch.empty",
    "torch.ones",
    "torch.zeros",
    "triton.cdiv",
    "triton.next_power_of_2",
];

impl Host<'_> {
    pub(super) fn call_path(&mut self, path: &str, args: &Args) -> Value {
        let unknown = || {
            let given = args.positional.iter().chain(args.keywords.iter().map(|k| &k.1));
            let why = match given.into_iter().find(|v| matches!(v, Value::Unknown(_))) {
                Some(unknown) => reason(unknown, ""),
                None => format!("`{}` is not followed", path.strip_prefix("builtins.").unwrap_or(path)),
            };
            Value::some(kinds::call(path, args), why)
        };
        if INTEGERS.contains(&path) {
            args.positional.iter().for_each(|value| self.used_as_integer(value));
        }
        let int = |i: usize, name: &str| args.get(i, name).and_then(Value::as_int);
        let float = |x: Option<f64>| x.map(|x| Value::Const(Const::float(x)));
        if let "torch.finfo" | "torch.iinfo" = path {
            let dtype = args.positional.first().and_then(Value::as_dtype).filter(|_| args.positional.len() == 1);
            let said = dtype.and_then(|dtype| constant::python::type_info(&path["torch.".len()..], dtype));
            if said.is_none() {
                let kind = if path == "torch.finfo" { Kind::Float } else { Kind::Int };
                let limit = |name: &str| (name.into(), Value::some(kind, "the dtype is not known"));
                let bits = ("bits".into(), Value::some(Kind::Int, "the dtype is not known"));
                let limits = ["max", "min", "eps", "tiny", "smallest_normal", "resolution"].map(limit);
                return Value::object(limits.into_iter().chain([bits]).collect());
            }
            return said.map_or_else(unknown, |said| {
                Value::object(said.into_iter().map(|(name, value)| (name.into(), Value::Const(value))).collect())
            });
        }
        if let Some(name) = path.strip_prefix("torch.").filter(|n| !n.starts_with("cuda.get_device_")) {
            if let ("torch.nn.Parameter" | "torch.nn.parameter.Parameter", Some(Value::Tensor(t))) = (path, args.get(0, "data")) {
                self.needs_gradient(t);
                return Value::Tensor(t.clone());
            }
            if let Some(checked) = self.check(path, args) {
                return checked;
            }
            let made = self.tensor_function(name, args);
            return self.possible(name, args, made).unwrap_or_else(unknown);
        }
        if let Some(of_benchmark) = self.benchmark_path(path, args) {
            return of_benchmark;
        }
        let found = match path {
            "triton.testing.assert_close" | "numpy.testing.assert_allclose" | "numpy.allclose" => self.check(path, args),
            "triton.cdiv" => int(0, "x").zip(int(1, "y")).and_then(|(a, b)| cdiv(a, b)).map(Value::int),
            "triton.next_power_of_2" => int(0, "n").and_then(next_power_of_2).map(Value::int),
            "triton.Config" => config(args),
            "triton.tools.tensor_descriptor.TensorDescriptor" => descriptor(args, false),
            "triton.tools.tensor_descriptor.TensorDescriptor.from_tensor" => descriptor(args, true),
            "triton.language.constexpr" => args.positional.first().cloned(),
            "dataclasses.field" => match (args.keyword("default"), args.keyword("default_factory")) {
                (Some(default), None) => Some(default.clone()),
                (None, Some(made)) => Some(self.call(made.clone(), Args::default())),
                _ => None,
            },
            // Timed functions run as they would anyway.
            "triton.testing.do_bench" | "triton.testing.do_bench_cudagraph" => {
                if let Some(timed) = args.get(0, "fn") {
                    self.call(timed.clone(), Args::default());
                }
                Some(Value::some(Kind::Float, "a time is known when the program runs"))
            }
            "math.prod" => args.positional.first().and_then(Value::items).and_then(|items| {
                let items: Option<Vec<Const>> = items.iter().map(Value::to_const).collect();
                constant::python::math("prod", &[Const::Tuple(items?)]).map(Value::Const)
            }),
            path if path.starts_with("math.") => {
                let known: Option<Vec<Const>> = args.positional.iter().map(Value::to_const).collect();
                let known = known.filter(|_| args.keywords.is_empty());
                known.and_then(|known| constant::python::math(&path["math.".len()..], &known)).map(Value::Const)
            }
            "builtins.len" => args.positional.first().and_then(|v| match v {
                Value::Tensor(t) => t.shape.first().map(|&d| Value::int(d)),
                other => other.len().map(|len| Value::int(len as i128)),
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
            "builtins.min" | "builtins.max" => self.extreme(path == "builtins.max", args),
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
                args.positional.is_empty().then(|| Value::dict(entries.collect()))
            }
            "builtins.print" => Some(Value::NONE),
            _ if ENDS.contains(&path) => {
                self.raised = Some("nothing comes after it".into());
                Some(Value::NONE)
            }
            // A row of `@pytest.mark.parametrize(…)`; nobody vouches for one that is expected to fail.
            "pytest.param" if args.keyword("marks").is_some_and(is_not_run) => None,
            "pytest.param" => match &args.positional[..] {
                [one] => Some(one.clone()),
                many => Some(Value::tuple(many.to_vec())),
            },
            "builtins.set" | "builtins.frozenset" => {
                args.positional.first().map_or_else(|| Some(vec![]), Value::items).map(|items| Value::list(distinct(items)))
            }
            "builtins.str" => {
                args.positional.first().and_then(|v| python_str(&v.to_const()?)).map(|s| Value::Const(Const::Str(s)))
            }
            "builtins.any" | "builtins.all" => {
                let stops = path == "builtins.any";
                let truths =
                    args.positional.first().and_then(Value::items).map(|i| i.iter().map(Value::truth).collect::<Vec<_>>());
                truths.and_then(|truths| match truths.contains(&Some(stops)) {
                    true => Some(Value::bool(stops)),
                    false => truths.iter().all(Option::is_some).then(|| Value::bool(!stops)),
                })
            }
            "builtins.sorted" => self.sorted(args),
            "builtins.map" => match &args.positional[..] {
                [function, items] => items.items().map(|items| {
                    let call = |v| self.call(function.clone(), Args { positional: vec![v], keywords: vec![] });
                    Value::list(items.into_iter().map(call).collect())
                }),
                _ => None,
            },
            "builtins.filter" => match &args.positional[..] {
                [function, items] => items.items().and_then(|items| {
                    let mut out = Vec::new();
                    for item in items {
                        let kept = self.call(function.clone(), Args { positional: vec![item.clone()], keywords: vec![] });
                        if kept.truth()? {
                            out.push(item);
                        }
                    }
                    Some(Value::list(out))
                }),
                _ => None,
            },
            "builtins.isinstance" => match &args.positional[..] {
                [Value::Tensor(_), Value::Path(class)] if class == "torch.Tensor" => Some(Value::bool(true)),
                [Value::Const(value), Value::Path(class)] => {
                    let is = match class.as_str() {
                        "builtins.int" => matches!(value, Const::Int(_) | Const::Bool(_)),
                        "builtins.float" => matches!(value, Const::Float(_)),
                        "builtins.str" => matches!(value, Const::Str(_)),
                        "builtins.bool" => matches!(value, Const::Bool(_)),
                        "torch.Tensor" => false,
                        _ => return unknown(),
                    };
                    Some(Value::bool(is))
                }
                _ => None,
            },
            "builtins.hasattr" => match &args.positional[..] {
                [Value::Path(module), Value::Const(Const::Str(name))] if versions::is_module(module) => {
                    let triton = project::triton(self.db, self.file);
                    versions::has(&format!("{module}.{name}"), triton).map(Value::bool)
                }
                _ => None,
            },
            "builtins.getattr" => match &args.positional[..] {
                [of, Value::Const(Const::Str(name)), ..] => match self.attribute(of.clone(), &name.into()) {
                    Value::Unknown(_) | Value::Method(_) => args.positional.get(2).cloned(),
                    found => Some(found),
                },
                _ => None,
            },
            "builtins.pow" => match &args.positional[..] {
                [a, b] => a
                    .to_const()
                    .zip(b.to_const())
                    .and_then(|(a, b)| constant::binary(BinaryOp::Pow, &a, &b))
                    .map(Value::from_const),
                _ => None,
            },
            "builtins.round" => match &args.positional[..] {
                [x] => x.as_float().and_then(whole).map(|x| Value::int(x.round_ties_even() as i128)),
                _ => None,
            },
            "functools.partial" => args.positional.split_first().map(|(callee, rest)| {
                Value::Partial(budget::keep((
                    callee.clone(),
                    Args { positional: rest.to_vec(), keywords: args.keywords.clone() },
                )))
            }),
            "functools.reduce" => match &args.positional[..] {
                [function, items, rest @ ..] => items.items().and_then(|items| {
                    let mut all = rest.iter().cloned().chain(items);
                    let first = all.next()?;
                    Some(all.fold(first, |a, b| self.call(function.clone(), Args { positional: vec![a, b], keywords: vec![] })))
                }),
                _ => None,
            },
            "itertools.chain" => {
                let all: Option<Vec<Vec<Value>>> = args.positional.iter().map(Value::items).collect();
                all.map(|all| Value::list(all.concat())).filter(|v| v.items().is_some_and(|i| i.len() <= MAX_LIST_ITEMS))
            }
            "operator.ge" | "operator.gt" | "operator.le" | "operator.lt" | "operator.eq" | "operator.ne" => {
                let op = match path {
                    "operator.ge" => CompareOp::Ge,
                    "operator.gt" => CompareOp::Gt,
                    "operator.le" => CompareOp::Le,
                    "operator.lt" => CompareOp::Lt,
                    "operator.eq" => CompareOp::Eq,
                    _ => CompareOp::Ne,
                };
                match &args.positional[..] {
                    [a, b] => a.to_const().zip(b.to_const()).and_then(|(a, b)| constant::compare(op, &a, &b)).map(Value::bool),
                    _ => None,
                }
            }
            "packaging.version.parse" | "packaging.version.Version" => match args.positional.first() {
                Some(Value::Const(Const::Str(text))) => version_number(text).map(Value::from_const),
                _ => None,
            },
            "importlib.metadata.version" => match args.positional.first() {
                Some(Value::Const(Const::Str(package))) if package == "triton" => Some(Value::Const(Const::Str(self.triton()))),
                _ => None,
            },
            "importlib.import_module" => match args.positional.first() {
                Some(Value::Const(Const::Str(name))) if name == "triton" => Some(Value::Path("triton".into())),
                _ => None,
            },
            // Tritium speaks to NVIDIA's devices, to the board that the project names.
            "torch.cuda.get_device_capability" => self.capability(),
            "torch.cuda.get_device_properties" => self.board_properties(),
            "triton.runtime.driver.active.utils.get_device_properties" => self.device_properties(),
            "triton.runtime.driver.active.get_current_device" => Some(Value::int(0)),
            "triton.runtime.driver.active.get_current_target" => Some(Value::Path(path.into())),
            "itertools.product" => product(args),
            _ => None,
        };
        found.unwrap_or_else(unknown)
    }
}

/// Whether marks of pytest say that a test fails, or is not run.
fn is_not_run(marks: &Value) -> bool {
    let why = |mark: &Value| match mark {
        Value::Path(path) => path.ends_with(".xfail") || path.ends_with(".skip"),
        Value::Unknown(doubt) => [".xfail`", ".skip`"].iter().any(|word| doubt.why.contains(word)),
        _ => false,
    };
    marks.items().map_or_else(|| why(marks), |all| all.iter().any(why))
}

impl Host<'_> {
    /// A tensor that was made, unless it cannot be: then Python raises.
    pub(super) fn possible(&mut self, name: &str, args: &Args, made: Option<Value>) -> Option<Value> {
        let problem = match &made {
            Some(Value::Tensor(t)) if t.shape.len() > torch::MAX_RANK => {
                return Some(Value::unknown("a tensor of so many axes is not followed"));
            }
            Some(Value::Tensor(t)) => {
                let known = t.init().as_ref().and_then(launch::impossible_init);
                // What repeats takes no more memory.
                let shape = if t.numel() > t.storage.len { std::slice::from_ref(&t.storage.len) } else { &t.shape[..] };
                known.or_else(|| launch::impossible_size(name, shape, t.dtype.bytes()))
            }
            None => torch::oversized(name, args).and_then(|shape| launch::impossible_size(name, &shape, 1)),
            _ => None,
        };
        let Some(message) = problem else { return made };
        if let Some(place) = self.place() {
            self.tell(place, Impossible { code: Code::LCH012, severity: Severity::Error, message: message.clone() });
        }
        self.raised = Some(message.as_str().into());
        Some(Value::unknown(message))
    }

    /// `triton.__version__`
    pub(super) fn triton(&self) -> String {
        versions::package_version(project::triton(self.db, self.file))
    }

    /// `min(…)`, `max(…)`, with `key=…` or without.
    fn extreme(&mut self, largest: bool, args: &Args) -> Option<Value> {
        let items = match &args.positional[..] {
            [one] => one.items()?,
            many => many.to_vec(),
        };
        let op = if largest { CompareOp::Gt } else { CompareOp::Lt };
        let mut best: Option<(Const, Value)> = None;
        for item in items {
            let key = match args.keyword("key") {
                Some(function) => self.call(function.clone(), Args { positional: vec![item.clone()], keywords: vec![] }),
                None => item.clone(),
            };
            let key = key.to_const()?;
            let better = match &best {
                Some((known, _)) => constant::compare(op, &key, known)?,
                None => true,
            };
            if better {
                best = Some((key, item));
            }
        }
        best.map(|b| b.1)
    }

    /// What the driver tells of the board that the project names.
    fn device_properties(&self) -> Option<Value> {
        let gpu = project::project(self.db, self.file).target();
        let rows = [
            ("max_shared_mem", Some(gpu.sm.shared_per_cta)),
            ("warpSize", Some(32)),
            ("multiprocessor_count", gpu.board.map(|b| b.sm_count)),
        ];
        let rows = rows.into_iter().filter_map(|(name, value)| Some((Const::Str(name.to_owned()), Value::int(value?))));
        Some(Value::dict(rows.collect()))
    }

    /// What PyTorch tells of that board.
    fn board_properties(&self) -> Option<Value> {
        let gpu = project::project(self.db, self.file).target();
        let (Value::Tuple(capability), board) = (self.capability()?, gpu.board?) else { return None };
        let rows = [
            ("name", Value::Const(Const::Str(format!("NVIDIA {}", board.name)))),
            ("major", capability.first()?.clone()),
            ("minor", capability.get(1)?.clone()),
            ("multi_processor_count", Value::int(board.sm_count)),
            ("warp_size", Value::int(32)),
        ];
        Some(Value::object(rows.into_iter().map(|(name, value)| (name.into(), value)).collect()))
    }

    fn capability(&self) -> Option<Value> {
        let gpu = project::project(self.db, self.file).target();
        let digits: u32 = gpu.sm.name.strip_prefix("sm_")?.trim_end_matches(char::is_alphabetic).parse().ok()?;
        Some(Value::tuple(vec![Value::int(digits / 10), Value::int(digits % 10)]))
    }

    /// `sorted(items, key=…, reverse=…)`
    fn sorted(&mut self, args: &Args) -> Option<Value> {
        let items = args.positional.first()?.items()?;
        let mut keyed = Vec::new();
        for item in items {
            let key = match args.keyword("key") {
                Some(function) => self.call(function.clone(), Args { positional: vec![item.clone()], keywords: vec![] }),
                None => item.clone(),
            };
            keyed.push((key.to_const()?, item));
        }
        // Every pair must compare, or Python would raise.
        for pair in keyed.windows(2) {
            constant::compare(CompareOp::Lt, &pair[0].0, &pair[1].0)?;
        }
        keyed.sort_by(|a, b| match constant::compare(CompareOp::Lt, &a.0, &b.0) {
            Some(true) => std::cmp::Ordering::Less,
            _ if constant::compare(CompareOp::Lt, &b.0, &a.0) == Some(true) => std::cmp::Ordering::Greater,
            _ => std::cmp::Ordering::Equal,
        });
        if args.keyword("reverse").and_then(Value::truth).unwrap_or(false) {
            keyed.reverse();
        }
        Some(Value::list(keyed.into_iter().map(|k| k.1).collect()))
    }
}

/// Floats whose whole part fits an integer.
fn whole(x: f64) -> Option<f64> {
    (x.is_finite() && x.abs() < 1e30).then_some(x)
}

fn product(args: &Args) -> Option<Value> {
    let mut rows: Vec<Vec<Value>> = vec![vec![]];
    for column in &args.positional {
        let column = column.items()?;
        let count = rows.len().saturating_mul(column.len());
        if count > MAX_LIST_ITEMS || !budget::take(count.saturating_mul(rows.first().map_or(0, Vec::len) + 1)) {
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
        false => tensor.view(numbers(1, "shape")?, numbers(2, "strides")?, tensor.offset),
    };
    let block = numbers(block, "block_shape")?.into_iter().map(|n| u32::try_from(n).ok()).collect::<Option<Vec<u32>>>()?;
    // Loads would round; that is not modelled.
    if args.get(padding + 1, "round_f32_to_tf32").is_some_and(|round| round.truth() != Some(false)) {
        return None;
    }
    let nan = args.get(padding, "padding").is_some_and(|p| p.to_const() == Some(Const::Str("nan".into())));
    Some(Value::Descriptor(Rc::new(DescriptorValue { tensor, block, nan })))
}

/// Options of a configuration that are not followed.
const OTHER_OPTIONS: &[(usize, &str)] = &[
    (3, "num_ctas"),
    (5, "pre_hook"),
    (6, "ir_override"),
    (7, "num_buffers_warp_spec"),
    (8, "num_consumer_groups"),
    (9, "reg_dec_producer"),
    (10, "reg_inc_consumer"),
];

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
    let mut impossible: Option<Impossible> = None;
    let mut option = |index: usize, name: &str| {
        let (compiled, found) = launch::option(name, args.get(index, name).and_then(Value::as_int)?);
        if impossible.is_none() || found.as_ref().is_some_and(|f| f.severity == Severity::Error) {
            impossible = found.or(impossible.take());
        }
        compiled
    };
    let options = GivenOptions {
        num_warps: option(1, "num_warps"),
        num_stages: option(2, "num_stages"),
        max_registers: option(4, "maxnreg"),
    };
    Some(Value::Config(Rc::new(Config {
        meta: IndexMapOf(meta),
        options,
        impossible,
        pre_hook: args.keyword("pre_hook").and_then(|hook| match hook {
            Value::Closure(hook) => match hook.code {
                value::Code::Function(stmt) if hook.scope.parent.is_none() => Some((hook.file, hook.chunk, stmt)),
                _ => None,
            },
            _ => None,
        }),
        has_pre_hook: args.keyword("pre_hook").is_some_and(|hook| hook.to_const() != Some(Const::None)),
        is_whole: [(1, "num_warps"), (2, "num_stages"), (4, "maxnreg")]
            .iter()
            .all(|&(index, name)| args.get(index, name).is_none_or(|value| value.as_int().is_some()))
            && OTHER_OPTIONS.iter().all(|&(index, name)| args.get(index, name).is_none()),
    })))
}

impl Config {
    /// `config.kwargs`
    pub(super) fn kwargs(&self) -> Value {
        let meta = self.meta.0.iter().map(|(k, v)| (Const::Str(k.to_string()), Value::from_const(v.clone())));
        Value::dict(meta.collect())
    }

    /// `config.all_kwargs()`
    pub(super) fn all_kwargs(&self) -> Value {
        let all = self.kwargs();
        if let Value::Dict(items) = &all {
            let (mut items, options) = (items.borrow_mut(), self.options.or_default());
            items.insert(Const::Str("num_warps".to_owned()), Value::int(options.num_warps));
            items.insert(Const::Str("num_stages".to_owned()), Value::int(options.num_stages));
        }
        all
    }
}
