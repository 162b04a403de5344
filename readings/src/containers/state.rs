//! Reads what runtimes keep on disk, as text that anybody may have written: no link is followed below the directory
//! that a runtime keeps its state in, nothing but a regular file is read, and of that no more than a bound.

use std::fs::File;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use nix::fcntl::{openat2, OFlag, OpenHow, ResolveFlag, AT_FDCWD};
use serde::de::DeserializeOwned;

/// Bytes of one file that are read: a list of ten thousand containers.
const MOST_BYTES: u64 = 16 << 20;
/// Characters of a name that are kept.
const MOST_CHARS: usize = 512;
/// Entries of a directory that are looked at.
const MOST_ENTRIES: usize = 4096;

/// The tree that holds the runtimes' files.
#[derive(Clone, Debug)]
pub struct State {
    root: PathBuf,
}

impl State {
    pub fn new(root: &Path) -> State {
        State {
            root: root.to_owned(),
        }
    }

    /// Where a runtime keeps its state. That this is reached over links is its administrator's choice.
    pub fn base(&self, path: &str) -> Option<PathBuf> {
        let path = self.root.join(path.trim_start_matches('/'));
        path.canonicalize().ok()
    }

    /// A directory of a user's home, reached over no link.
    pub fn below_home(&self, home: &Path, path: &str) -> Option<PathBuf> {
        let home = self.base(home.to_str()?)?;
        open(&home, path, OFlag::O_DIRECTORY)?;
        Some(home.join(path))
    }
}

/// The value of a JSON file below `base`; None where it is not there, too large or something else.
pub fn json<T: DeserializeOwned>(base: &Path, path: &str) -> Option<T> {
    serde_json::from_slice(&plain(base, path)?).ok()
}

/// The bytes of a regular file below `base`; None where it is not there or too large.
pub fn plain(base: &Path, path: &str) -> Option<Vec<u8>> {
    let file = File::from(open(base, path, OFlag::O_NONBLOCK)?);
    let known = file.metadata().ok()?;
    if !known.is_file() || known.len() > MOST_BYTES {
        return None;
    }
    let mut bytes = Vec::new();
    file.take(MOST_BYTES).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

/// The names in a directory below `base`, sorted.
pub fn entries(base: &Path, path: &str) -> Vec<String> {
    let Some(directory) = open(base, path, OFlag::O_DIRECTORY) else {
        return Vec::new();
    };
    use std::os::fd::AsRawFd;
    let entries = std::fs::read_dir(format!("/proc/self/fd/{}", directory.as_raw_fd()));
    let names = entries.into_iter().flatten().flatten();
    let mut found: Vec<String> = names
        .take(MOST_ENTRIES)
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect();
    found.sort();
    found
}

fn open(base: &Path, path: &str, flags: OFlag) -> Option<OwnedFd> {
    let base = nix::fcntl::openat(
        AT_FDCWD,
        base,
        OFlag::O_PATH | OFlag::O_CLOEXEC,
        nix::sys::stat::Mode::empty(),
    )
    .ok()?;
    let how = OpenHow::new()
        .flags(OFlag::O_RDONLY | OFlag::O_CLOEXEC | flags)
        .resolve(ResolveFlag::RESOLVE_BENEATH | ResolveFlag::RESOLVE_NO_SYMLINKS);
    let path = if path.is_empty() { "." } else { path };
    openat2(&base, path, how).ok()
}

/// A name that somebody wrote: none when it is empty, and no longer than a bound.
pub fn text(text: Option<String>) -> Option<String> {
    let text = text.filter(|text| !text.is_empty())?;
    match text.char_indices().nth(MOST_CHARS) {
        None => Some(text),
        Some((end, _)) => Some(text[..end].to_owned()),
    }
}
