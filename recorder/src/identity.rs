//! Which file a record means: filesystems give the number of a deleted file's inode to the next one that is made.

use std::collections::HashMap;

use crate::event::{self, FileId, Plain};

/// Files whose generation is remembered; of more than these, one is not told from its successor.
const MOST: usize = 262_144;
/// Files that were looked up last, by inode.
const RECENT: usize = 64;

/// A record that names a file (build/layout.rs implements it for all).
pub trait Identified {
    /// Puts what the recording knows the file by in the place of its inode's number.
    fn identify(&mut self, _identities: &mut Identities) {}
}

/// The record at the start of `bytes`, with its file as the recording knows it; None when there are too few.
pub fn identified<T: Plain + Identified>(bytes: &[u8], identities: &mut Identities) -> Option<T> {
    let mut record: T = event::read(bytes)?;
    record.identify(identities);
    Some(record)
}

/// What files are known by in a recording: the number of the inode, and for a file that came by the number of
/// an earlier one, a negative number that no inode has. So (dev, ino) means one file in every table.
#[derive(Debug)]
pub struct Identities {
    /// The generation that each inode was first met with.
    first: HashMap<(u32, u64), u32>,
    later: HashMap<FileId, u64>,
    recent: Box<[(FileId, u64); RECENT]>,
}

impl Default for Identities {
    fn default() -> Identities {
        Identities {
            first: HashMap::new(),
            later: HashMap::new(),
            recent: Box::new([(FileId::default(), 0); RECENT]),
        }
    }
}

impl Identities {
    /// What the file is known by: its inode's number, or a negative number (as the 64 bits of an i64).
    #[inline]
    pub fn of(&mut self, file: FileId) -> u64 {
        let place = (file.ino ^ u64::from(file.dev)) as usize % RECENT;
        let (known, number) = self.recent[place];
        if known == file {
            return number;
        }
        let number = self.look_up(file);
        self.recent[place] = (file, number);
        number
    }

    fn look_up(&mut self, file: FileId) -> u64 {
        let inode = (file.dev, file.ino);
        match self.first.get(&inode) {
            Some(first) if *first == file.generation => file.ino,
            None => {
                if self.first.len() < MOST {
                    self.first.insert(inode, file.generation);
                }
                file.ino
            }
            Some(_) => {
                let next = -1 - self.later.len() as i64;
                if self.later.len() >= MOST && !self.later.contains_key(&file) {
                    return file.ino;
                }
                *self.later.entry(file).or_insert(next as u64)
            }
        }
    }
}

/// The device number of anonymous inodes, as the kernel writes it: of an eventfd, which is one. Since Linux 6.16
/// they have the mode of a regular file.
pub fn anonymous_dev() -> Option<u32> {
    use std::os::fd::{FromRawFd, OwnedFd};
    use std::os::unix::fs::MetadataExt;
    // SAFETY: the descriptor is new and belongs to nobody else.
    let event = unsafe {
        match libc::eventfd(0, libc::EFD_CLOEXEC) {
            -1 => return None,
            fd => OwnedFd::from_raw_fd(fd),
        }
    };
    let dev = std::fs::File::from(event).metadata().ok()?.dev();
    Some(libc::major(dev) << 20 | libc::minor(dev))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(dev: u32, ino: u64, generation: u32) -> FileId {
        FileId {
            ino,
            dev,
            generation,
        }
    }

    #[test]
    fn a_number_that_serves_again_is_another_file() {
        let mut identities = Identities::default();
        let asked = [
            file(1, 12, 700),
            file(1, 12, 701),
            file(2, 12, 701),
            file(1, 12, 702),
            file(1, 12 + RECENT as u64, 0),
            file(1, 12, 700),
            file(1, 12, 701),
            file(1, 12, 702),
        ];
        let found = asked.map(|f| identities.of(f) as i64);
        assert_eq!(found, [12, -1, 12, -2, 12 + RECENT as i64, 12, -1, -2]);
    }

    #[test]
    fn no_file_is_inode_0_of_no_device() {
        assert_eq!(Identities::default().of(FileId::default()), 0);
    }
}
