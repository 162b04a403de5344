//! What the processes that serve filesystems (FUSE) take of the CPUs, with those that they started, and whom they ask.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use crate::aside::Aside;
use crate::proc_file::Text;
use crate::{host, peers, threads, Roots};

/// The CPU time of each process, by the process that serves.
pub type Taken = BTreeMap<i64, BTreeMap<i64, i64>>;

/// What they have taken up to now. Nothing of one that cannot be read, or not now.
pub fn taken(roots: &Roots, daemons: &BTreeSet<i64>) -> Taken {
    let mut found = Taken::new();
    for &daemon in daemons {
        let asked = threads::with_descendants(roots, &[daemon]);
        let asked = asked
            .into_iter()
            .map(|pid| (pid, (pid, roots.proc.join(pid.to_string()))));
        let times: BTreeMap<i64, i64> = Aside::new(cpu_ns)
            .ask(asked)
            .into_iter()
            .flatten()
            .collect();
        if times.contains_key(&daemon) {
            found.insert(daemon, times);
        }
    }
    found
}

/// What one took between two such moments; what it started in between counts whole. None: not known at both.
pub fn between(began: &Taken, ended: &Taken, daemon: i64) -> Option<i64> {
    let before = began.get(&daemon)?;
    let after = ended.get(&daemon)?.iter();
    let each = after.map(|(pid, ns)| (ns - before.get(pid).unwrap_or(&0)).max(0));
    Some(each.sum())
}

/// The peer that one has most connections to, by TCP.
pub fn peer(roots: &Roots, ended: &Taken, daemon: i64) -> Option<SocketAddr> {
    let pids: Vec<i64> = ended.get(&daemon)?.keys().copied().collect();
    let mut counted: BTreeMap<SocketAddr, usize> = BTreeMap::new();
    for (_, peer) in peers::of(roots, &pids) {
        *counted.entry(peer).or_default() += 1;
    }
    let most = counted.into_iter().max_by_key(|(_, times)| *times);
    most.map(|(peer, _)| peer)
}

fn cpu_ns((pid, process): (i64, PathBuf)) -> Option<(i64, i64)> {
    let bytes = std::fs::read(process.join("stat")).ok()?;
    let path = Path::new("stat");
    let stat = threads::parse_stat(Text {
        path,
        bytes: &bytes,
    })
    .ok()?;
    Some((pid, (stat.user_ticks + stat.kernel_ticks) * host::tick_ns()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_process_takes_and_those_that_it_started() {
        let made = tempfile::tempdir().unwrap();
        let roots = Roots {
            proc: made.path().into(),
            ..Roots::default()
        };
        let write = |pid: i64, parent: i64, user: i64, kernel: i64| {
            let folder = made.path().join(pid.to_string());
            std::fs::create_dir_all(&folder).unwrap();
            let status = format!("Name:\ta\nPPid:\t{parent}\n");
            std::fs::write(folder.join("status"), status).unwrap();
            let stat = format!(
                "{pid} (a) S {parent} 1 1 0 -1 0 0 0 0 0 {user} {kernel} 0 0 20 0 1 0 5 1 2"
            );
            std::fs::write(folder.join("stat"), stat).unwrap();
        };
        write(88, 1, 100, 20);
        write(89, 88, 7, 0);
        write(90, 1, 1000, 1000);
        let daemons = BTreeSet::from([88, 91]);
        let began = taken(&roots, &daemons);
        write(88, 1, 130, 25);
        write(89, 88, 9, 0);
        write(92, 88, 1, 1);
        let ended = taken(&roots, &daemons);
        let ticks = (30 + 5) + 2 + 2;
        assert_eq!(between(&began, &ended, 88), Some(ticks * host::tick_ns()));
        // One that was not there at the begin, and one that is nowhere.
        assert_eq!(between(&Taken::new(), &ended, 88), None);
        assert_eq!(between(&began, &ended, 91), None);
    }
}
