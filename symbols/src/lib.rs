//! Names of a program's code: from (module, address) to functions, files and lines, inlined ones apart.
//!
//! What is read here was made by others (a command's files, its perf map), so that everything has a bound: files are read, not
//! mapped (one that is cut off meanwhile would end the process), sections and names have a greatest length, and a deadline
//! ends the work with what is known by then. A damaged file costs its own names, and nothing else.

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
use std::sync::mpsc;
use std::time::{Duration, Instant};

pub use elf::{build_id_of, MAX_SECTION_BYTES};

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

/// Names addresses (as each module's symbols count) of modules; ends after `most`, with what is known by then.
///
/// Modules come in the order in which they are wanted. An address that is not in the result has no name.
pub fn name(wanted: Vec<(i64, Module, Vec<u64>)>, most: Duration) -> HashMap<i64, Named> {
    let deadline = Instant::now() + most;
    let (send, receive) = mpsc::channel();
    // The libraries that read DWARF cannot be told to stop: their thread is left alone when time is up.
    let spawned = std::thread::Builder::new()
        .name("names".to_owned())
        .spawn(move || {
            for (id, module, addresses) in wanted {
                if Instant::now() >= deadline {
                    return;
                }
                let of_one = |found: Named| send.send((id, found)).is_ok();
                let _ = catch_unwind(AssertUnwindSafe(|| {
                    name_module(&module, &addresses, deadline, &of_one);
                }));
            }
        });
    let mut named: HashMap<i64, Named> = HashMap::new();
    if spawned.is_err() {
        return named;
    }
    while let Some(left) = deadline.checked_duration_since(Instant::now()) {
        match receive.recv_timeout(left) {
            Ok((id, found)) => named.entry(id).or_default().extend(found),
            Err(_) => break,
        }
    }
    named
}

/// Names what one module tells, in parts as they are found: first by symbols, which is quick, then with lines.
fn name_module(
    module: &Module,
    addresses: &[u64],
    deadline: Instant,
    found: &dyn Fn(Named) -> bool,
) {
    match module.kind {
        Kind::Anonymous => {}
        Kind::Jit => {
            found(perf_map::name(module, addresses, deadline));
        }
        Kind::Vdso => {
            if let Some(elf) = vdso::own(module.build_id.as_deref()) {
                found(by_symbols(&elf.symbols(), addresses));
            }
        }
        Kind::File => name_file(module, addresses, found),
    }
}

fn name_file(module: &Module, addresses: &[u64], found: &dyn Fn(Named) -> bool) {
    let main = separate::mapped(module);
    let wanted = module
        .build_id
        .clone()
        .or_else(|| main.as_ref().and_then(|elf| elf.build_id()));
    let beside = match &main {
        Some(elf) if elf.has_lines() => None,
        _ => separate::debug_file(module, main.as_ref(), wanted.as_deref()),
    };
    let mut symbols = elf::Symbols::default();
    for elf in [&beside, &main].into_iter().flatten() {
        symbols.add(elf);
    }
    symbols.sort();
    if !found(by_symbols(&symbols, addresses)) {
        return;
    }
    let told = beside.as_ref().or(main.as_ref());
    if let Some(lines) = told.and_then(|elf| dwarf::Lines::of(elf, module)) {
        let mut named = Named::new();
        for &address in addresses {
            let mut frames = lines.frames(address);
            if let Some(last) = frames.last_mut() {
                if last.function.is_none() {
                    last.function = symbols.name(address);
                }
                named.insert(address, frames);
            }
        }
        found(named);
    }
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
