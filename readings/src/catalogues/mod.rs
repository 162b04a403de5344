//! What files of databases are, by what their owners keep next to them: the list of a RocksDB, the catalogue of a MongoDB.
//!
//! Whoever runs the database may have written anything there: what is not understood has no name.

mod mongodb;
mod rocksdb;

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use crate::names::{escaped, visible};

/// Bytes of a list or catalogue that are read: even a slow disk has them in time.
const MOST: u64 = 16 << 20;
/// Files of one database, the newest.
const MOST_FILES: usize = 100_000;
/// Characters of a name.
const MOST_NAME: usize = 200;
/// Folders above a file in which a catalogue may be: a database, and its indexes, may have their own.
const ABOVE: usize = 3;

/// Whether a catalogue may say what a file of this name is.
pub fn may_name(path: &[u8]) -> bool {
    path.ends_with(b".sst") || path.ends_with(b".wt")
}

/// Paths, as rows of `files` have them, and what they are, of the database that has files in this folder.
pub fn of_folder(folder: &Path) -> BTreeMap<String, String> {
    if let Some(list) = list(folder) {
        return within(folder, rocksdb::names(&list));
    }
    let catalogue = |above: &&Path| above.join(mongodb::CATALOGUE).is_file();
    match folder.ancestors().take(ABOVE).find(catalogue) {
        Some(above) => {
            let read = read(&above.join(mongodb::CATALOGUE)).unwrap_or_default();
            within(above, mongodb::names(&read))
        }
        None => BTreeMap::new(),
    }
}

fn within(
    folder: &Path,
    named: impl IntoIterator<Item = (String, String)>,
) -> BTreeMap<String, String> {
    let path = |file: &str| escaped(folder.join(file).as_os_str().as_bytes());
    named
        .into_iter()
        .map(|(file, name)| (path(&file), visible(&name)))
        .collect()
}

/// The list of files that a RocksDB goes by.
fn list(folder: &Path) -> Option<Vec<u8>> {
    let current = read(&folder.join("CURRENT"))?;
    let name = std::str::from_utf8(&current).ok()?.trim_end();
    let digits = name.strip_prefix("MANIFEST-")?;
    let is_number = digits.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| read(&folder.join(name))).flatten()
}

/// A plain file: a pipe, or what a link leads to, is not opened.
fn read(path: &Path) -> Option<Vec<u8>> {
    let mut options = OpenOptions::new();
    options.custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK);
    let file = options.read(true).open(path).ok()?;
    let mut bytes = Vec::new();
    file.metadata().ok()?.is_file().then_some(())?;
    file.take(MOST).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

/// A name of a collection, an index or a column family.
fn name(bytes: &[u8]) -> Option<&str> {
    let text = std::str::from_utf8(bytes).ok()?;
    (!text.is_empty() && text.chars().count() <= MOST_NAME).then_some(text)
}

#[cfg(test)]
mod tests;
