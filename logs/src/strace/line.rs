//! A line of strace's log: whose it is, its time, and what it is.

use crate::text::{digits, fraction_ns, number, NS};

/// What a log's times count from.
#[derive(Clone, Copy, Default, PartialEq, Debug)]
pub enum Clock {
    #[default]
    /// No line with a time so far.
    None,
    /// -ttt.
    Epoch,
    /// -t, -tt.
    Day,
    /// -r.
    Relative,
}

/// A line's time as it says it, before it is put on the log's time line.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Stamp {
    pub clock: Clock,
    pub ns: i64,
    /// Finer than seconds.
    pub fraction: bool,
}

#[derive(Debug, PartialEq)]
pub enum Kind<'a> {
    /// A call: name, what follows its parenthesis.
    Call(&'a [u8], &'a [u8]),
    /// The second half of one.
    Resumed(&'a [u8], &'a [u8]),
    /// "exited with 0 +++" and the like.
    Exit(&'a [u8]),
    Other,
}

#[derive(Debug, PartialEq)]
pub struct Line<'a> {
    pub tid: Option<i32>,
    pub stamp: Option<Stamp>,
    pub kind: Kind<'a>,
}

/// Take a line apart; None: it is none of strace's.
pub fn parse(text: &[u8]) -> Option<Line<'_>> {
    let mut rest = spaces(text);
    let mut tid = None;
    if let Some(after) = rest.strip_prefix(b"[pid") {
        let (number, after) = number(spaces(after))?;
        tid = Some(i32::try_from(number).ok()?);
        rest = spaces(after.strip_prefix(b"]")?);
    } else if let Some((number, after)) = number(rest) {
        if after.starts_with(b" ") {
            tid = Some(i32::try_from(number).ok()?);
            rest = spaces(after);
        }
    }
    let mut time = None;
    if let Some((found, after)) = stamp(rest) {
        time = Some(found);
        rest = after;
    }
    if rest.starts_with(b"[") {
        // The instruction pointer (-i) or the number of the call (-n).
        let end = memchr::memchr(b']', &rest[..rest.len().min(24)])?;
        if !rest[1..end]
            .iter()
            .all(|b| b.is_ascii_hexdigit() || matches!(b, b' ' | b'?'))
        {
            return None;
        }
        rest = spaces(&rest[end + 1..]);
    }
    Some(Line {
        tid,
        stamp: time,
        kind: kind(rest)?,
    })
}

/// The thread of "strace: Process 7 attached" at the end of a text.
pub fn attached(text: &[u8]) -> Option<i32> {
    let text = text.trim_ascii_end().strip_suffix(b" attached")?;
    let start = memchr::memmem::rfind(text, b"strace: Process ")?;
    i32::try_from(number(&text[start + 16..])?.0).ok()
}

/// The first half of a call that is interrupted in the log.
pub fn unfinished(body: &[u8]) -> Option<&[u8]> {
    body.trim_ascii_end()
        .strip_suffix(b"<unfinished ...>")
        .map(<[u8]>::trim_ascii_end)
}

fn spaces(text: &[u8]) -> &[u8] {
    let count = text.iter().take_while(|&&b| b == b' ').count();
    &text[count..]
}

/// A time of -ttt, -tt, -t or -r, and what follows it.
fn stamp(text: &[u8]) -> Option<(Stamp, &[u8])> {
    let length = text
        .iter()
        .take_while(|b| b.is_ascii_digit() || matches!(b, b':' | b'.'))
        .count();
    let (token, rest) = text.split_at(length);
    if !rest.starts_with(b" ") {
        return None;
    }
    let point = memchr::memchr(b'.', token).unwrap_or(token.len());
    let (whole, behind) = token.split_at(point);
    let (fraction, more) = digits(behind.strip_prefix(b".").unwrap_or_default());
    if !more.is_empty() {
        return None;
    }
    let (clock, seconds) = if whole.len() == 8 && whole[2] == b':' && whole[5] == b':' {
        let (hours, _) = number(whole)?;
        let (minutes, _) = number(&whole[3..])?;
        let (seconds, _) = number(&whole[6..])?;
        (Clock::Day, hours * 3600 + minutes * 60 + seconds)
    } else {
        let (seconds, after) = number(whole)?;
        let epoch = seconds > 100_000_000;
        if !after.is_empty() || (fraction.is_empty() && !epoch) || seconds > 9_000_000_000 {
            return None;
        }
        (if epoch { Clock::Epoch } else { Clock::Relative }, seconds)
    };
    let mut rest = spaces(rest);
    if rest.starts_with(b"(+") {
        rest = spaces(&rest[memchr::memchr(b')', rest)? + 1..]);
    }
    let stamp = Stamp {
        clock,
        ns: seconds * NS + fraction_ns(fraction),
        fraction: !fraction.is_empty(),
    };
    Some((stamp, rest))
}

fn kind(rest: &[u8]) -> Option<Kind<'_>> {
    if let Some(after) = rest.strip_prefix(b"<... ") {
        let end = memchr::memmem::find(&after[..after.len().min(80)], b" resumed>")?;
        return Some(Kind::Resumed(&after[..end], &after[end + 9..]));
    }
    if let Some(after) = rest.strip_prefix(b"+++ ") {
        return after
            .trim_ascii_end()
            .ends_with(b"+++")
            .then_some(Kind::Exit(after));
    }
    if rest.starts_with(b"--- ") || rest.starts_with(b"strace: ") {
        return Some(Kind::Other);
    }
    let word = rest
        .iter()
        .take_while(|b| b.is_ascii_alphanumeric() || **b == b'_')
        .count();
    let name = &rest[..word];
    let call = word > 0 && word < 64 && !name[0].is_ascii_digit() && rest.get(word) == Some(&b'(');
    call.then(|| Kind::Call(name, &rest[word + 1..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines() {
        let line = parse(b"[pid 7] 12:34:56.5 read(3").unwrap();
        assert_eq!(line.tid, Some(7));
        assert_eq!(
            line.stamp.unwrap().ns,
            (12 * 3600 + 34 * 60 + 56) * NS + NS / 2
        );
        assert_eq!(line.kind, Kind::Call(b"read", b"3"));
        assert_eq!(
            parse(b"9 0.5 fsync(3").unwrap().stamp.unwrap().clock,
            Clock::Relative
        );
        assert!(parse(b"the answer (x) = 3").is_none());
    }
}
