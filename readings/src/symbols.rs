//! Names of kernel functions, from /proc/kallsyms.

use std::path::{Path, PathBuf};

use crate::Roots;

/// Looks up addresses. The table (some 10 MB) is read at the first look-up, and only then.
#[derive(Debug)]
pub struct Symbols {
    path: PathBuf,
    table: Option<Result<Table, String>>,
}

#[derive(Debug)]
struct Table {
    /// Sorted: address, and the end of its name in `names`; the name begins where the one before ends.
    starts: Vec<(u64, u32, u32)>,
    names: String,
}

/// The last function of the table ends somewhere: what lies further behind it is no kernel code.
const LONGEST_FUNCTION: u64 = 1 << 20;

impl Symbols {
    pub fn new(roots: &Roots) -> Symbols {
        Symbols {
            path: roots.proc.join("kallsyms"),
            table: None,
        }
    }

    /// The function that holds an address, as the kernel names it (without its module). None: no function
    /// does, or [`Symbols::why_not`].
    pub fn name(&mut self, address: u64) -> Option<&str> {
        self.table()
            .as_ref()
            .ok()
            .and_then(|table| table.name(address))
    }

    /// Why there are no names, where there are none.
    pub fn why_not(&mut self) -> Option<&str> {
        self.table().as_ref().err().map(String::as_str)
    }

    fn table(&mut self) -> &Result<Table, String> {
        let path = &self.path;
        self.table.get_or_insert_with(|| read(path))
    }
}

impl Table {
    fn name(&self, address: u64) -> Option<&str> {
        let after = self
            .starts
            .partition_point(|(start, _, _)| *start <= address);
        let (start, from, to) = *self.starts.get(after.checked_sub(1)?)?;
        let is_last = after == self.starts.len();
        if is_last && address - start >= LONGEST_FUNCTION {
            return None;
        }
        self.names.get(from as usize..to as usize)
    }
}

fn read(path: &Path) -> Result<Table, String> {
    let text = std::fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
    parse(&text).map_err(|why| format!("{}: {why}", path.display()))
}

fn parse(text: &[u8]) -> Result<Table, String> {
    let mut table = Table {
        starts: Vec::new(),
        names: String::new(),
    };
    let mut hidden = false;
    for line in text.split(|b| *b == b'\n') {
        let mut words = line.split(|b| *b == b' ' || *b == b'\t');
        let address = words
            .next()
            .and_then(|w| u64::from_str_radix(std::str::from_utf8(w).ok()?, 16).ok());
        let (Some(address), Some(kind), Some(name)) = (address, words.next(), words.next()) else {
            continue;
        };
        // Code only: data that happens to lie between functions is no frame of a stack.
        if !matches!(kind, b"t" | b"T" | b"w" | b"W") {
            continue;
        }
        if address == 0 {
            hidden = true;
            continue;
        }
        let from = table.names.len() as u32;
        table.names.push_str(&crate::names::escaped(name));
        table.starts.push((address, from, table.names.len() as u32));
    }
    if table.starts.is_empty() {
        return Err(if hidden {
            "the addresses are hidden (sysctl kernel.kptr_restrict, or not enough privilege)".into()
        } else {
            "no symbols in it".into()
        });
    }
    // Stable, and of several names for one address the first stays, as in the kernel's own look-up.
    table.starts.sort_by_key(|(address, _, _)| *address);
    table.starts.dedup_by_key(|(address, _, _)| *address);
    Ok(table)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const TEXT: &str = "\
ffffffff81000000 T _stext
ffffffff81000000 T _text
ffffffff81000200 t io_schedule
ffffffff81000100 W vfs_read
ffffffff81000180 D some_data
ffffffffc0000000 t ext4_sync_file\t[ext4]
";

    #[test]
    fn addresses_become_names() {
        let table = parse(TEXT.as_bytes()).unwrap();
        assert_eq!(table.name(0xffffffff81000000), Some("_stext"));
        assert_eq!(table.name(0xffffffff810000ff), Some("_stext"));
        assert_eq!(table.name(0xffffffff810001ff), Some("vfs_read"));
        assert_eq!(table.name(0xffffffff81000204), Some("io_schedule"));
        assert_eq!(table.name(0xffffffffc0000fff), Some("ext4_sync_file"));
        assert_eq!(table.name(0xffffffffd0000000), None);
        assert_eq!(table.name(0x1000), None);
    }

    #[test]
    fn hidden_addresses_say_so() {
        let error = parse(b"0000000000000000 T _text\n0000000000000000 t x\n").unwrap_err();
        assert!(error.contains("kptr_restrict"), "{error}");
        let roots = Roots {
            proc: "/nowhere".into(),
            ..Roots::default()
        };
        let mut symbols = Symbols::new(&roots);
        assert_eq!(symbols.name(1), None);
        assert!(symbols
            .why_not()
            .unwrap()
            .starts_with("/nowhere/kallsyms: "));
    }

    proptest! {
        #[test]
        fn any_bytes(bytes: Vec<u8>, address: u64) {
            if let Ok(table) = parse(&bytes) {
                table.name(address);
            }
        }
    }
}
