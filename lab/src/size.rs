//! Sizes as people type them.

/// Reads a number of bytes: `512`, `4K`, `16M`, `2G`, in powers of 1024.
///
/// # Errors
/// A sentence for clap when the text is no size or does not fit.
pub fn bytes(text: &str) -> Result<u64, String> {
    let digits = text.trim_end_matches(['K', 'M', 'G']);
    let power = match &text[digits.len()..] {
        "" => Some(0),
        "K" => Some(10),
        "M" => Some(20),
        "G" => Some(30),
        _ => None,
    };
    let number = digits.parse::<u64>().ok();
    power
        .zip(number)
        .and_then(|(power, number)| number.checked_mul(1 << power))
        .ok_or_else(|| format!("{text:?} is not a size: write 512, 64K, 10M or 2G"))
}

#[cfg(test)]
mod tests {
    use super::bytes;

    #[test]
    fn sizes_are_read_or_refused() {
        for (text, expected) in [("0", 0), ("4K", 4096), ("16M", 16 << 20), ("2G", 2 << 30)] {
            assert_eq!(bytes(text), Ok(expected), "{text}");
        }
        for text in ["", "M", "-1", "1.5G", "4KK", "4k", "99999999999G"] {
            assert!(bytes(text).is_err(), "{text}");
        }
    }
}
