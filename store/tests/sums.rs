//! The sums that end a recording, against what they mean, said row by row, on rows drawn at random.

mod common;

use std::collections::BTreeMap;
use std::path::Path;

use common::{field, number, read, Draw};
use iowhy_store::manifest::{Manifest, Source};
use iowhy_store::{rows, Recording};
use parquet::record::{Field, Row};

/// While the command runs; requests are drawn around it.
const COMMAND: (i64, i64) = (40, 160);

trait Rows {
    fn request(&mut self) -> rows::BlockRequests;
    fn call(&mut self) -> rows::Syscalls;
}

impl Rows for Draw {
    fn request(&mut self) -> rows::BlockRequests {
        let queue_ns = self.below(200);
        let complete_ns = self.maybe(30).map(|length| queue_ns + length);
        rows::BlockRequests {
            queue_ns,
            complete_ns,
            dev: 80 + self.below(2),
            bytes: 512 * self.below(3),
            op: self.one_of(&["read", "write", "flush"]),
            in_scope: self.maybe(2).map(|n| n > 0),
            owner_dev: self.maybe(2),
            owner_kind: self.one_of(&["data", "unknown"]),
            error: complete_ns.map(|_| self.below(2) * 5),
            ..rows::BlockRequests::default()
        }
    }

    fn call(&mut self) -> rows::Syscalls {
        rows::Syscalls {
            dur_ns: self.below(900),
            cpu_ns: self.maybe(100),
            blocked_ns: self.maybe(100),
            tgid: 7,
            tid: 7 + self.below(2),
            name: self.one_of(&["read", "msync"]),
            dev: self.maybe(1),
            bytes: self.maybe(3).map(|n| 512 * n),
            ret: self.maybe(3).map(|n| n - 1),
            ..rows::Syscalls::default()
        }
    }
}

fn recorded(
    dir: &Path,
    requests: &[rows::BlockRequests],
    calls: &[rows::Syscalls],
    ended: bool,
) -> BTreeMap<&'static str, Vec<Row>> {
    let mut recording = Recording::create(dir, Manifest::new(Source::Live)).unwrap();
    // As the recorder hands them over: when they are done.
    let mut done = requests.to_vec();
    done.sort_by_key(|q| q.complete_ns.unwrap_or(i64::MAX));
    for (at, request) in done.into_iter().enumerate() {
        recording.push(request).unwrap();
        if at == 3 {
            recording.tick(1).unwrap();
            recording.manifest_mut().command.start_ns = Some(COMMAND.0);
        }
    }
    for call in calls {
        recording.push(call.clone()).unwrap();
    }
    recording.manifest_mut().command.end_ns = ended.then_some(COMMAND.1);
    recording.finish().unwrap();
    ["call_sums", "request_sums", "flight_sums"]
        .into_iter()
        .map(|table| (table, read(dir, table)))
        .collect()
}

/// Moments in which one of these was in flight, and their time in flight.
fn load<'a>(flights: impl Iterator<Item = &'a rows::BlockRequests>) -> (i64, i64) {
    let spans: Vec<(i64, i64)> = flights
        .map(|q| (q.queue_ns, q.complete_ns.unwrap().min(COMMAND.1)))
        .collect();
    let busy = (0..300).filter(|t| spans.iter().any(|(b, e)| b <= t && t < e));
    (spans.iter().map(|(b, e)| e - b).sum(), busy.count() as i64)
}

#[test]
fn time_in_flight_is_that_of_every_moment() {
    let mut draw = Draw(11);
    for _ in 0..40 {
        let temporary = tempfile::tempdir().unwrap();
        let requests: Vec<_> = (0..draw.below(40)).map(|_| draw.request()).collect();
        let found = recorded(&temporary.path().join("a.iowhy"), &requests, &[], true);
        let counts = |q: &&rows::BlockRequests| {
            (COMMAND.0..=COMMAND.1).contains(&q.queue_ns)
                && q.complete_ns.is_some()
                && (q.op != "write" || q.bytes > 0)
        };
        let mut devices: Vec<i64> = requests.iter().filter(counts).map(|q| q.dev).collect();
        devices.sort_unstable();
        devices.dedup();
        let rows = &found["flight_sums"];
        let named: Vec<_> = rows.iter().map(|r| number(r, "dev").unwrap()).collect();
        assert_eq!(named, devices);
        for row in rows {
            let own = || {
                let dev = number(row, "dev").unwrap();
                requests.iter().filter(counts).filter(move |q| q.dev == dev)
            };
            let of_command = |op: &'static str| {
                own().filter(move |q| q.in_scope == Some(true) && (op.is_empty() || q.op == op))
            };
            for (part, expected) in [
                ("", load(own())),
                ("command_", load(of_command(""))),
                ("command_read_", load(of_command("read"))),
                ("command_write_", load(of_command("write"))),
                ("others_", load(own().filter(|q| q.in_scope == Some(false)))),
            ] {
                let of = |what: &str| number(row, &format!("{part}{what}_ns")).unwrap();
                assert_eq!((of("area"), of("busy")), expected, "{part} of {requests:?}");
            }
            let ours = load(own().filter(|q| q.in_scope != Some(false)));
            assert_eq!(number(row, "ours_busy_ns"), Some(ours.1));
        }
    }
}

#[test]
fn requests_are_all_in_one_group_each() {
    let mut draw = Draw(12);
    let temporary = tempfile::tempdir().unwrap();
    let requests: Vec<_> = (0..2_000).map(|_| draw.request()).collect();
    let found = recorded(&temporary.path().join("a.iowhy"), &requests, &[], false);
    assert!(found["flight_sums"].is_empty(), "the end is not known");
    let mut counted = 0;
    for row in &found["request_sums"] {
        let own: Vec<_> = requests
            .iter()
            .filter(|q| {
                number(row, "dev") == Some(q.dev)
                    && number(row, "in_scope") == q.in_scope.map(i64::from)
                    && number(row, "owner_dev") == q.owner_dev
                    && *field(row, "op") == Field::Str(q.op.to_string())
                    && *field(row, "owner_kind") == Field::Str(q.owner_kind.to_string())
                    && number(row, "empty") == Some((q.op == "write" && q.bytes == 0).into())
            })
            .collect();
        counted += own.len();
        let times = own.iter().filter_map(|q| Some(q.complete_ns? - q.queue_ns));
        let unseen = own.iter().filter(|q| q.complete_ns.is_none()).count();
        let expected = [
            ("requests", Some(own.len() as i64)),
            ("bytes", Some(own.iter().map(|q| q.bytes).sum())),
            ("time_ns", (unseen < own.len()).then(|| times.sum())),
            ("unseen", Some(unseen as i64)),
            (
                "failed",
                Some(own.iter().filter(|q| q.error == Some(5)).count() as i64),
            ),
        ];
        for (name, value) in expected {
            assert_eq!(number(row, name), value, "{name} of {row}");
        }
    }
    assert_eq!(counted, requests.len());
}

#[test]
fn calls_are_all_in_one_group_each_and_what_is_not_known_of_any_is_null() {
    let mut draw = Draw(13);
    let temporary = tempfile::tempdir().unwrap();
    let calls: Vec<_> = (0..300).map(|_| draw.call()).collect();
    let found = recorded(&temporary.path().join("a.iowhy"), &[], &calls, true);
    let known = |values: Vec<i64>| (!values.is_empty()).then(|| values.iter().sum::<i64>());
    let mut counted = 0;
    for row in &found["call_sums"] {
        let own: Vec<_> = calls
            .iter()
            .filter(|c| {
                let tiny = c.bytes.is_some_and(|n| n <= 1024) && c.ret.is_some_and(|n| n > 0);
                number(row, "tid") == Some(c.tid)
                    && *field(row, "name") == Field::Str(c.name.to_string())
                    && number(row, "dev") == c.dev
                    && number(row, "tiny") == Some(tiny.into())
            })
            .collect();
        counted += own.len();
        let of = |value: &dyn Fn(&rows::Syscalls) -> Option<i64>| {
            own.iter().filter_map(|c| value(c)).collect::<Vec<i64>>()
        };
        let count = |holds: &dyn Fn(&rows::Syscalls) -> bool| {
            Some(own.iter().filter(|c| holds(c)).count() as i64)
        };
        let expected = [
            ("calls", Some(own.len() as i64)),
            ("errors", count(&|c| c.ret < Some(0) && c.ret.is_some())),
            ("unfinished", count(&|c| c.ret.is_none())),
            ("total_ns", Some(of(&|c| Some(c.dur_ns)).iter().sum())),
            ("max_ns", of(&|c| Some(c.dur_ns)).into_iter().max()),
            ("cpu_ns", known(of(&|c| c.cpu_ns))),
            ("cpu_of_ns", known(of(&|c| c.cpu_ns.map(|_| c.dur_ns)))),
            ("blocked_ns", known(of(&|c| c.blocked_ns))),
            ("sleeping_ns", None),
            ("asked_bytes", known(of(&|c| c.bytes))),
            ("done_bytes", known(of(&|c| c.ret.filter(|n| *n > 0)))),
            ("moving", count(&|c| c.ret > Some(0))),
            (
                "synced_bytes",
                known(of(&|c| c.bytes.filter(|_| c.ret == Some(0)))),
            ),
            ("syncing", count(&|c| c.ret == Some(0) && c.bytes.is_some())),
        ];
        for (name, value) in expected {
            assert_eq!(number(row, name), value, "{name} of {row}");
        }
    }
    assert_eq!(counted, calls.len());
}
