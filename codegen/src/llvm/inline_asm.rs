//! The user's own instructions, and functions mapped over elements.
//!
//! Elements narrower than 32 bits are packed: a register takes `32 / bits` of them, but no more than `pack`. What a thread holds too few
//! of is filled up with its last element, whose results nobody reads. **Invariant:** the operands of the text stand in the order results,
//! then operands, each with its `pack` elements side by side; the type of each follows from its constraint.

use tritium_tile::{BlockId, Elem, OpId, ops::InlineAsm};

use super::{
    Emitted, Emitter, escaped, ins,
    memory::stored,
    value::{Reg, type_name},
};

/// What a constraint says: a register's LLVM type, or that it ties to an output.
#[derive(Debug, Clone, PartialEq)]
enum Constraint {
    Register(&'static str),
    Tied(usize),
}

struct Constraints {
    outputs: Vec<Constraint>,
    inputs: Vec<Constraint>,
    /// As LLVM reads them.
    text: String,
}

fn constraint(text: &str) -> Result<Constraint, String> {
    let letter = text.trim_start_matches(['=', '&', '+', '%']);
    Ok(Constraint::Register(match letter {
        "r" => "i32",
        "l" => "i64",
        "h" => "i16",
        "c" => "i8",
        "f" => "float",
        "d" => "double",
        "b" => "i1",
        "q" => "i128",
        _ => match letter.parse() {
            Ok(number) => return Ok(Constraint::Tied(number)),
            Err(_) => return Err(format!("the constraint `{text}`: PTX has h, r, l, q, f, d and b")),
        },
    }))
}

fn constraints(text: &str) -> Result<Constraints, String> {
    let mut all = Constraints { outputs: Vec::new(), inputs: Vec::new(), text: String::new() };
    for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
        if !all.text.is_empty() {
            all.text.push(',');
        }
        all.text.push_str(part);
        if part.starts_with('~') {
            continue;
        }
        let constraint = constraint(part)?;
        if part.starts_with('=') {
            if matches!(constraint, Constraint::Tied(_)) || !all.inputs.is_empty() {
                return Err(format!("the constraint `{part}`: results come first, each in a register of its own"));
            }
            all.outputs.push(constraint);
        } else {
            all.inputs.push(constraint);
        }
    }
    Ok(all)
}

/// Elements of this type that share one register.
fn per_register(elem: Elem, pack: usize) -> usize {
    ((32 / elem.bits().max(8)).max(1) as usize).min(pack)
}

fn bits_of(ty: &str) -> u32 {
    match ty {
        "float" => 32,
        "double" => 64,
        other => other.trim_start_matches('i').parse().unwrap_or(32),
    }
}

impl Emitter<'_> {
    pub(super) fn inline_asm(&mut self, op: OpId, asm: &InlineAsm) -> Emitted<()> {
        let operation = self.function.op(op);
        let pack = asm.pack.max(1) as usize;
        let said = constraints(&asm.constraints).map_err(|why| self.unsupported(format!("inline assembly with {why}")))?;
        let operands = operation.operands.iter().map(|&v| self.regs(v)).collect::<Emitted<Vec<_>>>()?;
        let from: Vec<Elem> = operation.operands.iter().map(|&v| self.ty(v).elem()).collect();
        let to: Vec<Elem> = operation.results.iter().map(|&v| self.ty(v).elem()).collect();
        let n = self.num_registers(operation.results[0])?;
        if operands.iter().any(|regs| regs.len() != n) {
            return Err(self.unsupported("inline assembly mixes layouts; a conversion is missing"));
        }
        let registers = |elems: &[Elem]| elems.iter().map(|&e| pack.div_ceil(per_register(e, pack))).sum::<usize>();
        for (what, wanted, given) in
            [("results", registers(&to), said.outputs.len()), ("operands", registers(&from), said.inputs.len())]
        {
            if wanted != given {
                return Err(self.unsupported(format!(
                    "inline assembly whose {what} take {wanted} registers (pack={pack}), but the constraints `{}` name {given}",
                    asm.constraints
                )));
            }
        }
        let mut types: Vec<&'static str> = Vec::new();
        for constraint in said.outputs.iter().chain(&said.inputs) {
            types.push(match constraint {
                Constraint::Register(ty) => ty,
                Constraint::Tied(number) => {
                    let tied =
                        said.outputs.get(*number).and_then(|c| if let Constraint::Register(ty) = c { Some(*ty) } else { None });
                    tied.ok_or_else(|| {
                        self.unsupported(format!("inline assembly that ties an operand to result {number}, which it has not"))
                    })?
                }
            });
        }
        let (output_types, input_types) = types.split_at(said.outputs.len());
        let tuple = match output_types {
            [one] => (*one).to_owned(),
            many => format!("{{{}}}", many.join(", ")),
        };
        let (effect, attributes) = if asm.pure { ("", "#2") } else { (" sideeffect", "#1") };
        let call = format!("call {tuple} asm{effect} \"{}\", \"{}\"", escaped(&asm.asm), escaped(&said.text));

        let mut results: Vec<Vec<Reg>> = vec![Vec::with_capacity(n); to.len()];
        for first in (0..n).step_by(pack) {
            let mut args: Vec<String> = Vec::new();
            for (regs, &elem) in operands.iter().zip(&from) {
                let group: Vec<Reg> = (first..first + pack).map(|r| regs[r.min(n - 1)]).collect();
                for chunk in group.chunks(per_register(elem, pack)) {
                    let ty = input_types[args.len()];
                    let reg = self.packed_register(elem, chunk, ty)?;
                    args.push(format!("{ty} {reg}"));
                }
            }
            let given = ins!(self, "{call}({}) {attributes}", args.join(", "));
            let mut outputs = Vec::new();
            for i in 0..output_types.len() {
                outputs.push(if output_types.len() == 1 { given } else { ins!(self, "extractvalue {tuple} {given}, {i}") });
            }
            let mut next = 0;
            for (regs, &elem) in results.iter_mut().zip(&to) {
                let each = per_register(elem, pack);
                let mut elements = Vec::new();
                for _ in 0..pack.div_ceil(each) {
                    elements.extend(self.unpacked_register(elem, each, outputs[next], output_types[next])?);
                    next += 1;
                }
                regs.extend(elements.into_iter().take(pack.min(n - first)));
            }
        }
        for (&result, regs) in operation.results.iter().zip(results) {
            self.set(result, regs);
        }
        Ok(())
    }

    /// Elements side by side, the first lowest, in a register of this type.
    fn packed_register(&mut self, elem: Elem, elements: &[Reg], ty: &str) -> Emitted<Reg> {
        let (bits, element_type) = stored(elem);
        if let ([one], true) = (elements, type_name(elem) == ty) {
            return Ok(*one);
        }
        let width = bits * elements.len() as u32;
        let mut word = match elements {
            [one] => match elem {
                Elem::Ptr(_) => ins!(self, "ptrtoint ptr addrspace(1) {one} to i64"),
                Elem::Scalar(_) if type_name(elem) == "i1" => ins!(self, "zext i1 {one} to i8"),
                Elem::Scalar(_) if element_type.starts_with('i') => *one,
                Elem::Scalar(_) => ins!(self, "bitcast {element_type} {one} to i{bits}"),
            },
            several => self.pack(elem, several)[0],
        };
        let wanted = bits_of(ty);
        if width > wanted && !(ty == "i1" && type_name(elem) == "i1") {
            return Err(self.unsupported(format!("inline assembly that takes {width} bits of {elem} in a register of {wanted}")));
        }
        if width < wanted {
            word = ins!(self, "zext i{width} {word} to i{wanted}");
        }
        Ok(if ty.starts_with('i') { word } else { ins!(self, "bitcast i{wanted} {word} to {ty}") })
    }

    /// The elements that stand side by side in a register of this type.
    fn unpacked_register(&mut self, elem: Elem, count: usize, reg: Reg, ty: &str) -> Emitted<Vec<Reg>> {
        if count == 1 && type_name(elem) == ty {
            return Ok(vec![reg]);
        }
        let (bits, element_type) = stored(elem);
        let (have, width) = (bits_of(ty), bits * count as u32);
        if have < width {
            return Err(self.unsupported(format!("inline assembly that gives {width} bits of {elem} in a register of {have}")));
        }
        let mut word = if ty.starts_with('i') { reg } else { ins!(self, "bitcast {ty} {reg} to i{have}") };
        if have > width {
            word = ins!(self, "trunc i{have} {word} to i{width}");
        }
        if count > 1 {
            // Fewer than 32 bits lie in the word as memory holds them.
            return Ok(self.unpack(elem, count, &[word]));
        }
        Ok(vec![match elem {
            Elem::Ptr(_) => ins!(self, "inttoptr i64 {word} to ptr addrspace(1)"),
            Elem::Scalar(_) if type_name(elem) == "i1" => ins!(self, "icmp ne i8 {word}, 0"),
            Elem::Scalar(_) if element_type.starts_with('i') => word,
            Elem::Scalar(_) => ins!(self, "bitcast i{bits} {word} to {element_type}"),
        }])
    }

    /// The region on every group of `pack` registers.
    pub(super) fn map(&mut self, op: OpId, pack: usize) -> Emitted<()> {
        let operation = self.function.op(op);
        let region: BlockId = operation.regions[0];
        let operands = operation.operands.iter().map(|&v| self.regs(v)).collect::<Emitted<Vec<_>>>()?;
        let n = self.num_registers(operation.results[0])?;
        if operands.iter().any(|regs| regs.len() != n) || !n.is_multiple_of(pack) {
            return Err(self.unsupported("a mapped function's operands have different layouts"));
        }
        if pack > 1 {
            let layout = self.tile_layout(operation.results[0])?;
            let neighbours = (0..pack.ilog2()).all(|bit| layout.register.get(bit as usize) == Some(&(1 << bit)));
            if !neighbours {
                return Err(self.unsupported("a function mapped over groups of elements that are not in one thread"));
            }
        }
        let mut results: Vec<Vec<Reg>> = vec![Vec::with_capacity(n); operation.results.len()];
        for first in (0..n).step_by(pack) {
            let args: Vec<Reg> = operands.iter().flat_map(|regs| regs[first..first + pack].iter().copied()).collect();
            let yielded = self.inline_scalars(region, &args)?;
            if yielded.len() != results.len() * pack {
                return Err(self.unsupported("a mapped function gives another number of values than it should"));
            }
            for (regs, part) in results.iter_mut().zip(yielded.chunks(pack)) {
                regs.extend(part);
            }
        }
        for (&result, regs) in operation.results.iter().zip(results) {
            self.set(result, regs);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constraints_are_read() {
        let read = constraints("=r, =f,r,0 ,~{memory}").expect("they are right");
        assert_eq!(read.outputs, [Constraint::Register("i32"), Constraint::Register("float")]);
        assert_eq!(read.inputs, [Constraint::Register("i32"), Constraint::Tied(0)]);
        assert_eq!(read.text, "=r,=f,r,0,~{memory}");
        assert!(constraints("=r,m").is_err_and(|why| why.contains("`m`")));
        assert!(constraints("r,=r").is_err_and(|why| why.contains("results come first")));
    }
}
