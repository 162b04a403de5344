//! Where the runtimes that run keep what they know, which may be elsewhere than usual: their daemons' command lines say so, or the
//! configuration that these name. Only root's daemons count, of this mount namespace or the machine's: another could name any directory.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::state::{json, plain, State};

const DOCKER_FILE: &str = "/etc/docker/daemon.json";
const CONTAINERD_FILE: &str = "/etc/containerd/config.toml";
/// Processes that are looked at.
const MOST: usize = 65_536;

/// Directories, as the daemons name them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Kept {
    /// Docker's: `containers/ID/config.v2.json`
    pub docker: Vec<String>,
    /// containerd's: `io.containerd.runtime.v2.task/NAMESPACE/ID/config.json`
    pub containerd: Vec<String>,
    /// Podman's and CRI-O's: `DRIVER-containers/ID/userdata/config.json`
    pub storage: Vec<String>,
    /// What Kubernetes calls this machine, where its kubelet was told.
    pub nodes: Vec<String>,
}

/// What the daemons of a machine say; with the places that files name whether a daemon runs or not.
pub fn kept(state: &State, proc: &Path) -> Kept {
    let mut kept = Kept::default();
    for process in processes(proc) {
        let Some((name, words)) = daemon(proc, &process) else {
            continue;
        };
        match name.as_str() {
            "dockerd" => kept.docker.extend(docker(state, &words)),
            "containerd" => kept.containerd.extend(containerd(state, &words)),
            "conmon" => kept.storage.extend(storage(&words)),
            _ => kept.nodes.extend(value(&words, &["--hostname-override"])),
        }
    }
    kept.docker.extend(docker(state, &[]));
    kept.containerd.extend(containerd(state, &[]));
    for all in [&mut kept.docker, &mut kept.containerd, &mut kept.storage] {
        all.sort();
        all.dedup();
    }
    kept
}

fn processes(proc: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(proc).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    names
        .filter(|name| name.bytes().all(|b| b.is_ascii_digit()))
        .take(MOST)
        .collect()
}

/// The name and the words of a process that is a daemon whose word counts.
fn daemon(proc: &Path, process: &str) -> Option<(String, Vec<String>)> {
    let of = |process: &str, file: &str| proc.join(process).join(file);
    let name = std::fs::read_to_string(of(process, "comm")).ok()?;
    let name = name.trim_end();
    if !matches!(name, "dockerd" | "containerd" | "conmon" | "kubelet") {
        return None;
    }
    let root = std::fs::metadata(of("self", "mountinfo")).ok()?.uid();
    let here = |process| std::fs::read_link(of(process, "ns/mnt")).ok();
    let theirs = here(process);
    let known = std::fs::metadata(of(process, "comm")).ok()?.uid() == root
        && (theirs == here("self") || theirs == here("1"));
    let words = std::fs::read(of(process, "cmdline")).ok()?;
    let words = words.split(|b| *b == 0).map(String::from_utf8_lossy);
    known.then(|| (name.to_owned(), words.map(Into::into).collect()))
}

/// The value of an option: `--NAME VALUE` or `--NAME=VALUE`, the last one.
fn value(words: &[String], names: &[&str]) -> Option<String> {
    let found = words.iter().enumerate().rev().find_map(|(at, word)| {
        let (name, value) = match word.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (word.as_str(), words.get(at + 1).cloned()),
        };
        names.contains(&name).then_some(value)?
    });
    found.filter(|value| !value.is_empty())
}

fn docker(state: &State, words: &[String]) -> Option<String> {
    #[derive(Default, Deserialize)]
    #[serde(default, rename_all = "kebab-case")]
    struct Daemon {
        data_root: Option<String>,
        graph: Option<String>,
    }
    value(words, &["--data-root", "-g", "--graph"]).or_else(|| {
        let file = value(words, &["--config-file"]).unwrap_or_else(|| DOCKER_FILE.into());
        let (base, name) = split(state, &file)?;
        let daemon: Daemon = json(&base, &name)?;
        daemon.data_root.or(daemon.graph)
    })
}

fn containerd(state: &State, words: &[String]) -> Option<String> {
    value(words, &["--state"]).or_else(|| {
        let file = value(words, &["--config", "-c"]).unwrap_or_else(|| CONTAINERD_FILE.into());
        let (base, name) = split(state, &file)?;
        let text = String::from_utf8(plain(&base, &name)?).ok()?;
        // A key of the file itself is above its first table.
        let own = text.lines().take_while(|line| !line.starts_with('['));
        own.filter_map(|line| line.split_once('='))
            .find_map(|(key, value)| {
                let value = value.trim().trim_matches(['"', '\'']);
                (key.trim() == "state").then(|| value.to_owned())
            })
    })
}

/// What looks after a container is given its bundle: STORAGE/DRIVER-containers/ID/userdata.
fn storage(words: &[String]) -> Option<String> {
    let bundle = PathBuf::from(value(words, &["-b", "--bundle"])?);
    Some(bundle.ancestors().nth(3)?.to_str()?.to_owned())
}

/// The directory of a file, and its name there.
fn split(state: &State, file: &str) -> Option<(PathBuf, String)> {
    let file = Path::new(file);
    let base = state.base(file.parent()?.to_str()?)?;
    Some((base, file.file_name()?.to_str()?.to_owned()))
}
