//! Processes that run already.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::mpsc::channel;
use std::time::Duration;

use anyhow::Context;
use iowhy_readings::threads::with_descendants;
use iowhy_readings::{host, Roots};

use super::{absent, Ended, Failure, Live};
use crate::groups::Groups;
use crate::process::{lifeline::Lifeline, ready, signals::Signals};

/// Looks for processes that were started while the earlier ones were taken into scope.
const LOOKS: usize = 3;

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
            let message = format!("--pid {pid}: there is no such process");
            return Err(absent(message));
        }
    }
    if let Some(pid) = pids.first() {
        live.follow(*pid);
    }
    live.prepare();
    live.begin();
    adopt(live, pids, descendants).context("cannot watch the processes")?;
    ready::say();
    let (_never, fate) = channel();
    live.until(&fate, duration, &|live| {
        signals.count() > 0 || lifeline.is_cut() || live.alive().is_empty()
    })?;
    if let Some(bound) = live.bound.take() {
        live.note_bound(&bound, "it ends here");
    }
    live.ended(host::now_ns(), None, None);
    Ok(Ended::With(0))
}

/// Takes processes into scope. What they start from then on comes into scope in the kernel; `descendants` are looked
/// for here, where it is done: a child that ended since somebody listed it is no reason to record nothing.
fn adopt(live: &mut Live, pids: &[u32], descendants: bool) -> anyhow::Result<()> {
    if !descendants {
        return live.watch.adopt(pids, &Groups::default());
    }
    let own = std::process::id();
    let named: Vec<i64> = pids.iter().map(|&pid| pid.into()).collect();
    let mut known = BTreeSet::new();
    for _ in 0..LOOKS {
        let found: Vec<u32> = with_descendants(&Roots::default(), &named)
            .into_iter()
            .filter_map(|pid| u32::try_from(pid).ok().filter(|&pid| pid != own))
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
