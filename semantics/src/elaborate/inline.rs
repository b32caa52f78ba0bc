//! Code that the user brings: assembly, and scalar functions mapped over tiles.
//!
//! **Invariant:** all arguments of one call meet in one shape and keep their element types.

use tritium_tile::{OpKind, ops::InlineAsm};

use super::{
    builtin_calls::Arguments,
    evaluator::{Eval, Evaluator, Poisoned},
    value::{Tile, Value},
};
use crate::{
    body::{Expr, ExprId},
    builtins::Builtin,
    constant::Const,
    diagnostics::Code,
    types::{Dims, Element, TileType},
};

impl<'a> Evaluator<'a> {
    /// Every tile in the shape they have in common.
    fn common_tiles(&mut self, tiles: Vec<(ExprId, Tile)>, what: &str, at: ExprId) -> Eval<Vec<Tile>> {
        let mut widest: Option<(ExprId, Tile)> = None;
        for (expr, tile) in &tiles {
            widest = Some(match widest {
                None => (*expr, tile.clone()),
                Some((first, common)) => (first, self.broadcast_pair((first, common), (*expr, tile.clone()), what, at)?.0),
            });
        }
        let shape = widest.map_or_else(Dims::new, |(_, tile)| tile.ty.shape);
        Ok(tiles.into_iter().map(|(_, tile)| self.broadcast_tile(tile, &shape)).collect())
    }

    fn string(&mut self, arguments: &Arguments, name: &str, at: ExprId) -> Eval<String> {
        let expr = arguments.expr(name).unwrap_or(at);
        let place = self.place(expr);
        match arguments.value(name).to_const() {
            Some(Const::Str(text)) => Ok(text.to_string()),
            // The types do not hang on the text.
            None if arguments.value(name).has_unknown() => {
                self.complete = false;
                Ok(String::new())
            }
            None => Err(self.not_constexpr(place, expr, &format!("`{name}`"))),
            Some(other) => Err(self.problem(Code::LNG011, place, format!("`{name}` is a string, not {other}"))),
        }
    }

    /// How many neighbouring elements are worked on at once.
    fn pack(&mut self, arguments: &Arguments, at: ExprId) -> Eval<u32> {
        let expr = arguments.expr("pack").unwrap_or(at);
        let place = self.place(expr);
        match arguments.value("pack").as_const().and_then(Const::as_int) {
            Some(pack @ 1..=1024) => Ok(pack as u32),
            Some(pack) => {
                Err(self.problem(Code::LNG011, place, format!("`pack` counts elements, at least 1; {pack} is not taken")))
            }
            None if arguments.value("pack").has_unknown() => {
                self.complete = false;
                Ok(1)
            }
            None => Err(self.not_constexpr(place, expr, "`pack`")),
        }
    }

    pub(super) fn call_inline_asm(&mut self, arguments: &Arguments, at: ExprId) -> Eval<Value> {
        let name = Builtin::InlineAsm.spelling();
        let asm = self.string(arguments, "asm", at)?;
        let constraints = self.string(arguments, "constraints", at)?;
        let pure = self.flag(arguments, "is_pure")?;
        let pack = self.pack(arguments, at)?;
        let dtype_expr = arguments.expr("dtype").unwrap_or(at);
        let dtype = arguments.value("dtype").clone();
        let several = dtype.items();
        let mut results = Vec::new();
        for item in several.clone().unwrap_or_else(|| vec![dtype]) {
            results.push(self.dtype_argument(&item, dtype_expr)?);
        }
        if results.is_empty() {
            let place = self.place(dtype_expr);
            return Err(self.problem(Code::LNG011, place, format!("{name} has at least one result: name its type in `dtype`")));
        }
        let args_expr = arguments.expr("args").unwrap_or(at);
        let args = arguments.value("args").clone();
        if args.has_unknown() {
            return Err(Poisoned);
        }
        let Some(items) = args.items() else {
            let place = self.place(args_expr);
            let message = format!("`args` is a list of tiles, `[{}]`, not {}", self.text(args_expr), args.ty());
            return Err(self.problem(Code::LNG011, place, message));
        };
        let exprs = match self.body.expr(args_expr) {
            Expr::List(e) | Expr::Tuple(e) if e.len() == items.len() => e.clone(),
            _ => vec![args_expr; items.len()],
        };
        let mut tiles = Vec::new();
        for (value, expr) in items.iter().zip(exprs) {
            tiles.push((expr, self.as_tile(value, expr)?));
        }
        let tiles = self.common_tiles(tiles, name, at)?;
        let shape = tiles.first().map_or_else(Dims::new, |t| t.ty.shape.clone());
        let types = results.into_iter().map(|elem| TileType { elem, shape: shape.clone() }).collect();
        let kind = OpKind::InlineAsm(Box::new(InlineAsm { asm, constraints, pure, pack }));
        let results = self.emit_several(kind, &tiles, types, &[]);
        Ok(one_or_several(results, several.is_some()))
    }

    /// An elementwise operation with several results.
    fn emit_several(
        &mut self,
        kind: OpKind,
        operands: &[Tile],
        types: Vec<TileType>,
        regions: &[tritium_tile::BlockId],
    ) -> Vec<Value> {
        let ids: Vec<_> = operands.iter().map(|t| t.id).collect();
        let op = self.emit(kind, &ids, types.iter().map(TileType::tile).collect::<Vec<_>>(), regions);
        let ids = self.out.op(op).results.clone();
        let varies = operands.iter().fold(0, |bits, t| bits | t.varies);
        let undefined = operands.iter().find_map(|t| t.undefined);
        types.into_iter().zip(ids).map(|(ty, id)| Value::Tile(Tile { id, ty, varies, undefined })).collect()
    }

    pub(super) fn call_map_elementwise(&mut self, arguments: &Arguments, at: ExprId) -> Eval<Value> {
        let name = Builtin::MapElementwise.spelling();
        let pack = self.pack(arguments, at)? as usize;
        let mut tiles = Vec::new();
        for (value, expr) in arguments.rest("args") {
            if value.as_const().is_some() {
                let place = self.place(expr);
                let message =
                    format!("{name} takes tiles, and `{}` is {}: make it a tile with `tl.full`", self.text(expr), value.ty());
                return Err(self.problem(Code::DTY017, place, message));
            }
            tiles.push((expr, self.as_tile(&value, expr)?));
        }
        if tiles.is_empty() {
            let place = self.place(at);
            return Err(self.problem(Code::LNG011, place, format!("{name} needs a tile to map over")));
        }
        let tiles = self.common_tiles(tiles, name, at)?;
        let elements = tiles[0].ty.num_elements();
        if !elements.is_multiple_of(pack as u64) {
            let place = self.place(arguments.expr("pack").unwrap_or(at));
            let message = format!("the tile has {elements} elements, which are no groups of {pack}");
            return Err(self.problem(Code::LNG011, place, message));
        }
        let function_expr = arguments.expr("scalar_fn").unwrap_or(at);
        let function = arguments.value("scalar_fn").clone();
        let block = self.out.add_block();
        let mut scalars = Vec::new();
        for tile in &tiles {
            for _ in 0..pack {
                let ty = TileType::scalar(tile.ty.elem);
                let id = self.out.add_block_arg(block, ty.tile());
                scalars.push((Value::Tile(Tile { id, ty, varies: 0, undefined: None }), function_expr));
            }
        }
        let returned = self.inside(block, |s| {
            let returned = s.call_value(at, function_expr, function, scalars)?;
            let mut items = Vec::new();
            for item in returned.items().unwrap_or_else(|| vec![returned.clone()]) {
                items.push(s.as_tile(&item, function_expr)?);
            }
            s.emit(OpKind::Yield, &items.iter().map(|t| t.id).collect::<Vec<_>>(), [], &[]);
            Ok((items, returned.items().is_some()))
        });
        let (items, several) = returned.inspect_err(|_| self.complete = false)?;
        let place = self.place(function_expr);
        let shape = tiles[0].ty.shape.clone();
        let types: Vec<Element> = items.iter().step_by(pack).map(|t| t.ty.elem).collect();
        let fits = items.len() == types.len() * pack
            && items.iter().enumerate().all(|(i, t)| t.ty.is_scalar() && t.ty.elem == types[i / pack]);
        if !fits {
            self.complete = false;
            let returned: Vec<String> = items.iter().map(|t| t.ty.to_string()).collect();
            let message = format!(
                "the function returns ({}), and {name} needs {pack} scalars of one type for each result",
                returned.join(", ")
            );
            return Err(self.problem(Code::DTY017, place, message));
        }
        let types = types.into_iter().map(|elem| TileType { elem, shape: shape.clone() }).collect();
        let results = self.emit_several(OpKind::Map { pack: pack as u32 }, &tiles, types, &[block]);
        Ok(one_or_several(results, several))
    }
}

fn one_or_several(mut values: Vec<Value>, several: bool) -> Value {
    if several || values.len() != 1 { Value::Tuple(values) } else { values.swap_remove(0) }
}
