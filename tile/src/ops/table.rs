//! The table of operations: what others ask of a kind besides its meaning, a row a kind and a column a question.
//!
//! **Invariant:** what two places would have to know of a kind is a column here; what they treat alike where each kind must be thought of is a group
//! of [`kinds`](crate::kinds).

use std::sync::LazyLock;

use rustc_hash::FxHashMap;

use super::*;
use crate::{libdevice, module::Level};

/// What passes take together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// Result element `i` depends on operand elements `i` only.
    Elementwise,
    /// The elements of the operand in another shape or layout.
    View,
    /// The operand itself, and something about its elements: elementwise and a view.
    Promise,
    /// An access to global memory, each element through its own pointer.
    Access,
    /// Runs its region, which computes on scalars, on elements.
    Combining,
    Loop,
    Branch,
    /// Ends a block.
    Terminator,
    /// None of these.
    Other,
}

/// What an operation does beside giving its results.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// Nothing, and so little to compute that it may be computed again: may be removed, merged, moved and repeated.
    Cheap,
    /// Nothing: may be removed, merged and moved.
    Pure,
    /// Nothing, but what it gives depends on where it stands: may be removed.
    Placed,
    /// Makes a buffer: may be removed.
    Allocates,
    /// Changes nothing that a load may read, and must stay.
    Stays,
    /// May change what a load reads, or order what other threads do: must stay.
    Writes,
}

/// The types of operands and results.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Types {
    Tiles,
    /// Shared buffers too.
    Buffers,
}

/// Whether it may stand in the region of a `Combining` operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scalars {
    Yes,
    /// In that of `Map` only; the others are run on many elements at once.
    Map,
    No,
}

struct Row {
    name: &'static str,
    level: Level,
    regions: usize,
    class: Class,
    effect: Effect,
    types: Types,
    scalars: Scalars,
}

macro_rules! operations {
    ($($kind:pat => $name:expr, $level:ident $regions:literal $class:ident $effect:expr, $types:ident $scalars:ident $blank:expr;)*) => {
        impl OpKind {
            #[inline]
            fn row(&self) -> Row {
                use Effect::*;
                match self {
                    $($kind => Row {
                        name: $name,
                        level: Level::$level,
                        regions: $regions,
                        class: Class::$class,
                        effect: $effect,
                        types: Types::$types,
                        scalars: Scalars::$scalars,
                    },)*
                }
            }

            /// Every operation that has a name of its own, with attributes that mean nothing yet.
            pub fn blanks() -> Vec<OpKind> {
                let mut blanks = Vec::new();
                $(blanks.extend($blank);)*
                blanks
            }
        }
    };
}

// The word that it begins with in the text; the level that it begins at; its regions; what it is; its effect; its types; whether it
// computes on scalars in regions; how it is before its attributes are read.
#[rustfmt::skip]
operations! {
    OpKind::Constant(_) => "constant",                 L0 0 Other       Cheap,  Tiles   Yes [OpKind::Constant(Constant::Int(0))];
    OpKind::ProgramId { .. } => "program_id",          L0 0 Other       Cheap,  Tiles   Yes [OpKind::ProgramId { axis: 0 }];
    OpKind::NumPrograms { .. } => "num_programs",      L0 0 Other       Cheap,  Tiles   Yes [OpKind::NumPrograms { axis: 0 }];
    OpKind::SpecialRegister(register) => "special_register", L0 0 Other register.effect(), Tiles No [OpKind::SpecialRegister(SpecialRegister::SmId)];
    OpKind::Iota { .. } => "iota",                     L0 0 Other       Cheap,  Tiles   No  [OpKind::Iota { start: 0, end: 0 }];

    OpKind::Splat => "splat",                          L0 0 View        Cheap,  Tiles   No  [OpKind::Splat];
    OpKind::ExpandDims { .. } => "expand_dims",        L0 0 View        Cheap,  Tiles   No  [OpKind::ExpandDims { axis: 0 }];
    OpKind::Broadcast => "broadcast",                  L0 0 View        Cheap,  Tiles   No  [OpKind::Broadcast];
    OpKind::Reshape { .. } => "reshape",               L0 0 View        Cheap,  Tiles   No  [OpKind::Reshape { reorder: false }];
    OpKind::Transpose { .. } => "transpose",           L0 0 View        Cheap,  Tiles   No  [OpKind::Transpose { order: SmallVec::new() }];

    OpKind::Unary(op) => op.name(),                    L0 0 Elementwise Cheap,  Tiles   Yes UnaryOp::ALL.iter().map(|&op| OpKind::Unary(op));
    OpKind::Binary(op) => op.name(),                   L0 0 Elementwise Cheap,  Tiles   Yes BinaryOp::ALL.iter().map(|&op| OpKind::Binary(op));
    OpKind::Compare(op) => op.name(),                  L0 0 Elementwise Cheap,  Tiles   Yes Predicate::ALL.iter().map(|&op| OpKind::Compare(op));
    OpKind::Select => "select",                        L0 0 Elementwise Cheap,  Tiles   Yes [OpKind::Select];
    OpKind::Choose => "choose",                        L0 0 Elementwise Cheap,  Tiles   Yes [OpKind::Choose];
    OpKind::Fma => "fma",                              L0 0 Elementwise Cheap,  Tiles   Yes [OpKind::Fma];
    OpKind::Cast(op) => op.name(),                     L0 0 Elementwise Cheap,  Tiles   Yes CastOp::ALL.iter().map(|&op| OpKind::Cast(op));
    OpKind::AddPtr => "addptr",                        L0 0 Elementwise Cheap,  Tiles   No  [OpKind::AddPtr];
    OpKind::Promise { what, .. } => what.name(),       L0 0 Promise     Cheap,  Tiles   No  PromiseOp::ALL.iter().map(|&what| OpKind::Promise { what, values: SmallVec::new() });
    OpKind::Libdevice(_) => "libdevice",               L0 0 Elementwise Cheap,  Tiles   Yes libdevice::all().next().map(OpKind::Libdevice);
    OpKind::InlineAsm(asm) => "inline_asm",            L0 0 Other       if asm.pure { Pure } else { Writes }, Tiles Yes [OpKind::InlineAsm(Box::default())];
    OpKind::Map { .. } => "map",                       L0 1 Combining   Pure,   Tiles   No  [OpKind::Map { pack: 1 }];

    OpKind::Load(attrs) => "load",                     L0 0 Access      if attrs.volatile { Stays } else { Placed }, Tiles No [OpKind::Load(LoadAttrs::default())];
    OpKind::Store(_) => "store",                       L0 0 Access      Writes, Tiles   No  [OpKind::Store(StoreAttrs::default())];
    OpKind::AtomicRmw { op, .. } => op.name(),         L0 0 Access      Writes, Tiles   No  AtomicOp::ALL.iter().map(|&op| OpKind::AtomicRmw { op, sem: MemSem::default(), scope: MemScope::default(), vector: 0 });
    OpKind::AtomicCas { .. } => "atomic.cas",          L0 0 Access      Writes, Tiles   No  [OpKind::AtomicCas { sem: MemSem::default(), scope: MemScope::default() }];

    OpKind::Gather { .. } => "gather",                 L0 0 Other       Pure,   Buffers No  [OpKind::Gather { axis: 0 }];
    OpKind::Histogram => "histogram",                  L0 0 Other       Pure,   Tiles   No  [OpKind::Histogram];
    OpKind::Reduce { .. } => "reduce",                 L0 1 Combining   Pure,   Tiles   No  [OpKind::Reduce { axis: 0 }];
    OpKind::Scan { .. } => "scan",                     L0 1 Combining   Pure,   Tiles   No  [OpKind::Scan { axis: 0, reverse: false }];
    OpKind::Dot { .. } => "dot",                       L0 0 Other       Pure,   Buffers No  [OpKind::Dot { precision: DotPrecision::default(), sum_depth: None }];

    OpKind::For(_) => "for",                           L0 1 Loop        Placed, Buffers Map [OpKind::For(LoopAttrs::default())];
    // It may not end.
    OpKind::While { .. } => "while",                          L0 2 Loop        Stays,  Buffers Map [OpKind::While { disable_licm: false }];
    OpKind::If => "if",                                L0 2 Branch      Placed, Buffers Yes [OpKind::If];
    OpKind::Yield => "yield",                          L0 0 Terminator  Placed, Buffers Yes [OpKind::Yield];
    OpKind::Condition => "condition",                  L0 0 Terminator  Stays,  Buffers Map [OpKind::Condition];
    OpKind::Return => "return",                        L0 0 Terminator  Stays,  Tiles   No  [OpKind::Return];
    OpKind::Call { .. } => "call",                     L0 0 Other       Writes, Tiles   Yes [OpKind::Call { callee: FunctionId(u32::MAX) }];
    OpKind::Assert { .. } => "assert",                 L0 0 Other       Stays,  Tiles   No  [OpKind::Assert { message: String::new() }];
    OpKind::Assume => "assume",                        L0 0 Other       Stays,  Tiles   No  [OpKind::Assume];
    OpKind::Print { .. } => "print",                   L0 0 Other       Stays,  Tiles   No  [OpKind::Print { prefix: String::new(), hex: false, signed: 0 }];

    OpKind::ConvertLayout => "convert_layout",         L1 0 View        Cheap,  Tiles   No  [OpKind::ConvertLayout];
    OpKind::LocalAlloc => "local_alloc",               L1 0 Other    Allocates, Buffers No  [OpKind::LocalAlloc];
    OpKind::LocalIndex => "local_index",               L1 0 Other       Pure,   Buffers No  [OpKind::LocalIndex];
    OpKind::LocalLoad => "local_load",                 L1 0 Other       Placed, Buffers No  [OpKind::LocalLoad];
    OpKind::LocalStore => "local_store",               L1 0 Other       Writes, Buffers No  [OpKind::LocalStore];
    OpKind::Barrier => "barrier",                      L0 0 Other       Writes, Tiles   No  [OpKind::Barrier];
    OpKind::GridWait => "grid_wait",                   L0 0 Other       Writes, Tiles   No  [OpKind::GridWait];
    OpKind::GridLaunch => "grid_launch",               L0 0 Other       Writes, Tiles   No  [OpKind::GridLaunch];

    OpKind::AsyncCopy(_) => "async_copy",              L2 0 Other       Writes, Buffers No  [OpKind::AsyncCopy(AsyncCopyAttrs::default())];
    OpKind::AsyncCommit => "async_commit",             L2 0 Other       Writes, Tiles   No  [OpKind::AsyncCommit];
    OpKind::AsyncWait { .. } => "async_wait",          L2 0 Other       Writes, Tiles   No  [OpKind::AsyncWait { pending: 0 }];
    OpKind::FenceAsync => "fence_async",               L2 0 Other       Writes, Tiles   No  [OpKind::FenceAsync];
    OpKind::MbarrierInit { .. } => "mbarrier_init",    L2 0 Other       Writes, Buffers No  [OpKind::MbarrierInit { count: 1 }];
    OpKind::MbarrierWait => "mbarrier_wait",           L2 0 Other       Writes, Buffers No  [OpKind::MbarrierWait];
    OpKind::MbarrierInvalidate => "mbarrier_invalidate", L2 0 Other     Writes, Buffers No  [OpKind::MbarrierInvalidate];
    OpKind::TmaLoad { .. } => "tma_load",              L2 0 Other       Writes, Buffers No  [OpKind::TmaLoad { contiguous: 0, own_map: false }];
    OpKind::TmaStore { .. } => "tma_store",            L2 0 Other       Writes, Buffers No  [OpKind::TmaStore { contiguous: 0, own_map: false, visible: false }];
    OpKind::WriteTensorMap { .. } => "write_tensor_map", L2 0 Other     Stays,  Tiles   No  [OpKind::WriteTensorMap { contiguous: 0, block: Shape::new() }];
    OpKind::Wgmma { .. } => "wgmma",                   L2 0 Other       Writes, Buffers No  [OpKind::Wgmma { turned: [false; 2], sum_depth: None }];
    OpKind::WgmmaWait { .. } => "wgmma_wait",          L2 0 Other       Writes, Tiles   No  [OpKind::WgmmaWait { pending: 0 }];
}

impl SpecialRegister {
    fn effect(self) -> Effect {
        match self {
            SpecialRegister::GlobalTimer => Effect::Stays,
            SpecialRegister::SmId => Effect::Pure,
        }
    }
}

impl OpKind {
    /// The word an operation of this kind begins with in the text.
    pub fn name(&self) -> &'static str {
        self.row().name
    }

    /// The operation of a name, its attributes blank.
    pub fn from_name(name: &str) -> Option<OpKind> {
        static BY_NAME: LazyLock<FxHashMap<&str, OpKind>> =
            LazyLock::new(|| OpKind::blanks().into_iter().map(|kind| (kind.name(), kind)).collect());
        BY_NAME.get(name).cloned()
    }

    /// The level of the IR at which it begins to exist.
    pub fn level(&self) -> Level {
        self.row().level
    }

    pub fn num_regions(&self) -> usize {
        self.row().regions
    }

    #[inline]
    pub fn class(&self) -> Class {
        self.row().class
    }

    #[inline]
    pub fn effect(&self) -> Effect {
        self.row().effect
    }

    /// Operands or results may be shared buffers.
    pub fn takes_buffers(&self) -> bool {
        self.row().types == Types::Buffers
    }

    /// It may stand in the region of `outer`, which computes on scalars.
    pub fn is_scalar_code_of(&self, outer: &OpKind) -> bool {
        match self.row().scalars {
            Scalars::Yes => true,
            Scalars::Map => matches!(outer, OpKind::Map { .. }),
            Scalars::No => false,
        }
    }

    pub fn is_terminator(&self) -> bool {
        self.class() == Class::Terminator
    }

    /// Elementwise: result element `i` depends on operand elements `i` only.
    pub fn is_elementwise(&self) -> bool {
        matches!(self.class(), Class::Elementwise | Class::Promise)
    }

    /// Every element of the result is an element of the first operand.
    pub fn is_view(&self) -> bool {
        matches!(self.class(), Class::View | Class::Promise)
    }

    /// The result points into the tensor that the first operand points into.
    pub fn keeps_tensor(&self) -> bool {
        self.is_view() || matches!(self, OpKind::AddPtr | OpKind::Cast(CastOp::PtrCast))
    }

    /// Reads or writes global memory, each element through its own pointer.
    pub fn is_access(&self) -> bool {
        self.class() == Class::Access
    }

    /// Runs its region on elements.
    pub fn is_combining(&self) -> bool {
        self.class() == Class::Combining
    }

    pub fn is_loop(&self) -> bool {
        self.class() == Class::Loop
    }

    /// A loop or a branch: runs its regions as the program goes.
    pub fn is_control(&self) -> bool {
        matches!(self.class(), Class::Loop | Class::Branch)
    }

    /// No effect but its results, and the same operands give the same results: may be removed, merged or moved.
    pub fn is_pure(&self) -> bool {
        matches!(self.effect(), Effect::Cheap | Effect::Pure)
    }

    /// As [`OpKind::is_pure`], and may be repeated wherever its results are needed.
    pub fn is_cheap(&self) -> bool {
        self.effect() == Effect::Cheap
    }

    /// May be removed when nothing uses its results, if its regions may.
    pub fn is_removable(&self) -> bool {
        match self.effect() {
            Effect::Cheap | Effect::Pure | Effect::Placed | Effect::Allocates => true,
            Effect::Stays | Effect::Writes => false,
        }
    }

    /// Can make a load read something else, its regions left out.
    pub fn may_write(&self) -> bool {
        match self.effect() {
            Effect::Cheap | Effect::Pure | Effect::Placed | Effect::Stays => false,
            Effect::Allocates | Effect::Writes => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_names_one_operation() {
        let blanks = OpKind::blanks();
        for blank in &blanks {
            assert_eq!(OpKind::from_name(blank.name()).as_ref(), Some(blank), "`{}`", blank.name());
        }
        let mut names: Vec<&str> = blanks.iter().map(OpKind::name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), blanks.len());
    }
}
