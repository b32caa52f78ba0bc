//! A test of tile IR in a file: directives (`; name: value`) and a module, and below a line what becomes of it.

use std::{
    fmt::Debug,
    fs,
    path::{Path, PathBuf},
    str::FromStr,
};

const LINE: &str = "; ---- becomes\n";

pub struct TileTest {
    path: PathBuf,
    /// What stands above the line.
    source: String,
}

impl TileTest {
    pub fn read(path: &Path) -> TileTest {
        let text = fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let source = text.split_once(LINE).map_or(text.as_str(), |(source, _)| source).to_owned();
        TileTest { path: path.to_owned(), source }
    }

    /// The folder, which says what is tested.
    pub fn folder(&self) -> &str {
        self.path.parent().and_then(Path::file_name).and_then(|name| name.to_str()).expect("a file lies in a folder")
    }

    pub fn directive(&self, name: &str) -> Option<&str> {
        self.source.lines().find_map(|line| line.strip_prefix("; ")?.strip_prefix(name)?.strip_prefix(':')).map(str::trim)
    }

    /// A directive that is a number, or anything else that is written as one word.
    pub fn value<T: FromStr<Err: Debug>>(&self, name: &str) -> Option<T> {
        self.directive(name).map(|value| value.parse().unwrap_or_else(|error| panic!("{name}: {value}: {error:?}")))
    }

    /// A directive like `name=1 other=2`; nothing if it is not there.
    pub fn numbers(&self, name: &str) -> Vec<(String, u64)> {
        self.directive(name).map_or_else(Vec::new, numbers)
    }

    /// A directive of several of them, `name=1 | name=2`; one of nothing if it is not there.
    pub fn alternatives(&self, name: &str) -> Vec<Vec<(String, u64)>> {
        self.directive(name).unwrap_or("").split('|').map(numbers).collect()
    }

    /// The module's text.
    pub fn module(&self) -> String {
        self.source.lines().filter(|line| !line.starts_with(';')).fold(String::new(), |out, line| out + line + "\n")
    }

    /// Compares with what stands below the line; `UPDATE_EXPECT=1` writes it there.
    pub fn assert_becomes(&self, found: &str) {
        let Self { path, source } = self;
        expect_test::expect_file![path].assert_eq(&format!("{source}{LINE}{found}"));
    }
}

fn numbers(text: &str) -> Vec<(String, u64)> {
    let pairs = text.split_whitespace().filter_map(|pair| pair.split_once('='));
    pairs.map(|(name, number)| (name.to_owned(), number.parse().expect("a number"))).collect()
}
