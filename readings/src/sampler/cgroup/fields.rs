//! What the files of control groups have in common.

use std::path::Path;

use crate::error::Result;

use super::groups::{Group, Version};
use crate::proc_file::{ProcFile, Text};

/// The smallest limit up the tree, and the group that has it; of equal ones the lowest.
pub(super) fn tightest<T: PartialOrd + Copy>(
    group: &Group,
    limit: impl Fn(Version, &Path) -> Result<Option<T>>,
) -> Result<(Option<T>, Option<&Path>)> {
    let mut found: (Option<T>, Option<&Path>) = (None, None);
    for directory in group.up() {
        if let Some(value) = limit(group.version, directory)? {
            if found.0.is_none_or(|least| value < least) {
                found = (Some(value), Some(directory));
            }
        }
    }
    Ok(found)
}

/// The text of a file that not every group has (the root has no limits).
pub(super) fn optional(path: &Path) -> Result<Option<ProcFile>> {
    match std::fs::File::open(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        _ => ProcFile::open(path).map(Some),
    }
}

/// The value of a line `KEY VALUE`.
pub(super) fn field(text: Text<'_>, key: &[u8]) -> Result<Option<i64>> {
    for line in text.lines() {
        let mut words = line.words();
        if words.next() == Some(key) {
            return words.number("a number").map(Some);
        }
    }
    Ok(None)
}
