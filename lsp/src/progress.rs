//! Work that an editor may show while it goes on.
//!
//! **Invariant:** what has begun ends, also where the request is cancelled and its future dropped.

use tower_lsp::{Client, OngoingProgress, Progress, ls_types::ProgressToken};

pub(super) struct Shown<B: Send + Sync + 'static, C: Send + Sync + 'static>(Option<OngoingProgress<B, C>>);

/// Shown only to a client that has sent a token for it.
pub(super) async fn shown<B: Send + Sync + 'static, C: Send + Sync + 'static>(
    client: &Client,
    token: Option<ProgressToken>,
    title: &str,
    of_its_kind: impl FnOnce(Progress) -> Progress<B, C>,
) -> Shown<B, C> {
    Shown(match token {
        Some(token) => Some(of_its_kind(client.progress(token, title)).begin().await),
        None => None,
    })
}

impl<B: Send + Sync + 'static, C: Send + Sync + 'static> Shown<B, C> {
    pub(super) fn ongoing(&self) -> Option<&OngoingProgress<B, C>> {
        self.0.as_ref()
    }

    /// Before the answer: a token is good for no longer.
    pub(super) async fn finish(mut self) {
        if let Some(progress) = self.0.take() {
            progress.finish().await;
        }
    }
}

impl<B: Send + Sync + 'static, C: Send + Sync + 'static> Drop for Shown<B, C> {
    fn drop(&mut self) {
        if let (Some(progress), Ok(runtime)) = (self.0.take(), tokio::runtime::Handle::try_current()) {
            runtime.spawn(progress.finish());
        }
    }
}
