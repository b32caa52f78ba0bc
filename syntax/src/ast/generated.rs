//! The typed tree: one struct per node, one enum per choice.
//!
//! Children that share a type with a sibling are told apart by hand in `ast.rs`.
//!
//! **Generated from `python.ungram` by `cargo xtask codegen`; do not edit.**

use super::{AstChildren, AstNode, support};
use crate::kind::SyntaxKind::{self, *};
use crate::tree::{SyntaxNode, SyntaxToken};

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Module {
    pub(crate) syntax: SyntaxNode,
}
impl AstNode for Module {
    fn can_cast(kind: SyntaxKind) -> bool {
        kind == MODULE
    }
    fn cast(syntax: SyntaxNode) -> Option<Self> {
        Self::can_cast(syntax.kind()).then_some(Self { syntax })
    }
    fn syntax(&self) -> &SyntaxNode {
        &self.syntax
    }
}
impl Module {
    pub fn stmts(&self) -> AstChildren<Stmt> {
        support::children(&self.syntax)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Stmt {
    SimpleStmts(SimpleStmts),
    FunctionDef(FunctionDef),
    ClassDef(ClassDef),
    IfStmt(IfStmt),
    ForStmt(ForStmt),
    WhileStmt(WhileStmt),
    WithStmt(WithStmt),
    TryStmt(TryStmt),
    MatchStmt(MatchStmt),
    ErrorStmt(ErrorStmt),
}
impl From<SimpleStmts> for Stmt {
    fn from(node: SimpleStmts) -> Stmt {
        Stmt::SimpleStmts(node)
    }
}
impl From<FunctionDef> for Stmt {
    fn from(node: FunctionDef) -> Stmt {
        Stmt::FunctionDef(node)
    }
}
impl From<ClassDef> for Stmt {
    fn from(node: ClassDef) -> Stmt {
        Stmt::ClassDef(node)
    }
}
impl From<IfStmt> for Stmt {
    fn from(node: IfStmt) -> Stmt {
        Stmt::IfStmt(node)
    }
}
impl From<ForStmt> for Stmt {
    fn from(node: ForStmt) -> Stmt {
        Stmt::ForStmt(node)
    }
}
impl From<WhileStmt> for Stmt {
    fn from(node: WhileStmt) -> Stmt {
        Stmt::WhileStmt(node)
    }
}
impl From<WithStmt> for Stmt {
    fn from(node: WithStmt) -> Stmt {
        Stmt::WithStmt(node)
    }
}
impl From<TryStmt> for Stmt {
    fn from(node: TryStmt) -> Stmt {
        Stmt::TryStmt(node)
    }
}
impl From<MatchStmt> for Stmt {
    fn from(node: MatchStmt) -> Stmt {
        Stmt::MatchStmt(node)
    }
}
impl From<ErrorStmt> for Stmt {
    fn from(node: ErrorStmt) -> Stmt {
        Stmt::ErrorStmt(node)
    }
}
impl AstNode for Stmt {
    fn can_cast(kind: SyntaxKind) -> bool {
        matches!(
            kind,
            SIMPLE_STMTS
                | FUNCTION_DEF
                | CLASS_DEF
                | IF_STMT
                | FOR_STMT
                | WHILE_STMT
                | WITH_STMT
                | TRY_STMT
                | MATCH_STMT
                | ERROR_STMT
        )
    }
    fn cast(syntax: SyntaxNode) -> Option<Self> {
        Some(match syntax.kind() {
            SIMPLE_STMTS => Stmt::SimpleStmts(SimpleStmts { syntax }),
            FUNCTION_DEF => Stmt::FunctionDef(FunctionDef { syntax }),
            CLASS_DEF => Stmt::ClassDef(ClassDef { syntax }),
            IF_STMT => Stmt::IfStmt(IfStmt { syntax }),
            FOR_STMT => Stmt::ForStmt(ForStmt { syntax }),
            WHILE_STMT => Stmt::WhileStmt(WhileStmt { syntax }),
            WITH_STMT => Stmt::WithStmt(WithStmt { syntax }),
            TRY_STMT => Stmt::TryStmt(TryStmt { syntax }),
            MATCH_STMT => Stmt::MatchStmt(MatchStmt { syntax }),
            ERROR_STMT => Stmt::ErrorStmt(ErrorStmt { syntax }),
            _ => return None,
        })
    }
    fn syntax(&self) -> &SyntaxNode {
        match self {
            Stmt::SimpleStmts(node) => node.syntax(),
            Stmt::FunctionDef(node) => node.syntax(),
            Stmt::ClassDef(node) => node.syntax(),
            Stmt::IfStmt(node) => node.syntax(),
            Stmt::ForStmt(node) => node.syntax(),
            Stmt::WhileStmt(node) => node.syntax(),
            Stmt::WithStmt(node) => node.syntax(),
            Stmt::TryStmt(node) => node.syntax(),
            Stmt::MatchStmt(node) => node.syntax(),
            Stmt::ErrorStmt(node) => node.syntax(),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SimpleStmts {
    pub(crate) syntax: SyntaxNode,
}
impl AstNode for SimpleStmts {
    fn can_cast(kind: SyntaxKind) -> bool {
        kind == SIMPLE_STMTS
    }
    fn cast(syntax: SyntaxNode) -> Option<Self> {
        Self::can_cast(syntax.kind()).then_some(Self { syntax })
    }
    fn syntax(&self) -> &SyntaxNode {
        &self.syntax
    }
}
impl SimpleStmts {
    pub fn small_stmts(&self) -> AstChildren<SmallStmt> {
        support::children(&self.syntax)
    }
    pub fn semicolon_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, SEMICOLON)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FunctionDef {
    pub(crate) syntax: SyntaxNode,
}
impl AstNode for FunctionDef {
    fn can_cast(kind: SyntaxKind) -> bool {
        kind == FUNCTION_DEF
    }
    fn cast(syntax: SyntaxNode) -> Option<Self> {
        Self::can_cast(syntax.kind()).then_some(Self { syntax })
    }
    fn syntax(&self) -> &SyntaxNode {
        &self.syntax
    }
}
impl FunctionDef {
    pub fn decorators(&self) -> AstChildren<Decorator> {
        support::children(&self.syntax)
    }
    pub fn async_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, ASYNC_KW)
    }
    pub fn def_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, DEF_KW)
    }
    pub fn name(&self) -> Option<Name> {
        support::child(&self.syntax)
    }
    pub fn type_params(&self) -> Option<TypeParams> {
        support::child(&self.syntax)
    }
    pub fn param_list(&self) -> Option<ParamList> {
        support::child(&self.syntax)
    }
    pub fn thin_arrow_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, THIN_ARROW)
    }
    pub fn returns(&self) -> Option<Expr> {
        support::child(&self.syntax)
    }
    pub fn colon_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, COLON)
    }
    pub fn body(&self) -> Option<Block> {
        support::child(&self.syntax)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ClassDef {
    pub(crate) syntax: SyntaxNode,
}
impl AstNode for ClassDef {
    fn can_cast(kind: SyntaxKind) -> bool {
        kind == CLASS_DEF
    }
    fn cast(syntax: SyntaxNode) -> Option<Self> {
        Self::can_cast(syntax.kind()).then_some(Self { syntax })
    }
    fn syntax(&self) -> &SyntaxNode {
        &self.syntax
    }
}
impl ClassDef {
    pub fn decorators(&self) -> AstChildren<Decorator> {
        support::children(&self.syntax)
    }
    pub fn class_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, CLASS_KW)
    }
    pub fn name(&self) -> Option<Name> {
        support::child(&self.syntax)
    }
    pub fn type_params(&self) -> Option<TypeParams> {
        support::child(&self.syntax)
    }
    pub fn arg_list(&self) -> Option<ArgList> {
        support::child(&self.syntax)
    }
    pub fn colon_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, COLON)
    }
    pub fn body(&self) -> Option<Block> {
        support::child(&self.syntax)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct IfStmt {
    pub(crate) syntax: SyntaxNode,
}
impl AstNode for IfStmt {
    fn can_cast(kind: SyntaxKind) -> bool {
        kind == IF_STMT
    }
    fn cast(syntax: SyntaxNode) -> Option<Self> {
        Self::can_cast(syntax.kind()).then_some(Self { syntax })
    }
    fn syntax(&self) -> &SyntaxNode {
        &self.syntax
    }
}
impl IfStmt {
    pub fn if_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, IF_KW)
    }
    pub fn condition(&self) -> Option<Expr> {
        support::child(&self.syntax)
    }
    pub fn colon_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, COLON)
    }
    pub fn body(&self) -> Option<Block> {
        support::child(&self.syntax)
    }
    pub fn elif_clauses(&self) -> AstChildren<ElifClause> {
        support::children(&self.syntax)
    }
    pub fn else_clause(&self) -> Option<ElseClause> {
        support::child(&self.syntax)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ForStmt {
    pub(crate) syntax: SyntaxNode,
}
impl AstNode for ForStmt {
    fn can_cast(kind: SyntaxKind) -> bool {
        kind == FOR_STMT
    }
    fn cast(syntax: SyntaxNode) -> Option<Self> {
        Self::can_cast(syntax.kind()).then_some(Self { syntax })
    }
    fn syntax(&self) -> &SyntaxNode {
        &self.syntax
    }
}
impl ForStmt {
    pub fn async_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, ASYNC_KW)
    }
    pub fn for_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, FOR_KW)
    }
    pub fn in_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, IN_KW)
    }
    pub fn colon_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, COLON)
    }
    pub fn body(&self) -> Option<Block> {
        support::child(&self.syntax)
    }
    pub fn else_clause(&self) -> Option<ElseClause> {
        support::child(&self.syntax)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct WhileStmt {
    pub(crate) syntax: SyntaxNode,
}
impl AstNode for WhileStmt {
    fn can_cast(kind: SyntaxKind) -> bool {
        kind == WHILE_STMT
    }
    fn cast(syntax: SyntaxNode) -> Option<Self> {
        Self::can_cast(syntax.kind()).then_some(Self { syntax })
    }
    fn syntax(&self) -> &SyntaxNode {
        &self.syntax
    }
}
impl WhileStmt {
    pub fn while_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, WHILE_KW)
    }
    pub fn condition(&self) -> Option<Expr> {
        support::child(&self.syntax)
    }
    pub fn colon_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, COLON)
    }
    pub fn body(&self) -> Option<Block> {
        support::child(&self.syntax)
    }
    pub fn else_clause(&self) -> Option<ElseClause> {
        support::child(&self.syntax)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct WithStmt {
    pub(crate) syntax: SyntaxNode,
}
impl AstNode for WithStmt {
    fn can_cast(kind: SyntaxKind) -> bool {
        kind == WITH_STMT
    }
    fn cast(syntax: SyntaxNode) -> Option<Self> {
        Self::can_cast(syntax.kind()).then_some(Self { syntax })
    }
    fn syntax(&self) -> &SyntaxNode {
        &self.syntax
    }
}
impl WithStmt {
    pub fn async_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, ASYNC_KW)
    }
    pub fn with_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, WITH_KW)
    }
    pub fn l_paren_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, L_PAREN)
    }
    pub fn with_items(&self) -> AstChildren<WithItem> {
        support::children(&self.syntax)
    }
    pub fn comma_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, COMMA)
    }
    pub fn r_paren_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, R_PAREN)
    }
    pub fn colon_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, COLON)
    }
    pub fn body(&self) -> Option<Block> {
        support::child(&self.syntax)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TryStmt {
    pub(crate) syntax: SyntaxNode,
}
impl AstNode for TryStmt {
    fn can_cast(kind: SyntaxKind) -> bool {
        kind == TRY_STMT
    }
    fn cast(syntax: SyntaxNode) -> Option<Self> {
        Self::can_cast(syntax.kind()).then_some(Self { syntax })
    }
    fn syntax(&self) -> &SyntaxNode {
        &self.syntax
    }
}
impl TryStmt {
    pub fn try_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, TRY_KW)
    }
    pub fn colon_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, COLON)
    }
    pub fn body(&self) -> Option<Block> {
        support::child(&self.syntax)
    }
    pub fn except_clauses(&self) -> AstChildren<ExceptClause> {
        support::children(&self.syntax)
    }
    pub fn else_clause(&self) -> Option<ElseClause> {
        support::child(&self.syntax)
    }
    pub fn finally_clause(&self) -> Option<FinallyClause> {
        support::child(&self.syntax)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct MatchStmt {
    pub(crate) syntax: SyntaxNode,
}
impl AstNode for MatchStmt {
    fn can_cast(kind: SyntaxKind) -> bool {
        kind == MATCH_STMT
    }
    fn cast(syntax: SyntaxNode) -> Option<Self> {
        Self::can_cast(syntax.kind()).then_some(Self { syntax })
    }
    fn syntax(&self) -> &SyntaxNode {
        &self.syntax
    }
}
impl MatchStmt {
    pub fn match_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, MATCH_KW)
    }
    pub fn subject(&self) -> Option<Expr> {
        support::child(&self.syntax)
    }
    pub fn colon_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, COLON)
    }
    pub fn case_clauses(&self) -> AstChildren<CaseClause> {
        support::children(&self.syntax)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ErrorStmt {
    pub(crate) syntax: SyntaxNode,
}
impl AstNode for ErrorStmt {
    fn can_cast(kind: SyntaxKind) -> bool {
        kind == ERROR_STMT
    }
    fn cast(syntax: SyntaxNode) -> Option<Self> {
        Self::can_cast(syntax.kind()).then_some(Self { syntax })
    }
    fn syntax(&self) -> &SyntaxNode {
        &self.syntax
    }
}
impl ErrorStmt {
    pub fn exprs(&self) -> AstChildren<Expr> {
        support::children(&self.syntax)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum SmallStmt {
    ExprStmt(ExprStmt),
    AssignStmt(AssignStmt),
    AugAssignStmt(AugAssignStmt),
    AnnAssignStmt(AnnAssignStmt),
    ReturnStmt(ReturnStmt),
    PassStmt(PassStmt),
    BreakStmt(BreakStmt),
    ContinueStmt(ContinueStmt),
    AssertStmt(AssertStmt),
    DelStmt(DelStmt),
    RaiseStmt(RaiseStmt),
    ImportStmt(ImportStmt),
    ImportFromStmt(ImportFromStmt),
    GlobalStmt(GlobalStmt),
    NonlocalStmt(NonlocalStmt),
    TypeAliasStmt(TypeAliasStmt),
}
impl From<ExprStmt> for SmallStmt {
    fn from(node: ExprStmt) -> SmallStmt {
        SmallStmt::ExprStmt(node)
    }
}
impl From<AssignStmt> for SmallStmt {
    fn from(node: AssignStmt) -> SmallStmt {
        SmallStmt::AssignStmt(node)
    }
}
impl From<AugAssignStmt> for SmallStmt {
    fn from(node: AugAssignStmt) -> SmallStmt {
        SmallStmt::AugAssignStmt(node)
    }
}
impl From<AnnAssignStmt> for SmallStmt {
    fn from(node: AnnAssignStmt) -> SmallStmt {
        SmallStmt::AnnAssignStmt(node)
    }
}
impl From<ReturnStmt> for SmallStmt {
    fn from(node: ReturnStmt) -> SmallStmt {
        SmallStmt::ReturnStmt(node)
    }
}
impl From<PassStmt> for SmallStmt {
    fn from(node: PassStmt) -> SmallStmt {
        SmallStmt::PassStmt(node)
    }
}
impl From<BreakStmt> for SmallStmt {
    fn from(node: BreakStmt) -> SmallStmt {
        SmallStmt::BreakStmt(node)
    }
}
impl From<ContinueStmt> for SmallStmt {
    fn from(node: ContinueStmt) -> SmallStmt {
        SmallStmt::ContinueStmt(node)
    }
}
impl From<AssertStmt> for SmallStmt {
    fn from(node: AssertStmt) -> SmallStmt {
        SmallStmt::AssertStmt(node)
    }
}
impl From<DelStmt> for SmallStmt {
    fn from(node: DelStmt) -> SmallStmt {
        SmallStmt::DelStmt(node)
    }
}
impl From<RaiseStmt> for SmallStmt {
    fn from(node: RaiseStmt) -> SmallStmt {
        SmallStmt::RaiseStmt(node)
    }
}
impl From<ImportStmt> for SmallStmt {
    fn from(node: ImportStmt) -> SmallStmt {
        SmallStmt::ImportStmt(node)
    }
}
impl From<ImportFromStmt> for SmallStmt {
    fn from(node: ImportFromStmt) -> SmallStmt {
        SmallStmt::ImportFromStmt(node)
    }
}
impl From<GlobalStmt> for SmallStmt {
    fn from(node: GlobalStmt) -> SmallStmt {
        SmallStmt::GlobalStmt(node)
    }
}
impl From<NonlocalStmt> for SmallStmt {
    fn from(node: NonlocalStmt) -> SmallStmt {
        SmallStmt::NonlocalStmt(node)
    }
}
impl From<TypeAliasStmt> for SmallStmt {
    fn from(node: TypeAliasStmt) -> SmallStmt {
        SmallStmt::TypeAliasStmt(node)
    }
}
impl AstNode for SmallStmt {
    fn can_cast(kind: SyntaxKind) -> bool {
        matches!(
            kind,
            EXPR_STMT
                | ASSIGN_STMT
                | AUG_ASSIGN_STMT
                | ANN_ASSIGN_STMT
                | RETURN_STMT
                | PASS_STMT
                | BREAK_STMT
                | CONTINUE_STMT
                | ASSERT_STMT
                | DEL_STMT
                | RAISE_STMT
                | IMPORT_STMT
                | IMPORT_FROM_STMT
                | GLOBAL_STMT
                | NONLOCAL_STMT
                | TYPE_ALIAS_STMT
        )
    }
    fn cast(syntax: SyntaxNode) -> Option<Self> {
        Some(match syntax.kind() {
            EXPR_STMT => SmallStmt::ExprStmt(ExprStmt { syntax }),
            ASSIGN_STMT => SmallStmt::AssignStmt(AssignStmt { syntax }),
            AUG_ASSIGN_STMT => SmallStmt::AugAssignStmt(AugAssignStmt { syntax }),
            ANN_ASSIGN_STMT => SmallStmt::AnnAssignStmt(AnnAssignStmt { syntax }),
            RETURN_STMT => SmallStmt::ReturnStmt(ReturnStmt { syntax }),
            PASS_STMT => SmallStmt::PassStmt(PassStmt { syntax }),
            BREAK_STMT => SmallStmt::BreakStmt(BreakStmt { syntax }),
            CONTINUE_STMT => SmallStmt::ContinueStmt(ContinueStmt { syntax }),
            ASSERT_STMT => SmallStmt::AssertStmt(AssertStmt { syntax }),
            DEL_STMT => SmallStmt::DelStmt(DelStmt { syntax }),
            RAISE_STMT => SmallStmt::RaiseStmt(RaiseStmt { syntax }),
            IMPORT_STMT => SmallStmt::ImportStmt(ImportStmt { syntax }),
            IMPORT_FROM_STMT => SmallStmt::ImportFromStmt(ImportFromStmt { syntax }),
            GLOBAL_STMT => SmallStmt::GlobalStmt(GlobalStmt { syntax }),
            NONLOCAL_STMT => SmallStmt::NonlocalStmt(NonlocalStmt { syntax }),
            TYPE_ALIAS_STMT => SmallStmt::TypeAliasStmt(TypeAliasStmt { syntax }),
            _ => return None,
        })
    }
    fn syntax(&self) -> &SyntaxNode {
        match self {
            SmallStmt::ExprStmt(node) => node.syntax(),
            SmallStmt::AssignStmt(node) => node.syntax(),
            SmallStmt::AugAssignStmt(node) => node.syntax(),
            SmallStmt::AnnAssignStmt(node) => node.syntax(),
            SmallStmt::ReturnStmt(node) => node.syntax(),
            SmallStmt::PassStmt(node) => node.syntax(),
            SmallStmt::BreakStmt(node) => node.syntax(),
            SmallStmt::ContinueStmt(node) => node.syntax(),
            SmallStmt::AssertStmt(node) => node.syntax(),
            SmallStmt::DelStmt(node) => node.syntax(),
            SmallStmt::RaiseStmt(node) => node.syntax(),
            SmallStmt::ImportStmt(node) => node.syntax(),
            SmallStmt::ImportFromStmt(node) => node.syntax(),
            SmallStmt::GlobalStmt(node) => node.syntax(),
            SmallStmt::NonlocalStmt(node) => node.syntax(),
            SmallStmt::TypeAliasStmt(node) => node.syntax(),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ExprStmt {
    pub(crate) syntax: SyntaxNode,
}
impl AstNode for ExprStmt {
    fn can_cast(kind: SyntaxKind) -> bool {
        kind == EXPR_STMT
    }
    fn cast(syntax: SyntaxNode) -> Option<Self> {
        Self::can_cast(syntax.kind()).then_some(Self { syntax })
    }
    fn syntax(&self) -> &SyntaxNode {
        &self.syntax
    }
}
impl ExprStmt {
    pub fn expr(&self) -> Option<Expr> {
        support::child(&self.syntax)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct AssignStmt {
    pub(crate) syntax: SyntaxNode,
}
impl AstNode for AssignStmt {
    fn can_cast(kind: SyntaxKind) -> bool {
        kind == ASSIGN_STMT
    }
    fn cast(syntax: SyntaxNode) -> Option<Self> {
        Self::can_cast(syntax.kind()).then_some(Self { syntax })
    }
    fn syntax(&self) -> &SyntaxNode {
        &self.syntax
    }
}
impl AssignStmt {
    pub fn exprs(&self) -> AstChildren<Expr> {
        support::children(&self.syntax)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct AugAssignStmt {
    pub(crate) syntax: SyntaxNode,
}
impl AstNode for AugAssignStmt {
    fn can_cast(kind: SyntaxKind) -> bool {
        kind == AUG_ASSIGN_STMT
    }
    fn cast(syntax: SyntaxNode) -> Option<Self> {
        Self::can_cast(syntax.kind()).then_some(Self { syntax })
    }
    fn syntax(&self) -> &SyntaxNode {
        &self.syntax
    }
}
impl AugAssignStmt {
    pub fn op(&self) -> Option<AugOp> {
        support::child(&self.syntax)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct AnnAssignStmt {
    pub(crate) syntax: SyntaxNode,
}
impl AstNode for AnnAssignStmt {
    fn can_cast(kind: SyntaxKind) -> bool {
        kind == ANN_ASSIGN_STMT
    }
    fn cast(syntax: SyntaxNode) -> Option<Self> {
        Self::can_cast(syntax.kind()).then_some(Self { syntax })
    }
    fn syntax(&self) -> &SyntaxNode {
        &self.syntax
    }
}
impl AnnAssignStmt {
    pub fn colon_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, COLON)
    }
    pub fn eq_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, EQ)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ReturnStmt {
    pub(crate) syntax: SyntaxNode,
}
impl AstNode for ReturnStmt {
    fn can_cast(kind: SyntaxKind) -> bool {
        kind == RETURN_STMT
    }
    fn cast(syntax: SyntaxNode) -> Option<Self> {
        Self::can_cast(syntax.kind()).then_some(Self { syntax })
    }
    fn syntax(&self) -> &SyntaxNode {
        &self.syntax
    }
}
impl ReturnStmt {
    pub fn return_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, RETURN_KW)
    }
    pub fn expr(&self) -> Option<Expr> {
        support::child(&self.syntax)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PassStmt {
    pub(crate) syntax: SyntaxNode,
}
impl AstNode for PassStmt {
    fn can_cast(kind: SyntaxKind) -> bool {
        kind == PASS_STMT
    }
    fn cast(syntax: SyntaxNode) -> Option<Self> {
        Self::can_cast(syntax.kind()).then_some(Self { syntax })
    }
    fn syntax(&self) -> &SyntaxNode {
        &self.syntax
    }
}
impl PassStmt {
    pub fn pass_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, PASS_KW)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct BreakStmt {
    pub(crate) syntax: SyntaxNode,
}
impl AstNode for BreakStmt {
    fn can_cast(kind: SyntaxKind) -> bool {
        kind == BREAK_STMT
    }
    fn cast(syntax: SyntaxNode) -> Option<Self> {
        Self::can_cast(syntax.kind()).then_some(Self { syntax })
    }
    fn syntax(&self) -> &SyntaxNode {
        &self.syntax
    }
}
impl BreakStmt {
    pub fn break_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, BREAK_KW)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ContinueStmt {
    pub(crate) syntax: SyntaxNode,
}
impl AstNode for ContinueStmt {
    fn can_cast(kind: SyntaxKind) -> bool {
        kind == CONTINUE_STMT
    }
    fn cast(syntax: SyntaxNode) -> Option<Self> {
        Self::can_cast(syntax.kind()).then_some(Self { syntax })
    }
    fn syntax(&self) -> &SyntaxNode {
        &self.syntax
    }
}
impl ContinueStmt {
    pub fn continue_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, CONTINUE_KW)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct AssertStmt {
    pub(crate) syntax: SyntaxNode,
}
impl AstNode for AssertStmt {
    fn can_cast(kind: SyntaxKind) -> bool {
        kind == ASSERT_STMT
    }
    fn cast(syntax: SyntaxNode) -> Option<Self> {
        Self::can_cast(syntax.kind()).then_some(Self { syntax })
    }
    fn syntax(&self) -> &SyntaxNode {
        &self.syntax
    }
}
impl AssertStmt {
    pub fn assert_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, ASSERT_KW)
    }
    pub fn comma_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, COMMA)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DelStmt {
    pub(crate) syntax: SyntaxNode,
}
impl AstNode for DelStmt {
    fn can_cast(kind: SyntaxKind) -> bool {
        kind == DEL_STMT
    }
    fn cast(syntax: SyntaxNode) -> Option<Self> {
        Self::can_cast(syntax.kind()).then_some(Self { syntax })
    }
    fn syntax(&self) -> &SyntaxNode {
        &self.syntax
    }
}
impl DelStmt {
    pub fn del_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, DEL_KW)
    }
    pub fn expr(&self) -> Option<Expr> {
        support::child(&self.syntax)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RaiseStmt {
    pub(crate) syntax: SyntaxNode,
}
impl AstNode for RaiseStmt {
    fn can_cast(kind: SyntaxKind) -> bool {
        kind == RAISE_STMT
    }
    fn cast(syntax: SyntaxNode) -> Option<Self> {
        Self::can_cast(syntax.kind()).then_some(Self { syntax })
    }
    fn syntax(&self) -> &SyntaxNode {
        &self.syntax
    }
}
impl RaiseStmt {
    pub fn raise_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, RAISE_KW)
    }
    pub fn from_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, FROM_KW)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ImportStmt {
    pub(crate) syntax: SyntaxNode,
}
impl AstNode for ImportStmt {
    fn can_cast(kind: SyntaxKind) -> bool {
        kind == IMPORT_STMT
    }
    fn cast(syntax: SyntaxNode) -> Option<Self> {
        Self::can_cast(syntax.kind()).then_some(Self { syntax })
    }
    fn syntax(&self) -> &SyntaxNode {
        &self.syntax
    }
}
impl ImportStmt {
    pub fn import_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, IMPORT_KW)
    }
    pub fn import_aliases(&self) -> AstChildren<ImportAlias> {
        support::children(&self.syntax)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ImportFromStmt {
    pub(crate) syntax: SyntaxNode,
}
impl AstNode for ImportFromStmt {
    fn can_cast(kind: SyntaxKind) -> bool {
        kind == IMPORT_FROM_STMT
    }
    fn cast(syntax: SyntaxNode) -> Option<Self> {
        Self::can_cast(syntax.kind()).then_some(Self { syntax })
    }
    fn syntax(&self) -> &SyntaxNode {
        &self.syntax
    }
}
impl ImportFromStmt {
    pub fn from_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, FROM_KW)
    }
    pub fn dots(&self) -> Option<Dots> {
        support::child(&self.syntax)
    }
    pub fn module(&self) -> Option<DottedName> {
        support::child(&self.syntax)
    }
    pub fn import_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, IMPORT_KW)
    }
    pub fn star_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, STAR)
    }
    pub fn l_paren_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, L_PAREN)
    }
    pub fn import_aliases(&self) -> AstChildren<ImportAlias> {
        support::children(&self.syntax)
    }
    pub fn comma_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, COMMA)
    }
    pub fn r_paren_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, R_PAREN)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct GlobalStmt {
    pub(crate) syntax: SyntaxNode,
}
impl AstNode for GlobalStmt {
    fn can_cast(kind: SyntaxKind) -> bool {
        kind == GLOBAL_STMT
    }
    fn cast(syntax: SyntaxNode) -> Option<Self> {
        Self::can_cast(syntax.kind()).then_some(Self { syntax })
    }
    fn syntax(&self) -> &SyntaxNode {
        &self.syntax
    }
}
impl GlobalStmt {
    pub fn global_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, GLOBAL_KW)
    }
    pub fn names(&self) -> AstChildren<Name> {
        support::children(&self.syntax)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct NonlocalStmt {
    pub(crate) syntax: SyntaxNode,
}
impl AstNode for NonlocalStmt {
    fn can_cast(kind: SyntaxKind) -> bool {
        kind == NONLOCAL_STMT
    }
    fn cast(syntax: SyntaxNode) -> Option<Self> {
        Self::can_cast(syntax.kind()).then_some(Self { syntax })
    }
    fn syntax(&self) -> &SyntaxNode {
        &self.syntax
    }
}
impl NonlocalStmt {
    pub fn nonlocal_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, NONLOCAL_KW)
    }
    pub fn names(&self) -> AstChildren<Name> {
        support::children(&self.syntax)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TypeAliasStmt {
    pub(crate) syntax: SyntaxNode,
}
impl AstNode for TypeAliasStmt {
    fn can_cast(kind: SyntaxKind) -> bool {
        kind == TYPE_ALIAS_STMT
    }
    fn cast(syntax: SyntaxNode) -> Option<Self> {
        Self::can_cast(syntax.kind()).then_some(Self { syntax })
    }
    fn syntax(&self) -> &SyntaxNode {
        &self.syntax
    }
}
impl TypeAliasStmt {
    pub fn type_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, TYPE_KW)
    }
    pub fn name(&self) -> Option<Name> {
        support::child(&self.syntax)
    }
    pub fn type_params(&self) -> Option<TypeParams> {
        support::child(&self.syntax)
    }
    pub fn eq_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, EQ)
    }
    pub fn value(&self) -> Option<Expr> {
        support::child(&self.syntax)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Expr {
    NameExpr(NameExpr),
    LiteralExpr(LiteralExpr),
    StringExpr(StringExpr),
    ParenExpr(ParenExpr),
    TupleExpr(TupleExpr),
    ListExpr(ListExpr),
    SetExpr(SetExpr),
    DictExpr(DictExpr),
    ListComp(ListComp),
    SetComp(SetComp),
    DictComp(DictComp),
    GeneratorExpr(GeneratorExpr),
    UnaryExpr(UnaryExpr),
    BinaryExpr(BinaryExpr),
    BoolExpr(BoolExpr),
    CompareExpr(CompareExpr),
    IfExpr(IfExpr),
    LambdaExpr(LambdaExpr),
    NamedExpr(NamedExpr),
    AwaitExpr(AwaitExpr),
    YieldExpr(YieldExpr),
    CallExpr(CallExpr),
    AttributeExpr(AttributeExpr),
    SubscriptExpr(SubscriptExpr),
    SliceExpr(SliceExpr),
    StarredExpr(StarredExpr),
    ErrorExpr(ErrorExpr),
}
impl From<NameExpr> for Expr {
    fn from(node: NameExpr) -> Expr {
        Expr::NameExpr(node)
    }
}
impl From<LiteralExpr> for Expr {
    fn from(node: LiteralExpr) -> Expr {
        Expr::LiteralExpr(node)
    }
}
impl From<StringExpr> for Expr {
    fn from(node: StringExpr) -> Expr {
        Expr::StringExpr(node)
    }
}
impl From<ParenExpr> for Expr {
    fn from(node: ParenExpr) -> Expr {
        Expr::ParenExpr(node)
    }
}
impl From<TupleExpr> for Expr {
    fn from(node: TupleExpr) -> Expr {
        Expr::TupleExpr(node)
    }
}
impl From<ListExpr> for Expr {
    fn from(node: ListExpr) -> Expr {
        Expr::ListExpr(node)
    }
}
impl From<SetExpr> for Expr {
    fn from(node: SetExpr) -> Expr {
        Expr::SetExpr(node)
    }
}
impl From<DictExpr> for Expr {
    fn from(node: DictExpr) -> Expr {
        Expr::DictExpr(node)
    }
}
impl From<ListComp> for Expr {
    fn from(node: ListComp) -> Expr {
        Expr::ListComp(node)
    }
}
impl From<SetComp> for Expr {
    fn from(node: SetComp) -> Expr {
        Expr::SetComp(node)
    }
}
impl From<DictComp> for Expr {
    fn from(node: DictComp) -> Expr {
        Expr::DictComp(node)
    }
}
impl From<GeneratorExpr> for Expr {
    fn from(node: GeneratorExpr) -> Expr {
        Expr::GeneratorExpr(node)
    }
}
impl From<UnaryExpr> for Expr {
    fn from(node: UnaryExpr) -> Expr {
        Expr::UnaryExpr(node)
    }
}
impl From<BinaryExpr> for Expr {
    fn from(node: BinaryExpr) -> Expr {
        Expr::BinaryExpr(node)
    }
}
impl From<BoolExpr> for Expr {
    fn from(node: BoolExpr) -> Expr {
        Expr::BoolExpr(node)
    }
}
impl From<CompareExpr> for Expr {
    fn from(node: CompareExpr) -> Expr {
        Expr::CompareExpr(node)
    }
}
impl From<IfExpr> for Expr {
    fn from(node: IfExpr) -> Expr {
        Expr::IfExpr(node)
    }
}
impl From<LambdaExpr> for Expr {
    fn from(node: LambdaExpr) -> Expr {
        Expr::LambdaExpr(node)
    }
}
impl From<NamedExpr> for Expr {
    fn from(node: NamedExpr) -> Expr {
        Expr::NamedExpr(node)
    }
}
impl From<AwaitExpr> for Expr {
    fn from(node: AwaitExpr) -> Expr {
        Expr::AwaitExpr(node)
    }
}
impl From<YieldExpr> for Expr {
    fn from(node: YieldExpr) -> Expr {
        Expr::YieldExpr(node)
    }
}
impl From<CallExpr> for Expr {
    fn from(node: CallExpr) -> Expr {
        Expr::CallExpr(node)
    }
}
impl From<AttributeExpr> for Expr {
    fn from(node: AttributeExpr) -> Expr {
        Expr::AttributeExpr(node)
    }
}
impl From<SubscriptExpr> for Expr {
    fn from(node: SubscriptExpr) -> Expr {
        Expr::SubscriptExpr(node)
    }
}
impl From<SliceExpr> for Expr {
    fn from(node: SliceExpr) -> Expr {
        Expr::SliceExpr(node)
    }
}
impl From<StarredExpr> for Expr {
    fn from(node: StarredExpr) -> Expr {
        Expr::StarredExpr(node)
    }
}
impl From<ErrorExpr> for Expr {
    fn from(node: ErrorExpr) -> Expr {
        Expr::ErrorExpr(node)
    }
}
impl AstNode for Expr {
    fn can_cast(kind: SyntaxKind) -> bool {
        matches!(
            kind,
            NAME_EXPR
                | LITERAL_EXPR
                | STRING_EXPR
                | PAREN_EXPR
                | TUPLE_EXPR
                | LIST_EXPR
                | SET_EXPR
                | DICT_EXPR
                | LIST_COMP
                | SET_COMP
                | DICT_COMP
                | GENERATOR_EXPR
                | UNARY_EXPR
                | BINARY_EXPR
                | BOOL_EXPR
                | COMPARE_EXPR
                | IF_EXPR
                | LAMBDA_EXPR
                | NAMED_EXPR
                | AWAIT_EXPR
                | YIELD_EXPR
                | CALL_EXPR
                | ATTRIBUTE_EXPR
                | SUBSCRIPT_EXPR
                | SLICE_EXPR
                | STARRED_EXPR
                | ERROR_EXPR
        )
    }
    fn cast(syntax: SyntaxNode) -> Option<Self> {
        Some(match syntax.kind() {
            NAME_EXPR => Expr::NameExpr(NameExpr { syntax }),
            LITERAL_EXPR => Expr::LiteralExpr(LiteralExpr { syntax }),
            STRING_EXPR => Expr::StringExpr(StringExpr { syntax }),
            PAREN_EXPR => Expr::ParenExpr(ParenExpr { syntax }),
            TUPLE_EXPR => Expr::TupleExpr(TupleExpr { syntax }),
            LIST_EXPR => Expr::ListExpr(ListExpr { syntax }),
            SET_EXPR => Expr::SetExpr(SetExpr { syntax }),
            DICT_EXPR => Expr::DictExpr(DictExpr { syntax }),
            LIST_COMP => Expr::ListComp(ListComp { syntax }),
            SET_COMP => Expr::SetComp(SetComp { syntax }),
            DICT_COMP => Expr::DictComp(DictComp { syntax }),
            GENERATOR_EXPR => Expr::GeneratorExpr(GeneratorExpr { syntax }),
            UNARY_EXPR => Expr::UnaryExpr(UnaryExpr { syntax }),
            BINARY_EXPR => Expr::BinaryExpr(BinaryExpr { syntax }),
            BOOL_EXPR => Expr::BoolExpr(BoolExpr { syntax }),
            COMPARE_EXPR => Expr::CompareExpr(CompareExpr { syntax }),
            IF_EXPR => Expr::IfExpr(IfExpr { syntax }),
            LAMBDA_EXPR => Expr::LambdaExpr(LambdaExpr { syntax }),
            NAMED_EXPR => Expr::NamedExpr(NamedExpr { syntax }),
            AWAIT_EXPR => Expr::AwaitExpr(AwaitExpr { syntax }),
            YIELD_EXPR => Expr::YieldExpr(YieldExpr { syntax }),
            CALL_EXPR => Expr::CallExpr(CallExpr { syntax }),
            ATTRIBUTE_EXPR => Expr::AttributeExpr(AttributeExpr { syntax }),
            SUBSCRIPT_EXPR => Expr::SubscriptExpr(SubscriptExpr { syntax }),
            SLICE_EXPR => Expr::SliceExpr(SliceExpr { syntax }),
            STARRED_EXPR => Expr::StarredExpr(StarredExpr { syntax }),
            ERROR_EXPR => Expr::ErrorExpr(ErrorExpr { syntax }),
            _ => return None,
        })
    }
    fn syntax(&self) -> &SyntaxNode {
        match self {
            Expr::NameExpr(node) => node.syntax(),
            Expr::LiteralExpr(node) => node.syntax(),
            Expr::StringExpr(node) => node.syntax(),
            Expr::ParenExpr(node) => node.syntax(),
            Expr::TupleExpr(node) => node.syntax(),
            Expr::ListExpr(node) => node.syntax(),
            Expr::SetExpr(node) => node.syntax(),
            Expr::DictExpr(node) => node.syntax(),
            Expr::ListComp(node) => node.syntax(),
            Expr::SetComp(node) => node.syntax(),
            Expr::DictComp(node) => node.syntax(),
            Expr::GeneratorExpr(node) => node.syntax(),
            Expr::UnaryExpr(node) => node.syntax(),
            Expr::BinaryExpr(node) => node.syntax(),
            Expr::BoolExpr(node) => node.syntax(),
            Expr::CompareExpr(node) => node.syntax(),
            Expr::IfExpr(node) => node.syntax(),
            Expr::LambdaExpr(node) => node.syntax(),
            Expr::NamedExpr(node) => node.syntax(),
            Expr::AwaitExpr(node) => node.syntax(),
            Expr::YieldExpr(node) => node.syntax(),
            Expr::CallExpr(node) => node.syntax(),
            Expr::AttributeExpr(node) => node.syntax(),
            Expr::SubscriptExpr(node) => node.syntax(),
            Expr::SliceExpr(node) => node.syntax(),
            Expr::StarredExpr(node) => node.syntax(),
            Expr::ErrorExpr(node) => node.syntax(),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct AugOp {
    pub(crate) syntax: SyntaxNode,
}
impl AstNode for AugOp {
    fn can_cast(kind: SyntaxKind) -> bool {
        kind == AUG_OP
    }
    fn cast(syntax: SyntaxNode) -> Option<Self> {
        Self::can_cast(syntax.kind()).then_some(Self { syntax })
    }
    fn syntax(&self) -> &SyntaxNode {
        &self.syntax
    }
}
impl AugOp {
    pub fn plus_eq_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, PLUS_EQ)
    }
    pub fn minus_eq_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, MINUS_EQ)
    }
    pub fn star_eq_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, STAR_EQ)
    }
    pub fn slash_eq_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, SLASH_EQ)
    }
    pub fn slash2_eq_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, SLASH2_EQ)
    }
    pub fn percent_eq_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, PERCENT_EQ)
    }
    pub fn star2_eq_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, STAR2_EQ)
    }
    pub fn at_eq_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, AT_EQ)
    }
    pub fn amp_eq_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, AMP_EQ)
    }
    pub fn pipe_eq_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, PIPE_EQ)
    }
    pub fn caret_eq_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, CARET_EQ)
    }
    pub fn shl_eq_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, SHL_EQ)
    }
    pub fn shr_eq_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, SHR_EQ)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ImportAlias {
    pub(crate) syntax: SyntaxNode,
}
impl AstNode for ImportAlias {
    fn can_cast(kind: SyntaxKind) -> bool {
        kind == IMPORT_ALIAS
    }
    fn cast(syntax: SyntaxNode) -> Option<Self> {
        Self::can_cast(syntax.kind()).then_some(Self { syntax })
    }
    fn syntax(&self) -> &SyntaxNode {
        &self.syntax
    }
}
impl ImportAlias {
    pub fn path(&self) -> Option<DottedName> {
        support::child(&self.syntax)
    }
    pub fn as_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, AS_KW)
    }
    pub fn alias(&self) -> Option<Name> {
        support::child(&self.syntax)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Dots {
    pub(crate) syntax: SyntaxNode,
}
impl AstNode for Dots {
    fn can_cast(kind: SyntaxKind) -> bool {
        kind == DOTS
    }
    fn cast(syntax: SyntaxNode) -> Option<Self> {
        Self::can_cast(syntax.kind()).then_some(Self { syntax })
    }
    fn syntax(&self) -> &SyntaxNode {
        &self.syntax
    }
}
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DottedName {
    pub(crate) syntax: SyntaxNode,
}
impl AstNode for DottedName {
    fn can_cast(kind: SyntaxKind) -> bool {
        kind == DOTTED_NAME
    }
    fn cast(syntax: SyntaxNode) -> Option<Self> {
        Self::can_cast(syntax.kind()).then_some(Self { syntax })
    }
    fn syntax(&self) -> &SyntaxNode {
        &self.syntax
    }
}
impl DottedName {
    pub fn names(&self) -> AstChildren<Name> {
        support::children(&self.syntax)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Name {
    pub(crate) syntax: SyntaxNode,
}
impl AstNode for Name {
    fn can_cast(kind: SyntaxKind) -> bool {
        kind == NAME
    }
    fn cast(syntax: SyntaxNode) -> Option<Self> {
        Self::can_cast(syntax.kind()).then_some(Self { syntax })
    }
    fn syntax(&self) -> &SyntaxNode {
        &self.syntax
    }
}
impl Name {
    pub fn ident_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, IDENT)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TypeParams {
    pub(crate) syntax: SyntaxNode,
}
impl AstNode for TypeParams {
    fn can_cast(kind: SyntaxKind) -> bool {
        kind == TYPE_PARAMS
    }
    fn cast(syntax: SyntaxNode) -> Option<Self> {
        Self::can_cast(syntax.kind()).then_some(Self { syntax })
    }
    fn syntax(&self) -> &SyntaxNode {
        &self.syntax
    }
}
impl TypeParams {
    pub fn l_brack_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, L_BRACK)
    }
    pub fn type_params(&self) -> AstChildren<TypeParam> {
        support::children(&self.syntax)
    }
    pub fn comma_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, COMMA)
    }
    pub fn r_brack_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, R_BRACK)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Decorator {
    pub(crate) syntax: SyntaxNode,
}
impl AstNode for Decorator {
    fn can_cast(kind: SyntaxKind) -> bool {
        kind == DECORATOR
    }
    fn cast(syntax: SyntaxNode) -> Option<Self> {
        Self::can_cast(syntax.kind()).then_some(Self { syntax })
    }
    fn syntax(&self) -> &SyntaxNode {
        &self.syntax
    }
}
impl Decorator {
    pub fn at_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, AT)
    }
    pub fn expr(&self) -> Option<Expr> {
        support::child(&self.syntax)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ParamList {
    pub(crate) syntax: SyntaxNode,
}
impl AstNode for ParamList {
    fn can_cast(kind: SyntaxKind) -> bool {
        kind == PARAM_LIST
    }
    fn cast(syntax: SyntaxNode) -> Option<Self> {
        Self::can_cast(syntax.kind()).then_some(Self { syntax })
    }
    fn syntax(&self) -> &SyntaxNode {
        &self.syntax
    }
}
impl ParamList {
    pub fn l_paren_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, L_PAREN)
    }
    pub fn params(&self) -> AstChildren<Param> {
        support::children(&self.syntax)
    }
    pub fn comma_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, COMMA)
    }
    pub fn r_paren_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, R_PAREN)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Block {
    pub(crate) syntax: SyntaxNode,
}
impl AstNode for Block {
    fn can_cast(kind: SyntaxKind) -> bool {
        kind == BLOCK
    }
    fn cast(syntax: SyntaxNode) -> Option<Self> {
        Self::can_cast(syntax.kind()).then_some(Self { syntax })
    }
    fn syntax(&self) -> &SyntaxNode {
        &self.syntax
    }
}
impl Block {
    pub fn stmts(&self) -> AstChildren<Stmt> {
        support::children(&self.syntax)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ArgList {
    pub(crate) syntax: SyntaxNode,
}
impl AstNode for ArgList {
    fn can_cast(kind: SyntaxKind) -> bool {
        kind == ARG_LIST
    }
    fn cast(syntax: SyntaxNode) -> Option<Self> {
        Self::can_cast(syntax.kind()).then_some(Self { syntax })
    }
    fn syntax(&self) -> &SyntaxNode {
        &self.syntax
    }
}
impl ArgList {
    pub fn l_paren_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, L_PAREN)
    }
    pub fn args(&self) -> AstChildren<Arg> {
        support::children(&self.syntax)
    }
    pub fn comma_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, COMMA)
    }
    pub fn r_paren_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, R_PAREN)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TypeParam {
    pub(crate) syntax: SyntaxNode,
}
impl AstNode for TypeParam {
    fn can_cast(kind: SyntaxKind) -> bool {
        kind == TYPE_PARAM
    }
    fn cast(syntax: SyntaxNode) -> Option<Self> {
        Self::can_cast(syntax.kind()).then_some(Self { syntax })
    }
    fn syntax(&self) -> &SyntaxNode {
        &self.syntax
    }
}
impl TypeParam {
    pub fn star_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, STAR)
    }
    pub fn star2_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, STAR2)
    }
    pub fn name(&self) -> Option<Name> {
        support::child(&self.syntax)
    }
    pub fn colon_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, COLON)
    }
    pub fn eq_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, EQ)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Param {
    pub(crate) syntax: SyntaxNode,
}
impl AstNode for Param {
    fn can_cast(kind: SyntaxKind) -> bool {
        kind == PARAM
    }
    fn cast(syntax: SyntaxNode) -> Option<Self> {
        Self::can_cast(syntax.kind()).then_some(Self { syntax })
    }
    fn syntax(&self) -> &SyntaxNode {
        &self.syntax
    }
}
impl Param {
    pub fn star_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, STAR)
    }
    pub fn star2_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, STAR2)
    }
    pub fn slash_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, SLASH)
    }
    pub fn name(&self) -> Option<Name> {
        support::child(&self.syntax)
    }
    pub fn colon_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, COLON)
    }
    pub fn eq_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, EQ)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ElifClause {
    pub(crate) syntax: SyntaxNode,
}
impl AstNode for ElifClause {
    fn can_cast(kind: SyntaxKind) -> bool {
        kind == ELIF_CLAUSE
    }
    fn cast(syntax: SyntaxNode) -> Option<Self> {
        Self::can_cast(syntax.kind()).then_some(Self { syntax })
    }
    fn syntax(&self) -> &SyntaxNode {
        &self.syntax
    }
}
impl ElifClause {
    pub fn elif_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, ELIF_KW)
    }
    pub fn condition(&self) -> Option<Expr> {
        support::child(&self.syntax)
    }
    pub fn colon_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, COLON)
    }
    pub fn body(&self) -> Option<Block> {
        support::child(&self.syntax)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ElseClause {
    pub(crate) syntax: SyntaxNode,
}
impl AstNode for ElseClause {
    fn can_cast(kind: SyntaxKind) -> bool {
        kind == ELSE_CLAUSE
    }
    fn cast(syntax: SyntaxNode) -> Option<Self> {
        Self::can_cast(syntax.kind()).then_some(Self { syntax })
    }
    fn syntax(&self) -> &SyntaxNode {
        &self.syntax
    }
}
impl ElseClause {
    pub fn else_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, ELSE_KW)
    }
    pub fn colon_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, COLON)
    }
    pub fn body(&self) -> Option<Block> {
        support::child(&self.syntax)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct WithItem {
    pub(crate) syntax: SyntaxNode,
}
impl AstNode for WithItem {
    fn can_cast(kind: SyntaxKind) -> bool {
        kind == WITH_ITEM
    }
    fn cast(syntax: SyntaxNode) -> Option<Self> {
        Self::can_cast(syntax.kind()).then_some(Self { syntax })
    }
    fn syntax(&self) -> &SyntaxNode {
        &self.syntax
    }
}
impl WithItem {
    pub fn as_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, AS_KW)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ExceptClause {
    pub(crate) syntax: SyntaxNode,
}
impl AstNode for ExceptClause {
    fn can_cast(kind: SyntaxKind) -> bool {
        kind == EXCEPT_CLAUSE
    }
    fn cast(syntax: SyntaxNode) -> Option<Self> {
        Self::can_cast(syntax.kind()).then_some(Self { syntax })
    }
    fn syntax(&self) -> &SyntaxNode {
        &self.syntax
    }
}
impl ExceptClause {
    pub fn except_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, EXCEPT_KW)
    }
    pub fn star_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, STAR)
    }
    pub fn exception(&self) -> Option<Expr> {
        support::child(&self.syntax)
    }
    pub fn as_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, AS_KW)
    }
    pub fn name(&self) -> Option<Name> {
        support::child(&self.syntax)
    }
    pub fn colon_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, COLON)
    }
    pub fn body(&self) -> Option<Block> {
        support::child(&self.syntax)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FinallyClause {
    pub(crate) syntax: SyntaxNode,
}
impl AstNode for FinallyClause {
    fn can_cast(kind: SyntaxKind) -> bool {
        kind == FINALLY_CLAUSE
    }
    fn cast(syntax: SyntaxNode) -> Option<Self> {
        Self::can_cast(syntax.kind()).then_some(Self { syntax })
    }
    fn syntax(&self) -> &SyntaxNode {
        &self.syntax
    }
}
impl FinallyClause {
    pub fn finally_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, FINALLY_KW)
    }
    pub fn colon_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, COLON)
    }
    pub fn body(&self) -> Option<Block> {
        support::child(&self.syntax)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CaseClause {
    pub(crate) syntax: SyntaxNode,
}
impl AstNode for CaseClause {
    fn can_cast(kind: SyntaxKind) -> bool {
        kind == CASE_CLAUSE
    }
    fn cast(syntax: SyntaxNode) -> Option<Self> {
        Self::can_cast(syntax.kind()).then_some(Self { syntax })
    }
    fn syntax(&self) -> &SyntaxNode {
        &self.syntax
    }
}
impl CaseClause {
    pub fn case_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, CASE_KW)
    }
    pub fn pattern(&self) -> Option<Pattern> {
        support::child(&self.syntax)
    }
    pub fn if_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, IF_KW)
    }
    pub fn guard(&self) -> Option<Expr> {
        support::child(&self.syntax)
    }
    pub fn colon_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, COLON)
    }
    pub fn body(&self) -> Option<Block> {
        support::child(&self.syntax)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Pattern {
    pub(crate) syntax: SyntaxNode,
}
impl AstNode for Pattern {
    fn can_cast(kind: SyntaxKind) -> bool {
        kind == PATTERN
    }
    fn cast(syntax: SyntaxNode) -> Option<Self> {
        Self::can_cast(syntax.kind()).then_some(Self { syntax })
    }
    fn syntax(&self) -> &SyntaxNode {
        &self.syntax
    }
}
impl Pattern {
    pub fn exprs(&self) -> AstChildren<Expr> {
        support::children(&self.syntax)
    }
    pub fn patterns(&self) -> AstChildren<Pattern> {
        support::children(&self.syntax)
    }
    pub fn as_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, AS_KW)
    }
    pub fn name(&self) -> Option<Name> {
        support::child(&self.syntax)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct NameExpr {
    pub(crate) syntax: SyntaxNode,
}
impl AstNode for NameExpr {
    fn can_cast(kind: SyntaxKind) -> bool {
        kind == NAME_EXPR
    }
    fn cast(syntax: SyntaxNode) -> Option<Self> {
        Self::can_cast(syntax.kind()).then_some(Self { syntax })
    }
    fn syntax(&self) -> &SyntaxNode {
        &self.syntax
    }
}
impl NameExpr {
    pub fn name(&self) -> Option<Name> {
        support::child(&self.syntax)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LiteralExpr {
    pub(crate) syntax: SyntaxNode,
}
impl AstNode for LiteralExpr {
    fn can_cast(kind: SyntaxKind) -> bool {
        kind == LITERAL_EXPR
    }
    fn cast(syntax: SyntaxNode) -> Option<Self> {
        Self::can_cast(syntax.kind()).then_some(Self { syntax })
    }
    fn syntax(&self) -> &SyntaxNode {
        &self.syntax
    }
}
impl LiteralExpr {
    pub fn int_number_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, INT_NUMBER)
    }
    pub fn float_number_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, FLOAT_NUMBER)
    }
    pub fn imaginary_number_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, IMAGINARY_NUMBER)
    }
    pub fn true_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, TRUE_KW)
    }
    pub fn false_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, FALSE_KW)
    }
    pub fn none_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, NONE_KW)
    }
    pub fn ellipsis_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, ELLIPSIS)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct StringExpr {
    pub(crate) syntax: SyntaxNode,
}
impl AstNode for StringExpr {
    fn can_cast(kind: SyntaxKind) -> bool {
        kind == STRING_EXPR
    }
    fn cast(syntax: SyntaxNode) -> Option<Self> {
        Self::can_cast(syntax.kind()).then_some(Self { syntax })
    }
    fn syntax(&self) -> &SyntaxNode {
        &self.syntax
    }
}
impl StringExpr {
    pub fn string_parts(&self) -> AstChildren<StringPart> {
        support::children(&self.syntax)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ParenExpr {
    pub(crate) syntax: SyntaxNode,
}
impl AstNode for ParenExpr {
    fn can_cast(kind: SyntaxKind) -> bool {
        kind == PAREN_EXPR
    }
    fn cast(syntax: SyntaxNode) -> Option<Self> {
        Self::can_cast(syntax.kind()).then_some(Self { syntax })
    }
    fn syntax(&self) -> &SyntaxNode {
        &self.syntax
    }
}
impl ParenExpr {
    pub fn l_paren_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, L_PAREN)
    }
    pub fn expr(&self) -> Option<Expr> {
        support::child(&self.syntax)
    }
    pub fn r_paren_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, R_PAREN)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TupleExpr {
    pub(crate) syntax: SyntaxNode,
}
impl AstNode for TupleExpr {
    fn can_cast(kind: SyntaxKind) -> bool {
        kind == TUPLE_EXPR
    }
    fn cast(syntax: SyntaxNode) -> Option<Self> {
        Self::can_cast(syntax.kind()).then_some(Self { syntax })
    }
    fn syntax(&self) -> &SyntaxNode {
        &self.syntax
    }
}
impl TupleExpr {
    pub fn l_paren_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, L_PAREN)
    }
    pub fn exprs(&self) -> AstChildren<Expr> {
        support::children(&self.syntax)
    }
    pub fn r_paren_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, R_PAREN)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ListExpr {
    pub(crate) syntax: SyntaxNode,
}
impl AstNode for ListExpr {
    fn can_cast(kind: SyntaxKind) -> bool {
        kind == LIST_EXPR
    }
    fn cast(syntax: SyntaxNode) -> Option<Self> {
        Self::can_cast(syntax.kind()).then_some(Self { syntax })
    }
    fn syntax(&self) -> &SyntaxNode {
        &self.syntax
    }
}
impl ListExpr {
    pub fn l_brack_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, L_BRACK)
    }
    pub fn exprs(&self) -> AstChildren<Expr> {
        support::children(&self.syntax)
    }
    pub fn r_brack_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, R_BRACK)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SetExpr {
    pub(crate) syntax: SyntaxNode,
}
impl AstNode for SetExpr {
    fn can_cast(kind: SyntaxKind) -> bool {
        kind == SET_EXPR
    }
    fn cast(syntax: SyntaxNode) -> Option<Self> {
        Self::can_cast(syntax.kind()).then_some(Self { syntax })
    }
    fn syntax(&self) -> &SyntaxNode {
        &self.syntax
    }
}
impl SetExpr {
    pub fn l_curly_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, L_CURLY)
    }
    pub fn exprs(&self) -> AstChildren<Expr> {
        support::children(&self.syntax)
    }
    pub fn r_curly_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, R_CURLY)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DictExpr {
    pub(crate) syntax: SyntaxNode,
}
impl AstNode for DictExpr {
    fn can_cast(kind: SyntaxKind) -> bool {
        kind == DICT_EXPR
    }
    fn cast(syntax: SyntaxNode) -> Option<Self> {
        Self::can_cast(syntax.kind()).then_some(Self { syntax })
    }
    fn syntax(&self) -> &SyntaxNode {
        &self.syntax
    }
}
impl DictExpr {
    pub fn l_curly_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, L_CURLY)
    }
    pub fn dict_items(&self) -> AstChildren<DictItem> {
        support::children(&self.syntax)
    }
    pub fn r_curly_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, R_CURLY)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ListComp {
    pub(crate) syntax: SyntaxNode,
}
impl AstNode for ListComp {
    fn can_cast(kind: SyntaxKind) -> bool {
        kind == LIST_COMP
    }
    fn cast(syntax: SyntaxNode) -> Option<Self> {
        Self::can_cast(syntax.kind()).then_some(Self { syntax })
    }
    fn syntax(&self) -> &SyntaxNode {
        &self.syntax
    }
}
impl ListComp {
    pub fn l_brack_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, L_BRACK)
    }
    pub fn element(&self) -> Option<Expr> {
        support::child(&self.syntax)
    }
    pub fn comp_clauses(&self) -> AstChildren<CompClause> {
        support::children(&self.syntax)
    }
    pub fn r_brack_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, R_BRACK)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SetComp {
    pub(crate) syntax: SyntaxNode,
}
impl AstNode for SetComp {
    fn can_cast(kind: SyntaxKind) -> bool {
        kind == SET_COMP
    }
    fn cast(syntax: SyntaxNode) -> Option<Self> {
        Self::can_cast(syntax.kind()).then_some(Self { syntax })
    }
    fn syntax(&self) -> &SyntaxNode {
        &self.syntax
    }
}
impl SetComp {
    pub fn l_curly_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, L_CURLY)
    }
    pub fn element(&self) -> Option<Expr> {
        support::child(&self.syntax)
    }
    pub fn comp_clauses(&self) -> AstChildren<CompClause> {
        support::children(&self.syntax)
    }
    pub fn r_curly_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, R_CURLY)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DictComp {
    pub(crate) syntax: SyntaxNode,
}
impl AstNode for DictComp {
    fn can_cast(kind: SyntaxKind) -> bool {
        kind == DICT_COMP
    }
    fn cast(syntax: SyntaxNode) -> Option<Self> {
        Self::can_cast(syntax.kind()).then_some(Self { syntax })
    }
    fn syntax(&self) -> &SyntaxNode {
        &self.syntax
    }
}
impl DictComp {
    pub fn l_curly_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, L_CURLY)
    }
    pub fn item(&self) -> Option<DictItem> {
        support::child(&self.syntax)
    }
    pub fn comp_clauses(&self) -> AstChildren<CompClause> {
        support::children(&self.syntax)
    }
    pub fn r_curly_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, R_CURLY)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct GeneratorExpr {
    pub(crate) syntax: SyntaxNode,
}
impl AstNode for GeneratorExpr {
    fn can_cast(kind: SyntaxKind) -> bool {
        kind == GENERATOR_EXPR
    }
    fn cast(syntax: SyntaxNode) -> Option<Self> {
        Self::can_cast(syntax.kind()).then_some(Self { syntax })
    }
    fn syntax(&self) -> &SyntaxNode {
        &self.syntax
    }
}
impl GeneratorExpr {
    pub fn l_paren_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, L_PAREN)
    }
    pub fn element(&self) -> Option<Expr> {
        support::child(&self.syntax)
    }
    pub fn comp_clauses(&self) -> AstChildren<CompClause> {
        support::children(&self.syntax)
    }
    pub fn r_paren_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, R_PAREN)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct UnaryExpr {
    pub(crate) syntax: SyntaxNode,
}
impl AstNode for UnaryExpr {
    fn can_cast(kind: SyntaxKind) -> bool {
        kind == UNARY_EXPR
    }
    fn cast(syntax: SyntaxNode) -> Option<Self> {
        Self::can_cast(syntax.kind()).then_some(Self { syntax })
    }
    fn syntax(&self) -> &SyntaxNode {
        &self.syntax
    }
}
impl UnaryExpr {
    pub fn minus_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, MINUS)
    }
    pub fn plus_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, PLUS)
    }
    pub fn tilde_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, TILDE)
    }
    pub fn not_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, NOT_KW)
    }
    pub fn operand(&self) -> Option<Expr> {
        support::child(&self.syntax)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct BinaryExpr {
    pub(crate) syntax: SyntaxNode,
}
impl AstNode for BinaryExpr {
    fn can_cast(kind: SyntaxKind) -> bool {
        kind == BINARY_EXPR
    }
    fn cast(syntax: SyntaxNode) -> Option<Self> {
        Self::can_cast(syntax.kind()).then_some(Self { syntax })
    }
    fn syntax(&self) -> &SyntaxNode {
        &self.syntax
    }
}
impl BinaryExpr {
    pub fn plus_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, PLUS)
    }
    pub fn minus_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, MINUS)
    }
    pub fn star_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, STAR)
    }
    pub fn slash_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, SLASH)
    }
    pub fn slash2_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, SLASH2)
    }
    pub fn percent_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, PERCENT)
    }
    pub fn star2_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, STAR2)
    }
    pub fn at_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, AT)
    }
    pub fn amp_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, AMP)
    }
    pub fn pipe_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, PIPE)
    }
    pub fn caret_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, CARET)
    }
    pub fn shl_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, SHL)
    }
    pub fn shr_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, SHR)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct BoolExpr {
    pub(crate) syntax: SyntaxNode,
}
impl AstNode for BoolExpr {
    fn can_cast(kind: SyntaxKind) -> bool {
        kind == BOOL_EXPR
    }
    fn cast(syntax: SyntaxNode) -> Option<Self> {
        Self::can_cast(syntax.kind()).then_some(Self { syntax })
    }
    fn syntax(&self) -> &SyntaxNode {
        &self.syntax
    }
}
impl BoolExpr {
    pub fn and_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, AND_KW)
    }
    pub fn or_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, OR_KW)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CompareExpr {
    pub(crate) syntax: SyntaxNode,
}
impl AstNode for CompareExpr {
    fn can_cast(kind: SyntaxKind) -> bool {
        kind == COMPARE_EXPR
    }
    fn cast(syntax: SyntaxNode) -> Option<Self> {
        Self::can_cast(syntax.kind()).then_some(Self { syntax })
    }
    fn syntax(&self) -> &SyntaxNode {
        &self.syntax
    }
}
impl CompareExpr {
    pub fn exprs(&self) -> AstChildren<Expr> {
        support::children(&self.syntax)
    }
    pub fn compare_ops(&self) -> AstChildren<CompareOp> {
        support::children(&self.syntax)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct IfExpr {
    pub(crate) syntax: SyntaxNode,
}
impl AstNode for IfExpr {
    fn can_cast(kind: SyntaxKind) -> bool {
        kind == IF_EXPR
    }
    fn cast(syntax: SyntaxNode) -> Option<Self> {
        Self::can_cast(syntax.kind()).then_some(Self { syntax })
    }
    fn syntax(&self) -> &SyntaxNode {
        &self.syntax
    }
}
impl IfExpr {
    pub fn if_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, IF_KW)
    }
    pub fn else_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, ELSE_KW)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LambdaExpr {
    pub(crate) syntax: SyntaxNode,
}
impl AstNode for LambdaExpr {
    fn can_cast(kind: SyntaxKind) -> bool {
        kind == LAMBDA_EXPR
    }
    fn cast(syntax: SyntaxNode) -> Option<Self> {
        Self::can_cast(syntax.kind()).then_some(Self { syntax })
    }
    fn syntax(&self) -> &SyntaxNode {
        &self.syntax
    }
}
impl LambdaExpr {
    pub fn lambda_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, LAMBDA_KW)
    }
    pub fn lambda_params(&self) -> Option<LambdaParams> {
        support::child(&self.syntax)
    }
    pub fn colon_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, COLON)
    }
    pub fn body(&self) -> Option<Expr> {
        support::child(&self.syntax)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct NamedExpr {
    pub(crate) syntax: SyntaxNode,
}
impl AstNode for NamedExpr {
    fn can_cast(kind: SyntaxKind) -> bool {
        kind == NAMED_EXPR
    }
    fn cast(syntax: SyntaxNode) -> Option<Self> {
        Self::can_cast(syntax.kind()).then_some(Self { syntax })
    }
    fn syntax(&self) -> &SyntaxNode {
        &self.syntax
    }
}
impl NamedExpr {
    pub fn name(&self) -> Option<Name> {
        support::child(&self.syntax)
    }
    pub fn colon_eq_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, COLON_EQ)
    }
    pub fn value(&self) -> Option<Expr> {
        support::child(&self.syntax)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct AwaitExpr {
    pub(crate) syntax: SyntaxNode,
}
impl AstNode for AwaitExpr {
    fn can_cast(kind: SyntaxKind) -> bool {
        kind == AWAIT_EXPR
    }
    fn cast(syntax: SyntaxNode) -> Option<Self> {
        Self::can_cast(syntax.kind()).then_some(Self { syntax })
    }
    fn syntax(&self) -> &SyntaxNode {
        &self.syntax
    }
}
impl AwaitExpr {
    pub fn await_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, AWAIT_KW)
    }
    pub fn expr(&self) -> Option<Expr> {
        support::child(&self.syntax)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct YieldExpr {
    pub(crate) syntax: SyntaxNode,
}
impl AstNode for YieldExpr {
    fn can_cast(kind: SyntaxKind) -> bool {
        kind == YIELD_EXPR
    }
    fn cast(syntax: SyntaxNode) -> Option<Self> {
        Self::can_cast(syntax.kind()).then_some(Self { syntax })
    }
    fn syntax(&self) -> &SyntaxNode {
        &self.syntax
    }
}
impl YieldExpr {
    pub fn yield_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, YIELD_KW)
    }
    pub fn from_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, FROM_KW)
    }
    pub fn expr(&self) -> Option<Expr> {
        support::child(&self.syntax)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CallExpr {
    pub(crate) syntax: SyntaxNode,
}
impl AstNode for CallExpr {
    fn can_cast(kind: SyntaxKind) -> bool {
        kind == CALL_EXPR
    }
    fn cast(syntax: SyntaxNode) -> Option<Self> {
        Self::can_cast(syntax.kind()).then_some(Self { syntax })
    }
    fn syntax(&self) -> &SyntaxNode {
        &self.syntax
    }
}
impl CallExpr {
    pub fn callee(&self) -> Option<Expr> {
        support::child(&self.syntax)
    }
    pub fn arg_list(&self) -> Option<ArgList> {
        support::child(&self.syntax)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct AttributeExpr {
    pub(crate) syntax: SyntaxNode,
}
impl AstNode for AttributeExpr {
    fn can_cast(kind: SyntaxKind) -> bool {
        kind == ATTRIBUTE_EXPR
    }
    fn cast(syntax: SyntaxNode) -> Option<Self> {
        Self::can_cast(syntax.kind()).then_some(Self { syntax })
    }
    fn syntax(&self) -> &SyntaxNode {
        &self.syntax
    }
}
impl AttributeExpr {
    pub fn receiver(&self) -> Option<Expr> {
        support::child(&self.syntax)
    }
    pub fn dot_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, DOT)
    }
    pub fn name(&self) -> Option<Name> {
        support::child(&self.syntax)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SubscriptExpr {
    pub(crate) syntax: SyntaxNode,
}
impl AstNode for SubscriptExpr {
    fn can_cast(kind: SyntaxKind) -> bool {
        kind == SUBSCRIPT_EXPR
    }
    fn cast(syntax: SyntaxNode) -> Option<Self> {
        Self::can_cast(syntax.kind()).then_some(Self { syntax })
    }
    fn syntax(&self) -> &SyntaxNode {
        &self.syntax
    }
}
impl SubscriptExpr {
    pub fn l_brack_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, L_BRACK)
    }
    pub fn r_brack_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, R_BRACK)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SliceExpr {
    pub(crate) syntax: SyntaxNode,
}
impl AstNode for SliceExpr {
    fn can_cast(kind: SyntaxKind) -> bool {
        kind == SLICE_EXPR
    }
    fn cast(syntax: SyntaxNode) -> Option<Self> {
        Self::can_cast(syntax.kind()).then_some(Self { syntax })
    }
    fn syntax(&self) -> &SyntaxNode {
        &self.syntax
    }
}
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct StarredExpr {
    pub(crate) syntax: SyntaxNode,
}
impl AstNode for StarredExpr {
    fn can_cast(kind: SyntaxKind) -> bool {
        kind == STARRED_EXPR
    }
    fn cast(syntax: SyntaxNode) -> Option<Self> {
        Self::can_cast(syntax.kind()).then_some(Self { syntax })
    }
    fn syntax(&self) -> &SyntaxNode {
        &self.syntax
    }
}
impl StarredExpr {
    pub fn star_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, STAR)
    }
    pub fn expr(&self) -> Option<Expr> {
        support::child(&self.syntax)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ErrorExpr {
    pub(crate) syntax: SyntaxNode,
}
impl AstNode for ErrorExpr {
    fn can_cast(kind: SyntaxKind) -> bool {
        kind == ERROR_EXPR
    }
    fn cast(syntax: SyntaxNode) -> Option<Self> {
        Self::can_cast(syntax.kind()).then_some(Self { syntax })
    }
    fn syntax(&self) -> &SyntaxNode {
        &self.syntax
    }
}
impl ErrorExpr {
    pub fn exprs(&self) -> AstChildren<Expr> {
        support::children(&self.syntax)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum StringPart {
    StringLiteral(StringLiteral),
    FString(FString),
}
impl From<StringLiteral> for StringPart {
    fn from(node: StringLiteral) -> StringPart {
        StringPart::StringLiteral(node)
    }
}
impl From<FString> for StringPart {
    fn from(node: FString) -> StringPart {
        StringPart::FString(node)
    }
}
impl AstNode for StringPart {
    fn can_cast(kind: SyntaxKind) -> bool {
        matches!(kind, STRING_LITERAL | FSTRING)
    }
    fn cast(syntax: SyntaxNode) -> Option<Self> {
        Some(match syntax.kind() {
            STRING_LITERAL => StringPart::StringLiteral(StringLiteral { syntax }),
            FSTRING => StringPart::FString(FString { syntax }),
            _ => return None,
        })
    }
    fn syntax(&self) -> &SyntaxNode {
        match self {
            StringPart::StringLiteral(node) => node.syntax(),
            StringPart::FString(node) => node.syntax(),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct StringLiteral {
    pub(crate) syntax: SyntaxNode,
}
impl AstNode for StringLiteral {
    fn can_cast(kind: SyntaxKind) -> bool {
        kind == STRING_LITERAL
    }
    fn cast(syntax: SyntaxNode) -> Option<Self> {
        Self::can_cast(syntax.kind()).then_some(Self { syntax })
    }
    fn syntax(&self) -> &SyntaxNode {
        &self.syntax
    }
}
impl StringLiteral {
    pub fn string_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, STRING)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FString {
    pub(crate) syntax: SyntaxNode,
}
impl AstNode for FString {
    fn can_cast(kind: SyntaxKind) -> bool {
        kind == FSTRING
    }
    fn cast(syntax: SyntaxNode) -> Option<Self> {
        Self::can_cast(syntax.kind()).then_some(Self { syntax })
    }
    fn syntax(&self) -> &SyntaxNode {
        &self.syntax
    }
}
impl FString {
    pub fn fstring_start_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, FSTRING_START)
    }
    pub fn replacements(&self) -> AstChildren<Replacement> {
        support::children(&self.syntax)
    }
    pub fn fstring_end_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, FSTRING_END)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Replacement {
    pub(crate) syntax: SyntaxNode,
}
impl AstNode for Replacement {
    fn can_cast(kind: SyntaxKind) -> bool {
        kind == REPLACEMENT
    }
    fn cast(syntax: SyntaxNode) -> Option<Self> {
        Self::can_cast(syntax.kind()).then_some(Self { syntax })
    }
    fn syntax(&self) -> &SyntaxNode {
        &self.syntax
    }
}
impl Replacement {
    pub fn l_curly_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, L_CURLY)
    }
    pub fn value(&self) -> Option<Expr> {
        support::child(&self.syntax)
    }
    pub fn eq_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, EQ)
    }
    pub fn bang_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, BANG)
    }
    pub fn conversion(&self) -> Option<Name> {
        support::child(&self.syntax)
    }
    pub fn format_spec(&self) -> Option<FormatSpec> {
        support::child(&self.syntax)
    }
    pub fn r_curly_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, R_CURLY)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FormatSpec {
    pub(crate) syntax: SyntaxNode,
}
impl AstNode for FormatSpec {
    fn can_cast(kind: SyntaxKind) -> bool {
        kind == FORMAT_SPEC
    }
    fn cast(syntax: SyntaxNode) -> Option<Self> {
        Self::can_cast(syntax.kind()).then_some(Self { syntax })
    }
    fn syntax(&self) -> &SyntaxNode {
        &self.syntax
    }
}
impl FormatSpec {
    pub fn colon_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, COLON)
    }
    pub fn replacements(&self) -> AstChildren<Replacement> {
        support::children(&self.syntax)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DictItem {
    pub(crate) syntax: SyntaxNode,
}
impl AstNode for DictItem {
    fn can_cast(kind: SyntaxKind) -> bool {
        kind == DICT_ITEM
    }
    fn cast(syntax: SyntaxNode) -> Option<Self> {
        Self::can_cast(syntax.kind()).then_some(Self { syntax })
    }
    fn syntax(&self) -> &SyntaxNode {
        &self.syntax
    }
}
impl DictItem {
    pub fn star2_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, STAR2)
    }
    pub fn colon_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, COLON)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum CompClause {
    CompFor(CompFor),
    CompIf(CompIf),
}
impl From<CompFor> for CompClause {
    fn from(node: CompFor) -> CompClause {
        CompClause::CompFor(node)
    }
}
impl From<CompIf> for CompClause {
    fn from(node: CompIf) -> CompClause {
        CompClause::CompIf(node)
    }
}
impl AstNode for CompClause {
    fn can_cast(kind: SyntaxKind) -> bool {
        matches!(kind, COMP_FOR | COMP_IF)
    }
    fn cast(syntax: SyntaxNode) -> Option<Self> {
        Some(match syntax.kind() {
            COMP_FOR => CompClause::CompFor(CompFor { syntax }),
            COMP_IF => CompClause::CompIf(CompIf { syntax }),
            _ => return None,
        })
    }
    fn syntax(&self) -> &SyntaxNode {
        match self {
            CompClause::CompFor(node) => node.syntax(),
            CompClause::CompIf(node) => node.syntax(),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CompFor {
    pub(crate) syntax: SyntaxNode,
}
impl AstNode for CompFor {
    fn can_cast(kind: SyntaxKind) -> bool {
        kind == COMP_FOR
    }
    fn cast(syntax: SyntaxNode) -> Option<Self> {
        Self::can_cast(syntax.kind()).then_some(Self { syntax })
    }
    fn syntax(&self) -> &SyntaxNode {
        &self.syntax
    }
}
impl CompFor {
    pub fn async_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, ASYNC_KW)
    }
    pub fn for_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, FOR_KW)
    }
    pub fn in_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, IN_KW)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CompIf {
    pub(crate) syntax: SyntaxNode,
}
impl AstNode for CompIf {
    fn can_cast(kind: SyntaxKind) -> bool {
        kind == COMP_IF
    }
    fn cast(syntax: SyntaxNode) -> Option<Self> {
        Self::can_cast(syntax.kind()).then_some(Self { syntax })
    }
    fn syntax(&self) -> &SyntaxNode {
        &self.syntax
    }
}
impl CompIf {
    pub fn if_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, IF_KW)
    }
    pub fn condition(&self) -> Option<Expr> {
        support::child(&self.syntax)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CompareOp {
    pub(crate) syntax: SyntaxNode,
}
impl AstNode for CompareOp {
    fn can_cast(kind: SyntaxKind) -> bool {
        kind == COMPARE_OP
    }
    fn cast(syntax: SyntaxNode) -> Option<Self> {
        Self::can_cast(syntax.kind()).then_some(Self { syntax })
    }
    fn syntax(&self) -> &SyntaxNode {
        &self.syntax
    }
}
impl CompareOp {
    pub fn less_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, LESS)
    }
    pub fn greater_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, GREATER)
    }
    pub fn less_eq_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, LESS_EQ)
    }
    pub fn greater_eq_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, GREATER_EQ)
    }
    pub fn eq2_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, EQ2)
    }
    pub fn not_eq_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, NOT_EQ)
    }
    pub fn is_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, IS_KW)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LambdaParams {
    pub(crate) syntax: SyntaxNode,
}
impl AstNode for LambdaParams {
    fn can_cast(kind: SyntaxKind) -> bool {
        kind == LAMBDA_PARAMS
    }
    fn cast(syntax: SyntaxNode) -> Option<Self> {
        Self::can_cast(syntax.kind()).then_some(Self { syntax })
    }
    fn syntax(&self) -> &SyntaxNode {
        &self.syntax
    }
}
impl LambdaParams {
    pub fn params(&self) -> AstChildren<Param> {
        support::children(&self.syntax)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Arg {
    pub(crate) syntax: SyntaxNode,
}
impl AstNode for Arg {
    fn can_cast(kind: SyntaxKind) -> bool {
        kind == ARG
    }
    fn cast(syntax: SyntaxNode) -> Option<Self> {
        Self::can_cast(syntax.kind()).then_some(Self { syntax })
    }
    fn syntax(&self) -> &SyntaxNode {
        &self.syntax
    }
}
impl Arg {
    pub fn star_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, STAR)
    }
    pub fn star2_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, STAR2)
    }
    pub fn name(&self) -> Option<Name> {
        support::child(&self.syntax)
    }
    pub fn eq_token(&self) -> Option<SyntaxToken> {
        support::token(&self.syntax, EQ)
    }
    pub fn value(&self) -> Option<Expr> {
        support::child(&self.syntax)
    }
}
