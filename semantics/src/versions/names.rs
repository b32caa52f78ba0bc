//! The modules of Triton and their members, with the versions that have them: `names.txt`, read once.

use std::sync::LazyLock;

use rustc_hash::FxHashMap;

/// The versions that have something: from `since` on, until `gone`; `None` where the table ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Span {
    pub since: Option<&'static str>,
    pub gone: Option<&'static str>,
}

struct Module {
    span: Span,
    members: FxHashMap<&'static str, Span>,
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
    let mut modules = FxHashMap::default();
    let mut path = "";
    for line in include_str!("names.txt").lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        if let Some((name, span)) = line.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            path = name;
            modules.insert(path, Module { span: Span::read(span.trim()), members: FxHashMap::default() });
        } else if let (Some((span, names)), Some(module)) = (line.split_once(' '), modules.get_mut(path)) {
            let own = Span::read(span);
            let span = Span { since: own.since.or(module.span.since), gone: own.gone.or(module.span.gone) };
            module.members.extend(names.split(' ').map(|name| (name, span)));
        }
    }
    modules
});

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
    match module.members.get(rest.split('.').next().unwrap_or(rest)) {
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
