//! What a kernel prints: the driver's `vprintf`, one call an element, lines as the interpreter writes them.
//!
//! **Invariant:** an element is printed once, by one of the threads that hold it.

use tritium_tile::{
    Elem, OpId, Scalar, ValueId,
    layout::algebra::{apply, shift_of},
};

use super::{
    Emitted, Emitter,
    index::reach,
    ins, line,
    value::{Reg, type_name},
};

/// An argument of `vprintf`: its LLVM type and its register.
type Variadic = (&'static str, Reg);

impl Emitter<'_> {
    pub(super) fn print(&mut self, op: OpId, prefix: &str, hex: bool, signed: u64) -> Emitted<()> {
        let operands: Vec<ValueId> = self.function.op(op).operands.to_vec();
        let prefix = prefix.replace('%', "%%");
        let program: Vec<Variadic> =
            ["x", "y", "z"].map(|axis| ("i32", self.call("i32", &format!("llvm.nvvm.read.ptx.sreg.ctaid.{axis}"), &[]))).to_vec();
        if operands.is_empty() {
            let first = self.leader(u32::MAX);
            return self.guarded(first, |e| {
                e.vprintf(&format!("pid (%u, %u, %u){prefix}\n"), &program);
                Ok(())
            });
        }
        for (number, &operand) in operands.iter().enumerate() {
            let elem = self.ty(operand).elem();
            let layout = self.layout(operand)?;
            let shape: Vec<u32> = self.ty(operand).shape().to_vec();
            // As wide as the largest index, so that columns line up.
            let places: Vec<String> = shape.iter().map(|&n| format!("%{}u", (n - 1).max(1).ilog10() + 1)).collect();
            let which = if operands.len() > 1 { format!("(operand {number}) ") } else { String::new() };
            let format = format!(
                "pid (%u, %u, %u) idx ({}){prefix}{which}{}\n",
                places.join(", "),
                conversion(elem, hex, signed >> number & 1 == 1)
            );
            let holder = self.sole_holder(layout);
            let surplus = layout.map_or(0, |layout| layout.free_bits().0) as usize;
            let regs = self.regs(operand)?;
            let is_signed = signed >> number & 1 == 1;
            self.guarded(holder, |e| {
                for (r, &reg) in regs.iter().enumerate().filter(|(r, _)| r & surplus == 0) {
                    let mut args = program.clone();
                    if let Some(layout) = layout {
                        let flat = {
                            let columns = [&layout.lane[..], &layout.warp].concat();
                            let offset = apply(&layout.register, r as u32);
                            let reach = reach(&columns);
                            let thread = e.linear(&columns, offset & reach);
                            ins!(e, "add i32 {thread}, {}", offset & !reach)
                        };
                        for (axis, &extent) in shape.iter().enumerate() {
                            let high = ins!(e, "lshr i32 {flat}, {}", shift_of(&shape, axis));
                            args.push(("i32", ins!(e, "and i32 {high}, {}", extent - 1)));
                        }
                    }
                    let value = e.variadic(elem, reg, hex, is_signed)?;
                    args.push(value);
                    e.vprintf(&format, &args);
                }
                Ok(())
            })?;
        }
        Ok(())
    }

    /// Runs `write` in a branch that only the threads with this predicate enter.
    pub(super) fn guarded(&mut self, predicate: Option<Reg>, write: impl FnOnce(&mut Self) -> Emitted<()>) -> Emitted<()> {
        let Some(predicate) = predicate else { return write(self) };
        let (inside, after) = (self.new_label(), self.new_label());
        line!(self, "br i1 {predicate}, label %b{inside}, label %b{after}");
        self.start_block(inside);
        write(self)?;
        line!(self, "br label %b{after}");
        self.start_block(after);
        Ok(())
    }

    /// What `read` gives where the predicate holds; elsewhere nothing that may be used.
    pub(super) fn when(&mut self, predicate: Option<Reg>, ty: &str, read: impl FnOnce(&mut Self) -> Reg) -> Reg {
        let Some(predicate) = predicate else { return read(self) };
        let (before, inside, after) = (self.label, self.new_label(), self.new_label());
        line!(self, "br i1 {predicate}, label %b{inside}, label %b{after}");
        self.start_block(inside);
        let value = read(self);
        let last = self.label;
        line!(self, "br label %b{after}");
        self.start_block(after);
        ins!(self, "phi {ty} [ {value}, %b{last} ], [ poison, %b{before} ]")
    }

    /// An element as C passes it to a variadic function.
    fn variadic(&mut self, elem: Elem, reg: Reg, hex: bool, signed: bool) -> Emitted<Variadic> {
        let ty = type_name(elem);
        let Elem::Scalar(s) = elem else {
            return Ok(("i64", ins!(self, "ptrtoint {ty} {reg} to i64")));
        };
        if s.is_int() {
            let extend = if signed && !hex && s != Scalar::I1 { "sext" } else { "zext" };
            return Ok(match s.bits() {
                64 => ("i64", reg),
                32 => ("i32", reg),
                _ => ("i32", ins!(self, "{extend} {ty} {reg} to i32")),
            });
        }
        if hex {
            let bits = s.bits();
            let integer = if ty.starts_with('i') { reg } else { ins!(self, "bitcast {ty} {reg} to i{bits}") };
            return Ok(match bits {
                64 => ("i64", integer),
                32 => ("i32", integer),
                _ => ("i32", ins!(self, "zext i{bits} {integer} to i32")),
            });
        }
        if s == Scalar::F64 {
            return Ok(("double", reg));
        }
        let wide = if s == Scalar::F32 { reg } else { self.float_cast(s, Scalar::F32, reg, false)? };
        // Constants too: LLVM folds this.
        Ok(("double", ins!(self, "fpext float {wide} to double")))
    }

    fn vprintf(&mut self, format: &str, args: &[Variadic]) {
        let text = self.text_constant(format);
        let mut size = 0u32;
        let mut offsets = Vec::with_capacity(args.len());
        for &(ty, _) in args {
            let bytes = if ty == "i32" { 4 } else { 8 };
            size = size.next_multiple_of(bytes);
            offsets.push(size);
            size += bytes;
        }
        let buffer = self.in_entry(|e| ins!(e, "alloca [{} x i64], align 8", size.div_ceil(8)));
        for (&(ty, reg), offset) in args.iter().zip(offsets) {
            let place = ins!(self, "getelementptr i8, ptr {buffer}, i32 {offset}");
            line!(self, "store {ty} {reg}, ptr {place}, align {}", if ty == "i32" { 4 } else { 8 });
        }
        self.declarations.insert("declare i32 @vprintf(ptr, ptr)".into());
        let text = ins!(self, "addrspacecast ptr addrspace(1) @{text} to ptr");
        ins!(self, "call i32 @vprintf(ptr {text}, ptr {buffer})");
    }
}

/// The conversion of `printf` for an element.
fn conversion(elem: Elem, hex: bool, signed: bool) -> String {
    let Elem::Scalar(s) = elem else { return "0x%016llx".to_owned() };
    let long = if s.bits() == 64 { "ll" } else { "" };
    if hex {
        return format!("0x%0{}{long}x", s.bits().div_ceil(4));
    }
    match (s.is_int(), signed) {
        (false, _) => "%f".to_owned(),
        (true, true) => format!("%{long}i"),
        (true, false) => format!("%{long}u"),
    }
}
