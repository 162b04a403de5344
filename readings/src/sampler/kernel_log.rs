//! Warnings and errors that the kernel logs, as /dev/kmsg gives them, a record for each read
//! (Documentation/ABI/testing/dev-kmsg).

use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Read, Seek, SeekFrom};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use iowhy_store::rows::KernelLog as Row;

use crate::error::{Error, Result};
use crate::{dev, Roots};

/// No record is longer (CONSOLE_EXT_LOG_MAX of kernel/printk/printk.c).
const MOST_BYTES: usize = 8192;
/// KERN_WARNING and what is graver; the kernel's own are of facility 0, those of programs of another.
const GRAVEST_SHOWN: u32 = 4;
/// Kept of one round: what floods the log says the same again and again.
const MOST_ROWS: i64 = 100;
const MOST_TEXT: usize = 300;

/// What was logged since it was opened.
#[derive(Debug)]
pub(crate) struct KernelLog {
    file: File,
    sys: PathBuf,
    path: PathBuf,
    buffer: Vec<u8>,
}

impl KernelLog {
    pub fn new(roots: &Roots) -> Result<KernelLog> {
        let path = roots.dev.join("kmsg");
        let failed = |error| Error::Read {
            path: path.clone(),
            error,
        };
        let mut options = OpenOptions::new();
        options.read(true).custom_flags(libc::O_NONBLOCK);
        let mut file = options.open(&path).map_err(failed)?;
        file.seek(SeekFrom::End(0)).map_err(failed)?;
        Ok(KernelLog {
            file,
            sys: roots.sys.clone(),
            path: path.clone(),
            buffer: vec![0; MOST_BYTES],
        })
    }

    pub fn sample(&mut self, ts_ns: i64, mut out: impl FnMut(Row)) -> Result<()> {
        let (mut kept, mut left_out) = (0, 0);
        loop {
            match self.file.read(&mut self.buffer) {
                Ok(0) => break,
                Ok(bytes) => {
                    let Some((level, text)) = parse(&self.buffer[..bytes]) else {
                        continue;
                    };
                    if kept == MOST_ROWS {
                        left_out += 1;
                        continue;
                    }
                    kept += 1;
                    out(Row {
                        ts_ns,
                        level: i64::from(level),
                        dev: device(&self.sys, text),
                        text: text.to_owned().into(),
                        left_out: 0,
                    });
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                // Older records were overwritten; the next read goes on behind them.
                Err(error) if error.raw_os_error() == Some(libc::EPIPE) => left_out += 1,
                Err(error) => {
                    return Err(Error::Read {
                        path: self.path.clone(),
                        error,
                    })
                }
            }
        }
        if left_out > 0 {
            out(Row {
                ts_ns,
                left_out,
                ..Row::default()
            });
        }
        Ok(())
    }
}

/// Level and text of a record "priority,sequence,µs,flags;text\n KEY=value", if it is the kernel's and grave enough.
pub(crate) fn parse(record: &[u8]) -> Option<(u32, &str)> {
    let record = std::str::from_utf8(record).ok()?;
    let (head, text) = record.split_once(';')?;
    let priority: u32 = head.split(',').next()?.parse().ok()?;
    let text = text.lines().next()?;
    let end = text
        .char_indices()
        .nth(MOST_TEXT)
        .map_or(text.len(), |(at, _)| at);
    (priority <= GRAVEST_SHOWN).then(|| (priority, &text[..end]))
}

/// The disk that a text names: by its own name or by what it hangs on (ata1, nvme0, 0:0:0:0), which its path in /sys has.
fn device(sys: &Path, text: &str) -> Option<i64> {
    let apart = |c: char| !(c.is_ascii_alphanumeric() || c == ':' || c == '-');
    // "ata1.00: failed", "sd 0:0:0:0: [sda]".
    let words: Vec<&str> = text
        .split(apart)
        .map(|word| word.trim_end_matches(':'))
        .collect();
    let found = |path: &Path| {
        path.iter()
            .any(|part| words.iter().any(|word| part == *word))
    };
    let mut disks: Vec<PathBuf> = fs::read_dir(sys.join("block"))
        .ok()?
        .flatten()
        .map(|one| one.path())
        .collect();
    disks.sort();
    let named = |disk: &&PathBuf| {
        words
            .iter()
            .any(|word| disk.file_name().is_some_and(|name| name == *word))
    };
    let hangs = |disk: &&PathBuf| fs::read_link(disk).is_ok_and(|path| found(&path));
    let disk = disks
        .iter()
        .find(named)
        .or_else(|| disks.iter().find(hangs))?;
    let number = fs::read_to_string(disk.join("dev")).ok()?;
    let (major, minor) = number.trim().split_once(':')?;
    Some(dev(major.parse().ok()?, minor.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn records_of_the_kernel_that_are_grave() {
        let error = b"3,900,12345,-;I/O error, dev sda, sector 5 op 0x0:(READ)\n SUBSYSTEM=scsi\n";
        assert_eq!(
            parse(error),
            Some((3, "I/O error, dev sda, sector 5 op 0x0:(READ)"))
        );
        assert_eq!(parse(b"6,901,1,-;ata1: link up"), None);
        assert_eq!(parse(b"11,902,1,-;a program's own error"), None);
        for wrong in [&b""[..], b";", b"3,1,1,-", b"x,1;a", b"3;\xff"] {
            assert_eq!(parse(wrong), None);
        }
        let long = format!("3,1,1,-;{}", "ä".repeat(9000));
        assert_eq!(parse(long.as_bytes()).unwrap().1.chars().count(), MOST_TEXT);
    }

    #[test]
    fn the_disk_that_a_text_names() {
        let folder = tempfile::tempdir().unwrap();
        let sys = folder.path();
        fs::create_dir(sys.join("block")).unwrap();
        for (name, hangs_on, number) in [
            ("sda", "pci0/ata1/host0/target0:0:0/0:0:0:0", "8:0"),
            ("sdb", "pci0/ata2/host1/target1:0:0/1:0:0:0", "8:16"),
            ("nvme0n1", "pci1/nvme/nvme0", "259:1"),
        ] {
            let place = sys.join("devices").join(hangs_on).join("block").join(name);
            fs::create_dir_all(&place).unwrap();
            fs::write(place.join("dev"), format!("{number}\n")).unwrap();
            symlink(place, sys.join("block").join(name)).unwrap();
        }
        for (text, found) in [
            ("I/O error, dev sdb, sector 5", Some(dev(8, 16))),
            (
                "ata1.00: failed command: READ FPDMA QUEUED",
                Some(dev(8, 0)),
            ),
            (
                "sd 1:0:0:0: rejecting I/O to offline device",
                Some(dev(8, 16)),
            ),
            (
                "nvme nvme0: I/O 5 QID 2 timeout, aborting",
                Some(dev(259, 1)),
            ),
            ("usb 1-1: device descriptor read/64, error -71", None),
        ] {
            assert_eq!(device(sys, text), found, "{text}");
        }
    }
}
