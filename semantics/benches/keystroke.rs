//! From a keystroke in `examples/softmax.py` to its diagnostics: the database alone, as the editor's analysis thread uses it.
//!
//! Every iteration changes the text (a constant in the kernel's body takes another value), so nothing is answered from memory.

use std::{
    hint::black_box,
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

use criterion::{Criterion, criterion_group, criterion_main};
use tritium_semantics::{Database, System, check::check};

/// Nothing but the text that was set.
struct Nothing;

impl System for Nothing {
    fn read(&self, _: &Path) -> io::Result<String> {
        Err(io::ErrorKind::NotFound.into())
    }

    fn list(&self, _: &Path) -> io::Result<Vec<PathBuf>> {
        Ok(Vec::new())
    }

    fn is_file(&self, _: &Path) -> bool {
        false
    }
}

fn keystroke(criterion: &mut Criterion) {
    let text = include_str!("../../examples/softmax.py");
    let marker = "y = numerator / tl.sum(numerator, axis=0)";
    assert!(text.contains(marker), "the benchmark edits this line");
    let path = Path::new("softmax.py");
    let mut db = Database::new(Arc::new(Nothing));
    db.set_text(path, text.to_owned());
    let mut count = 0u32;
    let mut edit = |marker: &str, replacement: &dyn Fn(u32) -> String| {
        count += 1;
        let file = db.set_text(path, text.replace(marker, &replacement(count)));
        black_box(check(&db, file).len())
    };
    criterion.bench_function("keystroke in the kernel's body", |b| {
        b.iter(|| edit(marker, &|n| format!("{marker} + {n}.0")));
    });
    criterion.bench_function("keystroke in a comment", |b| {
        b.iter(|| edit("# exp(-inf) is 0", &|n| format!("# {n} exp(-inf) is 0")));
    });
    criterion.bench_function("keystroke that breaks the line", |b| {
        b.iter(|| edit(marker, &|n| format!("{marker} + ({n}")));
    });
}

criterion_group!(benches, keystroke);
criterion_main!(benches);
