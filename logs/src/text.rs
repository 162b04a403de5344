//! Numbers and words in lines of text, as bytes: logs need not be UTF-8.

/// Nanoseconds of a second.
pub const NS: i64 = 1_000_000_000;

/// Decimal digits at the beginning, and what follows them.
pub fn digits(text: &[u8]) -> (&[u8], &[u8]) {
    split_while(text, u8::is_ascii_digit)
}

/// The bytes at the beginning that `is` holds for, and what follows them.
pub fn split_while(text: &[u8], is: impl Fn(&u8) -> bool) -> (&[u8], &[u8]) {
    text.split_at(text.iter().take_while(|byte| is(byte)).count())
}

/// Digits at the beginning as a number that fits 63 bits, and what follows them.
pub fn number(text: &[u8]) -> Option<(i64, &[u8])> {
    let (digits, rest) = digits(text);
    Some((decimal(digits)?, rest))
}

/// The value of decimal digits, if there are any and it fits 63 bits.
pub fn decimal(digits: &[u8]) -> Option<i64> {
    if digits.is_empty() {
        return None;
    }
    if digits.len() <= 18 {
        // Cannot overflow.
        return Some(
            digits
                .iter()
                .fold(0, |value, digit| value * 10 + i64::from(digit - b'0')),
        );
    }
    digits.iter().try_fold(0i64, |value, digit| {
        value.checked_mul(10)?.checked_add(i64::from(digit - b'0'))
    })
}

/// As [`number`], with a minus before it or not.
pub fn signed(text: &[u8]) -> Option<i64> {
    match text.strip_prefix(b"-") {
        Some(rest) => number(rest).map(|(value, _)| -value),
        None => number(text).map(|(value, _)| value),
    }
}

/// As [`signed`], of a thread's number.
pub fn thread(text: &[u8]) -> Option<i32> {
    signed(text).and_then(|tid| i32::try_from(tid).ok())
}

/// Hexadecimal digits at the beginning as 64 bits, taken as signed, and what follows them.
pub fn hexadecimal(text: &[u8]) -> Option<(i64, &[u8])> {
    let (digits, rest) = split_while(text, u8::is_ascii_hexdigit);
    let value = u64::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
    Some((value as i64, rest))
}

/// Nanoseconds of the digits behind a point; what is finer is left out.
pub fn fraction_ns(digits: &[u8]) -> i64 {
    (0..9).fold(0, |ns, at| {
        ns * 10 + digits.get(at).map_or(0, |digit| i64::from(digit - b'0'))
    })
}

/// Letters, digits, _ and . at the beginning.
pub fn word(text: &[u8]) -> &[u8] {
    split_while(text, |b| {
        b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.')
    })
    .0
}

/// What is before the last word of a text, and that word.
pub fn last_word(text: &[u8]) -> (&[u8], &[u8]) {
    let text = text.trim_ascii_end();
    let start = text
        .iter()
        .rposition(u8::is_ascii_whitespace)
        .map_or(0, |at| at + 1);
    text.split_at(start)
}

/// What follows at least one space.
pub fn gap(text: &[u8]) -> Option<&[u8]> {
    let rest = text.trim_ascii_start();
    (rest.len() < text.len()).then_some(rest)
}

/// Whether `part` is in the text.
pub fn contains(text: &[u8], part: &[u8]) -> bool {
    memchr::memmem::find(text, part).is_some()
}

/// What follows the first `part`.
pub fn after<'a>(text: &'a [u8], part: &[u8]) -> Option<&'a [u8]> {
    memchr::memmem::find(text, part).map(|at| &text[at + part.len()..])
}

/// The number of "name=1" or "name 1" behind a space, a colon or the beginning.
pub fn field(text: &[u8], name: &[u8]) -> Option<i64> {
    memchr::memmem::find_iter(text, name).find_map(|at| {
        if at > 0 && !matches!(text[at - 1], b' ' | b':') {
            return None;
        }
        let rest = &text[at + name.len()..];
        let rest = rest
            .strip_prefix(b"=")
            .or_else(|| rest.strip_prefix(b" "))?;
        match rest.strip_prefix(b"0x") {
            Some(digits) => hexadecimal(digits).map(|(value, _)| value),
            None => signed(rest),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers() {
        assert_eq!(number(b"12 x"), Some((12, &b" x"[..])));
        assert_eq!(number(b"x"), None);
        assert_eq!(number(b"9223372036854775807"), Some((i64::MAX, &b""[..])));
        assert_eq!(number(b"9223372036854775808"), None);
        assert_eq!(signed(b"-5]"), Some(-5));
        assert_eq!(hexadecimal(b"ffffffffffffffff,"), Some((-1, &b","[..])));
        assert_eq!(fraction_ns(b"5"), 500_000_000);
        assert_eq!(fraction_ns(b"0000000019"), 1);
    }

    proptest::proptest! {
        #[test]
        fn decimal_is_what_the_standard_library_reads(digits in "[0-9]{0,25}") {
            proptest::prop_assert_eq!(decimal(digits.as_bytes()), digits.parse::<i64>().ok());
        }

        #[test]
        fn words_and_gaps_are_parts_of_the_text(text in "[ -~]{0,40}") {
            let (before, last) = last_word(text.as_bytes());
            proptest::prop_assert!(text.as_bytes().starts_with(&[before, last].concat()));
            proptest::prop_assert!(text.as_bytes().starts_with(word(text.as_bytes())));
        }
    }

    #[test]
    fn fields() {
        let text = b"dev 8,0 ino 12 len 5 block 99 lblk 7";
        assert_eq!(field(text, b"block"), Some(99));
        assert_eq!(field(b"bdi 8:0: ino=77 wrote=24", b"ino"), Some(77));
        assert_eq!(last_word(b"a b  "), (&b"a "[..], &b"b"[..]));
    }
}
