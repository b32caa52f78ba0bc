//! What is wrong with a kernel, before it has a position in the text.
//!
//! **Invariant:** places are expression or parameter ids; the source map turns them into ranges when a message is rendered,
//! so moving a kernel within its file recomputes no problem.

use smol_str::SmolStr;

use crate::{
    Function, SourceFile,
    body::{ExprId, StmtId},
    diagnostics::{Code, Severity},
};

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Problem {
    pub code: Code,
    /// How much it matters here, where that is not what its row says.
    pub level: Option<Severity>,
    pub message: String,
    pub place: Place,
    /// Where the two shapes came from, and the like; each with its own sentence.
    pub related: Vec<(Place, String)>,
    pub fixes: Vec<Fix>,
    /// The call sites (innermost first) through which a helper was reached.
    pub calls: Vec<Place>,
}

impl Problem {
    pub fn severity(&self) -> Severity {
        self.level.unwrap_or(self.code.severity())
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Place {
    pub function: Function,
    pub at: At,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum At {
    Expr(ExprId),
    /// The argument of a call that has this value, its keyword included.
    Argument(ExprId),
    Stmt(StmtId),
    /// The parameter's name, by position.
    Param(u32),
    /// The function's name in its `def`.
    Name,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Fix {
    pub title: String,
    pub applicability: Applicability,
    pub edits: Vec<Edit>,
}

/// Who decides that a fix is made.
///
/// A fix is safe only if its producer can say why every correct program means the same after it, whatever its arguments are. Nothing that
/// draws on the arguments that were looked at is: neither an element type nor a value, and no guess at what was meant. What only assumed
/// arguments show is demoted where diagnostics are assembled ([`crate::check`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Applicability {
    /// The meaning of a correct program cannot change: `--fix` and fixing all at once make it.
    Safe,
    /// Perhaps what was meant: a person chooses it.
    Suggested,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Edit {
    Replace(Place, String),
    InsertBefore(Place, String),
    InsertAfter(Place, String),
    /// Replaces by new text that holds parts of the old as they are written.
    Rewrite(Place, Vec<Piece>),
    /// An argument, with the comma that belongs to it.
    RemoveArgument(Place),
    /// A statement, with its line where nothing else is on it.
    RemoveStatement(Place),
    /// Before and after what a module-level name of a file is bound to: its value, or its `def`.
    Around(SourceFile, SmolStr, &'static str, &'static str),
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Piece {
    Text(String),
    /// The text of a place.
    Source(Place),
}
