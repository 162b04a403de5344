//! Names of a program's code: from (module, address) to functions, files and lines, inlined ones apart.
//!
//! What is read here was made by others (a command's files, its perf map), so that everything has a bound: files are read, not
//! mapped (one that is cut off meanwhile would end the process), sections and names have a greatest length, and a deadline
//! ends the work with what is known by then. A damaged file costs its own names, and nothing else.

mod bound;
mod demangle;
mod dwarf;
mod elf;
mod open;
mod perf_map;
mod separate;
mod vdso;

use std::collections::HashMap;
use std::fs::File;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::path::PathBuf;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use bound::Bound;

pub use elf::{build_id_of, MAX_SECTION_BYTES};
pub use vdso::memory as vdso_memory;

/// What a module is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Frame {
    pub function: Option<String>,
    pub file: Option<String>,
    pub line: Option<u32>,
}

/// The frames of an address, innermost first: all but the last are inlined into the next.
pub type Named = HashMap<u64, Vec<Frame>>;

/// What was found, and whether it is all that there is.
#[derive(Debug, Default)]
pub struct Names {
    pub of_modules: HashMap<i64, Named>,
    /// False where time ended the work.
    pub complete: bool,
}

/// How often it is seen to that a library which does not look at the time ends.
const LOOK: Duration = Duration::from_millis(20);

/// Names addresses (as each module's symbols count) of modules; ends after `most` on a CPU, or twice that, with what is known by then.
///
/// Modules come in the order in which they are wanted. An address that is not in the result has no name.
pub fn name(wanted: Vec<(i64, Module, Vec<u64>)>, most: Duration) -> Names {
    let bound = Bound::of(most);
    let (send, receive) = mpsc::channel();
    // The libraries that read DWARF cannot be told to stop: their thread is left alone when time is up.
    let spawned = std::thread::Builder::new()
        .name("names".to_owned())
        .spawn(move || name_all(&wanted, &bound, &send));
    let mut names = Names::default();
    let Ok(thread) = spawned else {
        return names;
    };
    loop {
        match receive.recv_timeout(LOOK) {
            Ok(said) => names.take(said),
            Err(RecvTimeoutError::Disconnected) => return names,
            Err(RecvTimeoutError::Timeout) if bound.is_over(bound::clock_of(&thread)) => break,
            Err(RecvTimeoutError::Timeout) => {}
        }
    }
    receive.try_iter().for_each(|said| names.take(said));
    names
}

impl Names {
    fn take(&mut self, said: Said) {
        match said {
            Said::Found(id, found) => add(self.of_modules.entry(id).or_default(), found),
            Said::Done => self.complete = true,
        }
    }
}

/// What the thread that looks for names says.
enum Said {
    Found(i64, Named),
    /// That was all.
    Done,
}

/// What addresses of a module are called, as far as there is time.
type Part = fn(&Module, &[u64], &Bound) -> Named;

/// First by symbols, which is quick, for all modules; then with lines.
fn name_all(wanted: &[(i64, Module, Vec<u64>)], bound: &Bound, send: &mpsc::Sender<Said>) {
    for part in [by_name as Part, by_line] {
        for (id, module, addresses) in wanted {
            if bound.is_reached() {
                return;
            }
            // What is damaged in a way that nobody foresaw costs its own names.
            let found = catch_unwind(AssertUnwindSafe(|| part(module, addresses, bound)));
            let found = found.unwrap_or_default();
            if !found.is_empty() && send.send(Said::Found(*id, found)).is_err() {
                return;
            }
        }
    }
    if !bound.is_reached() {
        // Nobody listens any more: it was not wanted.
        let _ = send.send(Said::Done);
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

fn by_name(module: &Module, addresses: &[u64], bound: &Bound) -> Named {
    match module.kind {
        Kind::Anonymous => Named::new(),
        Kind::Jit => perf_map::name(module, addresses, bound),
        Kind::Vdso => match vdso::own(module.build_id.as_deref()) {
            Some(elf) => by_symbols(&elf.symbols(), addresses),
            None => Named::new(),
        },
        Kind::File => {
            let (main, beside) = separate::files(module);
            let mut symbols = elf::Symbols::default();
            for elf in [&beside, &main].into_iter().flatten() {
                symbols.add(elf);
            }
            symbols.sort();
            by_symbols(&symbols, addresses)
        }
    }
}

fn by_line(module: &Module, addresses: &[u64], bound: &Bound) -> Named {
    if module.kind != Kind::File || !module.lines {
        return Named::new();
    }
    let (main, beside) = separate::files(module);
    let Some(lines) = beside
        .or(main)
        .and_then(|elf| dwarf::Lines::of(&elf, module))
    else {
        return Named::new();
    };
    let in_time = addresses.iter().take_while(|_| !bound.is_reached());
    in_time
        .map(|&address| (address, lines.frames(address)))
        .collect()
}

fn by_symbols(symbols: &elf::Symbols, addresses: &[u64]) -> Named {
    let of_one = |&address: &u64| {
        let function = Some(symbols.name(address)?);
        let frame = Frame {
            function,
            ..Frame::default()
        };
        Some((address, vec![frame]))
    };
    addresses.iter().filter_map(of_one).collect()
}
