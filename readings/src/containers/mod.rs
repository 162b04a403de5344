//! Containers: which one a control group belongs to, and what its runtime wrote down of it.
//!
//! Nobody is asked: no daemon, no API. The name of a group tells the id, files of the runtimes (Docker, Podman, CRI-O,
//! containerd, runc, crun) tell the rest; where these are, the daemons' command lines tell ([`daemons`]). What these say may be anybody's words: see [`state`].

mod daemons;
mod find;
mod hierarchy;
mod lookup;
mod named;
mod runtimes;
mod state;

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use iowhy_store::{rows, Name};
use serde::{Deserialize, Serialize};

pub use find::{find, hidden, Wanted};
pub use hierarchy::Hierarchy;

use crate::mounts::Mounts;
use crate::reach::Silent;
use crate::Roots;
use lookup::Lookup;

/// Groups that are remembered.
const MOST: usize = 65_536;
/// A group of which no container was known is asked for again after this time: a runtime makes the group first and
/// writes down what is in it after that.
const AGAIN_NS: i64 = 50_000_000;

/// One container, or one unit of systemd (a service, or a scope such as a session's).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Container {
    pub id: String,
    pub name: Option<String>,
    pub image: Option<String>,
    /// docker, podman, containerd, cri-o, runc, crun, lxc, systemd; empty: not known.
    pub runtime: Name,
    pub pod: Option<String>,
    pub pod_namespace: Option<String>,
    /// Its control group on the hierarchy that counts.
    pub group: String,
}

impl Container {
    /// What it is called: NAMESPACE/POD/NAME if it is in a pod, else its name, its id where it has none.
    pub fn called(&self) -> String {
        let name = self.name.as_ref().unwrap_or(&self.id);
        let Some(pod) = &self.pod else {
            return name.clone();
        };
        let namespace = self.pod_namespace.as_deref();
        let parts = namespace.into_iter().chain([pod.as_str(), name.as_str()]);
        parts.collect::<Vec<_>>().join("/")
    }

    /// A scope of systemd: a session, or what a runtime will say is a container.
    fn is_scope(&self) -> bool {
        self.runtime == "systemd" && self.id.ends_with(".scope")
    }

    /// Its row.
    pub fn row(&self) -> rows::Containers {
        let name = |text: &Option<String>| text.clone().map(Name::Owned);
        rows::Containers {
            id: Name::Owned(self.id.clone()),
            name: name(&self.name),
            image: name(&self.image),
            runtime: (!self.runtime.is_empty()).then(|| self.runtime.clone()),
            pod: name(&self.pod),
            pod_namespace: name(&self.pod_namespace),
            cgroup: Name::Owned(self.group.clone()),
        }
    }
}

/// What is known of a group.
#[derive(Clone, Debug)]
enum Known {
    In(Arc<Container>),
    /// In no container, or in a scope of systemd alone, as far as could be seen at that time.
    SoFar {
        unit: Option<Arc<Container>>,
        asked_ns: i64,
    },
}

/// Finds the containers of control groups.
pub struct Containers {
    roots: Roots,
    hierarchy: Hierarchy,
    lookup: Lookup,
    /// The recorder sees the groups of the machine from their root: a group without a container's name is in none.
    whole_view: bool,
    by_number: HashMap<u64, String>,
    by_group: HashMap<String, Known>,
}

impl Containers {
    /// None where no control groups are mounted.
    pub fn new(roots: &Roots) -> Option<Containers> {
        let mounts = Mounts::read(roots).ok()?;
        let hierarchy = Hierarchy::of_machine(&mounts)?;
        Some(Containers::on(roots, hierarchy))
    }

    /// By one hierarchy.
    pub fn on(roots: &Roots, hierarchy: Hierarchy) -> Containers {
        Containers::by(Lookup::asked(roots), roots, hierarchy)
    }

    /// The same, where a filesystem that does not answer is waited for; the runtimes' files are looked for below `files`.
    pub(crate) fn here(roots: &Roots, hierarchy: Hierarchy, files: &Path) -> Containers {
        Containers::by(Lookup::here(roots, files), roots, hierarchy)
    }

    fn by(lookup: Lookup, roots: &Roots, hierarchy: Hierarchy) -> Containers {
        Containers {
            roots: roots.clone(),
            hierarchy,
            lookup,
            whole_view: is_first_namespace(roots),
            by_number: HashMap::new(),
            by_group: HashMap::new(),
        }
    }

    /// What Kubernetes may call this machine: its name in small letters, or what its kubelet was told.
    fn nodes(&mut self) -> Vec<String> {
        let own = crate::host::host(&self.roots).name;
        let own = own.map(|name| name.to_lowercase());
        own.into_iter()
            .chain(self.lookup.nodes(&self.hierarchy))
            .collect()
    }

    /// What its kubelet was told, and what the runtimes keep of a group.
    pub(crate) fn told_nodes(&mut self) -> Vec<String> {
        self.lookup.nodes(&self.hierarchy)
    }

    pub(crate) fn look_up(&mut self, group: &str) -> Option<Container> {
        self.lookup.container(&self.hierarchy, group)
    }

    /// The mounts whose silence hides what the runtimes keep; None: they answered.
    pub fn silent(&self) -> Option<&[Silent]> {
        self.lookup.is_silent().then(|| self.lookup.silent())
    }

    pub fn hierarchy(&self) -> &Hierarchy {
        &self.hierarchy
    }

    /// The container of a group by its number (the inode of its directory), or else by a process that is in it. None:
    /// not known; an inner None: in no container.
    pub fn of_number(
        &mut self,
        number: u64,
        tgid: i64,
        now_ns: i64,
    ) -> Option<Option<Arc<Container>>> {
        if !self.by_number.contains_key(&number) {
            let group = self
                .hierarchy
                .group_of_number(number)
                .or_else(|| self.group_of_process(tgid))?;
            if self.by_number.len() < MOST {
                self.by_number.insert(number, group.clone());
            }
            return self.of_group(&group, now_ns);
        }
        let group = self.by_number.get(&number)?.clone();
        self.of_group(&group, now_ns)
    }

    /// The container of a process as it is now.
    pub fn of_process(&mut self, tgid: i64, now_ns: i64) -> Option<Option<Arc<Container>>> {
        let group = self.group_of_process(tgid)?;
        self.of_group(&group, now_ns)
    }

    /// The container that a group lies in, the innermost.
    pub fn of_group(&mut self, group: &str, now_ns: i64) -> Option<Option<Arc<Container>>> {
        match self.by_group.get(group) {
            Some(Known::In(container)) => return Some(Some(container.clone())),
            Some(Known::SoFar { unit, asked_ns }) if now_ns - asked_ns < AGAIN_NS => {
                return unit
                    .clone()
                    .map_or_else(|| self.none(), |unit| Some(Some(unit)));
            }
            _ => {}
        }
        let found = self.look_up(group).map(Arc::new);
        if self.by_group.len() < MOST {
            let known = match &found {
                Some(container) if !container.is_scope() && !self.lookup.is_silent() => {
                    Known::In(container.clone())
                }
                unit => Known::SoFar {
                    unit: unit.clone(),
                    asked_ns: now_ns,
                },
            };
            self.by_group.insert(group.to_owned(), known);
        }
        match found {
            Some(container) => Some(Some(container)),
            None => self.none(),
        }
    }

    fn none(&self) -> Option<Option<Arc<Container>>> {
        self.whole_view.then_some(None)
    }

    fn group_of_process(&self, tgid: i64) -> Option<String> {
        let text = std::fs::read(self.roots.proc.join(format!("{tgid}/cgroup"))).ok()?;
        self.hierarchy.group_in(&text)
    }
}

/// The path up to its component `at`.
fn group_to(group: &str, at: usize) -> &str {
    let end = group.match_indices('/').nth(at + 1);
    end.map_or(group, |(end, _)| &group[..end])
}

/// Whether this process sees the control groups of the machine as they are, not a container's part.
fn is_first_namespace(roots: &Roots) -> bool {
    use std::os::unix::fs::MetadataExt;
    /// include/uapi/linux/nsfs.h, CGROUP_NS_INIT_INO
    const FIRST: u64 = 0xeffffffb;
    let ours = std::fs::metadata(roots.proc.join("self/ns/cgroup"));
    ours.is_ok_and(|ours| ours.ino() == FIRST)
}

#[cfg(test)]
mod tests;
