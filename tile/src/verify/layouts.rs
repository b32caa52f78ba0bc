//! The rules of layouts and of types that carry them. **Invariant:** decides by linear algebra over F2 on the bases alone.

use crate::{
    layout::{Layout, LayoutId},
    module::{Level, Module},
    types::{Elem, Type, num_elements},
};

/// Is the layout a surjection onto its shape, made of bases inside it?
pub(super) fn well_formed(module: &Module, id: LayoutId) -> Result<(), String> {
    let layout = module.layouts.get(id);
    let shape = match layout {
        Layout::Distributed(l) => &l.shape,
        Layout::Shared(l) => &l.shape,
    };
    if shape.len() > 8 || shape.iter().any(|d| !d.is_power_of_two() || u64::from(*d) > super::MAX_ELEMENTS) {
        return Err("the extents of a layout are powers of two".into());
    }
    let elements = num_elements(shape);
    if elements > super::MAX_ELEMENTS {
        return Err(format!("a layout covers at most {} elements", super::MAX_ELEMENTS));
    }
    let bases: Vec<u32> = match layout {
        Layout::Distributed(l) => {
            if l.lane.len() != 5 {
                return Err(format!("a warp has 32 lanes: 5 bases, not {}", l.lane.len()));
            }
            if module.num_warps != 0 && 1u64.checked_shl(l.warp.len() as u32) != Some(u64::from(module.num_warps)) {
                return Err(format!("{} warp bases do not make {} warps", l.warp.len(), module.num_warps));
            }
            if l.register.len() > 20 {
                return Err("at most 20 register bases".into());
            }
            l.register.iter().chain(&l.lane).chain(&l.warp).copied().collect()
        }
        Layout::Shared(l) => {
            if l.offset.len() > 20 {
                return Err("at most 20 offset bases".into());
            }
            l.offset.to_vec()
        }
    };
    if let Some(basis) = bases.iter().find(|&&basis| u64::from(basis) >= elements) {
        return Err(format!("basis {basis} lies outside the {elements} elements"));
    }
    let rank = rank(&bases);
    let needed = elements.trailing_zeros();
    if rank != needed {
        return Err(format!("the bases reach 2^{rank} of 2^{needed} elements"));
    }
    Ok(())
}

/// The dimension of the span, by Gaussian elimination on the highest bit.
fn rank(bases: &[u32]) -> u32 {
    let mut pivots = [0u32; 32];
    let mut rank = 0;
    for &basis in bases {
        let mut rest = basis;
        while rest != 0 {
            let top = rest.ilog2() as usize;
            if pivots[top] == 0 {
                pivots[top] = rest;
                rank += 1;
                break;
            }
            rest ^= pivots[top];
        }
    }
    rank
}

/// Has the type a layout exactly when its level asks for one, of its own shape and the right family?
pub(super) fn type_rules(module: &Module, ty: &Type) -> Result<(), String> {
    let layout = match ty.layout() {
        Some(id) if id.0 as usize >= module.layouts.len() => return Err(format!("`{ty}` names a layout that does not exist")),
        Some(id) => Some((id, module.layouts.get(id))),
        None => None,
    };
    match (ty, layout) {
        (Type::Shared { .. }, _) if module.level == Level::L0 => Err(format!("`{ty}`: shared memory begins at L1")),
        (Type::Tile { .. }, Some(_)) if module.level == Level::L0 => Err(format!("`{ty}`: layouts begin at L1")),
        (Type::Tile { .. }, None) if module.level == Level::L0 => Ok(()),
        (Type::Tile { shape, .. }, None) if shape.is_empty() => Ok(()),
        (Type::Tile { shape, .. }, Some(_)) if shape.is_empty() => Err(format!("`{ty}`: a scalar has no layout")),
        (Type::Tile { .. }, None) => Err(format!("`{ty}` has no layout")),
        (Type::Tile { shape, .. }, Some((_, Layout::Distributed(l)))) if *shape == l.shape => Ok(()),
        (Type::Shared { shape, .. }, Some((_, Layout::Shared(l)))) if *shape == l.shape => Ok(()),
        (Type::Shared { .. }, Some((_, Layout::Shared(_)))) if module.layouts.ring_slots(ty).is_some() => Ok(()),
        (_, Some((id, Layout::Distributed(_) | Layout::Shared(_)))) => {
            Err(format!("`{ty}`: #l{} is of another shape or of the wrong family", id.0))
        }
        (Type::Shared { .. }, None) => Err(format!("`{ty}` has no layout")),
    }
}

/// A pointer or number of 64 bits?
pub(super) fn is_address_sized(elem: Elem) -> bool {
    elem.bits() == 64
}
