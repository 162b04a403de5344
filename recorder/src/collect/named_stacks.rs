//! The rows of user stacks and modules, at the end: with the names of functions, as far as there is time to find them.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::time::Duration;

use iowhy_readings::names::escaped;
use iowhy_store::{rows, Name, Recording, Result};
use iowhy_symbols as symbols;
use iowhy_unwind::{Frame, Kind, Module};

use super::stacks::Known;

/// Time on a CPU for which names are looked for while the user waits; `iowhy symbolize` finds the others later.
const NAMES_MOST: Duration = Duration::from_millis(500);
const INCOMPLETE: &str = "user stacks: there was no time for all names and lines; `iowhy symbolize REC` finds the others";
/// Files of which it is said one by one.
const TOO_LARGE_TOLD: usize = 5;

/// Writes the stacks, and the modules that their frames are in.
pub fn write(modules: Vec<Module>, known: Known, recording: &mut Recording) -> Result<()> {
    let mut addresses: HashMap<u32, BTreeSet<u64>> = HashMap::new();
    for frame in known.keys().flat_map(|frames| frames.iter()) {
        if let Some(module) = frame.module {
            addresses.entry(module).or_default().insert(frame.address);
        }
    }
    let mut wanted = Vec::new();
    for (number, module) in (0..).zip(modules) {
        let Some(addresses) = addresses.remove(&number) else {
            continue;
        };
        let build_id = module.build_id().map(str::to_owned);
        recording.push(rows::Modules {
            module_id: number.into(),
            path: module.path.as_deref().map(|path| escaped(path).into()),
            build_id: build_id.clone().map(Cow::Owned),
            kind: module.kind.word().into(),
            tgid: module.tgid.map(i64::from),
        })?;
        let path = module.path.unwrap_or_default();
        let of_names = symbols::Module {
            lines: !is_c_library(&path),
            path: OsString::from_vec(path).into(),
            build_id,
            kind: kind(module.kind),
            file: module.file,
            root: module.root,
            process: module.process,
        };
        wanted.push((i64::from(number), of_names, Vec::from_iter(addresses)));
    }
    // Small files first: what time is left for is then most of them, and what somebody writes is smaller than the libraries.
    wanted.sort_by_key(|(_, module, _)| {
        let file = module.file.as_ref().and_then(|file| file.metadata().ok());
        file.map(|file| file.len())
    });
    let names = symbols::worker::name(&wanted, NAMES_MOST);
    recording
        .manifest_mut()
        .notes
        .extend(lacking(&wanted, &names));
    let named = names.of_modules;
    let mut stacks: Vec<_> = known.into_iter().collect();
    stacks.sort_unstable_by_key(|(_, number)| *number);
    for (frames, number) in stacks {
        let mut depth = 0;
        for frame in frames.iter() {
            write_frame(number, &mut depth, frame, &named, recording)?;
        }
    }
    Ok(())
}

/// What is said of names that are missing.
fn lacking(wanted: &symbols::Wanted, names: &symbols::Names) -> Vec<String> {
    let mut notes = Vec::new();
    if !names.complete {
        notes.push(INCOMPLETE.to_owned());
    }
    let too_large = wanted
        .iter()
        .filter(|(id, ..)| names.too_large.contains(id));
    notes.extend(too_large.take(TOO_LARGE_TOLD).map(|(_, module, _)| {
        format!(
            "user stacks: names or lines of {} are missing: to read them takes more than {} MiB of memory",
            escaped(module.path.as_os_str().as_bytes()),
            symbols::MEMORY_MOST_BYTES >> 20
        )
    }));
    notes
}

/// The rows of an address: of the functions that were inlined there, then of the one that holds them.
fn write_frame(
    number: i64,
    depth: &mut i64,
    frame: &Frame,
    named: &HashMap<i64, symbols::Named>,
    recording: &mut Recording,
) -> Result<()> {
    let module_id = frame.module.map(i64::from);
    let of_module = module_id.and_then(|id| named.get(&id));
    let known = of_module.and_then(|named| named.get(&frame.address));
    let nameless = [symbols::Frame::default()];
    let functions = match known {
        Some(functions) if !functions.is_empty() => functions.as_slice(),
        _ => &nameless,
    };
    let name = |name: &Option<String>| name.clone().map(Name::Owned);
    for (left, function) in (0..functions.len()).rev().zip(functions) {
        recording.push(rows::UserStacks {
            user_stack_id: number,
            depth: *depth,
            inlined: left > 0,
            module_id,
            offset_bytes: frame.address as i64,
            function: name(&function.function),
            file: name(&function.file),
            line: function.line.map(i64::from),
        })?;
        *depth += 1;
    }
    Ok(())
}

/// The C library, and what links programs. Nobody asks for its lines, and where its debug file is installed, to read that takes a
/// tenth of a second, more than all else that a short command's stacks need. `iowhy symbolize` looks for them.
fn is_c_library(path: &[u8]) -> bool {
    let name = path.rsplit(|&byte| byte == b'/').next().unwrap_or(path);
    let names: [&[u8]; 4] = [b"libc", b"libpthread", b"ld-linux", b"ld-musl"];
    let rest = names.iter().find_map(|start| name.strip_prefix(*start));
    rest.is_some_and(|rest| matches!(rest, [b'.' | b'-', ..]))
}

fn kind(kind: Kind) -> symbols::Kind {
    match kind {
        Kind::File => symbols::Kind::File,
        Kind::Vdso => symbols::Kind::Vdso,
        Kind::Jit => symbols::Kind::Jit,
        Kind::Anonymous => symbols::Kind::Anonymous,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_c_library_is_known_by_its_files_name() {
        for path in [
            "/usr/lib/x86_64-linux-gnu/libc.so.6",
            "/lib/libc-2.31.so",
            "/lib/ld-linux-aarch64.so.1",
            "/lib64/ld-linux-x86-64.so.2",
            "/lib/ld-musl-x86_64.so.1",
            "/lib/libpthread.so.0",
        ] {
            assert!(is_c_library(path.as_bytes()), "{path}");
        }
        for path in ["/usr/lib/libcrypto.so.3", "/opt/libc/app", "/home/a/ld", ""] {
            assert!(!is_c_library(path.as_bytes()), "{path}");
        }
    }
}
