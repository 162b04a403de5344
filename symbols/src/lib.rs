//! Names of a program's code: from (module, address) to functions, files and lines, inlined ones apart.
//!
//! What is read here was made by others (a command's files, its perf map), so that everything has a bound: files are read, not
//! mapped (one that is cut off meanwhile would end the process), sections and names have a greatest length, and a deadline
//! ends the work with what is known by then. A damaged file costs its own names, and nothing else. Libraries make of DWARF
//! what no look at its sizes foretells: `worker` has it read in a process with a limit of memory.

mod bound;
mod data;
mod demangle;
mod dwarf;
mod elf;
mod open;
mod perf_map;
mod room;
mod sandbox;
mod separate;
mod vdso;
mod work;
pub mod worker;

use std::collections::{BTreeSet, HashMap, HashSet};
use std::fs::File;
use std::path::PathBuf;
use std::sync::mpsc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use work::Said;

pub use elf::build_id_of;
pub use room::{MEMORY_MOST_BYTES, READ_MOST_BYTES};
pub use vdso::memory as vdso_memory;

/// What a module is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Kind {
    File,
    Vdso,
    /// Memory of a process that a perf map may name.
    Jit,
    Anonymous,
}

/// A file, or memory, with code whose names are wanted.
#[derive(Debug)]
pub struct Module {
    pub path: PathBuf,
    /// Lower-case hexadecimal. Where it is known, no file with another one is read.
    pub build_id: Option<String>,
    pub kind: Kind,
    /// The file that was mapped; without it, `path` is opened, which then must have the build id.
    pub file: Option<File>,
    /// The root directory of its process (O_PATH of /proc/PID/root), for what lies beside; without it our own.
    pub root: Option<File>,
    /// Of a JIT: the process's id in its own namespace, and its user.
    pub process: Option<(i32, u32)>,
    /// Lines and inlined functions are wanted, too.
    pub lines: bool,
}

/// A function that an address is in. What is not known is None.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Frame {
    pub function: Option<String>,
    pub file: Option<String>,
    pub line: Option<u32>,
}

/// The frames of an address, innermost first: all but the last are inlined into the next.
pub type Named = HashMap<u64, Vec<Frame>>;

/// Modules by number, and the addresses in them that names are wanted of, in the order in which they are wanted.
pub type Wanted = Vec<(i64, Module, Vec<u64>)>;

/// What was found, and whether it is all that there is.
#[derive(Debug, Default)]
pub struct Names {
    pub of_modules: HashMap<i64, Named>,
    /// False where time ended the work.
    pub complete: bool,
    /// Modules of which names or lines are missing: to read them takes more memory than there is for it.
    pub too_large: BTreeSet<i64>,
}

/// Names addresses (as each module's symbols count) of modules; ends after `most` on a CPU, or twice that, with what is known by then.
///
/// Within this process: what its own memory cannot hold ends it (`worker`). An address that is not in the result has no name.
pub fn name(wanted: Wanted, most: Duration) -> Names {
    let (send, receive) = mpsc::channel();
    // Nobody listens any more: it was not wanted.
    work::name_each(wanted, HashSet::new(), most, move |said| {
        send.send(said).is_ok()
    });
    let mut names = Names::default();
    receive.try_iter().for_each(|said| names.take(said));
    names
}

impl Names {
    fn take(&mut self, said: Said) {
        match said {
            Said::Begun(..) => {}
            Said::Found(id, found) => add(self.of_modules.entry(id).or_default(), found),
            Said::TooLarge(id) => {
                self.too_large.insert(id);
            }
            Said::Done => self.complete = true,
        }
    }
}

/// What a later part tells takes the place of what an earlier one did, but for the name of the function that the others are
/// inlined into: that is the symbol's, so that it is the same whether there was time for lines or not.
fn add(known: &mut Named, found: Named) {
    for (address, mut frames) in found {
        let named = known
            .remove(&address)
            .and_then(|mut before| before.pop()?.function);
        match frames.last_mut() {
            Some(last) => last.function = named.or(last.function.take()),
            None => frames.extend(named.map(|function| Frame {
                function: Some(function),
                ..Frame::default()
            })),
        }
        if !frames.is_empty() {
            known.insert(address, frames);
        }
    }
}
