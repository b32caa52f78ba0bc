//! `triton.testing.perf_report`: a function that is called for every size and line of its benchmarks.
//!
//! **Invariant:** what a benchmark is called with is what Triton's `run` gives it. All sizes are run where somebody asks for times of them; otherwise the
//! first of each alone, and only if the file launches nothing else, as the others are there to take long.

use std::rc::Rc;

use indexmap::IndexMap;
use smol_str::SmolStr;

use super::{
    budget,
    interpret::Host,
    torch::Args,
    value::{Object, Value},
};
use crate::constant::Const;

/// Sizes of one benchmark.
const MAX_SIZES: usize = 64;
/// The parameters of `triton.testing.Benchmark` that say what the function is called with; the sixth and seventh are names of pictures and lines.
const PARAMETERS: [&str; 7] = ["x_names", "x_vals", "line_arg", "line_vals", "line_names", "plot_name", "args"];
/// What `perf_report` makes of a function.
const FUNCTION: &str = "fn";
const BENCHMARKS: &str = "benchmarks";
const REPORT: &str = "triton.testing.perf_report";
/// What `run` takes for itself.
const OF_RUN: [&str; 4] = ["show_plots", "print_data", "save_path", "return_df"];

impl Host<'_> {
    /// `Benchmark(…)` and `perf_report(…)(function)`; `None` for every other path.
    pub(super) fn benchmark_path(&mut self, path: &str, args: &Args) -> Option<Value> {
        match (path, &args.positional[..]) {
            ("triton.testing.Benchmark", _) => {
                let fields =
                    PARAMETERS.iter().enumerate().filter_map(|(at, name)| Some(((*name).into(), args.get(at, name)?.clone())));
                Some(Value::object(fields.collect()))
            }
            (REPORT, [benchmarks, function]) => {
                let fields = [(FUNCTION, function), (BENCHMARKS, benchmarks)].map(|(name, value)| (name.into(), value.clone()));
                let report = Value::object(IndexMap::from_iter(fields));
                if let Value::Object(report) = &report {
                    self.benchmarks.push((report.clone(), false));
                }
                Some(report)
            }
            (REPORT, [_]) => Some(Value::Partial(budget::keep((Value::Path(path.into()), args.clone())))),
            _ => None,
        }
    }

    pub(super) fn is_made_report(&self, object: &Rc<Object>) -> bool {
        self.benchmarks.iter().any(|(report, _)| Rc::ptr_eq(report, object))
    }

    /// `report.run(…)`
    pub(super) fn run_report(&mut self, report: &Rc<Object>, args: &Args) -> Value {
        if self.db.settings().chosen(self.db).every_benchmark {
            let this = self.benchmarks.iter_mut().filter(|(known, _)| Rc::ptr_eq(known, report));
            this.for_each(|(_, has_run)| *has_run = true);
            let more = args.keywords.iter().filter(|(name, _)| !OF_RUN.contains(&name.as_str())).cloned().collect();
            self.call_benchmarks(report, more, MAX_SIZES);
        }
        Value::NONE
    }

    /// Runs the benchmarks that the file's statements have left.
    pub(crate) fn run_benchmarks(&mut self) {
        let every = self.db.settings().chosen(self.db).every_benchmark;
        if !every && !self.found.launches.is_empty() {
            return;
        }
        let most = if every { MAX_SIZES } else { 1 };
        for (report, has_run) in self.benchmarks.clone() {
            if !has_run {
                self.call_benchmarks(&report, vec![], most);
            }
        }
    }

    /// Calls the function of a report with each of so many sizes, for each of its lines.
    fn call_benchmarks(&mut self, report: &Rc<Object>, more: Vec<(SmolStr, Value)>, most: usize) {
        let of_report = |name: &str| report.fields.borrow().get(name).cloned();
        let (Some(function), Some(benchmarks)) = (of_report(FUNCTION), of_report(BENCHMARKS)) else { return };
        for benchmark in benchmarks.items().unwrap_or_else(|| vec![benchmarks.clone()]) {
            let items = |name: &str| field(&benchmark, name).and_then(|value| value.items()).unwrap_or_default();
            let names: Vec<SmolStr> = items("x_names").iter().filter_map(text).collect();
            let line = field(&benchmark, "line_arg").as_ref().and_then(text);
            let given = match field(&benchmark, "args") {
                Some(Value::Dict(given)) => {
                    given.borrow().iter().filter_map(|(name, value)| Some((word(name)?, value.clone()))).collect()
                }
                _ => Vec::new(),
            };
            for x in items("x_vals").into_iter().take(most) {
                // One value is that of every name.
                let values = match &x {
                    Value::Tuple(_) | Value::List(_) => x.items().unwrap_or_default(),
                    _ => vec![x.clone(); names.len()],
                };
                for of_line in items("line_vals") {
                    let sizes = names.iter().cloned().zip(values.iter().cloned());
                    let lines = line.iter().map(|name| (name.clone(), of_line.clone()));
                    let keywords = sizes.chain(lines).chain(given.iter().cloned()).chain(more.iter().cloned()).collect();
                    self.call(function.clone(), Args { positional: vec![], keywords });
                    // The next size is another program.
                    self.raised = None;
                }
            }
        }
    }
}

/// Whether this makes a report of the function below it.
pub(super) fn is_report(decorator: &Value) -> bool {
    match decorator {
        Value::Path(path) => path == REPORT,
        Value::Partial(partial) => is_report(&partial.0),
        _ => false,
    }
}

fn field(of: &Value, name: &str) -> Option<Value> {
    match of {
        Value::Object(object) => object.fields.borrow().get(name).cloned(),
        _ => None,
    }
}

fn text(value: &Value) -> Option<SmolStr> {
    match value {
        Value::Const(text) => word(text),
        _ => None,
    }
}

fn word(text: &Const) -> Option<SmolStr> {
    match text {
        Const::Str(text) => Some(text.into()),
        _ => None,
    }
}
