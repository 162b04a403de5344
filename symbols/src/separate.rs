//! The file that was mapped, and where distributions put what they cut off it.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::elf::Elf;
use crate::room::Room;
use crate::{open, Module};

const DEBUG: &str = "/usr/lib/debug";

/// The file that was mapped, and the one with its lines where it has none itself.
pub fn files(module: &Module, room: &Room) -> (Option<Elf>, Option<Elf>) {
    let main = mapped(module, room);
    let own = || main.as_ref().and_then(Elf::build_id);
    let beside = match &main {
        Some(elf) if elf.has_lines() => None,
        _ => debug_file(
            module,
            main.as_ref(),
            module.build_id.clone().or_else(own).as_deref(),
            room,
        ),
    };
    (main, beside)
}

/// The file that was mapped: the one that was kept open, else what is at its path with its build id.
///
/// Without a build id nothing tells a file from the one that replaced it: then only the one that was kept counts.
fn mapped(module: &Module, room: &Room) -> Option<Elf> {
    if let Some(file) = &module.file {
        let elf = Elf::of(file.try_clone().ok()?, room)?;
        return agrees(&elf, module.build_id.as_deref()).then_some(elf);
    }
    with_id(module, &module.path, module.build_id.as_deref()?, room)
}

/// Where its lines are, when the file has none itself.
fn debug_file(
    module: &Module,
    main: Option<&Elf>,
    build_id: Option<&str>,
    room: &Room,
) -> Option<Elf> {
    let build_id = build_id?;
    if let Some(found) = by_build_id(module, build_id, room) {
        return Some(found);
    }
    let link = main?.debug_link()?;
    let link = OsStr::from_bytes(&link);
    let beside = module.path.parent()?;
    let below_debug = Path::new(DEBUG).join(beside.strip_prefix("/").ok()?);
    [
        beside.join(link),
        beside.join(".debug").join(link),
        below_debug.join(link),
    ]
    .iter()
    .filter(|path| **path != module.path)
    .find_map(|path| with_id(module, path, build_id, room))
}

/// The debug file of a build id: in its process's root, in ours, or where debuginfod's clients keep what they fetched.
pub fn by_build_id(module: &Module, build_id: &str, room: &Room) -> Option<Elf> {
    if build_id.len() < 4 || !build_id.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    let (first, rest) = build_id.split_at(2);
    let path = PathBuf::from(format!("{DEBUG}/.build-id/{first}/{rest}.debug"));
    let there = module
        .root
        .is_some()
        .then(|| with_id(module, &path, build_id, room))
        .flatten();
    there.or_else(|| {
        let kept = debuginfod_cache().map(|cache| cache.join(build_id).join("debuginfo"));
        [Some(path), kept].into_iter().flatten().find_map(|path| {
            let elf = Elf::of(open::regular(&path, None)?, room)?;
            agrees(&elf, Some(build_id)).then_some(elf)
        })
    })
}

fn debuginfod_cache() -> Option<PathBuf> {
    let given = |name| {
        std::env::var_os(name)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    };
    given("DEBUGINFOD_CACHE_PATH")
        .or_else(|| Some(given("XDG_CACHE_HOME")?.join("debuginfod_client")))
        .or_else(|| Some(given("HOME")?.join(".cache/debuginfod_client")))
}

fn with_id(module: &Module, path: &Path, build_id: &str, room: &Room) -> Option<Elf> {
    let elf = Elf::of(open::regular(path, module.root.as_ref())?, room)?;
    agrees(&elf, Some(build_id)).then_some(elf)
}

fn agrees(elf: &Elf, build_id: Option<&str>) -> bool {
    build_id.is_none() || elf.build_id().as_deref() == build_id
}
