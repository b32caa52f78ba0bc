// Feature: What a CTA holds
//
//! What a CTA holds of its SM, as a hover says it: shared memory by buffer, barriers, and how many CTAs there is room for.
//!
//! **Invariant:** this file only words what the resource model says; every line says whether it is exact.

use std::collections::BTreeMap;

use tritium_estimate::{
    occupancy::{Axis, Limiter, Use, what_if},
    resources::KernelReport,
};

use crate::{
    Analysis,
    kernels::Kernel,
    report::{Figures, bytes_text, limiter_name},
};

/// Buffers that are named; the smallest ones rest in a sum.
const MAX_BUFFERS: usize = 4;

impl Analysis {
    pub(crate) fn cta_resources(&self, kernel: &Kernel, figures: &Figures) -> String {
        let (report, sm) = (&figures.report, self.gpu().sm);
        let mut out = format!(
            "- shared memory: {} of {} per CTA (exact){}\n",
            bytes_text(report.shared_bytes.value),
            bytes_text(sm.shared_per_cta),
            self.buffers(kernel, report)
        );
        let source = if figures.registers().1 { "exact" } else { "estimated" };
        out += &match figures.report.occupancy {
            Some(o) => format!(
                "- occupancy: {:.0} %, {} CTA{} of {} warps per SM, limited by {} ({source}){}\n",
                100.0 * o.fraction,
                o.ctas_per_sm,
                if o.ctas_per_sm == 1 { "" } else { "s" },
                kernel.active.options.num_warps,
                limiter_name(o.limiter),
                self.steps(kernel, figures, o.limiter)
            ),
            None => format!("- occupancy: not even one CTA fits an SM ({source})\n"),
        };
        out
    }

    /// The largest first. Buffers that are not needed at once may lie in one place, so that they add up to more than there is.
    fn buffers(&self, kernel: &Kernel, report: &KernelReport) -> String {
        let origins = &self.elaborated(kernel.active.instance).origins;
        let mut by_line = BTreeMap::<_, u32>::new();
        for buffer in &report.buffers {
            *by_line.entry((self.line(origins, buffer.origin), buffer.what)).or_default() += buffer.bytes;
        }
        let mut all: Vec<_> = by_line.into_iter().collect();
        // Stable: what is as large stays in the order of the text.
        all.sort_by_key(|&(_, bytes)| std::cmp::Reverse(bytes));
        let rest: u32 = all.iter().skip(MAX_BUFFERS).map(|&(_, bytes)| bytes).sum();
        let named = all.iter().take(MAX_BUFFERS).map(|((line, what), bytes)| {
            let line = line.map(|line| self.line_words(kernel.function.file(self.db()), line));
            let line = line.map(|line| format!(" of {line}")).unwrap_or_default();
            format!("{} for `{what}`{line}", bytes_text(*bytes))
        });
        let mut parts: Vec<String> = named.collect();
        if rest > 0 {
            parts.push(format!("{} for {} more", bytes_text(rest), all.len() - MAX_BUFFERS));
        }
        let sum: u32 = all.iter().map(|&(_, bytes)| bytes).sum();
        let turns = if sum > report.shared_bytes.value { ", in turn" } else { "" };
        let barriers = match report.barriers {
            0 => String::new(),
            1 => "; 1 barrier in the code".to_owned(),
            n => format!("; {n} barriers in the code"),
        };
        if parts.is_empty() { barriers } else { format!(": {}{turns}{barriers}", parts.join(", ")) }
    }

    /// Where more CTAs would fit, and where fewer: of the figure that limits them.
    fn steps(&self, kernel: &Kernel, figures: &Figures, limiter: Limiter) -> String {
        let (axis, show): (_, fn(u32) -> String) = match limiter {
            Limiter::Registers => (Axis::Registers, |n| format!("{n} registers")),
            Limiter::Shared => (Axis::Shared, bytes_text),
            Limiter::Warps | Limiter::Ctas | Limiter::Barriers => return String::new(),
        };
        let shared = figures.report.shared_bytes.value;
        let barriers = figures.report.barriers.min(1);
        let now = Use { warps: kernel.active.options.num_warps, registers: figures.registers().0, shared, barriers };
        let curves = what_if(self.gpu().sm, now);
        let Some(curve) = curves.iter().find(|curve| curve.axis == axis) else { return String::new() };
        let better = curve.better().map(|step| format!("; {:.0} % with {} or less", 100.0 * step.fraction, show(step.to)));
        let worse = curve.worse().filter(|step| step.ctas_per_sm > 0);
        let worse = worse.map(|step| format!("; {:.0} % with {} or more", 100.0 * step.fraction, show(step.from)));
        better.into_iter().chain(worse).collect()
    }
}
