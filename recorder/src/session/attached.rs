//! Processes that run already.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use anyhow::Context;
use iowhy_readings::threads::with_descendants_but;
use iowhy_readings::{host, peers, Roots};
use iowhy_store::manifest::Source;
use iowhy_store::rows;

use super::{absent, Ended, Failure, Live};
use crate::groups::Groups;
use crate::process::{lifeline::Lifeline, ready, signals::Signals};

/// Looks for processes that were started while the earlier ones were taken into scope.
const LOOKS: usize = 3;
/// The option that says that a block is recorded.
const BLOCK: &[u8] = b"--block";
/// Between two looks whether a block has begun, which it does within a millisecond.
const BEGINS_WITHIN: Duration = Duration::from_micros(200);

/// Until the time is over or they have ended.
pub fn attach(
    live: &mut Live,
    pids: &[u32],
    descendants: bool,
    duration: Option<Duration>,
    signals: &Signals,
    lifeline: &Lifeline,
) -> Result<Ended, Failure> {
    for pid in pids {
        if !Path::new(&format!("/proc/{pid}")).exists() {
            let message = format!("--pid {pid}: there is no such process (`ps -e` lists them)");
            return Err(absent(message));
        }
    }
    if let Some(pid) = pids.first() {
        live.follow(*pid);
    }
    live.prepare();
    if !live.block {
        live.begin();
    }
    adopt(live, pids, descendants).context("cannot watch the processes")?;
    note_peers(live, pids, descendants)?;
    live.probe_first(&[], &named(pids, descendants));
    ready::say();
    if live.block {
        let asked = || signals.count() > 0 || lifeline.is_cut();
        while live.watch.source() == Source::Live && live.watch.block().0.is_none() && !asked() {
            std::thread::sleep(BEGINS_WITHIN);
        }
        live.begin_at(live.watch.block().0.unwrap_or_else(host::now_ns));
    }
    let fate = signals.wakes();
    live.until(&fate, duration, &|live| {
        signals.count() > 0 || lifeline.is_cut() || live.alive().is_empty()
    })?;
    if let Some(bound) = live.bound.take() {
        live.note_bound(&bound, "it ends here");
    }
    let ended_ns = live.watch.block().1.or_else(|| signals.first_ns());
    live.ended(ended_ns.unwrap_or_else(host::now_ns), None, None);
    Ok(Ended::With(0))
}

/// Takes processes into scope. What they start from then on comes into scope in the kernel; `descendants` are looked
/// for here, where it is done: a child that ended since somebody listed it is no reason to record nothing.
fn adopt(live: &mut Live, pids: &[u32], descendants: bool) -> anyhow::Result<()> {
    if !descendants {
        return live.watch.adopt(pids, &Groups::default());
    }
    let mut known = BTreeSet::new();
    for _ in 0..LOOKS {
        let found: Vec<u32> = named(pids, descendants)
            .into_iter()
            .filter_map(|pid| u32::try_from(pid).ok())
            .collect();
        let before = known.len();
        known.extend(found.iter().copied());
        if known.len() == before {
            break;
        }
        live.watch.adopt(&found, &Groups::default())?;
    }
    Ok(())
}

/// The processes, and those that they have started where these are wanted, too: not this one and other recorders of a block, nor what
/// these start (it asks filesystems in a child).
fn named(pids: &[u32], descendants: bool) -> Vec<i64> {
    let named: Vec<i64> = pids.iter().map(|&pid| pid.into()).collect();
    match descendants {
        true => {
            let own = i64::from(std::process::id());
            let left_out = |pid| pid == own || records_a_block(pid);
            with_descendants_but(&Roots::default(), &named, left_out)
        }
        false => named,
    }
}

/// Connections that were there before, which no event shows.
fn note_peers(live: &Live, pids: &[u32], descendants: bool) -> anyhow::Result<()> {
    let now = host::now_ns();
    for (pid, peer) in peers::of(&Roots::default(), &named(pids, descendants)) {
        live.collector
            .borrow_mut()
            .recording()
            .push(rows::Connections {
                ts_ns: now,
                tgid: pid,
                tid: pid,
                address: peer.ip().to_string().into(),
                port: peer.port().into(),
            })?;
    }
    Ok(())
}

/// Whether a process is a recorder of an outer block, which is no more the program's than this one is. Only of one by this name more
/// is read: what runs exec may show the rest when a filesystem answers.
fn records_a_block(pid: i64) -> bool {
    let read = |of: &str, file: &str| std::fs::read(format!("/proc/{of}/{file}")).ok();
    let pid = pid.to_string();
    let name = read(&pid, "comm");
    name.is_some()
        && name == read("self", "comm")
        && read(&pid, "cmdline").is_some_and(|words| {
            words
                .split(|&byte| byte == 0)
                .any(|word| word.starts_with(BLOCK))
        })
}
