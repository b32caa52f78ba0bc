// Feature: Launches of free sizes
//
//! Launches that are not wholly known, run by entering the function around them with sizes that are chosen or given.

use std::path::Path;

use tritium_semantics::{
    host::{self, Choice, Entered, HostPlace},
    launch::{self, Launch, LaunchSource},
};

use crate::Analysis;

/// A launch that cannot be entered for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stopped {
    pub kernel: String,
    /// Counted from 1.
    pub line: u32,
    pub why: String,
}

/// What is to be run of a file.
#[derive(Debug, Default)]
pub struct Plan {
    /// The file's own launches, which are whole.
    pub own: bool,
    /// Functions to enter, each with launches that those before it do not make.
    pub entered: Vec<Entered>,
    pub stopped: Vec<Stopped>,
}

impl Plan {
    /// Nothing of the file is known to launch what is wanted.
    pub fn is_empty(&self) -> bool {
        !self.own && self.entered.is_empty() && self.stopped.is_empty()
    }
}

/// Which launches of a file are meant.
#[derive(Debug, Clone, Copy, Default)]
pub struct Wanted<'a> {
    /// By name, or those of a kernel.
    pub launch: Option<&'a str>,
    /// Names with values, for functions that are entered.
    pub set: &'a [(String, String)],
    /// Also those that are not wholly known, where others are.
    pub all: bool,
}

impl Analysis {
    /// What there is to run: launches that are known, or functions that are entered with free sizes.
    pub fn plan(&self, path: &Path, wanted: Wanted<'_>) -> Result<Plan, String> {
        let Some(file) = self.file(path) else { return Ok(Plan::default()) };
        let db = self.db();
        let known = launch::launches(db, file);
        let is_named = |name: &str| wanted.launch.is_none_or(|launch| launch::is_of(launch, name));
        let own = wanted.set.is_empty()
            && (known.launches.iter().any(|launch| is_named(&launch.name)) || known.problems.iter().any(|p| p.launch.is_some()));
        let mut plan = Plan { own, ..Plan::default() };
        if own && !wanted.all {
            return Ok(plan);
        }
        let is_kernel =
            |name: &str| wanted.launch.is_none_or(|launch| launch::is_of(launch.split('#').next().unwrap_or(launch), name));
        let mut places: Vec<(HostPlace, String)> = Vec::new();
        let sites = host::host_launches(db, file).sites.iter().map(|site| (site.place, site.partial.kernel));
        // Some stand where nothing in the file leads.
        for (place, kernel) in sites.chain(host::called_in(db, file)) {
            let kernel = kernel.name(db).to_string();
            let is_whole = wanted.set.is_empty() && known.sources.contains(&LaunchSource::Host(place));
            if !is_whole && is_kernel(&kernel) && !places.iter().any(|(known, _)| *known == place) {
                places.push((place, kernel));
            }
        }
        let mut unasked: Option<Vec<String>> = None;
        for (place, kernel) in places {
            if plan.entered.iter().any(|entered| entered.reached.contains(&place)) {
                continue;
            }
            match self.entered_for(place, wanted.set) {
                Ok(entered) => {
                    let here = entered.unasked.clone();
                    unasked =
                        Some(unasked.map_or(here.clone(), |all| all.into_iter().filter(|name| here.contains(name)).collect()));
                    plan.entered.push(entered);
                }
                Err(why) => plan.stopped.push(Stopped { kernel, line: place.line(db), why }),
            }
        }
        match unasked.and_then(|names| names.into_iter().next()) {
            None => Ok(plan),
            Some(name) => {
                let known: Vec<&str> = plan.entered.iter().flat_map(|e| e.names.iter().map(|free| free.name.as_str())).collect();
                Err(format!("`{name}` is no free name here; there are: {}", known.join(", ")))
            }
        }
    }

    /// The functions of a plan entered with other sizes and contents in place of those that nobody gave, as long as somebody wants more.
    pub fn entered_otherwise<'a>(
        &'a self,
        entered: &'a Entered,
        set: Vec<(String, String)>,
    ) -> impl Iterator<Item = Entered> + use<'a> {
        Choice::OTHERS.into_iter().filter_map(move |choice| host::enter_otherwise(self.db(), entered, &set, choice))
    }

    /// The function around a launch of a kernel, entered with what is given.
    pub fn entry_of(&self, path: &Path, kernel: Option<&str>, set: &[(String, String)]) -> Result<Entered, String> {
        let plan = self.plan(path, Wanted { launch: kernel, set, all: true })?;
        let stopped = plan.stopped.into_iter().next();
        plan.entered.into_iter().next().ok_or_else(|| match stopped {
            Some(stopped) => format!("`{}` is not launched on line {}: {}", stopped.kernel, stopped.line, stopped.why),
            None => "no function of this file launches it".to_owned(),
        })
    }

    /// A launch block for the first launch of a kernel that an entry makes, as comments of the kernel's file.
    pub fn launch_block(&self, path: &Path, entered: &Entered, kernel: Option<&str>) -> Option<String> {
        let (db, file) = (self.db(), self.file(path)?);
        let is_meant =
            |launch: &&Launch| kernel.is_none_or(|name| launch.kernel.name(db) == name) && launch.kernel.file(db) == file;
        let launch = entered.launches.found.launches.iter().find(is_meant)?;
        let sizes: Vec<(&str, u64)> = entered
            .names
            .iter()
            .filter_map(|free| Some((free.name.as_str(), free.value.parse().ok()?)))
            // A free name may be an expression, which is no name of a size.
            .filter(|(name, value)| *value > 1 && name.chars().all(|c| c.is_alphanumeric() || c == '_'))
            .collect();
        let name = format!("{}_as_asked", launch.kernel.name(db));
        let toml = launch::spelled(db, launch, &name, &sizes)?;
        let lines = ["/// tritium"].into_iter().chain(toml.lines()).chain(["///"]);
        Some(lines.map(|line| format!("# {line}\n")).collect())
    }

    /// The function around a launch, entered so that the launch is whole; or what stops it.
    pub(crate) fn entered_for(&self, place: HostPlace, set: &[(String, String)]) -> Result<Entered, String> {
        let mut why: Option<String> = None;
        if let Some(function) = host::entrable_around(self.db(), place) {
            // What it is given may be what only its callers know: a kernel, a list.
            for function in std::iter::once(function).chain(function.callers(self.db())) {
                let entered = host::enter(self.db(), function, Some(place), set)?;
                if entered.reached.contains(&place) {
                    return Ok(entered);
                }
                let unknown = entered.launches.found.unknown.into_iter().find(|unknown| unknown.place == place);
                why = why.or(unknown.map(|unknown| unknown.reason));
            }
        }
        // What the kernel itself takes can always be asked for.
        let entered = host::enter_kernel(self.db(), place, set)?;
        if entered.reached.contains(&place) {
            return Ok(entered);
        }
        let unknown = entered.launches.found.unknown.into_iter().map(|unknown| unknown.reason).next();
        Err(why.or(unknown).unwrap_or_else(|| "it is not reached".to_owned()))
    }
}
