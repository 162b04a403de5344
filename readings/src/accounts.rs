//! Who is who on this machine. A static program cannot load the modules that nsswitch.conf(5) names (they are those of
//! another C library), so the files are read here, and getent(1) is asked for what is not in them (LDAP, systemd).

use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};

const PASSWD: &str = "/etc/passwd";
const GROUP: &str = "/etc/group";
/// In both places, with /usr merged; never looked for along PATH, as this may be root.
const GETENT: &str = "/usr/bin/getent";

/// One entry of passwd(5).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    pub name: String,
    pub uid: u32,
    pub gid: u32,
    pub home: PathBuf,
    pub shell: PathBuf,
}

/// The account of this name; None where there is none. Errors where /etc/passwd cannot be read.
pub fn by_name(name: &str) -> io::Result<Option<Account>> {
    let mut found = |entry: &Account| entry.name == name;
    look_up(name, &mut found)
}

/// The account of this number; of several the first.
pub fn by_uid(uid: u32) -> io::Result<Option<Account>> {
    let mut found = |entry: &Account| entry.uid == uid;
    look_up(&uid.to_string(), &mut found)
}

/// All groups of an account, its own among them (getgrouplist(3)).
pub fn groups_of(account: &Account) -> io::Result<Vec<u32>> {
    let mut groups = match asked("initgroups", &account.name) {
        // The name, then the numbers.
        Some(line) => String::from_utf8_lossy(&line)
            .split_ascii_whitespace()
            .skip(1)
            .filter_map(|word| word.parse().ok())
            .collect(),
        None => groups_in(&read(GROUP)?, &account.name),
    };
    groups.retain(|&gid| gid != account.gid);
    groups.insert(0, account.gid);
    groups.dedup();
    Ok(groups)
}

fn look_up(key: &str, found: &mut dyn FnMut(&Account) -> bool) -> io::Result<Option<Account>> {
    if let Some(account) = first_in(&read(PASSWD)?, found) {
        return Ok(Some(account));
    }
    Ok(asked("passwd", key).and_then(|line| first_in(&line, found)))
}

/// A machine without the file knows nobody.
fn read(path: &str) -> io::Result<Vec<u8>> {
    match std::fs::read(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        other => other,
    }
}

/// What getent(1) prints; None where it is not there or finds nothing.
fn asked(database: &str, key: &str) -> Option<Vec<u8>> {
    if key.is_empty() || key.starts_with('-') {
        return None;
    }
    let done = Command::new(GETENT)
        .args([database, key])
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()
        .ok()?;
    done.status.success().then_some(done.stdout)
}

fn first_in(text: &[u8], found: &mut dyn FnMut(&Account) -> bool) -> Option<Account> {
    text.split(|&byte| byte == b'\n')
        .filter_map(account)
        .find(|entry| found(entry))
}

/// A line of passwd(5): name, password, uid, gid, comment, home, shell. None for any other (comments, NIS' `+`).
fn account(line: &[u8]) -> Option<Account> {
    let fields: Vec<&[u8]> = line.split(|&byte| byte == b':').collect();
    let [name, _, uid, gid, _, home, shell] = fields[..] else {
        return None;
    };
    let path = |bytes: &[u8]| PathBuf::from(OsString::from_vec(bytes.to_vec()));
    // An empty shell is this one (passwd(5)).
    let shell = if shell.is_empty() { b"/bin/sh" } else { shell };
    Some(Account {
        name: String::from_utf8(name.to_vec()).ok()?,
        uid: number(uid)?,
        gid: number(gid)?,
        home: path(home),
        shell: path(shell),
    })
}

/// Of the lines of group(5), those that have this member.
fn groups_in(text: &[u8], name: &str) -> Vec<u32> {
    text.split(|&byte| byte == b'\n')
        .filter_map(|line| {
            let fields: Vec<&[u8]> = line.split(|&byte| byte == b':').collect();
            let [_, _, gid, members] = fields[..] else {
                return None;
            };
            let is_in = members.split(|&b| b == b',').any(|m| m == name.as_bytes());
            is_in.then(|| number(gid)).flatten()
        })
        .collect()
}

fn number(digits: &[u8]) -> Option<u32> {
    std::str::from_utf8(digits).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everybody_is_who_the_c_library_says() {
        for line in read(PASSWD).unwrap().split(|&b| b == b'\n') {
            let Some(entry) = account(line) else { continue };
            let found = by_name(&entry.name).unwrap().unwrap();
            let truth = nix::unistd::User::from_name(&entry.name).unwrap().unwrap();
            let said = (truth.uid.as_raw(), truth.gid.as_raw(), truth.dir);
            assert_eq!((found.uid, found.gid, found.home.clone()), said);
            let name = std::ffi::CString::new(entry.name.as_str()).unwrap();
            let truth = nix::unistd::getgrouplist(&name, truth.gid).unwrap();
            let mut truth: Vec<u32> = truth.iter().map(|gid| gid.as_raw()).collect();
            let mut groups = groups_of(&found).unwrap();
            assert_eq!(groups[0], found.gid);
            groups.sort_unstable();
            truth.sort_unstable();
            assert_eq!(groups, truth, "{}", entry.name);
        }
        assert_eq!(by_uid(0).unwrap().unwrap().uid, 0);
        assert_eq!(by_name("nobody of this name").unwrap(), None);
        // A number is no name, nor is an option.
        assert_eq!(by_name("0").unwrap(), None);
        assert_eq!(by_name("--help").unwrap(), None);
    }

    #[test]
    fn lines_that_are_no_entries_are_passed_over() {
        let text = b"# of ours\n+::::::\nx:y\n\nbad:x:minus:5::/:/bin/sh\nweb:x:33:34:WWW:/srv/www:\nweb:x:1:1::/:/x";
        let found = first_in(text, &mut |entry| entry.name == "web").unwrap();
        let (home, shell) = ("/srv/www".into(), "/bin/sh".into());
        let name = "web".to_owned();
        assert_eq!(
            found,
            Account {
                name,
                uid: 33,
                gid: 34,
                home,
                shell
            }
        );
        let groups = b"a:x:5:web,db\nb:x:6:webs\nc:x:7:db,web\nd:x:8:\n:::\ne:x:no:web";
        assert_eq!(groups_in(groups, "web"), [5, 7]);
    }
}
