//! What is found in one kernel, as many specialisations as have it.
//!
//! **Invariant:** nothing here says where in its file a kernel stands, so a kernel that only moves is not looked at again.

use std::collections::BTreeSet;

use indexmap::{IndexMap, IndexSet};
use smol_str::SmolStr;

use tritium_tile::facts::Launched;

use crate::{
    ArgType, Argument, Db, Function, Instance, SourceFile,
    constant::Const,
    diagnostics::{Code, Severity},
    dtype::DType,
    elaborate::{Elaborated, elaborate},
    globals, host,
    items::{self, ParamItem, items as items_of},
    launch::{Launch, launches, launches_of},
    lints::{self, launched, lint},
    places::range_in_chunk,
    problem::{At, Place, Problem},
    specialise::{
        self, Specialisation, hangs_on_arguments, open_sources, specialisations, with_elements, with_open, with_other_elements,
        without,
    },
    types::Ty,
};

/// Works out what [`unsilenced_partly`] needs beside its looks.
pub fn work_out_rest(db: &dyn Db, file: SourceFile, looks: &[&Look]) {
    launches(db, file);
    let kernels = items::kernels(db, file);
    for &kernel in kernels.iter().filter(|&&kernel| looks.iter().all(|look| look.kernel != kernel)) {
        findings(db, kernel);
    }
    for item in &items_of(db, file).functions {
        lints::of_function(db, item.function, kernels.contains(&item.function));
    }
}

/// What a file's diagnostics need of one kernel, worked out: kernels can be looked at side by side before [`check`] collects them.
pub fn look_at(db: &dyn Db, kernel: Function) {
    findings(db, kernel);
}

/// One specialisation of a kernel, to look at alone after the kernel's text has changed: to ask again which there are can cost many times
/// what one of them does.
#[derive(Debug, Clone)]
pub struct Look {
    pub kernel: Function,
    params: Vec<ParamItem>,
    specialisation: Specialisation,
    launched: Launched,
    label: String,
}

impl Look {
    /// Under an instance, or under the first where the kernel is not checked under that one.
    pub fn new(db: &dyn Db, kernel: Function, instance: Instance) -> Option<Look> {
        let all = specialisations(db, kernel);
        let index = all.iter().position(|s| s.instance == instance).unwrap_or(0);
        let specialisation = all.get(index)?.clone();
        let launched = launched(db, &specialisation);
        let label = label(db, kernel, &specialisation, index);
        Some(Look { kernel, params: params(db, kernel)?.to_vec(), specialisation, launched, label })
    }

    /// Whether the kernel still takes the arguments of the specialisation.
    pub fn fits(&self, db: &dyn Db) -> bool {
        params(db, self.kernel).is_some_and(|params| *params == self.params)
    }

    /// Works out what [`unsilenced_partly`] needs of it: worth a thread of its own beside the rest of the file.
    pub fn work_out(&self, db: &dyn Db) {
        elaborate(db, self.specialisation.instance);
        self.lints(db);
    }

    fn lints<'db>(&self, db: &'db dyn Db) -> &'db [Problem] {
        lint(db, self.specialisation.instance, self.launched.clone())
    }

    /// Errors that other arguments may refute wait for these.
    pub(super) fn findings(&self, db: &dyn Db) -> Vec<Finding> {
        let elaborated = elaborate(db, self.specialisation.instance);
        let lints = self.lints(db);
        let mut found = compare(
            db,
            self.kernel,
            &[Visit { specialisation: &self.specialisation, elaborated, lints, label: &self.label }],
            &[],
        );
        let waits = |p: &Problem| p.severity() == Severity::Error && hangs_on_arguments(db, p);
        found.retain(|finding| !finding.seen.is_assumed || !waits(&finding.problem));
        found
    }
}

fn params(db: &dyn Db, kernel: Function) -> Option<&[ParamItem]> {
    Some(&items_of(db, kernel.file(db)).function(kernel)?.params)
}

/// The specialisations of a kernel that the settings ask for.
pub fn visited(db: &dyn Db, kernel: Function) -> impl Iterator<Item = &Specialisation> {
    let all = specialisations(db, kernel).as_slice();
    let most = if db.settings().chosen(db).only_first { 1 } else { all.len() };
    all.iter().take(most)
}

/// One problem of a kernel, as many specialisations as have it; nothing in it says where in the file the kernel stands.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Finding {
    pub problem: Problem,
    pub place: Place,
    pub seen: Seen,
    /// The launch that brings what it comes from, and what to say of it.
    pub launch: Option<(Blamed, String)>,
}

/// A launch of a kernel, by its place among them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Blamed {
    /// Among [`launches_of`].
    Launch(usize),
    /// Among [`host::called`].
    Called(usize),
}

/// How one kernel's specialisations stand to a problem.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Seen {
    pub is_assumed: bool,
    /// Other files launch it so, beside those that are not known.
    pub is_called: bool,
    /// Some launch that has it may run, as far as is known, or it hangs on no launch.
    pub may_run: bool,
    /// Those that have it, and how many reach its place.
    pub labels: IndexSet<String>,
    pub reach: usize,
    /// Other element types do not have it.
    pub refuted: bool,
    /// The parameters whose assumed arguments it may come from, where some launch says others; of what is not certain.
    pub rests_on: IndexSet<SmolStr>,
}

impl Seen {
    /// Whether all that reach its place have it, or a launch does.
    pub(super) fn is_certain(&self) -> bool {
        !self.is_assumed || (self.labels.len() >= self.reach && !self.refuted && self.may_run)
    }
}

/// One specialisation of a kernel and what was found.
struct Visit<'db> {
    specialisation: &'db Specialisation,
    elaborated: &'db Elaborated,
    lints: &'db [Problem],
    label: &'db str,
}

/// What is found in a kernel. It depends on the kernel's text, its helpers and its launches, but not on where they stand, so a keystroke
/// elsewhere in the file asks nothing again.
#[salsa::tracked(returns(ref))]
pub(super) fn findings(db: &dyn Db, kernel: Function) -> Vec<Finding> {
    let known = specialisations(db, kernel);
    let labels: Vec<String> = known.iter().enumerate().map(|(index, s)| label(db, kernel, s, index)).collect();
    let visit = |index: usize| {
        db.unwind_if_revision_cancelled();
        let specialisation = &known[index];
        let elaborated = elaborate(db, specialisation.instance);
        Visit {
            specialisation,
            elaborated,
            lints: lint(db, specialisation.instance, launched(db, specialisation)),
            label: &labels[index],
        }
    };
    let mut all: Vec<Visit<'_>> = (0..visited(db, kernel).count()).map(visit).collect();
    // What a few assumed ones have is an error only if no other refutes it.
    let may_be_refuted = |p: &Problem| p.severity() == Severity::Error && hangs_on_arguments(db, p);
    if all.iter().any(|v| v.specialisation.is_assumed() && v.elaborated.problems.iter().any(may_be_refuted)) {
        all = (0..known.len()).map(visit).collect();
    }
    // What hangs on the element types assumed is nothing; the others are only asked where there is something to refute.
    let any = |test: &dyn Fn(&Problem) -> bool| all.iter().any(|v| v.elaborated.problems.iter().any(test));
    let others = match all.first() {
        Some(first) if first.specialisation.is_assumed() && !first.elaborated.exhausted => {
            with_other_elements(db, first.specialisation)
        }
        _ => vec![],
    };
    let asked = match any(&may_be_refuted) || any(&|p| hangs_on_one_element_type(p.code)) {
        true => others.len(),
        false => usize::from(any(&|p| hangs_on_elements(p.code))),
    };
    let refuting: Vec<&Elaborated> = others.into_iter().take(asked).map(|i| elaborate(db, i)).collect();
    compare(db, kernel, &all, &refuting)
}

/// What visits found, and what other arguments say of it.
fn compare(db: &dyn Db, kernel: Function, all: &[Visit<'_>], refuting: &[&Elaborated]) -> Vec<Finding> {
    let file = kernel.file(db);
    let is_error = |p: &Problem| p.severity() == Severity::Error;
    // An error that some arguments do not have discredits the assumptions that bring it; what only such assumptions bring is as doubtful.
    let elaborations = || all.iter().map(|v| v.elaborated).chain(refuting.iter().copied());
    let is_doubted = |p: &Problem| is_error(p) && elaborations().any(|e| refutes(db, e, p));
    let credited: Vec<&Elaborated> = elaborations().filter(|e| !e.problems.iter().any(is_doubted)).collect();
    let mut found = IndexMap::<(Place, Code), Finding>::new();
    // What each was found under first.
    let mut firsts: Vec<&Specialisation> = Vec::new();
    for visit in all {
        let specialisation = visit.specialisation;
        let hangs = |p: &Problem| hangs_on_arguments(db, p);
        let of_target = lints::of_target(db, visit.elaborated);
        for problem in visit.elaborated.problems.iter().chain(visit.lints).chain(&of_target) {
            // A wish about values that were only assumed, or what only such values bring.
            if specialisation.is_assumed() && hangs(problem) && rests_on_assumed_values(db, specialisation, problem) {
                continue;
            }
            // In a helper of another file it is shown where this file calls it.
            let places = std::iter::once(problem.place).chain(problem.calls.iter().copied());
            let Some(place) = places.into_iter().find(|p| p.function.file(db) == file) else { continue };
            // What is no mistake is told where it is written, not where it is called.
            if place != problem.place && matches!(problem.severity(), Severity::Performance | Severity::Hint) {
                continue;
            }
            let finding = found.entry((place, problem.code)).or_insert_with(|| {
                let reach = all.iter().filter(|v| v.elaborated.reaches(db, problem)).count();
                // A remark on types needs another choice of types that has it too.
                let refuted = match problem.severity() {
                    Severity::Error => {
                        refuting.iter().any(|e| refutes(db, e, problem))
                            || visit.elaborated.has(problem) && !credited.iter().any(|e| e.has(problem))
                    }
                    _ if hangs_on_one_element_type(problem.code) => {
                        refuting.iter().any(|e| e.reaches(db, problem) && !e.has(problem))
                    }
                    _ => hangs_on_elements(problem.code) && !refuting.is_empty() && !refuting.iter().any(|e| e.has(problem)),
                };
                let seen = Seen {
                    is_assumed: true,
                    is_called: false,
                    may_run: false,
                    labels: IndexSet::new(),
                    reach,
                    refuted,
                    rests_on: IndexSet::new(),
                };
                firsts.push(specialisation);
                Finding { problem: problem.clone(), place, seen, launch: None }
            });
            // Of several at one place the one that matters most is told.
            if problem.severity() < finding.problem.severity() {
                finding.problem = problem.clone();
            }
            if finding.launch.is_none() && is_error(problem) && hangs(problem) && visit.elaborated.has(problem) {
                finding.launch = launch_to_blame(db, kernel, specialisation, problem);
            }
            // The tuner passes over rows under which an assertion fails.
            let is_row = specialisation.called.is_some() && specialisation.config.is_some();
            finding.seen.is_assumed &= specialisation.is_assumed() || is_row && problem.code == Code::LNG017;
            finding.seen.is_called |= specialisation.called.is_some();
            finding.seen.may_run |= !specialisation.is_conditional || !hangs(problem);
            finding.seen.labels.insert(visit.label.to_owned());
        }
    }
    let mut found: Vec<Finding> = found.into_values().collect();
    for (finding, specialisation) in found.iter_mut().zip(firsts) {
        if !finding.seen.is_certain() || !globals::alternatives(db, finding.problem.place.function).is_empty() {
            finding.seen.rests_on = names_of(db, kernel, specialisation, &finding.problem);
        }
    }
    soften_skipped_rows(db, kernel, all, &mut found);
    found
}

/// Triton's tuner passes over the rows under which an assertion fails, so that is no error as long as another row is left for the launch.
fn soften_skipped_rows(db: &dyn Db, kernel: Function, all: &[Visit<'_>], found: &mut [Finding]) {
    let fails = |visit: &Visit<'_>| visit.elaborated.problems.iter().any(|p| p.code == Code::LNG017);
    let names = |visit: &Visit<'_>| {
        let launches = launches_of(db, kernel);
        let of_visit = visit.specialisation.launches.iter().filter_map(|&index| launches.get(index));
        of_visit.filter(|launch| launch.config.is_some()).map(|launch| launch.name.clone()).collect::<IndexSet<SmolStr>>()
    };
    let left: IndexSet<SmolStr> = all.iter().filter(|visit| !fails(visit)).flat_map(&names).collect();
    for finding in found.iter_mut().filter(|finding| finding.problem.code == Code::LNG017) {
        let mut having = all.iter().filter(|visit| visit.elaborated.has(&finding.problem));
        let is_skipped = |visit: &Visit<'_>| {
            let names = names(visit);
            !names.is_empty() && names.iter().all(|name| left.contains(name))
        };
        if having.all(is_skipped) {
            finding.problem.level = Some(Code::TUN004.severity());
            finding.problem.message.push_str(". The tuner compiles these configurations and drops them");
        }
    }
}

/// Of an assumed specialisation, the parameters that a problem may come from and that no launch says.
fn names_of(db: &dyn Db, kernel: Function, specialisation: &Specialisation, problem: &Problem) -> IndexSet<SmolStr> {
    if specialisation.partial.is_none() {
        return IndexSet::new();
    }
    let params = params(db, kernel).unwrap_or_default();
    let sources = open_sources(db, specialisation, problem);
    sources.into_iter().filter_map(|i| params.get(i)).map(|param| param.name.clone()).collect()
}

/// Tensors that a launch names.
const MAX_NAMED_TENSORS: usize = 6;

/// The launch of a specialisation, where tensors of other element types would not have a problem.
fn launch_to_blame(
    db: &dyn Db,
    kernel: Function,
    specialisation: &Specialisation,
    problem: &Problem,
) -> Option<(Blamed, String)> {
    let blamed = specialisation.called.map(Blamed::Called);
    let blamed = blamed.or(specialisation.launches.first().map(|&index| Blamed::Launch(index)))?;
    let others = with_elements(db, specialisation.instance, &[DType::F32, DType::F16, DType::I32, DType::I8]);
    let refutes = |instance| {
        let other = elaborate(db, instance);
        other.reaches(db, problem) && !other.has(problem)
    };
    if !others.into_iter().any(refutes) {
        return matches!(blamed, Blamed::Called(_)).then(|| (blamed, "for this launch".to_owned()));
    }
    let pointers =
        params(db, kernel)?.iter().zip(specialisation.instance.arguments(db)).filter_map(|(param, argument)| match argument {
            Argument::Runtime { ty: ArgType::Ptr { .. }, .. } => Some(format!("`{}` is {argument}", param.name)),
            Argument::Runtime { ty: ArgType::Scalar(_), .. }
            | Argument::Constexpr(_)
            | Argument::Tuple(_)
            | Argument::Descriptor { .. }
            | Argument::Unknown => None,
        });
    let mut named: Vec<String> = pointers.collect();
    if named.len() > MAX_NAMED_TENSORS {
        named.truncate(MAX_NAMED_TENSORS);
        named.push("…".to_owned());
    }
    Some((blamed, format!("for this launch: {}", named.join(", "))))
}

/// Whether other arguments make what a problem is about right: they come to its place, give a value there, and nothing is wrong with it.
fn refutes(db: &dyn Db, other: &Elaborated, problem: &Problem) -> bool {
    if !other.reaches(db, problem) || other.has(problem) || other.is_unknown_at(problem) {
        return false;
    }
    let Some((chunk, range)) = range_in_chunk(db, problem.place) else { return false };
    let touches = |p: &Problem| {
        range_in_chunk(db, p.place).is_some_and(|(c, r)| c == chunk && r.start() < range.end() && range.start() < r.end())
    };
    !other.problems.iter().any(|p| p.severity() == Severity::Error && touches(p))
}

/// What a launch is called: `softmax`, or `softmax[2]` under the third row of its tuner.
pub fn label_of(launch: &Launch) -> String {
    match launch.config {
        Some(config) => format!("{}[{config}]", launch.name),
        None => launch.name.to_string(),
    }
}

fn label(db: &dyn Db, kernel: Function, specialisation: &Specialisation, index: usize) -> String {
    let first = specialisation.launches.first();
    if let Some(launch) = first.and_then(|first| launches_of(db, kernel).get(*first)) {
        return label_of(launch);
    }
    // The others have no name of their own: their order tells them apart.
    let called = specialisation.called.and_then(|called| host::called(db, kernel).get(called));
    match called.and_then(|called| called.from.file.path(db).file_name()) {
        Some(caller) => format!("{}#{}", caller.to_string_lossy(), index + 1),
        None => format!("assumed#{}", index + 1),
    }
}

/// Whether an error is gone once nothing is known of the values that were assumed for what its place is made of.
fn rests_on_assumed_values(db: &dyn Db, specialisation: &Specialisation, problem: &Problem) -> bool {
    if problem.severity() != Severity::Error {
        return false;
    }
    let is_gone = |instance: Option<Instance>| instance.is_some_and(|instance| !elaborate(db, instance).has(problem));
    // An assertion is a wish about all arguments, and stands under conditions that hang on others.
    if problem.code == Code::LNG017 {
        let all = specialisation.open.iter().copied().collect();
        return !problem.calls.is_empty() || is_gone(without(db, specialisation, &all, |_| true));
    }
    // `None` is passed where nothing is used: a flag that nobody knows goes with it.
    if specialisation.partial.is_some() && !specialisation.open.is_empty() {
        let count = specialisation.instance.arguments(db).len();
        let given = (0..count).filter(|i| !specialisation.open.contains(i)).collect();
        let unused = Specialisation { open: given, ..specialisation.clone() };
        let is_none = |argument: &Argument| *argument == Argument::Constexpr(Const::None);
        if is_gone(without(db, &unused, &open_sources(db, &unused, problem), is_none)) {
            return true;
        }
    }
    // The extents of a tile do not decide what its elements are, but an assumed number may be a flag.
    if problem.code == Code::DTY011
        && let At::Expr(id) = problem.place.at
        && let Some(types) = elaborate(db, specialisation.instance).types.get(&problem.place.function)
        && let Some(Ty::Tile(tile)) = types.get(id)
        && !tile.is_scalar()
    {
        return is_right_under_flags(db, specialisation, problem);
    }
    // What is written out where the problem stands is no assumption, whatever the function is given.
    let Place { function, at } = problem.place;
    let is_given = match at {
        At::Expr(id) | At::Argument(id) => !specialise::sources(db, function, id).is_empty(),
        At::Stmt(_) | At::Param(_) | At::Name => true,
    };
    let sources = open_sources(db, specialisation, problem);
    // The bounds of a range are compared as well.
    let by_value = hangs_on_values(problem.code) || problem.code == Code::SHP002 && sources.len() > 1;
    let is_value = |argument: &Argument| match argument {
        // Extents are compared with one another: that some are equal is assumed in turn.
        Argument::Constexpr(Const::Int(size)) => by_value || *size < 1,
        Argument::Constexpr(Const::Bool(_)) => by_value,
        Argument::Constexpr(_) => true,
        // That it is known at run time only is no assumption of a value.
        Argument::Runtime { ty: ArgType::Scalar(_), .. } => by_value && problem.code != Code::CXP001,
        _ => false,
    };
    is_given && is_gone(without(db, specialisation, &sources, is_value))
}

/// Whether an error goes away, and none comes, once one of the numbers that were assumed for what its place is made of is true.
fn is_right_under_flags(db: &dyn Db, specialisation: &Specialisation, problem: &Problem) -> bool {
    let before = &elaborate(db, specialisation.instance).problems;
    let is_new =
        |p: &Problem| p.severity() == Severity::Error && !before.iter().any(|old| old.code == p.code && old.place == p.place);
    let flag = |argument: &Argument| match argument {
        Argument::Constexpr(Const::Int(_)) => Some(Argument::Constexpr(Const::Bool(true))),
        Argument::Runtime { ty: ArgType::Scalar(_), .. } => {
            Some(Argument::Runtime { ty: ArgType::Scalar(DType::I1), divisible_by_16: false })
        }
        _ => None,
    };
    open_sources(db, specialisation, problem).into_iter().any(|source| {
        let instance = with_open(db, specialisation, &BTreeSet::from([source]), flag);
        instance.is_some_and(|instance| {
            let other = elaborate(db, instance);
            other.reaches(db, problem) && !other.has(problem) && !other.problems.iter().any(is_new)
        })
    })
}

/// Whether the value of a number may decide about it: an axis, an order, a permutation, a product of extents, a word.
fn hangs_on_values(code: Code) -> bool {
    matches!(
        code,
        Code::SHP004
            | Code::SHP005
            | Code::SHP006
            | Code::SHP010
            | Code::LNG010
            | Code::LNG011
            | Code::DTY011
            | Code::CXP001
            | Code::TMA001
            | Code::TMA002
            | Code::CTL009
    )
}

/// Whether one type of elements is enough to make it right: what a store cuts off hangs on two of them, and what is loaded may be booleans.
fn hangs_on_one_element_type(code: Code) -> bool {
    matches!(code, Code::DTY006 | Code::DTY010)
}

/// Whether the types of the elements that pointers lead to decide about it.
fn hangs_on_elements(code: Code) -> bool {
    matches!(code, Code::DOT006 | Code::DTY006 | Code::DTY007 | Code::DTY008 | Code::DTY010)
}
