//! The pages of the diagnostics and the examples in them.

use tritium_semantics::diagnostics::Code;

/// The Python below a heading of a page.
pub struct Example {
    pub text: String,
    /// `--triton 3.9`, as two arguments, where the page says so.
    pub flag: Vec<String>,
}

/// `Wrong` or `Right`.
pub fn example(code: Code, heading: &str) -> Example {
    let page = code.page();
    let part = page.split_once(&format!("\n## {heading}\n")).and_then(|(_, rest)| rest.split_once("```python\n"));
    let (before, rest) = part.unwrap_or_else(|| panic!("the page of {code} has no example under {heading}"));
    let (text, _) = rest.split_once("\n```").expect("a fence ends");
    let flag = before.split('`').nth(1).map(|flag| flag.split(' ').map(str::to_owned).collect());
    Example { text: format!("{text}\n"), flag: flag.unwrap_or_default() }
}

/// The first paragraph of a page, on one line.
pub fn summary(code: Code) -> String {
    code.page().split("\n\n").nth(1).unwrap_or_default().replace('\n', " ")
}
