//! What is pushed to the client about documents, one after another.
//!
//! Analyses of several versions end in any order and on any thread. **Invariant:** what the client hears last about a document is about the
//! newest text, and nothing after it was closed.

use std::{
    path::PathBuf,
    sync::{Arc, OnceLock},
};

use tokio::sync::mpsc;
use tower_lsp::{Client, ls_types as lsp};

use super::{capabilities, files::Files};

pub(super) enum Published {
    Diagnostics { path: PathBuf, uri: lsp::Uri, items: Vec<lsp::Diagnostic>, version: i32, is_triton: bool },
    Closed { uri: lsp::Uri },
}

pub(super) fn spawn(
    client: Client,
    files: Arc<Files>,
    facts: Arc<OnceLock<capabilities::Client>>,
) -> mpsc::UnboundedSender<Published> {
    let (sender, mut queue) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        let mut is_registered = false;
        // A client that asks for diagnostics would show what is pushed to it a second time.
        let pushes = || facts.get().is_none_or(capabilities::Client::takes_pushes);
        while let Some(next) = queue.recv().await {
            match next {
                Published::Closed { uri } if pushes() => client.publish_diagnostics(uri, Vec::new(), None).await,
                Published::Closed { .. } => {}
                Published::Diagnostics { path, uri, items, version, is_triton } => {
                    if files.version(&path) != Some(version) {
                        continue;
                    }
                    if is_triton && !is_registered {
                        is_registered = true;
                        register_late(&client, &facts).await;
                    }
                    if pushes() {
                        client.publish_diagnostics(uri, items, Some(version)).await;
                    }
                }
            }
        }
    });
    sender
}

/// Hover and signatures, after the first analysis: a Python server has registered its own by then. Sent before the diagnostics are, but not
/// waited for.
async fn register_late(client: &Client, facts: &OnceLock<capabilities::Client>) {
    let registrations = facts.get().map(capabilities::late).unwrap_or_default();
    if registrations.is_empty() {
        return;
    }
    let client = client.clone();
    let mut sent = Box::pin(async move { client.register_capability(registrations).await });
    tokio::select! {
        biased;
        _ = &mut sent => {}
        // The first look sends the request; its answer comes when it comes.
        () = tokio::task::yield_now() => {
            tokio::spawn(sent);
        }
    }
}
