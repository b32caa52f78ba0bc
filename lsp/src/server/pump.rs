//! Standard output that never makes the server wait.
//!
//! A client that writes without reading would otherwise fill the pipe, block the server in a write, and so stop it from reading: a
//! deadlock. **Invariant:** a write here always succeeds at once; memory is bounded by what the client has asked for and not read.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll},
};

use tokio::{
    io::{AsyncWrite, AsyncWriteExt as _},
    sync::mpsc,
    task::JoinHandle,
};

pub(crate) struct Pump(mpsc::UnboundedSender<Vec<u8>>);

impl Pump {
    /// The handle ends when the pump is dropped and everything is written.
    pub(crate) fn spawn(mut out: impl AsyncWrite + Unpin + Send + 'static) -> (Pump, JoinHandle<io::Result<()>>) {
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
        (Pump(sender), task)
    }
}

impl AsyncWrite for Pump {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let sent = self.0.send(bytes.to_vec());
        Poll::Ready(sent.map(|()| bytes.len()).map_err(|_| io::ErrorKind::BrokenPipe.into()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
