//! The directory of a recording while it is made: private, held open, and handed over in the end.
//!
//! A recorder that runs as root writes where its user, or the command itself, may rename directories and put
//! links in their places. So nothing below the recording is reached by its path: all goes through the open
//! directory, which belongs to root alone until the recording has ended.

use std::fs::{DirBuilder, File, OpenOptions, Permissions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{
    fchown, lchown, DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt,
};
use std::path::{Path, PathBuf};

use crate::error::{Error, Place, Result};

const PRIVATE_DIRECTORY: u32 = 0o700;
const PRIVATE_FILE: u32 = 0o600;

/// Whose a recording shall be that root makes for somebody.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Owner {
    pub uid: u32,
    pub gid: u32,
    /// The other groups that they are in.
    pub groups: Vec<u32>,
}

impl Owner {
    /// Does `work` with this user's rights on files (setfsuid(2)): what they may not write, it cannot.
    pub fn acting<T>(owner: Option<&Owner>, work: impl FnOnce() -> T) -> T {
        struct Back(u32, u32, Vec<u32>);
        impl Drop for Back {
            fn drop(&mut self) {
                // SAFETY: they take no memory, and change the rights of this thread alone.
                unsafe {
                    libc::setfsuid(self.0);
                    libc::setfsgid(self.1);
                }
                set_groups(&self.2);
            }
        }
        let _back = owner.map(|owner| {
            let groups = groups();
            set_groups(&owner.groups);
            // SAFETY: as above. The group first: without root's rights it could not be changed any more.
            let (gid, uid) = unsafe { (libc::setfsgid(owner.gid), libc::setfsuid(owner.uid)) };
            Back(uid as u32, gid as u32, groups)
        });
        work()
    }
}

/// The groups that this thread is in beside its own one.
fn groups() -> Vec<u32> {
    // SAFETY: without room only their number is asked for; then there is room for so many.
    unsafe {
        let number = libc::getgroups(0, std::ptr::null_mut()).max(0);
        let mut groups = vec![0; number as usize];
        let got = libc::getgroups(number, groups.as_mut_ptr()).max(0);
        groups.truncate(got as usize);
        groups
    }
}

/// Puts this thread alone into these groups; the libc's function does so with all threads of the process. Where that
/// is not permitted (setgroups of user_namespaces(7)) it stays in its own.
fn set_groups(groups: &[u32]) {
    // SAFETY: the kernel reads as many numbers as there are.
    unsafe { libc::syscall(libc::SYS_setgroups, groups.len(), groups.as_ptr()) };
}

#[derive(Debug)]
pub(crate) struct Folder {
    /// Its name for messages.
    shown: PathBuf,
    /// The way to it that nobody can change: a link of the kernel's to the open directory.
    inside: PathBuf,
    held: File,
    owner: Option<Owner>,
}

impl Folder {
    /// Makes the directory, or takes an empty one that belongs to the owner.
    pub fn make(dir: &Path, owner: Option<Owner>) -> Result<Folder> {
        let taken = |problem| Error::Place {
            path: dir.to_owned(),
            problem,
        };
        let held = Owner::acting(owner.as_ref(), || -> Result<File> {
            let made = DirBuilder::new()
                .recursive(true)
                .mode(PRIVATE_DIRECTORY)
                .create(dir);
            made.map_err(|error| match error.kind() {
                io::ErrorKind::AlreadyExists => taken(Place::NotADirectory),
                _ if error.raw_os_error() == Some(libc::ENOTDIR) => taken(Place::BelowAFile),
                _ => Error::Make {
                    path: dir.to_owned(),
                    error,
                },
            })?;
            open_directory(dir).map_err(|error| taken(Place::NotOpened(error)))
        })?;
        let inside = way_to(&held);
        let mut folder = Folder {
            shown: dir.to_owned(),
            inside,
            held,
            owner: None,
        };
        folder.must_be_empty()?;
        let not_made = |error| Error::Make {
            path: dir.to_owned(),
            error,
        };
        if let Some(owner) = &owner {
            let found = folder.held.metadata().map_err(not_made)?.uid();
            if found != owner.uid {
                return Err(taken(Place::AnotherUsers));
            }
            fchown(&folder.held, Some(0), Some(0)).map_err(not_made)?;
        }
        folder
            .held
            .set_permissions(Permissions::from_mode(PRIVATE_DIRECTORY))
            .map_err(|error| taken(Place::NotPrivate(error)))?;
        // From here on nobody else can put anything into it.
        folder.must_be_empty()?;
        folder.owner = owner;
        Ok(folder)
    }

    fn must_be_empty(&self) -> Result<()> {
        let mut entries = std::fs::read_dir(&self.inside).map_err(|error| Error::Read {
            path: self.shown.clone(),
            error,
        })?;
        match entries.next() {
            None => Ok(()),
            Some(_) => Err(Error::Place {
                path: self.shown.clone(),
                problem: Place::NotEmpty,
            }),
        }
    }

    /// The path by which to reach it.
    pub fn inside(&self) -> &Path {
        &self.inside
    }

    /// The path by which its user knows it, for messages.
    pub fn shown(&self) -> &Path {
        &self.shown
    }

    /// A folder in it, which is made unless it is there: open as well, and the way to it while it is. No link
    /// is followed to it, whoever serves the filesystem.
    pub fn below(&self, name: &str) -> io::Result<(File, PathBuf)> {
        let path = self.inside.join(name);
        DirBuilder::new()
            .recursive(true)
            .mode(PRIVATE_DIRECTORY)
            .create(&path)?;
        let held = open_directory(&path)?;
        held.set_permissions(Permissions::from_mode(PRIVATE_DIRECTORY))?;
        let way = way_to(&held);
        Ok((held, way))
    }

    /// Gives all of it to its owner; the way to it last, so that what is given already cannot be reached yet.
    fn give(&self, owner: &Owner) -> io::Result<()> {
        let (uid, gid) = (Some(owner.uid), Some(owner.gid));
        for entry in std::fs::read_dir(&self.inside)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                let table = open_directory(&entry.path())?;
                for file in std::fs::read_dir(way_to(&table))? {
                    lchown(file?.path(), uid, gid)?;
                }
                fchown(&table, uid, gid)?;
            } else {
                lchown(entry.path(), uid, gid)?;
            }
        }
        fchown(&self.held, uid, gid)
    }
}

/// Opens a directory, and not what a link in its place leads to.
fn open_directory(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_DIRECTORY | libc::O_NOFOLLOW)
        .open(path)
}

/// The path of an open directory that nobody can change: a link of the kernel's.
fn way_to(held: &File) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", held.as_raw_fd()))
}

impl Drop for Folder {
    fn drop(&mut self) {
        if let Some(owner) = &self.owner {
            // What cannot be given stays root's, complete and readable through sudo.
            let _ = self.give(owner);
        }
    }
}

/// A new file that nobody else can read, whatever the umask says.
pub(crate) fn private_file(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(PRIVATE_FILE)
        .custom_flags(libc::O_NOFOLLOW)
        .open(path)?;
    file.set_permissions(Permissions::from_mode(PRIVATE_FILE))?;
    Ok(file)
}
