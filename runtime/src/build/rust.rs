//! A build in Rust: a module over cudarc's driver API, which includes the images that lie beside it.

use std::fmt::Write as _;

use super::{Entry, Form, Kind, Manifest, Map, Part, names};

pub(super) fn module(manifest: &Manifest) -> String {
    let mut out = format!(
        "//! Written by `tritium build` {}; a new build writes it anew. For cudarc 0.19 with its feature `driver`.\n\n",
        manifest.tritium
    );
    out += include_str!("launcher.rs.txt");
    for (name, number) in manifest.constants().into_iter().flatten() {
        let _ = write!(out, "\npub const {name}: i64 = {number};\n");
    }
    out += "\nimpl Kernels {";
    let mut first = 0;
    for (at, entry) in manifest.functions.iter().enumerate() {
        if at > 0 {
            out += "\n";
        }
        write_function(&mut out, entry, first);
        first += entry.variants.len();
    }
    out += "}\n\nstatic VARIANTS: &[&Variant] = &[\n";
    for variant in manifest.functions.iter().flat_map(|entry| &entry.variants) {
        let _ =
            writeln!(out, "    // {}\n    &Variant {{\n        symbol: {:?},\n        needs: &[", variant.name, variant.symbol);
        for need in &variant.parameters {
            let (is_one, divisible_by, is_narrow) = (need.is_one, need.divisible_by, need.is_narrow);
            let _ =
                writeln!(out, "            Need {{ is_one: {is_one}, divisible_by: {divisible_by}, is_narrow: {is_narrow} }},");
        }
        out += "        ],\n        images: &[\n";
        for image in &variant.images {
            let (capability, is_exact) = names::capability(image.arch);
            let bytes = match image.form {
                Form::Cubin => format!("&Aligned(*include_bytes!({:?})).0", image.file),
                Form::Ptx => format!("concat!(include_str!({:?}), \"\\0\").as_bytes()", image.file),
            };
            let maps: Vec<String> = image.tensor_maps.iter().map(map).collect();
            let _ = writeln!(
                out,
                "            Image {{ capability: {capability}, is_exact: {is_exact}, is_ptx: {}, shared_bytes: {}, bytes: {bytes}, maps: &[{}] }},",
                image.form == Form::Ptx,
                image.shared_bytes,
                maps.join(", ")
            );
        }
        out += "        ],\n    },\n";
    }
    out + "];\n"
}

fn write_function(out: &mut String, entry: &Entry, first: usize) {
    let Entry { name, kernel, file, line, threads, variants, arguments, .. } = entry;
    let values: Vec<String> = entry.compile_time.iter().map(|value| format!("{} = {}", value.name, value.value)).collect();
    let values = if values.is_empty() { String::new() } else { format!(", {}", values.join(", ")) };
    let text = format!("`{kernel}` of {file}:{line}{values}, {} warps.", entry.num_warps).replace(['\n', '\r'], " ");
    let _ = writeln!(out, "\n    /// {text}");
    for variant in variants {
        let needs: Vec<String> = variant.parameters.iter().filter_map(super::Need::words).collect();
        let needs = if needs.is_empty() { "any arguments".to_owned() } else { needs.join(", ") };
        let _ = writeln!(out, "    /// * `{}`: {needs}", variant.name);
    }
    *out += "    ///\n    /// # Safety\n    /// Addresses must be of memory that the kernel may use as it does until it has run; what compile-time values promise of\n    /// the arguments must hold.\n";
    let names = names::parameters(arguments.iter().map(|taken| taken.name.as_str()));
    let (mut parameters, mut words) = (String::new(), Vec::new());
    for (taken, name) in arguments.iter().zip(&names) {
        let (ty, word) = match taken.kind {
            Kind::Address { .. } => ("sys::CUdeviceptr", name.clone()),
            Kind::Integer => ("i64", format!("{name} as u64")),
            Kind::Scalar { of } => match names::rust_type(of) {
                "f32" => ("f32", format!("u64::from({name}.to_bits())")),
                "f64" => ("f64", format!("{name}.to_bits()")),
                signed if signed.starts_with('i') => (signed, format!("i64::from({name}) as u64")),
                unsigned => (unsigned, format!("u64::from({name})")),
            },
        };
        let _ = write!(parameters, ", {name}: {ty}");
        words.push(word);
    }
    let strings: Vec<String> = arguments.iter().map(|taken| format!("{:?}", taken.name)).collect();
    let are_addresses: Vec<String> =
        arguments.iter().map(|taken| matches!(taken.kind, Kind::Address { .. }).to_string()).collect();
    let _ = writeln!(
        out,
        "    pub unsafe fn launch_{name}(&self, grid: (u32, u32, u32), stream: sys::CUstream{parameters}) -> Result<(), Error> {{
        static FUNCTION: Function = Function {{
            name: {name:?},
            threads: {threads},
            arguments: &[{}],
            are_addresses: &[{}],
            first_variant: {first},
            variants: {},
        }};
        // SAFETY: what the caller promises.
        unsafe {{ self.launch(&FUNCTION, grid, stream, &mut [{}]) }}
    }}",
        strings.join(", "),
        are_addresses.join(", "),
        variants.len(),
        words.join(", ")
    );
}

fn map(map: &Map) -> String {
    let parts = |parts: &[Part]| {
        let parts = parts.iter().map(|part| match *part {
            Part::Argument(index) => format!("Part::Argument({index})"),
            Part::Constant(number) => format!("Part::Constant({number})"),
        });
        parts.collect::<Vec<_>>().join(", ")
    };
    let Map { base, boxes, element_bytes, swizzle, .. } = map;
    format!(
        "Map {{ base: {base}, extents: &[{}], strides: &[{}], boxes: &{boxes:?}, element_bytes: {element_bytes}, swizzle: {swizzle} }}",
        parts(&map.extents),
        parts(&map.strides)
    )
}
