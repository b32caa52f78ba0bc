//! Loads, stores and atomics.
//!
//! **Invariant:** a mask is `i1`; the pointer, the mask and the values of one access have one shape when it is emitted.

use tritium_tile::{
    OpKind,
    ops::{AtomicOp, CacheOp, Eviction, LoadAttrs, StoreAttrs},
};

use super::{
    builtin_calls::Arguments,
    evaluator::{Eval, Evaluator, Poisoned, ProblemExt, problem},
    shapes::common_shape,
    value::{Tile, Undefined, Value},
};
use crate::{
    body::{Expr, ExprId},
    builtins::Atomic,
    constant::Const,
    diagnostics::Code,
    dtype::DType,
    problem::{Applicability, Edit},
    types::{Element, TileType, same_shape},
};

impl<'a> Evaluator<'a> {
    pub(super) fn pointer_argument(&mut self, value: &Value, expr: ExprId, what: &str) -> Eval<(Tile, DType, bool)> {
        match value {
            // Handled where it is read or written.
            Value::Unknown | Value::BlockPointer(_) => Err(Poisoned),
            Value::Tile(tile) => match tile.ty.elem {
                Element::Ptr { pointee, is_const } => Ok((tile.clone(), pointee, is_const)),
                Element::Scalar(_) => {
                    let place = self.place(expr);
                    let text = self.text(expr);
                    let message = format!("{what} needs a pointer or a tile of pointers, and `{text}` is {}", tile.ty);
                    Err(self.problem(Code::DTY002, place, message))
                }
            },
            other => {
                let place = self.place(expr);
                let text = self.text(expr);
                Err(self.problem(
                    Code::DTY002,
                    place,
                    format!("{what} needs a pointer or a tile of pointers, and `{text}` is {}", other.ty()),
                ))
            }
        }
    }

    /// `None` without a mask.
    pub(super) fn mask_argument(&mut self, arguments: &Arguments, at: ExprId) -> Eval<Option<Tile>> {
        let expr = arguments.expr("mask").unwrap_or(at);
        match arguments.value("mask") {
            Value::Unknown => Err(Poisoned),
            value if value.is_none() => Ok(None),
            value => {
                let tile = self.as_tile(value, expr)?;
                if tile.ty.elem == Element::Scalar(DType::I1) {
                    return Ok(Some(tile));
                }
                let text = self.text(expr);
                let place = self.place(expr);
                let message = format!("a mask is i1, and `{text}` is {}: compare it, `{text} != 0`", tile.ty);
                let edits = self.append_comparison(expr);
                self.report(problem(Code::DTY011, place, message).fix("Compare with 0", Applicability::Suggested, edits));
                Err(Poisoned)
            }
        }
    }

    pub(super) fn words<T>(&mut self, arguments: &Arguments, name: &str, table: &[(&str, T)], default: T, at: ExprId) -> Eval<T>
    where
        T: Copy,
    {
        let expr = arguments.expr(name).unwrap_or(at);
        match arguments.value(name).to_const() {
            Some(Const::Str(word)) => match table.iter().find(|(w, _)| *w == word) {
                Some((_, value)) => Ok(*value),
                None => Err(self.no_such_word(&word, name, &table.iter().map(|(w, _)| *w).collect::<Vec<_>>(), expr)),
            },
            Some(Const::None) => Ok(default),
            None if arguments.value(name).has_unknown() => Err(Poisoned),
            _ => {
                let place = self.place(expr);
                Err(self.not_constexpr(place, expr, name))
            }
        }
    }

    fn no_such_word(&mut self, word: &str, name: &str, words: &[&str], expr: ExprId) -> Poisoned {
        let place = self.argument_place(expr);
        let listed: Vec<String> = words.iter().filter(|w| !w.is_empty()).map(|w| format!("\"{w}\"")).collect();
        let message = format!("{word:?} is no {name}: it is one of {}", listed.join(", "));
        // What decides how memory is gone through has a code of its own.
        if !matches!(name, "cache_modifier" | "eviction_policy") {
            return self.problem(Code::LNG011, self.place(expr), message);
        }
        let same = words.iter().copied().find(|w| !w.is_empty() && w.trim_start_matches('.') == word.trim_start_matches('.'));
        let meant = same.or_else(|| crate::builtins::closest(word, words.iter().copied().filter(|w| w.len() > 3)));
        // Only the dot is wrong, and Triton refuses the word as it is written here whatever the arguments are.
        let is_certain = same.is_some() && matches!(self.body.expr(expr), Expr::Str(_));
        let applicability = if is_certain { Applicability::Safe } else { Applicability::Suggested };
        let report = problem(Code::MEM006, place, message);
        self.report(match meant {
            Some(meant) => {
                let edit = Edit::Replace(self.place(expr), format!("\"{meant}\""));
                report.fix(format!("Change to \"{meant}\""), applicability, vec![edit])
            }
            None => report.fix(format!("Remove `{name}`"), Applicability::Suggested, vec![Edit::RemoveArgument(place)]),
        });
        Poisoned
    }

    fn no_block_pointer_arguments(&mut self, arguments: &Arguments, names: &[&str]) -> Eval<()> {
        for name in names {
            let Some(expr) = arguments.expr(name) else { continue };
            let empty = match arguments.value(name).to_const() {
                Some(Const::Tuple(items)) => items.is_empty(),
                Some(Const::Str(text)) => text.is_empty(),
                Some(Const::None) => true,
                _ => false,
            };
            if !empty {
                let place = self.place(expr);
                return Err(self.problem(
                    Code::LNG011,
                    place,
                    format!("`{name}` is for block pointers; a tile of pointers takes a mask"),
                ));
            }
        }
        Ok(())
    }

    pub(super) fn call_load(&mut self, arguments: &Arguments, at: ExprId) -> Eval<Value> {
        let pointer_expr = arguments.expr("pointer").unwrap_or(at);
        let pointer = self.pointer_argument(arguments.value("pointer"), pointer_expr, "tl.load");
        let mask_given = !arguments.value("mask").is_none();
        let other = arguments.value("other").clone();
        if !other.is_none() && !mask_given {
            let expr = arguments.expr("other").unwrap_or(at);
            let place = self.argument_place(expr);
            let message = "`other` is what masked-off elements become, and this load has no mask: add one, or drop `other`";
            let report = problem(Code::MSK001, place, message);
            self.report(report.fix("Remove `other`", Applicability::Suggested, vec![Edit::RemoveArgument(place)]));
            // The load itself is as if `other` was not there.
        }
        let mask = self.mask_argument(arguments, at);
        let all =
            [("", CacheOp::Default), (".ca", CacheOp::Ca), (".cg", CacheOp::Cg), (".cv", CacheOp::Cv), (".cs", CacheOp::Cs)];
        let cache = self.words(
            arguments,
            "cache_modifier",
            if self.rules.streaming_loads { &all } else { &all[..4] },
            CacheOp::Default,
            at,
        )?;
        let eviction = self.eviction(arguments, at)?;
        let volatile = self.flag(arguments, "volatile")?;
        if let Value::BlockPointer(pointer) = arguments.value("pointer") {
            let attrs = LoadAttrs { cache, eviction, volatile, ..LoadAttrs::default() };
            return self.load_block(pointer, attrs, arguments, at);
        }
        let (mut pointer, pointee, _) = pointer?;
        self.no_block_pointer_arguments(arguments, &["boundary_check", "padding_option"])?;
        let mut mask = mask?;
        let masked = mask.is_some();
        let mut fill = None;
        if let Some(tile) = mask.take() {
            let mask_expr = arguments.expr("mask").unwrap_or(at);
            if pointer.ty.is_scalar() && !tile.ty.is_scalar() {
                let place = self.place(mask_expr);
                let message = format!(
                    "the pointer is a scalar ({}) and the mask is {}: add an index tile to the pointer",
                    pointer.ty, tile.ty
                );
                return Err(self.problem(Code::SHP007, place, message));
            }
            let (p, m) = self.broadcast_pair((pointer_expr, pointer), (mask_expr, tile), "mask", at)?;
            (pointer, mask) = (p, Some(m));
            if !other.is_none() {
                let other_expr = arguments.expr("other").unwrap_or(at);
                let tile = self.as_tile(&other, other_expr)?;
                let tile = self.cast(tile, pointee.into(), other_expr)?;
                if pointer.ty.is_scalar() && !tile.ty.is_scalar() {
                    let place = self.place(other_expr);
                    let message = format!("the pointer is a scalar ({}) and `other` is {}", pointer.ty, tile.ty);
                    return Err(self.problem(Code::SHP007, place, message));
                }
                let (p, o) = self.broadcast_pair((pointer_expr, pointer), (other_expr, tile), "other", at)?;
                pointer = p;
                let shape = pointer.ty.shape.clone();
                mask = mask.map(|m| self.broadcast_tile(m, &shape));
                fill = Some(o);
            }
        }
        let ty = pointer.ty.with_elem(pointee);
        let mut operands = vec![&pointer];
        operands.extend(mask.iter());
        operands.extend(fill.iter());
        let kind = OpKind::Load(LoadAttrs { cache, eviction, volatile, ..LoadAttrs::default() });
        let mut result = self.emit_like(kind, &operands, ty);
        // Which elements are undefined is this load's own matter; pointers into undefined places are another.
        result.undefined = match &mask {
            Some(mask) if masked && fill.is_none() && !self.is_all_true(mask) => {
                Some(Undefined { load: self.place(at), axes: mask.varies })
            }
            _ => None,
        };
        Ok(Value::Tile(result))
    }

    fn is_all_true(&self, mask: &Tile) -> bool {
        self.out.def_op(mask.id).is_some_and(
            |op| matches!(self.out.op(op).kind, OpKind::Constant(tritium_tile::ops::Constant::Int(value)) if value != 0),
        )
    }

    fn eviction(&mut self, arguments: &Arguments, at: ExprId) -> Eval<Eviction> {
        let all = [
            ("", Eviction::Normal),
            ("evict_first", Eviction::First),
            ("evict_last", Eviction::Last),
            ("evict_normal", Eviction::Normal),
        ];
        let table = if self.rules.evict_normal { &all[..] } else { &all[..3] };
        self.words(arguments, "eviction_policy", table, Eviction::Normal, at)
    }

    pub(super) fn call_store(&mut self, arguments: &Arguments, at: ExprId) -> Eval<Value> {
        let pointer_expr = arguments.expr("pointer").unwrap_or(at);
        let pointer = self.pointer_argument(arguments.value("pointer"), pointer_expr, "tl.store");
        let mask = self.mask_argument(arguments, at);
        let cache = self.words(
            arguments,
            "cache_modifier",
            &[("", CacheOp::Default), (".wb", CacheOp::Wb), (".cg", CacheOp::Cg), (".cs", CacheOp::Cs), (".wt", CacheOp::Wt)],
            CacheOp::Default,
            at,
        )?;
        let eviction = self.eviction(arguments, at)?;
        if let Value::BlockPointer(pointer) = arguments.value("pointer") {
            return self.store_block(pointer, StoreAttrs { cache, eviction, ..StoreAttrs::default() }, arguments, at);
        }
        let (pointer, pointee, is_const) = pointer?;
        self.no_block_pointer_arguments(arguments, &["boundary_check"])?;
        if is_const {
            let place = self.place(pointer_expr);
            let message = format!("`{}` points to constant memory: it cannot be stored to", self.text(pointer_expr));
            return Err(self.problem(Code::DTY002, place, message));
        }
        let mask = mask?;
        let value_expr = arguments.expr("value").unwrap_or(at);
        let value = self.as_tile(arguments.value("value"), value_expr)?;
        self.remark_narrowing(&value, pointee, value_expr, pointer_expr);
        if value.ty.elem.is_ptr() {
            let place = self.place(value_expr);
            let message = format!("`{}` is {}: store an integer, `.to(tl.int64)`", self.text(value_expr), value.ty);
            return Err(self.problem(Code::DTY016, place, message));
        }
        let value = self.cast(value, pointee.into(), value_expr)?;
        let value = self.fit_pointer((value_expr, value), (pointer_expr, &pointer), "value")?;
        let mask = match mask {
            Some(mask) => {
                Some(self.fit_pointer((arguments.expr("mask").unwrap_or(at), mask), (pointer_expr, &pointer), "mask")?)
            }
            None => None,
        };
        let mut operands = vec![pointer.id, value.id];
        operands.extend(mask.iter().map(|m| m.id));
        self.emit(OpKind::Store(StoreAttrs { cache, eviction, ..StoreAttrs::default() }), &operands, [], &[]);
        Ok(Value::Void)
    }

    /// In the pointer's shape: the pointer itself does not grow.
    fn fit_pointer(&mut self, (expr, tile): (ExprId, Tile), (pointer_expr, pointer): (ExprId, &Tile), what: &str) -> Eval<Tile> {
        if pointer.ty.is_scalar() && !tile.ty.is_scalar() {
            let text = self.text(pointer_expr);
            let place = self.place(expr);
            let message = format!(
                "the {what} is {} and `{text}` is one pointer ({}): add an index tile to the pointer, `{text} + tl.arange(0, …)`",
                tile.ty, pointer.ty
            );
            let origin = tile.ty.shape.iter().find_map(|d| d.origin);
            self.report(
                problem(Code::SHP007, place, message).related(origin, format!("the shape of the {what} comes from here")),
            );
            return Err(Poisoned);
        }
        match common_shape(&tile.ty.shape, &pointer.ty.shape) {
            Ok(shape) if same_shape(&shape, &pointer.ty.shape) => Ok(self.broadcast_tile(tile, &shape)),
            _ => {
                // The pointer would have to grow, or nothing fits.
                let place_of = |s: &Self| s.place(expr);
                let place = place_of(self);
                let message = format!(
                    "the {what} `{}` has shape {} and the pointer `{}` has shape {}: it must broadcast to the pointer's shape",
                    self.text(expr),
                    crate::types::shape_text(&tile.ty.shape),
                    self.text(pointer_expr),
                    crate::types::shape_text(&pointer.ty.shape)
                );
                let from = |t: &TileType| t.shape.iter().find_map(|d| d.origin);
                self.report(
                    problem(Code::SHP001, place, message)
                        .related(from(&tile.ty), format!("the shape of the {what} comes from here"))
                        .related(from(&pointer.ty), "the shape of the pointer comes from here"),
                );
                Err(Poisoned)
            }
        }
    }

    // ---- atomics

    pub(super) fn call_atomic(&mut self, arguments: &Arguments, atomic: Atomic, at: ExprId) -> Eval<Value> {
        let name = arguments.builtin.spelling();
        let pointer_expr = arguments.expr("pointer").unwrap_or(at);
        let pointer = self.pointer_argument(arguments.value("pointer"), pointer_expr, name);
        if let (Some(Const::Bool(mask)), false) = (arguments.value("mask").as_const(), self.rules.atomic_constant_masks) {
            let place = self.place(arguments.expr("mask").unwrap_or(at));
            let mask = Const::Bool(*mask);
            let message =
                format!("before Triton 3.8 the mask of {name} is a run-time i1, not {mask}: leave it out, or compare values");
            return Err(self.problem(Code::DTY011, place, message));
        }
        let mask = self.mask_argument(arguments, at);
        let (sem, scope) = self.atomic_order(arguments, at)?;
        let (pointer, pointee, is_const) = pointer?;
        let mask = mask?;
        let refused = is_const
            || pointee.bits() < 16
            || pointee.is_int() && pointee.bits() < 32
            || pointee.bits() == 16 && !matches!(atomic, Atomic::Add)
            || pointee.is_float() && matches!(atomic, Atomic::And | Atomic::Or | Atomic::Xor);
        if refused {
            let place = self.place(pointer_expr);
            let message = format!(
                "`{}` points to {pointee}, and {name} does not work on {pointee} in memory: use a 32-bit buffer",
                self.text(pointer_expr)
            );
            return Err(self.problem(Code::DTY013, place, message));
        }
        let value_expr = arguments.expr("val").unwrap_or(at);
        let value = self.as_tile(arguments.value("val"), value_expr)?;
        let value = self.cast(value, pointee.into(), value_expr)?;
        let value = self.fit_pointer((value_expr, value), (pointer_expr, &pointer), "value")?;
        let mask = match mask {
            Some(mask) => {
                let expr = arguments.expr("mask").unwrap_or(at);
                Some(self.fit_pointer((expr, mask), (pointer_expr, &pointer), "mask")?)
            }
            None => None,
        };
        if pointee.is_float() && matches!(atomic, Atomic::Max | Atomic::Min) {
            let maximum = atomic == Atomic::Max;
            return self.float_extremum(maximum, (&pointer, &value, mask.as_ref()), (sem, scope), at);
        }
        let op = match (atomic, pointee.is_float(), pointee.is_signed_int()) {
            (Atomic::Add, true, _) => AtomicOp::AddF,
            (Atomic::Add, false, _) => AtomicOp::Add,
            (Atomic::Max, _, true) => AtomicOp::MaxS,
            (Atomic::Max, _, false) => AtomicOp::MaxU,
            (Atomic::Min, _, true) => AtomicOp::MinS,
            (Atomic::Min, _, false) => AtomicOp::MinU,
            (Atomic::And, ..) => AtomicOp::And,
            (Atomic::Or, ..) => AtomicOp::Or,
            (Atomic::Xor, ..) => AtomicOp::Xor,
            (Atomic::Exchange, ..) => AtomicOp::Exchange,
        };
        let ty = pointer.ty.with_elem(pointee);
        let mut operands = vec![&pointer, &value];
        operands.extend(mask.iter());
        let mut result = self.emit_like(OpKind::AtomicRmw { op, sem, scope, vector: 0 }, &operands, ty);
        result.undefined = None;
        Ok(Value::Tile(result))
    }
}
