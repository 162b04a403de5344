//! What `iowhy-record` does for who types it, where `iowhy` itself is not installed: a name for the recording, the user
//! behind sudo, and the word about what to do next.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use iowhy_readings::{accounts, messages};
use iowhy_recorder::process::owner;

pub const EXAMPLES: &str = "\
Examples, as root (otherwise only what /proc says is recorded):
  iowhy-record run -- fio job.fio                  a command, in fio.iowhy/
  iowhy-record attach --pid 4711 --duration 30     what runs already, for 30 s
  iowhy-record group --container web               a container; Ctrl-C ends it
  iowhy-record machine -o night.iowhy --duration 600

This program needs nothing else on the machine, no Python either. Take the recording to where iowhy is
installed (scp -r fio.iowhy laptop:), and `iowhy why fio.iowhy` says why it was slow. From there the
whole is one command: iowhy run --on HOST -- fio job.fio";

/// A directory that there is not yet: STEM.iowhy, STEM-2.iowhy, …
pub fn free_name(named_after: &OsStr) -> PathBuf {
    let base = Path::new(named_after).file_name().unwrap_or(named_after);
    let keep = |c: char| c.is_ascii_alphanumeric() || "._+-".contains(c);
    let stem: String = base
        .to_string_lossy()
        .chars()
        .map(|c| if keep(c) { c } else { '_' })
        .collect();
    let mut path = PathBuf::from(format!("{stem}.iowhy"));
    let mut number = 2;
    while path.symlink_metadata().is_ok() {
        path = format!("{stem}-{number}.iowhy").into();
        number += 1;
    }
    path
}

/// Through sudo the recording is the caller's; gives their name, for the command to be theirs too. None where `iowhy` has
/// called, which has said whose both are.
pub fn user_behind_sudo() -> Option<String> {
    if std::env::var_os(owner::VARIABLE).is_some() || std::env::var_os("SUDO_UID")? == "0" {
        return None;
    }
    let name = std::env::var("SUDO_USER").ok()?;
    let account = accounts::by_name(&name).ok()??;
    let groups = accounts::groups_of(&account).ok()?;
    // Before any thread is started: main has not begun with its work.
    let groups: Vec<String> = groups.iter().map(u32::to_string).collect();
    let named = format!("{}:{}:{}", account.uid, account.gid, groups.join(","));
    std::env::set_var(owner::VARIABLE, named);
    Some(account.name)
}

/// Where the recording is, who can read it, and what it lacks where no programs ran although they might have (`asked`).
pub fn say_where(out: &Path, asked: bool) {
    let manifest = std::fs::read(out.join("manifest.json"));
    if let Ok(manifest) = manifest {
        if let Some(why) = why_from_proc(&manifest).filter(|_| asked) {
            messages::say(&format!(
                "recorded from /proc alone, without calls and requests: {why}"
            ));
        }
        let name = out.to_string_lossy();
        messages::say(&format!(
            "recorded in {name}; where iowhy is installed, `iowhy why {name}` says why it was slow"
        ));
    }
}

/// Why no programs ran, of a recording from /proc alone.
fn why_from_proc(manifest: &[u8]) -> Option<String> {
    let manifest: serde_json::Value = serde_json::from_slice(manifest).ok()?;
    if manifest["source"] != "proc" {
        return None;
    }
    let sensors = manifest["sensors"].as_array()?;
    let calls = sensors.iter().find(|one| one["name"] == "syscalls")?;
    calls["why"].as_str().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::why_from_proc;

    #[test]
    fn why_there_were_no_programs_is_said_of_recordings_from_proc() {
        let sensors = r#""sensors":[{"name":"waits","ran":false,"why":"x"},{"name":"syscalls","ran":false,"why":"only root"}]"#;
        let of = |source: &str| {
            why_from_proc(format!(r#"{{"source":"{source}",{sensors}}}"#).as_bytes())
        };
        assert_eq!(of("proc").as_deref(), Some("only root"));
        assert_eq!(of("live"), None);
        assert_eq!(why_from_proc(b"{"), None);
    }
}
