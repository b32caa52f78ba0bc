//! Modules, functions and the builder that makes them.
//!
//! SSA with structured control flow: a region is one block, so dominance is lexical order and there is no CFG. Ops, values and blocks
//! live in arenas of their function and are named by index. **Invariant:** every block ends in its only terminator, and an op stands in
//! exactly one block or in none (then it is dead).

use smallvec::SmallVec;

use crate::{
    layout::LayoutTable,
    ops::{Constant, Op, OpKind, Origin},
    types::{Scalar, Type},
};

macro_rules! id {
    ($name:ident, $doc:literal) => {
        #[doc = $doc]
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(pub u32);

        impl $name {
            pub fn index(self) -> usize {
                self.0 as usize
            }
        }
    };
}

id!(FunctionId, "A function of its module.");
id!(OpId, "An operation of its function.");
id!(ValueId, "A value of its function.");
id!(BlockId, "A block of its function.");

/// What the verifier may assume of a module; see the crate's documentation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Level {
    /// Tile semantics, no layouts.
    L0,
    /// Every tile has a layout, shared memory is explicit.
    L1,
    /// Asynchronous copies, barriers and fences are explicit.
    L2,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Module {
    pub level: Level,
    /// The first function is the kernel (or the helper that was asked for); the others are its callees.
    pub functions: Vec<Function>,
    pub layouts: LayoutTable,
    /// Warps per CTA; 0 at L0, where nothing depends on it.
    pub num_warps: u32,
    /// Bytes of shared memory, once assigned.
    pub shared_bytes: Option<u32>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Function {
    pub name: String,
    pub params: Vec<Param>,
    pub results: Vec<Type>,
    pub body: BlockId,
    pub ops: Vec<Op>,
    pub values: Vec<Value>,
    pub blocks: Vec<Block>,
}

/// A run-time parameter. Compile-time ones are gone: they are in the specialisation.
#[derive(Debug, Clone, PartialEq)]
pub struct Param {
    pub name: String,
    pub value: ValueId,
    /// The value (for a pointer: the address in bytes) is a multiple of this. 1 when nothing is known.
    pub divisibility: u32,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Value {
    pub ty: Type,
    pub def: ValueDef,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValueDef {
    Result(OpId, u32),
    /// A function's parameter is an argument of its body.
    Argument(BlockId, u32),
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct Block {
    pub args: SmallVec<[ValueId; 4]>,
    pub ops: Vec<OpId>,
}

impl Module {
    pub fn new(level: Level) -> Module {
        Module { level, functions: Vec::new(), layouts: LayoutTable::default(), num_warps: 0, shared_bytes: None }
    }

    /// The kernel.
    pub fn entry(&self) -> &Function {
        &self.functions[0]
    }
}

impl Function {
    pub fn new(name: impl Into<String>) -> Function {
        Function {
            name: name.into(),
            params: Vec::new(),
            results: Vec::new(),
            body: BlockId(0),
            ops: Vec::new(),
            values: Vec::new(),
            blocks: vec![Block::default()],
        }
    }

    /// Bytes of a parameter that is a scalar or a pointer, as a launch passes it.
    pub fn parameter_bytes(&self, param: &Param) -> u32 {
        self.ty(param.value).elem().scalar().map_or(8, Scalar::bytes)
    }

    /// The first of the parameters that are these values one after the other, all of them pointers.
    pub fn parameters_in_a_row(&self, values: &[ValueId]) -> Option<u32> {
        let place = |value: ValueId| {
            let splat = self.def_op(value).map(|id| self.op(id)).filter(|op| matches!(op.kind, OpKind::Splat));
            let value = splat.map_or(value, |op| op.operands[0]);
            self.ty(value).elem().pointee()?;
            self.params.iter().position(|param| param.value == value)
        };
        let first = place(*values.first()?)?;
        values.iter().enumerate().all(|(at, &value)| place(value) == Some(first + at)).then_some(first as u32)
    }

    /// An empty function that about so many operations will stand in.
    pub fn with_room(name: impl Into<String>, ops: usize) -> Function {
        Function { ops: Vec::with_capacity(ops), values: Vec::with_capacity(ops), ..Function::new(name) }
    }

    pub fn op(&self, id: OpId) -> &Op {
        &self.ops[id.index()]
    }

    pub fn op_mut(&mut self, id: OpId) -> &mut Op {
        &mut self.ops[id.index()]
    }

    pub fn value(&self, id: ValueId) -> &Value {
        &self.values[id.index()]
    }

    pub fn ty(&self, id: ValueId) -> &Type {
        &self.values[id.index()].ty
    }

    pub fn block(&self, id: BlockId) -> &Block {
        &self.blocks[id.index()]
    }

    pub fn block_mut(&mut self, id: BlockId) -> &mut Block {
        &mut self.blocks[id.index()]
    }

    /// How much stands in the arenas, for [`Function::truncate_arenas`].
    pub fn arena_lengths(&self) -> [usize; 3] {
        [self.ops.len(), self.values.len(), self.blocks.len()]
    }

    /// Forgets what was made since. It must stand in no block from before, and nothing from before may use it.
    pub fn truncate_arenas(&mut self, lengths: [usize; 3]) {
        self.ops.truncate(lengths[0]);
        self.values.truncate(lengths[1]);
        self.blocks.truncate(lengths[2]);
    }

    /// The op that defines a value, unless it is a block argument.
    pub fn def_op(&self, id: ValueId) -> Option<OpId> {
        match self.value(id).def {
            ValueDef::Result(op, _) => Some(op),
            ValueDef::Argument(..) => None,
        }
    }

    pub fn add_param(&mut self, name: impl Into<String>, ty: Type, divisibility: u32) -> ValueId {
        let value = self.add_block_arg(self.body, ty);
        self.params.push(Param { name: name.into(), value, divisibility });
        value
    }

    pub fn add_block(&mut self) -> BlockId {
        self.blocks.push(Block::default());
        BlockId(self.blocks.len() as u32 - 1)
    }

    pub fn add_block_arg(&mut self, block: BlockId, ty: Type) -> ValueId {
        let index = self.block(block).args.len() as u32;
        let value = self.add_value(ty, ValueDef::Argument(block, index));
        self.block_mut(block).args.push(value);
        value
    }

    fn add_value(&mut self, ty: Type, def: ValueDef) -> ValueId {
        self.values.push(Value { ty, def });
        ValueId(self.values.len() as u32 - 1)
    }

    /// Makes an op that stands in no block yet; the caller places it.
    pub fn create_op(
        &mut self,
        kind: OpKind,
        operands: &[ValueId],
        result_types: impl IntoIterator<Item = Type>,
        regions: &[BlockId],
        origin: Origin,
    ) -> OpId {
        let id = OpId(self.ops.len() as u32);
        let results = result_types
            .into_iter()
            .enumerate()
            .map(|(index, ty)| self.add_value(ty, ValueDef::Result(id, index as u32)))
            .collect();
        self.ops.push(Op {
            kind,
            operands: SmallVec::from_slice(operands),
            results,
            regions: SmallVec::from_slice(regions),
            shared_offset: None,
            origin,
        });
        id
    }

    /// Visits every op that stands in a block, outer before inner, in program order.
    pub fn walk(&self, visit: impl FnMut(BlockId, OpId)) {
        self.walk_regions(&[self.body], visit);
    }

    /// The same of these blocks and all inside them.
    pub fn walk_regions(&self, regions: &[BlockId], mut visit: impl FnMut(BlockId, OpId)) {
        let mut left: Vec<(BlockId, usize)> = regions.iter().rev().map(|&region| (region, 0)).collect();
        'blocks: while let Some((block, start)) = left.pop() {
            for (index, &op) in self.block(block).ops.iter().enumerate().skip(start) {
                visit(block, op);
                let regions = &self.op(op).regions;
                if !regions.is_empty() {
                    left.push((block, index + 1));
                    left.extend(regions.iter().rev().map(|&region| (region, 0)));
                    continue 'blocks;
                }
            }
        }
    }

    /// Whether what a region combines two values to may have other last bits when they change sides: a product is added before it is rounded, a
    /// difference is scaled.
    pub fn rounds_by_side(&self, region: BlockId) -> bool {
        use crate::ops::BinaryOp::{AddF, DivF, DivRn, MulF, RemF, SubF};
        let (mut uneven, mut all) = (0, 0);
        self.walk_regions(&[region], |_, op| {
            let kind = &self.op(op).kind;
            uneven += u32::from(matches!(kind, OpKind::Fma | OpKind::Binary(SubF | MulF | DivF | DivRn | RemF)));
            all += u32::from(matches!(kind, OpKind::Fma | OpKind::Binary(AddF | SubF | MulF | DivF | DivRn | RemF)));
        });
        uneven > 0 && all > 1
    }
}

/// Appends ops to one block of a function.
pub struct Builder<'f> {
    pub function: &'f mut Function,
    pub block: BlockId,
    pub origin: Origin,
}

impl<'f> Builder<'f> {
    pub fn at_end(function: &'f mut Function, block: BlockId) -> Builder<'f> {
        Builder { function, block, origin: Origin::NONE }
    }

    pub fn op(
        &mut self,
        kind: OpKind,
        operands: &[ValueId],
        result_types: impl IntoIterator<Item = Type>,
        regions: &[BlockId],
    ) -> OpId {
        let id = self.function.create_op(kind, operands, result_types, regions, self.origin);
        self.function.block_mut(self.block).ops.push(id);
        id
    }

    /// An op without results.
    pub fn effect(&mut self, kind: OpKind, operands: &[ValueId]) {
        self.op(kind, operands, [], &[]);
    }

    /// What the block holds, which is empty afterwards: for whoever places it elsewhere.
    pub fn take(&mut self) -> Vec<OpId> {
        std::mem::take(&mut self.function.block_mut(self.block).ops)
    }

    /// An op with exactly one result.
    pub fn value(&mut self, kind: OpKind, operands: &[ValueId], ty: Type) -> ValueId {
        let id = self.op(kind, operands, [ty], &[]);
        self.function.op(id).results[0]
    }

    pub fn int(&mut self, value: i64, ty: Type) -> ValueId {
        self.value(OpKind::Constant(Constant::Int(value)), &[], ty)
    }

    pub fn float(&mut self, value: f64, ty: Type) -> ValueId {
        self.value(OpKind::Constant(Constant::Float(value)), &[], ty)
    }

    pub fn i32(&mut self, value: i32) -> ValueId {
        self.int(i64::from(value), Type::scalar(Scalar::I32))
    }
}
