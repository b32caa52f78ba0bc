//! Operators by name.
//!
//! **An operator's text is written once, in the grammar's tokens**; these enums map from them.

use super::{AugOp, BinaryExpr, BoolExpr, CompareExpr, CompareOp, Expr, UnaryExpr, support};
use crate::kind::SyntaxKind::{self, *};
use crate::tree::{NodeOrToken, SyntaxToken};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum BinaryOp {
    Add,
    Sub,
    Mul,
    Div,
    FloorDiv,
    Mod,
    Pow,
    MatMul,
    BitAnd,
    BitOr,
    BitXor,
    Shl,
    Shr,
}

impl BinaryOp {
    fn from_kind(kind: SyntaxKind) -> Option<BinaryOp> {
        Some(match kind {
            PLUS | PLUS_EQ => BinaryOp::Add,
            MINUS | MINUS_EQ => BinaryOp::Sub,
            STAR | STAR_EQ => BinaryOp::Mul,
            SLASH | SLASH_EQ => BinaryOp::Div,
            SLASH2 | SLASH2_EQ => BinaryOp::FloorDiv,
            PERCENT | PERCENT_EQ => BinaryOp::Mod,
            STAR2 | STAR2_EQ => BinaryOp::Pow,
            AT | AT_EQ => BinaryOp::MatMul,
            AMP | AMP_EQ => BinaryOp::BitAnd,
            PIPE | PIPE_EQ => BinaryOp::BitOr,
            CARET | CARET_EQ => BinaryOp::BitXor,
            SHL | SHL_EQ => BinaryOp::Shl,
            SHR | SHR_EQ => BinaryOp::Shr,
            _ => return None,
        })
    }

    /// As it is written between two operands.
    pub fn text(self) -> &'static str {
        match self {
            BinaryOp::Add => "+",
            BinaryOp::Sub => "-",
            BinaryOp::Mul => "*",
            BinaryOp::Div => "/",
            BinaryOp::FloorDiv => "//",
            BinaryOp::Mod => "%",
            BinaryOp::Pow => "**",
            BinaryOp::MatMul => "@",
            BinaryOp::BitAnd => "&",
            BinaryOp::BitOr => "|",
            BinaryOp::BitXor => "^",
            BinaryOp::Shl => "<<",
            BinaryOp::Shr => ">>",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum UnaryOp {
    Neg,
    Pos,
    Invert,
    Not,
}

impl UnaryOp {
    fn from_kind(kind: SyntaxKind) -> Option<UnaryOp> {
        Some(match kind {
            MINUS => UnaryOp::Neg,
            PLUS => UnaryOp::Pos,
            TILDE => UnaryOp::Invert,
            NOT_KW => UnaryOp::Not,
            _ => return None,
        })
    }

    pub fn text(self) -> &'static str {
        match self {
            UnaryOp::Neg => "-",
            UnaryOp::Pos => "+",
            UnaryOp::Invert => "~",
            UnaryOp::Not => "not",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum BoolOp {
    And,
    Or,
}

impl BoolOp {
    fn from_kind(kind: SyntaxKind) -> Option<BoolOp> {
        Some(match kind {
            AND_KW => BoolOp::And,
            OR_KW => BoolOp::Or,
            _ => return None,
        })
    }

    pub fn text(self) -> &'static str {
        match self {
            BoolOp::And => "and",
            BoolOp::Or => "or",
        }
    }
}

/// What a comparison asks; `CompareOp` is its node in the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CompareOperator {
    Less,
    Greater,
    LessEq,
    GreaterEq,
    Eq,
    NotEq,
    In,
    NotIn,
    Is,
    IsNot,
}

impl CompareOperator {
    pub fn text(self) -> &'static str {
        match self {
            CompareOperator::Less => "<",
            CompareOperator::Greater => ">",
            CompareOperator::LessEq => "<=",
            CompareOperator::GreaterEq => ">=",
            CompareOperator::Eq => "==",
            CompareOperator::NotEq => "!=",
            CompareOperator::In => "in",
            CompareOperator::NotIn => "not in",
            CompareOperator::Is => "is",
            CompareOperator::IsNot => "is not",
        }
    }
}

impl BinaryExpr {
    pub fn op_token(&self) -> Option<SyntaxToken> {
        support::token_where(&self.syntax, |kind| BinaryOp::from_kind(kind).is_some())
    }

    pub fn op(&self) -> Option<BinaryOp> {
        BinaryOp::from_kind(self.op_token()?.kind())
    }

    pub fn lhs(&self) -> Option<Expr> {
        support::before(&self.syntax, |kind| BinaryOp::from_kind(kind).is_some())
    }

    pub fn rhs(&self) -> Option<Expr> {
        support::after(&self.syntax, |kind| BinaryOp::from_kind(kind).is_some())
    }
}

impl AugOp {
    pub fn op_token(&self) -> Option<SyntaxToken> {
        support::token_where(&self.syntax, |kind| BinaryOp::from_kind(kind).is_some())
    }

    /// The operator without its `=`.
    pub fn binary_op(&self) -> Option<BinaryOp> {
        BinaryOp::from_kind(self.op_token()?.kind())
    }
}

impl super::AugAssignStmt {
    pub fn binary_op(&self) -> Option<BinaryOp> {
        self.op()?.binary_op()
    }
}

impl UnaryExpr {
    pub fn op_token(&self) -> Option<SyntaxToken> {
        support::token_where(&self.syntax, |kind| UnaryOp::from_kind(kind).is_some())
    }

    pub fn op(&self) -> Option<UnaryOp> {
        UnaryOp::from_kind(self.op_token()?.kind())
    }
}

impl BoolExpr {
    pub fn op_token(&self) -> Option<SyntaxToken> {
        support::token_where(&self.syntax, |kind| BoolOp::from_kind(kind).is_some())
    }

    pub fn op(&self) -> Option<BoolOp> {
        BoolOp::from_kind(self.op_token()?.kind())
    }

    pub fn lhs(&self) -> Option<Expr> {
        support::before(&self.syntax, |kind| BoolOp::from_kind(kind).is_some())
    }

    pub fn rhs(&self) -> Option<Expr> {
        support::after(&self.syntax, |kind| BoolOp::from_kind(kind).is_some())
    }
}

impl CompareOp {
    pub fn op(&self) -> Option<CompareOperator> {
        let has = |kind| support::token(&self.syntax, kind).is_some();
        let first = support::token_where(&self.syntax, |kind| !matches!(kind, WHITESPACE | COMMENT))?;
        Some(match first.kind() {
            LESS => CompareOperator::Less,
            GREATER => CompareOperator::Greater,
            LESS_EQ => CompareOperator::LessEq,
            GREATER_EQ => CompareOperator::GreaterEq,
            EQ2 => CompareOperator::Eq,
            NOT_EQ => CompareOperator::NotEq,
            IN_KW => CompareOperator::In,
            NOT_KW => CompareOperator::NotIn,
            IS_KW if has(NOT_KW) => CompareOperator::IsNot,
            IS_KW => CompareOperator::Is,
            _ => return None,
        })
    }
}

impl CompareExpr {
    /// The operand before the first operator.
    pub fn first(&self) -> Option<Expr> {
        support::before(&self.syntax, |kind| kind == COMPARE_OP)
    }

    /// Each operator with the operand after it.
    pub fn rest(&self) -> Vec<(CompareOp, Option<Expr>)> {
        let mut out: Vec<(CompareOp, Option<Expr>)> = Vec::new();
        for node in self.syntax.children_with_tokens().filter_map(NodeOrToken::into_node) {
            if let Some(op) = <CompareOp as super::AstNode>::cast(node.clone()) {
                out.push((op, None));
            } else if let (Some((_, operand)), Some(expr)) = (out.last_mut(), <Expr as super::AstNode>::cast(node)) {
                operand.get_or_insert(expr);
            }
        }
        out
    }
}
