//! What one interval comes to: rows of the recording, and a line for who follows along.

use std::collections::{BTreeMap, HashMap};

use iowhy_recorder::calls;
use iowhy_recorder::event::layout as requests;
use iowhy_store::{rows, Name};
use serde::Serialize;

use crate::groups::{Groups, Labels, Named};
use crate::histogram::Histogram;
use crate::levels::{Disk, Pressure};
use crate::programs::Key;
use crate::sink::Sink;
use crate::skeleton::types::{cache_kind, measure as Measure, sync_kind};

/// Number of no call (bpf/aggregate.h, NO_CALL).
const NO_CALL: u16 = 0xffff;

/// One line of what follows: everything of one interval.
#[derive(Debug, Serialize)]
pub struct Line {
    /// End of the interval, CLOCK_MONOTONIC.
    pub at_ns: i64,
    pub interval_ns: i64,
    pub latencies: Vec<Latency>,
    pub counts: Vec<Count>,
    pub pressure: Pressure,
    pub disks: Vec<Disk>,
    /// Threads in uninterruptible sleep at its end; None: not known.
    pub waiting: Option<u64>,
    /// What happened and is in no row, because there were too many keys.
    pub lost: u64,
    /// Names of disks, and where filesystems are mounted, by the numbers of their devices.
    pub devices: BTreeMap<i64, String>,
    pub mounts: BTreeMap<i64, String>,
    /// Recordings that were closed.
    pub closed: Vec<String>,
    /// Why what happened is in no recording, or only in a part of one.
    pub failed: Option<String>,
    /// Sensors that do not run, and why.
    pub lacking: BTreeMap<String, String>,
}

/// A row of agent_latencies, by the names of things.
#[derive(Clone, Debug, Serialize)]
pub struct Latency {
    pub measure: &'static str,
    pub name: Option<Name>,
    pub service: Option<Name>,
    #[serde(flatten)]
    pub labels: Labels,
    /// Id of the container or service.
    pub id: Option<Name>,
    pub path: Option<Name>,
    pub dev: Option<i64>,
    pub count: u64,
    pub untimed: u64,
    pub sum_ns: u64,
    pub bytes: u64,
    pub up_to_ns: Vec<i64>,
    pub counts: Vec<i64>,
}

/// A row of agent_counts.
#[derive(Clone, Debug, Serialize)]
pub struct Count {
    pub name: &'static str,
    pub service: Option<Name>,
    #[serde(flatten)]
    pub labels: Labels,
    /// Id of the container or service.
    pub id: Option<Name>,
    pub path: Option<Name>,
    pub dev: Option<i64>,
    pub count: u64,
    pub bytes: u64,
}

/// When it was.
#[derive(Clone, Copy, Debug)]
pub struct Interval {
    pub start_ns: i64,
    pub length_ns: i64,
}

/// Writes the rows of an interval, and gives the same for the line.
pub fn rows(
    interval: Interval,
    found: HashMap<Key, Histogram>,
    groups: &mut Groups,
    sink: &mut Sink,
) -> (Vec<Latency>, Vec<Count>) {
    let mut found: Vec<_> = found.into_iter().collect();
    found.sort_by_key(|(key, _)| *key);
    let (mut latencies, mut counts) = (Vec::new(), Vec::new());
    for (key, histogram) in found {
        let named = groups.name(key.cgroup, sink);
        match measure_name(key.measure) {
            Some(measure) => {
                let (row, latency) = latency(interval, measure, key, named, &histogram);
                for bucket in buckets(&row, &latency) {
                    sink.push(bucket);
                }
                sink.push(row);
                latencies.push(latency);
            }
            None => {
                let (row, count) = count(interval, key, named, &histogram);
                sink.push(row);
                counts.push(count);
            }
        }
    }
    (latencies, counts)
}

/// The row of what is a level of the machine.
pub fn waiting(interval: Interval, threads: u64) -> rows::AgentCounts {
    rows::AgentCounts {
        ts_ns: interval.start_ns,
        interval_ns: interval.length_ns,
        name: "waiting".into(),
        count: threads as i64,
        ..rows::AgentCounts::default()
    }
}

fn latency(
    interval: Interval,
    measure: &'static str,
    key: Key,
    named: Named,
    histogram: &Histogram,
) -> (rows::AgentLatencies, Latency) {
    let (up_to_ns, counts): (Vec<i64>, Vec<i64>) = histogram.filled().unzip();
    let latency = Latency {
        measure,
        name: name_of(key),
        service: named.service,
        labels: named.labels,
        id: named.container.clone(),
        path: named.path.clone(),
        dev: number(key.dev),
        count: histogram.count,
        untimed: histogram.untimed,
        sum_ns: histogram.sum_ns,
        bytes: histogram.bytes,
        up_to_ns,
        counts,
    };
    let row = rows::AgentLatencies {
        ts_ns: interval.start_ns,
        interval_ns: interval.length_ns,
        measure: measure.into(),
        name: latency.name.clone(),
        cgroup: group(key),
        path: named.path,
        container: named.container,
        dev: latency.dev,
        count: latency.count as i64,
        untimed: latency.untimed as i64,
        sum_ns: latency.sum_ns as i64,
        bytes: latency.bytes as i64,
    };
    (row, latency)
}

/// The rows of its histogram.
fn buckets<'a>(
    row: &'a rows::AgentLatencies,
    latency: &'a Latency,
) -> impl Iterator<Item = rows::AgentBuckets> + 'a {
    let filled = latency.up_to_ns.iter().zip(&latency.counts);
    filled.map(|(up_to_ns, count)| rows::AgentBuckets {
        ts_ns: row.ts_ns,
        measure: row.measure.clone(),
        name: row.name.clone(),
        cgroup: row.cgroup,
        dev: row.dev,
        up_to_ns: (*up_to_ns != i64::MAX).then_some(*up_to_ns),
        count: *count,
    })
}

fn count(
    interval: Interval,
    key: Key,
    named: Named,
    histogram: &Histogram,
) -> (rows::AgentCounts, Count) {
    let count = Count {
        name: match u32::from(key.what) == cache_kind::CACHE_MISSED.0 {
            true => "cache_missed",
            false => "cache_evicted",
        },
        service: named.service,
        labels: named.labels,
        id: named.container.clone(),
        path: named.path.clone(),
        dev: number(key.dev),
        count: histogram.count,
        bytes: histogram.bytes,
    };
    let row = rows::AgentCounts {
        ts_ns: interval.start_ns,
        interval_ns: interval.length_ns,
        name: count.name.into(),
        cgroup: group(key),
        path: named.path,
        container: named.container,
        dev: count.dev,
        count: count.count as i64,
        bytes: count.bytes as i64,
    };
    (row, count)
}

fn number(dev: u32) -> Option<i64> {
    (dev != 0).then_some(dev.into())
}

fn group(key: Key) -> Option<i64> {
    (key.cgroup != 0).then_some(key.cgroup as i64)
}

/// What a time is of; None: no time.
fn measure_name(number: u8) -> Option<&'static str> {
    const NAMES: [(Measure, &str); 6] = [
        (Measure::MEASURE_CALL, "call"),
        (Measure::MEASURE_SYNC, "sync"),
        (Measure::MEASURE_IO_WAIT, "io_wait"),
        (Measure::MEASURE_BLOCK, "block"),
        (Measure::MEASURE_REQUEST, "request"),
        (Measure::MEASURE_PAUSE, "pause"),
    ];
    let mut names = NAMES.iter();
    let found = names.find(|(measure, _)| measure.0 == u32::from(number));
    found.map(|(_, name)| *name)
}

fn name_of(key: Key) -> Option<Name> {
    let is = |measure: Measure| measure.0 == u32::from(key.measure);
    if is(Measure::MEASURE_REQUEST) {
        // As the recorder names them.
        let operation = u8::try_from(key.what).unwrap_or(requests::OP_OTHER);
        return Some(iowhy_recorder::rows::request::operation(operation));
    }
    if is(Measure::MEASURE_SYNC) {
        let data = u32::from(key.what) == sync_kind::SYNC_DATA.0;
        return Some(Name::Borrowed(if data { "fdatasync" } else { "fsync" }));
    }
    (key.what != NO_CALL).then(|| calls::total_name(key.what.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(measure: Measure, what: u16) -> Key {
        Key {
            cgroup: 1,
            dev: 2,
            what,
            measure: measure.0 as u8,
        }
    }

    #[test]
    fn things_are_named_as_the_recorder_names_them() {
        let fsync = libc::SYS_fsync as u16;
        assert_eq!(name_of(key(Measure::MEASURE_CALL, fsync)).unwrap(), "fsync");
        assert_eq!(name_of(key(Measure::MEASURE_IO_WAIT, NO_CALL)), None);
        let flush = u16::from(requests::OP_FLUSH);
        assert_eq!(
            name_of(key(Measure::MEASURE_REQUEST, flush)).unwrap(),
            "flush"
        );
        let data = sync_kind::SYNC_DATA.0 as u16;
        assert_eq!(
            name_of(key(Measure::MEASURE_SYNC, data)).unwrap(),
            "fdatasync"
        );
        assert_eq!(measure_name(Measure::MEASURE_CACHE.0 as u8), None);
    }
}
