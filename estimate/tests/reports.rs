//! Prints the report of every `tests/tile/report/*.tile` after all passes, each as a test of that name: the module above the line has the
//! report below it. `UPDATE_EXPECT=1` writes what comes out.

use tritium_codegen::{CompileOptions, passes};
use tritium_estimate::{
    cost::{Argument, Launch},
    resources,
};
use tritium_harness::{TileTest, repository, test_each};
use tritium_semantics::{launch::LaunchOptions, target::Gpu};

fn main() {
    tritium_harness::run(test_each(&repository().join("tests/tile/report"), "tile", |path| {
        let test = TileTest::read(path);
        test.assert_becomes(&report(&test));
    }));
}

fn report(test: &TileTest) -> String {
    let module = tritium_tile::parse(&test.module()).expect("a module");
    let options = CompileOptions {
        sm: Gpu::find(test.directive("sm").unwrap_or("sm_90")).expect("a known SM").sm,
        launch: LaunchOptions {
            num_warps: test.value("warps").unwrap_or(4),
            num_stages: test.value("stages").unwrap_or(1),
            max_registers: None,
        },
        assertions: true,
        global_scratch: true,
    };
    let lowered = passes::lower(&module, &options).expect("it compiles");
    let grid: Vec<u64> = test.directive("grid").expect("a grid").split(' ').map(|n| n.parse().expect("a number")).collect();
    let (scalars, bytes) = (test.numbers("args"), test.numbers("bytes"));
    let argument = |name: &str| {
        let of = |all: &[(String, u64)]| all.iter().find(|(n, _)| n == name).map(|(_, number)| *number);
        of(&scalars).map(|n| Argument::Scalar(n as i64)).or(of(&bytes).map(Argument::TensorBytes)).unwrap_or_default()
    };
    let arguments = module.entry().params.iter().map(|param| argument(&param.name)).collect();
    let launch = Launch { grid: [grid[0], grid[1], grid[2]], arguments };
    let gpu = Gpu::find(test.directive("gpu").expect("a GPU")).expect("a known GPU");
    let report = resources::report(&lowered, gpu, Some(&launch), None, None);
    serde_json::to_string_pretty(&report).expect("a plain structure") + "\n"
}
