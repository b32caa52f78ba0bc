//! `tritium emit`.

use std::{
    fs,
    io::{self, Write as _},
    path::Path,
    process::ExitCode,
};

use tritium_lsp::ide::{
    Host,
    emit::{Choice, Stage},
};

use crate::{args, session::Failure};

pub(crate) fn emit(
    host: &Host,
    file: &Path,
    stage: args::Stage,
    choice: &Choice,
    output: Option<&Path>,
) -> Result<ExitCode, Failure> {
    let stage = match stage {
        args::Stage::Tree => Stage::Tree,
        args::Stage::Items => Stage::Items,
        args::Stage::Types => Stage::Types,
        args::Stage::Tile => Stage::Tile,
        args::Stage::Layout => Stage::Layout,
        args::Stage::Llvm => Stage::Llvm,
        args::Stage::Ptx => Stage::Ptx,
        args::Stage::Sass => Stage::Sass,
    };
    match host.snapshot().emit(file, stage, choice) {
        Ok(text) => {
            match output {
                Some(path) => fs::write(path, text).map_err(|e| Failure::io(path, &e))?,
                // A reader that stops reading (head) is no failure.
                None => drop(io::stdout().write_all(text.as_bytes())),
            }
            Ok(ExitCode::SUCCESS)
        }
        Err(message) => {
            eprintln!("tritium: {message}");
            Ok(ExitCode::from(1))
        }
    }
}
