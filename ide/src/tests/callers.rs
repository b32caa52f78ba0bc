//! Who calls a file.

use std::path::{Path, PathBuf};

use expect_test::{Expect, expect};

use super::Snippet;
use crate::Python;

/// The callers of `/w/lib/ops.py` among some files, the first first.
fn callers(files: &[(&str, &str)], expected: Expect) {
    let snippet = Snippet::with("", files, Python::None);
    let path = PathBuf::from("/w/lib/ops.py");
    let graph = snippet.analysis.import_graph(std::slice::from_ref(&path), &[]);
    let (callers, left_out) = graph.callers(&path);
    let names: Vec<String> =
        callers.iter().map(|path| path.strip_prefix("/w").unwrap_or(Path::new("?")).display().to_string()).collect();
    let more = if left_out > 0 { format!(" and {left_out} more") } else { String::new() };
    expected.assert_eq(&(names.join(" ") + &more));
}

/// Names are followed from file to file: who imports something else of a package is no caller.
#[test]
fn imports_are_followed_by_name() {
    callers(
        &[
            ("lib/__init__.py", "from .ops import (  # all of it\n    scale,\n    shift as moved,\n)\nfrom .text import *\n"),
            ("lib/ops.py", "def scale(x): ...\ndef shift(x): ...\n"),
            ("lib/text.py", "def words(): ...\n"),
            ("lib/layers.py", "from lib import scale\nclass Layer:\n    pass\n"),
            ("bench/run.py", "import lib.ops as ops\n"),
            ("bench/words.py", "from lib import words\n"),
            ("tests/test_layers.py", "from lib.layers import Layer\n"),
            ("tests/test_ops.py", "def test():\n    from lib \\\n        import moved\n"),
            ("tests/test_text.py", "from lib import words\nfrom lib.text import words\n"),
            ("tests/near.py", "from ..lib.ops import scale\n"),
            ("other/ops.py", "def scale(x): ...\n"),
            ("other/test_other.py", "from other.ops import scale\nfrom .ops import scale\n"),
        ],
        expect!["tests/test_ops.py bench/run.py lib/layers.py tests/near.py tests/test_layers.py"],
    );
}

/// Of many callers a dozen are followed, tests of the file itself first.
#[test]
fn callers_are_bounded() {
    let names: Vec<String> = (0..20).map(|n| format!("a/use_{n:02}.py")).collect();
    let mut files = vec![("lib/ops.py", "def scale(x): ...\n"), ("z/test_ops.py", "from lib.ops import scale\n")];
    files.extend(names.iter().map(|name| (name.as_str(), "from lib.ops import scale\n")));
    callers(
        &files,
        expect![
            "z/test_ops.py a/use_00.py a/use_01.py a/use_02.py a/use_03.py a/use_04.py a/use_05.py a/use_06.py a/use_07.py a/use_08.py a/use_09.py a/use_10.py and 9 more"
        ],
    );
}
