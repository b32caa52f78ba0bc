//! What ptxas is likely to be asked for once its first call has answered. It is begun beside the first where cores are idle: that gains the time of a
//! second call where it is asked for, and costs a core for as long where it is not.

use tritium_codegen::ptx_strings::Fence;

use super::{for_ctas, roomy_ctas, without};
use crate::worker::ptxas::AssembleRequest;

/// Registers that a kernel with loops or products is believed to take before ptxas has said. With fewer, calls would
/// begin rightly for more kernels that take little time, and in vain for large ones (the table in the tests).
const LIKELY_REGISTERS: u32 = 96;

/// Bytes of PTX from which on it is believed to spill, if its loads go first (the other table).
const LARGE: usize = 150_000;

/// The text that is likely to be asked for.
pub(super) fn likely(request: &AssembleRequest) -> Option<String> {
    if request.ptx.len() >= LARGE && Fence::Loads.is_in(request.ptx) {
        return Some(without(&[Fence::Loads], request.ptx));
    }
    roomy_ctas(request, LIKELY_REGISTERS).and_then(|ctas| for_ctas(request.ptx, ctas))
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use tritium_codegen::ptx_strings::shared_note;

    use super::*;

    #[test]
    fn what_is_likely() {
        let likely = |ptx: &str| likely(&AssembleRequest { ptx, sm: "sm_90a" });
        // As many CTAs of four warps as an SM has shared memory for, if they leave more registers than is believed.
        let product = |shared| format!(".maxntid 128, 1, 1\nmma.sync\n{}\n", shared_note(shared));
        assert_eq!(likely(&product(60 << 10)), Some(product(60 << 10).replace(".maxntid", ".minnctapersm 3 .maxntid")));
        assert_eq!(likely(&product(20 << 10)), None);
        // Of much code, the same without fences.
        let much = format!("{}{}", Fence::Loads.text(), " ".repeat(LARGE));
        assert_eq!(likely(&much), Some(much.replace(Fence::Loads.text(), "")));
    }

    /// A kernel of flash-linear-attention or liger-kernel, by what decides about it, and what the first call answered (`bench/likely_calls.py`).
    struct Kernel {
        /// As much of it as decides how many CTAs are asked for.
        ptx: String,
        bytes: usize,
        registers: u32,
        is_fenced: bool,
        spills: bool,
        ms: f64,
    }

    impl Kernel {
        /// `kernel bytes threads shared loops fence rows_in_loops registers spilled ms`
        fn of(line: &str) -> Kernel {
            let values: Vec<f64> = line.split('\t').skip(1).map(|value| value.parse().unwrap()).collect();
            let [bytes, threads, shared, loops, fence, rows_in_loops, registers, spilled, ms] = values[..] else {
                panic!("{line}")
            };
            let work = match (rows_in_loops > 0.0, loops > 0.0) {
                (true, _) => "$L__BB0_1:\nshfl.sync;\nbra $L__BB0_1;\n",
                (_, true) => "mma.sync\n",
                _ => "",
            };
            let fence = if fence > 0.0 { Fence::Loads.text() } else { "" };
            let ptx = format!(".maxntid {threads}, 1, 1\n{}\n{work}{fence}", shared_note(shared as u32));
            Kernel {
                ptx,
                bytes: bytes as usize,
                registers: registers as u32,
                is_fenced: !fence.is_empty(),
                spills: spilled > 0.0,
                ms,
            }
        }

        fn roomy(&self, registers: u32) -> Option<u32> {
            roomy_ctas(&AssembleRequest { ptx: &self.ptx, sm: "sm_90a" }, registers)
        }

        fn asked(&self) -> Option<u32> {
            self.roomy(self.registers).filter(|_| !self.spills)
        }
    }

    fn kernels() -> Vec<Kernel> {
        include_str!("../../../../bench/results/likely-calls.tsv").lines().skip(1).map(Kernel::of).collect()
    }

    /// How many kernels, and what their first calls take.
    fn told<'k>(kernels: impl Iterator<Item = &'k Kernel> + Clone) -> String {
        format!("{:>3} ({:.1} s)", kernels.clone().count(), kernels.fold(0.0, |ms, kernel| ms + kernel.ms) / 1e3)
    }

    fn built(is_built: bool) -> &'static str {
        if is_built { " (built)" } else { "" }
    }

    #[test]
    fn registers_that_are_believed() {
        let kernels: Vec<Kernel> = kernels().into_iter().filter(|k| !(k.is_fenced && k.bytes >= LARGE)).collect();
        let lines = (32..=128).step_by(16).map(|registers| {
            let is_right = |k: &&Kernel| k.asked().is_some() && k.roomy(registers) == k.asked();
            let right = told(kernels.iter().filter(is_right));
            let in_vain = told(kernels.iter().filter(|k| k.roomy(registers).is_some() && !is_right(k)));
            let late = told(kernels.iter().filter(|k| k.asked().is_some() && !is_right(k)));
            format!(
                "{registers:>3} registers: asked for {right}, in vain {in_vain}, not begun {late}{}\n",
                built(registers == LIKELY_REGISTERS)
            )
        });
        expect![[r#"
             32 registers: asked for  75 (8.5 s), in vain  96 (20.4 s), not begun  34 (2.8 s)
             48 registers: asked for  74 (8.5 s), in vain  85 (19.8 s), not begun  35 (2.8 s)
             64 registers: asked for  59 (8.0 s), in vain  69 (13.6 s), not begun  50 (3.3 s)
             80 registers: asked for  58 (7.9 s), in vain  43 (11.2 s), not begun  51 (3.4 s)
             96 registers: asked for  57 (7.9 s), in vain  42 (11.1 s), not begun  52 (3.4 s) (built)
            112 registers: asked for  67 (8.5 s), in vain 188 (24.0 s), not begun  42 (2.8 s)
            128 registers: asked for  34 (6.7 s), in vain  18 (8.8 s), not begun  75 (4.6 s)
        "#]]
        .assert_eq(&lines.collect::<String>());
    }

    #[test]
    fn bytes_from_which_on_kernels_are_believed_to_spill() {
        let kernels: Vec<Kernel> = kernels().into_iter().filter(|k| k.is_fenced).collect();
        let lines = [50_000, 100_000, 150_000, 200_000, 300_000].map(|large| {
            let part = |begun: bool, spills: bool| {
                told(kernels.iter().filter(move |k| (k.bytes >= large) == begun && k.spills == spills))
            };
            format!(
                "{large:>6} bytes: asked for {}, in vain {}, not begun {}{}\n",
                part(true, true),
                part(true, false),
                part(false, true),
                built(large == LARGE)
            )
        });
        expect![[r#"
             50000 bytes: asked for  80 (216.7 s), in vain 108 (16.2 s), not begun   0 (0.0 s)
            100000 bytes: asked for  75 (215.9 s), in vain  53 (11.9 s), not begun   5 (0.8 s)
            150000 bytes: asked for  64 (213.2 s), in vain  28 (8.4 s), not begun  16 (3.5 s) (built)
            200000 bytes: asked for  57 (210.5 s), in vain  15 (5.3 s), not begun  23 (6.2 s)
            300000 bytes: asked for  42 (201.2 s), in vain   2 (1.5 s), not begun  38 (15.5 s)
        "#]]
        .assert_eq(&lines.concat());
    }
}
