// Feature: Triton's own stages
//
//! What Triton itself made of a kernel, found where it keeps what it has compiled: nothing is compiled here and no Python runs.
//!
//! **Invariant:** an entry is shown only if its kernel has this name and its locations name this file; the first line says which options
//! it was compiled with, so that what belongs to other options is never taken for the active configuration's.

use std::{
    fs,
    path::{Path, PathBuf},
    time::SystemTime,
};

use rustc_hash::FxHashMap;
use serde_json::Value;
use tritium_codegen::CompileOptions;
use tritium_runtime::{files, worker};
use tritium_semantics::launch::LaunchOptions;

use crate::emit::Stage;

/// Entries looked at; a cache has one for every kernel, specialisation and version.
const MAX_ENTRIES: usize = 20_000;
/// A location refers to others; deeper ones are no compiler's.
const MAX_NESTING: usize = 32;

/// What is looked for.
#[derive(Debug, Clone)]
pub struct Wanted {
    kernel: String,
    file: PathBuf,
    options: CompileOptions,
}

struct Entry {
    stem: PathBuf,
    options: Options,
    modified: SystemTime,
}

#[derive(Debug, Clone, PartialEq)]
struct Options {
    arch: Option<u64>,
    num_warps: Option<u64>,
    num_stages: Option<u64>,
    shared: Option<u64>,
}

/// Text and, for each line of it, the 0-based lines of the file.
pub type Located = (String, Vec<Vec<u32>>);

impl Wanted {
    pub fn new(kernel: &str, file: &str, options: CompileOptions) -> Wanted {
        Wanted { kernel: kernel.to_owned(), file: PathBuf::from(file), options }
    }

    /// A stage of the entry that fits best.
    pub fn text(&self, stage: Stage) -> Result<Located, String> {
        let folder = folder().ok_or("no home folder, so no cache of Triton is known; $TRITON_CACHE_DIR names one")?;
        let entry = self.find(&folder).ok_or_else(|| {
            let (kernel, sm) = (&self.kernel, self.options.sm.name);
            let file = self.file.file_name().unwrap_or_default().to_string_lossy();
            format!(
                "Triton has not compiled `{kernel}` of {file} for {sm} here: run it once on such a GPU, or name Triton's cache in \
                 $TRITON_CACHE_DIR (looked in {})",
                folder.display()
            )
        })?;
        let read = |extension: &str| {
            let path = entry.stem.with_extension(extension);
            files::read_record(&path).map_err(|e| format!("{}: {e}", path.display()))
        };
        let (text, lines) = match stage {
            Stage::TritonTtgir => {
                let text = read("ttgir")?;
                let lines = ttgir_lines(&text, &self.file);
                (text, lines)
            }
            Stage::TritonPtx => {
                let text = read("ptx")?;
                let lines = ptx_lines(&text, &self.file);
                (text, lines)
            }
            _ => {
                let path = entry.stem.with_extension("cubin");
                let cubin =
                    files::read_regular(&path, files::MAX_RECORD_BYTES).map_err(|e| format!("{}: {e}", path.display()))?;
                let text = worker::ptxas::disassemble(&cubin).map_err(|e| e.to_string())?;
                let lines = sass_lines(&text, &self.file);
                (text, lines)
            }
        };
        let number = |n: Option<u64>| n.map_or("unknown".to_owned(), |n| n.to_string());
        let options = &entry.options;
        let other = if self.fits(options) { "" } else { ": not the options of the active configuration" };
        let header = format!(
            "// triton: kernel {}, num_warps {}, num_stages {}, {} bytes of shared memory{other}\n",
            self.kernel,
            number(options.num_warps),
            number(options.num_stages),
            number(options.shared)
        );
        Ok((header + &text, std::iter::once(Vec::new()).chain(lines).collect()))
    }

    fn fits(&self, options: &Options) -> bool {
        let LaunchOptions { num_warps, num_stages, .. } = self.options.launch;
        options.num_warps == Some(u64::from(num_warps)) && options.num_stages == Some(u64::from(num_stages))
    }

    /// The newest entry with the configuration's options, else the newest of all.
    fn find(&self, folder: &Path) -> Option<Entry> {
        let folders = fs::read_dir(folder).ok()?.take(MAX_ENTRIES).flatten().map(|entry| entry.path());
        let entries = folders.filter_map(|folder| self.entry(&folder.join(&self.kernel)));
        entries.max_by(|a, b| {
            let key = |e: &Entry| (self.fits(&e.options), e.modified);
            key(a).cmp(&key(b)).then_with(|| a.stem.cmp(&b.stem))
        })
    }

    fn entry(&self, stem: &Path) -> Option<Entry> {
        let metadata = stem.with_extension("json");
        let modified = fs::metadata(&metadata).and_then(|m| m.modified()).ok()?;
        let value: Value = serde_json::from_slice(&files::read_regular(&metadata, files::MAX_RECORD_BYTES).ok()?).ok()?;
        let number = |key: &str| value.get(key).and_then(Value::as_u64);
        let arch = value.get("target").and_then(|t| t.get("arch")).and_then(Value::as_u64);
        let options =
            Options { arch, num_warps: number("num_warps"), num_stages: number("num_stages"), shared: number("shared") };
        let wanted = self.options.sm.name.strip_prefix("sm_").and_then(|n| n.parse().ok());
        if options.arch != wanted {
            return None;
        }
        let text = files::read_record(&stem.with_extension("ttgir")).ok()?;
        mentions(&text, &self.file).then(|| Entry { stem: stem.to_owned(), options, modified })
    }
}

fn folder() -> Option<PathBuf> {
    let variable = |name: &str| std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
    variable("TRITON_CACHE_DIR").or_else(|| Some(variable("TRITON_HOME").or_else(|| variable("HOME"))?.join(".triton/cache")))
}

fn is_same(name: &str, file: &Path) -> bool {
    let named = Path::new(name);
    named == file || named.file_name() == file.file_name() && fs::canonicalize(named).ok() == fs::canonicalize(file).ok()
}

/// `"/path/k.py":12:8` of every such place in a text.
fn places(text: &str) -> impl Iterator<Item = (&str, u32)> {
    text.match_indices("\":").filter_map(|(at, mark)| {
        let name = &text[text[..at].rfind('"')? + 1..at];
        let number = text[at + mark.len()..].split(|c: char| !c.is_ascii_digit()).next()?;
        Some((name, number.parse().ok()?))
    })
}

fn mentions(ttgir: &str, file: &Path) -> bool {
    let mut asked: Vec<&str> = Vec::new();
    places(ttgir).any(|(name, _)| {
        let is_new = !asked.contains(&name);
        asked.push(name);
        asked.truncate(16);
        is_new && is_same(name, file)
    })
}

/// `… loc(#loc3)`, and at the end `#loc3 = loc("/path/k.py":12:8)`, by way of names and calls.
fn ttgir_lines(text: &str, file: &Path) -> Vec<Vec<u32>> {
    let definitions: FxHashMap<&str, &str> =
        text.lines().filter(|line| line.starts_with("#loc")).filter_map(|line| line.split_once(" = ")).collect();
    let mut same: FxHashMap<&str, bool> = FxHashMap::default();
    let mut resolve = |location: &str| {
        let mut found = Vec::new();
        let mut pending = vec![(location.to_owned(), 0)];
        while let Some((location, depth)) = pending.pop() {
            for (name, line) in places(&location) {
                // The name must outlive this loop: it is one of the text's.
                let known = text.find(name).map(|at| &text[at..at + name.len()]);
                if known.is_some_and(|name| *same.entry(name).or_insert_with(|| is_same(name, file))) {
                    found.push(line.saturating_sub(1));
                }
            }
            let references = location.match_indices("#loc").map(|(at, _)| {
                let rest = &location[at + 1..];
                &location[at..=at + rest.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(rest.len())]
            });
            let next: Vec<(String, usize)> = references
                .filter(|_| depth < MAX_NESTING)
                .filter_map(|reference| Some(((*definitions.get(reference)?).to_owned(), depth + 1)))
                .collect();
            // The place itself before the call it was reached through.
            pending.extend(next.into_iter().rev());
            if found.len() > MAX_NESTING {
                break;
            }
        }
        found.dedup();
        found
    };
    let line = |line: &str| match line.rfind(" loc(") {
        Some(at) if !line.starts_with("#loc") => resolve(&line[at..]),
        _ => Vec::new(),
    };
    text.lines().map(line).collect()
}

/// `.loc 1 12 8` after `.file 1 "/path/k.py"`, and `inlined_at 1 30 4`.
fn ptx_lines(text: &str, file: &Path) -> Vec<Vec<u32>> {
    let mut names: FxHashMap<u32, bool> = FxHashMap::default();
    for line in text.lines() {
        let Some(rest) = line.trim_start().strip_prefix(".file") else { continue };
        let Some(number) = rest.split_whitespace().next().and_then(|n| n.parse().ok()) else { continue };
        let parts: Vec<&str> = rest.split('"').skip(1).step_by(2).collect();
        let name: PathBuf = parts.iter().collect();
        names.insert(number, is_same(&name.to_string_lossy(), file));
    }
    let place = |text: &str| {
        let mut numbers = text.split_whitespace().map_while(|word| word.parse::<u32>().ok());
        let (number, line) = (numbers.next()?, numbers.next()?);
        names.get(&number).is_some_and(|own| *own).then(|| line.saturating_sub(1))
    };
    let mut current = Vec::new();
    let line = |line: &str| {
        let word = line.trim_start();
        if let Some(rest) = word.strip_prefix(".loc") {
            current = place(rest).into_iter().collect();
            current.extend(rest.split("inlined_at").skip(1).filter_map(place));
        } else if word.starts_with('}') {
            current.clear();
        }
        if word.is_empty() || word.starts_with("//") { Vec::new() } else { current.clone() }
    };
    text.lines().map(line).collect()
}

/// `//## File "/path/k.py", line 12 inlined at "/path/k.py", line 30`
fn sass_lines(text: &str, file: &Path) -> Vec<Vec<u32>> {
    let mut current = Vec::new();
    let line = |line: &str| {
        let word = line.trim_start();
        if word.starts_with("//## File") {
            let parts: Vec<&str> = word.split('"').collect();
            let named = parts.iter().skip(1).step_by(2).zip(parts.iter().skip(2).step_by(2));
            current = named
                .filter(|(name, _)| is_same(name, file))
                .filter_map(|(_, rest)| rest.split_once("line ")?.1.split_whitespace().next()?.parse::<u32>().ok())
                .map(|line| line.saturating_sub(1))
                .collect();
        } else if word.starts_with(".section") {
            current.clear();
        }
        if word.is_empty() { Vec::new() } else { current.clone() }
    };
    text.lines().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locations_are_followed_through_names_and_calls() {
        let ttgir = "  %0 = tt.get_program_id x : i32 loc(#loc2)\n  %1 = arith.addi %0, %0 : i32 loc(#loc7)\n  tt.return loc(#loc5)\n\
                     #loc2 = loc(\"/k.py\":12:8)\n#loc3 = loc(\"/k.py\":3:4)\n#loc5 = loc(\"/other.py\":9:1)\n\
                     #loc6 = loc(\"x\"(#loc3))\n#loc7 = loc(callsite(#loc6 at #loc2))\n";
        let lines = ttgir_lines(ttgir, Path::new("/k.py"));
        assert_eq!(lines[..3], [vec![11u32], vec![2, 11], vec![]]);
        assert!(lines[3..].iter().all(Vec::is_empty));
        assert!(mentions(ttgir, Path::new("/k.py")) && !mentions(ttgir, Path::new("/z.py")));
    }

    #[test]
    fn a_location_that_names_itself_ends() {
        assert_eq!(
            ttgir_lines("  x loc(#loc1)\n#loc1 = loc(\"x\"(#loc1))\n", Path::new("/k.py")),
            [Vec::<u32>::new(), Vec::new()]
        );
    }

    #[test]
    fn lines_of_ptx_and_machine_code() {
        let ptx = "\t.loc\t1 12 8\n\tadd;\n\t.loc\t2 5 1, function_name $L, inlined_at 1 30 4\n\tsub;\n}\nx\n\t.file\t1 \"/k.py\"\n\t.file 2 \"/\" \"h.py\"\n";
        let lines = ptx_lines(ptx, Path::new("/k.py"));
        assert_eq!(lines[..6], [vec![11u32], vec![11], vec![29], vec![29], vec![], vec![]]);
        let sass = "\t//## File \"/k.py\", line 2 inlined at \"/k.py\", line 8\n  IADD ;\n";
        assert_eq!(sass_lines(sass, Path::new("/k.py")), [vec![1, 7], vec![1, 7]]);
    }
}
