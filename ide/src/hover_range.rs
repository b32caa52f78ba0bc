// Feature: Hover over a selection
//
//! The sum of what is selected: the values in it with their types, what it loads and stores, what it computes.
//!
//! **Invariant:** every sum says what it counts and per what; what is not counted is said.

use std::{collections::BTreeMap, ops::Range, path::Path};

use tritium_semantics::{body::Expr, items, types::Ty};
use tritium_tile::{Function, OpKind, Scalar, ValueId};

use crate::{Analysis, Hover, report::si};

/// Types of one selection that are listed.
const MAX_TYPES: usize = 8;

const CALL: &str = "call";

/// What one program does, each loop's body once.
#[derive(Default)]
struct Sum {
    counts: BTreeMap<&'static str, u64>,
    loaded: f64,
    stored: f64,
    flops: f64,
    has_loop: bool,
}

impl Sum {
    fn add(&mut self, f: &Function, op: &tritium_tile::Op) {
        let elements = |v: ValueId| f.ty(v).num_elements() as f64;
        let bytes = |v: ValueId| elements(v) * f64::from(f.ty(v).elem().bits()).max(8.0) / 8.0;
        let is_float = |v: ValueId| f.ty(v).elem().scalar().is_some_and(Scalar::is_float);
        let mut count = |what| *self.counts.entry(what).or_default() += 1;
        match &op.kind {
            OpKind::Load(_) => {
                count("load");
                self.loaded += op.results.first().map_or(0.0, |&v| bytes(v));
            }
            OpKind::Store(_) => {
                count("store");
                self.stored += op.operands.get(1).map_or(0.0, |&v| bytes(v));
            }
            OpKind::Dot { .. } => {
                count("matrix product");
                let n = op.results.first().and_then(|&v| f.ty(v).shape().last().copied()).unwrap_or(1);
                self.flops += 2.0 * op.operands.first().map_or(0.0, |&v| elements(v)) * f64::from(n);
            }
            OpKind::Reduce { .. } => {
                count("reduction");
                if let (Some(&from), Some(&to)) = (op.operands.first(), op.results.first())
                    && is_float(from)
                {
                    self.flops += elements(from) - elements(to);
                }
            }
            OpKind::Call { .. } => count(CALL),
            OpKind::For(_) | OpKind::While { .. } => self.has_loop = true,
            OpKind::Unary(_) | OpKind::Binary(_) | OpKind::Fma => {
                if let Some(&v) = op.results.first().filter(|&&v| is_float(v)) {
                    self.flops += if matches!(op.kind, OpKind::Fma) { 2.0 } else { 1.0 } * elements(v);
                }
            }
            _ => {}
        }
    }
}

impl Analysis {
    /// The sum over a selection in a kernel or helper.
    pub fn hover_selection(&self, path: &Path, range: Range<usize>) -> Option<Hover> {
        if !self.options().hover || range.is_empty() {
            return None;
        }
        let db = self.db();
        let kernels = self.kernels(path);
        let function = self.functions_at(path, range.start).next()?;
        let kernel = self.seen_by(function, &kernels)?;
        let (body, _) = items::function_body(db, function)?;
        let (start, map) = items::source_map(db, function)?;
        let elaborated = self.elaborated(kernel.active.instance);
        let inside = |r: &Range<usize>| range.start <= r.start && r.end <= range.end;
        let mut values: Vec<(usize, String, String)> = Vec::new();
        for (id, ty) in elaborated.types.get(&function)?.iter() {
            let (Expr::Name(name), Some(at)) = (body.expr(id), map.exprs.get(id.0 as usize)) else { continue };
            let at = items::in_file(start, *at);
            let is_value = matches!(ty, Ty::Tile(_) | Ty::BlockPointer(_) | Ty::Descriptor(_));
            if is_value && inside(&at) {
                values.push((at.start, name.to_string(), ty.to_string()));
            }
        }
        values.sort();
        let mut seen = std::collections::BTreeSet::new();
        values.retain(|(_, name, ty)| seen.insert((name.clone(), ty.clone())));
        let mut sum = Sum::default();
        for f in &elaborated.module.functions {
            f.walk(|_, id| {
                let op = f.op(id);
                let place = elaborated.origins.get(op.origin.0 as usize).map(|o| o.place).filter(|p| p.function == function);
                if place.and_then(|place| self.range(place)).is_some_and(|at| inside(&at)) {
                    sum.add(f, op);
                }
            });
        }
        if values.is_empty() && sum.counts.is_empty() {
            return None;
        }
        let said: Vec<String> =
            sum.counts.iter().map(|(what, n)| format!("{n} {what}{}", if *n == 1 { "" } else { "s" })).collect();
        let mut markdown = match &said[..] {
            [] => "**selection**\n\n".to_owned(),
            said => format!("**selection**: {}\n\n", said.join(", ")),
        };
        let per = if sum.has_loop { "per program, loops counted once" } else { "per program" };
        if sum.loaded + sum.stored > 0.0 {
            let (loaded, stored) = (si(sum.loaded), si(sum.stored));
            markdown += &format!("- {loaded}B loaded, {stored}B stored {per} (exact, but for what masks leave out)\n");
        }
        if sum.flops > 0.0 {
            markdown += &format!("- {}FLOP {per} (exact)\n", si(sum.flops));
        }
        if sum.counts.contains_key(CALL) {
            markdown += "- what the selection calls is not counted\n";
        }
        for (_, name, ty) in values.iter().take(MAX_TYPES) {
            markdown += &format!("- `{name}: {ty}`\n");
        }
        if values.len() > MAX_TYPES {
            markdown += &format!("- and {} more values\n", values.len() - MAX_TYPES);
        }
        markdown += &format!("- under {}\n", kernel.active.describe(self.db()));
        Some(Hover::of(range, markdown))
    }
}
