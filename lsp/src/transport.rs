//! Messages from the client to the service and back, until one side ends it.
//!
//! A handler is polled for the first time before the next message is read, so handlers begin in the order of their messages; what a request
//! then waits for holds up nobody. **Invariant:** no message ends the server, nor does a handler that panics; how it ended is told.

use std::{future::poll_fn, panic::AssertUnwindSafe, sync::Arc, task::Poll};

use futures_util::{FutureExt as _, Sink, SinkExt as _, Stream, StreamExt as _};
use tokio::{
    io::AsyncRead,
    sync::{Semaphore, mpsc},
    task::JoinSet,
};
use tower_lsp::{
    ClientSocket, ExitedError,
    jsonrpc::{Error, Request, Response},
};
use tower_service::Service;

use super::{
    frames::{Frame, Frames},
    nonblocking_stdout::NonblockingStdout,
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

pub(super) async fn serve<S>(input: impl AsyncRead + Unpin, out: NonblockingStdout, service: S, client: ClientSocket) -> Ended
where
    S: Service<Request, Response = Option<Response>, Error = ExitedError>,
    S::Future: Send + 'static,
{
    let (asked, heard) = client.split();
    let (answers, to_send) = mpsc::unbounded_channel();
    let (closed, writing) = (out.clone(), tokio::spawn(write(asked, to_send, out)));
    let ended = read(input, service, heard, &answers, &closed).await;
    drop(answers);
    // It ends when nobody can answer any more.
    let _ = writing.await;
    ended
}

/// What a handler has sent before its answer goes out before it.
async fn write(
    mut asked: impl Stream<Item = Request> + Unpin,
    mut answers: mpsc::UnboundedReceiver<Response>,
    out: NonblockingStdout,
) {
    loop {
        tokio::select! {
            biased;
            Some(request) = asked.next() => out.send(&request),
            answer = answers.recv() => match answer {
                Some(answer) => out.send(&answer),
                None => return,
            },
        }
    }
}

async fn read<S>(
    input: impl AsyncRead + Unpin,
    mut service: S,
    mut heard: impl Sink<Response> + Unpin,
    answers: &mpsc::UnboundedSender<Response>,
    out: &NonblockingStdout,
) -> Ended
where
    S: Service<Request, Response = Option<Response>, Error = ExitedError>,
    S::Future: Send + 'static,
{
    let mut frames = Frames::new(input);
    // What is under way ends with this function.
    let mut tasks = JoinSet::new();
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
                let _ = heard.send(response).await;
                continue;
            }
            Ok(Frame::Malformed(answer)) => {
                let _ = answers.send(answer);
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
        let is_shutdown = method == "shutdown" && id.is_some();
        let changes_state = is_shutdown || method == "initialize" && id.is_some();
        let place = match id {
            // There are as many as were made until this function ends.
            Some(_) => Arc::clone(&places).acquire_owned().await.ok(),
            None => None,
        };
        let handled = AssertUnwindSafe(service.call(request)).catch_unwind();
        let answers = answers.clone();
        let mut answering = Box::pin(async move {
            let answer = match handled.await {
                Ok(answer) => answer.ok().flatten(),
                Err(_) => {
                    tracing::error!(method, "a handler panicked");
                    id.map(|id| Response::from_error(id, Error::internal_error()))
                }
            };
            let is_good = answer.as_ref().is_some_and(Response::is_ok);
            if let Some(answer) = answer {
                let _ = answers.send(answer);
            }
            drop(place);
            is_good
        });
        // The state that these leave is asked for with the next message.
        if changes_state {
            is_shut_down |= answering.await && is_shutdown;
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
