//! What iowhy reads from /proc, /sys and by FIEMAP. Everything takes its [`Roots`], so that tests read trees
//! of their own, and gives rows of the schema ([`iowhy_store::rows`]). Errors name the file and the line.

pub mod accounts;
mod aside;
pub mod catalogues;
pub mod containers;
pub mod devices;
mod error;
pub mod fiemap;
pub mod filesystems;
pub mod host;
pub mod layout;
mod log_disks;
pub mod messages;
pub mod mounts;
pub mod names;
pub mod peers;
mod proc_file;
pub mod reach;
mod reading;
pub mod renamed;
pub mod running;
pub mod sampler;
pub mod served;
mod several_disks;
pub mod threads;
pub mod titles;
pub mod watcher;

use std::path::PathBuf;

pub use error::{Error, Result};
pub use reading::Reading;

/// Where the kernel's two trees are mounted.
#[derive(Clone, Debug)]
pub struct Roots {
    pub proc: PathBuf,
    pub sys: PathBuf,
    pub dev: PathBuf,
}

impl Default for Roots {
    fn default() -> Roots {
        Roots {
            proc: "/proc".into(),
            sys: "/sys".into(),
            dev: "/dev".into(),
        }
    }
}

/// A device number as the recording holds it: major << 20 | minor (include/linux/kdev_t.h).
pub fn dev(major: u64, minor: u64) -> i64 {
    ((major << 20) | minor) as i64
}

/// The same from the number that stat(2) gives.
pub fn dev_of_stat(st_dev: u64) -> i64 {
    dev(
        u64::from(libc::major(st_dev)),
        u64::from(libc::minor(st_dev)),
    )
}
