//! TUN001, TUN002, TUN003, TUN006, TUN008, TUN010, TUN011, LCH008: what `@triton.autotune` is told and the kernel cannot do.
//!
//! **Invariant:** only Triton's own tuner is judged, and only rows and names that are known.

use crate::{
    Db, Function, SourceFile,
    body::{Arg, ArgKind, Body, Expr, ExprId, FunctionDef, Stmt},
    builtins,
    diagnostics::{Code, Severity},
    host,
    items::{self, items as items_of},
    problem::{Applicability, At, Edit, Fix, Place, Problem},
    project, specialise, versions,
};

/// Keywords of a configuration that go to the compiler, not to a parameter; some of them on other devices.
const OPTIONS: &[&str] = &[
    "num_warps",
    "num_stages",
    "num_ctas",
    "maxnreg",
    "waves_per_eu",
    "matrix_instr_nonkdim",
    "kpack",
    "enable_fp_fusion",
    "schedule_hint",
    "grf_mode",
    "multibuffer",
    "num_buffers_warp_spec",
    "num_consumer_groups",
    "reg_dec_producer",
    "reg_inc_consumer",
    "enable_warp_specialization",
];

pub(super) fn lint(db: &dyn Db, out: &mut Vec<Problem>, function: Function, body: &Body, def: &FunctionDef) {
    let file = function.file(db);
    for args in tuners(db, file, body, def) {
        Tuner { db, out, function, body, args }.lint();
    }
}

/// What Triton's own tuners are told.
fn tuners<'a>(db: &'a dyn Db, file: SourceFile, body: &'a Body, def: &'a FunctionDef) -> impl Iterator<Item = &'a [Arg]> {
    def.decorators.iter().filter_map(move |&decorator| {
        let Expr::Call { callee, args } = body.expr(decorator) else { return None };
        let path = items::path(db, file, body, *callee)?;
        (path.starts_with("triton.") && path.ends_with(".autotune")).then_some(args.as_slice())
    })
}

fn argument<'a>(args: &'a [Arg], name: &str, index: usize) -> Option<&'a Arg> {
    let keyword = args.iter().find(|a| matches!(&a.kind, ArgKind::Keyword(k) if k == name));
    keyword.or_else(|| args.get(index).filter(|a| a.kind == ArgKind::Positional))
}

/// Where a row of the only tuner stands, if its rows are written out and others would be left without it.
pub(crate) fn row(db: &dyn Db, function: Function, index: usize) -> Option<Place> {
    let (body, stmt) = items::function_body(db, function)?;
    let Stmt::Function(def) = body.stmt(stmt) else { return None };
    let mut all = tuners(db, function.file(db), &body, def);
    let (Some(args), None) = (all.next(), all.next()) else { return None };
    let Expr::List(rows) = body.expr(argument(args, "configs", 0)?.value) else { return None };
    if rows.len() < 2 || rows.len() != host::configs(db, function).len() {
        return None;
    }
    Some(Place { function, at: At::Expr(*rows.get(index)?) })
}

struct Tuner<'a> {
    db: &'a dyn Db,
    out: &'a mut Vec<Problem>,
    function: Function,
    body: &'a Body,
    args: &'a [Arg],
}

impl Tuner<'_> {
    fn lint(&mut self) {
        self.keys();
        self.rows();
        self.repeated();
        self.both();
        self.mutation();
        self.old();
        self.cache();
    }

    fn place(&self, expr: ExprId) -> Place {
        Place { function: self.function, at: At::Expr(expr) }
    }

    fn argument(&self, name: &str, index: usize) -> Option<ExprId> {
        argument(self.args, name, index).map(|a| a.value)
    }

    /// The words of a list that is written out.
    fn words(&self, name: &str, index: usize) -> Vec<(ExprId, &str)> {
        let items = match self.argument(name, index).map(|e| self.body.expr(e)) {
            Some(Expr::List(items) | Expr::Tuple(items)) => items.as_slice(),
            _ => &[],
        };
        let word = |&item: &ExprId| match self.body.expr(item) {
            Expr::Str(word) => Some((item, word.as_str())),
            _ => None,
        };
        items.iter().filter_map(word).collect()
    }

    fn params(&self) -> Vec<&str> {
        let item = items_of(self.db, self.function.file(self.db)).function(self.function);
        item.map_or_else(Vec::new, |item| item.params.iter().map(|p| p.name.as_str()).collect())
    }

    fn say(&mut self, code: Code, level: Option<Severity>, place: Place, message: String, fixes: Vec<Fix>) {
        self.out.push(Problem { code, level, message, place, related: vec![], fixes, calls: vec![] });
    }

    fn keys(&mut self) {
        let params: Vec<String> = self.params().into_iter().map(str::to_owned).collect();
        let strict = versions::rules(project::triton(self.db, self.function.file(self.db))).is_some_and(|r| r.strict_tuner_keys);
        let wrong: Vec<(ExprId, String)> = self
            .words("key", 1)
            .into_iter()
            .filter(|w| !params.iter().any(|p| p == w.1))
            .map(|w| (w.0, w.1.to_owned()))
            .collect();
        for (expr, word) in wrong {
            let place = self.place(expr);
            let nearest = builtins::closest(&word, params.iter().map(String::as_str));
            let hint = match nearest {
                Some(nearest) => format!("; did you mean `{nearest}`?"),
                None => ": tune again for each of its values by making it one, or remove it".to_owned(),
            };
            let effect = if strict { "Triton 3.9 refuses it when the file is imported" } else { "it is ignored without a word" };
            let message =
                format!("`{word}` is in `key` but is no parameter of `{}`, and {effect}{hint}", self.function.name(self.db));
            let removal = Edit::RemoveArgument(place);
            let fixes = vec![Fix {
                title: format!("Remove `{word}` from `key`"),
                applicability: Applicability::Suggested,
                edits: vec![removal],
            }];
            self.say(Code::TUN001, strict.then_some(Severity::Error), place, message, fixes);
        }
    }

    fn rows(&mut self) {
        let Some(tuned) = host::tuned(self.db, self.function) else { return };
        let Some(configs) = self.argument("configs", 0) else { return };
        let (place, params) = (self.place(configs), self.params());
        let name = self.function.name(self.db);
        let mut found: Vec<(Code, Option<Severity>, String)> = Vec::new();
        for row in &tuned.configs {
            for (meta, _) in &row.meta.0 {
                if !params.contains(&meta.as_str()) && !OPTIONS.contains(&meta.as_str()) {
                    let nearest = builtins::closest(meta, params.iter().copied());
                    let hint = nearest.map(|n| format!("; did you mean `{n}`?")).unwrap_or_default();
                    let message = format!("a configuration gives `{meta}`, which is no parameter of `{name}`{hint}");
                    found.push((Code::TUN002, None, message));
                }
            }
            if let Some(impossible) = &row.impossible {
                let message = format!("of a configuration: {}", impossible.message);
                found.push((impossible.code, Some(impossible.severity), message));
            }
        }
        found.dedup();
        // One mistake, one message, however many rows have it.
        let mut said: Vec<Code> = Vec::new();
        for (code, level, message) in found {
            if !said.contains(&code) {
                said.push(code);
                self.say(code, level, place, message, vec![]);
            }
        }
    }

    /// Two rows that are one and the same: Triton compiles and times both.
    fn repeated(&mut self) {
        let Some(tuned) = host::tuned(self.db, self.function) else { return };
        let Some(configs) = self.argument("configs", 0) else { return };
        let rows = &tuned.configs;
        let of = |row: &host::Config| {
            let mut meta = row.meta.0.clone();
            meta.sort_by(|a, b| a.0.cmp(&b.0));
            row.is_whole.then(|| (row.options.or_default(), meta))
        };
        let said: Vec<_> = rows.iter().map(of).collect();
        let pair = said.iter().enumerate().find_map(|(later, row)| {
            let first = said[..later].iter().position(|other| row.is_some() && other == row)?;
            Some((first, later))
        });
        let Some((first, later)) = pair else { return };
        // The row itself, where the list is written out.
        let row = match self.body.expr(configs) {
            Expr::List(items) if items.len() == rows.len() => Some(items[later]),
            _ => None,
        };
        let place = self.place(row.unwrap_or(configs));
        let name = self.function.name(self.db);
        let message = format!(
            "{name}[{first}] and {name}[{later}] are the same configuration, which is compiled and timed twice: remove one"
        );
        let remove = row.map(|_| Fix {
            title: format!("Remove {name}[{later}]"),
            applicability: Applicability::Suggested,
            edits: vec![Edit::RemoveArgument(place)],
        });
        self.say(Code::TUN006, None, place, message, remove.into_iter().collect());
    }

    fn both(&mut self) {
        let restored: Vec<String> = self.words("restore_value", 3).into_iter().map(|w| w.1.to_owned()).collect();
        let reset: Vec<(ExprId, String)> = self.words("reset_to_zero", 2).into_iter().map(|w| (w.0, w.1.to_owned())).collect();
        for (expr, word) in reset.into_iter().filter(|w| restored.contains(&w.1)) {
            let place = self.place(expr);
            let message = format!(
                "`{word}` is reset to zero and restored: it is reset, so what it held is lost. Name it in one of the two"
            );
            let fixes = vec![Fix {
                title: format!("Only restore `{word}`"),
                applicability: Applicability::Suggested,
                edits: vec![Edit::RemoveArgument(place)],
            }];
            self.say(Code::TUN008, None, place, message, fixes);
        }
    }

    /// How to measure, in the words of before `do_bench`: Triton warns where the tuner is made.
    fn old(&mut self) {
        let is_given = |arg: &&Arg| match (&arg.kind, self.body.expr(arg.value)) {
            (ArgKind::Keyword(name), value) => match name.as_str() {
                "warmup" | "rep" => !matches!(value, Expr::None),
                "use_cuda_graph" => matches!(value, Expr::Bool(true)),
                _ => false,
            },
            _ => false,
        };
        let Some(arg) = self.args.iter().find(is_given) else { return };
        let ArgKind::Keyword(name) = &arg.kind else { return };
        let instead = match name.as_str() {
            "use_cuda_graph" => {
                "do_bench=lambda run, quantiles: triton.testing.do_bench_cudagraph(run, quantiles=quantiles)".to_owned()
            }
            name => format!("do_bench=lambda run, quantiles: triton.testing.do_bench(run, {name}=…, quantiles=quantiles)"),
        };
        let place = Place { function: self.function, at: At::Argument(arg.value) };
        let message = format!("`{name}` is deprecated, and Triton warns of it when the file is imported: say `{instead}`");
        self.say(Code::TUN010, None, place, message, vec![]);
    }

    /// A hook cannot be written to a file.
    fn cache(&mut self) {
        let is_asked = |arg: &&Arg| {
            matches!(&arg.kind, ArgKind::Keyword(name) if name == "cache_results")
                && matches!(self.body.expr(arg.value), Expr::Bool(true))
        };
        let Some(arg) = self.args.iter().find(is_asked) else { return };
        let Some(tuned) = host::tuned(self.db, self.function) else { return };
        if !tuned.configs.iter().any(|config| config.has_pre_hook) {
            return;
        }
        let place = Place { function: self.function, at: At::Argument(arg.value) };
        let message = "nothing is cached on disk, as a configuration has a `pre_hook`: Triton tunes again in every process. Give the hook to \
                       `@triton.autotune` itself"
            .to_owned();
        self.say(Code::TUN011, None, place, message, vec![]);
    }

    /// Every configuration is tried on the caller's own tensors.
    fn mutation(&mut self) {
        let Some(tuned) = host::tuned(self.db, self.function) else { return };
        let given = |name: &str| self.args.iter().any(|a| matches!(&a.kind, ArgKind::Keyword(k) if k == name));
        let cared_for = ["pre_hook", "post_hook", "reset_to_zero", "restore_value"].iter().any(|n| given(n));
        let spread = self.args.iter().any(|a| matches!(a.kind, ArgKind::SpreadKeywords | ArgKind::Spread));
        if tuned.configs.len() < 2 || cared_for || spread || tuned.configs.iter().any(|c| c.has_pre_hook) {
            return;
        }
        let Some(last) = self.args.last() else { return };
        let effects = specialise::effects(self.db, self.function);
        let params = self.params();
        let (which, remedy) = match (effects.atomic.first(), effects.in_place.first()) {
            (Some(&param), _) => (param, "reset_to_zero"),
            (None, Some(&param)) => (param, "restore_value"),
            (None, None) => return,
        };
        let Some(param) = params.get(which).map(|p| (*p).to_owned()) else { return };
        let what = if remedy == "reset_to_zero" { "added to atomically" } else { "read and written in place" };
        let message = format!(
            "`{param}` is {what}, and tuning runs the kernel many times on the same tensor: its contents are wrong after the first \
             launch. Say `{remedy}=[\"{param}\"]`"
        );
        let edit = Edit::InsertAfter(self.place(last.value), format!(", {remedy}=[\"{param}\"]"));
        let fixes = vec![Fix {
            title: format!("Add `{remedy}=[\"{param}\"]`"),
            applicability: Applicability::Suggested,
            edits: vec![edit],
        }];
        let place = Place { function: self.function, at: At::Name };
        self.say(Code::TUN003, None, place, message, fixes);
    }
}
