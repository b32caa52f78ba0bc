//! Text in, text out, over whole files.

mod bodies;
mod check;
mod enter;
mod host;
mod incremental;
mod items;
mod lints;
mod names;
mod pages;
mod recorded;
mod repeated_loads;
mod specialise;
mod values;

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

use crate::{
    Database, Db as _, SourceFile, System,
    launch::{Given, Launch, LaunchArg, LaunchSource, launches},
};

/// A file system of a few texts.
#[derive(Default)]
pub(crate) struct Files(BTreeMap<PathBuf, String>);

impl Files {
    pub(crate) fn new(files: &[(&str, &str)]) -> Arc<Files> {
        Arc::new(Files(files.iter().map(|(p, t)| (PathBuf::from(p), (*t).to_owned())).collect()))
    }
}

impl System for Files {
    fn read(&self, path: &Path) -> io::Result<String> {
        self.0.get(path).cloned().ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn list(&self, directory: &Path) -> io::Result<Vec<PathBuf>> {
        Ok(self.0.keys().filter(|p| p.parent() == Some(directory)).cloned().collect())
    }

    fn is_file(&self, path: &Path) -> bool {
        self.0.contains_key(path)
    }
}

pub(crate) fn database(text: &str) -> (Database, SourceFile) {
    let mut db = Database::new(Arc::new(Files::default()));
    let file = db.set_text(Path::new("kernel.py"), text.to_owned());
    (db, file)
}

/// The launches of a file, one a paragraph.
pub(crate) fn launches_of(text: &str) -> String {
    let (db, file) = database(text);
    let found = launches(&db, file);
    let mut out = String::new();
    for (launch, source) in found.launches.iter().zip(&found.sources) {
        let _ = writeln!(out, "{}", show(&db, launch, *source));
    }
    for problem in &found.problems {
        let _ = writeln!(
            out,
            "{} {} at {:?}",
            problem.code,
            problem.message,
            &text[problem.place.range(&db, file).expect("a place")]
        );
    }
    for unknown in &found.unknown {
        let _ = writeln!(out, "unknown: {} at {:?}", unknown.reason, &text[unknown.place.range(&db).expect("a place")]);
    }
    out
}

/// What each launch in host code gives, and what it leaves open.
pub(crate) fn sites_of(text: &str) -> String {
    let (db, file) = database(text);
    let mut out = String::new();
    for site in &crate::host::host_launches(&db, file).sites {
        let item = crate::items::items(&db, file).function(site.partial.kernel).expect("a kernel");
        let left = crate::specialise::left_open(&db, &site.partial, &site.open);
        let given = said(&item.params, &site.partial.given);
        let _ = writeln!(out, "{} {given} leaves {left:?} open", site.partial.kernel.name(&db));
    }
    out
}

/// What the last of some files launches in the others.
pub(crate) fn launches_elsewhere_of(files: &[(&str, &str)]) -> String {
    let db = Database::new(Files::new(files));
    let caller = db.file(Path::new(files[files.len() - 1].0)).expect("it is there");
    let line =
        |place: crate::host::HostPlace| crate::items::line_number(&db, place.file, place.range(&db).expect("a place").start);
    let mut out = String::new();
    for called in crate::host::launches_elsewhere(&db, caller) {
        let item = crate::items::items(&db, called.partial.kernel.file(&db)).function(called.partial.kernel).expect("a kernel");
        let file = called.at.file.path(&db).file_name().expect("a name").display();
        let facts = [(called.is_certain, ", certain"), (called.is_whole, ", whole"), (called.is_conditional, ", perhaps")];
        let facts: String = facts.iter().filter(|(holds, _)| *holds).map(|(_, word)| *word).collect();
        let _ = writeln!(
            out,
            "{} at line {} of {file} from line {}: {}{facts}",
            called.partial.kernel.name(&db),
            line(called.at),
            line(called.from),
            said(&item.params, &called.partial.given),
        );
    }
    out
}

/// What a launch gives, by parameter.
fn said(params: &[crate::items::ParamItem], given: &[Given]) -> String {
    let given = params.iter().zip(given).map(|(param, given)| {
        let said = match given {
            Given::Known(value) => value.to_string(),
            Given::OneOf(values) => values.iter().map(ToString::to_string).collect::<Vec<_>>().join("|"),
            Given::Open { kind, may_be_none, .. } => format!("{kind:?}{}", if *may_be_none { "?" } else { "" }),
            other => other.description().to_owned(),
        };
        format!("{}={said}", param.name)
    });
    given.collect::<Vec<_>>().join(" ")
}

fn show(db: &Database, launch: &Launch, source: LaunchSource) -> String {
    let mut out = format!("{}", launch.name);
    if let Some(config) = launch.config {
        let _ = write!(out, "[{config}]");
    }
    let _ = write!(out, " = {}{:?}", launch.kernel.name(db), launch.grid);
    for (name, arg) in &launch.args {
        let _ = match arg {
            LaunchArg::Tensor(i) => {
                let t = &launch.tensors[*i];
                write!(out, " {name}={}:{}{:?}/{:?}={:?}", t.name, t.dtype, t.shape, t.strides, t.init)
            }
            LaunchArg::Int(i) => write!(out, " {name}={i}"),
            LaunchArg::Float(f) => write!(out, " {name}={f:?}"),
            LaunchArg::Bool(b) => write!(out, " {name}={b}"),
            LaunchArg::None => write!(out, " {name}=None"),
            other => write!(out, " {name}={other:?}"),
        };
    }
    for (name, value) in &launch.meta {
        let _ = write!(out, " {name}:{value}");
    }
    let _ = write!(out, " warps={} stages={}", launch.options.num_warps, launch.options.num_stages);
    match source {
        LaunchSource::Host(_) => {}
        LaunchSource::Block => out.push_str(" (block)"),
        LaunchSource::Sidecar => out.push_str(" (sidecar)"),
        LaunchSource::Recorded => out.push_str(" (recorded)"),
    }
    out
}

/// What each launch that is not known needs to be whole: what the function around it is entered with, and what it launches then.
pub(crate) fn entered_of(text: &str, set: &[(&str, &str)]) -> String {
    let (db, file) = database(text);
    let set: Vec<(String, String)> = set.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    let mut out = String::new();
    let mut reached = Vec::new();
    for site in &crate::host::host_launches(&db, file).sites {
        if reached.contains(&site.place) {
            continue;
        }
        let function = crate::host::entrable_around(&db, site.place).expect("a function");
        let entered = match crate::host::enter(&db, function, Some(site.place), &set) {
            Ok(entered) => entered,
            Err(why) => {
                let _ = writeln!(out, "{why}");
                continue;
            }
        };
        let is_reached = entered.reached.contains(&site.place);
        let of_kernel = if is_reached { None } else { Some(crate::host::enter_kernel(&db, site.place, &set)) };
        let entered = match of_kernel {
            None => entered,
            Some(Ok(entered)) => entered,
            Some(Err(why)) => {
                let _ = writeln!(out, "{why}");
                continue;
            }
        };
        let _ = writeln!(out, "{}", entered.given());
        if !entered.reached.contains(&site.place) {
            let _ = writeln!(out, "  {} is not reached", site.partial.kernel.name(&db));
        }
        for (launch, source) in entered.launches.found.launches.iter().zip(&entered.launches.found.sources) {
            let _ = writeln!(out, "  {}", show(&db, launch, *source));
        }
        reached.extend(entered.reached);
    }
    out
}
