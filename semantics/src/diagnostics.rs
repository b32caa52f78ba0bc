//! The codes of diagnostics as rows: code, name, severity; each with a page, `diagnostics/<CODE>.md`.
//!
//! A page says what the code means and why, and holds a wrong example that fires exactly this code once and a right one that is silent
//! (`tests/pages.rs` checks both). **Invariant:** a code, once published, keeps its meaning; a fact about it is in its row or its page.

use std::fmt;

/// How much a diagnostic matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Severity {
    /// Triton, or the launch, rejects it.
    Error,
    /// Likely wrong, or silently not what it looks like.
    Warning,
    /// Right, but slow.
    Performance,
    Hint,
}

impl Severity {
    pub fn name(self) -> &'static str {
        match self {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Performance => "performance",
            Severity::Hint => "hint",
        }
    }
}

macro_rules! diagnostics {
    ($($code:ident $name:literal $severity:ident $($mark:ident)?;)*) => {
        /// The code of a diagnostic.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Code { $($code),* }

        impl Code {
            pub const ALL: &'static [Code] = &[$(Code::$code),*];

            /// `SHP001`
            pub fn as_str(self) -> &'static str {
                match self { $(Code::$code => stringify!($code)),* }
            }

            /// `incompatible-broadcast`
            pub fn name(self) -> &'static str {
                match self { $(Code::$code => $name),* }
            }

            pub fn severity(self) -> Severity {
                match self { $(Code::$code => Severity::$severity),* }
            }

            /// Told without being asked for; the others are for those who select them.
            pub fn is_default(self) -> bool {
                match self { $(Code::$code => diagnostics!(@default $($mark)?)),* }
            }

            /// Found where code is generated, of launches that are known: what a launch takes of its GPU and how it uses it.
            pub fn is_resource(self) -> bool {
                match self { $(Code::$code => diagnostics!(@resource $($mark)?)),* }
            }

            /// Found by running launches under checks (`tritium sanitize`), and by nothing else.
            pub fn is_of_runs(self) -> bool {
                match self { $(Code::$code => diagnostics!(@run $($mark)?)),* }
            }

            /// The page, as Markdown.
            pub fn page(self) -> &'static str {
                match self { $(Code::$code => include_str!(concat!("diagnostics/", stringify!($code), ".md"))),* }
            }
        }
    };
    (@default off) => { false };
    (@default $($resource:ident)?) => { true };
    (@resource resource) => { true };
    (@resource $($off:ident)?) => { false };
    (@run run) => { true };
    (@run $($other:ident)?) => { false };
}

diagnostics! {
    // shapes
    SHP001 "incompatible-broadcast" Error;
    SHP002 "not-power-of-two" Error;
    SHP003 "arange-needs-constexpr" Error;
    SHP004 "numel-limit" Error;
    SHP005 "axis-out-of-range" Error;
    SHP006 "reshape-numel" Error;
    SHP007 "scalar-pointer-tile-value" Error;
    SHP008 "implicit-rank-broadcast" Warning;
    SHP010 "join-split-permute" Error;
    SHP011 "tile-step-mismatch" Warning;
    // control flow
    CTL001 "if-on-block" Error;
    CTL002 "while-on-block" Error;
    CTL003 "possibly-undefined" Error;
    CTL004 "branch-type-mismatch" Error;
    CTL005 "loop-carried-type-change" Error;
    CTL006 "ternary-type-mismatch" Error;
    CTL007 "static-range-needs-constexpr" Error;
    CTL008 "runtime-step-sign" Warning;
    CTL009 "bad-loop-bound" Error;
    CTL010 "condition-type" Error;
    CTL011 "kept-after-branch" Warning;
    CTL012 "undefined-after-loop" Warning;
    CTL013 "missing-return" Warning;
    CTL014 "lost-in-loop" Warning;
    // the language
    LNG001 "unsupported-statement" Error;
    LNG002 "return-in-loop" Error;
    LNG003 "call-to-non-jit" Error;
    LNG004 "non-constexpr-global" Error;
    LNG005 "unsupported-operator" Error;
    LNG006 "list-or-dict" Error;
    LNG007 "item-assignment" Error;
    LNG008 "run-time-fstring" Error;
    LNG009 "host-library-call" Error;
    LNG010 "unknown-tl-name" Error;
    LNG011 "bad-call-arguments" Error;
    LNG012 "chained-comparison" Error;
    LNG013 "chained-boolean" Warning off;
    LNG014 "logical-operator-on-tile" Warning;
    LNG015 "bitwise-precedence" Warning;
    LNG016 "unsupported-index" Error;
    LNG017 "static-assert" Error;
    LNG018 "undefined-name" Error;
    LNG019 "dropped-values" Warning;
    LNG020 "jit-of-lambda" Error;
    // matrix products
    DOT001 "inner-dim-mismatch" Error;
    DOT002 "below-minimum-size" Error;
    DOT003 "operand-dtype-mismatch" Error;
    DOT004 "accumulator-mismatch" Error;
    DOT005 "bf16-out-dtype" Error;
    DOT006 "tf32-by-default" Warning;
    DOT007 "allow-tf32-deprecated" Hint;
    DOT008 "no-fast-mma" Performance resource;
    DOT009 "scaled-dot-contract" Error;
    // tensor descriptors
    TMA001 "inner-block-under-16-bytes" Error;
    TMA002 "last-stride-not-1" Error;
    TMA003 "static-stride-misaligned" Warning;
    TMA005 "descriptor-access-mismatch" Error;
    TMA007 "nan-padding-on-integers" Error;
    // compile-time values
    CXP001 "missing-constexpr" Error;
    CXP002 "constexpr-reassigned" Error;
    CXP004 "unused-parameter" Performance;
    // masks
    MSK001 "other-without-mask" Error;
    MSK003 "masked-load-without-other-reduced" Warning;
    MSK004 "wrong-identity" Warning;
    MSK005 "mask-axis-swapped" Warning;
    MSK006 "where-does-not-guard-load" Warning;
    MSK007 "asymmetric-mask" Warning;
    MSK008 "unused-mask" Warning;
    MSK009 "wrap-around-store" Warning;
    MSK010 "mask-moves-alone" Warning;
    MSK011 "negative-offset" Warning;
    MSK012 "past-the-end" Warning;
    // races
    RAC001 "store-independent-of-program-id" Warning;
    RAC002 "programs-overlap" Warning;
    // numerics
    NUM001 "softmax-without-max" Warning;
    NUM002 "repeated-random-numbers" Warning;
    // memory access
    MEM001 "uncoalesced" Performance resource;
    MEM002 "narrow-access" Performance resource;
    MEM003 "mask-blocks-vectorisation" Performance resource;
    MEM004 "bank-conflict" Performance resource;
    MEM005 "loop-invariant-load" Performance;
    MEM006 "bad-cache-modifier" Error;
    MEM008 "redundant-reload" Performance;
    // element types
    DTY001 "float-pointer-offset" Error;
    DTY002 "load-store-non-pointer" Error;
    DTY003 "signedness-mix" Error;
    DTY004 "literal-out-of-range" Error;
    DTY005 "math-needs-fp32" Error;
    DTY006 "implicit-narrowing-store" Hint;
    DTY007 "surprising-promotion" Hint;
    DTY008 "low-precision-reduction" Warning;
    DTY010 "nonbool-condition" Warning;
    DTY011 "nonbool-mask" Error;
    DTY012 "i32-offset-overflow" Hint;
    DTY013 "atomic-type" Error;
    DTY014 "fp8-not-on-target" Error;
    DTY016 "impossible-cast" Error;
    DTY017 "operand-types" Error;
    DTY018 "constant-wraps" Warning;
    DTY019 "negative-division" Warning;
    // resources
    RES001 "shared-memory-over-limit" Error resource;
    RES002 "predicted-spill" Performance resource;
    RES003 "low-occupancy" Hint resource;
    RES004 "register-target-failure" Warning resource;
    RES005 "partial-wave" Performance resource;
    RES006 "compile-time-explosion" Performance resource;
    RES007 "not-pipelined" Performance resource;
    RES008 "tensor-memory-over-limit" Error resource;
    // launches
    LCH001 "launch-arguments" Error;
    LCH002 "grid-rank" Error;
    LCH003 "grid-yz-limit" Error;
    LCH004 "tuned-meta-also-passed" Error;
    LCH005 "cpu-tensor-argument" Error;
    LCH008 "num-warps" Error;
    LCH009 "launch-options" Error;
    LCH011 "bad-launch-block" Error;
    LCH012 "impossible-tensor" Error;
    LCH013 "never-written" Hint;
    // tuning
    TUN001 "key-not-a-parameter" Warning;
    TUN002 "config-kwarg-not-a-parameter" Error;
    TUN003 "mutating-kernel-needs-restore" Warning;
    TUN004 "config-cannot-launch" Warning resource;
    TUN005 "config-will-spill" Performance resource;
    TUN006 "duplicate-config" Performance;
    TUN008 "reset-and-restore-same-arg" Warning;
    TUN010 "deprecated-tuner-args" Hint;
    TUN011 "pre-hook-disables-disk-cache" Hint;
    // debugging
    DBG001 "assert-is-inert" Hint;
    DBG002 "leftover-print" Hint;
    DBG003 "breakpoint-in-kernel" Error;
    // versions of Triton
    VER001 "removed-api" Error;
    VER002 "not-yet-available" Error;
    VER003 "deprecated-api" Hint;
    VER004 "behaviour-changes-on-upgrade" Hint;
    VER005 "no-version-stated" Hint;
    // what runs under checks find
    SAN001 "out-of-bounds" Error run;
    SAN002 "misaligned-access" Error run;
    SAN003 "undefined-value-used" Warning run;
    SAN004 "global-race" Error run;
    SAN005 "uninitialised-read" Warning run;
    SAN006 "partly-written" Warning run;
    SAN007 "integer-wraps" Error run;
    SAN008 "nan-origin" Warning run;
    SAN009 "division-by-zero" Error run;
    SAN010 "assertion-fails" Error run;
    SAN011 "zero-fill-needed" Hint run;
    SAN012 "warp-race" Warning run;
    // suppressions
    SUP001 "unused-suppression" Hint;
    SUP002 "suppression-without-reason" Hint off;
    // the text, and our own limits
    SYN001 "syntax-error" Error;
    LIM001 "cannot-be-evaluated" Error;
    LIM002 "not-known-yet" Hint;
    LIM003 "evaluation-limit" Hint;
    LIM004 "not-checked" Hint;
}

impl Code {
    /// `SHP001` or `incompatible-broadcast`.
    pub fn find(code_or_name: &str) -> Option<Code> {
        Code::ALL.iter().copied().find(|c| c.as_str().eq_ignore_ascii_case(code_or_name) || c.name() == code_or_name)
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
