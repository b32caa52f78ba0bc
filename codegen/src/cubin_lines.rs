//! Machine code whose debug lines are lines of the source: what Nsight Compute, compute-sanitizer and `nvdisasm -g` show beside an instruction.
//!
//! ptxas takes over the lines of our PTX, which are numbers of operations, and so the code is kept: a comment assembles nothing. Who launches the
//! code is given real lines, as ptxas itself would have written them. **Invariant:** nothing that a GPU runs is touched. New tables stand behind
//! the end of the file, and its headers lead there.

use gimli::{
    DW_LNE_end_sequence, DW_LNE_set_address, DW_LNS_advance_line, DW_LNS_advance_pc, DW_LNS_copy, DW_LNS_set_file, DebugLine,
    DebugLineOffset,
};
use indexmap::IndexSet;
use object::elf::{FileHeader64, Rela64, SectionHeader64};
use object::read::elf::{FileHeader, SectionHeader};
use object::{LittleEndian as Little, U32, U64};

use crate::source_lines::{Frame, OPERATIONS, SourceLines};

/// NVIDIA's own operation of a line table: the row of the call that what follows was inlined into (0: none), and the name of the function.
const DW_LNE_INLINED_CALL: u8 = 0x90;
const ADDRESS_BYTES: u8 = 8;
/// How many operands each standard operation has. This and what follows as ptxas writes it.
const STANDARD_OPERANDS: &[u8] = &[0, 1, 1, 1, 1, 0, 0, 0, 1];
const LINE_BASE: i8 = -5;
const LINE_RANGE: u8 = 14;

impl SourceLines {
    /// A cubin whose debug lines are numbers of operations, with real lines instead; `None` of one that has no such lines.
    pub fn in_cubin(&self, cubin: &[u8]) -> Option<Vec<u8>> {
        let file = FileHeader64::<Little>::parse(cubin).ok()?;
        let sections = file.sections(Little, cubin).ok()?;
        let (at, lines) = sections.section_by_name(Little, b".debug_line")?;
        let (_, relocations) = sections.section_by_name(Little, b".rela.debug_line")?;
        // The address that a table begins with. ptxas writes one table.
        let [address]: &[Rela64<Little>] = relocations.data_as_array(Little, cubin).ok()? else { return None };
        let address_at = relocations.sh_offset(Little) as usize;
        let table = self.line_table(lines.data(Little, cubin).ok()?)?;

        let mut headers: Vec<SectionHeader64<Little>> = sections.iter().copied().collect();
        let mut out = cubin.to_vec();
        let mut moved = Rela64 { r_offset: U64::new(Little, table.address_at), ..*address };
        out.get_mut(address_at..)?.get_mut(..size_of_val(&moved))?.copy_from_slice(object::bytes_of_mut(&mut moved));
        append(&mut out, &mut headers[at.0], &table.bytes);
        if !table.names.is_empty() {
            let at = match sections.section_by_name(Little, b".debug_str") {
                Some((at, _)) => at.0,
                None => {
                    let names = headers.get_mut(file.shstrndx(Little, cubin).ok()? as usize)?;
                    let mut text = names.data(Little, cubin).ok()?.to_vec();
                    let sh_name = U32::new(Little, u32::try_from(text.len()).ok()?);
                    text.extend(b".debug_str\0");
                    append(&mut out, names, &text);
                    // Otherwise it is a section of the same kind.
                    headers.push(SectionHeader64 { sh_name, ..*lines });
                    headers.len() - 1
                }
            };
            append(&mut out, &mut headers[at], &table.names);
        }
        out.resize(out.len().next_multiple_of(8), 0);
        let mut file = *file;
        file.e_shoff.set(Little, out.len() as u64);
        file.e_shnum.set(Little, u16::try_from(headers.len()).ok()?);
        out.extend(object::bytes_of_slice(&headers));
        out[..size_of_val(&file)].copy_from_slice(object::bytes_of(&file));
        Some(out)
    }

    /// The same rows with real lines: where something is inlined, one for each call, the outermost first.
    fn line_table(&self, old: &[u8]) -> Option<Table> {
        let program = DebugLine::new(old, gimli::LittleEndian).program(DebugLineOffset(0), ADDRESS_BYTES, None, None).ok()?;
        let file = program.header().file_names().first()?.path_name();
        if !matches!(file, gimli::AttributeValue::String(name) if name.slice().ends_with(OPERATIONS.as_bytes())) {
            return None;
        }
        let mut rows = program.rows();
        let (mut writer, mut current, mut sequences) = (Rows::default(), &[][..], 0);
        while let Some((_, row)) = rows.next_row().ok()? {
            if row.end_sequence() {
                writer.end(row.address());
                sequences += 1;
                continue;
            }
            let stack = row.line().and_then(|line| u32::try_from(line.get()).ok()).map_or(&[][..], |line| self.stack(line));
            if !stack.is_empty() && stack != current {
                // What stands before the first operation belongs to it.
                writer.rows(if writer.count == 0 { 0 } else { row.address() }, stack);
                current = stack;
            }
        }
        (sequences == 1).then(|| writer.table())
    }
}

struct Table {
    bytes: Vec<u8>,
    /// Where in it stands the address of the code.
    address_at: u64,
    /// Names of functions, each with a zero behind it.
    names: Vec<u8>,
}

/// The operations of a line table, and what they have made of its registers.
#[derive(Default)]
struct Rows<'a> {
    operations: Vec<u8>,
    files: IndexSet<&'a str>,
    names: IndexSet<&'a str>,
    count: u64,
    address: u64,
    /// 0 is the first line here.
    line: u32,
    file: usize,
    inlined_at: u64,
}

impl<'a> Rows<'a> {
    /// The rows of an instruction; `stack` has the innermost place first.
    fn rows(&mut self, address: u64, stack: &'a [Frame]) {
        let mut caller = 0;
        for (depth, frame) in stack.iter().enumerate().rev() {
            let is_inlined = depth + 1 < stack.len();
            if caller != self.inlined_at {
                let name = if is_inlined { self.name(&frame.function) } else { 0 };
                let operands = [unsigned(caller), unsigned(name)].concat();
                self.extended(DW_LNE_INLINED_CALL, &operands);
                self.inlined_at = caller;
            }
            self.row(address, frame);
            caller = self.count;
        }
    }

    fn row(&mut self, address: u64, frame: &'a Frame) {
        let (file, _) = self.files.insert_full(frame.file.as_str());
        if file + 1 != self.file {
            self.file = file + 1;
            self.standard(DW_LNS_set_file.0, &unsigned(self.file as u64));
        }
        let forward = i64::from(frame.line) - 1 - i64::from(self.line);
        if forward != 0 {
            self.standard(DW_LNS_advance_line.0, &signed(forward));
            self.line = frame.line - 1;
        }
        self.advance(address);
        self.standard(DW_LNS_copy.0, &[]);
        self.count += 1;
    }

    /// Where a name begins among all.
    fn name(&mut self, name: &'a str) -> u64 {
        let (at, _) = self.names.insert_full(name);
        self.names.iter().take(at).map(|name| name.len() as u64 + 1).sum()
    }

    fn advance(&mut self, address: u64) {
        if address != self.address {
            self.standard(DW_LNS_advance_pc.0, &unsigned(address.saturating_sub(self.address)));
            self.address = address;
        }
    }

    fn end(&mut self, address: u64) {
        self.advance(address);
        self.extended(DW_LNE_end_sequence.0, &[]);
    }

    fn standard(&mut self, operation: u8, operand: &[u8]) {
        self.operations.push(operation);
        self.operations.extend(operand);
    }

    fn extended(&mut self, operation: u8, operands: &[u8]) {
        self.operations.push(0);
        self.operations.extend(unsigned(operands.len() as u64 + 1));
        self.operations.push(operation);
        self.operations.extend(operands);
    }

    fn table(self) -> Table {
        // What stands behind the length of the prologue.
        let mut prologue = vec![1, 1, LINE_BASE as u8, LINE_RANGE, STANDARD_OPERANDS.len() as u8 + 1];
        prologue.extend(STANDARD_OPERANDS);
        let split = |file: &'a str| {
            file.rsplit_once('/').map_or(("", file), |(folder, name)| (if folder.is_empty() { "/" } else { folder }, name))
        };
        let folders: IndexSet<&str> = self.files.iter().map(|file| split(file).0).filter(|folder| !folder.is_empty()).collect();
        for folder in &folders {
            text(&mut prologue, folder);
        }
        prologue.push(0);
        for file in &self.files {
            let (folder, name) = split(file);
            text(&mut prologue, name);
            prologue.extend(unsigned(folders.get_index_of(folder).map_or(0, |at| at as u64 + 1)));
            // When it was changed and how long it is: not known.
            prologue.extend([0, 0]);
        }
        prologue.push(0);
        if !self.names.is_empty() {
            // Where its names begin in `.debug_str`. NVIDIA's readers want it.
            prologue.extend(0u32.to_le_bytes());
        }
        let mut bytes = 2u16.to_le_bytes().to_vec();
        bytes.extend((prologue.len() as u32).to_le_bytes());
        bytes.extend(prologue);
        bytes.extend([0, ADDRESS_BYTES + 1, DW_LNE_set_address.0]);
        let address_at = 4 + bytes.len() as u64;
        bytes.extend([0; ADDRESS_BYTES as usize]);
        bytes.extend(self.operations);
        bytes.splice(..0, (bytes.len() as u32).to_le_bytes());
        let mut names = Vec::new();
        for name in &self.names {
            text(&mut names, name);
        }
        Table { bytes, address_at, names }
    }
}

/// A text with the zero that ends it.
fn text(out: &mut Vec<u8>, text: &str) {
    out.extend(text.as_bytes());
    out.push(0);
}

/// What a section holds, behind the end of the file.
fn append(out: &mut Vec<u8>, header: &mut SectionHeader64<Little>, bytes: &[u8]) {
    header.sh_offset.set(Little, out.len() as u64);
    header.sh_size.set(Little, bytes.len() as u64);
    out.extend(bytes);
}

fn unsigned(value: u64) -> Vec<u8> {
    let mut out = Vec::new();
    gimli::leb128::write::unsigned(&mut out, value).expect("memory takes all");
    out
}

fn signed(value: i64) -> Vec<u8> {
    let mut out = Vec::new();
    gimli::leb128::write::signed(&mut out, value).expect("memory takes all");
    out
}
