//! The end of a call: "arguments) = RESULT <duration>".

use super::errno;
use crate::text::{digits, fraction_ns, number, split_while, NS};

/// A call's end, taken apart. A number that is not known is None.
#[derive(Debug)]
pub struct End<'a> {
    pub arguments: &'a [u8],
    /// A negative errno when it failed or is restarted.
    pub ret: Option<i64>,
    pub failed: bool,
    /// Of the descriptor that it returns (-y).
    pub path: Option<&'a [u8]>,
    pub dur_ns: Option<i64>,
}

/// The end of a call's text: the last place that looks so, as arguments may hold any text.
pub fn ending(body: &[u8]) -> Option<End<'_>> {
    let mut text = body.trim_ascii_end();
    let mut dur_ns = None;
    if let Some(inner) = text.strip_suffix(b">") {
        let start = memchr::memrchr(b'<', inner)?;
        if let Some(found) = duration(&inner[start + 1..]) {
            dur_ns = Some(found);
            text = inner[..start].trim_ascii_end();
        }
    }
    for equals in memchr::memrchr_iter(b'=', text) {
        let result = &text[equals + 1..];
        if equals == 0 || text[equals - 1] != b' ' || !result.starts_with(b" ") {
            continue;
        }
        let Some(arguments) = text[..equals].trim_ascii_end().strip_suffix(b")") else {
            continue;
        };
        if let Some((ret, failed, path)) = returned(&result[1..]) {
            return Some(End {
                arguments,
                ret,
                failed,
                path,
                dur_ns,
            });
        }
    }
    None
}

/// A result: number, whether it is an error, the path of a descriptor (-y).
type Returned<'a> = (Option<i64>, bool, Option<&'a [u8]>);

fn returned(text: &[u8]) -> Option<Returned<'_>> {
    if text.starts_with(b"0x") {
        return Some((Some(0), false, None));
    }
    if let Some(rest) = text.strip_prefix(b"?") {
        return Some(failure(None, rest));
    }
    if let Some(digits) = text.strip_prefix(b"-") {
        let (number, rest) = number(digits)?;
        if number > 0 {
            return Some(failure(Some(-number), rest));
        }
    }
    let (number, rest) = number(text.strip_prefix(b"-").unwrap_or(text))?;
    let path = rest
        .strip_prefix(b"<")
        .map(|path| split_while(path, |b| !matches!(b, b'<' | b'>')).0);
    Some((Some(number), false, path))
}

/// A result by the error's name that follows a negative number, or "?": "-1 EIO (Input/output error)".
fn failure(number: Option<i64>, rest: &[u8]) -> Returned<'_> {
    let word = rest.trim_ascii_start();
    let (name, _) = split_while(word, |b| b.is_ascii_alphanumeric() || *b == b'_');
    match errno::number(name) {
        Some((error, failed)) => (Some(-error), failed, None),
        None if word.first() == Some(&b'E') => (Some(-1), true, None),
        None => (number, number.is_some(), None),
    }
}

/// Nanoseconds of "0.000012".
fn duration(text: &[u8]) -> Option<i64> {
    let (whole, rest) = number(text)?;
    let (fraction, more) = digits(rest.strip_prefix(b".")?);
    if fraction.is_empty() || !more.is_empty() || whole > 9_000_000_000 {
        return None;
    }
    Some(whole * NS + fraction_ns(fraction))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn end(body: &str) -> (Option<i64>, bool, Option<i64>) {
        let end = ending(body.as_bytes()).expect(body);
        (end.ret, end.failed, end.dur_ns)
    }

    #[test]
    fn results() {
        assert_eq!(
            end(r#"3, "x", 5) = 5 <0.000012>"#),
            (Some(5), false, Some(12_000))
        );
        assert_eq!(
            end(r#"3</a>, ") = 7", 5)   = -1 EIO (Input/output error) <1.5>"#),
            (Some(-5), true, Some(1_500_000_000))
        );
        assert_eq!(
            end("AT_FDCWD, \"/x\", O_RDONLY) = 3</etc/x>"),
            (Some(3), false, None)
        );
        assert_eq!(
            end("0) = ? ERESTARTSYS (To be restarted)"),
            (Some(-512), false, None)
        );
        assert_eq!(end("0) = ?"), (None, false, None));
        assert_eq!(end("0) = -7"), (Some(-7), true, None));
        assert_eq!(end("NULL) = 0x7f00"), (Some(0), false, None));
        assert_eq!(
            end("[{fd=4}], 1, 0) = 1 ([{fd=4, revents=POLLIN}])"),
            (Some(1), false, None)
        );
        assert!(ending(b"3, \"x\", 5").is_none());
    }
}
