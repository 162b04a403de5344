//! Names of recordings that are being made. Where they go when they are whole is for who follows to know
//! (python/iowhy/agent/retention.py).

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

const NAME: &str = "agent";
const DAY_NS: i64 = 86_400_000_000_000;

/// A path in the folder at which there is nothing yet: agent.1.iowhy, agent.2.iowhy, …
pub fn free(folder: &Path) -> Result<PathBuf> {
    std::fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    let paths = (1..10_000).map(|number| folder.join(format!("{NAME}.{number}.iowhy")));
    let mut unused = paths.filter(|path| std::fs::symlink_metadata(path).is_err());
    unused
        .next()
        .with_context(|| format!("{}: too many recordings", folder.display()))
}

/// The day, UTC, of a moment since 1970: each has recordings of its own.
pub fn day(wall_ns: i64) -> i64 {
    wall_ns.div_euclid(DAY_NS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recording_takes_nobodys_place() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("open");
        let first = free(&folder).unwrap();
        std::fs::create_dir(&first).unwrap();
        assert_eq!(first, folder.join("agent.1.iowhy"));
        assert_eq!(free(&folder).unwrap(), folder.join("agent.2.iowhy"));
    }

    #[test]
    fn days_begin_at_midnight_before_1970_too() {
        assert_eq!(
            [day(0), day(DAY_NS - 1), day(DAY_NS), day(-1)],
            [0, 0, 1, -1]
        );
    }
}
