//! Loads and stores of global memory.
//!
//! `vector` elements go in one instruction, packed into 32- or 64-bit words. The mask of a vector is that of its first element: the
//! vectoriser has made sure they agree. **Invariant:** an element that several threads hold is stored by one of them; a masked-off
//! element is never touched, and reads as `other`, or 0.

use tritium_tile::{
    Elem, OpId, Scalar, ValueId,
    layout::Distributed,
    ops::{LoadAttrs, StoreAttrs},
};

use super::{
    Emitted, Emitter, ins,
    value::{Reg, memory_type},
};
use crate::ptx_strings::Instruction;

/// How a vector of elements is cut into words.
#[derive(Debug, Clone, Copy)]
pub(super) struct Words {
    pub(super) count: usize,
    /// 64, 32, 16 or 8 bits are moved per word.
    pub(super) bits: u32,
    pub(super) per_word: usize,
}

impl Words {
    /// The LLVM type of the register a word is in: bytes travel in 16 bits.
    pub(super) fn ty(self) -> &'static str {
        match self.bits {
            64 => "i64",
            32 => "i32",
            _ => "i16",
        }
    }
}

/// The element as memory holds it, and LLVM's type of that.
pub(super) fn stored(elem: Elem) -> (u32, &'static str) {
    match elem {
        Elem::Ptr(_) => (64, "i64"),
        Elem::Scalar(s) => (s.bits().max(8), memory_type(s)),
    }
}

pub(super) fn words(elem: Elem, vector: usize) -> Words {
    let (bits, _) = stored(elem);
    let total = bits * vector as u32;
    let word = if bits == 64 { 64 } else { total.min(32) };
    Words { count: (total / word) as usize, bits: word, per_word: (word / bits) as usize }
}

impl Emitter<'_> {
    /// Packs registers of one element into words.
    pub(super) fn pack(&mut self, elem: Elem, regs: &[Reg]) -> Vec<Reg> {
        let shape = words(elem, regs.len());
        let (bits, ty) = stored(elem);
        let regs: Vec<Reg> = regs
            .iter()
            .map(|&reg| match elem {
                Elem::Ptr(_) => ins!(self, "ptrtoint ptr addrspace(1) {reg} to i64"),
                Elem::Scalar(Scalar::I1) => ins!(self, "zext i1 {reg} to i8"),
                Elem::Scalar(_) => reg,
            })
            .collect();
        regs.chunks(shape.per_word)
            .map(|chunk| {
                let whole = format!("i{}", bits * chunk.len() as u32);
                let word = if let [one] = chunk {
                    if ty.starts_with('i') { *one } else { ins!(self, "bitcast {ty} {one} to {whole}") }
                } else {
                    let n = chunk.len();
                    let mut vector: Option<Reg> = None;
                    for (i, reg) in chunk.iter().enumerate() {
                        vector = Some(match vector {
                            None => ins!(self, "insertelement <{n} x {ty}> poison, {ty} {reg}, i32 {i}"),
                            Some(old) => ins!(self, "insertelement <{n} x {ty}> {old}, {ty} {reg}, i32 {i}"),
                        });
                    }
                    match vector {
                        Some(vector) => ins!(self, "bitcast <{n} x {ty}> {vector} to {whole}"),
                        None => Reg::Int(0),
                    }
                };
                if shape.bits == 8 { ins!(self, "zext i8 {word} to i16") } else { word }
            })
            .collect()
    }

    /// The inverse of [`Self::pack`].
    pub(super) fn unpack(&mut self, elem: Elem, vector: usize, packed: &[Reg]) -> Vec<Reg> {
        let shape = words(elem, vector);
        let (bits, ty) = stored(elem);
        let mut regs = Vec::with_capacity(vector);
        for &word in packed {
            let word = if shape.bits == 8 { ins!(self, "trunc i16 {word} to i8") } else { word };
            let whole = bits * shape.per_word as u32;
            if shape.per_word == 1 {
                regs.push(if ty.starts_with('i') { word } else { ins!(self, "bitcast i{whole} {word} to {ty}") });
            } else {
                let n = shape.per_word;
                let split = ins!(self, "bitcast i{whole} {word} to <{n} x {ty}>");
                for i in 0..n {
                    regs.push(ins!(self, "extractelement <{n} x {ty}> {split}, i32 {i}"));
                }
            }
        }
        regs.into_iter()
            .map(|reg| match elem {
                Elem::Ptr(_) => ins!(self, "inttoptr i64 {reg} to ptr addrspace(1)"),
                Elem::Scalar(Scalar::I1) => ins!(self, "icmp ne i8 {reg}, 0"),
                Elem::Scalar(_) => reg,
            })
            .collect()
    }

    /// The vector an access moves, checked against its registers.
    pub(super) fn vector(&self, attr: u8, elem: Elem, registers: usize) -> Emitted<usize> {
        let vector = attr.max(1) as usize;
        if !vector.is_power_of_two() || !registers.is_multiple_of(vector) || vector as u32 * stored(elem).0 > 128 {
            return Err(self.unsupported(format!("an access of {vector} × {elem}: one instruction moves at most 16 bytes")));
        }
        Ok(vector)
    }

    pub(super) fn pointee(&self, pointer: ValueId) -> Emitted<Scalar> {
        self.ty(pointer).elem().pointee().ok_or_else(|| self.unsupported("an access through what is not a pointer"))
    }

    /// The mask's registers: one per register of the pointer.
    pub(super) fn mask(&self, mask: Option<&ValueId>, registers: usize) -> Emitted<Option<std::rc::Rc<[Reg]>>> {
        let Some(&mask) = mask else { return Ok(None) };
        let regs = self.regs(mask)?;
        if regs.len() != registers {
            return Err(self.unsupported("a mask has another layout than its pointer"));
        }
        Ok(Some(regs))
    }

    pub(super) fn load(&mut self, op: OpId, attrs: LoadAttrs) -> Emitted<()> {
        let operation = self.function.op(op);
        let pointer = operation.operands[0];
        let elem = Elem::Scalar(self.pointee(pointer)?);
        let pointers = self.regs(pointer)?;
        let n = pointers.len();
        let vector = self.vector(attrs.vector, elem, n)?;
        let mask = self.mask(operation.operands.get(1), n)?.map(|mask| self.compared_again(op, mask));
        let other = self.mask(operation.operands.get(2), n)?;
        let surplus = self.layout(pointer)?.map_or(0, |layout| layout.free_bits().0);
        let shape = words(elem, vector);
        let mut regs: Vec<Reg> = Vec::with_capacity(n);
        for first in (0..n).step_by(vector) {
            let twin = first & !(surplus as usize);
            if twin != first && vector == 1 {
                regs.push(regs[twin]);
                continue;
            }
            let mut args = vec![("ptr addrspace(1)", pointers[first])];
            let predicate = mask.as_ref().map(|mask| mask[first]).filter(|&p| p != Reg::Bool(true));
            if let Some(predicate) = predicate {
                args.push(("i1", predicate));
                let fill: Vec<Reg> = match &other {
                    Some(other) => other[first..first + vector].to_vec(),
                    None => vec![self.zero(elem); vector],
                };
                args.extend(self.pack(elem, &fill).into_iter().map(|word| (shape.ty(), word)));
            }
            let instruction = Instruction::LoadGlobal {
                words: shape.count as u8,
                word_bits: shape.bits as u8,
                predicated: predicate.is_some(),
                cache: attrs.cache,
                eviction: attrs.eviction,
                volatile: attrs.volatile,
            };
            let loaded = self.asm(instruction, &vec![shape.ty(); shape.count], &args);
            let loaded = self.unpack(elem, vector, &loaded);
            regs.extend(loaded);
        }
        self.set(operation.results[0], regs);
        self.loads_may_sink = true;
        Ok(())
    }

    /// True in the thread that stands for all that hold the same elements; `None` if every thread does.
    pub(super) fn sole_holder(&mut self, layout: Option<&Distributed>) -> Option<Reg> {
        let mask = match layout {
            None => u32::MAX,
            Some(layout) => {
                let (_, lane, warp) = layout.free_bits();
                lane | warp << 5
            }
        };
        self.leader(mask)
    }

    pub(super) fn both(&mut self, a: Option<Reg>, b: Option<Reg>) -> Option<Reg> {
        match (a, b.filter(|&b| b != Reg::Bool(true))) {
            (Some(a), Some(b)) => Some(ins!(self, "and i1 {a}, {b}")),
            (a, b) => a.or(b),
        }
    }

    pub(super) fn store(&mut self, op: OpId, attrs: StoreAttrs) -> Emitted<()> {
        let operation = self.function.op(op);
        let (pointer, value) = (operation.operands[0], operation.operands[1]);
        let elem = Elem::Scalar(self.pointee(pointer)?);
        let pointers = self.regs(pointer)?;
        let values = self.regs(value)?;
        let n = pointers.len();
        if values.len() != n || self.ty(value).elem() != elem {
            return Err(self.unsupported("a stored value has another layout or element than its pointer"));
        }
        let vector = self.vector(attrs.vector, elem, n)?;
        let mask = self.mask(operation.operands.get(2), n)?.map(|mask| self.compared_again(op, mask));
        let layout = self.layout(pointer)?;
        let surplus = layout.map_or(0, |layout| layout.free_bits().0) as usize;
        let holder = self.sole_holder(layout);
        let shape = words(elem, vector);
        self.keep_loads_ahead();
        for first in (0..n).step_by(vector).filter(|first| first & surplus == 0) {
            let predicate = self.both(holder, mask.as_ref().map(|mask| mask[first]));
            let mut args = vec![("ptr addrspace(1)", pointers[first])];
            args.extend(self.pack(elem, &values[first..first + vector]).into_iter().map(|word| (shape.ty(), word)));
            args.extend(predicate.map(|p| ("i1", p)));
            let instruction = Instruction::StoreGlobal {
                words: shape.count as u8,
                word_bits: shape.bits as u8,
                predicated: predicate.is_some(),
                cache: attrs.cache,
                eviction: attrs.eviction,
            };
            self.asm(instruction, &[], &args);
        }
        Ok(())
    }
}
