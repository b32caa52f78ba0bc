//! Writes the syntax kinds and the typed tree of `syntax` from `python.ungram`.
//!
//! **The generated files are a function of the grammar and of the tables below; `--check` fails when they are stale.**

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use ungrammar::{Grammar, Rule};

/// Names of the punctuation tokens.
const PUNCTUATION: &[(&str, &str)] = &[
    ("(", "L_PAREN"),
    (")", "R_PAREN"),
    ("[", "L_BRACK"),
    ("]", "R_BRACK"),
    ("{", "L_CURLY"),
    ("}", "R_CURLY"),
    (",", "COMMA"),
    (":", "COLON"),
    (";", "SEMICOLON"),
    (".", "DOT"),
    ("...", "ELLIPSIS"),
    ("!", "BANG"),
    ("->", "THIN_ARROW"),
    (":=", "COLON_EQ"),
    ("=", "EQ"),
    ("+", "PLUS"),
    ("-", "MINUS"),
    ("*", "STAR"),
    ("**", "STAR2"),
    ("/", "SLASH"),
    ("//", "SLASH2"),
    ("%", "PERCENT"),
    ("@", "AT"),
    ("&", "AMP"),
    ("|", "PIPE"),
    ("^", "CARET"),
    ("~", "TILDE"),
    ("<<", "SHL"),
    (">>", "SHR"),
    ("<", "LESS"),
    (">", "GREATER"),
    ("<=", "LESS_EQ"),
    (">=", "GREATER_EQ"),
    ("==", "EQ2"),
    ("!=", "NOT_EQ"),
    ("+=", "PLUS_EQ"),
    ("-=", "MINUS_EQ"),
    ("*=", "STAR_EQ"),
    ("/=", "SLASH_EQ"),
    ("//=", "SLASH2_EQ"),
    ("%=", "PERCENT_EQ"),
    ("**=", "STAR2_EQ"),
    ("@=", "AT_EQ"),
    ("&=", "AMP_EQ"),
    ("|=", "PIPE_EQ"),
    ("^=", "CARET_EQ"),
    ("<<=", "SHL_EQ"),
    (">>=", "SHR_EQ"),
];

/// Tokens whose text varies.
const VARIABLE: &[&str] =
    &["ident", "int_number", "float_number", "imaginary_number", "string", "fstring_start", "fstring_text", "fstring_end"];

/// Words that are keywords only where the grammar wants them.
const SOFT_KEYWORDS: &[&str] = &["match", "case", "type"];

/// Kinds that no rule mentions.
const OTHER: &[(&str, &str)] = &[
    ("WHITESPACE", "Spaces, joined lines, blank lines and line ends inside brackets."),
    ("COMMENT", "From `#` to the end of the line."),
    ("NEWLINE", "The end of a logical line."),
    ("ERROR_TOKEN", "A character that starts no token."),
    ("INDENT", "Parser input only: a block opens here."),
    ("DEDENT", "Parser input only: a block closes here."),
    ("EOF", "Parser input only: the end of the text."),
];

pub(crate) fn write() -> Result<(), String> {
    for (path, text) in generate()? {
        std::fs::write(&path, text).map_err(|error| format!("cannot write {}: {error}", path.display()))?;
    }
    Ok(())
}

pub(crate) fn check() -> Result<(), String> {
    for (path, text) in generate()? {
        let present = std::fs::read_to_string(&path).unwrap_or_default();
        if present.replace("\r\n", "\n") != text {
            return Err(format!("{} is stale: run `cargo xtask codegen`", path.display()));
        }
    }
    Ok(())
}

fn generate() -> Result<Vec<(PathBuf, String)>, String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../syntax");
    let path = folder.join("python.ungram");
    let source = std::fs::read_to_string(&path).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
    let grammar: Grammar = source.parse().map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(vec![
        (folder.join("src/kind.rs"), reformat(&kinds(&grammar)?)?),
        (folder.join("src/ast/generated.rs"), reformat(&nodes(&grammar)?)?),
    ])
}

/// How a token of the grammar is spelled as a kind.
fn token_kind(name: &str) -> Result<String, String> {
    if let Some((_, kind)) = PUNCTUATION.iter().find(|(text, _)| *text == name) {
        Ok((*kind).to_owned())
    } else if VARIABLE.contains(&name) {
        Ok(name.to_uppercase())
    } else if is_word(name) {
        Ok(format!("{}_KW", name.to_uppercase()))
    } else {
        Err(format!("the token `{name}` has no name: add it to PUNCTUATION"))
    }
}

fn is_word(name: &str) -> bool {
    name.chars().all(|c| c.is_ascii_alphabetic() || c == '_')
}

fn token_accessor(name: &str) -> Result<String, String> {
    Ok(format!("{}_token", token_kind(name)?.trim_end_matches("_KW").to_lowercase()))
}

fn kinds(grammar: &Grammar) -> Result<String, String> {
    let mut tokens: Vec<&str> = grammar.tokens().map(|token| grammar[token].name.as_str()).collect();
    tokens.sort_unstable();
    let (mut hard, mut soft) = (Vec::new(), Vec::new());
    for token in tokens {
        token_kind(token)?;
        if is_word(token) && !VARIABLE.contains(&token) {
            if SOFT_KEYWORDS.contains(&token) { &mut soft } else { &mut hard }.push(token);
        }
    }

    let mut out = String::from(
        "//! Every kind of token and node.\n//!\n\
         //! **Generated from `python.ungram` by `cargo xtask codegen`; do not edit.**\n\n",
    );
    out.push_str(
        "/// The kind of a token or a node.\n\
         #[allow(non_camel_case_types)]\n\
         #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]\n#[repr(u16)]\n\
         pub enum SyntaxKind {\n",
    );
    let mut all = Vec::new();
    for (kind, doc) in OTHER {
        writeln!(out, "/// {doc}\n{kind},").unwrap();
        all.push((*kind).to_owned());
    }
    for name in VARIABLE {
        writeln!(out, "{},", name.to_uppercase()).unwrap();
        all.push(name.to_uppercase());
    }
    for (text, kind) in PUNCTUATION {
        writeln!(out, "/// `{text}`\n{kind},").unwrap();
        all.push((*kind).to_owned());
    }
    for word in hard.iter().chain(&soft) {
        let kind = token_kind(word)?;
        writeln!(out, "/// `{word}`\n{kind},").unwrap();
        all.push(kind);
    }
    for node in grammar.iter() {
        if enum_variants(grammar, &grammar[node].rule).is_none() {
            let kind = screaming(&grammar[node].name);
            writeln!(out, "{kind},").unwrap();
            all.push(kind);
        }
    }
    out.push_str("}\n\nuse SyntaxKind::*;\n\nimpl SyntaxKind {\n");
    writeln!(out, "/// In the order of their numbers.\npub(crate) const ALL: &[SyntaxKind] = &[").unwrap();
    for kind in &all {
        writeln!(out, "{kind},").unwrap();
    }
    out.push_str("];\n\n/// The reserved word spelled `text`; `match`, `case` and `type` are not reserved.\n");
    out.push_str("pub fn from_keyword(text: &str) -> Option<SyntaxKind> {\nSome(match text {\n");
    for word in &hard {
        writeln!(out, "\"{word}\" => {},", token_kind(word)?).unwrap();
    }
    out.push_str("_ => return None,\n})\n}\n\n");
    out.push_str("/// The text of a token that has only one.\npub fn text(self) -> Option<&'static str> {\nSome(match self {\n");
    for (text, kind) in PUNCTUATION {
        writeln!(out, "{kind} => \"{text}\",").unwrap();
    }
    for word in hard.iter().chain(&soft) {
        writeln!(out, "{} => \"{word}\",", token_kind(word)?).unwrap();
    }
    out.push_str("_ => return None,\n})\n}\n\n");
    out.push_str("/// Whether this is a reserved word.\npub fn is_keyword(self) -> bool {\nmatches!(self, ");
    out.push_str(&hard.iter().map(|word| token_kind(word)).collect::<Result<Vec<_>, _>>()?.join(" | "));
    out.push_str(")\n}\n}\n");
    Ok(out)
}

/// The alternatives of a rule that only chooses between nodes.
fn enum_variants<'g>(grammar: &'g Grammar, rule: &Rule) -> Option<Vec<&'g str>> {
    match rule {
        Rule::Alt(rules) => rules
            .iter()
            .map(|rule| match rule {
                Rule::Node(node) => Some(grammar[*node].name.as_str()),
                _ => None,
            })
            .collect(),
        _ => None,
    }
}

#[derive(Clone, Debug)]
enum Field {
    Token(String),
    Node { label: Option<String>, ty: String, many: bool },
}

fn fields(grammar: &Grammar, rule: &Rule, label: Option<&str>, many: bool, out: &mut Vec<Field>) {
    match rule {
        Rule::Labeled { label, rule } => fields(grammar, rule, Some(label), many, out),
        Rule::Node(node) => out.push(Field::Node { label: label.map(str::to_owned), ty: grammar[*node].name.clone(), many }),
        Rule::Token(token) => {
            if !many {
                out.push(Field::Token(grammar[*token].name.clone()));
            }
        }
        Rule::Seq(rules) | Rule::Alt(rules) => {
            for rule in rules {
                fields(grammar, rule, label, many, out);
            }
        }
        Rule::Opt(rule) => fields(grammar, rule, label, many, out),
        Rule::Rep(rule) => fields(grammar, rule, label, true, out),
    }
}

fn nodes(grammar: &Grammar) -> Result<String, String> {
    let mut out = String::from(
        "//! The typed tree: one struct per node, one enum per choice.\n//!\n\
         //! Children that share a type with a sibling are told apart by hand in `ast.rs`.\n//!\n\
         //! **Generated from `python.ungram` by `cargo xtask codegen`; do not edit.**\n\n\
         use super::{AstChildren, AstNode, support};\n\
         use crate::kind::SyntaxKind::{self, *};\n\
         use crate::tree::{SyntaxNode, SyntaxToken};\n\n",
    );
    let mut enums = BTreeMap::new();
    for node in grammar.iter() {
        if let Some(variants) = enum_variants(grammar, &grammar[node].rule) {
            enums.insert(grammar[node].name.as_str(), variants);
        }
    }
    for node in grammar.iter() {
        let name = &grammar[node].name;
        match enums.get(name.as_str()) {
            Some(variants) => choice(name, variants, &enums, &mut out),
            None => structure(grammar, name, &grammar[node].rule, &mut out)?,
        }
    }
    Ok(out)
}

fn structure(grammar: &Grammar, name: &str, rule: &Rule, out: &mut String) -> Result<(), String> {
    let kind = screaming(name);
    writeln!(
        out,
        "#[derive(Clone, Debug, PartialEq, Eq, Hash)]\npub struct {name} {{ pub(crate) syntax: SyntaxNode }}\n\
         impl AstNode for {name} {{\n\
         fn can_cast(kind: SyntaxKind) -> bool {{ kind == {kind} }}\n\
         fn cast(syntax: SyntaxNode) -> Option<Self> {{ Self::can_cast(syntax.kind()).then_some(Self {{ syntax }}) }}\n\
         fn syntax(&self) -> &SyntaxNode {{ &self.syntax }}\n}}"
    )
    .unwrap();

    let mut all = Vec::new();
    fields(grammar, rule, None, false, &mut all);
    let mut methods = String::new();
    let mut done: Vec<String> = Vec::new();
    for field in &all {
        match field {
            Field::Token(token) => {
                let times = all.iter().filter(|field| matches!(field, Field::Token(t) if t == token)).count();
                if times == 1 {
                    writeln!(
                        methods,
                        "pub fn {}(&self) -> Option<SyntaxToken> {{ support::token(&self.syntax, {}) }}",
                        token_accessor(token)?,
                        token_kind(token)?
                    )
                    .unwrap();
                }
            }
            Field::Node { label, ty, many } => {
                let same: Vec<_> = all
                    .iter()
                    .filter_map(|field| match field {
                        Field::Node { label, ty: other, many } if other == ty => Some((label, *many)),
                        _ => None,
                    })
                    .collect();
                if same.len() > 1 && same.iter().any(|(label, _)| label.is_some()) {
                    continue;
                }
                let many = *many || same.len() > 1;
                let method = match label {
                    Some(label) => label.clone(),
                    None if many => plural(&snake(ty)),
                    None => snake(ty),
                };
                if done.contains(&method) {
                    continue;
                }
                if many {
                    writeln!(methods, "pub fn {method}(&self) -> AstChildren<{ty}> {{ support::children(&self.syntax) }}")
                } else {
                    writeln!(methods, "pub fn {method}(&self) -> Option<{ty}> {{ support::child(&self.syntax) }}")
                }
                .unwrap();
                done.push(method);
            }
        }
    }
    if !methods.is_empty() {
        writeln!(out, "impl {name} {{\n{methods}}}\n").unwrap();
    }
    Ok(())
}

fn choice(name: &str, variants: &[&str], enums: &BTreeMap<&str, Vec<&str>>, out: &mut String) {
    writeln!(out, "#[derive(Clone, Debug, PartialEq, Eq, Hash)]\npub enum {name} {{").unwrap();
    for variant in variants {
        writeln!(out, "{variant}({variant}),").unwrap();
    }
    out.push_str("}\n");
    for variant in variants {
        writeln!(out, "impl From<{variant}> for {name} {{ fn from(node: {variant}) -> {name} {{ {name}::{variant}(node) }} }}")
            .unwrap();
    }
    let nested = variants.iter().any(|variant| enums.contains_key(variant));
    let test = if nested {
        let parts: Vec<String> = variants.iter().map(|variant| format!("{variant}::can_cast(kind)")).collect();
        parts.join(" || ")
    } else {
        let parts: Vec<String> = variants.iter().map(|variant| screaming(variant)).collect();
        format!("matches!(kind, {})", parts.join(" | "))
    };
    writeln!(out, "impl AstNode for {name} {{\nfn can_cast(kind: SyntaxKind) -> bool {{ {test} }}").unwrap();
    if nested {
        out.push_str("fn cast(syntax: SyntaxNode) -> Option<Self> {\n");
        for variant in variants {
            writeln!(out, "if {variant}::can_cast(syntax.kind()) {{ return {variant}::cast(syntax).map({name}::{variant}); }}")
                .unwrap();
        }
        out.push_str("None\n}\n");
    } else {
        out.push_str("fn cast(syntax: SyntaxNode) -> Option<Self> {\nSome(match syntax.kind() {\n");
        for variant in variants {
            writeln!(out, "{} => {name}::{variant}({variant} {{ syntax }}),", screaming(variant)).unwrap();
        }
        out.push_str("_ => return None,\n})\n}\n");
    }
    out.push_str("fn syntax(&self) -> &SyntaxNode {\nmatch self {\n");
    for variant in variants {
        writeln!(out, "{name}::{variant}(node) => node.syntax(),").unwrap();
    }
    out.push_str("}\n}\n}\n\n");
}

fn snake(camel: &str) -> String {
    // `FString` is one word.
    let camel = camel.replace("FString", "Fstring");
    let mut out = String::new();
    for (index, c) in camel.chars().enumerate() {
        if c.is_ascii_uppercase() && index > 0 {
            out.push('_');
        }
        out.push(c.to_ascii_lowercase());
    }
    out
}

fn screaming(camel: &str) -> String {
    snake(camel).to_uppercase()
}

fn plural(word: &str) -> String {
    if word.ends_with('s') { format!("{word}es") } else { format!("{word}s") }
}

fn reformat(code: &str) -> Result<String, String> {
    let failed = |error: std::io::Error| format!("cannot run rustfmt (install it with rustup): {error}");
    let mut child = Command::new("rustfmt")
        .args(["--edition", "2024"])
        .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(failed)?;
    let mut stdin = child.stdin.take().expect("stdin is piped");
    let code = code.to_owned();
    let feeder = std::thread::spawn(move || stdin.write_all(code.as_bytes()));
    let output = child.wait_with_output().map_err(failed)?;
    if feeder.join().is_err() || !output.status.success() {
        return Err("rustfmt refused the generated code".to_owned());
    }
    String::from_utf8(output.stdout).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    #[test]
    fn generated_files_are_fresh() {
        assert_eq!(super::check(), Ok(()));
    }
}
