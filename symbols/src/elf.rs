//! What is read of an ELF file: sections, its build id, its symbols.

use std::fs::File;
use std::io::{Cursor, Read, Seek};

use object::read::elf::ElfFile64;
use object::{elf, Endianness, Object, ObjectSection, ReadCache};

use crate::demangle::demangled;

/// A larger section is passed over, and what it would tell is not known.
pub const MAX_SECTION_BYTES: u64 = 512 << 20;
/// A mangled name is cut off here before it is taken apart.
const MAX_RAW_NAME_BYTES: usize = 16 * 1024;
/// Symbols without a size reach this far at most.
const MAX_REACH_BYTES: u64 = 64 << 10;
/// Symbols that begin later than an address may lie before the one that it is in.
const MAX_NESTED: usize = 32;
const SYMBOL_BYTES: usize = 24;

trait Source: Read + Seek + Send {}
impl<T: Read + Seek + Send> Source for T {}

type Data = ReadCache<Box<dyn Source>>;

/// A 64-bit ELF file, of which parts are read as they are wanted.
pub struct Elf {
    data: Data,
}

impl Elf {
    /// None for what is no 64-bit ELF file.
    pub fn of(file: File) -> Option<Elf> {
        Elf::new(Box::new(file))
    }

    pub fn of_bytes(bytes: Vec<u8>) -> Option<Elf> {
        Elf::new(Box::new(Cursor::new(bytes)))
    }

    fn new(source: Box<dyn Source>) -> Option<Elf> {
        let elf = Elf {
            data: ReadCache::new(source),
        };
        elf.parsed()?;
        Some(elf)
    }

    fn parsed(&self) -> Option<ElfFile64<'_, Endianness, &Data>> {
        ElfFile64::parse(&self.data).ok()
    }

    /// In lower-case hexadecimal.
    pub fn build_id(&self) -> Option<String> {
        let id = self.parsed()?.build_id().ok()??;
        (!id.is_empty() && id.len() <= 64).then(|| hexadecimal(id))
    }

    /// The name of the separate debug file (.gnu_debuglink), without a directory.
    pub fn debug_link(&self) -> Option<Vec<u8>> {
        let (name, _) = self.parsed()?.gnu_debuglink().ok()??;
        (!name.is_empty() && name.len() <= 255 && !name.contains(&b'/')).then(|| name.to_vec())
    }

    /// The build id of the file that holds what several debug files share (.gnu_debugaltlink, as dwz makes it).
    pub fn shared_debug(&self) -> Option<String> {
        let (_, id) = self.parsed()?.gnu_debugaltlink().ok()??;
        (!id.is_empty() && id.len() <= 64).then(|| hexadecimal(id))
    }

    pub fn has_lines(&self) -> bool {
        let has = |name| {
            self.parsed()
                .is_some_and(|file| file.section_by_name(name).is_some())
        };
        has(".debug_info") && has(".debug_line")
    }

    /// A section's bytes, decompressed; None where there is none, or it is larger than `most` or MAX_SECTION_BYTES.
    pub fn section(&self, name: &str, most: u64) -> Option<Vec<u8>> {
        let file = self.parsed()?;
        let section = file.section_by_name(name)?;
        let range = section.compressed_file_range().ok()?;
        let bound = most.min(MAX_SECTION_BYTES);
        if range.uncompressed_size > bound || range.compressed_size > bound {
            return None;
        }
        Some(section.uncompressed_data().ok()?.into_owned())
    }

    pub fn symbols(&self) -> Symbols {
        let mut symbols = Symbols::default();
        symbols.add(self);
        symbols.sort();
        symbols
    }

    /// Symbols and names of .symtab, or of .dynsym where there is no other.
    fn symbol_table(&self) -> Option<(Vec<u8>, Vec<u8>, bool)> {
        let big = self.parsed()?.endianness() == Endianness::Big;
        for (table, names) in [(".symtab", ".strtab"), (".dynsym", ".dynstr")] {
            let table = self.section(table, MAX_SECTION_BYTES);
            let names = self.section(names, MAX_SECTION_BYTES);
            if let (Some(table), Some(names)) = (table, names) {
                if table.len() >= SYMBOL_BYTES {
                    return Some((table, names, big));
                }
            }
        }
        None
    }
}

/// The build id of a file; None where it has none or is damaged.
pub fn build_id_of(file: File) -> Option<String> {
    Elf::of(file)?.build_id()
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
