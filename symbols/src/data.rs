//! The bytes of a file: its headers are kept as they are read, its sections read once, all of it as far as there is room.

use std::cell::RefCell;
use std::collections::HashSet;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::rc::Rc;

use object::{ReadCache, ReadRef};

use crate::room::Room;

/// Names of sections that the library looks for the end of.
const NAME_MOST: u64 = 4096;

/// A file, or memory that holds one.
pub trait Bytes {
    fn length(&self) -> io::Result<u64>;
    /// As many as there are, but no more than fit.
    fn read(&self, to: &mut [u8], offset: u64) -> io::Result<usize>;
}

impl Bytes for File {
    fn length(&self) -> io::Result<u64> {
        Ok(self.metadata()?.len())
    }

    fn read(&self, to: &mut [u8], offset: u64) -> io::Result<usize> {
        self.read_at(to, offset)
    }
}

impl Bytes for Vec<u8> {
    fn length(&self) -> io::Result<u64> {
        Ok(self.len() as u64)
    }

    fn read(&self, to: &mut [u8], offset: u64) -> io::Result<usize> {
        let from = usize::try_from(offset).ok().and_then(|at| self.get(at..));
        Read::read(&mut from.unwrap_or(&[]), to)
    }
}

/// Where the library reads next.
struct Reader {
    bytes: Rc<dyn Bytes>,
    at: u64,
}

impl Read for Reader {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let read = self.bytes.read(to, self.at)?;
        self.at += read as u64;
        Ok(read)
    }
}

impl Seek for Reader {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let (from, by) = match to {
            SeekFrom::Start(at) => (at, 0),
            SeekFrom::Current(by) => (self.at, by),
            SeekFrom::End(by) => (self.bytes.length()?, by),
        };
        let at = from.checked_add_signed(by);
        self.at = at.ok_or(io::ErrorKind::InvalidInput)?;
        Ok(self.at)
    }
}

pub struct Data {
    bytes: Rc<dyn Bytes>,
    headers: ReadCache<Reader>,
    /// What is kept already: where it begins, and how far it reaches.
    kept: RefCell<HashSet<(u64, u64)>>,
    pub room: Room,
}

impl Data {
    pub fn new(bytes: impl Bytes + 'static, room: &Room) -> Data {
        let bytes: Rc<dyn Bytes> = Rc::new(bytes);
        let reader = Reader {
            bytes: Rc::clone(&bytes),
            at: 0,
        };
        Data {
            bytes,
            headers: ReadCache::new(reader),
            kept: RefCell::default(),
            room: room.clone(),
        }
    }

    /// All bytes of a part, which are not kept here; None where there are fewer, or there is no room for them.
    pub fn part(&self, offset: u64, length: u64) -> Option<Vec<u8>> {
        let end = offset.checked_add(length)?;
        if end > self.bytes.length().ok()? || !self.room.take(length) {
            return None;
        }
        let mut part = vec![0; usize::try_from(length).ok()?];
        let mut reader = Reader {
            bytes: Rc::clone(&self.bytes),
            at: offset,
        };
        reader.read_exact(&mut part).ok()?;
        Some(part)
    }

    fn has_room(&self, offset: u64, length: u64) -> Result<(), ()> {
        let mut kept = self.kept.borrow_mut();
        if !kept.contains(&(offset, length)) {
            if offset.saturating_add(length) > self.bytes.length().map_err(drop)?
                || !self.room.take(length)
            {
                return Err(());
            }
            kept.insert((offset, length));
        }
        Ok(())
    }
}

impl<'a> ReadRef<'a> for &'a Data {
    fn len(self) -> Result<u64, ()> {
        self.bytes.length().map_err(drop)
    }

    fn read_bytes_at(self, offset: u64, size: u64) -> Result<&'a [u8], ()> {
        self.has_room(offset, size)?;
        self.headers.read_bytes_at(offset, size)
    }

    fn read_bytes_at_until(self, range: Range<u64>, delimiter: u8) -> Result<&'a [u8], ()> {
        let length = range.end.saturating_sub(range.start).min(NAME_MOST);
        self.has_room(range.start, length)?;
        self.headers.read_bytes_at_until(range, delimiter)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_takes_room_once_and_what_has_none_is_not_read() {
        let room = Room::of(100);
        let data = Data::new(vec![7; 1000], &room);
        for _ in 0..3 {
            assert_eq!((&data).read_bytes_at(10, 60), Ok(&[7; 60][..]));
        }
        assert_eq!(room.left(), 40);
        assert_eq!(data.part(0, 40), Some(vec![7; 40]));
        assert!(!room.was_full());
        assert_eq!(data.part(0, 1), None);
        assert!(room.was_full());
    }

    #[test]
    fn what_is_not_there_takes_no_room() {
        let room = Room::of(100);
        let data = Data::new(vec![7; 10], &room);
        assert_eq!(data.part(5, 6), None);
        assert_eq!(data.part(u64::MAX, 1), None);
        assert_eq!((&data).read_bytes_at(0, 11), Err(()));
        assert_eq!((room.left(), room.was_full()), (100, false));
    }
}
