//! The sums of requests by file and of those that jump, against what they mean, said request by request.

mod common;

use std::collections::BTreeMap;
use std::path::Path;

use common::{field, number, read, Draw};
use iowhy_store::manifest::{Manifest, Source};
use iowhy_store::{rows, Recording};
use parquet::record::Field;

/// More than wait for others at once (`WAITING` of the sums).
const MORE_THAN_WAIT: i64 = 33_000;

/// Device, direction, filesystem and inode of the file.
type Key = (i64, String, Option<i64>, Option<i64>);
/// Requests, bytes, time, direct bytes, jumps, steps.
type Sum = (i64, i64, Option<i64>, i64, i64, i64);

fn request(draw: &mut Draw, number: i64, sector: &mut i64) -> rows::BlockRequests {
    if draw.below(3) == 0 {
        *sector = draw.below(1_000);
    }
    let begins = *sector;
    let bytes = 512 * draw.below(4);
    *sector += bytes / 512;
    // Each is queued at another moment, and sent in any order.
    let queue_ns = 10 * number;
    let issue_ns = draw.maybe(1).map(|_| queue_ns + draw.below(90));
    rows::BlockRequests {
        queue_ns,
        issue_ns,
        complete_ns: draw.maybe(300).map(|length| queue_ns + 90 + length),
        dev: 80 + draw.below(2),
        sector: (draw.below(20) > 0).then_some(begins),
        bytes,
        op: draw.one_of(&["read", "write", "write", "flush"]),
        in_scope: (draw.below(9) > 0).then(|| draw.below(9) > 0),
        owner_dev: draw.maybe(2),
        owner_ino: draw.maybe(2),
        owner_page: draw.maybe(5),
        ..rows::BlockRequests::default()
    }
}

fn sums(dir: &Path, done: impl IntoIterator<Item = rows::BlockRequests>) -> BTreeMap<Key, Sum> {
    let mut recording = Recording::create(dir, Manifest::new(Source::Live)).unwrap();
    for row in done {
        recording.push(row).unwrap();
    }
    recording.finish().unwrap();
    let rows = read(dir, "jump_sums");
    let of = |row| {
        let Field::Str(op) = field(row, "op") else {
            panic!("op")
        };
        let known = |name| number(row, name).unwrap();
        (
            (
                known("dev"),
                op.clone(),
                number(row, "owner_dev"),
                number(row, "owner_ino"),
            ),
            (
                known("requests"),
                known("bytes"),
                number(row, "time_ns"),
                known("direct_bytes"),
                known("jumps"),
                known("steps"),
            ),
        )
    };
    let found: BTreeMap<Key, Sum> = rows.iter().map(of).collect();
    assert_eq!(found.len(), rows.len());
    found
}

/// All of these are in the order in which they were queued.
fn expected(requests: &[rows::BlockRequests]) -> BTreeMap<Key, Sum> {
    let mut ended: BTreeMap<(i64, String), Option<i64>> = BTreeMap::new();
    let mut found: BTreeMap<Key, Sum> = BTreeMap::new();
    for row in requests {
        let moves = ["read", "write"].contains(&row.op.as_ref()) && row.bytes > 0;
        if !moves || row.in_scope != Some(true) {
            continue;
        }
        let begins = row.sector.map(|sector| 512 * sector);
        let ends = begins.map(|begins| begins + row.bytes);
        let before = ended.insert((row.dev, row.op.to_string()), ends).flatten();
        let steps = before.is_some() && begins.is_some();
        let key = (row.dev, row.op.to_string(), row.owner_dev, row.owner_ino);
        let sum = found.entry(key).or_default();
        sum.0 += 1;
        sum.1 += row.bytes;
        if let Some(at) = row.complete_ns {
            sum.2 = Some(sum.2.unwrap_or(0) + at - row.queue_ns);
        }
        sum.3 += row.owner_page.map_or(row.bytes, |_| 0);
        sum.4 += i64::from(steps && before != begins);
        sum.5 += i64::from(steps);
    }
    found
}

#[test]
fn they_are_those_of_the_order_in_which_requests_were_queued() {
    let mut draw = Draw(21);
    for _ in 0..40 {
        let temporary = tempfile::tempdir().unwrap();
        let mut sector = 0;
        let count = draw.below(200);
        let requests: Vec<_> = (0..count)
            .map(|number| request(&mut draw, number, &mut sector))
            .collect();
        let mut done = requests.clone();
        done.sort_by_key(|row| row.complete_ns.unwrap_or(i64::MAX));
        let found = sums(&temporary.path().join("a.iowhy"), done);
        assert_eq!(found, expected(&requests), "{requests:?}");
    }
}

fn in_a_row(number: i64) -> rows::BlockRequests {
    rows::BlockRequests {
        queue_ns: number,
        dev: 80,
        sector: Some(8 * number),
        bytes: 4096,
        op: "read".into(),
        in_scope: Some(true),
        ..rows::BlockRequests::default()
    }
}

#[test]
fn there_are_none_where_one_is_done_after_too_many_that_were_queued_later() {
    let temporary = tempfile::tempdir().unwrap();
    let late = |after: i64| (1..=after).chain([0]).map(in_a_row);
    let found = sums(&temporary.path().join("a.iowhy"), late(1_000));
    let (_, _, _, _, jumps, steps) = found.into_values().next().unwrap();
    assert_eq!((jumps, steps), (0, 1_000));
    assert!(sums(&temporary.path().join("b.iowhy"), late(MORE_THAN_WAIT)).is_empty());
}

#[test]
fn there_are_none_where_two_were_queued_at_one_moment_to_one_place() {
    let temporary = tempfile::tempdir().unwrap();
    let twice = [1, 2, 2, 3].map(in_a_row);
    assert!(sums(&temporary.path().join("a.iowhy"), twice).is_empty());
}
