//! The language server on standard input and output.
//!
//! `tower-lsp` polls all handlers on one task, so three rules hold (each has a test): a notification changes state before any `await`;
//! 64 requests may be in flight, so that slow ones do not delay a keystroke; standard output is an unbounded [`pump`].
//! **Invariant:** LSP types are named only under this module.

mod analysis;
mod backend;
mod capabilities;
mod convert;
mod document;
mod editing;
mod files;
mod hints;
mod memory;
mod navigate;
mod progress;
mod publishing;
mod pump;
mod ranged;
mod run;
mod views;
mod workspace;

use std::{io, time::Duration};

use tokio::io::{AsyncRead, AsyncWrite};
use tower_lsp::{LspService, Server};

use crate::ide::Host;

/// Serves one client until it says `exit` or hangs up.
pub async fn serve(
    input: impl AsyncRead + Unpin,
    output: impl AsyncWrite + Unpin + Send + 'static,
    host: Host,
) -> io::Result<()> {
    let (out, pumped) = pump::Pump::spawn(output);
    let service = LspService::build(|client| backend::Backend::new(client, host))
        .custom_method(ranged::HOVER_SELECTION, backend::Backend::hover_selection);
    let (service, socket) = views::serve(service).finish();
    Server::new(input, out, socket).concurrency_level(64).serve(ranged::Ranged(service)).await;
    pumped.await.map_err(io::Error::other)?
}

/// Serves on standard input and output; returns when the client is gone.
pub fn serve_stdio() -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .worker_threads(2)
        .thread_stack_size(16 << 20)
        // What a thread has freed returns to the others when it ends.
        .thread_keep_alive(Duration::from_secs(1))
        .build()?;
    let result = runtime.block_on(serve(tokio::io::stdin(), tokio::io::stdout(), Host::default()));
    // A read that is still running must not hold up the exit.
    runtime.shutdown_background();
    result
}
