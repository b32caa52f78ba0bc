//! The typed tree: values, operators, positions. **An accessor never answers with the wrong sibling.**

use tritium_syntax::ast::{self, BinaryOp, CompareOperator, Expr, Literal, SmallStmt, Stmt, StringValue, UnaryOp};
use tritium_syntax::{AstNode, AstPtr, PythonVersion, parse};

fn statement(text: &str) -> SmallStmt {
    match parse(text, PythonVersion::default()).tree().stmts().next() {
        Some(Stmt::SimpleStmts(line)) => line.small_stmts().next().unwrap(),
        other => panic!("{other:?}"),
    }
}

fn expression(text: &str) -> Expr {
    match statement(text) {
        SmallStmt::ExprStmt(statement) => statement.expr().unwrap(),
        other => panic!("{other:?}"),
    }
}

fn shown(expr: Option<Expr>) -> Option<String> {
    expr.map(|expr| expr.syntax().text().to_string())
}

fn some(text: &str) -> Option<String> {
    Some(text.to_owned())
}

#[test]
fn numbers() {
    for (text, value) in [("0", 0), ("1_000", 1000), ("0xFf", 255), ("0o17", 15), ("0B1_01", 5), ("00", 0)] {
        assert_eq!(expression(text).as_int(), Some(value), "{text}");
    }
    assert_eq!(expression("18446744073709551615").as_int(), Some(u64::MAX.into()));
    let Expr::LiteralExpr(float) = expression("1_0.5e-1") else { panic!() };
    assert_eq!((float.float_value(), float.int_value()), (Some(1.05), None));
    assert_eq!(float.kind(), Some(Literal::Float("1_0.5e-1".to_owned())));
    let kinds = [("True", Literal::True), ("None", Literal::None), ("...", Literal::Ellipsis)];
    for (text, kind) in kinds {
        let Expr::LiteralExpr(literal) = expression(text) else { panic!() };
        assert_eq!(literal.kind(), Some(kind));
    }
}

#[test]
fn strings() {
    let text = |source: &str| match expression(source) {
        Expr::StringExpr(string) => string.text_value(),
        other => panic!("{other:?}"),
    };
    assert_eq!(text(r#""a\n\x41\u00e9\101\q""#), some("a\n\u{41}é\u{41}\\q"));
    assert_eq!(text("'a' \"b\" f'{{c}}'"), some("ab{c}"));
    assert_eq!(text(r"r'\n'"), some("\\n"));
    assert_eq!(text("'''a\\\r\nb\r\nc'''"), some("ab\nc"));
    assert_eq!(text("f'{x}'"), None);
    assert_eq!(text("'abc"), None);
    assert_eq!(text(r"'\xZ'"), None);
    assert_eq!(text("b'a'"), None);
    assert_eq!(text("''"), some(""));
    let Expr::StringExpr(bytes) = expression(r"b'\xff' Rb'\n'") else { panic!() };
    assert_eq!(bytes.value(), Some(StringValue::Bytes(b"\xff\\n".to_vec())));
}

#[test]
fn operators() {
    let Expr::BinaryExpr(sum) = expression("a + b * c") else { panic!() };
    assert_eq!((sum.op(), shown(sum.lhs()), shown(sum.rhs())), (Some(BinaryOp::Add), some("a"), some("b * c")));
    let Expr::UnaryExpr(negation) = expression("-a") else { panic!() };
    assert_eq!((negation.op(), shown(negation.operand())), (Some(UnaryOp::Neg), some("a")));
    let Expr::CompareExpr(comparison) = expression("a < b not in c is not d is e") else { panic!() };
    let rest = comparison.rest();
    let ops: Vec<_> = rest.iter().map(|(op, operand)| (op.op().unwrap(), shown(operand.clone()))).collect();
    assert_eq!(shown(comparison.first()), some("a"));
    assert_eq!(
        ops,
        [
            (CompareOperator::Less, some("b")),
            (CompareOperator::NotIn, some("c")),
            (CompareOperator::IsNot, some("d")),
            (CompareOperator::Is, some("e")),
        ]
    );
    let SmallStmt::AugAssignStmt(statement) = statement("a //= b") else { panic!() };
    assert_eq!(statement.binary_op(), Some(BinaryOp::FloorDiv));
    assert_eq!((shown(statement.target()), shown(statement.value())), (some("a"), some("b")));
}

#[test]
fn a_missing_child_is_not_its_sibling() {
    let Expr::BinaryExpr(sum) = expression("a +") else { panic!() };
    assert_eq!((shown(sum.lhs()), shown(sum.rhs())), (some("a"), None));
    let Expr::SubscriptExpr(subscript) = expression("a[:c]") else { panic!() };
    let Some(Expr::SliceExpr(slice)) = subscript.index() else { panic!() };
    assert_eq!((shown(slice.lower()), shown(slice.upper()), shown(slice.step())), (None, some("c"), None));
    let Expr::SubscriptExpr(subscript) = expression("a[::d]") else { panic!() };
    let Some(Expr::SliceExpr(slice)) = subscript.index() else { panic!() };
    assert_eq!((shown(slice.lower()), shown(slice.upper()), shown(slice.step())), (None, None, some("d")));
    let SmallStmt::AssignStmt(assignment) = statement("a = b =") else { panic!() };
    assert_eq!(shown(assignment.value()), None);
    assert_eq!(assignment.targets().count(), 2);
    let SmallStmt::AnnAssignStmt(assignment) = statement("a: = 1") else { panic!() };
    assert_eq!((shown(assignment.annotation()), shown(assignment.value())), (None, some("1")));
    let Expr::IfExpr(choice) = expression("a if else c") else { panic!() };
    assert_eq!((shown(choice.condition()), shown(choice.otherwise())), (None, some("c")));
}

#[test]
fn calls_and_functions() {
    let Expr::CallExpr(call) = expression("f(a, *b, c=1, **d)") else { panic!() };
    let args: Vec<_> = call
        .args()
        .map(|arg| (arg.star_token().is_some(), arg.star2_token().is_some(), arg.name().map(|n| n.text()), shown(arg.value())))
        .collect();
    assert_eq!(
        args,
        [
            (false, false, None, some("a")),
            (true, false, None, some("b")),
            (false, false, some("c"), some("1")),
            (false, true, None, some("d")),
        ]
    );
    assert_eq!(shown(call.keyword("c")), some("1"));
    let source = "@jit\ndef f(a, b: int = 1) -> c:\n    'doc'\n    return a\n";
    let parse = parse(source, PythonVersion::default());
    let Some(Stmt::FunctionDef(function)) = parse.tree().stmts().next() else { panic!() };
    assert_eq!(shown(function.returns()), some("c"));
    assert_eq!(function.decorators().count(), 1);
    assert_eq!(function.docstring().and_then(|doc| doc.text_value()), some("doc"));
    let param = function.params().nth(1).unwrap();
    assert_eq!((shown(param.annotation()), shown(param.default())), (some("int"), some("1")));
    assert_eq!(function.body().unwrap().stmts().count(), 2);

    let ptr = AstPtr::new(&param);
    assert_eq!(ptr.to_node(&parse.syntax()), Some(param));
    let other = tritium_syntax::parse("x", PythonVersion::default());
    assert_eq!(ptr.to_node(&other.syntax()), None);
}

#[test]
fn imports() {
    let SmallStmt::ImportFromStmt(import) = statement("from ....a.b import c as d, e") else { panic!() };
    assert_eq!((import.level(), import.module().map(|module| module.text())), (4, some("a.b")));
    let names: Vec<_> = import.import_aliases().map(|alias| alias.bound_name().unwrap().text()).collect();
    assert_eq!(names, ["d", "e"]);
    let SmallStmt::ImportStmt(import) = statement("import a.b") else { panic!() };
    let alias: ast::ImportAlias = import.import_aliases().next().unwrap();
    assert_eq!(alias.bound_name().unwrap().text(), "a");
}
