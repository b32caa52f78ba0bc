//! Triton's scalar types: as the tile IR's, but signedness is part of the type here.
//!
//! **Invariant:** the only place where a spelling of a type becomes a type; Triton's spellings (`fp16`, `int32`, `fp8e4nv`, `float8e5`)
//! are accepted through one alias table and ours are printed.

use std::fmt;

use tritium_tile::Scalar;

macro_rules! dtypes {
    ($($variant:ident $name:literal $scalar:ident [$($alias:literal)*];)*) => {
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum DType { $($variant),* }

        impl DType {
            pub const ALL: &'static [DType] = &[$(DType::$variant),*];

            /// The one spelling we print.
            pub fn name(self) -> &'static str {
                match self { $(DType::$variant => $name),* }
            }

            /// What the tile IR holds for it.
            pub fn scalar(self) -> Scalar {
                match self { $(DType::$variant => Scalar::$scalar),* }
            }

            /// Any accepted spelling: ours, `tl.float32`'s, a signature's `fp32`.
            pub fn from_name(name: &str) -> Option<DType> {
                match name { $($name $(| $alias)* => Some(DType::$variant),)* _ => None }
            }
        }
    };
}

dtypes! {
    I1     "i1"     I1     ["int1" "bool" "u1" "uint1"];
    I8     "i8"     I8     ["int8"];
    I16    "i16"    I16    ["int16" "short"];
    I32    "i32"    I32    ["int32" "int"];
    I64    "i64"    I64    ["int64" "long"];
    U8     "u8"     I8     ["uint8"];
    U16    "u16"    I16    ["uint16"];
    U32    "u32"    I32    ["uint32"];
    U64    "u64"    I64    ["uint64"];
    F8E4M3 "f8e4m3" F8E4M3 ["fp8e4nv" "float8e4nv" "float8_e4m3fn" "f8e4m3fn"];
    F8E5M2 "f8e5m2" F8E5M2 ["fp8e5" "float8e5" "float8_e5m2"];
    F16    "f16"    F16    ["fp16" "float16" "half"];
    BF16   "bf16"   BF16   ["bfloat16"];
    F32    "f32"    F32    ["fp32" "float32" "float"];
    F64    "f64"    F64    ["fp64" "float64" "double"];
}

impl DType {
    pub fn is_float(self) -> bool {
        self.scalar().is_float()
    }

    pub fn is_int(self) -> bool {
        !self.is_float()
    }

    /// `i1` counts as unsigned.
    pub fn is_signed_int(self) -> bool {
        matches!(self, DType::I8 | DType::I16 | DType::I32 | DType::I64)
    }

    pub fn bits(self) -> u32 {
        self.scalar().bits()
    }

    /// Bytes in memory.
    pub fn bytes(self) -> u32 {
        self.scalar().bytes()
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
