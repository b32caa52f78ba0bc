//! Tensor descriptors: a tensor in memory that is read and written by blocks, as the tensor memory accelerator does it.
//!
//! In the tile IR a load or a store of a block is a tile of pointers and a mask over all axes, as for block pointers; what lies outside
//! reads as zero (or NaN) and is not written. **Invariant:** the parts are the base, the extents in i32, and the strides in i64 but for the
//! last, which is 1; each a scalar.

use tritium_tile::{
    OpKind,
    ops::{AtomicOp, DescriptorSource, LoadAttrs, MemScope, MemSem, StoreAttrs},
};

use super::{
    block_pointers::Tensor,
    builtin_calls::Arguments,
    evaluator::{Eval, Evaluator, Poisoned, ProblemExt, problem},
    value::{Descriptor, Tile, Value},
};
use crate::{
    body::{Expr, ExprId},
    builtins::{Atomic, Builtin},
    constant::Const,
    diagnostics::Code,
    dtype::DType,
    problem::Applicability,
    types::{Element, TileType, same_shape, shape_text},
};

/// The types of a descriptor's parts.
pub(super) fn part_types(pointee: DType, rank: usize) -> Vec<TileType> {
    let mut parts = vec![TileType::scalar(Element::Ptr { pointee, is_const: false })];
    parts.extend((0..rank).map(|_| TileType::scalar(DType::I32)));
    parts.extend((1..rank).map(|_| TileType::scalar(DType::I64)));
    parts
}

impl Descriptor {
    fn rank(&self) -> usize {
        self.block.len()
    }

    fn extent(&self, axis: usize) -> &Tile {
        &self.parts[1 + axis]
    }

    /// `None` for the last axis.
    fn stride(&self, axis: usize) -> Option<&Tile> {
        self.parts.get(1 + self.rank() + axis)
    }
}

impl<'a> Evaluator<'a> {
    /// The items of a tuple of integers, with the expression of each as far as it is written out.
    fn integer_items(&mut self, arguments: &Arguments, name: &str, code: Code, at: ExprId) -> Eval<Vec<(Value, ExprId)>> {
        let expr = arguments.expr(name).unwrap_or(at);
        let value = arguments.value(name);
        if value.has_unknown() {
            return Err(Poisoned);
        }
        let Some(items) = value.items() else {
            let place = self.place(expr);
            return Err(self.problem(code, place, format!("`{name}` is a list of integers, and this is {}", value.ty())));
        };
        let exprs = match self.body.expr(expr) {
            Expr::Tuple(e) | Expr::List(e) if e.len() == items.len() => e.clone(),
            _ => vec![expr; items.len()],
        };
        Ok(items.into_iter().zip(exprs).collect())
    }

    fn integer_scalar(&mut self, value: &Value, name: &str, expr: ExprId) -> Eval<Tile> {
        let tile = self.as_tile(value, expr)?;
        if !tile.ty.is_scalar() || !tile.ty.elem.scalar().is_some_and(|d| d.is_int()) {
            let place = self.place(expr);
            let message = format!("`{name}` holds `{}`, which is {}; integer scalars are needed", self.text(expr), tile.ty);
            return Err(self.problem(Code::TMA005, place, message));
        }
        Ok(tile)
    }

    pub(super) fn call_make_descriptor(&mut self, arguments: &Arguments, at: ExprId) -> Eval<Value> {
        let base_expr = arguments.expr("base").unwrap_or(at);
        let base = self.as_tile(arguments.value("base"), base_expr);
        let shape = self.integer_items(arguments, "shape", Code::LNG011, at);
        let strides = self.integer_items(arguments, "strides", Code::LNG011, at);
        let block_expr = arguments.expr("block_shape").unwrap_or(at);
        let block = self.shape_argument(&[(arguments.value("block_shape").clone(), block_expr)]);
        let nan = self.padding(arguments, at);
        let (base, shape, strides, block, nan) = (base?, shape?, strides?, block?, nan?);
        let place = self.place(at);
        let Element::Ptr { pointee, .. } = base.ty.elem else {
            let message = format!("a tensor descriptor starts from a pointer, and `{}` is {}", self.text(base_expr), base.ty);
            let place = self.place(base_expr);
            return Err(self.problem(Code::DTY002, place, message));
        };
        let rank = shape.len();
        if !base.ty.is_scalar() || !(1..=5).contains(&rank) || strides.len() != rank || block.len() != rank {
            let message = format!(
                "a tensor descriptor has 1 to 5 axes, and one extent, stride and block extent for each; these are {rank}, {} and {}",
                strides.len(),
                block.len()
            );
            return Err(self.problem(Code::TMA005, place, message));
        }
        let bytes = pointee.bits().div_ceil(8);
        let inner = &block[rank - 1];
        if u64::from(inner.size) * u64::from(bytes) < 16 {
            let (row, least) = (inner.size * bytes, 16u32.div_ceil(bytes));
            let message = format!(
                "the last axis of a block is {inner} elements of {pointee}, {row} bytes, and a descriptor moves at least 16: use {least} or more"
            );
            let place = self.place(block_expr);
            self.report(problem(Code::TMA001, place, message).related(inner.origin, format!("{} comes from here", inner.size)));
            return Err(Poisoned);
        }
        if nan && pointee.is_int() {
            let expr = arguments.expr("padding_option").unwrap_or(at);
            let place = self.place(expr);
            let message =
                format!("{pointee} has no NaN to pad with: leave `padding_option` out, and zeros are read outside the tensor");
            return Err(self.problem(Code::TMA007, place, message));
        }
        let (last, last_expr) = &strides[rank - 1];
        if last.as_const().and_then(Const::as_int) != Some(1) {
            if last.has_unknown() {
                return Err(Poisoned);
            }
            return Err(self.last_stride(last, *last_expr));
        }
        let mut parts = vec![base];
        for (value, expr) in &shape {
            let tile = self.integer_scalar(value, "shape", *expr)?;
            parts.push(self.cast(tile, DType::I32.into(), *expr)?);
        }
        for (value, expr) in &strides[..rank - 1] {
            if let Some(stride) = value.as_const().and_then(Const::as_int)
                && (stride * i128::from(bytes)) % 16 != 0
            {
                let text = self.text(*expr);
                let place = self.place(*expr);
                let message = format!(
                    "the stride `{text}` is {stride} elements of {pointee}, {} bytes, and a descriptor needs multiples of 16 bytes: pad the rows",
                    stride * i128::from(bytes)
                );
                self.problem(Code::TMA003, place, message);
            }
            let tile = self.integer_scalar(value, "strides", *expr)?;
            parts.push(self.cast(tile, DType::I64.into(), *expr)?);
        }
        Ok(Value::Descriptor(Descriptor { parts, block, pointee, nan, source: DescriptorSource::Made }))
    }

    fn last_stride(&mut self, stride: &Value, expr: ExprId) -> Poisoned {
        let text = self.text(expr);
        let place = self.place(expr);
        let message = match stride {
            Value::Tile(tile) => format!(
                "the last stride of a tensor descriptor is 1 at compile time, and `{text}` is {}: write 1, if the rows are contiguous",
                tile.ty
            ),
            other => format!(
                "the last stride of a tensor descriptor is 1, and `{text}` is {}: its innermost axis must be contiguous",
                other.to_const().map_or_else(|| other.ty().to_string(), |known| known.to_string())
            ),
        };
        self.problem(Code::TMA002, place, message)
    }

    /// `padding_option`: true for NaN.
    fn padding(&mut self, arguments: &Arguments, at: ExprId) -> Eval<bool> {
        let expr = arguments.expr("padding_option").unwrap_or(at);
        let value = arguments.value("padding_option");
        if value.has_unknown() {
            return Err(Poisoned);
        }
        match value.to_const() {
            Some(Const::Str(word)) if word == "nan" => Ok(true),
            Some(Const::Str(word)) if word.is_empty() || word == "zero" => Ok(false),
            _ => {
                let place = self.place(expr);
                let message = format!("`padding_option` is \"zero\" or \"nan\", not {}", value.ty());
                Err(self.problem(Code::LNG011, place, message))
            }
        }
    }

    fn descriptor_argument(&mut self, arguments: &Arguments, at: ExprId) -> Eval<Descriptor> {
        match arguments.value("desc") {
            Value::Descriptor(descriptor) => Ok(descriptor.clone()),
            value if value.has_unknown() => Err(Poisoned),
            value => {
                let expr = arguments.expr("desc").unwrap_or(at);
                let place = self.place(expr);
                let message = format!("`{}` is {}, and a tensor descriptor is needed", self.text(expr), value.ty());
                Err(self.problem(Code::DTY002, place, message))
            }
        }
    }

    /// Where a block starts: 32-bit scalars.
    fn descriptor_offset(&mut self, value: &Value, expr: ExprId) -> Eval<Tile> {
        let tile = self.integer_scalar(value, "offsets", expr)?;
        if tile.ty.elem.bits() != 32 && value.to_const().is_none() {
            let place = self.place(expr);
            let text = self.text(expr);
            let message = format!(
                "the offsets of a tensor descriptor are 32-bit, and `{text}` is {}: cast it with `.to(tl.int32)`",
                tile.ty
            );
            let edits = self.append(expr, ".to(tl.int32)");
            self.report(problem(Code::TMA005, place, message).fix("Cast to i32", Applicability::Suggested, edits));
            return Err(Poisoned);
        }
        self.cast(tile, DType::I32.into(), expr)
    }

    /// The pointers of a block and the mask of what is inside the tensor.
    fn descriptor_window(&mut self, descriptor: &Descriptor, arguments: &Arguments, at: ExprId) -> Eval<(Tile, Option<Tile>)> {
        let items = self.integer_items(arguments, "offsets", Code::TMA005, at)?;
        if items.len() != descriptor.rank() {
            let place = self.place(arguments.expr("offsets").unwrap_or(at));
            let message = format!(
                "{} offsets for a tensor descriptor of {} axes ({}): give one for each",
                items.len(),
                descriptor.rank(),
                shape_text(&descriptor.block)
            );
            return Err(self.problem(Code::TMA005, place, message));
        }
        let mut lines = Vec::new();
        for (axis, (value, expr)) in items.iter().enumerate() {
            let start = self.descriptor_offset(value, *expr)?;
            lines.push(self.index_line(start, &descriptor.block[axis]));
        }
        Ok(self.descriptor_window_at(descriptor, lines))
    }

    fn descriptor_window_at(&mut self, descriptor: &Descriptor, lines: Vec<Tile>) -> (Tile, Option<Tile>) {
        let axes: Vec<usize> = (0..descriptor.rank()).collect();
        let extents = axes.iter().map(|&axis| self.widened(descriptor.extent(axis).clone())).collect();
        let strides = axes.iter().map(|&axis| self.stride_or_one(descriptor, axis)).collect();
        let tensor = Tensor { base: descriptor.parts[0].clone(), extents, strides };
        self.window_at(&tensor, lines, &axes)
    }

    fn stride_or_one(&mut self, descriptor: &Descriptor, axis: usize) -> Tile {
        match descriptor.stride(axis) {
            Some(stride) => stride.clone(),
            None => self.constant_tile(&Const::Int(1), DType::I64, Default::default()),
        }
    }

    fn padded_load(&mut self, descriptor: &Descriptor, address: Tile, mask: Option<Tile>) -> Value {
        let ty = address.ty.with_elem(descriptor.pointee);
        let padding = if descriptor.nan { Const::float(f64::NAN) } else { Const::Int(0) };
        let fill = mask.is_some().then(|| self.constant_tile(&padding, descriptor.pointee, ty.shape.clone()));
        let operands: Vec<&Tile> = [&address].into_iter().chain(&mask).chain(&fill).collect();
        let mut result =
            self.emit_like(OpKind::Load(LoadAttrs { descriptor: descriptor.source, ..LoadAttrs::default() }), &operands, ty);
        result.undefined = None;
        Value::Tile(result)
    }

    pub(super) fn call_descriptor_load(&mut self, arguments: &Arguments, at: ExprId) -> Eval<Value> {
        let descriptor = self.descriptor_argument(arguments, at)?;
        let (address, mask) = self.descriptor_window(&descriptor, arguments, at)?;
        Ok(self.padded_load(&descriptor, address, mask))
    }

    /// A value of exactly the block's shape.
    fn block_value(
        &mut self,
        descriptor: &Descriptor,
        shape: &[crate::types::Dim],
        arguments: &Arguments,
        at: ExprId,
    ) -> Eval<Tile> {
        let expr = arguments.expr("value").unwrap_or(at);
        let value = arguments.value("value");
        if value.has_unknown() {
            return Err(Poisoned);
        }
        match value {
            Value::Tile(tile) if same_shape(&tile.ty.shape, shape) => Ok(tile.clone()),
            other => {
                let place = self.place(expr);
                let text = self.text(expr);
                let message = format!(
                    "`{text}` is {}, and the block of the descriptor is {}: they must be equal",
                    other.ty(),
                    shape_text(shape)
                );
                let origin = descriptor.block.iter().find_map(|d| d.origin);
                self.report(problem(Code::TMA005, place, message).related(origin, "the block's shape comes from here"));
                Err(Poisoned)
            }
        }
    }

    pub(super) fn call_descriptor_store(&mut self, arguments: &Arguments, at: ExprId) -> Eval<Value> {
        let descriptor = self.descriptor_argument(arguments, at)?;
        let value = self.block_value(&descriptor, &descriptor.block, arguments, at);
        let (address, mask) = self.descriptor_window(&descriptor, arguments, at)?;
        let value = self.cast(value?, descriptor.pointee.into(), arguments.expr("value").unwrap_or(at))?;
        let operands: Vec<_> = [address.id, value.id].into_iter().chain(mask.map(|m| m.id)).collect();
        let attrs = StoreAttrs { descriptor: descriptor.source, ..StoreAttrs::default() };
        self.emit(OpKind::Store(attrs), &operands, [], &[]);
        Ok(Value::Void)
    }

    pub(super) fn call_descriptor_atomic(&mut self, arguments: &Arguments, atomic: Atomic, at: ExprId) -> Eval<Value> {
        let builtin = arguments.builtin;
        let descriptor = self.descriptor_argument(arguments, at)?;
        let value = self.block_value(&descriptor, &descriptor.block, arguments, at);
        let window = self.descriptor_window(&descriptor, arguments, at);
        let (value, (address, mask)) = (value?, window?);
        let elem = descriptor.pointee;
        let wide = matches!(elem, DType::I32 | DType::U32 | DType::I64 | DType::U64);
        let half = matches!(elem, DType::F16 | DType::BF16);
        let allowed = match atomic {
            Atomic::Add => half || matches!(elem, DType::I32 | DType::U32 | DType::U64 | DType::F32),
            Atomic::Max | Atomic::Min => half || wide,
            Atomic::And | Atomic::Or | Atomic::Xor | Atomic::Exchange => wide,
        };
        let place = self.place(at);
        if !allowed || Element::Scalar(elem) != value.ty.elem {
            let expr = arguments.expr("value").unwrap_or(at);
            let message = if allowed {
                format!(
                    "`{}` is {}, and {} does not convert it to {elem}: cast it",
                    self.text(expr),
                    value.ty,
                    builtin.spelling()
                )
            } else {
                format!(
                    "{} does not work on {elem}: a descriptor's atomics take 32- and 64-bit integers, and some floats",
                    builtin.spelling()
                )
            };
            return Err(self.problem(Code::DTY013, place, message));
        }
        let op = match (atomic, elem.is_float(), elem.is_signed_int()) {
            (Atomic::Max, true, _) => AtomicOp::MaxF,
            (Atomic::Min, true, _) => AtomicOp::MinF,
            (Atomic::Add, true, _) => AtomicOp::AddF,
            (Atomic::Add, false, _) => AtomicOp::Add,
            (Atomic::Max, false, true) => AtomicOp::MaxS,
            (Atomic::Max, false, false) => AtomicOp::MaxU,
            (Atomic::Min, false, true) => AtomicOp::MinS,
            (Atomic::Min, false, false) => AtomicOp::MinU,
            (Atomic::And, ..) => AtomicOp::And,
            (Atomic::Or, ..) => AtomicOp::Or,
            (Atomic::Xor, ..) => AtomicOp::Xor,
            (Atomic::Exchange, ..) => AtomicOp::Exchange,
        };
        let ty = value.ty.clone();
        let operands: Vec<&Tile> = [&address, &value].into_iter().chain(&mask).collect();
        self.emit_like(OpKind::AtomicRmw { op, sem: MemSem::Relaxed, scope: MemScope::Gpu, vector: 0 }, &operands, ty);
        Ok(Value::Void)
    }

    /// The rows that `x_offsets` names, from column `y_offset` on.
    fn rows(&mut self, descriptor: &Descriptor, arguments: &Arguments, word: &str, at: ExprId) -> Eval<Vec<Tile>> {
        let place = self.place(at);
        let (x, y) = (arguments.expr("x_offsets").unwrap_or(at), arguments.expr("y_offset").unwrap_or(at));
        let offsets = self.as_tile(arguments.value("x_offsets"), x);
        let start = self.descriptor_offset(arguments.value("y_offset"), y);
        let (offsets, start) = (offsets?, start?);
        if descriptor.rank() != 2 || descriptor.block[0].size != 1 {
            let message = format!(
                "a {word} takes a descriptor whose block is one row, [1, columns], and this block is {}",
                shape_text(&descriptor.block)
            );
            return Err(self.problem(Code::TMA005, place, message));
        }
        if offsets.ty.rank() != 1 || !offsets.ty.elem.scalar().is_some_and(|d| d.is_int()) {
            let place = self.place(x);
            let message = format!("a {word} takes a row of integers as offsets, and `{}` is {}", self.text(x), offsets.ty);
            return Err(self.problem(Code::TMA005, place, message));
        }
        let columns = 256 / descriptor.pointee.bits().max(8);
        let (row_count, column_count) = (offsets.ty.shape[0].size, descriptor.block[1].size);
        if row_count < 8 || column_count < columns {
            let message = format!(
                "a {word} of {} moves at least 8 rows of {columns} columns, and this is {row_count} by {column_count}",
                descriptor.pointee
            );
            return Err(self.problem(Code::TMA005, place, message));
        }
        let offsets = self.cast(offsets, DType::I64.into(), x)?;
        Ok(vec![offsets, self.index_line(start, &descriptor.block[1])])
    }

    pub(super) fn call_descriptor_gather(&mut self, arguments: &Arguments, at: ExprId) -> Eval<Value> {
        let descriptor = self.descriptor_argument(arguments, at)?;
        let lines = self.rows(&descriptor, arguments, "gather", at)?;
        let (address, mask) = self.descriptor_window_at(&descriptor, lines);
        Ok(self.padded_load(&descriptor, address, mask))
    }

    pub(super) fn call_descriptor_scatter(&mut self, arguments: &Arguments, at: ExprId) -> Eval<Value> {
        let descriptor = self.descriptor_argument(arguments, at)?;
        let lines = self.rows(&descriptor, arguments, "scatter", at)?;
        let (address, mask) = self.descriptor_window_at(&descriptor, lines);
        let value = self.block_value(&descriptor, &address.ty.shape.clone(), arguments, at)?;
        if value.ty.elem != descriptor.pointee.into() {
            let expr = arguments.expr("value").unwrap_or(at);
            let place = self.place(expr);
            let elem = descriptor.pointee;
            let message =
                format!("`{}` is {}, and a scatter into {elem} does not convert it: cast it", self.text(expr), value.ty);
            let edits = self.append(expr, &format!(".to({})", crate::builtins::dtype_spelling(elem)));
            self.report(problem(Code::TMA005, place, message).fix(format!("Cast to {elem}"), Applicability::Suggested, edits));
            return Err(Poisoned);
        }
        let operands: Vec<_> = [address.id, value.id].into_iter().chain(mask.map(|m| m.id)).collect();
        let attrs = StoreAttrs { descriptor: descriptor.source, ..StoreAttrs::default() };
        self.emit(OpKind::Store(attrs), &operands, [], &[]);
        Ok(Value::Void)
    }

    pub(super) fn descriptor_attribute(&mut self, expr: ExprId, descriptor: Descriptor, name: &str) -> Value {
        let rank = descriptor.rank();
        match name {
            "shape" => Value::Tuple((0..rank).map(|axis| Value::Tile(descriptor.extent(axis).clone())).collect()),
            "strides" => Value::Tuple((0..rank).map(|axis| Value::Tile(self.stride_or_one(&descriptor, axis))).collect()),
            "block_shape" => Value::Tuple(
                descriptor
                    .block
                    .iter()
                    .map(|d| {
                        let value = Const::Int(i128::from(d.size));
                        Value::Const(super::value::Constant { value, symbol: d.symbol.clone() })
                    })
                    .collect(),
            ),
            "dtype" => Value::constant(Const::DType(descriptor.pointee)),
            "block_type" => Value::Type(descriptor.ty()),
            "type" => Value::DescriptorType(descriptor.ty()),
            _ => match Builtin::descriptor_method(name) {
                Some(builtin) => Value::Method(Box::new(Value::Descriptor(descriptor)), builtin),
                None => self.no_attribute(expr, &Value::Descriptor(descriptor), name),
            },
        }
    }
}
