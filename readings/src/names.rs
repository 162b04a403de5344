//! Names of files.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// What is at the end of an inode that was seen at `path`: its size, and whether it is gone. Another file at the
/// path means that ours is gone, or was renamed ([`crate::renamed`]).
pub fn at_end(inode: i64, path: &Path) -> (Option<i64>, bool) {
    let now = std::fs::symlink_metadata(path)
        .ok()
        .filter(|m| m.ino() as i64 == inode);
    let size = now.as_ref().filter(|m| m.is_file()).map(|m| m.len() as i64);
    (size, now.is_none())
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

/// A message for a terminal: names in it come from anybody, so what a terminal would act upon becomes \xNN, and what turns
/// the order of characters round or ends a line of Unicode's (UAX #9) the replacement character.
pub fn visible(message: &str) -> String {
    let mut out = String::with_capacity(message.len());
    for c in message.chars() {
        if c.is_control() && c != '\n' {
            out.push_str(&format!("\\x{:02x}", u32::from(c)));
        } else if matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
        {
            out.push(char::REPLACEMENT_CHARACTER);
        } else {
            out.push(c);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;

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
        assert_eq!(at_end(ino, &path), (Some(5), false));
        let name = format!("{}/a b\\xff\u{e9}\n (deleted)", temporary.path().display());
        assert_eq!(escaped(path.as_os_str().as_bytes()), name);
        // Another file at the path is not this one, and one that is gone has no size.
        assert_eq!(at_end(ino + 1, &path), (None, true));
        std::fs::remove_file(&path).unwrap();
        assert_eq!(at_end(ino, &path), (None, true));
    }

    #[test]
    fn escape_sequences_are_shown_and_not_obeyed() {
        let shown = visible("/a\x1b[2J\u{9b}1m\rb\x7f: no such\nfile \u{b5}");
        assert_eq!(shown, "/a\\x1b[2J\\x9b1m\\x0db\\x7f: no such\nfile \u{b5}");
        assert_eq!(
            visible("a\u{202e}b\u{2066}\u{2027}"),
            "a\u{fffd}b\u{fffd}\u{2027}"
        );
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
