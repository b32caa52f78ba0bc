//! Names and types of what is written: Python's names as C and Rust take them.

use tritium_semantics::dtype::DType;

/// Words of C, C++ and Rust, and those of the functions that are written.
#[rustfmt::skip]
const TAKEN: &[&str] = &[
    "abstract", "alignas", "alignof", "and", "as", "asm", "async", "auto", "await", "become", "bool", "box", "break", "case", "catch", "char", "class",
    "const", "continue", "crate", "default", "delete", "do", "double", "dyn", "else", "enum", "explicit", "export", "extern", "false", "final", "float",
    "fn", "for", "friend", "gen", "goto", "grid", "grid_x", "grid_y", "grid_z", "if", "impl", "in", "inline", "int", "kernels", "let", "long", "loop",
    "macro", "match", "mod", "move", "mut", "namespace", "new", "not", "operator", "or", "override", "priv", "private", "protected", "pub", "public",
    "ref", "register", "restrict", "return", "self", "Self", "short", "signed", "sizeof", "static", "stream", "struct", "super", "switch", "template",
    "this", "throw", "trait", "true", "try", "type", "typedef", "typename", "typeof", "union", "unsafe", "unsized", "unsigned", "use", "using", "values",
    "virtual", "void", "volatile", "where", "while", "xor", "yield",
    // Macros of C.
    "EOF", "NULL", "errno", "linux", "stderr", "stdin", "stdout", "unix",
];

/// What is written for every build: behind `tritium_` in C.
pub(super) const OWN_FUNCTIONS: &[&str] = &["driver", "driver_from", "kernels", "load", "message", "status", "symbol", "unload"];

/// The same of constants, behind `TRITIUM_`.
pub(super) const OWN_CONSTANTS: &[&str] = &["KERNELS_H", "NO_FUNCTION", "NO_IMAGE", "NO_MEMORY", "NO_VARIANT"];

/// What is no letter, digit or underscore becomes an underscore.
pub(super) fn identifier(name: &str) -> String {
    let name: String = name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    // A name that begins with an underscore may be the C library's.
    let name = name.trim_start_matches('_');
    if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) { format!("k{name}") } else { name.to_owned() }
}

/// The name, or with a number behind it where others have it.
pub(super) fn distinct(name: String, others: &[String]) -> String {
    let is_free = |name: &String| !others.contains(name);
    if is_free(&name) {
        return name;
    }
    (2..).map(|nth| format!("{name}_{nth}")).find(is_free).unwrap_or(name)
}

/// Parameters of a function, in order.
pub(super) fn parameters<'a>(names: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    for name in names {
        let mut name = identifier(name);
        if TAKEN.contains(&name.as_str()) {
            name.push('_');
        }
        out.push(distinct(name, &out));
    }
    out
}

/// The type of a kernel's parameter.
pub(super) fn c_type(dtype: DType) -> &'static str {
    match dtype {
        DType::F32 => "float",
        DType::F64 => "double",
        signed if signed.is_signed_int() => match signed.bytes() {
            1 => "int8_t",
            2 => "int16_t",
            4 => "int32_t",
            _ => "int64_t",
        },
        other => match other.bytes() {
            1 => "uint8_t",
            2 => "uint16_t",
            4 => "uint32_t",
            _ => "uint64_t",
        },
    }
}

/// The same in Rust.
pub(super) fn rust_type(dtype: DType) -> &'static str {
    match c_type(dtype) {
        "float" => "f32",
        "double" => "f64",
        "int8_t" => "i8",
        "int16_t" => "i16",
        "int32_t" => "i32",
        "int64_t" => "i64",
        "uint8_t" => "u8",
        "uint16_t" => "u16",
        "uint32_t" => "u32",
        _ => "u64",
    }
}

/// Compute capability of an architecture, and whether it runs on no other: `sm_90a` is (90, true).
pub(super) fn capability(arch: &str) -> (u32, bool) {
    let digits = arch.trim_start_matches("sm_");
    let number = digits.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    (number.parse().unwrap_or(0), number.len() < digits.len())
}
