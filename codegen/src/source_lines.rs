//! From lines of PTX and of machine code to lines of the source, and back.
//!
//! The debug lines of our LLVM text are numbers of operations: origin + 1. So a comment recompiles nothing, and what a number stands for is
//! looked up when somebody reads. **Invariant:** the code is the same with and without; positions are those of the text as it is now.

use std::collections::BTreeMap;
use std::path::Path;

use tritium_semantics::{Db, FilePlace, Instance, elaborate::elaborate, items::line_column, places::range_of};

/// The file that the debug lines of operations name.
pub const OPERATIONS: &str = "operations";

/// Stands behind the instruction that loads the line of an assertion.
pub(crate) const LINE_MARK: &str = "// the line in the source";

/// A line of the source, 1-based.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Frame {
    pub file: String,
    pub line: u32,
    pub column: u32,
    pub function: String,
}

/// Where every operation of a specialisation comes from: the place itself, then the call it was reached through, and so on.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SourceLines {
    stacks: Vec<Vec<Frame>>,
}

/// The table of a specialisation.
pub fn source_lines(db: &dyn Db, instance: Instance) -> SourceLines {
    let elaborated = elaborate(db, instance);
    let frames: Vec<Option<Frame>> = elaborated
        .origins
        .iter()
        .map(|origin| {
            let (file, range) = range_of(db, origin.place)?;
            let (line, column) = line_column(db, file, range.start);
            let FilePlace { path, line, column } = db.system().original(FilePlace { path: file.path(db).clone(), line, column });
            Some(Frame { file: path.display().to_string(), line, column, function: origin.place.function.name(db).to_string() })
        })
        .collect();
    let stacks = (0..elaborated.origins.len())
        .map(|index| {
            let mut stack = Vec::new();
            let mut next = Some(index);
            // An inlined call always comes from an earlier one, but a table could be wrong.
            while let Some(at) = next.filter(|_| stack.len() < 64) {
                stack.extend(frames.get(at).cloned().flatten());
                next = elaborated.origins.get(at).and_then(|o| o.inlined_at).map(|at| at as usize);
            }
            stack
        })
        .collect();
    SourceLines { stacks }
}

/// PTX with real lines, and what each of its lines comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mapped {
    pub text: String,
    /// For each line of the text a number of an operation.
    operations: Vec<Option<u32>>,
}

impl Mapped {
    /// The operation that a line (1-based) of the text belongs to, to be asked for with [`SourceLines::stack`].
    pub fn operation(&self, line: u32) -> Option<u32> {
        *self.operations.get(line.checked_sub(1)? as usize)?
    }

    /// The lines (1-based) of the text that come from a line of the source, through however many calls.
    pub fn lines_from(&self, lines: &SourceLines, file: &str, line: u32) -> Vec<u32> {
        let from = |operation: u32| lines.stack(operation).iter().any(|frame| frame.line == line && frame.file == file);
        let numbered = (1..).zip(&self.operations);
        numbered.filter(|(_, operation)| operation.is_some_and(from)).map(|(number, _)| number).collect()
    }
}

impl SourceLines {
    /// What a debug line stands for, the innermost place first; nothing if it is no operation's.
    pub fn stack(&self, operation: u32) -> &[Frame] {
        operation.checked_sub(1).and_then(|index| self.stacks.get(index as usize)).map_or(&[], Vec::as_slice)
    }

    /// PTX whose debug lines are numbers of operations, with real lines instead.
    pub fn in_ptx(&self, ptx: &str) -> Mapped {
        let mut files: Vec<&str> = Vec::new();
        let mut names: BTreeMap<&str, usize> = BTreeMap::new();
        let mut out = Mapped { text: String::with_capacity(ptx.len() * 2), operations: Vec::new() };
        let mut current = None;
        for line in ptx.lines() {
            let word = line.trim_start();
            if word.starts_with(".file") {
                continue;
            }
            if let Some(rest) = word.strip_prefix(".loc") {
                let operation = rest.split_whitespace().nth(1).and_then(|number| number.parse().ok());
                let stack = operation.map_or(&[][..], |operation| self.stack(operation));
                // An operation after another from the same place needs no line of its own.
                let same = current.is_some_and(|before| self.stack(before) == stack);
                if !stack.is_empty() {
                    current = operation;
                }
                if stack.is_empty() || same {
                    continue;
                }
                // The outermost call first: what is inlined names a line that has been seen.
                for depth in (0..stack.len()).rev() {
                    let frame = &stack[depth];
                    let mut number = |file| match files.iter().position(|known| *known == file) {
                        Some(at) => at + 1,
                        None => {
                            files.push(file);
                            files.len()
                        }
                    };
                    let mut text = format!("\t.loc\t{} {} {}", number(frame.file.as_str()), frame.line, frame.column);
                    if let Some(caller) = stack.get(depth + 1) {
                        let known = names.len();
                        let name = *names.entry(frame.function.as_str()).or_insert(known);
                        let file = number(caller.file.as_str());
                        text +=
                            &format!(", function_name $source_name{name}, inlined_at {file} {} {}", caller.line, caller.column);
                    }
                    if depth == 0 {
                        text += &format!("  // {}", spelled(stack));
                    }
                    out.push(&text, current);
                }
                continue;
            }
            match (line.contains(LINE_MARK), current) {
                (true, Some(operation)) => out.push(&self.with_line(line), Some(operation)),
                _ => out.push(line, current.filter(|_| !word.is_empty() && !word.starts_with("//"))),
            }
            if line.starts_with('}') {
                current = None;
            }
        }
        for (index, file) in files.iter().enumerate() {
            out.push(&format!("\t.file\t{} \"{}\"", index + 1, file.replace(['"', '\\', '\n'], "_")), None);
        }
        if !names.is_empty() {
            out.push("\t.section\t.debug_str", None);
            out.push("\t{", None);
            for (name, number) in &names {
                let bytes: Vec<String> = name.bytes().chain([0]).map(|byte| byte.to_string()).collect();
                out.push(&format!("$source_name{number}:"), None);
                out.push(&format!(".b8 {}", bytes.join(",")), None);
            }
            out.push("\t}", None);
        }
        out
    }

    /// The line of an assertion: `mov.b32 %r1, 17; // the line in the source`, where 17 is an operation.
    fn with_line(&self, line: &str) -> String {
        let Some((instruction, mark)) = line.split_once(';') else { return line.to_owned() };
        let Some((rest, number)) = instruction.rsplit_once(' ') else { return line.to_owned() };
        let real = number.parse().ok().and_then(|operation| self.stack(operation).first()).map(|frame| frame.line);
        real.map_or_else(|| line.to_owned(), |real| format!("{rest} {real};{mark}"))
    }

    /// Disassembled machine code whose line comments name operations, with real lines instead.
    pub fn in_sass(&self, sass: &str) -> Mapped {
        let mut out = Mapped { text: String::with_capacity(sass.len()), operations: Vec::new() };
        let mut current = None;
        for line in sass.lines() {
            let word = line.trim_start();
            let operation = word
                .strip_prefix("//## File \"")
                .and_then(|rest| rest.split_once("\", line "))
                .filter(|(file, _)| file.ends_with(OPERATIONS))
                .and_then(|(_, number)| number.split_whitespace().next()?.parse().ok());
            match operation.map(|operation| self.stack(operation)) {
                Some(stack) if !stack.is_empty() => {
                    current = operation;
                    out.push(&format!("\t//## {}", spelled(stack)), current);
                }
                Some(_) => {}
                None => {
                    if word.starts_with(".section") || word.starts_with(".text.") {
                        current = None;
                    }
                    out.push(line, current.filter(|_| !word.is_empty()));
                }
            }
        }
        out
    }
}

impl Mapped {
    fn push(&mut self, line: &str, operation: Option<u32>) {
        self.text += line;
        self.text.push('\n');
        self.operations.push(operation);
    }
}

/// `kernel.py:12:9 in helper, called at kernel.py:30:5 in kernel`
fn spelled(stack: &[Frame]) -> String {
    let name = |file: &str| Path::new(file).file_name().map_or(file.to_owned(), |name| name.to_string_lossy().into_owned());
    let frames: Vec<String> =
        stack.iter().map(|f| format!("{}:{}:{} in {}", name(&f.file), f.line, f.column, f.function)).collect();
    frames.join(", called at ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines() -> SourceLines {
        let frame = |line, function: &str| Frame { file: "k.py".into(), line, column: 5, function: function.into() };
        SourceLines { stacks: vec![vec![frame(7, "kernel")], vec![frame(2, "helper"), frame(8, "kernel")]] }
    }

    const PTX: &str = "\
.version 8.3
.target sm_90a
.visible .entry kernel()
{
\t.loc\t1 1 0
\tadd.s32 %r1, %r2, %r3;
\t.loc\t1 2 0
\tmov.b32 %r4, 1; // the line in the source
\tret;

}
\t.file\t1 \"operations\"
";

    #[test]
    fn ptx_gets_lines_through_inlined_helpers() {
        let mapped = lines().in_ptx(PTX);
        expect_test::expect![[r#"
            .version 8.3
            .target sm_90a
            .visible .entry kernel()
            {
            	.loc	1 7 5  // k.py:7:5 in kernel
            	add.s32 %r1, %r2, %r3;
            	.loc	1 8 5
            	.loc	1 2 5, function_name $source_name0, inlined_at 1 8 5  // k.py:2:5 in helper, called at k.py:8:5 in kernel
            	mov.b32 %r4, 7; // the line in the source
            	ret;

            }
            	.file	1 "k.py"
            	.section	.debug_str
            	{
            $source_name0:
            .b8 104,101,108,112,101,114,0
            	}
        "#]]
        .assert_eq(&mapped.text);
        assert_eq!(mapped.operation(6), Some(1));
        assert_eq!(mapped.operation(2), None);
        assert_eq!(mapped.lines_from(&lines(), "k.py", 7), [5, 6]);
        assert_eq!(mapped.lines_from(&lines(), "k.py", 8), [7, 8, 9, 10, 12]);
        assert_eq!(mapped.lines_from(&lines(), "k.py", 2), mapped.lines_from(&lines(), "k.py", 8));
        assert_eq!(mapped.lines_from(&lines(), "other.py", 7), [] as [u32; 0]);
    }

    #[test]
    fn machine_code_gets_lines() {
        let sass =
            "\t//## File \"./operations\", line 2\n  IADD ;\n\t//## File \"x.cu\", line 2\n\t//## File \"operations\", line 99\n";
        let wanted = "\t//## k.py:2:5 in helper, called at k.py:8:5 in kernel\n  IADD ;\n\t//## File \"x.cu\", line 2\n";
        let mapped = lines().in_sass(sass);
        assert_eq!(mapped.text, wanted);
        assert_eq!([1, 2, 3, 4].map(|line| mapped.operation(line)), [Some(2), Some(2), Some(2), None]);
    }
}
