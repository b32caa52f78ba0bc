//! `cargo xtask fit [--check]`: the constants of the estimates of registers (`estimate/src/fitted.rs`), from recorded rows.
//!
//! Every [`ONE_OF`]th row of `spills.triton.tsv` that Triton compiles is asked of the model, with all of its rules and without each of them: the
//! places of the kernel at which most is live (`tritium batch`, minutes). The constants are those that make the recorded spills likeliest if the
//! chance of one is a logistic function of the logarithm of need over limit, but for one in a hundred: at a ratio of 1 half of the kernels spill. What is published is
//! judged by leaving out whole packages: **no row is judged with constants that a row of its package had a part in.** The places are kept in
//! `spills.places.tsv`, so that a test finds the same constants again; `--check` asks a few rows anew.

use std::{
    collections::{BTreeMap, BTreeSet},
    f64::consts::PI,
    fmt::Write as _,
    fs,
    path::Path,
};

use serde_json::Value;

use crate::accuracy::{
    Judge,
    ask::batch,
    footprints::{self, Cells},
    judge, publish, say, table,
};

const ONE_OF: usize = 3;
/// Of the rows that are kept, `--check` asks one in so many.
const CHECKED_ONE_OF: usize = 16;
const ROWS: &str = "tests/data/accuracy/spills.triton.tsv";
const PLACES: &str = "tests/data/accuracy/spills.places.tsv";
const OWN: &str = "tests/data/accuracy/registers.exact.tsv";
const CONSTANTS: &str = "estimate/src/fitted.rs";

/// The words, and the ratios of need to limit from which on they hold. The margins are chosen, not fitted.
const WORDS: [(&str, f64); 3] = [("unlikely", 0.0), ("may", 0.8), ("will", 1.25)];

/// The part of kernels whose spills have reasons that no count of registers tells: some spill 8 bytes with 40 registers. Without it they alone would
/// say what the constants are.
const ODD: f64 = 0.01;

/// What is live at one place, as `estimate/src/triton/spills.rs` has it: registers that count as a whole and those that count by half.
type Place = [f64; 2];

/// A constant: its name, the steps in which it is fitted, where the fit begins, and its most; in steps.
const FITTED: [(&str, f64, i32, i32); 4] = [
    ("WHOLE", 0.05, 20, 40),
    ("HALF", 0.05, 10, 40),
    ("ALWAYS", 1.0, 8, 64),
    // How steeply the chance rises.
    ("", 0.25, 28, 80),
];

/// Steps of every constant.
type Constants = [i32; FITTED.len()];

fn numbers(constants: &Constants) -> [f64; FITTED.len()] {
    std::array::from_fn(|n| f64::from(constants[n]) * FITTED[n].1)
}

/// One recorded kernel.
#[derive(Clone)]
struct Row {
    package: String,
    kernel: String,
    limit: f64,
    spills: bool,
    places: Vec<Place>,
}

impl Row {
    fn needed(&self, numbers: &[f64; FITTED.len()]) -> f64 {
        let &[whole, half, always, _] = numbers;
        always + self.places.iter().map(|place| whole * place[0] + half * place[1]).fold(0.0, f64::max)
    }

    fn ratio(&self, constants: &Constants) -> f64 {
        self.needed(&numbers(constants)) / self.limit
    }

    /// How unlikely what was recorded is, as a negative logarithm.
    fn loss(&self, numbers: &[f64; FITTED.len()]) -> f64 {
        let rise = numbers[3] * (self.needed(numbers) / self.limit).ln();
        let against = if self.spills { -rise } else { rise };
        let chance = 1.0 / (1.0 + against.exp());
        -(ODD + (1.0 - 2.0 * ODD) * chance).ln()
    }
}

fn loss(rows: &[&Row], constants: &Constants) -> f64 {
    let numbers = numbers(constants);
    rows.iter().map(|row| row.loss(&numbers)).sum::<f64>() / rows.len().max(1) as f64
}

/// The constants of which none can be moved to make the rows likelier: one after another, in ever smaller steps.
fn fit(rows: &[&Row]) -> Constants {
    let mut found: Constants = std::array::from_fn(|n| FITTED[n].2);
    let mut least = loss(rows, &found);
    let mut stride = 4;
    while stride > 0 {
        let mut moved = false;
        for n in 0..FITTED.len() {
            for step in [stride, -stride] {
                loop {
                    let mut other = found;
                    other[n] += step;
                    let is_possible = (1..=FITTED[n].3).contains(&other[n]);
                    let loss = if is_possible { loss(rows, &other) } else { f64::INFINITY };
                    if loss + 1e-9 >= least {
                        break;
                    }
                    (found, least, moved) = (other, loss, true);
                }
            }
        }
        if !moved {
            stride /= 2;
        }
    }
    found
}

/// What is said of rows with constants from the other packages.
struct Judged {
    /// Of every row its ratio and its loss.
    rows: Vec<(f64, f64)>,
    /// Of all rows.
    constants: Constants,
}

fn judged(rows: &[Row]) -> Judged {
    let packages: BTreeSet<&str> = rows.iter().map(|row| row.package.as_str()).collect();
    let apart: BTreeMap<&str, Constants> = packages
        .into_iter()
        .map(|package| (package, fit(&rows.iter().filter(|row| row.package != package).collect::<Vec<_>>())))
        .collect();
    let of = |row: &Row| {
        let constants = &apart[row.package.as_str()];
        (row.ratio(constants), row.loss(&numbers(constants)))
    };
    Judged { rows: rows.iter().map(of).collect(), constants: fit(&rows.iter().collect::<Vec<_>>()) }
}

/// Rows of every word, and those of them that spill.
#[derive(Default, Clone, Copy)]
struct Counted([(usize, usize); WORDS.len()]);

impl Counted {
    fn add(&mut self, ratio: f64, spills: bool) {
        let word = WORDS.iter().rposition(|&(_, from)| ratio >= from).unwrap_or(0);
        self.0[word].0 += 1;
        self.0[word].1 += usize::from(spills);
    }

    fn percent(&self, word: usize) -> f64 {
        100.0 * self.0[word].1 as f64 / self.0[word].0.max(1) as f64
    }

    /// Of those that spill, the part that is said to.
    fn recall(&self) -> f64 {
        100.0 * self.0[2].1 as f64 / self.0.iter().map(|word| word.1).sum::<usize>().max(1) as f64
    }

    fn cells(&self) -> String {
        let cell = |word: usize| match self.0[word].0 {
            0 => "—".to_owned(),
            rows => format!("{:.1} % of {rows}", self.percent(word)),
        };
        format!("{} | {} | {} | {:.1} %", cell(0), cell(1), cell(2), self.recall())
    }
}

fn counted(rows: &[Row], judged: &Judged, is_meant: impl Fn(&Row) -> bool) -> Counted {
    let mut counted = Counted::default();
    rows.iter().zip(&judged.rows).filter(|(row, _)| is_meant(row)).for_each(|(row, said)| counted.add(said.0, row.spills));
    counted
}

/// The file of constants, from rows of Triton's code and of ours.
fn constants_text(rows: &[Row], own: &[(f64, f64)]) -> String {
    let judged = judged(rows);
    let counted = counted(rows, &judged, |_| true);
    let (beside, within) = band(own);
    let mut out = String::from(
        "//! What was measured on recorded kernels, all in one place: written by `cargo xtask fit`, which tells how; a test fits it again.\n\n\
         /// Registers that a thread of Triton's code needs: what is live, by how it is kept (`triton/spills.rs`), and some beside.\n",
    );
    for ((name, ..), number) in FITTED.iter().zip(numbers(&judged.constants)).filter(|((name, ..), _)| !name.is_empty()) {
        let text = format!("{number:.2}");
        let text = text.strip_suffix('0').unwrap_or(&text);
        let _ = writeln!(out, "pub(crate) const {name}: f64 = {text};");
    }
    let words: Vec<String> =
        WORDS.iter().enumerate().map(|(word, (_, from))| format!("({from:?}, {:.0})", counted.percent(word))).collect();
    let _ = write!(
        out,
        "\n/// The words of [`Spills`](crate::spills::Spills): the ratio of need to limit from which on each holds, and how many of a hundred such kernels\n\
         /// of Triton spill, in packages that the constants had not seen.\n\
         pub(crate) const WORDS: [(f64, u32); {}] = [{}];\n\n\
         /// Registers that a kernel of ours takes beside those that are live at once: the median. In nine of ten kernels ptxas takes no more and no\n\
         /// less than this part of the sum away from it.\n\
         pub(crate) const BESIDE_LIVE: f64 = {beside:.1};\n\
         pub(crate) const WITHIN: f64 = {:.2};\n\
         pub(crate) const WITHIN_TEXT: &str = \"within ±{within:.0} % for 9 of 10 kernels\";\n",
        WORDS.len(),
        words.join(", "),
        within / 100.0
    );
    out
}

/// Of kernels of ours, from the registers that ptxas takes and those that are live: the median of what is beside, in whole registers, and the
/// percents around the sum within which nine of ten are.
fn band(own: &[(f64, f64)]) -> (f64, f64) {
    let at = |mut values: Vec<f64>, part: f64| {
        values.sort_by(f64::total_cmp);
        values.get(((values.len() as f64 - 1.0) * part).round() as usize).copied().unwrap_or(0.0)
    };
    let beside = at(own.iter().map(|(exact, live)| exact - live).collect(), 0.5).round();
    let most = own.iter().map(|(exact, _)| *exact).fold(0.0, f64::max);
    let away = own.iter().map(|(exact, live)| (exact / (live + beside).min(most) - 1.0).abs());
    (beside, (100.0 * at(away.collect(), 0.9)).ceil())
}

fn own(root: &Path) -> Result<Vec<(f64, f64)>, String> {
    let number = |cell: &String| cell.parse::<f64>().map_err(|e| format!("{OWN}: {cell:?}: {e}"));
    table(&root.join(OWN))?.iter().map(|cells| Ok((number(&cells[4])?, number(&cells[6])?))).collect()
}

fn places_text(places: &[Place]) -> String {
    let one = |place: &Place| place.map(|count| count.to_string()).join(" ");
    places.iter().map(one).collect::<Vec<_>>().join(";")
}

fn parsed(text: &str) -> Option<Vec<Place>> {
    let one = |place: &str| {
        let counts: Vec<f64> = place.split(' ').map(str::parse).collect::<Result<_, _>>().ok()?;
        Place::try_from(counts).ok()
    };
    text.split(';').map(one).collect()
}

/// What was recorded of a row, and the places of the model.
fn recorded(cells: &[String], limit: f64, places: Vec<Place>) -> Row {
    let package = if cells[0] == "corpus" { cells[1].split('/').next().unwrap_or_default() } else { "ours" };
    Row { package: package.to_owned(), kernel: format!("{} {}", cells[1], cells[2]), limit, spills: cells[12] != "0", places }
}

/// The rows that are kept.
fn kept(root: &Path) -> Result<Vec<Row>, String> {
    let all = table(&root.join(ROWS))?;
    let one = |cells: &Vec<String>| {
        let [line, limit, places] = &cells[..] else { return None };
        Some(recorded(all.get(line.parse::<usize>().ok()?)?, limit.parse().ok()?, parsed(places)?))
    };
    let rows = table(&root.join(PLACES))?;
    rows.iter().map(|cells| one(cells).ok_or_else(|| format!("{PLACES}: not a row: {cells:?}"))).collect()
}

/// Rows of Triton by their lines, and what the model is asked about each.
fn asked(judge: &Judge, all: &[Vec<String>]) -> Result<Vec<(usize, Value)>, String> {
    let known = footprints::known(judge)?;
    let mut asked = Vec::new();
    for (line, cells) in all.iter().enumerate().filter(|(_, cells)| cells.get(10).is_some_and(|v| v == "ok")).step_by(ONE_OF) {
        let [source, file, kernel, args, constexprs, gpu, warps, stages, maxnreg, ..] = &cells[..] else { continue };
        let named = Cells { source, file, kernel, args, constexprs, gpu, warps, stages, maxnreg };
        if let Some(mut request) = footprints::request(judge, &known, &named)? {
            request["places"] = true.into();
            asked.push((line, request));
        }
    }
    Ok(asked)
}

/// Rules that are off, each with the places of a kernel.
type ByRule = Vec<(String, Vec<Place>)>;

/// The registers that there are, and the places of one answer.
fn answered(answer: &Option<Value>) -> Option<(f64, ByRule)> {
    let said = &answer.as_ref()?["triton"];
    Some((said["pressure"]["limit"].as_f64()?, serde_json::from_value(said["places"].clone()).ok()?))
}

pub(crate) fn run(mut arguments: impl Iterator<Item = String>) -> Result<(), String> {
    let check = match arguments.next().as_deref() {
        None => false,
        Some("--check") => true,
        Some(_) => return Err("usage: cargo xtask fit [--check]".to_owned()),
    };
    let Some(judge) = judge(check)? else { return Ok(()) };
    let all = table(&judge.root.join(ROWS))?;
    let mut asked = asked(&judge, &all)?;
    if check {
        asked = asked.into_iter().step_by(CHECKED_ONE_OF).collect();
    }
    let answers = batch(&judge, asked.iter().map(|(_, request)| request.clone()).collect(), "tile")?;
    // By rule; the first is all of them.
    let mut rules: Vec<(String, Vec<Row>)> = Vec::new();
    let mut lines = String::from("row\tlimit\tplaces\n");
    let mut without = 0;
    for ((line, _), answer) in asked.iter().zip(&answers) {
        let Some((limit, places)) = answered(answer) else {
            without += 1;
            continue;
        };
        for (n, (name, places)) in places.into_iter().enumerate() {
            if n == 0 {
                let _ = writeln!(lines, "{line}\t{limit}\t{}", places_text(&places));
            }
            if n == rules.len() {
                rules.push((name, Vec::new()));
            }
            rules[n].1.push(recorded(&all[*line], limit, places));
        }
    }
    if check {
        let old = fs::read_to_string(judge.root.join(PLACES)).map_err(|e| format!("{PLACES}: {e}"))?;
        let known: BTreeSet<&str> = old.lines().collect();
        let new: Vec<&str> = lines.lines().filter(|line| !known.contains(line)).collect();
        return match &new[..] {
            [] => Ok(()),
            [first, ..] => Err(format!(
                "the model no longer says what the constants were fitted to, of {} rows; the first: {first}\n`cargo xtask fit` fits them anew",
                new.len()
            )),
        };
    }
    fs::write(judge.root.join(PLACES), lines).map_err(|e| format!("{PLACES}: {e}"))?;
    let rows = kept(&judge.root)?;
    let text = constants_text(&rows, &own(&judge.root)?);
    fs::write(judge.root.join(CONSTANTS), text).map_err(|e| format!("{CONSTANTS}: {e}"))?;
    let section = section(&rows, &rules, without);
    say(&section)?;
    publish(&judge, "spills", &section)
}

/// What is published: the words by package, and what each rule is worth.
fn section(rows: &[Row], rules: &[(String, Vec<Row>)], without: usize) -> String {
    let all = judged(rows);
    let mut out = format!(
        "## Whether Triton's code spills\n\nWhat a thread needs by the model (`estimate/src/triton/spills.rs`) beside the registers that it has, in three words \
         (`estimate/src/spills.rs`), on {} kernels that Triton 3.6 compiled: every third row of `spills.triton.tsv`, most drawn by chance from what an autotuner \
         would try. The constants (`estimate/src/fitted.rs`) come from `cargo xtask fit`; here each package is judged with constants fitted to the \
         others alone. In each cell stands how many of the kernels that get the word spill.\n\n\
         | | unlikely (below {}×) | may | will (from {}×) | of those that spill, told to |\n|---|--:|--:|--:|--:|\n",
        rows.len(),
        WORDS[1].1,
        WORDS[2].1
    );
    let packages: BTreeSet<&str> = rows.iter().map(|row| row.package.as_str()).collect();
    for package in packages {
        let _ = writeln!(out, "| {package} | {} |", counted(rows, &all, |row| row.package == package).cells());
    }
    let _ = write!(
        out,
        "| all | {} |\n\n{without} of the rows asked are not understood, so nothing is said of them.\n\n\
         What each rule of the model is worth: switched off, with constants fitted anew. The error of the logarithm of the need is what the fitted \
         steepness says of its spread; the loss is the mean negative logarithm of what was recorded, in packages left out, and beside it how much more \
         that is than with all rules, with its standard error over kernels.\n\n\
         | without | error of the logarithm | loss | more | unlikely | may | will | told |\n|---|--:|--:|--:|--:|--:|--:|--:|\n",
        counted(rows, &all, |_| true).cells()
    );
    for (name, rows) in rules {
        let judged = judged(rows);
        let error = PI / (3f64.sqrt() * numbers(&judged.constants)[3]);
        let mean = |judged: &Judged| judged.rows.iter().map(|said| said.1).sum::<f64>() / judged.rows.len().max(1) as f64;
        let mut kernels: BTreeMap<&str, f64> = BTreeMap::new();
        for ((row, said), known) in rows.iter().zip(&judged.rows).zip(&all.rows) {
            *kernels.entry(&row.kernel).or_default() += said.1 - known.1;
        }
        let noise = kernels.values().map(|more| more * more).sum::<f64>().sqrt() / rows.len().max(1) as f64;
        let base = mean(&all);
        let more = match name.as_str() {
            "" => "—".to_owned(),
            _ => format!("{:+.1} ± {:.1} %", 100.0 * (mean(&judged) / base - 1.0), 100.0 * noise / base),
        };
        let name = if name.is_empty() { "(all rules)" } else { name };
        let _ = writeln!(
            out,
            "| {name} | {error:.3} | {:.4} | {more} | {} |",
            mean(&judged),
            counted(rows, &judged, |_| true).cells()
        );
    }
    out
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::{CONSTANTS, constants_text, kept, own};

    #[test]
    fn the_constants_are_what_the_fit_finds_in_the_rows_that_are_kept() {
        let root = crate::root();
        let (rows, own) = (kept(&root).expect("rows"), own(&root).expect("rows of ours"));
        let text = fs::read_to_string(root.join(CONSTANTS)).expect("the constants");
        assert_eq!(text, constants_text(&rows, &own), "`cargo xtask fit` writes them");
    }
}
