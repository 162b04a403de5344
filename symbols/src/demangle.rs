//! Names as people write them: Rust, C++ and Go.

use std::fmt::{self, Write};

/// Of a longer mangled name nothing is gained by taking it apart.
const MAX_MANGLED_BYTES: usize = 8 * 1024;
/// A name is shown to people.
pub const MAX_NAME_BYTES: usize = 1024;

/// The name, demangled where it is a Rust or C++ one; at most MAX_NAME_BYTES.
pub fn demangled(raw: &[u8]) -> String {
    let raw = &raw[..raw.len().min(MAX_MANGLED_BYTES)];
    let text = String::from_utf8_lossy(raw);
    let mut out = Bounded(String::new());
    if let Ok(name) = rustc_demangle::try_demangle(&text) {
        if write!(out, "{name:#}").is_ok() || !out.0.is_empty() {
            return out.0;
        }
    }
    if text.starts_with("_Z") {
        if let Some(name) = cpp(&text) {
            return name;
        }
    }
    let _ = out.write_str(&go(whole_function(&text)));
    out.0
}

/// What the compiler made of a function, or cut off it, is that function to people, as DWARF calls it, too.
fn whole_function(name: &str) -> &str {
    const MADE: [&str; 7] = [
        "cold",
        "part",
        "constprop",
        "isra",
        "lto_priv",
        "localalias",
        "llvm",
    ];
    let mut name = name;
    while let Some((before, last)) = name.rsplit_once('.') {
        let number = !last.is_empty() && last.bytes().all(|byte| byte.is_ascii_digit());
        let (whole, word) = match before.rsplit_once('.') {
            Some((whole, word)) if number => (whole, word),
            _ => (before, last),
        };
        if whole.is_empty() || !MADE.contains(&word) {
            break;
        }
        name = whole;
    }
    name
}

fn cpp(text: &str) -> Option<String> {
    let parse = cpp_demangle::ParseOptions::default().recursion_limit(160);
    let show = cpp_demangle::DemangleOptions::new()
        .no_params()
        .no_return_type()
        .recursion_limit(160);
    let symbol = cpp_demangle::Symbol::new_with_options(text, &parse).ok()?;
    let mut out = Bounded(String::new());
    let whole = symbol.structured_demangle(&mut out, &show);
    (whole.is_ok() || out.0.len() >= MAX_NAME_BYTES).then_some(out.0)
}

/// Go writes a dot in the last part of a package's path as %2e (cmd/internal/objabi, PathToPrefix).
fn go(text: &str) -> String {
    if text.contains('/') && text.contains('%') {
        return text
            .replace("%2e", ".")
            .replace("%22", "\"")
            .replace("%25", "%");
    }
    text.to_owned()
}

/// Takes no more than MAX_NAME_BYTES, and then stops who writes: the longest names come of few letters.
struct Bounded(String);

impl Write for Bounded {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for letter in text.chars() {
            if self.0.len() + letter.len_utf8() > MAX_NAME_BYTES {
                return Err(fmt::Error);
            }
            self.0.push(if letter.is_control() { '?' } else { letter });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_as_people_write_them() {
        for (raw, name) in [
            ("main", "main"),
            (
                "_ZN4core3fmt9Formatter3pad17h0123456789abcdefE",
                "core::fmt::Formatter::pad",
            ),
            ("_RNvCs1234_7mycrate3foo", "mycrate::foo"),
            (
                "_ZNSt6vectorIiSaIiEE9push_backERKi",
                "std::vector<int, std::allocator<int> >::push_back",
            ),
            ("gopkg.in/yaml%2ev3.Unmarshal", "gopkg.in/yaml.v3.Unmarshal"),
            ("main.(*Tree).Walk", "main.(*Tree).Walk"),
            ("_Znot a name", "_Znot a name"),
            ("load.part.0.cold", "load"),
            ("load.constprop.12.isra.0", "load"),
            ("main.cold", "main"),
            ("main.main.func1", "main.main.func1"),
            (".cold", ".cold"),
        ] {
            assert_eq!(demangled(raw.as_bytes()), name);
        }
    }

    #[test]
    fn a_name_that_grows_without_end_is_cut_off() {
        // Each substitution doubles what it stands for.
        let mut raw = "_Z1fI1aE".to_owned();
        for _ in 0..2000 {
            raw.push_str("S_S0_S1_");
        }
        assert!(demangled(raw.as_bytes()).len() <= MAX_NAME_BYTES);
        assert!(demangled(&vec![b'x'; 10 << 20]).len() <= MAX_NAME_BYTES);
        assert_eq!(demangled(b"a\x1b[2J\nb"), "a?[2J?b");
    }
}
