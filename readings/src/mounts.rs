//! The mount table, /proc/self/mountinfo (proc_pid_mountinfo(5)).

use std::ffi::OsString;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use crate::error::Result;

use crate::proc_file::{number, Line, ProcFile, Text};
use crate::{dev, Roots};

/// One mount.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mount {
    pub id: i64,
    /// Device number of the filesystem (s_dev); that of a btrfs file by stat(2) is another.
    pub dev: i64,
    /// Directory of the filesystem that is mounted.
    pub root: PathBuf,
    pub point: PathBuf,
    pub options: String,
    pub kind: String,
    /// What is mounted: a device file, or any name.
    pub source: PathBuf,
    pub super_options: String,
}

/// Every mount that this process sees, in the kernel's order.
#[derive(Clone, Debug, Default)]
pub struct Mounts {
    mounts: Vec<Mount>,
    proc: PathBuf,
}

impl Mounts {
    pub fn read(roots: &Roots) -> Result<Mounts> {
        let mut file = ProcFile::open(roots.proc.join("self/mountinfo"))?;
        Ok(Mounts {
            mounts: parse(file.read()?)?,
            proc: roots.proc.clone(),
        })
    }

    pub fn iter(&self) -> impl Iterator<Item = &Mount> {
        self.mounts.iter()
    }

    /// The mount that an absolute path lies on, by its name: the longest mount point, and of several
    /// mounts on it the last.
    pub fn of_path(&self, path: &Path) -> Option<&Mount> {
        let below = self
            .mounts
            .iter()
            .filter(|mount| path.starts_with(&mount.point));
        below.max_by_key(|mount| mount.point.as_os_str().len())
    }

    /// The mount of an open file of this process.
    pub fn of_file(&self, file: &impl AsRawFd) -> Option<&Mount> {
        let fd = file.as_raw_fd().to_string();
        let text = std::fs::read(self.proc.join("self/fdinfo").join(fd)).ok()?;
        let line = text
            .split(|b| *b == b'\n')
            .find_map(|line| line.strip_prefix(b"mnt_id:"))?;
        let id = number(line.trim_ascii())?;
        self.mounts.iter().find(|mount| mount.id == id)
    }
}

pub(crate) fn parse(text: Text<'_>) -> Result<Vec<Mount>> {
    let mut mounts = Vec::new();
    for line in text.lines().filter(|line| !line.bytes.is_empty()) {
        let mount = parse_line(line).ok_or_else(|| line.error("not a line of mountinfo"))?;
        mounts.push(mount);
    }
    Ok(mounts)
}

fn parse_line(line: Line<'_>) -> Option<Mount> {
    let mut words = line.words();
    let id = number(words.next()?)?;
    words.next()?; // parent
    let device = words.next()?;
    let colon = device.iter().position(|b| *b == b':')?;
    let (major, minor) = (number(&device[..colon])?, number(&device[colon + 1..])?);
    let root = path(words.next()?);
    let point = path(words.next()?);
    let options = text(words.next()?);
    words.by_ref().find(|word| *word == b"-")?; // after any number of optional fields
    let kind = text(words.next()?);
    let source = path(words.next()?);
    let super_options = words.next().map(text).unwrap_or_default();
    let dev = dev(
        u64::try_from(major).ok()? & 0xfff,
        u64::try_from(minor).ok()? & 0xf_ffff,
    );
    Some(Mount {
        id,
        dev,
        root,
        point,
        options,
        kind,
        source,
        super_options,
    })
}

pub(crate) fn path(word: &[u8]) -> PathBuf {
    PathBuf::from(OsString::from_vec(unescaped(word)))
}

fn text(word: &[u8]) -> String {
    crate::names::escaped(&unescaped(word))
}

/// The kernel prints blanks, line ends and backslashes of names as \NNN, octal (fs/proc_namespace.c).
fn unescaped(word: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(word.len());
    let mut rest = word;
    while let [first, tail @ ..] = rest {
        if let (b'\\', [a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7', after @ ..]) =
            (first, tail)
        {
            out.push((a - b'0') << 6 | (b - b'0') << 3 | (c - b'0'));
            rest = after;
        } else {
            out.push(*first);
            rest = tail;
        }
    }
    out
}

impl Mount {
    /// A process of this machine serves it.
    pub fn is_fuse(&self) -> bool {
        self.kind == "fuse" || self.kind == "fuseblk" || self.kind.starts_with("fuse.")
    }

    /// Whether its options hold the word `option`, mount or super options.
    pub fn has_option(&self, option: &str) -> bool {
        let both = self.options.split(',').chain(self.super_options.split(','));
        both.into_iter().any(|word| word == option)
    }

    /// The source when it is a device file by its name.
    pub fn device_file(&self) -> Option<&Path> {
        self.source
            .as_os_str()
            .as_bytes()
            .starts_with(b"/dev/")
            .then_some(self.source.as_path())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const TABLE: &str = "\
27 1 254:0 / / rw,relatime shared:1 master:2 - ext4 /dev/vda rw,discard
40 27 0:42 /@home /mnt/my\\040data\\134x rw,noatime - btrfs /dev/loop1 rw,compress=zstd:3
41 27 7:0 / /mnt rw - xfs /dev/loop0 rw
42 27 7:2 / /mnt rw - xfs /dev/loop2 rw
43 27 0:9 / /proc rw - proc proc
";

    fn mounts(text: &str) -> Result<Vec<Mount>> {
        parse(Text {
            path: Path::new("mountinfo"),
            bytes: text.as_bytes(),
        })
    }

    #[test]
    fn names_and_options() {
        let table = Mounts {
            mounts: mounts(TABLE).unwrap(),
            proc: "/proc".into(),
        };
        let data = table.of_path(Path::new("/mnt/my data\\x/file")).unwrap();
        assert_eq!((data.id, data.dev, data.kind.as_str()), (40, 42, "btrfs"));
        assert_eq!(data.root, Path::new("/@home"));
        assert!(data.has_option("noatime") && data.has_option("compress=zstd:3"));
        assert!(!data.has_option("compress"));
        // A name that only begins like the mount point lies elsewhere; of two mounts the later hides the other.
        assert_eq!(table.of_path(Path::new("/mnt/my data")).unwrap().id, 42);
        assert_eq!(table.of_path(Path::new("/etc/x")).unwrap().dev, 254 << 20);
        let error = mounts("27 1 254:0 / / rw\n").unwrap_err();
        assert_eq!(error.to_string(), "mountinfo:1: not a line of mountinfo");
    }

    proptest! {
        #[test]
        fn any_bytes(bytes: Vec<u8>) {
            let _ = parse(Text { path: Path::new("m"), bytes: &bytes });
            unescaped(&bytes);
        }
    }
}
