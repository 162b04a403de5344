//! From what a user calls a control group, a container or a pod to the groups that are meant.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use super::{Container, Containers, Hierarchy};
use crate::mounts::Mounts;
use crate::reach::{Silent, PATIENCE};
use crate::Roots;

/// What is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// A directory of the control groups' filesystem, or a path as /proc/PID/cgroup has it.
    Group(String),
    /// Name, NAMESPACE/POD/NAME, id or the beginning of an id (four characters at least); a service of systemd.
    Container(String),
    /// Name, or NAMESPACE/NAME.
    Pod(String),
}

/// Names of what there is that an error lists.
const LISTED: usize = 12;

/// The hierarchy and the groups on it; an error says what there is instead.
pub fn find(roots: &Roots, wanted: &Wanted) -> Result<(Hierarchy, Vec<String>), String> {
    let mounts = Mounts::read(roots).map_err(|error| error.to_string())?;
    let none = || "no control groups are mounted here (/sys/fs/cgroup)".to_owned();
    let machine = Hierarchy::of_machine(&mounts).ok_or_else(none);
    if let Wanted::Group(path) = wanted {
        return group(&mounts, machine?, path);
    }
    let hierarchy = machine?;
    let mut containers = Containers::on(roots, hierarchy.clone());
    let nodes = containers.nodes();
    let all = all(&mut containers);
    let found = groups_on(all, wanted, &nodes).map_err(|error| match containers.silent() {
        Some(silent) => format!("{error}; {}", hidden(silent)),
        None => error,
    })?;
    Ok((hierarchy, found))
}

/// The groups of those that are meant. A static pod has its node's name behind its own: who asks for it, or for a container in it, need
/// not say that.
pub(super) fn groups_on(
    all: Vec<Arc<Container>>,
    wanted: &Wanted,
    nodes: &[String],
) -> Result<Vec<String>, String> {
    let found = groups_of(all.clone(), wanted);
    if found.is_ok() {
        return found;
    }
    let statics = nodes
        .iter()
        .filter_map(|node| with_node(wanted, node))
        .find_map(|wanted| groups_of(all.clone(), &wanted).ok());
    statics.map_or(found, Ok)
}

fn with_node(wanted: &Wanted, node: &str) -> Option<Wanted> {
    match wanted {
        Wanted::Group(_) => None,
        Wanted::Pod(pod) => Some(Wanted::Pod(format!("{pod}-{node}"))),
        Wanted::Container(called) => {
            let (pod, name) = called.rsplit_once('/')?;
            Some(Wanted::Container(format!("{pod}-{node}/{name}")))
        }
    }
}

/// What is said of files that did not answer.
pub fn hidden(silent: &[Silent]) -> String {
    let of = |one: &Silent| format!(" on {} ({})", one.mount, one.kind);
    let places: String = silent.iter().map(of).collect();
    let seconds = PATIENCE.as_secs();
    format!("the container runtimes' files{places} did not answer within {seconds} s: names of containers are missing")
}

fn group(
    mounts: &Mounts,
    machine: Hierarchy,
    path: &str,
) -> Result<(Hierarchy, Vec<String>), String> {
    let lacking = || {
        format!("--cgroup {path}: there is no such control group; `systemd-cgls` and /sys/fs/cgroup show those that there are")
    };
    let asked = Path::new(path);
    if let Ok(directory) = asked.canonicalize() {
        if let Some(hierarchy) = Hierarchy::of_directory(mounts, &directory) {
            let group = hierarchy.group_of(&directory).ok_or_else(lacking)?;
            hierarchy.number(&group).ok_or_else(lacking)?;
            return Ok((hierarchy, vec![group]));
        }
        if directory.starts_with("/sys/fs/cgroup") {
            return Err(format!(
                "--cgroup {path}: not a control group on a hierarchy with a controller"
            ));
        }
    }
    let group = format!("/{}", path.trim_matches('/'));
    machine.number(&group).ok_or_else(lacking)?;
    Ok((machine, vec![group]))
}

/// Every container that runs, each once, by its outermost group.
fn all(containers: &mut Containers) -> Vec<Arc<Container>> {
    let hierarchy = containers.hierarchy().clone();
    let mut found: BTreeMap<(String, String), Arc<Container>> = BTreeMap::new();
    hierarchy.walk(&hierarchy.top(), &mut |group, _| {
        if let Some(Some(container)) = containers.of_group(group, 0) {
            let key = (container.id.clone(), container.group.clone());
            found.entry(key).or_insert(container);
        }
    });
    found.into_values().collect()
}

fn groups_of(all: Vec<Arc<Container>>, wanted: &Wanted) -> Result<Vec<String>, String> {
    match wanted {
        Wanted::Group(path) => Ok(vec![path.clone()]),
        Wanted::Container(asked) => one(all, asked).map(|container| vec![container.group.clone()]),
        Wanted::Pod(asked) => {
            let of_pod = |container: &&Arc<Container>| is_pod(container, asked);
            let groups: Vec<String> = all.iter().filter(of_pod).map(|c| c.group.clone()).collect();
            match groups.is_empty() {
                true => Err(format!(
                    "--pod {asked}: no such pod{}",
                    listed(
                        "\"kubectl get pods -A\"",
                        all.iter().filter_map(|c| c.pod.clone())
                    )
                )),
                false => Ok(together(groups, asked)),
            }
        }
    }
}

fn one(all: Vec<Arc<Container>>, asked: &str) -> Result<Arc<Container>, String> {
    let named = |container: &&Arc<Container>| {
        container.id == asked
            || container.name.as_deref() == Some(asked)
            || container.called() == asked
            || container.runtime == "systemd"
                && container.id.strip_suffix(".service") == Some(asked)
    };
    let begins = |container: &&Arc<Container>| {
        container.runtime != "systemd" && asked.len() >= 4 && container.id.starts_with(asked)
    };
    let mut found: Vec<_> = all.iter().filter(named).collect();
    if found.is_empty() {
        found = all.iter().filter(begins).collect();
    }
    match found.as_slice() {
        [one] => Ok((*one).clone()),
        [] => {
            let others = all.iter().filter(|c| c.runtime != "systemd");
            Err(format!(
                "--container {asked}: no container or service of that name runs here{}",
                listed("\"docker ps\" or \"systemctl\"", others.map(|c| c.called()))
            ))
        }
        several => Err(format!(
            "--container {asked}: that may be {}",
            joined(several.iter().map(|c| told_apart(c)))
        )),
    }
}

/// What it is called and its id, as long as `--container` needs it.
fn told_apart(container: &Container) -> String {
    let id: String = container.id.chars().take(12).collect();
    format!("{} ({id})", container.called())
}

fn is_pod(container: &Container, asked: &str) -> bool {
    let Some(pod) = container.pod.as_deref() else {
        return false;
    };
    let in_space = asked.split_once('/').is_some_and(|(space, name)| {
        name == pod && Some(space) == container.pod_namespace.as_deref()
    });
    pod == asked || in_space
}

/// The group of the pod where all lie in one: containers that it starts later do, too.
fn together(groups: Vec<String>, pod: &str) -> Vec<String> {
    let above = |group: &String| group.rsplit_once('/').map(|(above, _)| above.to_owned());
    let first = groups.first().and_then(above).unwrap_or_default();
    let is_pods = first.rsplit('/').next().is_some_and(|name| {
        // Podman's own, which holds its containers of no pod too.
        let of_id = pod.len() >= 12 && name.starts_with(pod);
        name != "libpod_parent" && (name.contains("pod") || of_id)
    });
    if is_pods
        && groups
            .iter()
            .all(|group| above(group).as_ref() == Some(&first))
    {
        return vec![first];
    }
    groups
}

/// `; there are a, b and 3 more`, or where to look.
fn listed(place: &str, names: impl Iterator<Item = String>) -> String {
    let text = joined(names);
    let known = match text.is_empty() {
        true => format!("see {place}"),
        false => format!("there are {text}"),
    };
    let rights = match nix::unistd::geteuid().is_root() {
        true => "",
        false => "; some may be hidden: try --sudo",
    };
    format!("; {known}{rights}")
}

fn joined(names: impl Iterator<Item = String>) -> String {
    let mut all: Vec<String> = names.collect();
    all.sort_unstable();
    all.dedup();
    let more = all.len().saturating_sub(LISTED);
    let shown = all[..all.len() - more].join(", ");
    match more {
        0 => shown,
        _ => format!("{shown} and {more} more"),
    }
}
