//! Text of `blkparse`: blkparse(1), its default format. One line is one action on a block device.

use std::cell::RefCell;
use std::io::{Read, Write};

use anyhow::Result;
use serde::Serialize;

use crate::frames::{Frames, UNKNOWN};
use crate::lines;

const NS: i64 = 1_000_000_000;
const SECTOR: i64 = 512;

/// An action, and what stands in brackets at its end: a process, or the error of a completion.
#[derive(Debug, PartialEq)]
struct Action<'a> {
    dev: i64,
    ts_ns: i64,
    tid: i32,
    action: &'a [u8],
    rwbs: &'a [u8],
    sector: i64,
    sectors: i64,
    last: &'a [u8],
}

#[derive(Serialize)]
struct Summary {
    lines: u64,
    rejected: u64,
    actions: u64,
    strings_full: bool,
}

/// Read a text; the actions that take part in a request's life go to `out` as rows of kind b.
pub fn read<W: Write>(input: impl Read, out: &mut Frames<W>) -> Result<()> {
    let cell = RefCell::new((out, 0u64));
    let lines = lines::each(
        input,
        |number, text| {
            let (out, actions) = &mut *cell.borrow_mut();
            line(number, text, out, actions)
        },
        |bytes| Ok(cell.borrow_mut().0.progress(bytes)?),
    )?;
    let (out, actions) = cell.into_inner();
    let summary = Summary {
        lines,
        rejected: out.rejected,
        actions,
        strings_full: out.full,
    };
    let json = serde_json::to_vec(&summary)?;
    Ok(out.summary(&json)?)
}

fn line<W: Write>(number: u64, text: &[u8], out: &mut Frames<W>, actions: &mut u64) -> Result<()> {
    let text = &*lines::without_nuls(text);
    let Some(found) = parse(text) else {
        if !is_summary(text) {
            out.reject(number, text)?;
        }
        return Ok(());
    };
    *actions += 1;
    let kind: &[u8] = match found.action {
        b"Q" | b"G" => b"queue",
        b"I" => b"insert",
        b"D" => b"issue",
        b"R" => b"requeue",
        b"C" => b"complete",
        _ => return Ok(()),
    };
    if found.rwbs.is_empty() {
        return Ok(());
    }
    let (error, _) = digits(found.last.strip_prefix(b"-").unwrap_or(found.last));
    let (comm, kind) = (out.string(found.last), out.string(kind));
    let rwbs = out.string(found.rwbs);
    Ok(out.row(
        b'b',
        &[
            number as i64,
            found.ts_ns,
            found.dev,
            found.sectors.saturating_mul(SECTOR),
            found.sector,
            error.unwrap_or(UNKNOWN),
        ],
        &[found.tid as u32, comm, kind, rwbs],
    )?)
}

/// "  8,0    1      123     0.000012345  4711  D  WS 2048 + 8 [name]"
fn parse(text: &[u8]) -> Option<Action<'_>> {
    let (major, rest) = number(text.trim_ascii_start())?;
    let (minor, rest) = number(rest.strip_prefix(b",")?)?;
    let (_cpu, rest) = number(gap(rest)?)?;
    let (_sequence, rest) = number(gap(rest)?)?;
    let rest = gap(rest)?;
    let (seconds, after) = number(rest)?;
    let after = after.strip_prefix(b".")?;
    let length = after.iter().take_while(|b| b.is_ascii_digit()).count();
    if length == 0 || seconds > 999_999_999 {
        return None;
    }
    let ns = (0..9).fold(0, |ns, at| {
        ns * 10
            + after[..length]
                .get(at)
                .map_or(0, |digit| i64::from(digit - b'0'))
    });
    let (tid, rest) = number(gap(&after[length..])?)?;
    let (action, rest) = letters(gap(rest)?, u8::is_ascii_alphabetic);
    if action.is_empty() || !rest.first().is_none_or(u8::is_ascii_whitespace) {
        return None;
    }
    let (rwbs, rest) = letters(rest.trim_ascii_start(), u8::is_ascii_uppercase);
    let rest = rest.trim_ascii_start();
    let (mut sector, mut sectors) = (0, 0);
    if let (at, Some(after)) = digits(rest) {
        if let Some(after) = after.trim_ascii_start().strip_prefix(b"+") {
            if let (Some(count), Some(_)) = digits(after.trim_ascii_start()) {
                (sector, sectors) = (at.unwrap_or(0), count);
            }
        }
    }
    let last = match (memchr::memchr(b'[', rest), memchr::memrchr(b']', rest)) {
        (Some(open), Some(close)) if open < close => &rest[open + 1..close],
        _ => b"",
    };
    Some(Action {
        dev: major << 20 | minor,
        ts_ns: seconds * NS + ns,
        tid: i32::try_from(tid).ok()?,
        action,
        rwbs,
        sector,
        sectors,
        last,
    })
}

/// What follows at least one space.
fn gap(text: &[u8]) -> Option<&[u8]> {
    let rest = text.trim_ascii_start();
    (rest.len() < text.len()).then_some(rest)
}

fn letters(text: &[u8], is: fn(&u8) -> bool) -> (&[u8], &[u8]) {
    text.split_at(text.iter().take_while(|byte| is(byte)).count())
}

/// Digits at the beginning: the number if it fits 63 bits, and what follows them if there are any.
fn digits(text: &[u8]) -> (Option<i64>, Option<&[u8]>) {
    let (told, rest) = letters(text, u8::is_ascii_digit);
    let value = std::str::from_utf8(told)
        .ok()
        .and_then(|told| told.parse().ok());
    (value, (!told.is_empty()).then_some(rest))
}

fn number(text: &[u8]) -> Option<(i64, &[u8])> {
    let (value, rest) = digits(text);
    Some((value?, rest?))
}

/// The totals below the actions, per CPU and device, and empty lines.
fn is_summary(text: &[u8]) -> bool {
    const STARTS: [&[u8]; 16] = [
        b"Read",
        b"Write",
        b"IO unplugs",
        b"Allocation",
        b"PC",
        b"Partial",
        b"Timer",
        b"Merge",
        b"Zone",
        b"Dispatch",
        b"Throughput",
        b"Events (",
        b"Skips:",
        b"Input file",
        b"CPU",
        b"Total",
    ];
    let rest = text.trim_ascii_start();
    rest.is_empty()
        || STARTS.iter().any(|start| rest.starts_with(start))
        || memchr::memmem::find(rest, b"=== ").is_some()
        || (rest.len() == text.len() && memchr::memmem::find(rest, b"):").is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn actions() {
        let found =
            parse(b"  8,16   1       95     0.000055619    22  C  WS 18690 + 32 [0]").unwrap();
        assert_eq!(
            (found.dev, found.ts_ns, found.tid),
            (8 << 20 | 16, 55_619, 22)
        );
        assert_eq!(
            (found.action, found.rwbs, found.last),
            (&b"C"[..], &b"WS"[..], &b"0"[..])
        );
        assert_eq!((found.sector, found.sectors), (18690, 32));
        let found = parse(b"  7,0  0  1  2.5  9  P   N [my prog]").unwrap();
        assert_eq!(
            (found.ts_ns, found.sectors, found.last),
            (2_500_000_000, 0, &b"my prog"[..])
        );
        let found = parse(b"7,0 0 1 2.5 9 X W 10 / 20 [dd]").unwrap();
        assert_eq!(
            (found.action, found.sector, found.sectors),
            (&b"X"[..], 0, 0)
        );
        for bad in [
            "",
            "8,0 1 2 3 4 Q R 1 + 2",
            "8 1 2 3.0 4 Q",
            "8,0 1 2 3.0 4",
            "a,0 1 2 3.0 4 Q",
        ] {
            assert_eq!(parse(bad.as_bytes()), None, "{bad}");
        }
        assert!(is_summary(b"CPU0 (8,0):") && is_summary(b" Reads Queued:  1,  4KiB"));
        assert!(is_summary(b"Total (sda):") && !is_summary(b"what is this"));
    }
}
