//! Shapes: broadcasting, reshaping, permuting, and reading a shape from arguments.
//!
//! **Invariant:** every extent of a tile is a power of two and its elements number at most 2²⁰; extents keep where they came from.

use smallvec::SmallVec;
use tritium_tile::{OpKind, ValueDef};

use super::{
    builtin_calls::Arguments,
    evaluator::{Eval, Evaluator, Poisoned, ProblemExt, problem},
    scope::Slot,
    value::{Constant, Tile, Value},
};
use crate::{
    body::{Body, Expr, ExprId},
    builtins::MAX_ELEMENTS,
    constant::Const,
    diagnostics::Code,
    problem::{Applicability, At, Edit, Place},
    types::{Dim, Dims, shape_text, symbolic_shape},
};

impl<'a> Evaluator<'a> {
    // ---- broadcasting

    /// Both tiles in their common shape; `op` names what brought them together.
    pub(super) fn broadcast_pair(
        &mut self,
        lhs: (ExprId, Tile),
        rhs: (ExprId, Tile),
        op: &str,
        at: ExprId,
    ) -> Eval<(Tile, Tile)> {
        let (a, b) = (lhs.1, rhs.1);
        if a.ty.is_scalar() && b.ty.is_scalar() {
            return Ok((a, b));
        }
        match common_shape(&a.ty.shape, &b.ty.shape) {
            Ok(shape) => Ok((self.broadcast_tile(a, &shape), self.broadcast_tile(b, &shape))),
            Err((x, y)) => Err(self.incompatible(op, (lhs.0, &a), (rhs.0, &b), (x, y), at)),
        }
    }

    fn incompatible(&mut self, op: &str, lhs: (ExprId, &Tile), rhs: (ExprId, &Tile), dims: (Dim, Dim), at: ExprId) -> Poisoned {
        let (left, right) = (self.text(lhs.0), self.text(rhs.0));
        let shape = |t: &Tile| match symbolic_shape(&t.ty.shape) {
            Some(symbolic) => format!("{} ({symbolic})", shape_text(&t.ty.shape)),
            None => shape_text(&t.ty.shape),
        };
        let both_vectors = lhs.1.ty.rank() == 1 && rhs.1.ty.rank() == 1;
        let remedy = if both_vectors {
            format!(": make one a column and the other a row, `{left}[:, None]` and `{right}[None, :]`")
        } else {
            ": an axis stretches only if it is 1".to_owned()
        };
        let message = format!(
            "`{left}` has shape {} and `{right}` has shape {}; `{op}` cannot match {} with {}{remedy}",
            shape(lhs.1),
            shape(rhs.1),
            dims.0.size,
            dims.1.size
        );
        let place = self.place(at);
        let from = |dim: &Dim| match &dim.symbol {
            Some(symbol) => format!("{} comes from {symbol} here", dim.size),
            None => format!("{} comes from here", dim.size),
        };
        let mut report =
            problem(Code::SHP001, place, message).related(dims.0.origin, from(&dims.0)).related(dims.1.origin, from(&dims.1));
        if both_vectors && lhs.0 != at && rhs.0 != at {
            let edits = [(lhs.0, "[:, None]"), (rhs.0, "[None, :]")]
                .into_iter()
                .flat_map(|(expr, index)| self.append(expr, index))
                .collect();
            report = report.fix("Make a column and a row", Applicability::Suggested, edits);
        }
        self.report(report);
        Poisoned
    }

    /// Writes `suffix` after an expression, in parentheses where precedence asks for them.
    pub(super) fn append(&self, expr: ExprId, suffix: &str) -> Vec<Edit> {
        let place = self.place(expr);
        match self.body.expr(expr) {
            Expr::Name(_) | Expr::Attribute { .. } | Expr::Call { .. } | Expr::Subscript { .. } => {
                vec![Edit::InsertAfter(place, suffix.to_owned())]
            }
            _ => vec![Edit::InsertBefore(place, "(".to_owned()), Edit::InsertAfter(place, format!("){suffix}"))],
        }
    }

    /// A tile in a shape it is known to stretch to.
    pub(super) fn broadcast_tile(&mut self, tile: Tile, shape: &Dims) -> Tile {
        if tile.ty.is_scalar() {
            if shape.is_empty() {
                return tile;
            }
            let ty = crate::types::TileType { elem: tile.ty.elem, shape: shape.clone() };
            // A number is made in the shape it is needed in.
            let constant = match self.out.value(tile.id).def {
                ValueDef::Result(op, 0) => match self.out.op(op).kind {
                    OpKind::Constant(constant) => Some(constant),
                    _ => None,
                },
                _ => None,
            };
            let id = match constant {
                Some(constant) => self.emit_value(OpKind::Constant(constant), &[], &ty),
                None => self.emit_value(OpKind::Splat, &[tile.id], &ty),
            };
            return Tile { id, ty, varies: 0, undefined: tile.undefined.map(|u| super::value::Undefined { axes: 0, ..u }) };
        }
        let mut tile = tile;
        while tile.ty.rank() < shape.len() {
            tile = self.insert_axis(tile, 0);
        }
        if crate::types::same_shape(&tile.ty.shape, shape) {
            // Names of extents are shared between both sides.
            return Tile { ty: crate::types::TileType { elem: tile.ty.elem, shape: shape.clone() }, ..tile };
        }
        let ty = crate::types::TileType { elem: tile.ty.elem, shape: shape.clone() };
        self.emit_like(OpKind::Broadcast, &[&tile], ty)
    }

    pub(super) fn insert_axis(&mut self, tile: Tile, axis: usize) -> Tile {
        let mut ty = tile.ty.clone();
        ty.shape.insert(axis, Dim::known(1));
        // More axes than bits are refused once the expression has its value.
        let below = ((1u16 << axis.min(8)) - 1) as u8;
        let shift = |bits: u8| (bits & below) | ((bits & !below) << 1);
        if tile.ty.is_scalar() {
            let id = self.emit_value(OpKind::Splat, &[tile.id], &ty);
            return Tile { id, ty, ..tile };
        }
        let id = self.emit_value(OpKind::ExpandDims { axis: axis as u8 }, &[tile.id], &ty);
        let undefined = tile.undefined.map(|u| super::value::Undefined { axes: shift(u.axes), ..u });
        Tile { id, ty, varies: shift(tile.varies), undefined }
    }

    // ---- other shapes

    /// In a shape with as many elements.
    pub(super) fn reshape_to(&mut self, tile: Tile, shape: Dims, reorder: bool) -> Tile {
        let ty = crate::types::TileType { elem: tile.ty.elem, shape };
        if tile.ty.is_scalar() && ty.is_scalar() {
            return tile;
        }
        let moved = |axes: u8| match (axes, reorder) {
            (0, _) => 0,
            (_, true) => Tile::all_axes(ty.rank()),
            (_, false) => reshaped_axes(axes, &tile.ty.shape, &ty.shape),
        };
        let (varies, undefined) =
            (moved(tile.varies), tile.undefined.map(|u| super::value::Undefined { axes: moved(u.axes), ..u }));
        let kind = if tile.ty.is_scalar() { OpKind::Splat } else { OpKind::Reshape { reorder } };
        Tile { varies, undefined, ..self.emit_like(kind, &[&tile], ty) }
    }

    pub(super) fn permute(&mut self, tile: Tile, order: &[usize]) -> Tile {
        let shape: Dims = order.iter().map(|&axis| tile.ty.shape[axis].clone()).collect();
        let ty = crate::types::TileType { elem: tile.ty.elem, shape };
        let move_bits = |bits: u8| {
            order
                .iter()
                .enumerate()
                .filter(|&(to, &from)| to < 8 && from < 8)
                .fold(0, |all, (to, &from)| all | (((bits >> from) & 1) << to))
        };
        let order8: SmallVec<[u8; 4]> = order.iter().map(|&axis| axis as u8).collect();
        let id = self.emit_value(OpKind::Transpose { order: order8 }, &[tile.id], &ty);
        let undefined = tile.undefined.map(|u| super::value::Undefined { axes: move_bits(u.axes), ..u });
        Tile { id, ty, varies: move_bits(tile.varies), undefined }
    }

    /// `.T`: the last two axes swapped.
    pub(super) fn transpose_last(&mut self, tile: Tile, at: ExprId) -> Eval<Tile> {
        let rank = tile.ty.rank();
        if rank < 2 || rank > 2 && matches!(self.body.expr(at), Expr::Attribute { .. }) {
            let place = self.place(at);
            if rank > 2 {
                let message = format!("`.T` swaps the two axes of a matrix, and this is {}: use `tl.permute`", tile.ty);
                return Err(self.problem(Code::SHP005, place, message));
            }
            return Err(self.problem(
                Code::SHP005,
                place,
                format!("`{}` transposes {}, which has fewer than two axes", self.text(at), tile.ty),
            ));
        }
        let mut order: Vec<usize> = (0..rank).collect();
        order.swap(rank - 1, rank - 2);
        Ok(self.permute(tile, &order))
    }

    // ---- arguments

    /// An axis, perhaps negative, of `rank` axes.
    pub(super) fn axis(&mut self, value: &Value, expr: ExprId, rank: usize, what: &str) -> Eval<usize> {
        let Some(axis) = value.as_const().and_then(Const::as_int) else {
            if value.has_unknown() {
                return Err(Poisoned);
            }
            let place = self.place(expr);
            return Err(self.not_constexpr(place, expr, "an axis"));
        };
        let count = rank as i128;
        if (-count..count).contains(&axis) {
            return Ok((if axis < 0 { axis + count } else { axis }) as usize);
        }
        let place = self.place(expr);
        let message = match rank {
            0 => format!("{what} has no axis {axis}: it is a scalar"),
            1 => format!("{what} has no axis {axis}: its only axis is 0"),
            _ => format!("{what} has no axis {axis}: its axes are 0 to {}", rank - 1),
        };
        let mut report = problem(Code::SHP005, place, message);
        // What is not written as a number may be another one elsewhere.
        let is_written = match self.body.expr(expr) {
            Expr::Int(_) => true,
            Expr::Unary { operand, .. } => matches!(self.body.expr(*operand), Expr::Int(_)),
            _ => false,
        };
        if rank > 0 && is_written {
            let nearest = axis.clamp(-count, count - 1);
            report = report.fix(
                format!("Use axis {nearest}"),
                Applicability::Suggested,
                vec![Edit::Replace(place, nearest.to_string())],
            );
        }
        self.report(report);
        Err(Poisoned)
    }

    /// A shape from a tuple or from several arguments, each known at compile time.
    pub(super) fn shape_argument(&mut self, values: &[(Value, ExprId)]) -> Eval<Dims> {
        let mut extents = Vec::new();
        for (value, expr) in values {
            match value.items() {
                Some(items) => {
                    let exprs = match self.body.expr(*expr) {
                        Expr::Tuple(e) | Expr::List(e) if e.len() == items.len() => e.clone(),
                        _ => vec![*expr; items.len()],
                    };
                    extents.extend(items.into_iter().zip(exprs));
                }
                None => extents.push((value.clone(), *expr)),
            }
        }
        let mut shape = Dims::new();
        let mut failed = false;
        for (value, expr) in extents {
            match self.extent(&value, expr) {
                Ok(dim) => shape.push(dim),
                Err(Poisoned) => failed = true,
            }
        }
        if failed {
            return Err(Poisoned);
        }
        let at = values.first().map(|(_, e)| *e);
        self.check_elements(&shape, at)?;
        Ok(shape)
    }

    pub(super) fn check_elements(&mut self, shape: &Dims, at: Option<ExprId>) -> Eval<()> {
        let elements: u64 = shape.iter().map(|d| u64::from(d.size)).fold(1, u64::saturating_mul);
        if elements > MAX_ELEMENTS
            && let Some(at) = at
        {
            let place = self.place(at);
            let message = format!(
                "a tile of {} has {elements} elements, and Triton allows {MAX_ELEMENTS}: use smaller blocks and a loop",
                shape_text(shape)
            );
            return Err(self.problem(Code::SHP004, place, message));
        }
        Ok(())
    }

    fn extent(&mut self, value: &Value, expr: ExprId) -> Eval<Dim> {
        let place = self.place(expr);
        match value {
            Value::Unknown => Err(Poisoned),
            Value::Const(constant) => {
                let Some(size) = constant.value.as_int().filter(|_| !matches!(constant.value, Const::Bool(_))) else {
                    let message = format!("`{}` is {}, and an extent must be an integer", self.text(expr), constant.value);
                    return Err(self.problem(Code::SHP002, place, message));
                };
                self.power_of_two(constant, size, expr)
            }
            _ => Err(self.not_constexpr(place, expr, "a shape")),
        }
    }

    pub(super) fn power_of_two(&mut self, constant: &Constant, size: i128, expr: ExprId) -> Eval<Dim> {
        let place = self.place(expr);
        if size > 0 && size & (size - 1) == 0 && size <= i128::from(u32::MAX) {
            return constant.dim(place).ok_or(Poisoned);
        }
        let text = self.text(expr);
        let named = if text == size.to_string() { String::new() } else { format!("`{text}` is {size}; ") };
        let message = if size <= 0 {
            format!("{named}the extent of a tile must be a power of two, at least 1")
        } else {
            let next = (size as u128).next_power_of_two();
            format!("{named}{size} is not a power of two: use {next} and mask what is beyond {size}")
        };
        let mut report = problem(Code::SHP002, place, message);
        if size > 0 && matches!(self.body.expr(expr), Expr::Int(_)) {
            let next = (size as u128).next_power_of_two().to_string();
            report = report.fix(format!("Use {next}"), Applicability::Suggested, vec![Edit::Replace(place, next)]);
        }
        self.report(report);
        Err(Poisoned)
    }

    // ---- what should have been known at compile time

    /// Reports a run-time value where a compile-time one is needed, and where to annotate it. One message for each culprit.
    pub(super) fn not_constexpr(&mut self, place: Place, expr: ExprId, what: &str) -> Poisoned {
        self.not_constexpr_as(Code::CXP001, place, expr, what)
    }

    pub(super) fn not_constexpr_as(&mut self, code: Code, place: Place, expr: ExprId, what: &str) -> Poisoned {
        let culprit = self.culprit(expr, 0);
        // A local that lost its compile-time value is its own mistake.
        let code = match &culprit {
            Some((_, definition, true)) if !matches!(definition.at, At::Param(_)) => Code::CXP001,
            _ => code,
        };
        if let Some((_, definition, _)) = &culprit
            && !self.reported.insert(*definition)
        {
            return Poisoned;
        }
        let text = self.text(expr);
        let mut report = match &culprit {
            Some((name, _, fixable)) => {
                let remedy = if *fixable { format!(": annotate it `{name}: tl.constexpr`") } else { String::new() };
                let subject = if text == *name { format!("`{name}`") } else { format!("`{text}` depends on `{name}`, which") };
                problem(code, place, format!("{what} must be known at compile time, and {subject} is a run-time value{remedy}"))
            }
            None => problem(code, place, format!("{what} must be known at compile time, and `{text}` is a run-time value")),
        };
        if let Some((name, definition, fixable)) = culprit {
            let kind = if matches!(definition.at, At::Param(_)) { "parameter" } else { "name" };
            report = report.related(Some(definition), format!("the {kind} `{name}`"));
            if fixable {
                report = report.fix(
                    format!("Annotate `{name}` as tl.constexpr"),
                    Applicability::Suggested,
                    vec![Edit::InsertAfter(definition, ": tl.constexpr".to_owned())],
                );
            }
        }
        self.report(report);
        Poisoned
    }

    /// The name to blame: a parameter without annotation, or a local that lost its compile-time value by plain assignment.
    fn culprit(&self, expr: ExprId, depth: u32) -> Option<(String, Place, bool)> {
        if depth > 16 {
            return None;
        }
        if let Expr::Name(name) = self.body.expr(expr) {
            let Some(Slot::Bound { value, place, from, decayed }) = self.scope.get(name) else { return None };
            if !value.has_tile() {
                return None;
            }
            if let At::Param(index) = place.at {
                let plain = self.def.params.get(index as usize).is_some_and(|p| p.annotation.is_none());
                let scalar = matches!(value, Value::Tile(t) if t.ty.is_scalar() && !t.ty.elem.is_ptr());
                return Some((name.to_string(), *place, plain && scalar));
            }
            if *decayed {
                return Some((name.to_string(), *place, true));
            }
            return from.and_then(|from| self.culprit(from, depth + 1)).or(Some((name.to_string(), *place, false)));
        }
        children(self.body, expr).into_iter().find_map(|child| self.culprit(child, depth + 1))
    }

    // ---- builtins

    pub(super) fn call_broadcast_to(&mut self, arguments: &Arguments, at: ExprId) -> Eval<Value> {
        let shape = arguments.rest("shape");
        let shape = self.shape_argument(&shape)?;
        let tile = self.as_tile(arguments.value("input"), arguments.expr("input").unwrap_or(at))?;
        if tile.ty.is_scalar() {
            return Ok(Value::Tile(self.broadcast_tile(tile, &shape)));
        }
        let fits = tile.ty.rank() == shape.len()
            && tile.ty.shape.iter().zip(&shape).all(|(from, to)| from.size == 1 || from.size == to.size);
        if !fits {
            let place = self.place(at);
            let origin = tile.ty.shape.iter().find_map(|d| d.origin);
            let message = format!(
                "{} cannot be broadcast to {}: the ranks must be equal, and an axis stretches only if it is 1",
                shape_text(&tile.ty.shape),
                shape_text(&shape)
            );
            self.report(problem(Code::SHP001, place, message).related(origin, "its shape comes from here"));
            return Err(Poisoned);
        }
        Ok(Value::Tile(self.broadcast_tile(tile, &shape)))
    }

    pub(super) fn call_broadcast(&mut self, arguments: &Arguments, at: ExprId) -> Eval<Value> {
        let (x, y) = (arguments.expr("input").unwrap_or(at), arguments.expr("other").unwrap_or(at));
        let a = self.as_tile(arguments.value("input"), x)?;
        let b = self.as_tile(arguments.value("other"), y)?;
        let (a, b) = self.broadcast_pair((x, a), (y, b), "tl.broadcast", at)?;
        Ok(Value::Tuple(vec![Value::Tile(a), Value::Tile(b)]))
    }

    pub(super) fn call_reshape(&mut self, arguments: &Arguments, at: ExprId) -> Eval<Value> {
        let reorder = self.flag(arguments, "can_reorder")?;
        self.reshaped(arguments, reorder, at)
    }

    pub(super) fn call_view(&mut self, arguments: &Arguments, at: ExprId) -> Eval<Value> {
        self.reshaped(arguments, true, at)
    }

    fn reshaped(&mut self, arguments: &Arguments, reorder: bool, at: ExprId) -> Eval<Value> {
        let values = arguments.rest("shape");
        let shape = self.shape_argument(&values)?;
        let tile = self.as_tile(arguments.value("input"), arguments.expr("input").unwrap_or(at))?;
        if tile.ty.is_scalar() {
            let place = self.place(at);
            let message = format!("a scalar ({}) is not reshaped: use `tl.full` or `tl.broadcast_to`", tile.ty);
            return Err(self.problem(Code::SHP006, place, message));
        }
        let wanted: u64 = shape.iter().map(|d| u64::from(d.size)).product();
        if wanted != tile.ty.num_elements() {
            let place = self.place(at);
            let message = format!(
                "`{}` is {}, which has {} elements, and {} has {wanted}: a reshape keeps their number",
                self.text(arguments.expr("input").unwrap_or(at)),
                tile.ty,
                tile.ty.num_elements(),
                shape_text(&shape)
            );
            let origin = tile.ty.shape.iter().find_map(|d| d.origin);
            self.report(problem(Code::SHP006, place, message).related(origin, "its shape comes from here"));
            return Err(Poisoned);
        }
        Ok(Value::Tile(self.reshape_to(tile, shape, reorder)))
    }

    pub(super) fn call_ravel(&mut self, arguments: &Arguments, at: ExprId) -> Eval<Value> {
        let expr = arguments.expr("x").unwrap_or(at);
        let tile = self.as_tile(arguments.value("x"), expr)?;
        let reorder = self.flag(arguments, "can_reorder")?;
        let size = tile.ty.num_elements() as u32;
        let dim = match &tile.ty.shape[..] {
            [only] => only.clone(),
            _ => Dim { size, symbol: None, origin: Some(self.place(at)) },
        };
        Ok(Value::Tile(self.reshape_to(tile, Dims::from_iter([dim]), reorder)))
    }

    pub(super) fn call_expand_dims(&mut self, arguments: &Arguments, at: ExprId) -> Eval<Value> {
        let mut tile = self.as_tile(arguments.value("input"), arguments.expr("input").unwrap_or(at))?;
        let expr = arguments.expr("axis").unwrap_or(at);
        let axes = arguments.value("axis").items().unwrap_or_else(|| vec![arguments.value("axis").clone()]);
        let rank = tile.ty.rank() + axes.len();
        let text = tile.ty.to_string();
        let mut positions = axes
            .iter()
            .map(|axis| self.axis(axis, expr, rank, &format!("the result ({text} with {} more)", axes.len())))
            .collect::<Eval<Vec<usize>>>()?;
        positions.sort_unstable();
        if positions.windows(2).any(|w| w[0] == w[1]) {
            let place = self.place(expr);
            return Err(self.problem(Code::SHP005, place, "an axis is given twice"));
        }
        for axis in positions {
            tile = self.insert_axis(tile, axis);
        }
        Ok(Value::Tile(tile))
    }

    /// Without an axis of extent 1.
    pub(super) fn call_squeeze(&mut self, arguments: &Arguments, at: ExprId) -> Eval<Value> {
        let expr = arguments.expr("x").unwrap_or(at);
        let tile = self.as_tile(arguments.value("x"), expr)?;
        let text = self.text(expr);
        let dim = arguments.expr("dim").unwrap_or(at);
        let axis = self.axis(arguments.value("dim"), dim, tile.ty.rank(), &format!("`{text}` ({})", tile.ty))?;
        let extent = tile.ty.shape[axis].clone();
        if extent.size != 1 {
            let place = self.place(at);
            let message =
                format!("axis {axis} of `{text}` ({}) has {} elements, and only an axis of 1 is dropped", tile.ty, extent.size);
            self.report(problem(Code::SHP006, place, message).related(extent.origin, "the extent comes from here"));
            return Err(Poisoned);
        }
        let mut shape = tile.ty.shape.clone();
        shape.remove(axis);
        Ok(Value::Tile(self.reshape_to(tile, shape, false)))
    }

    pub(super) fn call_unsqueeze(&mut self, arguments: &Arguments, at: ExprId) -> Eval<Value> {
        let expr = arguments.expr("x").unwrap_or(at);
        let tile = self.as_tile(arguments.value("x"), expr)?;
        let dim = arguments.expr("dim").unwrap_or(at);
        let axis =
            self.axis(arguments.value("dim"), dim, tile.ty.rank() + 1, &format!("the result ({} with 1 more)", tile.ty))?;
        Ok(Value::Tile(self.insert_axis(tile, axis)))
    }

    pub(super) fn call_permute(&mut self, arguments: &Arguments, may_omit: bool, at: ExprId) -> Eval<Value> {
        let expr = arguments.expr("input").unwrap_or(at);
        let tile = self.as_tile(arguments.value("input"), expr)?;
        let mut dims: Vec<(Value, ExprId)> = Vec::new();
        for (value, expr) in arguments.rest("dims") {
            match value.items() {
                Some(items) => dims.extend(items.into_iter().map(|v| (v, expr))),
                None => dims.push((value, expr)),
            }
        }
        if dims.is_empty() && may_omit {
            return self.transpose_last(tile, at).map(Value::Tile);
        }
        let rank = tile.ty.rank();
        if let Some((_, expr)) = dims.iter().find(|(v, _)| v.as_const().and_then(Const::as_int).is_some_and(|i| i < 0)) {
            let place = self.place(*expr);
            return Err(self.problem(
                Code::SHP005,
                place,
                "the axes of a permutation are counted from 0; negative ones are not taken",
            ));
        }
        let mut order = Vec::new();
        for (value, expr) in &dims {
            order.push(self.axis(
                value,
                *expr,
                rank,
                &format!("`{}` ({})", self.text(arguments.expr("input").unwrap_or(at)), tile.ty),
            )?);
        }
        let mut sorted = order.clone();
        sorted.sort_unstable();
        if !sorted.into_iter().eq(0..rank) {
            let place = self.place(at);
            let message = format!(
                "a permutation names each axis once, 0 to {}: `{}` is {}, and these are ({})",
                rank.saturating_sub(1),
                self.text(expr),
                tile.ty,
                order.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
            );
            return Err(self.problem(Code::SHP010, place, message));
        }
        Ok(Value::Tile(self.permute(tile, &order)))
    }

    /// Two tiles along a new last axis of 2.
    pub(super) fn call_join(&mut self, arguments: &Arguments, at: ExprId) -> Eval<Value> {
        let (x, y) = (arguments.expr("a").unwrap_or(at), arguments.expr("b").unwrap_or(at));
        let a = self.as_tile(arguments.value("a"), x)?;
        let b = self.as_tile(arguments.value("b"), y)?;
        if a.ty.elem != b.ty.elem {
            let place = self.place(at);
            let message = format!(
                "`{}` is {} and `{}` is {}: join takes tiles of one element type",
                self.text(x),
                a.ty,
                self.text(y),
                b.ty
            );
            return Err(self.problem(Code::DTY017, place, message));
        }
        let (a, b) = self.broadcast_pair((x, a), (y, b), "tl.join", at)?;
        let mut shape = a.ty.shape.clone();
        shape.push(Dim::known(2));
        self.check_elements(&shape, Some(at))?;
        Ok(Value::Tile(self.joined(a, b)))
    }

    /// Two tiles of one type along a new last axis.
    pub(super) fn joined(&mut self, a: Tile, b: Tile) -> Tile {
        let axis = a.ty.rank();
        let mut shape = a.ty.shape.clone();
        shape.push(Dim::known(2));
        let a = self.insert_axis(a, axis);
        let b = self.insert_axis(b, axis);
        let a = self.broadcast_tile(a, &shape);
        let b = self.broadcast_tile(b, &shape);
        // Position 0 of the new axis is the first tile.
        let pair = crate::types::TileType { elem: crate::dtype::DType::I32.into(), shape: Dims::from_iter([Dim::known(2)]) };
        let id = self.emit_value(OpKind::Iota { start: 0, end: 2 }, &[], &pair);
        let position = Tile { id, ty: pair, varies: 1, undefined: None };
        let zero = self.constant_tile(&Const::Int(0), crate::dtype::DType::I32, position.ty.shape.clone());
        let first = self.compare_tiles(crate::body::CompareOp::Eq, position, zero, crate::dtype::DType::I32);
        let first = self.broadcast_tile(first, &shape);
        let ty = a.ty.clone();
        let mut result = self.emit_like(OpKind::Select, &[&first, &a, &b], ty);
        result.undefined = a.undefined.or(b.undefined);
        result
    }

    /// The elements of two tiles by turns along the last axis.
    pub(super) fn call_interleave(&mut self, arguments: &Arguments, at: ExprId) -> Eval<Value> {
        let joined = self.call_join(arguments, at)?;
        let tile = self.as_tile(&joined, at)?;
        let rank = tile.ty.rank();
        if rank == 1 {
            return Ok(joined);
        }
        let mut shape = tile.ty.shape.clone();
        shape.pop();
        shape[rank - 2] = Dim { size: 2 * shape[rank - 2].size, symbol: None, origin: Some(self.place(at)) };
        let undefined = tile.undefined;
        Ok(Value::Tile(Tile { undefined, ..self.reshape_to(tile, shape, false) }))
    }

    /// One tile behind the other along an axis.
    pub(super) fn call_cat(&mut self, arguments: &Arguments, at: ExprId) -> Eval<Value> {
        let (x, y) = (arguments.expr("input").unwrap_or(at), arguments.expr("other").unwrap_or(at));
        let a = self.as_tile(arguments.value("input"), x)?;
        let b = self.as_tile(arguments.value("other"), y)?;
        let place = self.place(at);
        let (first, second) = (self.text(x), self.text(y));
        if let Some(expr) = arguments.expr("dim").filter(|_| !self.rules.ordered_cat) {
            let place = self.place(expr);
            return Err(self.problem(Code::LNG011, place, "tl.cat takes an axis from Triton 3.7 on; before, it joins vectors"));
        }
        if !self.flag(arguments, "can_reorder")? && !self.rules.ordered_cat {
            let message = format!(
                "tl.cat keeps no order before Triton 3.7 and wants that said, `can_reorder=True`; \
                 in order: `tl.join({first}, {second}).permute(1, 0).reshape(…)`"
            );
            return Err(self.problem(Code::LNG011, place, message));
        }
        if a.ty.elem != b.ty.elem {
            let message = format!("`{first}` is {} and `{second}` is {}: tl.cat takes tiles of one element type", a.ty, b.ty);
            return Err(self.problem(Code::DTY017, place, message));
        }
        let rank = a.ty.rank();
        if rank == 0 || rank != b.ty.rank() || rank > 1 && !self.rules.ordered_cat {
            let message = format!("tl.cat joins two vectors, and `{first}` is {} and `{second}` is {}", a.ty, b.ty);
            return Err(self.problem(Code::SHP005, place, message));
        }
        let dim =
            self.axis(arguments.value("dim"), arguments.expr("dim").unwrap_or(at), rank, &format!("`{first}` ({})", a.ty))?;
        if let Some(d) = (0..rank).find(|&d| a.ty.shape[d].size != b.ty.shape[d].size) {
            let (m, n) = (a.ty.shape[d].clone(), b.ty.shape[d].clone());
            let (code, why) = match d == dim {
                true => (Code::SHP002, format!("{} is no power of two", u64::from(m.size) + u64::from(n.size))),
                false => (Code::SHP001, "the other axes must be equal".to_owned()),
            };
            let message = format!("`{first}` has {} along axis {d} and `{second}` has {}: {why}", m.size, n.size);
            self.report(
                problem(code, place, message)
                    .related(m.origin, "the first extent comes from here")
                    .related(n.origin, "the second extent comes from here"),
            );
            return Err(Poisoned);
        }
        let mut shape = a.ty.shape.clone();
        shape[dim] = Dim { size: 2 * shape[dim].size, symbol: None, origin: Some(place) };
        self.check_elements(&shape, Some(at))?;
        let undefined = a.undefined.or(b.undefined);
        let joined = self.joined(a, b);
        // The new axis goes in front of the one that grows.
        let mut order: Vec<usize> = (0..rank).collect();
        order.insert(dim, rank);
        let moved = self.permute(joined, &order);
        Ok(Value::Tile(Tile { undefined, ..self.reshape_to(moved, shape, false) }))
    }

    pub(super) fn call_item(&mut self, arguments: &Arguments, at: ExprId) -> Eval<Value> {
        let expr = arguments.expr("input").unwrap_or(at);
        let tile = self.as_tile(arguments.value("input"), expr)?;
        if tile.ty.num_elements() != 1 {
            let place = self.place(at);
            let message = format!("`{}` is {}, and only a tile of one element has an item", self.text(expr), tile.ty);
            return Err(self.problem(Code::SHP006, place, message));
        }
        Ok(Value::Tile(self.reshape_to(tile, Dims::new(), false)))
    }
}

/// Axes are matched from the last; an extent of 1 stretches. Otherwise the two extents that differ.
pub(super) fn common_shape(a: &Dims, b: &Dims) -> Result<Dims, (Dim, Dim)> {
    if a == b {
        return Ok(a.clone());
    }
    let rank = a.len().max(b.len());
    let mut shape = Dims::new();
    for i in 0..rank {
        let of = |dims: &Dims| (i + dims.len()).checked_sub(rank).map(|at| dims[at].clone());
        let dim = match (of(a), of(b)) {
            (Some(x), Some(y)) if x.size == y.size => {
                if x.symbol.is_some() || x.origin.is_some() && y.symbol.is_none() {
                    x
                } else {
                    y
                }
            }
            (Some(x), Some(y)) if x.size == 1 => y,
            (Some(x), Some(y)) if y.size == 1 => x,
            (Some(x), Some(y)) => return Err((x, y)),
            (Some(x), None) | (None, Some(x)) => x,
            (None, None) => Dim::known(1),
        };
        shape.push(dim);
    }
    Ok(shape)
}

/// The parts of an expression whose values it depends on.
pub(super) fn children(body: &Body, expr: ExprId) -> Vec<ExprId> {
    match body.expr(expr) {
        Expr::Tuple(items) | Expr::List(items) => items.clone(),
        Expr::Unary { operand, .. } => vec![*operand],
        Expr::Binary { lhs, rhs, .. } | Expr::Bool2 { lhs, rhs, .. } => vec![*lhs, *rhs],
        Expr::Compare { first, rest } => std::iter::once(*first).chain(rest.iter().map(|(_, e)| *e)).collect(),
        Expr::If { condition, then, otherwise } => vec![*then, *otherwise, *condition],
        Expr::Call { args, .. } => args.iter().map(|a| a.value).collect(),
        Expr::Attribute { receiver, .. } => vec![*receiver],
        Expr::Subscript { receiver, .. } => vec![*receiver],
        Expr::Named { value, .. } => vec![*value],
        Expr::Starred(inner) => vec![*inner],
        _ => Vec::new(),
    }
}

/// Axes, as bits, in the shape that a reshape gives: neighbouring axes that become others share what ran along any of them.
fn reshaped_axes(axes: u8, from: &Dims, to: &Dims) -> u8 {
    if from.len() > 8 || to.len() > 8 {
        return Tile::all_axes(to.len());
    }
    let (mut i, mut j, mut out) = (0, 0, 0);
    while i < from.len() && j < to.len() {
        let (first, start) = (i, j);
        let (mut before, mut after) = (u64::from(from[i].size), u64::from(to[j].size));
        (i, j) = (i + 1, j + 1);
        while before != after {
            let (product, shape, next) = if before < after { (&mut before, from, &mut i) } else { (&mut after, to, &mut j) };
            let Some(dim) = shape.get(*next) else { break };
            *product = product.saturating_mul(u64::from(dim.size));
            *next += 1;
        }
        if (first..i).any(|d| from[d].size != 1 && axes & (1 << d) != 0) {
            out |= (start..j).filter(|&d| to[d].size != 1).fold(0, |bits, d| bits | (1 << d));
        }
    }
    out
}
