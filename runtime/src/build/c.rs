//! A build in C: a header with a function for each kernel, and a source with the images and tables of what their variants take.

use std::fmt::Write as _;

use super::{Entry, Form, Image, Kind, Manifest, Map, Part, names};

/// Axes of a tensor map at most.
const MAX_AXES: usize = 5;

/// A float as the word that holds its bits.
struct Conversion {
    of: &'static str,
    bits: &'static str,
}

const CONVERSIONS: &[Conversion] = &[Conversion { of: "float", bits: "uint32_t" }, Conversion { of: "double", bits: "uint64_t" }];

/// Before everything that is written.
fn banner(manifest: &Manifest) -> String {
    format!("/* Written by `tritium build` {}; a new build writes it anew. */\n", manifest.tritium)
}

pub(super) fn header(manifest: &Manifest) -> String {
    let mut out = banner(manifest);
    out += "#ifndef TRITIUM_KERNELS_H\n#define TRITIUM_KERNELS_H\n\n";
    out += include_str!("launcher.h");
    for (entry, constants) in manifest.functions.iter().zip(manifest.constants()) {
        out += "\n";
        let values: Vec<String> = entry.compile_time.iter().map(|value| format!("{} = {}", value.name, value.value)).collect();
        let values = if values.is_empty() { String::new() } else { format!(", {}", values.join(", ")) };
        let about = format!("{}:{} `{}`{values}, {} warps.", entry.file, entry.line, entry.kernel, entry.num_warps);
        let _ = writeln!(out, "/* {}", comment(&about));
        for variant in &entry.variants {
            let needs: Vec<String> = variant.parameters.iter().filter_map(super::Need::words).collect();
            let needs = if needs.is_empty() { "any arguments".to_owned() } else { needs.join(", ") };
            let _ = write!(out, "   {}: {needs}", variant.name);
            for launch in &variant.launches {
                let [x, y, z] = launch.grid;
                let _ = write!(out, "; launch {} has a grid of {x}, {y}, {z}", comment(&launch.name));
            }
            out += "\n";
        }
        out +=
            "   Compile-time values are part of the function: what they promise of the arguments is for the caller to keep. */\n";
        for (name, number) in constants {
            let number = match i32::try_from(number) {
                Ok(small @ 0..) => small.to_string(),
                Ok(i32::MIN) | Err(_) if number == i64::MIN => "INT64_MIN".to_owned(),
                Ok(i32::MIN) | Err(_) => format!("(INT64_C({number}))"),
                Ok(small) => format!("({small})"),
            };
            let _ = writeln!(out, "#define TRITIUM_{name} {number}");
        }
        let _ = writeln!(out, "{};", signature(entry));
    }
    out + "\n#ifdef __cplusplus\n}\n#endif\n\n#endif\n"
}

/// What a name in a comment must not end it with.
fn comment(text: &str) -> String {
    text.replace("*/", "* /").replace("/*", "/ *").replace(['\n', '\r'], " ")
}

fn signature(entry: &Entry) -> String {
    let names = names::parameters(entry.arguments.iter().map(|taken| taken.name.as_str()));
    let mut out = format!(
        "int tritium_{}(const struct tritium_kernels *kernels, uint32_t grid_x, uint32_t grid_y, uint32_t grid_z, void *stream",
        entry.name
    );
    for (taken, name) in entry.arguments.iter().zip(names) {
        let ty = match taken.kind {
            Kind::Address { .. } => "uint64_t",
            Kind::Integer => "int64_t",
            Kind::Scalar { of } => names::c_type(of),
        };
        let _ = write!(out, ", {ty} {name}");
    }
    out + ")"
}

pub(super) fn source(manifest: &Manifest) -> String {
    let mut out = banner(manifest);
    out += "#include \"tritium_kernels.h\"\n\n";
    out += include_str!("launcher.c");
    let most = |count: &dyn Fn(&Entry) -> usize| manifest.functions.iter().map(count).max().unwrap_or(0).max(1);
    let maps = |entry: &Entry| {
        let images = entry.variants.iter().flat_map(|variant| &variant.images);
        images.map(|image| image.tensor_maps.len()).max().unwrap_or(0)
    };
    let variants: usize = manifest.functions.iter().map(|entry| entry.variants.len()).sum();
    let _ = writeln!(out, "\n#define MAX_ARGUMENTS {}", most(&|entry| entry.arguments.len()));
    let _ = writeln!(out, "#define MAX_MAPS {}", most(&maps));
    let _ = writeln!(out, "#define N_VARIANTS {variants}");
    for entry in &manifest.functions {
        let strings: Vec<String> = entry.arguments.iter().map(|taken| quoted(&taken.name)).collect();
        let are_addresses: Vec<u8> =
            entry.arguments.iter().map(|taken| u8::from(matches!(taken.kind, Kind::Address { .. }))).collect();
        let name = &entry.name;
        // An array has one element at least.
        let _ = writeln!(out, "\nstatic const char *const {name}_arguments[] = {{{}, NULL}};", or_null(&strings));
        let numbers: Vec<String> = are_addresses.iter().map(u8::to_string).collect();
        let _ = writeln!(out, "static const uint8_t {name}_are_addresses[] = {{{}}};", or_zero(&numbers));
    }
    let mut rows = String::new();
    for (number, variant) in manifest.functions.iter().flat_map(|entry| &entry.variants).enumerate() {
        let needs: Vec<String> = variant
            .parameters
            .iter()
            .map(|need| format!("{{{}, {}, {}}}", u8::from(need.is_one), need.divisible_by, u8::from(need.is_narrow)))
            .collect();
        let needs = if needs.is_empty() { "{0, 0, 0}".to_owned() } else { needs.join(", ") };
        let _ = writeln!(out, "\nstatic const struct need needs_{number}[] = {{{needs}}};");
        let mut images = Vec::new();
        for (at, image) in variant.images.iter().enumerate() {
            let name = format!("{number}_{at}");
            write_image(&mut out, &name, image);
            let (capability, is_exact) = names::capability(image.arch);
            let maps = if image.tensor_maps.is_empty() { "NULL".to_owned() } else { format!("maps_{name}") };
            images.push(format!(
                "{{{capability}, {}, {}, {}, image_{name}, {}, {maps}}}",
                u8::from(is_exact),
                u8::from(image.form == Form::Ptx),
                image.shared_bytes,
                image.tensor_maps.len()
            ));
        }
        let _ = writeln!(out, "static const struct image images_{number}[] = {{{}}};", images.join(", "));
        let symbol = quoted(&variant.symbol);
        let _ = writeln!(rows, "    {{{symbol}, needs_{number}, {}, images_{number}}}, /* {} */", images.len(), variant.name);
    }
    let _ = write!(out, "\nstatic const struct variant variants[N_VARIANTS] = {{\n{rows}}};\n");
    out += include_str!("launcher_tail.c");
    // A function that nothing uses would be warned of.
    for conversion in CONVERSIONS {
        let is_used = |taken: &super::Taken| matches!(taken.kind, Kind::Scalar { of } if names::c_type(of) == conversion.of);
        if manifest.functions.iter().flat_map(|entry| &entry.arguments).any(is_used) {
            let Conversion { of, bits } = conversion;
            let _ = write!(
                out,
                "\nstatic uint64_t bits_of_{of}({of} value)\n{{\n    {bits} bits;\n    memcpy(&bits, &value, sizeof bits);\n    return bits;\n}}\n"
            );
        }
    }
    let mut first = 0;
    for entry in &manifest.functions {
        let Entry { name, threads, arguments, variants, .. } = entry;
        let _ = write!(out, "\n{}\n{{\n", signature(entry));
        let _ = writeln!(
            out,
            "    static const struct function function = {{{}, {threads}, {}, {name}_arguments, {name}_are_addresses, {first}, {}}};",
            quoted(name),
            arguments.len(),
            variants.len()
        );
        let names = names::parameters(arguments.iter().map(|taken| taken.name.as_str()));
        let words = arguments.iter().zip(names).map(|(taken, name)| match taken.kind {
            Kind::Address { .. } => name,
            Kind::Integer => format!("(uint64_t){name}"),
            Kind::Scalar { of } => match names::c_type(of) {
                "float" => format!("bits_of_float({name})"),
                "double" => format!("bits_of_double({name})"),
                signed if signed.starts_with('i') => format!("(uint64_t)(int64_t){name}"),
                _ => format!("(uint64_t){name}"),
            },
        });
        let words: Vec<String> = words.collect();
        let _ = writeln!(out, "    uint64_t values[] = {{{}}};", or_zero(&words));
        out += "    return launch(kernels, &function, grid_x, grid_y, grid_z, stream, values);\n}\n";
        first += variants.len();
    }
    out
}

fn or_zero(items: &[String]) -> String {
    if items.is_empty() { "0".to_owned() } else { items.join(", ") }
}

fn or_null(items: &[String]) -> String {
    if items.is_empty() { "NULL".to_owned() } else { items.join(", ") }
}

/// A string of C.
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for byte in text.bytes() {
        match byte {
            b'"' | b'\\' => {
                out.push('\\');
                out.push(byte as char);
            }
            b' '..=b'~' => out.push(byte as char),
            _ => {
                let _ = write!(out, "\\{byte:03o}");
            }
        }
    }
    out + "\""
}

fn write_image(out: &mut String, name: &str, image: &Image) {
    // Words, so that the driver reads it from where it may; a zero behind it ends PTX.
    let _ = write!(out, "/* {} */\nstatic const uint64_t image_{name}[] = {{", image.file);
    let mut bytes = image.bytes.clone();
    bytes.push(0);
    bytes.resize(bytes.len().next_multiple_of(8), 0);
    for (at, word) in bytes.chunks_exact(8).enumerate() {
        let word = word.iter().rev().fold(0u64, |word, &byte| word << 8 | u64::from(byte));
        out.push_str(if at % 8 == 0 { "\n    " } else { " " });
        let _ = write!(out, "{word:#x},");
    }
    out.push_str("\n};\n");
    if image.tensor_maps.is_empty() {
        return;
    }
    let maps: Vec<String> = image.tensor_maps.iter().map(map).collect();
    let _ = writeln!(out, "static const struct map maps_{name}[] = {{{}}};", maps.join(", "));
}

fn map(map: &Map) -> String {
    let part = |part: &Part| match *part {
        Part::Argument(index) => format!("{{{index}, 0}}"),
        Part::Constant(number) => format!("{{-1, {number}}}"),
    };
    let parts = |parts: &[Part], room: usize| {
        let mut parts: Vec<String> = parts.iter().map(part).collect();
        parts.resize(room, "{-1, 0}".to_owned());
        format!("{{{}}}", parts.join(", "))
    };
    let mut boxes: Vec<String> = map.boxes.iter().map(u32::to_string).collect();
    boxes.resize(MAX_AXES, "0".to_owned());
    format!(
        "{{{}, {}, {}, {}, {}, {}, {{{}}}}}",
        map.base,
        map.extents.len(),
        map.element_bytes,
        map.swizzle,
        parts(&map.extents, MAX_AXES),
        parts(&map.strides, MAX_AXES - 1),
        boxes.join(", ")
    )
}
