//! System calls (calls.toml), and their numbers by machine.

/// What a call asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Read,
    Write,
    Copy,
    Sync,
    Lookup,
    Change,
    Collect,
    Idle,
}

/// How the programs treat a call that gets a row of its own. The numbers are those of `enum call_kind` in C, which
/// is made from this.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Record {
    Read = 1,
    Write,
    Sync,
    Open,
    /// Works on paths.
    Name,
    /// Gives a file a further name, which may be its first: one of O_TMPFILE has none.
    Link,
    /// Takes pages out of the cache for good.
    Remove,
    /// Asks for readahead.
    Ahead,
    /// Address and length of mapped memory.
    Memory,
    /// Submits to a ring of io_uring or a context of libaio, or reaps from it: argument 0 says which.
    Ring,
    Other,
}

impl Record {
    pub const ALL: [Record; 11] = [
        Record::Read,
        Record::Write,
        Record::Sync,
        Record::Open,
        Record::Name,
        Record::Link,
        Record::Remove,
        Record::Ahead,
        Record::Memory,
        Record::Ring,
        Record::Other,
    ];
}

/// Where a call has its offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OffsetIn {
    /// In the argument `offset`, if it has one.
    Argument,
    /// It is the file's position.
    Position,
    /// The argument `offset` points to it; NULL means the file's position.
    Pointer,
}

/// What a call does to threads and descriptors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    Open,
    /// On a file by its name.
    Named,
    Close,
    Duplicate,
    /// Gives a descriptor that is no file's.
    Descriptor,
    /// Gives two of them, in an array.
    Pair,
    Clone,
    Exec,
    /// Sets the thread's name.
    Comm,
}

/// A system call. Arguments are counted from 0.
#[derive(Clone, Copy, Debug)]
pub struct Call {
    pub name: &'static str,
    pub kind: Option<Kind>,
    /// It moves a file's data and gives the number of bytes.
    pub moves_data: bool,
    /// None: it is only counted.
    pub record: Option<Record>,
    /// How many arguments it has, where one of them is known.
    pub arguments: Option<u8>,
    pub fd: Option<u8>,
    pub bytes: Option<u8>,
    pub offset: Option<u8>,
    /// The descriptor of the file that it writes to.
    pub written: Option<u8>,
    /// Flags of the call as the kernel takes it: of a position on 32 bits it has both halves before these.
    pub flags: Option<u8>,
    /// `bytes` is an array of iovec, the argument after it its length.
    pub vector: bool,
    pub offset_in: OffsetIn,
    pub effect: Option<Effect>,
    /// It closes files.
    pub closes: bool,
    /// Who serves the file of its first argument may have to answer it.
    pub served: bool,
    /// Of a call that gives descriptors that are no file's: what they are of, as /proc/PID/fd names them.
    pub makes: Option<&'static str>,
    /// The call that this is another name of: no number of its own.
    pub same_as: Option<&'static str>,
}

impl Call {
    /// Argument `at` counted from the last one (1): tools print some arguments as several, the first ones.
    pub fn from_end(&self, at: u8) -> Option<u8> {
        self.arguments.map(|count| count - at)
    }
}

include!(concat!(env!("OUT_DIR"), "/calls.rs"));

/// What is known of a call of this name.
pub fn by_name(name: &[u8]) -> Option<&'static Call> {
    CALLS
        .binary_search_by(|call| call.name.as_bytes().cmp(name))
        .ok()
        .map(|at| &CALLS[at])
}

/// Names by number on a machine, as `uname -m` says it (asm/unistd.h); "" where there is no such call.
pub fn numbers(machine: &str) -> Option<&'static [&'static str]> {
    match machine {
        "x86_64" => Some(&X86_64),
        // Both take theirs from asm-generic/unistd.h.
        "aarch64" | "riscv64" => Some(&AARCH64),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_found_by_name_and_another_name_is_the_same_call() {
        assert!(CALLS.windows(2).all(|two| two[0].name < two[1].name));
        let pread = by_name(b"pread").unwrap();
        assert_eq!((pread.same_as, pread.offset), (Some("pread64"), Some(3)));
        assert_eq!(pread.from_end(3), Some(1));
        assert!(by_name(b"preadv3").is_none());
    }

    #[test]
    fn every_machine_numbers_its_calls() {
        assert_eq!(numbers("x86_64").unwrap()[74], "fsync");
        assert_eq!(numbers("aarch64").unwrap()[82], "fsync");
        assert_eq!(numbers("riscv64").unwrap()[82], "fsync");
        assert!(numbers("s390x").is_none());
    }
}
