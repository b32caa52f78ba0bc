//! Runs a file's own host program: its launches in order, each on what those before it have left, and then what it asks of the results.

use std::{cell::RefCell, collections::HashSet};

use tritium_semantics::{
    host::HostPlace,
    items, launch,
    program::{Checked, NodeId, Op, Program, Step, View},
};

use super::{
    CheckReport, Comparison, Doing, Ended, LaunchReport, Launched, Refusal, Run,
    compare::{beside, bound, failed},
    tune::{Memories, Source},
};
use crate::{
    exec::{Task, Verify},
    program::{Contents, ancestors},
    tensor::Tensor,
};

impl Run<'_> {
    /// Runs the steps that make these launches and all that they stand on. `of_host`: the number of the file's first launch in host code.
    pub(super) fn program(
        &self,
        program: &Program,
        of_host: usize,
        chosen: &[usize],
        reports: &mut Vec<LaunchReport>,
    ) -> Result<Vec<CheckReport>, Ended> {
        let is_chosen = |step: &&Step| step.launches.iter().any(|launch| chosen.contains(launch));
        let all_launches = chosen.len() == launch::launches(self.db, self.file).launches.len() - of_host;
        let wanted: Vec<usize> = (0..program.steps.len()).filter(|&step| is_chosen(&&program.steps[step])).collect();
        self.launches_alone(program, of_host, chosen, reports)?;
        let needed = closure(program, wanted.iter().copied());
        let mut contents = Contents::new(program, self.beside(), self.memory_bytes);
        let mut reductions = vec![1; program.steps.len()];
        let mut reported = HashSet::new();
        let checks = program.checks.iter().filter(|check| {
            let steps = steps_of(program, nodes_of(&check.what));
            // What is timed is not verified too. What stands on no launch that was asked for is not asked either.
            let is_asked = matches!(self.job.task, Task::Run | Task::Sanitize) || self.job.verify != Verify::Never;
            is_asked
                && (all_launches
                    || (steps.iter().all(|step| needed.contains(step)) && steps.iter().any(|step| wanted.contains(step))))
        });
        let checks: Vec<_> = checks.collect();
        for (number, step) in program.steps.iter().enumerate().filter(|(number, _)| needed.contains(number)) {
            let rows: Vec<usize> = step.launches.iter().copied().filter(|row| chosen.contains(row)).collect();
            let mut rows = if rows.is_empty() { step.launches[..1].to_vec() } else { rows };
            if let (Doing::Tune(trials), true) = (self.doing, rows.len() > 1) {
                let launches: Vec<launch::Launch> = rows.iter().map(|row| self.with_expect(of_host + row)).collect();
                // What is only made at random is made where it is timed.
                let is_made = |id: &NodeId| match &program.nodes[id.index()].op {
                    Op::Init(launch::Init::File(_), _) => false,
                    op => matches!(op, Op::Init(..)),
                };
                let computed = step.before.iter().copied().filter(|id| !is_made(id));
                if contents.need(computed).is_ok() {
                    let contents = RefCell::new(&mut contents);
                    let memories = || {
                        let memories = first_tensors(&launches[0]).into_iter().zip(&step.before).map(|(memory, &id)| {
                            let node = &program.nodes[id.index()];
                            match &node.op {
                                Op::Init(init, _) if is_made(&id) => Some(Source::made(
                                    &launch::Tensor { init: init.clone(), dtype: node.dtype, ..memory },
                                    node.numel(),
                                )),
                                _ => contents.borrow().memory(id, &memory).map(Source::Held),
                            }
                        });
                        let memories: Option<Vec<Source>> = memories.collect();
                        memories.ok_or_else(|| Ended::Refused(Refusal::new("what its tensors hold was not computed")))
                    };
                    let mut made = || {
                        let made =
                            self.memories_of(program, step, &launches[0], &mut contents.borrow_mut()).map_err(Refusal::new)?;
                        made.ok_or_else(|| Ended::Refused(Refusal::new("what its tensors hold was not computed")))
                    };
                    rows = vec![rows[self.best_row(trials, &launches, memories, &mut made)?]];
                    let is_later = |other: &usize| *other > number && needed.contains(other);
                    let mut later = (0..program.steps.len()).filter(is_later);
                    if !later.any(|other| steps_of(program, program.steps[other].before.clone()).contains(&number)) {
                        continue;
                    }
                }
            }
            let mut is_first = true;
            for row in rows {
                let launch = self.with_expect(of_host + row);
                let (memories, before) = match self.memories_of(program, step, &launch, &mut contents) {
                    Ok(Some(made)) => made,
                    Ok(None) => break,
                    Err(message) => {
                        let fault = format!("not launched: {message}");
                        reports.push(LaunchReport::of(self.db, &launch, self.job.device.clone(), Some(fault)));
                        break;
                    }
                };
                let Launched { report, after, reduction, .. } = self.launch(&launch, &memories, before)?;
                if reported.insert(row) || report.fault.is_some() {
                    reports.push(report);
                }
                // What comes after works on what the first row has left.
                if let (Some(after), true) = (after, is_first) {
                    for (node, tensor) in step.results().zip(after) {
                        contents.set(NodeId(node as u32), tensor.bytes).map_err(Refusal::new)?;
                    }
                    reductions[number] = reduction;
                }
                is_first = false;
            }
            let later = program.steps.iter().enumerate().filter(|(later, _)| *later > number && needed.contains(later));
            let asked = checks.iter().flat_map(|check| nodes_of(&check.what));
            contents.forget_unread(later.flat_map(|(_, step)| step.before.iter().copied()).chain(asked));
        }
        let mut out = Vec::new();
        for check in checks {
            let Some((path, line)) = self.line(check.place) else { continue };
            let comparison = self.compared(program, &mut contents, &check.what, &reductions);
            out.push(CheckReport { file: path, line, comparison });
        }
        Ok(out)
    }

    /// The memories of a launch and what they hold before it; `None` where that is not computed.
    fn memories_of(
        &self,
        program: &Program,
        step: &Step,
        launch: &launch::Launch,
        contents: &mut Contents<'_>,
    ) -> Result<Option<Memories>, String> {
        self.enter(launch, "making the tensors of");
        contents.need(step.before.iter().copied())?;
        let mut memories = first_tensors(launch);
        for (memory, node) in memories.iter_mut().zip(&step.before) {
            memory.init = match &program.nodes[node.index()].op {
                Op::Init(init, _) => init.clone(),
                _ => launch::Init::Computed,
            };
        }
        let before: Option<Vec<Tensor>> =
            memories.iter().zip(&step.before).map(|(spec, &node)| contents.memory(node, spec)).collect();
        Ok(before.map(|before| (memories, before)))
    }

    /// Runs the launches that no step makes, as it is not known what their tensors hold: with tensors of their own, where that says something.
    fn launches_alone(
        &self,
        program: &Program,
        of_host: usize,
        chosen: &[usize],
        reports: &mut Vec<LaunchReport>,
    ) -> Result<(), Ended> {
        for &row in chosen {
            if program.steps.iter().any(|step| step.launches.contains(&row)) {
                continue;
            }
            let launch = self.with_expect(of_host + row);
            if launch.tensors.iter().any(|tensor| tensor.init == launch::Init::Computed || !tensor.is_whole()) {
                let fault = "not launched: what its tensors hold is computed in a way that is not followed".to_owned();
                reports.push(LaunchReport::of(self.db, &launch, self.job.device.clone(), Some(fault)));
                continue;
            }
            let before = self.made(&launch)?;
            reports.push(self.launch(&launch, &launch.tensors, before)?.report);
        }
        Ok(())
    }

    fn line(&self, place: HostPlace) -> Option<(std::path::PathBuf, u32)> {
        let range = place.range(self.db)?;
        let path = if place.file == self.file { self.job.path.clone() } else { place.file.path(self.db).to_path_buf() };
        Some((path, items::line_number(self.db, place.file, range.start)))
    }

    fn compared(&self, program: &Program, contents: &mut Contents<'_>, what: &Checked, reductions: &[u64]) -> Comparison {
        match what {
            Checked::Unknown(reason) => failed("a comparison", "", reason.to_string()),
            Checked::Holds(view, text) => {
                let value = contents.need([view.node]).map(|()| contents.values(view));
                match value {
                    Err(message) => failed(text, "", message),
                    Ok(values) => {
                        let holds = values.is_some_and(|values| values.iter().all(|&value| value != 0.0));
                        let comparison = failed(text, "", "it holds".to_owned());
                        Comparison { ok: holds, note: comparison.note.filter(|_| holds), ..comparison }
                    }
                }
            }
            Checked::Close { left, right, names, tolerance } => {
                // The side that a kernel made is held against the other.
                let by_kernel = |view: &View| !steps_of(program, vec![view.node]).is_empty();
                let (left, right, names) = match !by_kernel(left) && by_kernel(right) {
                    true => (right, left, [&names[1], &names[0]]),
                    false => (left, right, [&names[0], &names[1]]),
                };
                if let Err(message) = contents.need([left.node, right.node]) {
                    return failed(names[0], names[1], message);
                }
                let (Some(values), Some(reference)) = (contents.values(left), contents.values(right)) else {
                    return failed(names[0], names[1], "it was not computed".to_owned());
                };
                let dtype = program.nodes[left.node.index()].dtype;
                let reduction = steps_of(program, vec![left.node]).into_iter().map(|step| reductions[step]).max().unwrap_or(1);
                let tensor = Tensor::of_values(names[0], dtype, &left.shape, &values);
                beside(&tensor, &reference, names[1], *tolerance, bound(dtype, reduction))
            }
        }
    }
}

/// The first tensor of each memory of a launch.
fn first_tensors(launch: &launch::Launch) -> Vec<launch::Tensor> {
    let mut out: Vec<launch::Tensor> = Vec::new();
    for tensor in &launch.tensors {
        if tensor.memory.index == out.len() {
            out.push(tensor.clone());
        }
    }
    out
}

fn nodes_of(what: &Checked) -> Vec<NodeId> {
    match what {
        Checked::Close { left, right, .. } => vec![left.node, right.node],
        Checked::Holds(view, _) => vec![view.node],
        Checked::Unknown(_) => vec![],
    }
}

/// The launches that nodes come from, directly or through others.
fn steps_of(program: &Program, nodes: Vec<NodeId>) -> HashSet<usize> {
    let made = ancestors(program, nodes, |_| false).into_iter().filter_map(|id| match program.nodes[id.index()].op {
        Op::Launched { step, .. } => Some(step),
        _ => None,
    });
    closure(program, made)
}

/// Steps with all the steps that they stand on.
fn closure(program: &Program, steps: impl IntoIterator<Item = usize>) -> HashSet<usize> {
    let mut out = HashSet::new();
    let mut pending: Vec<usize> = steps.into_iter().collect();
    while let Some(step) = pending.pop() {
        if !out.insert(step) {
            continue;
        }
        let before = ancestors(program, program.steps[step].before.iter().copied(), |_| false);
        pending.extend(before.into_iter().filter_map(|id| match program.nodes[id.index()].op {
            Op::Launched { step, .. } => Some(step),
            _ => None,
        }));
    }
    out
}
