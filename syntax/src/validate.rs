//! Rules that Python checks after its grammar: what may be assigned to, where a word may stand, which names go together.
//!
//! **One rule, one function; a rule looks at one node and its surroundings and reports where the mistake is.** The rules run
//! only on text that the grammar took without a problem, as in Python, so that one mistake is told once.

mod annotations;
mod calls;
mod file;
mod flow;
mod names;
mod params;
mod patterns;
mod scope;
mod strings;
mod targets;

use std::collections::HashMap;
use std::rc::Rc;

use crate::kind::SyntaxKind::{self, *};
use crate::tree::{SyntaxNode, TextRange};
use crate::{PythonVersion, SyntaxError};

pub(crate) use file::across_chunks;

/// Where the rules put what they find, and what they remember of scopes, so that the whole stays linear.
pub(crate) struct Findings {
    version: PythonVersion,
    errors: Vec<SyntaxError>,
    mentions: HashMap<SyntaxNode, Rc<names::Mentions>>,
    /// Whether a function is a generator.
    yields: HashMap<SyntaxNode, bool>,
}

impl Findings {
    fn new(version: PythonVersion) -> Findings {
        Findings { version, errors: Vec::new(), mentions: HashMap::new(), yields: HashMap::new() }
    }

    fn report(&mut self, range: TextRange, message: impl Into<String>) {
        self.errors.push(SyntaxError { message: message.into(), range });
    }
}

type Rule = fn(&mut Findings, &SyntaxNode);

/// The rules for the nodes of a kind.
fn rules(kind: SyntaxKind) -> &'static [Rule] {
    match kind {
        ASSIGN_STMT => &[targets::assignment],
        AUG_ASSIGN_STMT => &[targets::augmented],
        ANN_ASSIGN_STMT => &[targets::annotated],
        FOR_STMT => &[targets::loop_variable, flow::async_statement, flow::nested_blocks],
        WHILE_STMT => &[flow::nested_blocks],
        COMP_FOR => &[targets::loop_variable, flow::async_comprehension],
        WITH_STMT => &[flow::async_statement, flow::nested_blocks],
        WITH_ITEM => &[targets::with_item],
        DEL_STMT => &[targets::deleted],
        NAME => &[targets::debug],
        ARG_LIST => &[calls::arguments],
        PARAM_LIST | LAMBDA_PARAMS => &[params::parameters],
        TYPE_PARAMS => &[params::type_parameters],
        RETURN_STMT => &[flow::return_statement],
        BREAK_STMT | CONTINUE_STMT => &[flow::loop_word],
        YIELD_EXPR => &[flow::yield_expression, annotations::forbidden],
        AWAIT_EXPR => &[flow::await_expression, annotations::forbidden],
        NAMED_EXPR => &[names::named_in_comprehension, annotations::forbidden],
        TRY_STMT => &[flow::handlers, flow::nested_blocks],
        IMPORT_FROM_STMT => &[file::future_import, names::star_import],
        GLOBAL_STMT => &[names::global],
        NONLOCAL_STMT => &[names::nonlocal],
        MATCH_STMT => &[patterns::cases],
        STRING_EXPR => &[strings::mixed],
        STRING_LITERAL => &[strings::literal],
        FSTRING => &[strings::pieces, strings::before_3_12],
        REPLACEMENT => &[strings::replacement],
        _ => &[],
    }
}

/// Checks one chunk whose grammar is right.
pub(crate) fn chunk(root: &SyntaxNode, text: &str, version: PythonVersion) -> Vec<SyntaxError> {
    let mut findings = Findings::new(version);
    // At names, which are most nodes, one rule looks for one word.
    let any_debug = text.contains("__debug__");
    let may_break_a_rule = |kind| match kind {
        NAME | NAME_EXPR => any_debug,
        LITERAL_EXPR | COMPARE_OP | AUG_OP | DOTS => false,
        _ => true,
    };
    let mut pending = vec![root.clone()];
    while let Some(node) = pending.pop() {
        for rule in rules(node.kind()) {
            rule(&mut findings, &node);
        }
        let first = pending.len();
        pending.extend(node.children().by_kind(may_break_a_rule));
        pending[first..].reverse();
    }
    findings.errors.sort_by_key(|error| (error.range.start(), error.range.end()));
    findings.errors
}
