//! Where the runtimes that run keep what they know, which may be elsewhere than usual: their daemons' command lines say so, or the
//! configuration that these name. Only root's daemons count, of this mount namespace or the machine's: another could name any directory.

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
        let Some((name, words, at)) = daemon(proc, &process) else {
            continue;
        };
        match name.as_str() {
            "dockerd" => kept.docker.extend(docker(state, &words, &at)),
            "containerd" => kept.containerd.extend(containerd(state, &words, &at)),
            "conmon" => kept.storage.extend(storage(&words)),
            _ => kept.nodes.extend(value(&words, &["--hostname-override"])),
        }
    }
    kept.docker.extend(docker(state, &[], Path::new("/")));
    kept.containerd
        .extend(containerd(state, &[], Path::new("/")));
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

/// The name, words and working directory of a process that is a daemon whose word counts.
fn daemon(proc: &Path, process: &str) -> Option<(String, Vec<String>, PathBuf)> {
    let of = |process: &str, file: &str| proc.join(process).join(file);
    let name = std::fs::read_to_string(of(process, "comm")).ok()?;
    let name = name.trim_end();
    if !matches!(name, "dockerd" | "containerd" | "conmon" | "kubelet") {
        return None;
    }
    // Files of /proc are root's where a user's process asks for that: its status tells whose it is.
    let status = std::fs::read_to_string(of(process, "status")).ok()?;
    let user = status.lines().find_map(|line| line.strip_prefix("Uid:"))?;
    let here = |process| std::fs::read_link(of(process, "ns/mnt")).ok();
    let theirs = here(process);
    let known = user.split_whitespace().all(|id| id == "0")
        && (theirs == here("self") || theirs == here("1"));
    let words = std::fs::read(of(process, "cmdline")).ok()?;
    let words = words.split(|b| *b == 0).map(String::from_utf8_lossy);
    let at = std::fs::read_link(of(process, "cwd")).unwrap_or_default();
    known.then(|| (name.to_owned(), words.map(Into::into).collect(), at))
}

/// A path that a daemon was given, which may be relative to where it was started.
fn path(words: &[String], at: &Path, names: &[&str]) -> Option<String> {
    Some(at.join(value(words, names)?).to_str()?.to_owned())
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

fn docker(state: &State, words: &[String], at: &Path) -> Option<String> {
    #[derive(Default, Deserialize)]
    #[serde(default, rename_all = "kebab-case")]
    struct Daemon {
        data_root: Option<String>,
        graph: Option<String>,
    }
    path(words, at, &["--data-root", "-g", "--graph"]).or_else(|| {
        let file = path(words, at, &["--config-file"]).unwrap_or_else(|| DOCKER_FILE.into());
        let (base, name) = split(state, &file)?;
        let daemon: Daemon = json(&base, &name)?;
        daemon.data_root.or(daemon.graph)
    })
}

fn containerd(state: &State, words: &[String], at: &Path) -> Option<String> {
    path(words, at, &["--state"]).or_else(|| {
        let file = path(words, at, &["--config", "-c"]).unwrap_or_else(|| CONTAINERD_FILE.into());
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

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn write(root: &Path, path: &str, text: &str) {
        let path = root.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    #[test]
    fn a_directory_of_the_daemons_choice_is_found_by_the_daemon_that_runs() {
        let tree = tempfile::tempdir().unwrap();
        let (root, proc) = (tree.path(), tree.path().join("proc"));
        for (pid, name, line) in [
            (7, "dockerd", "dockerd\0--data-root\0/x/docker\0"),
            (8, "dockerd", "dockerd\0--config-file=/x/d.json\0"),
            (9, "containerd", "containerd\0-c\0c.toml\0"),
            (
                10,
                "conmon",
                "conmon\0-b\0/x/s/vfs-containers/ID/userdata\0",
            ),
            (11, "kubelet", "kubelet\0--hostname-override=blue\0"),
            (12, "other", "dockerd\0--data-root\0/x/other\0"),
        ] {
            write(&proc, &format!("{pid}/comm"), &format!("{name}\n"));
            write(&proc, &format!("{pid}/cmdline"), line);
            write(&proc, &format!("{pid}/status"), "Uid:\t0\t0\t0\t0\n");
        }
        symlink("/x", proc.join("9/cwd")).unwrap();
        write(root, "x/d.json", r#"{"data-root": "/x/more"}"#);
        write(
            root,
            "x/c.toml",
            "version = 2\nstate = \"/x/state\"\n[grpc]\nstate = \"/no\"\n",
        );
        let found = kept(&State::new(root), &proc);
        assert_eq!(found.docker, ["/x/docker", "/x/more"]);
        assert_eq!(found.containerd, ["/x/state"]);
        assert_eq!(found.storage, ["/x/s"]);
        assert_eq!(found.nodes, ["blue"]);
        // Another mount namespace's may name what is not the machine's.
        std::fs::create_dir_all(proc.join("7/ns")).unwrap();
        symlink("mnt:[2]", proc.join("7/ns/mnt")).unwrap();
        let found = kept(&State::new(root), &proc);
        assert_eq!(found.docker, ["/x/more"]);
        write(&proc, "8/status", "Uid:\t1000\t0\t0\t0\n");
        assert!(kept(&State::new(root), &proc).docker.is_empty());
    }
}
