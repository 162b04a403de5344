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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Owner {
    pub uid: u32,
    pub gid: u32,
}

impl Owner {
    /// Does `work` with this user's rights on files (setfsuid(2)): what they may not write, it cannot.
    pub fn acting<T>(owner: Option<Owner>, work: impl FnOnce() -> T) -> T {
        struct Back(u32, u32);
        impl Drop for Back {
            fn drop(&mut self) {
                // SAFETY: they take no memory, and change the rights of this thread alone.
                unsafe {
                    libc::setfsuid(self.0);
                    libc::setfsgid(self.1);
                }
            }
        }
        let _back = owner.map(|owner| {
            // SAFETY: as above. The group first: without root's rights it could not be changed any more.
            let (gid, uid) = unsafe { (libc::setfsgid(owner.gid), libc::setfsuid(owner.uid)) };
            Back(uid as u32, gid as u32)
        });
        work()
    }
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
        let held = Owner::acting(owner, || -> Result<File> {
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
            let flags = libc::O_DIRECTORY | libc::O_NOFOLLOW;
            let opened = OpenOptions::new().read(true).custom_flags(flags).open(dir);
            opened.map_err(|error| taken(Place::NotOpened(error)))
        })?;
        let inside = PathBuf::from(format!("/proc/self/fd/{}", held.as_raw_fd()));
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
        if let Some(owner) = owner {
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

    /// Makes a folder in it, unless it is there.
    pub fn add(&self, name: &str) -> io::Result<()> {
        let path = self.inside.join(name);
        DirBuilder::new()
            .recursive(true)
            .mode(PRIVATE_DIRECTORY)
            .create(&path)?;
        std::fs::set_permissions(&path, Permissions::from_mode(PRIVATE_DIRECTORY))
    }

    /// Gives all of it to its owner; the way to it last, so that what is given already cannot be reached yet.
    fn give(&self, owner: Owner) -> io::Result<()> {
        let (uid, gid) = (Some(owner.uid), Some(owner.gid));
        for entry in std::fs::read_dir(&self.inside)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                for file in std::fs::read_dir(entry.path())? {
                    lchown(file?.path(), uid, gid)?;
                }
            }
            lchown(entry.path(), uid, gid)?;
        }
        fchown(&self.held, uid, gid)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if let Some(owner) = self.owner {
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
