//! What git knows of a file: the commit that is checked out, and the file as it was.

use std::{path::Path, process::Command};

use crate::files;

/// The commit that is checked out where a file lies, as far as plain files of git's tell.
pub(crate) fn commit(file: &Path) -> Option<String> {
    let file = std::path::absolute(file).ok()?;
    let line = |path: &Path| files::read_record(path).ok().map(|text| text.trim().to_owned());
    let found = file.ancestors().skip(1).map(|folder| folder.join(".git")).find(|git| git.exists())?;
    let git = match line(&found) {
        // A work tree beside the repository.
        Some(text) => found.parent()?.join(text.strip_prefix("gitdir: ")?),
        None => found,
    };
    let head = line(&git.join("HEAD"))?;
    let commit = match head.strip_prefix("ref: ") {
        None => head,
        Some(name) => {
            let common = line(&git.join("commondir")).map_or_else(|| git.clone(), |common| git.join(common));
            line(&git.join(name)).or_else(|| line(&common.join(name))).or_else(|| {
                let packed = line(&common.join("packed-refs"))?;
                packed.lines().find_map(|line| Some(line.strip_suffix(name)?.trim().to_owned()))
            })?
        }
    };
    let short = commit.get(..7)?;
    short.bytes().all(|byte| byte.is_ascii_hexdigit()).then(|| short.to_owned())
}

/// The text of a file at a revision of the git repository that it lies in.
pub fn at_revision(file: &Path, revision: &str) -> Result<String, String> {
    let absolute = std::path::absolute(file).map_err(|error| error.to_string())?;
    let (folder, name) = (absolute.parent().unwrap_or(Path::new("/")), absolute.file_name().unwrap_or_default());
    let shown = format!("{revision}:./{}", name.to_string_lossy());
    let git = Command::new("git").arg("-C").arg(folder).args(["show", "--end-of-options", &shown]).output();
    let done = git.map_err(|error| format!("git: {error}"))?;
    match done.status.success() {
        true => String::from_utf8(done.stdout).map_err(|error| error.to_string()),
        false => Err(String::from_utf8_lossy(&done.stderr).trim().to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn the_commit_is_read_from_git() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let at = |name: &str| folder.path().join(name);
        let write = |name: &str, text: &str| {
            fs::create_dir_all(at(name).parent().expect("it has one")).expect("ours");
            fs::write(at(name), text).expect("ours");
        };
        let id = "0123456789abcdef0123456789abcdef01234567";
        write("checkout/.git/HEAD", "ref: refs/heads/main\n");
        assert_eq!(commit(&at("checkout/src/kernel.py")), None);
        write("checkout/.git/packed-refs", &format!("# pack-refs\n{id} refs/heads/main\n"));
        assert_eq!(commit(&at("checkout/src/kernel.py")).as_deref(), Some("0123456"));
        write("checkout/.git/refs/heads/main", &id.replace("01234567", "aaaaaaaa"));
        assert_eq!(commit(&at("checkout/src/kernel.py")).as_deref(), Some("aaaaaaa"));
        write("beside/.git", "gitdir: ../checkout/.git/worktrees/beside\n");
        write("checkout/.git/worktrees/beside/HEAD", "ref: refs/heads/other\n");
        write("checkout/.git/worktrees/beside/commondir", "../..\n");
        write("checkout/.git/refs/heads/other", &id.replace("01234567", "bbbbbbbb"));
        assert_eq!(commit(&at("beside/kernel.py")).as_deref(), Some("bbbbbbb"));
        write("checkout/.git/HEAD", &format!("{id}\n"));
        assert_eq!(commit(&at("checkout/kernel.py")).as_deref(), Some("0123456"));
    }
}
