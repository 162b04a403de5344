//! Sizes as people type them.

/// Reads a number of bytes: digits and one of the suffixes K, M, G, T (powers of 1024).
///
/// # Errors
/// A sentence for clap when the text is no size or does not fit.
pub fn bytes(text: &str) -> Result<u64, String> {
    let (digits, shift) = match text.char_indices().last() {
        Some((at, 'k' | 'K')) => (&text[..at], 10),
        Some((at, 'm' | 'M')) => (&text[..at], 20),
        Some((at, 'g' | 'G')) => (&text[..at], 30),
        Some((at, 't' | 'T')) => (&text[..at], 40),
        _ => (text, 0),
    };
    digits
        .parse::<u64>()
        .ok()
        .and_then(|number| number.checked_mul(1 << shift))
        .ok_or_else(|| format!("{text:?} is no size: write bytes, or 4K, 16M, 2G"))
}

#[cfg(test)]
mod tests {
    use super::bytes;

    #[test]
    fn suffixes_are_powers_of_1024() {
        assert_eq!(bytes("0"), Ok(0));
        assert_eq!(bytes("4k"), Ok(4096));
        assert_eq!(bytes("16M"), Ok(16 << 20));
        assert_eq!(bytes("2G"), Ok(2 << 30));
    }

    #[test]
    fn what_is_no_size_is_refused() {
        for text in ["", "M", "-1", "1.5G", "4KB", "99999999999T"] {
            assert!(bytes(text).is_err(), "{text}");
        }
    }
}
