//! A statement without its literals: what a recording may keep of it (as normalised.py, of what servers show).

/// Characters of a text that are looked at: programs may have megabytes.
const MOST_CHARACTERS: usize = 2_000;
/// Words of statements that may hold a secret in their text.
const SECRET: [&str; 6] = [
    "password",
    "identified",
    "passwd",
    "secret",
    "token",
    "credential",
];

/// The text as it is, unless it may hold a secret.
pub fn whole(text: &str) -> Option<String> {
    let lower = text.to_lowercase();
    let may = SECRET.iter().any(|word| lower.contains(word)) || is_key(&lower);
    (!may).then(|| text.chars().take(MOST_CHARACTERS).collect())
}

/// `PRAGMA key` and the like, of SQLite's with encryption.
fn is_key(lower: &str) -> bool {
    lower.trim_start().starts_with("pragma") && lower.contains("key")
}

/// With `?` instead of each literal, without comments, on one line; lists of literals are one.
pub fn normalised(text: &str) -> String {
    let text: Vec<char> = text.chars().take(MOST_CHARACTERS).collect();
    let mut made = Scanner {
        text: &text,
        at: 0,
        out: String::new(),
        values: false,
        compares: false,
    }
    .scan();
    if is_key(&made.to_lowercase()) {
        made.truncate(made.find(['=', '(']).unwrap_or(made.len()));
    }
    let shown = |c: char| {
        if c.is_control() || is_invisible(c) {
            ' '
        } else {
            c
        }
    };
    let made: String = made.chars().map(shown).collect();
    let made = made.split_whitespace().collect::<Vec<_>>().join(" ");
    let made = without_lists(&without_lists(&made, "?"), "(?)");
    made.trim_end_matches([';', ' ']).to_owned()
}

/// One of what comes several times with commas between; `?1` is a parameter, no literal.
fn without_lists(text: &str, one: &str) -> String {
    let mut made = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(one) {
        let end = at + one.len();
        made.push_str(&rest[..end]);
        rest = &rest[end..];
        while let Some(next) = ends_here(rest).then(|| another(rest, one)).flatten() {
            rest = next;
        }
    }
    made + rest
}

fn another<'a>(rest: &'a str, one: &str) -> Option<&'a str> {
    let next = rest.trim_start().strip_prefix(',')?;
    next.trim_start()
        .strip_prefix(one)
        .filter(|next| ends_here(next))
}

fn ends_here(rest: &str) -> bool {
    !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_')
}

struct Scanner<'a> {
    text: &'a [char],
    at: usize,
    out: String,
    /// After VALUES or IN: what is quoted there is no name.
    values: bool,
    /// After = and the like.
    compares: bool,
}

impl Scanner<'_> {
    fn peek(&self, ahead: usize) -> char {
        self.text.get(self.at + ahead).copied().unwrap_or('\0')
    }

    fn scan(mut self) -> String {
        while self.at < self.text.len() {
            let (c, next) = (self.peek(0), self.peek(1));
            match c {
                '-' if next == '-' => self.gap(|s| s.peek(0) == '\n', 0),
                '/' if next == '*' => {
                    self.at += 2;
                    self.gap(|s| s.peek(0) == '*' && s.peek(1) == '/', 2);
                }
                '\'' => self.literal('\'', false),
                'e' | 'E' if next == '\'' => {
                    self.at += 1;
                    self.literal('\'', true);
                }
                'x' | 'X' | 'b' | 'B' | 'n' | 'N' if next == '\'' => {
                    self.at += 1;
                    self.literal('\'', false);
                }
                '"' => self.quoted(),
                '`' => self.name('`'),
                '[' if self.is_name_in_brackets() => self.name(']'),
                '$' if self.dollar_tag().is_some() => self.dollar(),
                '$' | ':' | '@' | '?' if next.is_alphanumeric() || next == '_' => {
                    self.out.push(c);
                    self.at += 1;
                    self.word();
                }
                '0'..='9' => self.number(),
                '.' if next.is_ascii_digit() => self.number(),
                _ if c.is_alphabetic() || c == '_' => self.word(),
                _ => self.other(c),
            }
        }
        self.out
    }

    /// Passes what ends where `is_end` says, and what ends it.
    fn gap(&mut self, is_end: impl Fn(&Self) -> bool, length: usize) {
        while self.at < self.text.len() && !is_end(self) {
            self.at += 1;
        }
        self.at += length;
        self.out.push(' ');
    }

    /// Passes what is quoted; without an end it goes to the end of the text.
    fn pass(&mut self, quote: char, escapes: bool) {
        self.at += 1;
        while self.at < self.text.len() {
            let c = self.peek(0);
            if escapes && c == '\\' || c == quote && self.peek(1) == quote {
                self.at += 2;
            } else if c == quote {
                self.at += 1;
                return;
            } else {
                self.at += 1;
            }
        }
        self.at = self.text.len();
    }

    fn literal(&mut self, quote: char, escapes: bool) {
        self.pass(quote, escapes);
        self.put_literal();
    }

    fn put_literal(&mut self) {
        self.out.push('?');
        self.compares = false;
    }

    /// A name; SQLite reads it as text if nothing has that name.
    fn quoted(&mut self) {
        let from = self.at;
        self.pass('"', false);
        let inner = &self.text[from..self.at];
        let is_name = inner
            .iter()
            .skip(1)
            .all(|c| c.is_alphanumeric() || "_$\" ".contains(*c));
        if !is_name || (self.values || self.compares) && self.peek(0) != '.' {
            return self.put_literal();
        }
        self.out.extend(inner);
        self.compares = false;
    }

    fn name(&mut self, end: char) {
        let from = self.at;
        self.pass(end, false);
        self.out.extend(&self.text[from..self.at]);
        self.compares = false;
    }

    /// SQLite's [name]; else it is an element of an array.
    fn is_name_in_brackets(&self) -> bool {
        let before = self.out.chars().last().unwrap_or(' ');
        !(before.is_alphanumeric() || "_)]".contains(before) || self.peek(1).is_ascii_digit())
    }

    /// Of $tag$ how long it is.
    fn dollar_tag(&self) -> Option<usize> {
        let rest = &self.text[self.at + 1..];
        let length = rest
            .iter()
            .take_while(|c| c.is_alphanumeric() || **c == '_')
            .count();
        let is_tag = rest.get(length) == Some(&'$') && !self.peek(1).is_ascii_digit();
        is_tag.then_some(length + 2)
    }

    fn dollar(&mut self) {
        let length = self.dollar_tag().unwrap_or(1);
        let tag = &self.text[self.at..self.at + length];
        let rest = &self.text[self.at + length..];
        let end = rest.windows(length).position(|part| part == tag);
        self.at = end.map_or(self.text.len(), |end| self.at + end + 2 * length);
        self.put_literal();
    }

    fn number(&mut self) {
        // A sign before it that subtracts nothing is its own.
        let before = self.out.trim_end();
        if let Some(before) = before.strip_suffix(['-', '+']) {
            let ends = before.trim_end().chars().last().unwrap_or('(');
            if !(ends.is_alphanumeric() || "_)?\"".contains(ends)) {
                self.out.truncate(before.len());
            }
        }
        while self.peek(0).is_alphanumeric() || "._".contains(self.peek(0)) {
            let exponent = "eE".contains(self.peek(0)) && "+-".contains(self.peek(1));
            self.at += 1 + usize::from(exponent);
            if self.at >= self.text.len() {
                break;
            }
        }
        self.put_literal();
    }

    fn word(&mut self) {
        let from = self.at;
        while self.peek(0).is_alphanumeric() || "_$".contains(self.peek(0)) {
            self.at += 1;
            if self.at >= self.text.len() {
                break;
            }
        }
        let word: String = self.text[from..self.at].iter().collect();
        let lower = word.to_lowercase();
        self.values |= lower == "values" || lower == "in";
        self.compares = lower == "like" || lower == "glob";
        self.out.push_str(&word);
    }

    fn other(&mut self, c: char) {
        self.out.push(c);
        self.compares = "=<>!".contains(c) || self.compares && c.is_whitespace();
        // The list of IN ends with its bracket.
        self.values &= c != ')' || self.out.to_lowercase().contains("values");
        self.at += 1;
    }
}

/// Changes how what follows looks, or does not show.
fn is_invisible(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_and_comments_go() {
        for (text, kept) in [
            (
                "SELECT * FROM t WHERE a = 'x''y' AND b=-1.5e3 -- why\n",
                "SELECT * FROM t WHERE a = ? AND b=?",
            ),
            (
                "select 1 in (1,2, 3), $1, c2 from \"Per Son\" /* hint */;",
                "select ? in (?), $1, c2 from \"Per Son\"",
            ),
            (
                "INSERT INTO t VALUES (1,'a'),\n(2,'b')",
                "INSERT INTO t VALUES (?)",
            ),
            (
                "SELECT x'ab', 0xff, 1_000, a-1, ?1, :n, @p",
                "SELECT ?, a-?, ?1, :n, @p",
            ),
            ("SELECT 'cut off, sec", "SELECT ?"),
            ("DO $x$ secret 'a' $x$", "DO ?"),
            ("SELECT E'a\\'secret'", "SELECT ?"),
            (
                "SELECT * FROM [my table] WHERE a[1] = 2",
                "SELECT * FROM [my table] WHERE a[?] = ?",
            ),
            (
                "SELECT \"a\" FROM \"t\" WHERE \"t\".\"n\" = \"bob\"",
                "SELECT \"a\" FROM \"t\" WHERE \"t\".\"n\" = ?",
            ),
            (
                "INSERT INTO \"t\" VALUES(\"bob\")",
                "INSERT INTO \"t\" VALUES(?)",
            ),
            ("SELECT \"it is, secret\"", "SELECT ?"),
            ("PRAGMA key = secret", "PRAGMA key"),
            (
                "SELECT \"a\u{1b}\u{202e}\" FROM [b\u{7}]",
                "SELECT ? FROM [b ]",
            ),
            ("SELECT \u{1b}[31m\0 <script>\u{202e}", "SELECT [? <script>"),
        ] {
            assert_eq!(normalised(text), kept, "{text}");
        }
    }

    #[test]
    fn texts_are_bounded_and_whole_ones_have_no_passwords() {
        assert!(normalised(&"a,".repeat(5_000_000)).chars().count() <= MOST_CHARACTERS);
        assert_eq!(whole("ALTER USER me PASSWORD 'x'"), None);
        assert_eq!(whole("PRAGMA key='x'"), None);
        assert_eq!(whole("SELECT 'x'").as_deref(), Some("SELECT 'x'"));
    }
}
