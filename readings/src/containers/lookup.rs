//! Who reads what the runtimes keep: this process, or the one that may wait for a filesystem that stopped answering.

use std::path::Path;
use std::time::{Duration, Instant};

use super::named::{self, Named};
use super::runtimes::{unknown, Runtimes};
use super::state::State;
use super::{group_to, Container, Hierarchy};
use crate::reach::{Reach, Silent};
use crate::Roots;

/// Nothing is asked again for so long after an answer that did not come.
const AGAIN: Duration = Duration::from_secs(60);

/// Finds the container of a group.
pub(super) enum Lookup {
    Here(Box<Runtimes>),
    Asked {
        reach: Box<Reach>,
        since: Option<Instant>,
    },
}

impl Lookup {
    pub fn here(roots: &Roots, files: &Path) -> Lookup {
        Lookup::Here(Box::new(Runtimes::new(State::new(files), &roots.proc)))
    }

    pub fn asked(roots: &Roots) -> Lookup {
        Lookup::Asked {
            reach: Box::new(Reach::new(roots)),
            since: None,
        }
    }

    pub fn container(&mut self, hierarchy: &Hierarchy, group: &str) -> Option<Container> {
        match self {
            Lookup::Here(runtimes) => look_up(runtimes, hierarchy, group),
            _ => match self.ask(|reach| reach.container(hierarchy.point(), group)) {
                Some(found) => found,
                None => without_files(group),
            },
        }
    }

    /// What the kubelet was told to call this machine.
    pub fn nodes(&mut self, hierarchy: &Hierarchy) -> Vec<String> {
        match self {
            Lookup::Here(runtimes) => runtimes.nodes().to_vec(),
            _ => self
                .ask(|reach| reach.nodes(hierarchy.point()))
                .unwrap_or_default(),
        }
    }

    /// The files did not answer.
    pub fn is_silent(&self) -> bool {
        matches!(self, Lookup::Asked { since: Some(_), .. })
    }

    /// The mounts of those, as far as known.
    pub fn silent(&self) -> &[Silent] {
        match self {
            Lookup::Here(_) => &[],
            Lookup::Asked { reach, .. } => reach.silent(),
        }
    }

    fn ask<T>(&mut self, question: impl FnOnce(&mut Reach) -> Option<T>) -> Option<T> {
        let Lookup::Asked { reach, since } = self else {
            return None;
        };
        if since.is_some_and(|since| since.elapsed() < AGAIN) {
            return None;
        }
        let answer = question(reach);
        *since = answer.is_none().then(Instant::now);
        answer
    }
}

fn look_up(runtimes: &mut Runtimes, hierarchy: &Hierarchy, group: &str) -> Option<Container> {
    if let Some(Named { at, id, made_by }) = named::container(group) {
        let user = named::user_of(group);
        return Some(runtimes.describe(id, made_by, group_to(group, at), user));
    }
    let listed = runtimes.in_group(hierarchy, group);
    listed.or_else(|| named::unit(group))
}

/// What the name of the group says alone.
fn without_files(group: &str) -> Option<Container> {
    match named::container(group) {
        Some(Named { at, id, made_by }) => Some(unknown(id, made_by, group_to(group, at))),
        None => named::unit(group),
    }
}
