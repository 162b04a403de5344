//! The list of files of a RocksDB (MANIFEST): column family and level of each sorted table (db/version_edit.h, db/log_format.h).

use std::collections::{BTreeMap, HashMap};

use super::MOST_FILES;

/// Bytes of a block of the log, and of the head of a record.
const BLOCK: usize = 32 << 10;
const HEAD: usize = 7;
const RECYCLED_HEAD: usize = 11;
/// Tags with this bit have bytes behind their length, and may be left out.
const IGNORABLE: u64 = 1 << 13;

/// Names of files, and what they are; those that it has dropped, too.
pub fn names(list: &[u8]) -> Vec<(String, String)> {
    let mut families = HashMap::from([(0, "default".to_owned())]);
    let mut files = BTreeMap::new();
    for record in records(list) {
        let edit = Edit::read(&record);
        if let Some(name) = edit.name {
            families.insert(edit.family, name);
        }
        for (level, number) in edit.files {
            files.insert(number, (edit.family, level));
            if files.len() > MOST_FILES {
                files.pop_first();
            }
        }
    }
    let of = |(number, (family, level)): (u64, (u64, u64))| {
        let name = families.get(&family)?;
        let object = format!("column family {name}, level {level}");
        Some((format!("{number:06}.sst"), object))
    };
    files.into_iter().filter_map(of).collect()
}

/// Records of the log, put together of their parts.
fn records(list: &[u8]) -> Vec<Vec<u8>> {
    let mut found = Vec::new();
    for block in list.chunks(BLOCK) {
        let mut rest = block;
        while rest.len() >= HEAD {
            let (length, kind) = (usize::from(u16::from_le_bytes([rest[4], rest[5]])), rest[6]);
            let head = if kind < 5 { HEAD } else { RECYCLED_HEAD };
            let Some(part) = rest.get(head..head + length).filter(|_| kind > 0) else {
                break;
            };
            // Whole and first parts begin one (odd and even ones: a whole one, the first, a middle one, the last).
            match (kind, found.last_mut()) {
                (1 | 2 | 5 | 6, _) => found.push(part.to_vec()),
                (3 | 4 | 7 | 8, Some(last)) => Vec::extend_from_slice(last, part),
                _ => {}
            }
            rest = &rest[head + length..];
        }
    }
    found
}

/// What one record changes.
#[derive(Default)]
struct Edit {
    family: u64,
    name: Option<String>,
    /// Level and number of files that it adds.
    files: Vec<(u64, u64)>,
}

impl Edit {
    /// As far as it is understood.
    fn read(record: &[u8]) -> Edit {
        let mut edit = Edit::default();
        let mut rest = record;
        while edit.part(&mut rest).is_some() {}
        edit
    }

    fn part(&mut self, rest: &mut &[u8]) -> Option<()> {
        match number(rest)? {
            // Of numbers: of logs and files, of the last sequence, of the largest family, of a group.
            2 | 3 | 4 | 9 | 10 | 203 | 300 => number(rest).map(drop)?,
            5 => {
                number(rest)?;
                text(rest)?;
            }
            6 => {
                number(rest)?;
                number(rest)?;
            }
            kind @ (7 | 100 | 102 | 103) => self.file(kind, rest)?,
            200 => self.family = number(rest)?,
            201 => self.name = super::name(text(rest)?).map(str::to_owned),
            202 => {}
            tag if tag == 1 || tag & IGNORABLE != 0 => text(rest).map(drop)?,
            _ => return None,
        }
        Some(())
    }

    /// Level, number, (of kind 102 a path,) size, first and last key, (first and last sequence,) and of kind 103 fields with tags.
    fn file(&mut self, kind: u64, rest: &mut &[u8]) -> Option<()> {
        let found = (number(rest)?, number(rest)?);
        if kind == 102 {
            number(rest)?;
        }
        number(rest)?;
        text(rest)?;
        text(rest)?;
        if kind != 7 {
            number(rest)?;
            number(rest)?;
        }
        while kind == 103 && number(rest)? != 1 {
            text(rest)?;
        }
        self.files.push(found);
        Some(())
    }
}

/// Seven bits a byte, the lowest first.
fn number(rest: &mut &[u8]) -> Option<u64> {
    let mut found = 0;
    for shift in (0..64).step_by(7) {
        let (byte, behind) = rest.split_first()?;
        *rest = behind;
        found |= u64::from(byte & 0x7f).checked_shl(shift)?;
        if byte & 0x80 == 0 {
            return Some(found);
        }
    }
    None
}

fn text<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let length = usize::try_from(number(rest)?).ok()?;
    let (found, behind) = rest.split_at_checked(length)?;
    *rest = behind;
    Some(found)
}
