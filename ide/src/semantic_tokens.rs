// Feature: Semantic tokens
//
//! Colours for what a Python server cannot know: compile-time values, pointers, tiles, masks, launches. Other names are left to it.

use std::{collections::BTreeMap, ops::Range, path::Path};

use tritium_semantics::{
    Function,
    body::{Body, Expr, ExprId, Stmt, StmtId},
    builtins::Builtin,
    dtype::DType,
    items::{self, Node},
    types::{Element, Ty},
};

use crate::{Analysis, naming::names};

/// In the order of the legend.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum TokenKind {
    /// Known at compile time.
    Constexpr,
    /// An address, or a tile of addresses.
    Pointer,
    Tile,
    /// A tile of `i1`.
    Mask,
    /// A number at run time.
    Scalar,
    /// The kernel's name where it is launched.
    Launch,
}

impl TokenKind {
    pub const ALL: [(TokenKind, &'static str); 6] = [
        (TokenKind::Constexpr, "constexpr"),
        (TokenKind::Pointer, "pointer"),
        (TokenKind::Tile, "tile"),
        (TokenKind::Mask, "mask"),
        (TokenKind::Scalar, "scalar"),
        (TokenKind::Launch, "launch"),
    ];
}

/// Bits of [`Token::modifiers`], in the order of the legend.
pub const MODIFIERS: [&str; 4] = ["declaration", "block", "loopCarried", "unmasked"];
const DECLARATION: u32 = 1;
/// A pointer with a shape.
const BLOCK: u32 = 1 << 1;
/// Assigned by a loop that also reads what the trip before left.
const LOOP_CARRIED: u32 = 1 << 2;
/// Bound by a load without a mask.
const UNMASKED: u32 = 1 << 3;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    pub range: Range<usize>,
    pub kind: TokenKind,
    pub modifiers: u32,
}

impl Analysis {
    /// In the order of the text, without overlaps.
    pub fn semantic_tokens(&self, path: &Path) -> Vec<Token> {
        let (db, Some(file)) = (self.db(), self.file(path)) else { return Vec::new() };
        let kernels = self.kernels(path);
        let mut out = BTreeMap::new();
        for item in &items::items(db, file).functions {
            if let Some(kernel) = self.seen_by(item.function, &kernels) {
                self.of_function(item.function, kernel, &mut out);
            }
        }
        for call in names(db, file).calls.iter().filter(|c| c.grid.is_some()) {
            // The name itself, not the module before it.
            let start = call.callee_range.end - call.callee.last().map_or(0, |name| name.len());
            out.insert(start, Token { range: start..call.callee_range.end, kind: TokenKind::Launch, modifiers: 0 });
        }
        out.into_values().collect()
    }

    fn of_function(&self, function: Function, kernel: &crate::kernels::Kernel, out: &mut BTreeMap<usize, Token>) {
        let db = self.db();
        let Some((body, stmt)) = items::function_body(db, function) else { return };
        let Some((start, map)) = items::source_map(db, function) else { return };
        let Stmt::Function(def) = body.stmt(stmt) else { return };
        let elaborated = self.elaborated(kernel.active.instance);
        if kernel.function == function
            && let Some((_, _, ranges)) = map.functions.iter().find(|f| f.0 == stmt)
        {
            for (range, argument) in ranges.iter().zip(kernel.active.instance.arguments(db)) {
                let kind = match argument {
                    tritium_semantics::Argument::Constexpr(_) => TokenKind::Constexpr,
                    tritium_semantics::Argument::Runtime { ty: tritium_semantics::ArgType::Ptr { .. }, .. }
                    | tritium_semantics::Argument::Descriptor { .. } => TokenKind::Pointer,
                    tritium_semantics::Argument::Runtime { .. } => TokenKind::Scalar,
                    tritium_semantics::Argument::Tuple(_) | tritium_semantics::Argument::Unknown => continue,
                };
                let range = items::in_file(start, *range);
                out.insert(range.start, Token { range, kind, modifiers: DECLARATION });
            }
        }
        let Some(types) = elaborated.types.get(&function) else { return };
        let lint_hints = LintHints::of(&body, &def.body);
        for (id, ty) in types.iter() {
            let (Expr::Name(name), Some(range)) = (body.expr(id), map.exprs.get(id.0 as usize)) else { continue };
            let Some((kind, mut modifiers)) = kind_of(ty) else { continue };
            modifiers |= lint_hints.modifiers(id, name);
            let range = items::in_file(start, *range);
            out.insert(range.start, Token { range, kind, modifiers });
        }
    }
}

fn kind_of(ty: &Ty) -> Option<(TokenKind, u32)> {
    let kind = match ty {
        Ty::Constexpr(_) => TokenKind::Constexpr,
        Ty::BlockPointer(_) | Ty::Descriptor(_) => return Some((TokenKind::Pointer, BLOCK)),
        Ty::Tile(tile) => match (tile.elem, tile.is_scalar()) {
            (Element::Ptr { .. }, true) => TokenKind::Pointer,
            (Element::Ptr { .. }, false) => return Some((TokenKind::Pointer, BLOCK)),
            (Element::Scalar(DType::I1), false) => TokenKind::Mask,
            (Element::Scalar(_), false) => TokenKind::Tile,
            (Element::Scalar(_), true) => TokenKind::Scalar,
        },
        Ty::Unknown | Ty::Tuple(_) | Ty::Record(..) | Ty::Type(_) | Ty::Callable(_) | Ty::Void => return None,
    };
    Some((kind, 0))
}

/// What the text alone says about names.
#[derive(Default)]
struct LintHints {
    /// The targets of assignments.
    bound: Vec<ExprId>,
    /// Those that a load without a mask is assigned to.
    unmasked: Vec<ExprId>,
    /// Names that a loop carries, and the expressions in that loop.
    carried: Vec<(smol_str::SmolStr, ExprId)>,
}

impl LintHints {
    fn of(body: &Body, stmts: &[StmtId]) -> LintHints {
        let mut out = LintHints::default();
        items::walk(body, stmts, &mut |node| {
            let Node::Stmt(id) = node else { return };
            match body.stmt(id) {
                Stmt::Assign { targets, value } => {
                    out.bound.extend(targets);
                    if is_unmasked_load(body, *value) {
                        out.unmasked.extend(targets);
                    }
                }
                Stmt::AnnAssign { target, .. } | Stmt::AugAssign { target, .. } => out.bound.push(*target),
                Stmt::For { target, body: inner, .. } => {
                    out.bound.push(*target);
                    out.carries(body, inner);
                }
                Stmt::While { body: inner, .. } => out.carries(body, inner),
                _ => {}
            }
        });
        out.bound.sort();
        out.carried.sort();
        out.carried.dedup();
        out
    }

    /// Names that a loop reads before it assigns them.
    fn carries(&mut self, body: &Body, stmts: &[StmtId]) {
        let mut assigned = Vec::new();
        let mut carried = Vec::new();
        let mut uses = Vec::new();
        items::walk(body, stmts, &mut |node| match node {
            Node::Stmt(id) => match body.stmt(id) {
                Stmt::Assign { targets, value } => {
                    items::walk_expr(body, *value, &mut |n| {
                        if let Node::Expr(e) = n
                            && let Expr::Name(name) = body.expr(e)
                            && !assigned.contains(name)
                        {
                            carried.push(name.clone());
                        }
                    });
                    for &target in targets {
                        items::walk_expr(body, target, &mut |n| {
                            if let Node::Expr(e) = n
                                && let Expr::Name(name) = body.expr(e)
                            {
                                assigned.push(name.clone());
                            }
                        });
                    }
                }
                Stmt::AugAssign { target, .. } => {
                    if let Expr::Name(name) = body.expr(*target) {
                        if !assigned.contains(name) {
                            carried.push(name.clone());
                        }
                        assigned.push(name.clone());
                    }
                }
                _ => {}
            },
            Node::Expr(id) => {
                if let Expr::Name(name) = body.expr(id) {
                    uses.push((name.clone(), id));
                }
            }
        });
        carried.retain(|name| assigned.contains(name));
        self.carried.extend(uses.into_iter().filter(|(name, _)| carried.contains(name)));
    }

    fn modifiers(&self, id: ExprId, name: &smol_str::SmolStr) -> u32 {
        let declaration = if self.bound.binary_search(&id).is_ok() { DECLARATION } else { 0 };
        let unmasked = if self.unmasked.contains(&id) { UNMASKED } else { 0 };
        let carried = if self.carried.binary_search(&(name.clone(), id)).is_ok() { LOOP_CARRIED } else { 0 };
        declaration | unmasked | carried
    }
}

fn is_unmasked_load(body: &Body, id: ExprId) -> bool {
    let Expr::Call { callee, args } = body.expr(id) else { return false };
    let Expr::Attribute { name, .. } = body.expr(*callee) else { return false };
    let masks = |name: &str| matches!(name, "mask" | "boundary_check");
    let has_mask = args.len() > 1 && args[1].kind == tritium_semantics::body::ArgKind::Positional
        || args.iter().any(|a| matches!(&a.kind, tritium_semantics::body::ArgKind::Keyword(k) if masks(k)));
    name == Builtin::Load.row().name && !has_mask
}
