//! Opening files that others name: regular ones only, never waiting, never out of the root that they are seen from.

use std::ffi::CString;
use std::fs::{File, OpenOptions};
use std::os::fd::{AsRawFd, FromRawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// The regular file at `path` as a process with this root sees it; None: our own root.
pub fn regular(path: &Path, root: Option<&File>) -> Option<File> {
    let file = match root {
        Some(root) => beneath(path, root)?,
        None => OpenOptions::new()
            .read(true)
            .custom_flags(libc::O_NONBLOCK | libc::O_CLOEXEC | libc::O_NOCTTY)
            .open(path)
            .ok()?,
    };
    file.metadata().ok()?.is_file().then_some(file)
}

/// Links are followed within the root (openat2, Linux 5.6), as the process itself would.
fn beneath(path: &Path, root: &File) -> Option<File> {
    let path = CString::new(path.as_os_str().as_bytes()).ok()?;
    // SAFETY: open_how is plain numbers; the kernel reads it and the path, and gives a descriptor that is ours.
    unsafe {
        let mut how: libc::open_how = std::mem::zeroed();
        how.flags = (libc::O_RDONLY | libc::O_NONBLOCK | libc::O_CLOEXEC | libc::O_NOCTTY) as u64;
        how.resolve = libc::RESOLVE_IN_ROOT | libc::RESOLVE_NO_MAGICLINKS;
        let fd = libc::syscall(
            libc::SYS_openat2,
            root.as_raw_fd(),
            path.as_ptr(),
            &how,
            std::mem::size_of::<libc::open_how>(),
        );
        (fd >= 0).then(|| File::from_raw_fd(fd as i32))
    }
}
