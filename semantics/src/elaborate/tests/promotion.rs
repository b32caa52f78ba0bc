//! The promotion rules against the recorded tables of the reference implementation: full agreement.

use crate::{
    constant::Const,
    dtype::DType,
    elaborate::promote::{Arithmetic, Clash, Operand, common_type, literal_type, result_type},
    versions::{Rules, rules},
};

/// A recorded table, or nothing where it is not at hand (never under CI).
pub(super) fn recorded(name: &str) -> Option<String> {
    let Some(folder) = std::env::var_os("TRITIUM_EXTERNAL_KERNELS") else {
        assert!(std::env::var_os("CI").is_none(), "TRITIUM_EXTERNAL_KERNELS must be set under CI");
        return None;
    };
    let path = std::path::Path::new(&folder).join("language").join(name);
    Some(std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display())))
}

/// Our answer in the words of the table: a type, or `ERR`.
fn answer(rules: &Rules, op: &str, lhs: Operand, rhs: Operand) -> Option<String> {
    let strong = |operand: Operand| match operand {
        Operand::Literal(value) => literal_type(&value).map(Operand::Tile),
        tile => Ok(tile),
    };
    let result: Result<DType, Clash> = match op {
        "+" | "-" | "*" | "where" => common_type(rules, Arithmetic::Plain, &lhs, &rhs),
        "/" => common_type(rules, Arithmetic::Div, &lhs, &rhs).map(|t| result_type(Arithmetic::Div, t)),
        "//" => common_type(rules, Arithmetic::FloorDiv, &lhs, &rhs),
        "%" => common_type(rules, Arithmetic::Rem, &lhs, &rhs),
        "&" | "<<" | ">>" => common_type(rules, Arithmetic::Bits, &lhs, &rhs),
        "<" | "==" => strong(lhs)
            .and_then(|l| Ok((l, strong(rhs)?)))
            .and_then(|(l, r)| common_type(rules, Arithmetic::Plain, &l, &r))
            .map(|_| DType::I1),
        "minimum" => {
            let widen = |o: Operand| match o {
                Operand::Tile(DType::BF16) => Operand::Tile(DType::F32),
                other => other,
            };
            strong(lhs)
                .and_then(|l| Ok((widen(l), widen(strong(rhs)?))))
                .and_then(|(l, r)| common_type(rules, Arithmetic::Plain, &l, &r))
        }
        "and" => match (&lhs, &rhs) {
            (Operand::Tile(DType::I1), Operand::Tile(DType::I1)) => Ok(DType::I1),
            (Operand::Tile(t), _) => Err(Clash::NotInteger(*t)),
            _ => return None,
        },
        "fdiv" => match (&lhs, &rhs) {
            (Operand::Tile(a), Operand::Tile(b)) if a.is_float() && a == b => Ok(*a),
            (Operand::Tile(t), _) => Err(Clash::NotInteger(*t)),
            _ => return None,
        },
        _ => return None,
    };
    Some(match result {
        Ok(dtype) => dtype.to_string(),
        Err(_) => "ERR".to_owned(),
    })
}

fn expected(cell: &str) -> String {
    match DType::from_name(cell) {
        Some(dtype) => dtype.to_string(),
        None => "ERR".to_owned(),
    }
}

fn literal(text: &str) -> Const {
    match text.trim_matches('"') {
        "True" => Const::Bool(true),
        "float(inf)" | "float(\"\"inf\"\")" => Const::float(f64::INFINITY),
        "float(nan)" | "float(\"\"nan\"\")" => Const::float(f64::NAN),
        text => match text.parse() {
            Ok(i) => Const::Int(i),
            Err(_) => Const::float(text.parse().unwrap_or_else(|_| panic!("{text}"))),
        },
    }
}

#[test]
fn tiles_with_tiles() {
    let Some(table) = recorded("promotion_tensor_tensor.tsv") else { return };
    let rules = rules("3.6").expect("a row");
    let mut wrong = Vec::new();
    let mut count = 0;
    for line in table.lines().skip(1) {
        let cells: Vec<&str> = line.split('\t').collect();
        let dtype = |name: &str| Operand::Tile(DType::from_name(name).unwrap_or_else(|| panic!("{name}")));
        let Some(ours) = answer(rules, cells[0], dtype(cells[1]), dtype(cells[2])) else { panic!("{line}") };
        count += 1;
        if ours != expected(cells[3]) {
            wrong.push(format!("{line}: {ours}"));
        }
    }
    assert!(wrong.is_empty(), "{} of {count} differ:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn tiles_with_literals() {
    let Some(table) = recorded("promotion_literal.tsv") else { return };
    let rules = rules("3.6").expect("a row");
    let mut wrong = Vec::new();
    let mut count = 0;
    for line in table.lines().skip(1) {
        let cells: Vec<&str> = line.split('\t').collect();
        let tile = || Operand::Tile(DType::from_name(cells[1]).unwrap_or_else(|| panic!("{line}")));
        let number = || Operand::Literal(literal(cells[2]));
        for (ours, theirs) in
            [(answer(rules, cells[0], tile(), number()), cells[3]), (answer(rules, cells[0], number(), tile()), cells[4])]
        {
            let Some(ours) = ours else { panic!("{line}") };
            count += 1;
            if ours != expected(theirs) {
                wrong.push(format!("{line}: {ours}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {count} differ:\n{}", wrong.len(), wrong.join("\n"));
}
