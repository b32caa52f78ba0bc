//! What an expression evaluates to while a body is walked.
//!
//! **Invariant:** a value that carries tile IR ids is a [`Value::Tile`] or a tuple that holds one; everything else is known at compile time.

use std::sync::Arc;

use smol_str::SmolStr;
use tritium_tile::{ValueId, ops::DescriptorSource};

use crate::{
    Function, SourceFile,
    builtins::{Builtin, Class, CustomFloat, Library, Python},
    constant::Const,
    dtype::DType,
    items::{RecordClass, RecordKind},
    problem::Place,
    types::{Dim, Dims, TileType, Ty},
};

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Value {
    /// Something was wrong; silences its users.
    Unknown,
    Const(Constant),
    Tile(Tile),
    Tuple(Vec<Value>),
    /// A named tuple or an aggregate.
    Record(Record),
    /// The class of such objects.
    RecordClass(Arc<RecordClass>),
    /// A `@triton.jit` method of an object.
    Bound(Box<Value>, Function),
    /// A `@triton.constexpr_function`.
    ConstexprFunction(Function),
    /// A pointer or block type.
    Type(TileType),
    Builtin(Builtin),
    Library(Library),
    CustomFloat(CustomFloat),
    Method(Box<Value>, Builtin),
    /// A predicate of an element type: `x.dtype.is_floating`, already answered.
    Predicate(bool),
    Python(Python),
    Class(Class),
    PropagateNan(bool),
    /// A dotted path of an imported module.
    Module(SmolStr),
    /// A module of the workspace.
    File(SourceFile),
    /// A plain `def`.
    PythonFunction(SmolStr),
    BlockPointer(BlockPointer),
    Descriptor(Descriptor),
    /// `d.type` of a tensor descriptor, by its block.
    DescriptorType(TileType),
    /// What a store gives.
    Void,
}

/// A window on a matrix in memory; see [`super::block_pointers`].
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct BlockPointer {
    pub parts: Vec<Tile>,
    pub block: Dims,
    pub pointee: DType,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Record {
    pub class: Arc<RecordClass>,
    pub items: Vec<Value>,
}

/// A tensor in memory that is read and written by blocks; see [`super::descriptors`].
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Descriptor {
    pub parts: Vec<Tile>,
    pub block: Dims,
    pub pointee: DType,
    /// Outside the tensor a load gives NaN instead of 0.
    pub nan: bool,
    /// Where ways meet, that of one of them.
    pub source: DescriptorSource,
}

/// A compile-time value, and how the user would say it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Constant {
    pub value: Const,
    pub symbol: Option<SmolStr>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Tile {
    pub ty: TileType,
    pub id: ValueId,
    /// Bit `i`: elements may differ along axis `i`.
    pub varies: u8,
    /// Some elements are undefined: a load was masked without `other`.
    pub undefined: Option<Undefined>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Undefined {
    pub load: Place,
    /// Bit `i`: the mask varies along axis `i`.
    pub axes: u8,
}

impl Tile {
    /// All axes of a shape as bits.
    pub(crate) fn all_axes(rank: usize) -> u8 {
        if rank >= 8 { u8::MAX } else { (1u8 << rank) - 1 }
    }
}

impl Value {
    pub(crate) fn constant(value: Const) -> Value {
        Value::Const(Constant { value, symbol: None })
    }

    pub(crate) fn int(value: i128) -> Value {
        Value::constant(Const::Int(value))
    }

    pub(crate) fn bool(value: bool) -> Value {
        Value::constant(Const::Bool(value))
    }

    pub(crate) fn none() -> Value {
        Value::constant(Const::None)
    }

    pub(crate) fn as_const(&self) -> Option<&Const> {
        match self {
            Value::Const(c) => Some(&c.value),
            _ => None,
        }
    }

    pub(crate) fn is_none(&self) -> bool {
        self.as_const() == Some(&Const::None)
    }

    /// A tuple of constants is a constant tuple too.
    pub(crate) fn to_const(&self) -> Option<Const> {
        match self {
            Value::Const(c) => Some(c.value.clone()),
            Value::Tuple(items) => Some(Const::Tuple(items.iter().map(Value::to_const).collect::<Option<_>>()?)),
            _ => None,
        }
    }

    /// The items of a tuple, run-time or compile-time.
    pub(crate) fn items(&self) -> Option<Vec<Value>> {
        match self {
            Value::Tuple(items) => Some(items.clone()),
            Value::Record(record) if record.class.kind == RecordKind::NamedTuple => Some(record.items.clone()),
            Value::Const(Constant { value: Const::Tuple(items), .. }) => {
                Some(items.iter().cloned().map(Value::constant).collect())
            }
            _ => None,
        }
    }

    pub(crate) fn has_unknown(&self) -> bool {
        match self {
            Value::Unknown => true,
            Value::Tuple(items) | Value::Record(Record { items, .. }) => items.iter().any(Value::has_unknown),
            _ => false,
        }
    }

    /// Some part of it exists at run time.
    pub(crate) fn has_tile(&self) -> bool {
        match self {
            Value::Tile(_) | Value::BlockPointer(_) | Value::Descriptor(_) => true,
            Value::Tuple(items) | Value::Record(Record { items, .. }) => items.iter().any(Value::has_tile),
            _ => false,
        }
    }

    /// The tile IR values in it, in order.
    pub(crate) fn leaves(&self, out: &mut Vec<Tile>) {
        match self {
            Value::Tile(tile) => out.push(tile.clone()),
            Value::Tuple(items) | Value::Record(Record { items, .. }) => items.iter().for_each(|v| v.leaves(out)),
            Value::BlockPointer(pointer) => out.extend(pointer.parts.iter().cloned()),
            Value::Descriptor(descriptor) => out.extend(descriptor.parts.iter().cloned()),
            _ => {}
        }
    }

    /// The same value with other ids, taken in order.
    pub(crate) fn with_ids(&self, ids: &mut impl Iterator<Item = ValueId>) -> Value {
        match self {
            Value::Tile(tile) => match ids.next() {
                Some(id) => Value::Tile(Tile { id, ..tile.clone() }),
                None => Value::Unknown,
            },
            Value::Tuple(items) => Value::Tuple(items.iter().map(|v| v.with_ids(ids)).collect()),
            Value::Record(record) => record.map(|v| v.with_ids(ids)),
            Value::BlockPointer(pointer) => Value::BlockPointer(BlockPointer {
                parts: pointer.parts.iter().map(|t| Tile { id: ids.next().unwrap_or(t.id), ..t.clone() }).collect(),
                ..pointer.clone()
            }),
            Value::Descriptor(descriptor) => Value::Descriptor(Descriptor {
                parts: descriptor.parts.iter().map(|t| Tile { id: ids.next().unwrap_or(t.id), ..t.clone() }).collect(),
                ..descriptor.clone()
            }),
            other => other.clone(),
        }
    }

    /// The same type, and the same value where it is known at compile time.
    pub(crate) fn same_type(&self, other: &Value) -> bool {
        match (self, other) {
            (Value::Tile(a), Value::Tile(b)) => a.ty.same(&b.ty),
            (Value::Tuple(a), Value::Tuple(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.same_type(b)),
            (Value::Record(a), Value::Record(b)) => {
                a.class == b.class && a.items.iter().zip(&b.items).all(|(a, b)| a.same_type(b))
            }
            (Value::BlockPointer(a), Value::BlockPointer(b)) => {
                a.pointee == b.pointee && crate::types::same_shape(&a.block, &b.block)
            }
            (Value::Descriptor(a), Value::Descriptor(b)) => {
                a.pointee == b.pointee && a.nan == b.nan && crate::types::same_shape(&a.block, &b.block)
            }
            (Value::Const(a), Value::Const(b)) => a.value == b.value,
            (Value::Tile(_) | Value::Tuple(_) | Value::Const(_), _) => match (self.to_const(), other.to_const()) {
                (Some(a), Some(b)) => a == b,
                _ => false,
            },
            (a, b) => a == b,
        }
    }

    /// Nothing changed: the same ids and constants.
    pub(crate) fn unchanged(&self, other: &Value) -> bool {
        match (self, other) {
            (Value::Tile(a), Value::Tile(b)) => a.id == b.id,
            (Value::Tuple(a), Value::Tuple(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.unchanged(b)),
            (Value::Record(a), Value::Record(b)) => {
                a.class == b.class && a.items.iter().zip(&b.items).all(|(a, b)| a.unchanged(b))
            }
            (Value::BlockPointer(a), Value::BlockPointer(b)) => a.parts.iter().map(|t| t.id).eq(b.parts.iter().map(|t| t.id)),
            (Value::Descriptor(a), Value::Descriptor(b)) => a.parts.iter().map(|t| t.id).eq(b.parts.iter().map(|t| t.id)),
            (Value::Const(a), Value::Const(b)) => a.value == b.value,
            (a, b) => a == b,
        }
    }

    pub(crate) fn ty(&self) -> Ty {
        match self {
            Value::Unknown => Ty::Unknown,
            Value::Const(c) => Ty::Constexpr(c.value.clone()),
            Value::Tile(tile) => Ty::Tile(tile.ty.clone()),
            Value::Tuple(items) => Ty::Tuple(items.iter().map(Value::ty).collect()),
            Value::Record(record) => {
                let items = record.items.iter().map(Value::ty).collect();
                match record.class.kind {
                    RecordKind::NamedTuple => Ty::Tuple(items),
                    RecordKind::Aggregate { .. } => Ty::Record(record.class.name.clone(), items),
                }
            }
            Value::RecordClass(class) => Ty::Callable(class.name.clone()),
            Value::Bound(..) | Value::ConstexprFunction(_) => Ty::Callable("function".into()),
            Value::Type(ty) => Ty::Type(ty.clone()),
            Value::CustomFloat(float) => Ty::Callable(format!("tl.float{}", float.name()).into()),
            Value::Library(function) => Ty::Callable(function.spelling().into()),
            Value::Builtin(builtin) => Ty::Callable(builtin.spelling().into()),
            Value::Method(_, builtin) => Ty::Callable(builtin.spelling().into()),
            Value::Predicate(_) => Ty::Callable("predicate".into()),
            Value::Python(python) => Ty::Callable(python.name().into()),
            Value::Class(_) => Ty::Callable("class".into()),
            Value::PropagateNan(all) => Ty::Callable(if *all { "PropagateNan.ALL" } else { "PropagateNan.NONE" }.into()),
            Value::Module(path) => Ty::Callable(path.clone()),
            Value::File(_) => Ty::Callable("module".into()),
            Value::PythonFunction(name) => Ty::Callable(name.clone()),
            Value::BlockPointer(pointer) => Ty::BlockPointer(pointer.ty()),
            Value::Descriptor(descriptor) => Ty::Descriptor(descriptor.ty()),
            Value::DescriptorType(ty) => Ty::Callable(format!("type[{}]", Ty::Descriptor(ty.clone())).into()),
            Value::Void => Ty::Void,
        }
    }
}

impl BlockPointer {
    /// What it points to.
    pub(crate) fn ty(&self) -> TileType {
        TileType { elem: self.pointee.into(), shape: self.block.clone() }
    }
}

impl Record {
    pub(crate) fn map(&self, change: impl FnMut(&Value) -> Value) -> Value {
        Value::Record(Record { class: self.class.clone(), items: self.items.iter().map(change).collect() })
    }
}

impl Descriptor {
    /// What one load gives.
    pub(crate) fn ty(&self) -> TileType {
        TileType { elem: self.pointee.into(), shape: self.block.clone() }
    }
}

impl Constant {
    /// As an extent: its size, what it was called, where it was given.
    pub(crate) fn dim(&self, origin: Place) -> Option<Dim> {
        let size = u32::try_from(self.value.as_int()?).ok()?;
        Some(Dim { size, symbol: self.symbol.clone(), origin: Some(origin) })
    }
}
