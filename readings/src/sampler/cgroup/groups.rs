//! The control groups of a process, and where their hierarchies are mounted.

use std::path::{Path, PathBuf};

use crate::error::Result;

use crate::mounts::Mounts;
use crate::proc_file::{ProcFile, Text};
use crate::Roots;

/// Which of the two interfaces a controller is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Version {
    V1,
    V2,
}

/// The group of a process on one hierarchy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Group {
    pub version: Version,
    /// Its controllers (version 1), or those of the mounted tree (version 2: all).
    controllers: Vec<String>,
    /// Path in the hierarchy, as /proc/PID/cgroup has it.
    pub path: String,
    pub directory: PathBuf,
    /// The mount point: the highest group that we see.
    top: PathBuf,
}

/// The groups of a process.
#[derive(Clone, Debug, Default)]
pub(crate) struct Groups(Vec<Group>);

impl Groups {
    /// Of `pid`, or of this process.
    pub fn of(roots: &Roots, mounts: &Mounts, pid: Option<i32>) -> Result<Groups> {
        let who = pid.map_or_else(|| "self".to_owned(), |pid| pid.to_string());
        let mut file = ProcFile::open(roots.proc.join(who).join("cgroup"))?;
        Ok(Groups(groups(file.read()?, mounts)?))
    }

    /// The group on a hierarchy: of version 1 by its controller, of version 2 the only one.
    pub fn find(&self, version: Version, controller: &str) -> Option<&Group> {
        self.0.iter().find(|group| {
            group.version == version
                && (version == Version::V2 || group.controllers.iter().any(|c| c == controller))
        })
    }

    /// The group that has a controller, found by a file that only it makes.
    pub fn with(&self, v1: (&str, &str), v2_file: &str) -> Option<&Group> {
        let old = self
            .find(Version::V1, v1.0)
            .filter(|g| g.directory.join(v1.1).exists());
        let new = || {
            self.find(Version::V2, "")
                .filter(|g| g.up().any(|d| d.join(v2_file).exists()))
        };
        old.or_else(new)
    }
}

/// The lines of /proc/PID/cgroup, `ID:CONTROLLERS:PATH`, each with where its hierarchy is mounted.
pub(super) fn groups(text: Text<'_>, mounts: &Mounts) -> Result<Vec<Group>> {
    let mut found = Vec::new();
    for line in text.lines().filter(|line| !line.bytes.is_empty()) {
        let mut parts = line.bytes.splitn(3, |b| *b == b':');
        let (Some(id), Some(names), Some(path)) = (parts.next(), parts.next(), parts.next()) else {
            return Err(line.error("expected ID:CONTROLLERS:PATH"));
        };
        let names = crate::names::escaped(names);
        let path = crate::names::escaped(path);
        let controllers: Vec<String> = names
            .split(',')
            .filter(|name| !name.is_empty())
            .map(str::to_owned)
            .collect();
        let version = if id == b"0" { Version::V2 } else { Version::V1 };
        let mount = mounts.iter().find(|mount| match version {
            Version::V2 => mount.kind == "cgroup2",
            Version::V1 => {
                mount.kind == "cgroup" && controllers.iter().all(|name| mount.has_option(name))
            }
        });
        let Some(mount) = mount else { continue };
        // The mount may show a part of the hierarchy (a container's); a group outside of it cannot be
        // seen, and the top of what is mounted comes nearest.
        let below = Path::new(&path)
            .strip_prefix(&mount.root)
            .unwrap_or(Path::new(""));
        let plain = below
            .components()
            .all(|c| matches!(c, std::path::Component::Normal(_)));
        let inside = mount.point.join(if plain { below } else { Path::new("") });
        let directory = if inside.is_dir() {
            inside
        } else {
            mount.point.clone()
        };
        let top = mount.point.clone();
        found.push(Group {
            version,
            controllers,
            path,
            directory,
            top,
        });
    }
    Ok(found)
}

impl Group {
    /// Its directory and those above it, up to the mount point.
    pub fn up(&self) -> impl Iterator<Item = &Path> {
        self.directory
            .ancestors()
            .take_while(|directory| directory.starts_with(&self.top))
    }
}

/// Which groups the process is in; a launcher (a shell, a container's runtime) may move it after its start.
pub(super) struct Membership {
    pub roots: Roots,
    pub pid: Option<i32>,
    file: ProcFile,
    text: Vec<u8>,
}

impl Membership {
    pub fn new(roots: &Roots, pid: Option<i32>) -> Result<Membership> {
        let who = pid.map_or_else(|| "self".to_owned(), |pid| pid.to_string());
        let mut file = ProcFile::open(roots.proc.join(who).join("cgroup"))?;
        let text = file.read()?.bytes.to_vec();
        Ok(Membership {
            roots: roots.clone(),
            pid,
            file,
            text,
        })
    }

    /// Whether it is in other groups than when this was made. One that has ended stays where it was.
    pub fn changed(&mut self) -> bool {
        self.file
            .read()
            .is_ok_and(|now| !now.bytes.is_empty() && now.bytes != self.text)
    }
}
