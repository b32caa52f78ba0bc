//! What a launch may ask for: CUDA's grids, Triton's options, tensors that some memory holds, numbers that some generator makes.
//!
//! **Invariant:** one rule for launch blocks, host code, rows of a tuner and requests; a message names what is written, and what is possible.

use super::{Init, Tensor};
use crate::{
    diagnostics::{Code, Severity},
    target::{MAX_PROGRAMS_X, MAX_PROGRAMS_YZ},
};

/// Warps of a program: 1,024 threads.
const MAX_WARPS: i128 = 32;
/// Registers of a thread, on every SM.
const MAX_REGISTERS: i128 = 255;
/// Bytes of a tensor: more than any GPU has.
const MAX_TENSOR_BYTES: u64 = 1 << 40;

/// What is wrong with something that a launch asks for.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Impossible {
    pub code: Code,
    pub severity: Severity,
    pub message: String,
}

/// Why `num_warps`, `num_stages` or `maxnreg` cannot be what it is.
pub fn impossible_option(name: &str, value: i128) -> Option<Impossible> {
    let found = |code, severity, message| Some(Impossible { code, severity, message });
    match name {
        "num_warps" if value < 1 || value.count_ones() != 1 => {
            found(Code::LCH008, Severity::Error, format!("`num_warps` is a power of two, and this is {value}"))
        }
        "num_warps" if value > MAX_WARPS => found(
            Code::LCH008,
            Severity::Error,
            format!("`num_warps` is at most {MAX_WARPS}, which are 1,024 threads, and this is {value}"),
        ),
        "num_stages" if value > i128::from(i32::MAX) => {
            found(Code::LCH009, Severity::Error, format!("`num_stages` is a small number, and {value} is none that Triton takes"))
        }
        "num_stages" if value < 1 => {
            let message = format!("`num_stages` is at least 1, and {value} does what 1 does: nothing is loaded ahead");
            found(Code::LCH009, if value < 0 { Severity::Warning } else { Severity::Hint }, message)
        }
        "maxnreg" if value < 1 => {
            found(Code::LCH009, Severity::Error, format!("`maxnreg` is 1 to {MAX_REGISTERS}, and ptxas refuses {value}"))
        }
        "maxnreg" if value > MAX_REGISTERS => {
            let message = format!("`maxnreg` is 1 to {MAX_REGISTERS}, and ptxas ignores {value}");
            found(Code::LCH009, Severity::Warning, message)
        }
        _ => None,
    }
}

/// An option as it is compiled, and what is wrong with it. One that is only odd counts as what Triton makes of it.
pub fn option(name: &str, value: i128) -> (Option<u32>, Option<Impossible>) {
    match impossible_option(name, value) {
        Some(found) if found.severity == Severity::Error => (None, Some(found)),
        Some(found) if name == "num_stages" => (Some(1), Some(found)),
        Some(found) => (None, Some(found)),
        None => (u32::try_from(value).ok(), None),
    }
}

/// The programs along each axis, and what is odd about them.
pub fn grid(sizes: &[i128]) -> Result<([u64; 3], Option<Impossible>), Impossible> {
    let mut out = [1; 3];
    let mut odd = None;
    for ((slot, &size), axis) in out.iter_mut().zip(sizes).zip(["x", "y", "z"]) {
        let most = if axis == "x" { MAX_PROGRAMS_X } else { MAX_PROGRAMS_YZ };
        let error = |code, message| Err(Impossible { code, severity: Severity::Error, message });
        match u64::try_from(size) {
            Err(_) if size < 0 => return error(Code::LCH002, format!("a size of the grid is negative: {size}")),
            Ok(known) if known <= most => *slot = known,
            _ => {
                let remedy = if axis == "x" { "let a program do more" } else { "put the long axis first" };
                let message = format!("the grid has {size} programs along {axis}, and CUDA takes {most} there: {remedy}");
                return error(Code::LCH003, message);
            }
        }
        if size == 0 {
            let message = format!("the grid has no programs along {axis}, so nothing is launched");
            odd = Some(Impossible { code: Code::LCH002, severity: Severity::Warning, message });
        }
    }
    Ok((out, odd))
}

/// Why a tensor cannot be made as a launch says.
pub fn impossible_tensor(tensor: &Tensor) -> Option<String> {
    impossible_size(&tensor.name, &tensor.shape, tensor.dtype.bytes()).or_else(|| impossible_init(&tensor.init))
}

/// Why no memory holds a tensor.
pub fn impossible_size(name: &str, shape: &[u64], element_bytes: u32) -> Option<String> {
    let elements = shape.iter().try_fold(1u64, |n, &size| n.checked_mul(size));
    let bytes = elements.and_then(|n| n.checked_mul(u64::from(element_bytes)));
    if bytes.is_some_and(|n| n <= MAX_TENSOR_BYTES) {
        return None;
    }
    let size = match bytes {
        Some(bytes) => format!("would take {} TiB", bytes.div_ceil(MAX_TENSOR_BYTES)),
        None => "has more elements than can be counted".to_owned(),
    };
    Some(format!("`{name}` {size}, and would not fit any memory"))
}

/// Why nothing can be drawn from a range or distribution.
pub fn impossible_init(init: &Init) -> Option<String> {
    match *init {
        Init::RandInt { low, high } if low >= high => Some(format!(
            "`randint({low}, {high})` has nothing to choose from: the numbers go from the first up to, not including, the second"
        )),
        Init::Uniform { low, high } if low > high || !(high - low).is_finite() => Some(format!(
            "`uniform({low}, {high})` has nothing to choose from: the first number is the smaller one, and both are finite"
        )),
        Init::Normal { mean, std } if std < 0.0 || !std.is_finite() || !mean.is_finite() => Some(format!(
            "`normal({mean}, {std})` is no distribution: the second number is its standard deviation, 0 or more, and both are finite"
        )),
        _ => None,
    }
}
