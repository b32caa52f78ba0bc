//! Names: what a kernel may read, from its own scope, from its module, from Python and from Triton.
//!
//! **Invariant:** the only file here that asks [`crate::items`].

use std::{collections::BTreeSet, sync::Arc};

use smol_str::SmolStr;

use super::{
    evaluator::{Evaluator, Poisoned, ProblemExt, problem},
    python::of_the_language,
    scope::Slot,
    value::{Constant, Value},
};
use crate::{
    Db, Function, SourceFile,
    body::{Body, Expr, ExprId, FunctionDef, Stmt},
    builtins::{self, Class, Known, Python},
    constant::{Const, python},
    diagnostics::Code,
    globals::{self, Global},
    items,
    problem::{Applicability, Edit},
    types::TileType,
    versions::{self, Availability},
};

/// The body that holds a function.
pub(super) fn function_body(db: &dyn Db, function: Function) -> Option<(Arc<Body>, crate::body::StmtId)> {
    items::function_body(db, function)
}

pub(super) fn definition(body: &Body, stmt: crate::body::StmtId) -> Option<&FunctionDef> {
    match body.stmt(stmt) {
        Stmt::Function(def) => Some(def),
        _ => None,
    }
}

/// What `@triton.must_use_result("…")` says of a function that is under it.
pub(super) fn must_use(db: &dyn Db, function: Function) -> Option<String> {
    let (body, stmt) = function_body(db, function)?;
    definition(&body, stmt)?.decorators.iter().find_map(|&decorator| {
        let (callee, first) = match body.expr(decorator) {
            Expr::Call { callee, args } => (*callee, args.first()),
            _ => (decorator, None),
        };
        let (Expr::Name(name) | Expr::Attribute { name, .. }) = body.expr(callee) else { return None };
        let words = match first.map(|argument| body.expr(argument.value)) {
            Some(Expr::Str(words)) => words.to_string(),
            _ => String::new(),
        };
        (name == "must_use_result").then_some(words)
    })
}

/// Parameters, by position, that Triton is told not to specialise the function for.
pub(super) fn unspecialised(body: &Body, def: &FunctionDef) -> BTreeSet<usize> {
    items::listed_parameters(body, def, &["do_not_specialize", "do_not_specialize_on_alignment"])
}

/// Whether a function is under `@triton.jit(noinline=True)`.
pub(super) fn is_noinline(body: &Body, def: &FunctionDef) -> bool {
    items::decorator_options(body, def, &["noinline"]).any(|value| matches!(body.expr(value), Expr::Bool(true)))
}

/// `tl.constexpr`, however it is imported.
pub(super) fn is_constexpr_annotation(body: &Body, annotation: ExprId) -> bool {
    match body.expr(annotation) {
        Expr::Name(name) | Expr::Attribute { name, .. } => name == "constexpr",
        Expr::Str(text) => text.ends_with("constexpr"),
        _ => false,
    }
}

impl<'a> Evaluator<'a> {
    pub(super) fn name(&mut self, expr: ExprId, name: &SmolStr) -> Value {
        match self.scope.get(name) {
            Some(Slot::Bound { value, .. }) => return value.clone(),
            Some(Slot::Lost { place, why }) => {
                let (place, why) = (*place, *why);
                let at = self.place(expr);
                self.report(
                    problem(Code::CTL003, at, format!("`{name}` may be undefined here: {why}. Give it a value before"))
                        .related(Some(place), format!("`{name}` is bound here")),
                );
                return Value::Unknown;
            }
            Some(Slot::Stale { place, ty }) => {
                let (place, ty) = (*place, ty.clone());
                let at = self.place(expr);
                self.report(
                    problem(
                        Code::CTL012,
                        at,
                        format!("`{name}` has no defined value after its loop, which may make no trip: keep it in another name"),
                    )
                    .related(Some(place), format!("`{name}` is the variable of this loop")),
                );
                return match ty.elem.scalar() {
                    Some(dtype) => Value::Tile(self.constant_tile(&Const::Int(0), dtype, ty.shape)),
                    None => Value::Unknown,
                };
            }
            None => {}
        }
        let global = match self.globals.get(name) {
            Some(known) => known.clone(),
            None => {
                let found = globals::name_in(self.db, self.function, name.clone());
                self.globals.insert(name.clone(), found.clone());
                found
            }
        };
        match global {
            Some(global) => self.global(expr, name, global),
            None => match name.as_str() {
                "int" => Value::Class(Class::Int),
                "float" => Value::Class(Class::Float),
                "print" => Value::Builtin(builtins::Builtin::DevicePrint),
                _ => match Python::find(name) {
                    Some(python) => Value::Python(python),
                    None => self.undefined(expr, name),
                },
            },
        }
    }

    fn undefined(&mut self, expr: ExprId, name: &SmolStr) -> Value {
        if self.python_name(expr, name) {
            return Value::Unknown;
        }
        if globals::is_template(self.db, self.function) {
            self.complete = false;
            return Value::Unknown;
        }
        let place = self.place(expr);
        let known = self.scope.keys().map(SmolStr::as_str);
        let meant = of_the_language(name).or_else(|| builtins::closest(name, known).map(str::to_owned));
        let mut message = format!("`{name}` is not defined");
        if let Some(meant) = &meant {
            message += &format!("; did you mean `{meant}`?");
        }
        let mut report = problem(Code::LNG018, place, message);
        if let Some(meant) = meant {
            report = report.fix(format!("Change to `{meant}`"), Applicability::Suggested, vec![Edit::Replace(place, meant)]);
        }
        self.report(report);
        Value::Unknown
    }

    fn global(&mut self, expr: ExprId, name: &SmolStr, global: Global) -> Value {
        match global {
            Global::Module(path) => Value::Module(path),
            Global::Builtin(path) => self.path(expr, &path),
            Global::External(path) => match path.as_str() {
                _ if super::constexpr::is_math(&path) => self.path(expr, &path),
                _ => Value::Module(path),
            },
            Global::File(file) => Value::File(file),
            Global::Function(function) => Value::constant(Const::Function(function)),
            Global::Constexpr(value) => Value::Const(Constant { value, symbol: Some(name.clone()) }),
            Global::Value(_) => {
                let place = self.place(expr);
                let message = format!(
                    "`{name}` is a Python global, and kernels read only globals that are compile-time values: define it as `{name} = tl.constexpr(…)`"
                );
                let mut report = problem(Code::LNG004, place, message);
                if let Some(file) = self.binds(name, "tl") {
                    let edit = Edit::Around(file, name.clone(), "tl.constexpr(", ")");
                    report = report.fix(format!("Make `{name}` a tl.constexpr"), Applicability::Suggested, vec![edit]);
                }
                self.report(report);
                Value::Unknown
            }
            Global::PythonFunction => Value::PythonFunction(name.clone()),
            Global::ConstexprFunction(function) => Value::ConstexprFunction(function),
            Global::Record(class) => Value::RecordClass(class),
            Global::Class if matches!(self.body.expr(expr), Expr::Name(_)) => {
                let place = self.place(expr);
                let message = format!(
                    "`{name}` is a Python class, and kernels read only globals that are compile-time values: pass what you need of it as a `tl.constexpr` parameter"
                );
                self.problem(Code::LNG004, place, message);
                Value::Unknown
            }
            // Their calls run in Python, which is not followed; nothing is wrong with them.
            Global::Class | Global::Opaque => {
                self.complete = false;
                Value::Unknown
            }
        }
    }

    /// The file of this function, if it binds both a global and the module that a fix of it names.
    fn binds(&self, name: &str, module: &str) -> Option<SourceFile> {
        let file = self.function.file(self.db);
        if globals::is_enclosed(self.db, self.function, name) {
            return None;
        }
        (items::binds(self.db, file, name) && items::binds(self.db, file, module)).then_some(file)
    }

    /// A plain Python function that a kernel calls.
    pub(super) fn call_of_python(&mut self, call: ExprId, name: &SmolStr) -> Poisoned {
        let place = self.place(call);
        let message = format!("`{name}` is a plain Python function: decorate it with `@triton.jit` to call it from a kernel");
        let mut report = problem(Code::LNG003, place, message);
        if let Some(file) = self.binds(name, "triton") {
            let edit = Edit::Around(file, name.clone(), "@triton.jit\n", "");
            report = report.fix(format!("Decorate `{name}` with @triton.jit"), Applicability::Suggested, vec![edit]);
        }
        self.report(report);
        Poisoned
    }

    /// A full dotted path: `triton.language.load`, `math.pi`.
    pub(super) fn path(&mut self, expr: ExprId, path: &str) -> Value {
        if let Some(value) = python::math_constant(path).filter(|_| super::constexpr::is_math(path)) {
            return Value::constant(value);
        }
        if let Some(function) = self.kept_elsewhere(path) {
            return Value::Library(function);
        }
        if self.is_missing(expr, path) {
            return Value::Unknown;
        }
        match builtins::find(path) {
            Some(Known::Builtin(builtin)) => Value::Builtin(builtin),
            Some(Known::Library(function)) => Value::Library(function),
            Some(Known::CustomFloat(float)) => Value::CustomFloat(float),
            Some(Known::Pointer(pointee)) => {
                Value::Type(TileType::scalar(crate::types::Element::Ptr { pointee, is_const: false }))
            }
            Some(Known::DType(dtype)) => Value::constant(Const::DType(dtype)),
            Some(Known::Module) => Value::Module(path.into()),
            Some(Known::Class(class)) => Value::Class(class),
            Some(Known::Constant(value)) => Value::constant(value),
            Some(Known::PropagateNan(all)) => Value::PropagateNan(all),
            // A back end's own.
            Some(Known::Unsupported) | None
                if self.availability(path) == Availability::Unknown && path.starts_with("triton.") =>
            {
                self.complete = false;
                Value::Unknown
            }
            Some(Known::Unsupported) => {
                self.complete = false;
                let place = self.place(expr);
                let name = path.strip_prefix("triton.language.").map_or(path.to_owned(), |n| format!("tl.{n}"));
                let message =
                    format!("`{name}` is part of Triton, but Tritium does not know it yet: what depends on it is not checked");
                self.problem(Code::LIM002, place, message);
                Value::Unknown
            }
            None if path.starts_with("triton.language.") => self.unknown_member(expr, path),
            None => Value::Module(path.into()),
        }
    }

    /// The function is written for a Triton that has other names.
    pub(super) fn is_for_other_device(&self) -> bool {
        items::is_for_other_device(self.db, self.function.file(self.db))
    }

    /// What `tl.math` had until 3.0 and the Tritons of other devices still have: the functions of the device library, by the same names.
    fn kept_elsewhere(&self, path: &str) -> Option<builtins::Library> {
        let function = builtins::Library::find(path.strip_prefix("triton.language.math.")?)?;
        let is_gone = matches!(self.availability(path), Availability::Removed { .. });
        (is_gone && self.is_for_other_device()).then_some(function)
    }

    fn availability(&self, path: &str) -> Availability {
        versions::availability(path, &self.triton)
    }

    /// A name of Triton's that this version lacks, or has for the last time: whether it lacks it.
    fn is_missing(&mut self, expr: ExprId, path: &str) -> bool {
        let written = || self.text(expr);
        let place = self.place(expr);
        let gone = |version: &str, instead: Option<&str>| {
            let advice = instead.map(|instead| format!(": use {instead}")).unwrap_or_default();
            format!("`{}` is gone since Triton {version}{advice}", written())
        };
        let (code, message, new) = match self.availability(path) {
            Availability::Present | Availability::Never | Availability::Unknown => return false,
            Availability::Deprecated { instead } => {
                let message = format!("`{}` is deprecated: use {instead}", written());
                self.report(problem(Code::VER003, place, message));
                return false;
            }
            Availability::Leaving { version, instead } => {
                let message = format!(
                    "{}. Nothing says which Triton this is for, so it is read as {}",
                    gone(version, instead),
                    self.triton
                );
                self.report(problem(Code::VER005, place, message));
                return false;
            }
            Availability::Removed { version, instead } => {
                let in_library = || Some(format!("`tl.{}`", builtins::Library::find(path.rsplit('.').next()?)?.full_spelling()));
                let instead = instead.map(str::to_owned).or_else(in_library);
                (Code::VER001, gone(version, instead.as_deref()), instead)
            }
            Availability::NotYet { version } => {
                let message = format!(
                    "`{}` comes with Triton {version}, and this is read as Triton {}: say which one you use with `--triton` or `[tool.tritium]`, or do without it",
                    written(),
                    self.triton
                );
                (Code::VER002, message, None)
            }
        };
        self.complete = false;
        if self.is_for_other_device() {
            return true;
        }
        let mut report = problem(code, place, message);
        let new = new.as_ref().and_then(|new| new.strip_prefix("`tl.")?.strip_suffix('`')).filter(|n| !n.contains(['`', '(']));
        if let (Some(new), Some(language)) = (new, self.language_of(expr, path)) {
            let new = format!("{}.{new}", self.text(language));
            report = report.fix(format!("Change to `{new}`"), Applicability::Suggested, vec![Edit::Replace(place, new)]);
        }
        self.report(report);
        true
    }

    fn unknown_member(&mut self, expr: ExprId, path: &str) -> Value {
        let name = path.rsplit('.').next().unwrap_or(path);
        // The file puts it there itself.
        if self.is_for_other_device() || items::patched(self.db, self.function.file(self.db)).contains(name) {
            self.complete = false;
            return Value::Unknown;
        }
        let nearest = builtins::nearest(name);
        let place = self.place(expr);
        let text = self.text(expr);
        let message = match &nearest {
            Some(nearest) if nearest.contains('.') => format!("`{text}` does not exist; `tl.{nearest}` does"),
            Some(nearest) => format!("`{text}` does not exist; did you mean `tl.{nearest}`?"),
            None => format!("`{text}` does not exist: triton.language has no `{name}`"),
        };
        let mut report = problem(Code::LNG010, place, message);
        if let (Some(nearest), Some(language)) = (nearest, self.language_of(expr, path)) {
            let new = format!("{}.{nearest}", self.text(language));
            report = report.fix(format!("Change to `{new}`"), Applicability::Suggested, vec![Edit::Replace(place, new)]);
        }
        self.report(report);
        Value::Unknown
    }

    /// What stands for `triton.language` itself in an expression for one of its members, `tl` in `tl.math.exp`; `None` where only a
    /// module below it has a name.
    fn language_of(&self, expr: ExprId, path: &str) -> Option<ExprId> {
        let mut language = expr;
        for _ in path.strip_prefix("triton.language.")?.split('.') {
            let Expr::Attribute { receiver, .. } = self.body.expr(language) else { return None };
            language = *receiver;
        }
        Some(language)
    }

    // ---- attributes

    pub(super) fn attribute(&mut self, expr: ExprId, receiver: Value, name: &SmolStr) -> Value {
        match receiver {
            Value::Unknown => Value::Unknown,
            Value::Module(path) => self.path(expr, &[path.as_str(), name].join(".")),
            Value::File(file) => {
                let global = globals::member_of_file(self.db, file, name);
                self.global(expr, name, global)
            }
            Value::Class(Class::PropagateNan) => self.path(expr, &format!("triton.language.PropagateNan.{name}")),
            Value::Tile(tile) => self.tile_attribute(expr, tile, name),
            Value::BlockPointer(pointer) => match name.as_str() {
                "dtype" | "type" => {
                    Value::Type(TileType::scalar(crate::types::Element::Ptr { pointee: pointer.pointee, is_const: false }))
                }
                // To Triton it is a scalar until 3.8, and then the extents that it was made with.
                "shape" if !self.rules.block_pointer_aggregates => Value::Tuple(Vec::new()),
                "shape" => {
                    let rank = pointer.block.len();
                    Value::Tuple(pointer.parts[1..=rank].iter().cloned().map(Value::Tile).collect())
                }
                _ => match builtins::Builtin::method(name) {
                    Some(builtin) => Value::Method(Box::new(Value::BlockPointer(pointer)), builtin),
                    None => self.no_attribute(expr, &Value::BlockPointer(pointer), name),
                },
            },
            Value::Record(record) => self.record_attribute(expr, record, name),
            Value::Descriptor(descriptor) => self.descriptor_attribute(expr, descriptor, name),
            Value::Const(Constant { value: Const::DType(dtype), .. }) => {
                self.type_attribute(expr, &TileType::scalar(dtype), name)
            }
            Value::Type(ty) => self.type_attribute(expr, &ty, name),
            Value::CustomFloat(float) => self.custom_float_attribute(expr, float, name),
            Value::Const(ref constant) => match (name.as_str(), &constant.value) {
                // `C.value` unwraps; `1.to(…)` is what an integer specialised to 1 meets.
                ("value", _) => receiver,
                ("to", _) => Value::Method(Box::new(receiver), builtins::Builtin::To),
                ("type" | "dtype", value) => match super::promote::literal_type(value) {
                    Ok(dtype) => Value::constant(Const::DType(dtype)),
                    Err(_) => self.no_attribute(expr, &receiver, name),
                },
                _ => self.no_attribute(expr, &receiver, name),
            },
            other => self.no_attribute(expr, &other, name),
        }
    }

    fn custom_float_attribute(&mut self, expr: ExprId, float: builtins::CustomFloat, name: &SmolStr) -> Value {
        let own = format!("is_fp{}", float.name());
        match name.as_str() {
            "primitive_bitwidth" => Value::int(8),
            "itemsize" => Value::int(1),
            "name" => Value::constant(Const::Str(format!("fp{}", float.name()))),
            "is_fp8" | "is_floating" => Value::Predicate(true),
            "scalar" => Value::CustomFloat(float),
            other if other == own => Value::Predicate(true),
            other if other.starts_with("is_") => Value::Predicate(false),
            _ => self.no_attribute(expr, &Value::CustomFloat(float), name),
        }
    }

    pub(super) fn no_attribute(&mut self, expr: ExprId, receiver: &Value, name: &str) -> Value {
        if self.collection_method(expr, receiver, name) {
            return Value::Unknown;
        }
        let place = self.place(expr);
        let text = match self.body.expr(expr) {
            Expr::Attribute { receiver, .. } => self.text(*receiver),
            _ => self.text(expr),
        };
        self.problem(Code::LNG018, place, format!("`{text}` is {} and has no `{name}`", receiver.ty()));
        Value::Unknown
    }

    fn tile_attribute(&mut self, expr: ExprId, tile: super::value::Tile, name: &SmolStr) -> Value {
        match name.as_str() {
            "shape" => Value::Tuple(
                tile.ty
                    .shape
                    .iter()
                    .map(|d| Value::Const(Constant { value: Const::Int(i128::from(d.size)), symbol: d.symbol.clone() }))
                    .collect(),
            ),
            "numel" => Value::int(i128::from(tile.ty.num_elements())),
            "dtype" => element_value(tile.ty.elem),
            "type" if tile.ty.is_scalar() => element_value(tile.ty.elem),
            "type" => Value::Type(tile.ty),
            _ if self.is_missing(expr, &format!("triton.language.{name}")) => Value::Unknown,
            "T" => self.transpose_last(tile, expr).map_or(Value::Unknown, Value::Tile),
            _ => match builtins::Builtin::method(name) {
                Some(builtin) => Value::Method(Box::new(Value::Tile(tile)), builtin),
                None if builtins::find(&format!("triton.language.{name}")) == Some(Known::Unsupported) => {
                    self.path(expr, &format!("triton.language.{name}"))
                }
                None => {
                    let nearest = builtins::nearest_method(name);
                    let place = self.place(expr);
                    let text = self.text(expr);
                    let hint = nearest.as_ref().map(|n| format!("; did you mean `.{n}`?")).unwrap_or_default();
                    self.problem(Code::LNG018, place, format!("`{text}`: a tile ({}) has no `{name}`{hint}", tile.ty));
                    Value::Unknown
                }
            },
        }
    }

    /// Attributes of `x.dtype` and `x.type`.
    fn type_attribute(&mut self, expr: ExprId, ty: &TileType, name: &SmolStr) -> Value {
        use crate::{dtype::DType, types::Element};
        let elem = ty.elem;
        let dtype = elem.scalar();
        let is = |test: bool| Value::Predicate(test);
        let int = |test: fn(DType) -> bool| Value::Predicate(dtype.is_some_and(test));
        match name.as_str() {
            "element_ty" => match elem {
                Element::Ptr { pointee, .. } if ty.is_scalar() => Value::constant(Const::DType(pointee)),
                Element::Scalar(dtype) if ty.is_scalar() => {
                    let value = Value::constant(Const::DType(dtype));
                    self.no_attribute(expr, &value, name)
                }
                _ => element_value(elem),
            },
            "scalar" => element_value(elem),
            "shape" => Value::Tuple(ty.shape.iter().map(|d| Value::int(i128::from(d.size))).collect()),
            "primitive_bitwidth" => Value::int(i128::from(elem.bits())),
            "itemsize" => Value::int(i128::from(elem.bits().div_ceil(8))),
            "name" => Value::constant(Const::Str(dtype.map_or_else(|| elem.to_string(), builtins::dtype_signature))),
            "is_floating" => int(DType::is_float),
            "is_standard_floating" => int(|d| d.is_float() && d.bits() > 8),
            "is_int" => int(|d| d.is_int()),
            "is_int_signed" => int(DType::is_signed_int),
            "is_int_unsigned" => int(super::promote::is_unsigned),
            "is_bool" | "is_int1" => is(dtype == Some(DType::I1)),
            "is_fp8" => int(|d| d.is_float() && d.bits() == 8),
            "is_fp8e4nv" => is(dtype == Some(DType::F8E4M3)),
            "is_fp8e5" => is(dtype == Some(DType::F8E5M2)),
            "is_fp8e4b15" | "is_fp8e4b8" | "is_fp8e5b16" => is(false),
            "is_fp16" => is(dtype == Some(DType::F16)),
            "is_bf16" => is(dtype == Some(DType::BF16)),
            "is_fp32" => is(dtype == Some(DType::F32)),
            "is_fp64" => is(dtype == Some(DType::F64)),
            "is_int8" => is(dtype == Some(DType::I8)),
            "is_int16" => is(dtype == Some(DType::I16)),
            "is_int32" => is(dtype == Some(DType::I32)),
            "is_int64" => is(dtype == Some(DType::I64)),
            "is_uint8" => is(dtype == Some(DType::U8)),
            "is_uint16" => is(dtype == Some(DType::U16)),
            "is_uint32" => is(dtype == Some(DType::U32)),
            "is_uint64" => is(dtype == Some(DType::U64)),
            "is_ptr" => is(elem.is_ptr()),
            "is_const" => is(matches!(elem, Element::Ptr { is_const: true, .. })),
            "numel" if !ty.is_scalar() => Value::int(i128::from(ty.num_elements())),
            "nbytes" if !ty.is_scalar() => Value::int(i128::from(ty.num_elements()) * i128::from(elem.bits().div_ceil(8))),
            "int_bitwidth" if dtype.is_some_and(DType::is_int) => Value::int(i128::from(elem.bits())),
            "is_block" => is(!ty.is_scalar()),
            _ => {
                let value = Value::Type(ty.clone());
                self.no_attribute(expr, &value, name)
            }
        }
    }
}

/// An element type as a value.
pub(super) fn element_value(elem: crate::types::Element) -> Value {
    match elem.scalar() {
        Some(dtype) => Value::constant(Const::DType(dtype)),
        None => Value::Type(TileType::scalar(elem)),
    }
}
