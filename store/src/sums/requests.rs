//! Block requests by device, kind and owner.

use super::groups::{add, Groups};
use crate::rows::{BlockRequests, Name, RequestSums as SumRow};

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Key {
    owner_ino: Option<i64>,
    owner_dev: Option<i64>,
    dev: i64,
    in_scope: Option<bool>,
    empty: bool,
    op: Name,
    owner_kind: Name,
}

#[derive(Debug, Default)]
struct Sum {
    requests: i64,
    bytes: i64,
    time_ns: Option<i64>,
    unseen: i64,
    failed: i64,
}

#[derive(Debug, Default)]
pub struct RequestSums(Groups<Key, Sum>);

impl RequestSums {
    pub fn add(&mut self, row: &BlockRequests) {
        let key = Key {
            owner_ino: row.owner_ino,
            owner_dev: row.owner_dev,
            dev: row.dev,
            in_scope: row.in_scope,
            empty: row.op == "write" && row.bytes == 0,
            op: row.op.clone(),
            owner_kind: row.owner_kind.clone(),
        };
        let Some(sum) = self.0.of(key) else { return };
        sum.requests += 1;
        sum.bytes = sum.bytes.saturating_add(row.bytes);
        add(
            &mut sum.time_ns,
            row.complete_ns.map(|at| at - row.queue_ns),
        );
        sum.unseen += i64::from(row.complete_ns.is_none());
        sum.failed += i64::from(row.error.is_some_and(|error| error != 0));
    }

    pub fn give_up(&mut self) {
        self.0.give_up();
    }

    pub fn rows(self) -> Vec<SumRow> {
        let groups = self.0.into_groups().into_iter();
        groups.map(|(key, sum)| sum.row(key)).collect()
    }
}

impl Sum {
    fn row(self, key: Key) -> SumRow {
        SumRow {
            dev: key.dev,
            op: key.op,
            in_scope: key.in_scope,
            owner_kind: key.owner_kind,
            owner_dev: key.owner_dev,
            owner_ino: key.owner_ino,
            empty: key.empty,
            requests: self.requests,
            bytes: self.bytes,
            time_ns: self.time_ns,
            unseen: self.unseen,
            failed: self.failed,
        }
    }
}
