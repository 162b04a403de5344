//! A file of /proc or /sys that is read again and again, and the words in it.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};

/// Stays open: reading anew from offset 0 makes the kernel print anew, without looking up the path.
#[derive(Debug)]
pub(crate) struct ProcFile {
    path: PathBuf,
    file: File,
    buffer: Vec<u8>,
}

impl ProcFile {
    pub fn open(path: impl Into<PathBuf>) -> Result<ProcFile> {
        let path = path.into();
        let file = match File::open(&path) {
            Ok(file) => file,
            Err(error) => return Err(Error::Read { path, error }),
        };
        Ok(ProcFile {
            path,
            file,
            buffer: vec![0; 1024],
        })
    }

    /// The text as it is now.
    pub fn read(&mut self) -> Result<Text<'_>> {
        let mut len = 0;
        loop {
            if len == self.buffer.len() {
                self.buffer.resize(len * 2, 0);
            }
            match self.file.read_at(&mut self.buffer[len..], len as u64) {
                Ok(0) => break,
                Ok(n) => len += n,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => {
                    let path = self.path.clone();
                    return Err(Error::Read { path, error });
                }
            }
        }
        Ok(Text {
            path: &self.path,
            bytes: &self.buffer[..len],
        })
    }
}

/// Text of a file, which errors name.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Text<'a> {
    pub path: &'a Path,
    pub bytes: &'a [u8],
}

impl<'a> Text<'a> {
    /// Its lines, numbered from 1.
    pub fn lines(self) -> impl Iterator<Item = Line<'a>> {
        let lines = self.bytes.split(|b| *b == b'\n').enumerate();
        lines.map(move |(i, bytes)| Line {
            path: self.path,
            number: i + 1,
            bytes,
        })
    }

    /// Its first line; a text always has one, if an empty one.
    pub fn first_line(self) -> Line<'a> {
        Line {
            path: self.path,
            number: 1,
            bytes: self.bytes.split(|b| *b == b'\n').next().unwrap_or_default(),
        }
    }

    /// The only number of the file (what `cat` shows for most of /sys).
    pub fn number(self) -> Result<i64> {
        let line = Line {
            path: self.path,
            number: 1,
            bytes: self.bytes,
        };
        line.words().number("a number")
    }
}

/// One line.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Line<'a> {
    pub path: &'a Path,
    pub number: usize,
    pub bytes: &'a [u8],
}

impl<'a> Line<'a> {
    pub fn words(self) -> Words<'a> {
        Words {
            line: self,
            rest: self.bytes,
        }
    }

    pub fn error(self, what: &str) -> Error {
        Error::Text {
            path: self.path.to_owned(),
            line: self.number,
            problem: what.to_owned(),
        }
    }
}

/// The words of a line that blanks separate.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Words<'a> {
    pub line: Line<'a>,
    rest: &'a [u8],
}

impl<'a> Words<'a> {
    /// The next word as a number.
    pub fn number(&mut self, what: &str) -> Result<i64> {
        self.next()
            .and_then(number)
            .ok_or_else(|| self.line.error(&format!("expected {what}")))
    }

    /// The next word, which may be missing where older kernels print less.
    pub fn optional(&mut self, what: &str) -> Result<Option<i64>> {
        let word = self.next();
        word.map(|w| number(w).ok_or_else(|| self.line.error(&format!("expected {what}"))))
            .transpose()
    }
}

impl<'a> Iterator for Words<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let start = self.rest.iter().position(|b| !b.is_ascii_whitespace())?;
        let rest = &self.rest[start..];
        let end = rest
            .iter()
            .position(u8::is_ascii_whitespace)
            .unwrap_or(rest.len());
        self.rest = &rest[end..];
        Some(&rest[..end])
    }
}

/// A whole number, perhaps negative. The kernel's counters are unsigned 64-bit and the recording's signed:
/// what does not fit (a counter of 292 years in ns, or "no limit") is the largest.
pub(crate) fn number(word: &[u8]) -> Option<i64> {
    let (negative, digits) = match word.strip_prefix(b"-") {
        Some(digits) => (true, digits),
        None => (false, word),
    };
    if digits.is_empty() {
        return None;
    }
    let mut value: i64 = 0;
    for digit in digits {
        if !digit.is_ascii_digit() {
            return None;
        }
        value = value
            .saturating_mul(10)
            .saturating_add(i64::from(digit - b'0'));
    }
    Some(if negative { -value } else { value })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers() {
        assert_eq!(number(b"0"), Some(0));
        assert_eq!(number(b"-1"), Some(-1));
        assert_eq!(number(b"18446744073709551615"), Some(i64::MAX));
        for bad in [&b""[..], b"-", b"1.5", b"+1", b"max", b"\xff"] {
            assert_eq!(number(bad), None);
        }
    }
}
