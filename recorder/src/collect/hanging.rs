//! Calls that have not ended: what a thread waits for when the recording begins or ends, no switch of it shows.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use iowhy_readings::mounts::{Mount, Mounts};
use iowhy_readings::reach::{Held, Reach};
use iowhy_readings::Roots;
use iowhy_store::{rows, Recording, Result};
use iowhy_tables::reasons;

use crate::calls;

/// Threads that are looked at, and for how long at most.
const THREADS_MOST: usize = 4096;
const TIME_MOST: Duration = Duration::from_secs(1);
/// Who has not run for so long is looked at when the recording ends.
pub const LONG_NS: u64 = 1_000_000_000;
/// Numbers of their stacks begin here: those of waits and of CPUs are smaller.
const STACKS_FROM: i64 = 1 << 21;

/// A thread that waits for a filesystem, or for anything that no signal ends.
#[derive(Clone, Debug)]
pub struct Hang {
    pub tgid: u32,
    pub tid: u32,
    /// It has waited since then at least.
    pub since: u64,
    reason: &'static str,
    call: Option<&'static str>,
    mount: Option<Mount>,
    /// A process or a server answers, for which it may sleep interruptibly as well.
    served: bool,
    frames: Vec<String>,
}

/// The threads that wait so at this moment, of those that are asked about.
pub fn look(asked: impl Iterator<Item = (u32, u32, u64)>, reach: &mut Reach) -> Vec<Hang> {
    let until = Instant::now() + TIME_MOST;
    let mut mounts = None;
    let mut found = Vec::new();
    for (tgid, tid, since) in asked.take(THREADS_MOST) {
        if Instant::now() >= until {
            break;
        }
        let Some(held) = reach.thread(tgid.into(), tid.into()) else {
            continue;
        };
        let frames = held
            .frames
            .iter()
            .skip_while(|name| reasons::is_scheduler(name));
        let frames: Vec<String> = frames.cloned().collect();
        let reason = reasons::of(&frames);
        let served = ["fuse", "network_filesystem"].contains(&reason);
        if !served && !held.blocked {
            continue;
        }
        let mounts =
            mounts.get_or_insert_with(|| Mounts::read(&Roots::default()).unwrap_or_default());
        let call = u16::try_from(held.call).ok().and_then(calls::name);
        let is_served = |mount: &&Mount| mount.device_file().is_none() || mount.is_fuse();
        let path = call.and_then(|call| path_of(call, &held));
        let mount = path.and_then(|path| mounts.of_path(&path));
        let mount = mount.filter(|mount| !served || is_served(mount));
        found.push(Hang {
            tgid,
            tid,
            since,
            reason,
            call,
            mount: mount.cloned(),
            served,
            frames,
        });
    }
    found
}

/// The file that a call is on: that of a descriptor, or the first one that it names.
fn path_of(call: &str, held: &Held) -> Option<PathBuf> {
    let [first, second] = &held.paths;
    // Not all that ends so has the descriptor of a directory before the name.
    let alone = ["stat", "lstat", "fstat", "ustat", "creat"].contains(&call);
    let below = !alone && ["at", "at2", "statx"].iter().any(|end| call.ends_with(end));
    match (first, second) {
        (_, Some(second)) if below => Some(held.open.as_ref()?.join(second)),
        (Some(first), _) if !below => Some(held.cwd.as_ref()?.join(first)),
        _ => held.open.clone(),
    }
}

/// Asks the filesystems that are waited for, so that it is known whether they answer at all.
pub fn ask(hanging: &[Hang], reach: &mut Reach) {
    let mut asked = Vec::new();
    let served = hanging.iter().filter(|hang| hang.served);
    for mount in served.filter_map(|hang| hang.mount.as_ref()) {
        if !asked.contains(&mount.dev) {
            asked.push(mount.dev);
            reach.space(&mount.point);
        }
    }
}

impl Hang {
    /// It has run again. How long it was blocked the scheduler knows; if a signal might have ended the sleep, nothing does.
    pub fn ended(&self, now_ns: u64, blocked_ns: u64, recording: &mut Recording) -> Result<()> {
        let until = match self.served {
            true => now_ns,
            false => now_ns.min(self.since + blocked_ns),
        };
        self.write(until, recording)
    }

    /// Writes the wait up to this moment.
    pub fn write(&self, now_ns: u64, recording: &mut Recording) -> Result<()> {
        let stack_id = STACKS_FROM + i64::from(self.tid);
        recording.push(rows::Stacks {
            stack_id,
            frames: self.frames.iter().cloned().map(Into::into).collect(),
        })?;
        recording.push(rows::Waits {
            ts_ns: self.since as i64,
            dur_ns: now_ns.saturating_sub(self.since) as i64,
            tgid: self.tgid.into(),
            tid: self.tid.into(),
            reason: self.reason.into(),
            io: false,
            stack_id: Some(stack_id),
            syscall: self.call.map(Into::into),
            dev: self.mount.as_ref().map(|mount| mount.dev),
            ino: None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_on_its_descriptor_or_on_what_it_names() {
        let held = |paths: [Option<&str>; 2]| Held {
            open: Some("/open".into()),
            cwd: Some("/cwd".into()),
            paths: paths.map(|path| path.map(PathBuf::from)),
            ..Held::default()
        };
        for (call, paths, expected) in [
            ("read", [None, None], "/open"),
            ("read", [None, Some("what is in its buffer")], "/open"),
            ("stat", [Some("a"), None], "/cwd/a"),
            ("unlink", [Some("/b"), None], "/b"),
            ("creat", [Some("/b"), None], "/b"),
            ("openat", [None, Some("a")], "/open/a"),
            ("newfstatat", [None, Some("/b")], "/b"),
            ("newfstatat", [None, None], "/open"),
        ] {
            assert_eq!(path_of(call, &held(paths)), Some(expected.into()), "{call}");
        }
    }
}
