//! Sizes as people type them.

/// Reads a number of bytes with the units of GNU coreutils, as `iowhy` itself does (`quantities.py`): `4K` and
/// `4KiB` are 4096, `4KB` is 4000; a fraction may be written, a rest of a byte is cut off.
///
/// # Errors
/// A sentence for clap when the text is no size or does not fit.
pub fn bytes(text: &str) -> Result<u64, String> {
    exact(text).ok_or_else(|| format!("{text:?} is not a size: write 64KiB, 10MB or 2.5GiB"))
}

fn exact(text: &str) -> Option<u64> {
    let digits = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let scale = scale(unit.trim_start())?;
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    // More digits than these are below a byte of any unit.
    let fraction = &fraction[..fraction.len().min(15)];
    if number.matches('.').count() > 1 || (whole.is_empty() && fraction.is_empty()) {
        return None;
    }
    let part = |digits: &str| {
        if digits.is_empty() {
            Some(0)
        } else {
            digits.parse::<u128>().ok()
        }
    };
    let below = part(fraction)? * u128::from(scale) / 10u128.pow(fraction.len().try_into().ok()?);
    let total = part(whole)?
        .checked_mul(u128::from(scale))?
        .checked_add(below)?;
    u64::try_from(total).ok()
}

fn scale(unit: &str) -> Option<u64> {
    let unit = unit.to_ascii_lowercase();
    if unit.is_empty() || unit == "b" {
        return Some(1);
    }
    let power = match unit.as_bytes()[0] {
        b'k' => 1,
        b'm' => 2,
        b'g' => 3,
        b't' => 4,
        _ => return None,
    };
    match &unit[1..] {
        "" | "ib" => Some(1 << (10 * power)),
        "b" => Some(1000u64.pow(power)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::bytes;

    #[test]
    fn units_are_those_of_coreutils() {
        for (text, expected) in [
            ("0", 0),
            ("4k", 4096),
            ("16M", 16 << 20),
            ("2G", 2 << 30),
            ("64KiB", 65_536),
            ("64kB", 64_000),
            ("10MB", 10_000_000),
            ("2.5GiB", 5 << 29),
            ("1.5", 1),
            ("3 B", 3),
        ] {
            assert_eq!(bytes(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn what_is_no_size_is_refused() {
        for text in [
            "",
            ".",
            "M",
            "-1",
            "1..5G",
            "4KBs",
            "4KX",
            "1é",
            "99999999999T",
        ] {
            assert!(bytes(text).is_err(), "{text}");
        }
    }
}
