//! The last touches to the PTX that LLVM prints. **The header says exactly what was asked for, or there is no PTX.**

use super::PtxRequest;

/// Takes back the debug mark, and checks the processor and the version that LLVM settled on.
///
/// * `.target sm_90a, debug` makes ptxas turn optimisation off, though all that is wanted is line numbers.
/// * LLVM warns about a version it does not know, and then takes another one.
///
/// A processor it does not know it prints all the same; that is for the table of processors to rule out, and for ptxas.
pub(super) fn finish(ptx: &str, request: &PtxRequest) -> Result<String, String> {
    let version = requested_version(request.features)
        .ok_or_else(|| format!("`{}` names no PTX version; it is written like `+ptx83`", request.features))?;
    let mut out = String::with_capacity(ptx.len());
    for line in ptx.split_inclusive('\n') {
        if let Some(rest) = line.strip_prefix(".target ") {
            let target = rest.trim_end().split(',').next().unwrap_or_default();
            if target != request.cpu {
                return Err(format!("LLVM does not know the processor `{}` (it took {target})", request.cpu));
            }
            out.push_str(&format!(".target {target}\n"));
        } else if let Some(rest) = line.strip_prefix(".version ") {
            if rest.trim_end() != version {
                return Err(format!("LLVM does not know PTX {version} (it took {})", rest.trim_end()));
            }
            out.push_str(line);
        } else {
            out.push_str(line);
        }
    }
    Ok(out)
}

/// `8.3` of `+ptx83`, wherever it stands in the list.
fn requested_version(features: &str) -> Option<String> {
    let digits = features.split(',').find_map(|feature| feature.trim().strip_prefix("+ptx"))?;
    let (major, minor) = digits.split_at_checked(digits.len().checked_sub(1)?)?;
    let number = !major.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit());
    number.then(|| format!("{major}.{minor}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finished(ptx: &str, cpu: &str, features: &str) -> Result<String, String> {
        finish(ptx, &PtxRequest { llvm: "", cpu, features, passes: "" })
    }

    #[test]
    fn the_debug_mark_goes() {
        let ptx = ".version 8.3\n.target sm_90a, debug\n.address_size 64\n";
        let expected = ".version 8.3\n.target sm_90a\n.address_size 64\n";
        assert_eq!(finished(ptx, "sm_90a", "+ptx83").as_deref(), Ok(expected));
    }

    #[test]
    fn another_header_than_asked_for_is_refused() {
        let ptx = ".version 6.0\n.target sm_30\n";
        assert_eq!(finished(ptx, "sm_30", "+ptx83").unwrap_err(), "LLVM does not know PTX 8.3 (it took 6.0)");
        assert_eq!(finished(ptx, "sm_7", "+ptx60").unwrap_err(), "LLVM does not know the processor `sm_7` (it took sm_30)");
    }

    #[test]
    fn the_version_is_read_from_the_features() {
        assert_eq!(requested_version("+ptx83").as_deref(), Some("8.3"));
        assert_eq!(requested_version("-foo, +ptx100").as_deref(), Some("10.0"));
        for bad in ["", "+ptx", "+ptx8", "+ptxab", "+ptx8é", "ptx83"] {
            assert_eq!(requested_version(bad), None, "{bad}");
        }
    }
}
