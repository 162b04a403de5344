//! What unwinding needs of an ELF file: where it is mapped to, its unwind tables, its build id.
//!
//! A file is hostile input: it may be damaged, change while it is read, or say that a table of a few bytes has
//! gigabytes. Nothing is mapped, all that is read has a bound, and what does not fit is not there.

use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

/// Program headers and sections of a file that are looked at.
const HEADERS_MOST: u64 = 4096;
/// The largest page of the architectures that are unwound (arm64's with 64 KiB).
const PAGE_MOST: u64 = 65_536;
/// Bytes of one unwind table, of the names of sections, and of a note that are read.
const TABLE_MOST: u64 = 64 << 20;
const NAMES_MOST: u64 = 1 << 20;
const NOTES_MOST: u64 = 64 << 10;

/// System V ABI: types of program headers (and gABI's GNU extensions), and of notes.
const PF_X: u32 = 1;
const PT_LOAD: u32 = 1;
const PT_NOTE: u32 = 4;
const PT_GNU_EH_FRAME: u32 = 0x6474_e550;
const NT_GNU_BUILD_ID: u32 = 3;
const SHT_NOBITS: u32 = 8;

/// Bytes of an ELF file, or of memory that holds one.
pub trait Bytes {
    /// Exactly `length` bytes at `offset`; None where there are fewer.
    fn read(&self, offset: u64, length: u64) -> Option<Vec<u8>>;
}

impl Bytes for File {
    fn read(&self, offset: u64, length: u64) -> Option<Vec<u8>> {
        // What a header says must be there before memory is taken for it.
        if offset.checked_add(length)? > self.metadata().ok()?.len() {
            return None;
        }
        let mut bytes = vec![0; usize::try_from(length).ok()?];
        self.read_exact_at(&mut bytes, offset).ok()?;
        Some(bytes)
    }
}

impl Bytes for [u8] {
    fn read(&self, offset: u64, length: u64) -> Option<Vec<u8>> {
        let start = usize::try_from(offset).ok()?;
        let end = start.checked_add(usize::try_from(length).ok()?)?;
        self.get(start..end).map(<[u8]>::to_vec)
    }
}

/// A part of the file that is loaded: addresses as the file states them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Segment {
    offset: u64,
    address: u64,
    in_file: u64,
    /// It may be executed.
    is_code: bool,
}

/// A table with its addresses as the file states them.
#[derive(Clone, Debug)]
pub struct Table {
    pub addresses: Range<u64>,
    pub bytes: Arc<[u8]>,
}

/// What unwinding needs of a file.
#[derive(Clone, Debug, Default)]
pub struct Elf {
    segments: Vec<Segment>,
    pub eh_frame: Option<Table>,
    pub eh_frame_hdr: Option<Table>,
    /// `.debug_frame`, where there is no `.eh_frame`.
    pub debug_frame: Option<Arc<[u8]>>,
    /// In lower-case hexadecimal.
    pub build_id: Option<String>,
}

impl Elf {
    /// None where it is no 64-bit little-endian ELF file, or nothing of it is loaded. `most`: bytes of its tables together; what
    /// does not fit is not there.
    pub fn read(file: &(impl Bytes + ?Sized), most: u64) -> Option<Elf> {
        let mut left = most;
        let header = file.read(0, 64)?;
        if header.get(..6)? != b"\x7fELF\x02\x01" {
            return None;
        }
        let mut elf = Elf::default();
        let mut hdr = None;
        for program in headers(file, u64_at(&header, 32)?, &header[54..58], 56)? {
            let kind = u32_at(&program, 0)?;
            let segment = Segment {
                offset: u64_at(&program, 8)?,
                address: u64_at(&program, 16)?,
                in_file: u64_at(&program, 32)?,
                is_code: u32_at(&program, 4)? & PF_X != 0,
            };
            match kind {
                PT_LOAD => elf.segments.push(segment),
                PT_GNU_EH_FRAME => hdr = Some(segment),
                PT_NOTE if elf.build_id.is_none() => {
                    let notes = file.read(segment.offset, segment.in_file.min(NOTES_MOST));
                    elf.build_id = notes.and_then(|notes| build_id(&notes));
                }
                _ => {}
            }
        }
        elf.read_sections(file, &header, &mut left);
        if elf.eh_frame.is_none() {
            elf.read_by_header(file, hdr, &mut left);
        }
        (!elf.segments.is_empty()).then_some(elf)
    }

    /// The tables by the names of their sections.
    fn read_sections(
        &mut self,
        file: &(impl Bytes + ?Sized),
        header: &[u8],
        left: &mut u64,
    ) -> Option<()> {
        let sections = headers(file, u64_at(header, 40)?, header.get(58..62)?, 64)?;
        let names = sections.get(usize::from(u16_at(header, 62)?))?;
        let names = file.read(u64_at(names, 24)?, u64_at(names, 32)?.min(NAMES_MOST))?;
        for section in sections {
            let name = names.get(u32_at(&section, 0)? as usize..).unwrap_or(&[]);
            let name = name.split(|&byte| byte == 0).next().unwrap_or(&[]);
            if !matches!(name, b".eh_frame" | b".eh_frame_hdr" | b".debug_frame") {
                continue;
            }
            // Of a file of debug information alone the tables are empty; compressed ones are not read.
            let flags = u64_at(&section, 8)?;
            if u32_at(&section, 4)? == SHT_NOBITS || flags & 0x800 != 0 {
                continue;
            }
            let at = Segment {
                address: u64_at(&section, 16)?,
                offset: u64_at(&section, 24)?,
                in_file: u64_at(&section, 32)?,
                is_code: false,
            };
            let Some(table) = table(file, at, left) else {
                continue;
            };
            match name {
                b".eh_frame" => self.eh_frame = Some(table),
                b".eh_frame_hdr" => self.eh_frame_hdr = Some(table),
                _ => self.debug_frame = Some(table.bytes),
            }
        }
        Some(())
    }

    /// The tables by the program header, where a file has no names of sections: `.eh_frame_hdr` says where `.eh_frame`
    /// begins (LSB, "Exception Frame Header"), which then goes up to the end of its segment at most.
    fn read_by_header(
        &mut self,
        file: &(impl Bytes + ?Sized),
        hdr: Option<Segment>,
        left: &mut u64,
    ) -> Option<()> {
        /// Address from the field itself, four bytes (DW_EH_PE_pcrel | DW_EH_PE_sdata4): what linkers write.
        const RELATIVE: u8 = 0x1b;
        let hdr = hdr?;
        let table_of_hdr = table(file, hdr, left)?;
        if table_of_hdr.bytes.get(..2)? != [1, RELATIVE] {
            return None;
        }
        let distance = u32_at(&table_of_hdr.bytes, 4)? as i32;
        let address = (hdr.address + 4).checked_add_signed(distance.into())?;
        let segment = self.segments.iter().find(|segment| {
            (segment.address..segment.address.saturating_add(segment.in_file)).contains(&address)
        })?;
        let into = address - segment.address;
        let of_frames = Segment {
            offset: segment.offset.checked_add(into)?,
            address,
            in_file: (segment.in_file - into).min(TABLE_MOST).min(*left),
            is_code: false,
        };
        self.eh_frame = table(file, of_frames, left);
        self.eh_frame_hdr = Some(table_of_hdr);
        Some(())
    }

    /// What its tables take in memory.
    pub fn table_bytes(&self) -> u64 {
        let of = |table: &Option<Table>| table.as_ref().map_or(0, |table| table.bytes.len());
        let debug = self.debug_frame.as_ref().map_or(0, |bytes| bytes.len());
        (of(&self.eh_frame) + of(&self.eh_frame_hdr) + debug) as u64
    }

    /// The lowest address, as the file states it.
    pub fn base(&self) -> u64 {
        self.segments.iter().map(|s| s.address).min().unwrap_or(0)
    }

    /// The address that the file states for code at a place in it; a mapping begins at a page, which can lie before the
    /// part of the file that it is for.
    pub fn address_of(&self, offset: u64) -> Option<u64> {
        let holds = |segment: &&Segment| {
            let start = segment.offset & !(PAGE_MOST - 1);
            (start..segment.offset.saturating_add(segment.in_file)).contains(&offset)
        };
        let segment = self.segments.iter().filter(|s| s.is_code).find(holds)?;
        match offset.checked_sub(segment.offset) {
            Some(into) => segment.address.checked_add(into),
            None => segment.address.checked_sub(segment.offset - offset),
        }
    }
}

/// Program headers or sections: `counts` has the size of one, which is `each`, and how many.
fn headers(
    file: &(impl Bytes + ?Sized),
    offset: u64,
    counts: &[u8],
    each: usize,
) -> Option<Vec<Vec<u8>>> {
    let (size, count) = (u16_at(counts, 0)?, u16_at(counts, 2)?);
    if usize::from(size) != each || u64::from(count) > HEADERS_MOST {
        return None;
    }
    let bytes = file.read(offset, u64::from(size) * u64::from(count))?;
    Some(
        bytes
            .chunks_exact(size.into())
            .map(<[u8]>::to_vec)
            .collect(),
    )
}

fn table(file: &(impl Bytes + ?Sized), at: Segment, left: &mut u64) -> Option<Table> {
    if at.in_file > TABLE_MOST {
        return None;
    }
    let rest = left.checked_sub(at.in_file)?;
    let bytes = file.read(at.offset, at.in_file)?;
    *left = rest;
    Some(Table {
        addresses: at.address..at.address.checked_add(at.in_file)?,
        bytes: bytes.into(),
    })
}

/// Notes are a size of the name, one of the content, a type, then both, each filled up to four bytes.
fn build_id(notes: &[u8]) -> Option<String> {
    let mut at = 0_usize;
    loop {
        let name_size = u32_at(notes, at)? as usize;
        let size = u32_at(notes, at + 4)? as usize;
        let kind = u32_at(notes, at + 8)?;
        let name = at + 12;
        let content = name.checked_add(name_size.checked_next_multiple_of(4)?)?;
        let end = content.checked_add(size)?;
        if kind == NT_GNU_BUILD_ID && notes.get(name..name.checked_add(name_size)?)? == b"GNU\0" {
            let id = notes.get(content..end)?;
            // SHA-1 has 20 bytes; others choose up to 64.
            let whole = !id.is_empty() && id.len() <= 64;
            return whole.then(|| id.iter().map(|byte| format!("{byte:02x}")).collect());
        }
        at = end.checked_next_multiple_of(4)?;
    }
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(
        bytes.get(at..at.checked_add(4)?)?.try_into().ok()?,
    ))
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(
        bytes.get(at..at.checked_add(8)?)?.try_into().ok()?,
    ))
}
