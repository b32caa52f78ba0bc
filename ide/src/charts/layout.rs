//! A layout as a picture: which thread and register holds which element of a tile.
//!
//! Neighbours that one thread holds are one box, so the width of a box is what the thread moves at once. **Invariant:** a box says what
//! the linear map says; of a tile that is too large for a picture the first rows and columns are shown, and the picture says so.

use std::fmt::Write as _;

use tritium_tile::layout::{Distributed, algebra::unflatten};

use super::{Chart, Svg};

/// Shown of a tile.
const ROWS: u32 = 32;
const COLUMNS: u32 = 64;
/// Rows of a tile with one dimension.
const FOLDED: u32 = 64;
/// Pairs of thread and register that are looked at.
const MAX_HOLDERS: u64 = 1 << 22;

/// A layout with what has it.
#[derive(Debug, Clone)]
pub struct Shown {
    /// `x: f32[128, 64]`, or the number of the layout.
    pub name: String,
    /// What the values with it are.
    pub detail: String,
    pub layout: Distributed,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Holder {
    register: u32,
    lane: u32,
    warp: u32,
    /// How many hold the same element.
    copies: u32,
}

/// Neighbours in a row that one thread holds.
struct Run {
    row: u32,
    column: u32,
    width: u32,
    holder: Holder,
}

struct Picture {
    rows: u32,
    columns: u32,
    boxes: Vec<Run>,
    /// Not the whole tile.
    cut: Option<String>,
}

/// Extents as they are drawn: the last dimension across, the others down; a single dimension is folded.
fn extents(shape: &[u32]) -> (u32, u32) {
    match shape {
        [] => (1, 1),
        [n] => (n.div_ceil(FOLDED), (*n).min(FOLDED)),
        [outer @ .., last] => (outer.iter().fold(1, |n, &d| n.saturating_mul(d)), *last),
    }
}

fn picture(layout: &Distributed) -> Option<Picture> {
    let (all_rows, all_columns) = extents(&layout.shape);
    let (rows, columns) = (all_rows.min(ROWS), all_columns.min(COLUMNS));
    let (registers, warps) = (layout.num_registers() as u64, u64::from(layout.num_warps()));
    if registers * warps * 32 > MAX_HOLDERS {
        return None;
    }
    let mut holders: Vec<Option<Holder>> = vec![None; (rows * columns) as usize];
    for warp in 0..warps as u32 {
        for lane in 0..32 {
            for register in 0..registers as u32 {
                let flat = layout.apply(register, lane, warp);
                let (row, column) = (flat / all_columns, flat % all_columns);
                if row >= rows || column >= columns {
                    continue;
                }
                match &mut holders[(row * columns + column) as usize] {
                    Some(holder) => holder.copies += 1,
                    free => *free = Some(Holder { register, lane, warp, copies: 1 }),
                }
            }
        }
    }
    let mut boxes: Vec<Run> = Vec::new();
    for row in 0..rows {
        for column in 0..columns {
            let Some(holder) = holders[(row * columns + column) as usize] else { continue };
            match boxes.last_mut() {
                Some(last)
                    if last.row == row
                        && last.column + last.width == column
                        && (last.holder.lane, last.holder.warp) == (holder.lane, holder.warp)
                        && last.holder.register + last.width == holder.register =>
                {
                    last.width += 1;
                }
                _ => boxes.push(Run { row, column, width: 1, holder }),
            }
        }
    }
    let whole = rows == all_rows && columns == all_columns;
    let cut = (!whole).then(|| match layout.shape.len() {
        1 => format!("the first {} of {} elements", rows * columns, layout.shape[0]),
        _ => format!("the first {rows} of {all_rows} rows and {columns} of {all_columns} columns"),
    });
    Some(Picture { rows, columns, boxes, cut })
}

fn described(shape: &[u32], all_columns: u32, found: &Run) -> String {
    let index = |column: u32| {
        let flat = found.row * all_columns + column;
        unflatten(shape, flat).iter().map(u32::to_string).collect::<Vec<_>>().join(", ")
    };
    let Holder { register, lane, warp, copies } = found.holder;
    let last = found.column + found.width - 1;
    let (elements, registers) = match found.width {
        1 => (format!("[{}]", index(found.column)), format!("register {register}")),
        n => (format!("[{}] … [{}]", index(found.column), index(last)), format!("registers {register}…{}", register + n - 1)),
    };
    let copies = if copies > 1 { format!("; {copies} copies, this is the first") } else { String::new() };
    format!("{elements}: warp {warp}, lane {lane}, {registers}{copies}")
}

fn facts(layout: &Distributed) -> String {
    let per_thread = layout.num_registers();
    let threads = 32 * u64::from(layout.num_warps());
    let elements: u64 = layout.shape.iter().map(|&d| u64::from(d)).product();
    let copies = threads * per_thread as u64 / elements.max(1);
    let copies = if copies > 1 { format!(", every element {copies} times") } else { String::new() };
    format!("{per_thread} register{} in each of {threads} threads{copies}", if per_thread == 1 { "" } else { "s" })
}

pub fn chart(title: &str, shown: &[Shown]) -> Chart {
    Chart { title: title.to_owned(), svg: svg(title, shown), text: text(title, shown) }
}

const LEFT: f64 = 48.0;
const WIDTH: f64 = 720.0;

fn svg(title: &str, shown: &[Shown]) -> String {
    let pictures: Vec<Option<Picture>> = shown.iter().map(|s| picture(&s.layout)).collect();
    let cell = |p: &Picture| ((WIDTH / f64::from(p.columns)).min(40.0), 18.0);
    let height = |p: &Option<Picture>| p.as_ref().map_or(70.0, |p| 84.0 + 18.0 * f64::from(p.rows));
    let mut svg = Svg::new(LEFT + WIDTH + 24.0, 40.0 + pictures.iter().map(height).sum::<f64>(), title);
    svg.text(12.0, 22.0, "title", title);
    let mut top = 40.0;
    for (shown, picture) in shown.iter().zip(&pictures) {
        svg.text(12.0, top + 14.0, "", &shown.name);
        svg.text(12.0, top + 32.0, "faint", &format!("{}; {}", facts(&shown.layout), shown.detail));
        let Some(p) = picture else {
            svg.text(12.0, top + 50.0, "faint", "too large for a picture");
            top += 70.0;
            continue;
        };
        let (width, tall) = cell(p);
        let start = top + 52.0;
        let (_, all_columns) = extents(&shown.layout.shape);
        let mut column = 0;
        while column < p.columns {
            svg.text(LEFT + width * f64::from(column), start - 4.0, "faint", &column.to_string());
            column += (p.columns / 8).max(1);
        }
        for row in 0..p.rows {
            let label = if shown.layout.shape.len() == 1 { row * all_columns } else { row };
            svg.text(LEFT - 6.0, start + tall * f64::from(row) + 13.0, "faint end", &label.to_string());
        }
        for found in &p.boxes {
            let at = (LEFT + width * f64::from(found.column), start + tall * f64::from(found.row));
            let wide = width * f64::from(found.width);
            let Holder { lane, warp, .. } = found.holder;
            let opacity = 0.18 + 0.5 * f64::from(lane) / 31.0;
            let title = described(&shown.layout.shape, all_columns, found);
            svg.rect(at, (wide, tall), &format!("cell c{}", warp % 6), opacity, &title);
            let label = if wide >= 46.0 { format!("w{warp} t{lane}") } else { format!("t{lane}") };
            if wide >= 22.0 {
                svg.text(at.0 + wide / 2.0, at.1 + 13.0, "middle", &label);
            }
        }
        if let Some(cut) = &p.cut {
            svg.text(LEFT, start + tall * f64::from(p.rows) + 16.0, "faint", cut);
        }
        top += height(picture);
    }
    svg.finish()
}

fn text(title: &str, shown: &[Shown]) -> String {
    let mut out = format!("{title}\n");
    for Shown { name, detail, layout } in shown {
        let _ = writeln!(out, "\n{name}\n{}; {detail}", facts(layout));
        let Some(p) = picture(layout) else {
            out.push_str("too large for a picture\n");
            continue;
        };
        let (_, all_columns) = extents(&layout.shape);
        // As many boxes of a row as a terminal is wide.
        let label = |found: &Run| match found.width {
            1 => format!("w{} t{} r{}", found.holder.warp, found.holder.lane, found.holder.register),
            n => format!(
                "w{} t{} r{}…{}",
                found.holder.warp,
                found.holder.lane,
                found.holder.register,
                found.holder.register + n - 1
            ),
        };
        let wide = p.boxes.iter().map(|b| label(b).chars().count()).max().unwrap_or(0);
        let most = (96 / (wide + 3)).max(1);
        let mut cut = p.cut.clone();
        for row in 0..p.rows.min(16) {
            let boxes: Vec<&Run> = p.boxes.iter().filter(|b| b.row == row).collect();
            let number = if layout.shape.len() == 1 { row * all_columns } else { row };
            let _ = write!(out, "{number:>6} ");
            for found in boxes.iter().take(most) {
                let _ = write!(out, "│ {:wide$} ", label(found));
            }
            let _ = writeln!(out, "│{}", if boxes.len() > most { " …" } else { "" });
            if boxes.len() > most || p.rows > 16 {
                cut.get_or_insert_with(|| "the first rows and columns".to_owned());
            }
        }
        if let Some(cut) = cut {
            let _ = writeln!(out, "       {cut}");
        }
    }
    out.push_str("\nwW tL rR: register R of lane L of warp W. Tritium's compiler, exact.\n");
    out
}
