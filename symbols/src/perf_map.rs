//! The maps that JITs write for perf: /tmp/perf-PID.map, lines of START SIZE NAME (tools/perf/Documentation/jit-interface.txt).

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use crate::bound::Bound;
use crate::demangle::demangled;
use crate::{open, Frame, Module, Named};

/// More of a map is not read. Node's of a large program has some 20 MB.
const MAX_BYTES: u64 = 256 << 20;
/// A longer line is passed over.
const MAX_LINE_BYTES: usize = 16 * 1024;
const LINES_BETWEEN_LOOKS: usize = 4096;

/// Names of addresses of a process's memory.
pub fn name(module: &Module, addresses: &[u64], bound: &Bound) -> Named {
    match map_of(module) {
        Some(map) => read(map.take(MAX_BYTES), addresses, bound),
        None => Named::new(),
    }
}

/// In the process's own mount namespace, by its id there. What another user put there under that name is not believed.
fn map_of(module: &Module) -> Option<File> {
    let (pid, uid) = module.process?;
    let path = PathBuf::from(format!("/tmp/perf-{pid}.map"));
    let file = open::regular(&path, module.root.as_ref())?;
    let owner = file.metadata().ok()?.uid();
    (owner == uid || owner == 0).then_some(file)
}

/// Only what is asked for is kept. The last line about an address counts: code is written over code.
fn read(map: impl Read, addresses: &[u64], bound: &Bound) -> Named {
    let mut sorted = addresses.to_vec();
    sorted.sort_unstable();
    let mut named = Named::new();
    let mut reader = BufReader::with_capacity(1 << 16, map);
    let mut line = Vec::new();
    for number in 0.. {
        if number % LINES_BETWEEN_LOOKS == 0 && bound.is_reached() {
            break;
        }
        if !next_line(&mut reader, &mut line) {
            break;
        }
        let Some((start, end, name)) = parts(&line) else {
            continue;
        };
        let first = sorted.partition_point(|&address| address < start);
        for &address in sorted[first..].iter().take_while(|&&address| address < end) {
            let function = Some(demangled(name));
            named.insert(
                address,
                vec![Frame {
                    function,
                    ..Frame::default()
                }],
            );
        }
    }
    named
}

/// The next line, empty where it is too long; false at the end.
fn next_line(reader: &mut impl BufRead, line: &mut Vec<u8>) -> bool {
    line.clear();
    let mut too_long = false;
    loop {
        let Ok(part) = reader.fill_buf() else {
            return false;
        };
        if part.is_empty() {
            return !line.is_empty() || too_long;
        }
        let end = part.iter().position(|&byte| byte == b'\n');
        let taken = end.unwrap_or(part.len());
        if line.len() + taken > MAX_LINE_BYTES {
            too_long = true;
            line.clear();
        } else if !too_long {
            line.extend_from_slice(&part[..taken]);
        }
        reader.consume(end.map_or(taken, |at| at + 1));
        if end.is_some() {
            return true;
        }
    }
}

fn parts(line: &[u8]) -> Option<(u64, u64, &[u8])> {
    let mut words = line.splitn(3, |&byte| byte == b' ');
    let mut number = || {
        let word = std::str::from_utf8(words.next()?).ok()?;
        u64::from_str_radix(word.strip_prefix("0x").unwrap_or(word), 16).ok()
    };
    let (start, size) = (number()?, number()?);
    let name = words.next()?.trim_ascii();
    (!name.is_empty()).then_some((start, start.checked_add(size)?, name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn named(map: &[u8], addresses: &[u64]) -> Vec<(u64, String)> {
        let soon = Bound::of(Duration::from_secs(60));
        let mut found: Vec<_> = read(map, addresses, &soon)
            .into_iter()
            .map(|(address, frames)| (address, frames[0].function.clone().unwrap()))
            .collect();
        found.sort();
        found
    }

    #[test]
    fn an_address_has_the_last_name_given_to_it() {
        let map = b"1000 10 LazyCompile:*read app.js:3\n1010 10 old\nnonsense\n1010 8 py::main:/app.py\nffffffffffffffff 2 x\n";
        assert_eq!(
            named(map, &[0xfff, 0x1000, 0x100f, 0x1010, 0x1018, 0x1020]),
            [
                (0x1000, "LazyCompile:*read app.js:3".to_owned()),
                (0x100f, "LazyCompile:*read app.js:3".to_owned()),
                (0x1010, "py::main:/app.py".to_owned()),
                (0x1018, "old".to_owned()),
            ]
        );
    }

    #[test]
    fn a_line_that_does_not_end_is_passed_over() {
        let mut map = b"1000 10 ".to_vec();
        map.resize(10 << 20, b'x');
        map.extend_from_slice(b"\n1000 10 short\n");
        assert_eq!(named(&map, &[0x1000]), [(0x1000, "short".to_owned())]);
    }

    #[test]
    fn time_ends_the_reading_of_a_map_without_end() {
        struct Endless;
        impl Read for Endless {
            fn read(&mut self, to: &mut [u8]) -> std::io::Result<usize> {
                to.fill(b'\n');
                Ok(to.len())
            }
        }
        assert!(read(Endless, &[1], &Bound::of(Duration::from_millis(20))).is_empty());
    }
}
