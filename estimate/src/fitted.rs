//! What was measured on recorded kernels, all in one place: written by `cargo xtask fit`, which tells how; a test fits it again.

/// Registers that a thread of Triton's code needs: what is live, by how it is kept (`triton/spills.rs`), and some beside.
pub(crate) const WHOLE: f64 = 1.2;
pub(crate) const HALF: f64 = 0.4;
pub(crate) const ALWAYS: f64 = 7.0;

/// The words of [`Spills`](crate::spills::Spills): the ratio of need to limit from which on each holds, and how many of a hundred such kernels
/// of Triton spill, in packages that the constants had not seen.
pub(crate) const WORDS: [(f64, u32); 3] = [(0.0, 2), (0.8, 51), (1.25, 95)];

/// Registers that a kernel of ours takes beside those that are live at once: the median. In nine of ten kernels ptxas takes no more and no
/// less than this part of the sum away from it.
pub(crate) const BESIDE_LIVE: f64 = 12.0;
pub(crate) const WITHIN: f64 = 0.67;
pub(crate) const WITHIN_TEXT: &str = "within ±67 % for 9 of 10 kernels";
