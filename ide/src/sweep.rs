// Feature: Sweeps
//
//! A size over several values: of a launch block, or a free name of a function that is entered.

use std::path::Path;

use tritium_semantics::launch;

use crate::Analysis;

/// Values that one sweep has at most.
const MAX_VALUES: usize = 256;

/// `N=1024..65536:*2`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sweep {
    pub name: String,
    /// Ascending, each once.
    pub values: Vec<i64>,
}

impl Sweep {
    /// `N=1024..65536:*2`, `N=64..1024:+64`, `N=1000,1024,4096`; without a step each value is twice the one before.
    pub fn parse(text: &str) -> Result<Sweep, String> {
        let wrong = |why: &str| format!("{why}: a sweep is written `N=1024..65536:*2`, `N=64..1024:+64` or `N=1000,1024,4096`");
        let (name, values) = text.split_once('=').ok_or_else(|| wrong("it names no size"))?;
        let number = |text: &str| {
            let plain = text.trim().replace('_', "");
            plain.parse::<i64>().ok().filter(|value| *value > 0).ok_or_else(|| wrong(&format!("`{text}` is no size")))
        };
        let mut all = Vec::new();
        match values.split_once("..") {
            None => {
                for value in values.split(',') {
                    all.push(number(value)?);
                }
            }
            Some((from, rest)) => {
                let (to, step) = rest.split_once(':').unwrap_or((rest, "*2"));
                let (from, to) = (number(from)?, number(to)?);
                let (times, by) = match (step.strip_prefix('*'), step.strip_prefix('+')) {
                    (Some(factor), _) => (true, number(factor)?),
                    (None, Some(by)) => (false, number(by)?),
                    (None, None) => return Err(wrong(&format!("`{step}` is no step"))),
                };
                if times && by < 2 {
                    return Err(wrong("a factor is at least 2"));
                }
                let mut value = Some(from);
                while let Some(at) = value.filter(|at| *at <= to) {
                    all.push(at);
                    if all.len() > MAX_VALUES {
                        break;
                    }
                    value = if times { at.checked_mul(by) } else { at.checked_add(by) };
                }
            }
        }
        all.sort_unstable();
        all.dedup();
        match all.len() {
            0 => Err(wrong("it has no value")),
            1..=MAX_VALUES => Ok(Sweep { name: name.trim().to_owned(), values: all }),
            _ => Err(format!("more than {MAX_VALUES} values")),
        }
    }
}

impl Analysis {
    /// The launches that launch blocks give a size of this name; of one launch or kernel where that is named.
    pub fn launches_with_size(&self, path: &Path, size: &str, wanted: Option<&str>) -> Vec<String> {
        let Some(file) = self.file(path) else { return vec![] };
        let kernel_of =
            |name: &str| launch::launches(self.db(), file).launches.iter().find(|launch| launch.name == name).map(|l| l.kernel);
        let is_wanted = |name: &str| {
            wanted.is_none_or(|wanted| {
                launch::is_of(wanted, name) || kernel_of(name).is_some_and(|kernel| kernel.name(self.db()) == wanted)
            })
        };
        let found = launch::launches_with_size(self.db(), file, size);
        found.into_iter().map(|name| name.to_string()).filter(|name| is_wanted(name)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_ascend_and_end() {
        let values = |text: &str| Sweep::parse(text).map(|sweep| sweep.values);
        assert_eq!(values("N=1024..8192:*2"), Ok(vec![1024, 2048, 4096, 8192]));
        assert_eq!(values("N=1024..5000"), Ok(vec![1024, 2048, 4096]));
        assert_eq!(values(" N = 64..256:+64"), Ok(vec![64, 128, 192, 256]));
        assert_eq!(values("N=4_096,1000,4096"), Ok(vec![1000, 4096]));
        assert_eq!(values("N=9223372036854775807..9223372036854775807:*2"), Ok(vec![i64::MAX]));
        assert_eq!(Sweep::parse("x.n = 3").map(|sweep| sweep.name), Ok("x.n".to_owned()));
        for wrong in [
            "",
            "N",
            "N=",
            "N=0",
            "N=-1..4",
            "N=1..4:2",
            "N=1..4:*1",
            "N=1..4:+0",
            "N=8..4",
            "N=1..100000:+1",
            "N=1..x",
            "N=1,,2",
        ] {
            assert!(values(wrong).is_err(), "{wrong}: {:?}", values(wrong));
        }
    }
}
