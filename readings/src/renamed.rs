//! The name that a file has now, by the number and the generation of its inode: it may have been renamed since it was met.

use std::collections::HashMap;
use std::ffi::CString;
use std::fs::File;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How long names are looked for: of a filesystem whose inodes are not in memory each takes a read.
const LONGEST: Duration = Duration::from_secs(1);
/// MAX_HANDLE_SZ of fcntl.h.
const MOST_BYTES: usize = 128;

/// include/linux/exportfs.h: a number and a generation of 32 bits (ext4, XFS, F2FS); XFS with numbers of 64; btrfs, whose
/// handle has the number of the subvolume between them.
const INO32_GEN: i32 = 1;
const XFS_INO64_GEN: i32 = 0x81;
const BTRFS: i32 = 0x4d;

#[repr(C)]
#[derive(Clone)]
struct Handle {
    bytes: u32,
    kind: i32,
    data: [u8; MOST_BYTES],
}

impl Handle {
    /// Of a directory.
    fn of(directory: &Path) -> Option<Handle> {
        let path = CString::new(directory.as_os_str().as_bytes()).ok()?;
        let mut handle = Handle {
            bytes: MOST_BYTES as u32,
            kind: 0,
            data: [0; MOST_BYTES],
        };
        let mut mount = 0;
        // SAFETY: the path ends with a zero, and the handle says how many bytes there is room for.
        let done = unsafe {
            let handle = std::ptr::from_mut(&mut handle).cast::<libc::file_handle>();
            libc::name_to_handle_at(libc::AT_FDCWD, path.as_ptr(), handle, &mut mount, 0)
        };
        (done == 0).then_some(handle)
    }

    /// Of another inode of the same filesystem; None where its handles are of a kind that is not known here.
    fn for_inode(&self, inode: u64, generation: u32) -> Option<Handle> {
        let mut handle = self.clone();
        let at = match (self.kind, self.bytes) {
            (INO32_GEN, 8) => {
                let inode = u32::try_from(inode).ok()?;
                handle.data[..4].copy_from_slice(&inode.to_ne_bytes());
                4
            }
            (XFS_INO64_GEN, 12) => 8,
            (BTRFS, 20) => 16,
            _ => return None,
        };
        if at > 4 {
            handle.data[..8].copy_from_slice(&inode.to_ne_bytes());
        }
        handle.data[at..at + 4].copy_from_slice(&generation.to_ne_bytes());
        Some(handle)
    }
}

/// Where files went that are no longer where they were met. Only root may ask (CAP_DAC_READ_SEARCH).
pub struct Renamed {
    /// Of each filesystem a directory, and its handle.
    filesystems: HashMap<u32, Option<(File, Handle)>>,
    begin: Instant,
}

impl Renamed {
    pub fn new() -> Renamed {
        Renamed {
            filesystems: HashMap::new(),
            begin: Instant::now(),
        }
    }

    /// The name of a file that was met at `path`, on the filesystem `dev`; None where it has none any more, or that cannot be seen.
    pub fn name(&mut self, dev: u32, inode: u64, generation: u32, path: &Path) -> Option<PathBuf> {
        if self.begin.elapsed() > LONGEST {
            return None;
        }
        let known = self.filesystems.entry(dev).or_insert_with(|| {
            let directory = path.ancestors().skip(1).find(|above| above.is_dir())?;
            Some((File::open(directory).ok()?, Handle::of(directory)?))
        });
        let (directory, handle) = known.as_ref()?;
        let mut handle = handle.for_inode(inode, generation)?;
        // SAFETY: the handle says how many bytes follow its two words, and a descriptor that is given is new.
        let found = unsafe {
            let handle = std::ptr::from_mut(&mut handle).cast::<libc::file_handle>();
            match libc::open_by_handle_at(
                directory.as_raw_fd(),
                handle,
                libc::O_PATH | libc::O_CLOEXEC,
            ) {
                -1 => return None,
                fd => OwnedFd::from_raw_fd(fd),
            }
        };
        let name = std::fs::read_link(format!("/proc/self/fd/{}", found.as_raw_fd())).ok()?;
        // One that has no name left is shown by the one that it had, one that is not in memory without any.
        let there = std::fs::symlink_metadata(&name).ok()?;
        (name.is_absolute() && there.ino() == inode).then_some(name)
    }
}

impl Default for Renamed {
    fn default() -> Renamed {
        Renamed::new()
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsRawFd;

    use super::*;

    nix::ioctl_read!(generation_of, b'v', 1, libc::c_long);

    /// A directory on a filesystem that tells generations, and its handles to root; None elsewhere (tmpfs, not root).
    fn made(folder: &Path) -> Option<(u64, u32)> {
        let file = File::create(folder.join("a.tmp")).unwrap();
        let mut generation: libc::c_long = 0;
        unsafe { generation_of(file.as_raw_fd(), &mut generation) }.ok()?;
        let inode = file.metadata().unwrap().ino();
        let mut renamed = Renamed::new();
        renamed
            .name(1, inode, generation as u32, &folder.join("a.tmp"))
            .map(|_| (inode, generation as u32))
    }

    #[test]
    fn a_file_has_the_name_that_it_has_now_wherever_that_is() {
        let temporary = tempfile::tempdir().unwrap();
        let folder = temporary.path().canonicalize().unwrap();
        let (before, after) = (folder.join("before"), folder.join("after"));
        std::fs::create_dir(&before).unwrap();
        let Some((inode, generation)) = made(&before) else {
            eprintln!("not root, or a filesystem without generations: not tried");
            return;
        };
        let name = |wanted| Renamed::new().name(1, inode, wanted, &before.join("a.tmp"));
        std::fs::rename(before.join("a.tmp"), before.join("a.json")).unwrap();
        assert_eq!(name(generation), Some(before.join("a.json")));
        // Another file of the same number is not it.
        assert_eq!(name(generation.wrapping_add(1)), None);
        std::fs::rename(&before, &after).unwrap();
        assert_eq!(name(generation), Some(after.join("a.json")));
        std::fs::remove_file(after.join("a.json")).unwrap();
        assert_eq!(name(generation), None);
    }
}
