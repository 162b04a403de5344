//! The sums of what devices did while the command ran, and how many requests have each length and time, against what they
//! mean, said request by request.

mod common;

use std::collections::BTreeMap;
use std::path::Path;

use common::{field, number, read, Draw};
use iowhy_store::manifest::{Manifest, Source};
use iowhy_store::{rows, Recording};
use parquet::record::{Field, Row};

/// More than wait for the command's end (`WAITING` of the sums).
const MORE_THAN_WAIT: i64 = 70_000;
const SECOND: i64 = 1_000_000_000;
const COMMAND: (i64, i64) = (SECOND + 300, 6 * SECOND + 7);

type Key = Vec<Option<i64>>;
type Expected = BTreeMap<(String, Key), Key>;

fn request(draw: &mut Draw, queue_ns: i64) -> rows::BlockRequests {
    let complete_ns = draw
        .maybe(9)
        .map(|length| queue_ns + 3 + length * SECOND / 8);
    rows::BlockRequests {
        queue_ns,
        issue_ns: draw.maybe(3).map(|ns| queue_ns + ns),
        complete_ns,
        over_by_ns: complete_ns
            .map_or_else(|| draw.maybe(2), |_| None)
            .map(|n| queue_ns + n * SECOND),
        dev: 80 + draw.below(2),
        bytes: 512 * draw.below(3),
        op: draw.one_of(&["read", "write", "flush"]),
        tgid: draw.maybe(2),
        owner_dev: draw.maybe(1),
        owner_ino: draw.maybe(1),
        owner_kind: draw.one_of(&["data", "unknown"]),
        in_scope: draw.maybe(2).map(|n| n > 0),
        error: draw.maybe(1).map(|n| 5 * n),
        requeues: draw.maybe(2),
        ..rows::BlockRequests::default()
    }
}

fn recorded(dir: &Path, requests: &[rows::BlockRequests], start_at: usize) {
    let mut recording = Recording::create(dir, Manifest::new(Source::Live)).unwrap();
    for (at, row) in requests.iter().enumerate() {
        if at == start_at {
            recording.manifest_mut().command.start_ns = Some(COMMAND.0);
        }
        recording.push(row.clone()).unwrap();
        if at % 100 == 99 {
            recording.tick(1).unwrap();
        }
    }
    recording.manifest_mut().command.end_ns = Some(COMMAND.1);
    recording.finish().unwrap();
}

fn more(sum: &mut Option<i64>, value: Option<i64>) {
    if let Some(value) = value {
        *sum = Some(sum.unwrap_or(0) + value);
    }
}

fn adds(sums: &mut Expected, key: (String, Key), values: &[Option<i64>]) {
    let sum = sums.entry(key).or_insert_with(|| vec![None; values.len()]);
    for (sum, value) in sum.iter_mut().zip(values) {
        more(sum, *value);
    }
}

fn number_of(truth: bool) -> Option<i64> {
    Some(truth.into())
}

/// Of each table its groups: the operation and other keys, and the sums.
fn expected(requests: &[rows::BlockRequests]) -> [Expected; 4] {
    let [mut seconds, mut others, mut sizes, mut times] = [const { Expected::new() }; 4];
    for q in requests {
        let scope = q.in_scope.map(i64::from);
        let time_ns = q.complete_ns.map(|at| at - q.queue_ns);
        let served = q
            .complete_ns
            .zip(q.issue_ns)
            .map(|(done, sent)| done - sent);
        let in_run =
            (q.op != "write" || q.bytes > 0) && (COMMAND.0..=COMMAND.1).contains(&q.queue_ns);
        if in_run {
            let over = q.complete_ns.or(q.over_by_ns);
            let second = over.map(|at| (at - COMMAND.0) / SECOND);
            let unowned = number_of(q.owner_kind == "unknown");
            adds(
                &mut seconds,
                (q.op.to_string(), vec![Some(q.dev), scope, unowned, second]),
                &[
                    Some(1),
                    Some(q.bytes),
                    number_of(time_ns.is_some()),
                    time_ns,
                    number_of(served.is_some()),
                    served,
                    number_of(q.error == Some(5)),
                    q.requeues,
                ],
            );
        }
        if q.in_scope == Some(false) {
            let within = q.complete_ns.map(|at| at.min(COMMAND.1) - q.queue_ns);
            adds(
                &mut others,
                (
                    String::new(),
                    vec![Some(q.dev), q.tgid, q.owner_dev, q.owner_ino],
                ),
                &[time_ns, number_of(in_run), within.filter(|_| in_run)],
            );
        }
        if q.in_scope == Some(true) && q.op != "flush" && q.bytes > 0 {
            let owner = vec![Some(q.dev), q.owner_dev, q.owner_ino, Some(q.bytes)];
            adds(&mut sizes, (q.op.to_string(), owner), &[Some(1)]);
            let sent_ns = q.issue_ns.unwrap_or(q.queue_ns);
            let time = q.complete_ns.map(|at| at - sent_ns);
            adds(
                &mut times,
                (q.op.to_string(), vec![Some(q.dev), q.owner_dev, time]),
                &[Some(1)],
            );
        }
    }
    [seconds, others, sizes, times]
}

const TABLES: [(&str, &[&str], &[&str]); 4] = [
    (
        "second_sums",
        &["dev", "in_scope", "unowned", "second"],
        &[
            "requests",
            "bytes",
            "seen",
            "time_ns",
            "served",
            "service_ns",
            "failed",
            "requeues",
        ],
    ),
    (
        "other_sums",
        &["dev", "tgid", "owner_dev", "owner_ino"],
        &["all_time_ns", "requests", "time_ns"],
    ),
    (
        "size_sums",
        &["dev", "owner_dev", "owner_ino", "bytes"],
        &["requests"],
    ),
    (
        "service_sums",
        &["dev", "owner_dev", "service_ns"],
        &["requests"],
    ),
];

fn found(dir: &Path, (table, keys, sums): (&str, &[&str], &[&str])) -> Expected {
    let rows = read(dir, table);
    let values = |row: &Row, names: &[&str]| names.iter().map(|name| number(row, name)).collect();
    let groups: Expected = rows
        .iter()
        .map(|row| {
            let op = match row.get_column_iter().any(|(name, _)| name == "op") {
                true => match field(row, "op") {
                    Field::Str(op) => op.clone(),
                    other => panic!("{other:?}"),
                },
                false => String::new(),
            };
            ((op, values(row, keys)), values(row, sums))
        })
        .collect();
    assert_eq!(groups.len(), rows.len(), "{table}");
    groups
}

/// Requests as they are handed over, when they are done: around the command, and the last second of it at the end.
fn drawn(draw: &mut Draw, count: i64) -> Vec<rows::BlockRequests> {
    let step = 7 * SECOND / count;
    (0..count).map(|at| request(draw, at * step)).collect()
}

#[test]
fn each_request_is_in_the_group_that_it_belongs_to() {
    let mut draw = Draw(31);
    for _ in 0..3 {
        let temporary = tempfile::tempdir().unwrap();
        let dir = temporary.path().join("a.iowhy");
        let requests = drawn(&mut draw, 30_000);
        recorded(&dir, &requests, 100);
        for (table, expected) in TABLES.into_iter().zip(expected(&requests)) {
            assert!(found(&dir, table) == expected, "{}", table.0);
        }
    }
}

#[test]
fn of_more_than_can_wait_for_the_end_all_count_or_none() {
    let mut draw = Draw(32);
    let temporary = tempfile::tempdir().unwrap();
    let mut requests = drawn(&mut draw, 3 * MORE_THAN_WAIT);
    let dir = temporary.path().join("a.iowhy");
    recorded(&dir, &requests, 20_000);
    for (table, expected) in TABLES.into_iter().zip(expected(&requests)) {
        assert!(found(&dir, table) == expected, "{}", table.0);
    }
    // One that is done before it is sent has no time: none of these is told, and all else is.
    let mut odd = requests.clone();
    odd[50_000] = rows::BlockRequests {
        op: "read".into(),
        bytes: 512,
        in_scope: Some(true),
        issue_ns: Some(odd[50_000].queue_ns + 9),
        complete_ns: Some(odd[50_000].queue_ns + 8),
        ..odd[50_000].clone()
    };
    let dir = temporary.path().join("odd.iowhy");
    recorded(&dir, &odd, 20_000);
    assert!(found(&dir, TABLES[0]) == expected(&odd)[0]);
    assert!(found(&dir, TABLES[2]).is_empty() && found(&dir, TABLES[3]).is_empty());
    // One of others that was summed up before it was known that it is over after the end.
    let long = &mut requests[50_000];
    *long = rows::BlockRequests {
        in_scope: Some(false),
        bytes: 512,
        complete_ns: Some(COMMAND.1 + 1),
        ..long.clone()
    };
    let dir = temporary.path().join("b.iowhy");
    recorded(&dir, &requests, 20_000);
    assert!(found(&dir, TABLES[0]) == expected(&requests)[0]);
    assert!(found(&dir, TABLES[1]).is_empty());
    // So many queued after the end that some of them were summed up.
    let late = (0..MORE_THAN_WAIT + 1_000).map(|at| request(&mut draw, COMMAND.1 + 1 + at));
    requests.extend(late);
    let dir = temporary.path().join("c.iowhy");
    recorded(&dir, &requests, 20_000);
    assert!(found(&dir, TABLES[0]).is_empty() && found(&dir, TABLES[1]).is_empty());
    assert!(!found(&dir, TABLES[2]).is_empty());
}

#[test]
fn what_saves_no_reading_is_not_written() {
    let temporary = tempfile::tempdir().unwrap();
    let own = |number: i64| rows::BlockRequests {
        queue_ns: COMMAND.0,
        complete_ns: Some(COMMAND.0 + number),
        dev: 80,
        bytes: 512,
        op: "read".into(),
        in_scope: Some(true),
        ..rows::BlockRequests::default()
    };
    for (count, different, times) in [
        (9, 1, 1),
        (8, 1, 0),
        (800, 100, 0),
        (801, 100, 100),
        (900, 900, 0),
    ] {
        let dir = temporary.path().join(format!("{count}-{different}.iowhy"));
        let requests: Vec<_> = (0..count).map(|at| own(at % different)).collect();
        recorded(&dir, &requests, 0);
        assert_eq!(
            read(&dir, "service_sums").len(),
            times,
            "{different} times of {count}"
        );
        assert_eq!(read(&dir, "size_sums").len(), usize::from(count > 8));
    }
}
