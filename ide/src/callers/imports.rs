//! What a text imports and defines, as far as its lines show.

use std::collections::BTreeSet;

/// One name that an import brings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Import {
    /// Dots before the module's name.
    pub level: usize,
    pub module: String,
    /// What of the module; the module itself if nothing.
    pub member: Option<String>,
    /// What the file calls it, `*` for everything.
    pub bound: String,
}

#[derive(Debug, Default)]
pub(super) struct Imports {
    pub imports: Vec<Import>,
    /// Functions and classes at the top of the file.
    pub defines: BTreeSet<String>,
}

impl Imports {
    /// Of a string that looks like an import it is taken for one: it leads to a file too many, and says nothing false.
    pub(super) fn of(text: &str) -> Imports {
        let mut out = Imports::default();
        let mut lines = text.lines();
        while let Some(line) = lines.next() {
            for word in ["def ", "class ", "async def "] {
                if let Some(rest) = line.strip_prefix(word) {
                    let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
                    out.defines.insert(rest[..end].to_owned());
                }
            }
            let inner = line.trim_start();
            if !inner.starts_with("from ") && !inner.starts_with("import ") {
                continue;
            }
            let mut whole = without_comment(inner).to_owned();
            while whole.contains('(') && !whole.contains(')') || whole.ends_with('\\') {
                let Some(next) = lines.next() else { break };
                let kept = whole.trim_end_matches('\\').len();
                whole.truncate(kept);
                whole.push(' ');
                whole.push_str(without_comment(next));
            }
            out.read(&whole);
        }
        out
    }

    fn read(&mut self, statement: &str) {
        if let Some(modules) = statement.strip_prefix("import ") {
            for (module, bound) in modules.split(',').filter_map(renamed) {
                let bound = bound.unwrap_or(module).to_owned();
                self.imports.push(Import { level: 0, module: module.to_owned(), member: None, bound });
            }
            return;
        }
        let Some((module, names)) = statement.strip_prefix("from ").and_then(|rest| rest.split_once(" import ")) else { return };
        let module = module.trim();
        let name = module.trim_start_matches('.');
        let level = module.len() - name.len();
        for (member, bound) in names.trim().trim_matches(['(', ')']).split(',').filter_map(renamed) {
            let bound = bound.unwrap_or(member).to_owned();
            let member = if member == "*" { None } else { Some(member.to_owned()) };
            self.imports.push(Import { level, module: name.to_owned(), member, bound });
        }
    }
}

fn without_comment(line: &str) -> &str {
    line.split('#').next().unwrap_or_default().trim_end()
}

/// `name as other`
fn renamed(part: &str) -> Option<(&str, Option<&str>)> {
    let mut words = part.split_whitespace();
    let name = words.next()?;
    Some((name, words.nth(1)))
}
