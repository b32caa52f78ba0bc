//! Sorting networks and flips, of reshapes, xor reductions and selections.
//!
//! A tile is looked at as `[outer, 2, inner]`: the elements whose place differs in one bit are the two along the middle axis, and the
//! xor of both with one gives the other. **Invariant:** only the last axis is sorted; elements of equal value are indistinguishable,
//! and where a NaN goes is not said.

use tritium_tile::{OpKind, ops::BinaryOp as TileOp};

use super::{
    builtin_calls::Arguments,
    evaluator::{Eval, Evaluator, Poisoned},
    undefined::Neutral,
    value::{Tile, Value},
};
use crate::{
    body::{CompareOp, ExprId},
    builtins::{Builtin, Fold},
    constant::Const,
    diagnostics::Code,
    dtype::DType,
    types::{Dim, Dims, TileType},
};

/// Which way the elements of one stage are put in order.
#[derive(Clone, Copy)]
enum Order {
    Ascending,
    Descending,
    /// By this bit of the place.
    Alternating(u32),
}

impl<'a> Evaluator<'a> {
    pub(super) fn call_sort(&mut self, arguments: &Arguments, at: ExprId) -> Eval<Value> {
        let builtin = arguments.builtin;
        let name = builtin.spelling();
        let (tile, dtype) = self.sortable(name, arguments, at)?;
        let rank = tile.ty.rank();
        let dim = arguments.value("dim");
        if !dim.is_none() {
            let expr = arguments.expr("dim").unwrap_or(at);
            let place = self.place(expr);
            match dim.as_const().and_then(Const::as_int) {
                Some(axis) if axis == rank as i128 - 1 => {}
                Some(axis) => {
                    let message = format!("{name} works along the last axis, {} of {}, not {axis}", rank - 1, tile.ty);
                    return Err(self.problem(Code::SHP005, place, message));
                }
                None if dim.has_unknown() => return Err(Poisoned),
                None => return Err(self.not_constexpr(place, expr, "an axis")),
            }
        }
        let descending = if arguments.has("descending") { self.flag(arguments, "descending")? } else { true };
        let last = if descending { Order::Descending } else { Order::Ascending };
        let bits = |dim: &Dim| dim.size.max(1).ilog2();
        let mut shape = tile.ty.shape.clone();
        let length = bits(&shape[rank - 1]);
        // What was never loaded must not end up among what is wanted.
        let last_in = super::reduce::identity(if descending { Fold::Max } else { Fold::Min }, dtype);
        self.check_defined(&tile, Some(rank - 1), name, Neutral::only(last_in), at);
        let undefined = tile.undefined;
        if builtin == Builtin::BitonicMerge {
            let merged = self.merge(tile, dtype, length, last);
            return Ok(Value::Tile(Tile { undefined, ..self.reshape_to(merged, shape, false) }));
        }
        let kept = if builtin == Builtin::Topk { self.count(arguments, at)?.ilog2() } else { length };
        if kept > length {
            let expr = arguments.expr("k").unwrap_or(at);
            let place = self.place(expr);
            let message = format!("the {} largest of {} elements", 1u64 << kept, shape[rank - 1].size);
            return Err(self.problem(Code::SHP006, place, message));
        }
        let (mut tile, mut dtype) = (tile, dtype);
        for stage in 1..=kept {
            let order = if stage < length { Order::Alternating(stage) } else { last };
            tile = self.merge(tile, dtype, stage, order);
        }
        for stage in kept + 1..=length {
            // Of two neighbouring runs, one rising and one falling, the better of each pair of elements.
            let elements = tile.ty.num_elements() as u32;
            let pairs = [elements >> (kept + 1), 2, 1 << kept].map(Dim::known);
            tile = self.reshape_to(tile, Dims::from_iter(pairs), false);
            let wide = super::reduce::extremum_type(dtype, false, self.rules.native_bf16_minmax);
            tile = self.cast(tile, wide.into(), at)?;
            dtype = wide;
            tile = self.fold_tile(if descending { Fold::Max } else { Fold::Min }, tile, 1);
            // The runs that are left alternate by the bit that was folded away.
            let order = if stage < length { Order::Alternating(kept) } else { last };
            tile = self.merge(tile, dtype, kept, order);
        }
        if kept < length {
            shape[rank - 1] = Dim { size: 1 << kept, symbol: None, origin: Some(self.place(at)) };
        }
        Ok(Value::Tile(Tile { undefined, ..self.reshape_to(tile, shape, false) }))
    }

    fn sortable(&mut self, name: &str, arguments: &Arguments, at: ExprId) -> Eval<(Tile, DType)> {
        let expr = arguments.expr("x").unwrap_or(at);
        let tile = self.as_tile(arguments.value("x"), expr)?;
        let place = self.place(expr);
        match tile.ty.elem.scalar() {
            Some(dtype) if !tile.ty.is_scalar() => Ok((tile, dtype)),
            Some(_) => {
                Err(self.problem(Code::SHP005, place, format!("{name} needs an axis, and `{}` is a scalar", self.text(expr))))
            }
            None => {
                let message = format!("{name} works on numbers, and `{}` is {}", self.text(expr), tile.ty);
                Err(self.problem(Code::DTY017, place, message))
            }
        }
    }

    /// `k`, at least 1; Triton rounds it down to a power of two.
    fn count(&mut self, arguments: &Arguments, at: ExprId) -> Eval<u32> {
        let value = arguments.value("k");
        let expr = arguments.expr("k").unwrap_or(at);
        let place = self.place(expr);
        match value.as_const().and_then(Const::as_int) {
            Some(k) if self.rules.strict_topk && u32::try_from(k).is_ok_and(|k| !k.is_power_of_two()) => {
                Err(self.problem(Code::SHP002, place, format!("the {k} largest elements: the number must be a power of two")))
            }
            Some(k) if (1..=i128::from(1 << 20)).contains(&k) => Ok(k as u32),
            Some(k) => Err(self.problem(Code::LNG011, place, format!("the {k} largest elements: at least 1 is asked for"))),
            None if value.has_unknown() => Err(Poisoned),
            None => Err(self.not_constexpr(place, expr, "`k`")),
        }
    }

    /// Runs of `2^bits` elements, each rising then falling, put in order.
    fn merge(&mut self, mut tile: Tile, dtype: DType, bits: u32, order: Order) -> Tile {
        for bit in (0..bits).rev() {
            tile = self.compare_and_swap(tile, dtype, bit, order);
        }
        tile
    }

    /// Elements whose place differs in one bit, put in order; the tile comes back as `[outer, 2, inner]`.
    fn compare_and_swap(&mut self, tile: Tile, dtype: DType, bit: u32, order: Order) -> Tile {
        let elements = tile.ty.num_elements() as u32;
        let (x, partner) = self.partner(tile, bit);
        let wrong = self.compare_tiles(CompareOp::Gt, x.clone(), partner.clone(), dtype);
        // The place of every element, and whether the larger of its pair belongs there.
        let line = TileType { elem: DType::I32.into(), shape: Dims::from_iter([Dim::known(elements)]) };
        let id = self.emit_value(OpKind::Iota { start: 0, end: elements as i32 }, &[], &line);
        let place = self.reshape_to(Tile { id, ty: line, varies: 1, undefined: None }, x.ty.shape.clone(), false);
        let mut larger = self.bit_of(&place, bit);
        let ty = larger.ty.clone();
        let flips = match order {
            Order::Ascending => None,
            Order::Descending => Some(self.constant_tile(&Const::Int(1), DType::I1, ty.shape.clone())),
            Order::Alternating(stage) => Some(self.bit_of(&place, stage)),
        };
        if let Some(flips) = flips {
            larger = self.emit_like(OpKind::Binary(TileOp::Xor), &[&larger, &flips], ty.clone());
        }
        let swap = self.emit_like(OpKind::Binary(TileOp::Xor), &[&wrong, &larger], ty);
        let ty = x.ty.clone();
        self.emit_like(OpKind::Select, &[&swap, &partner, &x], ty)
    }

    fn bit_of(&mut self, place: &Tile, bit: u32) -> Tile {
        let mask = self.constant_tile(&Const::Int(1 << bit), DType::I32, place.ty.shape.clone());
        let zero = self.constant_tile(&Const::Int(0), DType::I32, place.ty.shape.clone());
        let set = self.emit_like(OpKind::Binary(TileOp::And), &[place, &mask], place.ty.clone());
        self.compare_tiles(CompareOp::Ne, set, zero, DType::I32)
    }

    /// The tile as `[outer, 2, inner]`, and in the same shape the elements whose place differs in `bit`.
    fn partner(&mut self, tile: Tile, bit: u32) -> (Tile, Tile) {
        let elements = tile.ty.num_elements() as u32;
        let pairs = [elements >> (bit + 1), 2, 1 << bit].map(Dim::known);
        let x = self.reshape_to(Tile { undefined: None, ..tile }, Dims::from_iter(pairs), false);
        let elem = x.ty.elem;
        let bits = match elem.bits() {
            1 => DType::I1,
            8 => DType::I8,
            16 => DType::I16,
            32 => DType::I32,
            _ => DType::I64,
        };
        let as_bits = |s: &mut Self, tile: &Tile, to: crate::types::Element| {
            let ty = tile.ty.with_elem(to);
            if tile.ty.elem.tile() == to.tile() {
                Tile { ty, ..tile.clone() }
            } else {
                s.emit_like(OpKind::Cast(tritium_tile::ops::CastOp::Bitcast), &[tile], ty)
            }
        };
        let words = as_bits(self, &x, bits.into());
        let both = self.fold_tile(Fold::Xor, words.clone(), 1);
        let both = self.insert_axis(both, 1);
        let shape = words.ty.shape.clone();
        let both = self.broadcast_tile(both, &shape);
        let ty = words.ty.clone();
        let other = self.emit_like(OpKind::Binary(TileOp::Xor), &[&words, &both], ty);
        let other = as_bits(self, &other, elem);
        (x, other)
    }

    pub(super) fn call_flip(&mut self, arguments: &Arguments, at: ExprId) -> Eval<Value> {
        let (tile, _) = self.sortable("tl.flip", arguments, at)?;
        let expr = arguments.expr("dim").unwrap_or(at);
        let no_axis = arguments.value("dim").is_none();
        if no_axis && !self.rules.strict_topk {
            let place = self.place(at);
            return Err(self.problem(
                Code::LNG011,
                place,
                "tl.flip needs its axis: its default, None, is not understood by Triton; write `dim=…`",
            ));
        }
        let text = self.text(arguments.expr("x").unwrap_or(at));
        let axis = match no_axis {
            true => tile.ty.rank() - 1,
            false => self.axis(arguments.value("dim"), expr, tile.ty.rank(), &format!("`{text}` ({})", tile.ty))?,
        };
        let shape = tile.ty.shape.clone();
        let undefined = tile.undefined;
        // Places count from the last axis on.
        let inner: u32 = shape[axis + 1..].iter().map(|d| d.size.max(1).ilog2()).sum();
        let mut flipped = tile;
        for bit in 0..shape[axis].size.max(1).ilog2() {
            (_, flipped) = self.partner(flipped, inner + bit);
        }
        Ok(Value::Tile(Tile { undefined, ..self.reshape_to(flipped, shape, false) }))
    }
}
