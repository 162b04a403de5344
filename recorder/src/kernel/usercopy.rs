//! Kernels in which a program that reads a user's memory in an interrupt may wait for ever for a lock that its CPU has.
//!
//! From 5.18 on mm/usercopy.c looks up, for each destination in memory of vmalloc, the area that it is in, under a lock
//! (0aef499f3172); `copy_from_user_nofault`, by which programs read, does so until d319f344561d (6.4; 6.1.37 and 6.3.10
//! of the stable kernels). User stacks are read at the ticks of a clock. Seen to stop a CPU for good on 5.19.
//! What a function does shows in no type, so that it goes by the version.

use std::fs;

/// Releases by their first two numbers, and the third from which they are mended, if ever.
const AFFECTED: [((u32, u32), Option<u32>); 6] = [
    ((5, 18), None),
    ((5, 19), None),
    ((6, 0), None),
    ((6, 1), Some(37)),
    ((6, 2), None),
    ((6, 3), Some(10)),
];

/// What the releases of RHEL 9's kernels have: they are 5.14 with parts of later ones, so that their version does not tell.
const OF_LATER_PARTS: &str = ".el9";

/// Why user stacks are not taken in the kernel that runs here; None: they may be.
pub(super) fn why_no_stacks() -> Option<String> {
    let read = |file| fs::read_to_string(file).unwrap_or_default();
    let release = read("/proc/sys/kernel/osrelease");
    // A distribution's release keeps its third number; what it was made of stands in one of the others (Debian, Ubuntu).
    let made_of = read("/proc/version") + " " + &read("/proc/version_signature");
    why_not_in(&release, &made_of)
}

fn why_not_in(release: &str, made_of: &str) -> Option<String> {
    if release.contains(OF_LATER_PARTS) {
        return Some(format!(
            "whether Linux {} may stop a CPU for good where a user's stack is read in an interrupt is not known: it has parts of later kernels, \
             of which some do",
            release.trim()
        ));
    }
    can_deadlock(release, made_of).then(|| {
        format!(
            "Linux {} may stop a CPU for good where a user's stack is read in an interrupt (mended in 6.1.37, 6.3.10 and 6.4)",
            release.trim()
        )
    })
}

fn can_deadlock(release: &str, made_of: &str) -> bool {
    let Some((first, second, third)) = version(release) else {
        return false;
    };
    let Some((_, mended)) = AFFECTED.iter().find(|(of, _)| *of == (first, second)) else {
        return false;
    };
    let newest = made_of
        .split(|c: char| c.is_whitespace() || c == '(')
        .filter_map(version)
        .filter(|(a, b, _)| (*a, *b) == (first, second))
        .map(|(_, _, third)| third)
        .fold(third, u32::max);
    mended.is_none_or(|mended| newest < mended)
}

/// The first three numbers of a release, 0 for a third that is not there.
fn version(release: &str) -> Option<(u32, u32, u32)> {
    let numbers = release
        .split(|c: char| !c.is_ascii_digit() && c != '.')
        .next()?;
    let mut parts = numbers.split('.').map(|part| part.parse().ok());
    let (first, second) = (parts.next()??, parts.next()??);
    Some((first, second, parts.next().flatten().unwrap_or(0)))
}

#[cfg(test)]
mod tests {
    use super::{can_deadlock, why_not_in};

    #[test]
    fn kernels_from_5_18_to_6_3_but_mended_ones_can_deadlock() {
        for (release, made_of) in [
            ("5.18.0", ""),
            ("5.19.0-50-generic\n", "Ubuntu 5.19.0-50.50-generic 5.19.17"),
            ("6.1.0", ""),
            (
                "6.1.0-9-cloud-amd64",
                "Linux version 6.1.0-9-cloud-amd64 (debian-kernel@lists.debian.org) #1 SMP PREEMPT_DYNAMIC Debian 6.1.27-1 (2023-05-08)",
            ),
            ("6.2.16", "gcc (Debian 12.2.0-14) 12.2.0"),
            ("6.3.9-arch1-1", ""),
        ] {
            assert!(can_deadlock(release, made_of), "{release} {made_of}");
        }
        for (release, made_of) in [
            ("5.10.0-32-cloud-amd64", ""),
            ("5.15.0-204-generic", "Ubuntu 5.15.0-204.1-generic 5.15.180"),
            ("5.14.0-1059-oem", "Ubuntu 5.14.0-1059.67-oem 5.14.21"),
            (
                "6.1.0-50-cloud-amd64",
                "Linux version 6.1.0-50-cloud-amd64 (debian-kernel@lists.debian.org) #1 SMP PREEMPT_DYNAMIC Debian 6.1.176-1 (2026-07-01)",
            ),
            ("6.1.0-1036-oem", "Ubuntu 6.1.0-1036.36-oem 6.1.90"),
            ("6.1.37", ""),
            ("6.3.10", ""),
            ("6.4.0", ""),
            ("6.18.15+deb13-cloud-amd64", ""),
            ("7.3", ""),
            ("", ""),
        ] {
            assert!(!can_deadlock(release, made_of), "{release} {made_of}");
        }
    }

    #[test]
    fn what_is_not_known_is_not_tried() {
        let why = why_not_in("5.14.0-503.el9.x86_64\n", "").unwrap();
        assert!(
            why.starts_with("whether Linux 5.14.0-503.el9.x86_64 may"),
            "{why}"
        );
        assert_eq!(why_not_in("5.10.0-32-cloud-amd64\n", ""), None);
        assert!(why_not_in("5.19.0\n", "")
            .unwrap()
            .contains("mended in 6.1.37"));
    }
}
