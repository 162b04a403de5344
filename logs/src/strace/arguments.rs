//! A call's arguments as strace prints them: descriptors, numbers, strings, arrays of iovec.

use crate::text::number;

/// The descriptor in argument `at` (from 0) and its name of -y.
pub fn descriptor(arguments: &[u8], at: u8) -> (Option<i32>, Option<&[u8]>) {
    let mut text = arguments;
    for place in 0..=at {
        let Some((number, mut rest)) = number(text) else {
            return (None, None);
        };
        let mut name = None;
        if let Some(path) = rest.strip_prefix(b"<") {
            let end = name_end(path);
            let inner = &path[..end];
            let stop = memchr::memchr(b'<', inner).unwrap_or(end);
            name = Some(&inner[..stop]);
            rest = path.get(end + 1..).unwrap_or_default();
        }
        if place == at {
            return (i32::try_from(number).ok(), name);
        }
        let Some(comma) = memchr::memmem::find(rest, b", ") else {
            return (None, None);
        };
        text = &rest[comma + 2..];
    }
    (None, None)
}

/// The descriptors of an array, as pipe() and socketpair() give them, the last array of the arguments.
pub fn pair(arguments: &[u8]) -> Option<[i32; 2]> {
    let inner = arguments.strip_suffix(b"]").or_else(|| {
        let end = memchr::memrchr(b']', arguments)?;
        // Flags follow, and no names.
        (!arguments[end..].contains(&b'>')).then(|| &arguments[..end])
    })?;
    // A name has brackets of its own: "[3<pipe:[7]>, 4<pipe:[7]>]".
    let start = match memchr::memmem::find(inner, b", [") {
        Some(comma) => comma + 3,
        None => inner.starts_with(b"[").then_some(1)?,
    };
    let one = |at| descriptor(&inner[start..], at).0;
    Some([one(0)?, one(1)?])
}

/// What a descriptor's name of -y says that it is of, where that is no file: as /proc/PID/fd has it, or without its number.
pub fn nameless(name: &[u8]) -> Option<&[u8]> {
    let as_it_is = [&b"pipe:["[..], b"socket:[", b"anon_inode:"];
    if as_it_is.iter().any(|start| name.starts_with(start)) {
        return Some(name);
    }
    // "TCP:[127.0.0.1:1->127.0.0.1:2]", "UNIX-STREAM:[7]" of -yy: a connection each.
    let protocol = name
        .iter()
        .take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'-')
        .count();
    (protocol > 0 && name[protocol..].starts_with(b":[")).then_some(b"socket:[?]")
}

/// Whether the flags of an open or of a write ask for what is written to be durable. They come after strings and arrays, which may
/// hold the same words.
pub fn asks_durable(arguments: &[u8]) -> bool {
    let flags = match memchr::memrchr2(b'"', b']', arguments) {
        Some(end) => &arguments[end + 1..],
        None => arguments,
    };
    flags
        .split(|byte| !byte.is_ascii_alphanumeric() && *byte != b'_')
        .any(|flag| matches!(flag, b"O_SYNC" | b"O_DSYNC" | b"RWF_SYNC" | b"RWF_DSYNC"))
}

/// Where a descriptor's name ends: "<pipe:[7]>", "<TCP:[a->b]>", "</dev/null<char 1:3>>": an arrow's tip
/// closes nothing.
fn name_end(path: &[u8]) -> usize {
    let mut depth = 1;
    for (index, &byte) in path.iter().enumerate() {
        match byte {
            b'<' => depth += 1,
            b'>' if index > 0 && path[index - 1] == b'-' => {}
            b'>' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return index;
        }
    }
    path.len()
}

/// The number that is argument `at`, counted from the last one (1).
pub fn from_end(arguments: &[u8], at: u8) -> Option<i64> {
    let mut text = arguments;
    for _ in 1..at {
        let comma = memchr::memmem::rfind(text, b", ")?;
        // Not into a string, a structure or an array.
        if text[comma + 2..]
            .iter()
            .any(|b| matches!(b, b'"' | b'}' | b']'))
        {
            return None;
        }
        text = &text[..comma];
    }
    let token = match memchr::memmem::rfind(text, b", ") {
        Some(comma) => &text[comma + 2..],
        None => text,
    };
    match number(token) {
        Some((number, b"")) => Some(number),
        _ => None,
    }
}

/// The sum of an iovec array's lengths; unknown when strace left some out.
pub fn iovecs(arguments: &[u8]) -> Option<i64> {
    let mut sum = None;
    let mut at = 0;
    while at < arguments.len() {
        match arguments[at] {
            b'"' => at += string_end(&arguments[at + 1..]).map_or(arguments.len(), |end| end + 1),
            b'i' if arguments[at..].starts_with(b"iov_len=") => {
                let (length, _) = number(&arguments[at + 8..])?;
                sum = Some(length.saturating_add(sum.unwrap_or(0)));
                at += 8;
            }
            b'.' if arguments[at..].starts_with(b"...]") => return None,
            _ => {}
        }
        at += 1;
    }
    sum
}

/// The first string of the arguments, unless strace cut it short.
pub fn quoted(arguments: &[u8]) -> Option<&[u8]> {
    let text = &arguments[memchr::memchr(b'"', arguments)? + 1..];
    let end = string_end(text)?;
    (!text[end + 1..].starts_with(b"...")).then_some(&text[..end])
}

/// Where a string ends: the place of the closing quote.
fn string_end(text: &[u8]) -> Option<usize> {
    let mut at = 0;
    while at < text.len() {
        match text[at] {
            b'\\' => at += 1,
            b'"' => return Some(at),
            _ => {}
        }
        at += 1;
    }
    None
}

/// A path without strace's escapes; bytes that are not UTF-8 as \xNN.
pub fn unescaped(text: &[u8]) -> Vec<u8> {
    if memchr::memchr(b'\\', text).is_none() && std::str::from_utf8(text).is_ok() {
        return text.to_vec();
    }
    let mut bytes = Vec::with_capacity(text.len());
    let mut at = 0;
    while at < text.len() {
        let byte = text[at];
        at += 1;
        let Some(&next) = text.get(at).filter(|_| byte == b'\\') else {
            bytes.push(byte);
            continue;
        };
        at += 1;
        bytes.push(match next {
            b'n' => b'\n',
            b't' => b'\t',
            b'r' => b'\r',
            b'v' => 11,
            b'f' => 12,
            b'0'..=b'7' => {
                let mut value = u32::from(next - b'0');
                let mut digits = 1;
                while digits < 3 && matches!(text.get(at), Some(b'0'..=b'7')) {
                    value = value * 8 + u32::from(text[at] - b'0');
                    at += 1;
                    digits += 1;
                }
                (value & 0xff) as u8
            }
            other => other,
        });
    }
    let mut clean = Vec::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        clean.extend(chunk.valid().as_bytes());
        for byte in chunk.invalid() {
            clean.extend(format!("\\x{byte:02X}").as_bytes());
        }
    }
    clean
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments() {
        assert_eq!(
            descriptor(b"5</a<char 1:3>>, 1", 0),
            (Some(5), Some(&b"/a"[..]))
        );
        assert_eq!(
            descriptor(b"5<TCP:[1->2]>, 6</b>, NULL, 9", 1),
            (Some(6), Some(&b"/b"[..]))
        );
        assert_eq!(pair(b"[3, 4]"), Some([3, 4]));
        assert_eq!(pair(b"[3<pipe:[7]>, 4<pipe:[7]>], O_CLOEXEC"), Some([3, 4]));
        assert_eq!(pair(b"AF_UNIX, SOCK_STREAM, 0, [5, 6]"), Some([5, 6]));
        assert_eq!(
            pair(b"AF_UNIX, SOCK_STREAM, 0, [5<UNIX:[1->2]>, 6<UNIX:[2->1]>]"),
            Some([5, 6])
        );
        assert_eq!(pair(b"0x7ffd0"), None);
        assert_eq!(pair(b"[3]"), None);
        assert_eq!(nameless(b"pipe:[7]"), Some(&b"pipe:[7]"[..]));
        assert_eq!(nameless(b"TCPv6:[::1->::2]"), Some(&b"socket:[?]"[..]));
        assert_eq!(nameless(b"/a:[7]"), None);
        assert!(asks_durable(br#"AT_FDCWD, "/a", O_RDWR|O_DSYNC, 0644"#));
        assert!(asks_durable(
            br#"AT_FDCWD, "/a", {flags=O_RDWR|O_SYNC, resolve=0}, 24"#
        ));
        assert!(!asks_durable(br#"AT_FDCWD, "/O_SYNC", O_RDWR"#));
        assert!(!asks_durable(br#"AT_FDCWD, "/a", O_RDWR|O_ASYNC"#));
        assert!(asks_durable(
            b"3</O_A>, [{iov_base=\"a\", iov_len=1}], 1, 0, RWF_DSYNC"
        ));
        assert!(!asks_durable(
            b"3, [{iov_base=\"RWF_DSYNC\", iov_len=9}], 1, 0, RWF_HIPRI"
        ));
        assert_eq!(from_end(br#"1, "a, 2, 3", 784, 64"#, 2), Some(784));
        assert_eq!(from_end(br#"1, "a, 2", 784"#, 2), None);
        assert_eq!(
            iovecs(br#"1, [{iov_base="iov_len=9", iov_len=10}, {iov_base="", iov_len=5}], 2"#),
            Some(15)
        );
        assert_eq!(iovecs(br#"1, [{iov_base="", iov_len=5}, ...], 2000"#), None);
        assert_eq!(iovecs(b"1, NULL, 0"), None);
        assert_eq!(unescaped(br"/a\40b\377\n"), b"/a b\\xFF\n");
    }
}
