//! Files of databases, by what their owners keep next to them.

use std::collections::BTreeSet;

use iowhy_readings::reach::Reach;
use iowhy_readings::{catalogues, names};
use iowhy_store::{rows, Recording, Result};

/// Folders whose databases are asked what their files are.
const MOST: usize = 64;

/// Writes what files of these paths are, as far as a catalogue says it. `elsewhere`: some may be paths of another mount namespace.
pub fn name<'a>(
    paths: impl Iterator<Item = &'a [u8]>,
    elsewhere: bool,
    recording: &mut Recording,
    reach: &mut Reach,
) -> Result<()> {
    let paths = paths.filter(|path| !elsewhere && catalogues::may_name(path));
    let asked: BTreeSet<&[u8]> = paths.collect();
    let folders: BTreeSet<&[u8]> = asked.iter().copied().filter_map(folder).collect();
    let mut found = BTreeSet::new();
    for folder in folders.into_iter().take(MOST) {
        found.extend(reach.catalogue(folder));
    }
    let known: BTreeSet<String> = asked.into_iter().map(names::escaped).collect();
    for (path, object) in found.into_iter().filter(|(path, _)| known.contains(path)) {
        recording.push(rows::DatabaseFiles {
            path: path.into(),
            object: object.into(),
        })?;
    }
    Ok(())
}

fn folder(path: &[u8]) -> Option<&[u8]> {
    path.rsplitn(2, |&c| c == b'/').nth(1)
}
