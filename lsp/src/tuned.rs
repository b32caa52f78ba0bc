//! What a tuning has found, written into the file by the editor.
//!
//! A tuning's answer says what can be written (`write`, the words of a button); the client gives the answer back and gets an edit for the text as it
//! is now, which it applies as any other, so that it can be undone. **Invariant:** nothing is written behind the editor, and no row is written
//! into a list that has become another.

use std::{collections::HashMap, path::PathBuf, str::FromStr as _};

use serde_json::{Value, json};
use tower_lsp::{
    jsonrpc::{Error, Result},
    ls_types as lsp,
};
use tritium_ide::TextEdit;
use tritium_runtime::tune::Tuning;

use crate::{backend::Backend, run};

/// `{uri, tuning}`: the edit that leaves of the tuners' rows the best alone.
pub(crate) const WRITE: &str = "tritium.server.writeTuned";

impl Backend {
    /// The answer of a tuning with what can be written of it.
    pub(crate) async fn with_offer(&self, mut outcome: Value, path: PathBuf, tuning: Tuning) -> Value {
        let offer = self.owner.read(move |analysis| analysis.at(&path).tuned_offer(&path, &tuning)).await;
        if let (Value::Object(fields), Ok(Some(offer))) = (&mut outcome, offer) {
            fields.insert("write".to_owned(), json!(offer));
        }
        outcome
    }

    /// `{ok, edit}`, or why there is none.
    pub(crate) async fn write_tuned(&self, mut argument: Value) -> Result<Option<Value>> {
        let uri = argument.get("uri").and_then(Value::as_str).and_then(|uri| lsp::Uri::from_str(uri).ok());
        let uri = uri.ok_or_else(|| Error::invalid_params("the argument needs a `uri`"))?;
        let tuning = argument.get_mut("tuning").map(Value::take).unwrap_or_default();
        let tuning: Tuning = serde_json::from_value(tuning)
            .map_err(|error| Error::invalid_params(format!("`tuning` is no answer of a tuning: {error}")))?;
        let found = self.document(&uri, move |document| {
            let edits = document.analysis.tuned_edits(&document.path, &tuning)?;
            let edits: Vec<TextEdit> = edits.into_iter().map(|one| one.edit).collect();
            let changes: HashMap<_, _> = document.files().edits(&document.path, &edits);
            Ok(lsp::WorkspaceEdit { changes: Some(changes), ..Default::default() })
        });
        Ok(Some(match found.await? {
            None => run::failed("the file is no Triton file any more".to_owned()),
            Some(Err(why)) => run::failed(why),
            Some(Ok(edit)) => json!({ "ok": true, "edit": edit }),
        }))
    }
}
