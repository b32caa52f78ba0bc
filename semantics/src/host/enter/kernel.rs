//! A launch whose function cannot be entered to the end: the kernel's own parameters are asked for, as a launch block gives them.
//!
//! **Invariant:** what the text around the launch says of an argument stays as it says it, unless somebody gives another; the rest has the
//! values that a kernel is checked under, and memories with room for more than those reach.

use smol_str::SmolStr;

use super::{Entered, Entry, FreeName, HostLaunches, Run, why_unknown};
use crate::{
    Db, Function, SourceFile,
    body::ExprId,
    constant::Const,
    dtype::DType,
    host::{
        Called, HostPlace, Site, called_at,
        free::{Argument, Free},
        host_launches,
        interpret::Host,
        torch::Args,
        value::{Kind, Value},
    },
    instance::{self, ArgType, Instance},
    items::{self, Annotation, ParamItem},
    launch::Given,
    specialise::{Role, roles, specialisations},
};

/// Between the kernel's name and its line in what an entry is called.
const ON_LINE: &str = " on line ";
/// The programs along each axis: `8`, `(8, 2)`.
const GRID: &str = "grid";
const WARPS: &str = "num_warps";

/// Enters nothing but launches a kernel as a place of the text does, with what is given and what is chosen for the rest.
pub fn enter_kernel(db: &dyn Db, place: HostPlace, set: &[(String, String)]) -> Result<Entered, String> {
    let known = match host_launches(db, place.file).sites.iter().find(|site| site.place == place) {
        Some(site) => Known::of_site(site),
        None => Known::of_called(called_at(db, place).next().ok_or("the launch is gone")?),
    };
    let assumed = specialisations(db, known.kernel).first().map(|found| found.instance);
    launched(db, &known, assumed, set)
}

/// What there is to know of a launch before anybody says more.
struct Known {
    place: HostPlace,
    kernel: Function,
    /// By parameter.
    given: Vec<Given>,
    grid: Option<[u64; 3]>,
    num_warps: Option<u32>,
    /// Its own file's text says it, so that whoever reads that knows it too; or else it is a free name.
    is_of_text: bool,
}

impl Known {
    fn of_site(site: &Site) -> Known {
        let Site { place, partial, grid, .. } = site;
        Known {
            place: *place,
            kernel: partial.kernel,
            given: partial.given.clone(),
            grid: *grid,
            num_warps: partial.options.num_warps,
            is_of_text: true,
        }
    }

    fn of_called(called: &Called) -> Known {
        let Called { at, partial, grid, .. } = called;
        Known {
            place: *at,
            kernel: partial.kernel,
            given: partial.given.clone(),
            grid: *grid,
            num_warps: partial.options.num_warps,
            is_of_text: false,
        }
    }

    /// A launch of which only other files say more, by what its entry is called.
    fn of_name(db: &dyn Db, file: SourceFile, name: &str) -> Option<Known> {
        let (kernel, line) = name.split_once(ON_LINE)?;
        let kernel = items::kernels(db, file).iter().copied().find(|function| function.name(db) == kernel)?;
        let launches = (0..items::chunk_count(db, file)).flat_map(|chunk| {
            let body = items::chunk_body(db, file, chunk);
            let places = body.into_iter().flat_map(move |body| {
                let all = body.exprs.iter().enumerate().filter(|(_, expr)| body.is_launch(expr)).map(|(index, _)| index);
                all.collect::<Vec<_>>()
            });
            places.map(move |index| HostPlace { file, chunk, expr: ExprId(index as u32) })
        });
        let is_meant = |place: &HostPlace| place.line(db).to_string() == line;
        Some(Known {
            place: launches.into_iter().find(is_meant)?,
            kernel,
            given: vec![],
            grid: None,
            num_warps: None,
            is_of_text: false,
        })
    }

    /// `add on line 12`
    fn name(&self, db: &dyn Db) -> String {
        format!("{}{ON_LINE}{}", self.kernel.name(db), self.place.line(db))
    }
}

/// The launches of a file that an entry makes that is called after a kernel and its line.
pub(super) fn launches_of(db: &dyn Db, file: SourceFile, entry: &Entry) -> Option<HostLaunches> {
    if !entry.function.contains(ON_LINE) {
        return None;
    }
    let mut host = Host::new(db, file);
    host.run();
    host.survey();
    let site = host.sites.iter().map(Known::of_site).find(|known| known.name(db) == entry.function);
    let known = site.or_else(|| Known::of_name(db, file, &entry.function))?;
    Some(launched(db, &known, None, &entry.set).ok()?.launches)
}

fn launched(db: &dyn Db, known: &Known, assumed: Option<Instance>, set: &[(String, String)]) -> Result<Entered, String> {
    let (place, kernel) = (known.place, known.kernel);
    let item = items::items(db, kernel.file(db)).function(kernel).ok_or("the kernel is gone")?;
    let wish = |name: &str| set.iter().find(|(wished, _)| wished == name).map(|(_, text)| text.clone());
    let mut free = Free::new(set)?;
    let mut host = Host::new(db, place.file);
    host.run_as_import();
    host.is_survey = true;
    (host.found, host.sites) = (Default::default(), vec![]);
    host.recorder = Default::default();
    let tuning = host.tuning(kernel).without_unknown_rows();
    let mut keywords: Vec<(SmolStr, Value)> = Vec::new();
    for (index, param) in item.params.iter().enumerate() {
        let given = known.given.get(index).cloned().unwrap_or(Given::UNKNOWN);
        let assumed = assumed.and_then(|instance| instance.arguments(db).get(index));
        match free.wished(&param.name)? {
            Some(wished) => {
                free.arguments.insert(param.name.clone(), wished);
            }
            None if tuning.gives(&param.name) => continue,
            None => match (Value::from_given(given.clone()), param.default) {
                (value, _) if known.is_of_text && value.to_const().is_some() => {
                    keywords.push((param.name.clone(), value));
                    continue;
                }
                (value, _) if let Some(value) = value.to_const() => {
                    free.arguments.insert(param.name.clone(), Argument::Value { value, is_given: false });
                }
                (_, Some(_)) => continue,
                _ => match stride_of(&item.params, index) {
                    Some(elements) if roles(db, kernel).get(index) == Some(&Role::Number) => {
                        let chosen = free.stride(&param.name, elements);
                        free.arguments.insert(param.name.clone(), chosen);
                    }
                    _ => choose(db, &mut free, kernel, (index, param), &given, assumed)?,
                },
            },
        }
        keywords.push((param.name.clone(), free.value(&param.name)));
    }
    let grid = wish(GRID).unwrap_or_else(|| known.grid.map_or_else(|| "1".to_owned(), |[x, y, z]| format!("({x}, {y}, {z})")));
    let warps = wish(WARPS).or_else(|| Some(known.num_warps?.to_string())).unwrap_or_else(|| "4".to_owned());
    let sizes = grid.trim_matches(['(', ')']).split(',').map(str::trim).filter(|size| !size.is_empty());
    let sizes: Option<Vec<Value>> = sizes.map(|size| size.parse::<u32>().ok().map(Value::int)).collect();
    let sizes = sizes.ok_or_else(|| format!("`{GRID}={grid}`: one to three numbers of programs are expected, as in `(8, 2)`"))?;
    let mut said = vec![(GRID, grid)];
    if !tuning.is_tuned {
        let number = warps.parse::<u32>().map_err(|_| format!("`{WARPS}={warps}`: a number is expected"))?;
        keywords.push((WARPS.into(), Value::int(number)));
        said.push((WARPS, warps));
    }
    host.calls.push(place);
    host.launch_tuned(kernel, &tuning, &Value::tuple(sizes), &Args { positional: vec![], keywords });
    host.calls.pop();
    let launches = HostLaunches {
        found: std::mem::take(&mut host.found),
        sites: std::mem::take(&mut host.sites),
        program: std::mem::take(&mut host.recorder.program),
    };
    let run = Run { free, launches, demands: vec![], late: vec![] };
    let is_option = |name: &str| said.iter().any(|(option, _)| *option == name);
    let given = run.free.names().into_iter().filter(|(name, ..)| !is_option(name));
    let options = said.iter().map(|(name, value)| ((*name).to_owned(), value.clone(), wish(name).is_some()));
    let names: Vec<FreeName> =
        given.chain(options).map(|(name, value, is_given)| FreeName { name, value, is_default: !is_given }).collect();
    Ok(Entered {
        entry: Entry {
            file: super::file_name(db, place.file),
            function: known.name(db),
            set: names.iter().map(|free| (free.name.clone(), free.value.clone())).collect(),
        },
        names,
        of_kernel: true,
        target: Some(place),
        reached: run.reached(),
        unasked: run.free.unasked().into_iter().filter(|name| !is_option(name)).map(str::to_owned).collect(),
        launches: run.launches,
    })
}

/// What a parameter is given of which neither a person nor the text says enough.
fn choose(
    db: &dyn Db,
    free: &mut Free,
    kernel: Function,
    (index, param): (usize, &ParamItem),
    given: &Given,
    assumed: Option<&instance::Argument>,
) -> Result<(), String> {
    let name = &param.name;
    let role = roles(db, kernel).get(index).copied().unwrap_or(Role::Number);
    let value = |value: Const| Argument::Value { value, is_given: false };
    let chosen = match (given, assumed, role) {
        (Given::Open { kind: Kind::Tensor(Some(dtype)), .. }, _, _) if role != Role::Compound => free.memory(*dtype),
        (_, Some(instance::Argument::Runtime { ty: ArgType::Ptr { elem, .. }, .. }), _) => free.memory(*elem),
        (_, Some(instance::Argument::Constexpr(known)), _) => value(known.clone()),
        (_, Some(instance::Argument::Runtime { ty: ArgType::Scalar(DType::I1), .. }), _) | (_, _, Role::Flag) => {
            value(Const::Bool(false))
        }
        (_, Some(instance::Argument::Runtime { ty: ArgType::Scalar(dtype), .. }), _) if dtype.is_float() => {
            value(Const::float(0.5))
        }
        (_, Some(instance::Argument::Runtime { .. }), _) => free.integer(name),
        (_, _, Role::IndexPointer) => free.memory(DType::I32),
        (_, _, Role::Pointer) | (Given::Open { kind: Kind::Tensor(None), .. }, ..) if role != Role::Compound => {
            free.memory(DType::F32)
        }
        (_, _, Role::Function | Role::Compound) => return Err(format!("{}, and no words give it", why_unknown(name))),
        _ if param.annotation == Annotation::Constexpr => value(Const::Int(16)),
        _ => free.integer(name),
    };
    free.arguments.insert(name.clone(), chosen);
    Ok(())
}

/// How far apart what lies along the axis is that a parameter is the stride of: 1 along the last of several strides that are called alike, more the
/// further out an axis is.
fn stride_of(params: &[ParamItem], index: usize) -> Option<u64> {
    const APART: &[u64] = &[1, 256, 4096, 16384];
    let stem = |at: usize| {
        let name = params.get(at)?.name.to_lowercase();
        let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
        let stem = if stem.len() < name.len() { stem } else { &name[..name.char_indices().next_back()?.0] };
        name.contains("stride").then(|| stem.to_owned())
    };
    let own = stem(index)?;
    let is_alike = |at: &usize| stem(*at).as_ref() == Some(&own);
    let inner = (index + 1..params.len()).take_while(is_alike).count();
    let is_alone = inner == 0 && !index.checked_sub(1).is_some_and(|before| is_alike(&before));
    Some(APART[if is_alone { 1 } else { inner.min(APART.len() - 1) }])
}
