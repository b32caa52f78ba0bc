//! Nothing outlives its owner: whoever started a run or a compiler, and however he goes, the child goes with him and leaves no file.
//!
//! The time that each took is printed; what a test bounds is only that it ends.
#![cfg(target_os = "linux")]

use std::{
    fs,
    io::{BufRead as _, BufReader, Write as _},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use serde_json::json;
use tritium_tests::{
    client::Client,
    processes::{ENDLESS, Owned, TICKS_AT_WORK, assert_gone, at_work, descendants, signal, stat, until},
    repository, tritium,
};

/// Folders of a test's own, for temporary files and for the store.
struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    fn new() -> Place {
        let folder = tempfile::tempdir().expect("a temporary folder");
        for name in ["tmp", "cache"] {
            fs::create_dir(folder.path().join(name)).expect("it is ours");
        }
        fs::write(folder.path().join("endless.py"), ENDLESS).expect("it is ours");
        Place { folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn text(&self, name: &str) -> String {
        self.path(name).to_str().expect("a plain path").to_owned()
    }

    fn tritium(&self, arguments: &[&str]) -> Command {
        // Signals that this process was started to ignore (in the background of a script, under `nohup`) stay ignored in what it starts: `env` gives them back and keeps the pid.
        let mut command = Command::new("env");
        command
            .arg("--default-signal=INT,HUP,TERM")
            .arg(tritium())
            .args(arguments)
            .env("TMPDIR", self.path("tmp"))
            .env("TRITIUM_CACHE", self.path("cache"));
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        command
    }

    /// Nothing but whole entries of the store is left.
    fn assert_clean(&self) {
        let mut pending = vec![self.path("tmp"), self.path("cache")];
        while let Some(folder) = pending.pop() {
            for entry in fs::read_dir(&folder).expect("it is ours").flatten() {
                let (path, name) = (entry.path(), entry.file_name().to_string_lossy().into_owned());
                let is_shelf = path.is_dir() && folder.ends_with("cache") && name.len() == 2;
                let is_entry = name.len() == 62 && name.bytes().all(|b| b.is_ascii_hexdigit());
                assert!(is_shelf || is_entry, "{} is left", path.display());
                if is_shelf {
                    pending.push(path);
                }
            }
        }
    }
}

#[test]
fn a_run_ends_with_the_command_that_asked_for_it() {
    for device in ["cpu", "sim"] {
        for name in ["KILL", "INT", "TERM", "HUP"] {
            let place = Place::new();
            let mut owner =
                Owned(place.tritium(&["run", &place.text("endless.py"), "--device", device]).spawn().expect("it starts"));
            let pids = at_work(owner.0.id());
            signal(name, owner.0.id());
            assert_gone(&format!("run on {device}, {name}"), &pids);
            owner.0.wait().expect("it has ended");
            place.assert_clean();
        }
    }
}

/// A process at the end of other pipes learns that its owner is gone from its input alone.
#[test]
fn a_run_ends_with_the_command_that_carries_it() {
    let place = Place::new();
    let carrier = format!("cat | cat | {}", tritium().display());
    let arguments = ["run", &place.text("endless.py"), "--on", &carrier];
    let mut owner = Owned(place.tritium(&arguments).spawn().expect("it starts"));
    let pids = at_work(owner.0.id());
    signal("KILL", owner.0.id());
    assert_gone("run on the other side of a command, KILL", &pids);
    owner.0.wait().expect("it has ended");
    place.assert_clean();
}

fn job(place: &Place, device: &str, attended: bool, seconds: f64) -> String {
    json!({
        "path": place.path("endless.py"), "text": ENDLESS, "launch": null, "device": device, "verify": "never", "save": null,
        "chosen": { "triton": "3.6", "gpu": "H100" }, "expect": [],
        "limits": { "seconds": seconds, "memory_bytes": null }, "attended": attended,
    })
    .to_string()
}

#[test]
fn exec_ends_when_its_input_closes() {
    for device in ["cpu", "sim"] {
        let place = Place::new();
        let mut owned = Owned(place.tritium(&["exec"]).spawn().expect("it starts"));
        let mut input = owned.0.stdin.take().expect("piped");
        input.write_all(job(&place, device, true, 300.0).as_bytes()).expect("it reads");
        let pid = owned.0.id();
        until("exec at work", || stat(pid).filter(|f| f[11].parse().unwrap_or(0u64) >= TICKS_AT_WORK));
        drop(input);
        assert_gone(&format!("exec on {device}, input closed"), &[pid]);
        place.assert_clean();
    }
}

/// Nobody watches this one from outside: the limit is its own, and so is the word about where it was.
#[test]
fn exec_keeps_its_own_time() {
    for device in ["cpu", "sim"] {
        let place = Place::new();
        let mut owned = Owned(place.tritium(&["exec"]).stdout(Stdio::piped()).spawn().expect("it starts"));
        let mut input = owned.0.stdin.take().expect("piped");
        input.write_all(job(&place, device, false, 0.7).as_bytes()).expect("it reads");
        drop(input);
        let lines = BufReader::new(owned.0.stdout.take().expect("piped")).lines().map_while(Result::ok);
        let answer: serde_json::Value = serde_json::from_str(&lines.last().expect("an answer")).expect("JSON");
        assert_eq!(answer["stopped"]["limit"]["seconds"], 0.7, "{answer}");
        let said = answer["stopped"]["place"].as_str().expect("a place");
        let (line, rest) = said
            .strip_prefix(&place.text("endless.py"))
            .and_then(|s| s.strip_prefix(':'))
            .and_then(|s| s.split_once(','))
            .expect(said);
        assert!((13..=16).contains(&line.parse::<u32>().expect(said)), "{said}");
        assert_eq!(rest, " in kernel `spin` (launch `endless`)");
    }
}

struct Server {
    client: Client,
    pid: u32,
    request: i64,
    run: Vec<u32>,
    place: Place,
}

/// A server whose endless run is at work.
fn server(device: &str) -> Server {
    let place = Place::new();
    let (tmp, cache) = (place.text("tmp"), place.text("cache"));
    let mut client = Client::start(&[("TMPDIR", &tmp), ("TRITIUM_CACHE", &cache)], &json!({ "device": device }));
    let uri = client.open(&place.path("endless.py"), ENDLESS);
    let argument = json!({ "uri": uri, "launch": "endless", "kernel": "spin" });
    let request = client.ask("workspace/executeCommand", json!({ "command": "tritium.server.run", "arguments": [argument] }));
    let pid = client.process();
    Server { request, pid, run: at_work(pid), client, place }
}

#[test]
fn a_run_ends_with_its_request() {
    for device in ["cpu", "sim"] {
        let Server { mut client, request, run, place, .. } = server(device);
        client.cancel(request);
        assert_gone(&format!("server on {device}, cancelled"), &run);
        assert!(client.answer(request).get("error").is_some());
        client.stop();
        place.assert_clean();
    }
}

#[test]
fn a_run_ends_with_the_server() {
    for device in ["cpu", "sim"] {
        let Server { client, pid, run, place, .. } = server(device);
        signal("KILL", pid);
        assert_gone(&format!("server on {device}, KILL"), &run);
        drop(client);
        place.assert_clean();

        let Server { mut client, run, place, .. } = server(device);
        client.request("shutdown", serde_json::Value::Null);
        assert_gone(&format!("server on {device}, shutdown"), &run);
        client.notify("exit", serde_json::Value::Null);
        drop(client);
        place.assert_clean();

        let Server { mut client, pid, run, place, .. } = server(device);
        client.close_input();
        assert_gone(&format!("server on {device}, input closed"), &run);
        assert_gone(&format!("server on {device}, itself"), &[pid]);
        place.assert_clean();
    }
}

/// All processes below an owner, once one of them has such a command line.
fn once_below(owner: &Owned, is_it: impl Fn(&str) -> bool) -> Vec<u32> {
    until("the tool at work", || {
        let all = descendants(owner.0.id());
        let runs = |pid: &u32| fs::read_to_string(format!("/proc/{pid}/cmdline")).is_ok_and(|line| is_it(&line));
        all.iter().any(runs).then_some(all)
    })
}

/// ptxas knows nothing of us, and LLVM does not look up from its work.
#[test]
fn compilers_end_with_the_command_that_asked_them() {
    let place = Place::new();
    let ptxas = place.path("ptxas");
    fs::write(&ptxas, "#!/bin/sh\ncase $1 in --version) echo one ;; *) while :; do :; done ;; esac\n").expect("it is ours");
    fs::set_permissions(&ptxas, std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("it is ours");
    let example = repository().join("examples/vector_add.py");
    let mut command = place.tritium(&["emit", example.to_str().expect("a plain path"), "--stage", "sass"]);
    let mut owner = Owned(command.env("TRITON_PTXAS_PATH", &ptxas).spawn().expect("it starts"));
    let pids = once_below(&owner, |line| line.contains("--gpu-name"));
    signal("KILL", owner.0.id());
    assert_gone("emit, ptxas and LLVM at work, KILL", &pids);
    owner.0.wait().expect("it has ended");
    place.assert_clean();
}

/// A ptxas that is ready for the next kernel is let go when none comes, while the worker that has started it stays.
#[test]
fn a_ptxas_waits_only_while_kernels_come() {
    let place = Place::new();
    let mut command = place.tritium(&["batch", "-", "--through", "sass"]);
    let mut owner = Owned(command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it starts"));
    let example = repository().join("examples/vector_add.py");
    let request = json!({ "file": example, "kernel": "add", "launch": "one_million" });
    writeln!(owner.0.stdin.as_mut().expect("it is piped"), "{request}").expect("it listens");
    let mut answer = String::new();
    BufReader::new(owner.0.stdout.take().expect("it is piped")).read_line(&mut answer).expect("it answers");
    assert!(answer.contains("\"registers\":"), "{answer}");
    let is_ptxas = |pid: &u32| fs::read_to_string(format!("/proc/{pid}/cmdline")).is_ok_and(|line| line.contains("--gpu-name"));
    let ready: Vec<u32> = once_below(&owner, |line| line.contains("--gpu-name")).into_iter().filter(is_ptxas).collect();
    assert_gone("ptxas, nothing asked", &ready);
    assert_eq!(descendants(owner.0.id()).len(), 1, "the worker");
}

/// A worker that waits ends too, and with success: its owner has only closed the pipe.
#[test]
fn a_worker_ends_when_its_input_closes() {
    let place = Place::new();
    let mut owned = Owned(place.tritium(&["worker"]).spawn().expect("it starts"));
    drop(owned.0.stdin.take());
    assert_gone("worker, input closed", &[owned.0.id()]);
}

/// What grows step by step is stopped on its way, and it is said where.
#[test]
fn a_run_keeps_its_own_memory() {
    let place = Place::new();
    let mut sum = "X[:, None] + X[None]".to_owned();
    for _ in 0..60 {
        sum = format!("(X[:, None] + X[None]) + ({sum})");
    }
    let text = ENDLESS.replace("grid = [2]\n# args = { FLAG = \"i32[4] = zeros()\" }", &format!(
        "grid = [1]\n# args = {{ FLAG = \"i32[4] = ones()\", X = \"f32[1024] = arange()\" }}\n# expect = {{ X = \"sum({sum}, axis=0)\" }}"
    ));
    let text = text.replace("spin(FLAG)", "spin(FLAG, X)");
    fs::write(place.path("endless.py"), text).expect("it is ours");
    let mut command = place.tritium(&["run", &place.text("endless.py"), "--verify", "--memory", "160MiB"]);
    let done = command.stdout(Stdio::piped()).stderr(Stdio::piped()).output().expect("it starts");
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    assert_eq!(done.status.code(), Some(1), "{said}");
    assert!(said.contains("endless.py:2: launch `endless`, looking at what was written by kernel `spin`"), "{said}");
    assert!(said.contains("the run took more than 160 MiB of memory; `--memory` sets the limit"), "{said}");
    place.assert_clean();
}

/// What a run writes is there whole or not at all, also where it may write no more.
#[test]
fn what_a_run_saves_is_whole() {
    let place = Place::new();
    let file = repository().join("examples/vector_add.py");
    let save = place.text("saved");
    let limited = |bytes: u64| {
        let mut command = Command::new("prlimit");
        command.arg(format!("--fsize={bytes}")).arg(tritium()).args(["run", "--launch", "odd", "--save", &save]).arg(&file);
        command.env("TRITIUM_CACHE", "off").stdout(Stdio::null()).stderr(Stdio::null());
        command.status().expect("prlimit is there").success()
    };
    assert!(limited(64 << 20));
    let before = fs::read(Path::new(&save).join("OUT.npy")).expect("saved");
    assert!(!limited(1 << 20));
    let names: Vec<String> =
        fs::read_dir(&save).expect("it is there").flatten().map(|e| e.file_name().to_string_lossy().into_owned()).collect();
    assert!(names.iter().all(|name| name.ends_with(".npy") && !name.starts_with('.')), "{names:?}");
    assert_eq!(fs::read(Path::new(&save).join("OUT.npy")).expect("still there"), before);
}

/// `check --fix` keeps the file that it cannot replace.
#[test]
fn a_fix_without_room_changes_nothing() {
    let place = Place::new();
    let file = place.path("fixable.py");
    let filler = "# a line that takes room\n".repeat(4_000);
    let kernel = "import triton\nimport triton.language as tl\n\n\n@triton.jit\ndef k(A, B, C):\n    r = tl.arange(0, 32)\n    at = r[:, None] * 32 + \
                  r[None, :]\n    tl.store(C + at, tl.dot(tl.load(A + at), tl.load(B + at), allow_tf32=False))\n";
    let text = format!("{kernel}\n\n{filler}");
    fs::write(&file, &text).expect("it is ours");
    let fix = |bytes: u64| {
        let mut command = Command::new("prlimit");
        command.arg(format!("--fsize={bytes}")).arg(tritium()).args(["check", "--fix"]).arg(&file);
        command.env("TRITIUM_CACHE", "off").stdout(Stdio::null()).stderr(Stdio::null()).status().expect("prlimit is there")
    };
    fix(50_000);
    assert!(fs::read_to_string(&file).expect("still there") == text, "nothing is lost");
    fix(64 << 20);
    let fixed = fs::read_to_string(&file).expect("still there");
    assert!(fixed.contains("input_precision") && fixed.ends_with(&filler), "there is something to fix in it");
    let names: Vec<_> = fs::read_dir(place.folder.path()).expect("ours").flatten().map(|e| e.file_name()).collect();
    assert_eq!(names.len(), 4, "{names:?}");
}
