//! Hostile files in the language server: while it looks at one, a hover in another file is answered.

use std::fs;

use libtest_mimic::Failed;
use rustix::process::Pid;
use serde_json::json;
use tritium_tests::{client::Client, limits, repository};

use super::Case;

/// What a server may hold that has looked at so many hostile files, as many as it keeps elaborations of.
const MAX_SESSION_PEAK_MB: u64 = 300;
const FILES_PER_SESSION: usize = 16;

/// A kernel that is looked at while others are hostile.
const OTHER: &str = "examples/softmax.py";

/// A server opens the files one after another, as somebody does who looks through a folder.
pub(super) fn answers_meanwhile(cases: &[Case]) -> Result<(), Failed> {
    cases.chunks(FILES_PER_SESSION).try_for_each(looks_through)
}

fn looks_through(cases: &[Case]) -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let other = repository().join(OTHER);
    let text = fs::read_to_string(&other)?;
    let mut client = Client::start(&[("TRITIUM_CACHE", "off")], &json!({}));
    let process = Pid::from_raw(i32::try_from(client.process())?).expect("a process has a number");
    limits::limit_memory(process, limits::GENEROUS);
    let other_uri = client.open(&other, &text);
    client.diagnostics(&other_uri, 1);
    for (number, case) in cases.iter().enumerate() {
        let main = case.write(&folder.path().join(format!("case{number}")));
        let Ok(hostile) = String::from_utf8(fs::read(&main)?) else { continue };
        // The client gives up on what is not answered, and says only what it waited for.
        let answered = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let uri = client.open(&main, &hostile);
            let hover = client.hover(&other_uri, &text, "tl.load");
            client.diagnostics(&uri, 1);
            client.notify("textDocument/didClose", json!({ "textDocument": { "uri": uri } }));
            hover
        }));
        let Ok(hover) = answered else { return Err(format!("{}: the server gave no answer", case.name).into()) };
        if hover.is_empty() {
            return Err(format!("{}: a hover elsewhere said nothing", case.name).into());
        }
        if let Some(peak) =
            limits::peak_resident_kb(client.process()).map(|kb| kb / 1024).filter(|&peak| peak > MAX_SESSION_PEAK_MB)
        {
            return Err(format!("{}: the server took {peak} MB", case.name).into());
        }
    }
    client.stop();
    Ok(())
}
