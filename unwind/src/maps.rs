//! The code that a process has mapped, as /proc/PID/maps lists it.

use crate::modules::Served;

/// Bytes of a list that are read: a process can have millions of mappings.
const MOST: u64 = 16 << 20;

/// One mapping that may hold code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mapped {
    pub start: u64,
    pub end: u64,
    /// Of the file.
    pub offset: u64,
    /// Of the file, as the kernel numbers it (major << 20 | minor); 0: memory without one.
    pub dev: u32,
    pub ino: u64,
    /// Empty where it has none; `[vdso]` and the like in brackets.
    pub path: Vec<u8>,
}

/// The mappings that may be executed; None where the process is gone or may not be looked at.
pub fn read(served: &mut dyn Served, tgid: u32) -> Option<Vec<Mapped>> {
    let text = served.process_file(tgid, "maps", 0, MOST)?;
    let mapped: Vec<_> = text
        .split(|&byte| byte == b'\n')
        .filter_map(parse)
        .collect();
    // A process that has ended has none.
    (!mapped.is_empty()).then_some(mapped)
}

/// `START-END PERMISSIONS OFFSET MAJOR:MINOR INODE      PATH` (man 5 proc_pid_maps).
fn parse(line: &[u8]) -> Option<Mapped> {
    let mut words = line.splitn(6, |&byte| byte == b' ');
    let mut word = || words.next();
    let hex = |bytes: &[u8]| u64::from_str_radix(std::str::from_utf8(bytes).ok()?, 16).ok();
    let range = word()?;
    let dash = range.iter().position(|&byte| byte == b'-')?;
    let permissions = word()?;
    let offset = hex(word()?)?;
    let dev = word()?;
    let colon = dev.iter().position(|&byte| byte == b':')?;
    let (major, minor) = (hex(&dev[..colon])?, hex(&dev[colon + 1..])?);
    let ino = std::str::from_utf8(word()?).ok()?.parse().ok()?;
    if permissions.get(2) != Some(&b'x') {
        return None;
    }
    let path = word().unwrap_or_default().trim_ascii_start();
    let path = path.strip_suffix(b" (deleted)").unwrap_or(path);
    Some(Mapped {
        start: hex(&range[..dash])?,
        end: hex(&range[dash + 1..])?,
        offset,
        dev: u32::try_from(major << 20 | minor).ok()?,
        ino,
        path: path.to_vec(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_of_files_of_the_kernel_and_of_no_name_is_told_apart() {
        let line = b"7f00a000-7f00c000 r-xp 00026000 fe:01 4711                       /lib/a b.so (deleted)";
        let mapped = parse(line).unwrap();
        assert_eq!(
            (mapped.start, mapped.end, mapped.offset),
            (0x7f00_a000, 0x7f00_c000, 0x26000)
        );
        assert_eq!((mapped.dev, mapped.ino), (0xfe << 20 | 1, 4711));
        assert_eq!(mapped.path, b"/lib/a b.so");
        let vdso =
            parse(b"7ffe1000-7ffe3000 r-xp 00000000 00:00 0                          [vdso]")
                .unwrap();
        assert_eq!(
            (vdso.dev, vdso.ino, vdso.path.as_slice()),
            (0, 0, &b"[vdso]"[..])
        );
        assert_eq!(
            parse(b"7ffe1000-7ffe3000 rwxp 00000000 00:00 0")
                .unwrap()
                .path,
            b""
        );
        assert_eq!(parse(b"7ffe1000-7ffe3000 r--p 00000000 00:00 0 "), None);
        assert_eq!(parse(b"7ffe1000 r-xp"), None);
        assert_eq!(parse(b""), None);
    }

    #[test]
    fn this_process_has_code_and_no_process_has_none() {
        let own = read(&mut Here, std::process::id()).unwrap();
        assert!(own.iter().any(|mapped| mapped.path == b"[vdso]"));
        assert!(own.iter().any(|mapped| mapped.ino > 0));
        assert_eq!(read(&mut Here, 0), None);
    }

    struct Here;

    impl Served for Here {
        fn is_served(&mut self, _: u32) -> bool {
            false
        }

        fn process_file(&mut self, tgid: u32, name: &str, _: u64, _: u64) -> Option<Vec<u8>> {
            std::fs::read(format!("/proc/{tgid}/{name}")).ok()
        }

        fn read(&mut self, _: &[u8], _: u64, _: u64, _: u64) -> Option<Vec<u8>> {
            None
        }
    }
}
