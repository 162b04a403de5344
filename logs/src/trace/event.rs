//! An event of the kernel, whoever wrote it down, with what it says of I/O.

/// Arguments of a call as they stand; None: unknown.
pub type Arguments = [Option<i64>; 6];

/// An event that is used here.
#[derive(Debug, PartialEq)]
pub struct Event<'a> {
    /// Its place in the log: of two events of one time the lesser is the earlier.
    pub n: i64,
    pub ts_ns: i64,
    /// The thread that was on the CPU.
    pub tid: i32,
    pub tgid: Option<i32>,
    pub comm: &'a [u8],
    pub detail: Detail<'a>,
}

/// What an event says.
#[derive(Debug, PartialEq)]
pub enum Detail<'a> {
    /// Only that the thread is there.
    Thread,
    Switch(Switch<'a>),
    /// The thread may run.
    Wake(i32),
    BlockedReason {
        tid: i32,
        io: bool,
        /// Empty: unknown.
        caller: &'a [u8],
    },
    Fork {
        child: i32,
    },
    Exit,
    Enter {
        call: CallName<'a>,
        arguments: Arguments,
    },
    Return {
        call: CallName<'a>,
        ret: Option<i64>,
    },
    Block(Block<'a>),
    Page(Page),
    Writeback(Writeback<'a>),
    Throttle(Throttle),
    Journal(Journal<'a>),
    Allocation(Allocation),
}

/// A call by its name, or by its number on the traced machine.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum CallName<'a> {
    Name(&'a [u8]),
    Number(i64),
}

/// sched_switch; thread 0 is the idle one.
#[derive(Debug, PartialEq)]
pub struct Switch<'a> {
    pub prev: i32,
    pub prev_comm: &'a [u8],
    /// The first letter of prev_state (include/trace/events/sched.h).
    pub prev_state: u8,
    pub next: i32,
    pub next_comm: &'a [u8],
}

/// An event of a block request or a bio. `dev` is the kernel's number: major << 20 | minor.
#[derive(Debug, PartialEq)]
pub struct Block<'a> {
    pub kind: BlockKind,
    pub dev: i64,
    pub rwbs: &'a [u8],
    pub bytes: i64,
    /// None: a flush, which has none.
    pub sector: Option<i64>,
    pub error: Option<i64>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum BlockKind {
    Queue,
    Insert,
    Issue,
    Requeue,
    Complete,
    /// Of a bio.
    End,
}

impl BlockKind {
    /// The kind of a tracepoint of the block layer.
    pub fn of(event: &[u8]) -> Self {
        match event {
            b"block_bio_queue" | b"block_getrq" => Self::Queue,
            b"block_io_start" | b"block_rq_insert" => Self::Insert,
            b"block_rq_issue" => Self::Issue,
            b"block_rq_requeue" => Self::Requeue,
            b"block_rq_complete" => Self::Complete,
            _ => Self::End,
        }
    }

    pub fn name(self) -> &'static [u8] {
        match self {
            Self::Queue => b"queue",
            Self::Insert => b"insert",
            Self::Issue => b"issue",
            Self::Requeue => b"requeue",
            Self::Complete => b"complete",
            Self::End => b"end",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PageKind {
    Lookup,
    Add,
    Delete,
    Dirty,
}

impl PageKind {
    pub fn name(self) -> &'static [u8] {
        match self {
            Self::Lookup => b"lookup",
            Self::Add => b"add",
            Self::Delete => b"delete",
            Self::Dirty => b"dirty",
        }
    }
}

/// Pages of a file.
#[derive(Debug, PartialEq)]
pub struct Page {
    pub kind: PageKind,
    pub dev: i64,
    pub ino: i64,
    pub first: Option<i64>,
    pub count: i64,
}

#[derive(Debug, PartialEq)]
pub struct Writeback<'a> {
    pub name: &'a [u8],
    pub dev: Option<i64>,
    pub ino: Option<i64>,
    /// Empty: unknown.
    pub reason: &'a [u8],
    pub wrote_pages: Option<i64>,
    pub age_s: Option<i64>,
}

/// balance_dirty_pages.
#[derive(Debug, PartialEq)]
pub struct Throttle {
    pub pause_ms: Option<i64>,
    pub dirty_pages: Option<i64>,
    pub limit_pages: Option<i64>,
}

/// jbd2; times as the tool prints them.
#[derive(Debug, PartialEq)]
pub struct Journal<'a> {
    pub name: &'a [u8],
    pub dev: Option<i64>,
    pub transaction: Option<i64>,
    pub wait: Option<i64>,
    pub locked: Option<i64>,
    pub flushing: Option<i64>,
    pub logging: Option<i64>,
    pub handles: Option<i64>,
    pub blocks: Option<i64>,
    /// Fields as they stand in the event, not in its print format.
    pub raw: bool,
}

/// ext4_allocate_blocks.
#[derive(Debug, PartialEq)]
pub struct Allocation {
    pub dev: Option<i64>,
    pub ino: Option<i64>,
    pub logical_block: Option<i64>,
    pub physical_block: Option<i64>,
    pub blocks: Option<i64>,
}
