//! What each group of productions builds. **Every snippet is valid Python and has no problems.**

mod common;

use common::outline;
use expect_test::expect;

#[test]
fn small_statements() {
    let source = r##"x
x = y = 1, *z
x: int = 2
x.y: int
x[0] @= 3
x **= yield
return
return 1, 2
pass; break; continue;
assert a, "b"
del a, b[0]
raise
raise E from None
global a, b
nonlocal c
type = 3
type X[T: int, *Ts, **P] = list[T]
"##;
    expect![[r#"
        (SIMPLE_STMTS (EXPR_STMT x))
        (SIMPLE_STMTS (ASSIGN_STMT x = y = (TUPLE_EXPR 1 , (STARRED_EXPR * z))))
        (SIMPLE_STMTS (ANN_ASSIGN_STMT x : int = 2))
        (SIMPLE_STMTS (ANN_ASSIGN_STMT (ATTRIBUTE_EXPR x . y) : int))
        (SIMPLE_STMTS (AUG_ASSIGN_STMT (SUBSCRIPT_EXPR x [ 0 ]) (AUG_OP @=) 3))
        (SIMPLE_STMTS (AUG_ASSIGN_STMT x (AUG_OP **=) (YIELD_EXPR yield)))
        (SIMPLE_STMTS (RETURN_STMT return))
        (SIMPLE_STMTS (RETURN_STMT return (TUPLE_EXPR 1 , 2)))
        (SIMPLE_STMTS (PASS_STMT pass) ; (BREAK_STMT break) ; (CONTINUE_STMT continue) ;)
        (SIMPLE_STMTS (ASSERT_STMT assert a , (STRING_EXPR "b")))
        (SIMPLE_STMTS (DEL_STMT del (TUPLE_EXPR a , (SUBSCRIPT_EXPR b [ 0 ]))))
        (SIMPLE_STMTS (RAISE_STMT raise))
        (SIMPLE_STMTS (RAISE_STMT raise E from None))
        (SIMPLE_STMTS (GLOBAL_STMT global a , b))
        (SIMPLE_STMTS (NONLOCAL_STMT nonlocal c))
        (SIMPLE_STMTS (ASSIGN_STMT type = 3))
        (SIMPLE_STMTS (TYPE_ALIAS_STMT type X (TYPE_PARAMS [ (TYPE_PARAM T : int) , (TYPE_PARAM * Ts) , (TYPE_PARAM ** P) ]) = (SUBSCRIPT_EXPR list [ T ])))
        6:7 "yield" `yield` stands outside a function
        7:1 "return" `return` stands outside a function
        8:1 "return 1, 2" `return` stands outside a function
        9:7 "break" `break` stands outside a loop
        9:14 "continue" `continue` stands outside a loop
        15:1 "nonlocal c" `nonlocal` stands outside a function
    "#]].assert_eq(&outline(source));
}

#[test]
fn imports() {
    let source = r##"import a.b as c, d
from . import x
from ....a.b import (x as y, z,)
from m import *
"##;
    expect![[r#"
        (SIMPLE_STMTS (IMPORT_STMT import (IMPORT_ALIAS (DOTTED_NAME a . b) as c) , (IMPORT_ALIAS (DOTTED_NAME d))))
        (SIMPLE_STMTS (IMPORT_FROM_STMT from (DOTS .) import (IMPORT_ALIAS (DOTTED_NAME x))))
        (SIMPLE_STMTS (IMPORT_FROM_STMT from (DOTS ... .) (DOTTED_NAME a . b) import ( (IMPORT_ALIAS (DOTTED_NAME x) as y) , (IMPORT_ALIAS (DOTTED_NAME z)) , )))
        (SIMPLE_STMTS (IMPORT_FROM_STMT from (DOTTED_NAME m) import *))
    "#]].assert_eq(&outline(source));
}

#[test]
fn functions_and_classes() {
    let source = r##"@triton.jit
def f(a, /, b: int = 1, *args: T, c, d=2, **kw) -> int: return a
async def g[T](*, x): pass
class C[T](B, metaclass=M, *a, **k):
    """doc"""
    x = 1
class D: pass
"##;
    expect![[r#"
        (FUNCTION_DEF (DECORATOR @ (ATTRIBUTE_EXPR triton . jit)) def f (PARAM_LIST ( (PARAM a) , (PARAM /) , (PARAM b : int = 1) , (PARAM * args : T) , (PARAM c) , (PARAM d = 2) , (PARAM ** kw) )) -> int : (BLOCK
          (SIMPLE_STMTS (RETURN_STMT return a))))
        (FUNCTION_DEF async def g (TYPE_PARAMS [ (TYPE_PARAM T) ]) (PARAM_LIST ( (PARAM *) , (PARAM x) )) : (BLOCK
          (SIMPLE_STMTS (PASS_STMT pass))))
        (CLASS_DEF class C (TYPE_PARAMS [ (TYPE_PARAM T) ]) (ARG_LIST ( (ARG B) , (ARG metaclass = M) , (ARG * a) , (ARG ** k) )) : (BLOCK
          (SIMPLE_STMTS (EXPR_STMT (STRING_EXPR """doc""")))
          (SIMPLE_STMTS (ASSIGN_STMT x = 1))))
        (CLASS_DEF class D : (BLOCK
          (SIMPLE_STMTS (PASS_STMT pass))))
    "#]].assert_eq(&outline(source));
}

#[test]
fn compound_statements() {
    let source = r##"if a:
    pass
elif b: pass
else:
    pass
for i, *j in 1, 2:
    pass
else: pass
while x := f():
    pass
with a as b, c: pass
with (a as b, c,): pass
with (a, b) as c: pass
with (yield): pass
async with a: pass
async for x in y: pass
try: pass
except: pass
else: pass
finally: pass
try: pass
except* (A, B) as e: pass
"##;
    expect![[r#"
        (IF_STMT if a : (BLOCK
          (SIMPLE_STMTS (PASS_STMT pass))) (ELIF_CLAUSE elif b : (BLOCK
          (SIMPLE_STMTS (PASS_STMT pass)))) (ELSE_CLAUSE else : (BLOCK
          (SIMPLE_STMTS (PASS_STMT pass)))))
        (FOR_STMT for (TUPLE_EXPR i , (STARRED_EXPR * j)) in (TUPLE_EXPR 1 , 2) : (BLOCK
          (SIMPLE_STMTS (PASS_STMT pass))) (ELSE_CLAUSE else : (BLOCK
          (SIMPLE_STMTS (PASS_STMT pass)))))
        (WHILE_STMT while (NAMED_EXPR x := (CALL_EXPR f (ARG_LIST ( )))) : (BLOCK
          (SIMPLE_STMTS (PASS_STMT pass))))
        (WITH_STMT with (WITH_ITEM a as b) , (WITH_ITEM c) : (BLOCK
          (SIMPLE_STMTS (PASS_STMT pass))))
        (WITH_STMT with ( (WITH_ITEM a as b) , (WITH_ITEM c) , ) : (BLOCK
          (SIMPLE_STMTS (PASS_STMT pass))))
        (WITH_STMT with (WITH_ITEM (TUPLE_EXPR ( a , b )) as c) : (BLOCK
          (SIMPLE_STMTS (PASS_STMT pass))))
        (WITH_STMT with (WITH_ITEM (PAREN_EXPR ( (YIELD_EXPR yield) ))) : (BLOCK
          (SIMPLE_STMTS (PASS_STMT pass))))
        (WITH_STMT async with (WITH_ITEM a) : (BLOCK
          (SIMPLE_STMTS (PASS_STMT pass))))
        (FOR_STMT async for x in y : (BLOCK
          (SIMPLE_STMTS (PASS_STMT pass))))
        (TRY_STMT try : (BLOCK
          (SIMPLE_STMTS (PASS_STMT pass))) (EXCEPT_CLAUSE except : (BLOCK
          (SIMPLE_STMTS (PASS_STMT pass)))) (ELSE_CLAUSE else : (BLOCK
          (SIMPLE_STMTS (PASS_STMT pass)))) (FINALLY_CLAUSE finally : (BLOCK
          (SIMPLE_STMTS (PASS_STMT pass)))))
        (TRY_STMT try : (BLOCK
          (SIMPLE_STMTS (PASS_STMT pass))) (EXCEPT_CLAUSE except * (TUPLE_EXPR ( A , B )) as e : (BLOCK
          (SIMPLE_STMTS (PASS_STMT pass)))))
        14:7 "yield" `yield` stands outside a function
        15:1 "async" `async with` stands outside an `async` function
        16:1 "async" `async for` stands outside an `async` function
    "#]]
    .assert_eq(&outline(source));
}

#[test]
fn matching() {
    let source = r##"match x, y:
    case 1 | -2 | "s" as n if n > 0:
        pass
    case [a, (b as c), *_], {"k": v, **rest}:
        pass
    case Point(x=0, y=(0 | 1)) | A.B():
        pass
match = 1
match[0] = match(x)
match -x
case = 2
"##;
    expect![[r#"
        (MATCH_STMT match (TUPLE_EXPR x , y) : (CASE_CLAUSE case (PATTERN (PATTERN (BINARY_EXPR (BINARY_EXPR 1 | (UNARY_EXPR - 2)) | (STRING_EXPR "s")) as n)) if (COMPARE_EXPR n (COMPARE_OP >) 0) : (BLOCK
          (SIMPLE_STMTS (PASS_STMT pass)))) (CASE_CLAUSE case (PATTERN (TUPLE_EXPR (LIST_EXPR [ a , (PAREN_EXPR ( (PATTERN b as c) )) , (STARRED_EXPR * _) ]) , (DICT_EXPR { (DICT_ITEM (STRING_EXPR "k") : v) , (DICT_ITEM ** rest) }))) : (BLOCK
          (SIMPLE_STMTS (PASS_STMT pass)))) (CASE_CLAUSE case (PATTERN (BINARY_EXPR (CALL_EXPR Point (ARG_LIST ( (ARG x = 0) , (ARG y = (PAREN_EXPR ( (BINARY_EXPR 0 | 1) ))) ))) | (CALL_EXPR (ATTRIBUTE_EXPR A . B) (ARG_LIST ( ))))) : (BLOCK
          (SIMPLE_STMTS (PASS_STMT pass)))))
        (SIMPLE_STMTS (ASSIGN_STMT match = 1))
        (SIMPLE_STMTS (ASSIGN_STMT (SUBSCRIPT_EXPR match [ 0 ]) = (CALL_EXPR match (ARG_LIST ( (ARG x) )))))
        (SIMPLE_STMTS (EXPR_STMT (BINARY_EXPR match - x)))
        (SIMPLE_STMTS (ASSIGN_STMT case = 2))
    "#]].assert_eq(&outline(source));
}

#[test]
fn operators() {
    let source = r##"a or b and not c
a if b else c if d else e
1 + 2 * 3 - 4 @ 5
-x ** -y
not a < b <= c is not d not in e
a | b ^ c & d << 1
await x ** 2
lambda a, *b, c=1, **d: a + c
(yield)
x = lambda: (yield)
print(a := 1, b)
"##;
    expect![[r#"
        (SIMPLE_STMTS (EXPR_STMT (BOOL_EXPR a or (BOOL_EXPR b and (UNARY_EXPR not c)))))
        (SIMPLE_STMTS (EXPR_STMT (IF_EXPR a if b else (IF_EXPR c if d else e))))
        (SIMPLE_STMTS (EXPR_STMT (BINARY_EXPR (BINARY_EXPR 1 + (BINARY_EXPR 2 * 3)) - (BINARY_EXPR 4 @ 5))))
        (SIMPLE_STMTS (EXPR_STMT (UNARY_EXPR - (BINARY_EXPR x ** (UNARY_EXPR - y)))))
        (SIMPLE_STMTS (EXPR_STMT (UNARY_EXPR not (COMPARE_EXPR a (COMPARE_OP <) b (COMPARE_OP <=) c (COMPARE_OP is not) d (COMPARE_OP not in) e))))
        (SIMPLE_STMTS (EXPR_STMT (BINARY_EXPR a | (BINARY_EXPR b ^ (BINARY_EXPR c & (BINARY_EXPR d << 1))))))
        (SIMPLE_STMTS (EXPR_STMT (BINARY_EXPR (AWAIT_EXPR await x) ** 2)))
        (SIMPLE_STMTS (EXPR_STMT (LAMBDA_EXPR lambda (LAMBDA_PARAMS (PARAM a) , (PARAM * b) , (PARAM c = 1) , (PARAM ** d)) : (BINARY_EXPR a + c))))
        (SIMPLE_STMTS (EXPR_STMT (PAREN_EXPR ( (YIELD_EXPR yield) ))))
        (SIMPLE_STMTS (ASSIGN_STMT x = (LAMBDA_EXPR lambda (LAMBDA_PARAMS) : (PAREN_EXPR ( (YIELD_EXPR yield) )))))
        (SIMPLE_STMTS (EXPR_STMT (CALL_EXPR print (ARG_LIST ( (ARG (NAMED_EXPR a := 1)) , (ARG b) )))))
        7:1 "await x" `await` stands outside an `async` function
        9:2 "yield" `yield` stands outside a function
    "#]].assert_eq(&outline(source));
}

#[test]
fn atoms_and_suffixes() {
    let source = r##"f(a, *b, c=1, **d)(x for x in y).z[0]
x[a:b, ::2, :, None, ...]
x[()]
x[*a, 1:]
()
(a,)
(a)
[]
[*a, b]
{}
{a, *b}
{a: b, **c}
[x for x in y if a if b for z in x]
{x async for x in y}
{k: v for k, v in d}
(x for x in y)
"##;
    expect![[r#"
        (SIMPLE_STMTS (EXPR_STMT (SUBSCRIPT_EXPR (ATTRIBUTE_EXPR (CALL_EXPR (CALL_EXPR f (ARG_LIST ( (ARG a) , (ARG * b) , (ARG c = 1) , (ARG ** d) ))) (ARG_LIST ( (ARG (GENERATOR_EXPR x (COMP_FOR for x in y))) ))) . z) [ 0 ])))
        (SIMPLE_STMTS (EXPR_STMT (SUBSCRIPT_EXPR x [ (TUPLE_EXPR (SLICE_EXPR a : b) , (SLICE_EXPR : : 2) , (SLICE_EXPR :) , None , ...) ])))
        (SIMPLE_STMTS (EXPR_STMT (SUBSCRIPT_EXPR x [ (TUPLE_EXPR ( )) ])))
        (SIMPLE_STMTS (EXPR_STMT (SUBSCRIPT_EXPR x [ (TUPLE_EXPR (STARRED_EXPR * a) , (SLICE_EXPR 1 :)) ])))
        (SIMPLE_STMTS (EXPR_STMT (TUPLE_EXPR ( ))))
        (SIMPLE_STMTS (EXPR_STMT (TUPLE_EXPR ( a , ))))
        (SIMPLE_STMTS (EXPR_STMT (PAREN_EXPR ( a ))))
        (SIMPLE_STMTS (EXPR_STMT (LIST_EXPR [ ])))
        (SIMPLE_STMTS (EXPR_STMT (LIST_EXPR [ (STARRED_EXPR * a) , b ])))
        (SIMPLE_STMTS (EXPR_STMT (DICT_EXPR { })))
        (SIMPLE_STMTS (EXPR_STMT (SET_EXPR { a , (STARRED_EXPR * b) })))
        (SIMPLE_STMTS (EXPR_STMT (DICT_EXPR { (DICT_ITEM a : b) , (DICT_ITEM ** c) })))
        (SIMPLE_STMTS (EXPR_STMT (LIST_COMP [ x (COMP_FOR for x in y) (COMP_IF if a) (COMP_IF if b) (COMP_FOR for z in x) ])))
        (SIMPLE_STMTS (EXPR_STMT (SET_COMP { x (COMP_FOR async for x in y) })))
        (SIMPLE_STMTS (EXPR_STMT (DICT_COMP { (DICT_ITEM k : v) (COMP_FOR for (TUPLE_EXPR k , v) in d) })))
        (SIMPLE_STMTS (EXPR_STMT (GENERATOR_EXPR ( x (COMP_FOR for x in y) ))))
        14:4 "async for x in y" an asynchronous comprehension stands outside an `async` function
    "#]].assert_eq(&outline(source));
}

#[test]
fn literals() {
    let source = r##"0xFF_F, 0o17, 0b1, 1_0, 00
1.5, 1., .5, 1e-3, 1_0.0_1e+5, 2j, 1.5J
True, False, None, ...
"a" 'b' b"c" R"\d"
"""a
b"""
1if x else 2
"##;
    expect![[r#"
        (SIMPLE_STMTS (EXPR_STMT (TUPLE_EXPR 0xFF_F , 0o17 , 0b1 , 1_0 , 00)))
        (SIMPLE_STMTS (EXPR_STMT (TUPLE_EXPR 1.5 , 1. , .5 , 1e-3 , 1_0.0_1e+5 , 2j , 1.5J)))
        (SIMPLE_STMTS (EXPR_STMT (TUPLE_EXPR True , False , None , ...)))
        (SIMPLE_STMTS (EXPR_STMT (STRING_EXPR "a" 'b' b"c" R"\d")))
        (SIMPLE_STMTS (EXPR_STMT (STRING_EXPR """a
        b""")))
        (SIMPLE_STMTS (EXPR_STMT (IF_EXPR 1 if x else 2)))
        4:9 "b\"c\"" bytes cannot follow text in one literal
    "#]]
    .assert_eq(&outline(source));
}

#[test]
fn fstrings() {
    let source = r##"f"a{b}c{{d}}{e!r:>{w}.{p}}"
f'{x=}' "y" rf"\d{z:\n}"
f"{a["b"]}{f"{c}"}"
f"""
{x
 + y}
"""
f"{lambda_(x):%Y-%m-%d}{a != b}{ {1: 2}[1] }"
t"{x}"
"##;
    expect![[r#"
        (SIMPLE_STMTS (EXPR_STMT (STRING_EXPR (FSTRING f" a (REPLACEMENT { b }) c{{d}} (REPLACEMENT { e ! r (FORMAT_SPEC : > (REPLACEMENT { w }) . (REPLACEMENT { p })) }) "))))
        (SIMPLE_STMTS (EXPR_STMT (STRING_EXPR (FSTRING f' (REPLACEMENT { x = }) ') "y" (FSTRING rf" \d (REPLACEMENT { z (FORMAT_SPEC : \n) }) "))))
        (SIMPLE_STMTS (EXPR_STMT (STRING_EXPR (FSTRING f" (REPLACEMENT { (SUBSCRIPT_EXPR a [ (STRING_EXPR "b") ]) }) (REPLACEMENT { (STRING_EXPR (FSTRING f" (REPLACEMENT { c }) ")) }) "))))
        (SIMPLE_STMTS (EXPR_STMT (STRING_EXPR (FSTRING f""" 
         (REPLACEMENT { (BINARY_EXPR x + y) }) 
         """))))
        (SIMPLE_STMTS (EXPR_STMT (STRING_EXPR (FSTRING f" (REPLACEMENT { (CALL_EXPR lambda_ (ARG_LIST ( (ARG x) ))) (FORMAT_SPEC : %Y-%m-%d) }) (REPLACEMENT { (COMPARE_EXPR a (COMPARE_OP !=) b) }) (REPLACEMENT { (SUBSCRIPT_EXPR (DICT_EXPR { (DICT_ITEM 1 : 2) }) [ 1 ]) }) "))))
        (SIMPLE_STMTS (EXPR_STMT (STRING_EXPR (FSTRING t" (REPLACEMENT { x }) "))))
    "#]].assert_eq(&outline(source));
}

#[test]
fn lines_and_layout() {
    let source = r##"x = (1 +  # one
     2)
y = a + \
    b
if x:
	y
    # comment of the outer block?
# comment of the file
z
"##;
    expect![[r#"
        (SIMPLE_STMTS (ASSIGN_STMT x = (PAREN_EXPR ( (BINARY_EXPR 1 + 2) ))))
        (SIMPLE_STMTS (ASSIGN_STMT y = (BINARY_EXPR a + b)))
        (IF_STMT if x : (BLOCK
          (SIMPLE_STMTS (EXPR_STMT y))))
        (SIMPLE_STMTS (EXPR_STMT z))
    "#]]
    .assert_eq(&outline(source));
}
