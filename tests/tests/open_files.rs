//! Several open files and what happens around them: whatever changes, the last diagnostics that are pushed about each open file are those
//! that a server says which is started now, on the newest texts.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use tempfile::TempDir;
use tritium_tests::{client::Client, repository};

/// How long pushes may take before the test fails: only what never comes takes so long.
const LIMIT: Duration = Duration::from_secs(60);

const CREATED: u32 = 1;
const CHANGED: u32 = 2;
const DELETED: u32 = 3;

/// A kernel of a module whose `SIZE` decides what is wrong with it, and with the kernels of those who import it.
fn module(size: u32, imports: Option<&str>) -> String {
    let (import, other) = match imports {
        Some(module) => (format!("from {module} import SIZE as OTHER\n"), "OTHER"),
        None => (String::new(), "SIZE"),
    };
    format!(
        r#"import triton
import triton.language as tl
{import}
SIZE = tl.constexpr({size})


@triton.jit
def copy(x, y, z):
    program = tl.program_id(0)
    offsets = program * SIZE + tl.arange(0, SIZE)
    others = program * {other} + tl.arange(0, {other})
    tl.store(y + offsets, tl.load(x + offsets))
    tl.store(z + others, 1.0)
"#
    )
}

struct Session {
    client: Client,
    parameters: Value,
    folder: TempDir,
    /// Of each open file its version and its text.
    open: BTreeMap<String, (i32, String)>,
    /// What was pushed last about each file.
    pushed: BTreeMap<String, (Value, Value)>,
}

fn start(parameters: &Value) -> Client {
    // Without a compiler there are no figures that arrive in their own time.
    Client::start_as(&[("TRITIUM_BIN", "/nonexistent"), ("TRITIUM_CACHE", "off")], parameters.clone())
}

impl Session {
    /// As an editor whose parameters were recorded.
    fn start(editor: &str) -> Session {
        let recorded = repository().join("tests/data/clients").join(editor);
        let mut parameters: Value =
            serde_json::from_str(&fs::read_to_string(recorded).expect("it was recorded")).expect("recorded parameters are JSON");
        let folder = tempfile::tempdir().expect("a temporary folder");
        let root = format!("file://{}", folder.path().display());
        parameters["rootUri"] = json!(root);
        parameters["rootPath"] = json!(folder.path());
        parameters["processId"] = json!(std::process::id());
        parameters["workspaceFolders"] = json!([{ "uri": root, "name": "w" }]);
        parameters["initializationOptions"] = json!({ "python": "none" });
        Session { client: start(&parameters), parameters, folder, open: BTreeMap::new(), pushed: BTreeMap::new() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn uri(&self, name: &str) -> String {
        format!("file://{}", self.path(name).display())
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).expect("the folder is ours");
    }

    fn open(&mut self, name: &str, text: &str) {
        self.client.open(&self.path(name), text);
        self.open.insert(self.uri(name), (1, text.to_owned()));
    }

    fn close(&mut self, name: &str) {
        let uri = self.uri(name);
        self.client.notify("textDocument/didClose", json!({ "textDocument": { "uri": uri } }));
        self.open.remove(&uri);
    }

    fn change(&mut self, name: &str, text: &str) {
        let uri = self.uri(name);
        let file = self.open.get_mut(&uri).expect("it is open");
        *file = (file.0 + 1, text.to_owned());
        let version = file.0;
        self.client.change(&uri, version, text);
    }

    fn watched(&mut self, changes: &[(&str, u32)]) {
        let changes: Vec<Value> = changes.iter().map(|(name, kind)| json!({ "uri": self.uri(name), "type": kind })).collect();
        self.client.notify("workspace/didChangeWatchedFiles", json!({ "changes": changes }));
    }

    /// What a server says of the open files that is started now.
    fn fresh(&self) -> BTreeMap<String, (Value, Value)> {
        let mut fresh = start(&self.parameters);
        for (uri, (_, text)) in &self.open {
            fresh.open(Path::new(uri.strip_prefix("file://").expect("a file")), text);
        }
        let mut said = BTreeMap::new();
        for (uri, (version, _)) in &self.open {
            let pulled = fresh.request("textDocument/diagnostic", json!({ "textDocument": { "uri": uri } }));
            said.insert(uri.clone(), (json!(version), pulled["items"].clone()));
        }
        fresh.stop();
        said
    }

    /// Waits until what was pushed last about the open files is what a fresh server says; the codes, file by file.
    fn settle(&mut self, what: &str) -> String {
        let expected = self.fresh();
        let deadline = Instant::now() + LIMIT;
        loop {
            let said = |uri: &String| expected.get(uri) == self.pushed.get(uri);
            let missing: Vec<&String> = expected.keys().filter(|uri| !said(uri)).collect();
            if missing.is_empty() {
                break;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            let Some(push) = self.client.notification_within("textDocument/publishDiagnostics", left) else {
                let of = |said: &BTreeMap<String, (Value, Value)>| -> Vec<Value> {
                    missing.iter().map(|uri| json!(said.get(*uri).cloned().unwrap_or_default())).collect()
                };
                panic!("{what}: wrong for ever are {missing:?}: {:?} instead of {:?}", of(&self.pushed), of(&expected));
            };
            self.keep(&push);
        }
        let codes = |(_, items): &(Value, Value)| {
            let all = items.as_array().into_iter().flatten();
            all.map(|d| d["code"].as_str().unwrap_or_default().to_owned()).collect::<Vec<_>>().join(" ")
        };
        expected.values().map(codes).collect::<Vec<_>>().join(", ")
    }

    fn keep(&mut self, push: &Value) {
        let uri = push["uri"].as_str().expect("a URI").to_owned();
        self.pushed.insert(uri, (push["version"].clone(), push["diagnostics"].clone()));
    }

    fn stop(self) {
        self.client.stop();
    }
}

const EDITORS: [&str; 2] = ["vscode.json", "nvim.json"];
const NAMES: [&str; 6] = ["a.py", "b.py", "c.py", "d.py", "e.py", "f.py"];

/// Each imports from the one before it.
fn chained(index: usize, size: u32) -> String {
    module(size, index.checked_sub(1).map(|before| NAMES[before].trim_end_matches(".py")))
}

/// Sizes are good and bad in turn, another turn for each file.
fn size(round: usize, index: usize) -> u32 {
    [64, 100, 128, 48][(round + index * (1 + round / 4)) % 4]
}

/// Six files, open and on disk.
fn six_files(editor: &str) -> Session {
    let mut session = Session::start(editor);
    for (index, name) in NAMES.iter().enumerate() {
        session.write(name, &chained(index, 64));
    }
    for (index, name) in NAMES.iter().enumerate() {
        session.open(name, &chained(index, 64));
    }
    assert_eq!(session.settle("after opening"), ", , , , , ");
    session
}

#[test]
fn every_newest_push_arrives_when_six_files_change_at_once() {
    for editor in EDITORS {
        let mut session = six_files(editor);
        let mut arrived = 0;
        for round in 1..=40 {
            for (index, name) in NAMES.iter().enumerate() {
                session.change(name, &chained(index, size(round, index)));
            }
            let codes = session.settle(&format!("{editor}, round {round}"));
            // What is wrong with a size is wrong where it is imported, too.
            let bad = |index: usize| !size(round, index).is_power_of_two();
            for (index, codes) in codes.split(", ").enumerate() {
                assert_eq!(!codes.is_empty(), bad(index) || index > 0 && bad(index - 1), "{editor}, round {round}, file {index}");
            }
            arrived += NAMES.iter().filter(|name| session.pushed.contains_key(&session.uri(name))).count();
        }
        assert_eq!(arrived, 240);
        session.stop();
    }
}

/// Somebody types in one file; another, changed once, is answered when the typing pauses, and so are those that import.
#[test]
fn typing_in_one_file_starves_no_other() {
    let mut session = six_files("vscode.json");
    session.change("e.py", &chained(4, 100));
    for key in 0..60_u32 {
        let size = if key % 2 == 0 { 100 } else { 64 };
        session.change("a.py", &format!("{}# {key}\n", chained(0, size)));
        std::thread::sleep(Duration::from_millis(10));
    }
    session.change("a.py", &chained(0, 100));
    let codes = session.settle("after typing");
    let wrong: Vec<bool> = codes.split(", ").map(|codes| !codes.is_empty()).collect();
    assert_eq!(wrong, [true, true, false, false, true, true], "{codes}");
    session.stop();
}

/// A file that is imported changes on disk, goes, comes again, and gets another name.
#[test]
fn importers_follow_files_on_disk() {
    for editor in EDITORS {
        let mut session = Session::start(editor);
        let importer = module(64, Some("sizes"));
        session.write("sizes.py", &module(64, None));
        for name in ["first.py", "second.py"] {
            session.write(name, &importer);
            session.open(name, &importer);
        }
        assert_eq!(session.settle("opened"), ", ");
        session.write("sizes.py", &module(100, None));
        session.watched(&[("sizes.py", CHANGED)]);
        let wrong = session.settle("changed on disk");
        assert!(wrong.split(", ").all(|codes| !codes.is_empty()), "{wrong}");
        fs::remove_file(session.path("sizes.py")).expect("it is there");
        session.watched(&[("sizes.py", DELETED)]);
        session.settle("deleted");
        session.write("sizes.py", &module(64, None));
        session.watched(&[("sizes.py", CREATED)]);
        assert_eq!(session.settle("created again"), ", ");
        fs::rename(session.path("sizes.py"), session.path("extents.py")).expect("it is there");
        session.watched(&[("sizes.py", DELETED), ("extents.py", CREATED)]);
        session.change("first.py", &module(64, Some("extents")));
        session.settle("renamed");
        session.write("extents.py", &module(100, None));
        session.watched(&[("extents.py", CHANGED)]);
        let wrong = session.settle("changed under its new name");
        assert!(!wrong.split(", ").next().unwrap_or_default().is_empty(), "{wrong}");
        session.stop();
    }
}

/// An importer follows a buffer, and the file on disk when the buffer is closed without being saved.
#[test]
fn importers_follow_buffers() {
    let mut session = six_files("nvim.json");
    session.change("a.py", &chained(0, 100));
    let codes = session.settle("changed");
    assert!(codes.split(", ").take(2).all(|codes| !codes.is_empty()), "{codes}");
    session.close("a.py");
    assert_eq!(session.settle("closed"), ", , , , ");
    session.open("a.py", &chained(0, 100));
    let codes = session.settle("open again");
    assert!(codes.split(", ").take(2).all(|codes| !codes.is_empty()), "{codes}");
    session.stop();
}

#[test]
fn settings_are_followed_by_every_open_file() {
    let mut session = six_files("vscode.json");
    let descriptor = "import triton\nimport triton.language as tl\n\n\n@triton.jit\ndef copy(x):\n    d = tl.make_tensor_descriptor(x, \
                      [64], [1], [64])\n    d.store([0], d.load([0]))\n";
    for name in NAMES {
        session.change(name, descriptor);
    }
    let before = session.settle("by the newest language");
    for (version, same) in [("2.1", false), ("3.6", true), ("2.1", false)] {
        let settings = json!({ "python": "none", "triton": version });
        session.parameters["initializationOptions"] = settings.clone();
        session.client.answer_settings(&settings);
        // A change under way must not be lost either.
        session.change("c.py", &format!("{descriptor}# {version}\n"));
        session.client.notify("workspace/didChangeConfiguration", json!({ "settings": { "tritium": settings } }));
        assert_eq!(session.settle(version) == before, same, "{version}");
    }
    session.stop();
}

/// What is heard last is about the text that was opened last, also where its version was used before.
#[test]
fn closing_and_opening_again_under_way() {
    for editor in EDITORS {
        let mut session = six_files(editor);
        for round in 0..20_usize {
            for (index, name) in NAMES.iter().enumerate() {
                if (round + index) % 3 == 0 {
                    session.change(name, &chained(index, 48));
                }
                session.close(name);
                session.open(name, &chained(index, size(round, index)));
            }
            session.settle(&format!("{editor}, round {round}"));
        }
        // Nothing is said any more about what is closed.
        for (index, name) in NAMES.iter().enumerate() {
            session.change(name, &chained(index, 48));
            session.close(name);
        }
        session.open("g.py", &module(48, None));
        session.settle("another file");
        for name in NAMES {
            let uri = session.uri(name);
            assert_eq!(session.pushed.get(&uri).map(|(_, items)| items.clone()), Some(json!([])), "{uri}");
        }
        session.stop();
    }
}

/// Another branch is checked out: fifty files on disk change in several messages, some go and some come, and so do open buffers.
#[test]
fn a_branch_switch_of_fifty_files() {
    for editor in EDITORS {
        let mut session = six_files(editor);
        let module_name = |n: usize| format!("m{n}.py");
        for n in 0..50 {
            session.write(&module_name(n), &module(64, None));
        }
        session.watched(&(0..50).map(module_name).collect::<Vec<_>>().iter().map(|n| (n.as_str(), CREATED)).collect::<Vec<_>>());
        for branch in 0..4_usize {
            for (index, name) in NAMES.iter().enumerate() {
                let import = format!("m{}", branch * 10 + index);
                let text = module(64, Some(&import));
                session.write(name, &text);
                session.change(name, &text);
            }
            for part in 0..5 {
                let mut changes = Vec::new();
                for n in part * 10..part * 10 + 10 {
                    let name = module_name(n);
                    if (n + branch) % 7 == 0 {
                        let existed = fs::remove_file(session.path(&name)).is_ok();
                        changes.extend(existed.then_some((name, DELETED)));
                    } else {
                        let existed = session.path(&name).exists();
                        session.write(&name, &module(size(branch, n), None));
                        changes.push((name, if existed { CHANGED } else { CREATED }));
                    }
                }
                let changes: Vec<(&str, u32)> = changes.iter().map(|(name, kind)| (name.as_str(), *kind)).collect();
                session.watched(&changes);
            }
            session.settle(&format!("{editor}, branch {branch}"));
        }
        session.stop();
    }
}

/// Launches that stand beside an open file, and the project's own settings.
#[test]
fn what_lies_beside_a_file_is_followed() {
    let mut session = Session::start("vscode.json");
    let text = "import triton\nimport triton.language as tl\n\n\n@triton.jit\ndef copy(x, BLOCK: tl.constexpr):\n    at = tl.arange(0, \
                BLOCK)\n    tl.store(x + at, tl.load(x + at))\n";
    session.write("k.py", text);
    session.open("k.py", text);
    session.settle("alone");
    let launch = |block: u32| {
        format!("[launch.one]\nkernel = \"copy\"\ngrid = [1]\nargs = {{ x = \"f32[128]\" }}\nmeta = {{ BLOCK = {block} }}\n")
    };
    session.write("k.py.launch.toml", &launch(128));
    session.watched(&[("k.py.launch.toml", CREATED)]);
    let good = session.settle("with a launch");
    session.write("k.py.launch.toml", &launch(100));
    session.watched(&[("k.py.launch.toml", CHANGED)]);
    assert_ne!(session.settle("with a wrong launch"), good);
    session.write("pyproject.toml", "[tool.tritium]\nexclude = [\"k.py\"]\n");
    session.watched(&[("pyproject.toml", CREATED)]);
    assert_eq!(session.settle("left out"), "");
    session.write("pyproject.toml", "[tool.tritium]\n");
    session.watched(&[("pyproject.toml", CHANGED)]);
    assert_ne!(session.settle("taken in again"), good);
    session.stop();
}
