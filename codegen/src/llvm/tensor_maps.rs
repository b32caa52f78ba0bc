//! Tensor maps: where a copy finds the one that describes its tensor, and programs that write their own.
//!
//! **Invariant:** the first warp writes a map, and the thread of it that issues copies reads it: no barrier is needed between them. A map that a
//! launch makes is a parameter; one that a program makes has its place in the launch's scratch.

use tritium_semantics::target::Feature;
use tritium_tile::{
    Function, OpId, OpKind, ValueId,
    layout::tma::{self, Boxes, Copied, MAP_BYTES},
    ops::Constant,
    scratch::element_bytes,
    types::Elem,
};

use super::{Emitted, Emitter, ins, value::Reg};
use crate::{
    passes::write_tensor_maps::{DescribedTensor, Number},
    ptx_strings::Instruction,
    tensor_map::{Part, TensorMap},
};

/// The maps that programs write, in the order of the text.
pub(super) fn written(function: &Function) -> Vec<DescribedTensor> {
    let mut maps: Vec<DescribedTensor> = Vec::new();
    function.walk(|_, id| {
        if let Some(map) = DescribedTensor::written(function, id).filter(|map| !maps.contains(map)) {
            maps.push(map);
        }
    });
    maps
}

impl Emitter<'_> {
    /// Bytes of scratch of a program.
    pub(super) fn scratch_bytes(&self) -> u32 {
        self.written_maps.len() as u32 * MAP_BYTES
    }

    /// Behind the kernel's own parameters: its scratch, then the maps that a launch makes, each in the kernel's parameter space, where the unit reads
    /// it: nobody may copy it.
    pub(super) fn tensor_map_parameters(&mut self) {
        let first = self.function.params.len();
        if self.scratch_bytes() > 0 {
            self.signature.push(format!("ptr addrspace(1) align {MAP_BYTES} {}", Reg::Arg(first as u32)));
        }
        let names = (0..self.tensor_maps.len()).map(|number| self.launch_map(number));
        let maps: Vec<String> = names.map(|arg| format!("ptr byval([128 x i8]) align 64 \"nvvm.grid_constant\" {arg}")).collect();
        self.signature.extend(maps);
    }

    fn launch_map(&self, number: usize) -> Reg {
        Reg::Arg((self.function.params.len() + usize::from(self.scratch_bytes() > 0) + number) as u32)
    }

    /// The address of this program's map of such a number.
    fn written_map(&mut self, number: usize) -> Reg {
        let (scratch, bytes) = (Reg::Arg(self.function.params.len() as u32), self.scratch_bytes());
        let own = match self.scratch {
            Some(own) => own,
            None => self.in_entry(|e| {
                let mut place = Reg::Int(0);
                for letter in ["z", "y", "x"] {
                    let [index, count] = ["ctaid", "nctaid"].map(|name| {
                        let register = format!("llvm.nvvm.read.ptx.sreg.{name}.{letter}");
                        let number = e.call("i32", &register, &[]);
                        ins!(e, "zext i32 {number} to i64")
                    });
                    let before = ins!(e, "mul i64 {place}, {count}");
                    place = ins!(e, "add i64 {before}, {index}");
                }
                let offset = ins!(e, "mul i64 {place}, {bytes}");
                let own = ins!(e, "getelementptr i8, ptr addrspace(1) {scratch}, i64 {offset}");
                ins!(e, "addrspacecast ptr addrspace(1) {own} to ptr")
            }),
        };
        self.scratch = Some(own);
        match number as u32 * MAP_BYTES {
            0 => own,
            offset => ins!(self, "getelementptr i8, ptr {own}, i32 {offset}"),
        }
    }

    /// The address of the map that a copy reads.
    pub(super) fn map_of_copy(&mut self, id: OpId, copied: &Copied<'_>, boxes: &Boxes, own: bool) -> Emitted<Reg> {
        if own {
            let map = DescribedTensor::of_copy(self.function, id);
            let number = self.written_maps.iter().position(|other| Some(other) == map.as_ref());
            let number = number.ok_or_else(|| self.unsupported("a tensor is copied from that nothing describes"))?;
            return Ok(self.written_map(number));
        }
        let by_axis = |e: &Self, values: &[ValueId]| -> Emitted<Vec<Part>> {
            boxes.order.iter().map(|&axis| e.part(values[axis as usize])).collect()
        };
        let tensor = copied.tensor;
        let map = TensorMap {
            base: match self.part(tensor.base)? {
                Part::Parameter(index) => index,
                Part::Constant(_) => return Err(self.unsupported("a tensor at a constant address")),
            },
            extents: by_axis(self, tensor.extents)?,
            strides: by_axis(self, tensor.strides)?.split_off(1),
            boxes: boxes.order.iter().map(|&axis| boxes.extent[axis as usize]).collect(),
            element_bytes: element_bytes(self.ty(copied.buffer).elem()),
            swizzle: boxes.swizzle,
        };
        let known = self.tensor_maps.iter().position(|other| *other == map);
        let number = known.unwrap_or(self.tensor_maps.len());
        if known.is_none() {
            self.tensor_maps.push(map);
        }
        Ok(self.launch_map(number))
    }

    /// What a launch knows a number by.
    fn part(&self, value: ValueId) -> Emitted<Part> {
        let function = self.function;
        if let Some(index) = function.params.iter().position(|param| param.value == value) {
            return Ok(Part::Parameter(index as u32));
        }
        match function.def_op(value).map(|op| &function.op(op).kind) {
            Some(OpKind::Constant(Constant::Int(number))) => Ok(Part::Constant(*number)),
            _ => Err(self.unsupported("a tensor whose base, extents or strides are neither parameters nor constants")),
        }
    }

    /// In 64 bits.
    fn wide(&mut self, number: Number) -> Emitted<Reg> {
        Ok(match number {
            Number::Constant(number) => Reg::Int(number),
            Number::Value(value) => {
                let reg = self.reg(value)?;
                if self.ty(value).elem().bits() == 64 { reg } else { ins!(self, "sext i32 {reg} to i64") }
            }
        })
    }

    /// Whether the tensor of a copy has elements; `None` if that is sure.
    pub(super) fn has_elements(&mut self, copied: &Copied<'_>) -> Emitted<Option<Reg>> {
        let extents: Vec<Number> = copied.tensor.extents.iter().map(|&value| Number::of(self.function, value)).collect();
        self.are_positive(&extents)
    }

    fn are_positive(&mut self, extents: &[Number]) -> Emitted<Option<Reg>> {
        let mut all = None;
        for &extent in extents {
            let known = matches!(extent, Number::Constant(extent) if extent > 0);
            if !known {
                let extent = self.wide(extent)?;
                let some = ins!(self, "icmp sgt i64 {extent}, 0");
                all = self.both(all, Some(some));
            }
        }
        Ok(all)
    }

    pub(super) fn write_tensor_map(&mut self, id: OpId) -> Emitted<()> {
        let function = self.function;
        let number =
            DescribedTensor::written(function, id).and_then(|map| self.written_maps.iter().position(|other| *other == map));
        let Some(number) = number.filter(|_| self.sm.has(Feature::Tma)) else {
            return Err(self.unsupported(format!("{} has no tensor maps", self.sm.name)));
        };
        let map = self.written_maps[number].clone();
        let pointee = self.ty(map.base).elem().pointee().map(Elem::Scalar);
        let elem = pointee.ok_or_else(|| self.unsupported("the base of a tensor is a pointer"))?;
        let layout = tma::layout(&map.block, elem.bits(), map.contiguous);
        let boxes = tma::boxes(&layout, elem, map.contiguous)
            .ok_or_else(|| self.unsupported("the tensor memory accelerator copies no such block"))?;
        let bytes = element_bytes(elem);
        let target = self.written_map(number);
        let offset = self.shared_offset(id)?;
        let shared = ins!(self, "getelementptr i8, ptr addrspace(3) @shared, i32 {offset}");
        let shared = ins!(self, "ptrtoint ptr addrspace(3) {shared} to i32");
        let step = ins!(self, "shl i32 {}, 2", Reg::Tid);
        let word = ins!(self, "add i32 {shared}, {step}");
        let first = self.one_thread();
        let warp = ins!(self, "icmp ult i32 {}, 32", Reg::Tid);
        // The unit knows no tensor without elements: it reads one element of zeros, and what is stored to it is not.
        let some = self.are_positive(&map.extents)?;
        let base = self.reg(map.base)?;
        let base = ins!(self, "ptrtoint ptr addrspace(1) {base} to i64");
        let base = match some {
            None => base,
            Some(some) => {
                let zeros = "@__tritium_zeros = internal addrspace(1) constant [16 x i8] zeroinitializer, align 16";
                if !self.globals.iter().any(|global| global == zeros) {
                    self.globals.push(zeros.into());
                }
                ins!(self, "select i1 {some}, i64 {base}, i64 ptrtoint (ptr addrspace(1) @__tritium_zeros to i64)")
            }
        };
        let mut args = vec![("i32", shared), ("ptr", target), ("i32", word), ("i1", first), ("i1", warp), ("i64", base)];
        for &axis in &boxes.order {
            let extent = self.wide(map.extents[axis as usize])?;
            let extent = match some {
                None => extent,
                Some(some) => ins!(self, "select i1 {some}, i64 {extent}, i64 1"),
            };
            args.push(("i32", if let Reg::Int(_) = extent { extent } else { ins!(self, "trunc i64 {extent} to i32") }));
        }
        for &axis in &boxes.order[1..] {
            let stride = self.wide(map.strides[axis as usize])?;
            args.push((
                "i64",
                match stride {
                    Reg::Int(stride) => Reg::Int(stride * i64::from(bytes)),
                    stride => ins!(self, "mul i64 {stride}, {bytes}"),
                },
            ));
        }
        let mut extents = [1; 5];
        for (extent, &axis) in extents.iter_mut().zip(&boxes.order) {
            *extent = boxes.extent[axis as usize];
        }
        let rank = boxes.order.len() as u8;
        let instruction = Instruction::WriteTensorMap { rank, extents, element_bytes: bytes as u8, swizzle: boxes.swizzle as u8 };
        self.asm(instruction, &[], &args);
        Ok(())
    }
}
