//! Every kind of token and node.
//!
//! **Generated from `python.ungram` by `cargo xtask codegen`; do not edit.**

/// The kind of a token or a node.
#[allow(non_camel_case_types)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u16)]
pub enum SyntaxKind {
    /// Spaces, joined lines, blank lines and line ends inside brackets.
    WHITESPACE,
    /// From `#` to the end of the line.
    COMMENT,
    /// The end of a logical line.
    NEWLINE,
    /// A character that starts no token.
    ERROR_TOKEN,
    /// Parser input only: a block opens here.
    INDENT,
    /// Parser input only: a block closes here.
    DEDENT,
    /// Parser input only: the end of the text.
    EOF,
    IDENT,
    INT_NUMBER,
    FLOAT_NUMBER,
    IMAGINARY_NUMBER,
    STRING,
    FSTRING_START,
    FSTRING_TEXT,
    FSTRING_END,
    /// `(`
    L_PAREN,
    /// `)`
    R_PAREN,
    /// `[`
    L_BRACK,
    /// `]`
    R_BRACK,
    /// `{`
    L_CURLY,
    /// `}`
    R_CURLY,
    /// `,`
    COMMA,
    /// `:`
    COLON,
    /// `;`
    SEMICOLON,
    /// `.`
    DOT,
    /// `...`
    ELLIPSIS,
    /// `!`
    BANG,
    /// `->`
    THIN_ARROW,
    /// `:=`
    COLON_EQ,
    /// `=`
    EQ,
    /// `+`
    PLUS,
    /// `-`
    MINUS,
    /// `*`
    STAR,
    /// `**`
    STAR2,
    /// `/`
    SLASH,
    /// `//`
    SLASH2,
    /// `%`
    PERCENT,
    /// `@`
    AT,
    /// `&`
    AMP,
    /// `|`
    PIPE,
    /// `^`
    CARET,
    /// `~`
    TILDE,
    /// `<<`
    SHL,
    /// `>>`
    SHR,
    /// `<`
    LESS,
    /// `>`
    GREATER,
    /// `<=`
    LESS_EQ,
    /// `>=`
    GREATER_EQ,
    /// `==`
    EQ2,
    /// `!=`
    NOT_EQ,
    /// `+=`
    PLUS_EQ,
    /// `-=`
    MINUS_EQ,
    /// `*=`
    STAR_EQ,
    /// `/=`
    SLASH_EQ,
    /// `//=`
    SLASH2_EQ,
    /// `%=`
    PERCENT_EQ,
    /// `**=`
    STAR2_EQ,
    /// `@=`
    AT_EQ,
    /// `&=`
    AMP_EQ,
    /// `|=`
    PIPE_EQ,
    /// `^=`
    CARET_EQ,
    /// `<<=`
    SHL_EQ,
    /// `>>=`
    SHR_EQ,
    /// `False`
    FALSE_KW,
    /// `None`
    NONE_KW,
    /// `True`
    TRUE_KW,
    /// `and`
    AND_KW,
    /// `as`
    AS_KW,
    /// `assert`
    ASSERT_KW,
    /// `async`
    ASYNC_KW,
    /// `await`
    AWAIT_KW,
    /// `break`
    BREAK_KW,
    /// `class`
    CLASS_KW,
    /// `continue`
    CONTINUE_KW,
    /// `def`
    DEF_KW,
    /// `del`
    DEL_KW,
    /// `elif`
    ELIF_KW,
    /// `else`
    ELSE_KW,
    /// `except`
    EXCEPT_KW,
    /// `finally`
    FINALLY_KW,
    /// `for`
    FOR_KW,
    /// `from`
    FROM_KW,
    /// `global`
    GLOBAL_KW,
    /// `if`
    IF_KW,
    /// `import`
    IMPORT_KW,
    /// `in`
    IN_KW,
    /// `is`
    IS_KW,
    /// `lambda`
    LAMBDA_KW,
    /// `nonlocal`
    NONLOCAL_KW,
    /// `not`
    NOT_KW,
    /// `or`
    OR_KW,
    /// `pass`
    PASS_KW,
    /// `raise`
    RAISE_KW,
    /// `return`
    RETURN_KW,
    /// `try`
    TRY_KW,
    /// `while`
    WHILE_KW,
    /// `with`
    WITH_KW,
    /// `yield`
    YIELD_KW,
    /// `case`
    CASE_KW,
    /// `match`
    MATCH_KW,
    /// `type`
    TYPE_KW,
    MODULE,
    SIMPLE_STMTS,
    FUNCTION_DEF,
    CLASS_DEF,
    IF_STMT,
    FOR_STMT,
    WHILE_STMT,
    WITH_STMT,
    TRY_STMT,
    MATCH_STMT,
    ERROR_STMT,
    EXPR_STMT,
    ASSIGN_STMT,
    AUG_ASSIGN_STMT,
    ANN_ASSIGN_STMT,
    RETURN_STMT,
    PASS_STMT,
    BREAK_STMT,
    CONTINUE_STMT,
    ASSERT_STMT,
    DEL_STMT,
    RAISE_STMT,
    IMPORT_STMT,
    IMPORT_FROM_STMT,
    GLOBAL_STMT,
    NONLOCAL_STMT,
    TYPE_ALIAS_STMT,
    AUG_OP,
    IMPORT_ALIAS,
    DOTS,
    DOTTED_NAME,
    NAME,
    TYPE_PARAMS,
    DECORATOR,
    PARAM_LIST,
    BLOCK,
    ARG_LIST,
    TYPE_PARAM,
    PARAM,
    ELIF_CLAUSE,
    ELSE_CLAUSE,
    WITH_ITEM,
    EXCEPT_CLAUSE,
    FINALLY_CLAUSE,
    CASE_CLAUSE,
    PATTERN,
    NAME_EXPR,
    LITERAL_EXPR,
    STRING_EXPR,
    PAREN_EXPR,
    TUPLE_EXPR,
    LIST_EXPR,
    SET_EXPR,
    DICT_EXPR,
    LIST_COMP,
    SET_COMP,
    DICT_COMP,
    GENERATOR_EXPR,
    UNARY_EXPR,
    BINARY_EXPR,
    BOOL_EXPR,
    COMPARE_EXPR,
    IF_EXPR,
    LAMBDA_EXPR,
    NAMED_EXPR,
    AWAIT_EXPR,
    YIELD_EXPR,
    CALL_EXPR,
    ATTRIBUTE_EXPR,
    SUBSCRIPT_EXPR,
    SLICE_EXPR,
    STARRED_EXPR,
    ERROR_EXPR,
    STRING_LITERAL,
    FSTRING,
    REPLACEMENT,
    FORMAT_SPEC,
    DICT_ITEM,
    COMP_FOR,
    COMP_IF,
    COMPARE_OP,
    LAMBDA_PARAMS,
    ARG,
}

use SyntaxKind::*;

impl SyntaxKind {
    /// In the order of their numbers.
    pub(crate) const ALL: &[SyntaxKind] = &[
        WHITESPACE,
        COMMENT,
        NEWLINE,
        ERROR_TOKEN,
        INDENT,
        DEDENT,
        EOF,
        IDENT,
        INT_NUMBER,
        FLOAT_NUMBER,
        IMAGINARY_NUMBER,
        STRING,
        FSTRING_START,
        FSTRING_TEXT,
        FSTRING_END,
        L_PAREN,
        R_PAREN,
        L_BRACK,
        R_BRACK,
        L_CURLY,
        R_CURLY,
        COMMA,
        COLON,
        SEMICOLON,
        DOT,
        ELLIPSIS,
        BANG,
        THIN_ARROW,
        COLON_EQ,
        EQ,
        PLUS,
        MINUS,
        STAR,
        STAR2,
        SLASH,
        SLASH2,
        PERCENT,
        AT,
        AMP,
        PIPE,
        CARET,
        TILDE,
        SHL,
        SHR,
        LESS,
        GREATER,
        LESS_EQ,
        GREATER_EQ,
        EQ2,
        NOT_EQ,
        PLUS_EQ,
        MINUS_EQ,
        STAR_EQ,
        SLASH_EQ,
        SLASH2_EQ,
        PERCENT_EQ,
        STAR2_EQ,
        AT_EQ,
        AMP_EQ,
        PIPE_EQ,
        CARET_EQ,
        SHL_EQ,
        SHR_EQ,
        FALSE_KW,
        NONE_KW,
        TRUE_KW,
        AND_KW,
        AS_KW,
        ASSERT_KW,
        ASYNC_KW,
        AWAIT_KW,
        BREAK_KW,
        CLASS_KW,
        CONTINUE_KW,
        DEF_KW,
        DEL_KW,
        ELIF_KW,
        ELSE_KW,
        EXCEPT_KW,
        FINALLY_KW,
        FOR_KW,
        FROM_KW,
        GLOBAL_KW,
        IF_KW,
        IMPORT_KW,
        IN_KW,
        IS_KW,
        LAMBDA_KW,
        NONLOCAL_KW,
        NOT_KW,
        OR_KW,
        PASS_KW,
        RAISE_KW,
        RETURN_KW,
        TRY_KW,
        WHILE_KW,
        WITH_KW,
        YIELD_KW,
        CASE_KW,
        MATCH_KW,
        TYPE_KW,
        MODULE,
        SIMPLE_STMTS,
        FUNCTION_DEF,
        CLASS_DEF,
        IF_STMT,
        FOR_STMT,
        WHILE_STMT,
        WITH_STMT,
        TRY_STMT,
        MATCH_STMT,
        ERROR_STMT,
        EXPR_STMT,
        ASSIGN_STMT,
        AUG_ASSIGN_STMT,
        ANN_ASSIGN_STMT,
        RETURN_STMT,
        PASS_STMT,
        BREAK_STMT,
        CONTINUE_STMT,
        ASSERT_STMT,
        DEL_STMT,
        RAISE_STMT,
        IMPORT_STMT,
        IMPORT_FROM_STMT,
        GLOBAL_STMT,
        NONLOCAL_STMT,
        TYPE_ALIAS_STMT,
        AUG_OP,
        IMPORT_ALIAS,
        DOTS,
        DOTTED_NAME,
        NAME,
        TYPE_PARAMS,
        DECORATOR,
        PARAM_LIST,
        BLOCK,
        ARG_LIST,
        TYPE_PARAM,
        PARAM,
        ELIF_CLAUSE,
        ELSE_CLAUSE,
        WITH_ITEM,
        EXCEPT_CLAUSE,
        FINALLY_CLAUSE,
        CASE_CLAUSE,
        PATTERN,
        NAME_EXPR,
        LITERAL_EXPR,
        STRING_EXPR,
        PAREN_EXPR,
        TUPLE_EXPR,
        LIST_EXPR,
        SET_EXPR,
        DICT_EXPR,
        LIST_COMP,
        SET_COMP,
        DICT_COMP,
        GENERATOR_EXPR,
        UNARY_EXPR,
        BINARY_EXPR,
        BOOL_EXPR,
        COMPARE_EXPR,
        IF_EXPR,
        LAMBDA_EXPR,
        NAMED_EXPR,
        AWAIT_EXPR,
        YIELD_EXPR,
        CALL_EXPR,
        ATTRIBUTE_EXPR,
        SUBSCRIPT_EXPR,
        SLICE_EXPR,
        STARRED_EXPR,
        ERROR_EXPR,
        STRING_LITERAL,
        FSTRING,
        REPLACEMENT,
        FORMAT_SPEC,
        DICT_ITEM,
        COMP_FOR,
        COMP_IF,
        COMPARE_OP,
        LAMBDA_PARAMS,
        ARG,
    ];

    /// The reserved word spelled `text`; `match`, `case` and `type` are not reserved.
    pub fn from_keyword(text: &str) -> Option<SyntaxKind> {
        Some(match text {
            "False" => FALSE_KW,
            "None" => NONE_KW,
            "True" => TRUE_KW,
            "and" => AND_KW,
            "as" => AS_KW,
            "assert" => ASSERT_KW,
            "async" => ASYNC_KW,
            "await" => AWAIT_KW,
            "break" => BREAK_KW,
            "class" => CLASS_KW,
            "continue" => CONTINUE_KW,
            "def" => DEF_KW,
            "del" => DEL_KW,
            "elif" => ELIF_KW,
            "else" => ELSE_KW,
            "except" => EXCEPT_KW,
            "finally" => FINALLY_KW,
            "for" => FOR_KW,
            "from" => FROM_KW,
            "global" => GLOBAL_KW,
            "if" => IF_KW,
            "import" => IMPORT_KW,
            "in" => IN_KW,
            "is" => IS_KW,
            "lambda" => LAMBDA_KW,
            "nonlocal" => NONLOCAL_KW,
            "not" => NOT_KW,
            "or" => OR_KW,
            "pass" => PASS_KW,
            "raise" => RAISE_KW,
            "return" => RETURN_KW,
            "try" => TRY_KW,
            "while" => WHILE_KW,
            "with" => WITH_KW,
            "yield" => YIELD_KW,
            _ => return None,
        })
    }

    /// The text of a token that has only one.
    pub fn text(self) -> Option<&'static str> {
        Some(match self {
            L_PAREN => "(",
            R_PAREN => ")",
            L_BRACK => "[",
            R_BRACK => "]",
            L_CURLY => "{",
            R_CURLY => "}",
            COMMA => ",",
            COLON => ":",
            SEMICOLON => ";",
            DOT => ".",
            ELLIPSIS => "...",
            BANG => "!",
            THIN_ARROW => "->",
            COLON_EQ => ":=",
            EQ => "=",
            PLUS => "+",
            MINUS => "-",
            STAR => "*",
            STAR2 => "**",
            SLASH => "/",
            SLASH2 => "//",
            PERCENT => "%",
            AT => "@",
            AMP => "&",
            PIPE => "|",
            CARET => "^",
            TILDE => "~",
            SHL => "<<",
            SHR => ">>",
            LESS => "<",
            GREATER => ">",
            LESS_EQ => "<=",
            GREATER_EQ => ">=",
            EQ2 => "==",
            NOT_EQ => "!=",
            PLUS_EQ => "+=",
            MINUS_EQ => "-=",
            STAR_EQ => "*=",
            SLASH_EQ => "/=",
            SLASH2_EQ => "//=",
            PERCENT_EQ => "%=",
            STAR2_EQ => "**=",
            AT_EQ => "@=",
            AMP_EQ => "&=",
            PIPE_EQ => "|=",
            CARET_EQ => "^=",
            SHL_EQ => "<<=",
            SHR_EQ => ">>=",
            FALSE_KW => "False",
            NONE_KW => "None",
            TRUE_KW => "True",
            AND_KW => "and",
            AS_KW => "as",
            ASSERT_KW => "assert",
            ASYNC_KW => "async",
            AWAIT_KW => "await",
            BREAK_KW => "break",
            CLASS_KW => "class",
            CONTINUE_KW => "continue",
            DEF_KW => "def",
            DEL_KW => "del",
            ELIF_KW => "elif",
            ELSE_KW => "else",
            EXCEPT_KW => "except",
            FINALLY_KW => "finally",
            FOR_KW => "for",
            FROM_KW => "from",
            GLOBAL_KW => "global",
            IF_KW => "if",
            IMPORT_KW => "import",
            IN_KW => "in",
            IS_KW => "is",
            LAMBDA_KW => "lambda",
            NONLOCAL_KW => "nonlocal",
            NOT_KW => "not",
            OR_KW => "or",
            PASS_KW => "pass",
            RAISE_KW => "raise",
            RETURN_KW => "return",
            TRY_KW => "try",
            WHILE_KW => "while",
            WITH_KW => "with",
            YIELD_KW => "yield",
            CASE_KW => "case",
            MATCH_KW => "match",
            TYPE_KW => "type",
            _ => return None,
        })
    }

    /// Whether this is a reserved word.
    pub fn is_keyword(self) -> bool {
        matches!(
            self,
            FALSE_KW
                | NONE_KW
                | TRUE_KW
                | AND_KW
                | AS_KW
                | ASSERT_KW
                | ASYNC_KW
                | AWAIT_KW
                | BREAK_KW
                | CLASS_KW
                | CONTINUE_KW
                | DEF_KW
                | DEL_KW
                | ELIF_KW
                | ELSE_KW
                | EXCEPT_KW
                | FINALLY_KW
                | FOR_KW
                | FROM_KW
                | GLOBAL_KW
                | IF_KW
                | IMPORT_KW
                | IN_KW
                | IS_KW
                | LAMBDA_KW
                | NONLOCAL_KW
                | NOT_KW
                | OR_KW
                | PASS_KW
                | RAISE_KW
                | RETURN_KW
                | TRY_KW
                | WHILE_KW
                | WITH_KW
                | YIELD_KW
        )
    }
}
