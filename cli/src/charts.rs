//! `tritium configs`, `tritium occupancy`, `tritium history`, and layouts as pictures.

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

use serde_json::json;
use tritium_ide::{
    Host,
    charts::Chart,
    emit::{Choice, Refusal},
};
use tritium_runtime::files;

use crate::{
    args::TableFormat,
    session::{self, Failure},
};

/// Every configuration of every kernel under the paths; of one kernel where it is named.
pub(crate) fn configs(host: &Host, paths: &[PathBuf], kernel: Option<&str>, format: TableFormat) -> Result<ExitCode, Failure> {
    let mut found = Vec::new();
    let (files, mut failures) = session::python_files(host, paths)?;
    let mut answered = 0;
    for path in files {
        let Some(analysis) = failures.keep(session::readable(host, &path)) else { continue };
        answered += 1;
        let names = analysis.kernels(&path).into_iter().map(|k| k.name).filter(|name| kernel.is_none_or(|wanted| wanted == name));
        found.extend(names.filter_map(|name| Some((path.clone(), analysis.matrix(&path, &name, true)?))));
    }
    failures.unless_all(answered)?;
    if let (Some(kernel), true) = (kernel, found.is_empty()) {
        return Err(Failure(format!("no kernel `{kernel}` here")));
    }
    match format {
        TableFormat::Json => {
            let kernels: Vec<_> = found.iter().map(|(path, matrix)| json!({ "file": path, "matrix": matrix })).collect();
            session::print(&session::pretty(&json!({ "version": 1, "kernels": kernels })))?;
        }
        TableFormat::Table => {
            let texts: Vec<String> = found.iter().map(|(_, matrix)| matrix.text()).collect();
            session::print(&texts.join("\n"))?;
        }
    }
    let clean = found.iter().all(|(_, matrix)| matrix.columns.iter().all(|column| column.problem.is_none()));
    Ok(failures.tell(if clean { ExitCode::SUCCESS } else { ExitCode::from(1) }))
}

pub(crate) fn occupancy(host: &Host, file: &Path, choice: &Choice, output: Option<&Path>) -> Result<ExitCode, Failure> {
    let analysis = session::readable(host, file)?;
    write(analysis.occupancy_chart(file, choice, true).map(|(chart, _)| chart), output)
}

pub(crate) fn history(host: &Host, file: &Path, kernel: Option<String>, output: Option<&Path>) -> Result<ExitCode, Failure> {
    let analysis = session::readable(host, file)?;
    write(analysis.history_chart(file, &Choice { kernel, ..Choice::default() }), output)
}

pub(crate) fn layout(host: &Host, file: &Path, choice: &Choice, output: Option<&Path>) -> Result<ExitCode, Failure> {
    let analysis = session::readable(host, file)?;
    write(analysis.layout_chart(file, choice, None), output)
}

/// Into a file whose name says that it is a picture, the picture; else the text.
pub(crate) fn write(chart: Result<Chart, Refusal>, output: Option<&Path>) -> Result<ExitCode, Failure> {
    match (chart, output) {
        (Ok(chart), Some(path)) => {
            let text = if is_picture(path) { &chart.svg } else { &chart.text };
            files::write(path, text).map_err(|e| Failure::io(path, &e))?;
            Ok(ExitCode::SUCCESS)
        }
        (Ok(chart), None) => {
            session::print(&chart.text)?;
            Ok(ExitCode::SUCCESS)
        }
        (Err(Refusal::Request(message)), _) => Err(Failure(message)),
        (Err(Refusal::Kernel(message)), _) => {
            eprintln!("tritium: {message}");
            Ok(ExitCode::from(1))
        }
    }
}

pub(crate) fn is_picture(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("svg"))
}
