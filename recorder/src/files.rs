//! Names, weights and layout of the files of a recording.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;
use std::time::Instant;

use iowhy_readings::layout::{Bounds, Phase};
use iowhy_readings::names;
use iowhy_readings::reach::{AtEnd, Met, Reach};
use iowhy_store::manifest::Sensor;
use iowhy_store::Result;
use iowhy_store::{rows, Recording};

use crate::disked::Disked;
use crate::event::{self, File, FileId};
use crate::first_maps::{FirstMaps, Shown};
use crate::identity::{anonymous_dev, Identities};
use crate::session::libraries::is_library;

/// Files that are remembered by name.
const MOST: usize = 262_144;
/// Bytes of their names together (a path takes up to 4,096).
const MOST_NAMED: usize = 96 << 20;
/// A name is written after this time though its file may still change: a recorder that is killed then has
/// not lost it.
const TOLD_AFTER_NS: u64 = 10_000_000_000;
/// Files whose extents are read: those that the command read and wrote most.
const HEAVIEST: usize = 64;

/// Files of which it is asked at once what became of them.
const AT_ONCE: usize = 1024;

/// Device, and what [`Identities`] knows the file by.
pub type Key = (u32, u64);

struct Known {
    inode: u64,
    shown: Shown,
    generation: u32,
    /// Another file has come by its inode: it is gone.
    replaced: bool,
    /// An overlay shows its copy in the upper layer under its name.
    copied: bool,
    path: Option<Vec<u8>>,
    kind: &'static str,
    seen_ns: u64,
    /// A row of `files` was made of it.
    named: bool,
    bytes: u64,
}

impl Known {
    /// Made with O_TMPFILE: what stands for its name is its inode's number (fs/dcache.c, d_tmpfile).
    fn is_nameless(&self) -> bool {
        let name = self
            .path
            .as_deref()
            .and_then(|path| path.rsplit(|&c| c == b'/').next());
        name == Some(format!("#{}", self.inode).as_bytes())
    }

    /// By what it is asked what became of it; None where it cannot be. `elsewhere`: its path may be of another mount namespace.
    fn met(&self, dev: u32, elsewhere: bool) -> Option<Met<'_>> {
        let path = self.path.as_deref().filter(|path| path.starts_with(b"/"))?;
        let lives = matches!(self.kind, "file" | "directory") && !self.replaced && !self.copied;
        let follow = !elsewhere && !self.shown.overlay;
        lives.then_some(Met {
            inode: self.shown.inode,
            path,
            renamed: follow.then_some((dev, self.generation)),
        })
    }
}

pub struct Files {
    known: HashMap<Key, Known>,
    /// Of each inode that served again, the file that has it now.
    latest: HashMap<(u32, u64), Key>,
    /// The file that an overlay shows by a device and inode of its own.
    on_overlays: HashMap<(u32, u64), Key>,
    untold: Vec<Key>,
    named: usize,
    last: Option<(Key, u64)>,
    first_maps: Option<FirstMaps>,
    /// The filesystem of the kernel's own files (eventfd, bpf_iter, …): all of them share one inode.
    anonymous_dev: Option<u32>,
}

/// The path of a record's file, if its name is that of a library or module with SQLite in it.
pub fn library(bytes: &[u8]) -> Option<PathBuf> {
    let e: File = event::read(bytes)?;
    let names = bytes.get(size_of::<File>()..)?.get(..e.length as usize)?;
    let name = names.split(|&b| b == 0).next()?;
    let path = event::path(names, e.cut != 0, e.mode, e.ino).filter(|_| is_library(name))?;
    Some(OsString::from_vec(path).into())
}

impl Files {
    pub fn new() -> Files {
        Files {
            known: HashMap::new(),
            latest: HashMap::new(),
            on_overlays: HashMap::new(),
            untold: Vec::new(),
            named: 0,
            last: None,
            first_maps: FirstMaps::start(),
            anonymous_dev: anonymous_dev(),
        }
    }

    /// A file that was met for the first time; true when there was no room to remember it.
    pub fn seen(&mut self, bytes: &[u8], identities: &mut Identities, now_ns: u64) -> bool {
        let Some(e) = event::read::<File>(bytes) else {
            return false;
        };
        let parts = &bytes[size_of::<File>()..];
        let parts = &parts[..parts.len().min(e.length as usize)];
        let file = FileId {
            ino: e.ino,
            dev: e.dev,
            generation: e.generation,
        };
        let key = (e.dev, identities.of(file));
        self.replace(key, e.ino);
        let shown = Shown::of(&e);
        let mut path = event::path(parts, e.cut != 0, e.mode, e.ino);
        let anonymous = Some(e.dev) == self.anonymous_dev;
        if let (true, Some([b'/', name @ ..])) = (anonymous, path.as_deref()) {
            path = Some([b"anon_inode:", name].concat());
        }
        let kind = match anonymous {
            true => "anonymous",
            false => event::file_kind(e.mode, path.as_deref()),
        };
        if let Some(known) = self.known.get_mut(&key) {
            // It was renamed, and met again by its new name.
            if !known.named && known.path != path {
                known.kind = kind;
                known.path = path;
            }
            return false;
        }
        let length = path.as_ref().map_or(0, Vec::len);
        if self.known.len() >= MOST || self.named + length > MOST_NAMED {
            return true;
        }
        self.named += length;
        if kind == "file" && e.size > 0 && e.nlink > 0 && e.cut == 0 {
            if let (Some(maps), Some(path)) = (&self.first_maps, &path) {
                maps.ask(key, shown, path);
            }
        }
        self.cover(key, shown);
        self.known.insert(
            key,
            Known {
                inode: e.ino,
                shown,
                generation: e.generation,
                replaced: false,
                copied: false,
                path,
                kind,
                seen_ns: now_ns,
                named: false,
                bytes: 0,
            },
        );
        self.untold.push(key);
        false
    }

    /// The path that a file was met at.
    pub fn path(&self, key: Key) -> Option<&[u8]> {
        self.known.get(&key)?.path.as_deref()
    }

    /// The file that `key` stands for has come by this inode: those that had it before are gone.
    fn replace(&mut self, key: Key, inode: u64) {
        if key.1 == inode || self.known.contains_key(&key) {
            return;
        }
        let before = self
            .latest
            .insert((key.0, inode), key)
            .unwrap_or((key.0, inode));
        if let Some(known) = self.known.get_mut(&before) {
            known.replaced = true;
        }
    }

    /// A file that an overlay shows now in the place of another is the copy of that.
    fn cover(&mut self, key: Key, shown: Shown) {
        if !shown.overlay {
            return;
        }
        let before = self.on_overlays.insert((shown.dev, shown.inode), key);
        if let Some(lower) = before.and_then(|key| self.known.get_mut(&key)) {
            lower.copied = true;
        }
    }

    /// The command read or wrote so many bytes of it.
    #[inline]
    pub fn add_bytes(&mut self, key: Key, bytes: u64) {
        match &mut self.last {
            Some((last, sum)) if *last == key => *sum += bytes,
            _ => {
                self.settle();
                self.last = Some((key, bytes));
            }
        }
    }

    fn settle(&mut self) {
        if let Some((key, sum)) = self.last.take() {
            if let Some(known) = self.known.get_mut(&key) {
                known.bytes += sum;
            }
        }
    }

    /// Writes the names that have waited long enough.
    pub fn tick(&mut self, recording: &mut Recording, now_ns: u64) -> Result<()> {
        let ripe = self.untold.iter().take_while(|key| {
            self.known
                .get(key)
                .is_none_or(|k| k.seen_ns + TOLD_AFTER_NS <= now_ns)
        });
        let ripe = ripe.count();
        for key in self.untold.drain(..ripe) {
            // One without a name may get its first later on.
            if let Some(known) = self.known.get_mut(&key).filter(|k| !k.is_nameless()) {
                known.named = true;
                recording.push(name_row(key, known))?;
            }
        }
        Ok(())
    }

    /// The end: the names that are left and the maps of the heaviest files.
    ///
    /// `elsewhere`: some paths may be those of another mount namespace, where a file may be there that is not here.
    pub fn finish(
        mut self,
        recording: &mut Recording,
        elsewhere: bool,
        reach: &mut Reach,
    ) -> anyhow::Result<Sensor> {
        self.settle();
        let before = self.first_maps.take().map(FirstMaps::end);
        let before = before.unwrap_or_default();
        reach.know(&before.silent);
        let left = self.known.iter().filter(|(_, known)| !known.named);
        let left: Vec<Key> = left.map(|(key, _)| *key).collect();
        for some in left.chunks(AT_ONCE) {
            let met = |key: &Key| self.known[key].met(key.0, elsewhere);
            let asked: Vec<Option<Met<'_>>> = some.iter().map(met).collect();
            let mut said = reach.at_end(asked.iter().flatten()).into_iter();
            let said: Vec<Option<AtEnd>> = asked
                .iter()
                .map(|one| one.as_ref().and_then(|_| said.next().flatten()))
                .collect();
            for (key, mut at_end) in some.iter().zip(said) {
                let Some(known) = self.known.get_mut(key) else {
                    continue;
                };
                // A file that was renamed has the name that it has now.
                if let Some(name) = at_end.as_mut().and_then(|at_end| at_end.name.take()) {
                    known.path = Some(name);
                }
                recording.push(last_row(*key, known, at_end, elsewhere))?;
            }
        }
        let known = self.known.values();
        let paths = known.filter_map(|known| known.path.as_deref());
        crate::databases::name(paths, elsewhere, recording, reach)?;
        Ok(match self.maps(before.maps, recording, reach)? {
            None => Sensor::ran("extents"),
            Some(why) => Sensor::missing("extents", why),
        })
    }

    /// Writes the extents of the heaviest files, before and after; None, or why not one could be read.
    fn maps(
        &self,
        mut before: HashMap<Key, Vec<rows::Extents>>,
        recording: &mut Recording,
        reach: &mut Reach,
    ) -> Result<Option<String>> {
        let mut heavy: Vec<(&Key, &Known)> = self
            .known
            .iter()
            .filter(|(_, k)| k.kind == "file" && k.bytes > 0 && !k.replaced && !k.copied)
            .collect();
        heavy.sort_unstable_by_key(|(key, known)| (std::cmp::Reverse(known.bytes), **key));
        let mut disks = Disked::default();
        let until = Instant::now() + Bounds::default().total_time;
        let (mut read, mut failed) = (0, None);
        for (key, known) in heavy.into_iter().take(HEAVIEST) {
            let Some(path) = known.path.as_ref() else {
                continue;
            };
            let path = PathBuf::from(OsString::from_vec(path.clone()));
            if !disks.has(key.0) {
                failed = Some(format!("{}: its filesystem has no disk", path.display()));
                continue;
            }
            let bounds = Bounds {
                total_time: until.saturating_duration_since(Instant::now()),
                ..Bounds::default()
            };
            let mut after = Vec::new();
            match reach.layout(&path, Phase::After, bounds, &mut |row| after.push(row)) {
                Ok(taken) if known.shown.is_file_of(&taken) => {
                    read += 1;
                    let before = before.remove(key).unwrap_or_default();
                    for mut row in before.into_iter().chain(after) {
                        row.dev = key.0.into();
                        row.ino = key.1 as i64;
                        recording.push(row)?;
                    }
                }
                Ok(_) => {}
                Err(error) => failed = Some(format!("{error:#}")),
            }
        }
        Ok(failed.filter(|_| read == 0))
    }
}

impl Default for Files {
    fn default() -> Files {
        Files::new()
    }
}

fn name_row((dev, ino): Key, known: &Known) -> rows::Files {
    rows::Files {
        dev: dev.into(),
        ino: ino as i64,
        path: known
            .path
            .as_ref()
            .map(|path| Cow::Owned(names::escaped(path))),
        kind: Cow::Borrowed(known.kind),
        size_bytes: None,
        deleted: known.replaced.then_some(true),
        inode: (ino != known.inode).then_some(known.inode as i64),
        generation: Some(known.generation.into()),
    }
}

/// The row with the file's size and whether it is still there, as far as that can be seen from here.
fn last_row(key: Key, known: &Known, at_end: Option<AtEnd>, elsewhere: bool) -> rows::Files {
    let Some(at_end) = at_end else {
        return name_row(key, known);
    };
    // An overlay may have given the number of one of its files to another layer's.
    let unsure = elsewhere || (known.shown.overlay && at_end.named);
    rows::Files {
        size_bytes: at_end.size_bytes,
        deleted: (!at_end.deleted || !unsure).then_some(at_end.deleted),
        ..name_row(key, known)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_own_files_are_anonymous_whatever_mode_they_have() {
        let mut files = Files::new();
        let dev = files.anonymous_dev.unwrap();
        for (dev, kind, path) in [
            (dev, "anonymous", "anon_inode:bpf_iter"),
            (dev + 1, "file", "/bpf_iter"),
        ] {
            // struct event_file: header, inode, size, overlay's inode, device, mode, generation, length of the name,
            // cut, links, overlay's device, nothing.
            let name = b"bpf_iter\0";
            let mut file = vec![0u8; 8];
            file.extend(7u64.to_ne_bytes());
            file.extend([0u8; 16]);
            for word in [dev, libc::S_IFREG | 0o600, 0, name.len() as u32, 0, 1, 0, 0] {
                file.extend(word.to_ne_bytes());
            }
            file.extend(name);
            assert!(!files.seen(&file, &mut Identities::default(), 0));
            let known = &files.known[&(dev, 7)];
            assert_eq!(known.kind, kind);
            assert_eq!(known.path.as_deref(), Some(path.as_bytes()));
        }
    }
}
