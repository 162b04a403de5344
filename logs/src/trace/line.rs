//! A line of `perf script`, or of ftrace's text and its kin, with an event: who, when, which, and its own text.

use crate::text::{fraction_ns, last_word, number, signed, word, NS};

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Dialect {
    Perf,
    Ftrace,
}

/// A line with an event.
#[derive(Debug, PartialEq)]
pub struct Line<'a> {
    pub comm: &'a [u8],
    pub tid: i32,
    pub tgid: Option<i32>,
    pub ts_ns: i64,
    pub name: &'a [u8],
    pub mark: Mark,
    /// What the event's print format says (/sys/kernel/tracing/events/*/*/format).
    pub text: &'a [u8],
}

/// "sys_write(" and "sys_write ->" of ftrace: an enter and an exit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Mark {
    Plain,
    Enter,
    Exit,
}

/// Take a line apart; None: it has no event.
pub fn parse(dialect: Dialect, text: &[u8]) -> Option<Line<'_>> {
    let mut from = 0;
    // The time is the first "SECONDS.FRACTION: " that has what comes before a time before it.
    while let Some(at) = memchr::memchr(b':', &text[from..]) {
        let colon = from + at;
        if let Some((start, ts_ns)) = time_before(text, colon) {
            let head = &text[..start];
            let rest = text[colon + 1..].trim_ascii_start();
            if rest.len() < text.len() - colon - 1 {
                let found = match dialect {
                    Dialect::Perf => perf(head, ts_ns, rest),
                    Dialect::Ftrace => ftrace(head, ts_ns, rest),
                };
                if found.is_some() {
                    return found;
                }
            }
        }
        from = colon + 1;
    }
    None
}

/// The time that ends before the colon: where it begins, and nanoseconds.
fn time_before(text: &[u8], colon: usize) -> Option<(usize, i64)> {
    let digits = |end: usize| {
        text[..end]
            .iter()
            .rev()
            .take_while(|b| b.is_ascii_digit())
            .count()
    };
    let fraction = digits(colon);
    let point = (colon - fraction).checked_sub(1)?;
    if fraction == 0 || text[point] != b'.' {
        return None;
    }
    let whole = digits(point);
    let start = point - whole;
    if whole == 0 || whole > 9 || start == 0 || !text[start - 1].is_ascii_whitespace() {
        return None;
    }
    let (seconds, _) = number(&text[start..point])?;
    Some((start, seconds * NS + fraction_ns(&text[point + 1..colon])))
}

/// "comm pid/tid [cpu] flags" and "period subsystem:event: text".
fn perf<'a>(head: &'a [u8], ts_ns: i64, rest: &'a [u8]) -> Option<Line<'a>> {
    let (mut before, mut last) = last_word(head);
    if !bracketed(last) {
        let (earlier, other) = last_word(before);
        if bracketed(other) {
            (before, last) = (earlier, other);
        }
    }
    if bracketed(last) {
        (before, last) = last_word(before);
    } else if process(last).is_none() {
        // Letters of the latency format.
        (before, last) = last_word(before);
    }
    let (tgid, tid) = process(last)?;
    let comm = before.trim_ascii();
    if comm.is_empty() {
        return None;
    }
    let rest = match number(rest) {
        Some((_, after)) if after.starts_with(b" ") => after.trim_ascii_start(),
        _ => rest,
    };
    let colon = memchr::memchr(b':', rest)?;
    let (system, rest) = (&rest[..colon], &rest[colon + 1..]);
    let name = word(rest);
    let lower = |b: &u8| b.is_ascii_lowercase() || b.is_ascii_digit() || *b == b'_';
    if system.is_empty()
        || system[0].is_ascii_digit()
        || !system.iter().all(lower)
        || name.is_empty()
        || rest.get(name.len()) != Some(&b':')
    {
        return None;
    }
    Some(Line {
        comm,
        tid,
        tgid,
        ts_ns,
        name,
        mark: Mark::Plain,
        text: rest[name.len() + 1..].trim_ascii(),
    })
}

/// "[001]"
fn bracketed(word: &[u8]) -> bool {
    word.len() > 2
        && word[0] == b'['
        && word[word.len() - 1] == b']'
        && word[1..word.len() - 1].iter().all(u8::is_ascii_digit)
}

/// "pid/tid" or "tid".
fn process(word: &[u8]) -> Option<(Option<i32>, i32)> {
    let whole = |text: &[u8]| {
        let digits = text.strip_prefix(b"-").unwrap_or(text);
        if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
            return None;
        }
        signed(text).and_then(|number| i32::try_from(number).ok())
    };
    match memchr::memchr(b'/', word) {
        Some(at) => Some((Some(whole(&word[..at])?), whole(&word[at + 1..])?)),
        None => Some((None, whole(word)?)),
    }
}

/// "comm-tid (tgid) [cpu] flags" and "event: text".
fn ftrace<'a>(head: &'a [u8], ts_ns: i64, rest: &'a [u8]) -> Option<Line<'a>> {
    let (mut before, last) = last_word(head);
    if !bracketed(last) {
        let (earlier, other) = last_word(before);
        if bracketed(other) && flags(last) {
            before = earlier;
        } else {
            // The latency format without brackets: "0d..2.".
            let digits = last.iter().take_while(|b| b.is_ascii_digit()).count();
            let letters = &last[digits..];
            if digits == 0 || !(4..=6).contains(&letters.len()) || !letters.iter().all(flag) {
                return None;
            }
        }
    }
    let (before, tgid) = bracketed_process(before)?;
    let (_, task) = last_word(before);
    let dash = memchr::memrchr(b'-', task)?;
    let (tid, end) = number(&task[dash + 1..])?;
    if !end.is_empty() {
        return None;
    }
    let trimmed = before.trim_ascii_end();
    let comm = trimmed[..trimmed.len() - (task.len() - dash)].trim_ascii_start();
    let name = word(rest);
    let after = &rest[name.len()..];
    let (mark, skip) = match after {
        _ if name.is_empty() => return None,
        [b':', ..] => (Mark::Plain, 1),
        [b'(', ..] => (Mark::Enter, 1),
        [b' ', b'-', b'>', ..] => (Mark::Exit, 3),
        _ => return None,
    };
    Some(Line {
        comm,
        tid: i32::try_from(tid).ok()?,
        tgid,
        ts_ns,
        name,
        mark,
        text: after[skip..].trim_ascii(),
    })
}

/// "(1234)" or "(-----)" at the end of a text: what is before it, and the process. None: it is damaged.
fn bracketed_process(text: &[u8]) -> Option<(&[u8], Option<i32>)> {
    let trimmed = text.trim_ascii_end();
    if !trimmed.ends_with(b")") {
        return Some((text, None));
    }
    let open = memchr::memrchr(b'(', trimmed)?;
    let inside = trimmed[open + 1..trimmed.len() - 1].trim_ascii();
    let tgid = number(inside).filter(|(_, rest)| rest.is_empty());
    if tgid.is_none() && !inside.iter().all(|&b| b == b'-') {
        return None;
    }
    let tgid = tgid.and_then(|(tgid, _)| i32::try_from(tgid).ok());
    Some((&trimmed[..open], tgid))
}

fn flag(byte: &u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'#')
}

fn flags(word: &[u8]) -> bool {
    (4..=6).contains(&word.len()) && word.iter().all(flag)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Name, thread, process, time, event and its text.
    type Shown = (String, i32, Option<i32>, i64, String, String);

    fn perf_line(text: &str) -> Option<Shown> {
        shown(parse(Dialect::Perf, text.as_bytes()))
    }

    fn ftrace_line(text: &str) -> Option<Shown> {
        shown(parse(Dialect::Ftrace, text.as_bytes()))
    }

    fn shown(line: Option<Line>) -> Option<Shown> {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        line.map(|l| {
            (
                text(l.comm),
                l.tid,
                l.tgid,
                l.ts_ns,
                text(l.name),
                text(l.text),
            )
        })
    }

    fn wanted(
        comm: &str,
        tid: i32,
        tgid: Option<i32>,
        ts_ns: i64,
        name: &str,
        text: &str,
    ) -> Option<Shown> {
        Some((comm.into(), tid, tgid, ts_ns, name.into(), text.into()))
    }

    #[test]
    fn lines_of_perf_script() {
        assert_eq!(
            perf_line("  my db 12/13 [001]  5.000001:          1 sched:sched_waking: comm=a pid=1"),
            wanted(
                "my db",
                13,
                Some(12),
                5_000_001_000,
                "sched_waking",
                "comm=a pid=1"
            ),
        );
        assert_eq!(
            perf_line("a:b 7 10.5: block:block_rq_issue: 8,0 R 4096 () 8 + 8 [x]"),
            wanted(
                "a:b",
                7,
                None,
                10_500_000_000,
                "block_rq_issue",
                "8,0 R 4096 () 8 + 8 [x]"
            ),
        );
        assert_eq!(
            perf_line("db 7 [000] d..2. 1.000000002: raw_syscalls:sys_exit: NR 1 = 2 "),
            wanted("db", 7, None, 1_000_000_002, "sys_exit", "NR 1 = 2"),
        );
        assert_eq!(
            perf_line(":-1 -1 [000] 1.5: sched:sched_stat_iowait: x"),
            wanted(":-1", -1, None, 1_500_000_000, "sched_stat_iowait", "x"),
        );
    }

    #[test]
    fn what_is_no_line_of_perf_script() {
        for bad in [
            "",
            "nothing",
            "db 7 5.0: sched_waking: x",
            "db x [000] 5.0: a:b: c",
            "7 5.0: a:b: c",
            "db 7 [000] 1234567890.0: a:b: c",
            "db 99999999999 [000] 5.0: a:b: c",
        ] {
            assert_eq!(perf_line(bad), None, "{bad}");
        }
    }

    #[test]
    fn lines_of_ftrace() {
        assert_eq!(
            ftrace_line("  kworker/u8:2-wq-94   ( 1234) [003] d..2.  7.25: a_b: x: y "),
            wanted(
                "kworker/u8:2-wq",
                94,
                Some(1234),
                7_250_000_000,
                "a_b",
                "x: y"
            ),
        );
        assert_eq!(
            ftrace_line(" <...>-9 (-----) [001] .... 1.000001: sched_process_exit: comm=x"),
            wanted(
                "<...>",
                9,
                None,
                1_000_001_000,
                "sched_process_exit",
                "comm=x"
            ),
        );
        assert_eq!(
            ftrace_line("jbd2/loo-26985   1...1.  2710.134897: block_rq_insert:      7,0 W"),
            wanted(
                "jbd2/loo",
                26985,
                None,
                2_710_134_897_000,
                "block_rq_insert",
                "7,0 W"
            ),
        );
        assert_eq!(
            ftrace_line("two words-9 [001] 5.000001: sys_write(fd: 1, count: 1000)"),
            wanted(
                "two words",
                9,
                None,
                5_000_001_000,
                "sys_write",
                "fd: 1, count: 1000)"
            ),
        );
        assert_eq!(
            ftrace_line("dd-9 [001] ..... 5.000002: sys_write -> 0x1000"),
            wanted("dd", 9, None, 5_000_002_000, "sys_write", "0x1000"),
        );
    }

    #[test]
    fn what_is_no_line_of_ftrace() {
        for bad in [
            "",
            "# tracer: nop",
            "a-9 [001] 5: x: y",
            "a-b [001] 5.0: x: y",
            "9 5.0: x: y",
        ] {
            assert_eq!(ftrace_line(bad), None, "{bad}");
        }
    }
}
