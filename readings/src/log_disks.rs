//! Where a filesystem's log (journal) lies, of one that has it on a device of its own.

use std::fs::read_to_string;
use std::path::Path;

use crate::devices::Disks;
use crate::mounts::Mount;
use crate::Roots;

/// Before 5.17 the name of a kernel's thread ends here (TASK_COMM_LEN without the final zero).
const SHORT_NAME: usize = 15;

/// The whole disk of the log. None: it lies with the data, there is none, or that cannot be known here.
pub fn of_mount(roots: &Roots, mount: &Mount, disks: &Disks) -> Option<i64> {
    match mount.kind.as_str() {
        "xfs" => disks.of_device_file(Path::new(log_option(mount)?)),
        "ext3" | "ext4" => of_journal_thread(roots, mount, disks),
        _ => None,
    }
}

/// What XFS was told by `logdev=` (fs/xfs/xfs_super.c: xfs_fs_show_options).
fn log_option(mount: &Mount) -> Option<&str> {
    let mut options = mount.super_options.split(',');
    options.find_map(|option| option.strip_prefix("logdev="))
}

/// ext4 tells its journal's thread (fs/ext4/sysfs.c: journal_task), which is named after the device, and the inode of a
/// journal that lies in the filesystem itself (fs/jbd2/journal.c: jbd2_journal_init_dev, _init_inode).
fn of_journal_thread(roots: &Roots, mount: &Mount, disks: &Disks) -> Option<i64> {
    let (own, _) = disks
        .beginning("")
        .find(|(_, number)| *number == mount.dev)?;
    let told = roots.sys.join("fs/ext4").join(own.replace('/', "!"));
    let pid: i64 = read_to_string(told.join("journal_task"))
        .ok()?
        .trim()
        .parse()
        .ok()?;
    let comm = read_to_string(roots.proc.join(pid.to_string()).join("comm")).ok()?;
    let comm = comm.trim_end_matches('\n');
    let name = comm.strip_prefix("jbd2/")?.replace('!', "/");
    let number = disks.number(&name).or_else(|| {
        // The end of it may be cut off: then one device at most may begin so.
        let mut found = disks.beginning(&name);
        let only = found.next().filter(|_| comm.len() == SHORT_NAME)?;
        found.next().is_none().then_some(only.1)
    })?;
    disks.whole(number).filter(|_| number != mount.dev)
}
