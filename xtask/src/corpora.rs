//! `cargo xtask corpora`: the Python files that tests and tables are about, under `.cache/corpora/`.
//!
//! **Every corpus is pinned by version and hash, and is there whole or not at all.** A corpus that is there already costs
//! nothing. The packages come through the ordinary clients of their registries: pip, npm, apt-get.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::root;

struct Corpus {
    name: &'static str,
    from: Source,
}

enum Source {
    /// A wheel of PyPI: requirement and sha256.
    Wheel(&'static str, &'static str),
    /// A package of npm and the sha256 of its archive.
    Npm(&'static str, &'static str),
    /// Debian's copy of the source archive of a program: package, file, sha256, and the folder of it that is kept.
    Debian { package: &'static str, archive: &'static str, sha256: &'static str, keep: &'static str },
    /// A zip file inside another corpus.
    Inside(&'static str, &'static str),
}

const CORPORA: &[Corpus] = &[
    Corpus {
        name: "liger-kernel",
        from: Source::Wheel("liger-kernel==0.8.5", "60789cd576af073ab9b192b570d2597fd0cdad489cd62fb44fb16256d43754c9"),
    },
    Corpus {
        name: "fla-core",
        from: Source::Wheel("fla-core==0.6.0", "b0708b70e0b119cd58a0a5146ea56cb175cef6ed969d8ac60267e3e077ce3ebd"),
    },
    Corpus {
        name: "conch-triton-kernels",
        from: Source::Wheel("conch-triton-kernels==1.3", "bbbdbbcc2ea5650f582a00d9c9ad9ca65b822a64b3cf41856c5e83efcdbe7cea"),
    },
    Corpus {
        name: "torchao",
        from: Source::Wheel("torchao==0.18.0", "6540b148e40ba81cbd4de86392225a076a1591146e9cebb099b3b234ba9feebe"),
    },
    // Python 3.14 that runs in node, with its standard library.
    Corpus {
        name: "pyodide",
        from: Source::Npm("pyodide@314.0.7", "66b7949e5a0cba2250b586d7e368bf12fb482800748d182c4618254b685ffaa0"),
    },
    Corpus { name: "cpython-3.14", from: Source::Inside("pyodide", "python_stdlib.zip") },
    // The standard library with its tests, as Python's authors published it.
    Corpus {
        name: "cpython-3.11",
        from: Source::Debian {
            package: "python3.11",
            archive: "python3.11_3.11.2.orig.tar.gz",
            sha256: "2411c74bda5bbcfcddaf4531f66d1adc73f247f529aee981b029513aefdbf849",
            keep: "Lib",
        },
    },
];

/// Where the corpora are.
pub(crate) fn folder() -> PathBuf {
    root().join(".cache/corpora")
}

/// Fetches what is missing.
pub(crate) fn run() -> Result<(), String> {
    fs::create_dir_all(folder()).map_err(|error| format!("{}: {error}", folder().display()))?;
    for corpus in CORPORA {
        let place = folder().join(corpus.name);
        let pin = folder().join(format!("{}.pin", corpus.name));
        let wanted = corpus.from.pin();
        if place.is_dir() && fs::read_to_string(&pin).is_ok_and(|found| found == wanted) {
            continue;
        }
        eprintln!("corpora: fetching {} ({})", corpus.name, wanted.split_whitespace().next().unwrap_or_default());
        let fresh = folder().join(format!("{}.new.{}", corpus.name, std::process::id()));
        let done = fetch(&corpus.from, &fresh).and_then(|()| {
            let _ = fs::remove_dir_all(&place);
            fs::rename(&fresh, &place).map_err(|error| format!("{}: {error}", place.display()))?;
            fs::write(&pin, wanted).map_err(|error| format!("{}: {error}", pin.display()))
        });
        let _ = fs::remove_dir_all(&fresh);
        done.map_err(|message| format!("corpora: {}: {message}", corpus.name))?;
    }
    Ok(())
}

impl Source {
    /// What a corpus must have been made from to count as there.
    fn pin(&self) -> String {
        match self {
            Source::Wheel(requirement, sha256) => format!("{requirement} {sha256}\n"),
            Source::Npm(package, sha256) => format!("{package} {sha256}\n"),
            Source::Debian { archive, sha256, keep, .. } => format!("{archive} {sha256} {keep}\n"),
            Source::Inside(corpus, file) => {
                let outer = CORPORA.iter().find(|other| other.name == *corpus).map(|other| other.from.pin());
                format!("{file} of {}", outer.unwrap_or_default())
            }
        }
    }
}

fn fetch(source: &Source, into: &Path) -> Result<(), String> {
    let parts = into.with_extension("parts");
    let _ = fs::remove_dir_all(&parts);
    for folder in [into, &parts] {
        fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    }
    let done = fetch_with(source, into, &parts);
    let _ = fs::remove_dir_all(&parts);
    done
}

fn fetch_with(source: &Source, into: &Path, parts: &Path) -> Result<(), String> {
    match source {
        Source::Wheel(requirement, sha256) => {
            let list = parts.join("requirements.txt");
            fs::write(&list, format!("{requirement} --hash=sha256:{sha256}\n")).map_err(|error| error.to_string())?;
            // One platform for everybody, so that everybody has the same files.
            let mut pip = Command::new("python3");
            pip.args(["-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps", "--require-hashes"]);
            pip.args(["--only-binary", ":all:", "--python-version", "3.11", "--platform", "manylinux_2_28_x86_64"]);
            run_quietly(pip.arg("-d").arg(parts).arg("-r").arg(&list))?;
            unzip(&only_file(parts, "whl")?, into)
        }
        Source::Npm(package, sha256) => {
            run_quietly(Command::new("npm").args(["pack", "--silent", "--pack-destination"]).arg(parts).arg(package))?;
            let archive = only_file(parts, "tgz")?;
            check(&archive, sha256)?;
            untar(&archive, into, "package")
        }
        Source::Debian { package, archive, sha256, keep } => {
            let found = debian_source(package, archive, parts)?;
            check(&found, sha256)?;
            untar(&found, into, &format!("*/{keep}"))
        }
        Source::Inside(corpus, file) => unzip(&folder().join(corpus).join(file), into),
    }
}

/// Downloads the archive with package lists of its own, so that the machine's stay as they are.
fn debian_source(package: &str, archive: &str, parts: &Path) -> Result<PathBuf, String> {
    for needed in ["lists/partial", "cache/archives/partial"] {
        fs::create_dir_all(parts.join(needed)).map_err(|error| error.to_string())?;
    }
    let list = parts.join("sources.list");
    fs::write(&list, format!("deb-src {}\n", debian_main()?)).map_err(|error| error.to_string())?;
    let apt = || {
        let mut apt = Command::new("apt-get");
        apt.current_dir(parts).args(["-qq", "-o", "Dir::Etc::sourceparts=-", "-o", "APT::Sandbox::User=root"]);
        for (option, path) in [("Etc::sourcelist", "sources.list"), ("State::lists", "lists"), ("Cache", "cache")] {
            apt.arg("-o").arg(format!("Dir::{option}={}", parts.join(path).display()));
        }
        apt
    };
    let hint = |message: String| format!("{message}\nthis corpus comes as a source package of Debian 12 and needs its apt-get");
    run_quietly(apt().arg("update")).map_err(hint)?;
    run_quietly(apt().args(["source", "--download-only", package])).map_err(hint)?;
    Ok(parts.join(archive))
}

/// Where this machine has Debian 12 from, as a line of a list of sources.
fn debian_main() -> Result<String, String> {
    let format = "[signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $(REPO_URI) $(RELEASE) $(COMPONENT)";
    let mut apt = Command::new("apt-get");
    apt.args(["indextargets", "--format", format, "Created-By: Packages", "Release: bookworm", "Component: main"]);
    let output = apt.output().map_err(|error| format!("cannot run apt-get: {error}"))?;
    let lines = String::from_utf8_lossy(&output.stdout);
    let line = lines.lines().next().ok_or("no source of Debian 12 (bookworm main) is set up on this machine")?;
    Ok(line.to_owned())
}

fn only_file(folder: &Path, extension: &str) -> Result<PathBuf, String> {
    let entries = fs::read_dir(folder).map_err(|error| error.to_string())?;
    let mut found = entries.flatten().map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|e| e == extension));
    found.next().ok_or_else(|| format!("the client fetched no .{extension} file"))
}

fn check(file: &Path, sha256: &str) -> Result<(), String> {
    let output = Command::new("sha256sum").arg(file).output().map_err(|error| format!("sha256sum: {error}"))?;
    let found = String::from_utf8_lossy(&output.stdout);
    let found = found.split_whitespace().next().unwrap_or_default();
    if found == sha256 { Ok(()) } else { Err(format!("{} has the sha256 {found}, not {sha256}", file.display())) }
}

fn unzip(archive: &Path, into: &Path) -> Result<(), String> {
    run_quietly(Command::new("python3").args(["-m", "zipfile", "-e"]).arg(archive).arg(into))
}

/// Unpacks one folder of an archive, without its name in front.
fn untar(archive: &Path, into: &Path, folder: &str) -> Result<(), String> {
    let strip = format!("--strip-components={}", folder.split('/').count());
    let mut tar = Command::new("tar");
    tar.arg("-xf").arg(archive).arg("-C").arg(into).args([&strip, "--no-same-owner", "--wildcards"]);
    run_quietly(tar.arg(format!("{folder}/*")))
}

fn run_quietly(command: &mut Command) -> Result<(), String> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|error| format!("cannot run {program}: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    Err(format!("{program} failed:\n{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr)))
}
