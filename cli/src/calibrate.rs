//! `tritium calibrate`.

use std::{path::PathBuf, process::ExitCode};

use tritium_runtime::calibrate;

use crate::session::{self, Failure};

pub(crate) fn calibrate(device: &str, output: Option<PathBuf>) -> Result<ExitCode, Failure> {
    let nowhere = || Failure("TRITIUM_ROOFS says that roofs are kept nowhere; name a file with -o".to_owned());
    let path = output.or_else(calibrate::file).ok_or_else(nowhere)?;
    match calibrate::measure(device) {
        Ok(roofs) => {
            calibrate::write(&path, &roofs).map_err(Failure)?;
            let rate = |rate: Option<f64>| rate.map_or_else(|| "?".to_owned(), |rate| format!("{rate:.0}"));
            let measured = &roofs.measured;
            session::print(&format!(
                "{}: DRAM {} GB/s; {} TFLOP/s f16, {} tf32, {} f32; written to {}\n",
                roofs.board,
                rate(measured.dram_bandwidth),
                rate(measured.f16_tflops),
                rate(measured.tf32_tflops),
                rate(measured.f32_tflops),
                path.display()
            ))?;
            Ok(ExitCode::SUCCESS)
        }
        Err(message) => {
            eprintln!("tritium: {message}");
            Ok(ExitCode::from(1))
        }
    }
}
