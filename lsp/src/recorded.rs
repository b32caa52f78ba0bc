//! Watches what running programs record of the launches of open files. It lies in the cache, where no client looks for changes.

use std::{
    collections::HashMap,
    path::PathBuf,
    sync::Weak,
    time::{Duration, SystemTime},
};

use tritium_runtime::recorded;

use crate::{
    analysis::{Owner, Task},
    files::Files,
};

/// A program writes as often.
const PAUSE: Duration = Duration::from_secs(2);

/// Until nobody has files any more.
pub(crate) async fn watch(files: Weak<Files>, owner: Owner) {
    let mut seen: HashMap<PathBuf, Option<SystemTime>> = HashMap::new();
    loop {
        let Some(open) = files.upgrade().map(|files| files.open_paths()) else { return };
        seen.retain(|path, _| open.contains(path));
        for path in open {
            let changed_at = recorded::changed_at(&path);
            if seen.insert(path.clone(), changed_at).unwrap_or_default() != changed_at {
                owner.send(Task::Recorded { path });
            }
        }
        tokio::time::sleep(PAUSE).await;
    }
}
