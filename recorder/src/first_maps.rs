//! How files lay before the command changed them: mapped by a thread of its own, as they are opened.

use std::collections::HashMap;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;
use std::sync::mpsc::{channel, sync_channel, Receiver, SyncSender};
use std::time::Duration;

use iowhy_readings::layout::{Bounds, Phase, Taken};
use iowhy_readings::reach::{Reach, Silent};
use iowhy_readings::Roots;
use iowhy_store::rows;

use crate::disked::Disked;
use crate::event::File;
use crate::files::Key;

/// Files that wait for their first map, and extents of first maps that are kept.
const WAITING: usize = 1024;
const FIRST_EXTENTS: usize = 300_000;
/// How long the maps that are still being made are waited for at the end.
const LAST_MAPS: Duration = Duration::from_secs(1);

/// What stat(2) tells of a file where it was met: on an overlay that is not the file that its pages are of.
#[derive(Clone, Copy)]
pub struct Shown {
    pub dev: u32,
    pub inode: u64,
    pub overlay: bool,
}

impl Shown {
    pub fn of(file: &File) -> Shown {
        match file.overlay_ino {
            0 => Shown {
                dev: file.dev,
                inode: file.ino,
                overlay: false,
            },
            inode => Shown {
                dev: file.overlay_dev,
                inode,
                overlay: true,
            },
        }
    }

    pub fn is_file_of(self, taken: &Taken) -> bool {
        (taken.dev, taken.ino) == (self.dev.into(), self.inode as i64)
    }
}

/// Maps from before, and the mounts that did not answer.
#[derive(Default)]
pub struct Before {
    pub maps: HashMap<Key, Vec<rows::Extents>>,
    pub silent: Vec<Silent>,
}

/// The thread that has files mapped as the command opens them, before it changes them.
pub struct FirstMaps {
    ask: SyncSender<(Key, Shown, PathBuf)>,
    answer: Receiver<Before>,
}

impl FirstMaps {
    /// None when no thread can be had: there are no maps from before then.
    pub fn start() -> Option<FirstMaps> {
        let (ask, asked) = sync_channel(WAITING);
        let (answers, answer) = channel();
        let work = move || {
            let _ = answers.send(first_maps(&asked));
        };
        std::thread::Builder::new()
            .name("iowhy-maps".into())
            .spawn(work)
            .ok()?;
        Some(FirstMaps { ask, answer })
    }

    /// Has the file mapped, unless too many wait for that already.
    pub fn ask(&self, key: Key, shown: Shown, path: &[u8]) {
        let path = PathBuf::from(OsString::from_vec(path.to_vec()));
        let _ = self.ask.try_send((key, shown, path));
    }

    pub fn end(self) -> Before {
        drop(self.ask);
        self.answer.recv_timeout(LAST_MAPS).unwrap_or_default()
    }
}

fn first_maps(asked: &Receiver<(Key, Shown, PathBuf)>) -> Before {
    let mut maps = HashMap::new();
    let mut reach = Reach::new(&Roots::default());
    let mut disks = Disked::default();
    let mut kept = 0;
    for (key, shown, path) in asked {
        if kept >= FIRST_EXTENTS || !disks.has(key.0) {
            continue;
        }
        // Bounds of its own for each file, as the files come over the whole length of the recording.
        let bounds = Bounds {
            extents_per_file: 50_000,
            total_time: Duration::from_millis(500),
            ..Bounds::default()
        };
        let mut extents = Vec::new();
        let done = reach.layout(&path, Phase::Before, bounds, &mut |row| extents.push(row));
        if done.is_ok_and(|taken| shown.is_file_of(&taken)) {
            kept += extents.len();
            maps.insert(key, extents);
        }
    }
    Before {
        maps,
        silent: reach.silent().to_vec(),
    }
}
