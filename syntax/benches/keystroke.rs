//! One keystroke in a file of 10,000 lines: what the editor's database does of parsing again, and the whole file for scale.
//!
//! The database remembers the trees of the chunks by their text, so that a keystroke costs splitting the new text, parsing
//! the chunk that changed, and, for who wants the tree of the file, joining.

use std::collections::HashMap;
use std::hint::black_box;

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use tritium_syntax::{Parse, PythonVersion, chunks, join, parse, parse_chunk};

const LINES: usize = 10_000;

/// The examples, again and again, under other names.
fn long_file() -> String {
    let examples = [
        include_str!("../../examples/vector_add.py"),
        include_str!("../../examples/softmax.py"),
        include_str!("../../examples/layer_norm.py"),
        include_str!("../../examples/matmul.py"),
    ];
    let mut text = String::new();
    let mut copy = 0;
    while text.lines().count() < LINES {
        text.push_str(&examples[copy % examples.len()].replace("def ", &format!("def copy_{copy}_")));
        copy += 1;
    }
    text
}

fn keystroke(criterion: &mut Criterion) {
    let version = PythonVersion::default();
    let text = long_file();
    // The longest kernel: its chunk is the one that is parsed again.
    let changed = text.find("_matmul").expect("the examples hold a matrix product");
    let line = changed + text[changed..].find("\n    ").expect("it has a body");
    let mut trees: HashMap<String, Parse> = HashMap::new();
    for chunk in chunks(&text) {
        let chunk = chunk.text(&text);
        trees.insert(chunk.to_owned(), parse_chunk(chunk, version));
    }
    let mut count = 0u32;
    let mut edited = || {
        count += 1;
        let mut text = text.clone();
        text.insert_str(line, &format!("\n    key = {count} + "));
        text
    };
    criterion.bench_function("keystroke in 10,000 lines: chunks", |b| {
        b.iter_batched(
            &mut edited,
            |text| {
                let parts = chunks(&text);
                let fresh: Vec<Parse> = parts
                    .iter()
                    .map(|chunk| chunk.text(&text))
                    .filter(|chunk| !trees.contains_key(*chunk))
                    .map(|chunk| parse_chunk(chunk, version))
                    .collect();
                assert_eq!(fresh.len(), 1, "an edit touches one chunk");
                black_box((parts, fresh))
            },
            BatchSize::SmallInput,
        );
    });
    criterion.bench_function("keystroke in 10,000 lines: tree of the file", |b| {
        b.iter_batched(
            &mut edited,
            |text| {
                let parts: Vec<Parse> = chunks(&text)
                    .iter()
                    .map(|chunk| chunk.text(&text))
                    .map(|chunk| trees.get(chunk).cloned().unwrap_or_else(|| parse_chunk(chunk, version)))
                    .collect();
                black_box(join(&parts))
            },
            BatchSize::SmallInput,
        );
    });
    criterion.bench_function("all 10,000 lines", |b| {
        b.iter(|| black_box(parse(black_box(&text), version)));
    });
}

criterion_group!(benches, keystroke);
criterion_main!(benches);
