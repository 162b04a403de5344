//! Libraries with SQLite in them that a command may load: most open one a moment before they use it, when it is late to probe it.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc::channel;
use std::time::Duration;

/// Folders of the system's library.
const SYSTEM: [&str; 6] = [
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/usr/lib64",
    "/usr/lib",
    "/usr/local/lib64",
    "/usr/local/lib",
];
const LIBRARY: &str = "libsqlite3.so.0";
const WITHIN: Duration = Duration::from_secs(1);
const MOST_WORDS: usize = 50;
/// Names that are read in folders, at most.
const MOST: usize = 20_000;
/// `PACKAGE/lib/binding/PLATFORM/…`.
const DEEP: usize = 5;

/// The system's.
pub fn system() -> Vec<PathBuf> {
    let file = |folder| Path::new(folder).join(LIBRARY);
    SYSTEM.map(file).into()
}

/// The programs that a command's words name, and what packages for Node and Python near these have. A filesystem that does not
/// answer has none.
pub fn of_command(words: &[OsString]) -> Vec<PathBuf> {
    let (words, (done, answer)) = (words.to_owned(), channel());
    std::thread::spawn(move || {
        let folder = std::env::current_dir().unwrap_or_default();
        // Nobody may be waiting any more.
        let _ = done.send(near(&words, &folder));
    });
    answer.recv_timeout(WITHIN).unwrap_or_default()
}

fn near(words: &[OsString], folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut near = vec![folder.to_owned()];
    for word in words.iter().flat_map(|one| parts(one)).take(MOST_WORDS) {
        let program = along_path(word);
        let named = program.clone().unwrap_or_else(|| folder.join(word));
        // A program in an environment of its own is a link to another one's.
        let real = fs::canonicalize(&named).ok();
        near.extend([Some(named), real].into_iter().flatten());
        found.extend(program);
    }
    let mut look = Look { left: MOST, found };
    let mut seen = Vec::new();
    for place in near.iter().flat_map(|one| one.ancestors()) {
        if seen.contains(&place) {
            continue;
        }
        seen.push(place);
        look.packages(&place.join("node_modules"));
        let lib = place.join("lib");
        look.found.push(lib.join(LIBRARY));
        for version in look.names(&lib) {
            if version.as_bytes().starts_with(b"python3") {
                look.packages(&lib.join(version).join("site-packages"));
            }
        }
    }
    look.found
}

/// A word, and if it is a line for a shell, each of that line.
fn parts(word: &OsStr) -> impl Iterator<Item = &OsStr> {
    let each = word.as_bytes().split(|byte| byte.is_ascii_whitespace());
    each.filter(|part| !part.is_empty()).map(OsStr::from_bytes)
}

/// The program of that name.
fn along_path(name: &OsStr) -> Option<PathBuf> {
    if name.as_bytes().contains(&b'/') {
        return Some(name.into()).filter(|file: &PathBuf| file.is_file());
    }
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .map(|folder| folder.join(name))
        .find(|file| file.is_file())
}

/// Whether a file's name is that of a library or module with SQLite in it.
pub fn is_library(name: &[u8]) -> bool {
    has_sqlite(name) && name.windows(3).any(|part| part == b".so" || part == b".no")
}

fn has_sqlite(name: &[u8]) -> bool {
    name.windows(6)
        .any(|part| part.eq_ignore_ascii_case(b"sqlite"))
}

struct Look {
    left: usize,
    found: Vec<PathBuf>,
}

impl Look {
    fn names(&mut self, folder: &Path) -> Vec<OsString> {
        let Ok(entries) = fs::read_dir(folder) else {
            return Vec::new();
        };
        let names = entries.flatten().map(|one| one.file_name());
        let names: Vec<OsString> = names.take(self.left).collect();
        self.left -= names.len();
        names
    }

    /// Packages with SQLite in their name, also those of an owner: `@OWNER/PACKAGE`.
    fn packages(&mut self, folder: &Path) {
        for name in self.names(folder) {
            let bytes = name.as_bytes();
            if has_sqlite(bytes) {
                self.libraries(&folder.join(&name), DEEP);
            } else if bytes.starts_with(b"@") {
                self.packages(&folder.join(name));
            }
        }
    }

    fn libraries(&mut self, place: &Path, deep: usize) {
        if deep > 0 && place.is_dir() {
            for name in self.names(place) {
                self.libraries(&place.join(name), deep - 1);
            }
        } else if place
            .file_name()
            .is_some_and(|name| is_library(name.as_bytes()))
        {
            self.found.push(place.to_owned());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_near_a_command_are_found_by_the_names_of_their_libraries() {
        let root = std::env::temp_dir().join(format!("iowhy-libraries-{}", std::process::id()));
        let made = [
            "app/node_modules/better-sqlite3/build/Release/better_sqlite3.node",
            "node_modules/@owner/sqlite-fast/lib/binding/linux-x64/node_sqlite3.node",
            "venv/lib/python3.11/site-packages/pysqlite3/_sqlite3.cpython-311.so",
            "app/node_modules/better-sqlite3/build/Release/test_extension.node",
            "app/node_modules/other/build/sqlite.node",
            "app/src/index.js",
            "venv/bin/python",
        ];
        for file in made {
            let file = root.join(file);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, "").unwrap();
        }
        let line = format!("cd x && {}/venv/bin/python a.py", root.display());
        let words = ["sh".into(), "-c".into(), line.into(), "src/index.js".into()];
        let found = near(&words, &root.join("app"));
        let inside: Vec<&Path> = found
            .iter()
            .filter(|one| one.is_file())
            .filter_map(|one| one.strip_prefix(&root).ok())
            .collect();
        let wanted = [made[6], made[0], made[1], made[2]].map(Path::new);
        fs::remove_dir_all(&root).unwrap();
        assert_eq!(inside, wanted);
    }
}
