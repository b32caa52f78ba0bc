//! `textDocument/hover` with a range for its position, as rust-analyzer's clients send it, goes to a method of its own: the protocol's
//! type for a hover holds one position only.

use std::task::{Context, Poll};

use tower_lsp::jsonrpc::Request;
use tower_service::Service;

/// The method that such hovers go to.
pub(crate) const HOVER_SELECTION: &str = "tritium/hoverSelection";

pub(crate) struct HoverRangeRequests<S>(pub(crate) S);

impl<S: Service<Request>> Service<Request> for HoverRangeRequests<S> {
    type Response = S::Response;
    type Error = S::Error;
    type Future = S::Future;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.0.poll_ready(context)
    }

    fn call(&mut self, request: Request) -> S::Future {
        self.0.call(routed(request))
    }
}

fn routed(request: Request) -> Request {
    let is_range = |request: &Request| request.params().is_some_and(|p| p["position"]["start"].is_object());
    if request.method() != "textDocument/hover" || !is_range(&request) {
        return request;
    }
    let (_, id, params) = request.into_parts();
    let routed = Request::build(HOVER_SELECTION).params(params.unwrap_or_default());
    match id {
        Some(id) => routed.id(id).finish(),
        None => routed.finish(),
    }
}
