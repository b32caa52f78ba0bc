//! The chart for a terminal and for Neovim: 72 columns of characters, then the list.

use std::fmt::Write as _;

use super::Roofline;
use crate::report::si;

const COLUMNS: usize = 64;
const ROWS: usize = 18;

/// Points beyond these share a star.
const MARKS: &[u8] = b"123456789abcdefghijklmnopqrstuvwxyz";

fn mark(index: usize) -> char {
    MARKS.get(index).map_or('*', |&mark| char::from(mark))
}

pub(super) fn chart(roofline: &Roofline) -> String {
    let mut out = format!("Roofline on {}: {}\n", roofline.gpu, roofline.file);
    if let Some([x, y]) = roofline.decades() {
        let mut grid = vec![[' '; COLUMNS]; ROWS];
        let intensity =
            |column: usize| 10f64.powf(f64::from(x.0) + f64::from(x.1 - x.0) * (column as f64 + 0.5) / COLUMNS as f64);
        let row = |rate: f64| {
            let up = (rate.max(f64::MIN_POSITIVE).log10() - f64::from(y.0)) / f64::from((y.1 - y.0).max(1));
            ROWS - 1 - ((up.clamp(0.0, 1.0) * ROWS as f64) as usize).min(ROWS - 1)
        };
        // The datasheet's last: where both are in one place it is what is seen.
        let mut roofs: Vec<_> = roofline.roofs.iter().collect();
        roofs.sort_by_key(|roof| roof.source == "datasheet");
        for roof in roofs {
            for (column, at) in (0..COLUMNS).map(intensity).enumerate() {
                let flat = at >= roof.ridge();
                grid[row(roof.at(at))][column] = match (roof.source, flat) {
                    ("datasheet", true) => '─',
                    ("datasheet", false) => '╱',
                    _ => '·',
                };
            }
        }
        for (index, point) in roofline.points.iter().enumerate() {
            let across = (point.intensity.max(f64::MIN_POSITIVE).log10() - f64::from(x.0)) / f64::from((x.1 - x.0).max(1));
            let column = ((across.clamp(0.0, 1.0) * COLUMNS as f64) as usize).min(COLUMNS - 1);
            grid[row(point.flops)][column] = mark(index);
        }
        for (index, line) in grid.iter().enumerate() {
            let top = 10f64.powf(f64::from(y.0) + f64::from(y.1 - y.0) * (ROWS - index) as f64 / ROWS as f64);
            let label = if index % 4 == 0 { format!("{}FLOP/s", si(top)) } else { String::new() };
            let cells: String = line.iter().collect();
            let _ = writeln!(out, "{label:>13} │{}", cells.trim_end());
        }
        let _ = writeln!(out, "{:>13} └{}", "", "─".repeat(COLUMNS));
        let decades = (x.1 - x.0).max(1) as usize;
        let mut axis = String::new();
        for decade in 0..=decades {
            let column = decade * COLUMNS / decades;
            while axis.chars().count() < column {
                axis.push(' ');
            }
            axis += &format!("{}", 10f64.powi(x.0 + decade as i32));
        }
        let _ = writeln!(out, "{:>13}  {axis}  FLOP per byte of DRAM\n", "");
        for roof in &roofline.roofs {
            let line = if roof.source == "datasheet" { '─' } else { '·' };
            let _ =
                writeln!(out, "{line} {} {}FLOP/s, DRAM {}B/s ({})", roof.name, si(roof.peak), si(roof.bandwidth), roof.source);
        }
    }
    for (index, point) in roofline.points.iter().enumerate() {
        let warps = format!("{} warps, {} stages", point.num_warps, point.num_stages);
        let meta = if point.meta.is_empty() { warps } else { format!("{}, {warps}", point.meta) };
        let _ = writeln!(out, "{} {} ({meta}): {}", mark(index), point.name(), point.describe());
    }
    for missing in &roofline.missing {
        let _ = writeln!(out, "– {missing}");
    }
    let _ = writeln!(out, "Estimated by Tritium's compiler: {}.", roofline.assumption);
    out
}
