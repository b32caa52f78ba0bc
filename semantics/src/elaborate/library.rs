//! Functions of the device library, `libdevice.tan(x)`.
//!
//! **Invariant:** the overload is the one whose argument types are exactly those given, as in the library's table; nothing is promoted.

use smol_str::SmolStr;
use tritium_tile::{
    OpKind,
    libdevice::{Arg, Symbol},
    ops::{BinaryOp as TileOp, CastOp, UnaryOp as TileUnary},
};

use super::{
    evaluator::{Eval, Evaluator, Poisoned, ProblemExt, problem},
    value::{Tile, Value},
};
use crate::{
    body::ExprId,
    builtins::{self, Library},
    diagnostics::Code,
    dtype::DType,
    problem::{Applicability, Edit},
    types::same_shape,
};

impl<'a> Evaluator<'a> {
    pub(super) fn call_library(
        &mut self,
        function: Library,
        at: ExprId,
        positional: Vec<(Value, ExprId)>,
        keywords: Vec<(SmolStr, Value, ExprId)>,
    ) -> Eval<Value> {
        let name = function.spelling();
        let count = function.row().overloads.first().map_or(0, |o| o.args.len());
        let mut given: Vec<Option<(Value, ExprId)>> = vec![None; count];
        let extra = positional.len() > count;
        for (slot, argument) in given.iter_mut().zip(positional) {
            *slot = Some(argument);
        }
        let mut wrong = extra;
        for (keyword, value, expr) in keywords {
            let place = keyword.strip_prefix("arg").and_then(|n| n.parse::<usize>().ok());
            match place.and_then(|n| given.get_mut(n)) {
                Some(slot @ None) => *slot = Some((value, expr)),
                _ => wrong = true,
            }
        }
        let Some(given) = given.into_iter().collect::<Option<Vec<_>>>().filter(|_| !wrong) else {
            let place = self.place(at);
            let plural = if count == 1 { "" } else { "s" };
            return Err(self.problem(
                Code::LNG011,
                place,
                format!("{name} takes {count} argument{plural}: `{}`", function.signature()),
            ));
        };
        let mut tiles: Vec<(ExprId, Tile)> = Vec::new();
        for (value, expr) in &given {
            tiles.push((*expr, self.as_tile(value, *expr)?));
        }
        let types: Option<Vec<Arg>> = tiles.iter().map(|(_, t)| t.ty.elem.scalar().and_then(arg_of)).collect();
        let Some(symbol) = types.and_then(|types| Symbol::find(function.row().name, &types)) else {
            return Err(self.no_overload(function, &given, &tiles, at));
        };
        let mut shape = tiles[0].1.ty.shape.clone();
        for i in 1..tiles.len() {
            let (first, next) = (tiles[0].clone(), tiles[i].clone());
            let (first, _) = self.broadcast_pair(first, next, &name, at)?;
            shape = first.ty.shape.clone();
            tiles[0].1 = first;
        }
        let operands: Vec<Tile> = tiles
            .into_iter()
            .map(|(_, tile)| if same_shape(&tile.ty.shape, &shape) { tile } else { self.broadcast_tile(tile, &shape) })
            .collect();
        let operands: Vec<&Tile> = operands.iter().collect();
        let overload = symbol.overload();
        let ty = operands[0].ty.with_elem(dtype_of(overload.result));
        let result = self.emit_like(operation(symbol), &operands, ty);
        Ok(Value::Tile(if function.is_predicate() { self.cast(result, DType::I1.into(), at)? } else { result }))
    }

    fn no_overload(&mut self, function: Library, given: &[(Value, ExprId)], tiles: &[(ExprId, Tile)], at: ExprId) -> Poisoned {
        // Another device's library takes other types.
        if self.is_for_other_device() {
            self.complete = false;
            return Poisoned;
        }
        let overloads = function.row().overloads;
        let spelled: Vec<String> = overloads.iter().map(builtins::library_arguments).collect();
        let found: Vec<String> = tiles.iter().map(|(expr, tile)| format!("`{}` is {}", self.text(*expr), tile.ty.elem)).collect();
        // Casting the floats that are too narrow may be all that is missing.
        let narrow = |t: &Tile| matches!(t.ty.elem.scalar(), Some(DType::F16 | DType::BF16));
        let widened: Option<Vec<Arg>> =
            tiles.iter().map(|(_, t)| if narrow(t) { Some(Arg::F32) } else { t.ty.elem.scalar().and_then(arg_of) }).collect();
        let fits = widened.is_some_and(|types| Symbol::find(function.row().name, &types).is_some());
        let code = if fits { Code::DTY005 } else { Code::DTY017 };
        let remedy = if fits { ": cast with `.to(tl.float32)`" } else { "; nothing is converted for a library function" };
        let message = format!("{} takes {}, and {}{remedy}", function.spelling(), spelled.join(" or "), found.join(" and "));
        let place = self.place(at);
        let mut report = problem(code, place, message);
        if fits {
            let edits: Vec<Edit> = given
                .iter()
                .zip(tiles)
                .filter(|((value, _), (_, tile))| matches!(value, Value::Tile(_)) && narrow(tile))
                .flat_map(|((_, expr), _)| self.append(*expr, ".to(tl.float32)"))
                .collect();
            report = report.fix("Cast to float32", Applicability::Suggested, edits);
        }
        self.report(report);
        Poisoned
    }
}

fn arg_of(dtype: DType) -> Option<Arg> {
    Some(match dtype {
        DType::I32 => Arg::I32,
        DType::U32 => Arg::U32,
        DType::I64 => Arg::I64,
        DType::U64 => Arg::U64,
        DType::F32 => Arg::F32,
        DType::F64 => Arg::F64,
        _ => return None,
    })
}

fn dtype_of(arg: Arg) -> DType {
    match arg {
        Arg::I32 => DType::I32,
        Arg::U32 => DType::U32,
        Arg::I64 => DType::I64,
        Arg::U64 => DType::U64,
        Arg::F32 => DType::F32,
        Arg::F64 => DType::F64,
    }
}

/// What the library's functions are that the tile IR has an operation for; the others are called by symbol.
fn operation(symbol: Symbol) -> OpKind {
    let overload = symbol.overload();
    let float = matches!(overload.args[0], Arg::F32 | Arg::F64);
    let unsigned = matches!(overload.args[0], Arg::U32 | Arg::U64);
    match symbol.function().name {
        "tanh" => OpKind::Unary(TileUnary::Tanh),
        "exp" if overload.args[0] == Arg::F64 => OpKind::Unary(TileUnary::Exp),
        "fast_expf" => OpKind::Unary(TileUnary::Exp),
        "exp2" => OpKind::Unary(TileUnary::Exp2),
        "log" => OpKind::Unary(TileUnary::Log),
        "log2" => OpKind::Unary(TileUnary::Log2),
        "sqrt" => OpKind::Unary(TileUnary::Sqrt),
        "sqrt_rn" => OpKind::Unary(TileUnary::SqrtRn),
        "rsqrt" => OpKind::Unary(TileUnary::Rsqrt),
        "sin" => OpKind::Unary(TileUnary::Sin),
        "cos" => OpKind::Unary(TileUnary::Cos),
        "erf" => OpKind::Unary(TileUnary::Erf),
        "floor" => OpKind::Unary(TileUnary::Floor),
        "ceil" => OpKind::Unary(TileUnary::Ceil),
        "abs" if float => OpKind::Unary(TileUnary::AbsF),
        "abs" => OpKind::Unary(TileUnary::AbsI),
        "fma" | "fma_rn" => OpKind::Fma,
        "div_rn" => OpKind::Binary(TileOp::DivRn),
        "fast_dividef" => OpKind::Binary(TileOp::DivF),
        "mulhi" if unsigned => OpKind::Binary(TileOp::MulHiU),
        "double2float_rn" => OpKind::Cast(CastOp::Float),
        "double2float_rz" => OpKind::Cast(CastOp::FloatRtz),
        "int2float_rn" | "ll2float_rn" | "int2double_rn" | "ll2double_rn" => OpKind::Cast(CastOp::SToF),
        "uint2float_rn" | "ull2float_rn" | "uint2double_rn" | "ull2double_rn" => OpKind::Cast(CastOp::UToF),
        "int_as_float" | "float_as_int" | "uint_as_float" | "float_as_uint" | "longlong_as_double" | "double_as_longlong" => {
            OpKind::Cast(CastOp::Bitcast)
        }
        _ => OpKind::Libdevice(symbol),
    }
}
