//! What broken text becomes. **One mistake gets one message, and the lines after it are read as usual.**

mod common;

use common::{outline, outline_for};
use expect_test::expect;
use tritium_syntax::PythonVersion;

#[test]
fn a_missing_operand_or_value() {
    let source = r##"x =
y = 1 +
z = f(1, , 2)
w = a.
v[]
u = 3
"##;
    expect![[r#"
        (SIMPLE_STMTS (ASSIGN_STMT x =))
        (SIMPLE_STMTS (ASSIGN_STMT y = (BINARY_EXPR 1 +)))
        (SIMPLE_STMTS (ASSIGN_STMT z = (CALL_EXPR f (ARG_LIST ( (ARG 1) , , (ARG 2) )))))
        (SIMPLE_STMTS (ASSIGN_STMT w = (ATTRIBUTE_EXPR a .)))
        (SIMPLE_STMTS (EXPR_STMT (SUBSCRIPT_EXPR v [ ])))
        (SIMPLE_STMTS (ASSIGN_STMT u = 3))
        1:4 "" expected an expression
        2:8 "" expected an expression
        3:10 "," expected something before this `,`
        4:7 "" expected a name after `.`
        5:3 "]" expected an index between `[` and `]`
    "#]]
    .assert_eq(&outline(source));
}

#[test]
fn an_open_bracket_ends_where_the_next_statement_starts() {
    let source = r##"def f(ptr, n):
    x = tl.load(ptr +
    y = x + 1
    z = [1, 2

    return y

@triton.jit
def g(x):
    foo(a,
        b
    bar()

h(
k = 1
"##;
    expect![[r#"
        (FUNCTION_DEF def f (PARAM_LIST ( (PARAM ptr) , (PARAM n) )) : (BLOCK
          (SIMPLE_STMTS (ASSIGN_STMT x = (CALL_EXPR (ATTRIBUTE_EXPR tl . load) (ARG_LIST ( (ARG (BINARY_EXPR ptr +))))))
          (SIMPLE_STMTS (ASSIGN_STMT y = (BINARY_EXPR x + 1)))
          (SIMPLE_STMTS (ASSIGN_STMT z = (LIST_EXPR [ 1 , 2)))
          (SIMPLE_STMTS (RETURN_STMT return y))))
        (FUNCTION_DEF (DECORATOR @ (ATTRIBUTE_EXPR triton . jit)) def g (PARAM_LIST ( (PARAM x) )) : (BLOCK
          (SIMPLE_STMTS (EXPR_STMT (CALL_EXPR foo (ARG_LIST ( (ARG a) , (ARG b)))))
          (SIMPLE_STMTS (EXPR_STMT (CALL_EXPR bar (ARG_LIST ( )))))))
        (SIMPLE_STMTS (EXPR_STMT (CALL_EXPR h (ARG_LIST ())))
        (SIMPLE_STMTS (ASSIGN_STMT k = 1))
        2:22 "" expected an expression
        4:14 "" expected `]`
        11:10 "" expected `)` after the arguments
        14:3 "" expected `)` after the arguments
    "#]]
    .assert_eq(&outline(source));
}

#[test]
fn a_header_without_its_colon() {
    let source = r##"def f(x)
    return x
if x
    y
for i in range(3
    z
while (a:
    b
class C
    pass
after
"##;
    expect![[r#"
        (FUNCTION_DEF def f (PARAM_LIST ( (PARAM x) )) (BLOCK
          (SIMPLE_STMTS (RETURN_STMT return x))))
        (IF_STMT if x (BLOCK
          (SIMPLE_STMTS (EXPR_STMT y))))
        (FOR_STMT for i in (CALL_EXPR range (ARG_LIST ( (ARG 3))) (BLOCK
          (SIMPLE_STMTS (EXPR_STMT z))))
        (WHILE_STMT while (PAREN_EXPR ( a) : (BLOCK
          (SIMPLE_STMTS (EXPR_STMT b))))
        (CLASS_DEF class C (BLOCK
          (SIMPLE_STMTS (PASS_STMT pass))))
        (SIMPLE_STMTS (EXPR_STMT after))
        1:9 "" expected `:` after the function's header
        3:5 "" expected `:` after the condition
        5:17 "" expected `)` after the arguments
        7:9 "" expected `)`
        9:8 "" expected `:` after the class's header
    "#]]
    .assert_eq(&outline(source));
}

#[test]
fn a_header_without_its_block() {
    let source = r##"def f():
x = 1
if y:
else:
    z
"##;
    expect![[r#"
        (FUNCTION_DEF def f (PARAM_LIST ( )) : (BLOCK))
        (SIMPLE_STMTS (ASSIGN_STMT x = 1))
        (IF_STMT if y : (BLOCK) (ELSE_CLAUSE else : (BLOCK
          (SIMPLE_STMTS (EXPR_STMT z)))))
        1:9 "" expected an indented block after the function's header
        3:6 "" expected an indented block after the condition
    "#]]
    .assert_eq(&outline(source));
}

#[test]
fn a_header_without_its_parts() {
    let source = r##"def (x): pass
def f: pass
for in x: pass
for i: pass
import
from x import
from x import (a
lambda x
with : pass
class 3: pass
a
"##;
    expect![[r#"
        (FUNCTION_DEF def (PARAM_LIST ( (PARAM x) )) : (BLOCK
          (SIMPLE_STMTS (PASS_STMT pass))))
        (FUNCTION_DEF def f : (BLOCK
          (SIMPLE_STMTS (PASS_STMT pass))))
        (FOR_STMT for in x : (BLOCK
          (SIMPLE_STMTS (PASS_STMT pass))))
        (FOR_STMT for i : (BLOCK
          (SIMPLE_STMTS (PASS_STMT pass))))
        (SIMPLE_STMTS (IMPORT_STMT import (IMPORT_ALIAS (DOTTED_NAME))))
        (SIMPLE_STMTS (IMPORT_FROM_STMT from (DOTTED_NAME x) import (IMPORT_ALIAS (DOTTED_NAME))))
        (SIMPLE_STMTS (IMPORT_FROM_STMT from (DOTTED_NAME x) import ( (IMPORT_ALIAS (DOTTED_NAME a))))
        (SIMPLE_STMTS (EXPR_STMT (LAMBDA_EXPR lambda (LAMBDA_PARAMS (PARAM x)))))
        (WITH_STMT with (WITH_ITEM) : (BLOCK
          (SIMPLE_STMTS (PASS_STMT pass))))
        (CLASS_DEF class (ERROR_EXPR 3) : (BLOCK
          (SIMPLE_STMTS (PASS_STMT pass))))
        (SIMPLE_STMTS (EXPR_STMT a))
        1:4 "" expected the name of the function
        2:6 "" expected `(` and the parameters of the function
        3:5 "in" expected an expression, found `in`
        4:6 "" expected `in` after the loop variable
        5:7 "" expected the name of a module
        6:14 "" expected a name to import
        7:17 "" expected `)` after the imported names
        8:9 "" expected `:` after the parameters of `lambda`
        9:5 "" expected an expression
        10:6 "" expected the name of the class
    "#]]
    .assert_eq(&outline(source));
}

#[test]
fn words_and_brackets_out_of_place() {
    let source = r##"x = 1)
else:
    y
except E: pass
print x
x = class
a b c
1 = = 2
foo(a b)
foo(a=1 b=2)
[1 2]
{a: b c: d}
x = $ + 1
x ? y
!a
a; ; b
after
"##;
    expect![[r#"
        (SIMPLE_STMTS (ASSIGN_STMT x = 1) (ERROR_STMT )))
        (ERROR_STMT else :)
        (SIMPLE_STMTS (EXPR_STMT y))
        (ERROR_STMT except E : pass)
        (SIMPLE_STMTS (EXPR_STMT print) (ERROR_STMT x))
        (SIMPLE_STMTS (ASSIGN_STMT x =) (ERROR_STMT class))
        (SIMPLE_STMTS (EXPR_STMT a) (ERROR_STMT b c))
        (SIMPLE_STMTS (ASSIGN_STMT 1 = = 2))
        (SIMPLE_STMTS (EXPR_STMT (CALL_EXPR foo (ARG_LIST ( (ARG a) (ARG b) )))))
        (SIMPLE_STMTS (EXPR_STMT (CALL_EXPR foo (ARG_LIST ( (ARG a = 1) (ARG b = 2) )))))
        (SIMPLE_STMTS (EXPR_STMT (LIST_EXPR [ 1 2 ])))
        (SIMPLE_STMTS (EXPR_STMT (DICT_EXPR { (DICT_ITEM a : b) (DICT_ITEM c : d) })))
        (SIMPLE_STMTS (ASSIGN_STMT x = (BINARY_EXPR (ERROR_EXPR $) + 1)))
        (SIMPLE_STMTS (EXPR_STMT x) (ERROR_STMT ? y))
        (SIMPLE_STMTS (EXPR_STMT (ERROR_EXPR ! a)))
        (SIMPLE_STMTS (EXPR_STMT a) ; ; (EXPR_STMT b))
        (SIMPLE_STMTS (EXPR_STMT after))
        1:6 ")" this `)` closes no bracket
        2:1 "else" this branch belongs to no statement above
        4:1 "except" this clause belongs to no `try` above
        5:7 "x" expected the end of the line, found `x`
        6:5 "class" expected an expression, found `class`
        7:3 "b" expected the end of the line, found `b`
        8:4 "" expected an expression
        9:6 "" expected `,`
        10:8 "" expected `,`
        11:3 "" expected `,`
        12:6 "" expected `,`
        13:5 "$" `$` cannot be part of Python code
        14:3 "?" `?` cannot be part of Python code
        15:1 "!" `!` cannot stand here; did you mean `not`?
        16:4 ";" expected the end of the line, found `;`
    "#]]
    .assert_eq(&outline(source));
}

#[test]
fn indentation() {
    let source = r##"if a:
        b
    c
    d
  e
f
    g
    h
i
"##;
    expect![[r#"
        (IF_STMT if a : (BLOCK
          (SIMPLE_STMTS (EXPR_STMT b))
          (SIMPLE_STMTS (EXPR_STMT c))
          (SIMPLE_STMTS (EXPR_STMT d))
          (SIMPLE_STMTS (EXPR_STMT e))))
        (SIMPLE_STMTS (EXPR_STMT f))
        (SIMPLE_STMTS (EXPR_STMT g))
        (SIMPLE_STMTS (EXPR_STMT h))
        (SIMPLE_STMTS (EXPR_STMT i))
        3:5 "c" this line's indentation matches no block above
        5:3 "e" this line's indentation matches no block above
        7:5 "g" this line is indented, but no block starts here
    "#]]
    .assert_eq(&outline(source));
}

#[test]
fn strings_that_never_end() {
    let source = r##"x = "abc
y = f"abc{d}
z = f"{a
w = f"{}" f"}" f"{a b}"
v = 1
s = """
text
def f():
    pass
"##;
    expect![[r#"
        (SIMPLE_STMTS (ASSIGN_STMT x = (STRING_EXPR "abc)))
        (SIMPLE_STMTS (ASSIGN_STMT y = (STRING_EXPR (FSTRING f" abc (REPLACEMENT { d })))))
        (SIMPLE_STMTS (ASSIGN_STMT z = (STRING_EXPR (FSTRING f" (REPLACEMENT { a)))))
        (SIMPLE_STMTS (ASSIGN_STMT w = (STRING_EXPR (FSTRING f" (REPLACEMENT { }) ") (FSTRING f" } ") (FSTRING f" (REPLACEMENT { a (ERROR_EXPR b) }) "))))
        (SIMPLE_STMTS (ASSIGN_STMT v = 1))
        (SIMPLE_STMTS (ASSIGN_STMT s = (STRING_EXPR """
        text)))
        (FUNCTION_DEF def f (PARAM_LIST ( )) : (BLOCK
          (SIMPLE_STMTS (PASS_STMT pass))))
        1:5 "\"abc" this string is never closed
        2:5 "f\"abc{d}" this f-string is never closed
        3:9 "" expected `}` after the expression in the f-string
        4:8 "}" expected an expression between `{` and `}`
        4:13 "}" a single `}` is not allowed in an f-string; write `}}`
        4:21 "b" expected `}` after the expression in the f-string
        6:5 "\"\"\"" this triple-quoted string is never closed
    "#]].assert_eq(&outline(source));
}

#[test]
fn decorators_of_nothing() {
    let source = r##"@a
x = 1
@b c
def f(): pass
@
"##;
    expect![[r#"
        (ERROR_STMT (DECORATOR @ a))
        (SIMPLE_STMTS (ASSIGN_STMT x = 1))
        (FUNCTION_DEF (DECORATOR @ b (ERROR_EXPR c)) def f (PARAM_LIST ( )) : (BLOCK
          (SIMPLE_STMTS (PASS_STMT pass))))
        (ERROR_STMT (DECORATOR @))
        1:3 "" expected a function or a class after the decorator
        3:4 "c" expected the end of the line after the decorator
        5:2 "" expected an expression
    "#]]
    .assert_eq(&outline(source));
}

#[test]
fn half_written_matches() {
    let source = r##"match x:
y = 1
match x:
    pass
    case 1:
        a
    case
        b
match x
"##;
    expect![[r#"
        (MATCH_STMT match x :)
        (SIMPLE_STMTS (ASSIGN_STMT y = 1))
        (MATCH_STMT match x : (SIMPLE_STMTS (PASS_STMT pass)) (CASE_CLAUSE case (PATTERN 1) : (BLOCK
          (SIMPLE_STMTS (EXPR_STMT a)))) (CASE_CLAUSE case (PATTERN) (BLOCK
          (SIMPLE_STMTS (EXPR_STMT b)))))
        (MATCH_STMT match x)
        1:9 "" expected an indented block of `case` clauses
        4:5 "pass" expected `case`
        7:9 "" expected an expression
        9:8 "" expected `:` after the subject of `match`
    "#]]
    .assert_eq(&outline(source));
}

#[test]
fn newer_syntax_is_read_and_named() {
    let source = r##"match x:
    case 1: pass
try: pass
except* E: pass
try: pass
except A, B: pass
def f[T](): pass
type X = int
class C[T = int]: pass
x = t"{a}"
"##;
    expect![[r#"
        (MATCH_STMT match x : (CASE_CLAUSE case (PATTERN 1) : (BLOCK
          (SIMPLE_STMTS (PASS_STMT pass)))))
        (TRY_STMT try : (BLOCK
          (SIMPLE_STMTS (PASS_STMT pass))) (EXCEPT_CLAUSE except * E : (BLOCK
          (SIMPLE_STMTS (PASS_STMT pass)))))
        (TRY_STMT try : (BLOCK
          (SIMPLE_STMTS (PASS_STMT pass))) (EXCEPT_CLAUSE except (TUPLE_EXPR A , B) : (BLOCK
          (SIMPLE_STMTS (PASS_STMT pass)))))
        (FUNCTION_DEF def f (TYPE_PARAMS [ (TYPE_PARAM T) ]) (PARAM_LIST ( )) : (BLOCK
          (SIMPLE_STMTS (PASS_STMT pass))))
        (SIMPLE_STMTS (TYPE_ALIAS_STMT type X = int))
        (CLASS_DEF class C (TYPE_PARAMS [ (TYPE_PARAM T = int) ]) : (BLOCK
          (SIMPLE_STMTS (PASS_STMT pass))))
        (SIMPLE_STMTS (ASSIGN_STMT x = (STRING_EXPR (FSTRING t" (REPLACEMENT { a }) "))))
        1:1 "match" `match` needs Python 3.10; this file is read as Python 3.9
        4:7 "*" `except*` needs Python 3.11; this file is read as Python 3.9
        6:8 "A, B" more than one exception without parentheses needs Python 3.14; this file is read as Python 3.9
        7:6 "[T]" a list of type parameters needs Python 3.12; this file is read as Python 3.9
        8:1 "type" a `type` statement needs Python 3.12; this file is read as Python 3.9
        9:8 "[T = int]" a list of type parameters needs Python 3.12; this file is read as Python 3.9
        9:11 "= int" a default of a type parameter needs Python 3.13; this file is read as Python 3.9
        10:5 "t\"{a}\"" a template string needs Python 3.14; this file is read as Python 3.9
    "#]]
    .assert_eq(&outline_for(source, PythonVersion::Py39));
}
