//! What a launch takes, before anything of it is made.

use tritium_semantics::launch::{Launch, Tensor};

use crate::{device::DeviceName, files};

/// How often the bytes of a tensor are held at once: before the launch, after it, and, where programs run in this process, while they run.
/// `sides`: with the CPU device beside another device, two launches are held.
fn copies(device: DeviceName, sides: u64) -> u64 {
    match device {
        DeviceName::Cpu | DeviceName::Sim => 1 + 2 * sides,
        DeviceName::Cuda(_) => 2 * sides,
    }
}

/// Bytes of a tensor's storage; `None` where the number has no meaning.
fn storage_bytes(tensor: &Tensor) -> Option<u64> {
    tensor.span()?.checked_mul(u64::from(tensor.dtype.bytes()))
}

/// What the checks of [`super::sanitize`] remember of a launch's tensors: of each element who has touched it, and whether it is of a view and
/// holds anything.
pub(super) fn shadow_bytes(memories: &[crate::tensor::Tensor]) -> u64 {
    memories.iter().map(|memory| memory.bytes.len() as u64 / u64::from(memory.dtype.bytes().max(1)) * 10).sum()
}

/// What the limit leaves for references, or why the launch does not fit.
pub(super) fn room(launch: &Launch, device: DeviceName, sides: u64, memory_bytes: u64) -> Result<u64, String> {
    let copies = copies(device, sides);
    // One more byte an element says whether it was written, and the values of one tensor after another are looked at as `f64`.
    let of = |tensor: &Tensor| {
        let bytes = storage_bytes(tensor)?;
        bytes.checked_mul(copies)?.checked_add(bytes / u64::from(tensor.dtype.bytes()))
    };
    let total = launch.tensors.iter().try_fold(0u64, |total, tensor| total.checked_add(of(tensor)?));
    if let Some(left) = total.and_then(|total| memory_bytes.checked_sub(total)) {
        return Ok(left);
    }
    let spelled = |tensor: &Tensor| {
        let shape: Vec<String> = tensor.shape.iter().map(u64::to_string).collect();
        let bytes = storage_bytes(tensor).map_or_else(|| "more than can be counted".to_owned(), files::size);
        format!("`{}` {}[{}] {bytes}", tensor.name, tensor.dtype, shape.join(", "))
    };
    let mut largest: Vec<&Tensor> = launch.tensors.iter().collect();
    largest.sort_by_key(|tensor| std::cmp::Reverse(storage_bytes(tensor).unwrap_or(u64::MAX)));
    let largest: Vec<String> = largest.into_iter().take(3).map(spelled).collect();
    let total = total.map_or_else(|| "more than can be counted".to_owned(), files::size);
    Err(format!(
        "its tensors take {total} of memory, {copies} times each and what tells which elements were written ({}); a run may take {}: \
         smaller sizes, or `--memory`",
        largest.join(", "),
        files::size(memory_bytes)
    ))
}
