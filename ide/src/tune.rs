// Feature: Tuning
//
//! What a tuning has found, as text of the file: its tuner's list with the best rows alone, or a function that picks them by size.

use std::{ops::Range, path::Path};

use tritium_runtime::tune::{TriedRow, TunedLaunch, Tuning};
use tritium_semantics::{
    Function, SourceFile, host, items,
    launch::{Launch, LaunchArg, launches_of},
};
use tritium_syntax::{
    AstNode,
    ast::{self, Expr},
};

use crate::{
    Analysis, TextEdit,
    call_at::{Callee, token_at},
    naming::{self, names},
};

/// `@triton.autotune(configs=…, key=[…])` in the text.
struct Tuner {
    /// What it is called with `Config` in place of `autotune`: `triton.Config`.
    config: String,
    configs: Range<usize>,
    /// Each row's text, where the list is written out.
    rows: Vec<String>,
    key: Vec<String>,
}

/// The new list of a tuner.
#[derive(Debug, Clone, PartialEq)]
pub struct TunedEdit {
    pub edit: TextEdit,
    /// So many are left.
    pub rows: usize,
}

impl Analysis {
    /// Leaves of the tuners' rows only those that were best for some launch.
    pub fn tuned_edits(&self, path: &Path, tuning: &Tuning) -> Result<Vec<TunedEdit>, String> {
        let file = self.file(path).ok_or("the file is gone")?;
        let mut edits = Vec::new();
        for (kernel, tuned) in self.by_kernel(path, tuning) {
            let name = kernel.name(self.db());
            if tuned.iter().any(|tuned| !self.has_rows_of(kernel, tuned)) {
                return Err(format!("the configurations of `{name}` are others than those that were tuned: tune again"));
            }
            let tuner = self
                .tuner(file, kernel)
                .ok_or_else(|| format!("the list of `{name}`'s configurations is not written in this file"))?;
            let mut rows: Vec<String> = Vec::new();
            for best in tuned.iter().filter_map(|tuned| tuned.best()) {
                let row = tuner.spelled(best);
                if !rows.contains(&row) {
                    rows.push(row);
                }
            }
            if rows.is_empty() {
                continue;
            }
            let text = self.text(path).unwrap_or_default();
            let line = text[..tuner.configs.start].rfind('\n').map_or(0, |at| at + 1);
            let indent: String = text[line..].chars().take_while(|c| *c == ' ' || *c == '\t').collect();
            let new_text = match rows.as_slice() {
                [row] => format!("[{row}]"),
                rows => {
                    let lines: String = rows.iter().map(|row| format!("{indent}    {row},\n")).collect();
                    format!("[\n{lines}{indent}]")
                }
            };
            edits.push(TunedEdit { edit: TextEdit { range: tuner.configs, new_text }, rows: rows.len() });
        }
        Ok(edits)
    }

    /// What an editor offers behind a tuning: `Write 1 row into scale.py`. `None` where nothing can be written or nothing would change.
    pub fn tuned_offer(&self, path: &Path, tuning: &Tuning) -> Option<String> {
        let text = self.text(path)?;
        let edits = self.tuned_edits(path, tuning).ok().filter(|_| tuning.ok())?;
        let is_new = |one: &TunedEdit| text.get(one.edit.range.clone()) != Some(one.edit.new_text.as_str());
        let rows: usize = edits.iter().any(is_new).then(|| edits.iter().map(|one| one.rows).sum())?;
        let what = if rows == 1 { "row" } else { "rows" };
        // Without a GPU the best row is what the model thinks it is.
        let best = if tuning.launches.iter().all(|tuned| tuned.timed_launches > 0) { "" } else { "predicted " };
        Some(format!("Write {rows} {best}{what} into {}", path.file_name().unwrap_or_default().to_string_lossy()))
    }

    /// Whether the tuner still has the rows that were tried: they are named by their place in its list.
    fn has_rows_of(&self, kernel: Function, tuned: &TunedLaunch) -> bool {
        let configs = host::configs(self.db(), kernel);
        let is_there = |row: &TriedRow| {
            let meta = |config: &host::Config| {
                config.meta.0.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect::<Vec<_>>()
            };
            configs.get(row.row as usize).is_some_and(|config| meta(config) == row.meta)
        };
        tuned.rows.iter().filter(|row| !row.proposed).all(is_there)
    }

    /// Functions for `prune_configs_by={"early_config_prune": …}`: under Triton they pick the best row of the sizes that were tuned, and leave
    /// all rows to others.
    pub fn pruning_functions(&self, path: &Path, tuning: &Tuning) -> Result<String, String> {
        let file = self.file(path).ok_or("the file is gone")?;
        let mut out = String::new();
        for (kernel, tuned) in self.by_kernel(path, tuning) {
            let name = kernel.name(self.db());
            let tuner = self.tuner(file, kernel).filter(|tuner| !tuner.key.is_empty());
            let tuner = tuner.ok_or_else(|| format!("the tuner of `{name}` has no `key` that is written out"))?;
            let mut rows = String::new();
            for (tuned, best) in tuned.iter().filter_map(|tuned| Some((tuned, tuned.best()?))) {
                let launch = launches_of(self.db(), kernel).iter().find(|launch| launch.name == *tuned.launch);
                let Some(values) = launch.and_then(|launch| values(launch, &tuner.key)) else { continue };
                let about = best.time.map_or_else(
                    || best.predicted_us.map(|us| format!("  # ~{us:.1} µs, estimated")).unwrap_or_default(),
                    |time| format!("  # {:.1} µs", time.median_us),
                );
                rows += &format!("        ({values},): {},{about}\n", tuner.new_row(best));
            }
            let key = tuner.key.iter().map(|name| format!("{name:?}")).collect::<Vec<_>>().join(", ");
            let key = if tuner.key.len() == 1 { key + "," } else { key };
            out += &format!(
                "def prune_{name}(configs, named_args, **kwargs):\n    \
                 \"\"\"The best configuration on {} where it is known; for `prune_configs_by={{\"early_config_prune\": prune_{name}}}`.\"\"\"\n    \
                 sizes = {{**named_args, **kwargs}}\n    \
                 best = {{\n{rows}    }}.get(tuple(sizes.get(name) for name in ({key})))\n    \
                 return [best] if best else configs\n\n\n",
                if tuning.launches.iter().any(|tuned| tuned.timed_launches > 0) { &tuning.device } else { &tuning.gpu },
            );
        }
        Ok(out)
    }

    fn by_kernel<'t>(&self, path: &Path, tuning: &'t Tuning) -> Vec<(Function, Vec<&'t TunedLaunch>)> {
        let mut out: Vec<(Function, Vec<&TunedLaunch>)> = Vec::new();
        for tuned in &tuning.launches {
            let Some(kernel) = self.kernels(path).into_iter().rfind(|kernel| kernel.name == tuned.kernel) else { continue };
            match out.iter_mut().find(|(known, _)| *known == kernel.function) {
                Some((_, all)) => all.push(tuned),
                None => out.push((kernel.function, vec![tuned])),
            }
        }
        out
    }

    fn tuner(&self, file: SourceFile, kernel: Function) -> Option<Tuner> {
        let name = self.kernel(kernel)?.range;
        let (base, token) = token_at(self.db(), file, name.end)?;
        let def = token.parent_ancestors().find_map(ast::FunctionDef::cast)?;
        let scope = names(self.db(), file).scope_at(name.start);
        // A tuner of the project's own names its configurations as Triton's does.
        let is_tuner = |call: &ast::CallExpr| {
            let path = call.callee().and_then(|callee| naming::dotted(&callee));
            let found = path.and_then(|path| self.callee_of_path(file, scope, &path, false));
            found == Some(Callee::Autotune) || call.keyword("configs").is_some()
        };
        let mut decorators = def.decorators().filter_map(|decorator| match decorator.expr()? {
            Expr::CallExpr(call) => is_tuner(&call).then_some(call),
            _ => None,
        });
        let call = decorators.next()?;
        let positional = |at: usize| call.args().filter(|arg| arg.name().is_none()).nth(at)?.value();
        let configs = call.keyword("configs").or_else(|| positional(0))?;
        let key = call.keyword("key").or_else(|| positional(1));
        let strings =
            |expr: Expr| expr.syntax().descendants().filter_map(ast::StringExpr::cast).filter_map(|s| s.text_value()).collect();
        let around = items::in_file(base, def.syntax().text_range());
        let text = self.text(file.path(self.db()))?;
        let written = self.written_rows(file, &around, kernel).into_iter().flatten();
        let rows = written.filter_map(|(row, _)| text.get(row).map(str::to_owned)).collect();
        let callee = call.callee()?.syntax().text().to_string();
        let config = match callee.strip_suffix("autotune") {
            Some(module) => format!("{module}Config"),
            None => "triton.Config".to_owned(),
        };
        Some(Tuner {
            config,
            configs: items::in_file(base, configs.syntax().text_range()),
            rows,
            key: key.map(strings).unwrap_or_default(),
        })
    }
}

impl Tuner {
    fn spelled(&self, row: &TriedRow) -> String {
        let own = self.rows.get(row.row as usize).filter(|_| !row.proposed);
        own.map_or_else(|| self.new_row(row), |text| text.split('\n').map(str::trim).collect::<Vec<_>>().join(" "))
    }

    /// `triton.Config({"BLOCK": 128}, num_warps=4, num_stages=3)`
    fn new_row(&self, row: &TriedRow) -> String {
        let meta: Vec<String> = row.meta.iter().map(|(name, value)| format!("{name:?}: {value}")).collect();
        let registers = row.max_registers.map_or_else(String::new, |most| format!(", maxnreg={most}"));
        format!("{}({{{}}}, num_warps={}, num_stages={}{registers})", self.config, meta.join(", "), row.num_warps, row.num_stages)
    }
}

/// What a launch gives for the names of a tuner's key.
fn values(launch: &Launch, key: &[String]) -> Option<String> {
    let value = |name: &String| match launch.args.get(name.as_str()) {
        Some(LaunchArg::Int(value)) => Some(value.to_string()),
        Some(LaunchArg::Float(value)) => Some(format!("{value:?}")),
        Some(LaunchArg::Bool(value)) => Some(if *value { "True" } else { "False" }.to_owned()),
        Some(LaunchArg::None) => Some("None".to_owned()),
        Some(LaunchArg::Tensor(_) | LaunchArg::Tuple(_) | LaunchArg::Descriptor { .. }) => None,
        None => launch.meta.get(name.as_str()).map(ToString::to_string),
    };
    key.iter().map(value).collect::<Option<Vec<String>>>().map(|values| values.join(", "))
}
