//! What the names of control groups tell: runtimes put a container's id into that of its group.

use super::Container;

/// Who made a group, by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MadeBy {
    Docker,
    Podman,
    CriO,
    Containerd,
    Lxc,
    Unknown,
}

/// A container's group, by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Named<'a> {
    /// Which component of the path it is, from 0.
    pub at: usize,
    pub id: &'a str,
    pub made_by: MadeBy,
}

/// The innermost container in a group's path.
pub fn container(group: &str) -> Option<Named<'_>> {
    let parts: Vec<&str> = group.split('/').skip(1).collect();
    (0..parts.len()).rev().find_map(|at| {
        let above = at.checked_sub(1).map_or("", |above| parts[above]);
        let (id, made_by) = of_part(parts[at], above)?;
        Some(Named { at, id, made_by })
    })
}

fn of_part<'a>(part: &'a str, above: &str) -> Option<(&'a str, MadeBy)> {
    if let Some(name) = part.strip_prefix("lxc.payload.") {
        return Some((name, MadeBy::Lxc));
    }
    if matches!(above, "lxc" | "lxc.payload") && !part.is_empty() {
        return Some((part, MadeBy::Lxc));
    }
    let plain = part.strip_suffix(".scope").unwrap_or(part);
    let (maker, id) = plain.rsplit_once('-').unwrap_or(("", plain));
    if !is_id(id) {
        return None;
    }
    let made_by = match (maker, above) {
        ("docker", _) | ("", "docker") => MadeBy::Docker,
        ("libpod" | "libpod-payload", _) => MadeBy::Podman,
        ("crio", _) => MadeBy::CriO,
        ("cri-containerd" | "nerdctl", _) => MadeBy::Containerd,
        ("", _) => MadeBy::Unknown,
        // What looks after a container (libpod-conmon, crio-conmon) is not in it.
        _ => return None,
    };
    Some((id, made_by))
}

/// Ids of containers are SHA-256 sums or as long.
pub fn is_id(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|b| b.is_ascii_hexdigit())
}

/// The innermost service of systemd in a group's path; where there is none, the innermost scope: a session, a virtual machine.
pub fn unit(group: &str) -> Option<Container> {
    let innermost = |kind: &str| group.rsplit('/').find(|part| part.ends_with(kind));
    let name = innermost(".service").or_else(|| innermost(".scope"))?;
    let end = group.rfind(name)? + name.len();
    Some(Container {
        id: name.to_owned(),
        name: Some(name.to_owned()),
        runtime: "systemd".into(),
        group: group[..end].to_owned(),
        ..Container::default()
    })
}

/// The user whose part of systemd's tree a group lies in.
pub fn user_of(group: &str) -> Option<u32> {
    let part = group
        .split('/')
        .find(|p| p.starts_with("user-") && p.ends_with(".slice"))?;
    part["user-".len()..part.len() - ".slice".len()]
        .parse()
        .ok()
}
