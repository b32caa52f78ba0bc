// Feature: Configurations
//
//! Every autotune configuration and launch of a kernel as a column: what fits, what spills, what it occupies, moves and takes; and what
//! can be chosen to look at: configuration, board and version of Triton.
//!
//! **Invariant:** a cell that is not known is `?`; a figure that is no exact one begins with `~`. Cells are text made here, so the editor's
//! matrix, Neovim's and the terminal's say the same.

use std::path::Path;

use serde::Serialize;
use tritium_estimate::{spills, triton::Footprint};
use tritium_semantics::{
    Function,
    configuration::{Configuration, configurations},
    host,
    project::Source,
    target::{BOARDS, DEFAULT_TRITON, SMS},
    versions,
};

use crate::{
    Analysis,
    charts::wrapped,
    exact::State,
    kernels::Kernel,
    report::{Figures, bound_name, limiter_name, si},
};

/// The configurations of one kernel side by side.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Matrix {
    pub kernel: String,
    pub gpu: String,
    pub compiler: &'static str,
    pub columns: Vec<Column>,
    pub rows: Vec<Row>,
    /// Columns whose exact figures are being compiled.
    pub pending: usize,
    /// What marks mean and what estimates rest on.
    pub note: String,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Column {
    /// [`Configuration::id`]
    pub id: String,
    /// What tells it from the others: `BLOCK=128 warps=4`.
    pub label: String,
    /// The label without what has rows of its own, where that still tells the columns apart.
    pub head: String,
    pub is_active: bool,
    /// Whether a CTA fits an SM; `None` if that is not known.
    pub fits: Option<bool>,
    pub spills: Option<bool>,
    /// Why there are no figures.
    pub problem: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Row {
    pub name: &'static str,
    /// Whose code it is about.
    pub compiler: &'static str,
    pub cells: Vec<String>,
    /// The columns with the best value, where one is better and not all are equal.
    pub best: Vec<usize>,
}

/// What is looked at, and what else could be.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Choices {
    pub kernel: Option<String>,
    pub configurations: Vec<Choice>,
    pub gpus: Vec<Choice>,
    pub tritons: Vec<Choice>,
    /// What of the file is not understood: `2 Gluon kernels`.
    pub unchecked: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Choice {
    pub id: String,
    pub label: String,
    pub detail: String,
    pub is_active: bool,
}

/// One way to read a figure out of a column's: its name, its text, and a number of which less is better (negated where more is).
struct Measure {
    name: &'static str,
    cell: fn(&Analysis, Configuration, &Figures) -> Option<String>,
    cost: fn(&Figures) -> Option<f64>,
}

fn marked(value: impl std::fmt::Display, exact: bool) -> String {
    if exact { value.to_string() } else { format!("~{value}") }
}

fn launched<T>(active: Configuration, value: Option<T>) -> Option<T> {
    value.filter(|_| !active.is_assumed())
}

#[rustfmt::skip]
static MEASURES: &[Measure] = &[
    Measure { name: "warps", cell: |_, a, _| Some(a.options.num_warps.to_string()), cost: |_| None },
    Measure { name: "stages", cell: |_, a, _| Some(a.options.num_stages.to_string()), cost: |_| None },
    Measure {
        name: "programs",
        cell: |s, a, _| a.launch(s.db()).map(|l| l.grid.iter().product::<u64>().to_string()),
        cost: |_| None,
    },
    Measure {
        name: "shared bytes",
        cell: |_, _, f| Some(f.report.shared_bytes.value.to_string()),
        cost: |f| Some(f64::from(f.report.shared_bytes.value)),
    },
    Measure {
        name: "registers",
        cell: |_, _, f| { let (n, exact) = f.registers(); Some(marked(n, exact)) },
        cost: |f| Some(f64::from(f.registers().0)),
    },
    Measure {
        name: "spilled bytes",
        cell: |_, _, f| { let (n, exact) = f.spill_bytes(); Some(marked(n, exact)) },
        cost: |f| Some(f64::from(f.spill_bytes().0)),
    },
    Measure {
        name: "occupancy",
        cell: |_, _, f| {
            let exact = f.registers().1;
            Some(f.report.occupancy.map_or_else(|| "does not fit".to_owned(), |o| marked(format!("{:.0} %", 100.0 * o.fraction), exact)))
        },
        cost: |f| f.report.occupancy.map(|o| -o.fraction),
    },
    Measure {
        name: "limited by",
        cell: |_, _, f| Some(f.report.occupancy.map_or_else(|| "—".to_owned(), |o| limiter_name(o.limiter).to_owned())),
        cost: |_| None,
    },
    Measure {
        name: "FLOP",
        cell: |_, a, f| launched(a, f.report.cost.flops).map(|n| marked(si(n).trim_end().to_owned(), false)),
        cost: |_| None,
    },
    Measure {
        name: "DRAM bytes",
        cell: |_, a, f| launched(a, f.report.cost.bytes).map(|n| marked(si(n).trim_end().to_owned(), false)),
        cost: |f| f.report.cost.bytes,
    },
    Measure {
        name: "FLOP/byte",
        cell: |_, a, f| launched(a, f.report.cost.intensity).map(|n| marked(format!("{n:.2}"), false)),
        cost: |f| f.report.cost.intensity.map(|n| -n),
    },
    Measure {
        name: "bound",
        cell: |_, a, f| launched(a, f.report.cost.bound).map(|b| bound_name(b).trim_end_matches(" bound").to_owned()),
        cost: |_| None,
    },
    Measure {
        name: "time, µs",
        cell: |_, a, f| launched(a, f.report.cost.predicted_us).map(|t| marked(format!("{t:.1}"), false)),
        cost: |f| f.report.cost.predicted_us,
    },
];

/// The same of what Triton would take, by the rules of its passes; never exact.
struct Taken {
    name: &'static str,
    cell: fn(&Footprint, limit: u32) -> String,
    cost: fn(&Footprint) -> Option<f64>,
}

#[rustfmt::skip]
static TAKEN: &[Taken] = &[
    Taken {
        name: "triton: shared bytes",
        cell: |f, limit| {
            let bytes = f.shared_bytes.value;
            format!("~{bytes}{}", if bytes > limit { " too many" } else { "" })
        },
        cost: |f| Some(f64::from(f.shared_bytes.value)),
    },
    Taken {
        name: "triton: spills",
        cell: |f, _| format!("~{}", f.pressure.short()),
        cost: |f| Some(f64::from(f.pressure.spills as u8)),
    },
];

impl Analysis {
    /// `wait`: until ptxas has answered for every column; editors never do.
    pub fn matrix(&self, path: &Path, kernel: &str, wait: bool) -> Option<Matrix> {
        let kernel = self.kernels(path).into_iter().rfind(|k| k.name == *kernel)?;
        let actives = configurations(self.db(), kernel.function);
        let labels = self.labels(kernel.function, actives);
        let figures: Vec<Result<Figures, String>> = actives.iter().map(|&active| self.figures(active, wait)).collect();
        let heads = heads(&labels);
        let named = labels.into_iter().zip(heads);
        let columns = actives
            .iter()
            .zip(named)
            .zip(&figures)
            .map(|((active, named), figures)| self.column(&kernel, *active, named, figures));
        // Launches of other sizes do other work: what is better can be said of the configurations of one launch alone.
        let name = |active: &Configuration| active.launch(self.db()).map(|launch| launch.name.clone());
        let are_alike = actives.iter().all(|active| name(active) == name(&actives[0]));
        let rows = MEASURES.iter().map(|measure| {
            let cell = |(&active, figures): (&Configuration, &Result<Figures, String>)| {
                figures.as_ref().ok().and_then(|figures| (measure.cell)(self, active, figures)).unwrap_or_else(|| "?".to_owned())
            };
            let costs: Vec<Option<f64>> = figures.iter().map(|f| f.as_ref().ok().and_then(measure.cost)).collect();
            Row {
                name: measure.name,
                compiler: "tritium",
                cells: actives.iter().zip(&figures).map(cell).collect(),
                best: if are_alike { best(&costs) } else { Vec::new() },
            }
        });
        let footprints: Vec<Option<&Footprint>> = actives.iter().map(|&active| self.footprint(active)).collect();
        let limit = self.gpu().sm.shared_per_cta;
        let taken = TAKEN.iter().map(|taken| {
            let costs: Vec<Option<f64>> = footprints.iter().map(|f| f.and_then(taken.cost)).collect();
            let cell = |f: &Option<&Footprint>| f.map_or_else(|| "?".to_owned(), |f| (taken.cell)(f, limit));
            Row {
                name: taken.name,
                compiler: "triton",
                cells: footprints.iter().map(cell).collect(),
                best: if are_alike { best(&costs) } else { Vec::new() },
            }
        });
        let absent = figures.iter().flatten().find_map(|f| match &f.exact {
            State::Absent(message) => Some(format!(" There are no exact ones here: {message}.")),
            _ => None,
        });
        let note = format!(
            "Tritium's compiler, {}; rows that begin with triton: are Triton's, by the rules of its passes. {}. ~ marks estimates: registers, spills and occupancy until ptxas has answered, traffic and time always.{} \
             The time assumes: {}.",
            self.gpu().name(),
            spills::legend(),
            absent.unwrap_or_default(),
            figures.iter().flatten().next().map_or("a launch", |f| f.report.cost_assumption)
        );
        Some(Matrix {
            kernel: kernel.name.clone(),
            gpu: self.gpu().name().to_owned(),
            compiler: "tritium",
            columns: columns.collect(),
            rows: rows.chain(taken).collect(),
            pending: figures.iter().flatten().filter(|f| f.exact == State::Pending).count(),
            note,
        })
    }

    /// What can be chosen for a kernel of a file.
    pub fn choices(&self, path: &Path, kernel: Option<&str>) -> Choices {
        let kernel = kernel.and_then(|name| self.kernels(path).into_iter().rfind(|k| k.name == *name));
        let configurations = kernel.as_ref().map_or_else(Vec::new, |kernel| {
            let actives = configurations(self.db(), kernel.function);
            let labels = self.labels(kernel.function, actives);
            let choice = |(active, label): (&Configuration, String)| Choice {
                id: active.id(self.db()).to_string(),
                label,
                detail: active.describe(self.db()),
                is_active: *active == kernel.active,
            };
            actives.iter().zip(labels).map(choice).collect()
        });
        let gpu = |name: &'static str, detail: String| Choice {
            id: name.to_owned(),
            label: name.to_owned(),
            detail,
            is_active: name == self.gpu().name(),
        };
        let own = self.project(path).map_or(&[][..], |p| &p.config.boards);
        let boards = BOARDS
            .iter()
            .chain(own.iter().copied())
            .map(|b| gpu(b.name, format!("{}, {} SMs, {:.0} GB/s", b.sm, b.sm_count, b.dram_bandwidth)));
        let sms = SMS.iter().map(|s| gpu(s.name, "resources alone, no roofline".to_owned()));
        let project = self.project(path);
        let triton = project.map_or("", |p| p.triton.as_str());
        let from = match project.map(|p| p.triton_from).unwrap_or_default() {
            Source::Chosen => "chosen here",
            Source::Configured => "from [tool.tritium]",
            Source::Installed => "installed in the environment",
            Source::Locked => "pinned by the project's lock file",
            Source::Default => "the default",
        };
        let active = if triton == DEFAULT_TRITON { Some(triton) } else { versions::rules(triton).map(|rules| rules.version) };
        let is_active = |version: &str| active == Some(version);
        let tritons = versions::VERSIONS.iter().map(|rules| rules.version).chain([DEFAULT_TRITON]).map(|version| Choice {
            id: version.to_owned(),
            label: version.to_owned(),
            detail: if is_active(version) { from.to_owned() } else { String::new() },
            is_active: is_active(version),
        });
        Choices {
            kernel: kernel.map(|k| k.name),
            configurations,
            gpus: boards.chain(sms).collect(),
            tritons: tritons.collect(),
            unchecked: self.unchecked_kernels(path).into_iter().map(|(why, count)| why.counted(count)).collect(),
        }
    }

    fn column(
        &self,
        kernel: &Kernel,
        active: Configuration,
        (label, head): (String, String),
        figures: &Result<Figures, String>,
    ) -> Column {
        let failed = figures.as_ref().ok().and_then(|f| match &f.exact {
            State::Failed(message) => Some(message.to_string()),
            State::Ready(_) | State::Pending | State::Absent(_) => None,
        });
        Column {
            id: active.id(self.db()).to_string(),
            label,
            head,
            is_active: active == kernel.active,
            fits: figures.as_ref().ok().map(|f| f.report.occupancy.is_some()),
            spills: figures.as_ref().ok().map(|f| f.spill_bytes().0 > 0),
            problem: figures.as_ref().err().cloned().or(failed),
        }
    }

    /// One for each configuration: the values that tell them apart; where there is nothing to tell apart, its name.
    fn labels(&self, function: Function, actives: &[Configuration]) -> Vec<String> {
        let configs = host::configs(self.db(), function);
        let values = |active: &Configuration| {
            let tuned = active.row.and_then(|row| configs.get(row as usize)).map(|config| config.meta.0.clone());
            let given = || active.launch(self.db()).map(|l| l.meta.iter().map(|(n, v)| (n.clone(), v.clone())).collect());
            let values: Vec<_> = tuned.or_else(given).unwrap_or_default();
            let mut out: Vec<(String, String)> =
                values.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
            out.push(("warps".to_owned(), active.options.num_warps.to_string()));
            out.push(("stages".to_owned(), active.options.num_stages.to_string()));
            out.extend(active.options.max_registers.map(|n| ("maxnreg".to_owned(), n.to_string())));
            out
        };
        let all: Vec<Vec<(String, String)>> = actives.iter().map(values).collect();
        let varies = |pair: &(String, String)| all.iter().any(|other| !other.contains(pair));
        let names: Vec<&str> = actives.iter().map(|a| a.launch(self.db()).map_or("assumed", |l| l.name.as_str())).collect();
        let several = names.iter().any(|name| *name != names[0]);
        let label = |(index, values): (usize, &Vec<(String, String)>)| {
            let mut words: Vec<String> = values.iter().filter(|p| varies(p)).map(|(n, v)| format!("{n}={v}")).collect();
            if several || words.is_empty() {
                words.insert(0, names[index].to_owned());
            }
            words.join(" ")
        };
        all.iter().enumerate().map(label).collect()
    }
}

fn heads(labels: &[String]) -> Vec<String> {
    let without = |label: &String| {
        let words = label.split(' ').filter(|word| !word.starts_with("warps=") && !word.starts_with("stages="));
        words.collect::<Vec<_>>().join(" ")
    };
    let short: Vec<String> = labels.iter().map(without).collect();
    let is_telling = short.iter().enumerate().all(|(index, head)| !head.is_empty() && !short[..index].contains(head));
    if is_telling { short } else { labels.to_vec() }
}

/// Columns with the least cost, unless all known costs are equal.
fn best(costs: &[Option<f64>]) -> Vec<usize> {
    let known: Vec<f64> = costs.iter().flatten().copied().collect();
    let least = known.iter().copied().fold(f64::INFINITY, f64::min);
    if known.len() < 2 || known.iter().all(|&cost| cost == least) {
        return Vec::new();
    }
    costs.iter().enumerate().filter(|(_, cost)| **cost == Some(least)).map(|(index, _)| index).collect()
}

/// Characters of a block of columns.
const WIDTH: usize = 110;
/// Of a column's head: one or two words.
const HEAD_WIDTH: usize = 14;

impl Matrix {
    /// For terminals and for Neovim: blocks of columns, `*` at the active one, `!` at those that do not fit or spill.
    pub fn text(&self) -> String {
        let names = self.rows.iter().map(|row| row.name.chars().count()).max().unwrap_or(0);
        let mut out = format!("{} on {}: {} configurations\n", self.kernel, self.gpu, self.columns.len());
        let head = |column: &Column| {
            let bad = column.fits == Some(false) || column.spills == Some(true) || column.problem.is_some();
            format!("{}{}{}", if column.is_active { "*" } else { "" }, if bad { "!" } else { "" }, column.head)
        };
        let heads: Vec<Vec<String>> = self.columns.iter().map(|c| wrapped(&head(c), HEAD_WIDTH)).collect();
        let width = |index: usize| {
            let cells = self.rows.iter().map(|row| row.cells[index].chars().count());
            cells.chain(heads[index].iter().map(|line| line.chars().count())).max().unwrap_or(0)
        };
        let mut start = 0;
        while start < self.columns.len() {
            let (mut end, mut used) = (start, names);
            while end < self.columns.len() && (end == start || used + 2 + width(end) <= WIDTH) {
                used += 2 + width(end);
                end += 1;
            }
            out.push('\n');
            let mut line = |name: &str, cell: &dyn Fn(usize) -> String| {
                let mut line = format!("{name:names$}");
                for index in start..end {
                    let (cell, width) = (cell(index), width(index));
                    line += &format!("  {cell:>width$}");
                }
                out.push_str(line.trim_end());
                out.push('\n');
            };
            for depth in 0..heads[start..end].iter().map(Vec::len).max().unwrap_or(0) {
                line("", &|index| heads[index].get(depth).cloned().unwrap_or_default());
            }
            for row in &self.rows {
                line(row.name, &|index| row.cells[index].clone());
            }
            start = end;
        }
        for column in self.columns.iter().filter(|column| column.problem.is_some()) {
            out += &format!("\n{}: {}", column.label, column.problem.as_deref().unwrap_or_default());
        }
        let note = format!("* is the configuration looked at, ! does not fit, spills or does not compile. {}", self.note);
        for line in wrapped(&note, WIDTH) {
            out += &format!("\n{line}");
        }
        out.push('\n');
        out
    }
}
