//! The roofline: FLOP/s over FLOP per byte, both logarithmic, with a point for every configuration.
//!
//! **Invariant:** the height of a point is its work over its predicted time, so it lies at or below the roofs that the prediction knows;
//! roofs are the datasheet's, dense.

use std::fmt::Write as _;

use tritium_semantics::target::Board;

use super::{Chart, Svg, short};

/// One configuration.
#[derive(Debug, Clone, PartialEq)]
pub struct Mark {
    pub label: String,
    /// FLOP per byte of DRAM traffic.
    pub intensity: f64,
    pub tflops: f64,
    pub microseconds: f64,
    pub is_active: bool,
}

struct Roof {
    name: &'static str,
    tflops: f64,
}

fn roofs(board: &Board) -> Vec<Roof> {
    let roofs = [("f16 tensor", board.f16_tflops), ("tf32 tensor", board.tf32_tflops), ("f32", board.f32_tflops)];
    roofs.map(|(name, tflops)| Roof { name, tflops }).into_iter().collect()
}

/// The decades that hold everything.
struct Frame {
    x: (f64, f64),
    y: (f64, f64),
}

fn frame(board: &Board, marks: &[Mark]) -> Frame {
    let bandwidth = board.dram_bandwidth / 1000.0;
    let ridge = board.f16_tflops / bandwidth;
    let low = marks.iter().map(|m| m.intensity).fold(0.1f64, f64::min).max(1e-4);
    let high = marks.iter().map(|m| m.intensity).fold(ridge * 8.0, f64::max).min(1e7);
    let bottom = marks.iter().map(|m| m.tflops).fold(low * bandwidth, f64::min).max(1e-6);
    Frame { x: (low.log10().floor(), high.log10().ceil()), y: (bottom.log10().floor(), (board.f16_tflops * 1.2).log10().ceil()) }
}

pub fn chart(title: &str, board: &Board, marks: &[Mark], note: &str) -> Chart {
    let marks: Vec<Mark> =
        marks.iter().filter(|m| m.intensity > 0.0 && m.tflops > 0.0 && m.tflops.is_finite()).cloned().collect();
    Chart { title: title.to_owned(), svg: svg(title, board, &marks, note), text: text(title, board, &marks, note) }
}

const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 470.0;

fn svg(title: &str, board: &Board, marks: &[Mark], note: &str) -> String {
    let legend = marks.len().min(12);
    let mut svg = Svg::new(WIDTH, HEIGHT + 40.0 + 18.0 * legend as f64, title);
    svg.text(12.0, 22.0, "title", title);
    let Frame { x: (x0, x1), y: (y0, y1) } = frame(board, marks);
    let (left, right, top, bottom) = (64.0, WIDTH - 24.0, 40.0, HEIGHT - 44.0);
    let x = |value: f64| left + (right - left) * (value.log10() - x0) / (x1 - x0);
    let y = |value: f64| bottom - (bottom - top) * (value.log10() - y0) / (y1 - y0);
    for decade in x0 as i32..=x1 as i32 {
        let at = x(10f64.powi(decade));
        svg.line((at, top), (at, bottom), "grid");
        svg.text(at, bottom + 16.0, "faint middle", &short(10f64.powi(decade)));
    }
    for decade in y0 as i32..=y1 as i32 {
        let at = y(10f64.powi(decade));
        svg.line((left, at), (right, at), "grid");
        svg.text(left - 6.0, at + 4.0, "faint end", &short(10f64.powi(decade)));
    }
    svg.text((left + right) / 2.0, bottom + 34.0, "faint middle", "FLOP per byte of DRAM traffic");
    svg.text(12.0, top - 6.0 + 4.0, "faint", "TFLOP/s");
    let bandwidth = board.dram_bandwidth / 1000.0;
    let high = 10f64.powf(x1);
    for (index, roof) in roofs(board).iter().enumerate() {
        let ridge = roof.tflops / bandwidth;
        let from = (10f64.powf(y0) / bandwidth).max(10f64.powf(x0));
        let mut points = vec![(x(ridge), y(roof.tflops)), (x(high), y(roof.tflops))];
        if index == 0 {
            points.insert(0, (x(from), y(from * bandwidth)));
        }
        svg.path(&points, &format!("curve c{}", [0, 3, 1][index]));
        let label = format!("{}: {} TFLOP/s", roof.name, short(roof.tflops));
        svg.text(right - 4.0, y(roof.tflops) - 6.0, "end faint", &label);
    }
    let middle = (10f64.powf(x0) * board.f32_tflops / bandwidth).sqrt();
    let at = (x(middle) + 12.0, y(middle * bandwidth) + 14.0);
    svg.text(at.0, at.1, "faint", &format!("DRAM: {} GB/s", short(board.dram_bandwidth)));
    for (index, mark) in marks.iter().enumerate() {
        let at = (x(mark.intensity), y(mark.tflops));
        let title = described(mark);
        if mark.is_active {
            svg.circle(at, 9.0, "ring", &title);
        }
        svg.circle(at, 5.0, &format!("dot {}", if mark.is_active { "c4" } else { "c2" }), &title);
        if marks.len() > 1 {
            svg.text(at.0 + 8.0, at.1 - 7.0, "", &(index + 1).to_string());
        }
    }
    for (index, mark) in marks.iter().take(legend).enumerate() {
        let line = format!("{}. {}", index + 1, described(mark));
        svg.text(left, HEIGHT + 6.0 + 18.0 * index as f64, if mark.is_active { "on c4" } else { "" }, &line);
    }
    let sentence = note.split(". ").next().unwrap_or_default();
    svg.text(left, HEIGHT + 24.0 + 18.0 * legend as f64, "faint", sentence);
    svg.finish()
}

fn described(mark: &Mark) -> String {
    let active = if mark.is_active { " (active)" } else { "" };
    format!(
        "{}{active}: {} FLOP/byte, ~{} TFLOP/s, ~{:.1} µs",
        mark.label,
        short(mark.intensity),
        short(mark.tflops),
        mark.microseconds
    )
}

const COLUMNS: usize = 64;
const ROWS: usize = 18;

fn text(title: &str, board: &Board, marks: &[Mark], note: &str) -> String {
    let Frame { x: (x0, x1), y: (y0, y1) } = frame(board, marks);
    let bandwidth = board.dram_bandwidth / 1000.0;
    let mut grid = vec![vec![' '; COLUMNS]; ROWS];
    let column = |value: f64| ((value.log10() - x0) / (x1 - x0) * (COLUMNS - 1) as f64).round();
    let row = |value: f64| ((y1 - value.log10()) / (y1 - y0) * (ROWS - 1) as f64).round();
    let mut put = |x: f64, y: f64, c: char, over: bool| {
        if x >= 0.0 && y >= 0.0 && (x as usize) < COLUMNS && (y as usize) < ROWS {
            let cell = &mut grid[y as usize][x as usize];
            if over || *cell == ' ' {
                *cell = c;
            }
        }
    };
    for index in 0..COLUMNS {
        let intensity = 10f64.powf(x0 + (x1 - x0) * index as f64 / (COLUMNS - 1) as f64);
        let reach = intensity * bandwidth;
        if reach <= board.f16_tflops {
            put(index as f64, row(reach), '╱', false);
        }
        for roof in roofs(board).iter().filter(|roof| reach >= roof.tflops) {
            put(index as f64, row(roof.tflops), '─', false);
        }
    }
    let name = |index: usize| char::from_digit(index as u32 + 1, 36).unwrap_or('+');
    for (index, mark) in marks.iter().enumerate().rev() {
        put(column(mark.intensity), row(mark.tflops), name(index), true);
    }
    let mut out = format!("{title}\n\nTFLOP/s\n");
    for (index, line) in grid.iter().enumerate() {
        let value = 10f64.powf(y1 - (y1 - y0) * index as f64 / (ROWS - 1) as f64);
        let label = if index % 4 == 0 { format!("{value:.3}").chars().take(6).collect() } else { String::new() };
        let roof = roofs(board).into_iter().find(|roof| row(roof.tflops) as usize == index);
        let roof = roof.map(|roof| format!(" {} {}", roof.name, short(roof.tflops))).unwrap_or_default();
        let line: String = line.iter().collect();
        let _ = writeln!(out, "{}", format!("{label:>7} │{line}{roof}").trim_end());
    }
    let _ = writeln!(out, "        └{}", "─".repeat(COLUMNS));
    let (low, high) = (short(10f64.powf(x0)), short(10f64.powf(x1)));
    let gap = COLUMNS.saturating_sub(low.len() + high.len() + 30) / 2;
    let _ = writeln!(out, "         {low}{:gap$}FLOP per byte of DRAM traffic{:gap$}{high}", "", "");
    let _ = writeln!(out, "         ╱ DRAM: {} GB/s\n", short(board.dram_bandwidth));
    for (index, mark) in marks.iter().enumerate() {
        let _ = writeln!(out, "{} {}", name(index), described(mark));
    }
    let _ = writeln!(out, "\n{note}");
    out
}
