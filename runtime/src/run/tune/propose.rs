//! Rows that a tuner does not have and that the model thinks well of.
//!
//! From the best rows known, one step in one direction at a time: a tile twice or half as long, twice or half the warps, a stage more or
//! fewer. Only sizes that differ between the tuner's own rows are changed; others may be there for a reason.

use std::collections::BTreeSet;

use tritium_semantics::{
    Proposed,
    constant::Const,
    host,
    launch::{self, Launch},
};

use super::{assessed, each, gpu_of, put_aside, tuners};
use crate::{
    exec::Job,
    run::{self, Ended, Refusal, Site},
    tune::TriedRow,
};

/// Steps away from the tuner's rows, and the rows from which each step is made.
const STEPS: usize = 3;
const STARTS: usize = 4;
/// Rows that the model is asked about, of one launch.
const MAX_ASKED: usize = 96;
const TILES: std::ops::RangeInclusive<i128> = 16..=512;
const WARPS: std::ops::RangeInclusive<u32> = 1..=16;
const STAGES: std::ops::RangeInclusive<u32> = 1..=6;

/// For every tuner of the launches that a job names, as many as it asks for.
pub(super) fn proposed(job: &Job, site: &Site) -> Result<Vec<Proposed>, Ended> {
    let (mut db, file) = run::open(&job.path, job.text.clone(), job.chosen.clone(), &site.files);
    let (gpu, _) = gpu_of(job, &db, file)?;
    let launches = |db: &tritium_semantics::Database| {
        let found = launch::launches(db, file);
        let all = found.launches.iter().collect();
        let chosen = launch::select(all, |launch| launch.id(), job.launch.as_deref(), job.chosen.config).map_err(Refusal::new);
        chosen.map(|chosen| tuners(chosen.into_iter().cloned().collect()))
    };
    let mut out: Vec<Proposed> = Vec::new();
    for own in launches(&db)? {
        let kernel = own[0].kernel.name(&db).to_string();
        let configs = host::configs(&db, own[0].kernel).to_vec();
        let changing = changing(&configs);
        let mut asked: Vec<Proposed> = Vec::new();
        let mut known: Vec<(Point, TriedRow)> = Vec::new();
        let mut rows = own.clone();
        for step in 0..=STEPS {
            let mut tried: Vec<TriedRow> = each(&db, rows.iter().collect(), |db, launch| assessed(db, launch, gpu).0);
            put_aside(&mut tried);
            known =
                rows.iter().zip(tried).map(|(launch, row)| (Point::of(launch, &changing, &asked, configs.len()), row)).collect();
            known.retain(|(_, row)| row.skipped.is_none() && row.predicted_us.is_some());
            known.sort_by(|(_, a), (_, b)| a.predicted_us.unwrap_or(0.0).total_cmp(&b.predicted_us.unwrap_or(0.0)));
            if step == STEPS || asked.len() >= MAX_ASKED {
                break;
            }
            let mut seen: BTreeSet<Point> =
                rows.iter().map(|launch| Point::of(launch, &changing, &asked, configs.len()).alike()).collect();
            let starts: Vec<Point> = known.iter().take(STARTS).map(|(point, _)| point.clone()).collect();
            for next in starts.iter().flat_map(Point::neighbours) {
                if seen.insert(next.alike()) && asked.len() < MAX_ASKED {
                    asked.push(next.proposed(&kernel));
                }
            }
            let mut chosen = job.chosen.clone();
            chosen.proposed.extend(asked.clone());
            db.choose(chosen);
            rows = launches(&db)?.into_iter().find(|rows| rows[0].name == own[0].name).unwrap_or_default();
        }
        let wanted = known.iter().filter(|(_, row)| row.row as usize >= configs.len()).take(job.tune.propose as usize);
        for (point, _) in wanted {
            let proposed = point.proposed(&kernel);
            if !out.contains(&proposed) {
                out.push(proposed);
            }
        }
        db.choose(job.chosen.clone());
    }
    Ok(out)
}

/// Compile-time numbers that differ between rows and are sizes of tiles.
fn changing(configs: &[host::Config]) -> Vec<String> {
    let Some(first) = configs.first() else { return vec![] };
    let is_tile = |value: &Const| matches!(value, Const::Int(n) if TILES.contains(n) && n & (n - 1) == 0);
    let differs = |name: &str| configs.iter().any(|row| row.meta.get(name) != first.meta.get(name));
    let is_size = |name: &str| configs.iter().all(|row| row.meta.get(name).is_some_and(is_tile));
    first.meta.0.iter().map(|(name, _)| name.to_string()).filter(|name| differs(name) && is_size(name)).collect()
}

/// A row as a point of the space that is searched.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Point {
    /// The tuner's row that gives everything else.
    base: u32,
    sizes: Vec<(String, i64)>,
    warps: u32,
    stages: u32,
}

impl Point {
    fn of(launch: &Launch, changing: &[String], asked: &[Proposed], own: usize) -> Point {
        let row = launch.config.unwrap_or(0);
        let base = (row as usize).checked_sub(own).and_then(|at| asked.get(at)).map_or(row, |proposed| proposed.row);
        let size = |name: &String| match launch.meta.get(name.as_str()) {
            Some(Const::Int(value)) => Some((name.clone(), i64::try_from(*value).ok()?)),
            _ => None,
        };
        let sizes = changing.iter().filter_map(size).collect();
        Point { base, sizes, warps: launch.options.num_warps, stages: launch.options.num_stages }
    }

    /// The same whatever row it comes from.
    fn alike(&self) -> Point {
        Point { base: 0, ..self.clone() }
    }

    fn neighbours(&self) -> Vec<Point> {
        let mut out = Vec::new();
        for at in 0..self.sizes.len() {
            for size in [self.sizes[at].1 * 2, self.sizes[at].1 / 2] {
                if TILES.contains(&i128::from(size)) {
                    let mut point = self.clone();
                    point.sizes[at].1 = size;
                    out.push(point);
                }
            }
        }
        let warps = [self.warps * 2, self.warps / 2].into_iter().filter(|warps| WARPS.contains(warps));
        out.extend(warps.map(|warps| Point { warps, ..self.clone() }));
        let stages = [self.stages + 1, self.stages.saturating_sub(1)].into_iter().filter(|stages| STAGES.contains(stages));
        out.extend(stages.map(|stages| Point { stages, ..self.clone() }));
        out
    }

    fn proposed(&self, kernel: &str) -> Proposed {
        Proposed {
            kernel: kernel.to_owned(),
            row: self.base,
            meta: self.sizes.clone(),
            num_warps: Some(self.warps),
            num_stages: Some(self.stages),
        }
    }
}
