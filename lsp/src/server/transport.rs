//! Messages from the client to the service and back, until one side ends it.
//!
//! A handler is polled for the first time before the next message is read, so handlers begin in the order of their messages; what a request
//! then waits for holds up nobody. **Invariant:** no message ends the server, nor does a handler that panics; how it ended is told.

use std::{future::poll_fn, panic::AssertUnwindSafe, sync::Arc, task::Poll};

use futures_util::{FutureExt as _, SinkExt as _, StreamExt as _};
use tokio::{io::AsyncRead, sync::Semaphore, task::JoinSet};
use tower_lsp::{
    ClientSocket, ExitedError,
    jsonrpc::{Error, Request, Response},
};
use tower_service::Service;

use super::{
    frames::{Frame, Frames},
    pump::Pump,
};

/// Requests under way at one time; more wait their turn, and so does what comes after them.
const MAX_REQUESTS: usize = 256;

/// How serving a client ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ended {
    /// As the protocol has it: `exit` after `shutdown`.
    Orderly,
    /// The reason, in one line.
    Abruptly(String),
}

pub(super) async fn serve<S>(input: impl AsyncRead + Unpin, out: &Pump, mut service: S, client: ClientSocket) -> Ended
where
    S: Service<Request, Response = Option<Response>, Error = ExitedError>,
    S::Future: Send + 'static,
{
    let mut frames = Frames::new(input);
    let (mut asked, mut answers) = client.split();
    // Everything in here ends with this function.
    let mut tasks = JoinSet::new();
    let to_client = out.clone();
    tasks.spawn(async move {
        while let Some(request) = asked.next().await {
            to_client.send(&request);
        }
    });
    let places = Arc::new(Semaphore::new(MAX_REQUESTS));
    let mut is_shut_down = false;
    loop {
        let frame = tokio::select! {
            frame = frames.next() => frame,
            () = out.closed() => return Ended::Abruptly("the client does not read any more".to_owned()),
            Some(_) = tasks.join_next() => continue,
        };
        let request = match frame {
            Ok(Frame::Request(request)) => request,
            Ok(Frame::Response(response)) => {
                // It fails only after `exit`.
                let _ = answers.send(response).await;
                continue;
            }
            Ok(Frame::Malformed(answer)) => {
                out.send(&answer);
                continue;
            }
            Ok(Frame::End) if is_shut_down => return Ended::Orderly,
            Ok(Frame::End) => return Ended::Abruptly("the input ended without `shutdown`".to_owned()),
            Ok(Frame::Torn(why)) => return Ended::Abruptly(why),
            Err(error) => return Ended::Abruptly(format!("the input cannot be read: {error}")),
        };
        if request.method() == "exit" {
            let why = "the client said `exit` without `shutdown`";
            return if is_shut_down { Ended::Orderly } else { Ended::Abruptly(why.to_owned()) };
        }
        if poll_fn(|context| service.poll_ready(context)).await.is_err() {
            return Ended::Abruptly("the service ended".to_owned());
        }
        let (id, method) = (request.id().cloned(), request.method().to_owned());
        let place = match id {
            // There are as many as were made until this function ends.
            Some(_) => Arc::clone(&places).acquire_owned().await.ok(),
            None => None,
        };
        let handled = AssertUnwindSafe(service.call(request)).catch_unwind();
        let to_client = out.clone();
        let answering = {
            let (id, method) = (id.clone(), method.clone());
            async move {
                let answer = match handled.await {
                    Ok(answer) => answer.ok().flatten(),
                    Err(_) => {
                        tracing::error!(method, "a handler panicked");
                        id.map(|id| Response::from_error(id, Error::internal_error()))
                    }
                };
                let is_good = answer.as_ref().is_some_and(Response::is_ok);
                if let Some(answer) = answer {
                    to_client.send(&answer);
                }
                drop(place);
                is_good
            }
        };
        let mut answering = Box::pin(answering);
        // The state that these two leave is asked for with the next message.
        if matches!(method.as_str(), "initialize" | "shutdown") && id.is_some() {
            is_shut_down |= answering.await && method == "shutdown";
            continue;
        }
        let first = poll_fn(|context| Poll::Ready(answering.poll_unpin(context))).await;
        if first.is_pending() {
            tasks.spawn(async move {
                answering.await;
            });
        }
    }
}
