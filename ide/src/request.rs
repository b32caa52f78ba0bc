// Feature: Specialisation by hand
//
//! Asking for one specialisation by hand: the arguments of `emit` and of `batch`.
//!
//! A type is spelled as [`parse_argument`] reads it; in JSON a tuple may be a list. `=VALUE` gives a run-time value for figures that need
//! one. **Invariant:** what cannot be read is an error that names the argument.

use indexmap::IndexMap;
use serde_json::Value;
use smol_str::SmolStr;
use tritium_semantics::{
    ArgType, Argument, Db, Function, Instance, SourceFile,
    constant::Const,
    dtype::DType,
    host,
    instance::parse_argument,
    items::{self, FunctionItem},
    project,
};

/// Arguments by name.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Arguments {
    pub runtime: IndexMap<String, Argument>,
    pub constexprs: IndexMap<String, Const>,
    /// Run-time integers, for trip counts and bytes.
    pub values: IndexMap<String, i128>,
}

impl Arguments {
    /// `X=*f16:16`, `n=i32=4096`.
    pub fn add_type(&mut self, text: &str) -> Result<(), String> {
        let (name, ty) = text.split_once('=').ok_or_else(|| format!("`{text}`: an argument is given as NAME=TYPE"))?;
        let (ty, value) = match ty.split_once('=') {
            Some((ty, value)) => {
                let value = value.parse().map_err(|_| format!("`{text}`: `{value}` is not an integer"))?;
                (ty, Some(value))
            }
            None => (ty, None),
        };
        let mut argument = parse_argument(ty).map_err(|e| format!("`{text}`: {e}"))?;
        if let Some(value) = value {
            self.values.insert(name.to_owned(), value);
            if let Argument::Runtime { ty: ArgType::Scalar(dtype), divisible_by_16 } = &mut argument
                && dtype.is_int()
            {
                *divisible_by_16 |= value % 16 == 0;
            }
        }
        self.runtime.insert(name.to_owned(), argument);
        Ok(())
    }

    /// `BLOCK=1024`, `HAS_BIAS=True`, `DTYPE=tl.float16`.
    pub fn add_value(&mut self, db: &dyn Db, file: SourceFile, text: &str) -> Result<(), String> {
        let (name, value) = text.split_once('=').ok_or_else(|| format!("`{text}`: a value is given as NAME=VALUE"))?;
        let json = match value {
            "None" => Value::Null,
            "True" => Value::Bool(true),
            "False" => Value::Bool(false),
            _ => serde_json::from_str(value).unwrap_or_else(|_| Value::String(value.trim_matches(['"', '\'']).to_owned())),
        };
        let value = constant(db, file, &json).map_err(|e| format!("`{text}`: {e}"))?;
        self.constexprs.insert(name.to_owned(), value);
        Ok(())
    }

    /// `{"X": "*fp16:16", …}` and `{"BLOCK": 64, …}`.
    pub fn from_json(db: &dyn Db, file: SourceFile, args: &Value, constexprs: &Value) -> Result<Arguments, String> {
        let mut arguments = Arguments::default();
        for (name, ty) in args.as_object().into_iter().flatten() {
            arguments.runtime.insert(name.clone(), json_argument(db, file, ty).map_err(|e| format!("`{name}`: {e}"))?);
        }
        for (name, value) in constexprs.as_object().into_iter().flatten() {
            arguments.constexprs.insert(name.clone(), constant(db, file, value).map_err(|e| format!("`{name}`: {e}"))?);
        }
        Ok(arguments)
    }

    /// The specialisation, in the function's parameter order.
    pub fn instance(&self, db: &dyn Db, file: SourceFile, function: Function) -> Result<Instance, String> {
        let item = function_item(db, file, function).ok_or("the function is gone")?;
        let unknown =
            self.runtime.keys().chain(self.constexprs.keys()).find(|name| !item.params.iter().any(|p| p.name == **name));
        if let Some(name) = unknown {
            return Err(format!("`{}` has no parameter `{name}`", function.name(db)));
        }
        let mut arguments = Vec::new();
        for (index, param) in item.params.iter().enumerate() {
            let name = param.name.as_str();
            let given = self.runtime.get(name).cloned().or_else(|| self.constexprs.get(name).cloned().map(Argument::Constexpr));
            let default = || host::default_of(db, function, index).map(Argument::Constexpr);
            match given.or_else(default) {
                Some(argument) => arguments.push(argument),
                None => return Err(format!("nothing is given for parameter `{name}` of `{}`", function.name(db))),
            }
        }
        Ok(Instance::new(db, function, arguments, SmolStr::from(project::triton(db, file))))
    }
}

pub fn function_item(db: &dyn Db, file: SourceFile, function: Function) -> Option<&FunctionItem> {
    items::items(db, file).function(function)
}

/// A function of the file by name: the last one, as Python has it.
pub fn find_function(db: &dyn Db, file: SourceFile, name: &str) -> Option<Function> {
    items::items(db, file).functions.iter().rev().map(|item| item.function).find(|f| f.name(db) == name)
}

/// A type, or a list of types for a tuple; what is no text in a list is a compile-time value.
fn json_argument(db: &dyn Db, file: SourceFile, value: &Value) -> Result<Argument, String> {
    match value {
        Value::String(text) => parse_argument(text),
        Value::Array(items) => items
            .iter()
            .map(|item| match item {
                Value::String(_) | Value::Array(_) => json_argument(db, file, item),
                other => constant(db, file, other).map(Argument::Constexpr),
            })
            .collect::<Result<_, _>>()
            .map(Argument::Tuple),
        Value::Null | Value::Bool(_) | Value::Number(_) => constant(db, file, value).map(Argument::Constexpr),
        Value::Object(_) => Err("an object is not a type".to_owned()),
    }
}

fn constant(db: &dyn Db, file: SourceFile, value: &Value) -> Result<Const, String> {
    Ok(match value {
        Value::Null => Const::None,
        Value::Bool(b) => Const::Bool(*b),
        Value::Number(n) => match n.as_i64().map(i128::from).or_else(|| n.as_u64().map(i128::from)) {
            Some(int) => Const::Int(int),
            None => Const::float(n.as_f64().ok_or_else(|| format!("`{n}` is not a number"))?),
        },
        Value::String(text) => {
            if let Some(name) = text.strip_prefix("fn:") {
                Const::Function(find_function(db, file, name).ok_or_else(|| format!("no function `{name}` in this file"))?)
            } else if let Some(dtype) = text.strip_prefix("tl.").and_then(DType::from_name) {
                Const::DType(dtype)
            } else {
                Const::Str(text.clone())
            }
        }
        Value::Array(items) => Const::Tuple(items.iter().map(|v| constant(db, file, v)).collect::<Result<_, _>>()?),
        Value::Object(_) => return Err("an object is not a compile-time value".to_owned()),
    })
}
