//! What a recording may take: time, bytes, and room on the disk that others need as well.

use std::path::{Path, PathBuf};
use std::time::Duration;

use nix::sys::statvfs::statvfs;

/// Of the filesystem that a recording lies on, this part is left to others ...
const LEFT_PART: u64 = 20;
/// ... but no more than this.
const LEFT_AT_MOST_BYTES: u64 = 1 << 30;

/// The bounds of one recording; reaching one ends it, never the command.
#[derive(Clone, Debug, Default)]
pub struct Bounds {
    /// Bytes of closed files.
    pub size_bytes: Option<u64>,
    /// From the beginning of the command's time.
    pub time: Option<Duration>,
}

impl Bounds {
    /// Why a recording that began `age` ago and has `written_bytes` in `folder` must end, None while it need not.
    pub fn reached(&self, age: Duration, written_bytes: u64, folder: &Path) -> Option<String> {
        if let Some(time) = self.time.filter(|&time| age >= time) {
            return Some(format!(
                "the recording has reached its {} s (--max-time)",
                time.as_secs_f64()
            ));
        }
        if let Some(most) = self.size_bytes.filter(|&most| written_bytes >= most) {
            return Some(format!(
                "the recording has reached its {} bytes (--max-size)",
                most
            ));
        }
        // What cannot be asked (a filesystem of the user's own that hangs up) is no reason to end.
        let room = statvfs(folder).ok()?;
        let (all, free) = (
            room.blocks() as u64 * room.fragment_size() as u64,
            room.blocks_available() as u64 * room.fragment_size() as u64,
        );
        // A filesystem that tells no size has no bound of its own.
        let left = (all / LEFT_PART).min(LEFT_AT_MOST_BYTES);
        (free < left).then(|| {
            let shown: PathBuf = std::fs::read_link(folder).unwrap_or_else(|_| folder.to_owned());
            too_little(free, left, &shown)
        })
    }
}

fn too_little(free: u64, left: u64, folder: &Path) -> String {
    if free == 0 {
        return format!("the filesystem of {} is full", folder.display());
    }
    format!(
        "only {} are left on the filesystem of {}, and a recording leaves {} to others",
        size(free),
        folder.display(),
        size(left)
    )
}

fn size(bytes: u64) -> String {
    if bytes >> 20 == 0 {
        format!("{} KiB", bytes.div_ceil(1 << 10))
    } else {
        format!("{} MiB", bytes >> 20)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_is_never_called_0() {
        let told = |free, left| too_little(free, left, Path::new("/mnt/r.iowhy"));
        let small = "only 12 KiB are left on the filesystem of /mnt/r.iowhy, and a recording leaves 820 KiB to others";
        assert_eq!(told(12 << 10, (16 << 20) / 20), small);
        assert!(told(3 << 20, 5 << 20).starts_with("only 3 MiB are left"));
        assert_eq!(told(0, 10), "the filesystem of /mnt/r.iowhy is full");
    }

    #[test]
    fn each_bound_ends_a_recording_and_none_does_not() {
        let root = Path::new("/proc"); // tells no size
        let (short, long) = (Duration::from_secs(1), Duration::from_secs(2));
        let none = Bounds::default();
        assert_eq!(none.reached(long, u64::MAX, root), None);
        let time = Bounds {
            time: Some(long),
            ..Bounds::default()
        };
        assert_eq!(time.reached(short, 0, root), None);
        assert!(time.reached(long, 0, root).unwrap().contains("its 2 s"));
        let size = Bounds {
            size_bytes: Some(10),
            ..Bounds::default()
        };
        assert_eq!(size.reached(long, 9, root), None);
        assert!(size.reached(short, 10, root).unwrap().contains("10 bytes"));
    }
}
