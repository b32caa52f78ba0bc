//! `tritium emit`.

use std::{path::Path, process::ExitCode};

use tritium_ide::{
    Host,
    emit::{Choice, Refusal, Stage},
};
use tritium_runtime::files;

use crate::{
    charts,
    session::{self, Failure},
};

pub(crate) fn emit(host: &Host, file: &Path, stage: Stage, choice: &Choice, output: Option<&Path>) -> Result<ExitCode, Failure> {
    if stage == Stage::Layout && output.is_some_and(charts::is_picture) {
        return charts::layout(host, file, choice, output);
    }
    let analysis = session::readable(host, file)?;
    match analysis.emit(file, stage, choice) {
        Ok(text) => {
            match output {
                Some(path) => files::write(path, text).map_err(|e| Failure::io(path, &e))?,
                None => session::print(&text)?,
            }
            Ok(ExitCode::SUCCESS)
        }
        Err(Refusal::Request(message)) => Err(Failure(message)),
        Err(Refusal::Kernel(message)) => {
            eprintln!("tritium: {message}");
            Ok(ExitCode::from(1))
        }
    }
}
