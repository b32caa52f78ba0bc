//! Standard output that never makes the server wait.
//!
//! A client that writes without reading would otherwise fill the pipe, block the server in a write, and so stop it from reading: a
//! deadlock. **Invariant:** sending here always succeeds at once; memory is bounded by what the client has asked for and not read.

use std::io;

use serde::Serialize;
use tokio::{
    io::{AsyncWrite, AsyncWriteExt as _},
    sync::mpsc,
    task::JoinHandle,
};

#[derive(Clone)]
pub(super) struct NonblockingStdout(mpsc::UnboundedSender<Vec<u8>>);

impl NonblockingStdout {
    /// The handle ends when every pump is dropped and everything is written, or when nobody reads any more.
    pub(super) fn spawn(mut out: impl AsyncWrite + Unpin + Send + 'static) -> (NonblockingStdout, JoinHandle<io::Result<()>>) {
        let (sender, mut queue) = mpsc::unbounded_channel::<Vec<u8>>();
        let task = tokio::spawn(async move {
            while let Some(bytes) = queue.recv().await {
                out.write_all(&bytes).await?;
                if queue.is_empty() {
                    out.flush().await?;
                }
            }
            Ok(())
        });
        (NonblockingStdout(sender), task)
    }

    /// Sends one message. What nobody reads any more is dropped.
    pub(super) fn send(&self, message: &impl Serialize) {
        match serde_json::to_vec(message) {
            Ok(body) => {
                let mut bytes = format!("Content-Length: {}\r\n\r\n", body.len()).into_bytes();
                bytes.extend(body);
                let _ = self.0.send(bytes);
            }
            Err(error) => tracing::error!(%error, "a message cannot be written"),
        }
    }

    /// Returns when nobody reads any more.
    pub(super) async fn closed(&self) {
        self.0.closed().await;
    }
}
