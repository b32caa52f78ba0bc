//! The type of every assignment of published kernels, beside what Triton's own code generator binds there.
//!
//! The record, `tests/data/accuracy/assignments.tsv.gz`, is written by `tests/judge/assignments.py` under a Python with Triton 3.6; it holds
//! names and types only. **Every recorded assignment is compared; one that Tritium does not reach counts as different.**

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
};

use super::{
    Judge, Measured,
    ask::ask,
    corpus::{self, Row},
    percent,
};

pub(crate) fn measure(judge: &Judge) -> Result<Measured, String> {
    let record = judge.root.join("tests/data/accuracy/assignments.tsv");
    let text = super::record(&record)?;
    let recorded: BTreeMap<(&str, &str), &str> = text
        .lines()
        .filter_map(|line| {
            let mut cells = line.splitn(3, '\t');
            Some(((cells.next()?, cells.next()?), cells.next()?))
        })
        .collect();
    let (rows, _) = corpus::rows(judge)?;
    let rows: Vec<(Row, &str)> = rows
        .into_iter()
        .filter_map(|row| {
            let seen = recorded.get(&(row.path.as_str(), row.function.as_str())).copied()?;
            Some((row, seen))
        })
        .collect();
    let answers = ask(judge, rows.iter().map(|(row, _)| row.request.clone()).collect())?;
    let (mut disagreements, mut details) = (BTreeSet::new(), String::new());
    let mut packages: BTreeMap<&str, [usize; 4]> = BTreeMap::new();
    for ((row, seen), answer) in rows.iter().zip(&answers) {
        let count = packages.entry(&row.package).or_default();
        count[0] += 1;
        let mut ours: BTreeMap<(u64, &str), Vec<&str>> = BTreeMap::new();
        for (_, line, name, ty) in answer.iter().flat_map(|a| &a.values) {
            ours.entry((*line, name)).or_default().push(ty);
        }
        let mut taken: BTreeMap<(u64, &str), usize> = BTreeMap::new();
        let mut differs = false;
        for assignment in seen.split("; ").filter(|a| !a.is_empty()) {
            let mut parts = assignment.splitn(3, ' ');
            let (Some(Ok(line)), Some(name), Some(theirs)) = (parts.next().map(str::parse::<u64>), parts.next(), parts.next())
            else {
                return Err(format!("{}: `{assignment}` is no assignment", record.display()));
            };
            // Several of one name on one line are in their order.
            let index = taken.entry((line, name)).or_default();
            let here = ours.get(&(line, name)).and_then(|all| all.get(*index)).copied().unwrap_or("not reached");
            *index += 1;
            count[2] += 1;
            if here == theirs {
                count[3] += 1;
                continue;
            }
            differs = true;
            disagreements.insert(format!("{}\t{}\t{line} {name}\t{theirs}\t{here}", row.path, row.function));
            let _ = writeln!(details, "{}:{line} {}: `{name}` is {theirs}, here {here}", row.path, row.function);
        }
        count[1] += usize::from(!differs);
    }
    let mut section = String::from(
        "## Types of assignments\n\n| package | kernels | all types equal | assignments | equal |\n|---|--:|--:|--:|--:|\n",
    );
    let mut all = [0; 4];
    let mut line = |package: &str, count: &[usize; 4]| {
        let _ = writeln!(
            section,
            "| {package} | {} | {} ({}) | {} | {} ({}) |",
            count[0],
            count[1],
            percent(count[1], count[0]),
            count[2],
            count[3],
            percent(count[3], count[2])
        );
    };
    for (package, count) in &packages {
        line(package, count);
        for (sum, part) in all.iter_mut().zip(count) {
            *sum += part;
        }
    }
    line("all", &all);
    let below = match disagreements.len() {
        0 => vec![],
        n => vec![format!("{n} assignments differ")],
    };
    Ok(Measured { section, disagreements, details, below })
}
