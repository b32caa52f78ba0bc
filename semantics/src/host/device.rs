//! LCH005: a launch is given tensors of the host's memory.
//!
//! **Invariant:** told only where a tensor is on the CPU for certain: made there by name (`device="cpu"`, `.cpu()`), or without a device in
//! a run of the file from its first line, where nothing may have chosen another default. Memory that is pinned is the GPU's too.

use smol_str::SmolStr;

use super::{
    interpret::Host,
    torch::Args,
    value::{TensorValue, Value},
};
use crate::{
    Db, SourceFile,
    body::ParamKind,
    constant::Const,
    items::{Annotation, FunctionItem},
};

/// What a file's text says of where its tensors are and who takes them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct DeviceFacts {
    /// A tensor that is made without a device may lie elsewhere than on the CPU.
    pub(super) changes_default: bool,
    /// Kernels may be interpreted, or compiled for the CPU, and then take its tensors.
    pub(super) runs_on_host: bool,
}

#[salsa::tracked(returns(copy))]
pub(super) fn facts(db: &dyn Db, file: SourceFile) -> DeviceFacts {
    let text = file.text(db);
    let enters_device = |line: &str| line.trim_start().starts_with("with ") && line.contains("device");
    DeviceFacts {
        changes_default: text.contains("set_default_") || text.lines().any(enters_device),
        runs_on_host: ["TRITON_INTERPRET", "runtime.interpret", "set_active", "TRITON_CPU"].iter().any(|w| text.contains(w)),
    }
}

/// Whether a call that makes a tensor makes it on the CPU for certain; `default`: what it makes where no device is given.
pub(super) fn makes_on_cpu(args: &Args, default: bool) -> bool {
    let is_pinned = args.keyword("pin_memory").is_some_and(|pinned| pinned.truth() != Some(false));
    !is_pinned
        && match args.keyword("device") {
            None => default,
            Some(Value::Const(Const::None)) => default,
            Some(device) => names_cpu(device),
        }
}

fn names_cpu(device: &Value) -> bool {
    matches!(device, Value::Const(Const::Str(name)) if name == "cpu" || name.starts_with("cpu:"))
}

/// Where `tensor.to(…)` leaves a tensor.
pub(super) fn moved(tensor: &TensorValue, args: &Args) -> bool {
    let given = || args.positional.iter().chain(args.keywords.iter().map(|(_, value)| value));
    let is_harmless = |v: &Value| v.as_dtype().is_some() || matches!(v, Value::Const(Const::Bool(_)));
    given().any(names_cpu) || (tensor.on_cpu && given().all(is_harmless))
}

impl Host<'_> {
    /// The message of LCH005 for a launch, if it has tensors of the CPU for certain.
    pub(super) fn cpu_tensors(&self, item: &FunctionItem, args: &Args) -> Option<String> {
        if self.takes_cpu_tensors || item.is_wrapped || args.keyword("warmup").is_some() {
            return None;
        }
        let positional = item.params.iter().zip(&args.positional);
        let keywords = args.keywords.iter().filter_map(|(name, v)| Some((item.params.iter().find(|p| p.name == *name)?, v)));
        // A tensor without elements has no address that could be wrong.
        let is_on_cpu = |value: &Value| matches!(value, Value::Tensor(t) if t.on_cpu && t.numel() > 0);
        let found: Vec<&SmolStr> = positional
            .chain(keywords)
            .filter(|(p, v)| p.annotation != Annotation::Constexpr && p.kind != ParamKind::Rest && is_on_cpu(v))
            .map(|(p, _)| &p.name)
            .collect();
        let names = found.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(" and ");
        match found.len() {
            0 => None,
            1 => Some(format!(
                "{names} gets a tensor of the CPU, and a kernel reads the GPU's memory: make it with `device=\"cuda\"`, or pass `.cuda()` of it"
            )),
            _ => Some(format!(
                "{names} get tensors of the CPU, and a kernel reads the GPU's memory: make them with `device=\"cuda\"`, or pass `.cuda()` of them"
            )),
        }
    }
}
