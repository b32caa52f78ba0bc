//! The tensor maps of a kernel: what a launch encodes from its arguments and passes behind them, one 128-byte parameter each.
//!
//! **Invariant:** a map is made of the kernel's own parameters and of constants, so whoever launches can make it; axes count from the
//! contiguous one.

/// A number that a launch knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Part {
    /// By its place among the parameters.
    Parameter(u32),
    Constant(i64),
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct TensorMap {
    /// The parameter that points to the tensor.
    pub base: u32,
    /// In elements.
    pub extents: Vec<Part>,
    /// In elements, without the contiguous axis.
    pub strides: Vec<Part>,
    /// Extents of a box.
    pub boxes: Vec<u32>,
    pub element_bytes: u32,
    /// 0, 32, 64 or 128 bytes.
    pub swizzle: u32,
}

impl TensorMap {
    /// In one line, with parameters by their names.
    pub fn line(&self, parameters: &[String]) -> String {
        let name = |index: u32| parameters.get(index as usize).cloned().unwrap_or_default();
        let list = |parts: &[Part]| {
            let words = parts.iter().map(|part| match part {
                Part::Parameter(index) => name(*index),
                Part::Constant(number) => number.to_string(),
            });
            words.collect::<Vec<_>>().join(" ")
        };
        let boxes: Vec<String> = self.boxes.iter().map(u32::to_string).collect();
        format!(
            "base {}, extents {}, strides {}, box {}, {} bytes, swizzle {}",
            name(self.base),
            list(&self.extents),
            list(&self.strides),
            boxes.join(" "),
            self.element_bytes,
            self.swizzle
        )
    }
}
