//! Any text at all. **The tree's text is the input, and nothing panics, hangs or overflows.**

use proptest::prelude::*;
use tritium_syntax::{Parse, PythonVersion, SyntaxError, chunks, join, parse, parse_chunk, split, split_again};

const KERNEL: &str = r#"
import triton
import triton.language as tl

# /// tritium
# [launch.add]
# ///


@triton.autotune(configs=[triton.Config({"BLOCK": b}, num_warps=w) for b in (64, 128) for w in [4, 8]], key=["n"])
@triton.jit
def add(x_ptr, y_ptr, n, BLOCK: tl.constexpr, FLAG: tl.constexpr = True):
    """Adds.  é"""
    pid = tl.program_id(axis=0)  # tritium: ignore[X]
    offs = pid * BLOCK + tl.arange(0, BLOCK)[:, None]
    mask = (offs < n) & (offs >= 0)
    if FLAG and not pid == 0:
        for i in tl.static_range(0, 4, 1):
            x = tl.load(x_ptr + offs, mask=mask, other=-1.0e-3)
    else:
        x, y = 0x1F, ...
    tl.store(y_ptr + offs, x if FLAG else x ** 2, mask)


class Op(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x: "Tensor", *args, **kw) -> None:
        grid = lambda meta: (triton.cdiv(n, meta['BLOCK']),)
        add[grid](x, *args, BLOCK=1 << 7)
        with torch.cuda.device(0) as d, f:
            raise ValueError(f"bad {x!r:>{w}} {{}} {d['a']}") from e
        try:
            match x:
                case [1, *_] | {"a": _}: pass
        except (A, B) as e: pass
        finally:
            return [k for k, v in {**a}.items() if v]
"#;

/// Everything that holds for every text.
fn holds(text: &str) {
    let whole = parse(text, PythonVersion::default());
    assert!(whole.syntax().text() == text, "the tree lost or gained text");
    let parts = chunks(text);
    let joined: String = parts.iter().map(|chunk| chunk.text(text)).collect();
    assert_eq!(joined, text);
    let parses: Vec<Parse> = parts.iter().map(|chunk| parse_chunk(chunk.text(text), PythonVersion::default())).collect();
    let mut errors: Vec<SyntaxError> = Vec::new();
    for (chunk, parse) in parts.iter().zip(&parses) {
        assert!(parse.syntax().text() == chunk.text(text));
        errors.extend(
            parse
                .errors()
                .iter()
                .map(|error| SyntaxError { message: error.message.clone(), range: error.range + chunk.range.start() }),
        );
    }
    let joined = join(&parses);
    assert_eq!(joined.green(), whole.green());
    assert_eq!(joined.errors(), errors);
    // Rules over the whole file speak when its statements are right.
    assert!(errors.is_empty() || whole.errors() == errors);
    for error in whole.errors() {
        assert!(text.get(usize::from(error.range.start())..usize::from(error.range.end())).is_some(), "{error:?}");
    }
}

/// Pieces that mean something to the lexer or the layout.
const PIECES: &[&str] = &[
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    ":",
    ",",
    ";",
    "=",
    ":=",
    "*",
    "**",
    "@",
    ".",
    "...",
    "->",
    "!",
    "!=",
    "\\",
    "\\\n",
    "\n",
    "\r\n",
    "\r",
    "\t",
    "    ",
    " ",
    "\x0c",
    "\u{feff}",
    "\0",
    "#c\n",
    "\"",
    "'",
    "\"\"\"",
    "'''",
    "f\"",
    "f'''",
    "rb'",
    "{{",
    "}}",
    "0x",
    "1e",
    "1_",
    "0b1",
    ".5",
    "j",
    "é",
    "𝄞",
    "a",
    "x1",
    "_",
    "def ",
    "class ",
    "if ",
    "else",
    "elif ",
    "for ",
    "in ",
    "not ",
    "is ",
    "lambda ",
    "yield ",
    "await ",
    "async ",
    "match ",
    "case ",
    "type ",
    "import ",
    "from ",
    "as ",
    "with ",
    "try",
    "except ",
    "finally",
    "return ",
    "global ",
    "del ",
    "raise ",
    "pass",
    "\ndef f():\n    ",
    "\n@a\n",
    "\n    ",
    "\n  ",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        holds(&String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn any_text(text in any::<String>()) {
        holds(&text);
    }

    #[test]
    fn any_pieces(pieces in proptest::collection::vec(proptest::sample::select(PIECES), 0..60)) {
        holds(&pieces.concat());
    }

    #[test]
    fn any_edits_of_a_kernel(
        edits in proptest::collection::vec((any::<prop::sample::Index>(), 0..12usize, proptest::sample::select(PIECES)), 1..6),
    ) {
        let mut text: Vec<char> = KERNEL.chars().collect();
        for (at, removed, piece) in edits {
            let at = at.index(text.len() + 1);
            let end = (at + removed).min(text.len());
            text.splice(at..end, piece.chars());
        }
        holds(&text.into_iter().collect::<String>());
    }

    /// Splitting goes on from the text before every edit, and says what splitting the new text says.
    #[test]
    fn any_edits_split_again(
        start in proptest::collection::vec(proptest::sample::select(PIECES), 0..40),
        of_kernel in any::<bool>(),
        edits in proptest::collection::vec((any::<prop::sample::Index>(), 0..40usize, proptest::sample::select(PIECES)), 1..20),
    ) {
        let mut text = if of_kernel { KERNEL.repeat(2) } else { start.join("\n") };
        let mut known = split(&text);
        for (at, removed, piece) in edits {
            let mut edited: Vec<char> = text.chars().collect();
            let at = at.index(edited.len() + 1);
            let end = (at + removed).min(edited.len());
            edited.splice(at..end, piece.chars());
            let edited: String = edited.into_iter().collect();
            known = split_again(&text, &known, &edited);
            prop_assert_eq!(&known.chunks, &chunks(&edited), "{:?} to {:?}", text, edited);
            text = edited;
        }
    }

    #[test]
    fn any_prefix_of_a_kernel(at in any::<prop::sample::Index>()) {
        let ends: Vec<usize> = KERNEL.char_indices().map(|(at, _)| at).collect();
        holds(&KERNEL[..ends[at.index(ends.len())]]);
    }
}

#[test]
fn the_kernel_itself_is_valid() {
    assert_eq!(parse(KERNEL, PythonVersion::default()).errors(), []);
    holds(KERNEL);
}

#[test]
fn nesting_has_a_limit_and_a_message() {
    let n = 100_000;
    let deep = [
        "(".repeat(n),
        "[".repeat(n) + &"]".repeat(n),
        "{".repeat(n),
        "{a:".repeat(n),
        "f(".repeat(n),
        "a[".repeat(n),
        "-".repeat(n) + "a",
        "not ".repeat(n) + "a",
        "await ".repeat(n) + "a",
        "lambda: ".repeat(n) + "a",
        "a if b else ".repeat(n) + "a",
        "a".to_owned() + &" + a".repeat(n),
        "a".to_owned() + &" or a".repeat(n),
        "a".to_owned() + &" ** a".repeat(n),
        "a".to_owned() + &".a".repeat(n),
        "a".to_owned() + &"()".repeat(n),
        "yield from ".repeat(n) + "a",
        "f\"{".repeat(n),
        "f'{a:".repeat(n) + "{a:{a:",
        "*".repeat(n),
        "x = ".repeat(n) + "[" + &"x for x in ".repeat(n),
        "match x:\n case ".to_owned() + &"[".repeat(n) + ":\n  pass\n",
        "match x:\n case ".to_owned() + &"(".repeat(n) + "a as b" + &")".repeat(n) + ":\n  pass\n",
        (0..1500).map(|depth| " ".repeat(depth) + "if x:\n").collect(),
        "if x: ".repeat(n),
        "@".repeat(n),
        "@a\n".repeat(n),
    ];
    for text in deep {
        let parse = parse(&text, PythonVersion::default());
        assert!(parse.syntax().text() == text.as_str());
        let start: String = text.chars().take(20).collect();
        assert!(!parse.errors().is_empty(), "{start}");
        assert!(parse.errors().len() < 2_000, "{start}: {} problems", parse.errors().len());
    }
}

#[test]
fn what_people_write_is_not_too_deep() {
    let sum = "x = a".to_owned() + &" + a".repeat(900) + "\n";
    let nested = "x = ".to_owned() + &"(".repeat(150) + "1" + &")".repeat(150) + "\n";
    let calls = "x = ".to_owned() + &"f(".repeat(90) + &")".repeat(90) + "\n";
    for text in [sum, nested, calls] {
        assert_eq!(parse(&text, PythonVersion::default()).errors(), []);
    }
}

#[test]
fn many_open_brackets_stay_linear() {
    // Quadratic rereading of these texts would take minutes.
    let n = 50_000;
    let texts = [
        "x = f(\ny = 1\n".repeat(n),
        "(\n".to_owned() + &"#\n".repeat(n),
        "(\n".to_owned() + &"@a\n".repeat(n),
        "(".repeat(n) + &"\n (".repeat(n),
        "f'{a:".to_owned() + &"{a:".repeat(n),
        "def f():\n".to_owned() + &" global x\n".repeat(n),
        "async def f():\n yield\n".to_owned() + &" return\n".repeat(n),
        "f(".to_owned() + &(0..n).map(|at| format!("a{at}=1,")).collect::<String>() + ")\n",
        "def f(".to_owned() + &(0..n).map(|at| format!("a{at},")).collect::<String>() + "): pass\n",
        "match x:\n case [".to_owned() + &(0..n).map(|at| format!("a{at},")).collect::<String>() + "]: pass\n",
    ];
    for text in texts {
        let parse = parse(&text, PythonVersion::default());
        assert!(parse.syntax().text() == text.as_str());
    }
}
