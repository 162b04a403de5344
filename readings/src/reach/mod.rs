//! Questions that a filesystem may never answer, asked from a process of its own.
//!
//! A call on a filesystem that stopped answering (a FUSE whose process is stuck, a hard NFS mount without its server, a disk
//! that is gone) may wait for ever where no signal reaches it, and a process with such a thread does not even end. So this
//! process makes none: another one of its own program does, each answer has a deadline, and one that does not come costs that
//! process and all other questions about the same mount.

// long: each question, and what its answer means, side by side.
mod serve;
mod wire;

use std::collections::{BTreeMap, HashMap};
use std::ffi::OsStr;
use std::io::{self, BufReader, Write};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::containers::Container;
use crate::fiemap::Extent;
use crate::layout::{Bounds, NoLayout, Phase, Taken};
use crate::mounts::{Mount, Mounts};
use crate::Roots;
use iowhy_store::rows;
pub use serve::{serve, space_of, Held};
use wire::Frame;

/// The word by which this very program is told to be that process: it then calls [`serve`].
pub const COMMAND: &str = "ask-filesystems";
/// How long an answer is waited for: longer than a disk under load takes.
pub const PATIENCE: Duration = Duration::from_secs(2);
/// The same of the next of many; then each of them is asked alone, so that it is known which one has none.
const PATIENCE_WITH_MANY: Duration = Duration::from_secs(1);
/// Questions that are asked at once, and bytes of them: fewer than fit into the socket.
const AT_ONCE: usize = 256;
const BYTES_AT_ONCE: usize = 64 << 10;
/// A process of which something had no answer is not asked about for so long.
const PROCESS_AGAIN: Duration = Duration::from_secs(10);

const AT_END: u8 = 1;
const LAYOUT: u8 = 2;
const SPACE: u8 = 3;
const THREAD: u8 = 4;
const READ: u8 = 5;
const CONTAINER: u8 = 6;
const NODES: u8 = 7;
const PROCESS_FILE: u8 = 8;
const DAEMONS: u8 = 9;
const CATALOGUE: u8 = 10;
/// Kinds of answers.
const DONE: u8 = 0;
const NOT_OPENED: u8 = 1;
const NOT_REGULAR: u8 = 2;
const NO_MAP: u8 = 3;
const NO_TIME: u8 = 4;

/// A mount that did not answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Silent {
    pub dev: i64,
    /// Its mount point, and its filesystem's type.
    pub mount: String,
    pub kind: String,
}

/// A file as it was met.
#[derive(Clone, Copy, Debug)]
pub struct Met<'a> {
    pub inode: u64,
    pub path: &'a [u8],
    /// Where it is not there any more, it is looked for by its filesystem and the inode's generation.
    pub renamed: Option<(u32, u32)>,
}

/// What a file is in the end, as far as its filesystem says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AtEnd {
    /// The path that it has now, where that is another.
    pub name: Option<Vec<u8>>,
    pub size_bytes: Option<i64>,
    pub deleted: bool,
    /// Something has its name.
    pub named: bool,
}

/// Room of a filesystem, as statvfs(3) has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Space {
    pub unit_bytes: i64,
    pub block_bytes: i64,
    pub blocks: i64,
    pub available: i64,
}

/// Asks from another process.
#[derive(Debug)]
pub struct Reach {
    roots: Roots,
    asked: Option<(Child, BufReader<UnixStream>)>,
    silent: Vec<Silent>,
    /// Processes of which something had no answer, and when.
    held: HashMap<i64, Instant>,
    /// After this nothing is asked any more.
    until: Option<Instant>,
}

impl Reach {
    pub fn new(roots: &Roots) -> Reach {
        Reach {
            roots: roots.clone(),
            asked: None,
            silent: Vec::new(),
            held: HashMap::new(),
            until: None,
        }
    }

    /// Nothing is asked after so long.
    pub fn end_after(&mut self, most: Duration) {
        self.until = Some(Instant::now() + most);
    }

    /// The time that was set is over: what has no answer was not asked.
    pub fn is_over(&self) -> bool {
        self.until.is_some_and(|until| Instant::now() >= until)
    }

    /// Mounts that did not answer.
    pub fn silent(&self) -> &[Silent] {
        &self.silent
    }

    /// Mounts that did not answer another one need not be asked again.
    pub fn know(&mut self, silent: &[Silent]) {
        for one in silent {
            if !self.silent.contains(one) {
                self.silent.push(one.clone());
            }
        }
    }

    /// What became of files; None: not known.
    pub fn at_end<'a>(&mut self, files: impl Iterator<Item = &'a Met<'a>>) -> Vec<Option<AtEnd>> {
        let asked: Vec<Frame> = files
            .map(|met| {
                let (dev, generation) = met.renamed.unwrap_or_default();
                let follow = i64::from(met.renamed.is_some());
                let numbers = [met.inode as i64, follow, dev.into(), generation.into()];
                frame(AT_END, &numbers, met.path)
            })
            .collect();
        let said = self.ask_all(&asked).into_iter();
        said.map(|said| {
            let said = said?;
            match said.numbers[..] {
                [size, deleted, named] => Some(AtEnd {
                    name: Some(said.text).filter(|name| !name.is_empty()),
                    size_bytes: Some(size).filter(|size| *size >= 0),
                    deleted: deleted != 0,
                    named: named != 0,
                }),
                _ => None,
            }
        })
        .collect()
    }

    /// As [`crate::layout::Layout::of_path`].
    pub fn layout(
        &mut self,
        path: &Path,
        phase: Phase,
        bounds: Bounds,
        out: &mut impl FnMut(rows::Extents),
    ) -> Result<Taken, NoLayout> {
        let path_bytes = path.as_os_str().as_bytes();
        let time_ms = i64::try_from(bounds.total_time.as_millis()).unwrap_or(i64::MAX);
        let most = [
            bounds.extents_per_file as i64,
            time_ms,
            i64::from(bounds.sync),
        ];
        let path = path.to_owned();
        let Some(said) = self.ask(&frame(LAYOUT, &most, path_bytes)) else {
            return Err(NoLayout::NoAnswer { path });
        };
        let error = || io::Error::from_raw_os_error(said.numbers.first().map_or(0, |n| *n as i32));
        match (said.kind, &said.numbers[..]) {
            (DONE, [dev, ino, cut, extents @ ..]) => {
                let taken = Taken {
                    dev: *dev,
                    ino: *ino,
                    extents: extents.len() / 4,
                    cut: *cut != 0,
                };
                for extent in extents.chunks_exact(4) {
                    let extent = Extent {
                        logical_bytes: extent[0] as u64,
                        physical_bytes: extent[1] as u64,
                        bytes: extent[2] as u64,
                        flags: extent[3] as u32,
                    };
                    out(crate::layout::row(phase, &taken, &extent));
                }
                Ok(taken)
            }
            (NOT_OPENED, _) => Err(NoLayout::NotOpened {
                path,
                error: error(),
            }),
            (NO_MAP, _) => Err(NoLayout::NoMap {
                path,
                error: error(),
            }),
            (NO_TIME, _) => Err(NoLayout::NoTime {
                path,
                seconds: bounds.total_time.as_secs_f32(),
            }),
            _ => Err(NoLayout::NotRegular { path }),
        }
    }

    /// What files of a database that has some in this folder are, by its own catalogue: by path.
    pub fn catalogue(&mut self, folder: &[u8]) -> BTreeMap<String, String> {
        let said = self.ask(&frame(CATALOGUE, &[], folder));
        let named = said.and_then(|said| serde_json::from_slice(&said.text).ok());
        named.unwrap_or_default()
    }

    /// Room of the filesystem mounted there; None where it says none, or nothing at all.
    pub fn space(&mut self, mount: &Path) -> Option<Space> {
        let said = self.ask(&frame(SPACE, &[], mount.as_os_str().as_bytes()))?;
        match said.numbers[..] {
            [unit_bytes, block_bytes, blocks, available] => Some(Space {
                unit_bytes,
                block_bytes,
                blocks,
                available,
            }),
            _ => None,
        }
    }

    /// The call that a thread is in, and what it waits for there; None where it is in none, or that is not to be had.
    pub fn thread(&mut self, tgid: i64, tid: i64) -> Option<Held> {
        let said = self.ask(&frame(THREAD, &[tgid, tid], b""))?;
        serde_json::from_slice(&said.text).ok()
    }

    /// Exactly so many bytes of a regular file with this inode; None where it has fewer, or is another one.
    pub fn read(&mut self, path: &[u8], inode: u64, offset: u64, length: u64) -> Option<Vec<u8>> {
        let which = [inode as i64, offset as i64, length as i64];
        let said = self.ask(&frame(READ, &which, path))?;
        (said.kind == DONE && said.text.len() as u64 == length).then_some(said.text)
    }

    /// So many bytes of a file of /proc/PID; to its end where that comes first.
    pub fn process_file(&mut self, tgid: i64, file: &str, at: u64, most: u64) -> Option<Vec<u8>> {
        let which = [tgid, at as i64, most as i64];
        let said = self.ask(&frame(PROCESS_FILE, &which, file.as_bytes()))?;
        (said.kind == DONE).then_some(said.text)
    }

    /// What the runtimes keep of a group of the hierarchy that is mounted at `point`; None: no answer.
    pub fn container(&mut self, point: &Path, group: &str) -> Option<Option<Container>> {
        let text = [point.as_os_str().as_bytes(), b"\0", group.as_bytes()].concat();
        let said = self.ask(&frame(CONTAINER, &[], &text))?;
        serde_json::from_slice(&said.text).ok()
    }

    /// What the kubelet was told to call this machine; None: no answer.
    pub fn nodes(&mut self, point: &Path) -> Option<Vec<String>> {
        let said = self.ask(&frame(NODES, &[], point.as_os_str().as_bytes()))?;
        serde_json::from_slice(&said.text).ok()
    }

    /// The processes that serve FUSE filesystems, by device number, as far as known.
    pub fn daemons(&mut self, mounts: &Mounts) -> BTreeMap<i64, i64> {
        if !mounts.iter().any(Mount::is_fuse) {
            return BTreeMap::new();
        }
        let said = self.ask(&frame(DAEMONS, &[0], b""));
        let pairs = said.map(|said| said.numbers).unwrap_or_default();
        pairs
            .chunks_exact(2)
            .map(|pair| (pair[0], pair[1]))
            .collect()
    }

    /// Whether the filesystem of this path is known to be silent.
    fn is_silent(&self, path: &[u8]) -> bool {
        let path = Path::new(OsStr::from_bytes(path));
        let below = |one: &Silent| path.starts_with(&one.mount);
        // The table of mounts is read only where it matters: there may be thousands of them.
        path.is_absolute()
            && self.silent.iter().any(below)
            && Mounts::read(&self.roots).is_ok_and(|mounts| {
                let mount = mounts.of_path(path).map(|mount| mount.dev);
                self.silent.iter().any(|one| Some(one.dev) == mount)
            })
    }

    fn ask(&mut self, one: &Frame) -> Option<Frame> {
        if self.is_over() || self.is_known_silent(one) {
            return None;
        }
        let mut said = Vec::new();
        self.attempt(std::slice::from_ref(one), PATIENCE, &mut said);
        said.pop()
    }

    fn is_known_silent(&self, one: &Frame) -> bool {
        match about(one) {
            About::Path(path) => self.is_silent(path),
            About::Process(tgid) => {
                let held = self.held.get(&tgid);
                held.is_some_and(|at| at.elapsed() < PROCESS_AGAIN)
            }
            About::Runtimes => false,
        }
    }

    fn ask_all(&mut self, asked: &[Frame]) -> Vec<Option<Frame>> {
        let mut answers: Vec<Option<Frame>> = Vec::with_capacity(asked.len());
        while answers.len() < asked.len() {
            let mut bytes = 0;
            let many = asked[answers.len()..]
                .iter()
                .take(AT_ONCE)
                .take_while(|one| {
                    bytes += one.text.len();
                    bytes <= BYTES_AT_ONCE
                });
            let many = &asked[answers.len()..][..many.count().max(1)];
            let alone = many.len() == 1 || many.iter().any(|one| self.is_known_silent(one));
            let mut said = Vec::new();
            if !alone && !self.is_over() {
                self.attempt(many, PATIENCE_WITH_MANY, &mut said);
            }
            let came = said.len();
            answers.extend(said.into_iter().map(Some));
            for one in &many[came..] {
                let answer = self.ask(one);
                answers.push(answer);
            }
        }
        answers
    }

    /// Asks, and takes what is answered in time. The process is gone after an answer that did not come; of one question alone it is
    /// known then what is silent.
    fn attempt(&mut self, asked: &[Frame], patience: Duration, said: &mut Vec<Frame>) {
        let Err(error) = self.exchange(asked, patience, said) else {
            return;
        };
        if let Some((mut child, _)) = self.asked.take() {
            if let (io::ErrorKind::WouldBlock, [one]) = (error.kind(), asked) {
                self.gave_up(one, child.id());
            }
            // Where it waits beyond the reach of signals it ends when it is answered; nobody waits for that.
            let _ = child.kill();
        }
    }

    fn exchange(
        &mut self,
        asked: &[Frame],
        patience: Duration,
        said: &mut Vec<Frame>,
    ) -> io::Result<()> {
        if self.asked.is_none() {
            self.asked = Some(begin()?);
        }
        let Some((_, from)) = &mut self.asked else {
            return Ok(());
        };
        let mut bytes = Vec::new();
        for one in asked {
            one.write(&mut bytes)?;
        }
        from.get_ref().set_read_timeout(Some(patience))?;
        from.get_ref().set_write_timeout(Some(patience))?;
        from.get_mut().write_all(&bytes)?;
        for _ in asked {
            said.push(Frame::read(from)?);
        }
        Ok(())
    }

    /// The process that was asked waits for an answer.
    fn gave_up(&mut self, one: &Frame, child: u32) {
        let Ok(mounts) = Mounts::read(&self.roots) else {
            return;
        };
        match about(one) {
            About::Path(path) => {
                let path = Path::new(OsStr::from_bytes(path));
                self.is_mute(mounts.of_path(path).filter(|_| path.is_absolute()));
            }
            About::Process(tgid) => {
                self.held.insert(tgid, Instant::now());
            }
            About::Runtimes => {
                // Which of their files it is, the call says that the process is in.
                let named = serve::held(child.into(), child.into()).unwrap_or_default();
                let paths = named.paths.iter().flatten().chain(&named.open);
                let mut found = paths.filter_map(|path| mounts.of_path(path));
                let is_served = |mount: &&Mount| mount.device_file().is_none() || mount.is_fuse();
                self.is_mute(found.find(is_served));
            }
        }
    }

    fn is_mute(&mut self, mount: Option<&Mount>) {
        if let Some(mount) = mount {
            self.know(&[Silent {
                dev: mount.dev,
                mount: crate::names::escaped(mount.point.as_os_str().as_bytes()),
                kind: mount.kind.clone(),
            }]);
        }
    }
}

impl Drop for Reach {
    fn drop(&mut self) {
        if let Some((child, _)) = &mut self.asked {
            let _ = child.kill();
        }
    }
}

/// What a question is about.
enum About<'a> {
    Path(&'a [u8]),
    Process(i64),
    Runtimes,
}

fn about(one: &Frame) -> About<'_> {
    match (one.kind, &one.numbers[..]) {
        (THREAD | PROCESS_FILE | DAEMONS, [tgid, ..]) => About::Process(*tgid),
        (CONTAINER | NODES, _) => About::Runtimes,
        _ => About::Path(&one.text),
    }
}

fn frame(kind: u8, numbers: &[i64], text: &[u8]) -> Frame {
    Frame {
        kind,
        numbers: numbers.to_vec(),
        text: text.to_vec(),
    }
}

fn begin() -> io::Result<(Child, BufReader<UnixStream>)> {
    let (ours, theirs) = UnixStream::pair()?;
    let child = Command::new("/proc/self/exe")
        .arg(COMMAND)
        .stdin(Stdio::from(OwnedFd::from(theirs)))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .current_dir("/")
        // Ctrl-C is for the command that is recorded, and for who records it.
        .process_group(0)
        .spawn()?;
    Ok((child, BufReader::new(ours)))
}
