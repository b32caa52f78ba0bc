//! Loads and stores that the tensor memory accelerator can do: blocks of a tensor whose base, extents and strides are the kernel's parameters, or
//! come through a tensor descriptor.
//!
//! A tensor descriptor, a block pointer and pointer arithmetic come here alike, as a tile of pointers and a mask. **Invariant:** a window says
//! exactly what is accessed: the address of an element is the base and its index times the stride on each axis, and the mask is
//! whether every index is inside; what is not proved so has no window. Base and strides are multiples of 16 bytes: they are known to be, or a
//! descriptor has them, which the hardware takes no others of.

use tritium_semantics::target::Feature;
use tritium_tile::{
    Function, OpId, OpKind, Scalar, Type, ValueDef, ValueId,
    layout::{SharedLayout, tma},
    ops::{BinaryOp, CacheOp, CastOp, Constant, DescriptorSource, Predicate},
    rewrite,
};

pub(in crate::passes) use super::super::write_tensor_maps::Number;
use super::{
    super::{CompileOptions, write_tensor_maps::DescribedTensor},
    schedule::is_zero,
};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::passes) struct Window {
    pub(in crate::passes) base: ValueId,
    /// By axis.
    pub(in crate::passes) extents: Vec<Number>,
    pub(in crate::passes) strides: Vec<Number>,
    /// i32 scalars, computed anywhere.
    pub(in crate::passes) starts: Vec<Number>,
    pub(in crate::passes) contiguous: u8,
    /// In which the unit leaves the block.
    pub(in crate::passes) layout: SharedLayout,
    /// Whether the program describes the tensor to the unit: no launch knows it, or the kernel makes the descriptor.
    pub(in crate::passes) own_map: bool,
}

impl Window {
    /// The values that describe the tensor.
    fn tensor(&self) -> impl Iterator<Item = ValueId> {
        [self.base].into_iter().chain(self.extents.iter().chain(&self.strides).filter_map(Number::value))
    }

    /// The operands of a copy that say where its block is; `number` makes a constant.
    pub(in crate::passes) fn operands(
        &self,
        mut value: impl FnMut(ValueId) -> ValueId,
        mut number: impl FnMut(i64, Scalar) -> ValueId,
    ) -> Vec<ValueId> {
        let mut operands = vec![self.base];
        for (numbers, scalar) in [(&self.extents, Scalar::I64), (&self.strides, Scalar::I64), (&self.starts, Scalar::I32)] {
            operands.extend(numbers.iter().map(|&part| match part {
                Number::Value(known) => value(known),
                Number::Constant(constant) => number(constant, scalar),
            }));
        }
        operands
    }

    /// What the copy of a trip is computed from.
    pub(super) fn roots(&self) -> Vec<ValueId> {
        self.starts.iter().filter_map(Number::value).collect()
    }
}

struct Search<'f> {
    function: &'f Function,
    never_negative: &'f dyn Fn(ValueId) -> bool,
    /// What the access goes through.
    descriptor: DescriptorSource,
}

/// One axis of what has been found of a window.
#[derive(Debug, Clone, Copy, Default)]
struct Axis {
    start: Option<Number>,
    stride: Option<Number>,
    extent: Option<Number>,
    not_negative: bool,
}

/// The window that a load reads, if the unit of this SM can read it.
pub(in crate::passes) fn of_load(
    function: &Function,
    never_negative: &dyn Fn(ValueId) -> bool,
    load: OpId,
    options: &CompileOptions,
) -> Option<Window> {
    let op = function.op(load);
    let OpKind::Load(attrs) = op.kind else { return None };
    if attrs.volatile || attrs.cache == CacheOp::Cv || op.operands.get(2).is_some_and(|&other| !is_zero(function, other)) {
        return None;
    }
    let search = Search { function, never_negative, descriptor: attrs.descriptor };
    search.window(*op.operands.first()?, op.operands.get(1).copied(), function.ty(op.results[0]), options)
}

/// The window of a load that runs ahead in a loop: what describes its tensor is known in front of the loop.
pub(in crate::passes) fn of_load_ahead(
    function: &Function,
    never_negative: &dyn Fn(ValueId) -> bool,
    load: OpId,
    options: &CompileOptions,
) -> Option<Window> {
    let window = of_load(function, never_negative, load, options)?;
    let (block, _) = rewrite::position(function, load)?;
    let is_inside = |value: ValueId| match function.value(value).def {
        ValueDef::Argument(at, _) => at == block,
        ValueDef::Result(id, _) => function.block(block).ops.contains(&id),
    };
    (!window.own_map || !window.tensor().any(is_inside)).then_some(window)
}

/// The window that a store through a descriptor writes.
pub(in crate::passes) fn of_store(
    function: &Function,
    never_negative: &dyn Fn(ValueId) -> bool,
    store: OpId,
    options: &CompileOptions,
) -> Option<Window> {
    let op = function.op(store);
    let OpKind::Store(attrs) = op.kind else { return None };
    if attrs.descriptor == DescriptorSource::None {
        return None;
    }
    let search = Search { function, never_negative, descriptor: attrs.descriptor };
    search.window(op.operands[0], op.operands.get(2).copied(), function.ty(op.operands[1]), options)
}

/// The tensor that an access through a descriptor is about, and its block, whatever that is.
pub(in crate::passes) fn tensor(function: &Function, access: OpId) -> Option<DescribedTensor> {
    let op = function.op(access);
    let (mask, ty, descriptor) = match op.kind {
        OpKind::Load(attrs) => (op.operands.get(1), function.ty(op.results[0]), attrs.descriptor),
        OpKind::Store(attrs) => (op.operands.get(2), function.ty(op.operands[1]), attrs.descriptor),
        _ => return None,
    };
    let search = Search { function, never_negative: &|_| true, descriptor };
    let mut axes = vec![Axis::default(); ty.shape().len()];
    let base = search.block(op.operands[0], mask.copied(), ty.shape(), &mut axes)?;
    let numbers = |number: &dyn Fn(&Axis) -> Option<Number>| axes.iter().map(number).collect::<Option<Vec<Number>>>();
    let (extents, strides) = (numbers(&|axis| axis.extent)?, numbers(&|axis| axis.stride)?);
    Some(DescribedTensor { base, extents, strides, contiguous: ty.shape().len() as u8 - 1, block: ty.shape().clone() })
}

impl Search<'_> {
    /// Finds the axes of a block and the base of its tensor.
    fn block(&self, pointer: ValueId, mask: Option<ValueId>, shape: &[u32], axes: &mut [Axis]) -> Option<ValueId> {
        let base = self.pointer(pointer, shape, axes)?;
        let every: Vec<usize> = (0..shape.len()).collect();
        if let Some(mask) = mask {
            self.mask(mask, &every, shape, axes)?;
        }
        // Of an axis of which a descriptor's block is all, nothing is asked any more.
        if self.descriptor != DescriptorSource::None {
            for (axis, &extent) in axes.iter_mut().zip(shape) {
                if let (None, Some(Number::Constant(start))) = (axis.extent, axis.start) {
                    axis.extent = Some(Number::Constant(start + i64::from(extent)));
                }
            }
        }
        Some(base)
    }

    fn window(&self, pointer: ValueId, mask: Option<ValueId>, ty: &Type, options: &CompileOptions) -> Option<Window> {
        if !options.sm.has(Feature::Tma) {
            return None;
        }
        let shape = ty.shape();
        let bytes = ty.elem().bits() / 8;
        let mut axes = vec![Axis::default(); shape.len()];
        let base = self.block(pointer, mask, shape, &mut axes)?;
        let mut window = Window {
            base,
            extents: Vec::new(),
            strides: Vec::new(),
            starts: Vec::new(),
            contiguous: axes.iter().rposition(|axis| axis.stride == Some(Number::Constant(1)))? as u8,
            layout: tma::layout(&[1], 8, 0),
            own_map: false,
        };
        for (at, axis) in axes.iter().enumerate() {
            let (start, stride, extent) = (axis.start?, axis.stride?, axis.extent?);
            let natural = || match start {
                Number::Value(value) => (self.never_negative)(value),
                Number::Constant(value) => value >= 0,
            };
            let known = at == usize::from(window.contiguous)
                || self.descriptor != DescriptorSource::None
                || self.multiple(stride, tma::GRAIN.div_ceil(bytes.max(1)));
            if !known || !(axis.not_negative || natural()) {
                return None;
            }
            window.starts.push(start);
            window.strides.push(stride);
            window.extents.push(extent);
        }
        window.layout = tma::layout(shape, ty.elem().bits(), window.contiguous);
        tma::boxes(&window.layout, ty.elem(), window.contiguous)?;
        let is_known = self.parameter(base).is_some() && window.tensor().all(|value| self.parameter(value).is_some());
        window.own_map = !is_known || self.descriptor == DescriptorSource::Made && options.global_scratch;
        let can_write = options.global_scratch && self.descriptor != DescriptorSource::None;
        (can_write || !window.own_map).then_some(window)
    }

    fn kind(&self, value: ValueId) -> Option<(&OpKind, &[ValueId])> {
        let op = self.function.op(self.function.def_op(value)?);
        Some((&op.kind, &op.operands))
    }

    fn parameter(&self, value: ValueId) -> Option<u32> {
        let function = self.function;
        let ValueDef::Argument(block, _) = function.value(value).def else { return None };
        (block == function.body).then(|| function.params.iter().find(|p| p.value == value).map(|p| p.divisibility))?
    }

    /// A scalar that describes a tensor.
    fn number(&self, value: ValueId) -> Option<Number> {
        match self.kind(value) {
            Some((OpKind::Constant(Constant::Int(number)), _)) => return Some(Number::Constant(*number)),
            Some((OpKind::Cast(CastOp::ExtS), operands)) => {
                if let Some(number) = self.number(operands[0]) {
                    return Some(number);
                }
            }
            _ => {}
        }
        let is_number = matches!(self.function.ty(value).elem().scalar()?, Scalar::I32 | Scalar::I64);
        is_number.then_some(Number::Value(value))
    }

    /// The scalar in every element of a tile.
    fn splat(&self, value: ValueId) -> Option<ValueId> {
        match self.kind(value)? {
            (OpKind::Splat, operands) => Some(operands[0]),
            _ => None,
        }
    }

    fn everywhere(&self, value: ValueId) -> Option<Number> {
        if self.function.ty(value).is_scalar() {
            return self.number(value);
        }
        match self.kind(value)? {
            (OpKind::Constant(Constant::Int(number)), _) => Some(Number::Constant(*number)),
            _ => self.number(self.splat(value)?),
        }
    }

    fn multiple(&self, number: Number, of: u32) -> bool {
        match number {
            Number::Constant(number) => number % i64::from(of) == 0,
            Number::Value(value) => self.parameter(value).is_some_and(|divisibility| divisibility % of == 0),
        }
    }

    /// The base of a tile of pointers, at a multiple of 16 bytes.
    fn pointer(&self, mut pointer: ValueId, shape: &[u32], axes: &mut [Axis]) -> Option<ValueId> {
        loop {
            match self.kind(pointer)? {
                (OpKind::AddPtr, operands) => {
                    let (line, axis) = self.line(operands[1], shape)?;
                    let (indices, stride) = self.product(line, shape[axis]);
                    let (start, stride) = (self.start(indices, shape[axis])?, stride?);
                    let found = &mut axes[axis];
                    if found.start.is_some() {
                        return None;
                    }
                    (found.start, found.stride) = (Some(start), Some(stride));
                    pointer = operands[0];
                }
                (OpKind::ConvertLayout, operands) => pointer = operands[0],
                (OpKind::Splat, operands) => return self.scalar_pointer(operands[0], shape, axes),
                _ => return None,
            }
        }
    }

    /// The base of a pointer that all elements share: what is added to it belongs to axes of one element.
    fn scalar_pointer(&self, mut pointer: ValueId, shape: &[u32], axes: &mut [Axis]) -> Option<ValueId> {
        while let Some((OpKind::AddPtr, operands)) = self.kind(pointer) {
            let (index, stride) = self.product(operands[1], 1);
            let Some(axis) = (0..axes.len()).find(|&axis| shape[axis] == 1 && axes[axis].start.is_none()) else { break };
            (axes[axis].start, axes[axis].stride) = (Some(self.start(index, 1)?), Some(stride?));
            pointer = operands[0];
        }
        let is_aligned = self.descriptor != DescriptorSource::None
            || self.parameter(pointer).is_some_and(|divisibility| divisibility % tma::GRAIN == 0);
        is_aligned.then_some(pointer)
    }

    /// The vector that a tile repeats along all axes but one, and that axis.
    fn line(&self, mut value: ValueId, shape: &[u32]) -> Option<(ValueId, usize)> {
        let mut axes: Vec<usize> = (0..shape.len()).collect();
        loop {
            if axes.len() == 1 {
                return (self.function.ty(value).shape()[..] == [shape[axes[0]]]).then_some((value, axes[0]));
            }
            match self.kind(value)? {
                (OpKind::Broadcast | OpKind::ConvertLayout, operands) => value = operands[0],
                (OpKind::ExpandDims { axis }, operands) => {
                    axes.remove(usize::from(*axis));
                    value = operands[0];
                }
                _ => return None,
            }
        }
    }

    /// `indices · stride`, in 64 bits.
    fn product(&self, line: ValueId, extent: u32) -> (ValueId, Option<Number>) {
        match self.kind(line) {
            Some((OpKind::Binary(BinaryOp::MulI), operands)) => match self.start(operands[0], extent) {
                Some(_) => (operands[0], self.everywhere(operands[1])),
                None => (operands[1], self.everywhere(operands[0])),
            },
            _ => (line, Some(Number::Constant(1))),
        }
    }

    /// The i32 number `s` of `s, s + 1, …` in 64 bits, which do not wrap.
    fn start(&self, line: ValueId, extent: u32) -> Option<Number> {
        if self.function.ty(line).elem().scalar() != Some(Scalar::I64) {
            return None;
        }
        let steps = |value: ValueId| match self.kind(value) {
            Some((OpKind::Cast(CastOp::ExtS), operands)) => {
                matches!(self.kind(operands[0]), Some((OpKind::Iota { start: 0, end }, _)) if *end as u32 == extent)
            }
            _ => false,
        };
        if steps(line) {
            return Some(Number::Constant(0));
        }
        let first = |value: ValueId| -> Option<Number> {
            if let (OpKind::Constant(Constant::Int(number)), _) = self.kind(value)? {
                return i32::try_from(*number).ok().map(|number| Number::Constant(number.into()));
            }
            let scalar = if self.function.ty(value).is_scalar() { value } else { self.splat(value)? };
            match self.kind(scalar)? {
                (OpKind::Cast(CastOp::ExtS), operands) => {
                    let narrow = self.function.ty(operands[0]).elem().scalar() == Some(Scalar::I32);
                    narrow.then_some(Number::Value(operands[0]))
                }
                (OpKind::Constant(Constant::Int(number)), _) => {
                    i32::try_from(*number).ok().map(|number| Number::Constant(number.into()))
                }
                _ => None,
            }
        };
        match self.kind(line)? {
            (OpKind::Binary(BinaryOp::AddI), operands) if steps(operands[1]) => first(operands[0]),
            (OpKind::Binary(BinaryOp::AddI), operands) if steps(operands[0]) => first(operands[1]),
            _ if extent == 1 => first(line),
            _ => None,
        }
    }

    /// Everything that a mask asks for, or `None` if that is anything but indices inside their extents.
    fn mask(&self, value: ValueId, place: &[usize], shape: &[u32], axes: &mut [Axis]) -> Option<()> {
        match self.kind(value)? {
            (OpKind::Binary(BinaryOp::And), operands) => {
                self.mask(operands[0], place, shape, axes)?;
                self.mask(operands[1], place, shape, axes)
            }
            (OpKind::Broadcast | OpKind::ConvertLayout, operands) => self.mask(operands[0], place, shape, axes),
            (OpKind::ExpandDims { axis }, operands) => {
                let mut place = place.to_vec();
                place.remove(usize::from(*axis));
                self.mask(operands[0], &place, shape, axes)
            }
            (OpKind::Splat, operands) => self.mask(operands[0], &[], shape, axes),
            (OpKind::Compare(predicate), operands) => {
                let axis = match place {
                    // What all elements share is asked of an axis of one element, which may be any that starts there.
                    [] => {
                        let start = self.start(operands[0], 1)?;
                        let open = |axis: &Axis| *predicate != Predicate::LtS || axis.extent.is_none();
                        (0..axes.len()).find(|&at| shape[at] == 1 && axes[at].start == Some(start) && open(&axes[at]))?
                    }
                    &[axis] => axis,
                    _ => return None,
                };
                let found = &mut axes[axis];
                if !place.is_empty() && self.function.ty(operands[0]).shape()[..] != [shape[axis]]
                    || self.start(operands[0], shape[axis])? != found.start?
                {
                    return None;
                }
                let bound = self.everywhere(operands[1])?;
                match predicate {
                    Predicate::GeS if bound == Number::Constant(0) => found.not_negative = true,
                    Predicate::LtS if found.extent.is_none_or(|other| other == bound) => found.extent = Some(bound),
                    _ => return None,
                }
                Some(())
            }
            _ => None,
        }
    }
}
