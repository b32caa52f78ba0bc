//! Projects as their users have them: several files, a configuration, a Python environment.

use std::{fs, path::Path, process::Command};

use serde_json::Value;

use crate::{Said, tritium};

/// A folder of files that is gone with the test.
pub struct Project(tempfile::TempDir);

impl Project {
    pub fn new(files: &[(&str, &str)]) -> Project {
        let project = Project(tempfile::tempdir().expect("a temporary folder"));
        for (path, text) in files {
            project.write(path, text);
        }
        project
    }

    pub fn root(&self) -> &Path {
        self.0.path()
    }

    pub fn write(&self, path: &str, text: &str) {
        let path = self.root().join(path);
        fs::create_dir_all(path.parent().expect("a file lies in a folder")).expect("the folder is ours");
        fs::write(path, text).expect("the folder is ours");
    }

    /// Runs `tritium` in the folder, with no environment active.
    pub fn say(&self, arguments: &[&str]) -> Said {
        let output = Command::new(tritium())
            .args(arguments)
            .env("TRITIUM_CACHE", "off")
            .env_remove("VIRTUAL_ENV")
            .env_remove("CONDA_PREFIX")
            .env_remove("PYTHONPATH")
            .current_dir(self.root())
            .output()
            .expect("tritium starts");
        Said {
            status: output.status.code().expect("tritium ends by itself"),
            stdout: String::from_utf8(output.stdout).expect("tritium prints UTF-8"),
            stderr: String::from_utf8(output.stderr).expect("tritium prints UTF-8"),
        }
    }

    /// What `check` finds, one line each: `file:line CODE`, and the configurations it holds in.
    pub fn found(&self, arguments: &[&str]) -> String {
        let said = self.say(&[&["check", ".", "--output-format", "json"], arguments].concat());
        assert!(said.status < 2, "{}", said.stderr);
        let mut out = String::new();
        for found in said.json()["diagnostics"].as_array().expect("diagnostics") {
            let file = found["file"].as_str().expect("a file").trim_start_matches("./").to_owned();
            let line = found["range"]["start"]["line"].as_u64().expect("a line") + 1;
            let configs: Vec<&str> = found["configs"].as_array().expect("configs").iter().filter_map(Value::as_str).collect();
            let configs = if configs.is_empty() { String::new() } else { format!(" under {}", configs.join(" ")) };
            out += &format!("{file}:{line} {}{configs}\n", found["code"].as_str().expect("a code"));
        }
        out
    }

    /// `line:col name: type` of every binding of a file's kernels.
    pub fn types(&self, file: &str) -> String {
        let said = self.say(&["emit", file, "--stage", "types"]);
        assert_eq!(said.status, 0, "{}", said.stderr);
        said.stdout
    }

    /// What `check` finds in a file, one line each, with what it points at beside it.
    pub fn pointed(&self, file: &str) -> String {
        let said = self.say(&["check", file, "--output-format", "json"]);
        assert!(said.status < 2, "{}", said.stderr);
        let line = |of: &Value| of["range"]["start"]["line"].as_u64().expect("a line") + 1;
        let mut out = String::new();
        for found in said.json()["diagnostics"].as_array().expect("diagnostics") {
            out += &format!("{} {}\n", line(found), found["code"].as_str().expect("a code"));
            for related in found["related"].as_array().expect("a list") {
                out += &format!("  {} {}\n", line(related), related["message"].as_str().expect("a message"));
            }
        }
        out
    }
}
