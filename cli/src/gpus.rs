//! `tritium gpus`.

use std::{path::Path, process::ExitCode};

use comfy_table::{Table, presets::UTF8_FULL_CONDENSED};
use serde_json::{Value, json};
use tritium_ide::Host;
use tritium_semantics::target::{BOARDS, Board, SMS, sm};

use crate::{
    args::TableFormat,
    session::{self, Failure},
};

pub(crate) fn gpus(format: TableFormat) -> Result<ExitCode, Failure> {
    // The project of the working folder may add some.
    let host = Host::default();
    let snapshot = host.snapshot();
    let project = snapshot.project_of_folder(Path::new("."));
    for problem in &project.problems {
        eprintln!("tritium: {problem}");
    }
    let known: Vec<&Board> = BOARDS.iter().chain(project.config.boards.iter().copied()).collect();
    let rate = |rate: Option<f64>| rate.map_or("–".to_owned(), |rate| rate.to_string());
    let text = match format {
        TableFormat::Table => {
            let mut boards = Table::new();
            boards.load_style(UTF8_FULL_CONDENSED);
            boards.set_header([
                "board",
                "SM",
                "SMs",
                "MHz",
                "DRAM GB/s",
                "L2 MiB",
                "f16 TFLOP/s",
                "tf32",
                "fp8",
                "int8",
                "f32",
                "f64",
            ]);
            for b in &known {
                boards.add_row([
                    b.name.to_owned(),
                    b.sm.to_owned(),
                    b.sm_count.to_string(),
                    b.clock.to_string(),
                    b.dram_bandwidth.to_string(),
                    b.l2.to_string(),
                    b.f16_tflops.to_string(),
                    b.tf32_tflops.to_string(),
                    rate(b.fp8_tflops),
                    rate(b.int8_tops),
                    b.f32_tflops.to_string(),
                    rate(b.f64_tflops),
                ]);
            }
            let mut sms = Table::new();
            sms.load_style(UTF8_FULL_CONDENSED);
            sms.set_header(["SM", "PTX target", "shared KiB per CTA", "per SM", "warps", "CTAs", "registers"]);
            for s in SMS {
                sms.add_row([
                    s.name.to_owned(),
                    s.ptx_target.to_owned(),
                    (s.shared_per_cta >> 10).to_string(),
                    (s.shared_per_sm >> 10).to_string(),
                    s.max_warps_per_sm.to_string(),
                    s.max_ctas_per_sm.to_string(),
                    s.registers_per_sm.to_string(),
                ]);
            }
            format!("{boards}\nPeaks are the datasheets' (dense).\n\n{sms}\n")
        }
        TableFormat::Json => {
            let boards: Vec<Value> = known
                .iter()
                .map(|b| {
                    json!({
                        "name": b.name, "sm": b.sm, "sm_count": b.sm_count, "clock_mhz": b.clock, "dram_gb_s": b.dram_bandwidth,
                        "l2_mib": b.l2, "f16_tflops": b.f16_tflops, "tf32_tflops": b.tf32_tflops, "f32_tflops": b.f32_tflops,
                        "fp8_tflops": b.fp8_tflops, "int8_tops": b.int8_tops, "f64_tflops": b.f64_tflops,
                        "shared_per_cta": sm(b.sm).map(|s| s.shared_per_cta),
                    })
                })
                .collect();
            let sms: Vec<Value> = SMS
                .iter()
                .map(|s| json!({ "name": s.name, "ptx_target": s.ptx_target, "shared_per_cta": s.shared_per_cta, "shared_per_sm": s.shared_per_sm, "warps": s.max_warps_per_sm }))
                .collect();
            session::pretty(&json!({ "version": 1, "boards": boards, "sms": sms }))
        }
    };
    session::print(&text)?;
    Ok(ExitCode::SUCCESS)
}
