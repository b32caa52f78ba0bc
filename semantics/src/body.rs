//! A top-level statement without its text: what evaluators walk.
//!
//! Lowered from the syntax tree once per chunk. **Invariant:** no positions inside (two bodies that differ only in comments, blank lines
//! or place in the file are equal); the [`SourceMap`] that leads back to the text is a separate value.
//! A function, a class or an `if` nests its statements in the same arena.

use smol_str::SmolStr;
use tritium_syntax::{TextRange, TextSize};

mod lower;
mod op;
mod print;

pub use lower::{lower, lower_function};
pub use op::{BinaryOp, BoolOp, CompareOp, UnaryOp};

/// An expression of its body.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ExprId(pub u32);

/// A statement of its body.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StmtId(pub u32);

#[derive(Debug, Clone, PartialEq, Default)]
pub struct Body {
    pub exprs: Vec<Expr>,
    pub stmts: Vec<Stmt>,
    /// The chunk's own statements, in order.
    pub root: Vec<StmtId>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Expr {
    /// A syntax error; silences whatever uses it.
    Missing,
    Name(SmolStr),
    Int(i128),
    /// An integer literal beyond 128 bits.
    HugeInt,
    Float(f64),
    Imaginary(f64),
    Str(String),
    Bytes(Vec<u8>),
    Bool(bool),
    None,
    Ellipsis,
    /// Text pieces and values of an f-string.
    FString(Vec<FStringPart>),
    Tuple(Vec<ExprId>),
    List(Vec<ExprId>),
    Set(Vec<ExprId>),
    /// `None` keys are `**value`.
    Dict(Vec<(Option<ExprId>, ExprId)>),
    Comprehension {
        kind: ComprehensionKind,
        key: Option<ExprId>,
        element: ExprId,
        clauses: Vec<Clause>,
    },
    Unary {
        op: UnaryOp,
        operand: ExprId,
    },
    Binary {
        op: BinaryOp,
        lhs: ExprId,
        rhs: ExprId,
    },
    Bool2 {
        op: BoolOp,
        lhs: ExprId,
        rhs: ExprId,
    },
    Compare {
        first: ExprId,
        rest: Vec<(CompareOp, ExprId)>,
    },
    If {
        condition: ExprId,
        then: ExprId,
        otherwise: ExprId,
    },
    Lambda {
        params: Vec<Param>,
        body: ExprId,
    },
    Named {
        name: SmolStr,
        value: ExprId,
    },
    Await(ExprId),
    Yield(Option<ExprId>),
    Call {
        callee: ExprId,
        args: Vec<Arg>,
    },
    Attribute {
        receiver: ExprId,
        name: SmolStr,
    },
    Subscript {
        receiver: ExprId,
        index: ExprId,
    },
    Slice {
        lower: Option<ExprId>,
        upper: Option<ExprId>,
        step: Option<ExprId>,
    },
    Starred(ExprId),
}

#[derive(Debug, Clone, PartialEq)]
pub enum FStringPart {
    Text(String),
    Value { value: ExprId, conversion: Option<char>, format: Option<Vec<FStringPart>> },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ComprehensionKind {
    List,
    Set,
    Dict,
    Generator,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Clause {
    For { target: ExprId, iterable: ExprId },
    If(ExprId),
}

#[derive(Debug, Clone, PartialEq)]
pub struct Arg {
    pub kind: ArgKind,
    pub value: ExprId,
}

#[derive(Debug, Clone, PartialEq)]
pub enum ArgKind {
    Positional,
    Keyword(SmolStr),
    /// `*value`
    Spread,
    /// `**value`
    SpreadKeywords,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Param {
    pub kind: ParamKind,
    pub name: SmolStr,
    pub annotation: Option<ExprId>,
    pub default: Option<ExprId>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ParamKind {
    PositionalOnly,
    Normal,
    KeywordOnly,
    /// `*args`
    Rest,
    /// `**kwargs`
    RestKeywords,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Stmt {
    /// A syntax error.
    Missing,
    Expr(ExprId),
    /// `a = b = value`
    Assign {
        targets: Vec<ExprId>,
        value: ExprId,
    },
    AugAssign {
        target: ExprId,
        op: BinaryOp,
        value: ExprId,
    },
    AnnAssign {
        target: ExprId,
        annotation: ExprId,
        value: Option<ExprId>,
    },
    Return(Option<ExprId>),
    Pass,
    If {
        condition: ExprId,
        then: Vec<StmtId>,
        otherwise: Vec<StmtId>,
    },
    For {
        target: ExprId,
        iterable: ExprId,
        body: Vec<StmtId>,
        otherwise: Vec<StmtId>,
        is_async: bool,
    },
    While {
        condition: ExprId,
        body: Vec<StmtId>,
        otherwise: Vec<StmtId>,
    },
    With {
        items: Vec<(ExprId, Option<ExprId>)>,
        body: Vec<StmtId>,
    },
    Assert {
        test: ExprId,
        message: Option<ExprId>,
    },
    Function(FunctionDef),
    Class {
        name: SmolStr,
        decorators: Vec<ExprId>,
        bases: Vec<Arg>,
        body: Vec<StmtId>,
    },
    Import {
        modules: Vec<ImportAlias>,
    },
    /// `names` empty means `*`.
    ImportFrom {
        level: u32,
        module: SmolStr,
        names: Vec<ImportAlias>,
    },
    Try {
        body: Vec<StmtId>,
        /// The exceptions, and what runs then.
        handlers: Vec<(Option<ExprId>, Vec<StmtId>)>,
        otherwise: Vec<StmtId>,
        finally: Vec<StmtId>,
    },
    /// Statements kernels cannot hold and host evaluation does not follow; the word names them in messages.
    Other {
        keyword: &'static str,
        exprs: Vec<ExprId>,
        body: Vec<StmtId>,
    },
}

#[derive(Debug, Clone, PartialEq)]
pub struct FunctionDef {
    pub name: SmolStr,
    pub decorators: Vec<ExprId>,
    pub params: Vec<Param>,
    pub returns: Option<ExprId>,
    pub body: Vec<StmtId>,
    pub is_async: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportAlias {
    /// Dotted path or, in `from`, the name.
    pub path: SmolStr,
    pub alias: Option<SmolStr>,
}

/// From ids back to the text: ranges relative to the start of the chunk, or of the function that is lowered by itself.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SourceMap {
    pub exprs: Vec<TextRange>,
    /// Of a compound statement what stands before its block; of a function all of it.
    pub stmts: Vec<TextRange>,
    /// Arguments of calls, by their values, in the order of the values' ids.
    pub arguments: Vec<(ExprId, TextRange)>,
    /// For each `Stmt::Function`: its name, then each parameter's name.
    pub functions: Vec<(StmtId, TextRange, Vec<TextRange>)>,
}

impl SourceMap {
    fn count_from(&mut self, start: TextSize) {
        let names = self.functions.iter_mut().flat_map(|(_, name, params)| params.iter_mut().chain([name]));
        let arguments = self.arguments.iter_mut().map(|(_, range)| range);
        for range in self.exprs.iter_mut().chain(&mut self.stmts).chain(names).chain(arguments) {
            *range -= start;
        }
    }
}

impl Body {
    /// Its functions in the order of the text, one inside another after it.
    pub fn functions(&self) -> impl Iterator<Item = StmtId> {
        let numbered = self.stmts.iter().zip(0..);
        numbered.filter(|(stmt, _)| matches!(stmt, Stmt::Function(_))).map(|(_, id)| StmtId(id))
    }

    /// Whether an expression looks like a launch: `kernel[grid](…)`.
    pub(crate) fn is_launch(&self, expr: &Expr) -> bool {
        matches!(expr, Expr::Call { callee, .. } if matches!(self.expr(*callee), Expr::Subscript { .. }))
    }

    pub fn expr(&self, id: ExprId) -> &Expr {
        &self.exprs[id.0 as usize]
    }

    pub fn stmt(&self, id: StmtId) -> &Stmt {
        &self.stmts[id.0 as usize]
    }
}
