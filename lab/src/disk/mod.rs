//! An emulated disk: the timing of a real one over memory or a sparse file, as a file to put a loop device on.
//!
//! The model ([`rotating`], [`flash`]) says when a request is done and knows no clock; [`paced`] plays it on the
//! real one; [`filesystem`] brings requests in through FUSE. Behind `losetup --direct-io=on`
//! requests arrive at the size at which the block layer sent them, and a flush of the block device arrives as
//! an fsync.

pub mod backing;
pub mod bucket;
pub mod cache;
pub mod faults;
pub mod filesystem;
pub mod flash;
pub mod geometry;
pub mod model;
pub mod paced;
pub mod profile;
pub mod rotating;

use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{bail, Context, Result};
use clap::Parser;
use fuser::MountOption;
use nix::mount::{umount2, MntFlags};
use nix::sys::signal::{SigSet, Signal};

use backing::{Backing, Place};
use faults::Faults;
use filesystem::DiskFilesystem;
use paced::PacedDisk;
use profile::{Changes, Profile};

/// Serve one emulated disk until SIGTERM or SIGINT.
///
/// DIR gets three files: `disk`, to be put behind a loop device (losetup --direct-io=on DIR/disk),
/// `statistics` (what was asked and done so far, as JSON) and `control` (write "pace off" to prepare at full
/// speed, "pace on" to measure, "stall 2" for two seconds without an answer). One JSON line on standard output says that it is ready.
#[derive(Parser, Debug)]
#[command(name = "iowhy-disk", version)]
pub struct Options {
    /// Empty directory to mount on.
    #[arg(long, value_name = "DIR")]
    mount: PathBuf,
    /// Capacity.
    #[arg(long, default_value = "2G", value_parser = crate::size::bytes)]
    size: u64,
    /// Kind of disk.
    #[arg(long, value_enum, default_value = "hdd")]
    profile: Profile,
    /// Where its bytes are: `memory`, or a file that is made sparse.
    #[arg(long, value_name = "memory|FILE", default_value = "memory")]
    backing: Place,
    /// Answer at once until "pace on" is written to `control`.
    #[arg(long)]
    unpaced: bool,
    #[command(flatten)]
    changes: Changes,
    #[command(flatten)]
    faults: Faults,
}

/// Serves the disk that the options describe; returns when a signal ended it and it is unmounted.
///
/// # Errors
/// The backing or the mount is refused.
pub fn serve(options: &Options) -> Result<()> {
    if options.size == 0 || options.size % 4096 != 0 {
        bail!("--size must be a multiple of 4096 above 0");
    }
    let ends = SigSet::from_iter([Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP]);
    // Blocked before any thread exists, so that only `wait` below receives them.
    ends.thread_block()?;
    behave_as_a_device();
    let backing = match &options.backing {
        Place::Memory => Backing::memory(options.size).context("--backing memory")?,
        Place::File(path) => Backing::file(path, options.size)
            .with_context(|| format!("--backing {}", path.display()))?,
    };
    let device = options.profile.device(options.size, &options.changes);
    let device = options.faults.of(device);
    let disk = Arc::new(PacedDisk::new(device, !options.unpaced));
    let filesystem = DiskFilesystem::new(Arc::clone(&disk), Arc::new(backing), options.size);
    let mut config = fuser::Config::default();
    config.mount_options = vec![MountOption::FSName("iowhy-disk".into()), MountOption::NoDev];
    let session = fuser::Session::new(filesystem, &options.mount, &config)
        .with_context(|| {
            format!(
                "cannot mount on {}: it takes root and /dev/fuse",
                options.mount.display()
            )
        })?
        .spawn()?;
    let head = std::thread::Builder::new()
        .name("disk-head".into())
        .spawn({
            let disk = Arc::clone(&disk);
            move || disk.run()
        })?;
    let ready = serde_json::json!({
        "ready": true,
        "disk": options.mount.join("disk"),
        "size_bytes": options.size,
        "pid": std::process::id(),
    });
    println!("{ready}");
    std::io::stdout().flush()?;
    ends.wait()?;
    eprintln!("{}", serde_json::to_string(&disk.statistics())?);
    disk.stop();
    let _ = head.join();
    // Lazily, since a loop device may still hold the file; its requests then fail when this process
    // is gone, as those of a pulled disk do.
    umount2(&options.mount, MntFlags::MNT_DETACH).or_else(|error| match error {
        // Somebody else unmounted it.
        nix::errno::Errno::EINVAL => Ok(()),
        error => Err(error),
    })?;
    // Joining the session would wait for that loop device.
    std::mem::forget(session);
    Ok(())
}

/// A disk does not compete with the programs that use it: neither for a processor nor, when memory is short, for the
/// pages that only it can clean (PR_SET_IO_FLUSHER, prctl(2)). Both need rights and are not vital.
fn behave_as_a_device() {
    /// include/uapi/linux/prctl.h; the libc crate does not have it.
    const PR_SET_IO_FLUSHER: libc::c_int = 57;
    // SAFETY: both calls take plain integers.
    unsafe {
        libc::setpriority(libc::PRIO_PROCESS, 0, -20);
        libc::prctl(PR_SET_IO_FLUSHER, 1, 0, 0, 0);
    }
}

/// The program `iowhy-disk`.
pub fn main() -> std::process::ExitCode {
    match serve(&Options::parse()) {
        Ok(()) => std::process::ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("iowhy-disk: {error:#}");
            std::process::ExitCode::from(2)
        }
    }
}
