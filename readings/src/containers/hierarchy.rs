//! The hierarchy of control groups that tells containers apart, and how a group is found on it: by its path, as
//! /proc/PID/cgroup has it, by its directory, and by the number of that directory's inode, as the kernel knows it.

use std::fs::File;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

use crate::mounts::{Mount, Mounts};
use crate::names::escaped;

/// Controllers of version 1 that every runtime makes a group for, and what the kernel calls each of them.
const CONTROLLERS: [(&str, &str); 7] = [
    ("memory", "memory"),
    ("pids", "pids"),
    ("devices", "devices"),
    ("freezer", "freezer"),
    ("cpu", "cpu"),
    ("cpuset", "cpuset"),
    ("blkio", "io"),
];

/// One hierarchy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hierarchy {
    /// Of version 1, a controller on it; None: version 2.
    controller: Option<(&'static str, &'static str)>,
    /// Where it is mounted, and which group that shows.
    point: PathBuf,
    root: PathBuf,
}

impl Hierarchy {
    /// The one that runtimes put containers on: of version 1 where its controllers are mounted, else of version 2.
    pub fn of_machine(mounts: &Mounts) -> Option<Hierarchy> {
        let old = CONTROLLERS.iter().find_map(|controller| {
            let mount = mounts
                .iter()
                .find(|m| m.kind == "cgroup" && m.has_option(controller.0))?;
            Some(Hierarchy::on(mount, Some(*controller)))
        });
        old.or_else(|| {
            let mount = mounts.iter().find(|m| m.kind == "cgroup2")?;
            Some(Hierarchy::on(mount, None))
        })
    }

    /// The one that a directory lies on; None where that is no control group, or of a hierarchy without a controller.
    pub fn of_directory(mounts: &Mounts, directory: &Path) -> Option<Hierarchy> {
        let mount = mounts.of_path(directory)?;
        match mount.kind.as_str() {
            "cgroup2" => Some(Hierarchy::on(mount, None)),
            "cgroup" => {
                let mut known = CONTROLLERS.iter();
                let controller = known.find(|controller| mount.has_option(controller.0))?;
                Some(Hierarchy::on(mount, Some(*controller)))
            }
            _ => None,
        }
    }

    fn on(mount: &Mount, controller: Option<(&'static str, &'static str)>) -> Hierarchy {
        Hierarchy {
            controller,
            point: mount.point.clone(),
            root: mount.root.clone(),
        }
    }

    /// Where it is mounted.
    pub(crate) fn point(&self) -> &Path {
        &self.point
    }

    /// What the kernel calls its controller (enum cgroup_subsys_id, without `_cgrp_id`); None: version 2.
    pub fn controller(&self) -> Option<&'static str> {
        self.controller.map(|(_, kernel)| kernel)
    }

    /// The group of a process, of the text of its /proc/PID/cgroup.
    pub fn group_in(&self, text: &[u8]) -> Option<String> {
        text.split(|b| *b == b'\n').find_map(|line| {
            let mut parts = line.splitn(3, |b| *b == b':');
            let (id, names, path) = (parts.next()?, parts.next()?, parts.next()?);
            let ours = match self.controller {
                None => id == b"0",
                Some((name, _)) => names.split(|b| *b == b',').any(|n| n == name.as_bytes()),
            };
            ours.then(|| escaped(path))
        })
    }

    /// The directory of a group; None where it cannot be seen from here.
    pub fn directory(&self, group: &str) -> Option<PathBuf> {
        let below = Path::new(group).strip_prefix(&self.root).ok()?;
        let plain = below
            .components()
            .all(|c| matches!(c, Component::Normal(_)));
        plain.then(|| self.point.join(below))
    }

    /// The group of a directory.
    pub fn group_of(&self, directory: &Path) -> Option<String> {
        let below = directory.strip_prefix(&self.point).ok()?;
        let path = match below.as_os_str().is_empty() {
            true => self.root.clone(),
            false => self.root.join(below),
        };
        Some(escaped(path.as_os_str().as_bytes()))
    }

    /// What the kernel knows a group by: the number of its directory's inode.
    pub fn number(&self, group: &str) -> Option<u64> {
        let directory = self.directory(group)?;
        let found = std::fs::symlink_metadata(directory).ok()?;
        found.is_dir().then(|| found.ino())
    }

    /// The group of this number. Only root may ask (CAP_DAC_READ_SEARCH); one that is gone is not found.
    pub fn group_of_number(&self, number: u64) -> Option<String> {
        /// include/linux/exportfs.h, FILEID_KERNFS: the handle is the node's number
        const KERNFS: i32 = 0xfe;
        #[repr(C)]
        struct Handle {
            bytes: u32,
            kind: i32,
            number: u64,
        }
        let mount = File::open(&self.point).ok()?;
        let mut handle = Handle {
            bytes: 8,
            kind: KERNFS,
            number,
        };
        // SAFETY: the handle says how many bytes follow its two words, and a descriptor that is given is new.
        let found = unsafe {
            let handle = std::ptr::from_mut(&mut handle).cast::<libc::file_handle>();
            match libc::open_by_handle_at(mount.as_raw_fd(), handle, libc::O_PATH | libc::O_CLOEXEC)
            {
                -1 => return None,
                fd => OwnedFd::from_raw_fd(fd),
            }
        };
        let path = std::fs::read_link(format!("/proc/self/fd/{}", found.as_raw_fd())).ok()?;
        self.group_of(&path)
    }

    /// The processes of a group and of all below it.
    pub fn processes(&self, group: &str) -> Vec<i64> {
        let mut found = Vec::new();
        self.walk(group, &mut |_, directory| {
            let text = std::fs::read(directory.join("cgroup.procs")).unwrap_or_default();
            let words = text.split(u8::is_ascii_whitespace);
            found.extend(words.filter_map(crate::proc_file::number));
        });
        found
    }

    /// Every group below and with `group`, outer ones first.
    pub fn walk(&self, group: &str, each: &mut dyn FnMut(&str, &Path)) {
        /// Groups that are looked at, at most.
        const MOST: usize = 100_000;
        let mut left = MOST;
        let mut waiting: Vec<PathBuf> = self.directory(group).into_iter().collect();
        while let (Some(directory), true) = (waiting.pop(), left > 0) {
            left -= 1;
            let Some(group) = self.group_of(&directory) else {
                continue;
            };
            each(&group, &directory);
            let entries = std::fs::read_dir(&directory).into_iter().flatten();
            let below = entries.flatten().filter(|entry| {
                // Of a link this says that it is one.
                entry.file_type().is_ok_and(|kind| kind.is_dir())
            });
            waiting.extend(below.map(|entry| entry.path()));
        }
    }

    /// The highest group that can be seen.
    pub fn top(&self) -> String {
        escaped(self.root.as_os_str().as_bytes())
    }
}
