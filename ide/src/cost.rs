// Feature: Cost where it arises
//
//! What a loop and a line cost, as text: the hint at the end of a `for` line, and what a hover adds there and on loads and stores.
//!
//! **Invariant:** this file only words what the cost model says; every text tells for which launch, and that it is estimated.

use std::{collections::BTreeSet, ops::Range, path::Path};

use tritium_estimate::{
    access::Access,
    banks::Passage,
    cost::{LoopCost, PlaceCost, Unit, Work},
    products::Product,
    registers::Point,
    resources::{KernelReport, Stages},
};
use tritium_semantics::{elaborate::OriginData, problem::Place};

use crate::{Analysis, kernels::Kernel, report::si};

/// The hint of a loop: where, what, and what it means.
pub(crate) struct LoopHint {
    pub offset: usize,
    pub label: String,
    pub tooltip: String,
}

/// `48 KiB`, `1.5 MiB`, `640 B`.
pub(crate) fn binary(bytes: f64) -> String {
    for (scale, unit) in [(1u64 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")] {
        let scaled = bytes / scale as f64;
        if scaled >= 1.0 {
            let digits = usize::from(scaled < 9.95 && scaled.fract() > 0.05);
            return format!("{scaled:.digits$} {unit}");
        }
    }
    format!("{bytes:.0} B")
}

/// `85`, `8.5`, `0.25`.
fn ratio(value: f64) -> String {
    let digits = if value < 0.995 { 2 } else { usize::from(value < 9.95) };
    format!("{value:.digits$}")
}

/// `64 trips`, `cdiv(K, 64) trips`.
fn trips(cost: &LoopCost) -> Option<String> {
    let counted = |trips: f64| {
        let digits = usize::from((trips - trips.round()).abs() > 0.05);
        let text = format!("{trips:.digits$}");
        format!("{text} trip{}", if text == "1" { "" } else { "s" })
    };
    cost.trips.map(counted).or_else(|| cost.trips_text.as_ref().map(|text| format!("{text} trips")))
}

fn parts(cost: &LoopCost) -> Vec<String> {
    let mut out: Vec<String> = trips(cost).into_iter().collect();
    if let Some(trip) = &cost.trip {
        if trip.flops > 0.0 {
            out.push(format!("{}FLOP", si(trip.flops)));
        }
        if trip.bytes() > 0.0 {
            out.push(binary(trip.bytes()));
        }
    }
    out.extend(cost.intensity().filter(|&i| i > 0.0).map(|i| format!("{} FLOP/B", ratio(i))));
    out.extend(cost.limiter.map(|unit| unit.name().to_owned()));
    out
}

impl Analysis {
    /// The report of what a kernel is looked at under; `None` if it does not come that far.
    pub(crate) fn estimates(&self, kernel: &Kernel) -> Option<&KernelReport> {
        self.complete(kernel.active).ok()?;
        self.report_of(kernel.active).as_ref().ok()
    }

    /// A hint for every loop of the kernel's own body that does work.
    pub(crate) fn loop_hints(&self, kernel: &Kernel, report: &KernelReport, text: &str) -> Vec<LoopHint> {
        let origins = &self.elaborated(kernel.active.instance).origins;
        let mut out = Vec::new();
        for cost in &report.cost.loops {
            let Some(place) = own(origins, kernel, cost.origin) else { continue };
            let Some(range) = self.range(place) else { continue };
            let parts = parts(cost);
            // A number of trips alone is what the line says already.
            if cost.trip.is_some() && parts.len() > 1 {
                out.push(LoopHint {
                    offset: line_of(text, range.start).end,
                    label: parts.join(" · "),
                    tooltip: format!(
                        "One trip of one program: {}\n\nEstimated by Tritium for {} on {}",
                        sentence(cost.trip.as_ref()),
                        kernel.active.describe(self.db()),
                        self.gpu().name()
                    ),
                });
            }
        }
        out
    }

    /// What a hover adds on a line: of the loop that starts there, of the loads and stores there, of registers.
    pub(crate) fn line_facts(&self, kernel: &Kernel, path: &Path, offset: usize) -> Option<(Range<usize>, Vec<String>)> {
        let text = self.text(path)?;
        let line = line_of(&text, offset);
        let report = self.estimates(kernel)?;
        let origins = &self.elaborated(kernel.active.instance).origins;
        let here = |origin: u32| {
            own(origins, kernel, origin).and_then(|place| self.range(place)).is_some_and(|range| line.contains(&range.start))
        };
        let mut facts = Vec::new();
        for cost in report.cost.loops.iter().filter(|cost| here(cost.origin)) {
            facts.extend(self.loop_facts(cost));
        }
        let places: Vec<&PlaceCost> = report.cost.places.iter().filter(|place| here(place.origin)).collect();
        for access in report.accesses.iter().filter(|access| here(access.origin)) {
            facts.push(access_fact(access));
        }
        facts.extend(report.loops.iter().filter(|stages| here(stages.origin)).map(stages_fact));
        let by_triton = self.footprint(kernel.active).map_or(&[][..], |footprint| &footprint.products);
        for product in report.products.iter().filter(|product| here(product.origin)) {
            facts.push(product_fact(product));
            let units: BTreeSet<&str> = by_triton.iter().filter(|p| p.origin == product.origin).map(|p| p.unit).collect();
            facts.extend(units.iter().map(|unit| format!("product: {unit} (Triton, by its rules)")));
        }
        for passage in report.passages.iter().filter(|passage| here(passage.origin)) {
            facts.push(passage_fact(passage));
        }
        let loaded: f64 = places.iter().map(|p| p.loaded + p.stored).sum();
        let (flops, dram): (f64, f64) = places.iter().fold((0.0, 0.0), |sum, p| (sum.0 + p.flops, sum.1 + p.dram));
        if loaded > 0.0 || flops > 0.0 {
            let mut parts = Vec::new();
            if flops > 0.0 {
                parts.push(format!("{}FLOP", si(flops)));
            }
            if loaded > 0.0 {
                parts.push(format!("{}B asked for, {}B of them from or to DRAM", si(loaded), si(dram)));
            }
            let shares: Option<f64> = places.iter().map(|p| p.share).sum();
            if let (Some(share), Some(unit)) = (shares, report.cost.limiter()) {
                parts.push(format!("{:.0} % of the limiter ({})", 100.0 * share, unit.name()));
            }
            facts.push(format!("this line, whole launch: {} (estimated)", parts.join("; ")));
        }
        // Where nothing is computed, registers are of no interest.
        let most = |a: &&Point, b: &&Point| a.registers().total_cmp(&b.registers());
        if let Some(point) = report.pressure.iter().filter(|point| here(point.origin)).max_by(most)
            && !facts.is_empty()
        {
            facts.push(format!("live registers here: ~{:.0} ({}) (estimated)", point.registers(), point.describe()));
        }
        (!facts.is_empty()).then_some((line, facts))
    }

    fn loop_facts(&self, cost: &LoopCost) -> Vec<String> {
        let mut facts = Vec::new();
        let text = cost.trips_text.as_ref().filter(|text| text.parse::<u64>().is_err());
        match (trips(cost), text) {
            (Some(number), Some(text)) if cost.trips.is_some() => facts.push(format!("{number} = {text}")),
            (Some(number), _) => facts.push(number),
            (None, _) => facts.push("the number of trips depends on data".to_owned()),
        }
        if let Some(trip) = &cost.trip {
            facts.push(format!("one trip of one program: {} (estimated)", sentence(Some(trip))));
            if let (Some(trips), true) = (cost.trips, trip.flops + trip.bytes() > 0.0) {
                let all = format!("{}FLOP, {}", si(trip.flops * trips), binary(trip.bytes() * trips));
                facts.push(format!("all trips of one program: {all} (estimated)"));
            }
        }
        if let Some(limiter) = cost.limiter {
            let intensity = cost.intensity().map(|i| format!(", {} FLOP per byte asked for", ratio(i))).unwrap_or_default();
            facts.push(format!("limiter of a trip: {}{intensity}", limiter.name()));
        }
        facts
    }
}

fn sentence(trip: Option<&Work>) -> String {
    let Some(trip) = trip else { return "unknown".to_owned() };
    let mut parts = Vec::new();
    let mut add = |what: &str, amount: String, is_there: bool| {
        if is_there {
            parts.push(format!("{amount}{what}"));
        }
    };
    add("FLOP", si(trip.flops), trip.flops > 0.0);
    add(" loaded", binary(trip.loaded), trip.loaded > 0.0);
    add(" stored", binary(trip.stored), trip.stored > 0.0);
    add(" through shared memory", binary(trip.of(Unit::Shared)), trip.of(Unit::Shared) > 0.0);
    add("special functions", si(trip.of(Unit::Sfu)), trip.of(Unit::Sfu) > 0.0);
    if parts.is_empty() { "nothing that counts".to_owned() } else { parts.join(", ") }
}

fn access_fact(access: &Access) -> String {
    let what = if access.is_store { "store" } else { "load" };
    let mut fact = format!("{what}: {} bytes an instruction and thread", access.width_bytes);
    if let (Some(touched), Some(ideal)) = (access.sectors_per_request, access.ideal_sectors) {
        fact += &format!(", {touched} sectors a request ({ideal} would do)");
    }
    match &access.reason {
        Some(reason) => fact += &format!("; not wider: {reason}"),
        None => fact += ", the widest",
    }
    fact + if access.exact { " (Tritium's compiler, exact)" } else { " (Tritium's compiler; unknown strides taken as far apart)" }
}

fn stages_fact(stages: &Stages) -> String {
    let why = stages.reason.map(|reason| format!(", not {}: {reason}", stages.wanted)).unwrap_or_default();
    match stages.given {
        0 | 1 => format!("loads do not run ahead{why} (Tritium's compiler, exact)"),
        given => format!("loads run ahead in {given} stages{why} (Tritium's compiler, exact)"),
    }
}

fn product_fact(product: &Product) -> String {
    let reason = product.reason.as_ref().map(|reason| format!("; {reason}")).unwrap_or_default();
    format!("product: {}{reason} (Tritium's compiler, exact)", product.instruction)
}

fn passage_fact(passage: &Passage) -> String {
    let what = if passage.is_store { "written to" } else { "read from" };
    let banks = match passage.ways() {
        1.0 => "without bank conflicts".to_owned(),
        ways => format!(
            "{}-way bank conflicts ({} wavefronts a request, {} would do)",
            ratio(ways),
            passage.wavefronts,
            passage.ideal
        ),
    };
    format!("{what} shared memory: {} bytes an instruction and thread, {banks} (Tritium's compiler, exact)", passage.width_bytes)
}

/// The place of an origin in the kernel's own body; a helper's lines belong to many kernels.
fn own(origins: &[OriginData], kernel: &Kernel, origin: u32) -> Option<Place> {
    let data = origins.get(origin as usize)?;
    (data.place.function == kernel.function && data.inlined_at.is_none()).then_some(data.place)
}

/// Without its end.
pub(crate) fn line_of(text: &str, offset: usize) -> Range<usize> {
    let offset = offset.min(text.len());
    let bytes = text.as_bytes();
    let start = bytes[..offset].iter().rposition(|&b| b == b'\n').map_or(0, |at| at + 1);
    let end = bytes[offset..].iter().position(|&b| b == b'\n' || b == b'\r').map_or(bytes.len(), |at| offset + at);
    start..end
}
