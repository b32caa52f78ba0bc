//! The types the front end reasons with: signedness and where every extent came from, which tile IR does not keep.
//!
//! **Invariant:** the only place that spells a type for people; [`TileType::same`] is type equality, `==` also compares provenance.

use std::fmt;

use smol_str::SmolStr;
use tritium_tile as tile;

pub use crate::dims::Dims;
use crate::{constant::Const, dtype::DType, instance::ArgType, problem::Place};

/// What one element is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Element {
    Scalar(DType),
    Ptr { pointee: DType, is_const: bool },
}

impl Element {
    pub fn scalar(self) -> Option<DType> {
        match self {
            Element::Scalar(dtype) => Some(dtype),
            Element::Ptr { .. } => None,
        }
    }

    pub fn is_ptr(self) -> bool {
        matches!(self, Element::Ptr { .. })
    }

    pub fn bits(self) -> u32 {
        match self {
            Element::Scalar(dtype) => dtype.bits(),
            Element::Ptr { .. } => 64,
        }
    }

    /// What the tile IR holds for it.
    pub fn tile(self) -> tile::Elem {
        match self {
            Element::Scalar(dtype) => tile::Elem::Scalar(dtype.scalar()),
            Element::Ptr { pointee, .. } => tile::Elem::Ptr(pointee.scalar()),
        }
    }
}

impl From<DType> for Element {
    fn from(dtype: DType) -> Element {
        Element::Scalar(dtype)
    }
}

impl From<&ArgType> for Element {
    fn from(ty: &ArgType) -> Element {
        match *ty {
            ArgType::Scalar(dtype) => Element::Scalar(dtype),
            ArgType::Ptr { elem, is_const } => Element::Ptr { pointee: elem, is_const },
        }
    }
}

impl fmt::Display for Element {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Element::Scalar(dtype) => write!(f, "{dtype}"),
            Element::Ptr { pointee, is_const: true } => write!(f, "*const {pointee}"),
            Element::Ptr { pointee, is_const: false } => write!(f, "*{pointee}"),
        }
    }
}

/// An extent, with what the user called it and where it was given.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Dim {
    pub size: u32,
    /// The compile-time expression it came from: `BLOCK_M`, `BLOCK_N // 2`.
    pub symbol: Option<SmolStr>,
    pub origin: Option<Place>,
}

impl Dim {
    pub fn known(size: u32) -> Dim {
        Dim { size, symbol: None, origin: None }
    }
}

/// As the user would say it: `BLOCK_M`, or `128`.
impl fmt::Display for Dim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.symbol {
            Some(symbol) => f.write_str(symbol),
            None => write!(f, "{}", self.size),
        }
    }
}

/// The type of a run-time value: a scalar (empty shape) or a tile.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct TileType {
    pub elem: Element,
    pub shape: Dims,
}

impl TileType {
    pub fn scalar(elem: impl Into<Element>) -> TileType {
        TileType { elem: elem.into(), shape: Dims::new() }
    }

    pub fn with_elem(&self, elem: impl Into<Element>) -> TileType {
        TileType { elem: elem.into(), shape: self.shape.clone() }
    }

    pub fn rank(&self) -> usize {
        self.shape.len()
    }

    pub fn is_scalar(&self) -> bool {
        self.shape.is_empty()
    }

    pub fn num_elements(&self) -> u64 {
        self.shape.iter().map(|d| u64::from(d.size)).fold(1, u64::saturating_mul)
    }

    /// The same type, whatever the extents were called.
    pub fn same(&self, other: &TileType) -> bool {
        self.elem == other.elem && same_shape(&self.shape, &other.shape)
    }

    /// Without provenance: what a specialisation is keyed by.
    pub fn plain(&self) -> TileType {
        TileType { elem: self.elem, shape: self.shape.iter().map(|d| Dim::known(d.size)).collect() }
    }

    pub fn tile(&self) -> tile::Type {
        tile::Type::tile(self.elem.tile(), self.shape.iter().map(|d| d.size).collect::<tile::Shape>())
    }
}

pub fn same_shape(a: &[Dim], b: &[Dim]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.size == b.size)
}

/// `[128, 64]`
pub fn shape_text(shape: &[Dim]) -> String {
    let dims: Vec<String> = shape.iter().map(|d| d.size.to_string()).collect();
    format!("[{}]", dims.join(", "))
}

/// `[BLOCK_M, 64]`, if any extent has a name.
pub fn symbolic_shape(shape: &[Dim]) -> Option<String> {
    shape.iter().any(|d| d.symbol.is_some()).then(|| {
        let dims: Vec<String> = shape.iter().map(Dim::to_string).collect();
        format!("[{}]", dims.join(", "))
    })
}

impl fmt::Display for TileType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.elem)?;
        if !self.shape.is_empty() {
            f.write_str(&shape_text(&self.shape))?;
        }
        Ok(())
    }
}

/// The type of an expression.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Ty {
    /// Something was wrong, or is not known to this compiler.
    Unknown,
    Tile(TileType),
    Constexpr(Const),
    Tuple(Vec<Ty>),
    /// An aggregate: its class and the types of its fields.
    Record(SmolStr, Vec<Ty>),
    /// A pointer or block type as a value (`x.dtype`, `x.type`).
    Type(TileType),
    /// A block pointer, by what it points to.
    BlockPointer(TileType),
    /// A tensor descriptor, by its block.
    Descriptor(TileType),
    /// A function, method, module or class, by name.
    Callable(SmolStr),
    /// What a store gives.
    Void,
}

impl Ty {
    /// The shape in the user's names, if it has any.
    pub fn symbolic(&self) -> Option<String> {
        match self {
            Ty::Tile(ty) | Ty::Type(ty) | Ty::BlockPointer(ty) | Ty::Descriptor(ty) => symbolic_shape(&ty.shape),
            Ty::Unknown | Ty::Constexpr(_) | Ty::Tuple(_) | Ty::Record(..) | Ty::Callable(_) | Ty::Void => None,
        }
    }

    pub fn is_known(&self) -> bool {
        match self {
            Ty::Unknown => false,
            Ty::Tuple(items) | Ty::Record(_, items) => items.iter().all(Ty::is_known),
            Ty::Tile(_)
            | Ty::Constexpr(_)
            | Ty::Type(_)
            | Ty::BlockPointer(_)
            | Ty::Descriptor(_)
            | Ty::Callable(_)
            | Ty::Void => true,
        }
    }
}

impl fmt::Display for Ty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Ty::Unknown => f.write_str("unknown"),
            Ty::Tile(ty) => write!(f, "{ty}"),
            Ty::Constexpr(value) => write!(f, "constexpr[{value}]"),
            Ty::Tuple(items) => {
                let items: Vec<String> = items.iter().map(Ty::to_string).collect();
                if items.len() == 1 { write!(f, "({},)", items[0]) } else { write!(f, "({})", items.join(", ")) }
            }
            Ty::Record(name, items) => {
                let items: Vec<String> = items.iter().map(Ty::to_string).collect();
                write!(f, "{name}({})", items.join(", "))
            }
            Ty::Type(ty) => write!(f, "type[{ty}]"),
            Ty::BlockPointer(ty) => write!(f, "block_ptr<{ty}>"),
            Ty::Descriptor(ty) => write!(f, "tensordesc<{ty}>"),
            Ty::Callable(name) => f.write_str(name),
            Ty::Void => f.write_str("None"),
        }
    }
}
