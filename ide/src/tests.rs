//! One file a feature: a snippet in, text out. `$0` is the cursor, or each end of a selection.

mod callers;
mod completion;
mod navigation;
mod pictures;
mod reading;
mod refactoring;

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    io,
    ops::Range,
    path::{Path, PathBuf},
    sync::Arc,
};

use tritium_semantics::{Shell, System};

use crate::{Analysis, Host, Options, Python};

/// A matrix product with everything that names its parameters.
const MATMUL: &str = r#"
import torch
import triton
import triton.language as tl


def configs():
    return [triton.Config({"BLOCK": b, "K": 32}, num_warps=w) for b in [32, 64] for w in [4, 8]]


def prune(configs, named_args, **kwargs):
    return [c for c in configs if c.kwargs["BLOCK"] <= named_args["n"]]


@triton.autotune(configs=configs(), key=["n", "BLOCK"], prune_configs_by={"early_config_prune": prune})
@triton.heuristics({"EVEN": lambda args: args["n"] % args["BLOCK"] == 0})
@triton.jit
def scale(x, y, n, BLOCK: tl.constexpr, K: tl.constexpr, EVEN: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offs < n
    value = tl.load(x + offs, mask=inside)
    total = value
    for i in range(3):
        total = total + double(value, BLOCK)
    tl.store(y + offs, total, mask=inside)


@triton.jit
def double(v, BLOCK: tl.constexpr):
    return v * 2.0


def launch(x: torch.Tensor, n):
    y = torch.empty_like(x)
    grid = lambda META: (triton.cdiv(n, META["BLOCK"]),)
    scale[grid](x, y, n=n)
    scale[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](x, y, n)
    options = {"n": n}
    scale[grid](x, y, **options)
"#;

#[derive(Default)]
struct Files(BTreeMap<PathBuf, String>);

impl System for Files {
    fn read(&self, path: &Path) -> io::Result<String> {
        self.0.get(path).cloned().ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn list(&self, directory: &Path) -> io::Result<Vec<PathBuf>> {
        let mut out: Vec<PathBuf> = self.0.keys().filter_map(|p| child(directory, p)).collect();
        out.dedup();
        if out.is_empty() { Err(io::ErrorKind::NotFound.into()) } else { Ok(out) }
    }

    fn is_file(&self, path: &Path) -> bool {
        self.0.contains_key(path)
    }
}

/// The entry of a folder that leads to a path.
fn child(directory: &Path, path: &Path) -> Option<PathBuf> {
    path.strip_prefix(directory).ok()?.components().next().map(|first| directory.join(first))
}

/// `/w/main.py` with its cursor, and other files.
struct Snippet {
    analysis: Analysis,
    text: String,
    cursors: Vec<usize>,
}

fn main_file() -> &'static Path {
    Path::new("/w/main.py")
}

impl Snippet {
    fn new(text: &str) -> Snippet {
        Snippet::with(text, &[], Python::None)
    }

    fn with(text: &str, others: &[(&str, &str)], python: Python) -> Snippet {
        let mut clean = String::new();
        let mut cursors = Vec::new();
        for (i, piece) in text.split("$0").enumerate() {
            if i > 0 {
                cursors.push(clean.len());
            }
            clean += piece;
        }
        let mut files: BTreeMap<PathBuf, String> =
            others.iter().map(|(p, t)| (Path::new("/w").join(p), (*t).to_owned())).collect();
        files.insert(main_file().to_owned(), clean.clone());
        let mut host = Host::new(Arc::new(Files(files)));
        host.set_roots(vec![PathBuf::from("/w")]);
        host.configure(Options { python, shell: Shell::default(), ..Options::default() });
        Snippet { analysis: host.snapshot_at(main_file()), text: clean, cursors }
    }

    /// The matrix product with a cursor put before the `nth` place where `needle` stands.
    fn at(text: &str, needle: &str, nth: usize) -> Snippet {
        let at = text.match_indices(needle).nth(nth).unwrap_or_else(|| panic!("`{needle}` is not there")).0;
        Snippet::new(&format!("{}$0{}", &text[..at], &text[at..]))
    }

    fn cursor(&self) -> usize {
        self.cursors[0]
    }

    fn selection(&self) -> Range<usize> {
        self.cursors[0]..self.cursors.last().copied().unwrap_or(self.cursors[0])
    }
}

/// `7:4 BLOCK` for each range of a text; lines count from 1.
fn places<'a>(text: &str, ranges: impl Iterator<Item = (&'a Range<usize>, String)>) -> String {
    let mut out = String::new();
    for (range, note) in ranges {
        let before = &text[..range.start];
        let line = before.matches('\n').count() + 1;
        let column = before.len() - before.rfind('\n').map_or(0, |at| at + 1);
        let note = if note.is_empty() { note } else { format!("  {note}") };
        let _ = writeln!(out, "{line}:{column} {}{note}", text[range.clone()].lines().next().unwrap_or_default());
    }
    out
}
