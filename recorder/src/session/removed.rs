//! Recordings of what never ran.

use std::path::Path;

use iowhy_store::Owner;

/// Takes away the directory of a recording that could not be begun, as on a full disk.
pub fn remove_empty(out: &Path, owner: Option<&Owner>, existed: bool) {
    if !existed {
        Owner::acting(owner, || {
            let _ = std::fs::remove_dir(out);
        });
    }
}

/// Takes away a recording of a command that never ran.
pub fn remove(out: &Path, existed: bool) {
    if existed {
        let _ = std::fs::remove_file(out.join("manifest.json"));
    } else {
        let _ = std::fs::remove_dir_all(out);
    }
}
