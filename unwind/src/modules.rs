//! The files, and the memory without one, that code of stacks lies in.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use crate::elf::Bytes;
use crate::image::Image;
use crate::maps::Mapped;

/// Modules that are remembered, and of how many the file stays open for those who name its functions.
const MOST: usize = 4096;
const OPEN_MOST: usize = 256;
/// Bytes of unwind tables of all files together: a program may map thousands of files that say they have large ones. 400 libraries
/// of Debian have 35 MB.
const TABLES_MOST: u64 = 512 << 20;

/// fcntl.h, of x86 and arm64.
const O_NONBLOCK: i32 = 0o4_000;

/// What kind of code it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    File,
    /// The kernel's code in each process.
    Vdso,
    /// Memory that a program has written its code to.
    Jit,
    /// Other memory of the kernel's or the process's.
    Anonymous,
}

impl Kind {
    /// In the schema's words.
    pub fn word(self) -> &'static str {
        match self {
            Kind::File => "file",
            Kind::Vdso => "vdso",
            Kind::Jit => "jit",
            Kind::Anonymous => "anonymous",
        }
    }
}

/// A file, or memory of one process, that holds code.
pub struct Module {
    pub path: Option<Vec<u8>>,
    pub kind: Kind,
    /// The process whose memory it is; None: of no single one.
    pub tgid: Option<u32>,
    /// A frame is in it.
    pub used: bool,
    /// The file that was mapped, as long as it could be had.
    pub file: Option<File>,
    /// The root directory of its process, where that is not ours.
    pub root: Option<File>,
    /// Of a JIT: its process's id in its own namespace, and its user.
    pub process: Option<(i32, u32)>,
    pub(crate) image: Image,
}

impl Module {
    /// Build id of its file.
    pub fn build_id(&self) -> Option<&str> {
        self.image.elf.build_id.as_deref()
    }
}

/// Files that are not to be opened here, since whoever serves them may never answer; those of /proc, too, of a process whose exec waits
/// for such a file.
pub trait Served {
    /// Whether the files of this filesystem are such.
    fn is_served(&mut self, dev: u32) -> bool;
    /// So many bytes of a file of /proc/PID, to its end where that comes first; of its memory those at an address.
    fn process_file(&mut self, tgid: u32, name: &str, at: u64, most: u64) -> Option<Vec<u8>>;
    /// Exactly so many bytes of the file of this path and inode.
    fn read(&mut self, path: &[u8], ino: u64, offset: u64, length: u64) -> Option<Vec<u8>>;
}

struct Remote<'a>(RefCell<&'a mut dyn Served>, &'a Mapped);

impl Bytes for Remote<'_> {
    fn read(&self, offset: u64, length: u64) -> Option<Vec<u8>> {
        let mut served = self.0.borrow_mut();
        served.read(&self.1.path, self.1.ino, offset, length)
    }
}

/// Which module it is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Key {
    File(u32, u64, Vec<u8>),
    Memory(u32, Vec<u8>),
}

#[derive(Default)]
pub struct Modules {
    all: Vec<Module>,
    by_key: HashMap<Key, u32>,
    open: usize,
    table_bytes: u64,
}

impl Modules {
    pub fn into_all(self) -> Vec<Module> {
        self.all
    }

    pub fn get_mut(&mut self, number: u32) -> Option<&mut Module> {
        self.all.get_mut(number as usize)
    }

    /// The module of a process's memory without a file that code was met in.
    pub fn of_memory(&self, tgid: u32) -> Option<u32> {
        self.by_key.get(&Key::Memory(tgid, Vec::new())).copied()
    }

    /// The module of a mapping; None when there are too many.
    pub fn of(
        &mut self,
        proc: &Path,
        tgid: u32,
        mapped: &Mapped,
        served: &mut dyn Served,
    ) -> Option<u32> {
        let kind = kind_of(mapped);
        let key = match kind {
            Kind::File => Key::File(mapped.dev, mapped.ino, mapped.path.clone()),
            Kind::Vdso => Key::Memory(0, mapped.path.clone()),
            Kind::Jit => Key::Memory(tgid, Vec::new()),
            Kind::Anonymous => Key::Memory(tgid, mapped.path.clone()),
        };
        if let Some(known) = self.by_key.get(&key) {
            return Some(*known);
        }
        if self.all.len() >= MOST {
            return None;
        }
        let is_served = kind == Kind::File && served.is_served(mapped.dev);
        let mut file = (kind == Kind::File && !is_served)
            .then(|| open(proc, tgid, mapped))
            .flatten();
        let most = TABLES_MOST - self.table_bytes;
        let image = match kind {
            Kind::Vdso => {
                iowhy_symbols::vdso_memory().and_then(|memory| Image::read(&memory[..], most))
            }
            Kind::File if is_served => Image::read(&Remote(RefCell::new(served), mapped), most),
            _ => file.as_ref().and_then(|file| Image::read(file, most)),
        };
        let image = image.unwrap_or_else(Image::bare);
        self.table_bytes += image.elf.table_bytes();
        let of = proc.join(tgid.to_string());
        let mut root = (kind != Kind::Vdso && !is_served)
            .then(|| other_root(&of))
            .flatten();
        if self.open >= OPEN_MOST {
            (file, root) = (None, None);
        }
        self.open += usize::from(file.is_some()) + usize::from(root.is_some());
        let number = u32::try_from(self.all.len()).ok()?;
        self.all.push(Module {
            path: (!mapped.path.is_empty()).then(|| mapped.path.clone()),
            kind,
            tgid: matches!(kind, Kind::Jit | Kind::Anonymous).then_some(tgid),
            used: false,
            file,
            root,
            process: (kind == Kind::Jit).then(|| process(&of)).flatten(),
            image,
        });
        self.by_key.insert(key, number);
        Some(number)
    }
}

/// The root directory of a process, opened as a place only; None where it is ours, or the process is gone.
fn other_root(process: &Path) -> Option<File> {
    /// fcntl.h: a place in the tree, not what is there; of x86 and arm64.
    const O_PATH: i32 = 0o10_000_000;
    let root = process.join("root");
    let (of_process, own) = (std::fs::metadata(&root).ok()?, std::fs::metadata("/").ok()?);
    if (of_process.dev(), of_process.ino()) == (own.dev(), own.ino()) {
        return None;
    }
    let mut options = std::fs::OpenOptions::new();
    options.read(true).custom_flags(O_PATH).open(root).ok()
}

/// The id of a process in the innermost of its namespaces, and its user (man 5 proc_pid_status).
fn process(process: &Path) -> Option<(i32, u32)> {
    let status = std::fs::read_to_string(process.join("status")).ok()?;
    let field = |name: &str| status.lines().find_map(|line| line.strip_prefix(name));
    let id = field("NSpid:")?.split_ascii_whitespace().last()?;
    let user = field("Uid:")?.split_ascii_whitespace().next()?;
    Some((id.parse().ok()?, user.parse().ok()?))
}

fn kind_of(mapped: &Mapped) -> Kind {
    match mapped.path.as_slice() {
        b"[vdso]" => Kind::Vdso,
        // Runtimes keep their code in files of memory as well, or name their memory (prctl(2), PR_SET_VMA).
        [] if mapped.ino == 0 => Kind::Jit,
        b"//anon" => Kind::Jit,
        path if path.starts_with(b"/memfd:") || path.starts_with(b"[anon") => Kind::Jit,
        [b'[', ..] => Kind::Anonymous,
        _ if mapped.ino == 0 => Kind::Jit,
        _ => Kind::File,
    }
}

/// The file that is mapped: the very one, by the process where it still is; else the one at its path, when that has its
/// number.
fn open(proc: &Path, tgid: u32, mapped: &Mapped) -> Option<File> {
    let process = proc.join(tgid.to_string());
    let range = format!("{:x}-{:x}", mapped.start, mapped.end);
    let path = Path::new(std::ffi::OsStr::from_bytes(&mapped.path));
    let inside = path.strip_prefix("/").unwrap_or(path);
    let candidates: [PathBuf; 3] = [
        process.join("map_files").join(range),
        process.join("root").join(inside),
        path.to_owned(),
    ];
    candidates.iter().find_map(|candidate| {
        // A pipe or a device that has come to the path is not opened: it could hang.
        let is_file = |file: &std::fs::Metadata| file.is_file() && file.ino() == mapped.ino;
        if !std::fs::metadata(candidate).is_ok_and(|found| is_file(&found)) {
            return None;
        }
        // Nor does one hang that comes in between.
        let mut options = std::fs::OpenOptions::new();
        options.read(true).custom_flags(O_NONBLOCK);
        let file = options.open(candidate).ok()?;
        is_file(&file.metadata().ok()?).then_some(file)
    })
}
