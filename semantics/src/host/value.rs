//! What host code computes with.
//!
//! **Invariant:** a value is exactly what Python would have, except that the contents of a tensor are only known by how they were made;
//! what cannot be known is [`Value::Unknown`] with the reason.

use std::{cell::RefCell, rc::Rc, sync::Arc};

use indexmap::IndexMap;
use smol_str::SmolStr;

use crate::{
    Function, OrderedMap, SourceFile,
    body::{Body, ExprId, StmtId},
    constant::{self, Const},
    diagnostics::Severity,
    dtype::DType,
    launch::{Given, GivenOptions, Impossible, Init},
    program::NodeId,
};

use super::{
    budget,
    interpret::MAX_LIST_ITEMS,
    torch::{Args, MAX_RANK},
};

#[derive(Debug, Clone)]
pub(crate) enum Value {
    Unknown(Doubt),
    /// Anything but a tuple.
    Const(Const),
    Tuple(Rc<Vec<Value>>),
    List(Rc<RefCell<Vec<Value>>>),
    Dict(Rc<RefCell<IndexMap<Const, Value>>>),
    Range {
        start: i128,
        stop: i128,
        step: i128,
    },
    Tensor(TensorValue),
    /// A module of a library or its member, by full path.
    Path(SmolStr),
    /// A module of the workspace.
    File(SourceFile),
    Closure(Rc<Closure>),
    Class(Rc<Class>),
    /// An object with attributes, such as the context of a `torch.autograd.Function`.
    Object(Rc<Object>),
    /// `functools.partial(callee, …)`
    Partial(Rc<(Value, Args)>),
    /// One of several, nobody knows which.
    Either(Rc<Vec<Value>>),
    /// `receiver.name`, about to be called.
    Method(Rc<(Value, SmolStr)>),
    /// `kernel[grid]`
    Gridded(Function, Rc<Value>),
    /// `triton.Config(…)`
    Config(Rc<Config>),
    /// `TensorDescriptor(…)`
    Descriptor(Rc<DescriptorValue>),
}

/// A value that is not known.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Doubt {
    pub(crate) why: SmolStr,
    /// What is known of it all the same, unless it is `None`.
    pub(crate) kind: Kind,
    pub(crate) may_be_none: bool,
    /// What it is unless somebody says otherwise: a default, or what one of several ways makes it.
    pub(crate) usual: Option<Rc<Const>>,
}

/// What a value is, whichever it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Kind {
    #[default]
    Any,
    Int,
    Float,
    Bool,
    Str,
    DType,
    /// A tensor, of a dtype that may be known.
    Tensor(Option<DType>),
    /// Sizes, strides, a range: each item is an integer.
    Ints,
}

impl Kind {
    /// What is one or the other.
    pub(crate) fn or(self, other: Kind) -> Kind {
        match (self, other) {
            (a, b) if a == b => a,
            (Kind::Tensor(_), Kind::Tensor(_)) => Kind::Tensor(None),
            _ => Kind::Any,
        }
    }

    /// What a value is.
    pub(crate) fn of(value: &Const) -> Kind {
        Value::from_const(value.clone()).kind()
    }

    pub(crate) fn is_number(self) -> bool {
        matches!(self, Kind::Int | Kind::Float | Kind::Bool)
    }
}

impl From<SmolStr> for Doubt {
    fn from(why: SmolStr) -> Doubt {
        Doubt { why, kind: Kind::Any, may_be_none: true, usual: None }
    }
}

impl From<String> for Doubt {
    fn from(why: String) -> Doubt {
        SmolStr::from(why).into()
    }
}

/// A row of `@triton.autotune(configs=…)`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Hash)]
pub struct Config {
    pub meta: IndexMapOf<Const>,
    pub options: GivenOptions,
    /// A function of the host that may change arguments first.
    pub has_pre_hook: bool,
    /// That function, where it is one of a module: its file, chunk and statement.
    pub pre_hook: Option<(SourceFile, usize, StmtId)>,
    /// Whether its options are all known and said above.
    pub is_whole: bool,
    /// What is wrong with its options.
    pub impossible: Option<Impossible>,
}

impl Config {
    /// Nothing is compiled for it.
    pub fn is_impossible(&self) -> bool {
        self.impossible.as_ref().is_some_and(|found| found.severity == Severity::Error)
    }
}

/// An [`IndexMap`] from names whose order counts when it is compared and hashed.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct IndexMapOf<T>(pub Vec<(SmolStr, T)>);

impl<T> Default for IndexMapOf<T> {
    fn default() -> Self {
        IndexMapOf(Vec::new())
    }
}

impl<T> IndexMapOf<T> {
    pub fn get(&self, name: &str) -> Option<&T> {
        self.0.iter().find(|(n, _)| n == name).map(|(_, v)| v)
    }
}

#[derive(Debug)]
pub(crate) struct DescriptorValue {
    /// The view that its shape and strides describe.
    pub(crate) tensor: TensorValue,
    pub(crate) block: Vec<u32>,
    pub(crate) nan: bool,
}

#[derive(Debug)]
pub(crate) struct Closure {
    pub(crate) file: SourceFile,
    pub(crate) chunk: usize,
    pub(crate) body: Arc<Body>,
    pub(crate) code: Code,
    pub(crate) scope: Rc<Scope>,
    pub(crate) method: Method,
    /// The function that it stands for: `@functools.wraps(…)`.
    pub(crate) wraps: Option<Rc<Closure>>,
}

/// What a function of a class gets before its arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Method {
    /// The object.
    Plain,
    /// The class.
    Class,
    Static,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Code {
    Function(StmtId),
    /// A function whose decorators make of it what is not known.
    Opaque(StmtId),
    Lambda(ExprId),
}

#[derive(Debug)]
pub(crate) struct Class {
    pub(crate) members: OrderedMap<SmolStr, Value>,
    /// What its constructor takes, in order, where it is made of that: a dataclass, a named tuple. Defaults are members.
    pub(crate) fields: Option<Vec<(SmolStr, Kind)>>,
}

#[derive(Debug, Default)]
pub(crate) struct Object {
    pub(crate) class: Option<Rc<Class>>,
    pub(crate) fields: RefCell<IndexMap<SmolStr, Value>>,
}

/// The names of a function call or of a module.
#[derive(Debug)]
pub(crate) struct Scope {
    pub(crate) names: RefCell<OrderedMap<SmolStr, Value>>,
    pub(crate) parent: Option<Rc<Scope>>,
}

impl Scope {
    pub(crate) fn new(parent: Option<Rc<Scope>>) -> Rc<Scope> {
        budget::take(0);
        budget::keep(Scope { names: RefCell::default(), parent })
    }

    pub(crate) fn get(&self, name: &str) -> Option<Value> {
        let mut scope = self;
        loop {
            if let Some(found) = scope.names.borrow().get(name) {
                return Some(found.clone());
            }
            scope = scope.parent.as_deref()?;
        }
    }

    pub(crate) fn set(&self, name: &SmolStr, value: Value) {
        if let Value::Tensor(tensor) = &value {
            tensor.storage.name.borrow_mut().get_or_insert_with(|| name.clone());
        }
        self.names.borrow_mut().insert(name.clone(), value);
    }
}

/// Memory that a tensor views. Two tensors share memory if they share it.
#[derive(Debug)]
pub(crate) struct Storage {
    pub(crate) name: RefCell<Option<SmolStr>>,
    pub(crate) dtype: DType,
    /// Elements.
    pub(crate) len: u64,
    /// How it would be made for a launch alone; `None`: it is computed.
    pub(crate) init: RefCell<Option<Init>>,
    pub(crate) contents: RefCell<Contents>,
}

/// What a memory holds now.
#[derive(Debug, Clone)]
pub(crate) enum Contents {
    /// What its initialiser makes.
    Made,
    Node(NodeId),
    Unknown,
}

#[derive(Debug, Clone)]
pub(crate) struct TensorValue {
    pub(crate) storage: Rc<Storage>,
    pub(crate) dtype: DType,
    pub(crate) shape: Vec<u64>,
    pub(crate) strides: Vec<u64>,
    /// Where it begins in its memory, in elements.
    pub(crate) offset: u64,
    /// It lies in the host's memory for certain.
    pub(crate) on_cpu: bool,
}

/// Sequences within sequences that are one compile-time value.
const MAX_DEPTH: usize = 64;
/// Why something is unknown that the budget has no room for.
pub(super) const TOO_LARGE: &str = "host code makes more than is followed";

/// Elements of a tensor: beyond any device's memory, and far from overflow.
pub(super) const LARGEST: u64 = 1 << 44;

/// Strides of a row-major tensor.
pub fn row_major(shape: &[u64]) -> Vec<u64> {
    let mut strides = vec![1u64; shape.len()];
    for i in (1..shape.len()).rev() {
        strides[i - 1] = strides[i].saturating_mul(shape[i].max(1));
    }
    strides
}

impl TensorValue {
    pub(crate) fn new(dtype: DType, shape: Vec<u64>, init: Option<Init>) -> TensorValue {
        let strides = row_major(&shape);
        let len = shape.iter().fold(1, |n: u64, &d| n.saturating_mul(d));
        let contents = RefCell::new(Contents::Made);
        let storage = Rc::new(Storage { name: RefCell::default(), dtype, len, init: RefCell::new(init), contents });
        TensorValue { storage, dtype, shape, strides, offset: 0, on_cpu: false }
    }

    pub(crate) fn init(&self) -> Option<Init> {
        self.storage.init.borrow().clone()
    }

    pub(crate) fn numel(&self) -> u64 {
        self.shape.iter().fold(1, |n, &d| n.saturating_mul(d))
    }

    pub(crate) fn is_contiguous(&self) -> bool {
        let expected = row_major(&self.shape);
        self.shape.iter().zip(self.strides.iter().zip(&expected)).all(|(&n, (a, b))| n <= 1 || a == b)
    }

    /// A view of the same memory.
    pub(crate) fn view(&self, shape: Vec<u64>, strides: Vec<u64>, offset: u64) -> TensorValue {
        TensorValue { storage: self.storage.clone(), dtype: self.dtype, shape, strides, offset, on_cpu: self.on_cpu }
    }

    /// A tensor of its own, made the same way.
    pub(crate) fn like(&self, dtype: DType) -> TensorValue {
        let init = if self.is_contiguous() || self.init().as_ref().is_some_and(is_uniform) { self.init() } else { None };
        TensorValue::new(dtype, self.shape.clone(), init).on_cpu(self.on_cpu)
    }

    pub(crate) fn on_cpu(self, on_cpu: bool) -> TensorValue {
        TensorValue { on_cpu, ..self }
    }
}

/// Whether the order of elements does not matter.
fn is_uniform(init: &Init) -> bool {
    !matches!(init, Init::Arange | Init::File(_))
}

impl Value {
    pub(crate) const NONE: Value = Value::Const(Const::None);

    pub(crate) fn unknown(reason: impl Into<SmolStr>) -> Value {
        Value::Unknown(reason.into().into())
    }

    /// Of a kind, but not known.
    pub(crate) fn some(kind: Kind, reason: impl Into<SmolStr>) -> Value {
        Value::Unknown(Doubt { why: reason.into(), kind, may_be_none: kind == Kind::Any, usual: None })
    }

    /// What it is, whichever value it is, unless it is `None`.
    pub(crate) fn kind(&self) -> Kind {
        match self {
            Value::Unknown(doubt) => doubt.kind,
            Value::Const(Const::Int(_)) => Kind::Int,
            Value::Const(Const::Float(_)) => Kind::Float,
            Value::Const(Const::Bool(_)) => Kind::Bool,
            Value::Const(Const::Str(_)) => Kind::Str,
            Value::Const(Const::DType(_)) => Kind::DType,
            Value::Tensor(t) => Kind::Tensor(Some(t.dtype)),
            Value::Range { .. } => Kind::Ints,
            Value::Path(_) if self.as_dtype().is_some() => Kind::DType,
            Value::Tuple(items) if !items.is_empty() && items.len() <= MAX_RANK => {
                let is_int = |item: &Value| match item {
                    Value::Unknown(doubt) => doubt.kind == Kind::Int,
                    other => matches!(other, Value::Const(Const::Int(_))),
                };
                if items.iter().all(is_int) { Kind::Ints } else { Kind::Any }
            }
            Value::Either(all) => {
                let something = all.iter().filter(|value| !value.is_none());
                something.map(Value::kind).reduce(Kind::or).unwrap_or_default()
            }
            _ => Kind::Any,
        }
    }

    pub(crate) fn is_none(&self) -> bool {
        matches!(self, Value::Const(Const::None))
    }

    /// A value that may be another of its kind.
    pub(crate) fn usually(self, why: &str) -> Value {
        match self {
            Value::Const(Const::Function(_)) | Value::Path(_) | Value::File(_) | Value::Class(_) | Value::Unknown(_) => self,
            other => Value::Unknown(Doubt {
                why: why.into(),
                kind: other.kind(),
                may_be_none: !other.is_something(),
                usual: other.to_const().filter(|value| *value != Const::None).map(Rc::new),
            }),
        }
    }

    /// The value, unless it is one of several: then no more than what they have in common.
    pub(crate) fn in_doubt(self, why: &str) -> Value {
        match self {
            Value::Either(_) => {
                Value::Unknown(Doubt { why: why.into(), kind: self.kind(), may_be_none: !self.is_something(), usual: None })
            }
            other => other,
        }
    }

    /// The value, if it is known not to be `None`.
    pub(crate) fn unless_none(self) -> Value {
        match self {
            Value::Unknown(doubt) if doubt.kind != Kind::Any => Value::Unknown(Doubt { may_be_none: false, ..doubt }),
            Value::Either(all) => {
                let mut something: Vec<Value> =
                    all.iter().filter(|value| !value.is_none()).map(|value| value.clone().unless_none()).collect();
                match something.len() {
                    1 => something.remove(0),
                    _ => Value::Either(budget::keep(something)),
                }
            }
            other => other,
        }
    }

    /// Whether it is anything but `None`, whichever value it is.
    pub(crate) fn is_something(&self) -> bool {
        match self {
            Value::Unknown(doubt) => !doubt.may_be_none,
            Value::Either(all) => all.iter().all(Value::is_something),
            Value::Const(value) => *value != Const::None,
            Value::Tensor(_)
            | Value::Closure(_)
            | Value::Class(_)
            | Value::List(_)
            | Value::Dict(_)
            | Value::Tuple(_)
            | Value::Range { .. }
            | Value::Descriptor(_)
            | Value::Config(_)
            | Value::Object(_) => true,
            Value::Path(_) | Value::File(_) | Value::Partial(_) | Value::Method(_) | Value::Gridded(..) => false,
        }
    }

    pub(crate) fn int(value: impl Into<i128>) -> Value {
        Value::Const(Const::Int(value.into()))
    }

    pub(crate) fn bool(value: bool) -> Value {
        Value::Const(Const::Bool(value))
    }

    pub(crate) fn tuple(items: Vec<Value>) -> Value {
        if budget::take(items.len()) { Value::Tuple(budget::keep(items)) } else { Value::unknown(TOO_LARGE) }
    }

    pub(crate) fn list(items: Vec<Value>) -> Value {
        if budget::take(items.len()) { Value::List(budget::keep(RefCell::new(items))) } else { Value::unknown(TOO_LARGE) }
    }

    pub(crate) fn dict(items: IndexMap<Const, Value>) -> Value {
        if budget::take(2 * items.len()) { Value::Dict(budget::keep(RefCell::new(items))) } else { Value::unknown(TOO_LARGE) }
    }

    /// What has these attributes and no class.
    pub(crate) fn object(fields: IndexMap<SmolStr, Value>) -> Value {
        Value::Object(budget::keep(Object { class: None, fields: RefCell::new(fields) }))
    }

    pub(crate) fn text(text: String) -> Value {
        if budget::take_text(text.len()) { Value::Const(Const::Str(text)) } else { Value::unknown(TOO_LARGE) }
    }

    /// `receiver.name`, about to be called.
    pub(crate) fn method(receiver: Value, name: &SmolStr) -> Value {
        if budget::take(1) { Value::Method(budget::keep((receiver, name.clone()))) } else { Value::unknown(TOO_LARGE) }
    }

    pub(crate) fn from_const(value: Const) -> Value {
        match value {
            Const::Tuple(items) => Value::tuple(items.into_iter().map(Value::from_const).collect()),
            other => Value::Const(other),
        }
    }

    pub(crate) fn from_given(given: Given) -> Value {
        const WHY: &str = "the launch does not say it";
        match given {
            Given::Known(value) => Value::from_const(value),
            Given::OneOf(values) => {
                let all = values.into_iter().map(Value::from_const);
                all.reduce(|a, b| a.or(b, WHY)).unwrap_or_else(|| Value::unknown(WHY))
            }
            Given::Tuple(items) => Value::tuple(items.into_iter().map(Value::from_given).collect()),
            Given::Descriptor { .. } => Value::unknown(WHY),
            Given::Open { kind, may_be_none, .. } => Value::Unknown(Doubt { why: WHY.into(), kind, may_be_none, usual: None }),
        }
    }

    /// As a compile-time value; lists count as tuples. `None` where it is not known, or larger than such values may be.
    pub(crate) fn to_const(&self) -> Option<Const> {
        self.const_within(&mut constant::MAX_NODES.clone(), MAX_DEPTH)
    }

    fn const_within(&self, nodes_left: &mut usize, depth_left: usize) -> Option<Const> {
        *nodes_left = nodes_left.checked_sub(1)?;
        let mut sequence = |items: &[Value]| {
            let depth_left = depth_left.checked_sub(1)?;
            // What is too long is not begun.
            if items.len() > *nodes_left || !budget::visit(items.len()) {
                return None;
            }
            items.iter().map(|item| item.const_within(nodes_left, depth_left)).collect::<Option<_>>().map(Const::Tuple)
        };
        match self {
            Value::Const(c) => Some(c.clone()),
            Value::Tuple(items) => sequence(items),
            Value::List(items) => sequence(&items.borrow()),
            Value::Path(path) => {
                path.strip_prefix("torch.").or(path.strip_prefix("triton.language.")).and_then(DType::from_name).map(Const::DType)
            }
            _ => None,
        }
    }

    pub(crate) fn as_int(&self) -> Option<i128> {
        match self {
            Value::Const(c) => c.as_int(),
            _ => None,
        }
    }

    pub(crate) fn as_float(&self) -> Option<f64> {
        match self {
            Value::Const(c) => c.as_float(),
            _ => None,
        }
    }

    pub(crate) fn as_dtype(&self) -> Option<DType> {
        match self.to_const()? {
            Const::DType(d) => Some(d),
            _ => None,
        }
    }

    /// A shape: integers one by one, or one sequence of them.
    pub(crate) fn as_shape(values: &[Value]) -> Option<Vec<u64>> {
        let dims = |items: &[Value]| {
            (items.len() <= MAX_RANK).then_some(())?;
            let shape: Vec<u64> = items.iter().map(|v| v.as_int().and_then(|i| u64::try_from(i).ok())).collect::<Option<_>>()?;
            shape.iter().try_fold(1u64, |n, &d| n.checked_mul(d.max(1)).filter(|&n| n <= LARGEST)).map(|_| shape)
        };
        match values {
            [Value::Tuple(items)] => dims(items),
            [Value::List(items)] => dims(&items.borrow()),
            _ => dims(values),
        }
    }

    /// Python's truth, where it is known.
    pub(crate) fn truth(&self) -> Option<bool> {
        match self {
            Value::Unknown(_) | Value::Tensor(_) | Value::Object(_) => None,
            Value::Const(c) => Some(c.truth()),
            Value::Tuple(items) => Some(!items.is_empty()),
            Value::List(items) => Some(!items.borrow().is_empty()),
            Value::Dict(items) => Some(!items.borrow().is_empty()),
            Value::Range { .. } => Some(self.len()? > 0),
            Value::Path(_) => self.as_dtype().map(|_| true),
            Value::Either(all) => {
                let first = all.first()?.truth()?;
                all.iter().all(|v| v.truth() == Some(first)).then_some(first)
            }
            Value::Partial(_)
            | Value::File(_)
            | Value::Closure(_)
            | Value::Class(_)
            | Value::Method(_)
            | Value::Gridded(..)
            | Value::Config(_)
            | Value::Descriptor(_) => Some(true),
        }
    }

    /// How many items a `for` loop sees.
    pub(crate) fn len(&self) -> Option<usize> {
        match self {
            Value::Tuple(items) => Some(items.len()),
            Value::List(items) => Some(items.borrow().len()),
            Value::Dict(items) => Some(items.borrow().len()),
            Value::Const(Const::Str(text)) => Some(text.chars().count()),
            Value::Range { start, stop, step } => {
                let count = match step.signum() {
                    1 => stop.checked_sub(*start)?.max(0).checked_add(step - 1)? / step,
                    -1 => start.checked_sub(*stop)?.max(0).checked_sub(step.checked_add(1)?)? / step.checked_neg()?,
                    _ => return None,
                };
                usize::try_from(count).ok()
            }
            _ => None,
        }
    }

    /// What a `for` loop sees.
    pub(crate) fn items(&self) -> Option<Vec<Value>> {
        if self.len()? > MAX_LIST_ITEMS || !budget::visit(self.len()?) {
            return None;
        }
        match self {
            Value::Tuple(items) => Some(items.to_vec()),
            Value::List(items) => Some(items.borrow().clone()),
            Value::Dict(items) => Some(items.borrow().keys().cloned().map(Value::from_const).collect()),
            Value::Const(Const::Str(s)) => Some(s.chars().map(|c| Value::Const(Const::Str(c.into()))).collect()),
            Value::Range { start, step, .. } => Some((0..self.len()? as i128).map(|i| Value::int(start + i * step)).collect()),
            _ => None,
        }
    }
}
