//! The kinds of rows: their columns are declared here, once, and travel with each file as its schema.
//!
//! Numbers that end in `_ns` are nanoseconds, on the log's own time line. What may be unknown is an `Option`, and
//! NULL in the file. A [`Text`] is the number of a string (uint32 in the file, which no other column is).

use std::num::NonZeroU32;
use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_schema::{Field, Schema};

use super::table::{Row, Value};

/// A string of the log, by its number in strings.parquet (from 0).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Text(NonZeroU32);

impl Text {
    /// The empty string, and names that are too many.
    pub const EMPTY: Self = Self(NonZeroU32::MIN);

    pub(super) fn nth(at: u32) -> Self {
        Self(NonZeroU32::MIN.saturating_add(at))
    }

    pub(super) fn number(self) -> u32 {
        self.0.get() - 1
    }
}

macro_rules! rows {
    ($(
        $(#[$about:meta])*
        $Row:ident, $Columns:ident, $table:literal {
            $( $(#[$field_about:meta])* $field:ident: $type:ty, )*
        }
    )*) => { $(
        $(#[$about])*
        #[derive(Clone, Debug, PartialEq)]
        pub struct $Row {
            $( $(#[$field_about])* pub $field: $type, )*
        }

        pub struct $Columns {
            $( $field: <$type as Value>::Builder, )*
        }

        impl Default for $Columns {
            fn default() -> Self {
                Self { $( $field: <$type as Value>::builder(), )* }
            }
        }

        impl Row for $Row {
            const TABLE: &'static str = $table;
            type Columns = $Columns;

            fn schema() -> Schema {
                Schema::new(vec![
                    $( Field::new(
                        stringify!($field), <$type as Value>::TYPE, <$type as Value>::NULLABLE,
                    ), )*
                ])
            }

            fn append(&self, columns: &mut $Columns) {
                $( self.$field.append(&mut columns.$field); )*
            }

            fn arrays(columns: &mut $Columns) -> Vec<ArrayRef> {
                vec![ $( Arc::new(columns.$field.finish()), )* ]
            }
        }
    )* };
}

rows! {
    /// A call of a strace log that may be I/O.
    Call, CallColumns, "calls" {
        ts_ns: i64,
        /// Unknown: it had not returned when the log ended.
        dur_ns: Option<i64>,
        /// A negative errno when it failed.
        ret: Option<i64>,
        offset: Option<i64>,
        bytes: Option<i64>,
        tid: i32,
        fd: Option<i32>,
        name: Text,
        path: Option<Text>,
        /// Of a call that writes: it returns once that is durable (O_SYNC and the like). Where no flag says so, a mount
        /// or an inode may: unknown.
        durable: Option<bool>,
    }

    /// The calls of a second, a thread and a name.
    CallTotal, CallTotalColumns, "call_totals" {
        /// Since the time line's zero.
        second: i64,
        calls: i64,
        errors: i64,
        total_ns: i64,
        max_ns: i64,
        /// Of it on a CPU, if that is known of all of them.
        cpu_ns: Option<i64>,
        tid: i32,
        name: Text,
    }

    /// A thread of a strace log.
    TracedThread, TracedThreadColumns, "threads" {
        /// 0: the thread of lines without one, whose number is the summary's `main`.
        tid: i32,
        tgid: i32,
        /// 0: the first thread, or nobody that is known.
        ppid: i32,
        comm: Text,
        start_ns: i64,
        end_ns: Option<i64>,
        exit_code: Option<i64>,
    }

    /// A call of a trace, with its arguments as they stand.
    TracedCall, TracedCallColumns, "calls" {
        ts_ns: i64,
        /// Unknown: it had not returned when the trace ended.
        dur_ns: Option<i64>,
        ret: Option<i64>,
        argument_0: Option<i64>,
        argument_1: Option<i64>,
        argument_2: Option<i64>,
        argument_3: Option<i64>,
        argument_4: Option<i64>,
        argument_5: Option<i64>,
        cpu_ns: i64,
        runnable_ns: i64,
        blocked_ns: i64,
        sleeping_ns: i64,
        tid: i32,
        /// "#17" where only the call's number is known.
        name: Text,
    }

    /// A thread of a trace.
    Thread, ThreadColumns, "threads" {
        tid: i32,
        /// 0: unknown.
        tgid: i32,
        ppid: Option<i32>,
        comm: Text,
        start_ns: i64,
        end_ns: Option<i64>,
        calls: i64,
        /// All time but that asleep.
        active_ns: i64,
    }

    /// Where a thread's time went, of (a part of) a second.
    ThreadTime, ThreadTimeColumns, "thread_times" {
        ts_ns: i64,
        cpu_user_ns: i64,
        cpu_kernel_ns: i64,
        runnable_ns: i64,
        blocked_ns: i64,
        sleeping_ns: i64,
        tid: i32,
    }

    /// A stretch of state D, to the wake-up.
    Wait, WaitColumns, "waits" {
        ts_ns: i64,
        dur_ns: i64,
        tid: i32,
        /// The call that it is inside.
        call: Option<Text>,
        /// Functions of the kernel, the innermost first, a line each.
        stack: Option<Text>,
        /// The function that waited, as the kernel names it.
        caller: Option<Text>,
        io: Option<bool>,
    }

    /// An event of a block request or a bio.
    BlockEvent, BlockEventColumns, "block_events" {
        /// Its place in the log: of two events of one time the lesser is the earlier.
        n: i64,
        ts_ns: i64,
        /// The kernel's number: major << 20 | minor.
        dev: i64,
        bytes: i64,
        /// Of 512 bytes; unknown for a flush.
        sector: Option<i64>,
        error: Option<i64>,
        tid: i32,
        comm: Text,
        /// queue, insert, issue, requeue, complete (of a request) or end (of a bio).
        kind: Text,
        rwbs: Text,
    }

    /// An event of the page cache.
    Page, PageColumns, "pages" {
        n: i64,
        ts_ns: i64,
        dev: i64,
        ino: i64,
        /// The first page of the file.
        first: Option<i64>,
        count: i64,
        tid: i32,
        /// lookup, add, delete or dirty.
        kind: Text,
    }

    /// An event of writeback.
    Writeback, WritebackColumns, "writeback_events" {
        n: i64,
        ts_ns: i64,
        dev: Option<i64>,
        ino: Option<i64>,
        wrote_pages: Option<i64>,
        age_s: Option<i64>,
        tid: i32,
        /// The event's: writeback_single_inode and its kin.
        name: Text,
        comm: Text,
        reason: Option<Text>,
    }

    /// A writer is held up: balance_dirty_pages.
    Throttle, ThrottleColumns, "throttles" {
        ts_ns: i64,
        pause_ms: Option<i64>,
        dirty_pages: Option<i64>,
        limit_pages: Option<i64>,
        tid: i32,
    }

    /// An event of the journal jbd2. Times are milliseconds, or ticks, as the tool prints them.
    Journal, JournalColumns, "journal_events" {
        ts_ns: i64,
        dev: Option<i64>,
        transaction: Option<i64>,
        wait: Option<i64>,
        locked: Option<i64>,
        flushing: Option<i64>,
        logging: Option<i64>,
        handles: Option<i64>,
        blocks: Option<i64>,
        name: Text,
        /// The fields as they stand in the event, not in its print format.
        raw: Option<bool>,
    }

    /// ext4 gives blocks of the disk to a file.
    Allocation, AllocationColumns, "allocation_events" {
        ts_ns: i64,
        dev: Option<i64>,
        ino: Option<i64>,
        logical_block: Option<i64>,
        physical_block: Option<i64>,
        blocks: Option<i64>,
        tid: i32,
    }
}
