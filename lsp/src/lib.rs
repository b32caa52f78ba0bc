//! The editor's side: features as plain functions ([`ide`]), and the protocol around them ([`server`]).
//!
//! The command line uses the same façade, so a person and an editor never get different answers.
//! **Invariants:** no LSP type under [`ide`]; UTF-16 exists only in `server/convert.rs`; a panic in one request never takes the server down.

pub mod ide;
pub mod server;
