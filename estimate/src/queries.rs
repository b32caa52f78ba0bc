//! Estimates as queries over a specialisation: Triton's footprint, the report of a launch, the rules about resources.
//!
//! **Invariant:** keyed by the specialisation, its options and the numbers of the launch, so typing in one kernel estimates no other.

use tritium_codegen::{CompileOptions, Unsupported, optimised, verified};
use tritium_semantics::{
    Db, Instance,
    configuration::Configuration,
    elaborate::elaborate,
    launch::{self, LaunchArg, LaunchOptions},
    specialise::run_time_values,
    target::Gpu,
};

use crate::{
    access,
    analyses::Analyses,
    banks, cost,
    lints::{self, Finding, Ground},
    resources::{self, KernelReport},
    triton::{self, Counts, Footprint, Rules},
};

/// What Triton would take of a GPU for it.
#[salsa::tracked(returns(ref), lru = 512)]
pub fn triton_footprint(db: &dyn Db, instance: Instance, options: CompileOptions) -> Result<Footprint, Unsupported> {
    let module = verified(db, instance)?;
    db.unwind_if_revision_cancelled();
    options.check()?;
    triton::footprint(module, &options)
}

/// The places at which a thread needs most registers in Triton's code: as the model has it, then without each of its rules, by name.
pub fn triton_places(
    db: &dyn Db,
    instance: Instance,
    options: CompileOptions,
) -> Result<Vec<(&'static str, Vec<Counts>)>, Unsupported> {
    let (names, rules): (Vec<_>, Vec<_>) = [("", Rules::ALL)].into_iter().chain(Rules::WITHOUT).unzip();
    Ok(names.into_iter().zip(triton::worst_places(verified(db, instance)?, &options, &rules)?).collect())
}

/// A kernel, so compiled, so launched, as far as what it takes of a GPU depends on it: launches that differ in nothing else share one.
/// Forgotten when nobody asks any more: sizes of launches change with every keystroke in them.
#[salsa::interned]
pub struct ReportKey<'db> {
    #[returns(copy)]
    pub instance: Instance,
    #[returns(copy)]
    pub options: CompileOptions,
    #[returns(copy)]
    pub gpu: Gpu,
    #[returns(ref)]
    pub launch: Option<cost::Launch>,
    /// Of a thread, where ptxas has said them: occupancy and what follows from it are estimated without.
    #[returns(copy)]
    pub registers: Option<u32>,
}

impl<'db> ReportKey<'db> {
    pub fn of(db: &'db dyn Db, configuration: Configuration, gpu: Gpu) -> ReportKey<'db> {
        let options = CompileOptions::new(gpu.sm, configuration.options);
        let launch = configuration.launch(db).map(|launch| launch_values(db, launch));
        ReportKey::new(db, configuration.instance, options, gpu, launch, None)
    }

    /// The same once ptxas has said how many registers a thread has.
    pub fn assembled(self, db: &'db dyn Db, registers: u32) -> ReportKey<'db> {
        ReportKey::new(db, self.instance(db), self.options(db), self.gpu(db), self.launch(db).clone(), Some(registers))
    }

    /// The same compiled with other options.
    fn with(self, db: &'db dyn Db, launch: LaunchOptions) -> ReportKey<'db> {
        let options = CompileOptions { launch, ..self.options(db) };
        ReportKey::new(db, self.instance(db), options, self.gpu(db), self.launch(db).clone(), None)
    }

    pub fn footprint(self, db: &'db dyn Db) -> &'db Result<Footprint, Unsupported> {
        triton_footprint(db, self.instance(db), self.options(db))
    }
}

/// What the rules about resources find of a launch; nothing where it cannot be compiled. `row` is that of the tuner that it comes from.
#[salsa::tracked(returns(ref))]
pub fn resource_lints<'db>(db: &'db dyn Db, key: ReportKey<'db>, row: Option<u32>) -> Vec<Finding> {
    let Ok(footprint) = key.footprint(db) else { return vec![] };
    let Some(launch) = key.launch(db) else { return vec![] };
    let analyses = optimised(db, key.instance(db), key.options(db)).as_ref().ok().map(Analyses::of);
    let accesses = analyses.as_ref().map(|analyses| access::accesses(analyses, Some(launch))).unwrap_or_default();
    // To tell what they cost takes the whole model, which most launches need not be asked for.
    let conflicts =
        analyses.is_some_and(|analyses| banks::passages(&analyses, key.gpu(db).sm).iter().any(|passage| passage.ways() > 1.0));
    lints::lint(&Ground {
        module: &elaborate(db, key.instance(db)).module,
        footprint,
        accesses: &accesses,
        gpu: key.gpu(db),
        options: key.options(db).launch,
        config: row,
        launch,
        report: if conflicts { report(db, key).as_ref().ok() } else { None },
        report_with: &|options| Some(report(db, key.with(db, options)).as_ref().ok()?.cost.clone()),
        with: &|options| key.with(db, options).footprint(db).as_ref().ok().cloned(),
    })
}

/// What the specialisation takes and costs on a GPU of the SM it is compiled for; with a launch also what the launch costs.
#[salsa::tracked(returns(ref), lru = 256)]
pub fn report<'db>(db: &'db dyn Db, key: ReportKey<'db>) -> Result<KernelReport, Unsupported> {
    let options = key.options(db);
    let module = optimised(db, key.instance(db), options).as_ref().map_err(Clone::clone)?;
    Ok(resources::report(module, key.gpu(db), key.launch(db).as_ref(), options.launch.max_registers, key.registers(db)))
}

/// The numbers of a launch that costs depend on.
pub fn launch_values(db: &dyn Db, launch: &launch::Launch) -> cost::Launch {
    let argument = |value| match value {
        LaunchArg::Tensor(index) => {
            let tensor: &launch::Tensor = launch.tensors.get(index)?;
            let elements = tensor.shape.iter().try_fold(1u64, |n, &extent| n.checked_mul(extent))?;
            elements.checked_mul(u64::from(tensor.dtype.bytes())).map(cost::Argument::TensorBytes)
        }
        LaunchArg::Int(n) => i64::try_from(n).ok().map(cost::Argument::Scalar),
        LaunchArg::Bool(b) => Some(cost::Argument::Scalar(i64::from(b))),
        LaunchArg::Float(_) | LaunchArg::None | LaunchArg::Tuple(_) | LaunchArg::Descriptor { .. } => None,
    };
    let values = run_time_values(db, launch).into_iter();
    cost::Launch { grid: launch.grid, arguments: values.map(|value| argument(value).unwrap_or_default()).collect() }
}
