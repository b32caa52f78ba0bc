//! Warpgroup matrix multiplications as one block of inline assembly.
//!
//! All steps of an operation stand in one block, so that nothing comes between them: ptxas runs multiplications one after the other
//! whose accumulators are touched in between. **Invariant:** operands are numbered accumulators first, then (unless they begin as zero)
//! the same again as inputs, then the left operand, then the right operand's descriptor.

use tritium_tile::Scalar;

/// Element types of `wgmma.mma_async`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wgmma {
    F16F32,
    F16F16,
    Bf16F32,
    Tf32F32,
    I8I32,
    /// 8-bit floats into f32, or into f16.
    Fp8 {
        left: Fp8,
        right: Fp8,
        half: bool,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fp8 {
    E4m3,
    E5m2,
}

impl Fp8 {
    fn of(scalar: Scalar) -> Option<Fp8> {
        match scalar {
            Scalar::F8E4M3 => Some(Fp8::E4m3),
            Scalar::F8E5M2 => Some(Fp8::E5m2),
            _ => None,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Fp8::E4m3 => "e4m3",
            Fp8::E5m2 => "e5m2",
        }
    }
}

impl Wgmma {
    /// What multiplies `left` by `right` into `accumulator`; f32 operands are tf32.
    pub fn of(left: Scalar, right: Scalar, accumulator: Scalar) -> Option<Wgmma> {
        match (left, right, accumulator) {
            (Scalar::F16, Scalar::F16, Scalar::F32) => Some(Wgmma::F16F32),
            (Scalar::F16, Scalar::F16, Scalar::F16) => Some(Wgmma::F16F16),
            (Scalar::BF16, Scalar::BF16, Scalar::F32) => Some(Wgmma::Bf16F32),
            (Scalar::F32, Scalar::F32, Scalar::F32) => Some(Wgmma::Tf32F32),
            (Scalar::I8, Scalar::I8, Scalar::I32) => Some(Wgmma::I8I32),
            (_, _, Scalar::F32 | Scalar::F16) => {
                Some(Wgmma::Fp8 { left: Fp8::of(left)?, right: Fp8::of(right)?, half: accumulator == Scalar::F16 })
            }
            _ => None,
        }
    }

    /// `d.a.b` of the instruction's name.
    fn types(self) -> String {
        match self {
            Wgmma::F16F32 => "f32.f16.f16".into(),
            Wgmma::F16F16 => "f16.f16.f16".into(),
            Wgmma::Bf16F32 => "f32.bf16.bf16".into(),
            Wgmma::Tf32F32 => "f32.tf32.tf32".into(),
            Wgmma::I8I32 => "s32.s8.s8".into(),
            Wgmma::Fp8 { left, right, half } => {
                format!("{}.{}.{}", if half { "f16" } else { "f32" }, left.name(), right.name())
            }
        }
    }

    fn k(self) -> u32 {
        match self {
            Wgmma::F16F32 | Wgmma::F16F16 | Wgmma::Bf16F32 => 16,
            Wgmma::Tf32F32 => 8,
            Wgmma::I8I32 | Wgmma::Fp8 { .. } => 32,
        }
    }

    /// Accumulators are pairs of f16.
    pub fn is_packed(self) -> bool {
        matches!(self, Wgmma::F16F16 | Wgmma::Fp8 { half: true, .. })
    }

    /// Sums of 8-bit floats have fewer bits in the tensor core than f32 has.
    pub fn sums_in_fewer_bits(self) -> bool {
        matches!(self, Wgmma::Fp8 { half: false, .. })
    }

    /// 32-bit registers of a thread's part of `[64, n]`.
    pub fn words(self, n: u32) -> u32 {
        if self.is_packed() { n / 4 } else { n / 2 }
    }

    /// The constraint of an accumulator, and LLVM's type for it.
    pub fn word(self) -> (char, &'static str) {
        match self {
            Wgmma::F16F32 | Wgmma::Bf16F32 | Wgmma::Tf32F32 | Wgmma::Fp8 { half: false, .. } => ('f', "float"),
            Wgmma::F16F16 | Wgmma::I8I32 | Wgmma::Fp8 { half: true, .. } => ('r', "i32"),
        }
    }

    /// What stands behind the scale of the accumulator: signs of a and b, then which operands in shared memory are transposed.
    fn modifiers(self, left: Option<bool>, right: bool) -> String {
        match self {
            Wgmma::F16F32 | Wgmma::F16F16 | Wgmma::Bf16F32 => {
                let left = left.map_or(String::new(), |t| format!(", {}", u8::from(t)));
                format!(", 1, 1{left}, {}", u8::from(right))
            }
            Wgmma::Tf32F32 | Wgmma::Fp8 { .. } => ", 1, 1".into(),
            Wgmma::I8I32 => String::new(),
        }
    }
}

/// One multiplication of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step {
    /// Which accumulator.
    pub tile: u32,
    /// What is added to the left descriptor, or the number of the left operand's first word.
    pub left: u32,
    /// What is added to the right descriptor.
    pub right: u32,
}

/// All multiplications of one operation: (accumulators, [left words], left descriptor or words, right descriptor) → accumulators.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WgmmaBlock {
    pub kind: Wgmma,
    pub n: u32,
    pub tiles: u32,
    /// The accumulators begin as zero and are no inputs.
    pub fresh: bool,
    /// Words of the left operand in registers; 0 if it is in shared memory.
    pub left_words: u32,
    pub left_transposed: bool,
    pub right_transposed: bool,
    pub steps: Vec<Step>,
}

/// Words of the left operand that one multiplication takes from registers.
pub const LEFT_WORDS: u32 = 4;

fn list(first: u32, count: u32) -> String {
    let names: Vec<String> = (first..first + count).map(|i| format!("${i}")).collect();
    format!("{{{}}}", names.join(", "))
}

impl WgmmaBlock {
    fn words(&self) -> u32 {
        self.tiles * self.kind.words(self.n)
    }

    pub fn text(&self) -> String {
        let (words, each) = (self.words(), self.kind.words(self.n));
        let left = if self.fresh { words } else { 2 * words };
        let right = left + self.left_words.max(1);
        let name = format!("wgmma.mma_async.sync.aligned.m64n{}k{}.{}", self.n, self.kind.k(), self.kind.types());
        let modifiers = self.kind.modifiers((self.left_words == 0).then_some(self.left_transposed), self.right_transposed);
        let mut text = String::from("{ .reg .b64 x, y; wgmma.fence.sync.aligned; ");
        let mut begun = vec![!self.fresh; self.tiles as usize];
        for step in &self.steps {
            let scale = u8::from(std::mem::replace(&mut begun[step.tile as usize], true));
            let descriptor = |text: &mut String, register: &str, operand: u32, add: u32| {
                if add == 0 {
                    return format!("${operand}");
                }
                *text += &format!("add.s64 {register}, ${operand}, {add}; ");
                register.to_string()
            };
            let a = match self.left_words {
                0 => descriptor(&mut text, "x", left, step.left),
                _ => list(left + step.left, LEFT_WORDS),
            };
            let b = descriptor(&mut text, "y", right, step.right);
            text += &format!("{name} {}, {a}, {b}, {scale}{modifiers}; ", list(step.tile * each, each));
        }
        text += "wgmma.commit_group.sync.aligned; }";
        text
    }

    pub fn constraints(&self) -> String {
        let words = self.words();
        let (word, _) = self.kind.word();
        let mut parts = vec![format!("={word}"); words as usize];
        if !self.fresh {
            parts.extend((0..words).map(|i| i.to_string()));
        }
        match self.left_words {
            0 => parts.push("l".into()),
            n => parts.extend(vec!["r".to_string(); n as usize]),
        }
        parts.extend(["l".into(), "~{memory}".into()]);
        parts.join(",")
    }
}

/// Waits until at most `pending` groups are under way: (words…) → words, which pass through so that nothing uses them earlier.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WgmmaWait {
    pub pending: u32,
    /// The constraint of each word.
    pub words: Vec<char>,
}

impl WgmmaWait {
    pub fn text(&self) -> String {
        format!("wgmma.wait_group.sync.aligned {};", self.pending)
    }

    pub fn constraints(&self) -> String {
        let mut parts: Vec<String> = self.words.iter().map(|word| format!("={word}")).collect();
        parts.extend((0..self.words.len()).map(|i| i.to_string()));
        parts.push("~{memory}".into());
        parts.join(",")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_names_its_operands_in_order() {
        let block = WgmmaBlock {
            kind: Wgmma::F16F32,
            n: 8,
            tiles: 1,
            fresh: false,
            left_words: 0,
            left_transposed: false,
            right_transposed: true,
            steps: vec![Step { tile: 0, left: 0, right: 0 }, Step { tile: 0, left: 2, right: 128 }],
        };
        assert_eq!(
            block.text(),
            "{ .reg .b64 x, y; wgmma.fence.sync.aligned; \
             wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {$0, $1, $2, $3}, $8, $9, 1, 1, 1, 0, 1; \
             add.s64 x, $8, 2; add.s64 y, $9, 128; \
             wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {$0, $1, $2, $3}, x, y, 1, 1, 1, 0, 1; \
             wgmma.commit_group.sync.aligned; }"
        );
        assert_eq!(block.constraints(), "=f,=f,=f,=f,0,1,2,3,l,l,~{memory}");
    }

    #[test]
    fn registers_and_fresh_accumulators() {
        let block = WgmmaBlock {
            kind: Wgmma::I8I32,
            n: 8,
            tiles: 1,
            fresh: true,
            left_words: 4,
            left_transposed: false,
            right_transposed: false,
            steps: vec![Step { tile: 0, left: 0, right: 0 }],
        };
        assert_eq!(
            block.text(),
            "{ .reg .b64 x, y; wgmma.fence.sync.aligned; \
             wgmma.mma_async.sync.aligned.m64n8k32.s32.s8.s8 {$0, $1, $2, $3}, {$4, $5, $6, $7}, $8, 0; \
             wgmma.commit_group.sync.aligned; }"
        );
        assert_eq!(block.constraints(), "=r,=r,=r,=r,r,r,r,r,l,~{memory}");
    }
}
