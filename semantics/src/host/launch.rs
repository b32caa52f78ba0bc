//! `kernel[grid](…)`: from evaluated arguments to [`Launch`]es, one for each row of the kernel's tuning.

use std::rc::Rc;

use indexmap::IndexMap;
use smol_str::SmolStr;

use super::{
    Called, Config, HostPlace, Site,
    interpret::{Host, reason},
    torch::Args,
    value::{Closure, DescriptorValue, Kind, Method, Storage, TensorValue, Value},
};
use crate::{
    Function, SourceFile,
    body::{ArgKind, Expr, ParamKind, Stmt, StmtId},
    constant::Const,
    diagnostics::{Code, Severity},
    items::{self, Annotation, FunctionItem, ParamItem, items as items_of},
    launch::{
        self, Given, GivenOptions, Impossible, Init, Launch, LaunchArg, LaunchSource, MemoryPlace, PartialLaunch, Tensor,
        UnknownLaunch,
    },
};

/// Rows of a tuning that are followed.
const MAX_CONFIGS: usize = 64;
/// Parts of a tuple that a launch gives, at all depths.
const MAX_PARTS: usize = 1 << 10;
/// Launches of a file that are followed.
const MAX_LAUNCHES: usize = 512;

/// Keywords of a launch that are no parameters.
const OPTIONS: &[&str] = &[
    "num_warps",
    "num_stages",
    "num_ctas",
    // Of other devices' compilers.
    "waves_per_eu",
    "matrix_instr_nonkdim",
    "kpack",
    "schedule_hint",
    "grf_mode",
    "multibuffer",
    "maxnreg",
    "enable_fp_fusion",
    "launch_cooperative_grid",
    "launch_pdl",
    "ptx_version",
    "ptx_options",
    "ir_override",
    "extern_libs",
    "debug",
    "sanitize_overflow",
    "arch",
    "instrumentation_mode",
    "max_num_imprecise_acc_default",
    "stream",
    "device",
    "grid",
    "warmup",
];

/// What the decorators above a kernel add to its launches.
#[derive(Debug, Default)]
pub(crate) struct Tuning {
    pub(crate) is_tuned: bool,
    pub(crate) configs: Vec<Config>,
    /// Triton's own tuner gives configurations as keywords; another may do as it likes.
    is_tritons: bool,
    /// Some decorator may give arguments that are not known here.
    is_partial: bool,
    pub(crate) is_pruned: bool,
    pub(crate) is_open: bool,
    pub(crate) unknown: Option<SmolStr>,
    pub(crate) heuristics: Vec<(SmolStr, Value)>,
}

impl Tuning {
    /// Without a tuner of whose rows nothing is known: somebody else says what they would.
    pub(super) fn without_unknown_rows(self) -> Tuning {
        let Tuning { is_tuned, configs, is_partial, heuristics, .. } = self;
        match is_tuned && configs.is_empty() {
            true => Tuning { is_partial, heuristics, ..Tuning::default() },
            false => Tuning { is_tuned, configs, is_partial, heuristics, ..self },
        }
    }

    /// Whether a row or a rule gives a parameter.
    pub(super) fn gives(&self, param: &SmolStr) -> bool {
        self.configs.iter().any(|row| row.meta.get(param).is_some()) || self.heuristics.iter().any(|(name, _)| name == param)
    }
}

/// The rows of a list of configurations, or of all lists that it may be; `None` if some row is not known.
fn rows(configs: &Value) -> Option<Vec<Config>> {
    let mut out: Vec<Config> = Vec::new();
    match configs {
        Value::Either(all) => {
            for list in all.iter().filter(|list| !matches!(list, Value::Unknown(_))) {
                for row in rows(list)? {
                    if !out.contains(&row) {
                        out.push(row);
                    }
                }
            }
        }
        _ => {
            for item in configs.items()? {
                match item {
                    Value::Config(config) => out.push(Config::clone(&config)),
                    _ => return None,
                }
            }
        }
    }
    out.truncate(MAX_CONFIGS);
    Some(out)
}

fn unknown_row(configs: &Value) -> String {
    let rows = configs.items().unwrap_or_default();
    let row = rows.iter().find(|row| !matches!(row, Value::Config(_)));
    reason(row.unwrap_or(configs), "a configuration")
}

/// Why there is no launch.
enum LaunchError {
    Unresolved(String),
    Invalid(Code, String),
}

impl From<Impossible> for LaunchError {
    fn from(found: Impossible) -> LaunchError {
        LaunchError::Invalid(found.code, found.message)
    }
}

impl Host<'_> {
    pub(crate) fn tuning(&mut self, function: Function) -> Tuning {
        self.decorated(function, true)
    }

    /// The rules of a function's `@triton.heuristics`, by parameter.
    pub(crate) fn heuristics(&mut self, function: Function) -> Vec<(SmolStr, Value)> {
        self.decorated(function, false).heuristics
    }

    /// What its decorators say of a function; `with_tuners`: those that list configurations too.
    fn decorated(&mut self, function: Function, with_tuners: bool) -> Tuning {
        let mut tuning = Tuning::default();
        let file = function.file(self.db);
        let Some(item) = items_of(self.db, file).function(function) else { return tuning };
        tuning.is_partial = item.is_wrapped;
        if !item.is_tuned {
            return tuning;
        }
        let Some((body, stmt)) = items::function_head(self.db, function) else { return tuning };
        let Stmt::Function(def) = body.stmt(stmt) else { return tuning };
        let frame = self.frame_around(function, item.chunk, body.clone());
        for &decorator in &def.decorators {
            let Expr::Call { callee, args } = body.expr(decorator) else { continue };
            let path = items::path(self.db, file, &body, *callee).unwrap_or_default();
            let argument = |name: &str| {
                let keyword = args.iter().find(|a| matches!(&a.kind, ArgKind::Keyword(k) if k == name));
                keyword.or_else(|| args.first().filter(|a| a.kind == ArgKind::Positional)).map(|a| a.value)
            };
            let keyword = |name: &str| args.iter().any(|a| matches!(&a.kind, ArgKind::Keyword(k) if k == name));
            // A tuner of the project's own names its configurations as Triton's does.
            if path.ends_with(".autotune") || (path.is_empty() && keyword("configs")) {
                if !with_tuners {
                    continue;
                }
                tuning.is_tuned = true;
                tuning.is_tritons = path.starts_with("triton.") && !item.is_wrapped;
                tuning.is_pruned |= keyword("prune_configs_by");
                let configs = argument("configs").map(|e| self.expr(&frame, e));
                tuning.is_open = matches!(configs, Some(Value::Either(_)));
                let found = configs.as_ref().and_then(rows);
                if found.is_none() {
                    let why = configs.as_ref().map_or_else(|| "it has no `configs`".to_owned(), unknown_row);
                    tuning.unknown = Some(why.into());
                }
                tuning.configs = found.unwrap_or_default();
                self.propose(function, &mut tuning.configs);
            } else if path.ends_with(".heuristics") {
                match argument("values").map(|e| self.expr(&frame, e)) {
                    Some(Value::Dict(values)) => {
                        for (name, rule) in values.borrow().iter() {
                            if let Const::Str(name) = name {
                                tuning.heuristics.push((name.into(), rule.clone()));
                            }
                        }
                    }
                    _ => tuning.is_partial = true,
                }
            }
        }
        tuning
    }

    /// Adds the rows that were chosen for a kernel beside its own.
    fn propose(&self, function: Function, rows: &mut Vec<Config>) {
        let own = rows.len();
        for proposed in &self.db.settings().chosen(self.db).proposed {
            let (true, Some(row)) = (proposed.kernel == *function.name(self.db), rows[..own].get(proposed.row as usize)) else {
                continue;
            };
            let mut row = row.clone();
            for (name, value) in &mut row.meta.0 {
                if let Some((_, other)) = proposed.meta.iter().find(|(changed, _)| name == changed) {
                    *value = Const::Int(i128::from(*other));
                }
            }
            let GivenOptions { num_warps, num_stages, .. } = row.options;
            row.options.num_warps = proposed.num_warps.or(num_warps);
            row.options.num_stages = proposed.num_stages.or(num_stages);
            rows.push(row);
        }
    }

    /// What the rules of `@triton.heuristics` make of arguments, as far as it is known.
    pub(crate) fn heuristic_values(&mut self, rules: &[(SmolStr, Value)], known: Vec<(SmolStr, Given)>) -> Vec<(SmolStr, Given)> {
        let mut bound: IndexMap<Const, Value> =
            known.into_iter().map(|(name, known)| (Const::Str(name.to_string()), Value::from_given(known))).collect();
        let mut out = Vec::new();
        for (name, rule) in rules {
            let args = Args { positional: vec![Value::dict(bound.clone())], keywords: vec![] };
            let value = self.call(rule.clone(), args);
            out.push((name.clone(), given(&value)));
            bound.insert(Const::Str(name.to_string()), value);
        }
        out
    }

    pub(crate) fn default_value(&mut self, function: Function, param: usize) -> Option<Value> {
        let file = function.file(self.db);
        let item = items_of(self.db, file).function(function)?;
        let default = item.params.get(param)?.default?;
        let (head, _) = items::function_head(self.db, function)?;
        let frame = self.frame_around(function, item.chunk, head);
        Some(self.expr(&frame, default))
    }

    /// `kernel[grid](args)`
    pub(crate) fn launch(&mut self, kernel: Function, grid: &Value, args: &Args) {
        let tuning = self.tuning(kernel);
        self.launch_tuned(kernel, &tuning, grid, args);
    }

    /// The same under what somebody else makes of the decorators.
    pub(super) fn launch_tuned(&mut self, kernel: Function, tuning: &Tuning, grid: &Value, args: &Args) {
        let Some(place) = self.place() else { return };
        let Some(item) = items_of(self.db, kernel.file(self.db)).function(kernel).cloned() else { return };
        if self.found.launches.len() >= MAX_LAUNCHES {
            return self.refuse(place, kernel, LaunchError::Unresolved("the file launches too often".into()));
        }
        if self.expected_failures > 0 {
            return self.perhaps_written(args);
        }
        self.passed(&item, args);
        for (option, usual) in [("num_warps", 4), ("num_stages", 2)] {
            if let Some(value) = args.keyword(option) {
                self.used_as_option(value, usual);
            }
        }
        let (partial, open) = self.partial(&item, tuning, args);
        let sizes = grid_sizes(grid).ok().and_then(|sizes| launch::grid(&sizes).ok()).map(|(sizes, _)| sizes);
        if self.called.is_some() {
            let row = tuning.configs.iter().find(|row| !row.is_impossible()).cloned().unwrap_or_default();
            let made = self.launch_under(&item, place, grid, args, tuning, &row);
            let is_certain = self.path_conditions.is_empty() && !matches!(made, Err(LaunchError::Invalid(..)));
            let is_whole = is_certain && made.is_ok() && (!tuning.is_tuned || !tuning.configs.is_empty());
            let grid = made.map_or(sizes, |(launch, _)| Some(launch.grid));
            self.perhaps_written(args);
            return self.call_elsewhere(partial, open, grid, (is_certain, is_whole));
        }
        // Under a condition that is not known, the condition may be about the device.
        if self.path_conditions.len() <= usize::from(self.is_survey)
            && let Some(message) = self.cpu_tensors(&item, args)
        {
            self.refuse(place, kernel, LaunchError::Invalid(Code::LCH005, message));
        }
        if let Some(why) = self.path_conditions.last().cloned() {
            self.site(Site { place, partial, grid: sizes, open, is_resolved: false });
            // Whether and with what it runs is not known, but what it gives can be wrong all the same.
            self.perhaps_written(args);
            if !tuning.is_tuned || !tuning.configs.is_empty() {
                let row = tuning.configs.first().cloned().unwrap_or_default();
                if let Err(not @ LaunchError::Invalid(..)) = bind(kernel.name(self.db), &item, args, tuning, &row) {
                    return self.refuse(place, kernel, not);
                }
            }
            return self.refuse(place, kernel, LaunchError::Unresolved(why.to_string()));
        }
        let before = self.found.launches.len();
        self.launch_rows(&item, place, tuning, grid, args);
        let is_resolved = self.found.launches.len() > before || self.found.sources.contains(&LaunchSource::Host(place));
        self.site(Site { place, partial, grid: sizes, open, is_resolved });
    }

    /// Remembers a launch of another file's kernel.
    fn call_elsewhere(
        &mut self,
        partial: PartialLaunch,
        open: Vec<(usize, SmolStr)>,
        grid: Option<[u64; 3]>,
        (is_certain, is_whole): (bool, bool),
    ) {
        let (Some(from), Some(&at)) = (self.place(), self.calls.last()) else { return };
        let (true, Some(all)) = (partial.kernel.file(self.db) != self.file, &mut self.called) else { return };
        let is_conditional = self.path_conditions.len() > usize::from(self.is_open_entry);
        let called = Called { partial, open, grid, is_certain, is_conditional, is_whole, at, from };
        let is_same = |other: &Called| *other == Called { from: other.from, open: other.open.clone(), ..called.clone() };
        if all.len() < MAX_LAUNCHES && !all.iter().any(is_same) {
            all.push(called);
        }
    }

    fn site(&mut self, site: Site) {
        if self.sites.len() < MAX_LAUNCHES && !self.sites.contains(&site) {
            self.sites.push(site);
        }
    }

    /// A launch of which more is given than is known.
    pub(crate) fn launch_in_part(&mut self, kernel: Function, args: &Args) {
        let Some(place) = self.place() else { return };
        let Some(item) = items_of(self.db, kernel.file(self.db)).function(kernel).cloned() else { return };
        let tuning = self.tuning(kernel);
        if self.expected_failures > 0 {
            return self.perhaps_written(args);
        }
        let (partial, open) = self.partial(&item, &tuning, args);
        if self.called.is_some() {
            return self.call_elsewhere(partial, open, None, (false, false));
        }
        self.site(Site { place, partial, grid: None, open, is_resolved: false });
    }

    /// What a launch gives, as far as it is known; and why the rest is not. What the decorators give is not the launch's to say.
    fn partial(&mut self, item: &FunctionItem, tuning: &Tuning, args: &Args) -> (PartialLaunch, Vec<(usize, SmolStr)>) {
        let mut open = Vec::new();
        let mut known = |(index, param): (usize, &ParamItem)| {
            let value = match args.get(index, &param.name) {
                Some(value) => Some(value.clone()),
                None => self.default_value(item.function, index),
            };
            let known = value.as_ref().map_or(Given::UNKNOWN, given);
            if !known.is_known() && (value.is_some() || !tuning.gives(&param.name)) {
                let why = value.map_or_else(|| "it is given nothing".to_owned(), |value| reason(&value, "it"));
                open.push((index, why.into()));
            }
            known
        };
        let given = item.params.iter().enumerate().map(&mut known).collect();
        let option = |name: &str| launch::option(name, args.keyword(name)?.as_int()?).0;
        let options =
            GivenOptions { num_warps: option("num_warps"), num_stages: option("num_stages"), max_registers: option("maxnreg") };
        (PartialLaunch { kernel: item.function, given, options }, open)
    }

    fn launch_rows(&mut self, item: &FunctionItem, place: HostPlace, tuning: &Tuning, grid: &Value, args: &Args) {
        let kernel = item.function;
        if tuning.is_tuned && tuning.configs.is_empty() {
            return self.refuse(
                place,
                kernel,
                LaunchError::Unresolved(match &tuning.unknown {
                    Some(why) => format!("the autotune configurations are not known: {why}"),
                    None => "there are no autotune configurations".to_owned(),
                }),
            );
        }
        let mut step: Option<(Vec<usize>, Vec<Rc<Storage>>)> = None;
        let rows: Vec<(Option<u32>, Config)> = match tuning.is_tuned {
            true => tuning.configs.iter().enumerate().map(|(i, c)| (Some(i as u32), c.clone())).collect(),
            false => vec![(None, Config::default())],
        };
        for (index, config) in rows {
            if config.is_impossible() {
                // Told where the row stands.
                continue;
            }
            match self.launch_under(item, place, grid, args, tuning, &config) {
                Ok((mut launch, memories)) => {
                    launch.config = index;
                    let same = |l: &Launch| *l == Launch { name: l.name.clone(), ..launch.clone() };
                    let known = self.found.launches.iter().position(same);
                    step.get_or_insert((vec![], memories)).0.push(known.unwrap_or(self.found.launches.len()));
                    if known.is_some() {
                        continue;
                    }
                    let earlier = self.found.launches.iter().filter(|l| l.kernel == kernel && l.config == index).count();
                    launch.name = match earlier {
                        0 => kernel.name(self.db).clone(),
                        n => format!("{}#{}", kernel.name(self.db), n + 1).into(),
                    };
                    self.found.launches.push(launch);
                    self.found.sources.push(LaunchSource::Host(place));
                }
                Err(not) => self.refuse(place, kernel, not),
            }
        }
        match step {
            Some((launches, memories)) => self.record_step(place, launches, &memories),
            None => self.perhaps_written(args),
        }
    }

    /// What a launch may have written that is not followed is not known.
    fn perhaps_written(&mut self, args: &Args) {
        for value in args.positional.iter().chain(args.keywords.iter().map(|(_, value)| value)) {
            match value {
                Value::Tensor(t) => self.overwrite(&t.storage, None),
                Value::Descriptor(d) => self.overwrite(&d.tensor.storage, None),
                _ => {}
            }
        }
    }

    fn refuse(&mut self, place: HostPlace, kernel: Function, not: LaunchError) {
        match not {
            LaunchError::Unresolved(reason) => {
                let unknown = UnknownLaunch { place, kernel, reason };
                if !self.found.unknown.contains(&unknown) {
                    self.found.unknown.push(unknown);
                }
            }
            LaunchError::Invalid(code, message) => self.tell(place, Impossible { code, severity: Severity::Error, message }),
        }
    }

    /// Says once what is wrong at a place.
    pub(super) fn tell(&mut self, place: HostPlace, found: Impossible) {
        if self.expected_failures > 0 {
            return;
        }
        let Impossible { code, severity, message } = found;
        let problem = place.problem(code, severity, message);
        if !self.found.problems.contains(&problem) {
            self.found.problems.push(problem);
        }
    }

    /// Runs what a configuration has run before a launch: it sets the blocks of descriptors. Whether it is followed.
    fn hooked(&mut self, (file, chunk, stmt): (SourceFile, usize, StmtId), bound: &mut IndexMap<SmolStr, Value>) -> bool {
        let Some(body) = items::chunk_body(self.db, file, chunk) else { return false };
        let frame = self.frame(file, chunk, body);
        let hook = Closure::of_definition(&frame, stmt, Method::Static);
        let key = |name: &SmolStr| Const::Str(name.to_string());
        let with_blocks = |value: &Value| match value {
            Value::Descriptor(of) => {
                let block = Value::list(of.block.iter().map(|&extent| Value::int(extent)).collect());
                Value::object(
                    [("block_shape".into(), block), ("base".into(), Value::Tensor(of.tensor.clone()))].into_iter().collect(),
                )
            }
            other => other.clone(),
        };
        let given: IndexMap<Const, Value> = bound.iter().map(|(name, value)| (key(name), with_blocks(value))).collect();
        let args = Args { positional: vec![Value::dict(given.clone())], keywords: vec![] };
        if let Value::Unknown(_) = self.call_closure(&hook, &args, &[]) {
            return false;
        }
        for (name, value) in bound {
            let (Value::Descriptor(of), Some(Value::Object(after))) = (&value, given.get(&key(name))) else { continue };
            let block = after.fields.borrow().get("block_shape").and_then(Value::items);
            let block =
                block.and_then(|sizes| sizes.iter().map(|size| u32::try_from(size.as_int()?).ok()).collect::<Option<Vec<u32>>>());
            let Some(block) = block else { return false };
            *value = Value::Descriptor(Rc::new(DescriptorValue { tensor: of.tensor.clone(), block, nan: of.nan }));
        }
        true
    }

    fn launch_under(
        &mut self,
        item: &FunctionItem,
        place: HostPlace,
        grid: &Value,
        args: &Args,
        tuning: &Tuning,
        config: &Config,
    ) -> Result<(Launch, Vec<Rc<Storage>>), LaunchError> {
        let kernel = item.function;
        let name = kernel.name(self.db).clone();
        let (mut bound, options) = bind(&name, item, args, tuning, config)?;
        for (i, param) in item.params.iter().enumerate() {
            if !bound.contains_key(&param.name)
                && let Some(default) = self.default_value(kernel, i)
            {
                bound.insert(param.name.clone(), default);
            }
        }
        let as_dict = |bound: &IndexMap<SmolStr, Value>| {
            let entries: IndexMap<Const, Value> = bound.iter().map(|(k, v)| (Const::Str(k.to_string()), v.clone())).collect();
            Args { positional: vec![Value::dict(entries)], keywords: vec![] }
        };
        for (name, rule) in &tuning.heuristics {
            let value = self.call(rule.clone(), as_dict(&bound));
            bound.insert(name.clone(), value);
        }
        let is_hooked = config.pre_hook.is_some_and(|hook| self.hooked(hook, &mut bound));
        let missing: Vec<&SmolStr> = item.params.iter().map(|p| &p.name).filter(|name| !bound.contains_key(*name)).collect();
        if !missing.is_empty() {
            return Err(LaunchError::Unresolved(format!("`{}` is given nothing", missing[0])));
        }
        let mut option = |name: &str, tuned: Option<u32>| -> Result<Option<u32>, LaunchError> {
            let given = match options.get(name) {
                None => return Ok(tuned),
                Some(Value::Const(Const::None)) => return Ok(None),
                Some(value) => value.as_int().ok_or_else(|| LaunchError::Unresolved(reason(value, &format!("`{name}`"))))?,
            };
            match launch::option(name, given) {
                (_, Some(found)) if found.severity == Severity::Error => Err(found.into()),
                (compiled, odd) => {
                    odd.into_iter().for_each(|found| self.tell(place, found));
                    Ok(compiled)
                }
            }
        };
        let options = GivenOptions {
            num_warps: option("num_warps", config.options.num_warps)?,
            num_stages: option("num_stages", config.options.num_stages)?,
            max_registers: option("maxnreg", config.options.max_registers)?,
        };
        let options = options.or_default();
        let grid = match grid {
            Value::Closure(_) => {
                let mut all = bound.clone();
                all.insert("num_warps".into(), Value::int(options.num_warps));
                all.insert("num_stages".into(), Value::int(options.num_stages));
                self.call(grid.clone(), as_dict(&all))
            }
            _ => grid.clone(),
        };
        let (grid, odd) = launch::grid(&grid_sizes(&grid)?)?;
        odd.into_iter().for_each(|found| self.tell(place, found));

        let (mut args, mut meta, mut tensors) = (IndexMap::new(), IndexMap::new(), Tensors::default());
        for param in &item.params {
            let value = &bound[&param.name];
            if param.annotation == Annotation::Constexpr {
                let known =
                    value.to_const().ok_or_else(|| LaunchError::Unresolved(reason(value, &format!("`{}`", param.name))))?;
                meta.insert(param.name.clone(), known);
                continue;
            }
            if config.has_pre_hook && !is_hooked && matches!(value, Value::Descriptor(_)) {
                return Err(LaunchError::Unresolved(format!(
                    "the block of `{}` may be set by a `pre_hook`, which is not followed",
                    param.name
                )));
            }
            if let Value::Descriptor(of) = value {
                self.used_with_block(&of.tensor, &of.block);
            }
            args.insert(param.name.clone(), tensors.argument(value, &param.name)?);
        }
        let launch = Launch {
            name,
            kernel,
            grid,
            args,
            meta,
            options,
            config: None,
            tensors: tensors.rows,
            expect: IndexMap::new(),
            tolerance: None,
        };
        Ok((launch, tensors.memories))
    }
}

/// What is known of an argument.
fn given(value: &Value) -> Given {
    if let Some(value) = value.to_const() {
        return Given::Known(value);
    }
    match value {
        Value::Either(all) => match all.iter().map(Value::to_const).collect::<Option<Vec<Const>>>() {
            Some(values) => Given::OneOf(values),
            None => Given::Open { kind: value.kind(), may_be_none: !value.is_something(), usual: None },
        },
        Value::Descriptor(d) => Given::Descriptor { elem: d.tensor.dtype, block: d.block.clone(), nan: d.nan },
        Value::Tuple(items) if fits(value, &mut MAX_PARTS.clone()) => Given::Tuple(items.iter().map(given).collect()),
        Value::Unknown(doubt) => {
            let fits = |usual: &Const| doubt.kind == Kind::Any || Value::from_const(usual.clone()).kind() == doubt.kind;
            let usual = doubt.usual.as_deref().filter(|usual| fits(usual)).cloned();
            Given::Open { kind: doubt.kind, may_be_none: doubt.may_be_none, usual }
        }
        other => Given::Open { kind: other.kind(), may_be_none: !other.is_something(), usual: None },
    }
}

/// Arguments by parameter, and options.
type Bound = (IndexMap<SmolStr, Value>, IndexMap<SmolStr, Value>);

/// Binds what a launch and a row of the tuning give to parameters, as Triton does. What a launch lacks is only told where everything that
/// could give it is known.
fn bind(name: &str, item: &FunctionItem, args: &Args, tuning: &Tuning, config: &Config) -> Result<Bound, LaunchError> {
    let wrong = |message: String| Err(LaunchError::Invalid(Code::LCH001, message));
    let takes_rest = item.params.iter().any(|p| p.kind == ParamKind::Rest);
    if args.positional.len() > item.params.len() && !takes_rest {
        let (n, m) = (args.positional.len(), item.params.len());
        return wrong(format!("`{name}` takes {m} argument{}, and the launch gives {n}", if m == 1 { "" } else { "s" }));
    }
    let mut bound: IndexMap<SmolStr, Value> = IndexMap::new();
    for (param, value) in item.params.iter().zip(&args.positional) {
        bound.insert(param.name.clone(), value.clone());
    }
    let mut options: IndexMap<SmolStr, Value> = IndexMap::new();
    for (keyword, value) in &args.keywords {
        if item.params.iter().any(|p| p.name == *keyword) {
            if bound.insert(keyword.clone(), value.clone()).is_some() {
                return wrong(format!("the launch gives `{keyword}` of `{name}` twice"));
            }
        } else if OPTIONS.contains(&keyword.as_str()) {
            if tuning.is_tritons && matches!(keyword.as_str(), "num_warps" | "num_stages" | "num_ctas") {
                let message = format!("`{name}` is autotuned, so its configurations choose `{keyword}`: do not give it here");
                return Err(LaunchError::Invalid(Code::LCH004, message));
            }
            options.insert(keyword.clone(), value.clone());
        } else if !item.params.iter().any(|p| p.kind == ParamKind::RestKeywords) {
            let nearest = crate::builtins::closest(keyword, item.params.iter().map(|p| p.name.as_str()));
            let hint = nearest.map(|n| format!("; did you mean `{n}`?")).unwrap_or_default();
            return wrong(format!("`{keyword}` is neither a parameter of `{name}` nor an option of a launch{hint}"));
        }
    }
    for (meta, value) in &config.meta.0 {
        let given = bound.insert(meta.clone(), Value::from_const(value.clone())).is_some();
        if given && tuning.is_tritons {
            let message = format!("`{name}` is autotuned, and its configurations choose `{meta}`: do not give it here");
            return Err(LaunchError::Invalid(Code::LCH004, message));
        }
    }
    let by_rule = |name: &SmolStr| tuning.heuristics.iter().any(|(n, _)| n == name);
    let missing: Vec<String> = item
        .params
        .iter()
        .filter(|p| !bound.contains_key(&p.name) && p.default.is_none() && !by_rule(&p.name))
        .filter(|p| !matches!(p.kind, ParamKind::Rest | ParamKind::RestKeywords))
        .map(|p| format!("`{}`", p.name))
        .collect();
    if !missing.is_empty() && !tuning.is_partial {
        return wrong(format!("the launch of `{name}` gives no argument for {}", missing.join(", ")));
    }
    Ok((bound, options))
}

fn grid_sizes(grid: &Value) -> Result<Vec<i128>, LaunchError> {
    let sizes = match grid {
        Value::Const(Const::Int(_)) => vec![grid.clone()],
        _ => grid.items().ok_or_else(|| LaunchError::Unresolved(reason(grid, "the grid")))?,
    };
    if sizes.is_empty() || sizes.len() > 3 {
        return Err(LaunchError::Invalid(
            Code::LCH002,
            format!("a grid has one to three sizes, and this one has {}", sizes.len()),
        ));
    }
    sizes.iter().map(|size| size.as_int().ok_or_else(|| LaunchError::Unresolved(reason(size, "a size of the grid")))).collect()
}

/// Why a descriptor cannot be made of a tensor, as `TensorDescriptor` says it.
pub(crate) fn descriptor_problem(tensor: &Tensor, block: &[u32], nan: bool) -> Option<String> {
    let rank = tensor.shape.len();
    let bytes = u64::from(tensor.dtype.bytes());
    let inner = tensor.strides.split_last();
    if !(1..=5).contains(&rank) || block.len() != rank {
        return Some(format!("a descriptor has 1 to 5 axes, and a block extent for each; these are {rank} and {}", block.len()));
    }
    if inner.is_some_and(|(last, _)| *last != 1) {
        return Some("the last axis of a descriptor's tensor is contiguous".to_owned());
    }
    if let Some(stride) = inner.and_then(|(_, rest)| rest.iter().find(|&&s| s.saturating_mul(bytes) % 16 != 0)) {
        return Some(format!("a stride of {stride} elements of {} is not a multiple of 16 bytes", tensor.dtype));
    }
    if u64::from(block[rank - 1]) * bytes < 16 {
        return Some(format!(
            "the last axis of a block is {} bytes, and a descriptor moves at least 16",
            u64::from(block[rank - 1]) * bytes
        ));
    }
    (nan && tensor.dtype.is_int()).then(|| format!("{} has no NaN to pad with", tensor.dtype))
}

/// Whether a tuple has no more parts than a kernel may take.
fn fits(value: &Value, parts_left: &mut usize) -> bool {
    match (value, parts_left.checked_sub(1)) {
        (_, None) => false,
        (Value::Tuple(items), Some(left)) => {
            *parts_left = left;
            items.iter().all(|item| fits(item, parts_left))
        }
        (_, Some(left)) => {
            *parts_left = left;
            true
        }
    }
}

/// The tensors of one launch; one that is passed twice is there once.
#[derive(Default)]
struct Tensors {
    rows: Vec<Tensor>,
    seen: Vec<TensorValue>,
    memories: Vec<Rc<Storage>>,
}

impl Tensors {
    fn argument(&mut self, value: &Value, param: &SmolStr) -> Result<LaunchArg, LaunchError> {
        Ok(match value {
            Value::Tensor(t) => LaunchArg::Tensor(self.index(t, param)),
            Value::Descriptor(d) => {
                let tensor = self.index(&d.tensor, param);
                // A block that cannot be is one that is set later.
                match descriptor_problem(&self.rows[tensor], &d.block, d.nan) {
                    None => LaunchArg::Descriptor { tensor, block: d.block.clone(), nan: d.nan },
                    Some(message) => return Err(LaunchError::Unresolved(format!("the descriptor `{param}`: {message}"))),
                }
            }
            Value::Tuple(_) if !fits(value, &mut MAX_PARTS.clone()) => {
                return Err(LaunchError::Unresolved(format!("`{param}` has more parts than are followed")));
            }
            Value::Tuple(items) => {
                let parts = items.iter().enumerate().map(|(i, item)| self.argument(item, &format!("{param}_{i}").into()));
                LaunchArg::Tuple(parts.collect::<Result<_, _>>()?)
            }
            Value::Const(Const::Int(i)) => LaunchArg::Int(*i),
            Value::Const(Const::Float(f)) => LaunchArg::Float(f.get()),
            Value::Const(Const::Bool(b)) => LaunchArg::Bool(*b),
            Value::Const(Const::None) => LaunchArg::None,
            other => return Err(LaunchError::Unresolved(reason(other, &format!("`{param}`")))),
        })
    }

    fn index(&mut self, t: &TensorValue, param: &SmolStr) -> usize {
        let is_same = |seen: &TensorValue| {
            Rc::ptr_eq(&seen.storage, &t.storage) && (&seen.shape, &seen.strides, seen.offset) == (&t.shape, &t.strides, t.offset)
        };
        if let Some(index) = self.seen.iter().position(is_same) {
            return index;
        }
        let known = self.memories.iter().position(|memory| Rc::ptr_eq(memory, &t.storage));
        let index = known.unwrap_or(self.memories.len());
        if known.is_none() {
            self.memories.push(t.storage.clone());
        }
        let own = t.storage.name.borrow().clone();
        let name = match own {
            Some(name) if self.rows.iter().all(|r| r.name != name) => name,
            _ => param.clone(),
        };
        let mut tensor = Tensor {
            name,
            dtype: t.dtype,
            shape: t.shape.clone(),
            strides: t.strides.clone(),
            init: t.init().unwrap_or(Init::Computed),
            memory: MemoryPlace { index, offset: t.offset, behind: 0 },
        };
        let reached = tensor.span().and_then(|span| span.checked_add(t.offset)).unwrap_or(t.storage.len);
        tensor.memory.behind = t.storage.len.saturating_sub(reached);
        self.rows.push(tensor);
        self.seen.push(t.clone());
        self.rows.len() - 1
    }
}
