//! The text form of a module, written.
//!
//! One operation a line: `results = name operands attributes : types @origin`, regions in braces behind it. Layouts stand at the top as
//! `#l0`, `#l1`, …; parameters keep their names, every other value is numbered in the order of the text. **Invariant:** total and
//! deterministic: any module prints, equal modules print equal bytes, and for a verified and compacted module `parse(print(m)) == m`.

use std::{
    convert::Infallible,
    fmt::{self, Write},
};

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::{
    attributes::{self, Number, Visitor},
    layout::{Layout, LayoutId},
    module::{BlockId, Function, Module, OpId, ValueId},
    names::{AXES, Named, UNDEFINED},
    ops::*,
    types::Type,
    verify::MAX_NESTING,
};

pub fn print(module: &Module) -> String {
    let mut out = String::new();
    let _ = write!(out, "module {}", module.level.name());
    if module.num_warps != 0 {
        let _ = write!(out, " num_warps={}", module.num_warps);
    }
    if let Some(bytes) = module.shared_bytes {
        let _ = write!(out, " shared_bytes={bytes}");
    }
    out.push('\n');
    for index in 0..module.layouts.len() as u32 {
        let _ = writeln!(out, "#l{index} = {}", LayoutText(module.layouts.get(LayoutId(index))));
    }
    for (index, function) in module.functions.iter().enumerate() {
        if index > 0 {
            out.push('\n');
        }
        Printer { module: Some(module), function, names: FxHashMap::default(), out: &mut out }.function();
    }
    out
}

/// One function, as [`print`] writes it; callees and layouts are named by number.
pub fn print_function(function: &Function) -> String {
    let mut out = String::new();
    Printer { module: None, function, names: FxHashMap::default(), out: &mut out }.function();
    out
}

/// One operation without its regions, its values named as in [`print_function`].
pub fn print_op(function: &Function, op: OpId) -> String {
    let mut out = String::new();
    let mut printer = Printer { module: None, function, names: FxHashMap::default(), out: &mut out };
    printer.function();
    printer.out.clear();
    printer.op(op, 0);
    out.lines().next().unwrap_or_default().trim_end_matches(" {").to_string()
}

impl fmt::Display for Module {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&print(self))
    }
}

/// `distributed{shape=[128] register=[32, 64] lane=[1, 2, 4, 8, 16] warp=[]}`
pub struct LayoutText<'l>(pub &'l Layout);

impl fmt::Display for LayoutText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Layout::Distributed(l) => write!(
                f,
                "distributed{{shape={:?} register={:?} lane={:?} warp={:?}}}",
                l.shape.as_slice(),
                l.register.as_slice(),
                l.lane.as_slice(),
                l.warp.as_slice()
            ),
            Layout::Shared(l) => {
                write!(f, "shared{{shape={:?} offset={:?}}}", l.shape.as_slice(), l.offset.as_slice())
            }
        }
    }
}

/// A type with its layout: `f32[128, 64, #l0]`, `shared f16[64, 64, #l1]`.
pub struct TypeText<'t>(pub &'t Type);

impl fmt::Display for TypeText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ty = self.0;
        let Some(layout) = ty.layout() else { return write!(f, "{ty}") };
        let text = ty.to_string();
        match text.strip_suffix(']') {
            Some(open) => write!(f, "{open}, #l{}]", layout.0),
            None => write!(f, "{text}[#l{}]", layout.0),
        }
    }
}

/// A name behind its sigil: bare if it is a plain word, otherwise quoted.
struct Name<'n>(&'n str);

impl fmt::Display for Name<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
        if self.0.chars().all(plain) && self.0.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
            f.write_str(self.0)
        } else {
            write!(f, "{}", Quoted(self.0))
        }
    }
}

/// A string literal with the escapes that the parser knows.
struct Quoted<'s>(&'s str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_char('"')?;
        for c in self.0.chars() {
            match c {
                '"' => f.write_str("\\\"")?,
                '\\' => f.write_str("\\\\")?,
                '\n' => f.write_str("\\n")?,
                c if c.is_control() => write!(f, "\\u{{{:x}}}", c as u32)?,
                c => f.write_char(c)?,
            }
        }
        f.write_char('"')
    }
}

/// A float that reads back bit for bit and never looks like an integer.
struct FloatText(f64);

impl fmt::Display for FloatText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.0.is_nan() {
            write!(f, "{:?}", self.0)
        } else if self.0.to_bits() == f64::NAN.to_bits() {
            f.write_str("nan")
        } else {
            write!(f, "nan.{:x}", self.0.to_bits())
        }
    }
}

struct Printer<'a> {
    module: Option<&'a Module>,
    function: &'a Function,
    names: FxHashMap<ValueId, String>,
    out: &'a mut String,
}

impl Printer<'_> {
    fn function(&mut self) {
        let function = self.function;
        for param in &function.params {
            self.names.insert(param.value, format!("%{}", Name(&param.name)));
        }
        let _ = write!(self.out, "func @{}(", Name(&function.name));
        let args = function.blocks.get(function.body.index()).map(|b| b.args.clone()).unwrap_or_default();
        for (index, &arg) in args.iter().enumerate() {
            if index > 0 {
                self.out.push_str(", ");
            }
            self.define(arg);
            self.typed(arg);
            let divisibility = function.params.iter().find(|p| p.value == arg).map_or(1, |p| p.divisibility);
            if divisibility != 1 {
                let _ = write!(self.out, " {{div={divisibility}}}");
            }
        }
        self.out.push(')');
        for (index, ty) in function.results.iter().enumerate() {
            let _ = write!(self.out, "{}{}", if index == 0 { " -> " } else { ", " }, TypeText(ty));
        }
        self.out.push_str(" {\n");
        self.ops(function.body, 1);
        self.out.push_str("}\n");
    }

    fn define(&mut self, value: ValueId) {
        if !self.names.contains_key(&value) {
            // Parameters are named already, numbers count the others only.
            let number = self.names.len() - self.function.params.len().min(self.names.len());
            self.names.insert(value, format!("%{number}"));
        }
    }

    fn name(&self, value: ValueId) -> &str {
        self.names.get(&value).map_or("%?", String::as_str)
    }

    fn typed(&mut self, value: ValueId) {
        let name = self.name(value).to_string();
        match self.function.values.get(value.index()) {
            Some(value) => write!(self.out, "{name}: {}", TypeText(&value.ty)),
            None => write!(self.out, "{name}: ?"),
        }
        .unwrap_or_default();
    }

    fn values(&mut self, values: &[ValueId]) {
        for (index, &value) in values.iter().enumerate() {
            let name = self.name(value).to_string();
            let _ = write!(self.out, "{}{name}", if index == 0 { "" } else { ", " });
        }
    }

    fn ops(&mut self, block: BlockId, depth: usize) {
        // Only a function that does not verify nests deeper; it may even contain itself.
        if depth > MAX_NESTING + 2 {
            let _ = writeln!(self.out, "{:1$}...", "", 2 * depth);
            return;
        }
        let function = self.function;
        for &op in function.blocks.get(block.index()).map_or(&[][..], |b| &b.ops) {
            if op.index() < function.ops.len() {
                self.op(op, depth);
            }
        }
    }

    fn op(&mut self, id: OpId, depth: usize) {
        let function = self.function;
        let op = function.op(id);
        let _ = write!(self.out, "{:1$}", "", 2 * depth);
        op.results.iter().for_each(|&r| self.define(r));
        if !op.results.is_empty() {
            self.values(&op.results);
            self.out.push_str(" = ");
        }
        self.out.push_str(op.kind.name());
        let positional = self.positional(&op.kind);
        if let Some(text) = &positional {
            let _ = write!(self.out, " {text}");
        }
        if !op.operands.is_empty() {
            self.out.push_str(if positional.is_some() { ", " } else { " " });
            self.values(&op.operands);
        }
        let Ok(()) = attributes::visit(&mut op.kind.clone(), &mut Writer(self.out));
        if let Some(offset) = op.shared_offset {
            let _ = write!(self.out, " shared_offset={offset}");
        }
        for (index, &result) in op.results.iter().enumerate() {
            self.out.push_str(if index == 0 { " : " } else { ", " });
            match function.values.get(result.index()) {
                Some(value) => write!(self.out, "{}", TypeText(&value.ty)).unwrap_or_default(),
                None => self.out.push('?'),
            }
        }
        if op.origin != Origin::NONE {
            let _ = write!(self.out, " @{}", op.origin.0);
        }
        for (index, &region) in op.regions.iter().enumerate() {
            self.out.push_str(match (index, &op.kind) {
                (0, _) => " {\n",
                (_, OpKind::If) => " else {\n",
                (_, OpKind::While { .. }) => " do {\n",
                _ => " {\n",
            });
            self.region(region, depth);
            let _ = write!(self.out, "{:1$}}}", "", 2 * depth);
        }
        self.out.push('\n');
    }

    fn region(&mut self, block: BlockId, depth: usize) {
        let args = self.function.blocks.get(block.index()).map(|b| b.args.clone()).unwrap_or_default();
        if !args.is_empty() {
            let _ = write!(self.out, "{:1$}^(", "", 2 * depth);
            for (index, &arg) in args.iter().enumerate() {
                if index > 0 {
                    self.out.push_str(", ");
                }
                self.define(arg);
                self.typed(arg);
            }
            self.out.push_str("):\n");
        }
        self.ops(block, depth + 1);
    }

    /// What stands between the name and the operands.
    fn positional(&self, kind: &OpKind) -> Option<String> {
        match kind {
            OpKind::Constant(Constant::Int(value)) => Some(value.to_string()),
            OpKind::Constant(Constant::Float(value)) => Some(FloatText(*value).to_string()),
            OpKind::Constant(Constant::Undefined) => Some(UNDEFINED.to_owned()),
            OpKind::ProgramId { axis } | OpKind::NumPrograms { axis } => {
                Some(AXES.get(usize::from(*axis)).map_or_else(|| axis.to_string(), |name| name.to_string()))
            }
            OpKind::Iota { start, end } => Some(format!("{start}, {end}")),
            OpKind::Call { callee } => {
                let function = self.module.and_then(|m| m.functions.get(callee.index()));
                Some(function.map_or_else(|| format!("@#{}", callee.0), |f| format!("@{}", Name(&f.name))))
            }
            OpKind::Assert { message } => Some(Quoted(message).to_string()),
            OpKind::Print { prefix, .. } => Some(Quoted(prefix).to_string()),
            OpKind::Libdevice(symbol) => Some(Quoted(symbol.overload().symbol).to_string()),
            OpKind::InlineAsm(asm) => Some(format!("{}, {}", Quoted(&asm.asm), Quoted(&asm.constraints))),
            OpKind::SpecialRegister(register) => Some(register.name().to_owned()),
            _ => None,
        }
    }
}

/// Writes behind what there is.
struct Writer<'s>(&'s mut String);

impl Writer<'_> {
    fn write(&mut self, key: &str, value: impl fmt::Display) -> Result<(), Infallible> {
        let _ = write!(self.0, " {key}={value}");
        Ok(())
    }
}

impl Visitor for Writer<'_> {
    type Error = Infallible;

    fn axis(&mut self, axis: &mut u8) -> Result<(), Infallible> {
        self.write("axis", axis)
    }

    fn number<T: Number>(&mut self, key: &str, number: &mut T, _: T) -> Result<(), Infallible> {
        self.write(key, (*number).into())
    }

    fn number_beside<T: Number>(&mut self, key: &str, number: &mut T, default: T) -> Result<(), Infallible> {
        if *number != default { self.number(key, number, default) } else { Ok(()) }
    }

    fn optional(&mut self, key: &str, number: &mut Option<u32>) -> Result<(), Infallible> {
        number.map_or(Ok(()), |number| self.write(key, number))
    }

    fn flag(&mut self, key: &str, flag: &mut bool) -> Result<(), Infallible> {
        if *flag {
            self.0.push(' ');
            self.0.push_str(key);
        }
        Ok(())
    }

    fn name<T: Named + Default>(&mut self, key: &str, name: &mut T) -> Result<(), Infallible> {
        if *name != T::default() { self.write(key, name.spelling()) } else { Ok(()) }
    }

    fn numbers<A: smallvec::Array>(&mut self, key: &str, numbers: &mut SmallVec<A>) -> Result<(), Infallible>
    where
        A::Item: Number,
    {
        let numbers: Vec<u64> = numbers.iter().map(|&n| n.into()).collect();
        self.write(key, format_args!("{numbers:?}"))
    }
}
