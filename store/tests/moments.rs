//! Sums of syncs, waits and flushes, against what they mean, moment by moment, on rows drawn at random.

mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use common::{field, number, numbers, read, Draw};
use iowhy_store::manifest::{Manifest, Source};
use iowhy_store::{rows, Recording};
use parquet::record::{Field, Row};

fn flush(draw: &mut Draw) -> rows::BlockRequests {
    let asked = draw.below(3) == 0;
    let queue_ns = draw.below(200);
    let issue_ns = draw.maybe(5).map(|more| queue_ns + more);
    rows::BlockRequests {
        queue_ns,
        issue_ns,
        complete_ns: draw.maybe(30).map(|more| queue_ns + 5 + more),
        dev: 80,
        op: if asked { "write" } else { "flush" }.into(),
        flags: if asked && draw.below(3) > 0 {
            vec!["preflush".into()]
        } else {
            Vec::new()
        },
        in_scope: draw.maybe(2).map(|n| n > 0),
        ..rows::BlockRequests::default()
    }
}

/// A thread that makes calls one after the other, with its waits before the call that they are in, as the recorder has them.
fn thread(draw: &mut Draw, tid: i64) -> (Vec<rows::Waits>, Vec<rows::Syscalls>, Vec<Event>) {
    let (mut waits, mut calls, mut order) = (Vec::new(), Vec::new(), Vec::new());
    let mut now = draw.below(5);
    while now < 180 {
        let name = draw.one_of(&["write", "fsync", "read", "copy_file_range"]);
        let begin = now;
        while draw.below(2) > 0 {
            now += draw.below(3);
            let row = rows::Waits {
                ts_ns: now,
                dur_ns: 1 + draw.below(6),
                tid,
                reason: draw.one_of(&[
                    "page_writeback",
                    "journal_commit",
                    "inode_lock",
                    "device_flush",
                ]),
                syscall: (draw.below(3) > 0).then(|| name.clone()),
                dev: draw.maybe(3),
                io: draw.below(2) > 0,
                ..rows::Waits::default()
            };
            now += row.dur_ns;
            order.push(Event::Wait(row.clone()));
            waits.push(row);
        }
        now += 1;
        let row = rows::Syscalls {
            ts_ns: begin,
            dur_ns: now - begin,
            blocked_ns: Some(draw.below(2)),
            tid,
            // The flag counts in a call that writes alone.
            durable: Some(draw.below(2) > 0),
            name,
            dev: draw.maybe(3),
            ret: Some(0),
            ..rows::Syscalls::default()
        };
        order.push(Event::Call(row.clone()));
        calls.push(row);
        now += draw.below(4);
    }
    (waits, calls, order)
}

#[derive(Clone)]
enum Event {
    Wait(rows::Waits),
    Call(rows::Syscalls),
    Operation(rows::AsyncOperations),
    Interval(rows::ThreadTime),
    Request(rows::BlockRequests),
}

impl Event {
    /// When the recorder hands it over.
    fn at(&self) -> i64 {
        match self {
            Event::Wait(w) => w.ts_ns + w.dur_ns,
            Event::Call(c) => c.ts_ns + c.dur_ns,
            Event::Operation(o) => o.complete_ns.unwrap_or(400),
            Event::Interval(t) => t.ts_ns + t.interval_ns,
            Event::Request(q) => q.complete_ns.unwrap_or(400),
        }
    }
}

/// As in the relation durable_writes.
fn durable(call: &rows::Syscalls) -> bool {
    let writes = call.name == "write" || call.name == "copy_file_range";
    writes && call.durable == Some(true)
}

fn tables(dir: &Path, events: &[Event]) -> BTreeMap<&'static str, Vec<Row>> {
    let mut manifest = Manifest::new(Source::Live);
    manifest.command.start_ns = Some(0);
    let mut recording = Recording::create(dir, manifest).unwrap();
    for (at, event) in events.iter().cloned().enumerate() {
        match event {
            Event::Wait(row) => recording.push(row).unwrap(),
            Event::Call(row) => recording.push(row).unwrap(),
            Event::Operation(row) => recording.push(row).unwrap(),
            Event::Interval(row) => recording.push(row).unwrap(),
            Event::Request(row) => recording.push(row).unwrap(),
        }
        if at % 50 == 0 {
            recording.tick(at as i64).unwrap();
        }
    }
    recording.manifest_mut().command.end_ns = Some(300);
    recording.finish().unwrap();
    [
        "call_sums",
        "sync_sums",
        "wait_sums",
        "interval_waits",
        "flush_sums",
        "flushing_sums",
    ]
    .into_iter()
    .map(|table| (table, read(dir, table)))
    .collect()
}

type Found = BTreeMap<&'static str, Vec<Row>>;
/// A filesystem that the command waits for, from when and until when.
type Span = (Option<i64>, i64, i64);

#[test]
fn syncs_waits_and_flushes_are_those_of_every_moment() {
    let mut draw = Draw(14);
    for _ in 0..60 {
        let (mut waits, mut calls, mut events) = (Vec::new(), Vec::new(), Vec::new());
        for tid in 7..7 + draw.below(4) {
            let (its_waits, its_calls, its_events) = thread(&mut draw, tid);
            waits.extend(its_waits);
            calls.extend(its_calls);
            events.extend(its_events);
        }
        let requests: Vec<_> = (0..draw.below(40)).map(|_| flush(&mut draw)).collect();
        events.extend(requests.iter().cloned().map(Event::Request));
        events.sort_by_key(Event::at);
        let temporary = tempfile::tempdir().unwrap();
        let found = tables(&temporary.path().join("a.iowhy"), &events);

        let spans = syncs_hold(&found, &calls, &waits);
        let total: i64 = waits.iter().map(|w| w.dur_ns).sum();
        let sums = found["wait_sums"]
            .iter()
            .map(|r| number(r, "total_ns").unwrap());
        assert_eq!(sums.sum::<i64>(), total);
        flushes_hold(&found, &requests, &spans);
    }
}

/// Which writes are durable, and the time with a sync under way; gives when the command waits for a flush.
fn syncs_hold(found: &Found, calls: &[rows::Syscalls], waits: &[rows::Waits]) -> Vec<Span> {
    let syncs = calls.iter().filter(|c| c.name == "fsync" || durable(c));
    let mut spans: Vec<Span> = syncs
        .map(|c| (c.dev, c.ts_ns, c.ts_ns + c.dur_ns))
        .collect();
    let under_way = |t: &i64| spans.iter().any(|(_, b, e)| b <= t && t < e);
    let wall_ns = (0..400).filter(under_way).count() as i64;
    let row = found["sync_sums"].first();
    assert_eq!(
        row.map(|r| (number(r, "calls").unwrap(), number(r, "wall_ns").unwrap())),
        (!calls.is_empty()).then_some((spans.len() as i64, wall_ns))
    );
    let counted = |durable: i64| -> i64 {
        let of = |r: &&Row| number(r, "durable") == Some(durable);
        let rows = found["call_sums"].iter().filter(of);
        rows.map(|r| number(r, "calls").unwrap()).sum()
    };
    let writes = calls.iter().filter(|c| durable(c)).count() as i64;
    assert_eq!(
        (counted(1), counted(0)),
        (writes, calls.len() as i64 - writes)
    );
    let for_flush = waits
        .iter()
        .filter(|w| w.reason == "journal_commit" || w.reason == "device_flush");
    spans.extend(for_flush.map(|w| (w.dev, w.ts_ns, w.ts_ns + w.dur_ns)));
    spans
}

fn flushes_hold(found: &Found, requests: &[rows::BlockRequests], spans: &[Span]) {
    // The filesystems that are waited for as it is queued; one of them may not be known.
    let waited = |q: &rows::BlockRequests| -> BTreeSet<Option<i64>> {
        let own = spans
            .iter()
            .filter(|(_, b, e)| q.in_scope.is_none() && *b <= q.queue_ns && q.queue_ns <= *e);
        own.map(|(dev, ..)| *dev).collect()
    };
    let flushes = || {
        requests
            .iter()
            .filter(|q| q.op == "flush" || !q.flags.is_empty())
    };
    for asked in [false, true] {
        let own = || flushes().filter(|q| (q.op == "write") == asked);
        let of_kind = |table: &str| {
            let rows = found[table].iter();
            rows.filter(move |r| number(r, "asked") == Some(asked.into()))
        };
        let mut expected: BTreeMap<_, i64> = BTreeMap::new();
        for q in own() {
            let known = waited(q);
            let named: Option<Vec<i64>> = known.iter().copied().collect();
            *expected
                .entry((!known.is_empty(), named.unwrap_or_default()))
                .or_default() += 1;
        }
        let mut told: BTreeMap<_, i64> = BTreeMap::new();
        for row in of_kind("flush_sums") {
            let mut named = numbers(row, "waited_for");
            named.sort_unstable();
            *told
                .entry((number(row, "waited") == Some(1), named))
                .or_default() += number(row, "flushes").unwrap();
        }
        assert_eq!(told, expected);
        let at_work = |t: &i64| {
            own().any(|q| {
                q.issue_ns.unwrap_or(q.queue_ns) <= *t && q.complete_ns.is_some_and(|end| *t < end)
            })
        };
        let busy: i64 = of_kind("flushing_sums")
            .map(|r| number(r, "busy_ns").unwrap())
            .sum();
        assert_eq!(busy, (0..400).filter(at_work).count() as i64);
    }
}

#[test]
fn what_waits_take_of_an_interval_is_that_of_every_moment() {
    let mut draw = Draw(15);
    for round in 0..60 {
        let (waits, _, mut events) = thread(&mut draw, 7);
        let mut ends = vec![0];
        while *ends.last().unwrap() < 200 {
            ends.push(ends.last().unwrap() + 1 + draw.below(30));
        }
        let intervals: Vec<_> = ends.windows(2).map(|w| (w[0], w[1])).collect();
        events.extend(intervals.iter().map(|&(ts_ns, end_ns)| {
            let waited = waits
                .iter()
                .map(|w| (w.ts_ns + w.dur_ns).min(end_ns) - w.ts_ns.max(ts_ns));
            Event::Interval(rows::ThreadTime {
                ts_ns,
                interval_ns: end_ns - ts_ns,
                tid: 7,
                blocked_ns: Some(waited.filter(|ns| *ns > 0).sum()),
                ..rows::ThreadTime::default()
            })
        }));
        // Clocks are read before what the ring holds, or after it.
        events.sort_by_key(|e| {
            e.at() - i64::from(round % 2 == 0 && matches!(e, Event::Interval(_))) * 20
        });
        let temporary = tempfile::tempdir().unwrap();
        let found = tables(&temporary.path().join("a.iowhy"), &events);
        for (ts_ns, end_ns) in intervals {
            for reason in [
                "page_writeback",
                "journal_commit",
                "inode_lock",
                "device_flush",
            ] {
                let own = waits.iter().filter(|w| w.reason == reason);
                let parts = own.map(|w| (w.ts_ns + w.dur_ns).min(end_ns) - w.ts_ns.max(ts_ns));
                let rows = found["interval_waits"].iter().filter(|r| {
                    number(r, "ts_ns") == Some(ts_ns)
                        && *field(r, "reason") == Field::Str(reason.into())
                });
                let told: i64 = rows.map(|r| number(r, "waited_ns").unwrap()).sum();
                assert_eq!(
                    told,
                    parts.filter(|ns| *ns > 0).sum::<i64>(),
                    "{reason} from {ts_ns}"
                );
            }
        }
    }
}

#[test]
fn a_write_of_which_it_is_not_known_leaves_no_sums_of_syncs() {
    let call = |name: &'static str, durable| {
        Event::Call(rows::Syscalls {
            dur_ns: 10,
            tid: 7,
            name: name.into(),
            durable,
            ..rows::Syscalls::default()
        })
    };
    let temporary = tempfile::tempdir().unwrap();
    let known = [
        call("write", Some(true)),
        call("read", None),
        call("fsync", None),
        call("write", Some(false)),
    ];
    let found = tables(&temporary.path().join("a.iowhy"), &known);
    assert_eq!(number(&found["sync_sums"][0], "calls"), Some(2));
    let unknown = [call("write", Some(true)), call("write", None)];
    let found = tables(&temporary.path().join("b.iowhy"), &unknown);
    assert!(found["sync_sums"].is_empty());
}

#[test]
fn operations_that_make_data_durable_are_syncs_from_submission_to_result() {
    let operation = |kind: &'static str, submit_ns, complete_ns, durable| {
        Event::Operation(rows::AsyncOperations {
            submit_ns,
            complete_ns,
            kind: kind.into(),
            durable,
            dev: Some(1),
            ..rows::AsyncOperations::default()
        })
    };
    let flush = |queue_ns| {
        Event::Request(rows::BlockRequests {
            queue_ns,
            complete_ns: Some(queue_ns + 1),
            op: "flush".into(),
            ..rows::BlockRequests::default()
        })
    };
    let temporary = tempfile::tempdir().unwrap();
    let events = [
        flush(15),
        operation("sync", 10, Some(20), None),
        flush(35),
        operation("write", 30, Some(40), Some(false)),
        operation("write", 50, Some(70), Some(true)),
        flush(60),
        // Its end was not seen: that it was is all that is known.
        operation("sync", 80, None, None),
        flush(90),
        operation("read", 100, Some(200), None),
    ];
    let found = tables(&temporary.path().join("a.iowhy"), &events);
    let sums = &found["sync_sums"][0];
    assert_eq!(
        (number(sums, "calls"), number(sums, "wall_ns")),
        (Some(3), Some(30))
    );
    let waited = |wanted: i64| -> i64 {
        let rows = found["flush_sums"].iter();
        let of = rows.filter(|r| number(r, "waited") == Some(wanted));
        of.map(|r| number(r, "flushes").unwrap()).sum()
    };
    assert_eq!((waited(1), waited(0)), (2, 2));
}
