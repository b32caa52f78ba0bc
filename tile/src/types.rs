//! The types of tile values.
//!
//! **Invariant:** a type says what a value *is* (element, shape, and from L1 on where each element lives); it never says how it was
//! written. Signedness is a property of operations, never of types; `tf32` is a precision of `dot`, never a type.

use std::fmt;

use smallvec::SmallVec;

use crate::layout::LayoutId;

/// The scalars memory and registers hold. `I1` is stored in memory as one byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Scalar {
    I1,
    I8,
    I16,
    I32,
    I64,
    F8E4M3,
    F8E5M2,
    F16,
    BF16,
    F32,
    F64,
}

impl Scalar {
    pub const ALL: [Scalar; 11] = [
        Scalar::I1,
        Scalar::I8,
        Scalar::I16,
        Scalar::I32,
        Scalar::I64,
        Scalar::F8E4M3,
        Scalar::F8E5M2,
        Scalar::F16,
        Scalar::BF16,
        Scalar::F32,
        Scalar::F64,
    ];

    /// Bits of the value itself: 1 for `I1`.
    pub fn bits(self) -> u32 {
        match self {
            Scalar::I1 => 1,
            Scalar::I8 | Scalar::F8E4M3 | Scalar::F8E5M2 => 8,
            Scalar::I16 | Scalar::F16 | Scalar::BF16 => 16,
            Scalar::I32 | Scalar::F32 => 32,
            Scalar::I64 | Scalar::F64 => 64,
        }
    }

    /// Bytes an element takes in memory.
    pub fn bytes(self) -> u32 {
        self.bits().div_ceil(8)
    }

    pub fn is_float(self) -> bool {
        matches!(self, Scalar::F8E4M3 | Scalar::F8E5M2 | Scalar::F16 | Scalar::BF16 | Scalar::F32 | Scalar::F64)
    }

    pub fn is_int(self) -> bool {
        !self.is_float()
    }

    /// The spelling used in every listing and message.
    pub fn name(self) -> &'static str {
        match self {
            Scalar::I1 => "i1",
            Scalar::I8 => "i8",
            Scalar::I16 => "i16",
            Scalar::I32 => "i32",
            Scalar::I64 => "i64",
            Scalar::F8E4M3 => "f8e4m3",
            Scalar::F8E5M2 => "f8e5m2",
            Scalar::F16 => "f16",
            Scalar::BF16 => "bf16",
            Scalar::F32 => "f32",
            Scalar::F64 => "f64",
        }
    }

    pub fn from_name(name: &str) -> Option<Scalar> {
        Scalar::ALL.into_iter().find(|s| s.name() == name)
    }
}

impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What one element of a tile is: a scalar or a pointer into global memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Elem {
    Scalar(Scalar),
    /// A 64-bit address of a global-memory element of this type.
    Ptr(Scalar),
}

impl Elem {
    /// Bits one element takes in a register.
    pub fn bits(self) -> u32 {
        match self {
            Elem::Scalar(s) => s.bits(),
            Elem::Ptr(_) => 64,
        }
    }

    pub fn scalar(self) -> Option<Scalar> {
        match self {
            Elem::Scalar(s) => Some(s),
            Elem::Ptr(_) => None,
        }
    }

    pub fn pointee(self) -> Option<Scalar> {
        match self {
            Elem::Scalar(_) => None,
            Elem::Ptr(s) => Some(s),
        }
    }
}

impl fmt::Display for Elem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Elem::Scalar(s) => write!(f, "{s}"),
            Elem::Ptr(s) => write!(f, "*{s}"),
        }
    }
}

/// Extents of a tile, outermost first; empty for a scalar. Every extent is a power of two.
pub type Shape = SmallVec<[u32; 4]>;

pub fn num_elements(shape: &[u32]) -> u64 {
    shape.iter().map(|&d| u64::from(d)).product()
}

/// The type of an SSA value.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Type {
    /// A scalar (empty shape) or a tile. `layout` is absent at L0, and on scalars always.
    Tile { elem: Elem, shape: Shape, layout: Option<LayoutId> },
    /// A buffer in shared memory (L1 and below): `layout` maps byte-offset-in-elements bits to tile index bits. A ring of buffers has
    /// one more extent, in front: their number, which need not be a power of two. The layout is that of one of them.
    Shared { elem: Scalar, shape: Shape, layout: LayoutId },
}

impl Type {
    pub fn scalar(s: Scalar) -> Type {
        Type::Tile { elem: Elem::Scalar(s), shape: Shape::new(), layout: None }
    }

    pub fn ptr(pointee: Scalar) -> Type {
        Type::Tile { elem: Elem::Ptr(pointee), shape: Shape::new(), layout: None }
    }

    pub fn tile(elem: Elem, shape: impl Into<Shape>) -> Type {
        Type::Tile { elem, shape: shape.into(), layout: None }
    }

    pub fn elem(&self) -> Elem {
        match self {
            Type::Tile { elem, .. } => *elem,
            Type::Shared { elem, .. } => Elem::Scalar(*elem),
        }
    }

    pub fn shape(&self) -> &Shape {
        match self {
            Type::Tile { shape, .. } | Type::Shared { shape, .. } => shape,
        }
    }

    pub fn layout(&self) -> Option<LayoutId> {
        match self {
            Type::Tile { layout, .. } => *layout,
            Type::Shared { layout, .. } => Some(*layout),
        }
    }

    /// Whether it is a place in shared memory.
    pub fn is_buffer(&self) -> bool {
        matches!(self, Type::Shared { .. })
    }

    pub fn is_scalar(&self) -> bool {
        matches!(self, Type::Tile { shape, .. } if shape.is_empty())
    }

    pub fn num_elements(&self) -> u64 {
        num_elements(self.shape())
    }

    /// What one slot of a ring is; `None` for what is no shared buffer.
    pub fn slot(&self) -> Option<Type> {
        match self {
            Type::Shared { elem, shape, layout } => {
                Some(Type::Shared { elem: *elem, shape: shape.get(1..)?.into(), layout: *layout })
            }
            Type::Tile { .. } => None,
        }
    }

    /// The same shape and layout with another element.
    pub fn with_elem(&self, elem: Elem) -> Type {
        match self {
            Type::Tile { shape, layout, .. } => Type::Tile { elem, shape: shape.clone(), layout: *layout },
            Type::Shared { shape, layout, .. } => {
                Type::Shared { elem: elem.scalar().unwrap_or(Scalar::I64), shape: shape.clone(), layout: *layout }
            }
        }
    }

    pub fn with_layout(&self, layout: LayoutId) -> Type {
        match self {
            Type::Tile { elem, shape, .. } => Type::Tile { elem: *elem, shape: shape.clone(), layout: Some(layout) },
            Type::Shared { elem, shape, .. } => Type::Shared { elem: *elem, shape: shape.clone(), layout },
        }
    }
}

/// The layout-free spelling: `f32`, `*f16`, `f32[128, 64]`.
impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Type::Shared { .. } = self {
            f.write_str("shared ")?;
        }
        write!(f, "{}", self.elem())?;
        let shape = self.shape();
        if !shape.is_empty() {
            let dims: Vec<String> = shape.iter().map(u32::to_string).collect();
            write!(f, "[{}]", dims.join(", "))?;
        }
        Ok(())
    }
}
