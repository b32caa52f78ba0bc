// Feature: Inlay hints
//
//! The type of every tile where it is first bound, the roofline bound of every kernel on its `def` line, the cost of a trip on every `for`.

use std::path::Path;

use tritium_semantics::{
    problem::At,
    types::{Ty, symbolic_shape},
};

use crate::ide::{
    Analysis,
    cost::{LoopHint, line_of},
};

#[derive(Debug, Clone, PartialEq)]
pub struct InlayHint {
    pub offset: usize,
    pub label: String,
    pub tooltip: String,
    /// A type after a name; otherwise a remark at the end of a line.
    pub is_type: bool,
}

impl Analysis {
    pub fn inlay_hints(&self, path: &Path) -> Vec<InlayHint> {
        let mut hints = Vec::new();
        for kernel in self.kernels(path) {
            if self.options().shape_hints {
                for (place, name, ty) in &self.elaborated(kernel.active.instance).bindings {
                    let Ty::Tile(tile) = ty else { continue };
                    if tile.is_scalar() || place.function != kernel.function || !matches!(place.at, At::Expr(_)) {
                        continue;
                    }
                    let Some(range) = self.range(*place) else { continue };
                    let symbolic = symbolic_shape(&tile.shape).map(|s| format!(", {s}")).unwrap_or_default();
                    hints.push(InlayHint {
                        offset: range.end,
                        label: format!(": {ty}"),
                        tooltip: format!("`{name}` is {ty}{symbolic} under {}", kernel.active.describe()),
                        is_type: true,
                    });
                }
            }
            if self.options().roofline_hints
                && let Some(report) = self.estimates(&kernel)
            {
                let text = self.text(path).unwrap_or_default();
                if let Some((label, tooltip)) = self.roofline_hint(&kernel, &report) {
                    let offset = line_of(&text, kernel.range.end).end;
                    hints.push(InlayHint { offset, label, tooltip, is_type: false });
                }
                let of_loops = self.loop_hints(&kernel, &report, &text).into_iter();
                hints.extend(of_loops.map(|LoopHint { offset, label, tooltip }| InlayHint {
                    offset,
                    label,
                    tooltip,
                    is_type: false,
                }));
            }
        }
        // A name bound again keeps the hint of its first place only if the type is the same there; both places show their own.
        hints.sort_by_key(|hint| hint.offset);
        hints.dedup_by_key(|hint| hint.offset);
        hints
    }
}
