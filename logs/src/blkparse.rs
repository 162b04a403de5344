//! Text of `blkparse`: blkparse(1), its default format. One line is one action on a block device.

use std::io::Read;

use serde::Serialize;

use crate::error::Result;
use crate::lines;
use crate::output::rows::BlockEvent;
use crate::output::{Output, Table};
use crate::text::{decimal, digits, fraction_ns, gap, number, split_while, NS};
use crate::trace::event::BlockKind;

const SECTOR_BYTES: i64 = 512;

/// An action, and what stands in brackets at its end: a process, or the error of a completion.
#[derive(Debug, PartialEq)]
struct Action<'a> {
    dev: i64,
    ts_ns: i64,
    tid: i32,
    action: &'a [u8],
    rwbs: &'a [u8],
    sector: Option<i64>,
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

struct Reader<'o> {
    output: &'o mut Output,
    events: Table<BlockEvent>,
    actions: u64,
}

/// Read a text; the actions that take part in a request's life go to the table block_events.
pub fn read(input: impl Read, output: &mut Output) -> Result<()> {
    let mut reader = Reader {
        events: output.table(),
        output,
        actions: 0,
    };
    let lines = lines::each(input, &mut reader)?;
    reader.events.finish()?;
    let summary = Summary {
        lines,
        rejected: reader.output.messages.rejected(),
        actions: reader.actions,
        strings_full: reader.output.strings.full(),
    };
    reader.output.finish(&summary)
}

impl lines::Sink for Reader<'_> {
    fn line(&mut self, number: u64, text: &[u8]) -> Result<()> {
        let text = &*lines::without_nuls(text);
        let Some(found) = parse(text) else {
            if !is_summary(text) {
                self.output.messages.reject(number, text)?;
            }
            return Ok(());
        };
        self.actions += 1;
        let kind = match found.action {
            b"Q" | b"G" => BlockKind::Queue,
            b"I" => BlockKind::Insert,
            b"D" => BlockKind::Issue,
            b"R" => BlockKind::Requeue,
            b"C" => BlockKind::Complete,
            _ => return Ok(()),
        };
        if found.rwbs.is_empty() {
            return Ok(());
        }
        let (error, _) = digits(found.last.strip_prefix(b"-").unwrap_or(found.last));
        self.events.push(&BlockEvent {
            n: number as i64,
            ts_ns: found.ts_ns,
            dev: found.dev,
            bytes: found.sectors.saturating_mul(SECTOR_BYTES),
            sector: found.sector,
            error: decimal(error),
            tid: found.tid,
            comm: self.output.name(found.last)?,
            kind: self.output.name(kind.name())?,
            rwbs: self.output.name(found.rwbs)?,
        })
    }

    fn done(&mut self, bytes: u64) -> Result<()> {
        self.output.messages.done(bytes)
    }
}

/// "  8,0    1      123     0.000012345  4711  D  WS 2048 + 8 [name]"
fn parse(text: &[u8]) -> Option<Action<'_>> {
    let (major, rest) = number(text.trim_ascii_start())?;
    let (minor, rest) = number(rest.strip_prefix(b",")?)?;
    let (_cpu, rest) = number(gap(rest)?)?;
    let (_sequence, rest) = number(gap(rest)?)?;
    let (seconds, rest) = number(gap(rest)?)?;
    let (fraction, rest) = digits(rest.strip_prefix(b".")?);
    if fraction.is_empty() || seconds > 999_999_999 {
        return None;
    }
    let (tid, rest) = number(gap(rest)?)?;
    let (action, rest) = split_while(gap(rest)?, u8::is_ascii_alphabetic);
    if action.is_empty() || !rest.first().is_none_or(u8::is_ascii_whitespace) {
        return None;
    }
    let (rwbs, rest) = split_while(rest.trim_ascii_start(), u8::is_ascii_uppercase);
    let rest = rest.trim_ascii_start();
    let (sector, sectors) = extent(rest).unwrap_or((Some(0), 0));
    let last = match (memchr::memchr(b'[', rest), memchr::memrchr(b']', rest)) {
        (Some(open), Some(close)) if open < close => &rest[open + 1..close],
        _ => b"",
    };
    Some(Action {
        dev: major << 20 | minor,
        ts_ns: seconds * NS + fraction_ns(fraction),
        tid: i32::try_from(tid).ok()?,
        action,
        rwbs,
        sector,
        sectors,
        last,
    })
}

/// "2048 + 8": where the request is, and how long. A sector beyond 63 bits is none.
fn extent(text: &[u8]) -> Option<(Option<i64>, i64)> {
    let (sector, rest) = digits(text);
    if sector.is_empty() {
        return None;
    }
    let (sectors, _) = number(
        rest.trim_ascii_start()
            .strip_prefix(b"+")?
            .trim_ascii_start(),
    )?;
    Some((decimal(sector), sectors))
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
        assert_eq!((found.sector, found.sectors), (Some(18690), 32));
        let found = parse(b"  7,0  0  1  2.5  9  P   N [my prog]").unwrap();
        assert_eq!(
            (found.ts_ns, found.sectors, found.last),
            (2_500_000_000, 0, &b"my prog"[..])
        );
        let found = parse(b"7,0 0 1 2.5 9 X W 10 / 20 [dd]").unwrap();
        assert_eq!(
            (found.action, found.sector, found.sectors),
            (&b"X"[..], Some(0), 0)
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
