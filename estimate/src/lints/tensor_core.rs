//! DOT008: a product that misses the GPU's fastest instruction, and what it gets instead.

use tritium_semantics::{diagnostics::Code, target::Feature};

use super::{Finding, Ground};
use crate::triton::Product;

pub(super) fn rule(ground: &Ground<'_>, found: &mut Vec<Finding>) {
    if !ground.gpu.sm.has(Feature::Wgmma) {
        return;
    }
    let missed = ground.footprint.products.iter().filter(|product| product.unit == "mma.sync" && product.is_narrow);
    for product in missed {
        let Some(reason) = reason(ground, product) else { continue };
        let message =
            format!("Triton does this product with mma.sync on {}, not with the faster wgmma: {reason}", ground.gpu.name());
        // One reason, one message, however many products have it.
        match found.iter_mut().find(|finding| finding.code == Code::DOT008 && finding.message == message) {
            Some(first) => first.related.push((product.origin, "and this product".to_owned())),
            None => found.push(Finding::at(Code::DOT008, product.origin, message)),
        }
    }
}

fn reason(ground: &Ground<'_>, product: &Product) -> Option<String> {
    if product.rows < 64 {
        return Some(format!("the tile has {} rows, and wgmma takes 64", product.rows));
    }
    let is_group = ground.options.num_warps.is_multiple_of(4);
    (!is_group).then(|| format!("num_warps={}, and wgmma takes groups of 4 warps", ground.options.num_warps))
}
