//! Lines of a file, one after the other, in a buffer that does not grow with it.

use std::borrow::Cow;
use std::io::{self, Read};

use crate::error::{Error, Result};

/// What is longer is no line of a tool; the rest of it is left out.
pub const LINE_MAX: usize = 1 << 20;
const BLOCK: usize = 4 << 20;

/// Who takes the lines.
pub trait Sink {
    /// A line (without its end) and its number, from 1.
    fn line(&mut self, number: u64, text: &[u8]) -> Result<()>;
    /// How many bytes are done, now and then.
    fn done(&mut self, bytes: u64) -> Result<()>;
}

/// Hand all lines to `sink`; returns how many there were.
pub fn each(mut input: impl Read, sink: &mut impl Sink) -> Result<u64> {
    let mut buffer = vec![0u8; BLOCK + LINE_MAX];
    let (mut held, mut done, mut number) = (0, 0u64, 0u64);
    // Inside a line that was cut.
    let mut skipping = false;
    loop {
        let got = match input.read(&mut buffer[held..]) {
            Ok(0) => break,
            Ok(got) => got,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(Error::Read(error)),
        };
        let before = done;
        done += got as u64;
        let end = held + got;
        let mut start = 0;
        for newline in memchr::memchr_iter(b'\n', &buffer[held..end]) {
            let newline = held + newline;
            if skipping {
                skipping = false;
            } else {
                number += 1;
                sink.line(number, without_return(&buffer[start..newline]))?;
            }
            start = newline + 1;
        }
        buffer.copy_within(start..end, 0);
        held = end - start;
        if skipping {
            held = 0;
        } else if held >= LINE_MAX {
            number += 1;
            sink.line(number, without_return(&buffer[..LINE_MAX]))?;
            skipping = true;
            held = 0;
        }
        if before >> 24 != done >> 24 {
            sink.done(done)?;
        }
    }
    if held > 0 && !skipping {
        number += 1;
        sink.line(number, without_return(&buffer[..held]))?;
    }
    sink.done(done)?;
    Ok(number)
}

/// The first line of a text that is whole in memory, without its end, and where the next one begins.
pub fn first(text: &[u8]) -> (&[u8], usize) {
    let end = memchr::memchr(b'\n', text).unwrap_or(text.len());
    let line = without_return(&text[..end]);
    (&line[..line.len().min(LINE_MAX)], (end + 1).min(text.len()))
}

/// A line without its NULs, which no tool prints.
pub fn without_nuls(line: &[u8]) -> Cow<'_, [u8]> {
    if memchr::memchr(0, line).is_none() {
        return Cow::Borrowed(line);
    }
    Cow::Owned(line.iter().copied().filter(|&b| b != 0).collect())
}

fn without_return(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\r").unwrap_or(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Default)]
    struct Kept(Vec<(u64, Vec<u8>)>);

    impl Sink for Kept {
        fn line(&mut self, number: u64, text: &[u8]) -> Result<()> {
            self.0.push((number, text.to_vec()));
            Ok(())
        }

        fn done(&mut self, _bytes: u64) -> Result<()> {
            Ok(())
        }
    }

    fn all(data: &[u8]) -> Vec<(u64, Vec<u8>)> {
        let mut kept = Kept::default();
        each(data, &mut kept).unwrap();
        kept.0
    }

    #[test]
    fn lines_are_cut_and_counted() {
        let mut data = b"one\r\n\n".to_vec();
        data.extend(vec![b'x'; 6 << 20]);
        data.extend(b"\nlast");
        let found = all(&data);
        let lengths: Vec<_> = found.iter().map(|(n, line)| (*n, line.len())).collect();
        assert_eq!(lengths, [(1, 3), (2, 0), (3, LINE_MAX), (4, 4)]);
        assert!(all(b"").is_empty());
    }

    #[test]
    fn lines_of_a_text_in_memory() {
        assert_eq!(first(b"one\r\ntwo"), (&b"one"[..], 5));
        assert_eq!(first(b"two"), (&b"two"[..], 3));
        assert_eq!(first(b""), (&b""[..], 0));
    }
}
