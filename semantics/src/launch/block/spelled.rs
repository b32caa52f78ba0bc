//! A launch as the TOML of a launch block.
//!
//! **Invariant:** what is read back compiles the same instance under the same options, on memories of the same size; contents are made anew.

use crate::{
    Db,
    constant::Const,
    host,
    launch::{Init, Launch, LaunchArg, LaunchOptions},
};

/// `[launch.NAME]` and what follows; `None` where a block has no words for it. `sizes`: names for extents.
pub fn spelled(db: &dyn Db, launch: &Launch, name: &str, sizes: &[(&str, u64)]) -> Option<String> {
    let mut speller = Speller { launch, sizes, used: vec![] };
    let args = launch.args.iter().map(|(name, arg)| Some(format!("{name} = {}", speller.argument(arg)?)));
    let args: Vec<String> = args.collect::<Option<_>>()?;
    // A row of a tuner says them already.
    let own = launch.meta.iter().filter(|_| launch.config.is_none());
    let meta: Vec<String> =
        own.map(|(name, value)| Some(format!("{name} = {}", constant(db, launch, value)?))).collect::<Option<_>>()?;
    let used = sizes.iter().filter(|(name, _)| speller.used.iter().any(|used| used == name));
    let sizes: Vec<String> = used.map(|(name, value)| format!("{name} = {value}")).collect();
    let mut lines =
        vec![format!("[launch.{name}]"), format!("kernel = \"{}\"", launch.kernel.name(db)), format!("grid = {:?}", launch.grid)];
    let table =
        |name: &str, entries: Vec<String>| (!entries.is_empty()).then(|| format!("{name} = {{ {} }}", entries.join(", ")));
    lines.extend([table("sizes", sizes), table("args", args), table("meta", meta)].into_iter().flatten());
    if launch.config.is_none() {
        let options = launch.options;
        lines.push(format!("num_warps = {}", options.num_warps));
        let is_usual = options.num_stages == LaunchOptions::default().num_stages;
        lines.extend((!is_usual).then(|| format!("num_stages = {}", options.num_stages)));
        lines.extend(options.max_registers.map(|most| format!("maxnreg = {most}")));
    }
    Some(lines.into_iter().map(|line| line + "\n").collect())
}

struct Speller<'a> {
    launch: &'a Launch,
    sizes: &'a [(&'a str, u64)],
    /// The sizes that were named.
    used: Vec<String>,
}

impl Speller<'_> {
    fn argument(&mut self, arg: &LaunchArg) -> Option<String> {
        Some(match arg {
            LaunchArg::Tensor(index) => self.tensor(*index),
            LaunchArg::Descriptor { tensor, block, nan } => {
                let padding = if *nan { ", padding = \"nan\"" } else { "" };
                format!("{{ tensor = {}, block = {block:?}{padding} }}", self.tensor(*tensor))
            }
            LaunchArg::Int(value) => value.to_string(),
            LaunchArg::Float(value) => float(*value),
            LaunchArg::Bool(value) => value.to_string(),
            LaunchArg::None => "\"None\"".to_owned(),
            LaunchArg::Tuple(items) => {
                let items: Vec<String> = items.iter().map(|item| self.argument(item)).collect::<Option<_>>()?;
                format!("[{}]", items.join(", "))
            }
        })
    }

    /// One whose rows do not follow each other is a row of elements.
    fn tensor(&mut self, index: usize) -> String {
        let tensor = &self.launch.tensors[index];
        let is_plain = tensor.strides == host::row_major(&tensor.shape);
        let shape = if is_plain { tensor.shape.clone() } else { vec![tensor.span().unwrap_or(1)] };
        let dims: Vec<String> = shape.iter().map(|&extent| self.size(extent)).collect();
        let init = match tensor.init {
            Init::Empty => "",
            Init::Zeros => " = zeros()",
            Init::Ones => " = ones()",
            _ if tensor.dtype.is_float() => " = normal(0, 1)",
            _ => " = randint(0, 3)",
        };
        format!("\"{}[{}]{init}\"", tensor.dtype, dims.join(", "))
    }

    /// A size keeps its name where no other has its value.
    fn size(&mut self, value: u64) -> String {
        match self.sizes.iter().filter(|(_, other)| *other == value).collect::<Vec<_>>()[..] {
            [(name, _)] => {
                self.used.push((*name).to_owned());
                (*name).to_owned()
            }
            _ => value.to_string(),
        }
    }
}

fn constant(db: &dyn Db, launch: &Launch, value: &Const) -> Option<String> {
    Some(match value {
        Const::Int(value) => value.to_string(),
        Const::Bool(value) => value.to_string(),
        Const::Float(value) => float(value.get()),
        Const::Str(word) if word.contains(['"', '\'', '\\', '\n']) => return None,
        Const::Str(word) => format!("\"'{word}'\""),
        Const::None => "\"None\"".to_owned(),
        Const::DType(dtype) => format!("\"{dtype}\""),
        Const::Function(function) if function.file(db) == launch.kernel.file(db) => format!("\"fn:{}\"", function.name(db)),
        Const::Function(_) => return None,
        Const::Tuple(items) => {
            let items: Vec<String> = items.iter().map(|item| constant(db, launch, item)).collect::<Option<_>>()?;
            format!("[{}]", items.join(", "))
        }
    })
}

/// TOML's floats have a point or an exponent.
fn float(value: f64) -> String {
    match value {
        _ if value.is_nan() => "nan".to_owned(),
        f64::INFINITY => "inf".to_owned(),
        f64::NEG_INFINITY => "-inf".to_owned(),
        _ => format!("{value:?}"),
    }
}
