//! The language server on standard input and output: the protocol around the features of [`tritium_ide`].
//!
//! Three rules hold, each with a test: a notification changes state before any `await`; a slow request delays neither a keystroke nor another
//! request; standard output is an unbounded [`nonblocking_stdout`]. **Invariant:** LSP types and UTF-16 are named only in this crate; a panic in one request never
//! takes the server down.

mod analysis;
mod backend;
mod capabilities;
mod convert;
mod diagnosing;
mod diagnostic_cache;
mod document;
mod editing;
mod files;
mod frames;
mod hints;
mod hover_range_request;
mod navigate;
mod nonblocking_stdout;
mod notebook;
mod parts;
mod progress;
mod publishing;
mod recorded;
mod run;
mod schedule;
mod transport;
mod tuned;
mod views;
mod workspace;

use std::{io, sync::Arc, time::Duration};

use tokio::{
    io::{AsyncRead, AsyncWrite},
    time::timeout,
};
use tower_lsp::LspService;
use tritium_runtime::exec::Runs;

use tritium_ide::Host;

pub use transport::Ended;

/// How long a client may take to read the last answers.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// Serves one client until it says `exit` or hangs up.
pub async fn serve(input: impl AsyncRead + Unpin, output: impl AsyncWrite + Unpin + Send + 'static, host: Host) -> Ended {
    let (out, written) = nonblocking_stdout::NonblockingStdout::spawn(output);
    let runs = Arc::<Runs>::default();
    let ending = Arc::clone(&runs);
    let service = LspService::build(|client| backend::Backend::new(client, host, runs))
        .custom_method(hover_range_request::HOVER_SELECTION, backend::Backend::hover_selection);
    let (service, socket) = views::serve(service).finish();
    let owner = service.inner().owner.clone();
    let ended = transport::serve(input, out, hover_range_request::HoverRangeRequests(service), socket).await;
    // Nobody waits for a run any more.
    ending.end_all();
    owner.send(analysis::Task::Stop);
    let _ = timeout(LAST_WORDS, written).await;
    ended
}

/// Serves on standard input and output; returns when the client is gone.
pub fn serve_stdio() -> io::Result<Ended> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .worker_threads(2)
        .thread_stack_size(16 << 20)
        // What a thread has freed returns to the others when it ends.
        .thread_keep_alive(Duration::from_secs(1))
        .build()?;
    let ended = runtime.block_on(serve(tokio::io::stdin(), tokio::io::stdout(), Host::default()));
    // A read that is still running must not hold up the exit.
    runtime.shutdown_background();
    Ok(ended)
}
