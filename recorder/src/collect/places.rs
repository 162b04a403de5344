//! Disks and mounted filesystems: those that are there when the recording ends, and those that came and went meanwhile.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs::File;
use std::os::fd::AsFd;
use std::path::Path;

use iowhy_readings::devices::{self, Device};
use iowhy_readings::mounts::Mounts;
use iowhy_readings::reach::{Reach, PATIENCE};
use iowhy_readings::served::{self, Taken};
use iowhy_readings::{filesystems, Roots};
use iowhy_store::rows::{DiskSamples, Filesystems};
use iowhy_store::Recording;
use nix::poll::{poll, PollFd, PollFlags, PollTimeout};

/// The table of mounts is read so often at most, however often it changes.
const READ_EVERY_NS: i64 = 1_000_000_000;

/// What was met so far. A disk's facts are read once it is used: it is whole by then.
pub struct Places {
    roots: Roots,
    disks: HashMap<i64, Disk>,
    devices: BTreeMap<i64, Device>,
    filesystems: BTreeMap<i64, Filesystems>,
    /// The kernel tells who polls this that it has changed (proc_pid_mountinfo(5)).
    mounts: Option<File>,
    changed: bool,
    read_ns: i64,
    /// When the first and the last readings of disks were.
    first_ns: Option<i64>,
    last_ns: i64,
    /// What the processes that serve filesystems had taken of the CPUs at the first reading.
    began: Taken,
}

/// A disk as its counters have shown it.
struct Disk {
    operations: i64,
    used: bool,
}

impl Places {
    pub fn new(roots: Roots) -> Places {
        Places {
            mounts: File::open(roots.proc.join("self/mountinfo")).ok(),
            roots,
            disks: HashMap::new(),
            devices: BTreeMap::new(),
            filesystems: BTreeMap::new(),
            changed: false,
            read_ns: 0,
            first_ns: None,
            last_ns: 0,
            began: Taken::new(),
        }
    }

    /// The counters of a disk. The first reading has all disks, later ones those that were ever used.
    pub fn seen(&mut self, row: &DiskSamples, reach: &mut Reach) {
        if self.first_ns.is_none() {
            self.begin(reach);
        }
        if row.ts_ns != self.last_ns {
            self.last_ns = row.ts_ns;
            self.look_at_mounts(reach);
        }
        let first = *self.first_ns.get_or_insert(row.ts_ns) == row.ts_ns;
        let operations = row.reads + row.writes;
        let before = self.disks.get(&row.dev);
        // Less than there were: another disk has its number now.
        let used = before.is_some_and(|disk| disk.used && disk.operations <= operations);
        let unmoved = before.is_some_and(|disk| disk.operations == operations);
        let begins = !first && !used && !unmoved;
        if begins {
            let found = Mounts::read(&self.roots)
                .and_then(|mounts| devices::one(&self.roots, &mounts, row.dev));
            if let Ok(Some(device)) = found {
                self.devices.insert(row.dev, device);
            }
        }
        let used = used || begins;
        self.disks.insert(row.dev, Disk { operations, used });
    }

    fn begin(&mut self, reach: &mut Reach) {
        if let Ok(mounts) = Mounts::read(&self.roots) {
            let daemons: BTreeSet<i64> = reach.daemons(&mounts).into_values().collect();
            self.began = served::taken(&self.roots, &daemons);
        }
    }

    fn look_at_mounts(&mut self, reach: &mut Reach) {
        let Some(mounts) = &self.mounts else { return };
        let mut polled = [PollFd::new(mounts.as_fd(), PollFlags::POLLPRI)];
        self.changed |= poll(&mut polled, PollTimeout::ZERO).is_ok_and(|ready| ready > 0);
        if !self.changed || self.last_ns < self.read_ns + READ_EVERY_NS {
            return;
        }
        self.changed = false;
        self.read_ns = self.last_ns;
        let found = Mounts::read(&self.roots).and_then(|mounts| {
            filesystems::on_disks(&self.roots, &mounts, &mut |at| reach.space(at))
        });
        for row in found.into_iter().flatten() {
            self.filesystems.insert(row.dev, row);
        }
    }

    /// Writes what is there now, and of what is gone what was met.
    pub fn finish(mut self, recording: &mut Recording, reach: &mut Reach) -> anyhow::Result<()> {
        let mounts = Mounts::read(&self.roots)?;
        let daemons = reach.daemons(&mounts);
        let ended = served::taken(&self.roots, &daemons.values().copied().collect());
        let space = &mut |at: &Path| reach.space(at);
        for row in filesystems::rows(&self.roots, &mounts, &daemons, space)? {
            self.filesystems.insert(row.dev, row);
        }
        for device in devices::all(&self.roots, &mounts)? {
            let there = self.devices.entry(device.row.dev);
            // A loop device without a file, or an array that was stopped.
            let empty = device.row.size_bytes == Some(0);
            there
                .and_modify(|met| {
                    if !empty {
                        *met = device.clone();
                    }
                })
                .or_insert(device);
        }
        for mut row in self.filesystems.into_values() {
            let silent = reach.silent().iter().any(|one| one.dev == row.dev);
            row.unanswered_ns = silent.then_some(PATIENCE.as_nanos() as i64);
            if let Some(daemon) = row.daemon_tgid {
                row.daemon_cpu_ns = served::between(&self.began, &ended, daemon);
                let peer = served::peer(&self.roots, &ended, daemon);
                row.daemon_peer = peer.map(|peer| peer.to_string().into());
            }
            recording.push(row)?;
        }
        for device in self.devices.into_values() {
            recording.push(device.row)?;
            for layer in device.layers {
                recording.push(layer)?;
            }
        }
        Ok(())
    }
}
