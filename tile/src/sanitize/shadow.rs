//! What is known of global memory beside its bytes: shapes, what belongs to a view, what was ever written, and who has touched what.
//!
//! **Invariant:** an element takes 8 bytes, and another for each of the two questions that may be asked of its tensor.

use super::{At, race::Cell};

/// An allocation and the tensors of a launch that lie in it.
#[derive(Debug, Clone, Default)]
pub struct MemoryShape {
    pub element_bytes: u32,
    pub elements: usize,
    pub views: Vec<TensorShape>,
    /// By element: whether it holds anything. All do, if not given.
    pub initialised: Option<Vec<bool>>,
}

/// A tensor; offset and strides count elements of its memory.
#[derive(Debug, Clone, Default)]
pub struct TensorShape {
    pub name: String,
    pub shape: Vec<u64>,
    pub strides: Vec<u64>,
    pub offset: u64,
}

#[derive(Debug, Default)]
pub(super) struct Shadow {
    pub(super) memories: Vec<MemoryShadow>,
}

#[derive(Debug)]
pub(super) struct MemoryShadow {
    pub(super) memory: MemoryShape,
    pub(super) shift: u32,
    /// By element: whether a view has it. All are, if `None`.
    pub(super) in_view: Option<Vec<bool>>,
    pub(super) cells: Vec<Cell>,
    /// Operations that have touched it, the first so many of which cells can name.
    pub(super) accesses: Vec<At>,
    pub(super) writers: Vec<At>,
}

impl TensorShape {
    fn len(&self) -> u64 {
        self.shape.iter().product()
    }

    /// The index of an element of the memory, if it is the tensor's.
    fn index(&self, element: usize) -> Option<Vec<u64>> {
        let mut axes: Vec<usize> = (0..self.shape.len()).collect();
        axes.sort_by_key(|&axis| std::cmp::Reverse(self.strides[axis]));
        let mut index = vec![0; self.shape.len()];
        let mut rest = (element as u64).checked_sub(self.offset)?;
        for axis in axes {
            if self.strides[axis] > 0 && self.shape[axis] > 1 {
                index[axis] = (rest / self.strides[axis]).min(self.shape[axis] - 1);
                rest -= index[axis] * self.strides[axis];
            }
        }
        (rest == 0 && self.len() > 0).then_some(index)
    }

    /// Where its elements lie in the memory.
    fn elements(&self) -> Vec<usize> {
        let mut elements = vec![self.offset as usize];
        for (&extent, &stride) in self.shape.iter().zip(&self.strides) {
            elements = elements.iter().flat_map(|&at| (0..extent).map(move |i| at + (i * stride) as usize)).collect();
        }
        elements
    }
}

impl MemoryShape {
    fn in_view(&self) -> Option<Vec<bool>> {
        let is_dense = |view: &TensorShape| {
            let span: u64 =
                view.shape.iter().zip(&view.strides).map(|(&extent, &stride)| extent.saturating_sub(1) * stride).sum();
            view.offset == 0 && view.len() >= self.elements as u64 && span + 1 == view.len()
        };
        if self.views.is_empty() || self.views.iter().any(is_dense) {
            return None;
        }
        let mut in_view = vec![false; self.elements];
        for element in self.views.iter().flat_map(TensorShape::elements) {
            if let Some(flag) = in_view.get_mut(element) {
                *flag = true;
            }
        }
        in_view.contains(&false).then_some(in_view)
    }
}

impl Shadow {
    pub(super) fn new(memories: Vec<MemoryShape>) -> Shadow {
        let shadow = |memory: MemoryShape| MemoryShadow {
            shift: memory.element_bytes.max(1).trailing_zeros(),
            in_view: memory.in_view(),
            cells: vec![Cell::default(); memory.elements],
            accesses: Vec::new(),
            writers: Vec::new(),
            memory,
        };
        Shadow { memories: memories.into_iter().map(shadow).collect() }
    }

    pub(super) fn writers(&self, allocation: usize) -> &[At] {
        self.memories.get(allocation).map_or(&[], |memory| &memory.writers)
    }

    /// Name and index of an element: of the first view that has it, else as the memory counts.
    pub(super) fn spelled(&self, allocation: usize, element: usize) -> (String, Vec<u64>) {
        let Some(MemoryShadow { memory, .. }) = self.memories.get(allocation) else { return Default::default() };
        let of_view = memory.views.iter().find_map(|view| Some((view.name.clone(), view.index(element)?)));
        let name = || memory.views.first().map(|view| view.name.clone()).unwrap_or_default();
        of_view.unwrap_or_else(|| (name(), vec![element as u64]))
    }

    /// The shape of the first view, and its strides.
    pub(super) fn geometry(&self, allocation: usize) -> (&[u64], &[u64]) {
        let view = self.memories.get(allocation).and_then(|memory| memory.memory.views.first());
        view.map_or((&[], &[]), |view| (&view.shape, &view.strides))
    }
}

impl MemoryShadow {
    /// The elements that an access touches.
    pub(super) fn elements(&self, offset: usize, bytes: usize) -> std::ops::Range<usize> {
        let last = (offset + bytes - 1) >> self.shift;
        (offset >> self.shift).min(self.cells.len())..(last + 1).min(self.cells.len())
    }

    pub(super) fn is_in_view(&self, element: usize) -> bool {
        self.in_view.as_ref().is_none_or(|all| all[element])
    }

    pub(super) fn is_initialised(&self, element: usize) -> bool {
        self.memory.initialised.as_ref().is_none_or(|all| all.get(element).copied().unwrap_or(true))
    }

    pub(super) fn initialise(&mut self, element: usize) {
        if let Some(flag) = self.memory.initialised.as_mut().and_then(|all| all.get_mut(element)) {
            *flag = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn memory(elements: usize, views: &[(u64, &[u64], &[u64])]) -> MemoryShadow {
        let view = |(offset, shape, strides): &(u64, &[u64], &[u64])| TensorShape {
            name: "x".to_owned(),
            shape: shape.to_vec(),
            strides: strides.to_vec(),
            offset: *offset,
        };
        let memory = MemoryShape { element_bytes: 4, elements, views: views.iter().map(view).collect(), initialised: None };
        Shadow::new(vec![memory]).memories.remove(0)
    }

    #[test]
    fn elements_of_views() {
        let seen = |memory: &MemoryShadow| {
            (0..memory.cells.len()).map(|i| if memory.is_in_view(i) { 'x' } else { '.' }).collect::<String>()
        };
        assert_eq!(seen(&memory(6, &[(0, &[2, 3], &[3, 1])])), "xxxxxx");
        assert_eq!(seen(&memory(6, &[(0, &[2, 2], &[3, 1])])), "xx.xx.");
        assert_eq!(seen(&memory(6, &[(1, &[2], &[1]), (4, &[2], &[1])])), ".xx.xx");
        assert_eq!(seen(&memory(6, &[(0, &[3, 2], &[1, 3])])), "xxxxxx");
    }

    #[test]
    fn an_element_is_spelled_by_the_view_that_has_it() {
        let shadow = Shadow { memories: vec![memory(12, &[(0, &[2, 3], &[6, 1]), (3, &[3, 2], &[1, 6])])] };
        assert_eq!(shadow.spelled(0, 7).1, [1, 1]);
        assert_eq!(shadow.spelled(0, 10).1, [1, 1]);
    }
}
