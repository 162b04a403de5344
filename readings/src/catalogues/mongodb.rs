//! The catalogue of a MongoDB (`_mdb_catalog.wt`, a table of WiredTiger): which collection or index each of its files is.
//!
//! Every page of the file is read, also those that have been written anew elsewhere since: the newest row of a file counts.
//! Pages are as they are or packed by snappy, MongoDB's default; those of another packer have no names.

use std::collections::HashMap;

use super::MOST_FILES;

pub const CATALOGUE: &str = "_mdb_catalog.wt";

/// Unit of WiredTiger's files as MongoDB makes them, its heads of a page and of a block (btmem.h, block.h), and what is never packed.
const UNIT: usize = 4096;
const HEAD: usize = 40;
const PLAIN: usize = 64;
const ROW_LEAF: u8 = 7;
const PACKED: u8 = 1;
/// Bytes of a page, and of all pages.
const MOST: usize = 16 << 20;
const MOST_TOGETHER: usize = 64 << 20;

/// Names of files below the database's folder, and what they are.
pub fn names(file: &[u8]) -> Vec<(String, String)> {
    let mut found: HashMap<String, (u64, String)> = HashMap::new();
    let mut left = MOST_TOGETHER;
    for at in (0..file.len()).step_by(UNIT) {
        let Some((written, page)) = page(&file[at..], &mut left) else {
            continue;
        };
        for (ident, object) in rows(&page) {
            let known = found.get(&ident);
            let newer = known.is_none_or(|(before, _)| *before <= written);
            if newer && (known.is_some() || found.len() < MOST_FILES) {
                found.insert(ident, (written, object));
            }
        }
    }
    let of = |(ident, (_, object))| (format!("{ident}.wt"), object);
    found.into_iter().map(of).collect()
}

/// When a page of rows was written, and what is on it.
fn page(file: &[u8], left: &mut usize) -> Option<(u64, Vec<u8>)> {
    let head = file.get(..HEAD)?;
    let written = u64::from_le_bytes(head[8..16].try_into().ok()?);
    let (size, on_disk) = (int(head, 16)?, int(head, 28)?);
    if head[24] != ROW_LEAF || size > MOST || on_disk > MOST {
        return None;
    }
    let block = file.get(..on_disk)?;
    *left = left.checked_sub(size)?;
    if head[25] & PACKED == 0 {
        return Some((written, block.get(HEAD..size)?.to_vec()));
    }
    let packed = block.get(PLAIN + 8..)?.get(..int(block, PLAIN)?)?;
    let bytes = [block.get(HEAD..PLAIN)?, &unpacked(packed, size)?].concat();
    Some((written, bytes))
}

fn int(bytes: &[u8], at: usize) -> Option<usize> {
    let four = bytes.get(at..)?.first_chunk::<4>()?;
    usize::try_from(u32::from_le_bytes(*four)).ok()
}

/// Of snappy's raw format, no more than `most`.
fn unpacked(packed: &[u8], most: usize) -> Option<Vec<u8>> {
    let length = packed.iter().position(|byte| byte & 0x80 == 0)? + 1;
    let mut rest = packed.get(length..)?;
    let mut out: Vec<u8> = Vec::new();
    while let Some((tag, behind)) = rest.split_first() {
        rest = behind;
        let tag = usize::from(*tag);
        let mut take = |bytes: usize| {
            let (taken, behind) = rest.split_at_checked(bytes)?;
            rest = behind;
            let number = |sum: usize, byte: &u8| sum << 8 | usize::from(*byte);
            Some(taken.iter().rev().fold(0, number))
        };
        let (length, back) = match tag & 3 {
            0 => {
                let more = (tag >> 2).saturating_sub(59);
                let length = if more > 0 { take(more)? } else { tag >> 2 };
                let (literal, behind) = rest.split_at_checked(length + 1)?;
                out.extend(literal);
                rest = behind;
                continue;
            }
            1 => ((tag >> 2 & 7) + 4, (tag >> 5) << 8 | take(1)?),
            kind => ((tag >> 2) + 1, take(if kind == 2 { 2 } else { 4 })?),
        };
        let from = out.len().checked_sub(back).filter(|_| back > 0)?;
        if out.len() + length > most {
            return None;
        }
        // What it repeats may be what it writes.
        for at in from..from + length {
            out.push(out[at]);
        }
    }
    (out.len() <= most).then_some(out)
}

/// Rows of collections on a page: names of files, and what they are.
fn rows(page: &[u8]) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut at = 4;
    while at < page.len() {
        let begins = page[at..].starts_with(b"\x03md\0") || page[at..].starts_with(b"\x02ns\0");
        let document = begins.then(|| document(&page[at - 4..])).flatten();
        if let Some(one) = document.and_then(collection) {
            found.extend(one);
        }
        at += document.map_or(1, <[u8]>::len);
    }
    found
}

/// A collection's file, and those of its indexes.
fn collection(document: &[u8]) -> Option<Vec<(String, String)>> {
    let (mut namespace, mut ident, mut indexes) = (None, None, None);
    for (key, kind, value) in elements(document) {
        match (key, kind) {
            (b"ns", 2) => namespace = text(value),
            (b"ident", 2) => ident = text(value),
            (b"idxIdent", 3) => indexes = Some(value),
            _ => {}
        }
    }
    let namespace = namespace?;
    let mut found = vec![(file(ident?)?, namespace.to_owned())];
    for (index, kind, value) in indexes.into_iter().flat_map(elements) {
        if let (Some(index), Some(ident), 2) = (super::name(index), text(value), kind) {
            let object = format!("{index} (index of {namespace})");
            found.extend(file(ident).map(|file| (file, object)));
        }
    }
    Some(found)
}

/// A file below the database's folder, and nowhere else.
fn file(ident: &str) -> Option<String> {
    let inside = ident
        .split('/')
        .all(|part| !part.is_empty() && part != "..");
    inside.then(|| ident.to_owned())
}

fn text(value: &[u8]) -> Option<&str> {
    super::name(value.get(4..)?.strip_suffix(b"\0")?)
}

/// A document of BSON (bsonspec.org) at the begin of bytes.
fn document(bytes: &[u8]) -> Option<&[u8]> {
    let length = int(bytes, 0).filter(|length| *length >= 5)?;
    bytes.get(..length).filter(|found| found.ends_with(b"\0"))
}

/// Its elements, as far as they are understood: key, kind and value.
fn elements(document: &[u8]) -> impl Iterator<Item = (&[u8], u8, &[u8])> {
    let mut rest = document.get(4..).unwrap_or_default();
    std::iter::from_fn(move || {
        let (kind, behind) = rest.split_first().filter(|(kind, _)| **kind != 0)?;
        let end = behind.iter().position(|byte| *byte == 0)?;
        let (key, behind) = (&behind[..end], &behind[end + 1..]);
        let length = match kind {
            0x06 | 0x0a | 0x7f | 0xff => 0,
            0x08 => 1,
            0x10 => 4,
            0x01 | 0x09 | 0x11 | 0x12 => 8,
            0x07 => 12,
            0x13 => 16,
            0x02 => int(behind, 0)?.checked_add(4)?,
            0x05 => int(behind, 0)?.checked_add(5)?,
            0x03 | 0x04 => int(behind, 0)?,
            _ => return None,
        };
        let (value, behind) = behind.split_at_checked(length)?;
        rest = behind;
        Some((key, *kind, value))
    })
}
