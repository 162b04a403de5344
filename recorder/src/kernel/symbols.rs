//! Names of the kernel's functions, asked of the kernel (bpf/symbols.h), or looked up in its list.

use std::collections::HashMap;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use anyhow::{ensure, Context, Result};
use libbpf_rs::{libbpf_sys, MapCore, MapFlags, MapHandle};

use crate::event::layout::Symbol;
use crate::event::{self};

/// Names functions by their addresses; each is asked for once.
pub struct Symbols {
    source: Source,
    names: HashMap<u64, String>,
}

enum Source {
    Program {
        program: OwnedFd,
        map: MapHandle,
    },
    /// Read when the first name is wanted.
    List(Option<List>),
}

impl Symbols {
    /// By the program name_function.
    pub(super) fn ask(program: OwnedFd, map: MapHandle) -> Symbols {
        Symbols::of(Source::Program { program, map })
    }

    /// By /proc/kallsyms.
    pub(super) fn listed() -> Symbols {
        Symbols::of(Source::List(None))
    }

    fn of(source: Source) -> Symbols {
        Symbols {
            source,
            names: HashMap::new(),
        }
    }

    /// The function that holds the address, without its module; the address where the kernel knows none.
    pub fn name(&mut self, address: u64) -> String {
        if let Some(name) = self.names.get(&address) {
            return name.clone();
        }
        let name = match &mut self.source {
            Source::Program { program, map } => ask(program, map, address).ok(),
            Source::List(list) => list.get_or_insert_with(List::read).name(address),
        };
        let name = name.unwrap_or_else(|| format!("{address:#x}"));
        self.names.insert(address, name.clone());
        name
    }
}

fn ask(program: &OwnedFd, map: &MapHandle, address: u64) -> Result<String> {
    let mut value = vec![0; size_of::<Symbol>()];
    value[..8].copy_from_slice(&address.to_ne_bytes());
    map.update(&[0; 4], &value, MapFlags::ANY)?;
    run_once(program.as_fd())?;
    let value = map.lookup(&[0; 4], MapFlags::ANY)?;
    let symbol: Symbol = value
        .as_deref()
        .and_then(event::read)
        .context("no answer")?;
    let end = symbol
        .name
        .iter()
        .position(|&b| b == 0)
        .unwrap_or(symbol.name.len());
    let name = String::from_utf8_lossy(&symbol.name[..end]);
    let name = name.split(' ').next().unwrap_or_default();
    ensure!(
        !name.is_empty() && !name.starts_with("0x"),
        "no function is there"
    );
    Ok(name.to_owned())
}

/// The kernel's list of its functions (/proc/kallsyms), by address.
pub(super) struct List(Vec<(u64, String)>);

impl List {
    /// Empty where it cannot be read, or hides the addresses (kernel.kptr_restrict).
    pub fn read() -> List {
        List::parse(&std::fs::read_to_string("/proc/kallsyms").unwrap_or_default())
    }

    fn parse(text: &str) -> List {
        let functions = text.lines().filter_map(|line| {
            let mut words = line.split_ascii_whitespace();
            let address = u64::from_str_radix(words.next()?, 16).ok()?;
            let is_function = matches!(words.next()?, "t" | "T" | "w" | "W");
            (is_function && address != 0).then_some((address, words.next()?.to_owned()))
        });
        let mut functions: Vec<_> = functions.collect();
        // The first of several names of one place is the one that is kept in front.
        functions.sort_by_key(|(address, _)| *address);
        List(functions)
    }

    /// Where a function begins; 0: it is not in this kernel.
    pub fn address(&self, name: &str) -> u64 {
        self.0
            .iter()
            .find(|(_, known)| known == name)
            .map_or(0, |(address, _)| *address)
    }

    fn name(&self, address: u64) -> Option<String> {
        let after = self.0.partition_point(|(start, _)| *start <= address);
        let (_, name) = self.0.get(after.checked_sub(1)?)?;
        Some(name.clone())
    }
}

/// Runs a program of the kind that user space calls (SEC("syscall")).
pub(super) fn run_once(program: BorrowedFd<'_>) -> Result<()> {
    let mut options = libbpf_sys::bpf_test_run_opts {
        sz: size_of::<libbpf_sys::bpf_test_run_opts>() as _,
        ..Default::default()
    };
    // SAFETY: `options` says its own size and holds no pointers: the program takes no context.
    let done = unsafe { libbpf_sys::bpf_prog_test_run_opts(program.as_raw_fd(), &mut options) };
    if done != 0 {
        return Err(std::io::Error::from_raw_os_error(-done)).context("cannot run a program");
    }
    ensure!(options.retval == 0, "a program gave {}", options.retval);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_is_found_by_its_name_and_by_an_address_within_it() {
        let list = List::parse(
            "ffffffff81000100 T second\nffffffff81000000 t first\nffffffff81000080 d data\n\
             ffffffffc0000000 t third\t[ext4]\n",
        );
        assert_eq!(list.address("second"), 0xffff_ffff_8100_0100);
        assert_eq!(list.address("data"), 0);
        assert_eq!(list.name(0xffff_ffff_8100_00ff).as_deref(), Some("first"));
        assert_eq!(list.name(0xffff_ffff_c000_0010).as_deref(), Some("third"));
        assert_eq!(list.name(0x1000), None);
        // Addresses that are hidden name nothing.
        assert_eq!(List::parse("0000000000000000 T first\n").name(0x1000), None);
    }
}
