//! Lines and inlined functions, from DWARF.

use addr2line::Context;
use gimli::{Dwarf, EndianArcSlice, Reader, RunTimeEndian, SectionId};
use std::sync::Arc;

use crate::demangle::{demangled, MAX_NAME_BYTES};
use crate::elf::Elf;
use crate::{separate, Frame, Module};

/// A chain of inlined functions ends here.
const MAX_INLINED: usize = 64;

type Bytes = EndianArcSlice<RunTimeEndian>;

/// The lines of one file.
pub struct Lines {
    context: Context<Bytes>,
}

impl Lines {
    /// None where the file has none, or they are damaged or too large.
    pub fn of(elf: &Elf, module: &Module) -> Option<Lines> {
        let mut dwarf = Dwarf::load(|id| section(elf, id)).ok()?;
        let shared = elf.shared_debug();
        if let Some(shared) = shared.and_then(|id| separate::by_build_id(module, &id, elf.room())) {
            dwarf.load_sup(|id| section(&shared, id)).ok()?;
        }
        let context = Context::from_dwarf(dwarf).ok()?;
        Some(Lines { context })
    }

    /// The functions that an address is in, innermost first; none where the file says nothing of it.
    pub fn frames(&self, address: u64) -> Vec<Frame> {
        let mut found = Vec::new();
        let Ok(mut frames) = self.context.find_frames(address).skip_all_loads() else {
            return found;
        };
        while let Ok(Some(frame)) = frames.next() {
            let name = frame
                .function
                .as_ref()
                .and_then(|name| name.name.to_slice().ok());
            let location = frame.location.as_ref();
            let file = location.and_then(|at| at.file).map(shortened);
            let line = location.and_then(|at| at.line).filter(|&line| line > 0);
            let function = name
                .filter(|name| !name.is_empty())
                .map(|name| demangled(&name));
            found.push(Frame {
                function,
                file,
                line,
            });
            if found.len() == MAX_INLINED {
                break;
            }
        }
        found
    }
}

/// Less than all of it would give wrong names, so that too much of it is an error.
fn section(elf: &Elf, id: SectionId) -> Result<Bytes, gimli::Error> {
    let bytes = elf.section(id.name()).unwrap_or_default();
    if elf.room().was_full() {
        return Err(gimli::Error::OffsetOutOfBounds(0));
    }
    Ok(Bytes::new(Arc::from(bytes), RunTimeEndian::Little))
}

fn shortened(path: &str) -> String {
    let printable = |letter: char| if letter.is_control() { '?' } else { letter };
    let mut out = String::new();
    for letter in path.chars() {
        if out.len() + letter.len_utf8() > MAX_NAME_BYTES {
            break;
        }
        out.push(printable(letter));
    }
    out
}
