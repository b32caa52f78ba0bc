//! Estimates as queries over a specialisation: Triton's footprint, the report of a launch, the rules about resources.
//!
//! **Invariant:** keyed by the specialisation, its options and the numbers of the launch, so typing in one kernel estimates no other.

use tritium_codegen::{Options, Unsupported, optimised, verified};
use tritium_semantics::{
    Db, Instance,
    elaborate::elaborate,
    launch::{self, LaunchArg},
    specialise::run_time_values,
    target::Gpu,
};

use crate::{
    access, banks, cost,
    lints::{self, Finding, Ground},
    resources::{self, KernelReport},
    triton::{self, Footprint},
};

/// What Triton would take of a GPU for it.
#[salsa::tracked(returns(ref), lru = 512)]
pub fn triton_footprint(db: &dyn Db, instance: Instance, options: Options) -> Result<Footprint, Unsupported> {
    let module = verified(db, instance)?;
    db.unwind_if_revision_cancelled();
    let compile = options.compile_options(db)?;
    compile.check()?;
    triton::footprint(module, &compile, options.max_registers(db))
}

/// One launch, as far as what it takes of its GPU depends on it.
#[salsa::interned(unsafe(no_lifetime), revisions = usize::MAX, debug)]
pub struct Configuration {
    #[returns(copy)]
    pub instance: Instance,
    #[returns(copy)]
    pub options: Options,
    /// A board or a bare SM, by name.
    #[returns(ref)]
    pub gpu: String,
    /// The row of the tuner that it comes from.
    #[returns(copy)]
    pub config: Option<u32>,
    #[returns(copy)]
    pub grid: [u64; 3],
    #[returns(ref)]
    pub arguments: Vec<cost::Argument>,
}

impl Configuration {
    pub fn of_launch(db: &dyn Db, instance: Instance, options: Options, gpu: Gpu, launch: &launch::Launch) -> Configuration {
        let cost::Launch { grid, arguments } = launch_values(db, launch);
        Configuration::new(db, instance, options, gpu.name().to_owned(), launch.config, grid, arguments)
    }
}

/// What the rules about resources find of a launch; nothing where it cannot be compiled.
#[salsa::tracked(returns(ref))]
pub fn resource_lints(db: &dyn Db, configuration: Configuration) -> Vec<Finding> {
    let (instance, options) = (configuration.instance(db), configuration.options(db));
    let Ok(footprint) = triton_footprint(db, instance, options) else { return vec![] };
    let Some(gpu) = Gpu::find(configuration.gpu(db)) else { return vec![] };
    let launch = cost::Launch { grid: configuration.grid(db), arguments: configuration.arguments(db).clone() };
    let module = optimised(db, instance, options).as_ref().ok();
    let accesses = module.map(|module| access::accesses(module, Some(&launch))).unwrap_or_default();
    let reported = |options| answer(db, Question::new(db, instance, options, gpu, Some(launch.clone()))).as_ref().ok();
    // To tell what they cost takes the whole model, which most launches need not be asked for.
    let conflicts = module.is_some_and(|module| banks::passages(module).iter().any(|passage| passage.ways() > 1.0));
    let report = if conflicts { reported(options) } else { None };
    let report_with = |num_warps| {
        let other = Options::new(db, options.sm(db).clone(), num_warps, options.num_stages(db), options.max_registers(db));
        reported(other).map(|report| report.cost.clone())
    };
    let with = |num_warps, num_stages| {
        let other = Options::new(db, options.sm(db).clone(), num_warps, num_stages, options.max_registers(db));
        triton_footprint(db, instance, other).as_ref().ok().cloned()
    };
    lints::lint(&Ground {
        module: &elaborate(db, instance).module,
        footprint,
        accesses: &accesses,
        gpu,
        num_warps: options.num_warps(db),
        num_stages: options.num_stages(db),
        max_registers: options.max_registers(db),
        config: configuration.config(db),
        launch: &launch,
        report,
        report_with: &report_with,
        with: &with,
    })
}

/// What a report is about. Forgotten when nobody asks any more: sizes of launches change with every keystroke in them.
#[salsa::interned]
struct Question<'db> {
    instance: Instance,
    options: Options,
    gpu: Gpu,
    launch: Option<cost::Launch>,
}

/// What the specialisation takes and costs on a GPU of the SM it is compiled for; with a launch also what the launch costs.
pub fn report<'db>(
    db: &'db dyn Db,
    instance: Instance,
    options: Options,
    gpu: Gpu,
    launch: Option<&launch::Launch>,
) -> &'db Result<KernelReport, Unsupported> {
    answer(db, Question::new(db, instance, options, gpu, launch.map(|launch| launch_values(db, launch))))
}

#[salsa::tracked(returns(ref), lru = 256)]
fn answer<'db>(db: &'db dyn Db, question: Question<'db>) -> Result<KernelReport, Unsupported> {
    let module = optimised(db, *question.instance(db), *question.options(db)).as_ref().map_err(Clone::clone)?;
    let max_registers = question.options(db).max_registers(db);
    Ok(resources::report(module, *question.gpu(db), question.launch(db).as_ref(), max_registers))
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
