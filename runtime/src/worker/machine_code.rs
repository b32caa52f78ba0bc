//! What the scheduling of machine code shows: how many loads are under way when the first of them is waited for.
//!
//! An instruction of Volta and later takes 16 bytes. The low 12 bits are its operation; from bit 105 on stand the control bits that ptxas
//! sets: which of six scoreboards the instruction holds until its result is there, and a mask of those that must be free before it is issued (Jia
//! et al., "Dissecting the NVIDIA Volta GPU Architecture via Microbenchmarking", 2018).

use object::{Object as _, ObjectSection as _};

const INSTRUCTION_BYTES: usize = 16;
const LOAD_GLOBAL: u64 = 0x981;
const BRANCH: u64 = 0x947;
const EXIT: u64 = 0x94d;

/// Whether, in each stretch between branches that loads several times, more than half of its loads are under way when the first is waited for. Not
/// if nothing is known.
pub(super) fn loads_are_under_way(cubin: &[u8]) -> bool {
    let Ok(file) = object::File::parse(cubin) else { return false };
    let is_code = |name: Result<&str, _>| name.is_ok_and(|name| name.starts_with(".text"));
    let mut code = file.sections().filter(|section| is_code(section.name())).peekable();
    code.peek().is_some() && code.all(|section| section.data().is_ok_and(in_code))
}

fn in_code(code: &[u8]) -> bool {
    let mut stretch = Stretch::default();
    for instruction in code.chunks_exact(INSTRUCTION_BYTES) {
        let word = |at: usize| instruction[at..at + 8].iter().rev().fold(0u64, |word, &byte| word << 8 | u64::from(byte));
        let (low, high) = (word(0), word(8));
        stretch.issue(low & 0xfff, (high >> 46 & 7) as u8, (high >> 52 & 0x3f) as u8);
        if matches!(low & 0xfff, BRANCH | EXIT) && !std::mem::take(&mut stretch).is_good() {
            return false;
        }
    }
    stretch.is_good()
}

/// Instructions without a branch among them.
#[derive(Default)]
struct Stretch {
    loads: u32,
    /// How many loads there were when one was waited for first.
    under_way: Option<u32>,
    /// The scoreboards that loads hold.
    held: u8,
}

impl Stretch {
    fn issue(&mut self, operation: u64, holds: u8, waits_for: u8) {
        if waits_for & self.held != 0 {
            self.under_way.get_or_insert(self.loads);
        }
        if operation == LOAD_GLOBAL {
            self.loads += 1;
            self.held |= 1u8.checked_shl(holds.into()).unwrap_or(0) & 0x3f;
        }
    }

    fn is_good(&self) -> bool {
        self.loads < 2 || 2 * self.under_way.unwrap_or(self.loads) > self.loads
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(instructions: &[(u64, u64, u64)]) -> Vec<u8> {
        let words = |&(operation, holds, waits): &(u64, u64, u64)| [operation, holds << 46 | waits << 52];
        instructions.iter().flat_map(words).flat_map(u64::to_le_bytes).collect()
    }

    const ADD: u64 = 0x221;

    #[test]
    fn loads_are_counted_until_one_is_waited_for() {
        let load = |holds| (LOAD_GLOBAL, holds, 0);
        assert!(in_code(&code(&[load(2), load(2), load(3), (ADD, 7, 1 << 2), load(2), (EXIT, 7, 0)])));
        assert!(!in_code(&code(&[load(2), load(2), (ADD, 7, 1 << 2), load(3), load(3), (EXIT, 7, 0)])));
        // Another scoreboard is none of theirs, and a branch begins anew.
        assert!(in_code(&code(&[load(2), (ADD, 7, 1 << 4), load(2), (BRANCH, 7, 0), load(0), (ADD, 7, 1), (EXIT, 7, 0)])));
        assert!(!in_code(&code(&[(BRANCH, 7, 0), load(0), (ADD, 7, 1), load(0), load(0), (BRANCH, 7, 0)])));
    }

    #[test]
    fn of_what_is_no_machine_code_nothing_is_known() {
        assert!(!loads_are_under_way(b"\x7fELF and no more") && !loads_are_under_way(&[]));
    }
}
