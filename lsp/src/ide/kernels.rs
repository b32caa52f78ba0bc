// Feature: Active specialisation
//
//! The kernels of a file, each with the specialisation that answers for it: its first launch, or what is assumed where there is none.

use std::{ops::Range, path::Path};

use tritium_semantics::{
    Function, Instance, check,
    elaborate::{self, Elaborated},
    items,
    launch::{self, Launch},
    problem::{At, Place},
    specialise::{self, specialisations},
};

use crate::ide::Analysis;

/// Warps and stages where nothing says otherwise: Triton's defaults.
pub const DEFAULT_WARPS: u32 = 4;
pub const DEFAULT_STAGES: u32 = 3;

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
    pub num_warps: u32,
    pub num_stages: u32,
    pub max_registers: Option<u32>,
}

impl Active {
    /// One phrase for hovers: which launch, or that it is assumed.
    pub fn describe(&self) -> String {
        match &self.launch {
            Some(launch) => format!("launch `{}`", launch.name),
            None => "assumed arguments (no launch of it is known)".to_owned(),
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

    fn active(&self, function: Function) -> Option<Active> {
        let db = self.db();
        let launches = &launch::launches(db, function.file(db)).launches;
        if let Some(launch) = launches.iter().find(|l| l.kernel == function) {
            return Some(Active {
                instance: specialise::specialise(db, launch),
                num_warps: launch.num_warps,
                num_stages: launch.num_stages,
                max_registers: launch.max_registers,
                launch: Some(launch.clone()),
            });
        }
        let instance = specialisations(db, function).first()?.instance;
        Some(Active { instance, launch: None, num_warps: DEFAULT_WARPS, num_stages: DEFAULT_STAGES, max_registers: None })
    }

    pub fn elaborated(&self, instance: Instance) -> &Elaborated {
        elaborate::elaborate(self.db(), instance)
    }

    /// Where a place is in its file now.
    pub fn range(&self, place: Place) -> Option<Range<usize>> {
        tritium_semantics::check::range_of(self.db(), place).map(|(_, range)| range)
    }
}
