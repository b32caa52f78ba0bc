// Feature: Signature help
//
//! The parameters of the call that is being written: of Triton's functions as the table of builtins has them (what Triton passes to itself
//! is not shown), of device library functions, helpers and launches.

use std::{ops::Range, path::Path};

use tritium_semantics::{
    builtins,
    versions::{self, Availability},
};
use tritium_syntax::AstNode;

use crate::{
    Analysis,
    call_at::{CallAt, Callee},
};

#[derive(Debug, Clone, PartialEq)]
pub struct SignatureHelp {
    pub signatures: Vec<Signature>,
    /// Parameter of the first signature; `None` where the call has too many arguments.
    pub active_parameter: Option<usize>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Signature {
    pub label: String,
    /// Each parameter's bytes in the label.
    pub parameters: Vec<Range<usize>>,
    pub documentation: String,
}

impl Analysis {
    /// `triton_only`: asked beside a Python server, which knows plain functions.
    pub fn signature_help(&self, path: &Path, offset: usize, triton_only: bool) -> Option<SignatureHelp> {
        let at = self.call_at(path, offset)?;
        match &at.callee {
            Callee::Builtin { builtin, method } => {
                let row = builtin.row();
                let signature = builtin.signature();
                let params = &signature.params[usize::from(*method).min(signature.params.len())..];
                let names: Vec<String> = params
                    .iter()
                    .map(|p| {
                        let stars = if p.rest { "*" } else { "" };
                        let default = p.default.as_ref().map(|d| format!(" = {d}")).unwrap_or_default();
                        format!("{stars}{}: {}{default}", p.name, p.annotation)
                    })
                    .collect();
                let spelling = if *method { format!(".{}", row.name) } else { builtin.spelling().to_owned() };
                let rest = params.iter().position(|p| p.rest);
                let active = active(&at, &params.iter().map(|p| p.name.to_owned()).collect::<Vec<_>>(), rest);
                let mut documentation = first_paragraph(row.page);
                if let Some(note) = self.availability_note(path, row.name) {
                    documentation = format!("{note}\n\n{documentation}");
                }
                Some(SignatureHelp {
                    signatures: vec![labelled(&spelling, &names, signature.result, documentation)],
                    active_parameter: active,
                })
            }
            Callee::Library(library) => {
                let row = library.row();
                let whole = library.signature();
                let signatures = whole.split("), (").enumerate().map(|(i, overload)| {
                    let overload = overload.trim_start_matches('(');
                    let (args, result) = overload.split_once(") -> ").unwrap_or((overload, ""));
                    let args: Vec<String> = args.split(", ").filter(|a| !a.is_empty()).map(str::to_owned).collect();
                    let documentation = if i == 0 { row.summary.to_owned() } else { String::new() };
                    labelled(&library.spelling(), &args, result, documentation)
                });
                Some(SignatureHelp { signatures: signatures.collect(), active_parameter: Some(at.position) })
            }
            Callee::Function { file, scope, launch } => {
                if triton_only && !launch && self.functions_at(path, offset).next().is_none() {
                    return None;
                }
                let (_, def) = self.function_node(*file, *scope)?;
                let words = |text: String| text.split_whitespace().collect::<Vec<_>>().join(" ");
                let params: Vec<_> = def.params().collect();
                let shown: Vec<String> = params.iter().map(|p| words(p.syntax().text().to_string())).collect();
                let names: Vec<String> = params.iter().map(|p| p.name().map(|n| n.text()).unwrap_or_default()).collect();
                let rest = params.iter().position(|p| p.star_token().is_some() && p.name().is_some());
                let name = def.name()?.text();
                let (spelling, documentation) = match launch {
                    true => {
                        (format!("{name}[grid]"), "Launch options: `num_warps`, `num_stages`, `num_ctas`, `maxnreg`.".to_owned())
                    }
                    false => (name, String::new()),
                };
                let result = def.returns().map(|r| words(r.syntax().text().to_string())).unwrap_or_default();
                let active = active(&at, &names, rest);
                Some(SignatureHelp {
                    signatures: vec![labelled(&spelling, &shown, &result, documentation)],
                    active_parameter: active,
                })
            }
            Callee::Config | Callee::Autotune => None,
        }
    }

    /// What the project's version says about a name, if anything.
    pub(crate) fn availability_note(&self, path: &Path, name: &str) -> Option<String> {
        let version = self.project(path).map(|p| p.triton.clone())?;
        match versions::availability(&format!("triton.language.{name}"), &version) {
            Availability::Present | Availability::Never | Availability::Unknown => None,
            Availability::Deprecated { instead } => Some(format!("Deprecated: {instead}.")),
            Availability::Removed { version, instead } | Availability::Leaving { version, instead } => {
                let instead = instead.map(|instead| format!(": {instead}")).unwrap_or_default();
                Some(format!("Removed in Triton {version}{instead}."))
            }
            Availability::NotYet { version } => Some(format!("Since Triton {version}.")),
        }
    }
}

/// Which parameter is being written.
fn active(at: &CallAt, names: &[String], rest: Option<usize>) -> Option<usize> {
    if let Some(keyword) = &at.keyword {
        return names.iter().position(|n| n == keyword);
    }
    let position = rest.map_or(at.position, |rest| at.position.min(rest));
    (position < names.len()).then_some(position)
}

fn labelled(name: &str, params: &[String], result: &str, documentation: String) -> Signature {
    let mut label = format!("{name}(");
    let mut parameters = Vec::new();
    for (i, param) in params.iter().enumerate() {
        label += if i == 0 { "" } else { ", " };
        parameters.push(label.len()..label.len() + param.len());
        label += param;
    }
    label += ")";
    if !result.is_empty() {
        label += &format!(" -> {result}");
    }
    Signature { label, parameters, documentation }
}

/// What a page says first; its title is the name.
pub(crate) fn first_paragraph(page: &str) -> String {
    let paragraphs = page.split("\n\n").map(str::trim).filter(|p| !p.is_empty() && !p.starts_with('#'));
    paragraphs.take(1).collect()
}

/// The page of a builtin by its spelling.
pub(crate) fn page_of(spelling: &str) -> Option<&'static str> {
    builtins::Builtin::ALL.iter().find(|b| b.spelling() == spelling).map(|b| b.row().page)
}
