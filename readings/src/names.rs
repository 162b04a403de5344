//! Names of files.

use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use iowhy_store::{rows, Name};

/// A row of `files` for an inode that was seen at `path`, as it is at the end: its size, and whether it is
/// still there. Another file at the path means that ours is gone (or renamed, which this cannot know).
pub fn file_row(dev: i64, ino: i64, path: &Path, kind: impl Into<Name>) -> rows::Files {
    let now = std::fs::symlink_metadata(path)
        .ok()
        .filter(|m| m.ino() as i64 == ino);
    rows::Files {
        dev,
        ino,
        path: Some(Name::Owned(escaped(path.as_os_str().as_bytes()))),
        kind: kind.into(),
        size_bytes: now.as_ref().filter(|m| m.is_file()).map(|m| m.len() as i64),
        deleted: Some(now.is_none()),
    }
}

/// UTF-8 as it is, every other byte as \xNN.
pub fn escaped(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        out.push_str(chunk.valid());
        for byte in chunk.invalid() {
            out.push_str(&format!("\\x{byte:02x}"));
        }
    }
    out
}

/// A message for a terminal: names in it come from anybody, so what a terminal would act upon becomes \xNN.
pub fn visible(message: &str) -> String {
    let mut out = String::with_capacity(message.len());
    for c in message.chars() {
        if c.is_control() && c != '\n' {
            out.push_str(&format!("\\x{:02x}", u32::from(c)));
        } else {
            out.push(c);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_file_with_spaces_and_bad_bytes_and_its_deletion() {
        let temporary = tempfile::tempdir().unwrap();
        let path = temporary
            .path()
            .join(OsStr::from_bytes(b"a b\xff\xc3\xa9\n (deleted)"));
        std::fs::write(&path, "12345").unwrap();
        let ino = std::fs::metadata(&path).unwrap().ino() as i64;
        let row = file_row(1, ino, &path, "file");
        let name = format!("{}/a b\\xff\u{e9}\n (deleted)", temporary.path().display());
        assert_eq!(row.path.as_deref(), Some(name.as_str()));
        assert_eq!((row.size_bytes, row.deleted), (Some(5), Some(false)));
        // Another file at the path is not this one, and one that is gone has no size.
        for gone in [file_row(1, ino + 1, &path, "file"), {
            std::fs::remove_file(&path).unwrap();
            file_row(1, ino, &path, "file")
        }] {
            assert_eq!((gone.size_bytes, gone.deleted), (None, Some(true)));
        }
    }

    #[test]
    fn escape_sequences_are_shown_and_not_obeyed() {
        let shown = visible("/a\x1b[2J\u{9b}1m\rb\x7f: no such\nfile \u{b5}");
        assert_eq!(shown, "/a\\x1b[2J\\x9b1m\\x0db\\x7f: no such\nfile \u{b5}");
    }

    proptest! {
        #[test]
        fn text_stays_and_other_bytes_are_escaped(text: String, bytes: Vec<u8>) {
            prop_assert_eq!(&escaped(text.as_bytes()), &text);
            if std::str::from_utf8(&bytes).is_err() {
                prop_assert!(escaped(&bytes).contains("\\x"));
            }
        }
    }
}
