//! A plot with logarithmic axes, as the roofline and a sweep draw it: a sheet, a grid with its labels, lines, and what stands below.
//!
//! **Invariant:** colours are CSS variables with defaults for light and dark, so that an editor's view can set its own; what comes from the
//! source is escaped.

use std::fmt::Write as _;

use super::escape;

pub(crate) const WIDTH: f64 = 860.0;
pub(crate) const LEFT: f64 = 96.0;
pub(crate) const RIGHT: f64 = 24.0;
pub(crate) const TOP: f64 = 56.0;
pub(crate) const PLOT: f64 = 380.0;
const LINE: f64 = 20.0;
/// Letters of a line that fit the width in the widest of usual fonts, in the text's size and in the small one.
pub(crate) const LETTERS: usize = 115;
pub(crate) const SMALL_LETTERS: usize = 125;

const STYLE: &str = "\
svg{--tritium-ink:#1f2328;--tritium-faint:#d1d9e0;--tritium-sheet:#0969da;--tritium-measured:#1a7f37;--tritium-point:#cf222e;--tritium-ground:#ffffff}
@media(prefers-color-scheme:dark){svg{--tritium-ink:#e6edf3;--tritium-faint:#3d444d;--tritium-sheet:#4493f8;--tritium-measured:#3fb950;--tritium-point:#ff7b72;--tritium-ground:#0d1117}}
text{font:12px system-ui,sans-serif;fill:var(--tritium-ink)}.title{font-size:15px;font-weight:600}.small{font-size:11px}
.ground{fill:var(--tritium-ground)}.grid{stroke:var(--tritium-faint);stroke-width:1}.frame{stroke:var(--tritium-ink);fill:none}
.roof{fill:none;stroke-width:2}.datasheet{stroke:var(--tritium-sheet)}.measured{stroke:var(--tritium-measured);stroke-dasharray:6 4}
.point circle{fill:var(--tritium-point);stroke:var(--tritium-ground);stroke-width:1.5}.point text{font-size:10px;font-weight:600;fill:var(--tritium-ground);text-anchor:middle}
.own{fill:none;stroke:var(--tritium-point);stroke-width:2}.other{fill:none;stroke:var(--tritium-ink);stroke-width:2}.predicted{fill:none;stroke:var(--tritium-point);stroke-width:1.5;stroke-dasharray:2 4}
.point.other{stroke:none}.point.other circle{fill:var(--tritium-ink)}
";

/// Along one axis: values to places, by their logarithms.
pub(crate) struct Scale {
    low: f64,
    decades: f64,
    start: f64,
    length: f64,
}

impl Scale {
    /// From left to right; in decades.
    pub(crate) fn across(low: f64, high: f64) -> Scale {
        Scale::new(low, high, LEFT, WIDTH - LEFT - RIGHT)
    }

    /// From the bottom to the top; in decades.
    pub(crate) fn up(low: f64, high: f64) -> Scale {
        Scale::new(low, high, TOP + PLOT, -PLOT)
    }

    fn new(low: f64, high: f64, start: f64, length: f64) -> Scale {
        let decades = high - low;
        Scale { low, decades: if decades > 0.0 { decades } else { 1.0 }, start, length }
    }

    /// Values outside of the axis stay at its ends.
    pub(crate) fn at(&self, value: f64) -> f64 {
        self.start + ((value.max(f64::MIN_POSITIVE).log10() - self.low) / self.decades).clamp(0.0, 1.0) * self.length
    }
}

/// A plot being written.
pub(crate) struct Plot {
    pub(crate) out: String,
    pub(crate) across: Scale,
    pub(crate) up: Scale,
}

impl Plot {
    /// An empty sheet with so many lines below the plot; `about` is what a reader of screens is told.
    pub(crate) fn new(about: &str, title: &str, subtitle: &str, lines: usize, across: Scale, up: Scale) -> Plot {
        let height = TOP + PLOT + 84.0 + LINE * lines as f64;
        let out = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" height=\"{height}\" role=\"img\">\n<title>{}</title>\n<style>\n{STYLE}</style>\n<rect class=\"ground\" width=\"{WIDTH}\" height=\"{height}\"/>\n",
            escape(about)
        );
        let mut plot = Plot { out, across, up };
        plot.text(LEFT, 26.0, "title", "", title);
        plot.text(LEFT, 44.0, "small", "", subtitle);
        plot
    }

    /// `anchor`: `middle`, `end`, or nothing.
    pub(crate) fn text(&mut self, x: f64, y: f64, class: &str, anchor: &str, content: &str) {
        let given = |name: &str, value: &str| if value.is_empty() { String::new() } else { format!(" {name}=\"{value}\"") };
        let (class, anchor) = (given("class", class), given("text-anchor", anchor));
        let _ = writeln!(self.out, "<text{class}{anchor} x=\"{x:.1}\" y=\"{y:.1}\">{}</text>", escape(content));
    }

    /// The grid, its labels, the frame, and what the lower axis is about.
    pub(crate) fn axes(&mut self, xs: &[(f64, String)], ys: &[(f64, String)], name: &str) {
        for (value, label) in xs {
            let at = self.across.at(*value);
            let _ = writeln!(self.out, "<line class=\"grid\" x1=\"{at:.1}\" x2=\"{at:.1}\" y1=\"{TOP}\" y2=\"{}\"/>", TOP + PLOT);
            self.text(at, TOP + PLOT + 16.0, "small", "middle", label);
        }
        for (value, label) in ys {
            let at = self.up.at(*value);
            let _ =
                writeln!(self.out, "<line class=\"grid\" x1=\"{LEFT}\" x2=\"{}\" y1=\"{at:.1}\" y2=\"{at:.1}\"/>", WIDTH - RIGHT);
            self.text(LEFT - 8.0, at + 4.0, "small", "end", label);
        }
        let width = WIDTH - LEFT - RIGHT;
        let _ = writeln!(self.out, "<rect class=\"frame\" x=\"{LEFT}\" y=\"{TOP}\" width=\"{width}\" height=\"{PLOT}\"/>");
        self.text((LEFT + WIDTH - RIGHT) / 2.0, TOP + PLOT + 38.0, "", "middle", name);
    }

    /// A line through points, in the units of the axes.
    pub(crate) fn line(&mut self, class: &str, points: impl Iterator<Item = (f64, f64)>) {
        let points: Vec<String> = points.map(|(x, y)| format!("{:.1},{:.1}", self.across.at(x), self.up.at(y))).collect();
        let _ = writeln!(self.out, "<polyline class=\"{class}\" points=\"{}\"/>", points.join(" "));
    }

    /// A roof's name at its right end.
    pub(crate) fn roof_label(&mut self, at: f64, source: &str, label: &str) {
        let above = if source == "measured" { 13.0 } else { -5.0 };
        let y = self.up.at(at) + above;
        self.text(WIDTH - RIGHT - 6.0, y, "small", "end", label);
    }

    /// A numbered point; `attributes` as they stand in the tag.
    pub(crate) fn mark(&mut self, class: &str, attributes: &str, title: &str, (x, y): (f64, f64), number: usize) {
        let (x, y) = (self.across.at(x), self.up.at(y));
        let _ = writeln!(
            self.out,
            "<g class=\"{class}\"{attributes}><title>{}</title><circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"8\"/><text x=\"{x:.1}\" y=\"{:.1}\">{number}</text></g>",
            escape(title),
            y + 3.5
        );
    }

    /// With the lines below.
    pub(crate) fn finish(mut self, below: &[(&str, Vec<String>)]) -> String {
        let mut y = TOP + PLOT + 70.0;
        for (class, lines) in below {
            for line in lines {
                self.text(LEFT - 60.0, y, class, "", line);
                y += LINE;
            }
        }
        self.out + "</svg>\n"
    }
}
