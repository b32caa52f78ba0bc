//! Free names: the sizes, dtypes and values that a function of the host is entered with, as nobody calls it.
//!
//! **Invariant:** every size that is not given has a value of its own, so that a number in host code tells which size it came from; what
//! somebody gives stays as it is.

use indexmap::IndexMap;
use smol_str::{SmolStr, format_smolstr};

use super::value::{TensorValue, Value};
use crate::{
    constant::Const,
    dtype::DType,
    launch::{self, Init},
    specialise,
};

/// A size: of an axis of a tensor, or of a parameter that is an integer.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Size {
    pub(super) value: u64,
    /// Somebody gave it.
    is_given: bool,
    /// The function that names it; `None`: nothing does, it is called after its tensor and axis.
    named_in: Option<(usize, usize)>,
    /// The function's own text asks for this value.
    is_settled: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Argument {
    Tensor {
        dtype: DType,
        dims: Vec<SmolStr>,
        init: Option<Init>,
        is_given: bool,
        /// The text says how many axes it has.
        is_ranked: bool,
    },
    /// An integer, which is the size of the parameter's name.
    Size,
    Value {
        value: Const,
        is_given: bool,
    },
}

/// How sizes and contents that nobody gives are chosen. Sizes that differ show which is which; where they do not go together, others may.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Choice {
    /// Every axis of which the text does not say otherwise is as long as every other.
    pub are_equal: bool,
    /// Tensors of integers count up: as indices they are all different, as offsets they ascend.
    pub count_up: bool,
    /// A tensor of which the text says nothing has room, whatever the others are like.
    pub has_room: bool,
}

impl Choice {
    const FIRST: Choice = Choice { are_equal: false, count_up: false, has_room: false };

    /// Those that are tried after the first one, in this order.
    pub const OTHERS: [Choice; 5] = [
        Choice { count_up: true, ..Choice::FIRST },
        Choice { are_equal: true, ..Choice::FIRST },
        Choice { are_equal: true, count_up: true, ..Choice::FIRST },
        Choice { has_room: true, ..Choice::FIRST },
        Choice { has_room: true, count_up: true, ..Choice::FIRST },
    ];
}

/// What is chosen so far.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Free {
    pub(super) sizes: IndexMap<SmolStr, Size>,
    pub(super) arguments: IndexMap<SmolStr, Argument>,
    /// By their text: conditions of which nothing says whether they hold, and numbers that a tensor holds; and whether somebody gave them.
    pub(super) texts: IndexMap<String, (Const, bool)>,
    /// What somebody gives and nothing has asked for so far.
    wishes: IndexMap<String, String>,
}

/// What a run of the function shows that it needs.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Demand {
    /// Tensors of these extents have so many axes.
    Rank(Vec<u64>, usize),
    /// An axis of them is read that they lack.
    RankAtLeast(Vec<u64>, usize),
    /// Two sizes, known by their values, are one; or a size is a number.
    Same(u64, u64),
    /// A size, known by its value, has another.
    Number(u64, u64),
    /// A size, known by its value, is a power of two.
    Power(u64),
    /// A size has a name, in a function.
    Named(u64, SmolStr, (usize, usize)),
    Dtype(SmolStr, DType),
    /// A parameter that is a tensor.
    Tensor(SmolStr, Option<DType>),
    Integer(SmolStr),
    Value(SmolStr, Const),
    /// A condition goes another way than what is chosen makes it go.
    Condition(String, bool),
}

/// In place of a function that names a size: it is a parameter, or somebody writes it.
const BY_PERSON: (usize, usize) = (usize::MAX, 0);

/// Extents that are chosen, by the place of the axis: kernels run quickly with them, and most do not divide one another.
const COLUMNS: &[u64] = &[64, 32, 128, 16, 96, 80, 112, 48, 144, 160, 176, 192, 208, 224, 240, 272];
const ROWS: &[u64] = &[40, 56, 72, 88, 104, 24, 120, 136, 152, 168, 184, 200, 216, 232];
const INNER: &[u64] = &[20, 28, 36, 44, 52, 60, 68, 76, 84, 92];
const OUTER: &[u64] = &[3, 5, 7, 6, 9, 11, 13, 10, 14, 15, 17, 18, 19];
const POWERS: &[u64] = &[16, 32, 64, 8, 128];
/// Parts of what is divided.
const MOST_PARTS: u64 = 2048;
/// An axis of a tensor with room.
const ROOM: u64 = 256;
/// Elements of a memory of which nothing else is said.
const ELEMENTS: u64 = 1 << 16;
const ROW_BLOCKS: &[u64] = &[256, 512];
const INTEGERS: &[u64] = &[8, 4, 12, 22, 26, 30, 34, 38, 42, 46, 50];

impl Free {
    pub(super) fn new(wishes: &[(String, String)]) -> Result<Free, String> {
        let wishes: IndexMap<String, String> = wishes.iter().cloned().collect();
        let mut free = Free { wishes, ..Free::default() };
        let sizes: Vec<(SmolStr, u64)> =
            free.wishes.iter().filter_map(|(name, text)| Some((name.into(), text.parse().ok()?))).collect();
        for (name, value) in sizes {
            free.sizes.insert(name, Size { value, is_given: true, named_in: None, is_settled: true });
        }
        let texts: Vec<(String, Const)> = free
            .wishes
            .iter()
            .filter(|(name, text)| !is_name(name) && !name.ends_with(".dtype") && !text.contains('['))
            .map(|(name, text)| (name.clone(), constant(text)))
            .collect();
        for (name, value) in texts {
            free.texts.insert(name, (value, true));
        }
        Ok(free)
    }

    /// What somebody gives and nothing asked for.
    pub(super) fn unasked(&self) -> Vec<&str> {
        let is_asked = |name: &str| {
            let parameter = name.strip_suffix(".dtype").unwrap_or(name);
            self.arguments.contains_key(parameter)
                || self.texts.contains_key(name)
                || self.dims().any(|dim| dim == name)
                || self.sizes.get(name).is_some_and(|size| size.named_in.is_some())
        };
        self.wishes.keys().map(String::as_str).filter(|name| !is_asked(name)).collect()
    }

    fn dims(&self) -> impl Iterator<Item = &SmolStr> {
        self.arguments
            .values()
            .filter_map(|argument| match argument {
                Argument::Tensor { dims, .. } => Some(dims),
                _ => None,
            })
            .flatten()
    }

    pub(super) fn extent(&self, dim: &str) -> u64 {
        dim.parse().ok().or_else(|| self.sizes.get(dim).map(|size| size.value)).unwrap_or(1)
    }

    pub(super) fn shape(&self, dims: &[SmolStr]) -> Vec<u64> {
        dims.iter().map(|dim| self.extent(dim)).collect()
    }

    /// A value that no size has.
    fn distinct(&self, pool: &[u64]) -> u64 {
        let is_new = |value: &u64| self.sizes.values().all(|size| size.value != *value);
        // Blocks may be as large as others: larger tiles take long.
        let more = (257..).step_by(2).take_while(|_| pool != POWERS);
        pool.iter().copied().chain(more).find(is_new).or(pool.first().copied()).unwrap_or(1)
    }

    fn add_size(&mut self, name: SmolStr, pool: &[u64]) -> SmolStr {
        if !self.sizes.contains_key(&name) {
            let value = self.distinct(pool);
            self.sizes.insert(name.clone(), Size { value, is_given: false, named_in: None, is_settled: false });
        }
        name
    }

    fn fresh_dims(&mut self, parameter: &str, rank: usize) -> Vec<SmolStr> {
        let parameter = last_word(parameter);
        (0..rank)
            .map(|axis| {
                let pool = match (rank - 1 - axis, axis) {
                    (0, _) => COLUMNS,
                    (1, 0) => ROWS,
                    (_, 0) => OUTER,
                    (_, 1) => INNER,
                    _ => INTEGERS,
                };
                self.add_size(format_smolstr!("{parameter}_{axis}"), pool)
            })
            .collect()
    }

    /// What somebody gives for a parameter.
    pub(super) fn wished(&mut self, parameter: &SmolStr) -> Result<Option<Argument>, String> {
        let Some(text) = self.wishes.get(parameter.as_str()).cloned() else { return Ok(None) };
        if self.sizes.get(parameter).is_some_and(|size| size.is_given) {
            return Ok(Some(Argument::Size));
        }
        let argument = match text.as_str() {
            text if text.contains('[') => {
                // The words themselves, where they are sizes.
                let between = text.split_once('[').and_then(|(_, rest)| rest.split_once(']')).map_or("", |(dims, _)| dims);
                let words: Vec<&str> = between.split(',').map(str::trim).filter(|word| !word.is_empty()).collect();
                for word in words.iter().filter(|word| is_name(word) && word.parse::<u64>().is_err()) {
                    self.add_size(SmolStr::from(*word), COLUMNS);
                    if let Some(size) = self.sizes.get_mut(*word) {
                        size.named_in.get_or_insert(BY_PERSON);
                    }
                }
                let names: IndexMap<String, Const> =
                    self.sizes.iter().map(|(name, size)| (name.to_string(), Const::Int(size.value.into()))).collect();
                let tensor = launch::tensor(parameter, text, &names).map_err(|why| format!("`{parameter}={text}`: {why}"))?;
                let is_plain = words.len() == tensor.shape.len();
                let dim = |(axis, extent): (usize, &u64)| match words.get(axis) {
                    Some(word) if is_plain && self.sizes.contains_key(*word) => SmolStr::from(*word),
                    _ => format_smolstr!("{extent}"),
                };
                let dims = tensor.shape.iter().enumerate().map(dim).collect();
                let init = text.contains('=').then_some(tensor.init);
                Argument::Tensor { dtype: tensor.dtype, dims, init, is_given: true, is_ranked: true }
            }
            text => Argument::Value { value: constant(text), is_given: true },
        };
        Ok(Some(argument))
    }

    /// A tensor for a parameter.
    pub(super) fn tensor(&mut self, parameter: &SmolStr, dtype: Option<DType>, rank: usize) -> Argument {
        let wish = self.wishes.get(&format!("{parameter}.dtype")).and_then(|name| DType::from_name(name));
        let dims = self.fresh_dims(parameter, rank);
        Argument::Tensor { dtype: wish.or(dtype).unwrap_or(DType::F32), dims, init: None, is_given: false, is_ranked: false }
    }

    /// The distance of what lies beside one another in a memory, in elements.
    pub(super) fn stride(&mut self, parameter: &SmolStr, elements: u64) -> Argument {
        let size = Size { value: elements, is_given: false, named_in: Some(BY_PERSON), is_settled: true };
        self.sizes.entry(parameter.clone()).or_insert(size);
        Argument::Size
    }

    /// A multiple of a size that no size has.
    pub(super) fn multiple(&self, of: u64, at_least: u64) -> Option<u64> {
        (1..=MOST_PARTS).filter_map(|times| of.checked_mul(times)).find(|multiple| *multiple >= at_least && !self.has(*multiple))
    }

    /// A memory of which nobody knows how much of it is reached.
    pub(super) fn memory(&mut self, dtype: DType) -> Argument {
        let elements = SmolStr::new_static("elements");
        let size = Size { value: ELEMENTS, is_given: false, named_in: Some(BY_PERSON), is_settled: true };
        self.sizes.entry(elements.clone()).or_insert(size);
        Argument::Tensor { dtype, dims: vec![elements], init: None, is_given: false, is_ranked: true }
    }

    pub(super) fn integer(&mut self, parameter: &SmolStr) -> Argument {
        // Nobody counts in these, whatever a kernel does with them.
        if specialise::is_epsilon(&parameter.to_lowercase()) {
            return Argument::Value { value: Const::float(1e-6), is_given: false };
        }
        let pool = match parameter.to_lowercase().as_str() {
            // A block that no axis is named for holds a row.
            "block" | "block_size" | "blocksize" => ROW_BLOCKS,
            _ if is_block(parameter) => POWERS,
            _ => INTEGERS,
        };
        self.add_size(parameter.clone(), pool);
        if let Some(size) = self.sizes.get_mut(parameter) {
            size.named_in.get_or_insert(BY_PERSON);
        }
        Argument::Size
    }

    /// The size of a value that is free to change.
    fn size_of(&self, value: u64) -> Option<SmolStr> {
        let mut found = self.sizes.iter().filter(|(_, size)| size.value == value && !size.is_given);
        found.next().map(|(name, _)| name.clone())
    }

    /// Whether a number is the value of a size.
    pub(super) fn has(&self, value: u64) -> bool {
        self.sizes.values().any(|size| size.value == value)
    }

    /// A number that nothing says, by its text.
    pub(super) fn number(&mut self, text: String, is_float: bool) -> Const {
        let value = if is_float { Const::float(0.5) } else { Const::Int(self.distinct(INTEGERS).into()) };
        self.texts.entry(text).or_insert((value, false)).0.clone()
    }

    /// What is given for a name that has an argument.
    pub(super) fn value(&self, name: &SmolStr) -> Value {
        let Some(Argument::Tensor { dtype, dims, init, .. }) = self.arguments.get(name) else {
            return match self.arguments.get(name) {
                Some(Argument::Value { value, .. }) => Value::from_const(value.clone()),
                _ => Value::int(self.extent(name)),
            };
        };
        let init = init.clone().unwrap_or(match dtype {
            DType::I1 => Init::RandInt { low: 0, high: 2 },
            dtype if dtype.is_int() && ascends(name) => Init::Arange,
            // An index into any of its axes.
            dtype if dtype.is_int() => Init::RandInt { low: 0, high: 3 },
            _ => Init::Normal { mean: 0.0, std: 1.0 },
        });
        let made = TensorValue::new(*dtype, self.shape(dims), Some(init));
        made.storage.name.borrow_mut().replace(last_word(name).into());
        Value::Tensor(made)
    }

    /// Tensors that nobody gave, by parameter.
    pub(super) fn chosen_tensors(&self) -> Vec<SmolStr> {
        let is_chosen = |argument: &Argument| matches!(argument, Argument::Tensor { is_given: false, .. });
        self.arguments.iter().filter(|(_, argument)| is_chosen(argument)).map(|(name, _)| name.clone()).collect()
    }

    /// The same without a tensor.
    pub(super) fn without(&self, parameter: &SmolStr) -> Free {
        let mut out = self.clone();
        out.arguments.insert(parameter.clone(), Argument::Value { value: Const::None, is_given: false });
        out
    }

    /// One size takes the place of another.
    fn unite(&mut self, kept: &SmolStr, gone: &SmolStr) {
        if kept == gone {
            return;
        }
        for argument in self.arguments.values_mut() {
            if let Argument::Tensor { dims, .. } = argument {
                dims.iter_mut().filter(|dim| *dim == gone).for_each(|dim| dim.clone_from(kept));
            }
        }
        // A parameter of the name stays, with the same value.
        if matches!(self.arguments.get(gone), Some(Argument::Size)) {
            let value = self.extent(kept);
            if let Some(size) = self.sizes.get_mut(gone) {
                (size.value, size.is_settled) = (value, true);
            }
        } else {
            self.sizes.shift_remove(gone);
        }
    }

    /// Follows what a run has shown, as far as that changes anything; whether it does.
    pub(super) fn follow(&mut self, demands: Vec<Demand>) -> bool {
        let before = self.clone();
        for demand in demands {
            match demand {
                Demand::Rank(shape, rank) => self.set_rank(&shape, rank, true),
                Demand::RankAtLeast(shape, rank) => self.set_rank(&shape, rank, false),
                Demand::Same(a, b) => self.set_same(a, b),
                Demand::Number(value, wanted) => {
                    if let Some(name) = self.size_of(value) {
                        self.settle(&name, wanted);
                    }
                }
                Demand::Power(value) => {
                    if let Some(name) = self.size_of(value) {
                        let power = self.distinct(POWERS);
                        self.settle(&name, power);
                    }
                }
                Demand::Named(value, name, place) => self.set_name(value, &name, place),
                Demand::Dtype(parameter, wanted) => {
                    let is_wished = self.wishes.contains_key(&format!("{parameter}.dtype"));
                    if let Some(Argument::Tensor { dtype, is_given: false, .. }) = self.arguments.get_mut(&parameter)
                        && !is_wished
                    {
                        *dtype = wanted;
                    }
                }
                Demand::Tensor(parameter, dtype) => {
                    let is_open = !matches!(
                        self.arguments.get(&parameter),
                        Some(Argument::Tensor { .. } | Argument::Value { is_given: true, .. })
                    );
                    if is_open {
                        let made = self.tensor(&parameter, dtype, usual_rank(&parameter));
                        self.arguments.insert(parameter, made);
                    }
                }
                Demand::Integer(parameter) => {
                    if !self.arguments.contains_key(&parameter) {
                        let made = self.integer(&parameter);
                        self.arguments.insert(parameter, made);
                    }
                }
                Demand::Condition(text, holds) => {
                    self.texts.entry(text).or_insert((Const::Bool(holds), false));
                }
                Demand::Value(parameter, value) => {
                    if !matches!(self.arguments.get(&parameter), Some(Argument::Value { is_given: true, .. })) {
                        self.arguments.insert(parameter, Argument::Value { value, is_given: false });
                    }
                }
            }
        }
        // Keys have the axes of queries, where more of them are read than of a matrix.
        let ranks = self.arguments.values().filter_map(|argument| match argument {
            Argument::Tensor { dims, is_ranked: true, .. } => Some(dims.len()),
            _ => None,
        });
        let most = ranks.max().unwrap_or(0);
        let fewer = self.arguments.values().filter_map(|argument| match argument {
            Argument::Tensor { dims, is_ranked: false, is_given: false, .. } if (3..most).contains(&dims.len()) => {
                Some(self.shape(dims))
            }
            _ => None,
        });
        for shape in fewer.collect::<Vec<_>>() {
            self.set_rank(&shape, most, false);
        }
        *self != before
    }

    /// `is_all`: there are no more of them.
    fn set_rank(&mut self, shape: &[u64], rank: usize, is_all: bool) {
        let meant: Vec<(SmolStr, Vec<SmolStr>)> = self
            .arguments
            .iter()
            .filter_map(|(name, argument)| match argument {
                Argument::Tensor { dims, is_given: false, .. }
                    if sorted(&self.shape(dims)) == sorted(shape) && dims.len() != rank =>
                {
                    Some((name.clone(), dims.clone()))
                }
                _ => None,
            })
            .collect();
        for (name, old) in meant {
            // Sizes that are no longer used leave their values to others.
            for dim in &old {
                let is_own = self.dims().filter(|other| *other == dim).count() == 1;
                if is_own && self.sizes.get(dim).is_some_and(|size| !size.is_given && size.named_in.is_none()) {
                    self.sizes.shift_remove(dim);
                }
            }
            let fresh = self.fresh_dims(&name, rank);
            if let Some(Argument::Tensor { dims, is_ranked, .. }) = self.arguments.get_mut(&name) {
                (*dims, *is_ranked) = (fresh, is_all);
            }
        }
    }

    fn set_same(&mut self, a: u64, b: u64) {
        if a == b {
            return;
        }
        let is_named = |name: &SmolStr| self.sizes.get(name).is_some_and(|size| size.named_in.is_some() || size.is_given);
        match (self.size_of(a), self.size_of(b)) {
            (Some(a), Some(b)) if is_named(&b) && !is_named(&a) => self.unite(&b, &a),
            (Some(a), Some(b)) => self.unite(&a, &b),
            (Some(name), None) => self.settle(&name, b),
            (None, Some(name)) => self.settle(&name, a),
            (None, None) => {}
        }
    }

    fn settle(&mut self, name: &SmolStr, value: u64) {
        if let Some(size) = self.sizes.get_mut(name) {
            (size.value, size.is_settled) = (value, true);
        }
    }

    fn set_name(&mut self, value: u64, name: &SmolStr, place: (usize, usize)) {
        let mut unnamed = self.sizes.iter().filter(|(_, size)| size.value == value && size.named_in.is_none());
        let Some((old, size)) = unnamed.next().map(|(old, size)| (old.clone(), size.clone())) else { return };
        if size.is_given && old == *name {
            if let Some(size) = self.sizes.get_mut(name) {
                size.named_in = Some(place);
            }
            return;
        }
        match self.sizes.get(name) {
            // The same name in the same function is the same size.
            Some(known) if known.is_given || known.named_in == Some(place) || known.named_in == Some(BY_PERSON) => {
                if let Some(known) = self.sizes.get_mut(name) {
                    known.named_in.get_or_insert(place);
                }
                self.unite(name, &old);
            }
            known => {
                let name = if known.is_some() { format_smolstr!("{name}_{old}") } else { name.clone() };
                self.sizes.insert(name.clone(), Size { named_in: Some(place), ..size });
                self.unite(&name, &old);
            }
        }
    }

    /// What nothing says of a tensor is as the tensor has it of which most is said: a weight is as long as a row, a gradient as large as what it
    /// is of. Nothing that is asked for changes.
    pub(super) fn with_shared_sizes(&self) -> Free {
        let mut out = self.clone();
        let is_named = |dim: &SmolStr| {
            let size = self.sizes.get(dim);
            size.is_none_or(|size| size.is_given || size.named_in.is_some() || size.is_settled)
        };
        let tensors = self.arguments.iter().filter_map(|(name, argument)| match argument {
            Argument::Tensor { dims, is_ranked, is_given, .. } => Some((name, dims, *is_ranked, *is_given)),
            _ => None,
        });
        let said = |&(_, dims, is_ranked, _): &(&SmolStr, &Vec<SmolStr>, bool, bool)| {
            (dims.len() > 1, is_ranked, dims.iter().filter(|dim| is_named(dim)).count())
        };
        // The first of those of which as much is said.
        let Some((_, model, _, _)) = tensors.clone().rev().max_by_key(said) else { return out };
        for (name, dims, is_ranked, is_given) in tensors {
            if is_given || dims == model {
                continue;
            }
            let loose = |dim: &SmolStr| !is_named(dim);
            let (rank, own) = (model.len(), dims.len());
            let rank = if is_ranked || usual_rank(name) == 1 { own } else { rank.max(own) };
            let merged = (0..rank).map(|axis| {
                let mine = (axis + own).checked_sub(rank).map(|at| &dims[at]);
                let others = (axis + model.len()).checked_sub(rank).map(|at| &model[at]);
                match (mine, others) {
                    (Some(mine), Some(other)) if loose(mine) => other.clone(),
                    (Some(mine), _) => mine.clone(),
                    (None, Some(other)) => other.clone(),
                    (None, None) => "1".into(),
                }
            });
            let merged: Vec<SmolStr> = merged.collect();
            if let Some(Argument::Tensor { dims, .. }) = out.arguments.get_mut(name) {
                *dims = merged;
            }
        }
        let used: Vec<SmolStr> = out.dims().cloned().collect();
        let arguments = &out.arguments;
        out.sizes.retain(|name, size| size.is_given || used.contains(name) || arguments.contains_key(name));
        out
    }

    /// Tensors of which the text says nothing are as large as any.
    pub(super) fn with_room(&self) -> Free {
        let mut out = self.clone();
        for argument in self.arguments.values() {
            let Argument::Tensor { dims, is_given: false, is_ranked: false, .. } = argument else { continue };
            let is_loose = |dim: &SmolStr| self.sizes.get(dim).is_some_and(|size| size.named_in.is_none() && !size.is_settled);
            if !dims.iter().all(is_loose) {
                continue;
            }
            for dim in dims {
                if let Some(size) = out.sizes.get_mut(dim) {
                    (size.value, size.is_settled) = (ROOM, true);
                }
            }
        }
        out
    }

    /// The same sizes and tensors, chosen otherwise.
    pub(super) fn chosen_by(&self, choice: Choice) -> Free {
        let mut out = self.clone();
        let ranks = out.arguments.values().filter_map(|argument| match argument {
            Argument::Tensor { dims, .. } => Some(dims.len()),
            _ => None,
        });
        let length = match ranks.max().unwrap_or(0) {
            0..=2 => 64,
            3 => 32,
            _ => 16,
        };
        let dims: Vec<SmolStr> = self.dims().cloned().collect();
        for (name, size) in &mut out.sizes {
            if !choice.are_equal || size.is_given || size.is_settled {
                continue;
            }
            // Tiles are as large as numbers of heads and of groups.
            size.value = if dims.contains(name) { length } else { size.value.next_power_of_two() };
        }
        for argument in out.arguments.values_mut() {
            if let Argument::Tensor { dtype, init, is_given: false, .. } = argument
                && choice.count_up
                && dtype.is_int()
                && *dtype != DType::I1
                && init.is_none()
            {
                *init = Some(Init::Arange);
            }
        }
        out
    }

    /// Every name with its value in words, those of sizes first, and whether somebody gave it.
    pub(super) fn names(&self) -> Vec<(String, String, bool)> {
        let is_own =
            |name: &SmolStr| self.dims().any(|dim| dim == name) || matches!(self.arguments.get(name), Some(Argument::Size));
        let sizes = self.sizes.iter().filter(|(name, _)| is_own(name));
        let sizes = sizes.map(|(name, size)| (name.to_string(), size.value.to_string(), size.is_given));
        let arguments = self.arguments.iter().filter_map(|(name, argument)| {
            let (text, is_given) = match argument {
                Argument::Size => return None,
                Argument::Tensor { dtype, dims, init, is_given, .. } => {
                    let made = init.as_ref().map(|init| format!(" = {}", words(init))).unwrap_or_default();
                    (format!("{dtype}[{}]{made}", dims.join(", ")), *is_given)
                }
                Argument::Value { value: Const::Str(text), is_given } => (format!("'{text}'"), *is_given),
                Argument::Value { value, is_given } => (value.to_string(), *is_given),
            };
            Some((name.to_string(), text, is_given))
        });
        let texts = self.texts.iter().filter(|(text, _)| !self.arguments.contains_key(text.as_str()));
        let texts = texts.map(|(text, (value, is_given))| (text.clone(), value.to_string(), *is_given));
        sizes.chain(arguments).chain(texts).collect()
    }
}

/// Whether a parameter is called what sizes of blocks are, which are powers of two.
pub(super) fn is_block(parameter: &str) -> bool {
    let name = parameter.to_lowercase();
    ["block", "chunk", "group", "tile"].iter().any(|word| name.contains(word))
        || (parameter.len() == 2 && parameter.starts_with('B') && parameter.ends_with(|c: char| c.is_ascii_uppercase()))
}

/// What axes and memories are called after that are those of an expression: `self.experts.weight` is `weight`, `split(x, 2)[0]` is `split`.
fn last_word(text: &str) -> &str {
    let callee = text.split(['(', '[']).next().filter(|callee| !callee.is_empty()).unwrap_or(text);
    let is_sign = |c: char| !c.is_alphanumeric() && c != '_';
    callee.trim_end_matches(is_sign).rsplit(is_sign).next().filter(|word| !word.is_empty()).unwrap_or("value")
}

/// Whether a tensor is called what holds where one part after the other begins.
fn ascends(name: &str) -> bool {
    let name = last_word(name).to_lowercase();
    ["offs", "offsets", "cu_seqlens", "indptr"].iter().any(|word| name.contains(word))
}

/// The axes of a tensor of which nothing says how many it has.
pub(super) fn usual_rank(parameter: &str) -> usize {
    if matches!(parameter, "weight" | "bias") { 1 } else { 2 }
}

/// The same extents, whatever their order: a tensor may have been transposed.
fn sorted(shape: &[u64]) -> Vec<u64> {
    let mut shape = shape.to_vec();
    shape.sort_unstable();
    shape
}

/// An initialiser as launch blocks spell it.
fn words(init: &Init) -> String {
    match init {
        Init::Empty | Init::Computed | Init::Zeros => "zeros()".to_owned(),
        Init::Ones => "ones()".to_owned(),
        Init::Full(value) => format!("full({value})"),
        Init::Normal { mean, std } => format!("normal({mean}, {std})"),
        Init::Uniform { low, high } => format!("uniform({low}, {high})"),
        Init::RandInt { low, high } => format!("randint({low}, {high})"),
        Init::Arange => "arange()".to_owned(),
        Init::File(path) => format!("file({path:?})"),
    }
}

/// A value as somebody writes it; a word that is nothing else is a string.
fn constant(text: &str) -> Const {
    let word = text.trim_matches(|c| c == '\'' || c == '"');
    match text {
        "None" | "none" => Const::None,
        "True" | "true" => Const::Bool(true),
        "False" | "false" => Const::Bool(false),
        _ if word.len() < text.len() => Const::Str(word.to_owned()),
        _ => {
            let number = text.parse::<i128>().ok().map(Const::Int).or_else(|| text.parse::<f64>().ok().map(Const::float));
            number.or_else(|| DType::from_name(text).map(Const::DType)).unwrap_or_else(|| Const::Str(word.to_owned()))
        }
    }
}

fn is_name(text: &str) -> bool {
    text.chars().all(|c| c.is_alphanumeric() || c == '_')
}
