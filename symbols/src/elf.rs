//! What is read of an ELF file: sections, its build id, its symbols.

use std::fs::File;
use std::io::Read;

use lzma_rust2::XzReader;
use object::elf::{FileHeader64, ProgramHeader64, SectionHeader64};
use object::read::elf::{
    CompressionHeader, FileHeader, NoteIterator, ProgramHeader, SectionHeader, SectionTable,
};
use object::{elf, CompressedData, CompressionFormat, Endianness};

use crate::data::{Bytes, Data};
use crate::demangle::demangled;
use crate::room::Room;

/// A mangled name is cut off here before it is taken apart.
const MAX_RAW_NAME_BYTES: usize = 16 * 1024;
/// Symbols without a size reach this far at most.
const MAX_REACH_BYTES: u64 = 64 << 10;
/// Symbols that begin later than an address may lie before the one that it is in.
const MAX_NESTED: usize = 32;
const SYMBOL_BYTES: usize = 24;
/// Headers and notes of a file of which only the build id is wanted.
const HEADERS_MOST_BYTES: u64 = 16 << 20;

/// A 64-bit ELF file, of which parts are read as they are wanted.
pub struct Elf {
    data: Data,
}

impl Elf {
    /// None for what is no 64-bit ELF file.
    pub fn of(file: File, room: &Room) -> Option<Elf> {
        Elf::new(file, room)
    }

    pub fn of_bytes(bytes: Vec<u8>, room: &Room) -> Option<Elf> {
        Elf::new(bytes, room)
    }

    fn new(bytes: impl Bytes + 'static, room: &Room) -> Option<Elf> {
        let elf = Elf {
            data: Data::new(bytes, room),
        };
        elf.headers()?;
        Some(elf)
    }

    /// What all that is read of it, and of the files beside it, may take.
    pub fn room(&self) -> &Room {
        &self.data.room
    }

    /// Its headers alone: what the library calls a file is one with its symbols.
    fn headers(&self) -> Option<Headers<'_>> {
        let header = FileHeader::parse(&self.data).ok()?;
        let endian = FileHeader64::endian(header).ok()?;
        Some(Headers {
            data: &self.data,
            endian,
            sections: header.sections(endian, &self.data).ok()?,
            segments: header.program_headers(endian, &self.data).ok()?,
        })
    }

    /// In lower-case hexadecimal.
    pub fn build_id(&self) -> Option<String> {
        let id = self.headers()?.build_id()?;
        (!id.is_empty() && id.len() <= 64).then(|| hexadecimal(id))
    }

    /// The name of the separate debug file (.gnu_debuglink), without a directory.
    pub fn debug_link(&self) -> Option<Vec<u8>> {
        let (name, _) = self.named_within(".gnu_debuglink")?;
        (!name.is_empty() && name.len() <= 255 && !name.contains(&b'/')).then_some(name)
    }

    /// The build id of the file that holds what several debug files share (.gnu_debugaltlink, as dwz makes it).
    pub fn shared_debug(&self) -> Option<String> {
        let (_, id) = self.named_within(".gnu_debugaltlink")?;
        (!id.is_empty() && id.len() <= 64).then(|| hexadecimal(&id))
    }

    /// A section that is the name of a file, and what comes after it.
    fn named_within(&self, section: &str) -> Option<(Vec<u8>, Vec<u8>)> {
        let mut name = self.section(section)?;
        let end = name.iter().position(|&byte| byte == 0)?;
        let rest = name.split_off(end + 1);
        name.pop();
        Some((name, rest))
    }

    pub fn has_lines(&self) -> bool {
        self.headers().is_some_and(|headers| {
            let has = |name| headers.section(name).is_some();
            has(".debug_info") && has(".debug_line")
        })
    }

    /// A section's bytes, decompressed; None where there is none, or no room for it.
    pub fn section(&self, name: &str) -> Option<Vec<u8>> {
        let headers = self.headers()?;
        let endian = headers.endian;
        let section = headers.section(name)?;
        let Some((header, offset, size)) = section.compression(endian, &self.data).ok()? else {
            let (offset, size) = section.file_range(endian)?;
            return self.data.part(offset, size);
        };
        let format = match header.ch_type(endian) {
            elf::ELFCOMPRESS_ZLIB => CompressionFormat::Zlib,
            elf::ELFCOMPRESS_ZSTD => CompressionFormat::Zstandard,
            _ => return None,
        };
        let uncompressed_size = header.ch_size(endian);
        let data = &self.data.part(offset, size)?;
        if !self.room().take(uncompressed_size) {
            return None;
        }
        let compressed = CompressedData {
            format,
            data,
            uncompressed_size,
        };
        Some(compressed.decompress().ok()?.into_owned())
    }

    /// The file within this one that names its functions which no other needs to find: an ELF file with symbols alone, compressed
    /// by xz ("MiniDebugInfo" in GDB's manual), as Fedora and those after it keep them.
    pub fn within(&self) -> Option<Elf> {
        let compressed = self.section(".gnu_debugdata")?;
        let mut bytes = Vec::new();
        // One byte more than there is room for tells that it is not all.
        let mut reader = XzReader::new(&compressed[..], false).take(self.room().left() + 1);
        reader.read_to_end(&mut bytes).ok()?;
        if !self.room().take(bytes.len() as u64) {
            return None;
        }
        Elf::of_bytes(bytes, self.room())
    }

    pub fn symbols(&self) -> Symbols {
        let mut symbols = Symbols::default();
        symbols.add(self);
        symbols.sort();
        symbols
    }

    /// Symbols and names of .symtab, or of .dynsym where there is no other.
    fn symbol_table(&self) -> Option<(Vec<u8>, Vec<u8>, bool)> {
        let big = self.headers()?.endian == Endianness::Big;
        for (table, names) in [(".symtab", ".strtab"), (".dynsym", ".dynstr")] {
            if let (Some(table), Some(names)) = (self.section(table), self.section(names)) {
                if table.len() >= SYMBOL_BYTES {
                    return Some((table, names, big));
                }
            }
        }
        None
    }
}

struct Headers<'a> {
    data: &'a Data,
    endian: Endianness,
    sections: SectionTable<'a, FileHeader64<Endianness>, &'a Data>,
    segments: &'a [ProgramHeader64<Endianness>],
}

impl<'a> Headers<'a> {
    fn section(&self, name: &str) -> Option<&'a SectionHeader64<Endianness>> {
        let found = self
            .sections
            .section_by_name(self.endian, name.as_bytes())?;
        Some(found.1)
    }

    /// By the notes of its sections; of its segments where it has no sections.
    fn build_id(&self) -> Option<&'a [u8]> {
        if self.sections.is_empty() {
            let notes = |one: &ProgramHeader64<_>| one.notes(self.endian, self.data).ok()?;
            return self
                .segments
                .iter()
                .filter_map(notes)
                .find_map(|notes| self.id_of(notes));
        }
        let notes = |one: &SectionHeader64<_>| one.notes(self.endian, self.data).ok()?;
        self.sections
            .iter()
            .filter_map(notes)
            .find_map(|notes| self.id_of(notes))
    }

    fn id_of(&self, mut notes: NoteIterator<'a, FileHeader64<Endianness>>) -> Option<&'a [u8]> {
        loop {
            let note = notes.next().ok()??;
            let kind = note.n_type(self.endian);
            if note.name() == elf::ELF_NOTE_GNU && kind == elf::NT_GNU_BUILD_ID {
                return Some(note.desc());
            }
        }
    }
}

/// The build id of a file; None where it has none or is damaged.
pub fn build_id_of(file: File) -> Option<String> {
    Elf::of(file, &Room::of(HEADERS_MOST_BYTES))?.build_id()
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

struct Symbol {
    start: u64,
    size: u64,
    /// Which of the string tables, and where in it.
    names: usize,
    name: u32,
}

/// Functions by where they begin.
#[derive(Default)]
pub struct Symbols {
    sorted: Vec<Symbol>,
    names: Vec<Vec<u8>>,
}

impl Symbols {
    pub fn add(&mut self, elf: &Elf) {
        let Some((table, names, big)) = elf.symbol_table() else {
            return;
        };
        let count = table.len() / SYMBOL_BYTES;
        if !elf.room().take((count * size_of::<Symbol>()) as u64) {
            return;
        }
        let at = self.names.len();
        let symbols = table.chunks_exact(SYMBOL_BYTES);
        self.sorted
            .extend(symbols.filter_map(|raw| function(raw, big, at)));
        self.names.push(names);
    }

    pub fn sort(&mut self) {
        self.sorted.sort_unstable_by_key(|symbol| symbol.start);
    }

    /// The function that an address is in.
    pub fn name(&self, address: u64) -> Option<String> {
        let after = self
            .sorted
            .partition_point(|symbol| symbol.start <= address);
        let before = &self.sorted[after.saturating_sub(MAX_NESTED)..after];
        let holds = |symbol: &&Symbol| address - symbol.start < symbol.size;
        let reaches =
            |symbol: &&Symbol| symbol.size == 0 && address - symbol.start < MAX_REACH_BYTES;
        let nearest = before
            .iter()
            .rfind(holds)
            .or_else(|| before.last().filter(reaches))?;
        // Of several names of one function the plainest: write rather than __libc_write.
        let same = before.iter().filter(|symbol| symbol.start == nearest.start);
        let raw = same
            .filter_map(|symbol| self.raw(symbol))
            .min_by_key(|raw| (underscores(raw), raw.len(), raw.to_vec()))?;
        Some(demangled(versionless(raw)))
    }

    fn raw(&self, symbol: &Symbol) -> Option<&[u8]> {
        let from = self.names[symbol.names].get(symbol.name as usize..)?;
        let from = &from[..from.len().min(MAX_RAW_NAME_BYTES)];
        let end = from
            .iter()
            .position(|&byte| byte == 0)
            .unwrap_or(from.len());
        (end > 0).then_some(&from[..end])
    }
}

/// A function that is in the file (Elf64_Sym: name, info, other, section, value, size).
fn function(raw: &[u8], big: bool, names: usize) -> Option<Symbol> {
    let number = |at: usize, length: usize| {
        let bytes = &raw[at..at + length];
        let add = |sum: u64, byte: &u8| sum << 8 | u64::from(*byte);
        if big {
            bytes.iter().fold(0, add)
        } else {
            bytes.iter().rev().fold(0, add)
        }
    };
    let kind = raw[4] & 0xf;
    let function = matches!(kind, elf::STT_FUNC | elf::STT_GNU_IFUNC);
    let (start, size) = (number(8, 8), number(16, 8));
    // Assembly without types: only what has no size, as data has one.
    let bare = kind == elf::STT_NOTYPE && size == 0;
    if !(function || bare) || number(6, 2) == u64::from(elf::SHN_UNDEF) || start == 0 {
        return None;
    }
    let name = number(0, 4) as u32;
    (name != 0).then_some(Symbol {
        start,
        size,
        names,
        name,
    })
}

fn underscores(name: &[u8]) -> usize {
    if name.starts_with(b"_Z") || name.starts_with(b"_R") {
        return 0;
    }
    name.iter().take_while(|&&byte| byte == b'_').count()
}

/// Without the version that old linkers put into names (`memcpy@@GLIBC_2.14`).
fn versionless(name: &[u8]) -> &[u8] {
    match name.iter().position(|&byte| byte == b'@') {
        Some(at) if at > 0 => &name[..at],
        _ => name,
    }
}
