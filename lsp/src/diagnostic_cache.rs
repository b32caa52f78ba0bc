//! What is remembered of each open file from one keystroke to the next, so that the next is answered soon and calmly.
//!
//! **Invariant:** what is remembered was found in the newest text when it was put here, and nothing is remembered of a file that is closed.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
};

use tritium_ide::{ResourceDiagnostics, diagnostics::Known};

#[derive(Clone, Default)]
pub(super) struct CachedDiagnostics {
    pub(super) known: Known,
    pub(super) remarks: ResourceDiagnostics,
    /// What the last run under checks has found.
    pub(super) findings: ResourceDiagnostics,
}

#[derive(Default)]
pub(super) struct DiagnosticCache(Mutex<HashMap<PathBuf, CachedDiagnostics>>);

impl DiagnosticCache {
    fn lock(&self) -> MutexGuard<'_, HashMap<PathBuf, CachedDiagnostics>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn of(&self, path: &Path) -> CachedDiagnostics {
        self.lock().get(path).cloned().unwrap_or_default()
    }

    /// `is_current` is asked while nobody else can remember or forget.
    pub(super) fn keep(&self, path: &Path, is_current: impl FnOnce() -> bool, change: impl FnOnce(&mut CachedDiagnostics)) {
        let mut all = self.lock();
        if is_current() {
            change(all.entry(path.to_owned()).or_default());
        }
    }

    pub(super) fn forget_remarks(&self) {
        self.lock().values_mut().for_each(|remembered| remembered.remarks = ResourceDiagnostics::default());
    }

    pub(super) fn forget(&self, path: &Path) {
        self.lock().remove(path);
    }
}
