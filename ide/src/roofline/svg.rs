//! The chart as SVG, drawn by hand: lines, circles and text are all there is.
//!
//! **Invariant:** colours are CSS variables with defaults for light and dark, so that an editor's view can set its own; what comes from the
//! source is escaped.

use std::fmt::Write as _;

use super::{Point, Roofline};
use crate::{
    charts::{escape, wrapped},
    report::si,
};

const WIDTH: f64 = 860.0;
const LEFT: f64 = 96.0;
const RIGHT: f64 = 24.0;
const TOP: f64 = 56.0;
const PLOT: f64 = 380.0;
const LINE: f64 = 20.0;
/// Letters of a line that fit the width in the widest of usual fonts, in the text's size and in the small one.
const LETTERS: usize = 115;
const SMALL_LETTERS: usize = 125;

const STYLE: &str = "\
svg{--tritium-ink:#1f2328;--tritium-faint:#d1d9e0;--tritium-sheet:#0969da;--tritium-measured:#1a7f37;--tritium-point:#cf222e;--tritium-ground:#ffffff}
@media(prefers-color-scheme:dark){svg{--tritium-ink:#e6edf3;--tritium-faint:#3d444d;--tritium-sheet:#4493f8;--tritium-measured:#3fb950;--tritium-point:#ff7b72;--tritium-ground:#0d1117}}
text{font:12px system-ui,sans-serif;fill:var(--tritium-ink)}.title{font-size:15px;font-weight:600}.small{font-size:11px}
.ground{fill:var(--tritium-ground)}.grid{stroke:var(--tritium-faint);stroke-width:1}.frame{stroke:var(--tritium-ink);fill:none}
.roof{fill:none;stroke-width:2}.datasheet{stroke:var(--tritium-sheet)}.measured{stroke:var(--tritium-measured);stroke-dasharray:6 4}
.point circle{fill:var(--tritium-point);stroke:var(--tritium-ground);stroke-width:1.5}.point text{font-size:10px;font-weight:600;fill:var(--tritium-ground);text-anchor:middle}
";

struct Scale {
    low: f64,
    decades: f64,
    start: f64,
    length: f64,
}

impl Scale {
    fn new((low, high): (i32, i32), start: f64, length: f64) -> Scale {
        Scale { low: f64::from(low), decades: f64::from((high - low).max(1)), start, length }
    }

    /// Values outside of the axis stay at its ends.
    fn at(&self, value: f64) -> f64 {
        self.start + ((value.max(f64::MIN_POSITIVE).log10() - self.low) / self.decades).clamp(0.0, 1.0) * self.length
    }
}

pub(super) fn chart(roofline: &Roofline) -> String {
    let rows = legend(roofline);
    let lines: usize = rows.iter().map(|(_, lines)| lines.len()).sum();
    let height = TOP + PLOT + 84.0 + LINE * lines as f64;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" height=\"{height}\" role=\"img\">\n<title>Roofline of {} on {}</title>\n<style>\n{STYLE}</style>\n<rect class=\"ground\" width=\"{WIDTH}\" height=\"{height}\"/>\n",
        escape(&roofline.file),
        escape(&roofline.gpu)
    );
    text(&mut out, LEFT, 26.0, "title", &format!("Roofline on {}", roofline.gpu));
    text(&mut out, LEFT, 44.0, "small", &format!("{}, by Tritium's compiler", roofline.file));
    if let Some([x, y]) = roofline.decades() {
        axes(&mut out, x, y);
        let (across, up) = (Scale::new(x, LEFT, WIDTH - LEFT - RIGHT), Scale::new(y, TOP + PLOT, -PLOT));
        for roof in &roofline.roofs {
            let (from, to) = (10f64.powi(x.0), 10f64.powi(x.1));
            let points: Vec<String> = [from, roof.ridge(), to]
                .into_iter()
                .map(|intensity| format!("{:.1},{:.1}", across.at(intensity), up.at(roof.at(intensity))))
                .collect();
            let _ = writeln!(out, "<polyline class=\"roof {}\" points=\"{}\"/>", roof.source, points.join(" "));
            let label = format!("{} {}FLOP/s ({})", roof.name, si(roof.peak), roof.source);
            let above = if roof.source == "measured" { 13.0 } else { -5.0 };
            let _ = writeln!(
                out,
                "<text class=\"small\" text-anchor=\"end\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
                WIDTH - RIGHT - 6.0,
                up.at(roof.peak) + above,
                escape(&label)
            );
        }
        for (index, point) in roofline.points.iter().enumerate() {
            mark(&mut out, point, index, across.at(point.intensity), up.at(point.flops));
        }
    }
    let mut below = TOP + PLOT + 70.0;
    for (class, lines) in rows {
        for line in lines {
            text(&mut out, LEFT - 60.0, below, class, &line);
            below += LINE;
        }
    }
    out + "</svg>\n"
}

/// What stands below the plot, each row broken into lines that fit.
fn legend(roofline: &Roofline) -> Vec<(&'static str, Vec<String>)> {
    let points = roofline.points.iter().enumerate().map(|(index, point)| {
        let warps = format!("{} warps, {} stages", point.num_warps, point.num_stages);
        let meta = if point.meta.is_empty() { warps } else { format!("{}, {warps}", point.meta) };
        format!("{}  {} ({meta}): {}", index + 1, point.name(), point.describe())
    });
    let missing = roofline.missing.iter().map(|missing| format!("–  {missing}"));
    let rows = points.chain(missing).map(|row| ("", wrapped(&row, LETTERS)));
    rows.chain([("small", wrapped(&format!("Estimated: {}", roofline.assumption), SMALL_LETTERS))]).collect()
}

fn text(out: &mut String, x: f64, y: f64, class: &str, content: &str) {
    let _ = writeln!(out, "<text class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\">{}</text>", escape(content));
}

fn axes(out: &mut String, x: (i32, i32), y: (i32, i32)) {
    let (across, up) = (Scale::new(x, LEFT, WIDTH - LEFT - RIGHT), Scale::new(y, TOP + PLOT, -PLOT));
    for decade in x.0..=x.1 {
        let at = across.at(10f64.powi(decade));
        let _ = writeln!(out, "<line class=\"grid\" x1=\"{at:.1}\" x2=\"{at:.1}\" y1=\"{TOP}\" y2=\"{}\"/>", TOP + PLOT);
        let label = if decade < 0 {
            format!("{:.*}", decade.unsigned_abs() as usize, 10f64.powi(decade))
        } else {
            si(10f64.powi(decade))
        };
        let _ = writeln!(
            out,
            "<text class=\"small\" text-anchor=\"middle\" x=\"{at:.1}\" y=\"{:.1}\">{}</text>",
            TOP + PLOT + 16.0,
            label.trim()
        );
    }
    for decade in y.0..=y.1 {
        let at = up.at(10f64.powi(decade));
        let _ = writeln!(out, "<line class=\"grid\" x1=\"{LEFT}\" x2=\"{}\" y1=\"{at:.1}\" y2=\"{at:.1}\"/>", WIDTH - RIGHT);
        let _ = writeln!(
            out,
            "<text class=\"small\" text-anchor=\"end\" x=\"{:.1}\" y=\"{:.1}\">{}FLOP/s</text>",
            LEFT - 8.0,
            at + 4.0,
            si(10f64.powi(decade))
        );
    }
    let _ = writeln!(
        out,
        "<rect class=\"frame\" x=\"{LEFT}\" y=\"{TOP}\" width=\"{}\" height=\"{PLOT}\"/>\n<text text-anchor=\"middle\" x=\"{:.1}\" y=\"{:.1}\">FLOP per byte of DRAM</text>",
        WIDTH - LEFT - RIGHT,
        (LEFT + WIDTH - RIGHT) / 2.0,
        TOP + PLOT + 38.0
    );
}

fn mark(out: &mut String, point: &Point, index: usize, x: f64, y: f64) {
    let config = point.config.map(|config| format!(" data-config=\"{config}\"")).unwrap_or_default();
    let _ = writeln!(
        out,
        "<g class=\"point\" data-kernel=\"{}\" data-launch=\"{}\"{config}><title>{}: {}</title><circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"8\"/><text x=\"{x:.1}\" y=\"{:.1}\">{}</text></g>",
        escape(&point.kernel),
        escape(&point.launch),
        escape(&point.name()),
        escape(&point.describe()),
        y + 3.5,
        index + 1
    );
}
