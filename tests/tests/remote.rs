//! Runs on another machine: a real `sshd` on the loopback is the other machine, with a program, a store and a cache of its own.
//!
//! Before the far program starts, the workspace is moved out of its sight: what it reads has come with the job. **However a run ends (a cancel,
//! a kill of either side or of the connection), somebody says what happened and no process is left on either side.**

#[cfg(not(target_os = "linux"))]
fn main() {}

#[cfg(target_os = "linux")]
fn main() {
    linux::main();
}

#[cfg(target_os = "linux")]
mod linux {
    use std::{
        fs,
        net::{TcpListener, TcpStream},
        os::unix::fs::PermissionsExt,
        path::{Path, PathBuf},
        process::{Command, Output, Stdio},
        time::Instant,
    };

    use serde_json::{Value, json};
    use tritium_harness::test_with;
    use tritium_tests::{
        client::Client,
        processes::{ENDLESS, Owned, assert_gone, at_work, descendants, signal, stat, until},
        tritium,
    };

    pub(super) fn main() {
        let tests: [Test; 15] = [
            ("a_run_verifies_there_what_it_brings_along", a_run_verifies_there_what_it_brings_along),
            ("what_is_saved_comes_back", what_is_saved_comes_back),
            ("a_launch_is_timed_there", a_launch_is_timed_there),
            ("a_launch_is_checked_there", a_launch_is_checked_there),
            ("the_program_is_sent_once", the_program_is_sent_once),
            ("a_command_leads_there_too", a_command_leads_there_too),
            ("a_missing_program_is_told", a_missing_program_is_told),
            ("another_version_is_told", another_version_is_told),
            ("what_a_shell_prints_is_no_answer", what_a_shell_prints_is_no_answer),
            ("a_closed_door_is_told", a_closed_door_is_told),
            ("a_cancelled_run_ends_there", a_cancelled_run_ends_there),
            ("a_killed_run_is_told", a_killed_run_is_told),
            ("a_killed_connection_is_told", a_killed_connection_is_told),
            ("a_dead_connection_is_noticed_by_both", a_dead_connection_is_noticed_by_both),
            ("an_editor_runs_and_cancels_there", an_editor_runs_and_cancels_there),
        ];
        tritium_harness::run(tests.into_iter().map(|(name, run)| test_with(name, sshd, run)).collect());
    }

    type Test = (&'static str, fn(PathBuf));

    fn sshd() -> Result<PathBuf, String> {
        let found =
            ["/usr/sbin/sshd", "/usr/local/sbin/sshd", "/sbin/sshd"].map(PathBuf::from).into_iter().find(|path| path.is_file());
        let found = found.ok_or("there is no sshd: the package openssh-server has it")?;
        match Command::new("ssh").arg("-V").output() {
            Ok(_) => Ok(found),
            Err(_) => Err("there is no ssh: the package openssh-client has it".to_owned()),
        }
    }

    const HELPER: &str = "\
import triton
import triton.language as tl

SCALE = tl.constexpr(3.0)


@triton.jit
def scaled(x):
    return x * SCALE
";

    const KERNEL: &str = "\
import triton
import triton.language as tl
from parts.helper import scaled


@triton.jit
def scale(X, Y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(X + at, mask=at < n, other=0.0)
    tl.store(Y + at, scaled(x), mask=at < n)
";

    const SIDECAR: &str = "\
[launch.small]
kernel = \"scale\"
grid = [\"cdiv(N, 64)\"]
sizes = { N = 100 }
args = { X = \"f32[N] = file(\\\"x.npy\\\")\", Y = \"f32[N]\", n = \"N\" }
meta = { BLOCK = 64 }
expect = { Y = \"X * 3\" }
";

    /// A machine with a workspace, and the other one that `ssh:box` means.
    struct Machines {
        folder: tempfile::TempDir,
        sshd: Owned,
    }

    impl Machines {
        fn start(sshd: &Path) -> Machines {
            let folder = tempfile::tempdir().expect("a temporary folder");
            let at = |name: &str| folder.path().join(name);
            for name in ["near", "bin", "far/bin", "far/cache", "work/parts", "tmp"] {
                fs::create_dir_all(at(name)).expect("it is ours");
            }
            for key in ["host", "key"] {
                let made = Command::new("ssh-keygen").args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(at(key)).status();
                assert!(made.expect("ssh-keygen is there").success());
            }
            fs::copy(at("key.pub"), at("authorized")).expect("ours");
            let user = String::from_utf8(Command::new("id").arg("-un").output().expect("id is there").stdout).expect("a name");
            if user.trim() == "root" {
                // What separates its privileges wants a folder, which the service would make.
                fs::create_dir_all("/run/sshd").expect("root may");
            }
            let top = folder.path().display().to_string();
            // Another may take the port before it is used: then another one is tried.
            let (sshd, port) = until("an sshd that listens", || {
                let port = TcpListener::bind("127.0.0.1:0").and_then(|l| l.local_addr()).expect("a free port").port();
                fs::write(
                    at("sshd_config"),
                    format!(
                        "Port {port}\nListenAddress 127.0.0.1\nHostKey {top}/host\nAuthorizedKeysFile {top}/authorized\nPidFile none\nStrictModes no\n\
                         UsePAM no\nPermitRootLogin yes\nPasswordAuthentication no\nKbdInteractiveAuthentication no\n\
                         SetEnv PATH={top}/far/bin:/usr/bin:/bin XDG_CACHE_HOME={top}/far/cache TRITIUM_CACHE={top}/far/store TMPDIR={top}/tmp\n"
                    ),
                )
                .expect("ours");
                let mut command = Command::new(sshd);
                command.args(["-D", "-e", "-f"]).arg(at("sshd_config"));
                let log = fs::File::create(at("sshd.log")).expect("ours");
                let mut sshd = Owned(command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).spawn().expect("it starts"));
                until("sshd listens or has ended", || {
                    let ended = sshd.0.try_wait().expect("ours").is_some();
                    (ended || TcpStream::connect(("127.0.0.1", port)).is_ok()).then_some(())
                });
                sshd.0.try_wait().expect("ours").is_none().then_some((sshd, port))
            });
            fs::write(
                at("ssh_config"),
                format!(
                    "Host box\n  HostName 127.0.0.1\n  Port {port}\n  User {}\n  IdentityFile {top}/key\n  IdentitiesOnly yes\n  UserKnownHostsFile \
                     {top}/known\n  StrictHostKeyChecking accept-new\n  LogLevel ERROR\n",
                    user.trim()
                ),
            )
            .expect("ours");
            let machines = Machines { folder, sshd };
            machines.script("bin/ssh", &format!("exec /usr/bin/ssh -F {top}/ssh_config \"$@\""));
            fs::write(machines.path("work/scale.py"), KERNEL).expect("ours");
            fs::write(machines.path("work/scale.py.launch.toml"), SIDECAR).expect("ours");
            fs::write(machines.path("work/parts/__init__.py"), "").expect("ours");
            fs::write(machines.path("work/parts/helper.py"), HELPER).expect("ours");
            fs::write(machines.path("work/pyproject.toml"), "[project]\nname = \"w\"\n[tool.tritium]\ngpu = \"A100\"\n")
                .expect("ours");
            fs::write(machines.path("work/x.npy"), npy()).expect("ours");
            fs::write(machines.path("work/endless.py"), ENDLESS).expect("ours");
            machines.installed("");
            machines
        }

        fn path(&self, name: &str) -> PathBuf {
            self.folder.path().join(name)
        }

        fn text(&self, name: &str) -> String {
            self.path(name).to_str().expect("a plain path").to_owned()
        }

        fn script(&self, name: &str, text: &str) {
            fs::write(self.path(name), format!("#!/bin/sh\n{text}\n")).expect("ours");
            fs::set_permissions(self.path(name), PermissionsExt::from_mode(0o755)).expect("ours");
        }

        /// The far machine has the program, which is started behind these commands of a shell.
        fn installed(&self, before: &str) {
            self.script("far/bin/tritium", &format!("{before}\nexec {} \"$@\"", tritium().display()));
        }

        /// The workspace is gone when the far program starts.
        fn hide(&self) {
            self.installed(&format!("mv {} {}", self.text("work"), self.text("hidden")));
        }

        fn command(&self, arguments: &[&str]) -> Command {
            // A signal that this process was started to ignore would stay ignored.
            let mut command = Command::new("env");
            command.arg("--default-signal=INT,HUP,TERM").arg(tritium()).args(arguments);
            let path = format!("{}:{}", self.text("bin"), std::env::var("PATH").unwrap_or_default());
            command.env("PATH", path).env("TRITIUM_CACHE", self.path("near")).env("TMPDIR", self.path("tmp"));
            command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
            command
        }

        fn say(&self, arguments: &[&str]) -> Said {
            Said::of(self.command(arguments).output().expect("it starts"))
        }

        fn start_endless(&self) -> Owned {
            let file = self.text("work/endless.py");
            Owned(self.command(&["run", &file, "--on", "ssh:box"]).spawn().expect("it starts"))
        }

        /// The processes of the far machine, once one of them is at work.
        fn far_at_work(&self) -> Vec<u32> {
            at_work(self.sshd.0.id())
        }

        /// Nothing runs there but the listener, and nothing lies about in the folder of temporary files.
        fn assert_quiet(&self, what: &str) {
            assert_gone(what, &descendants(self.sshd.0.id()));
            assert_eq!(fs::read_dir(self.path("tmp")).expect("ours").count(), 0, "{what}: temporary files");
        }
    }

    struct Said {
        status: Option<i32>,
        stdout: String,
        stderr: String,
    }

    impl Said {
        fn of(output: Output) -> Said {
            let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
            Said { status: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
        }

        fn json(&self) -> Value {
            serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {}\n{}", self.stdout, self.stderr))
        }

        /// Wrong use, or an input or output that failed: and these words say which.
        fn assert_failed(&self, words: &[&str]) {
            assert_eq!(self.status, Some(2), "{}\n{}", self.stdout, self.stderr);
            for word in words {
                assert!(self.stderr.contains(word), "`{word}` is not in:\n{}", self.stderr);
            }
        }
    }

    /// 100 numbers as NumPy writes them.
    fn npy() -> Vec<u8> {
        let header = "{'descr': '<f4', 'fortran_order': False, 'shape': (100,), }";
        let header = format!("{header:<117}\n");
        let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
        bytes.extend((header.len() as u16).to_le_bytes());
        bytes.extend(header.as_bytes());
        bytes.extend((0..100).flat_map(|i| (i as f32 / 7.0).to_le_bytes()));
        bytes
    }

    fn without_times(mut report: Value) -> Value {
        for launch in report["launches"].as_array_mut().expect("launches") {
            launch["seconds"] = Value::Null;
        }
        report
    }

    fn a_run_verifies_there_what_it_brings_along(sshd: PathBuf) {
        let machines = Machines::start(&sshd);
        let file = machines.text("work/scale.py");
        let here = machines.say(&["run", &file, "--verify", "--output-format", "json"]);
        assert_eq!(here.status, Some(0), "{}", here.stderr);
        machines.hide();
        let there = machines.say(&["run", &file, "--verify", "--output-format", "json", "--on", "ssh:box"]);
        assert_eq!(there.status, Some(0), "{}", there.stderr);
        assert_eq!(there.stderr, "");
        assert!(machines.path("hidden").is_dir(), "it ran on the other machine");
        assert_eq!(without_times(there.json()), without_times(here.json()));
        machines.assert_quiet("a run that has ended");
    }

    fn what_is_saved_comes_back(sshd: PathBuf) {
        let machines = Machines::start(&sshd);
        let file = machines.text("work/scale.py");
        let (here, there) = (machines.text("here"), machines.text("there"));
        assert_eq!(machines.say(&["run", &file, "--save", &here]).status, Some(0));
        machines.hide();
        let said = machines.say(&["run", &file, "--save", &there, "--on", "ssh:box"]);
        assert_eq!(said.status, Some(0), "{}", said.stderr);
        for name in ["X.npy", "X.in.npy", "Y.npy", "Y.in.npy"] {
            let read =
                |folder: &str| fs::read(Path::new(folder).join(name)).unwrap_or_else(|error| panic!("{folder}/{name}: {error}"));
            assert!(read(&here) == read(&there), "{name}");
        }
        assert_eq!(fs::read_dir(&there).expect("it is there").count(), 4);
    }

    fn a_launch_is_timed_there(sshd: PathBuf) {
        let machines = Machines::start(&sshd);
        machines.hide();
        let file = machines.text("work/scale.py");
        let said = machines.say(&["bench", &file, "--device", "cpu", "--on", "ssh:box", "--output-format", "json"]);
        assert_eq!(said.status, Some(0), "{}", said.stderr);
        let rows = said.json()["rows"].clone();
        assert_eq!((rows[0]["launch"].as_str(), rows[0]["device"].as_str()), (Some("small"), Some("cpu")), "{rows}");
        assert!(rows[0]["timing"]["warm"]["median_us"].as_f64().is_some_and(|us| us > 0.0), "{rows}");
        assert!(machines.path("hidden").is_dir());
    }

    fn a_launch_is_checked_there(sshd: PathBuf) {
        let machines = Machines::start(&sshd);
        fs::write(machines.path("work/scale.py"), KERNEL.replace("scaled(x), mask=at < n", "scaled(x)")).expect("ours");
        // Findings are told with the lines of the file, so this one stays.
        let said = machines.say(&["sanitize", &machines.text("work/scale.py"), "--on", "ssh:box", "--output-format", "concise"]);
        assert_eq!(said.status, Some(1), "{}", said.stderr);
        assert!(said.stdout.contains("scale.py:10:5: SAN001"), "{}", said.stdout);
    }

    fn copies(machines: &Machines) -> Vec<PathBuf> {
        let folder = machines.path("far/cache/tritium/bin");
        fs::read_dir(folder).map(|found| found.flatten().map(|entry| entry.path()).collect()).unwrap_or_default()
    }

    fn the_program_is_sent_once(sshd: PathBuf) {
        let machines = Machines::start(&sshd);
        fs::remove_file(machines.path("far/bin/tritium")).expect("it is there");
        let file = machines.text("work/scale.py");
        let first = machines.say(&["run", &file, "--verify", "--on", "ssh:box", "--send-program"]);
        assert_eq!(first.status, Some(0), "{}", first.stderr);
        assert!(first.stderr.starts_with("tritium: sending this program ("), "{}", first.stderr);
        assert!(first.stderr.contains(" to box, once; it will lie in ~/.cache/tritium/bin there\n"), "{}", first.stderr);
        let [copy] = &copies(&machines)[..] else { panic!("{:?}", copies(&machines)) };
        assert_eq!(fs::metadata(copy).expect("there").len(), fs::metadata(tritium()).expect("there").len());
        for arguments in [&["--on", "ssh:box", "--send-program"][..], &["--on", "ssh:box"]] {
            let again = machines.say(&[&["run", &file, "--verify"], arguments].concat());
            assert_eq!((again.status, again.stderr.as_str()), (Some(0), ""));
        }
        machines.assert_quiet("a program that was sent");
    }

    fn a_command_leads_there_too(sshd: PathBuf) {
        let machines = Machines::start(&sshd);
        let file = machines.text("work/scale.py");
        let far = machines.text("far/bin/tritium");
        let here = format!("env PATH={}", machines.text("far/bin"));
        for on in ["ssh box", &format!("ssh box {far}"), &format!("ssh:box:{far}"), &here] {
            let said = machines.say(&["run", &file, "--verify", "--on", on]);
            assert_eq!((said.status, said.stderr.as_str()), (Some(0), ""), "{on}");
        }
        fs::remove_file(&far).expect("it is there");
        let sent = machines.say(&["run", &file, "--verify", "--on", "ssh box", "--send-program"]);
        assert_eq!(sent.status, Some(0), "{}", sent.stderr);
        assert_eq!(copies(&machines).len(), 1);
    }

    fn a_missing_program_is_told(sshd: PathBuf) {
        let machines = Machines::start(&sshd);
        fs::remove_file(machines.path("far/bin/tritium")).expect("it is there");
        let file = machines.text("work/scale.py");
        let said = machines.say(&["run", &file, "--on", "ssh:box"]);
        said.assert_failed(&["tritium: box: there is no `tritium`; `--send-program`", "not found"]);
        let said = machines.say(&["run", &file, "--on", "ssh:box:/no/such/tritium"]);
        said.assert_failed(&["tritium: box: there is no `tritium`", "/no/such/tritium"]);
        assert!(copies(&machines).is_empty(), "nothing is sent unasked");
    }

    fn another_version_is_told(sshd: PathBuf) {
        let machines = Machines::start(&sshd);
        machines.script("far/bin/tritium", "echo 'tritium exec 1 0.0.1'; exec sleep 1000");
        let said = machines.say(&["run", &machines.text("work/scale.py"), "--on", "ssh:box"]);
        let ours = format!("here {}", env!("CARGO_PKG_VERSION"));
        said.assert_failed(&["tritium: box: there it is tritium 0.0.1, ", &ours, "both must be of one version"]);
        machines.assert_quiet("another version");
    }

    fn what_a_shell_prints_is_no_answer(sshd: PathBuf) {
        let machines = Machines::start(&sshd);
        machines
            .installed("echo 'Welcome to box.'; echo '{\"report\": 1}'; printf 'last login: today> '; echo quota exceeded >&2");
        let said = machines.say(&["run", &machines.text("work/scale.py"), "--verify", "--on", "ssh:box"]);
        assert_eq!((said.status, said.stderr.as_str()), (Some(0), ""), "{}", said.stdout);
        assert!(said.stdout.contains("verified  Y against X * 3"), "{}", said.stdout);
        // An account that lets nobody in.
        machines.script("far/bin/tritium", "echo 'This account is currently not available.'; exit 1");
        let said = machines.say(&["run", &machines.text("work/scale.py"), "--on", "ssh:box"]);
        said.assert_failed(&["tritium: box: no answer (exit status: 1)", "\n  This account is currently not available."]);
    }

    fn a_closed_door_is_told(sshd: PathBuf) {
        let mut machines = Machines::start(&sshd);
        let file = machines.text("work/scale.py");
        fs::write(machines.path("authorized"), "").expect("ours");
        let said = machines.say(&["run", &file, "--on", "ssh:box"]);
        said.assert_failed(&["tritium: box: no answer (exit status: 255)", "Permission denied"]);
        machines.sshd.0.kill().expect("ours");
        machines.sshd.0.wait().expect("ours");
        let said = machines.say(&["run", &file, "--on", "ssh:box"]);
        said.assert_failed(&["tritium: box: no answer (exit status: 255)", "Connection refused"]);
        let said = machines.say(&["run", &file, "--on", "ssh:-oProxyCommand=touch"]);
        said.assert_failed(&["--on ssh:-oProxyCommand=touch: `ssh:-oProxyCommand=touch` names no host"]);
    }

    fn a_cancelled_run_ends_there(sshd: PathBuf) {
        for name in ["INT", "TERM", "HUP", "KILL"] {
            let machines = Machines::start(&sshd);
            let mut owner = machines.start_endless();
            let (there, here) = (machines.far_at_work(), descendants(owner.0.id()));
            signal(name, owner.0.id());
            assert_gone(&format!("there, {name}"), &there);
            assert_gone(&format!("here, {name}"), &here);
            owner.0.wait().expect("it has ended");
            machines.assert_quiet(name);
        }
    }

    /// The far process that runs the kernel.
    fn worker(pids: &[u32]) -> u32 {
        let named =
            |pid: &&u32| fs::read_to_string(format!("/proc/{pid}/cmdline")).is_ok_and(|line| line.ends_with("tritium\0exec\0"));
        *pids.iter().rev().find(named).expect("one runs `tritium exec`")
    }

    fn ended(mut owner: Owned, here: &[u32]) -> Said {
        let begin = Instant::now();
        until("the near side ends", || owner.0.try_wait().expect("ours"));
        eprintln!("told after {} ms", begin.elapsed().as_millis());
        assert_gone("here", here);
        let read = |pipe: Option<Box<dyn std::io::Read>>| std::io::read_to_string(pipe.expect("piped")).expect("UTF-8");
        let (stdout, stderr) = (owner.0.stdout.take().map(|p| Box::new(p) as _), owner.0.stderr.take().map(|p| Box::new(p) as _));
        let status = owner.0.wait().expect("it has ended").code();
        Said { status, stdout: read(stdout), stderr: read(stderr) }
    }

    fn a_killed_run_is_told(sshd: PathBuf) {
        let machines = Machines::start(&sshd);
        let owner = machines.start_endless();
        let (there, here) = (machines.far_at_work(), descendants(owner.0.id()));
        signal("KILL", worker(&there));
        let said = ended(owner, &here);
        said.assert_failed(&["tritium: box: the run ended without an answer (exit status: ", "it was killed there"]);
        machines.assert_quiet("a run that was killed");
    }

    fn a_killed_connection_is_told(sshd: PathBuf) {
        let machines = Machines::start(&sshd);
        let owner = machines.start_endless();
        let (there, here) = (machines.far_at_work(), descendants(owner.0.id()));
        // The first below the listener holds the connection.
        signal("KILL", there[0]);
        let said = ended(owner, &here);
        said.assert_failed(&["tritium: box: the run ended without an answer (exit status: 255)", "or the connection broke"]);
        assert_gone("there", &there);
        assert_eq!(fs::read_dir(machines.path("tmp")).expect("ours").count(), 0);
    }

    /// Nobody closes anything: the other side just says nothing any more.
    fn a_dead_connection_is_noticed_by_both(sshd: PathBuf) {
        let machines = Machines::start(&sshd);
        let owner = machines.start_endless();
        let (there, here) = (machines.far_at_work(), descendants(owner.0.id()));
        let worker = worker(&there);
        let connection: Vec<u32> = there.iter().copied().filter(|pid| *pid != worker).collect();
        connection.iter().for_each(|pid| signal("STOP", pid));
        let said = ended(owner, &here);
        said.assert_failed(&["tritium: box: "]);
        assert!(said.stderr.contains("the connection"), "{}", said.stderr);
        until("the far side gives up", || stat(worker).is_none().then_some(()));
        connection.iter().filter(|pid| stat(**pid).is_some()).for_each(|pid| signal("KILL", pid));
    }

    fn an_editor_runs_and_cancels_there(sshd: PathBuf) {
        let machines = Machines::start(&sshd);
        let path = format!("{}:{}", machines.text("bin"), std::env::var("PATH").unwrap_or_default());
        let (near, tmp) = (machines.text("near"), machines.text("tmp"));
        let settings = json!({ "run": { "on": "ssh:box" } });
        let mut client = Client::start(&[("PATH", &path), ("TRITIUM_CACHE", &near), ("TMPDIR", &tmp)], &settings);
        let uri = client.open(&machines.path("work/scale.py"), KERNEL);
        let argument = json!({ "uri": uri, "launch": "small", "kernel": "scale" });
        machines.hide();
        let ask =
            |command: &str, argument: &Value| json!({ "command": format!("tritium.server.{command}"), "arguments": [argument] });
        let answer = client.request("workspace/executeCommand", ask("run", &argument));
        assert_eq!(answer["ok"], true, "{answer}");
        assert!(machines.path("hidden").is_dir());
        fs::rename(machines.path("hidden"), machines.path("work")).expect("ours");
        machines.installed("");
        let answer = client.request("workspace/executeCommand", ask("bench", &argument));
        assert_eq!(answer["rows"][0]["launch"], "small", "{answer}");
        let uri = client.open(&machines.path("work/endless.py"), ENDLESS);
        let argument = json!({ "uri": uri, "launch": "endless", "kernel": "spin" });
        let request = client.ask("workspace/executeCommand", ask("run", &argument));
        let there = machines.far_at_work();
        client.cancel(request);
        assert_gone("there, cancelled by an editor", &there);
        assert!(client.answer(request).get("error").is_some());
        client.stop();
        machines.assert_quiet("an editor");
    }
}
