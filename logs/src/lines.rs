//! Lines of a file, one after the other, in a buffer that does not grow with it.

use std::borrow::Cow;
use std::io::{self, Read};

/// What is longer is no line of a tool; the rest of it is left out.
pub const LINE_MAX: usize = 1 << 20;
const BLOCK: usize = 4 << 20;

/// Call `each` with every line (without its end) and its number, and `block` with the bytes done so far.
pub fn each<E: From<io::Error>>(
    mut input: impl Read,
    mut each: impl FnMut(u64, &[u8]) -> Result<(), E>,
    mut block: impl FnMut(u64) -> Result<(), E>,
) -> Result<u64, E> {
    let mut buffer = vec![0u8; BLOCK + LINE_MAX];
    let (mut held, mut done, mut number) = (0, 0u64, 0u64);
    // Inside a line that was cut.
    let mut skipping = false;
    loop {
        let got = match input.read(&mut buffer[held..]) {
            Ok(0) => break,
            Ok(got) => got,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error.into()),
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
                each(number, trimmed(&buffer[start..newline]))?;
            }
            start = newline + 1;
        }
        buffer.copy_within(start..end, 0);
        held = end - start;
        if skipping {
            held = 0;
        } else if held >= LINE_MAX {
            number += 1;
            each(number, trimmed(&buffer[..LINE_MAX]))?;
            skipping = true;
            held = 0;
        }
        if before >> 24 != done >> 24 {
            block(done)?;
        }
    }
    if held > 0 && !skipping {
        number += 1;
        each(number, trimmed(&buffer[..held]))?;
    }
    block(done)?;
    Ok(number)
}

/// A line without its NULs, which no tool prints.
pub fn without_nuls(line: &[u8]) -> Cow<'_, [u8]> {
    if memchr::memchr(0, line).is_none() {
        return Cow::Borrowed(line);
    }
    Cow::Owned(line.iter().copied().filter(|&b| b != 0).collect())
}

fn trimmed(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\r").unwrap_or(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(data: &[u8]) -> Vec<(u64, Vec<u8>)> {
        let mut found = Vec::new();
        each::<io::Error>(
            data,
            |n, line| {
                found.push((n, line.to_vec()));
                Ok(())
            },
            |_| Ok(()),
        )
        .unwrap();
        found
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
}
