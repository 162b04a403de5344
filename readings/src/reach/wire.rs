//! What is asked of the other process, and what it answers: a kind, numbers and a text.

use std::io::{self, Read, Write};

/// Bytes of one of them at most: a map of 200,000 extents has 6 MiB.
const MOST: u64 = 64 << 20;

/// A question or an answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Frame {
    pub kind: u8,
    pub numbers: Vec<i64>,
    pub text: Vec<u8>,
}

impl Frame {
    pub fn write(&self, to: &mut impl Write) -> io::Result<()> {
        to.write_all(&[self.kind])?;
        to.write_all(&(self.numbers.len() as u64).to_ne_bytes())?;
        to.write_all(&(self.text.len() as u64).to_ne_bytes())?;
        for number in &self.numbers {
            to.write_all(&number.to_ne_bytes())?;
        }
        to.write_all(&self.text)
    }

    pub fn read(from: &mut impl Read) -> io::Result<Frame> {
        let mut kind = [0];
        from.read_exact(&mut kind)?;
        let mut word = || {
            let mut bytes = [0; 8];
            from.read_exact(&mut bytes).map(|()| bytes)
        };
        let (numbers, text) = (u64::from_ne_bytes(word()?), u64::from_ne_bytes(word()?));
        if numbers.saturating_mul(8).saturating_add(text) > MOST {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let numbers = (0..numbers).map(|_| word().map(i64::from_ne_bytes));
        let numbers = numbers.collect::<io::Result<_>>()?;
        let mut bytes = vec![0; text as usize];
        from.read_exact(&mut bytes)?;
        Ok(Frame {
            kind: kind[0],
            numbers,
            text: bytes,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_and_what_is_cut_off_is_an_error() {
        let frame = Frame {
            kind: 7,
            numbers: vec![-1, i64::MAX],
            text: b"/a\n\xff".to_vec(),
        };
        let mut bytes = Vec::new();
        frame.write(&mut bytes).unwrap();
        assert_eq!(Frame::read(&mut bytes.as_slice()).unwrap(), frame);
        for end in 0..bytes.len() {
            assert!(Frame::read(&mut &bytes[..end]).is_err());
        }
        bytes[1..9].copy_from_slice(&u64::MAX.to_ne_bytes());
        assert!(Frame::read(&mut bytes.as_slice()).is_err());
    }
}
