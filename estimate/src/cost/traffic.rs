//! Bytes that DRAM must move, of those that programs ask for.
//!
//! The addresses of a load or store are a box ([`super::addresses`]): the tile's dimensions and the trips of the loops around it, from a base
//! that depends on the program. Programs that run at once (a wave) and have the same box share its bytes through L2; the next wave finds them
//! there as far as L2 keeps what moves from one use to the next, half of each wave ([`kept`]); another loop over the same bytes finds them if
//! a wave fits. Where all tensors of a launch fit, each moves once.
//!
//! L2 writes back late: at the end it holds the last bytes that moved, as many as fit, and those among them that were stored have not
//! reached DRAM. They are counted apart ([`Traffic::left`]), as a profiler does not count them.
//!
//! **Invariant:** never more than is asked for; what follows from data in memory moves once per tensor and says so.

use indexmap::IndexMap;
use rustc_hash::FxHashSet;
use serde::Serialize;
use tritium_tile::{BlockId, Function, OpId, OpKind, ValueDef, ValueId, facts::Facts};

use super::{
    Launch,
    addresses::{Addresses, Sides, Tile},
    runs::Runs,
    scalars::Program,
    work::Work,
};

/// The part of L2 that keeps what was read until it is read again.
const KEPT: f64 = 0.7;
/// Programs of a launch whose addresses are looked at.
const LOOKED_AT: u64 = 4096;

/// On what the bytes of a tensor rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Reuse {
    /// Everything fits L2: each byte moves once.
    Once,
    /// Programs that run at once share what they read.
    Waves,
    /// Addresses follow from data, or are not followed: each byte of the tensor is taken to move once.
    DataDependent,
}

impl Reuse {
    pub fn describe(self) -> &'static str {
        match self {
            Reuse::Once => "moves once: all tensors of the launch fit L2",
            Reuse::Waves => "programs of one wave share it through L2, and the next wave where a wave fits L2",
            Reuse::DataDependent => "addresses depend on data or are not followed: taken to move once",
        }
    }
}

/// On what the bytes of a launch rest, tensors with the same reason together.
pub(super) fn assumption(tensors: &[TensorTraffic]) -> Option<String> {
    let mut reasons: IndexMap<&str, Vec<String>> = IndexMap::new();
    for tensor in tensors {
        let name = tensor.tensor.as_ref().map_or_else(|| "other addresses".to_owned(), |name| format!("`{name}`"));
        let names = reasons.entry(tensor.reuse.describe()).or_default();
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let mut parts: Vec<String> = reasons.iter().map(|(reason, names)| format!("{}: {reason}", names.join(", "))).collect();
    parts.extend(tensors.iter().any(|t| t.left > 0.0).then(|| LATE.to_owned()));
    (!tensors.is_empty()).then(|| parts.join("; "))
}

const LATE: &str = "L2 is cold at the start and holds the last bytes that moved at the end, stores among them";

/// One tensor in one direction, over the launch.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TensorTraffic {
    /// The parameter; `None` for addresses that come from elsewhere.
    pub tensor: Option<String>,
    pub is_store: bool,
    pub requested: f64,
    /// Distinct bytes; `None` where nobody knows the size.
    pub unique: Option<f64>,
    /// While the launch runs.
    pub dram: f64,
    /// Stored, and still in L2 at the end.
    pub left: f64,
    pub reuse: Reuse,
}

pub(super) struct Traffic {
    pub tensors: Vec<TensorTraffic>,
    /// Of what each operation asks for, the part that DRAM moves sooner or later; by index, for loads and for stores.
    pub share: Vec<[f64; 2]>,
}

impl Traffic {
    pub(super) fn dram(&self) -> f64 {
        self.tensors.iter().map(|t| t.dram).sum()
    }

    /// Bytes that DRAM takes only after the launch.
    pub(super) fn left(&self) -> f64 {
        self.tensors.iter().map(|t| t.left).sum()
    }
}

/// What a launch runs on.
pub(super) struct Machine {
    pub l2_bytes: f64,
    /// Programs that run at once.
    pub slots: u64,
}

struct Access<'f> {
    root: Option<ValueId>,
    is_store: bool,
    /// If it is known.
    tile: Option<Tile<'f>>,
}

pub(super) fn traffic(
    function: &Function,
    facts: &Facts,
    works: &[Work],
    runs: &Runs,
    launch: &Launch,
    machine: &Machine,
) -> Traffic {
    let programs = launch.programs() as f64;
    let addresses = Addresses::new(function, facts, runs, launch);
    let mut accesses: Vec<(OpId, Access)> = Vec::new();
    function.walk(|_, id| {
        let work = &works[id.index()];
        if work.bytes() == 0.0 || runs.of[id.index()] == 0.0 {
            return;
        }
        let root = root(function, function.op(id).operands[0]);
        for (is_store, bytes) in [(false, work.loaded), (true, work.stored)] {
            if bytes > 0.0 {
                accesses.push((id, Access { root, is_store, tile: addresses.tile(id) }));
            }
        }
    });
    let mut groups: IndexMap<(Option<ValueId>, bool), Vec<usize>> = IndexMap::new();
    for (index, (_, access)) in accesses.iter().enumerate() {
        groups.entry((access.root, access.is_store)).or_default().push(index);
    }
    let requested = |members: &[usize]| -> f64 {
        let of = |&index: &usize| {
            let (id, access) = &accesses[index];
            let work = &works[id.index()];
            runs.of[id.index()] * programs * if access.is_store { work.stored } else { work.loaded }
        };
        members.iter().map(of).sum()
    };
    let name = |root: Option<ValueId>| function.params.iter().find(|p| Some(p.value) == root).map(|p| &p.name);
    let size = |root: Option<ValueId>| launch.tensor_bytes(function, root?).map(|n| n as f64);
    // A tensor that is read and written takes its place once.
    let mut resident: IndexMap<Option<ValueId>, f64> = IndexMap::new();
    for ((root, _), members) in &groups {
        let bytes = requested(members);
        let bytes = size(*root).map_or(bytes, |size| size.min(bytes));
        let kept = resident.entry(*root).or_default();
        *kept = kept.max(bytes);
    }
    let fits = resident.values().sum::<f64>() <= KEPT * machine.l2_bytes;
    let waves = if fits { None } else { waves(function, &accesses, launch, machine) };

    let mut traffic = Traffic { tensors: Vec::new(), share: vec![[0.0; 2]; function.ops.len()] };
    for ((root, is_store), members) in &groups {
        let requested = requested(members);
        let size = size(*root);
        let unique = size.map(|size| size.min(requested));
        let once = unique.unwrap_or(requested);
        let is_known = members.iter().all(|&index| accesses[index].1.tile.is_some());
        let box_bytes = members.iter().filter_map(|&index| accesses[index].1.tile.as_ref()).map(|t| t.bytes).fold(0.0, f64::max);
        let moved = waves.as_ref().filter(|_| is_known).and_then(|waves| waves.get(&(*root, *is_store)).copied());
        // Waves that are not looked at bring at least a box.
        let moved = moved.map(|moved| moved.max(box_bytes));
        let (dram, reuse) = match moved {
            // Tiles that stand out of the tensor move less than their box.
            Some(moved) if moved < 1.1 * once => (moved.min(once), Reuse::Waves),
            Some(moved) => (moved.min(requested), Reuse::Waves),
            None => (once, if fits && is_known { Reuse::Once } else { Reuse::DataDependent }),
        };
        let tensor = name(*root).cloned();
        traffic.tensors.push(TensorTraffic { tensor, is_store: *is_store, requested, unique, dram, left: 0.0, reuse });
    }
    // The last that moved through L2 is still there; the stores among it are spread as they are over the launch.
    let part = (machine.l2_bytes / traffic.dram().max(1.0)).min(1.0);
    for tensor in traffic.tensors.iter_mut().filter(|tensor| tensor.is_store) {
        tensor.left = part * tensor.dram;
        tensor.dram -= tensor.left;
    }
    for (((_, is_store), members), tensor) in groups.iter().zip(&traffic.tensors) {
        for &index in members {
            let moved = tensor.dram + tensor.left;
            let share = if tensor.requested > 0.0 { moved / tensor.requested } else { 0.0 };
            traffic.share[accesses[index].0.index()][usize::from(*is_store)] = share;
        }
    }
    traffic
}

/// Bytes that waves bring, by tensor and direction; `None` where the launch cannot be looked at.
fn waves(
    function: &Function,
    accesses: &[(OpId, Access)],
    launch: &Launch,
    machine: &Machine,
) -> Option<IndexMap<(Option<ValueId>, bool), f64>> {
    let programs = launch.programs();
    let slots = machine.slots.clamp(1, programs.max(1));
    let count = programs.div_ceil(slots);
    // Every wave, or pairs of neighbours spread over the launch.
    let looks = (LOOKED_AT / (2 * slots)).clamp(1, count);
    let pairs: Vec<u64> = if programs <= LOOKED_AT {
        (0..count).collect()
    } else {
        (0..looks).map(|look| (u128::from(look * 2 + 1) * u128::from(count) / u128::from(looks * 2)) as u64).collect()
    };
    let every = programs <= LOOKED_AT;
    let mut sums: IndexMap<(Option<ValueId>, bool), f64> = IndexMap::new();
    let mut before: Option<Wave> = None;
    let (together, apart) = (signatures(accesses, false), signatures(accesses, true));
    let look = |wave: u64, signatures: &[u32]| -> Option<Wave> {
        let mut out = Wave::default();
        for number in wave * slots..((wave + 1) * slots).min(programs) {
            let program = Program::new(function, Some(launch), number);
            for ((_, access), &signature) in accesses.iter().zip(signatures) {
                let Some(tile) = &access.tile else { continue };
                if out.boxes.insert((signature, tile.base(function, &program)?)) {
                    out.bytes += tile.bytes;
                }
            }
        }
        Some(out)
    };
    let wave_of = |wave: u64| {
        let whole = look(wave, &together)?;
        if together == apart || whole.bytes <= KEPT * machine.l2_bytes { Some(whole) } else { look(wave, &apart) }
    };
    for &wave in &pairs {
        if !every {
            before = if wave > 0 { Some(wave_of(wave - 1)?) } else { None };
        }
        let now = wave_of(wave)?;
        let again = before.as_ref().map_or(0.0, |before| kept((before.bytes + now.bytes) / 2.0, machine));
        // By access, of how many boxes all must come, and of how many only what L2 has lost.
        let mut counts: IndexMap<u32, [u64; 2]> = IndexMap::new();
        for key in &now.boxes {
            let known = before.as_ref().is_some_and(|before| before.boxes.contains(key));
            counts.entry(key.0).or_default()[usize::from(known)] += 1;
        }
        counts.sort_unstable_keys();
        for (signature, [new, known]) in counts {
            let access = &accesses[signature as usize].1;
            let bytes = access.tile.as_ref().map_or(0.0, |tile| tile.bytes);
            *sums.entry((access.root, access.is_store)).or_default() += bytes * (new as f64 + known as f64 * (1.0 - again));
        }
        before = Some(now);
    }
    let scale = count as f64 / pairs.len().max(1) as f64;
    sums.values_mut().for_each(|bytes| *bytes *= scale);
    Some(sums)
}

/// The part that is still in L2 after so many bytes. What goes is not exactly the oldest: up to two fifths of L2 all is kept, nothing after
/// all of it, and [`KEPT`] is the middle (`bench/results/counters.md`).
fn kept(bytes: f64, machine: &Machine) -> f64 {
    ((1.0 - bytes / machine.l2_bytes) / (2.0 * (1.0 - KEPT))).clamp(0.0, 1.0)
}

/// What the programs of a wave touch.
#[derive(Default)]
struct Wave {
    /// By access and base.
    boxes: FxHashSet<(u32, i64)>,
    bytes: f64,
}

/// Of every access the first one with an equal box of the same tensor in the same direction; `apart`: in the same loop.
fn signatures(accesses: &[(OpId, Access)], apart: bool) -> Vec<u32> {
    let mut known: IndexMap<(Option<ValueId>, bool, Sides, Option<BlockId>), u32> = IndexMap::new();
    let mut out = Vec::new();
    for (index, (_, access)) in accesses.iter().enumerate() {
        let (sides, body) = access.tile.as_ref().map(|tile| (tile.sides.clone(), tile.body)).unwrap_or_default();
        let body = body.filter(|_| apart);
        out.push(*known.entry((access.root, access.is_store, sides, body)).or_insert(index as u32));
    }
    out
}

/// The pointer parameter that an address is computed from.
pub(super) fn root(function: &Function, mut pointer: ValueId) -> Option<ValueId> {
    // Every step goes to a value defined earlier or to a loop's operand; this many steps is more than any kernel takes.
    for _ in 0..function.values.len() {
        match function.value(pointer).def {
            ValueDef::Result(id, index) => {
                let op = function.op(id);
                pointer = match &op.kind {
                    kind if kind.keeps_tensor() => op.operands[0],
                    OpKind::For(_) => op.for_operands().init[index as usize],
                    _ => return None,
                };
            }
            ValueDef::Argument(block, index) if block == function.body => {
                return function.block(block).args.get(index as usize).copied();
            }
            ValueDef::Argument(block, index) => {
                let owner = OpId(function.ops.iter().position(|op| op.regions.contains(&block))? as u32);
                pointer = match function.while_loop(owner).filter(|around| around.before == block) {
                    Some(around) => *around.init.get(index as usize)?,
                    None => function.for_loop(owner)?.of_argument(index)?.init,
                };
            }
        }
    }
    None
}
