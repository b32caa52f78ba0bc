//! The modules of Triton and their members, with the versions that have them: `names.txt`, of which each module is read once it is asked for.

use std::sync::{LazyLock, OnceLock};

use rustc_hash::FxHashMap;

/// The versions that have something: from `since` on, until `gone`; `None` where the table ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Span {
    pub since: Option<&'static str>,
    pub gone: Option<&'static str>,
}

struct Module {
    span: Span,
    /// Its lines.
    text: &'static str,
    /// What they say. A file uses few modules, and an editor waits for the first answer.
    members: OnceLock<FxHashMap<&'static str, Span>>,
}

/// What the table has of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Found {
    /// Its first part that is no module, or the module that it names.
    Span(Span),
    /// No version's module has such a member.
    NoMember,
    /// Not listed: private, or of a module that is not Triton's own.
    Unlisted,
}

static MODULES: LazyLock<FxHashMap<&str, Module>> = LazyLock::new(|| {
    let module = |part: &'static str| {
        let (name, rest) = part.split_once(']')?;
        let (span, text) = rest.split_once('\n').unwrap_or((rest, ""));
        Some((name, Module { span: Span::read(span.trim()), text, members: OnceLock::new() }))
    };
    include_str!("names.txt").split("\n[").skip(1).filter_map(module).collect()
});

impl Module {
    fn members(&self) -> &FxHashMap<&'static str, Span> {
        self.members.get_or_init(|| {
            let mut members = FxHashMap::default();
            for (span, names) in self.text.lines().filter_map(|line| line.split_once(' ')) {
                let own = Span::read(span);
                let span = Span { since: own.since.or(self.span.since), gone: own.gone.or(self.span.gone) };
                members.extend(names.split(' ').map(|name| (name, span)));
            }
            members
        })
    }
}

impl Span {
    fn read(text: &'static str) -> Span {
        let (since, gone) = text.split_once("..").unwrap_or_default();
        let end = |version: &'static str| Some(version).filter(|v| !v.is_empty());
        Span { since: end(since), gone: end(gone) }
    }
}

/// Back ends that are not part of Triton have modules of their own below it.
const PLUGINS: &str = "triton.language.extra";

/// What the table has of `triton.language.load` or `triton.ops.matmul`.
pub(super) fn find(path: &str) -> Found {
    if let Some(module) = MODULES.get(path) {
        return Found::Span(module.span);
    }
    // The module nearest above.
    let above = path.match_indices('.').rev().find_map(|(at, _)| Some((MODULES.get(&path[..at])?, at)));
    let Some((module, at)) = above else { return Found::Unlisted };
    let rest = &path[at + 1..];
    match module.members().get(rest.split('.').next().unwrap_or(rest)) {
        Some(span) => Found::Span(*span),
        None if path.starts_with("triton.language.") && &path[..at] != PLUGINS => Found::NoMember,
        None => Found::Unlisted,
    }
}

/// Whether any version has a module of this path.
pub(super) fn is_module(path: &str) -> bool {
    MODULES.contains_key(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(path: &str) -> String {
        match find(path) {
            Found::Span(span) => format!("{}..{}", span.since.unwrap_or_default(), span.gone.unwrap_or_default()),
            other => format!("{other:?}"),
        }
    }

    #[test]
    fn paths_are_found() {
        assert_eq!(span("triton.language.load"), "..");
        assert_eq!(span("triton.language.squeeze"), "3.7..");
        assert_eq!(span("triton.language.math.tanh"), "2.1..3.0");
        assert_eq!(span("triton.language.extra.cuda.libdevice"), "3.0..");
        assert_eq!(span("triton.language.extra.cuda.experimental_device_tensormap_create2d"), "3.2..3.4");
        assert_eq!(span("triton.ops.matmul_perf_model.estimate_matmul_time"), "..3.2");
        assert_eq!(span("triton.language.dtype.int8"), "..");
        assert_eq!(span("triton.language.lod"), "NoMember");
        assert_eq!(span("triton.language.extra.xpu.libdevice"), "Unlisted");
        assert_eq!(span("triton.backends.nvidia"), "3.0..");
        assert_eq!(span("triton.plugin.language"), "Unlisted");
        assert_eq!(span("torch.float16"), "Unlisted");
    }
}
