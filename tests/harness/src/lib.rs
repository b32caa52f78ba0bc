//! Shared by the test programs that list their tests when they run (`harness = false`): tests of one file each, and tests of
//! what may be missing.
//!
//! **Invariant:** a test whose input is missing says `ignored` and why, never `ok`; under CI it fails.

mod tile;

use std::{
    env, fs,
    path::{Path, PathBuf},
};

use libtest_mimic::{Completion, Trial};

pub use tile::TileTest;

/// The top folder of the repository.
pub fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("this lies in the repository")
}

/// Runs the tests as the words of the command line say, and ends the program.
pub fn run(tests: Vec<Trial>) -> ! {
    libtest_mimic::run(&libtest_mimic::Arguments::from_args(), tests).exit()
}

/// A test that panics when it fails.
pub fn test(name: impl Into<String>, run: impl FnOnce() + Send + 'static) -> Trial {
    Trial::test(name, || {
        run();
        Ok(())
    })
}

/// Functions as tests of the same names.
#[macro_export]
macro_rules! tests {
    ($($test:ident),+ $(,)?) => { vec![$($crate::test(stringify!($test), $test)),+] };
}

/// A test of something that does not lie in the repository: `find` says where it is, or what is missing.
pub fn test_with<T>(
    name: impl Into<String>,
    find: impl FnOnce() -> Result<T, String> + Send + 'static,
    run: impl FnOnce(T) + Send + 'static,
) -> Trial {
    Trial::ignorable_test(name, move || match find() {
        Ok(found) => {
            run(found);
            Ok(Completion::Completed)
        }
        Err(missing) if env::var_os("CI").is_some() => Err(missing.into()),
        Err(missing) => Ok(Completion::ignored_with(missing)),
    })
}

/// A file of the folder that `$TRITIUM_EXTERNAL_KERNELS` names: what is not ours to publish.
pub fn external(name: &str) -> Result<PathBuf, String> {
    let folder = env::var_os("TRITIUM_EXTERNAL_KERNELS").ok_or("TRITIUM_EXTERNAL_KERNELS is not set")?;
    let path = Path::new(&folder).join(name);
    if path.is_file() { Ok(path) } else { Err(format!("TRITIUM_EXTERNAL_KERNELS has no {name}")) }
}

/// The files of a folder and of the folders in it that have this extension, in order.
pub fn files(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let mut entries: Vec<PathBuf> = fs::read_dir(folder)
        .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
        .map(|entry| entry.expect("an entry").path())
        .collect();
    entries.sort();
    let mut out = Vec::new();
    for entry in entries {
        if entry.is_dir() && !entry.is_symlink() {
            out.extend(files(&entry, extension));
        } else if entry.extension().is_some_and(|found| found == extension) {
            out.push(entry);
        }
    }
    out
}

/// A test for each file, named by its path in the folder, without the extension.
pub fn test_each(folder: &Path, extension: &str, run: fn(&Path)) -> Vec<Trial> {
    let found = files(folder, extension);
    assert!(!found.is_empty(), "{} has no .{extension}", folder.display());
    let name = |path: &Path| path.with_extension("").strip_prefix(folder).expect("it lies in the folder").display().to_string();
    found.into_iter().map(|path| test(name(&path), move || run(&path))).collect()
}
