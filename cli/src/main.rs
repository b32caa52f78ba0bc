//! The `tritium` program: commands over the same façade that editors use.
//!
//! **Invariant:** no logic of its own. With `--output-format json` standard output carries one JSON document and nothing else; messages go
//! to standard error. Exit status: 0 clean, 1 an error or warning remains (or a mismatch, or a fault), 2 wrong use or failed I/O.

mod args;
mod batch;
mod bench;
mod build;
mod calibrate;
mod charts;
mod check;
mod emit;
mod gpus;
mod job;
mod printing;
mod report;
mod roofline;
mod run;
mod sanitize;
mod session;
mod stats;
mod tune;

use std::{io, process::ExitCode};

use clap::{CommandFactory as _, Parser as _};
use tritium_ide::emit::Choice;
use tritium_lsp::Ended;
use tritium_runtime::tune::TuneOptions;
use tritium_semantics::{DEEP_STACK_BYTES, launch::GivenOptions};

use crate::{
    args::{Cli, Command},
    session::Failure,
};

/// Understanding a kernel makes millions of small objects on every core; this allocator saves a tenth of its processor time. Without huge
/// pages: a language server would hold a third more memory, and zeroing them was a third of what a keystroke in a long kernel costs.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    // Before anything else: a worker owns its standard input and output.
    if std::env::args_os().nth(1).is_some_and(|argument| argument == "worker") {
        return tritium_runtime::worker::serve();
    }
    start_tracing();
    let done = std::thread::Builder::new().stack_size(DEEP_STACK_BYTES).spawn(|| dispatch(Cli::parse()));
    match done.map(|thread| thread.join()) {
        Ok(Ok(Ok(code))) => code,
        Ok(Ok(Err(Failure(message)))) => {
            eprintln!("tritium: {message}");
            ExitCode::from(2)
        }
        Ok(Err(_)) => ExitCode::from(2),
        Err(error) => {
            eprintln!("tritium: {error}");
            ExitCode::from(2)
        }
    }
}

/// A language server is idle nearly always: what it has freed goes back to the machine at once (a fifth of its memory after twenty files were
/// opened), not when one of its threads happens to allocate again.
fn give_back_freed_memory() {
    // Between `eager_commit_delay` and `use_numa_nodes`, which the crate names, in milliseconds.
    const PURGE_DELAY: libmimalloc_sys::mi_option_t = libmimalloc_sys::mi_option_use_numa_nodes - 1;
    // SAFETY: sets a number that the allocator reads whenever it frees; it is never wrong to set it.
    unsafe { libmimalloc_sys::mi_option_set(PURGE_DELAY, 0) };
}

/// `TRITIUM_LOG=info`, `TRITIUM_LOG=tritium_codegen=debug`: to standard error, off by default.
fn start_tracing() {
    if let Ok(filter) = std::env::var("TRITIUM_LOG") {
        tracing_subscriber::fmt()
            .with_env_filter(tracing_subscriber::EnvFilter::new(filter))
            .with_writer(io::stderr)
            .with_thread_ids(true)
            .with_span_events(tracing_subscriber::fmt::format::FmtSpan::CLOSE)
            .init();
    }
}

fn dispatch(cli: Cli) -> Result<ExitCode, Failure> {
    match cli.command {
        Command::Check { paths, output_format, select, ignore, fix, upgrade, baseline, write_baseline, analysing } => {
            let mut options = session::options(&analysing)?;
            options.select = if select.is_empty() { None } else { Some(session::selectors(&select)?) };
            options.ignore = session::selectors(&ignore)?;
            if let Some(version) = &upgrade {
                session::version(version)?;
            }
            options.upgrade = upgrade;
            let request = check::Request { paths, format: output_format, fix, baseline, write_baseline };
            check::check(session::host_with(options), &request)
        }
        Command::Emit { file, kernel, stage, args, sets, num_warps, num_stages, launch, output, analysing } => {
            let options = GivenOptions { num_warps, num_stages, max_registers: None };
            let choice = Choice { kernel, launch, args, sets, options };
            emit::emit(&session::host(&analysing)?, &file, stage, &choice, output.as_deref())
        }
        Command::Configs { paths, kernel, output_format, analysing } => {
            charts::configs(&session::host(&analysing)?, &paths, kernel.as_deref(), output_format)
        }
        Command::Occupancy { file, kernel, launch, output, analysing } => {
            let choice = Choice { kernel, launch, ..Choice::default() };
            charts::occupancy(&session::host(&analysing)?, &file, &choice, output.as_deref())
        }
        Command::History { file, kernel, output, analysing } => {
            charts::history(&session::host(&analysing)?, &file, kernel, output.as_deref())
        }
        Command::Batch { requests, through, analysing } => batch::batch(&analysing, &requests, through),
        Command::Report { paths, output_format, analysing } => report::report(&session::host(&analysing)?, &paths, output_format),
        Command::Build { paths, out, arch, kernel, all_variants, output_format, analysing } => {
            let request = build::Request { paths, out, archs: arch, kernel, all_variants };
            build::build(&session::host(&analysing)?, &request, output_format)
        }
        Command::Calibrate { device, output } => calibrate::calibrate(&device, output),
        Command::Roofline { file, kernel, output, output_format, analysing } => {
            roofline::roofline(&file, kernel.as_deref(), output.as_deref(), output_format, &analysing)
        }
        Command::Run { launching, device, verify, expect, save, bounds, elsewhere, output_format, analysing } => {
            let job = job::Request { launching, device, bounds, elsewhere };
            let request = run::Request { job, verify, expect, save };
            run::run(request, output_format, &analysing)
        }
        Command::Sanitize { launching, device, select, ignore, bounds, elsewhere, output_format, analysing } => {
            let job = job::Request { launching, device, bounds, elsewhere };
            let request = sanitize::Request { job, select, ignore };
            sanitize::sanitize(request, output_format, &analysing)
        }
        Command::Bench {
            launching,
            device,
            against,
            rounds,
            sweep,
            draw,
            output,
            baseline,
            write_baseline,
            fail_if_slower,
            bounds,
            elsewhere,
            output_format,
            analysing,
        } => {
            let job = job::Request { launching, device, bounds, elsewhere };
            let request = bench::Request { job, baseline, write_baseline, fail_if_slower, against, rounds, sweep, draw, output };
            bench::bench(request, output_format, &analysing)
        }
        Command::Tune {
            launching,
            device,
            propose,
            exhaustive,
            verify,
            write,
            prune,
            write_triton_cache,
            bounds,
            elsewhere,
            output_format,
            analysing,
        } => {
            // `cuda:all` is every GPU; what is shown is of the first.
            let all_gpus = device == "cuda:all";
            let device = if all_gpus { "cuda:0".to_owned() } else { device };
            let job = job::Request { launching, device, bounds, elsewhere };
            let options = TuneOptions { propose: propose.unwrap_or(0), exhaustive, all_gpus };
            tune::tune(tune::Request { job, options, verify, write, prune, write_triton_cache }, output_format, &analysing)
        }
        Command::Stats { paths, through, output_format, analysing } => {
            stats::stats(session::host(&analysing)?, &paths, through, output_format)
        }
        Command::Explain { code } => explain(&code),
        Command::Gpus { output_format } => gpus::gpus(output_format),
        Command::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Cli::command(), "tritium", &mut script);
            session::print(&String::from_utf8_lossy(&script))?;
            Ok(ExitCode::SUCCESS)
        }
        Command::Lsp => {
            give_back_freed_memory();
            let ended = tritium_lsp::serve_stdio();
            match ended.map_err(|e| Failure(format!("the connection to the editor cannot be made: {e}")))? {
                Ended::Orderly => Ok(ExitCode::SUCCESS),
                Ended::Abruptly(why) => {
                    eprintln!("tritium: {why}");
                    Ok(ExitCode::FAILURE)
                }
            }
        }
        Command::Exec => {
            tritium_runtime::exec::serve(io::stdin(), io::stdout()).map_err(|e| Failure(format!("the connection broke: {e}")))?;
            Ok(ExitCode::SUCCESS)
        }
        Command::Worker => Ok(tritium_runtime::worker::serve()),
    }
}

fn explain(code: &str) -> Result<ExitCode, Failure> {
    let Some(page) = tritium_ide::diagnostics::page(code) else {
        return Err(Failure(format!("no diagnostic `{code}`; `tritium check` prints the codes it finds")));
    };
    session::print(page)?;
    Ok(ExitCode::SUCCESS)
}
