//! The rules of each operation: operands, results, attributes, regions. **Invariant:** one arm a kind, exhaustively; each message says
//! what the kind asks for.

use super::{Checker, layouts::is_address_sized, tile_elem, tile_scalar};
use crate::{
    control::ForOperands,
    layout::{tma, wgmma},
    libdevice::Symbol,
    module::{BlockId, FunctionId, OpId, ValueId},
    ops::*,
    types::{Elem, Scalar, Type},
};

type Rule = Result<(), String>;

/// The message is only written where the rule is broken: every operation of every kernel is asked.
fn ask<Text: Into<String>>(holds: bool, rule: impl FnOnce() -> Text) -> Rule {
    if holds { Ok(()) } else { Err(rule().into()) }
}

/// What an operation is given and gives.
struct Given<'m> {
    id: OpId,
    op: &'m Op,
    name: &'static str,
    types: Vec<&'m Type>,
    results: Vec<&'m Type>,
}

impl Given<'_> {
    fn count(&self, operands: std::ops::RangeInclusive<usize>, wanted: usize) -> Rule {
        ask(operands.contains(&self.types.len()) && self.results.len() == wanted, || {
            format!("`{}` takes {operands:?} operands and gives {wanted} results", self.name)
        })
    }
}

impl Checker<'_> {
    pub(super) fn operation(&mut self, id: OpId, block: BlockId, owners: &[Option<OpId>]) -> Rule {
        let op = self.function.op(id);
        let given = Given {
            id,
            op,
            name: op.kind.name(),
            types: op.operands.iter().map(|&v| self.ty(v)).collect(),
            results: op.results.iter().map(|&v| self.ty(v)).collect(),
        };
        let Given { name, types, results, .. } = &given;
        let regions = op.kind.num_regions();
        ask(op.regions.len() == regions, || format!("`{name}` has {regions} regions"))?;
        if !op.kind.takes_buffers() {
            let shared = types.iter().chain(results).any(|t| tile_elem(t).is_none());
            ask(!shared, || format!("`{name}` does not work on shared buffers"))?;
        }
        let level = op.kind.level();
        ask(self.module.level >= level, || format!("`{name}` begins at {}", level.name()))?;
        match &op.kind {
            OpKind::Constant(constant) => constant_rule(&given, constant),
            OpKind::ProgramId { axis } | OpKind::NumPrograms { axis } => program_id_rule(&given, axis),
            OpKind::SpecialRegister(register) => special_register_rule(&given, register),
            OpKind::Iota { start, end } => iota_rule(&given, start, end),
            OpKind::Splat => splat_rule(&given),
            OpKind::ExpandDims { axis } => expand_dims_rule(&given, axis),
            OpKind::Broadcast => broadcast_rule(&given),
            OpKind::Reshape { reorder: _ } => reshape_rule(&given),
            OpKind::Transpose { order } => transpose_rule(&given, order),
            OpKind::Unary(unary) => self.unary_rule(&given, unary),
            OpKind::Binary(binary) => self.binary_rule(&given, binary),
            OpKind::Compare(predicate) => self.compare_rule(&given, predicate),
            OpKind::Select => self.select_rule(&given),
            OpKind::Choose => self.choose_rule(&given),
            OpKind::Fma => self.fma_rule(&given),
            OpKind::Promise { what: _, values } => promise_rule(&given, values),
            OpKind::Assume => {
                given.count(1..=1, 0)?;
                ask(types[0].is_scalar() && tile_scalar(types[0]) == Some(Scalar::I1), || "`assume` takes one i1")
            }
            OpKind::Cast(cast) => self.cast_types_rule(&given, cast),
            OpKind::AddPtr => self.add_ptr_rule(&given),
            OpKind::Libdevice(symbol) => self.libdevice_rule(&given, symbol),
            OpKind::InlineAsm(asm) => self.inline_asm_rule(&given, asm),
            OpKind::Map { pack } => self.map(id, *pack, types, results),
            OpKind::AtomicCas { sem: _, scope: _ } => self.atomic_cas_rule(&given),
            OpKind::Gather { axis } => gather_rule(&given, axis),
            OpKind::Histogram => self.histogram_rule(&given),
            OpKind::Load(attrs) => self.load_rule(&given, attrs),
            OpKind::Store(attrs) => self.store_rule(&given, attrs),
            OpKind::AtomicRmw { op: atomic, sem: _, scope: _, vector } => self.atomic_rmw_rule(&given, atomic, *vector),
            OpKind::Reduce { axis } => self.reduce_rule(&given, axis),
            OpKind::Scan { axis, reverse: _ } => self.scan_rule(&given, axis),
            OpKind::Dot { precision: _, sum_depth: _ } => {
                given.count(3..=3, 1)?;
                ask(tile_elem(types[2]).is_some(), || "the accumulator of `dot` is a tile")?;
                let ring = types[..2].iter().any(|t| self.module.layouts.ring_slots(t).is_some());
                ask(!ring, || "`dot` takes no ring")?;
                dot_rule(types, results[0])
            }
            OpKind::For(_) => self.for_rule(&given),
            OpKind::While { .. } => self.while_rule(&given),
            OpKind::If => self.if_rule(&given),
            OpKind::Yield | OpKind::Condition => {
                // What it must pass on is checked with the op it ends a region of.
                ask(results.is_empty(), || format!("`{name}` has no results"))?;
                ask(owners[block.index()].is_some(), || format!("`{name}` ends a region, `return` ends a function"))
            }
            OpKind::Return => {
                ask(results.is_empty(), || "`return` has no results")?;
                ask(block == self.function.body, || "`return` ends a function, `yield` ends a region")?;
                ask(types.iter().copied().eq(&self.function.results), || "`return` gives the function's results")
            }
            OpKind::Call { callee } => self.call_rule(&given, callee),
            OpKind::Assert { message: _ } => {
                given.count(1..=1, 0)?;
                ask(tile_scalar(types[0]) == Some(Scalar::I1), || "`assert` takes i1")
            }
            OpKind::Print { .. } => {
                ask(results.is_empty() && types.len() <= 64, || "`print` takes at most 64 operands and gives nothing")
            }
            OpKind::ConvertLayout => convert_layout_rule(&given),
            OpKind::LocalAlloc => self.local_alloc_rule(&given),
            OpKind::LocalIndex => self.local_index_rule(&given),
            OpKind::LocalLoad => {
                given.count(1..=1, 1)?;
                self.buffer_and_tile(name, types[0], results[0])
            }
            OpKind::LocalStore => {
                given.count(2..=2, 0)?;
                self.buffer_and_tile(name, types[1], types[0])
            }
            OpKind::Barrier | OpKind::GridWait | OpKind::GridLaunch => given.count(0..=0, 0),
            OpKind::AsyncCopy(attrs) => self.async_copy_rule(&given, attrs),
            OpKind::AsyncCommit | OpKind::AsyncWait { .. } | OpKind::FenceAsync => given.count(0..=0, 0),
            OpKind::MbarrierInit { .. } | OpKind::MbarrierInvalidate => self.mbarrier_init_rule(&given),
            OpKind::MbarrierWait => mbarrier_wait_rule(&given),
            OpKind::TmaLoad { contiguous, .. } => self.tma_load_rule(&given, contiguous),
            OpKind::TmaStore { contiguous, .. } => self.tma_store_rule(&given, contiguous),
            OpKind::WriteTensorMap { contiguous, block } => self.write_tensor_map_rule(&given, contiguous, block),
            OpKind::Wgmma { turned, sum_depth: _ } => self.wgmma_rule(&given, turned),
            OpKind::WgmmaWait { pending: _ } => {
                ask(types.iter().all(|t| matches!(t, Type::Tile { .. })), || "`wgmma_wait` passes tiles through")?;
                ask(types == results, || "`wgmma_wait` gives its operands")
            }
        }
    }

    fn unary_rule(&self, given: &Given<'_>, unary: &UnaryOp) -> Rule {
        let Given { name, types, results, .. } = given;
        given.count(1..=1, 1)?;
        self.one_shape(types, results)?;
        ask(types[0] == results[0], || format!("`{name}` keeps the type"))?;
        let scalar = tile_scalar(types[0]);
        match unary {
            UnaryOp::AbsI => ask(scalar.is_some_and(Scalar::is_int), || "`abs.i` takes integers"),
            UnaryOp::NegF
            | UnaryOp::AbsF
            | UnaryOp::Floor
            | UnaryOp::Ceil
            | UnaryOp::Sqrt
            | UnaryOp::SqrtRn
            | UnaryOp::Rsqrt
            | UnaryOp::Exp
            | UnaryOp::Exp2
            | UnaryOp::Log
            | UnaryOp::Log2
            | UnaryOp::Sin
            | UnaryOp::Cos
            | UnaryOp::Tanh
            | UnaryOp::Erf => ask(scalar.is_some_and(Scalar::is_float), || format!("`{name}` takes floats")),
        }
    }

    fn binary_rule(&self, given: &Given<'_>, binary: &BinaryOp) -> Rule {
        let Given { name, types, results, .. } = given;
        given.count(2..=2, 1)?;
        self.one_shape(types, results)?;
        ask(types[0] == types[1] && types[0] == results[0], || format!("`{name}` has one type throughout"))?;
        let float = binary.is_float();
        let fits = tile_scalar(types[0]).is_some_and(|s| s.is_float() == float);
        ask(fits, || format!("`{name}` takes {}", if float { "floats" } else { "integers" }))
    }

    fn compare_rule(&self, given: &Given<'_>, predicate: &Predicate) -> Rule {
        let Given { name, types, results, .. } = given;
        given.count(2..=2, 1)?;
        self.one_shape(types, results)?;
        ask(types[0] == types[1], || format!("`{name}` compares equal types"))?;
        let float = predicate_is_float(*predicate);
        let fits = match types[0].elem() {
            Elem::Scalar(s) => s.is_float() == float,
            Elem::Ptr(_) => !float,
        };
        ask(fits, || format!("`{name}` compares {}", if float { "floats" } else { "integers or pointers" }))?;
        ask(tile_scalar(results[0]) == Some(Scalar::I1), || format!("`{name}` gives i1"))
    }

    fn select_rule(&self, given: &Given<'_>) -> Rule {
        let Given { types, results, .. } = given;
        given.count(3..=3, 1)?;
        self.one_shape(types, results)?;
        ask(tile_scalar(types[0]) == Some(Scalar::I1), || "the condition of `select` is i1")?;
        ask(types[1] == types[2] && types[1] == results[0], || "both values and the result of `select` have one type")
    }

    fn choose_rule(&self, given: &Given<'_>) -> Rule {
        let Given { types, results, .. } = given;
        given.count(2..=types.len().max(2), 1)?;
        self.one_shape(types, results)?;
        ask(tile_scalar(types[0]) == Some(Scalar::I32), || "the number of `choose` is i32")?;
        ask(types[1..].iter().all(|ty| *ty == results[0]), || "the values and the result of `choose` have one type")
    }

    fn fma_rule(&self, given: &Given<'_>) -> Rule {
        let Given { types, results, .. } = given;
        given.count(3..=3, 1)?;
        self.one_shape(types, results)?;
        ask(types.iter().all(|t| *t == results[0]), || "`fma` has one type throughout")?;
        ask(tile_scalar(types[0]).is_some_and(Scalar::is_float), || "`fma` takes floats")
    }

    fn cast_types_rule(&self, given: &Given<'_>, cast: &CastOp) -> Rule {
        let Given { types, results, .. } = given;
        given.count(1..=1, 1)?;
        self.one_shape(types, results)?;
        cast_rule(*cast, types[0].elem(), results[0].elem())
    }

    fn add_ptr_rule(&self, given: &Given<'_>) -> Rule {
        let Given { types, results, .. } = given;
        given.count(2..=2, 1)?;
        self.one_shape(types, results)?;
        ask(types[0] == results[0] && types[0].elem().pointee().is_some(), || "`addptr` takes and gives pointers")?;
        ask(matches!(tile_scalar(types[1]), Some(Scalar::I32 | Scalar::I64)), || "the offset of `addptr` is i32 or i64")
    }

    fn libdevice_rule(&self, given: &Given<'_>, symbol: &Symbol) -> Rule {
        let Given { types, results, .. } = given;
        let overload = symbol.overload();
        let n = overload.args.len();
        given.count(n..=n, 1)?;
        self.one_shape(types, results)?;
        let fits = types.iter().map(|t| tile_scalar(t)).eq(overload.args.iter().map(|a| Some(a.scalar())))
            && tile_scalar(results[0]) == Some(overload.result.scalar());
        ask(fits, || format!("the operands and the result are those of `{}`", overload.symbol))
    }

    fn inline_asm_rule(&self, given: &Given<'_>, asm: &InlineAsm) -> Rule {
        let Given { types, results, .. } = given;
        ask(!results.is_empty(), || "`inline_asm` has a result")?;
        self.one_shape(types, results)?;
        ask(asm.pack >= 1, || "`pack` is at least 1")
    }

    fn atomic_cas_rule(&self, given: &Given<'_>) -> Rule {
        let Given { name, types, results, .. } = given;
        given.count(3..=3, 1)?;
        self.one_shape(types, results)?;
        self.pointee(name, types[0], types[1])?;
        ask(types[1] == types[2] && types[1] == results[0], || format!("`{name}` has one type of value throughout"))?;
        ask(matches!(types[1].elem().bits(), 16 | 32 | 64), || format!("`{name}` works on 16, 32 and 64 bits"))
    }

    fn histogram_rule(&self, given: &Given<'_>) -> Rule {
        let Given { name, types, results, .. } = given;
        given.count(1..=2, 1)?;
        self.one_shape(types, &[])?;
        ask(types[0].shape().len() == 1, || "`histogram` counts a vector")?;
        ask(tile_scalar(types[0]).is_some_and(Scalar::is_int), || "`histogram` counts integers")?;
        mask(name, types.get(1))?;
        let result = tile_scalar(results[0]) == Some(Scalar::I32) && results[0].shape().len() == 1;
        ask(result, || "`histogram` gives a vector of i32")
    }

    fn load_rule(&self, given: &Given<'_>, attrs: &LoadAttrs) -> Rule {
        let Given { types, results, .. } = given;
        given.count(1..=3, 1)?;
        self.one_shape(types, results)?;
        self.pointee("load", types[0], results[0])?;
        mask("load", types.get(1))?;
        ask(types.get(2).is_none_or(|t| *t == results[0]), || "`other` has the type of the result")?;
        vector(attrs.vector)
    }

    fn store_rule(&self, given: &Given<'_>, attrs: &StoreAttrs) -> Rule {
        let Given { types, results, .. } = given;
        given.count(2..=3, 0)?;
        self.one_shape(types, results)?;
        self.pointee("store", types[0], types[1])?;
        mask("store", types.get(2))?;
        vector(attrs.vector)
    }

    fn atomic_rmw_rule(&self, given: &Given<'_>, atomic: &AtomicOp, width: u8) -> Rule {
        let Given { name, types, results, .. } = given;
        given.count(2..=3, 1)?;
        self.one_shape(types, results)?;
        self.pointee(name, types[0], types[1])?;
        ask(types[1] == results[0], || format!("`{name}` gives the old value"))?;
        mask(name, types.get(2))?;
        vector(width)?;
        let scalar = tile_scalar(types[1]);
        let has_vectors = *atomic == AtomicOp::AddF && scalar.is_some_and(|s| s.bits() <= 32);
        ask(width <= 1 || has_vectors, || format!("`{name}` has no vectors; sums of f16, bf16 and f32 have"))?;
        let fits = match atomic {
            AtomicOp::AddF => {
                matches!(scalar, Some(Scalar::F16 | Scalar::BF16 | Scalar::F32 | Scalar::F64))
            }
            AtomicOp::MinF | AtomicOp::MaxF => matches!(scalar, Some(Scalar::F16 | Scalar::BF16)),
            AtomicOp::Exchange => scalar.is_some_and(|s| s.bits() >= 32),
            AtomicOp::Add
            | AtomicOp::MinS
            | AtomicOp::MaxS
            | AtomicOp::MinU
            | AtomicOp::MaxU
            | AtomicOp::And
            | AtomicOp::Or
            | AtomicOp::Xor => matches!(scalar, Some(Scalar::I32 | Scalar::I64)),
        };
        ask(fits, || format!("`{name}` does not work on {}", types[1].elem()))
    }

    fn reduce_rule(&self, given: &Given<'_>, axis: &u8) -> Rule {
        let Given { types, results, .. } = given;
        let n = types.len();
        ask(n >= 1 && results.len() == n, || "`reduce` gives one result for each operand")?;
        self.collective(given.id, *axis, types)?;
        for (from, to) in types.iter().zip(results) {
            let mut shape = from.shape().clone();
            shape.remove(usize::from(*axis));
            ask(from.elem() == to.elem() && *to.shape() == shape, || {
                format!("`reduce` drops axis {axis}: the result is of shape {:?}", shape.as_slice())
            })?;
            ask(to.layout() == results[0].layout(), || "the results of `reduce` share one layout")?;
        }
        Ok(())
    }

    fn scan_rule(&self, given: &Given<'_>, axis: &u8) -> Rule {
        let Given { types, results, .. } = given;
        ask(!types.is_empty() && results.len() == types.len(), || "`scan` gives one result for each operand")?;
        self.collective(given.id, *axis, types)?;
        ask(types == results, || "the results of `scan` have the operands' types")
    }

    fn for_rule(&self, given: &Given<'_>) -> Rule {
        let Given { op, types, results, .. } = given;
        ask(types.len() >= 3, || "`for` takes a lower bound, an upper bound and a step")?;
        let ForOperands { lower, upper, step, init } = op.for_operands();
        let bound = self.ty(lower);
        ask(
            bound.is_scalar() && matches!(tile_scalar(bound), Some(Scalar::I32 | Scalar::I64)),
            || "the bounds of `for` are i32 or i64 scalars",
        )?;
        ask(self.ty(upper) == bound && self.ty(step) == bound, || "bounds and step of `for` have one type")?;
        ask(
            init.iter().map(|&v| self.ty(v)).eq(results.iter().copied()),
            || "the results of `for` have the types of the initial values",
        )?;
        let expected: Vec<&Type> = std::iter::once(bound).chain(results.iter().copied()).collect();
        self.region_arguments(op.regions[0], &expected)?;
        self.region_end(op.regions[0], |k| matches!(k, OpKind::Yield), results)
    }

    fn while_rule(&self, given: &Given<'_>) -> Rule {
        let Given { op, types, results, .. } = given;
        self.region_arguments(op.regions[0], types)?;
        let i1 = Type::scalar(Scalar::I1);
        let passed: Vec<&Type> = std::iter::once(&i1).chain(results.iter().copied()).collect();
        self.region_end(op.regions[0], |k| matches!(k, OpKind::Condition), &passed)?;
        self.region_arguments(op.regions[1], results)?;
        self.region_end(op.regions[1], |k| matches!(k, OpKind::Yield), types)
    }

    fn if_rule(&self, given: &Given<'_>) -> Rule {
        let Given { op, types, results, .. } = given;
        ask(types.len() == 1 && *types[0] == Type::scalar(Scalar::I1), || "`if` takes an i1 scalar")?;
        for &region in &op.regions {
            self.region_arguments(region, &[])?;
            self.region_end(region, |k| matches!(k, OpKind::Yield), results)?;
        }
        Ok(())
    }

    fn call_rule(&self, given: &Given<'_>, callee: &FunctionId) -> Rule {
        let Given { types, results, .. } = given;
        let Some(callee) = self.module.functions.get(callee.index()) else {
            return Err("the callee does not exist".into());
        };
        // The callee's own structure may be broken and is reported there.
        let wanted = callee.params.iter().map(|p| callee.values.get(p.value.index()).map(|v| &v.ty));
        ask(wanted.eq(types.iter().map(|t| Some(*t))), || format!("the operands are `@{}`'s parameters", callee.name))?;
        ask(results.iter().copied().eq(&callee.results), || format!("the results are those of `@{}`", callee.name))
    }

    fn local_alloc_rule(&self, given: &Given<'_>) -> Rule {
        let Given { name, types, results, .. } = given;
        given.count(0..=1, 1)?;
        match types.first() {
            Some(tile) => self.buffer_and_tile(name, results[0], tile),
            None => ask(results[0].is_buffer(), || "`local_alloc` gives a shared buffer"),
        }
    }

    fn local_index_rule(&self, given: &Given<'_>) -> Rule {
        let Given { types, results, .. } = given;
        given.count(2..=2, 1)?;
        let slots = self.module.layouts.ring_slots(types[0]);
        ask(slots.is_some() && *types[1] == Type::scalar(Scalar::I32), || "`local_index` takes a ring and an i32")?;
        let slot = types[0].slot();
        ask(slot.as_ref() == Some(results[0]), || "`local_index` gives one buffer of the ring")
    }

    fn async_copy_rule(&self, given: &Given<'_>, attrs: &AsyncCopyAttrs) -> Rule {
        let Given { name, types, .. } = given;
        given.count(2..=3, 0)?;
        vector(attrs.vector)?;
        let (pointer, buffer) = (types[0], types[1]);
        ask(buffer.is_buffer() && self.module.layouts.ring_slots(buffer).is_none(), || "`async_copy` copies to a shared buffer")?;
        ask(tile_elem(pointer).is_some() && !pointer.is_scalar() && pointer.shape() == buffer.shape(), || {
            format!("`async_copy` of `{pointer}` to `{buffer}`: the shapes differ")
        })?;
        self.pointee(name, pointer, buffer)?;
        match types.get(2) {
            Some(given) => {
                mask(name, Some(given))?;
                self.one_shape(&[pointer, given], &[])
            }
            None => Ok(()),
        }
    }

    fn mbarrier_init_rule(&self, given: &Given<'_>) -> Rule {
        let Given { op, name, types, .. } = given;
        given.count(1..=1, 0)?;
        let slot = types[0].slot().filter(|_| self.module.layouts.ring_slots(types[0]).is_some());
        ask(slot.is_some_and(|slot| is_mbarrier(&slot)), || format!("`{name}` takes a ring of `i64[1]`"))?;
        ask(!matches!(op.kind, OpKind::MbarrierInit { count: 0 }), || "somebody arrives at an mbarrier")
    }

    fn tma_load_rule(&self, given: &Given<'_>, contiguous: &u8) -> Rule {
        let operands =
            tma::Operands::of(&given.op.operands).ok_or("`tma_load` takes a tensor, a block, an mbarrier and an i1")?;
        self.block_copy(given, &operands.copied, *contiguous)?;
        ask(is_mbarrier(self.ty(operands.barrier)), || "`tma_load` arrives at an mbarrier")?;
        ask(*self.ty(operands.runs) == Type::scalar(Scalar::I1), || "whether `tma_load` runs is an i1")
    }

    fn tma_store_rule(&self, given: &Given<'_>, contiguous: &u8) -> Rule {
        let copied = tma::Copied::of_store(&given.op.operands).ok_or("`tma_store` takes a tensor, a block and a buffer")?;
        self.block_copy(given, &copied, *contiguous)
    }

    /// A block of a tensor that is copied to or from a buffer.
    fn block_copy(&self, given: &Given<'_>, copied: &tma::Copied<'_>, contiguous: u8) -> Rule {
        let Given { name, results, .. } = given;
        ask(results.is_empty(), || format!("`{name}` has no results"))?;
        let buffer = self.ty(copied.buffer);
        let is_block = buffer.is_buffer() && self.module.layouts.ring_slots(buffer).is_none();
        ask(is_block, || format!("`{name}` copies a shared buffer"))?;
        ask(buffer.shape().len() == copied.starts.len(), || format!("a buffer of `{name}` has the axes of the tensor"))?;
        self.tensor(&copied.tensor, contiguous)?;
        self.pointee(name, self.ty(copied.tensor.base), buffer)?;
        let start = |&v: &ValueId| *self.ty(v) == Type::scalar(Scalar::I32);
        ask(copied.starts.iter().all(start), || "a block begins at i32 coordinates")
    }

    fn write_tensor_map_rule(&self, given: &Given<'_>, contiguous: &u8, block: &[u32]) -> Rule {
        let Given { op, name, results, .. } = given;
        ask(results.is_empty(), || format!("`{name}` has no results"))?;
        let tensor = tma::Tensor::of(&op.operands).ok_or("`write_tensor_map` takes a tensor")?;
        ask(block.len() == tensor.extents.len(), || "a block has the axes of its tensor")?;
        ask(self.ty(tensor.base).elem().pointee().is_some(), || "the base of a tensor is a pointer")?;
        self.tensor(&tensor, *contiguous)
    }

    fn tensor(&self, tensor: &tma::Tensor<'_>, contiguous: u8) -> Rule {
        ask(usize::from(contiguous) < tensor.extents.len(), || "the contiguous axis is one of the tensor's")?;
        ask(self.ty(tensor.base).is_scalar(), || "the base of a tensor is a scalar")?;
        let number = |&v: &ValueId| self.ty(v).is_scalar() && matches!(tile_scalar(self.ty(v)), Some(Scalar::I32 | Scalar::I64));
        ask(tensor.extents.iter().chain(tensor.strides).all(number), || "extents and strides are i32 or i64")
    }

    fn wgmma_rule(&self, given: &Given<'_>, turned: &[bool; 2]) -> Rule {
        let Given { types, results, .. } = given;
        given.count(3..=3, 1)?;
        let matrix = |n: usize| wgmma::matrix_shape(types[n].shape(), turned[n]);
        ask(matrix(0).len() == 2 && matrix(1).len() == 2, || "`wgmma` takes matrices of rank 2")?;
        let shared = |t: &Type| t.is_buffer() && self.module.layouts.ring_slots(t).is_none();
        ask(shared(types[1]), || "the right operand of `wgmma` is a shared buffer")?;
        ask(
            shared(types[0]) || tile_elem(types[0]).is_some() && !turned[0],
            || "a turned operand of `wgmma` is a shared buffer",
        )?;
        ask(matches!(types[2], Type::Tile { .. }), || "the accumulator of `wgmma` is a tile")?;
        let read = |n: usize| Type::tile(types[n].elem(), matrix(n));
        dot_rule(&[&read(0), &read(1), types[2]], results[0])?;
        ask(tile_scalar(results[0]) != Some(Scalar::F64), || "`wgmma` does not multiply f64")
    }

    /// Elementwise: one shape, and one layout where there are layouts.
    fn one_shape(&self, types: &[&Type], results: &[&Type]) -> Rule {
        let mut all = types.iter().chain(results);
        let Some(first) = all.next() else { return Ok(()) };
        for ty in all {
            ask(ty.shape() == first.shape(), || format!("`{first}` and `{ty}` differ in shape"))?;
            ask(ty.layout() == first.layout(), || format!("`{first}` and `{ty}` differ in layout"))?;
        }
        Ok(())
    }

    fn pointee(&self, name: &str, pointer: &Type, value: &Type) -> Rule {
        ask(pointer.elem().pointee().is_some_and(|p| Elem::Scalar(p) == value.elem()), || {
            format!("`{name}` of {} through {}", value.elem(), pointer.elem())
        })
    }

    fn buffer_and_tile(&self, name: &str, buffer: &Type, tile: &Type) -> Rule {
        let shared = buffer.is_buffer() && matches!(tile, Type::Tile { .. });
        let same = shared && buffer.elem() == tile.elem() && buffer.shape() == tile.shape();
        ask(same, || format!("`{name}` joins a tile and a shared buffer of one element and shape"))
    }

    fn region_arguments(&self, region: BlockId, expected: &[&Type]) -> Rule {
        let args = &self.function.block(region).args;
        if args.iter().map(|&a| self.ty(a)).eq(expected.iter().copied()) {
            return Ok(());
        }
        let spelled: Vec<String> = expected.iter().map(|t| t.to_string()).collect();
        Err(format!("the region's arguments are ({})", spelled.join(", ")))
    }

    fn region_end(&self, region: BlockId, kind: fn(&OpKind) -> bool, expected: &[&Type]) -> Rule {
        let last = self.function.block(region).ops.last().map(|&op| self.function.op(op));
        let passed = |values: &[ValueId]| values.iter().map(|&v| self.ty(v)).eq(expected.iter().copied());
        if last.is_some_and(|op| kind(&op.kind) && passed(&op.operands)) {
            return Ok(());
        }
        let name = if kind(&OpKind::Yield) { "yield" } else { "condition" };
        let spelled: Vec<String> = expected.iter().map(|t| t.to_string()).collect();
        Err(format!("the region ends in `{name}` of ({})", spelled.join(", ")))
    }

    /// What `reduce` and `scan` share: operands of one shape, a region of scalars.
    fn collective(&self, id: OpId, axis: u8, types: &[&Type]) -> Rule {
        let op = self.function.op(id);
        let name = op.kind.name();
        self.one_shape(types, &[])?;
        ask(usize::from(axis) < types[0].shape().len(), || format!("`{name}` has no axis {axis}"))?;
        let scalars: Vec<Type> =
            types.iter().map(|t| Type::Tile { elem: t.elem(), shape: Default::default(), layout: None }).collect();
        let both: Vec<&Type> = scalars.iter().chain(&scalars).collect();
        let yielded: Vec<&Type> = scalars.iter().collect();
        self.region_arguments(op.regions[0], &both)?;
        self.region_end(op.regions[0], |k| matches!(k, OpKind::Yield), &yielded)?;
        for &inner in &self.function.block(op.regions[0]).ops {
            self.scalar_only(inner, &op.kind)?;
        }
        Ok(())
    }

    /// A region of scalars: the packed elements of every operand in, those of every result out.
    fn map(&self, id: OpId, pack: u32, types: &[&Type], results: &[&Type]) -> Rule {
        let op = self.function.op(id);
        ask(!types.is_empty() && !results.is_empty(), || "`map` takes a tile and gives one")?;
        self.one_shape(types, results)?;
        let elements = types[0].num_elements();
        ask(
            pack >= 1 && u64::from(pack) <= elements && elements.is_multiple_of(u64::from(pack)),
            || "`pack` divides the elements",
        )?;
        let packed = |all: &[&Type]| -> Vec<Type> {
            let scalar = |t: &Type| Type::Tile { elem: t.elem(), shape: Default::default(), layout: None };
            all.iter().flat_map(|t| std::iter::repeat_n(scalar(t), pack as usize)).collect()
        };
        let (given, yielded) = (packed(types), packed(results));
        self.region_arguments(op.regions[0], &given.iter().collect::<Vec<_>>())?;
        self.region_end(op.regions[0], |k| matches!(k, OpKind::Yield), &yielded.iter().collect::<Vec<_>>())?;
        for &inner in &self.function.block(op.regions[0]).ops {
            self.scalar_only(inner, &op.kind)?;
        }
        Ok(())
    }

    /// The region of a collective computes on scalars and touches no memory.
    fn scalar_only(&self, id: OpId, outer: &OpKind) -> Rule {
        let op = self.function.op(id);
        let scalar = op.operands.iter().chain(&op.results).all(|&v| self.ty(v).is_scalar());
        ask(scalar && op.kind.is_scalar_code_of(outer), || {
            format!("the region of `{}` computes on scalars: no `{}` here", outer.name(), op.kind.name())
        })?;
        for &region in &op.regions {
            for &inner in &self.function.block(region).ops {
                self.scalar_only(inner, outer)?;
            }
        }
        Ok(())
    }
}

fn constant_rule(given: &Given<'_>, constant: &Constant) -> Rule {
    let Given { results, .. } = given;
    given.count(0..=0, 1)?;
    let scalar = tile_scalar(results[0]);
    match constant {
        Constant::Undefined => Ok(()),
        Constant::Int(_) => ask(scalar.is_some_and(Scalar::is_int), || "an integer constant has an integer type"),
        Constant::Float(_) => ask(scalar.is_some_and(Scalar::is_float), || "a float constant has a float type"),
    }
}

fn program_id_rule(given: &Given<'_>, axis: &u8) -> Rule {
    let Given { name, results, .. } = given;
    given.count(0..=0, 1)?;
    ask(*axis < 3, || "an axis of the grid is x, y or z")?;
    ask(*results[0] == Type::scalar(Scalar::I32), || format!("`{name}` gives an i32"))
}

fn special_register_rule(given: &Given<'_>, register: &SpecialRegister) -> Rule {
    let Given { results, .. } = given;
    given.count(0..=0, 1)?;
    let scalar = match register {
        SpecialRegister::GlobalTimer => Scalar::I64,
        SpecialRegister::SmId => Scalar::I32,
    };
    ask(*results[0] == Type::scalar(scalar), || format!("`{}` gives an {scalar}", register.name()))
}

fn iota_rule(given: &Given<'_>, start: &i32, end: &i32) -> Rule {
    let Given { results, .. } = given;
    given.count(0..=0, 1)?;
    let extent = i64::from(*end) - i64::from(*start);
    ask(
        tile_scalar(results[0]) == Some(Scalar::I32)
            && results[0].shape().len() == 1
            && i64::from(results[0].shape()[0]) == extent,
        || format!("`iota {start}, {end}` gives i32[{extent}]"),
    )
}

fn splat_rule(given: &Given<'_>) -> Rule {
    let Given { types, results, .. } = given;
    given.count(1..=1, 1)?;
    ask(types[0].is_scalar(), || "`splat` takes a scalar")?;
    ask(types[0].elem() == results[0].elem(), || "`splat` keeps the element")
}

fn expand_dims_rule(given: &Given<'_>, axis: &u8) -> Rule {
    let Given { types, results, .. } = given;
    given.count(1..=1, 1)?;
    let mut shape = types[0].shape().clone();
    ask(usize::from(*axis) <= shape.len(), || "the axis is at most the rank")?;
    shape.insert(usize::from(*axis), 1);
    ask(types[0].elem() == results[0].elem(), || "`expand_dims` keeps the element")?;
    ask(*results[0].shape() == shape, || format!("`expand_dims` gives shape {:?}", shape.as_slice()))
}

fn broadcast_rule(given: &Given<'_>) -> Rule {
    let Given { types, results, .. } = given;
    given.count(1..=1, 1)?;
    ask(types[0].elem() == results[0].elem(), || "`broadcast` keeps the element")?;
    let (from, to) = (types[0].shape(), results[0].shape());
    ask(
        from.len() == to.len() && from.iter().zip(to).all(|(f, t)| f == t || *f == 1),
        || "`broadcast` keeps the rank and grows extents of 1 only",
    )
}

fn reshape_rule(given: &Given<'_>) -> Rule {
    let Given { types, results, .. } = given;
    given.count(1..=1, 1)?;
    ask(types[0].elem() == results[0].elem(), || "`reshape` keeps the element")?;
    ask(types[0].num_elements() == results[0].num_elements(), || "`reshape` keeps the number of elements")
}

fn transpose_rule(given: &Given<'_>, order: &[u8]) -> Rule {
    let Given { types, results, .. } = given;
    given.count(1..=1, 1)?;
    ask(types[0].elem() == results[0].elem(), || "`transpose` keeps the element")?;
    let from = types[0].shape();
    let mut sorted = order.to_vec();
    sorted.sort_unstable();
    ask(sorted.iter().map(|&a| usize::from(a)).eq(0..from.len()), || "`order` names every axis once")?;
    ask(results[0].shape().iter().eq(order.iter().map(|&a| &from[usize::from(a)])), || "the result's extents follow `order`")
}

fn promise_rule(given: &Given<'_>, values: &[u32]) -> Rule {
    let Given { types, results, .. } = given;
    given.count(1..=1, 1)?;
    ask(types[0] == results[0], || "a promise is about its operand, whose type it has")?;
    ask(values.len() == types[0].shape().len().max(1), || "a promise has one number for each axis")
}

fn gather_rule(given: &Given<'_>, axis: &u8) -> Rule {
    let Given { types, results, .. } = given;
    given.count(2..=2, 1)?;
    let axis = usize::from(*axis);
    let (source, index) = (types[0].shape(), types[1].shape());
    ask(tile_scalar(types[1]).is_some_and(Scalar::is_int), || "the index of `gather` is integers")?;
    ask(axis < source.len() && source.len() == index.len(), || "source and index of `gather` have one rank, and the axis")?;
    let same = (0..source.len()).all(|d| d == axis || source[d] == index[d]);
    ask(same, || "source and index of `gather` agree off the axis")?;
    ask(
        results[0].elem() == types[0].elem() && results[0].shape() == index,
        || "`gather` gives the source's element in the index's shape",
    )
}

fn convert_layout_rule(given: &Given<'_>) -> Rule {
    let Given { types, results, .. } = given;
    given.count(1..=1, 1)?;
    let same = types[0].elem() == results[0].elem() && types[0].shape() == results[0].shape();
    ask(same, || "`convert_layout` changes nothing but the layout")
}

fn mbarrier_wait_rule(given: &Given<'_>) -> Rule {
    let Given { types, .. } = given;
    given.count(2..=2, 0)?;
    ask(is_mbarrier(types[0]) && *types[1] == Type::scalar(Scalar::I32), || "`mbarrier_wait` takes an mbarrier and an i32")
}

/// A buffer that holds an mbarrier.
fn is_mbarrier(ty: &Type) -> bool {
    matches!(ty, Type::Shared { elem: Scalar::I64, shape, .. } if shape[..] == [1])
}

fn mask(name: &str, ty: Option<&&Type>) -> Rule {
    ask(ty.is_none_or(|t| tile_scalar(t) == Some(Scalar::I1)), || format!("the mask of `{name}` is i1"))
}

fn vector(vector: u8) -> Rule {
    ask(vector == 0 || vector.is_power_of_two(), || "`vector` is a power of two")
}

fn predicate_is_float(predicate: Predicate) -> bool {
    match predicate {
        Predicate::Eq
        | Predicate::Ne
        | Predicate::LtS
        | Predicate::LeS
        | Predicate::GtS
        | Predicate::GeS
        | Predicate::LtU
        | Predicate::LeU
        | Predicate::GtU
        | Predicate::GeU => false,
        Predicate::EqF | Predicate::NeF | Predicate::LtF | Predicate::LeF | Predicate::GtF | Predicate::GeF => true,
    }
}

fn cast_rule(cast: CastOp, from: Elem, to: Elem) -> Rule {
    let int = |e: Elem| e.scalar().is_some_and(Scalar::is_int);
    let float = |e: Elem| e.scalar().is_some_and(Scalar::is_float);
    let pointer = |e: Elem| e.pointee().is_some();
    let (holds, rule) = match cast {
        CastOp::Trunc => (int(from) && int(to) && to.bits() < from.bits(), "takes an integer to a narrower one"),
        CastOp::ExtS | CastOp::ExtU => (int(from) && int(to) && to.bits() > from.bits(), "takes an integer to a wider one"),
        CastOp::Float | CastOp::FloatRtz => (float(from) && float(to), "takes a float to a float"),
        CastOp::SToF | CastOp::UToF => (int(from) && float(to), "takes an integer to a float"),
        CastOp::FToS | CastOp::FToU => (float(from) && int(to), "takes a float to an integer"),
        CastOp::Bitcast => (!pointer(from) && !pointer(to) && from.bits() == to.bits(), "keeps the width, of numbers"),
        CastOp::PtrToInt => (pointer(from) && int(to) && is_address_sized(to), "takes a pointer to i64"),
        CastOp::IntToPtr => (int(from) && is_address_sized(from) && pointer(to), "takes i64 to a pointer"),
        CastOp::PtrCast => (pointer(from) && pointer(to), "takes a pointer to a pointer"),
    };
    ask(holds, || format!("`{}` {rule}, not {from} to {to}", cast.name()))
}

fn dot_rule(types: &[&Type], result: &Type) -> Rule {
    let (a, b) = (types[0], types[1]);
    ask(types[2] == result, || "the accumulator and the result of `dot` have one type")?;
    let rank = a.shape().len();
    ask(rank >= 2 && b.shape().len() == rank && result.shape().len() == rank, || "`dot` takes matrices of one rank")?;
    let (m, k, n) = (a.shape()[rank - 2], a.shape()[rank - 1], b.shape()[rank - 1]);
    ask(b.shape()[rank - 2] == k, || format!("`dot` of `{a}` and `{b}`: the inner extents differ"))?;
    let batch = rank - 2;
    ask(
        a.shape()[..batch] == b.shape()[..batch]
            && a.shape()[..batch] == result.shape()[..batch]
            && result.shape()[batch..] == [m, n],
        || format!("`dot` of `{a}` and `{b}` does not give `{result}`"),
    )?;
    let f8 = |s| matches!(s, Scalar::F8E4M3 | Scalar::F8E5M2);
    let fits = match (a.elem().scalar(), b.elem().scalar(), result.elem().scalar()) {
        (Some(Scalar::I8), Some(Scalar::I8), Some(Scalar::I32)) => true,
        (Some(Scalar::F16), Some(Scalar::F16), Some(Scalar::F16 | Scalar::F32)) => true,
        (Some(Scalar::BF16), Some(Scalar::BF16), Some(Scalar::F32)) => true,
        (Some(Scalar::F32), Some(Scalar::F32), Some(Scalar::F32)) => true,
        (Some(Scalar::F64), Some(Scalar::F64), Some(Scalar::F64)) => true,
        (Some(a), Some(b), Some(Scalar::F16 | Scalar::F32)) => f8(a) && f8(b),
        _ => false,
    };
    ask(fits, || format!("`dot` of {} and {} does not accumulate in {}", a.elem(), b.elem(), result.elem()))?;
    let least = if a.elem().bits() == 8 { 32 } else { 16 };
    ask(k >= least, || format!("the inner extent of `dot` on {} is at least {least}, not {k}", a.elem()))
}
