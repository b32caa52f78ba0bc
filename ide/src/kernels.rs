// Feature: Active specialisation
//
//! The kernels of a file, each with its configurations, and the one of them that answers for it: the one that the person chose, else the
//! first launch, else what is assumed.
//!
//! **Invariant:** every configuration of a kernel has a name of its own ([`Active::id`]) that stays as long as the launch does; a chosen
//! name that is gone means the first.

use std::{ops::Range, path::Path};

use tritium_semantics::{
    Argument, Db, Function, Instance, check,
    elaborate::{self, Elaborated},
    host, items,
    launch::{self, Launch, LaunchId, LaunchOptions},
    problem::{At, Place},
    specialise::{self, specialisations},
};

use crate::Analysis;

/// A function that can be launched.
#[derive(Debug, Clone)]
pub struct Kernel {
    pub function: Function,
    pub name: String,
    /// The name in its `def`.
    pub range: Range<usize>,
    pub active: Active,
}

/// What a kernel is looked at under.
#[derive(Debug, Clone)]
pub struct Active {
    pub instance: Instance,
    pub launch: Option<Launch>,
    /// The row of the kernel's tuning.
    pub config: Option<u32>,
    pub options: LaunchOptions,
}

/// Rows of a tuning that are looked at without a launch.
const MAX_ROWS: usize = 128;

impl Active {
    pub fn of(db: &dyn Db, launch: &Launch) -> Active {
        Active {
            instance: specialise::specialise(db, launch),
            config: launch.config,
            options: launch.options,
            launch: Some(launch.clone()),
        }
    }

    /// Without a launch, under Triton's defaults.
    pub fn assumed(instance: Instance) -> Active {
        Active { instance, launch: None, config: None, options: LaunchOptions::default() }
    }

    /// The name of the configuration among those of its kernel: `rows`, `matmul:3`, `assumed`.
    pub fn id(&self) -> String {
        self.launch_id().to_string()
    }

    pub(crate) fn launch_id(&self) -> LaunchId {
        let name = self.launch.as_ref().map_or_else(|| "assumed".into(), |launch| launch.name.clone());
        LaunchId { name, row: self.config }
    }

    /// One phrase for hovers: which launch, or that it is assumed.
    pub fn describe(&self) -> String {
        let row = self.config.map(|config| format!(", configuration {config}")).unwrap_or_default();
        match &self.launch {
            Some(launch) => format!("launch `{}`{row}", launch.name),
            None => format!("assumed arguments (no launch of it is known){row}"),
        }
    }
}

impl Analysis {
    pub fn is_triton(&self, path: &Path) -> bool {
        self.file(path).is_some_and(|file| items::is_triton_file(self.db(), file))
    }

    pub fn kernels(&self, path: &Path) -> Vec<Kernel> {
        let Some(file) = self.file(path) else { return Vec::new() };
        let functions = items::kernels(self.db(), file);
        functions.iter().filter_map(|&function| self.kernel(function)).collect()
    }

    pub fn kernel_count(&self, path: &Path) -> usize {
        self.file(path).map_or(0, |file| items::kernels(self.db(), file).len())
    }

    /// Under how many distinct specialisations the file's kernels are checked.
    pub fn specialisation_count(&self, path: &Path) -> usize {
        let Some(file) = self.file(path) else { return 0 };
        items::kernels(self.db(), file).iter().map(|&kernel| check::visited(self.db(), kernel).count()).sum()
    }

    pub fn kernel(&self, function: Function) -> Option<Kernel> {
        let range = self.range(Place { function, at: At::Name })?;
        let active = self.active(function)?;
        Some(Kernel { function, name: function.name(self.db()).to_string(), range, active })
    }

    /// The configuration that answers for a kernel.
    pub(crate) fn active(&self, function: Function) -> Option<Active> {
        let db = self.db();
        let key = (function.file(db).path(db).to_owned(), function.name(db).to_string());
        let chosen = self.options().active.get(&key);
        if let Some(chosen) = chosen
            && let Some(found) = self.configurations(function).into_iter().find(|active| active.id() == *chosen)
        {
            return Some(found);
        }
        let row = self.row_of(function);
        let is_chosen = |l: &&Launch| row.is_none() || l.config.is_none() || l.config == row;
        if let Some(launch) = launch::launches_of(db, function).iter().find(is_chosen) {
            return Some(Active::of(db, launch));
        }
        self.assumed_rows(function, 1).into_iter().next()
    }

    /// Everything a kernel is launched under, in the order of the text; what is assumed of every row of its tuning where there is no
    /// launch.
    pub fn configurations(&self, function: Function) -> Vec<Active> {
        let db = self.db();
        let row = self.row_of(function);
        let is_chosen = |l: &&Launch| row.is_none() || l.config.is_none() || l.config == row;
        let launched: Vec<Active> =
            launch::launches_of(db, function).iter().filter(is_chosen).map(|l| Active::of(db, l)).collect();
        if launched.is_empty() { self.assumed_rows(function, MAX_ROWS) } else { launched }
    }

    /// The row of the kernel's tuning that is looked at alone.
    fn row_of(&self, function: Function) -> Option<u32> {
        let last = host::configs(self.db(), function).len().checked_sub(1)?;
        u32::try_from(self.options().config?.min(last)).ok()
    }

    fn assumed_rows(&self, function: Function, most: usize) -> Vec<Active> {
        let db = self.db();
        let Some(first) = specialisations(db, function).first() else { return Vec::new() };
        let (configs, row) = (host::configs(db, function), self.row_of(function));
        if configs.is_empty() {
            return vec![Active::assumed(first.instance)];
        }
        let is_meant = |(config, index): &(&host::Config, u32)| row.is_none_or(|row| row == *index) && !config.is_impossible();
        let rows = configs.iter().zip(0u32..).filter(is_meant);
        rows.take(most)
            .map(|(config, index)| {
                let known = specialisations(db, function).iter().find(|s| s.config == Some(index)).map(|s| s.instance);
                Active {
                    instance: known.unwrap_or_else(|| with_values(db, first.instance, config)),
                    launch: None,
                    config: Some(index),
                    options: config.options.or_default(),
                }
            })
            .collect()
    }

    pub fn elaborated(&self, instance: Instance) -> &Elaborated {
        elaborate::elaborate(self.db(), instance)
    }

    /// Where a place is in its file now.
    pub fn range(&self, place: Place) -> Option<Range<usize>> {
        tritium_semantics::check::range_of(self.db(), place).map(|(_, range)| range)
    }
}

/// The same arguments with the compile-time values of another row.
fn with_values(db: &dyn Db, instance: Instance, config: &host::Config) -> Instance {
    let function = instance.function(db);
    let item = items::items(db, function.file(db)).function(function);
    let params = item.map_or(&[][..], |item| &item.params);
    let mut arguments = instance.arguments(db).to_vec();
    for (argument, param) in arguments.iter_mut().zip(params) {
        if let Some(value) = config.meta.get(&param.name) {
            *argument = Argument::Constexpr(value.clone());
        }
    }
    Instance::new(db, function, arguments, instance.triton(db).clone())
}
