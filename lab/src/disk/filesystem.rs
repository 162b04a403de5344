//! The disk as a FUSE filesystem of three files: `disk` (the bytes), `statistics` (counts as JSON) and
//! `control` (write `pace on`, `pace off` or `stall SECONDS`).

use std::ffi::OsStr;
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use fuser::{
    Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation, INodeNo, InitFlags,
    KernelConfig, LockOwner, OpenFlags, ReplyAttr, ReplyData, ReplyDirectory, ReplyEmpty,
    ReplyEntry, ReplyOpen, ReplyWrite, Request, TimeOrNow, WriteFlags,
};

use super::backing::Backing;
use super::faults;
use super::model::Kind;
use super::paced::PacedDisk;

/// Attributes never change behind the kernel's back, except the length of `statistics`, which is read with direct
/// I/O to its end.
const VALID: Duration = Duration::from_secs(3600);

/// Largest request: what a loop device sends at most.
const MAX_REQUEST_BYTES: u32 = 1 << 20;

/// Requests that the kernel hands over at once; native command queueing has 32.
const QUEUE_REQUESTS: u16 = 32;

const FILES: [(INodeNo, &str); 3] = [
    (INodeNo(2), "disk"),
    (INodeNo(3), "statistics"),
    (INodeNo(4), "control"),
];
const DISK: INodeNo = FILES[0].0;
const STATISTICS: INodeNo = FILES[1].0;
const CONTROL: INodeNo = FILES[2].0;

/// Of `stall 1.5`, the nanoseconds.
fn stall_of(text: &[u8]) -> Option<u64> {
    let length = std::str::from_utf8(text).ok()?.strip_prefix("stall ")?;
    faults::seconds(length).ok()
}

/// The filesystem.
pub struct DiskFilesystem {
    disk: Arc<PacedDisk>,
    backing: Arc<Backing>,
    size_bytes: u64,
}

impl DiskFilesystem {
    /// A filesystem over a disk and its bytes.
    pub fn new(disk: Arc<PacedDisk>, backing: Arc<Backing>, size_bytes: u64) -> Self {
        Self {
            disk,
            backing,
            size_bytes,
        }
    }

    fn attributes(&self, ino: INodeNo) -> Option<FileAttr> {
        let (kind, perm, size) = match ino {
            INodeNo::ROOT => (FileType::Directory, 0o700, 0),
            DISK => (FileType::RegularFile, 0o600, self.size_bytes),
            STATISTICS => (FileType::RegularFile, 0o400, 4096),
            CONTROL => (FileType::RegularFile, 0o200, 0),
            _ => return None,
        };
        Some(FileAttr {
            ino,
            size,
            blocks: size / 512,
            atime: UNIX_EPOCH,
            mtime: UNIX_EPOCH,
            ctime: UNIX_EPOCH,
            crtime: UNIX_EPOCH,
            kind,
            perm,
            nlink: 1,
            uid: nix::unistd::geteuid().as_raw(),
            gid: nix::unistd::getegid().as_raw(),
            rdev: 0,
            blksize: 4096,
            flags: 0,
        })
    }

    fn in_range(&self, offset: u64, bytes: u64) -> bool {
        offset
            .checked_add(bytes)
            .is_some_and(|end| end <= self.size_bytes)
    }

    fn flush(&self, reply: ReplyEmpty) {
        self.disk
            .submit(Kind::Flush, 0, 0, Box::new(move |_| reply.ok()));
    }
}

impl Filesystem for DiskFilesystem {
    fn init(&mut self, _request: &Request, config: &mut KernelConfig) -> std::io::Result<()> {
        // Without it the kernel would wait for each direct request before it sends the next: a queue of one.
        config
            .add_capabilities(InitFlags::FUSE_ASYNC_DIO)
            .map_err(|_| {
                std::io::Error::other("this kernel's FUSE has no asynchronous direct I/O")
            })?;
        let _ = config.set_max_write(MAX_REQUEST_BYTES);
        let _ = config.set_max_background(QUEUE_REQUESTS);
        let _ = config.set_congestion_threshold(QUEUE_REQUESTS);
        Ok(())
    }

    fn lookup(&self, _request: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let found = FILES
            .iter()
            .find(|(_, known)| parent == INodeNo::ROOT && name == *known);
        match found.and_then(|(ino, _)| self.attributes(*ino)) {
            Some(attributes) => reply.entry(&VALID, &attributes, Generation(0)),
            None => reply.error(Errno::ENOENT),
        }
    }

    fn getattr(
        &self,
        _request: &Request,
        ino: INodeNo,
        _handle: Option<FileHandle>,
        reply: ReplyAttr,
    ) {
        match self.attributes(ino) {
            Some(attributes) => reply.attr(&VALID, &attributes),
            None => reply.error(Errno::ENOENT),
        }
    }

    fn setattr(
        &self,
        _request: &Request,
        ino: INodeNo,
        _mode: Option<u32>,
        _uid: Option<u32>,
        _gid: Option<u32>,
        size: Option<u64>,
        _atime: Option<TimeOrNow>,
        _mtime: Option<TimeOrNow>,
        _ctime: Option<std::time::SystemTime>,
        _handle: Option<FileHandle>,
        _crtime: Option<std::time::SystemTime>,
        _chgtime: Option<std::time::SystemTime>,
        _bkuptime: Option<std::time::SystemTime>,
        _flags: Option<fuser::BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        // A shell's `> control` truncates; a disk keeps its size.
        match self.attributes(ino) {
            Some(attributes) if size.is_none() || ino == CONTROL => reply.attr(&VALID, &attributes),
            Some(_) => reply.error(Errno::EPERM),
            None => reply.error(Errno::ENOENT),
        }
    }

    fn readdir(
        &self,
        _request: &Request,
        ino: INodeNo,
        _handle: FileHandle,
        offset: u64,
        mut reply: ReplyDirectory,
    ) {
        if ino != INodeNo::ROOT {
            return reply.error(Errno::ENOTDIR);
        }
        for (at, (ino, name)) in FILES.iter().enumerate().skip(offset as usize) {
            if reply.add(*ino, at as u64 + 1, FileType::RegularFile, name) {
                break;
            }
        }
        reply.ok();
    }

    fn open(&self, _request: &Request, _ino: INodeNo, _flags: OpenFlags, reply: ReplyOpen) {
        let flags = FopenFlags::FOPEN_DIRECT_IO
            | FopenFlags::FOPEN_PARALLEL_DIRECT_WRITES
            | FopenFlags::FOPEN_NOFLUSH;
        reply.opened(FileHandle(0), flags);
    }

    fn read(
        &self,
        _request: &Request,
        ino: INodeNo,
        _handle: FileHandle,
        offset: u64,
        size: u32,
        _flags: OpenFlags,
        _owner: Option<LockOwner>,
        reply: ReplyData,
    ) {
        if ino == STATISTICS {
            let mut text = serde_json::to_vec(&self.disk.statistics()).unwrap_or_default();
            text.push(b'\n');
            let start = text.len().min(offset as usize);
            let end = text.len().min(start + size as usize);
            return reply.data(&text[start..end]);
        }
        if ino != DISK {
            return reply.error(Errno::EACCES);
        }
        let bytes = u64::from(size).min(self.size_bytes.saturating_sub(offset));
        if bytes == 0 {
            return reply.data(&[]);
        }
        let backing = Arc::clone(&self.backing);
        let answer = move |failed| {
            if failed {
                return reply.error(Errno::EIO);
            }
            let mut reply = Some(reply);
            let sent = backing.read(offset, bytes as usize, |data| {
                reply.take().map(|reply| reply.data(data))
            });
            if let (Err(error), Some(reply)) = (sent, reply) {
                reply.error(error.into());
            }
        };
        self.disk
            .submit(Kind::Read, offset, bytes, Box::new(answer));
    }

    fn write(
        &self,
        _request: &Request,
        ino: INodeNo,
        _handle: FileHandle,
        offset: u64,
        data: &[u8],
        _write_flags: WriteFlags,
        _flags: OpenFlags,
        _owner: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        if ino == CONTROL {
            match data.trim_ascii() {
                b"pace on" => self.disk.set_paced(true),
                b"pace off" => self.disk.set_paced(false),
                text => match stall_of(text) {
                    Some(length_ns) => self.disk.stall(length_ns),
                    None => return reply.error(Errno::EINVAL),
                },
            }
            return reply.written(data.len() as u32);
        }
        if ino != DISK {
            return reply.error(Errno::EACCES);
        }
        let bytes = data.len() as u64;
        if !self.in_range(offset, bytes) {
            return reply.error(Errno::ENOSPC);
        }
        // The bytes are stored at once and only the answer takes its time, which saves a copy: between
        // request and answer a reader may see either content on a real disk too.
        if let Err(error) = self.backing.write(offset, data) {
            return reply.error(error.into());
        }
        self.disk.submit(
            Kind::Write,
            offset,
            bytes,
            Box::new(move |failed| {
                if failed {
                    reply.error(Errno::EIO);
                } else {
                    reply.written(bytes as u32);
                }
            }),
        );
    }

    fn fsync(
        &self,
        _request: &Request,
        ino: INodeNo,
        _handle: FileHandle,
        _datasync: bool,
        reply: ReplyEmpty,
    ) {
        if ino == DISK {
            self.flush(reply);
        } else {
            reply.ok();
        }
    }

    fn fallocate(
        &self,
        _request: &Request,
        ino: INodeNo,
        _handle: FileHandle,
        offset: u64,
        length: u64,
        mode: i32,
        reply: ReplyEmpty,
    ) {
        let zeroing = mode & (libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_ZERO_RANGE) != 0;
        if ino != DISK || !zeroing || !self.in_range(offset, length) {
            return reply.error(Errno::EOPNOTSUPP);
        }
        match self.backing.zero(offset, length) {
            Ok(()) => reply.ok(),
            Err(error) => reply.error(error.into()),
        }
    }
}
