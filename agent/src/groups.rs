//! What control groups are called: their paths, and the containers and services that they are.

use std::collections::{HashMap, HashSet};

use iowhy_readings::containers::{Container, Containers};
use iowhy_readings::{host, Roots};
use iowhy_store::Name;
use serde::Serialize;

use crate::sink::Sink;

/// Groups that are remembered; when there are more, all are asked for again.
const MOST: usize = 65_536;

/// Which container a group is of; nothing of a service of systemd.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Labels {
    pub namespace: Option<Name>,
    pub pod: Option<Name>,
    pub container: Option<Name>,
}

impl Labels {
    fn of(container: &Container) -> Labels {
        if container.runtime == "systemd" {
            return Labels::default();
        }
        let name = container.name.as_ref().unwrap_or(&container.id);
        Labels {
            namespace: container.pod_namespace.clone().map(Name::Owned),
            pod: container.pod.clone().map(Name::Owned),
            container: Some(Name::Owned(name.clone())),
        }
    }
}

/// What a group is called.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Named {
    /// Its path as /proc/PID/cgroup has it; None: it was gone before it could be asked for.
    pub path: Option<Name>,
    /// Id of the container or service that it belongs to; empty: to none; None: not known.
    pub container: Option<Name>,
    /// What people call that: NAMESPACE/POD/NAME of a container in a pod.
    pub service: Option<Name>,
    pub labels: Labels,
}

/// Names of groups by their numbers.
#[derive(Default)]
pub struct Groups {
    containers: Option<Containers>,
    known: HashMap<u64, Named>,
    /// Containers that have a row in the present recording.
    written: HashSet<(String, String)>,
}

impl Groups {
    pub fn of_machine() -> Groups {
        Groups {
            containers: Containers::new(&Roots::default()),
            ..Groups::default()
        }
    }

    /// From here on rows go into another recording.
    pub fn begin_recording(&mut self) {
        self.written.clear();
    }

    /// What the group of this number is called; 0 is none that is known.
    pub fn name(&mut self, number: u64, sink: &mut Sink) -> Named {
        let Some(containers) = &mut self.containers else {
            return Named::default();
        };
        if number == 0 {
            return Named::default();
        }
        let found = containers.of_number(number, 0, host::now_ns());
        if let Some(Some(container)) = &found {
            let key = (container.id.clone(), container.group.clone());
            if self.written.len() < MOST && self.written.insert(key) {
                sink.push(container.row());
            }
        }
        let container = found.as_ref().map(|found| match found {
            Some(container) => Name::Owned(container.id.clone()),
            None => Name::Borrowed(""),
        });
        let known = self.known.get(&number);
        // What was a scope of systemd alone may be a container by now.
        if let Some(named) = known.filter(|named| named.container == container) {
            return named.clone();
        }
        let found = found.flatten();
        let named = Named {
            path: containers
                .hierarchy()
                .group_of_number(number)
                .map(Name::Owned),
            container,
            service: found.as_ref().map(|found| Name::Owned(found.called())),
            labels: found.as_deref().map_or_else(Labels::default, Labels::of),
        };
        // One that is not in a container yet may come to be: its runtime makes the group first.
        if named.service.is_some() {
            if self.known.len() >= MOST {
                self.known.clear();
            }
            self.known.insert(number, named.clone());
        }
        named
    }
}
