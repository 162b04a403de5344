//! The process that is asked.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::os::fd::FromRawFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::wire::Frame;
use super::{
    Space, AT_END, CATALOGUE, CONTAINER, DAEMONS, DONE, LAYOUT, NODES, NOT_OPENED, NOT_REGULAR,
    NO_MAP, NO_TIME, PROCESS_FILE, READ, SPACE, THREAD,
};
use crate::containers::{Containers, Hierarchy};
use crate::filesystems::daemons;
use crate::layout::{Bounds, Layout, NoLayout};
use crate::mounts::Mounts;
use crate::renamed::Renamed;
use crate::{catalogues, names, Roots};

/// Answers are handed over at the latest after this time.
const SAID_AFTER: Duration = Duration::from_millis(50);
/// Bytes of a path (PATH_MAX).
const PATH_MOST: usize = 4096;

/// A call that a thread is in.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Held {
    /// Number of the call, and its arguments.
    pub call: i64,
    pub arguments: Vec<u64>,
    /// It is in uninterruptible sleep.
    pub blocked: bool,
    /// The kernel's functions that it is in, innermost first; empty where they may not be seen.
    pub frames: Vec<String>,
    /// What its first argument is open on, the process's working directory, and the paths that its first and its second
    /// argument point to, as far as they do: which of them the call means, its number tells.
    pub open: Option<PathBuf>,
    pub cwd: Option<PathBuf>,
    pub paths: [Option<PathBuf>; 2],
}

/// Answers what is asked on standard input, a socket, until that ends.
pub fn serve() -> io::Result<()> {
    // SAFETY: the descriptor is this process's standard input, which nothing else uses.
    let stream = unsafe { UnixStream::from_raw_fd(0) };
    let mut from = BufReader::new(stream.try_clone()?);
    let mut to = BufWriter::new(stream);
    let mut said = Instant::now();
    let mut known = Known::default();
    loop {
        let Ok(asked) = Frame::read(&mut from) else {
            return Ok(());
        };
        answer(&asked, &mut known).write(&mut to)?;
        if from.buffer().is_empty() || said.elapsed() >= SAID_AFTER {
            to.flush()?;
            said = Instant::now();
        }
    }
}

/// What is kept from question to question.
#[derive(Default)]
struct Known {
    renamed: Option<Renamed>,
    /// By where the hierarchy is mounted.
    containers: HashMap<Vec<u8>, Containers>,
}

impl Known {
    fn containers(&mut self, point: &[u8]) -> Option<&mut Containers> {
        if !self.containers.contains_key(point) {
            let mounts = Mounts::read(&Roots::default()).ok()?;
            let hierarchy = Hierarchy::of_directory(&mounts, Path::new(OsStr::from_bytes(point)))?;
            let containers = Containers::here(&Roots::default(), hierarchy, Path::new("/"));
            self.containers.insert(point.to_owned(), containers);
        }
        self.containers.get_mut(point)
    }
}

fn answer(asked: &Frame, known: &mut Known) -> Frame {
    let path = Path::new(OsStr::from_bytes(&asked.text));
    match (asked.kind, &asked.numbers[..]) {
        (AT_END, [inode, follow, dev, generation]) => {
            let (mut size, mut deleted) = names::at_end(*inode, path);
            let named = !deleted || std::fs::symlink_metadata(path).is_ok();
            let mut name = None;
            if deleted && *follow != 0 {
                let renamed = known.renamed.get_or_insert_with(Renamed::new);
                let (dev, generation) = (*dev as u32, *generation as u32);
                name = renamed.name(dev, *inode as u64, generation, path);
            }
            if let Some(name) = &name {
                (size, deleted) = names::at_end(*inode, name);
            }
            Frame {
                numbers: vec![size.unwrap_or(-1), deleted.into(), named.into()],
                text: name.map_or_else(Vec::new, |name| name.into_os_string().into_vec()),
                ..Frame::default()
            }
        }
        (LAYOUT, [most, time_ms, sync]) => {
            let bounds = Bounds {
                extents_per_file: *most as usize,
                total_time: Duration::from_millis(*time_ms as u64),
                sync: *sync != 0,
            };
            layout(path, bounds)
        }
        (CATALOGUE, []) => json(&catalogues::of_folder(path)),
        (SPACE, []) => space(path),
        (READ, [inode, offset, length]) => text(read(path, *inode, *offset, *length)),
        (PROCESS_FILE, [tgid, offset, most]) => {
            text(process_file(*tgid, path, *offset as u64, *most as u64))
        }
        (THREAD, [tgid, tid]) => json(&held(*tgid, *tid)),
        (DAEMONS, [_]) => served(),
        (NODES, []) => json(&known.containers(&asked.text).map(Containers::told_nodes)),
        (CONTAINER, []) => {
            let mut parts = asked.text.splitn(2, |byte| *byte == 0);
            let point = parts.next().unwrap_or_default();
            let group = parts.next().map(String::from_utf8_lossy);
            json(
                &known
                    .containers(point)
                    .zip(group)
                    .and_then(|(containers, group)| containers.look_up(&group)),
            )
        }
        _ => Frame {
            kind: NOT_REGULAR,
            ..Frame::default()
        },
    }
}

fn served() -> Frame {
    let daemons = daemons(&Roots::default()).into_iter();
    Frame {
        numbers: daemons.flat_map(|(dev, tgid)| [dev, tgid]).collect(),
        ..Frame::default()
    }
}

fn text(found: Option<Vec<u8>>) -> Frame {
    Frame {
        kind: if found.is_some() { DONE } else { NOT_OPENED },
        text: found.unwrap_or_default(),
        ..Frame::default()
    }
}

fn json(said: &impl Serialize) -> Frame {
    text(serde_json::to_vec(said).ok())
}

fn layout(path: &Path, bounds: Bounds) -> Frame {
    let mounts = Mounts::read(&Roots::default()).unwrap_or_default();
    let mut extents = Vec::new();
    let done = Layout::new(&mounts, bounds).of_path(path, &mut |extent| {
        extents.extend([
            extent.logical_bytes as i64,
            extent.physical_bytes as i64,
            extent.bytes as i64,
            extent.flags.into(),
        ]);
    });
    let number = |error: &io::Error| vec![error.raw_os_error().unwrap_or(0).into()];
    let (kind, numbers) = match done {
        Ok(taken) => {
            let mut numbers = vec![taken.dev, taken.ino, taken.cut.into()];
            numbers.append(&mut extents);
            (DONE, numbers)
        }
        Err(NoLayout::NotOpened { error, .. }) => (NOT_OPENED, number(&error)),
        Err(NoLayout::NoMap { error, .. }) => (NO_MAP, number(&error)),
        Err(NoLayout::NoTime { .. }) => (NO_TIME, Vec::new()),
        Err(_) => (NOT_REGULAR, Vec::new()),
    };
    Frame {
        kind,
        numbers,
        ..Frame::default()
    }
}

fn space(mount: &Path) -> Frame {
    match space_of(mount) {
        Some(space) => Frame {
            numbers: vec![
                space.unit_bytes,
                space.block_bytes,
                space.blocks,
                space.available,
            ],
            ..Frame::default()
        },
        None => Frame {
            kind: NOT_OPENED,
            ..Frame::default()
        },
    }
}

fn read(path: &Path, inode: i64, offset: i64, length: i64) -> Option<Vec<u8>> {
    let is_it = |found: &std::fs::Metadata| found.is_file() && found.ino() as i64 == inode;
    // A pipe or a device that has come to the path is not opened: it could hang.
    is_it(&std::fs::metadata(path).ok()?).then_some(())?;
    let mut options = std::fs::OpenOptions::new();
    let file = options.read(true).custom_flags(libc::O_NONBLOCK).open(path);
    let file = file
        .ok()
        .filter(|file| file.metadata().is_ok_and(|found| is_it(&found)))?;
    let (offset, length) = (u64::try_from(offset).ok()?, u64::try_from(length).ok()?);
    // What somebody asks for must be there before memory is taken for it.
    if offset.checked_add(length)? > file.metadata().ok()?.len() {
        return None;
    }
    let mut bytes = vec![0; usize::try_from(length).ok()?];
    file.read_exact_at(&mut bytes, offset).ok()?;
    Some(bytes)
}

/// Of memory the bytes at an address, of any other file those from its beginning.
fn process_file(tgid: i64, name: &Path, offset: u64, most: u64) -> Option<Vec<u8>> {
    let file = File::open(Path::new("/proc").join(tgid.to_string()).join(name)).ok()?;
    let mut bytes = Vec::new();
    if name == Path::new("mem") {
        bytes.resize(usize::try_from(most).ok()?, 0);
        file.read_exact_at(&mut bytes, offset).ok()?;
    } else {
        file.take(most).read_to_end(&mut bytes).ok()?;
    }
    Some(bytes)
}

/// What statvfs(3) says, however long it takes.
pub fn space_of(mount: &Path) -> Option<Space> {
    let fs = nix::sys::statvfs::statvfs(mount).ok()?;
    let number = |n: u64| i64::try_from(n).ok();
    Some(Space {
        unit_bytes: number(fs.fragment_size())?,
        block_bytes: number(fs.block_size())?,
        blocks: number(fs.blocks())?,
        available: number(fs.blocks_available())?,
    })
}

/// As /proc has it: its files of a process that runs exec may wait for what exec waits for (exec_update_lock).
pub(super) fn held(tgid: i64, tid: i64) -> Option<Held> {
    let process = PathBuf::from(format!("/proc/{tgid}"));
    let thread = process.join(format!("task/{tid}"));
    let words = std::fs::read_to_string(thread.join("syscall")).ok()?;
    let mut words = words.split_ascii_whitespace();
    let call = words.next()?.parse().ok()?;
    let hex = |word: &str| u64::from_str_radix(word.strip_prefix("0x")?, 16).ok();
    let arguments: Vec<u64> = words.take(6).map_while(hex).collect();
    let stat = std::fs::read_to_string(thread.join("stat")).unwrap_or_default();
    let stack = std::fs::read_to_string(thread.join("stack")).unwrap_or_default();
    let memory = File::open(process.join("mem")).ok();
    let read = |at: usize| path_at(memory.as_ref()?, *arguments.get(at)?);
    let open = |argument: &u64| {
        let fd = *argument as i32;
        let link = match fd {
            libc::AT_FDCWD => process.join("cwd"),
            _ => process.join(format!("fd/{fd}")),
        };
        std::fs::read_link(link).ok()
    };
    Some(Held {
        call,
        // Behind its name, which may have any letter in it.
        blocked: stat
            .rsplit_once(") ")
            .is_some_and(|(_, rest)| rest.starts_with('D')),
        frames: stack.lines().filter_map(function).collect(),
        open: arguments.first().and_then(open),
        cwd: std::fs::read_link(process.join("cwd")).ok(),
        paths: [read(0), read(1)],
        arguments,
    })
}

/// `[<0>] request_wait_answer+0x112/0x210`
fn function(line: &str) -> Option<String> {
    let name = line.split_once("] ")?.1;
    Some(name.split(['+', ' ']).next()?.to_owned())
}

/// The path that a process's memory has at an address.
fn path_at(memory: &File, address: u64) -> Option<PathBuf> {
    let mut bytes = vec![0; PATH_MOST];
    // It may end with the page that follows, which need not be there.
    let first = PATH_MOST - (address % PATH_MOST as u64) as usize;
    let mut length = memory.read_at(&mut bytes[..first], address).ok()?;
    if !bytes[..length].contains(&0) {
        length += memory
            .read_at(&mut bytes[length..], address + length as u64)
            .unwrap_or(0);
    }
    let end = bytes[..length].iter().position(|byte| *byte == 0)?;
    let path = &bytes[..end];
    (end > 0 && !path.iter().any(u8::is_ascii_control)).then(|| OsStr::from_bytes(path).into())
}
