//! Tensors in host memory: made from a launch's description, copied to devices, saved as `.npy`.
//!
//! **Invariant:** `bytes` holds every element the shape and strides can reach; what an `Empty` tensor holds before a launch is a pattern
//! (a NaN that arithmetic does not make, or 0x5A bytes for integers), so an element a kernel failed to write is seen.

use std::{io, path::Path};

use half::{bf16, f16};
use npyz::WriterBuilder as _;
use rayon::prelude::*;
use thiserror::Error;
use tritium_semantics::{
    dtype::DType,
    launch::{self, Init},
};
use tritium_tile::Scalar;

use crate::{bundle::Beside, files, random::Stream};

#[derive(Debug, Clone, PartialEq)]
pub struct Tensor {
    pub name: String,
    pub dtype: DType,
    pub shape: Vec<u64>,
    /// In elements.
    pub strides: Vec<u64>,
    pub bytes: Vec<u8>,
}

/// Why a tensor could not be made.
#[derive(Debug, Clone, PartialEq, Error)]
#[error("tensor `{tensor}`: {message}")]
pub struct TensorError {
    pub tensor: String,
    pub message: String,
}

/// Larger than any board's memory; a shape beyond it is a mistake in the launch.
const MAX_BYTES: u64 = 1 << 38;

/// Longest header of a `.npy` file.
const MAX_HEADER_BYTES: u64 = 1 << 20;

impl Tensor {
    /// Allocates and fills a tensor. `beside`: what `file("x.npy")` is relative to.
    pub fn make(spec: &launch::Tensor, beside: Beside) -> Result<Tensor, TensorError> {
        let fail = |message: String| TensorError { tensor: spec.name.to_string(), message };
        let size = spec.span().and_then(|n| n.checked_mul(u64::from(spec.dtype.bytes()))).filter(|&b| b <= MAX_BYTES);
        let Some(size) = size else { return Err(fail(format!("shape {:?} takes more than {MAX_BYTES} bytes", spec.shape))) };
        let mut tensor = Tensor {
            name: spec.name.to_string(),
            dtype: spec.dtype,
            shape: spec.shape.clone(),
            strides: spec.strides.clone(),
            bytes: pattern(spec.dtype).repeat((size / u64::from(spec.dtype.bytes())) as usize),
        };
        let stream = Stream::named(&spec.name);
        match &spec.init {
            Init::Empty => {}
            Init::Zeros => tensor.bytes.fill(0),
            Init::Ones => tensor.fill(|_| 1.0),
            Init::Full(value) => tensor.fill(|_| *value),
            Init::Normal { mean, std } => tensor.fill(|i| mean + std * stream.normal(i)),
            Init::Uniform { low, high } => tensor.fill(|i| low + (high - low) * stream.unit(i)),
            Init::RandInt { low, high } => tensor.fill(|i| stream.int(i, *low, *high) as f64),
            Init::Arange => tensor.fill(|i| i as f64),
            Init::Computed => return Err(fail("its contents are computed by host code".to_owned())),
            Init::File(name) => {
                let values = read_npy(beside, name, tensor.len()).map_err(|e| fail(format!("cannot read {name}: {e}")))?;
                if values.len() as u64 != tensor.len() {
                    return Err(fail(format!("{name} holds {} elements, the shape has {}", values.len(), tensor.len())));
                }
                tensor.fill(|i| values[i as usize]);
            }
        }
        Ok(tensor)
    }

    /// Numbers row by row, rounded to a dtype.
    pub fn of_values(name: &str, dtype: DType, shape: &[u64], values: &[f64]) -> Tensor {
        let strides = tritium_semantics::host::row_major(shape);
        let bytes = vec![0; values.len() * dtype.bytes() as usize];
        let mut tensor = Tensor { name: name.to_owned(), dtype, shape: shape.to_vec(), strides, bytes };
        tensor.fill(|index| values[index as usize]);
        tensor
    }

    /// Elements of the shape, not of the storage.
    pub fn len(&self) -> u64 {
        self.shape.iter().product()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn is_contiguous(&self) -> bool {
        let mut expected = 1;
        self.shape.iter().zip(&self.strides).rev().all(|(&extent, &stride)| {
            let fits = extent == 1 || stride == expected;
            expected *= extent;
            fits
        })
    }

    /// What the storage holds where nobody has written.
    pub fn pattern(&self) -> &'static [u8] {
        pattern(self.dtype)
    }

    /// The bytes at a storage position.
    pub fn slot(&self, position: usize) -> &[u8] {
        let width = self.dtype.bytes() as usize;
        &self.bytes[position * width..][..width]
    }

    /// Storage position of the `index`-th element in row-major order.
    pub fn position(&self, mut index: u64) -> usize {
        let mut position = 0;
        for (&extent, &stride) in self.shape.iter().zip(&self.strides).rev() {
            position += index % extent * stride;
            index /= extent;
        }
        position as usize
    }

    fn fill(&mut self, value: impl Fn(u64) -> f64 + Sync) {
        let width = self.dtype.bytes() as usize;
        let dtype = self.dtype;
        if self.is_contiguous() {
            self.bytes.par_chunks_mut(width).enumerate().for_each(|(i, slot)| encode(dtype, value(i as u64), slot));
        } else {
            for i in 0..self.len() {
                let at = self.position(i) * width;
                encode(dtype, value(i), &mut self.bytes[at..at + width]);
            }
        }
    }

    /// Every element in row-major order.
    pub fn values(&self) -> Vec<f64> {
        let width = self.dtype.bytes() as usize;
        if self.is_contiguous() {
            self.bytes.par_chunks(width).map(|slot| decode(self.dtype, slot)).collect()
        } else {
            (0..self.len()).map(|i| decode(self.dtype, &self.bytes[self.position(i) * width..][..width])).collect()
        }
    }

    /// Saves NumPy's format, whole or not at all.
    pub fn save_npy(&self, path: &Path) -> io::Result<()> {
        files::replace(path, |out| self.write_npy(out))
    }

    /// Writes NumPy's format, row-major. `bf16` and 8-bit floats, which NumPy lacks, are widened to `f32` (exact).
    pub fn write_npy(&self, out: &mut dyn io::Write) -> io::Result<()> {
        let values = self.values();
        let raw = |width: usize| (0..self.len()).map(move |i| &self.bytes[self.position(i) * width..][..width]);
        macro_rules! write_as {
            ($ty:ty, $items:expr) => {{
                let mut writer = npyz::WriteOptions::<$ty>::new().default_dtype().shape(&self.shape).writer(out).begin_nd()?;
                writer.extend($items)?;
                writer.finish()
            }};
        }
        let bytes8 = |slot: &[u8]| <[u8; 8]>::try_from(slot).unwrap_or_default();
        match self.dtype {
            DType::I1 => write_as!(bool, values.iter().map(|&x| x != 0.0)),
            DType::I8 => write_as!(i8, values.iter().map(|&x| x as i8)),
            DType::I16 => write_as!(i16, values.iter().map(|&x| x as i16)),
            DType::I32 => write_as!(i32, values.iter().map(|&x| x as i32)),
            DType::I64 => write_as!(i64, raw(8).map(|s| i64::from_le_bytes(bytes8(s)))),
            DType::U8 => write_as!(u8, values.iter().map(|&x| x as u8)),
            DType::U16 => write_as!(u16, values.iter().map(|&x| x as u16)),
            DType::U32 => write_as!(u32, values.iter().map(|&x| x as u32)),
            DType::U64 => write_as!(u64, raw(8).map(|s| u64::from_le_bytes(bytes8(s)))),
            DType::F16 => write_as!(f16, values.iter().map(|&x| f16::from_f64(x))),
            DType::F64 => write_as!(f64, values.iter().copied()),
            DType::BF16 | DType::F8E4M3 | DType::F8E5M2 | DType::F32 => write_as!(f32, values.iter().map(|&x| x as f32)),
        }
    }
}

/// What an element that nobody has written holds, little-endian. Of the floats of 16 bits and more it is a NaN that no arithmetic makes.
pub fn pattern(dtype: DType) -> &'static [u8] {
    match dtype {
        DType::F8E4M3 => &[0x7F],
        DType::F8E5M2 => &[0x7E],
        DType::F16 => &[0x5A, 0x7E],
        DType::BF16 => &[0xDA, 0x7F],
        DType::F32 => &[0x5A, 0x5A, 0xDA, 0x7F],
        DType::F64 => &[0x5A, 0x5A, 0x5A, 0x5A, 0x5A, 0x5A, 0xFA, 0x7F],
        _ => &[0x5A; 8][..dtype.bytes() as usize],
    }
}

/// A file of at most so many numbers.
fn read_npy(beside: Beside, name: &str, elements: u64) -> io::Result<Vec<f64>> {
    let bytes = beside.read(name, elements.saturating_mul(8).saturating_add(MAX_HEADER_BYTES))?;
    macro_rules! try_as {
        ($($ty:ty => $to:expr),* $(,)?) => {
            $(if let Ok(data) = npyz::NpyFile::new(&bytes[..])?.data::<$ty>() {
                let convert: fn($ty) -> f64 = $to;
                return data.map(|x| x.map(convert)).collect();
            })*
        };
    }
    try_as!(
        f32 => f64::from, f64 => |x| x, f16 => f16::to_f64,
        i8 => f64::from, i16 => f64::from, i32 => f64::from, i64 => |x| x as f64,
        u8 => f64::from, u16 => f64::from, u32 => f64::from, u64 => |x| x as f64,
        bool => |x| f64::from(u8::from(x)),
    );
    Err(io::Error::new(io::ErrorKind::InvalidData, "its element type is not a number"))
}

/// One element as `f64`: exact but for 64-bit integers beyond 2^53.
pub fn decode(dtype: DType, slot: &[u8]) -> f64 {
    let word = slot.iter().rev().fold(0u64, |w, &b| w << 8 | u64::from(b));
    match dtype {
        DType::I1 => f64::from(u8::from(word != 0)),
        DType::I8 => f64::from(word as i8),
        DType::I16 => f64::from(word as i16),
        DType::I32 => f64::from(word as i32),
        DType::I64 => word as i64 as f64,
        DType::U8 | DType::U16 | DType::U32 | DType::U64 => word as f64,
        DType::F8E4M3 => decode_f8(word as u8, 4, 7, true),
        DType::F8E5M2 => decode_f8(word as u8, 5, 15, false),
        DType::F16 => f16::from_bits(word as u16).to_f64(),
        DType::BF16 => bf16::from_bits(word as u16).to_f64(),
        DType::F32 => f64::from(f32::from_bits(word as u32)),
        DType::F64 => f64::from_bits(word),
    }
}

/// Rounds to nearest even; integers truncate toward zero and wrap.
pub fn encode(dtype: DType, value: f64, slot: &mut [u8]) {
    let word = match dtype {
        DType::I1 => u64::from(value != 0.0),
        DType::U64 if value >= 0.0 => value as u64,
        d if d.is_int() => value as i64 as u64,
        DType::F8E4M3 => u64::from(encode_f8(value, Scalar::F8E4M3)),
        DType::F8E5M2 => u64::from(encode_f8(value, Scalar::F8E5M2)),
        DType::F16 => u64::from(f16::from_f64(value).to_bits()),
        DType::BF16 => u64::from(bf16::from_f64(value).to_bits()),
        DType::F32 => u64::from((value as f32).to_bits()),
        _ => value.to_bits(),
    };
    let width = slot.len();
    slot.copy_from_slice(&word.to_le_bytes()[..width]);
}

/// `finite_only`: e4m3 has no infinity, and NaN is all ones.
fn decode_f8(bits: u8, exponent_bits: u32, bias: i32, finite_only: bool) -> f64 {
    let mantissa_bits = 7 - exponent_bits;
    let sign = if bits & 0x80 != 0 { -1.0 } else { 1.0 };
    let exponent = i32::from(bits & 0x7F) >> mantissa_bits;
    let mantissa = f64::from(bits & ((1 << mantissa_bits) - 1));
    let unit = f64::from(1 << mantissa_bits);
    let top = (1 << exponent_bits) - 1;
    if finite_only && bits & 0x7F == 0x7F {
        return f64::NAN;
    }
    if !finite_only && exponent == top {
        return if mantissa == 0.0 { sign * f64::INFINITY } else { f64::NAN };
    }
    let magnitude =
        if exponent == 0 { mantissa / unit * 2f64.powi(1 - bias) } else { (1.0 + mantissa / unit) * 2f64.powi(exponent - bias) };
    sign * magnitude
}

/// The nearest of the 256 values, ties to the even code; e4m3 saturates, e5m2 overflows to infinity.
fn encode_f8(value: f64, format: Scalar) -> u8 {
    let sign = if value.is_sign_negative() { 0x80 } else { 0 };
    let (exponent_bits, bias, finite_only, largest) =
        if format == Scalar::F8E4M3 { (4, 7, true, 0x7E) } else { (5, 15, false, 0x7B) };
    if value.is_nan() {
        return sign | 0x7F;
    }
    let magnitude = value.abs();
    let at = |code: u8| decode_f8(code, exponent_bits, bias, finite_only);
    // Positive codes are ordered as their values.
    let (mut low, mut high) = (0u8, largest);
    if magnitude >= at(largest) {
        let step = at(largest) - at(largest - 1);
        let overflows = !finite_only && magnitude >= at(largest) + step / 2.0;
        return sign | if overflows { largest + 1 } else { largest };
    }
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if at(middle) <= magnitude { low = middle } else { high = middle }
    }
    let (below, above) = (magnitude - at(low), at(high) - magnitude);
    let up = above < below || (above == below && high % 2 == 0);
    sign | if up { high } else { low }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bundle::FileSource;

    #[test]
    fn every_8_bit_float_survives_a_round_trip() {
        for (dtype, format) in [(DType::F8E4M3, Scalar::F8E4M3), (DType::F8E5M2, Scalar::F8E5M2)] {
            for code in 0..=255u8 {
                let value = decode(dtype, &[code]);
                if value.is_finite() {
                    assert_eq!(encode_f8(value, format), code, "{format} {code:#x} {value}");
                }
            }
        }
    }

    fn spec(shape: &[u64], strides: &[u64], init: Init) -> launch::Tensor {
        launch::Tensor {
            name: "x".into(),
            dtype: DType::F32,
            shape: shape.into(),
            strides: strides.into(),
            init,
            memory: launch::MemoryPlace::default(),
        }
    }

    fn beside(folder: &Path) -> Beside<'_> {
        Beside { folder, files: &FileSource::Disk }
    }

    #[test]
    fn strided_tensors_read_in_row_major_order() {
        let t = Tensor::make(&spec(&[2, 3], &[1, 2], Init::Arange), beside(Path::new("."))).expect("small");
        assert_eq!(t.values(), [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
        assert_eq!(decode(DType::F32, &t.bytes[4..8]), 3.0);
    }

    #[test]
    fn npy_round_trip() {
        let dir = tempfile::tempdir().expect("temporary directory");
        let t = Tensor::make(&spec(&[4, 5], &[5, 1], Init::Normal { mean: 0.0, std: 1.0 }), beside(dir.path())).expect("small");
        t.save_npy(&dir.path().join("x.npy")).expect("writable");
        let again = Tensor::make(&spec(&[4, 5], &[5, 1], Init::File("x.npy".into())), beside(dir.path())).expect("readable");
        assert_eq!(t, again);
    }

    #[test]
    fn an_impossible_shape_is_refused() {
        let error = Tensor::make(&spec(&[1 << 40], &[1], Init::Zeros), beside(Path::new("."))).expect_err("too large");
        assert!(error.to_string().contains("tensor `x`"), "{error}");
    }
}
