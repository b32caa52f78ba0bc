//! Configurations of a kernel: what it is specialised for, how it is compiled, and the launch that says so.
//!
//! **Invariant:** enumerated, limited and named here alone, so that the checker, the compiler, the estimates, the editor and the command
//! line speak of the same ones. Those of launches come in the order of the text; assumed ones only where there is no launch.

use crate::{
    Argument, Db, Function, Instance, host,
    items::items,
    launch::{Launch, LaunchId, LaunchOptions, launches_of},
    specialise::{assumed, partial_launches, specialise},
};

/// Distinct specialisations of a kernel that are checked, and distinct launches of which it is told what they take.
pub const MAX_DISTINCT: usize = 64;
/// Rows of a tuning that are followed without a launch.
const MAX_ROWS: usize = 128;

/// A kernel, so specialised, so compiled, so launched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Configuration {
    pub instance: Instance,
    pub options: LaunchOptions,
    /// The row of the kernel's tuning.
    pub row: Option<u32>,
    /// The place among [`launches_of`] the kernel; `None` if its arguments are assumed.
    launch: Option<usize>,
    /// The place among [`host::called`] of the launch that says them then, if another file makes one.
    called: Option<usize>,
}

impl Configuration {
    /// Without a launch, under Triton's defaults.
    pub fn assumed(instance: Instance) -> Configuration {
        Configuration { instance, options: LaunchOptions::default(), row: None, launch: None, called: None }
    }

    pub fn launch(self, db: &dyn Db) -> Option<&Launch> {
        launches_of(db, self.instance.function(db)).get(self.launch?)
    }

    pub fn is_assumed(self) -> bool {
        self.launch.is_none()
    }

    /// The place of its launch among those of the kernel.
    pub(crate) fn launch_index(self) -> Option<usize> {
        self.launch
    }

    /// The name among those of its kernel, which stays as long as the launch does: `rows`, `matmul:3`, `assumed`.
    pub fn id(self, db: &dyn Db) -> LaunchId {
        LaunchId { name: self.launch(db).map_or_else(|| "assumed".into(), |launch| launch.name.clone()), row: self.row }
    }

    /// One phrase for hovers: which launch, or that it is assumed.
    pub fn describe(self, db: &dyn Db) -> String {
        let row = self.row.map(|row| format!(", configuration {row}")).unwrap_or_default();
        let called = self.called.and_then(|called| host::called(db, self.instance.function(db)).get(called));
        match self.launch(db) {
            Some(launch) => format!("launch `{}`{row}", launch.name),
            None if let Some(called) = called => format!("a launch from {}{row}", host::name_beside(db, called)),
            None => format!("assumed arguments (no launch of it is known){row}"),
        }
    }
}

/// Everything a kernel is launched under; what is assumed of every row of its tuning where there is no launch.
#[salsa::tracked(returns(ref))]
pub fn configurations(db: &dyn Db, kernel: Function) -> Vec<Configuration> {
    let row = chosen_row(db, kernel);
    let is_meant = |launch: &Launch| row.is_none() || launch.config.is_none() || launch.config == row;
    let launches = launches_of(db, kernel).iter().enumerate().filter(|(_, launch)| is_meant(launch));
    let launched = launches.map(|(index, launch)| Configuration {
        instance: specialise(db, launch),
        options: launch.options,
        row: launch.config,
        launch: Some(index),
        called: None,
    });
    let launched: Vec<Configuration> = launched.collect();
    if !launched.is_empty() {
        return launched;
    }
    let assumed = assumed(db, kernel);
    let Some(first) = assumed.first() else { return vec![] };
    let configs = host::configs(db, kernel);
    let given = first.partial.and_then(|index| partial_launches(db, kernel).get(index).map(|written| written.launch.options));
    let rows = rows(db, kernel).into_iter().map(|row| {
        let known = assumed.iter().find(|one| one.config == row).map(|one| one.instance);
        let config = row.and_then(|index| configs.get(index as usize));
        let options = given.unwrap_or_default().or_default();
        Configuration {
            instance: known.unwrap_or_else(|| config.map_or(first.instance, |config| with_values(db, first.instance, config))),
            options: config.map_or(options, |config| config.options.over(options)),
            row,
            launch: None,
            called: first.called,
        }
    });
    rows.collect()
}

/// The row of a kernel's tuning that was chosen, if one was and there is a tuning.
fn chosen_row(db: &dyn Db, kernel: Function) -> Option<u32> {
    let chosen = db.settings().chosen(db).config?;
    let last = host::configs(db, kernel).len().checked_sub(1)?;
    u32::try_from(chosen.min(last)).ok()
}

/// The rows of its tuning that a kernel without a launch is followed under, one `None` where it has no tuning. Nothing is compiled for an
/// impossible row; where there are no others it is as good as any.
pub(crate) fn rows(db: &dyn Db, kernel: Function) -> Vec<Option<u32>> {
    let configs = host::configs(db, kernel);
    if configs.is_empty() {
        return vec![None];
    }
    if let Some(row) = chosen_row(db, kernel) {
        return vec![Some(row)];
    }
    let possible = (0u32..).zip(configs).filter(|(_, config)| !config.is_impossible()).take(MAX_ROWS);
    let rows: Vec<Option<u32>> = possible.map(|(row, _)| Some(row)).collect();
    if rows.is_empty() { vec![Some(0)] } else { rows }
}

/// The same arguments with the compile-time values of another row.
fn with_values(db: &dyn Db, instance: Instance, config: &host::Config) -> Instance {
    let function = instance.function(db);
    let item = items(db, function.file(db)).function(function);
    let params = item.map_or(&[][..], |item| &item.params);
    let mut arguments = instance.arguments(db).to_vec();
    for (argument, param) in arguments.iter_mut().zip(params) {
        if let Some(value) = config.meta.get(&param.name) {
            *argument = Argument::Constexpr(value.clone());
        }
    }
    Instance::new(db, function, arguments, instance.triton(db).clone())
}
