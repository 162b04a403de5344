//! The extents of an open file, by ioctl(FS_IOC_FIEMAP) (Documentation/filesystems/fiemap.rst).

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

use iowhy_store::Name;

/// Where a part of a file lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    pub logical_bytes: u64,
    /// On the device; meaningless with [`NO_PLACE`] flags. On btrfs an address of its own volume layer.
    pub physical_bytes: u64,
    pub bytes: u64,
    /// FIEMAP_EXTENT_*.
    pub flags: u32,
}

/// struct fiemap and its extents, include/uapi/linux/fiemap.h.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Header {
    start: u64,
    length: u64,
    flags: u32,
    mapped_extents: u32,
    extent_count: u32,
    reserved: u32,
}

#[repr(C)]
#[derive(Clone, Copy, Default)]
struct RawExtent {
    logical: u64,
    physical: u64,
    length: u64,
    reserved64: [u64; 2],
    flags: u32,
    reserved: [u32; 3],
}

/// Extents asked for by one call: some 28 KiB.
const AT_ONCE: usize = 512;

#[repr(C)]
struct Request {
    header: Header,
    extents: [RawExtent; AT_ONCE],
}

nix::ioctl_readwrite!(fs_ioc_fiemap, b'f', 11, Header);

const LAST: u32 = 0x1;
const UNKNOWN: u32 = 0x2;
const DELALLOC: u32 = 0x4;
const INLINE: u32 = 0x200;
/// Flags of extents that have no place of their own on the device (yet).
pub const NO_PLACE: u32 = UNKNOWN | DELALLOC | INLINE;

/// Write out delayed allocations first. It changes what is measured, so it is off unless asked for.
const SYNC: u32 = 0x1;

const NAMES: [(u32, &str); 10] = [
    (LAST, "last"),
    (UNKNOWN, "unknown"),
    (DELALLOC, "delalloc"),
    (0x8, "encoded"),
    (0x80, "encrypted"),
    (0x100, "not_aligned"),
    (INLINE, "inline"),
    (0x800, "unwritten"),
    (0x1000, "merged"),
    (0x2000, "shared"),
];

/// Names of an extent's flags.
pub fn flag_names(flags: u32) -> Vec<Name> {
    let set = NAMES.iter().filter(|(bit, _)| flags & bit != 0);
    set.map(|(_, name)| Name::Borrowed(name)).collect()
}

/// Calls `each` with the file's extents in order until it says false. With `sync`, delayed allocations are
/// written out first; without, they are reported as such, without a place.
pub fn extents(file: &File, sync: bool, mut each: impl FnMut(Extent) -> bool) -> io::Result<()> {
    let mut request = Box::new(Request {
        header: Header::default(),
        extents: [RawExtent::default(); AT_ONCE],
    });
    let mut start = 0;
    loop {
        request.header = Header {
            start,
            length: u64::MAX - start,
            flags: if sync && start == 0 { SYNC } else { 0 },
            extent_count: AT_ONCE as u32,
            ..Header::default()
        };
        // SAFETY: the header is the start of a Request, which has room for `extent_count` extents.
        unsafe { fs_ioc_fiemap(file.as_raw_fd(), std::ptr::from_mut(&mut *request).cast())? };
        let mapped = (request.header.mapped_extents as usize).min(AT_ONCE);
        for raw in &request.extents[..mapped] {
            let extent = Extent {
                logical_bytes: raw.logical,
                physical_bytes: raw.physical,
                bytes: raw.length,
                flags: raw.flags,
            };
            let end = raw.logical.saturating_add(raw.length);
            // A filesystem that does not go forward would keep us here for ever.
            if !each(extent) || raw.flags & LAST != 0 || end <= start {
                return Ok(());
            }
            start = end;
        }
        if mapped == 0 {
            return Ok(());
        }
    }
}
