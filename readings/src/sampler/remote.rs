//! What NFS mounts asked of their servers: /proc/self/mountstats, by kind of operation
//! (net/sunrpc/stats.c, rpc_clnt_show_stats; fs/nfs/super.c, nfs_show_stats).

use std::collections::BTreeMap;
use std::path::Path;

use crate::error::Result;
use iowhy_store::rows::RemoteSamples;
use iowhy_store::Name;

use crate::mounts::{path, Mounts};
use crate::proc_file::{Line, ProcFile, Text};
use crate::Roots;

const MILLISECOND: i64 = 1_000_000;
/// Rounds between looks for a first mount: where there is none, this costs a line for each other mount.
const ROUNDS: u32 = 10;

/// Samples every mount that this process sees. A kind of operation has a row when it is seen first, and whenever its
/// counters have moved.
pub(crate) struct Remote {
    mountstats: ProcFile,
    roots: Roots,
    last: BTreeMap<(i64, String), RemoteSamples>,
    round: u32,
}

impl Remote {
    pub fn new(roots: &Roots) -> Result<Remote> {
        Ok(Remote {
            mountstats: ProcFile::open(roots.proc.join("self/mountstats"))?,
            roots: roots.clone(),
            last: BTreeMap::new(),
            round: 0,
        })
    }

    pub fn sample(&mut self, ts_ns: i64, mut out: impl FnMut(RemoteSamples)) -> Result<()> {
        let round = self.round;
        self.round = round.wrapping_add(1);
        if self.last.is_empty() && round % ROUNDS != 0 {
            return Ok(());
        }
        let mut found: BTreeMap<(i64, String), RemoteSamples> = BTreeMap::new();
        let mut mounts = None;
        let roots = &self.roots;
        parse(self.mountstats.read()?, ts_ns, |point, row| {
            // Paths are looked up only where there is such a mount.
            let mounts = mounts.get_or_insert_with(|| Mounts::read(roots).unwrap_or_default());
            // One over another at the same place: the later is what is seen.
            let mount = mounts.iter().filter(|mount| mount.point == point).last();
            if let Some(mount) = mount {
                let row = RemoteSamples {
                    dev: mount.dev,
                    ..row
                };
                // A filesystem that is mounted twice is printed twice, with the same counters.
                found.entry((row.dev, row.op.to_string())).or_insert(row);
            }
        })?;
        for (key, row) in found {
            let before = self.last.get(&key);
            let moved = before.is_none_or(|before| !is_same(before, &row));
            // One that was mounted meanwhile began at 0.
            if before.is_none() && round > 0 && row.operations > 0 {
                out(RemoteSamples {
                    ts_ns,
                    dev: row.dev,
                    op: row.op.clone(),
                    errors: row.errors.map(|_| 0),
                    ..Default::default()
                });
            }
            if moved {
                out(row.clone());
                self.last.insert(key, row);
            }
        }
        Ok(())
    }
}

fn is_same(before: &RemoteSamples, now: &RemoteSamples) -> bool {
    let counters = |row: &RemoteSamples| RemoteSamples {
        ts_ns: 0,
        ..row.clone()
    };
    counters(before) == counters(now)
}

/// Gives the mount point and a row without its device for each kind of operation of each mount that has such lines.
pub(crate) fn parse(
    text: Text<'_>,
    ts_ns: i64,
    mut out: impl FnMut(&Path, RemoteSamples),
) -> Result<()> {
    let mut point = None;
    let mut in_operations = false;
    for line in text.lines() {
        if let Some(rest) = mounted_on(line.bytes) {
            point = Some(path(rest));
            in_operations = false;
        } else if line.bytes.trim_ascii() == b"per-op statistics" {
            in_operations = true;
        } else if line.bytes.trim_ascii().is_empty() {
            in_operations = false;
        } else if let (true, Some(point)) = (in_operations, &point) {
            out(point, row(line, ts_ns)?);
        }
    }
    Ok(())
}

/// The mount point of a line `device SOURCE mounted on POINT with fstype KIND`, blanks of names being escaped.
fn mounted_on(line: &[u8]) -> Option<&[u8]> {
    let mut words = line.split(|b| *b == b' ');
    words.next().filter(|word| *word == b"device")?;
    let mut rest = words.skip_while(|word| *word != b"mounted");
    rest.next()?;
    rest.next().filter(|word| *word == b"on")?;
    rest.next()
}

fn row(line: Line<'_>, ts_ns: i64) -> Result<RemoteSamples> {
    let mut words = line.words();
    let name = words
        .next()
        .and_then(|word| word.strip_suffix(b":"))
        .ok_or_else(|| line.error("expected the name of an operation"))?;
    let mut number = |what, unit| words.number(what).map(|n: i64| n.saturating_mul(unit));
    Ok(RemoteSamples {
        ts_ns,
        dev: 0,
        op: Name::Owned(crate::names::escaped(name)),
        operations: number("operations", 1)?,
        transmissions: number("transmissions", 1)?,
        timeouts: number("timeouts", 1)?,
        sent_bytes: number("bytes sent", 1)?,
        received_bytes: number("bytes received", 1)?,
        queue_ns: number("time in the queue", MILLISECOND)?,
        rtt_ns: number("time until the answer", MILLISECOND)?,
        execute_ns: number("time in all", MILLISECOND)?,
        // Since Linux 5.3.
        errors: words.optional("errors")?,
    })
}
