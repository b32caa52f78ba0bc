//! Names of Triton's, by its version, and of modules around a file.

use std::{fmt::Write as _, path::Path};

use expect_test::{Expect, expect};

use super::{Files, check::report};
use crate::{
    Chosen, Database, Db as _, Shell,
    globals::{Global, resolve},
};

/// What a text is told under each of several versions.
fn under(versions: &[&str], text: &str, expected: Expect) {
    let mut out = String::new();
    for version in versions {
        let _ = writeln!(out, "{version}\n{}", report(text, version));
    }
    expected.assert_eq(&out);
}

/// An import at the top of a module surely runs; one under a condition, in a `try` or in a function may not.
#[test]
fn imports_of_what_a_version_lacks_fail() {
    under(
        &["2.1", "3.1", "3.3", "3.6", "3.9", "1.0"],
        "\
import triton.ops
import triton, triton.language as tl
from triton.ops.matmul_perf_model import (
    early_config_prune,
)
from triton.tools.tensor_descriptor import TensorDescriptor
from triton.language import load, squeeze
from triton.language import advance, make_block_ptr
from triton.language import lode
from triton.language.extra.xpu import libdevice
from triton.runtime.driver import a_name_of_nobody
from triton.plugin import something
try:
    from triton.ops import blocksparse
except ImportError:
    blocksparse = None
if triton.__version__ < '3':
    import triton.ops.blocksparse

def later():
    from triton.ops import matmul
",
        expect![[r#"
            2.1
            6: error VER002 "from triton.tools.tensor_descriptor import TensorDescriptor": `triton.tools.tensor_descriptor` comes with Triton 3.4, so this import fails with 2.1: say which one you use with `--triton` or `[tool.tritium]`
            7: error VER002 "from triton.language import load, squeeze": `triton.language.squeeze` comes with Triton 3.7, so this import fails with 2.1: say which one you use with `--triton` or `[tool.tritium]`
            9: error LNG010 "from triton.language import lode": no Triton has `triton.language.lode`: this import fails

            3.1
            6: error VER002 "from triton.tools.tensor_descriptor import TensorDescriptor": `triton.tools.tensor_descriptor` comes with Triton 3.4, so this import fails with 3.1: say which one you use with `--triton` or `[tool.tritium]`
            7: error VER002 "from triton.language import load, squeeze": `triton.language.squeeze` comes with Triton 3.7, so this import fails with 3.1: say which one you use with `--triton` or `[tool.tritium]`
            9: error LNG010 "from triton.language import lode": no Triton has `triton.language.lode`: this import fails

            3.3
            1: error VER001 "import triton.ops": `triton.ops` is gone since Triton 3.2, so this import fails with 3.3
            3: error VER001 "from triton.ops.matmul_perf_model import (\n    early_config_prune,\n)": `triton.ops.matmul_perf_model` is gone since Triton 3.2, so this import fails with 3.3
            6: error VER002 "from triton.tools.tensor_descriptor import TensorDescriptor": `triton.tools.tensor_descriptor` comes with Triton 3.4, so this import fails with 3.3: say which one you use with `--triton` or `[tool.tritium]`
            7: error VER002 "from triton.language import load, squeeze": `triton.language.squeeze` comes with Triton 3.7, so this import fails with 3.3: say which one you use with `--triton` or `[tool.tritium]`
            9: error LNG010 "from triton.language import lode": no Triton has `triton.language.lode`: this import fails

            3.6
            1: error VER001 "import triton.ops": `triton.ops` is gone since Triton 3.2, so this import fails with 3.6
            3: error VER001 "from triton.ops.matmul_perf_model import (\n    early_config_prune,\n)": `triton.ops.matmul_perf_model` is gone since Triton 3.2, so this import fails with 3.6
            7: error VER002 "from triton.language import load, squeeze": `triton.language.squeeze` comes with Triton 3.7, so this import fails with 3.6: say which one you use with `--triton` or `[tool.tritium]`
            9: error LNG010 "from triton.language import lode": no Triton has `triton.language.lode`: this import fails

            3.9
            1: error VER001 "import triton.ops": `triton.ops` is gone since Triton 3.2, so this import fails with 3.9
            3: error VER001 "from triton.ops.matmul_perf_model import (\n    early_config_prune,\n)": `triton.ops.matmul_perf_model` is gone since Triton 3.2, so this import fails with 3.9
            8: error VER001 "from triton.language import advance, make_block_ptr": `triton.language.advance` is gone since Triton 3.9, so this import fails with 3.9; use `tl.make_tensor_descriptor`, or a tile of pointers with a mask
            9: error LNG010 "from triton.language import lode": no Triton has `triton.language.lode`: this import fails

            1.0
            6: error VER002 "from triton.tools.tensor_descriptor import TensorDescriptor": `triton.tools.tensor_descriptor` comes with Triton 3.4, so this import fails with 1.0: say which one you use with `--triton` or `[tool.tritium]`
            7: error VER002 "from triton.language import load, squeeze": `triton.language.squeeze` comes with Triton 3.7, so this import fails with 1.0: say which one you use with `--triton` or `[tool.tritium]`
            8: error VER002 "from triton.language import advance, make_block_ptr": `triton.language.advance` comes with Triton 2.1, so this import fails with 1.0: say which one you use with `--triton` or `[tool.tritium]`
            9: error LNG010 "from triton.language import lode": no Triton has `triton.language.lode`: this import fails
            11: error VER002 "from triton.runtime.driver import a_name_of_nobody": `triton.runtime.driver` comes with Triton 2.1, so this import fails with 1.0: say which one you use with `--triton` or `[tool.tritium]`

        "#]],
    );
}

/// What is gone is an error that says since when; what only Tritium does not know is a hint; a back end's own is nothing.
#[test]
fn names_that_a_version_lacks() {
    under(
        &["3.3", "3.6"],
        r#"
import triton, triton.language as lang
from triton.language.extra import xpu
from triton.language.extra.cuda import libdevice

@triton.jit
def kernel(desc, x, y):
    i = lang.arange(0, 16)
    lang.extra.cuda.experimental_device_tensormap_create2d(desc_ptr=desc, global_address=x)
    lang.store(y + i, lang.math.tanh(lang.load(x + i)) + lang.extra.cuda.num_warps())
    lang.store(y + i, xpu.libdevice.tanh(lang.load(x + i)) + lang.extra.cuda.num_warp())
    lang.store(y + i, lang.core.partial(i) + lang.core.partly(i) + lang._hidden(i) + lang.topk(lang.load(x + i), 2))
    lang.printf(libdevice.tanh(lang.load(x + i)))
"#,
        expect![[r#"
            3.3
            9: hint LIM002 "lang.extra.cuda.experimental_device_tensormap_create2d": `tl.extra.cuda.experimental_device_tensormap_create2d` is part of Triton, but Tritium does not know it yet: what depends on it is not checked
            10: error VER001 "lang.math.tanh": `lang.math.tanh` is gone since Triton 3.0: use `tl.extra.cuda.libdevice.tanh`
                fix: Change to `lang.extra.cuda.libdevice.tanh` [("lang.math.tanh", "lang.extra.cuda.libdevice.tanh")]
            10: hint LIM002 "lang.extra.cuda.num_warps": `tl.extra.cuda.num_warps` is part of Triton, but Tritium does not know it yet: what depends on it is not checked
            11: error LNG010 "lang.extra.cuda.num_warp": `lang.extra.cuda.num_warp` does not exist: triton.language has no `num_warp`
            12: hint LIM002 "lang.core.partial": `tl.core.partial` is part of Triton, but Tritium does not know it yet: what depends on it is not checked
            12: error LNG010 "lang.core.partly": `lang.core.partly` does not exist: triton.language has no `partly`
            12: error LNG010 "lang._hidden": `lang._hidden` does not exist: triton.language has no `_hidden`
            12: error VER002 "lang.topk": `lang.topk` comes with Triton 3.4, and this is read as Triton 3.3: say which one you use with `--triton` or `[tool.tritium]`, or do without it
            13: error VER001 "lang.printf": `lang.printf` is gone since Triton 2.1: use `tl.device_print`
                fix: Change to `lang.device_print` [("lang.printf", "lang.device_print")]

            3.6
            9: error VER001 "lang.extra.cuda.experimental_device_tensormap_create2d": `lang.extra.cuda.experimental_device_tensormap_create2d` is gone since Triton 3.4: use `tl.make_tensor_descriptor` in the kernel
            10: error VER001 "lang.math.tanh": `lang.math.tanh` is gone since Triton 3.0: use `tl.extra.cuda.libdevice.tanh`
                fix: Change to `lang.extra.cuda.libdevice.tanh` [("lang.math.tanh", "lang.extra.cuda.libdevice.tanh")]
            10: hint LIM002 "lang.extra.cuda.num_warps": `tl.extra.cuda.num_warps` is part of Triton, but Tritium does not know it yet: what depends on it is not checked
            11: error LNG010 "lang.extra.cuda.num_warp": `lang.extra.cuda.num_warp` does not exist: triton.language has no `num_warp`
            12: hint LIM002 "lang.core.partial": `tl.core.partial` is part of Triton, but Tritium does not know it yet: what depends on it is not checked
            12: error LNG010 "lang.core.partly": `lang.core.partly` does not exist: triton.language has no `partly`
            12: error LNG010 "lang._hidden": `lang._hidden` does not exist: triton.language has no `_hidden`
            13: error VER001 "lang.printf": `lang.printf` is gone since Triton 2.1: use `tl.device_print`
                fix: Change to `lang.device_print` [("lang.printf", "lang.device_print")]

        "#]],
    );
    // Until 3.0, functions of the device library stood in `tl.math`, and before 2.1 in `tl.libdevice`.
    under(
        &["2.0", "2.1"],
        "
import triton, triton.language as tl

@triton.jit
def kernel(x, y):
    i = tl.arange(0, 16)
    tl.store(y + i, tl.math.tanh(tl.load(x + i)))
    tl.store(y + i, tl.libdevice.tanh(tl.load(x + i)))
",
        expect![[r#"
            2.0
            7: error VER002 "tl.math": `tl.math` comes with Triton 2.1, and this is read as Triton 2.0: say which one you use with `--triton` or `[tool.tritium]`, or do without it

            2.1
            8: error VER001 "tl.libdevice": `tl.libdevice` is gone since Triton 2.1: use `tl.extra.cuda.libdevice`
                fix: Change to `tl.extra.cuda.libdevice` [("tl.libdevice", "tl.extra.cuda.libdevice")]

        "#]],
    );
}

/// Of the ways to import a name, the one that the version has is meant.
#[test]
fn the_import_that_works_is_meant() {
    under(
        &["2.1", "3.6"],
        "
import triton, triton.language as tl
try:
    from triton.language.math import tanh
except ImportError:
    from triton.language.extra.libdevice import tanh
if hasattr(tl, 'make_tensor_descriptor'):
    WIDTH = tl.constexpr(16)
else:
    WIDTH = tl.constexpr(48)

@triton.jit
def kernel(x, y):
    i = tl.arange(0, WIDTH)
    tl.store(y + i, tanh(tl.load(x + i)))
",
        expect![[r#"
            2.1
            14: error SHP002 "WIDTH": `WIDTH` is 48; 48 is not a power of two: use 64 and mask what is beyond 48

            3.6

        "#]],
    );
}

/// A module below a library of the host may hold Triton functions; one that is not at hand is nothing that is known.
#[test]
fn modules_that_are_not_at_hand_are_unknown() {
    under(
        &["3.6"],
        "
import numpy as np, torch, triton, triton.language as tl
import torch.nn.functional as F
from torch._inductor.runtime import triton_helpers
from torch._inductor.runtime.triton_helpers import libdevice
from torch.testing._internal import thing
from elsewhere import helper, scale, BLOCK, ON
import elsewhere.functions as other

@triton.jit
def kernel(x, y):
    i = tl.arange(0, 16)
    v = triton_helpers.maximum(tl.load(x + i), 0.0)
    v = libdevice.rsqrt(v) + thing(v) + helper(v) + other.f(v) + torch.distributed._symmetric_memory.get(v)
    tl.store(y + i, torch.exp(v))
    tl.store(y + i, np.tanh(v))
    tl.store(y + i, F.relu(v))
    factor = scale
    if ON:
        tl.store(y + tl.arange(0, BLOCK), v * scale + other.more * factor)
    tl.store(y + i, v * torch.float32)
",
        expect![[r#"
            3.6
            15: error LNG009 "torch.exp": `torch.exp` runs in Python, on the host; in a Triton function it is `tl.exp`
                fix: Change to `tl.exp` [("torch.exp", "tl.exp")]
            16: error LNG009 "np.tanh": `np.tanh` runs in Python, on the host; in a Triton function it is `tl.extra.cuda.libdevice.tanh`
                fix: Change to `tl.extra.cuda.libdevice.tanh` [("np.tanh", "tl.extra.cuda.libdevice.tanh")]
            17: error LNG009 "F.relu": `F.relu` runs in Python, on the host, and has no counterpart in `tl`: compute it before the launch and pass the result

        "#]],
    );
}

/// Names as they are seen from the first of some files, each after a line `== path`: what they are, or where they come from.
fn seen(files: &str, chosen: Chosen, names: &[&str], expected: Expect) {
    let files: Vec<(&str, &str)> = files.split("== ").skip(1).filter_map(|f| f.split_once('\n')).collect();
    let mut db = Database::new(Files::new(&files));
    db.choose(chosen);
    let file = db.file(Path::new(files[0].0)).expect("the first file");
    let mut out = String::new();
    for name in names {
        let found = resolve(&db, file, (*name).into());
        let text = match found {
            Some(Global::Function(f)) => format!("{} of {}", f.name(&db), f.file(&db).path(&db).display()),
            Some(Global::File(file)) => file.path(&db).display().to_string(),
            Some(Global::Constexpr(value)) => value.to_string(),
            Some(other) => format!("{other:?}"),
            None => "unbound".to_owned(),
        };
        let _ = writeln!(out, "{name}: {text}");
    }
    let _ = writeln!(out, "triton {}", crate::project::triton(&db, file));
    expected.assert_eq(&out);
}

const FUNCTION: &str = "import triton\n@triton.jit\ndef f(x):\n    pass\n";

#[test]
fn folders_that_a_file_adds_itself() {
    seen(
        &format!(
            "== /w/bench/deep/run.py
import os, sys
from os import path
from pathlib import Path
HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, os.path.join(HERE, '..', 'kernels'))
sys.path.append(str(ROOT / 'extra'))
if str(ROOT) not in sys.path:
    sys.path.insert(1, str(ROOT / 'lib'))
sys.path.extend([HERE + '/vendored', os.getcwd(), os.environ['KERNELS'], '../sibling'])
sys.path += [path.dirname(HERE)]
from norm import f as norm
from late import f as late
from lib_norm import f as lib
from vendor import f as vendor
from beside import f as beside
from above import f as above
from nowhere import f as nowhere
== /w/bench/kernels/norm.py
{FUNCTION}
== /w/extra/norm.py
== /w/extra/late.py
{FUNCTION}
== /w/lib/lib_norm.py
{FUNCTION}
== /w/bench/deep/vendored/vendor.py
{FUNCTION}
== /w/bench/sibling/beside.py
{FUNCTION}
== /w/bench/above.py
{FUNCTION}"
        ),
        Chosen::default(),
        &["norm", "late", "lib", "vendor", "beside", "above", "nowhere"],
        expect![[r#"
            norm: f of /w/bench/kernels/norm.py
            late: f of /w/extra/late.py
            lib: f of /w/lib/lib_norm.py
            vendor: f of /w/bench/deep/vendored/vendor.py
            beside: f of /w/bench/sibling/beside.py
            above: f of /w/bench/above.py
            nowhere: External("nowhere.f")
            triton 3.6 to 3.9
        "#]],
    );
}

#[test]
fn folders_without_init_are_packages_too() {
    seen(
        &format!(
            "== /w/space/ops/kernel.py
from . import near
from .near import f as near_f
from .deep import inner
from .deep.inner import f as inner_f
from ..other import f as other
from space.ops.near import f as whole
import space.ops.near
from .missing import f as missing
from . import nothing
one = space.ops.near.f
== /w/space/ops/near.py
{FUNCTION}
== /w/space/ops/deep/inner.py
{FUNCTION}
== /w/space/other.py
{FUNCTION}"
        ),
        Chosen::default(),
        &["near", "near_f", "inner", "inner_f", "other", "whole", "one", "missing", "nothing"],
        expect![[r#"
            near: /w/space/ops/near.py
            near_f: f of /w/space/ops/near.py
            inner: /w/space/ops/deep/inner.py
            inner_f: f of /w/space/ops/deep/inner.py
            other: f of /w/space/other.py
            whole: f of /w/space/ops/near.py
            one: f of /w/space/ops/near.py
            missing: Opaque
            nothing: Opaque
            triton 3.6 to 3.9
        "#]],
    );
}

#[test]
fn packages_installed_in_place() {
    seen(
        &format!(
            "== /w/run.py
from linked import f as linked
from relative import f as relative
from mapped import f as mapped
from sourced import f as sourced
from installed import f as installed
from shell import f as shell
from ignored import f as ignored
== /w/pyproject.toml
[project]
name = 'w'
== /w/.venv/lib/python3.12/site-packages/installed.py
{FUNCTION}
== /w/.venv/lib/python3.12/site-packages/all.pth
# /w/ignored
import sys; sys.path.append('/w/ignored')

/w/links
../../../../beside
== /w/.venv/lib/python3.12/site-packages/__editable___mapped_1_0_finder.py
from __future__ import annotations
MAPPING: dict[str, str] = {{'mapped': '/w/odd/place/mapped', 'other': '/w/else/named'}}
== /w/.venv/lib/python3.12/site-packages/sourced-1.0.dist-info/direct_url.json
{{\"dir_info\": {{\"editable\": true}}, \"url\": \"file:///w/with%20space\"}}
== /w/.venv/lib/python3.12/site-packages/sourced-1.0.dist-info
== /w/.venv/lib/python3.12/site-packages/triton-3.4.0+gitabc.dist-info
== /w/.venv/lib/python3.12/site-packages
== /w/.venv/lib/python3.12
== /w/links/linked.py
{FUNCTION}
== /w/beside/relative.py
{FUNCTION}
== /w/odd/place/mapped/__init__.py
{FUNCTION}
== /w/with space/src/sourced/__init__.py
{FUNCTION}
== /w/ignored/ignored.py
{FUNCTION}
== /path/shell.py
{FUNCTION}"
        ),
        Chosen { shell: Shell { python_path: vec!["/path".into()], ..Shell::default() }, ..Chosen::default() },
        &["linked", "relative", "mapped", "sourced", "installed", "shell", "ignored"],
        expect![[r#"
            linked: f of /w/links/linked.py
            relative: f of /w/beside/relative.py
            mapped: f of /w/odd/place/mapped/__init__.py
            sourced: f of /w/with space/src/sourced/__init__.py
            installed: f of /w/.venv/lib/python3.12/site-packages/installed.py
            shell: f of /path/shell.py
            ignored: External("ignored.f")
            triton 3.4.0
        "#]],
    );
}

/// The active environment, else that of the project, else conda's; each says which Triton there is.
#[test]
fn the_environment_that_is_used() {
    let files = "== /w/src/run.py
from package import BLOCK
== /w/pyproject.toml
[project]
name = 'w'
== /active/lib/python3.11/site-packages/package.py
import triton.language as tl
BLOCK = tl.constexpr(1)
== /active/lib/python3.11/site-packages/pytorch_triton-3.2.0+git0d4682f0.dist-info
== /active/lib/python3.11/site-packages
== /active/lib/python3.11
== /conda/lib/python3.10/site-packages/package.py
import triton.language as tl
BLOCK = tl.constexpr(2)
== /conda/lib/python3.10/site-packages/triton-2.1.0-py3.10.egg-info
== /conda/lib/python3.10/site-packages
== /conda/lib/python3.10
";
    let own = "== /w/venv/lib/python3.12/site-packages/package.py
import triton.language as tl
BLOCK = tl.constexpr(3)
== /w/venv/lib/python3.12/site-packages/triton-3.7.1.dist-info
== /w/venv/lib/python3.12/site-packages
== /w/venv/lib/python3.12
";
    let shell = |virtual_env: Option<&str>, conda: Option<&str>| Chosen {
        shell: Shell { virtual_env: virtual_env.map(Into::into), conda: conda.map(Into::into), ..Shell::default() },
        ..Chosen::default()
    };
    let both = [files, own].concat();
    seen(
        &both,
        shell(Some("/active"), Some("/conda")),
        &["BLOCK"],
        expect![[r#"
        BLOCK: 1
        triton 3.2.0
    "#]],
    );
    seen(
        &both,
        shell(None, Some("/conda")),
        &["BLOCK"],
        expect![[r#"
        BLOCK: 3
        triton 3.7.1
    "#]],
    );
    seen(
        files,
        shell(None, Some("/conda")),
        &["BLOCK"],
        expect![[r#"
        BLOCK: 2
        triton 2.1.0
    "#]],
    );
    seen(
        files,
        shell(Some("/gone"), None),
        &["BLOCK"],
        expect![[r#"
            BLOCK: External("package.BLOCK")
            triton 3.6 to 3.9
        "#]],
    );
    let locked = [
        files,
        "== /w/uv.lock\n[[package]]\nname = \"torch\"\nversion = \"2.8.0\"\n\n[[package]]\nname = \"triton\"\nversion = \"3.4.0\"\n",
    ];
    seen(
        &locked.concat(),
        Chosen::default(),
        &["BLOCK"],
        expect![[r#"
        BLOCK: External("package.BLOCK")
        triton 3.4.0
    "#]],
    );
    seen(
        &locked.concat(),
        shell(Some("/active"), None),
        &["BLOCK"],
        expect![[r#"
        BLOCK: 1
        triton 3.2.0
    "#]],
    );
}
