//! One operation under the checks of [`crate::sanitize`]: done as ever, its operands looked at and its results labelled.

use std::rc::Rc;

use smallvec::SmallVec;

use super::{
    Fault, Frame, Machine, index, shape,
    value::{Data, Slot, Tile, map_data},
};
use crate::{
    kinds,
    module::{OpId, ValueId},
    ops::{Constant, OpKind},
    sanitize::{At, GlobalAccess, Labels, Operand, Sanitizer},
    types::{Elem, Scalar},
};

/// A value and its labels, held while an operation is judged.
type Held = (Rc<Data>, Labels);

impl<'r> Machine<'r> {
    fn held(&self, frame: &Frame<'r>, op: OpId, value: ValueId) -> Result<Held, Fault> {
        match &frame.values[value.index()] {
            Slot::Tile(data, labels) => Ok((data.clone(), labels.clone())),
            Slot::Shared(data) => Ok((Rc::new(data.borrow().clone()), Labels::CLEAN)),
            Slot::Ring(_) | Slot::Empty => Err(self.malformed(frame, op)),
        }
    }

    /// A condition that control flow has come to.
    pub(super) fn decided(&mut self, frame: &Frame<'r>, op: OpId, labels: &Labels) {
        if let Some(sanitizer) = self.sanitizer.as_deref_mut() {
            sanitizer.condition(At { function: frame.id, op }, labels, "a condition");
        }
    }

    pub(super) fn checked_op(&mut self, frame: &mut Frame<'r>, id: OpId) -> Result<SmallVec<[Slot; 2]>, Fault> {
        let function = frame.function;
        let op = function.op(id);
        let at = At { function: frame.id, op: id };
        if let Some(sanitizer) = self.sanitizer.as_deref_mut().filter(|_| may_exchange(&op.kind)) {
            sanitizer.meet();
        }
        match &op.kind {
            OpKind::If => {
                let (_, labels) = self.held(frame, id, op.operands[0])?;
                self.decided(frame, id, &labels);
                return self.op(frame, id);
            }
            OpKind::For(_) => {
                for bound in op.for_operands().bounds() {
                    let (_, labels) = self.held(frame, id, bound)?;
                    if let Some(sanitizer) = self.sanitizer.as_deref_mut() {
                        sanitizer.condition(at, &labels, "the bounds of a loop");
                    }
                }
                return self.op(frame, id);
            }
            OpKind::While { .. } | OpKind::Call { .. } | OpKind::Map { .. } => return self.op(frame, id),
            OpKind::Load(_) | OpKind::Store(_) | OpKind::AtomicRmw { .. } | OpKind::AtomicCas { .. } | OpKind::Assert { .. } => {
                return self.checked_effect(frame, id);
            }
            _ => {}
        }
        let held = op.operands.iter().map(|&value| match &frame.values[value.index()] {
            // Buffers carry no labels.
            Slot::Ring(_) | Slot::Empty => Ok((Rc::new(Data::I1(Vec::new())), Labels::CLEAN)),
            Slot::Tile(..) | Slot::Shared(_) => self.held(frame, id, value),
        });
        let held: SmallVec<[Held; 4]> = held.collect::<Result<_, _>>()?;
        let operands: SmallVec<[Operand<'_>; 4]> = held.iter().map(|(data, labels)| Operand { data, labels }).collect();
        let mut results = self.op(frame, id)?;
        let Some(sanitizer) = self.sanitizer.as_deref_mut() else { return Ok(results) };
        for (&value, slot) in op.results.iter().zip(&mut results) {
            let Slot::Tile(data, labels) = slot else { continue };
            let (ty, from) = (function.ty(value), |n: usize| function.ty(op.operands[n]));
            *labels = match &op.kind {
                OpKind::Constant(Constant::Undefined) => sanitizer.missing(at, data.len()),
                OpKind::Reduce { .. } | OpKind::Scan { .. } => {
                    let mut tile = Tile { data: Data::I1(Vec::new()), labels: std::mem::take(labels) };
                    sanitizer.reduced(at, function, op.regions[0], &operands, &mut tile);
                    tile.labels
                }
                OpKind::Splat => operands[0].labels.map(|bits| map_data!(bits, v => vec![v[0]; data.len()])),
                OpKind::ExpandDims { .. } | OpKind::Reshape { .. } | OpKind::ConvertLayout => operands[0].labels.clone(),
                OpKind::Broadcast => operands[0].labels.map(|bits| shape::broadcast(bits, from(0).shape(), ty.shape())),
                OpKind::Transpose { order } => {
                    operands[0].labels.map(|bits| shape::transpose(bits, from(0).shape(), ty.shape(), order))
                }
                OpKind::Gather { axis } => picked(&operands, from(0).shape(), from(1).shape(), usize::from(*axis), data.len()),
                OpKind::Histogram => sanitizer.counted(at, operands[0], operands.get(1).copied(), data.len()),
                OpKind::Dot { .. } => match operands[..] {
                    [a, b, c] => sanitizer.multiplied(at, (from(0).shape(), from(1).shape()), [a, b, c], data),
                    _ => Labels::CLEAN,
                },
                kinds!(Arithmetic) | OpKind::AddPtr | OpKind::Promise { .. } => sanitizer.computed(at, &op.kind, &operands, data),
                _ => Labels::CLEAN,
            };
        }
        Ok(results)
    }

    /// What touches global memory, or would stop the program.
    fn checked_effect(&mut self, frame: &mut Frame<'r>, id: OpId) -> Result<SmallVec<[Slot; 2]>, Fault> {
        let function = frame.function;
        let op = function.op(id);
        let at = At { function: frame.id, op: id };
        let held: SmallVec<[Held; 4]> = op.operands.iter().map(|&v| self.held(frame, id, v)).collect::<Result<_, _>>()?;
        let operand = |n: usize| held.get(n).map(|(data, labels)| Operand { data, labels });
        let (Some(first), pointer) = (operand(0), function.ty(op.operands[0])) else { return Err(self.malformed(frame, id)) };
        let elem = op.results.first().map_or(Elem::Scalar(Scalar::I1), |&result| function.ty(result).elem());
        let memory = self.memory;
        let access = |verb: &'static str, mask: usize| GlobalAccess {
            at,
            shape: pointer.shape(),
            scalar: pointer.elem().pointee().unwrap_or(Scalar::I8),
            verb,
            pointers: first,
            mask: operand(mask),
        };
        // What a GPU leaves in what is masked off.
        let zero = || Data::ints(elem, 0, first.data.len());
        let Some(sanitizer): Option<&mut Sanitizer> = self.sanitizer.as_deref_mut() else { return self.op(frame, id) };
        let done = match &op.kind {
            OpKind::Load(attrs) => {
                let start = operand(2).map_or_else(zero, |other| other.data.clone());
                sanitizer.load(memory, &access("load", 1), operand(2), start, attrs.volatile).map(Some)
            }
            OpKind::Store(_) => {
                let Some(value) = operand(1) else { return Err(self.malformed(frame, id)) };
                sanitizer.store(memory, &access("store", 2), value).map(|()| None)
            }
            OpKind::AtomicRmw { op: atomic, sem, .. } => {
                let Some(value) = operand(1) else { return Err(self.malformed(frame, id)) };
                sanitizer.atomic(memory, &access("atomic", 2), *atomic, *sem, value, zero()).map(Some)
            }
            OpKind::AtomicCas { sem, scope: _ } => {
                let (Some(expected), Some(value)) = (operand(1), operand(2)) else { return Err(self.malformed(frame, id)) };
                sanitizer.compare_and_swap(memory, &access("atomic", usize::MAX), *sem, [expected, value]).map(Some)
            }
            OpKind::Assert { message } => {
                let Data::I1(conditions) = first.data else { return Err(self.malformed(frame, id)) };
                sanitizer.assertion(at, pointer.shape(), conditions, first.labels, message);
                Ok(None)
            }
            _ => return self.op(frame, id),
        };
        let done = done.map_err(|failure| self.fault(frame, id, failure))?;
        Ok(done.map(|(data, labels)| Slot::Tile(Rc::new(data), labels)).into_iter().collect())
    }
}

/// Whether threads may wait for one another in an operation.
fn may_exchange(kind: &OpKind) -> bool {
    !matches!(
        kind,
        kinds!(Arithmetic)
            | kinds!(Program)
            | kinds!(Control)
            | kinds!(Transfer)
            | OpKind::Constant(_)
            | OpKind::Iota { .. }
            | OpKind::Splat
            | OpKind::ExpandDims { .. }
            | OpKind::Broadcast
            | OpKind::AddPtr
            | OpKind::Promise { .. }
            | OpKind::Load(_)
            | OpKind::Store(_)
            | OpKind::Assume
            | OpKind::Print { .. }
    )
}

/// The labels of what an index picks, and of the index. A place outside picks nothing that is known.
fn picked(operands: &[Operand<'_>], from: &[u32], to: &[u32], axis: usize, len: usize) -> Labels {
    let [source, place] = operands else { return Labels::CLEAN };
    let outside = index::gather(&Data::I1(vec![false; source.data.len()]), from, place.data, to, axis);
    let of_source = source.labels.bits().and_then(|bits| index::gather(&Data::I64(bits.to_vec()), from, place.data, to, axis));
    let bits = (0..len).map(|i| {
        let is_outside = matches!(&outside, Some(Data::I1(outside)) if outside[i]);
        let own = match &of_source {
            Some(Data::I64(bits)) if !is_outside => bits[i],
            _ => 0,
        };
        own | place.labels.at(i) as i64
    });
    Labels::new(bits.collect())
}
