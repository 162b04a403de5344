//! What each runtime writes down of its containers.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::Deserialize;

use super::daemons::{self, Kept};
use super::named::MadeBy;
use super::state::{entries, json, text, State};
use super::{Container, Hierarchy};
use crate::accounts;

/// Where Docker keeps its containers, unless it says otherwise.
const DOCKER: [&str; 2] = ["/var/lib/docker", "/var/snap/docker/common/var-lib-docker"];
/// containerd's state (k3s' and RKE2's, whose configuration a pod does not see), and its tasks in there: NAMESPACE/ID/config.json
const CONTAINERD: [&str; 2] = ["/run/containerd", "/run/k3s/containerd"];
const TASKS: &str = "io.containerd.runtime.v2.task";
/// Containers of containers/storage (Podman, CRI-O): DRIVER-containers/containers.json
const STORAGE: &str = "/var/lib/containers/storage";
/// The same of a user, below their home.
const USER_STORAGE: &str = ".local/share/containers/storage";
/// The bundles of Podman and CRI-O: DRIVER-containers/ID/userdata/config.json
const BUNDLES: &str = "/run/containers/storage";
const DRIVERS: [&str; 5] = ["overlay", "vfs", "btrfs", "zfs", "fuse-overlayfs"];
/// Where runc keeps the states of containers (ID/state.json), by whom it works for; `*` is one directory of any name.
const RUNC: [&str; 4] = [
    "/run/runc",
    "/run/containerd/runc/*",
    "/run/docker/runtime-runc/*",
    "/run/runc-ctrs",
];
/// crun's (ID/status).
const CRUN: &str = "/run/crun";

type Annotations = BTreeMap<String, String>;

/// The daemons are looked for again after this time, where a container's files were not found.
const AGAIN: Duration = Duration::from_secs(10);

/// Reads what the runtimes keep.
pub struct Runtimes {
    state: State,
    proc: PathBuf,
    kept: Kept,
    looked: Instant,
}

impl Runtimes {
    pub fn new(state: State, proc: &Path) -> Runtimes {
        Runtimes {
            kept: daemons::kept(&state, proc),
            state,
            proc: proc.to_owned(),
            looked: Instant::now(),
        }
    }

    /// What the kubelet was told to call this machine.
    pub fn nodes(&self) -> &[String] {
        &self.kept.nodes
    }

    /// The directories that there are, of those that daemons name and the usual ones.
    fn bases<'a>(
        &'a self,
        named: &'a [String],
        usual: &'a [&str],
    ) -> impl Iterator<Item = PathBuf> + 'a {
        let named = named.iter().map(String::as_str);
        let all = named.chain(usual.iter().copied());
        all.filter_map(|place| self.state.base(place))
    }

    /// The container of this id, whose group was named by `by`; of a user's own where `user` says so.
    pub fn describe(
        &mut self,
        id: &str,
        made_by: MadeBy,
        group: &str,
        user: Option<u32>,
    ) -> Container {
        let mut found = self.read(id, made_by, user);
        if found.is_none() && made_by != MadeBy::Lxc && self.looked.elapsed() > AGAIN {
            // Its daemon may have been started since.
            self.kept = daemons::kept(&self.state, &self.proc);
            self.looked = Instant::now();
            found = self.read(id, made_by, user);
        }
        let unknown = unknown(id, made_by, group);
        let mut container = found.unwrap_or_default();
        container.id = unknown.id;
        container.group = unknown.group;
        container.name = container.name.or(unknown.name);
        if container.runtime.is_empty() {
            container.runtime = unknown.runtime;
        }
        container
    }

    fn read(&self, id: &str, made_by: MadeBy, user: Option<u32>) -> Option<Container> {
        match made_by {
            MadeBy::Lxc => None,
            MadeBy::Docker => self.docker(id),
            MadeBy::Podman | MadeBy::CriO => self.stored(id, user).or_else(|| self.bundle(id)),
            MadeBy::Containerd => self.containerd(id),
            MadeBy::Unknown => self
                .docker(id)
                .or_else(|| self.containerd(id))
                .or_else(|| self.stored(id, user))
                .or_else(|| self.bundle(id)),
        }
    }

    fn docker(&self, id: &str) -> Option<Container> {
        #[derive(Default, Deserialize)]
        #[serde(default)]
        struct Config {
            #[serde(rename = "Name")]
            name: Option<String>,
            #[serde(rename = "Config")]
            config: Inner,
        }
        #[derive(Default, Deserialize)]
        #[serde(default)]
        struct Inner {
            #[serde(rename = "Image")]
            image: Option<String>,
            #[serde(rename = "Labels")]
            labels: Option<Annotations>,
        }
        let file = format!("containers/{id}/config.v2.json");
        let mut bases = self.bases(&self.kept.docker, &DOCKER);
        let found: Config = bases.find_map(|base| json(&base, &file))?;
        let labels = found.config.labels.unwrap_or_default();
        Some(Container {
            // Kubernetes names it k8s_NAME_POD_NAMESPACE_…
            name: first(&labels, &["io.kubernetes.container.name"]).or_else(|| {
                let name = found.name?;
                text(Some(name.trim_start_matches('/').to_owned()))
            }),
            image: text(found.config.image),
            runtime: "docker".into(),
            pod: first(&labels, &["io.kubernetes.pod.name"]),
            pod_namespace: first(&labels, &["io.kubernetes.pod.namespace"]),
            ..Container::default()
        })
    }

    fn containerd(&self, id: &str) -> Option<Container> {
        let mut bases = self.bases(&self.kept.containerd, &CONTAINERD);
        let found: Spec = bases.find_map(|base| {
            let spaces = entries(&base, TASKS);
            spaces
                .iter()
                .find_map(|space| json(&base, &format!("{TASKS}/{space}/{id}/config.json")))
        })?;
        Some(found.container("containerd"))
    }

    /// Of the list that Podman and CRI-O keep: the system's, or that of a user.
    fn stored(&self, id: &str, user: Option<u32>) -> Option<Container> {
        let own = user.and_then(|user| {
            let user = accounts::by_uid(user).ok()??;
            self.state.below_home(&user.home, USER_STORAGE)
        });
        let places = own
            .into_iter()
            .chain(self.bases(&self.kept.storage, &[STORAGE]));
        places
            .flat_map(|base| DRIVERS.map(|driver| stored_in(&base, driver, id)))
            .flatten()
            .next()
    }

    fn bundle(&self, id: &str) -> Option<Container> {
        let base = self.state.base(BUNDLES)?;
        let found = DRIVERS.iter().find_map(|driver| {
            json::<Spec>(
                &base,
                &format!("{driver}-containers/{id}/userdata/config.json"),
            )
        })?;
        Some(found.container(""))
    }

    /// The container whose group this is or lies in, of those whose groups have names of their users' choice.
    pub fn in_group(&self, hierarchy: &Hierarchy, group: &str) -> Option<Container> {
        let directory = hierarchy.directory(group)?;
        let of_runc = self.runc().into_iter().find_map(|(id, state, runtime)| {
            let root = state
                .cgroup_paths
                .values()
                .find(|path| directory.starts_with(path))?;
            Some((id, hierarchy.group_of(root)?, state.image(), runtime))
        });
        let found = of_runc.or_else(|| {
            let (id, root) = self.crun(group)?;
            Some((id, root, None, "crun"))
        });
        found.map(|(id, group, image, runtime)| Container {
            name: Some(id.clone()),
            id,
            image: text(image),
            runtime: runtime.into(),
            group,
            ..Container::default()
        })
    }

    fn runc(&self) -> Vec<(String, RuncState, &'static str)> {
        let mut found = Vec::new();
        for place in RUNC {
            let (place, inside) = place
                .strip_suffix("/*")
                .map_or((place, false), |place| (place, true));
            let Some(base) = self.state.base(place) else {
                continue;
            };
            let spaces = match inside {
                true => entries(&base, "").into_iter().map(|s| s + "/").collect(),
                false => vec![String::new()],
            };
            for space in spaces {
                for id in entries(&base, &space) {
                    let state: Option<RuncState> = json(&base, &format!("{space}{id}/state.json"));
                    let runtime = if inside { "containerd" } else { "runc" };
                    found.extend(state.map(|state| (id, state, runtime)));
                }
            }
        }
        found
    }

    fn crun(&self, group: &str) -> Option<(String, String)> {
        #[derive(Deserialize)]
        struct Status {
            #[serde(rename = "cgroup-path")]
            group: String,
        }
        let base = self.state.base(CRUN)?;
        entries(&base, "").into_iter().find_map(|id| {
            let status: Status = json(&base, &format!("{id}/status"))?;
            let root = format!("/{}", status.group.trim_matches('/'));
            let inside = root.len() > 1 && Path::new(group).starts_with(&root);
            inside.then_some((id, root))
        })
    }
}

/// A container of which nothing is known but what its group's name says.
pub fn unknown(id: &str, made_by: MadeBy, group: &str) -> Container {
    let runtime = match made_by {
        MadeBy::Docker => "docker",
        MadeBy::Podman => "podman",
        MadeBy::CriO => "cri-o",
        MadeBy::Containerd => "containerd",
        MadeBy::Lxc => "lxc",
        MadeBy::Unknown => "",
    };
    Container {
        id: id.to_owned(),
        name: (made_by == MadeBy::Lxc).then(|| id.to_owned()),
        runtime: runtime.into(),
        group: group.to_owned(),
        ..Container::default()
    }
}

/// One entry of the list of containers/storage.
fn stored_in(base: &Path, driver: &str, id: &str) -> Option<Container> {
    #[derive(Deserialize)]
    struct Entry {
        id: String,
        #[serde(default)]
        names: Option<Vec<String>>,
        #[serde(default)]
        metadata: Option<String>,
    }
    #[derive(Default, Deserialize)]
    #[serde(default, rename_all = "kebab-case")]
    struct Metadata {
        image_name: Option<String>,
        name: Option<String>,
        metadata_name: Option<String>,
        pod_name: Option<String>,
        namespace: Option<String>,
    }
    let list: Vec<Entry> = json(base, &format!("{driver}-containers/containers.json"))?;
    let entry = list.into_iter().find(|entry| entry.id == id)?;
    let metadata = entry.metadata.as_deref().unwrap_or_default();
    let metadata: Metadata = serde_json::from_str(metadata).unwrap_or_default();
    let of_pod = text(metadata.pod_name);
    let runtime = if of_pod.is_some() { "cri-o" } else { "podman" };
    let names = entry.names.unwrap_or_default();
    Some(Container {
        name: text(metadata.metadata_name)
            .or_else(|| text(metadata.name))
            .or_else(|| text(names.into_iter().next())),
        image: text(metadata.image_name),
        runtime: runtime.into(),
        pod: of_pod.or_else(|| pod_of_podman(base, driver, id)),
        pod_namespace: text(metadata.namespace),
        ..Container::default()
    })
}

/// The id of a pod of Podman's, as long as `podman pod ps` shows it: its name is in a database alone.
fn pod_of_podman(base: &Path, driver: &str, id: &str) -> Option<String> {
    let spec: Spec = json(
        base,
        &format!("{driver}-containers/{id}/userdata/config.json"),
    )?;
    let all = spec.annotations.unwrap_or_default();
    let by_podman = first(&all, &["io.container.manager"])? == "libpod";
    let pod = first(&all, &["io.kubernetes.cri-o.SandboxID"]).filter(|_| by_podman)?;
    Some(pod.chars().take(12).collect())
}

/// config.json of a bundle (OCI runtime specification), as far as it is read here.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Spec {
    annotations: Option<Annotations>,
}

impl Spec {
    fn container(self, runtime: &'static str) -> Container {
        let all = self.annotations.unwrap_or_default();
        let of_crio = all
            .keys()
            .any(|key| key.starts_with("io.kubernetes.cri-o."));
        Container {
            name: first(
                &all,
                &[
                    "io.kubernetes.cri.container-name",
                    "io.kubernetes.container.name",
                    "nerdctl/name",
                ],
            ),
            image: first(
                &all,
                &[
                    "io.kubernetes.cri.image-name",
                    "io.kubernetes.cri-o.ImageName",
                    "org.opencontainers.image.ref.name",
                ],
            ),
            runtime: if of_crio { "cri-o" } else { runtime }.into(),
            pod: first(
                &all,
                &["io.kubernetes.cri.sandbox-name", "io.kubernetes.pod.name"],
            ),
            pod_namespace: first(
                &all,
                &[
                    "io.kubernetes.cri.sandbox-namespace",
                    "io.kubernetes.pod.namespace",
                ],
            ),
            ..Container::default()
        }
    }
}

/// state.json of runc, as far as it is read here.
#[derive(Deserialize)]
struct RuncState {
    #[serde(default)]
    cgroup_paths: BTreeMap<String, PathBuf>,
    #[serde(default)]
    config: RuncConfig,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct RuncConfig {
    labels: Vec<String>,
}

impl RuncState {
    /// Labels are annotations of the bundle, as KEY=VALUE.
    fn image(&self) -> Option<String> {
        let labels = self.config.labels.iter();
        labels
            .filter_map(|label| label.strip_prefix("org.opencontainers.image.ref.name="))
            .map(str::to_owned)
            .next()
    }
}

fn first(all: &Annotations, keys: &[&str]) -> Option<String> {
    keys.iter().find_map(|key| text(all.get(*key).cloned()))
}
