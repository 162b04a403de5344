//! Titles of processes: what they wrote over their arguments (setproctitle(3)), by which ps and top name them.
//!
//! Arguments end with a NUL each (proc_pid_cmdline(5)); a title is one string over all of them. Arguments may hold secrets, so of a
//! string nothing is kept from the first word on that is an option, a path or a setting; what is left is a title if it has two words.
//! Some write into it what they do just now (`postgres: app shop [local] idle`): of several titles of a process the words count that
//! all begin with, if these are two.

use std::collections::HashMap;
use std::fs::File;
use std::io::Read;
use std::path::PathBuf;

use crate::aside::Aside;
use crate::names::escaped;
use crate::Roots;

/// Bytes of the arguments that are read.
const READ: u64 = 512;
/// Characters of a title that are kept.
const KEPT: usize = 100;
/// A process that has just been forked has its parent's title: it is read again soon, and less and less often.
const SOON_NS: i64 = 50_000_000;
const LATER_NS: i64 = 1_000_000_000;
/// Processes that keep a reader waiting before no other is asked.
const HELD_MOST: usize = 4;

/// The title that the file cmdline of a process has; `comm` is the name of its first thread.
pub fn title(cmdline: &[u8], comm: &str) -> Option<String> {
    let end = cmdline.iter().rposition(|&byte| byte > b' ')?;
    let text = &cmdline[..=end];
    if text.contains(&0) {
        return None;
    }
    let text = escaped(text);
    // The path of a program may have blanks; of its name the kernel keeps 15 bytes (TASK_COMM_LEN).
    let is_path = text.starts_with(['/', '.']);
    if is_path && last(&text).bytes().take(15).eq(comm.bytes()) {
        return None;
    }
    let mut words = text.split_whitespace();
    let first = last(words.next()?);
    let rest = words.take_while(|word| !is_argument(word));
    let words: Vec<&str> = std::iter::once(first).chain(rest).collect();
    let is_title = words.len() > 1 && !is_argument(first);
    is_title.then(|| words.join(" ").chars().take(KEPT).collect())
}

fn last(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or_default()
}

fn is_argument(word: &str) -> bool {
    let bare = word.trim_start_matches(['(', '[', '{', '<', '"', '\'']);
    bare.starts_with(['-', '/', '~']) || bare.starts_with("./") || bare.contains('=')
}

/// The titles of the processes that are watched.
#[derive(Debug)]
pub struct Titles {
    proc: PathBuf,
    aside: Aside<(i64, PathBuf), (i64, Said)>,
    known: HashMap<i64, Known>,
}

/// None: it has ended, or has no arguments.
type Said = Option<Option<String>>;

#[derive(Debug)]
struct Known {
    first_ns: i64,
    next_ns: i64,
    /// The first reading may have been its parent's.
    is_first: bool,
    title: Option<String>,
}

impl Known {
    fn read(&mut self, title: Option<String>) {
        let kept = match (&self.title, &title) {
            (Some(before), Some(now)) if !self.is_first => in_common(before, now),
            _ => None,
        };
        self.is_first = false;
        self.title = kept.or(title);
    }
}

/// The words that two titles begin with.
fn in_common(one: &str, other: &str) -> Option<String> {
    let both = one.split(' ').zip(other.split(' '));
    let words: Vec<&str> = both.take_while(|(a, b)| a == b).map(|(a, _)| a).collect();
    (words.len() > 1).then(|| words.join(" "))
}

fn read((tgid, at): (i64, PathBuf)) -> (i64, Said) {
    let mut cmdline = Vec::new();
    let file = File::open(at.join("cmdline"));
    let done = file.and_then(|file| file.take(READ).read_to_end(&mut cmdline));
    if done.is_err() || cmdline.is_empty() {
        return (tgid, None);
    }
    let comm = std::fs::read(at.join("comm")).unwrap_or_default();
    (tgid, Some(title(&cmdline, &escaped(comm.trim_ascii_end()))))
}

impl Titles {
    pub fn new(roots: &Roots) -> Titles {
        Titles {
            proc: roots.proc.clone(),
            aside: Aside::new(read),
            known: HashMap::new(),
        }
    }

    /// Reads those of these processes that are due.
    pub fn look(&mut self, now_ns: i64, tgids: impl IntoIterator<Item = i64>) {
        let mut due = Vec::new();
        for tgid in tgids {
            let known = self.known.entry(tgid).or_insert(Known {
                first_ns: now_ns,
                next_ns: now_ns,
                is_first: true,
                title: None,
            });
            if known.next_ns <= now_ns {
                known.next_ns = now_ns + (now_ns - known.first_ns).clamp(SOON_NS, LATER_NS);
                due.push(tgid);
            }
        }
        for (tgid, said) in self.ask(due) {
            if let (Some(known), Some(title)) = (self.known.get_mut(&tgid), said) {
                known.read(title);
            }
        }
    }

    /// The same of all of these, at the end.
    pub fn last(&mut self, tgids: impl IntoIterator<Item = i64>) {
        for known in self.known.values_mut() {
            known.next_ns = i64::MIN;
        }
        self.look(0, tgids);
    }

    /// The title of one that is not watched, as it is now.
    pub fn now(&mut self, tgid: i64) -> Option<String> {
        let said = self.ask(vec![tgid]);
        said.into_iter().find(|(of, _)| *of == tgid)?.1?
    }

    /// The last one of a process that has ended, which is then forgotten.
    pub fn take(&mut self, tgid: i64) -> Option<String> {
        self.aside.forget(tgid);
        self.known.remove(&tgid)?.title
    }

    fn ask(&mut self, tgids: Vec<i64>) -> Vec<(i64, Said)> {
        if self.aside.held() >= HELD_MOST || tgids.is_empty() {
            return Vec::new();
        }
        let at = |tgid: i64| (tgid, (tgid, self.proc.join(tgid.to_string())));
        let asked: Vec<_> = tgids.into_iter().map(at).collect();
        self.aside.ask(asked)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles_and_what_is_none() {
        let cases: Vec<(String, String, Option<String>)> =
            serde_json::from_str(include_str!("../tests/titles.json")).unwrap();
        for (cmdline, comm, expected) in cases {
            assert_eq!(title(cmdline.as_bytes(), &comm), expected, "{cmdline:?}");
        }
        let long = title(&b"name word\xff ".repeat(40), "name").unwrap();
        assert_eq!(long.chars().count(), KEPT);
    }

    #[test]
    fn a_title_is_read_again_and_who_does_not_answer_costs_no_other_its_own() {
        let made = tempfile::tempdir().unwrap();
        let roots = Roots {
            proc: made.path().into(),
            sys: made.path().into(),
            ..Roots::default()
        };
        let put = |pid: i64, title: &str| {
            let at = made.path().join(pid.to_string());
            std::fs::create_dir_all(&at).unwrap();
            std::fs::write(at.join("comm"), "php-fpm\n").unwrap();
            std::fs::write(at.join("cmdline"), title).unwrap();
        };
        put(1, "php-fpm: master process (/etc/php-fpm.conf)\0\0");
        let silent = made.path().join("2");
        std::fs::create_dir_all(&silent).unwrap();
        nix::unistd::mkfifo(&silent.join("cmdline"), nix::sys::stat::Mode::S_IRUSR).unwrap();
        let mut titles = Titles::new(&roots);
        titles.look(0, [1, 2]);
        assert_eq!(
            titles.known[&1].title.as_deref(),
            Some("php-fpm: master process")
        );
        put(1, "php-fpm: pool www\0\0");
        titles.look(SOON_NS - 1, [1]);
        assert_eq!(
            titles.known[&1].title.as_deref(),
            Some("php-fpm: master process")
        );
        titles.look(SOON_NS, [1]);
        put(1, "php-fpm: pool www idle\0");
        titles.last([1]);
        // A zombie has none: the last one stays.
        put(1, "");
        titles.last([1, 2]);
        assert_eq!(
            (titles.take(1).as_deref(), titles.take(2)),
            (Some("php-fpm: pool www"), None)
        );
        assert_eq!((titles.take(1), titles.now(1)), (None, None));
        put(1, "nginx: worker process\0");
        assert_eq!(titles.now(1).as_deref(), Some("nginx: worker process"));
    }
}
