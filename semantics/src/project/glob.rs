//! The patterns of `exclude` and `per-file-ignores`.
//!
//! `*` and `?` stay within a name, `**` crosses folders. **Invariant:** a pattern without `/` matches a name anywhere in the path; one with
//! `/` counts from the project's folder; both match everything in a folder they match.

use std::path::Path;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Glob(String);

impl Glob {
    pub fn new(pattern: &str) -> Glob {
        Glob(pattern.trim_start_matches("./").trim_end_matches('/').to_owned())
    }

    /// Whether the pattern matches a path that counts from the project's folder.
    pub fn matches(&self, path: &Path) -> bool {
        let names: Vec<String> = path.components().map(|c| c.as_os_str().to_string_lossy().into_owned()).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let pattern: Vec<&str> = self.0.split('/').collect();
        match &pattern[..] {
            [one] if *one != "**" => names.iter().any(|name| within(one.as_bytes(), name.as_bytes())),
            _ => (1..=names.len()).any(|n| across(&pattern, &names[..n])),
        }
    }
}

fn across(pattern: &[&str], names: &[&str]) -> bool {
    match (pattern.split_first(), names.split_first()) {
        (None, None) => true,
        (Some((&"**", rest)), None) => across(rest, names),
        (Some((&"**", rest)), Some((_, more))) => across(rest, names) || across(pattern, more),
        (Some((one, rest)), Some((name, more))) => within(one.as_bytes(), name.as_bytes()) && across(rest, more),
        (None, Some(_)) | (Some(_), None) => false,
    }
}

/// One name; the last `*` seen is where a mismatch goes back to.
fn within(pattern: &[u8], name: &[u8]) -> bool {
    let (mut p, mut n) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while n < name.len() {
        if p < pattern.len() && pattern[p] == b'*' {
            star = Some((p, n));
            p += 1;
        } else if p < pattern.len() && (pattern[p] == b'?' || pattern[p] == name[n]) {
            p += 1;
            n += 1;
        } else if let Some((at, from)) = star {
            star = Some((at, from + 1));
            p = at + 1;
            n = from + 1;
        } else {
            return false;
        }
    }
    pattern[p..].iter().all(|&c| c == b'*')
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
        ];
        for (pattern, path, expected) in cases {
            assert_eq!(Glob::new(pattern).matches(Path::new(path)), expected, "{pattern} {path}");
        }
    }
}
