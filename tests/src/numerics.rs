//! The numerics suite: launches whose results independent references foretell, written by `tests/run/write.py`.
//!
//! **Invariant:** a launch passes only if every tensor that has a reference was compared with it, element by element.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use tritium_runtime::bundle::{Beside, FileSource};
use tritium_runtime::run::{self, Ready};
use tritium_runtime::tensor::{Tensor, decode};
use tritium_semantics::launch::{self, Init, Launch};
use tritium_semantics::{Chosen, Database, dtype::DType};

use crate::repository;

/// Where bytes lie in `data.bin`.
type Bytes = Range<usize>;

/// One launch and what it must give.
#[derive(Debug, Clone)]
pub struct Case {
    /// `file/launch`
    pub id: String,
    pub file: String,
    pub launch: String,
    /// Its instructions are the machine's own.
    pub gpu_only: bool,
    pub inputs: Vec<(String, Bytes)>,
    pub outputs: Vec<(String, Want)>,
}

#[derive(Debug, Clone)]
pub enum Want {
    /// These elements, any NaN for a NaN.
    Bits(Bytes),
    /// Each within its tolerance; both in `f64`.
    Within(Bytes, Bytes),
    /// The whole within a relative error in the 2-norm.
    Norm(Bytes, f64),
}

pub struct Suite {
    folder: PathBuf,
    pub cases: Vec<Case>,
    pub data: Vec<u8>,
}

impl Suite {
    /// Has the references made, of some families (all, if none is named).
    pub fn write(folder: &Path, families: &[&str]) -> Suite {
        let numpy = repository().join(".deps/numpy");
        assert!(numpy.is_dir(), "NumPy is not there: ./setup.sh installs it");
        let done = Command::new("python3")
            .arg(repository().join("tests/run/write.py"))
            .arg(folder)
            .args(families)
            .env("PYTHONPATH", numpy)
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .output()
            .expect("python3 starts");
        assert!(done.status.success(), "write.py: {}", String::from_utf8_lossy(&done.stderr));
        let read = |name: &str| std::fs::read(folder.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
        let lines = String::from_utf8(read("cases.jsonl")).expect("JSON is UTF-8");
        let cases = lines.lines().map(|line| case(&serde_json::from_str(line).expect("a JSON line"))).collect();
        Suite { folder: folder.to_owned(), cases, data: read("data.bin") }
    }

    /// Cases of one file, in order.
    pub fn files(&self) -> Vec<&[Case]> {
        self.cases.chunk_by(|a, b| a.file == b.file).collect()
    }

    /// A file of the suite, opened for a GPU.
    pub fn open(&self, file: &str, gpu: &str) -> Source {
        let path = self.folder.join(file);
        let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{file}: {error}"));
        let chosen = Chosen { triton: Some("3.6".to_owned()), gpu: Some(gpu.to_owned()), ..Chosen::default() };
        let (db, source) = run::open(&path, text, chosen, &FileSource::Disk);
        let found = launch::launches(&db, source);
        assert!(found.problems.is_empty(), "{file}: {:?}", found.problems.first());
        Source { launches: found.launches.clone(), db }
    }

    /// The tensors of a launch as they are before it.
    pub fn tensors(&self, case: &Case, launch: &Launch) -> Result<Vec<Tensor>, String> {
        let one = |spec: &launch::Tensor| {
            let given = case.inputs.iter().find(|(name, _)| *name == spec.name);
            let spec = launch::Tensor { init: Init::Empty, ..spec.clone() };
            let beside = Beside { folder: &self.folder, files: &FileSource::Disk };
            let mut tensor = Tensor::make(&spec, beside).map_err(|error| error.to_string())?;
            if let Some((name, at)) = given {
                let bytes = &self.data[at.clone()];
                if bytes.len() != tensor.bytes.len() {
                    return Err(format!("`{name}` has {} bytes, the suite {}", tensor.bytes.len(), bytes.len()));
                }
                tensor.bytes.copy_from_slice(bytes);
            }
            Ok(tensor)
        };
        launch.tensors.iter().map(one).collect()
    }

    /// What differs between tensors after a launch and what was foretold; nothing, if all is well.
    pub fn compare(&self, case: &Case, tensors: &[Tensor]) -> Option<String> {
        let mut said = Vec::new();
        for (name, want) in &case.outputs {
            match tensors.iter().find(|t| t.name == *name) {
                Some(tensor) => said.extend(self.differs(tensor, want)),
                None => said.push(format!("no tensor `{name}`")),
            }
        }
        (!said.is_empty()).then(|| said.join("; "))
    }

    fn differs(&self, tensor: &Tensor, want: &Want) -> Option<String> {
        let width = tensor.dtype.bytes() as usize;
        let (out, dtype) = (tensor.bytes.chunks_exact(width), tensor.dtype);
        let numbers = |at: &Bytes| -> Vec<f64> {
            self.data[at.clone()].chunks_exact(8).map(|b| f64::from_le_bytes(b.try_into().expect("eight bytes"))).collect()
        };
        let complain = |wrong: Vec<(usize, String)>, count: usize| {
            let (at, first) = wrong.first()?;
            Some(format!("{}[{at}] {first}; {} of {count} differ", tensor.name, wrong.len()))
        };
        match want {
            Want::Bits(at) => {
                let want = self.data[at.clone()].chunks_exact(width);
                if want.len() != out.len() {
                    return Some(format!("{} has {} elements, the reference {}", tensor.name, out.len(), want.len()));
                }
                let count = want.len();
                let wrong = out.zip(want).enumerate().filter(|(_, (out, want))| !same_bits(dtype, out, want));
                let wrong = wrong.map(|(i, (out, want))| (i, format!("is {}, not {}", shown(dtype, out), shown(dtype, want))));
                complain(wrong.collect(), count)
            }
            Want::Within(values, tolerance) => {
                let (values, tolerance) = (numbers(values), numbers(tolerance));
                if values.len() != out.len() {
                    return Some(format!("{} has {} elements, the reference {}", tensor.name, out.len(), values.len()));
                }
                let wrong = out.zip(values.iter().zip(&tolerance)).enumerate().filter_map(|(i, (out, (&want, &allowed)))| {
                    let value = decode(dtype, out);
                    (!near(value, want, allowed)).then(|| (i, format!("is {value:e}, not {want:e} ± {allowed:.1e}")))
                });
                complain(wrong.collect(), values.len())
            }
            Want::Norm(values, bound) => {
                let values = numbers(values);
                if values.len() != out.len() {
                    return Some(format!("{} has {} elements, the reference {}", tensor.name, out.len(), values.len()));
                }
                let out: Vec<f64> = out.map(|slot| decode(dtype, slot)).collect();
                let off: f64 = out.iter().zip(&values).map(|(o, v)| (o - v) * (o - v)).sum();
                let norm: f64 = values.iter().map(|v| v * v).sum();
                let error = (off / norm.max(f64::MIN_POSITIVE)).sqrt();
                let worst = |i: &usize| (out[*i] - values[*i]).abs();
                // A NaN anywhere makes the error one, and that is no smaller than any bound.
                (error.is_nan() || error > *bound).then(|| {
                    let i = (0..values.len()).max_by(|a, b| worst(a).total_cmp(&worst(b))).unwrap_or(0);
                    format!(
                        "{}: error {error:.1e} of allowed {bound:.1e}, worst [{i}] {:e}, not {:e}",
                        tensor.name, out[i], values[i]
                    )
                })
            }
        }
    }
}

fn same_bits(dtype: DType, out: &[u8], want: &[u8]) -> bool {
    out == want || (dtype.is_float() && decode(dtype, out).is_nan() && decode(dtype, want).is_nan())
}

/// An infinite tolerance is for what the language leaves open.
fn near(value: f64, want: f64, allowed: f64) -> bool {
    allowed == f64::INFINITY
        || value == want
        || (value.is_nan() && want.is_nan())
        || (want.is_finite() && (value - want).abs() <= allowed)
}

fn shown(dtype: DType, slot: &[u8]) -> String {
    if dtype.is_float() { format!("{:e}", decode(dtype, slot)) } else { format!("{}", decode(dtype, slot)) }
}

/// A file of kernels and its launches.
pub struct Source {
    pub db: Database,
    pub launches: Vec<Launch>,
}

impl Source {
    pub fn launch(&self, case: &Case) -> Result<&Launch, String> {
        self.launches.iter().find(|l| l.name == case.launch).ok_or_else(|| "there is no such launch".to_owned())
    }

    pub fn prepare(&self, launch: &Launch) -> Result<Ready, String> {
        run::prepare(&self.db, launch).map_err(|refusal| refusal.message)
    }
}

fn case(line: &Value) -> Case {
    let text = |value: &Value| value.as_str().expect("a string").to_owned();
    let bytes = |value: &Value| -> Bytes {
        let number = |i: usize| value[i].as_u64().expect("a number") as usize;
        number(0)..number(0) + number(1)
    };
    let output = |value: &Value| {
        let want = if !value["bits"].is_null() {
            Want::Bits(bytes(&value["bits"]))
        } else if !value["tolerance"].is_null() {
            Want::Within(bytes(&value["values"]), bytes(&value["tolerance"]))
        } else {
            Want::Norm(bytes(&value["values"]), value["norm"].as_f64().expect("a bound"))
        };
        (text(&value["tensor"]), want)
    };
    Case {
        id: text(&line["id"]),
        file: text(&line["file"]),
        launch: text(&line["launch"]),
        gpu_only: line["gpu_only"].as_bool().expect("a truth"),
        inputs: line["inputs"].as_object().expect("a table").iter().map(|(name, at)| (name.clone(), bytes(at))).collect(),
        outputs: line["outputs"].as_array().expect("a list").iter().map(output).collect(),
    }
}
