//! Versions of Python.
//!
//! **The grammar read is always the newest; a version only adds problems**, so that a wrong version never costs a tree.

use std::fmt;
use std::str::FromStr;

/// A version of the language.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PythonVersion {
    Py39,
    Py310,
    Py311,
    Py312,
    Py313,
    #[default]
    Py314,
}

impl PythonVersion {
    pub const ALL: &[PythonVersion] = &[
        PythonVersion::Py39,
        PythonVersion::Py310,
        PythonVersion::Py311,
        PythonVersion::Py312,
        PythonVersion::Py313,
        PythonVersion::Py314,
    ];

    fn minor(self) -> u8 {
        9 + self as u8
    }
}

impl fmt::Display for PythonVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "3.{}", self.minor())
    }
}

impl FromStr for PythonVersion {
    type Err = String;

    fn from_str(text: &str) -> Result<PythonVersion, String> {
        PythonVersion::ALL
            .iter()
            .copied()
            .find(|version| version.to_string() == text)
            .ok_or_else(|| format!("`{text}` is no version of Python known here; 3.9 to 3.14 are"))
    }
}
