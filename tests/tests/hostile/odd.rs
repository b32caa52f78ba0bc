//! Files that are no text, no files, not there, or very long, made when the test runs: each costs only itself.

use std::{
    fs,
    os::unix::{fs::symlink, net::UnixListener},
    path::Path,
    process::Command,
};

use libtest_mimic::{Failed, Trial};
use tritium_tests::limits;

use super::wrong;

const KERNEL: &str = "import triton\nimport triton.language as tl\n\n\n@triton.jit\ndef kernel(out):\n    tl.store(out, 1.0)\n";
/// What is found in a good neighbour, to see that it was looked at.
const NEIGHBOUR: &str =
    "import triton\nimport triton.language as tl\n\n\n@triton.jit\ndef kernel(x):\n    tl.store(x, tl.load(x, other=0.0))\n";

pub(super) fn trials() -> Vec<Trial> {
    vec![
        Trial::test("odd::what_cannot_be_read_costs_only_itself", what_cannot_be_read_costs_only_itself),
        Trial::test("odd::what_is_no_text_is_named", what_is_no_text_is_named),
        Trial::test("odd::every_command_refuses_what_is_no_file", every_command_refuses_what_is_no_file),
        Trial::test("odd::long_files_are_answered", long_files_are_answered),
    ]
}

/// Makes what is no regular file, and says how each is refused.
fn make_odd(folder: &Path) -> Vec<(&'static str, &'static str)> {
    let fifo = Command::new("mkfifo").arg(folder.join("fifo.py")).status().expect("mkfifo runs");
    assert!(fifo.success(), "a FIFO can be made");
    // The listener's file stays when it is closed.
    drop(UnixListener::bind(folder.join("socket.py")).expect("the folder is ours"));
    symlink("/dev/zero", folder.join("zero.py")).expect("the folder is ours");
    symlink("nowhere.py", folder.join("dangling.py")).expect("the folder is ours");
    symlink("loop.py", folder.join("loop.py")).expect("the folder is ours");
    vec![
        ("missing.py", "No such file"),
        ("dangling.py", "No such file"),
        ("loop.py", "oo many levels of symbolic links"),
        ("fifo.py", "no regular file"),
        ("socket.py", "no regular file"),
        ("zero.py", "no regular file"),
        ("long.py", "too long"),
    ]
}

fn write_long(folder: &Path) {
    // Nothing of it is on the disk.
    fs::File::create(folder.join("long.py")).and_then(|file| file.set_len(1 << 40)).expect("the folder is ours");
}

fn what_cannot_be_read_costs_only_itself() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let odd = make_odd(folder.path());
    write_long(folder.path());
    fs::write(folder.path().join("a.py"), NEIGHBOUR)?;
    fs::write(folder.path().join("b.py"), NEIGHBOUR)?;
    let names = odd.iter().map(|(name, _)| *name);
    let files: Vec<&str> = ["a.py"].into_iter().chain(names).chain(["b.py"]).collect();
    for command in [&["check", "--output-format", "concise"][..], &["report"], &["stats"], &["configs"]] {
        let ended = limits::run(&[command, &files].concat(), folder.path(), limits::GENEROUS);
        assert_eq!(wrong(&ended), None, "{command:?}: {}", ended.stderr);
        assert_eq!(ended.status.and_then(|status| status.code()), Some(2), "{command:?}: {}", ended.stderr);
        for (name, why) in &odd {
            let lines: Vec<&str> = ended.stderr.lines().filter(|line| line.contains(&format!(" {name}: "))).collect();
            assert!(lines.len() == 1 && lines[0].contains(why), "{command:?} {name}: {}", ended.stderr);
        }
        // Nothing that cannot be read is in a folder, as far as a folder's files are looked at.
        assert!(ended.stdout.contains("kernel") || command[0] == "check", "{command:?}: {}", ended.stdout);
    }
    let ended = limits::run(&[&["check", "--output-format", "concise"], &files[..]].concat(), folder.path(), limits::GENEROUS);
    let found: Vec<&str> = ended.stdout.lines().map(|line| line.split(' ').take(2).last().unwrap_or_default()).collect();
    assert_eq!(found, ["MSK001", "MSK001"], "{}", ended.stdout);
    Ok(())
}

fn what_is_no_text_is_named() -> Result<(), Failed> {
    let utf16 =
        |mark: &[u8], bytes: fn(u16) -> [u8; 2]| [mark, &KERNEL.encode_utf16().flat_map(bytes).collect::<Vec<u8>>()].concat();
    let cases = [
        ("little.py", utf16(b"\xff\xfe", u16::to_le_bytes), "UTF-16"),
        ("big.py", utf16(b"\xfe\xff", u16::to_be_bytes), "UTF-16"),
        // Without a mark every second byte is zero.
        ("unmarked.py", utf16(b"", u16::to_le_bytes), "null byte"),
        ("zeros.py", vec![0; 1000], "null byte"),
        ("after.py", [KERNEL.as_bytes(), &[0; 100]].concat(), "null byte"),
        ("binary.py", (0u8..=255).cycle().take(4000).collect(), "null byte"),
        ("latin.py", b"x = '\xe9'\n".to_vec(), "0xe9"),
    ];
    let folder = tempfile::tempdir()?;
    for (name, bytes, word) in &cases {
        fs::write(folder.path().join(name), bytes)?;
        let ended = limits::run(&["check", "--output-format", "concise", name], folder.path(), limits::GENEROUS);
        assert_eq!(wrong(&ended), None, "{name}: {}", ended.stderr);
        assert_eq!(ended.status.and_then(|status| status.code()), Some(1), "{name}: {}", ended.stderr);
        assert!(ended.stdout.contains("SYN001") && ended.stdout.contains(word), "{name}: {}", ended.stdout);
        assert_eq!(ended.stdout.lines().count(), 1, "{name}: {}", ended.stdout);
    }
    // In a folder, those that are about Triton as far as one can read.
    let ended = limits::run(&["check", "--output-format", "concise", "."], folder.path(), limits::GENEROUS);
    let mut found: Vec<&str> = ended.stdout.lines().filter_map(|line| line.trim_start_matches("./").split(':').next()).collect();
    found.sort_unstable();
    assert_eq!(found, ["after.py", "big.py", "little.py"], "{}", ended.stdout);
    Ok(())
}

fn every_command_refuses_what_is_no_file() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let odd = make_odd(folder.path());
    write_long(folder.path());
    fs::create_dir(folder.path().join("folder.py"))?;
    for (name, why) in odd.iter().chain(&[("folder.py", "folder")]) {
        for command in ["emit", "run", "roofline", "occupancy"] {
            let ended = limits::run(&[command, name], folder.path(), limits::GENEROUS);
            assert_eq!(wrong(&ended), None, "{command} {name}: {}", ended.stderr);
            assert_eq!(ended.status.and_then(|status| status.code()), Some(2), "{command} {name}: {}", ended.stderr);
            let told = ended.stderr.lines().any(|line| line.contains(name) && line.contains(why));
            assert!(told, "{command} {name}: {}", ended.stderr);
        }
    }
    Ok(())
}

/// Megabytes of one thing after a kernel. That time and memory grow no faster than the file is measured by `bench/scaling.py`.
fn long_files_are_answered() -> Result<(), Failed> {
    let many = |piece: &str| format!("{KERNEL}{}", piece.repeat((1 << 20) / piece.len()));
    let cases = [
        ("zeros", format!("{KERNEL}{}", "\0".repeat(10 << 20))),
        ("dollars", many("$")),
        ("zeros_apart", many("\0 ")),
        ("comments", many("# nothing\n")),
        ("carriage_returns", many("x = 1\r")),
        ("one_line", format!("{KERNEL}x = [{}]\n", "1, ".repeat(300_000))),
        ("open_brackets", many("(")),
        ("closed_brackets", many(") ")),
        ("one_string", format!("{KERNEL}x = '{}'\n", "a".repeat(1 << 20))),
        ("one_number", format!("{KERNEL}x = {}\n", "9".repeat(1 << 20))),
        ("one_name", format!("{KERNEL}{} = 1\n", "x".repeat(1 << 20))),
        ("blank_lines", many("\n")),
        ("emoji", many("'😀'\n")),
    ];
    let folder = tempfile::tempdir()?;
    for (name, text) in &cases {
        let file = format!("{name}.py");
        fs::write(folder.path().join(&file), text)?;
        let ended = limits::run(&["check", "--output-format", "concise", &file], folder.path(), limits::GENEROUS);
        assert_eq!(wrong(&ended), None, "{name}: {}", ended.stderr);
    }
    Ok(())
}
