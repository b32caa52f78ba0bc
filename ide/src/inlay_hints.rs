// Feature: Inlay hints
//
//! The type of every tile where it is first bound, what a mixed operation is promoted to, the roofline bound of every kernel on its `def`
//! line, the cost of a trip on every `for`; each can be switched off.

use std::path::Path;

use tritium_semantics::{
    body::Expr,
    items,
    problem::At,
    types::{Element, TileType, Ty, shape_text, symbolic_shape},
};

use crate::{
    Analysis, Options,
    cost::{LoopHint, line_of},
    kernels::Kernel,
};

#[derive(Debug, Clone, PartialEq)]
pub struct InlayHint {
    pub offset: usize,
    pub label: String,
    pub tooltip: String,
    /// A type after a name; otherwise a remark.
    pub is_type: bool,
}

impl Analysis {
    pub fn inlay_hints(&self, path: &Path) -> Vec<InlayHint> {
        let mut hints = Vec::new();
        for kernel in self.kernels(path) {
            self.type_hints(&kernel, &mut hints);
            if self.options().promotion_hints {
                self.promotion_hints(&kernel, &mut hints);
            }
            if self.options().roofline_hints
                && let Some(report) = self.estimates(&kernel)
            {
                let text = self.text(path).unwrap_or_default();
                if let Some((label, tooltip)) = self.roofline_hint(&kernel, report) {
                    let offset = line_of(&text, kernel.range.end).end;
                    hints.push(InlayHint { offset, label, tooltip, is_type: false });
                }
                let of_loops = self.loop_hints(&kernel, report, &text).into_iter();
                hints.extend(of_loops.map(|LoopHint { offset, label, tooltip }| InlayHint {
                    offset,
                    label,
                    tooltip,
                    is_type: false,
                }));
            }
        }
        // A name bound again keeps the hint of its first place only if the type is the same there; both places show their own.
        hints.sort_by_key(|hint| (hint.offset, !hint.is_type));
        hints.dedup_by_key(|hint| (hint.offset, hint.is_type));
        hints
    }

    fn type_hints(&self, kernel: &Kernel, hints: &mut Vec<InlayHint>) {
        for (place, name, ty) in &self.elaborated(kernel.active.instance).bindings {
            let Ty::Tile(tile) = ty else { continue };
            if tile.is_scalar() || place.function != kernel.function || !matches!(place.at, At::Expr(_)) {
                continue;
            }
            let (Some(label), Some(range)) = (type_label(tile, self.options()), self.range(*place)) else { continue };
            let symbolic = symbolic_shape(&tile.shape).map(|s| format!(", {s}")).unwrap_or_default();
            hints.push(InlayHint {
                offset: range.end,
                label,
                tooltip: format!("`{name}` is {ty}{symbolic} under {}", kernel.active.describe(self.db())),
                is_type: true,
            });
        }
    }

    /// Where two element types meet: what comes of them.
    fn promotion_hints(&self, kernel: &Kernel, hints: &mut Vec<InlayHint>) {
        let db = self.db();
        let (Some((body, _)), Some((start, map))) =
            (items::function_body(db, kernel.function), items::source_map(db, kernel.function))
        else {
            return;
        };
        let Some(types) = self.elaborated(kernel.active.instance).types.get(&kernel.function) else { return };
        let scalar = |ty: Option<&Ty>| match ty {
            Some(Ty::Tile(TileType { elem: Element::Scalar(dtype), .. })) => Some(*dtype),
            _ => None,
        };
        for (id, ty) in types.iter() {
            let Expr::Binary { lhs, rhs, .. } = body.expr(id) else { continue };
            let (Some(to), Some(a), Some(b)) = (scalar(Some(ty)), scalar(types.get(*lhs)), scalar(types.get(*rhs))) else {
                continue;
            };
            let Some(range) = map.exprs.get(id.0 as usize) else { continue };
            if a != b {
                hints.push(InlayHint {
                    offset: items::in_file(start, *range).end,
                    label: format!("→ {to}"),
                    tooltip: format!("{a} and {b} give {to} under {}", kernel.active.describe(self.db())),
                    is_type: false,
                });
            }
        }
    }
}

/// `: f32[128, 64]`, or the part of it that is wanted.
fn type_label(tile: &TileType, options: &Options) -> Option<String> {
    match (options.shape_hints, options.dtype_hints) {
        (true, true) => Some(format!(": {tile}")),
        (true, false) => Some(format!(": {}", shape_text(&tile.shape))),
        (false, true) => Some(format!(": {}", tile.elem)),
        (false, false) => None,
    }
}
