//! Whole programs as people write them: their host code makes the tensors, launches the kernels and holds the results against PyTorch's
//! functions. Every one of `examples/programs` runs and verifies from that host code alone.

use std::{fs, process::Command};

use expect_test::expect_file;
use tritium_tests::{repository, tritium};

/// What a run says, without times and the numbers of tensors; nor how large an error within its bound is, as atomics add up in any order.
fn said(file: &str, arguments: &[&str]) -> String {
    let mut command = Command::new(tritium());
    let done =
        command.args(["run", file, "--verify"]).args(arguments).current_dir(repository()).output().expect("tritium starts");
    let out = String::from_utf8_lossy(&done.stdout).into_owned() + &String::from_utf8_lossy(&done.stderr);
    let is_told = |line: &&str| {
        (!line.starts_with("  ") || line.starts_with("  FAULT")) && !line.is_empty() && !line.starts_with("checked")
    };
    let plain = |line: &str| match (line.rsplit_once(", "), line.split_once("relative error ")) {
        (Some((head, time)), _) if time.ends_with(" ms") => head.to_owned(),
        (_, Some((head, rest))) if line.starts_with("verified") => {
            format!("{head}relative error …{}", rest.find(',').map_or("", |comma| &rest[comma..]))
        }
        _ => line.to_owned(),
    };
    let lines: Vec<String> = out.lines().filter(is_told).map(plain).collect();
    format!("{}\nexit status {}\n", lines.join("\n"), done.status.code().unwrap_or(-1))
}

#[test]
fn every_program_runs_and_verifies_from_its_own_host_code() {
    let folder = repository().join("examples/programs");
    let mut names: Vec<String> = fs::read_dir(&folder)
        .expect("the examples")
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.strip_suffix(".py").map(str::to_owned))
        .collect();
    names.sort();
    assert!(names.len() >= 20, "{names:?}");
    let mut all = String::new();
    for name in names {
        let said = said(&format!("examples/programs/{name}.py"), &[]);
        assert!(
            said.ends_with("exit status 0\n") && said.contains("verified") && !said.contains("NOT VERIFIED"),
            "{name}: {said}"
        );
        all += &format!("{name}\n{said}\n");
    }
    expect_file![repository().join("tests/data/programs/examples.txt")].assert_eq(&all);
}

/// `bench` calls the function under `perf_report` with every size of its benchmarks, also where only they launch; `run` with the first of them, and only
/// there.
#[test]
fn a_benchmark_is_run_with_its_sizes() {
    let launches = |file: &str, arguments: &[&str]| -> Vec<String> {
        let (status, out, said) = bench(&[&[file, "--output-format", "csv"], arguments].concat());
        assert_eq!(status, 0, "{said}");
        out.lines().skip(1).filter_map(|line| Some(line.split(',').nth(1)?.trim_matches('"').to_owned())).collect()
    };
    let all = launches("examples/programs/benchmarked.py", &[]);
    assert!(all.len() == 8 && all[7] == "mean_kernel#8", "{all:?}");
    // Three of its own, and four of its benchmark's sizes.
    assert_eq!(launches("examples/programs/transpose.py", &[]).len(), 7);
    let folder = tempfile::tempdir().expect("a temporary folder");
    let changed = |name: &str, from: &str, to: &str| {
        let text = fs::read_to_string(repository().join("examples/programs/benchmarked.py")).expect("the example");
        assert!(text.contains(from), "{from}");
        let file = folder.path().join(name);
        fs::write(&file, text.replace(from, to)).expect("it can be written");
        file.to_str().expect("a plain path").to_owned()
    };
    let run = "benchmark.run(print_data=True)";
    // Nobody has to call it; what `run` is given besides goes to the function.
    assert_eq!(launches(&changed("uncalled.py", run, "pass"), &[]).len(), 8);
    let given = changed("given.py", run, "benchmark.run(show_plots=False, save_path='.', n_rows=9)");
    let without = fs::read_to_string(&given).expect("it was written").replace("args={\"n_rows\": n_rows},", "args={},");
    fs::write(&given, without).expect("it can be written");
    assert_eq!(launches(&given, &[]).len(), 4);
    // One benchmark instead of a list, and several names of one value.
    let square = changed("square.py", "x_names=[\"n_cols\"]", "x_names=[\"n_cols\", \"n_rows\"]");
    fs::write(&square, fs::read_to_string(&square).expect("it was written").replace("args={\"n_rows\": n_rows},", "args={},"))
        .expect("it can be written");
    assert_eq!(launches(&square, &[]).len(), 4);
    let said = said(&square, &[]);
    assert!(said.contains("256 programs") && said.ends_with("exit status 0\n"), "{said}");
}

/// pytest means what it means whether it is installed or not: the parameters of a test reach its launches.
#[test]
fn tests_are_followed_where_pytest_is_installed() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let packages = folder.path().join("lib/python3.12/site-packages/pytest");
    fs::create_dir_all(&packages).expect("a package");
    fs::write(packages.join("__init__.py"), "from _pytest.mark import MARK_GEN as mark\n").expect("a module");
    let environment = folder.path().to_str().expect("a plain path");
    let said = said("examples/programs/softmax.py", &["--python-env", environment]);
    assert!(said.ends_with("exit status 0\n") && said.matches("verified").count() == 4, "{said}");
}

/// PyTorch's functions, whose values on small inputs PyTorch has written into the file.
#[test]
fn functions_give_what_pytorch_gives() {
    let said = said("tests/data/programs/functions.py", &[]);
    let wrong: Vec<&str> = said.lines().filter(|line| line.starts_with("NOT") || line.starts_with("MISMATCH")).collect();
    assert!(said.ends_with("exit status 0\n"), "{}", wrong.join("\n"));
    assert!(said.matches("verified").count() > 150, "{}", said.matches("verified").count());
}

/// A program that is wrong says where, and what it holds beside the reference.
#[test]
fn programs_that_are_wrong_say_where() {
    let all: String = ["wrong_result.py", "not_followed.py", "faults.py"]
        .iter()
        .map(|name| format!("{name}\n{}\n", said(&format!("tests/data/programs/{name}"), &[])))
        .collect();
    expect_file![repository().join("tests/data/programs/wrong.txt")].assert_eq(&all);
}

fn bench(arguments: &[&str]) -> (i32, String, String) {
    let mut command = Command::new(tritium());
    let done =
        command.args(["bench", "--device", "cpu"]).args(arguments).current_dir(repository()).output().expect("tritium starts");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (done.status.code().unwrap_or(-1), text(&done.stdout), text(&done.stderr))
}

/// Every launch and every row of a tuner once, with its time; a baseline in which they took no time fails the run, one in which they took
/// for ever does not.
#[test]
fn times_are_measured_and_held_against_a_baseline() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let baseline = folder.path().join("times.json");
    let place = baseline.to_str().expect("a plain path");
    let file = "examples/programs/grouped_matmul.py";
    let (status, out, _) = bench(&[file, "--launch", "matmul_kernel", "--output-format", "csv", "--write-baseline", place]);
    assert_eq!(status, 0, "{out}");
    let lines: Vec<&str> = out.lines().collect();
    assert_eq!(lines.len(), 4, "{out}");
    for (row, line) in lines[1..].iter().enumerate() {
        let fields: Vec<&str> = line.split(',').collect();
        assert_eq!(fields[..3], ["matmul_kernel", &format!("\"matmul_kernel:{row}\""), "\"cpu\""], "{line}");
        assert!(fields[6].parse::<f64>().is_ok_and(|us| us > 0.0) && fields[3].is_empty(), "{line}");
    }
    let scaled = |by: f64| {
        let text = fs::read_to_string(&baseline).expect("it was written");
        let mut value: serde_json::Value = serde_json::from_str(&text).expect("it is JSON");
        for row in value["rows"].as_array_mut().expect("there are rows") {
            for figure in ["median_us", "p20_us", "p80_us"] {
                let us = row["timing"]["warm"][figure].as_f64().expect("a time");
                row["timing"]["warm"][figure] = (us * by).into();
            }
        }
        let path = folder.path().join(format!("{by}.json"));
        fs::write(&path, value.to_string()).expect("it can be written");
        path.to_str().expect("a plain path").to_owned()
    };
    let held = |by: f64| {
        let other = scaled(by);
        bench(&[file, "--launch", "matmul_kernel", "--baseline", &other, "--fail-if-slower", "5%"])
    };
    let (status, _, said) = held(1e-6);
    assert!(status == 1 && said.matches("slower: matmul_kernel:").count() == 3, "{said}");
    let (status, out, said) = held(1e6);
    assert!(status == 0 && said.is_empty() && out.contains("warm µs"), "{said}{out}");
    let (status, _, said) = bench(&[file, "--baseline", "examples/add.py"]);
    assert!(status == 2 && said.contains("--baseline"), "{said}");
}

/// Held against another file, against the file as it was, and against a Python that has no Triton.
#[test]
fn times_are_held_against_those_of_something_else() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let place = |name: &str| folder.path().join(name).to_str().expect("a plain path").to_owned();
    let text = fs::read_to_string(repository().join("examples/programs/add.py")).expect("the example");
    let git = |arguments: &[&str]| {
        let identity = ["-c", "user.name=t", "-c", "user.email=t@localhost", "-c", "init.defaultBranch=main"];
        let done = Command::new("git").arg("-C").arg(folder.path()).args(identity).args(arguments).output().expect("git starts");
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    };
    fs::write(place("add.py"), &text).expect("it can be written");
    git(&["init", "-q"]);
    git(&["add", "add.py"]);
    git(&["commit", "-qm", "one"]);
    fs::write(place("same.py"), &text).expect("it can be written");
    let (status, out, said) = bench(&[&place("add.py"), "--against", &place("same.py"), "--rounds", "1"]);
    assert!(status == 0 && out.contains("same.py, µs") && out.contains("Ratio: "), "{out}{said}");
    let (status, out, said) = bench(&[&place("add.py"), "--against", "git:HEAD", "--rounds", "1", "--output-format", "json"]);
    assert_eq!(status, 0, "{said}");
    let document: serde_json::Value = serde_json::from_str(&out).expect("it is JSON");
    let against = &document["rows"][0]["against"][0];
    assert!(against["what"] == "git:HEAD" && against["time"]["median_us"].as_f64().is_some_and(|us| us > 0.0), "{out}");
    let (status, _, said) = bench(&[&place("add.py"), "--against", "git:nowhere"]);
    assert!(status == 2 && said.contains("--against git:nowhere: "), "{said}");
    fs::create_dir_all(place("env/bin")).expect("an environment");
    fs::write(place("env/bin/python"), "#!/bin/sh\necho 'ModuleNotFoundError: No module named torch' >&2\nexit 1\n")
        .expect("a program");
    let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(place("env/bin/python"), executable).expect("its mode");
    let mut command = Command::new(tritium());
    command.args(["bench", "--device", "cpu", &place("add.py"), "--against", "triton"]).env("VIRTUAL_ENV", place("env"));
    let done = command.output().expect("tritium starts");
    let (status, said) = (done.status.code().unwrap_or(-1), String::from_utf8_lossy(&done.stderr).into_owned());
    assert!(status == 2 && said.contains("does not run the program under Triton: ModuleNotFoundError"), "{status} {said}");
}

/// A Python that answers as one with Triton and PyTorch does: beside each launch what it needs there, and what takes the place of several.
#[test]
fn times_are_held_against_those_of_triton_and_of_pytorch() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let place = |name: &str| folder.path().join(name).to_str().expect("a plain path").to_owned();
    let python = r#"#!/bin/sh
launch='{"kernel": "add_kernel", "launch": "add_kernel"}'
case "$2" in
*TorchDispatchMode*) echo "{\"what\": \"torch 2.10\", \"error\": null, \"times\": [{\"launches\": [$launch], \"us\": [4e9, 5e9, 6e9]},
    {\"launches\": [$launch, $launch], \"us\": [9e9]}, {\"launches\": [{\"kernel\": \"other\", \"launch\": \"other\"}], \"us\": [1]}]}" ;;
*) echo "{\"what\": \"triton 3.6\", \"error\": \"SystemExit: 3\", \"times\": [{\"launches\": [$launch], \"us\": [2e9]}]}" ;;
esac >"$4"
"#;
    fs::create_dir_all(place("bin")).expect("an environment");
    fs::create_dir_all(place("lib/python3.12/site-packages/torch")).expect("an environment");
    fs::write(place("bin/python"), python).expect("a program");
    let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(place("bin/python"), executable).expect("its mode");
    let held = |more: &[&str]| {
        let file = ["examples/programs/add.py", "--python-env", &place(""), "--launch", "add_kernel"];
        bench(&[&file[..], more].concat())
    };
    let (status, out, said) = held(&["--against", "triton,torch"]);
    assert!(status == 0 && said.contains("under Triton the program ended with SystemExit: 3"), "{said}");
    assert!(out.contains("triton 3.6, µs") && out.contains("torch 2.10, µs") && out.contains("2000000000.00"), "{out}");
    let together = out.lines().find(|line| line.starts_with("torch 2.10 for what add_kernel, add_kernel do, "));
    assert!(together.is_some_and(|line| line.ends_with("9000000000.00 (9000000000.00–9000000000.00) µs")), "{out}");
    let (_, out, _) = held(&["--against", "torch", "--against", "triton", "--output-format", "csv"]);
    let lines: Vec<&str> = out.lines().collect();
    assert!(lines[0].ends_with(",against_us,triton_3_6_us") && lines[1].ends_with(",5000000000.0000,2000000000.0000"), "{out}");
    let (_, out, _) = held(&["--against", "torch", "--output-format", "json"]);
    let document: serde_json::Value = serde_json::from_str(&out).expect("it is JSON");
    let together = &document["together"][0];
    assert!(together["own_us"].as_f64().is_some_and(|us| us > 0.0) && together["against"]["what"] == "torch 2.10", "{out}");
    // It runs the program as it is, here.
    let (status, _, said) = held(&["--against", "torch", "--sweep", "N=2"]);
    assert!(status == 2 && said.contains("--against torch runs the program as it is"), "{said}");
    let (status, _, said) = held(&["--against", "torch", "--on", "sh -c"]);
    assert!(status == 2 && said.contains("--against torch takes its times on this machine"), "{said}");
}

const SWEPT: &str = r#"# /// tritium
# [launch.rows]
# kernel = "double"
# grid = ["M"]
# sizes = { M = 4, N = 100 }
# args = { Y = "f32[M, N]", X = "f32[M, N] = normal(0, 1)", n = "N" }
# meta = { BLOCK = "next_power_of_2(N)" }
#
# [launch.other]
# kernel = "double"
# grid = [1]
# sizes = { L = 64 }
# args = { Y = "f32[L]", X = "f32[L]", n = 64 }
# meta = { BLOCK = 64 }
# ///
import torch
import triton
import triton.language as tl


@triton.jit
def double(Y, X, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    row = tl.program_id(0) * n
    tl.store(Y + row + at, tl.load(X + row + at, mask=at < n) * 2, mask=at < n)


def doubled(x: torch.Tensor):
    K, N = x.shape
    y = torch.empty_like(x)
    double[(K,)](y, x, N, BLOCK=triton.next_power_of_2(N))
    return y
"#;

/// A size over several values: of launch blocks, or of a function that is entered; as rows, and as a picture.
#[test]
fn a_size_is_swept() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let place = |name: &str| folder.path().join(name).to_str().expect("a plain path").to_owned();
    fs::write(place("double.py"), SWEPT).expect("it can be written");
    fs::write(place("same.py"), SWEPT).expect("it can be written");
    let (file, other, picture, table) = (place("double.py"), place("same.py"), place("chart.svg"), place("rows.csv"));
    // The launch and its size, and whether the other side was timed.
    let rows = |csv: &str| -> Vec<String> {
        let fields = |line: &str| line.split(',').map(str::to_owned).collect::<Vec<_>>();
        csv.lines()
            .map(fields)
            .map(|row| format!("{} {} {}", row[1], row[13], if row[12].is_empty() { "" } else { "against" }))
            .collect()
    };
    let swept = ["--sweep", "N=64..256:*2", "--against", &other, "--rounds", "1", "--output-format", "csv"];
    let (status, out, said) = bench(&[&[file.as_str()], &swept[..], &["-o", &picture]].concat());
    assert_eq!(status, 0, "{said}");
    assert_eq!(
        rows(&out),
        ["launch N against", "\"rows\" 64 against", "\"rows\" 128 against", "\"rows\" 256 against"],
        "only the launch that has the size: {out}"
    );
    let svg = fs::read_to_string(&picture).expect("it was written");
    for part in ["Time over N on cpu", "class=\"own\"", "class=\"other\"", "double rows: ", "same.py", ">256</text>"] {
        assert!(svg.contains(part), "`{part}` is missing in {svg}");
    }
    assert_eq!((svg.matches("class=\"point\"").count(), svg.matches("class=\"point other\"").count()), (3, 3));
    // A run has the tensors of its size: of the smaller ones there is not enough.
    let (status, out, _) = bench(&[&file, "--sweep", "L=64,32", "-o", &table]);
    assert!(status == 1 && out.contains("│ kernel ┆ launch ┆ L  ┆"), "{out}");
    let csv = fs::read_to_string(&table).expect("it was written");
    assert_eq!(rows(&csv), ["launch L against", "\"other\" 32 ", "\"other\" 64 "]);
    let was_timed: Vec<bool> = csv.lines().skip(1).map(|line| line.split(',').nth(6).is_some_and(|us| !us.is_empty())).collect();
    assert_eq!(was_timed, [false, true], "{csv}");
    // A size that no block has is a free name of the function that launches.
    let (status, out, said) = bench(&[&file, "--sweep", "K=2,4", "--output-format", "json"]);
    assert!(status == 0 && said.contains("entered doubled with K = 2") && said.contains("entered doubled with K = 4"), "{said}");
    let document: serde_json::Value = serde_json::from_str(&out).expect("it is JSON");
    let sizes: Vec<_> = document["rows"].as_array().expect("rows").iter().map(|row| row["size"].clone()).collect();
    assert_eq!(sizes, [2, 4].map(|value| serde_json::json!({ "name": "K", "value": value })));
    for (arguments, why) in [
        (
            &["--sweep", "Z=2,4"][..],
            "--sweep Z: no launch block has a size of this name, and `Z` is no free name here; there are: ",
        ),
        (&["--sweep", "N=4..2"], "a sweep is written `N=1024..65536:*2`"),
        (&["--sweep", "N=2", "--against", "triton"], "--against triton runs the program as it is"),
        (&["-o", &picture], "--output FILE.svg draws a --sweep"),
        (&["--sweep", "N=2", "--draw", "flops", "-o", &picture], "nothing was timed of which this is known"),
    ] {
        let (status, _, said) = bench(&[&[file.as_str()], arguments].concat());
        assert!(status == 2 && said.contains(why), "{arguments:?}: {status} {said}");
    }
}
