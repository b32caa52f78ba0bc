//! The scratch that Triton asks of a program's allocator for the descriptors that a kernel makes: 128 bytes for each, as often as a loop that makes and
//! reads it has stages, and twice where another loop makes it. An allocator may have been written for that number, so no smaller one is asked for.
//!
//! Triton counts what makes descriptors, when equal and invariant ones are one; here only their use is left, which comes to the same but where a loop
//! carries one that it makes itself: that was made in front of it, too.

use tritium_tile::{BlockId, Function, Module, OpId, OpKind, ValueDef, layout::tma::MAP_BYTES, ops::DescriptorSource, rewrite};

use super::{
    CompileOptions, Unsupported, canonicalise, inline,
    pipeline_loops::window,
    run,
    write_tensor_maps::{DescribedTensor, place},
};

/// Bytes of a program of the grid, of the kernel of a module at L0.
pub(crate) fn bytes(module: &Module, options: &CompileOptions) -> Result<u32, Unsupported> {
    let mut module = module.clone();
    for pass in [&inline::PASS, &canonicalise::PASS] {
        run(pass, &mut module, options)?;
    }
    let function = module.entry();
    let mut described: Vec<DescribedTensor> = Vec::new();
    let mut bytes = 0;
    function.walk(|_, id| {
        if is_made(function, id)
            && let Some(tensor) = window::tensor(function, id)
            && !described.contains(&tensor)
        {
            bytes += copies(function, id, &tensor, options) * MAP_BYTES;
            described.push(tensor);
        }
    });
    Ok(bytes)
}

fn is_made(function: &Function, id: OpId) -> bool {
    match function.op(id).kind {
        OpKind::Load(attrs) => attrs.descriptor == DescriptorSource::Made,
        OpKind::Store(attrs) => attrs.descriptor == DescriptorSource::Made,
        _ => false,
    }
}

/// How often Triton keeps a descriptor.
fn copies(function: &Function, access: OpId, tensor: &DescribedTensor, options: &CompileOptions) -> u32 {
    let owners = rewrite::owner_ops(function);
    let (made, _) = place(function, access, tensor);
    let mut around = Some(made);
    while let Some(block) = around {
        let Some(owner) = owners[block.index()] else { break };
        if let OpKind::For(attrs) = function.op(owner).kind {
            let stages = attrs.num_stages.unwrap_or(options.launch.num_stages);
            let loads = |&id: &OpId| matches!(function.op(id).kind, OpKind::Load(_)) && is_made(function, id);
            return match function.block(block).ops.iter().any(loads) {
                _ if stages < 2 => 1,
                true => stages + u32::from(is_carried(function, tensor, block)),
                false => 2,
            };
        }
        around = rewrite::position(function, owner).map(|(block, _)| block);
    }
    1
}

/// Whether a part of what describes a tensor is carried by the loop of this body, or made by a branch in it that may pass on what is.
fn is_carried(function: &Function, tensor: &DescribedTensor, body: BlockId) -> bool {
    tensor.values().any(|value| match function.value(value).def {
        ValueDef::Argument(block, _) => block == body,
        ValueDef::Result(id, _) => matches!(function.op(id).kind, OpKind::If | OpKind::Select),
    })
}
