//! The chart as SVG ([`crate::charts::plot`]).

use super::{Point, Roofline};
use crate::{
    charts::{
        escape,
        plot::{LETTERS, Plot, SMALL_LETTERS, Scale},
        wrapped,
    },
    report::si,
};

pub(super) fn chart(roofline: &Roofline) -> String {
    let rows = legend(roofline);
    let lines: usize = rows.iter().map(|(_, lines)| lines.len()).sum();
    let decades = roofline.decades();
    let [x, y] = decades.unwrap_or([(0, 1); 2]);
    let about = format!("Roofline of {} on {}", roofline.file, roofline.gpu);
    let title = format!("Roofline on {}", roofline.gpu);
    let subtitle = format!("{}, by Tritium's compiler", roofline.file);
    let (across, up) = (Scale::across(f64::from(x.0), f64::from(x.1)), Scale::up(f64::from(y.0), f64::from(y.1)));
    let mut plot = Plot::new(&about, &title, &subtitle, lines, across, up);
    if decades.is_some() {
        let power = |decade: i32| 10f64.powi(decade);
        let intensity = |decade: i32| match decade {
            ..0 => format!("{:.*}", decade.unsigned_abs() as usize, power(decade)),
            _ => si(power(decade)).trim().to_owned(),
        };
        let xs: Vec<(f64, String)> = (x.0..=x.1).map(|decade| (power(decade), intensity(decade))).collect();
        let ys: Vec<(f64, String)> = (y.0..=y.1).map(|decade| (power(decade), format!("{}FLOP/s", si(power(decade))))).collect();
        plot.axes(&xs, &ys, "FLOP per byte of DRAM");
        for roof in &roofline.roofs {
            let ends = [power(x.0), roof.ridge(), power(x.1)];
            plot.line(&format!("roof {}", roof.source), ends.into_iter().map(|intensity| (intensity, roof.at(intensity))));
            let label = format!("{} {}FLOP/s ({})", roof.name, si(roof.peak), roof.source);
            plot.roof_label(roof.peak, roof.source, &label);
        }
        for (index, point) in roofline.points.iter().enumerate() {
            let title = format!("{}: {}", point.name(), point.describe());
            plot.mark("point", &attributes(point), &title, (point.intensity, point.flops), index + 1);
        }
    }
    plot.finish(&rows)
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

/// Which configuration a click on a point means.
fn attributes(point: &Point) -> String {
    let config = point.config.map(|config| format!(" data-config=\"{config}\"")).unwrap_or_default();
    format!(" data-kernel=\"{}\" data-launch=\"{}\"{config}", escape(&point.kernel), escape(&point.launch))
}
