//! Calls added up by second, thread and name.

use ahash::HashMap;

use crate::error::Result;
use crate::output::rows::{CallTotal, Text};
use crate::output::{Output, Table};
use crate::text::NS;

/// Sums that are kept until they are written; a key may have several rows.
const KEPT: usize = 1 << 16;

#[derive(Default)]
struct Total {
    calls: i64,
    errors: i64,
    total_ns: i64,
    max_ns: i64,
    cpu_ns: Option<i64>,
}

pub struct Totals {
    kept: HashMap<(i64, i32, Text), Total>,
    table: Table<CallTotal>,
}

impl Totals {
    pub fn new(output: &Output) -> Self {
        Self {
            kept: HashMap::default(),
            table: output.table(),
        }
    }

    /// Add a call; `cpu_ns` is None when it is not known.
    pub fn add(
        &mut self,
        (ts_ns, tid, name): (i64, i32, Text),
        dur_ns: i64,
        failed: bool,
        cpu_ns: Option<i64>,
    ) -> Result<()> {
        let total = self
            .kept
            .entry((ts_ns.div_euclid(NS), tid, name))
            .or_insert(Total {
                cpu_ns: Some(0),
                ..Total::default()
            });
        total.cpu_ns = total.cpu_ns.zip(cpu_ns).map(|(sum, cpu)| sum + cpu);
        total.calls += 1;
        total.errors += i64::from(failed);
        total.total_ns = total.total_ns.saturating_add(dur_ns);
        total.max_ns = total.max_ns.max(dur_ns);
        if self.kept.len() >= KEPT {
            self.write()?;
        }
        Ok(())
    }

    pub fn finish(mut self) -> Result<()> {
        self.write()?;
        self.table.finish()
    }

    fn write(&mut self) -> Result<()> {
        for ((second, tid, name), total) in self.kept.drain() {
            self.table.push(&CallTotal {
                second,
                calls: total.calls,
                errors: total.errors,
                total_ns: total.total_ns,
                max_ns: total.max_ns,
                cpu_ns: total.cpu_ns,
                tid,
                name,
            })?;
        }
        Ok(())
    }
}
