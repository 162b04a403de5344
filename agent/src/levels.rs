//! What the machine's own counters say of an interval: pressure, and how busy each disk was.

use std::collections::BTreeMap;

use iowhy_readings::Reading;
use iowhy_store::rows;

/// Shares of the interval that tasks stalled, by resource ("io") and kind ("some").
pub type Pressure = BTreeMap<String, BTreeMap<String, f64>>;

/// One disk in the interval.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Disk {
    pub dev: i64,
    pub reads: i64,
    pub writes: i64,
    pub read_bytes: i64,
    pub written_bytes: i64,
    /// Share of the interval with a request in flight; None: the kernel does not say.
    pub utilisation: Option<f64>,
}

/// The last readings, from which the next ones are counted.
#[derive(Default)]
pub struct Levels {
    pressure: BTreeMap<(String, String), (i64, i64)>,
    disks: BTreeMap<i64, rows::DiskSamples>,
}

/// What the readings of one interval come to.
#[derive(Debug, Default, PartialEq)]
pub struct Since {
    pub pressure: Pressure,
    pub disks: Vec<Disk>,
}

impl Levels {
    /// Takes a reading into account; what it shows since the one before goes to `since`.
    pub fn take(&mut self, reading: &Reading, since: &mut Since) {
        match reading {
            Reading::Pressure(row) if row.scope == "machine" => {
                let key = (row.resource.to_string(), row.kind.to_string());
                let now = (row.ts_ns, row.total_ns);
                if let Some((ts, total)) = self.pressure.insert(key.clone(), now) {
                    if let Some(share) = share(row.total_ns - total, row.ts_ns - ts) {
                        since
                            .pressure
                            .entry(key.0)
                            .or_default()
                            .insert(key.1, share);
                    }
                }
            }
            Reading::Disk(row) => {
                if let Some(before) = self.disks.insert(row.dev, row.clone()) {
                    let busy = row
                        .busy_ns
                        .zip(before.busy_ns)
                        .map(|(now, then)| now - then);
                    since.disks.push(Disk {
                        dev: row.dev,
                        reads: row.reads - before.reads,
                        writes: row.writes - before.writes,
                        read_bytes: row.read_bytes - before.read_bytes,
                        written_bytes: row.written_bytes - before.written_bytes,
                        utilisation: busy.and_then(|busy| share(busy, row.ts_ns - before.ts_ns)),
                    });
                }
            }
            _ => {}
        }
    }
}

/// A part of a time, at most all of it: the kernel's counters go by ticks of their own.
fn share(part_ns: i64, of_ns: i64) -> Option<f64> {
    (of_ns > 0 && part_ns >= 0).then(|| (part_ns as f64 / of_ns as f64).min(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn disk(ts_ns: i64, reads: i64, busy_ns: Option<i64>) -> Reading {
        Reading::Disk(rows::DiskSamples {
            ts_ns,
            dev: 5,
            reads,
            busy_ns,
            ..rows::DiskSamples::default()
        })
    }

    #[test]
    fn shares_are_of_the_time_between_two_readings() {
        let (mut levels, mut since) = (Levels::default(), Since::default());
        levels.take(&disk(100, 7, Some(10)), &mut since);
        assert_eq!(since, Since::default());
        levels.take(&disk(300, 10, Some(60)), &mut since);
        assert_eq!(
            (since.disks[0].reads, since.disks[0].utilisation),
            (3, Some(0.25))
        );
        // What the kernel does not say is not 0.
        let mut next = Since::default();
        levels.take(&disk(400, 10, None), &mut next);
        assert_eq!(next.disks[0].utilisation, None);
    }

    #[test]
    fn pressure_of_the_machine_counts_and_that_of_a_group_does_not() {
        let row = |ts_ns, total_ns, scope: &'static str| {
            Reading::Pressure(rows::PressureSamples {
                ts_ns,
                scope: scope.into(),
                resource: "io".into(),
                kind: "some".into(),
                total_ns,
            })
        };
        let (mut levels, mut since) = (Levels::default(), Since::default());
        for reading in [
            row(0, 0, "machine"),
            row(0, 0, "/a"),
            row(10, 2, "machine"),
            row(10, 9, "/a"),
        ] {
            levels.take(&reading, &mut since);
        }
        assert_eq!(since.pressure["io"]["some"], 0.2);
    }
}
