//! The patterns of `exclude` and `per-file-ignores`.
//!
//! `*` and `?` stay within a name, `**` crosses folders, `[ab]` and `{a,b}` are alternatives. **Invariant:** a pattern without `/` matches a name anywhere in the path; one with
//! `/` counts from the project's folder; both match everything in a folder they match.

use std::path::Path;

use globset::{Error, GlobBuilder, GlobSet};

#[derive(Debug, Clone)]
pub struct Glob {
    pattern: String,
    set: GlobSet,
}

impl PartialEq for Glob {
    fn eq(&self, other: &Glob) -> bool {
        self.pattern == other.pattern
    }
}

impl Eq for Glob {}

impl Glob {
    pub fn new(pattern: &str) -> Result<Glob, Error> {
        let pattern = pattern.trim_start_matches("./").trim_end_matches('/');
        let anywhere = if pattern.contains('/') { "" } else { "**/" };
        let mut set = GlobSet::builder();
        for inside in ["", "/**"] {
            set.add(GlobBuilder::new(&format!("{anywhere}{pattern}{inside}")).literal_separator(true).build()?);
        }
        Ok(Glob { pattern: pattern.to_owned(), set: set.build()? })
    }

    /// Whether the pattern matches a path that counts from the project's folder.
    pub fn matches(&self, path: &Path) -> bool {
        self.set.is_match(path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_paths() {
        let cases = [
            ("generated", "a/generated/k.py", true),
            ("generated", "a/generated.py", false),
            ("*_test.py", "a/b/norm_test.py", true),
            ("a/*.py", "a/k.py", true),
            ("a/*.py", "a/b/k.py", false),
            ("a/**/k.py", "a/k.py", true),
            ("a/**/k.py", "a/b/c/k.py", true),
            ("./a/b/", "a/b/c/k.py", true),
            ("**/old", "x/y/old/k.py", true),
            ("?.py", "k.py", true),
            ("?.py", "kk.py", false),
            ("b/*.py", "a/b/k.py", false),
            ("**", "a/b/k.py", true),
            ("{old,new}_[ab]", "x/new_b/k.py", true),
        ];
        for (pattern, path, expected) in cases {
            assert_eq!(Glob::new(pattern).expect(pattern).matches(Path::new(path)), expected, "{pattern} {path}");
        }
    }

    #[test]
    fn many_stars_end() {
        let pattern = Glob::new(&("**/a*/".repeat(40) + "b")).expect("a pattern");
        assert!(!pattern.matches(Path::new(&("aa/".repeat(200) + "c"))));
        assert!(Glob::new("a[").is_err());
    }
}
