//! The `tritium` program.

use std::process::ExitCode;

fn main() -> ExitCode {
    // Before anything else: a worker owns its standard input and output.
    if std::env::args_os().nth(1).is_some_and(|argument| argument == "worker") {
        return tritium_runtime::worker::serve();
    }
    eprintln!("usage: tritium worker");
    ExitCode::from(2)
}
