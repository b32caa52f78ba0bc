//! `tritium roofline`.

use std::{path::Path, process::ExitCode};

use tritium_runtime::files;

use crate::{
    args::{Analysing, TextFormat},
    session::{self, Failure},
};

pub(crate) fn roofline(
    file: &Path,
    kernel: Option<&str>,
    output: Option<&Path>,
    format: TextFormat,
    analysing: &Analysing,
) -> Result<ExitCode, Failure> {
    let host = session::host(analysing)?;
    let analysis = session::readable(&host, file)?;
    let chart = analysis.roofline(file, kernel);
    if chart.points.is_empty() && chart.missing.is_empty() {
        let what = kernel.map_or_else(|| "no kernel".to_owned(), |name| format!("no kernel `{name}`"));
        return Err(Failure(format!("{}: {what} in this file", file.display())));
    }
    if let Some(path) = output {
        files::write(path, chart.svg()).map_err(|e| Failure::io(path, &e))?;
    }
    match (output, format) {
        (_, TextFormat::Json) => session::print(&session::pretty(&chart))?,
        (None, TextFormat::Text) => session::print(&chart.text())?,
        (Some(_), TextFormat::Text) => {}
    }
    Ok(if chart.points.is_empty() { ExitCode::from(1) } else { ExitCode::SUCCESS })
}
