//! What is pushed to the client about documents, one after another.
//!
//! Analyses of several texts end in any order and on any thread. **Invariant:** what the client hears last about a document is about the
//! newest text, nothing is heard after it was closed, and nothing is said twice.

use std::{
    collections::HashMap,
    path::PathBuf,
    sync::{Arc, OnceLock},
};

use tokio::sync::mpsc;
use tower_lsp::{Client, ls_types as lsp};

use super::{
    capabilities,
    files::{Edition, Files},
};

/// What is said of one document.
#[derive(Clone, PartialEq)]
pub(super) struct Said {
    pub(super) uri: lsp::Uri,
    pub(super) version: Option<i32>,
    pub(super) items: Vec<lsp::Diagnostic>,
}

pub(super) struct Push {
    pub(super) path: PathBuf,
    pub(super) edition: Edition,
    /// All that the file's text stands in.
    pub(super) documents: Vec<Said>,
    pub(super) is_triton: bool,
}

pub(super) enum Published {
    Diagnostics(Push),
    Closed { path: PathBuf, uris: Vec<lsp::Uri> },
}

pub(super) fn spawn(
    client: Client,
    files: Arc<Files>,
    facts: Arc<OnceLock<capabilities::Client>>,
) -> mpsc::UnboundedSender<Published> {
    let (sender, mut queue) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        let mut is_registered = false;
        let mut said: HashMap<PathBuf, Vec<Said>> = HashMap::new();
        // A client that asks for diagnostics would show what is pushed to it a second time.
        let pushes = || facts.get().is_none_or(capabilities::Client::takes_pushes);
        while let Some(next) = queue.recv().await {
            let (gone, new) = match next {
                Published::Closed { path, uris } => {
                    said.remove(&path);
                    (uris, Vec::new())
                }
                Published::Diagnostics(Push { path, edition, documents, is_triton }) => {
                    if files.edition(&path) != Some(edition) {
                        continue;
                    }
                    if is_triton && !is_registered {
                        is_registered = true;
                        register_late(&client, &facts).await;
                    }
                    let before = said.insert(path, documents.clone()).unwrap_or_default();
                    let is_gone = |old: &Said| documents.iter().all(|new| new.uri != old.uri);
                    let gone = before.iter().filter(|old| is_gone(old)).map(|old| old.uri.clone()).collect();
                    (gone, documents.into_iter().filter(|new| !before.contains(new)).collect())
                }
            };
            if !pushes() {
                continue;
            }
            for uri in gone {
                client.publish_diagnostics(uri, Vec::new(), None).await;
            }
            for Said { uri, version, items } in new {
                client.publish_diagnostics(uri, items, version).await;
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
