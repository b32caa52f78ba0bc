//! `tritium sanitize`.

use std::{collections::BTreeMap, process::ExitCode};

use serde_json::{Value, json};
use tritium_runtime::{
    exec::{self, Task},
    run::Findings,
};

use crate::{
    args::{Analysing, CheckFormat},
    job::{self, Outcome, Planned},
    printing::{self, Told},
    session::{self, Failure},
};

pub(crate) struct Request {
    pub(crate) job: job::Request,
    pub(crate) select: Vec<String>,
    pub(crate) ignore: Vec<String>,
}

pub(crate) fn sanitize(request: Request, format: CheckFormat, analysing: &Analysing) -> Result<ExitCode, Failure> {
    let mut options = session::options(analysing)?;
    options.select = if request.select.is_empty() { None } else { Some(session::selectors(&request.select)?) };
    options.ignore = session::selectors(&request.ignore)?;
    let mut host = session::host_with(options);
    let (files, mut failures) = request.job.files(&host)?;
    let (mut told, mut answers): (Vec<Told>, Vec<Value>) = (vec![], vec![]);
    let mut is_ok = true;
    let mut tally = Tally::default();
    for file in &files {
        let Some(analysis) = failures.keep(request.job.analysis(&mut host, file)) else { continue };
        let mut all: Option<Findings> = None;
        let went = request.job.each(file, request.job.jobs(&analysis, file, Task::Sanitize)?, |planned| {
            let checked = |planned: &Planned| -> Result<Outcome<Findings>, Failure> {
                let found = job::outcome(request.job.ask(|asking| exec::sanitize(&planned.job, asking))?);
                Ok(found.map(|findings| match planned.given() {
                    Some(entered) => findings.of_entered(entered),
                    None => findings,
                }))
            };
            let findings = match checked(&planned)? {
                Ok(findings) => findings,
                Err(why) => return Ok(Err(why)),
            };
            let others = planned.others(&analysis, &request.job);
            let findings = findings.or_of_others(others.filter_map(|other| checked(&other).ok()?.ok()));
            for entered in &findings.entered {
                eprintln!("{}: entered {entered}", file.display());
            }
            let findings = analysis.located(file, findings).0.counted();
            all = Some(match all.take() {
                None => findings,
                Some(known) => known.and(findings),
            });
            Ok(Ok(()))
        })?;
        is_ok &= went.ok();
        tally.stopped += went.stopped;
        tally.failed += went.failed;
        let Some(findings) = all else { continue };
        let (findings, found) = analysis.located(file, findings);
        is_ok &= findings.ok();
        tally.add(&findings);
        let found: Vec<Told> =
            found.into_iter().map(|file| Told { path: file.path, text: file.text, diagnostics: file.diagnostics }).collect();
        answers.push(to_json(&findings, &found));
        if matches!(format, CheckFormat::Full | CheckFormat::Concise) {
            session::print(&match format {
                CheckFormat::Full => printing::full(found.iter()),
                _ => printing::concise(found.iter()),
            })?;
            findings.launches.iter().for_each(|launch| eprintln!("{launch}"));
            eprintln!("{}", findings.summary());
        }
        told.extend(found);
    }
    match format {
        CheckFormat::Full | CheckFormat::Concise => {}
        CheckFormat::Json => match &answers[..] {
            [one] if request.job.is_one() => session::print(&session::pretty(one))?,
            [] if request.job.is_one() => {}
            files => session::print(&session::pretty(&json!({ "version": 1, "files": files })))?,
        },
        CheckFormat::Sarif => session::print(&session::pretty(&printing::sarif(told.iter())))?,
        CheckFormat::Github => session::print(&printing::github(told.iter()))?,
    }
    if !request.job.is_one() {
        eprintln!("{}", tally.summary());
    }
    Ok(failures.tell(if is_ok { ExitCode::SUCCESS } else { ExitCode::from(1) }))
}

/// What came of the launches of many files.
#[derive(Default)]
struct Tally {
    clean: usize,
    with_findings: usize,
    with_gaps: usize,
    /// Launches that are not known, and jobs that gave nothing.
    stopped: usize,
    failed: usize,
    codes: BTreeMap<String, usize>,
}

impl Tally {
    fn add(&mut self, findings: &Findings) {
        for launch in &findings.launches {
            *if launch.gap.is_some() {
                &mut self.with_gaps
            } else if launch.findings > 0 {
                &mut self.with_findings
            } else {
                &mut self.clean
            } += 1;
        }
        for found in &findings.findings {
            *self.codes.entry(found.code.clone()).or_default() += 1;
        }
    }

    fn summary(&self) -> String {
        let Tally { clean, with_findings, with_gaps, stopped, failed, codes } = self;
        let codes: Vec<String> = codes.iter().map(|(code, count)| format!("{code} {count}")).collect();
        let all = clean + with_findings + with_gaps;
        format!(
            "{all} launches: {clean} clean, {with_findings} with findings, {with_gaps} not checked to their end; {stopped} not known, {failed} \
             jobs gave nothing{}{}",
            if codes.is_empty() { "" } else { "; " },
            codes.join(", ")
        )
    }
}

/// The findings with their places as `check` writes them.
fn to_json(findings: &Findings, told: &[Told]) -> Value {
    let diagnostics: Vec<Value> = told.iter().flat_map(printing::to_json).collect();
    let mut answer = json!({ "version": 1, "file": findings.file, "launches": findings.launches, "findings": findings.findings,
        "diagnostics": diagnostics, "checked": findings.checked });
    if !findings.entered.is_empty() {
        answer["entered"] = json!(findings.entered);
    }
    answer
}
