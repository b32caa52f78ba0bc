//! What multiplies: the instruction of every product, and why it is not the fastest that the GPU has.
//!
//! **Invariant:** exact for the code that is generated: the operation and the layout of its result decide, as they do in code generation.

use serde::Serialize;
use tritium_semantics::target::{Feature, Sm};
use tritium_tile::{
    Function, Module, OpId, OpKind, Scalar,
    layout::{
        mma::{self, k_of},
        wgmma,
    },
    ops::DotPrecision,
};

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Product {
    /// Index into the source map of whoever made the module.
    pub origin: u32,
    /// `wgmma m64n128k16`, `mma.sync m16n8k16`, or `fma`.
    pub instruction: String,
    /// Why it is not a faster one that this GPU has.
    pub reason: Option<String>,
}

/// Every product of a module at L1 or L2, in program order, the copies of a loop's first and last trips once.
pub fn products(module: &Module, sm: &Sm) -> Vec<Product> {
    let function = module.entry();
    let mut out: Vec<Product> = Vec::new();
    function.walk(|_, id| {
        if let Some(product) = product(module, function, id, sm)
            && !out.contains(&product)
        {
            out.push(product);
        }
    });
    out
}

fn product(module: &Module, function: &Function, id: OpId, sm: &Sm) -> Option<Product> {
    let op = function.op(id);
    let layout = |n: usize| module.layouts.distributed(function.ty(*op.results.get(n)?).layout()?);
    let ty = |n: usize| function.ty(op.operands[n]);
    let (instruction, reason) = match op.kind {
        OpKind::Wgmma { .. } => {
            let n = layout(0).and_then(wgmma::tiles).map_or(0, |tiles| tiles.n);
            (format!("wgmma m64n{n}k{}", wgmma::k_of(ty(0).elem().bits())), None)
        }
        OpKind::Dot { precision, .. } => {
            let elem = ty(0).elem().scalar()?;
            let (left, right) = (ty(0).shape(), ty(1).shape());
            let (&[.., m, k], &[.., n]) = (&left[..], &right[..]) else { return None };
            if mma::is_accumulator(layout(0)?) {
                let reason = sm.has(Feature::Wgmma).then(|| {
                    if m < wgmma::M {
                        format!("the tile has {m} rows, and wgmma takes {}", wgmma::M)
                    } else if !module.num_warps.is_multiple_of(4) {
                        format!("num_warps={}, and wgmma takes groups of 4 warps", module.num_warps)
                    } else if left.len() > 2 {
                        "wgmma takes no batch of products".to_owned()
                    } else {
                        "its operands do not lie in shared memory as wgmma reads them".to_owned()
                    }
                });
                (format!("mma.sync m16n8k{}", k_of(elem.bits())), reason)
            } else {
                let reason = match elem {
                    Scalar::F64 => "tensor cores are not used for f64".to_owned(),
                    Scalar::F32 if precision == DotPrecision::Ieee => {
                        "input_precision=\"ieee\" asks for full f32, which tensor cores round to tf32".to_owned()
                    }
                    _ if !sm.has(Feature::MmaSync) => "this GPU has no tensor cores for it".to_owned(),
                    _ => format!(
                        "{m} × {n} × {k} is smaller than the least that tensor cores take, 1 × {} × {}",
                        mma::LEAST_N,
                        k_of(elem.bits())
                    ),
                };
                ("fma".to_owned(), Some(reason))
            }
        }
        _ => return None,
    };
    Some(Product { origin: op.origin.0, instruction, reason })
}
