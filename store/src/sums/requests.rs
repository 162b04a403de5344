//! Block requests by device, kind and owner.

use super::groups::{add, Summed};
use crate::rows::{BlockRequests, Name, RequestSums};

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Key {
    owner_ino: Option<i64>,
    owner_dev: Option<i64>,
    dev: i64,
    in_scope: Option<bool>,
    empty: bool,
    op: Name,
    owner_kind: Name,
}

impl Summed for RequestSums {
    type Key = Key;
    type Of<'a> = &'a BlockRequests;

    fn key(row: &BlockRequests) -> Key {
        Key {
            owner_ino: row.owner_ino,
            owner_dev: row.owner_dev,
            dev: row.dev,
            in_scope: row.in_scope,
            empty: row.op == "write" && row.bytes == 0,
            op: row.op.clone(),
            owner_kind: row.owner_kind.clone(),
        }
    }

    fn add(&mut self, row: &BlockRequests) {
        self.requests += 1;
        self.bytes = self.bytes.saturating_add(row.bytes);
        add(
            &mut self.time_ns,
            row.complete_ns.map(|at| at - row.queue_ns),
        );
        self.unseen += i64::from(row.complete_ns.is_none());
        self.failed += i64::from(row.error.is_some_and(|error| error != 0));
    }

    fn with_key(self, key: Key) -> RequestSums {
        RequestSums {
            dev: key.dev,
            op: key.op,
            in_scope: key.in_scope,
            owner_kind: key.owner_kind,
            owner_dev: key.owner_dev,
            owner_ino: key.owner_ino,
            empty: key.empty,
            ..self
        }
    }
}
