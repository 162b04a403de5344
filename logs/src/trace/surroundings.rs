//! Lines without an event: functions of kernel stacks, and those that say nothing here.

use super::line::Dialect;
use crate::text::{contains, split_while};

/// The function of a line of a kernel stack: "\tffffffff81399b71 name+0x41 ([kernel.kallsyms])".
pub fn kernel_function(text: &[u8]) -> Option<&[u8]> {
    let rest = text.trim_ascii_start();
    if rest.len() == text.len() {
        return None;
    }
    let space = memchr::memchr(b' ', rest)?;
    if space == 0 || !rest[..space].iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    let rest = &rest[space + 1..];
    let open = memchr::memmem::find(rest, b" (")?;
    let place = &rest[open + 2..];
    let kernel = place.starts_with(b"[")
        || (place.starts_with(b"/") && (contains(place, b"vmlinux") || contains(place, b".ko")));
    let (function, _) = split_while(&rest[..open], |&b| b != b'+');
    (kernel && !function.is_empty() && !function.contains(&b' ')).then_some(function)
}

/// Whether a line belongs to the tool's output and says nothing: stacks, comments, empty ones.
pub fn is_silent(dialect: Dialect, text: &[u8]) -> bool {
    match dialect {
        Dialect::Perf => is_silent_of_perf(text),
        Dialect::Ftrace => is_silent_of_ftrace(text),
    }
}

fn is_silent_of_perf(text: &[u8]) -> bool {
    let rest = text.trim_ascii_start();
    if rest.is_empty() || text.starts_with(b"#") {
        return true;
    }
    let digits = rest.iter().take_while(|b| b.is_ascii_hexdigit()).count();
    rest.len() < text.len()
        && digits > 0
        && rest.get(digits) == Some(&b' ')
        && rest
            .get(digits + 1)
            .is_some_and(|b| !b.is_ascii_whitespace())
}

fn is_silent_of_ftrace(text: &[u8]) -> bool {
    let rest = text.trim_ascii_start();
    let starts: [&[u8]; 5] = [
        b"cpus=",
        b"version = ",
        b"trace-cmd",
        b"TRACE:",
        b"capturing trace",
    ];
    let digits = rest.iter().take_while(|b| b.is_ascii_hexdigit()).count();
    rest.is_empty()
        || rest.starts_with(b"#")
        || rest.starts_with(b"=> ")
        || (digits >= 8 && rest.get(digits) == Some(&b' '))
        || starts.iter().any(|start| text.starts_with(start))
        || (text.starts_with(b"CPU:") && contains(text, b" ["))
        || contains(text, b"<stack trace>")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_of_stacks() {
        assert_eq!(
            kernel_function(b"\tffffffff821f8b58 __schedule+0x618 ([kernel.kallsyms])"),
            Some(&b"__schedule"[..])
        );
        assert_eq!(
            kernel_function(b"\t    7f00deadbeef fsync+0x17 (/usr/lib/libc.so.6)"),
            None
        );
    }
}
