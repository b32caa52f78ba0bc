//! Affine forms: an integer or an address as a sum of `coefficient · symbols… · index along a dimension`.
//!
//! A symbol is a parameter, a program id, a loop's induction variable or trip number, or any other scalar. Products of symbols are kept
//! (`row · stride`), products of two indices are not affine. A value carried through a loop that grows by the same amount on every trip
//! has the form `initial + trip · amount`.
//!
//! **Invariant:** equal forms are equal values, modulo the width of the type; a tile has a form or none, never an approximation.

use std::fmt::Write as _;

use smallvec::SmallVec;

use crate::{
    control::ForLoop,
    module::{BlockId, Function, OpId, ValueDef, ValueId},
    ops::{BinaryOp, CastOp, Constant, Op, OpKind},
    rewrite,
    types::Elem,
};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Symbol {
    Program(u8),
    Programs(u8),
    /// How often the body of this loop has run before, from 0.
    Trip(BlockId),
    /// A scalar that is not affine in anything simpler. For a pointer parameter: its address.
    Value(ValueId),
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Term {
    /// Sorted; empty for a pure number.
    pub symbols: SmallVec<[Symbol; 2]>,
    /// Times the index along this dimension.
    pub dim: Option<u8>,
    pub coefficient: i64,
}

/// A sum of terms, sorted, none with coefficient 0, no two alike.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Affine {
    pub terms: Vec<Term>,
}

/// More terms than this are no help to anybody.
const MAX_TERMS: usize = 24;

impl Affine {
    fn number(n: i64) -> Affine {
        Affine::of(vec![Term { symbols: SmallVec::new(), dim: None, coefficient: n }])
    }

    fn symbol(symbol: Symbol) -> Affine {
        Affine { terms: vec![Term { symbols: SmallVec::from_slice(&[symbol]), dim: None, coefficient: 1 }] }
    }

    fn of(mut terms: Vec<Term>) -> Affine {
        terms.sort();
        terms.dedup_by(|term, last| {
            let is_alike = last.symbols == term.symbols && last.dim == term.dim;
            if is_alike {
                last.coefficient = last.coefficient.wrapping_add(term.coefficient);
            }
            is_alike
        });
        terms.retain(|t| t.coefficient != 0);
        Affine { terms }
    }

    fn plus(&self, other: &Affine, factor: i64) -> Option<Affine> {
        let scaled = other.terms.iter().map(|t| Term { coefficient: t.coefficient.wrapping_mul(factor), ..t.clone() });
        let sum = Affine::of(self.terms.iter().cloned().chain(scaled).collect());
        (sum.terms.len() <= MAX_TERMS).then_some(sum)
    }

    fn times(&self, other: &Affine) -> Option<Affine> {
        let mut terms = Vec::new();
        for a in &self.terms {
            for b in &other.terms {
                if a.dim.is_some() && b.dim.is_some() {
                    return None;
                }
                let mut symbols = a.symbols.clone();
                symbols.extend_from_slice(&b.symbols);
                symbols.sort();
                terms.push(Term { symbols, dim: a.dim.or(b.dim), coefficient: a.coefficient.checked_mul(b.coefficient)? });
            }
        }
        let product = Affine::of(terms);
        (product.terms.len() <= MAX_TERMS).then_some(product)
    }

    fn map_dims(&self, map: impl Fn(u8) -> Option<u8>) -> Affine {
        Affine::of(self.terms.iter().map(|t| Term { dim: t.dim.and_then(&map), ..t.clone() }).collect())
    }

    fn mentions(&self, symbol: impl Fn(Symbol) -> bool) -> bool {
        self.terms.iter().any(|t| t.symbols.iter().any(|&s| symbol(s)))
    }

    pub fn as_constant(&self) -> Option<i64> {
        match &self.terms[..] {
            [] => Some(0),
            [term] if term.symbols.is_empty() && term.dim.is_none() => Some(term.coefficient),
            _ => None,
        }
    }

    /// The value at an index, given a number for every symbol.
    pub fn eval(&self, index: &[u64], symbol: &impl Fn(Symbol) -> Option<i64>) -> Option<i64> {
        let mut sum = 0i64;
        for term in &self.terms {
            let mut product = term.coefficient;
            for &s in &term.symbols {
                product = product.wrapping_mul(symbol(s)?);
            }
            if let Some(d) = term.dim {
                product = product.wrapping_mul(*index.get(usize::from(d))? as i64);
            }
            sum = sum.wrapping_add(product);
        }
        Some(sum)
    }

    /// As text: `X + 4·pid0·stride + 4·i0`.
    pub fn display(&self, function: &Function) -> String {
        if self.terms.is_empty() {
            return "0".to_string();
        }
        let mut out = String::new();
        for (n, term) in self.terms.iter().enumerate() {
            if n > 0 {
                out.push_str(" + ");
            }
            let mut parts: Vec<String> = Vec::new();
            if term.coefficient != 1 || (term.symbols.is_empty() && term.dim.is_none()) {
                parts.push(term.coefficient.to_string());
            }
            for symbol in &term.symbols {
                parts.push(match symbol {
                    Symbol::Program(axis) => format!("pid{axis}"),
                    Symbol::Programs(axis) => format!("programs{axis}"),
                    Symbol::Trip(block) => format!("trip{}", block.0),
                    Symbol::Value(value) => name_of(function, *value),
                });
            }
            if let Some(d) = term.dim {
                parts.push(format!("i{d}"));
            }
            let _ = write!(out, "{}", parts.join("·"));
        }
        out
    }
}

/// A parameter's name, or what defines the value.
pub(super) fn name_of(function: &Function, value: ValueId) -> String {
    if let Some(param) = function.params.iter().find(|p| p.value == value) {
        return param.name.clone();
    }
    match function.value(value).def {
        ValueDef::Result(op, index) => {
            let kind = format!("{:?}", function.op(op).kind);
            let name: String = kind.chars().take_while(|c| c.is_alphanumeric()).collect::<String>().to_lowercase();
            let name = match &function.op(op).kind {
                OpKind::Unary(u) => format!("{u:?}").to_lowercase(),
                OpKind::Binary(b) => format!("{b:?}").to_lowercase(),
                OpKind::Compare(p) => format!("{p:?}").to_lowercase(),
                OpKind::Cast(c) => format!("{c:?}").to_lowercase(),
                _ => name,
            };
            if index == 0 { format!("{name}{}", op.0) } else { format!("{name}{}#{index}", op.0) }
        }
        ValueDef::Argument(block, index) => format!("arg{}#{index}", block.0),
    }
}

pub(super) fn forms(function: &Function) -> Vec<Option<Affine>> {
    let mut walk = Walk { function, forms: vec![None; function.values.len()], budget: 64 * (function.ops.len() + 16) };
    for param in &function.params {
        walk.opaque(param.value);
    }
    walk.block(function.body);
    walk.forms
}

struct Walk<'f> {
    function: &'f Function,
    forms: Vec<Option<Affine>>,
    /// Loops inside loops are walked twice each; past this many ops their carried values are left without a form.
    budget: usize,
}

impl Walk<'_> {
    fn form(&self, value: ValueId) -> Option<&Affine> {
        self.forms[value.index()].as_ref()
    }

    fn opaque(&mut self, value: ValueId) {
        let ty = self.function.ty(value);
        let known = ty.is_scalar() && (ty.elem().scalar().is_none_or(|s| s.is_int()));
        self.forms[value.index()] = known.then(|| Affine::symbol(Symbol::Value(value)));
    }

    fn block(&mut self, block: BlockId) {
        for &id in &self.function.block(block).ops {
            self.budget = self.budget.saturating_sub(1);
            let op = self.function.op(id);
            match &op.kind {
                OpKind::For(_) => self.for_loop(id),
                OpKind::While { .. } | OpKind::If | OpKind::Reduce { .. } | OpKind::Scan { .. } | OpKind::Map { .. } => {
                    for &region in &op.regions {
                        for &arg in &self.function.block(region).args {
                            self.opaque(arg);
                        }
                        self.block(region);
                    }
                    op.results.iter().for_each(|&r| self.opaque(r));
                }
                _ => {
                    for &result in &op.results {
                        match self.transfer(op, result) {
                            Some(form) => self.forms[result.index()] = Some(form),
                            None => self.opaque(result),
                        }
                    }
                }
            }
        }
    }

    fn for_loop(&mut self, id: OpId) {
        let function = self.function;
        let Some(ForLoop { bounds: [lower, _, step], body, induction, init, args, next, results }) = function.for_loop(id) else {
            return;
        };
        let trip = Affine::symbol(Symbol::Trip(body));
        let iv = (|| {
            let (lower, step) = (self.form(lower)?, self.form(step)?);
            lower.plus(&trip.times(step)?, 1)
        })();
        match iv {
            Some(form) => self.forms[induction.index()] = Some(form),
            None => self.opaque(induction),
        }
        // First with each carried value standing for itself, to see what a trip adds to it.
        for &arg in args {
            let elem = function.ty(arg).elem();
            let indexable = matches!(elem, Elem::Ptr(_)) || elem.scalar().is_some_and(|s| s.is_int());
            self.forms[arg.index()] = (indexable && self.budget > 0).then(|| Affine::symbol(Symbol::Value(arg)));
        }
        self.block(body);
        let inside = rewrite::values_inside(function, &[body]);
        let mut again = false;
        let mut forms = Vec::new();
        for ((&arg, &init), &next) in args.iter().zip(init).zip(next) {
            let form = (|| {
                let own = self.form(arg)?;
                let amount = self.form(next)?.plus(own, -1)?;
                if amount.mentions(|s| match s {
                    Symbol::Value(v) => inside[v.index()],
                    Symbol::Trip(block) => block == body,
                    Symbol::Program(_) | Symbol::Programs(_) => false,
                }) {
                    return None;
                }
                self.form(init)?.plus(&amount.times(&trip)?, 1)
            })();
            again |= form.is_some();
            forms.push(form);
        }
        for (&arg, form) in args.iter().zip(forms) {
            match form {
                Some(form) => self.forms[arg.index()] = Some(form),
                None => self.opaque(arg),
            }
        }
        if self.budget == 0 {
            // Loops within loops would double the walk at every level: what stood for itself is forgotten instead.
            for (form, _) in self.forms.iter_mut().zip(&inside).filter(|(_, inside)| **inside) {
                *form = None;
            }
        } else if again || !args.is_empty() {
            // The tiles that stood for themselves must not be seen by anybody.
            self.block(body);
        }
        results.iter().for_each(|&r| self.opaque(r));
    }

    fn transfer(&self, op: &Op, result: ValueId) -> Option<Affine> {
        let function = self.function;
        let ty = function.ty(result);
        let unit = match ty.elem() {
            Elem::Ptr(pointee) => i64::from(pointee.bytes()),
            Elem::Scalar(s) if s.is_int() => 1,
            Elem::Scalar(_) => return None,
        };
        let operand = |n: usize| self.form(op.operands[n]);
        match &op.kind {
            OpKind::Constant(Constant::Int(n)) => Some(Affine::number(*n)),
            OpKind::ProgramId { axis } => Some(Affine::symbol(Symbol::Program(*axis))),
            OpKind::NumPrograms { axis } => Some(Affine::symbol(Symbol::Programs(*axis))),
            OpKind::Iota { start, .. } => {
                let index = Term { symbols: SmallVec::new(), dim: Some(0), coefficient: 1 };
                Affine::of(vec![index]).plus(&Affine::number(i64::from(*start)), 1)
            }
            OpKind::Splat | OpKind::Promise { .. } | OpKind::ConvertLayout => operand(0).cloned(),
            OpKind::Broadcast => {
                // An index along an extent of 1 is 0, so it must not start to count when that extent grows.
                let from = function.ty(op.operands[0]).shape();
                let form = operand(0)?;
                let terms = form.terms.iter().filter(|t| t.dim.is_none_or(|d| from[usize::from(d)] != 1));
                Some(Affine::of(terms.cloned().collect()))
            }
            OpKind::ExpandDims { axis } => Some(operand(0)?.map_dims(|d| Some(if d >= *axis { d + 1 } else { d }))),
            OpKind::Transpose { order } => {
                Some(operand(0)?.map_dims(|d| order.iter().position(|&from| from == d).map(|to| to as u8)))
            }
            OpKind::Binary(BinaryOp::AddI) => operand(0)?.plus(operand(1)?, 1),
            OpKind::Binary(BinaryOp::SubI) => operand(0)?.plus(operand(1)?, -1),
            OpKind::Binary(BinaryOp::MulI) => operand(0)?.times(operand(1)?),
            OpKind::Binary(BinaryOp::Shl) => {
                let bits = operand(1)?.as_constant().filter(|k| (0..32).contains(k))?;
                operand(0)?.times(&Affine::number(1 << bits))
            }
            OpKind::AddPtr => operand(0)?.plus(operand(1)?, unit),
            OpKind::Cast(CastOp::ExtS | CastOp::ExtU | CastOp::Trunc) if function.ty(op.operands[0]).elem().bits() > 1 => {
                operand(0).cloned()
            }
            OpKind::Cast(CastOp::PtrCast) => operand(0).cloned(),
            _ => None,
        }
    }
}
