//! `tl.dot_scaled`: the product of matrices in small float formats, whose rows (columns) carry a scale for each group of 32 (16) elements.
//!
//! The operands are made wide, multiplied by their scales, and a plain product follows, as GPUs before sm_100 do it anyway.
//! **Invariant:** both operands reach the product in one type: f16 if one of them is f16 and none is bf16, bf16 otherwise.

use tritium_tile::{
    OpKind,
    ops::{BinaryOp as TileOp, DotPrecision},
};

use super::{
    builtin_calls::Arguments,
    evaluator::{Eval, Evaluator, Poisoned},
    value::{Tile, Value},
};
use crate::{
    body::{CompareOp, ExprId},
    constant::Const,
    diagnostics::Code,
    dtype::DType,
    types::{Dim, Dims, TileType, same_shape, shape_text},
};

/// What the elements of an operand are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    /// Two to a byte.
    E2M1,
    Plain(DType),
}

impl Format {
    fn find(word: &str) -> Option<Format> {
        Some(match word {
            "e2m1" => Format::E2M1,
            "e4m3" => Format::Plain(DType::F8E4M3),
            "e5m2" => Format::Plain(DType::F8E5M2),
            "bf16" => Format::Plain(DType::BF16),
            "fp16" => Format::Plain(DType::F16),
            _ => return None,
        })
    }
}

/// The names of one side's arguments.
struct Side {
    value: &'static str,
    scale: &'static str,
    format: &'static str,
    k_pack: &'static str,
}

const LEFT: Side = Side { value: "lhs", scale: "lhs_scale", format: "lhs_format", k_pack: "lhs_k_pack" };
const RIGHT: Side = Side { value: "rhs", scale: "rhs_scale", format: "rhs_format", k_pack: "rhs_k_pack" };

struct Operand {
    tile: Tile,
    expr: ExprId,
    format: Format,
    k_pack: bool,
    scale: Option<(Tile, ExprId)>,
}

impl<'a> Evaluator<'a> {
    pub(super) fn call_dot_scaled(&mut self, arguments: &Arguments, at: ExprId) -> Eval<Value> {
        let lhs = self.scaled_operand(arguments, &LEFT, at);
        let rhs = self.scaled_operand(arguments, &RIGHT, at);
        let out = self.dtype_argument(arguments.value("out_dtype"), arguments.expr("out_dtype").unwrap_or(at));
        let fast = self.flag(arguments, "fast_math");
        let acc_expr = arguments.expr("acc").unwrap_or(at);
        let acc = match arguments.value("acc") {
            value if value.is_none() => Ok(None),
            value => self.as_tile(value, acc_expr).map(Some),
        };
        let (lhs, rhs, out, fast, acc) = (lhs?, rhs?, out?, fast?, acc?);
        let place = self.place(at);
        if out != DType::F32.into() {
            let place = self.place(arguments.expr("out_dtype").unwrap_or(at));
            return Err(self.problem(Code::DOT009, place, format!("tl.dot_scaled accumulates in f32, not in {out}")));
        }
        let rank = lhs.tile.ty.rank();
        if !(2..=3).contains(&rank) || rhs.tile.ty.rank() != rank {
            let message = format!(
                "tl.dot_scaled multiplies matrices, or batches of them, and `{}` is {} and `{}` is {}",
                self.text(lhs.expr),
                lhs.tile.ty,
                self.text(rhs.expr),
                rhs.tile.ty
            );
            return Err(self.problem(Code::DOT009, place, message));
        }
        let batch: Dims = lhs.tile.ty.shape[..rank - 2].iter().cloned().collect();
        // An operand packed along its inner axis has half of it in its shape; otherwise its outer axis is the halved one.
        let axes = |operand: &Operand, inner: usize, outer: usize| {
            let twice = |axis: usize, yes: bool| {
                let dim = operand.tile.ty.shape[axis].clone();
                if yes && operand.format == Format::E2M1 { Dim::known(dim.size.saturating_mul(2)) } else { dim }
            };
            (twice(inner, operand.k_pack), twice(outer, !operand.k_pack))
        };
        let (k, m) = axes(&lhs, rank - 1, rank - 2);
        let (k2, n) = axes(&rhs, rank - 2, rank - 1);
        if k.size != k2.size || !same_shape(&batch, &rhs.tile.ty.shape[..rank - 2]) {
            let message = format!(
                "`{}` is {} and `{}` is {}: their inner sizes are {} and {} elements, and must be equal",
                self.text(lhs.expr),
                lhs.tile.ty,
                self.text(rhs.expr),
                rhs.tile.ty,
                k.size,
                k2.size
            );
            return Err(self.problem(Code::DOT009, place, message));
        }
        self.check_scale(&lhs, &LEFT, &batch, &m, &k)?;
        self.check_scale(&rhs, &RIGHT, &batch, &n, &k)?;
        let shape: Dims = batch.iter().cloned().chain([m.clone(), n.clone()]).collect();
        let ty = TileType { elem: DType::F32.into(), shape };
        let acc = match acc {
            Some(acc) if acc.ty.same(&ty) => acc,
            Some(acc) => {
                let place = self.place(acc_expr);
                let message = format!("the accumulator `{}` is {}, and the product is {ty}", self.text(acc_expr), acc.ty);
                return Err(self.problem(Code::DOT009, place, message));
            }
            None => self.constant_tile(&Const::Int(0), DType::F32, ty.shape.clone()),
        };
        let plain = |operand: &Operand, dtype: DType| operand.format == Format::Plain(dtype);
        let has = |dtype: DType| plain(&lhs, dtype) || plain(&rhs, dtype);
        let common = if has(DType::F16) && !has(DType::BF16) { DType::F16 } else { DType::BF16 };
        let a = self.scaled(&lhs, rank - 1, common, fast)?;
        let b = self.scaled(&rhs, rank - 2, common, fast)?;
        if k.size < 16 {
            let message = format!("tl.dot_scaled needs an inner size of at least 16 elements, and this is {}", k.size);
            return Err(self.problem(Code::DOT002, place, message));
        }
        let mut result = self.emit_like(OpKind::Dot { precision: DotPrecision::default(), sum_depth: None }, &[&a, &b, &acc], ty);
        result.varies = Tile::all_axes(rank);
        result.undefined = None;
        Ok(Value::Tile(result))
    }

    fn scaled_operand(&mut self, arguments: &Arguments, side: &Side, at: ExprId) -> Eval<Operand> {
        let expr = arguments.expr(side.value).unwrap_or(at);
        let tile = self.as_tile(arguments.value(side.value), expr)?;
        let k_pack = self.flag(arguments, side.k_pack)?;
        let format_expr = arguments.expr(side.format).unwrap_or(at);
        let place = self.place(format_expr);
        let word = arguments.value(side.format);
        if word.has_unknown() {
            return Err(Poisoned);
        }
        let format = match word.to_const() {
            Some(Const::Str(word)) => Format::find(&word),
            _ => None,
        };
        let Some(format) = format else {
            let message = format!(
                "`{}` is \"e2m1\", \"e4m3\", \"e5m2\", \"bf16\" or \"fp16\" (e8m0 is the format of scales), not {}",
                side.format,
                self.text(format_expr)
            );
            return Err(self.problem(Code::DOT009, place, message));
        };
        let (held, bits) = match format {
            Format::E2M1 => (DType::U8, DType::U8),
            Format::Plain(dtype) => (dtype, if dtype.bits() == 8 { DType::U8 } else { DType::U16 }),
        };
        let elem = tile.ty.elem;
        if elem != held.into() && elem != bits.into() {
            let place = self.place(expr);
            let message = format!(
                "`{}` is {}, and elements of format {} are held in {held} or {bits}",
                self.text(expr),
                tile.ty,
                self.text(format_expr)
            );
            return Err(self.problem(Code::DOT009, place, message));
        }
        if !k_pack && format != Format::E2M1 {
            let place = self.place(arguments.expr(side.k_pack).unwrap_or(at));
            let message = format!("`{}=False` is for \"e2m1\" only, which is packed two to a byte", side.k_pack);
            return Err(self.problem(Code::DOT009, place, message));
        }
        let tile = if elem == held.into() { tile } else { self.bitcast(tile, held.into(), expr)? };
        let scale_expr = arguments.expr(side.scale).unwrap_or(at);
        let scale = match arguments.value(side.scale) {
            value if value.is_none() => None,
            value => Some((self.as_tile(value, scale_expr)?, scale_expr)),
        };
        Ok(Operand { tile, expr, format, k_pack, scale })
    }

    fn check_scale(&mut self, operand: &Operand, side: &Side, batch: &Dims, rows: &Dim, k: &Dim) -> Eval<()> {
        let Some((scale, expr)) = &operand.scale else { return Ok(()) };
        let place = self.place(*expr);
        let is_float = scale.ty.elem == DType::F8E4M3.into();
        if !is_float && !matches!(scale.ty.elem.scalar(), Some(DType::U8 | DType::I8)) {
            let message = format!("`{}` is {}, and scales are u8 (an exponent, e8m0) or f8e4m3", self.text(*expr), scale.ty);
            return Err(self.problem(Code::DOT009, place, message));
        }
        let wanted = |group: u32| -> Dims {
            let batch = if self.rules.batched_scales { batch.clone() } else { Dims::new() };
            batch.into_iter().chain([rows.clone(), Dim::known(k.size / group)]).collect()
        };
        let group = if is_float { 16 } else { 32 };
        let mut allowed = vec![wanted(group)];
        if self.rules.scale_groups_by_shape {
            allowed.push(wanted(48 - group));
        }
        if allowed.iter().any(|shape| same_shape(shape, &scale.ty.shape)) {
            return Ok(());
        }
        let message = format!(
            "`{}` (`{}`) is {}, and must be {}: one scale for every {group} of the {} inner elements",
            self.text(*expr),
            side.scale,
            scale.ty,
            shape_text(&allowed[0]),
            k.size
        );
        Err(self.problem(Code::DOT009, place, message))
    }

    /// An operand in the common type, scaled. `inner` is its axis of K.
    fn scaled(&mut self, operand: &Operand, inner: usize, common: DType, fast: bool) -> Eval<Tile> {
        let rank = operand.tile.ty.rank();
        let tile = match operand.format {
            Format::E2M1 => {
                let outer = 2 * rank - 3 - inner;
                let tile = self.unpacked(&operand.tile, if operand.k_pack { inner } else { outer });
                self.cast(tile, common.into(), operand.expr)?
            }
            Format::Plain(_) => self.cast(operand.tile.clone(), common.into(), operand.expr)?,
        };
        let Some((scale, expr)) = &operand.scale else { return Ok(tile) };
        // Rows of scales run along the outer axis; for the right operand that is its last.
        let mut scale = scale.clone();
        let scale_rank = scale.ty.rank();
        if inner + 1 != rank {
            let mut order: Vec<usize> = (0..scale_rank).collect();
            order.swap(scale_rank - 1, scale_rank - 2);
            scale = self.permute(scale, &order);
        }
        let (factor, broken) = if scale.ty.elem == DType::F8E4M3.into() {
            (self.cast(scale, common.into(), *expr)?, None)
        } else {
            let shape = scale.ty.shape.clone();
            let all_ones = self.constant_tile(&Const::Int(-1), DType::I8, shape.clone());
            let byte = self.bitcast(scale, DType::U8.into(), *expr)?;
            let broken = (!fast).then(|| self.compare_tiles(CompareOp::Eq, byte.clone(), all_ones, DType::U8));
            // The byte is an f32's exponent.
            let word = self.cast(byte, DType::U32.into(), *expr)?;
            let shift = self.constant_tile(&Const::Int(23), DType::I32, shape);
            let ty = word.ty.clone();
            let word = self.emit_like(OpKind::Binary(TileOp::Shl), &[&word, &shift], ty);
            let power = self.bitcast(word, DType::F32.into(), *expr)?;
            (self.cast(power, common.into(), *expr)?, broken)
        };
        let factor = self.stretched(factor, &tile.ty.shape, inner);
        let ty = tile.ty.clone();
        let product = self.emit_like(OpKind::Binary(TileOp::MulF), &[&tile, &factor], ty.clone());
        let Some(broken) = broken else { return Ok(product) };
        let broken = self.stretched(broken, &tile.ty.shape, inner);
        let nan = self.constant_tile(&Const::float(f64::NAN), common, ty.shape.clone());
        Ok(self.emit_like(OpKind::Select, &[&broken, &nan, &product], ty))
    }

    /// Each scale for all elements of its group along `inner`.
    fn stretched(&mut self, scale: Tile, shape: &Dims, inner: usize) -> Tile {
        // Scales without the batch's axes hold for the whole batch.
        let mut scale = scale;
        while scale.ty.rank() < shape.len() {
            scale = self.insert_axis(scale, 0);
        }
        let group = shape[inner].size / scale.ty.shape[inner].size.max(1);
        let mut grouped: Dims = shape.clone();
        grouped[inner] = scale.ty.shape[inner].clone();
        let scale = self.broadcast_tile(scale, &grouped);
        grouped.insert(inner + 1, Dim::known(group));
        let scale = self.insert_axis(scale, inner + 1);
        let scale = self.broadcast_tile(scale, &grouped);
        self.reshape_to(scale, shape.clone(), false)
    }

    /// Bytes of two 4-bit floats along `axis`, the first in the low bits, as bf16.
    fn unpacked(&mut self, packed: &Tile, axis: usize) -> Tile {
        let rank = packed.ty.rank();
        let low = self.nibble(packed, 0);
        let high = self.nibble(packed, 4);
        let pair = self.joined(low, high);
        // The pair's axis moves behind the packed one and is merged with it.
        let mut order: Vec<usize> = (0..rank).collect();
        order.insert(axis + 1, rank);
        let pair = if axis + 1 == rank { pair } else { self.permute(pair, &order) };
        let mut shape = packed.ty.shape.clone();
        shape[axis] = Dim::known(shape[axis].size * 2);
        self.reshape_to(pair, shape, false)
    }

    /// Sign, two bits of exponent (bias 1) and one of mantissa.
    fn nibble(&mut self, packed: &Tile, shift: i128) -> Tile {
        let ty = packed.ty.with_elem(DType::I16);
        let number = |s: &mut Self, n: i128| s.constant_tile(&Const::Int(n), DType::I16, ty.shape.clone());
        let op = |s: &mut Self, op: TileOp, a: &Tile, b: &Tile| s.emit_like(OpKind::Binary(op), &[a, b], ty.clone());
        let wide = self.emit_like(OpKind::Cast(tritium_tile::ops::CastOp::ExtU), &[packed], ty.clone());
        let by = number(self, shift);
        let bits = op(self, TileOp::ShrU, &wide, &by);
        let (seven, eight) = (number(self, 7), number(self, 8));
        let magnitude = op(self, TileOp::And, &bits, &seven);
        let sign = op(self, TileOp::And, &bits, &eight);
        let twelve = number(self, 12);
        let sign = op(self, TileOp::Shl, &sign, &twelve);
        // As bf16: exponent and mantissa move up by 6, the bias grows by 126. 0 and 0.5 have exponent 0 and are written out.
        let (six, bias) = (number(self, 6), number(self, 126 << 7));
        let moved = op(self, TileOp::Shl, &magnitude, &six);
        let normal = op(self, TileOp::AddI, &moved, &bias);
        let (zero, two) = (number(self, 0), number(self, 2));
        let is_zero = self.compare_tiles(CompareOp::Eq, magnitude.clone(), zero.clone(), DType::I16);
        let is_small = self.compare_tiles(CompareOp::Lt, magnitude, two, DType::I16);
        let small = self.emit_like(OpKind::Select, &[&is_zero, &zero, &bias], ty.clone());
        let magnitude = self.emit_like(OpKind::Select, &[&is_small, &small, &normal], ty.clone());
        let word = op(self, TileOp::Or, &magnitude, &sign);
        self.emit_like(OpKind::Cast(tritium_tile::ops::CastOp::Bitcast), &[&word], packed.ty.with_elem(DType::BF16))
    }
}
