//! What runs again after an edit.

use std::{
    path::Path,
    sync::{Arc, Mutex},
};

use super::Files;
use crate::{Database, Db as _, check::check, host::launches_elsewhere};

const TWO: &str = "
import triton
import triton.language as tl

@triton.jit
def first(x, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(x + i, 1.0, mask=i < n)

@triton.jit
def second(x, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(x + i, 2.0, mask=i < n)
";

/// Checks a text, then an edited one; returns the queries of some names that ran for the edit, by key.
fn ran(before: &str, after: &str, wanted: &[&str]) -> Vec<String> {
    let log: Arc<Mutex<Vec<String>>> = Arc::default();
    let events = log.clone();
    let mut db = Database::with_events(
        Arc::new(Files::default()),
        Some(Box::new(move |event| {
            if let salsa::EventKind::WillExecute { database_key } = event.kind {
                events.lock().expect("no test panics while it holds the log").push(format!("{database_key:?}"));
            }
        })),
    );
    let path = Path::new("kernel.py");
    let file = db.set_text(path, before.to_owned());
    check(&db, file);
    log.lock().expect("no test panics while it holds the log").clear();
    db.set_text(path, after.to_owned());
    check(&db, file);
    let log = log.lock().expect("no test panics while it holds the log");
    log.iter().filter(|key| wanted.iter().any(|w| key.split('(').next() == Some(*w))).cloned().collect()
}

const ELABORATION: &[&str] = &["elaborate", "elaborate_call"];

#[test]
fn an_edit_in_one_kernel_elaborates_that_kernel_alone() {
    let edited = TWO.replace("1.0", "3.0");
    // The four assumed specialisations of `first` differ in their block size only.
    let all = ran("", TWO, ELABORATION).len();
    let again = ran(TWO, &edited, ELABORATION).len();
    assert!(again > 0);
    assert_eq!(again * 2, all);
}

/// A name half typed is wrong whatever is passed: no other arguments are tried for it.
#[test]
fn a_name_that_nothing_binds_elaborates_no_more_than_one_that_is_known() {
    let again = |value: &str| ran(TWO, &TWO.replace("1.0", value), ELABORATION).len();
    assert_eq!(again("unknown"), again("n"));
}

const INSIDE: &str = "
import triton
import triton.language as tl

def make(argument):
    WIDTH = tl.constexpr(64)

    @triton.jit
    def first(x, n):
        i = tl.arange(0, WIDTH)
        tl.store(x + i, 1.0, mask=i < n)

    @triton.jit
    def second(x, n):
        i = tl.arange(0, WIDTH)
        tl.store(x + i, 2.0, mask=i < n)

class Holder:
    @triton.jit
    def third(x, n, BLOCK: tl.constexpr = 64):
        i = tl.arange(0, BLOCK)
        tl.store(x + i, 3.0, mask=i < n)
";

#[test]
fn an_edit_in_a_kernel_inside_a_function_elaborates_that_kernel_alone() {
    let asked = |edited: &str| {
        let mut ran = ran(INSIDE, edited, &["elaborate", "elaborate_call", "lint"]);
        ran.iter_mut().for_each(|query| *query = query.split('(').next().unwrap_or_default().to_owned());
        ran.dedup();
        ran.join(" ")
    };
    let all = ran("", INSIDE, ELABORATION).len();
    let again = ran(INSIDE, &INSIDE.replace("1.0", "1.0 + 1.0"), ELABORATION).len();
    assert!(again > 0);
    assert_eq!(again * 3, all);
    assert_eq!(asked(&INSIDE.replace("    WIDTH = ", "    unused = argument + 1\n    WIDTH = ")), "");
    assert_eq!(asked(&INSIDE.replace("    @triton.jit\n    def first", "\n\n    @triton.jit\n    def first")), "");
}

#[test]
fn a_comment_elaborates_nothing() {
    let edited = TWO.replace("    i = tl.arange(0, BLOCK)\n", "    # the columns\n\n    i = tl.arange(0, BLOCK)  # of a row\n");
    assert_eq!(ran(TWO, &edited, ELABORATION), Vec::<String>::new());
    let moved = format!("# a licence\n\n{TWO}");
    assert_eq!(ran(TWO, &moved, ELABORATION), Vec::<String>::new());
}

#[test]
fn an_edit_in_a_kernel_runs_no_host_code_and_parses_one_chunk() {
    let edited = TWO.replace("1.0", "3.0");
    assert_eq!(ran(TWO, &edited, &["host_launches"]), Vec::<String>::new());
    assert_eq!(ran(TWO, &edited, &["chunk_tree"]).len(), 1);
}

/// Typing in a kernel asks what other files launch no more than it runs the file's own host code; typing in what they call does.
#[test]
fn an_edit_in_a_kernel_runs_no_host_code_of_callers() {
    const OPS: &str = "
import triton
import triton.language as tl

@triton.jit
def first(x, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(x + i, 1.0, mask=i < n)

def fill(x):
    first[(1,)](x, 64, 64)
";
    const CALLER: &str = "import torch\nfrom ops import fill\ndef test_fill():\n    fill(torch.empty(64, device='cuda'))\n";
    let log: Arc<Mutex<usize>> = Arc::default();
    let runs = log.clone();
    let on_event = move |event: salsa::Event| {
        if let salsa::EventKind::WillExecute { database_key } = event.kind
            && format!("{database_key:?}").starts_with("launches_elsewhere")
        {
            *runs.lock().expect("no test panics while it holds the log") += 1;
        }
    };
    let files = Files::new(&[("ops.py", OPS), ("test_ops.py", CALLER)]);
    let mut db = Database::with_events(files, Some(Box::new(on_event)));
    let mut look = |text: String| {
        let file = db.set_text(Path::new("ops.py"), text);
        let caller = db.file(Path::new("test_ops.py")).expect("it is there");
        let called = launches_elsewhere(&db, caller).clone();
        db.set_called(Path::new("ops.py"), called);
        check(&db, file);
        std::mem::take(&mut *log.lock().expect("no test panics while it holds the log"))
    };
    assert_eq!(look(OPS.to_owned()), 1);
    assert_eq!(look(OPS.replace("1.0", "3.0")), 0);
    assert_eq!(look(OPS.replace("x, 64, 64", "x, 32, 64")), 1);
}

#[test]
fn host_code_elaborates_nothing_if_its_launches_stay() {
    let launch = format!("{TWO}\nimport torch\nx = torch.empty(64)\nfirst[(1,)](x, 64, 64)\n");
    let edited = launch.replace("x = torch", "unused = 3\nx = torch");
    assert_eq!(ran(&launch, &edited, ELABORATION), Vec::<String>::new());
}

#[test]
fn an_edit_in_one_kernel_lints_that_kernel_alone() {
    let edited = TWO.replace("1.0", "3.0");
    let all = ran("", TWO, &["lint"]).len();
    let again = ran(TWO, &edited, &["lint"]).len();
    assert!(again > 0);
    assert_eq!(again * 2, all);
    let commented = TWO.replace("    i = tl.arange(0, BLOCK)\n", "    # the columns\n    i = tl.arange(0, BLOCK)\n");
    assert_eq!(ran(TWO, &commented, &["lint"]), Vec::<String>::new());
}

#[test]
fn a_kernel_that_only_moves_is_not_looked_at_again() {
    let launch = format!("{TWO}\nimport torch\nx = torch.empty(64)\nfirst[(1,)](x, 64, 64)\nsecond[(1,)](x, 64, 64)\n");
    let edited = launch.replace("1.0", "30.0");
    // The launch still brings what it brought.
    assert_eq!(ran(&launch, &edited, &["findings", "specialisations"]).len(), 1);
    let asked = &["findings", "configurations", "specialisations", "lint"];
    assert_eq!(ran(&launch, &format!("# a licence\n\n{launch}"), asked), Vec::<String>::new());
    assert_eq!(ran(&launch, &launch.replace("x = torch", "unused = 3\nx = torch"), asked), Vec::<String>::new());
    // A block is read again only where it changes itself.
    let block = format!("# /// tritium\n# [launch.one]\n# kernel = \"first\"\n# grid = [1]\n# ///\n{TWO}");
    assert_eq!(ran(&block, &format!("\n{block}"), &["launches", "configurations"]), Vec::<String>::new());
}
