//! Launches that programs have made: what is written of one is read back as the same.

use std::{collections::BTreeMap, path::PathBuf};

use expect_test::expect;

use super::{database, show};
use crate::{
    Chosen,
    launch::{launches, spelled},
};

const TEXT: &str = r#"
import torch, triton
import triton.language as tl

@triton.jit
def relu(x):
    return tl.maximum(x, 0)

@triton.autotune(configs=[triton.Config({"BLOCK": 64}), triton.Config({"BLOCK": 128}, num_warps=8)], key=["n"])
@triton.jit
def tuned(x, n, BLOCK: tl.constexpr):
    tl.store(x + tl.arange(0, BLOCK), 1.0, mask=tl.arange(0, BLOCK) < n)

@triton.jit
def rows(out, x, pair, scale, flag, none, ACT: tl.constexpr, DTYPE: tl.constexpr, MODE: tl.constexpr, STEPS: tl.constexpr):
    tl.store(out + tl.arange(0, 16), ACT(tl.load(x + tl.arange(0, 16))).to(DTYPE))

x = torch.randn(32, 16, device="cuda", dtype=torch.float16)
out = torch.empty(16, device="cuda")
rows[(3, 2)](out, x[:, :8].t(), (x, 5), 0.5, True, None, ACT=relu, DTYPE=tl.float16, MODE="fast", STEPS=(1, 2), num_warps=2, num_stages=1)
tuned[(4,)](x, 64)
"#;

#[test]
fn what_is_recorded_is_read_back() {
    let (mut db, file) = database(TEXT);
    let made = launches(&db, file).clone();
    let mut recorded = String::new();
    for (index, launch) in made.launches.iter().enumerate() {
        let launch = crate::launch::Launch { config: None, ..launch.clone() };
        recorded += &spelled(&db, &launch, &format!("r{index}"), &[]).expect("a block has words for it");
    }
    expect![[r#"
        [launch.r0]
        kernel = "rows"
        grid = [3, 2, 1]
        args = { out = "f32[16]", x = "f16[504] = normal(0, 1)", pair = ["f16[32, 16] = normal(0, 1)", 5], scale = 0.5, flag = true, none = "None" }
        meta = { ACT = "fn:relu", DTYPE = "f16", MODE = "'fast'", STEPS = [1, 2] }
        num_warps = 2
        num_stages = 1
        [launch.r1]
        kernel = "tuned"
        grid = [4, 1, 1]
        args = { x = "f16[32, 16] = normal(0, 1)", n = 64 }
        meta = { BLOCK = 64 }
        num_warps = 4
        [launch.r2]
        kernel = "tuned"
        grid = [4, 1, 1]
        args = { x = "f16[32, 16] = normal(0, 1)", n = 64 }
        meta = { BLOCK = 128 }
        num_warps = 8
    "#]].assert_eq(&recorded);
    let gone = "[launch.gone]\nkernel = \"gone\"\ngrid = [1]\n";
    let other = "[launch.untuned]\nkernel = \"tuned\"\ngrid = [1]\nargs = { x = \"f32[8]\", n = 8 }\nmeta = { BLOCK = 8 }\nnum_warps = 4\nnum_stages = 3\n";
    let recorded = BTreeMap::from([(PathBuf::from("kernel.py"), format!("{recorded}{other}{gone}"))]);
    db.choose(Chosen { recorded, ..Chosen::default() });
    let found = launches(&db, file);
    assert!(found.problems.is_empty(), "{:?}", found.problems);
    let count = found.launches.len() - made.launches.len();
    let shown: String =
        found.launches[..count].iter().zip(&found.sources).map(|(launch, source)| show(&db, launch, *source) + "\n").collect();
    expect![[r#"
        r0 = rows[3, 2, 1] out=out:f32[16]/[1]=Empty x=x:f16[504]/[1]=Normal { mean: 0.0, std: 1.0 } pair=Tuple([Tensor(2), Int(5)]) scale=0.5 flag=true none=None ACT:<function> DTYPE:f16 MODE:"fast" STEPS:(1, 2) warps=2 stages=1 (recorded)
        r1[0] = tuned[4, 1, 1] x=x:f16[32, 16]/[16, 1]=Normal { mean: 0.0, std: 1.0 } n=64 BLOCK:64 warps=4 stages=3 (recorded)
        r2[1] = tuned[4, 1, 1] x=x:f16[32, 16]/[16, 1]=Normal { mean: 0.0, std: 1.0 } n=64 BLOCK:128 warps=8 stages=3 (recorded)
        untuned = tuned[1, 1, 1] x=x:f32[8]/[1]=Empty n=8 BLOCK:8 warps=4 stages=3 (recorded)
    "#]].assert_eq(&shown);
}
