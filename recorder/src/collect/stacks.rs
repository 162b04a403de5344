//! User stacks: from registers and the top of a stack to rows.

use std::borrow::Cow;
use std::collections::hash_map::Entry;
use std::collections::HashMap;
use std::path::PathBuf;
use std::rc::Rc;

use iowhy_readings::reach::Reach;
use iowhy_readings::Roots;
use iowhy_store::{rows, Recording, Result};
use iowhy_unwind::{Frame, Mapped, Registers, Served, Unwinder};

use super::named_stacks;
use crate::calls;
use crate::disked::Disked;
use crate::event::{self, layout, Code, FileId, UserStack, UserWait};
use crate::files::Files;
use crate::identity::Identities;

/// Names functions of the kernel by their addresses.
pub type NameFunctions<'a> = &'a mut dyn FnMut(&[u64]) -> Vec<String>;

/// Stacks that are told apart, and frames of all of them together; of more than these no stack is kept.
const STACKS_MOST: usize = 262_144;
const FRAMES_MOST: usize = 4 << 20;
/// Stacks of the kernel on a CPU that are told apart.
const KERNEL_STACKS_MOST: usize = 65_536;
/// Their numbers begin here: those of waits are the kernel's own, which are smaller (bpf/stack.h).
const KERNEL_STACKS_FROM: i64 = 1 << 20;
/// Waits whose end is not known yet.
const WAITING_MOST: usize = 65_536;

/// Stacks and their numbers.
pub type Known = HashMap<Rc<[Frame]>, i64>;

/// A stack that was taken where its thread began to wait.
struct Waiting {
    ts: u64,
    row: rows::StackSamples,
}

/// Whether a record of their ring is of code that lies in a file, whose name another ring has.
pub fn names_file(bytes: &[u8]) -> bool {
    event::read(bytes).is_some_and(|e: event::Header| {
        e.kind == layout::EVENT_CODE && e.nr == u16::from(layout::CODE_MAP)
    })
}

/// Files of filesystems without a disk are read by another process.
struct Asked {
    reach: Reach,
    disks: Disked,
}

impl Default for Asked {
    fn default() -> Asked {
        Asked {
            reach: Reach::new(&Roots::default()),
            disks: Disked::default(),
        }
    }
}

impl Served for Asked {
    fn is_served(&mut self, dev: u32) -> bool {
        self.disks.is_served(dev)
    }

    fn process_file(&mut self, tgid: u32, name: &str, at: u64, most: u64) -> Option<Vec<u8>> {
        self.reach.process_file(tgid.into(), name, at, most)
    }

    fn read(&mut self, path: &[u8], ino: u64, offset: u64, length: u64) -> Option<Vec<u8>> {
        self.reach.read(path, ino, offset, length)
    }
}

/// The user stacks of a recording.
pub struct Stacks {
    unwinder: Unwinder,
    /// Numbers of stacks that were met.
    known: Known,
    frames: usize,
    kernel: HashMap<Vec<u64>, i64>,
    waiting: HashMap<u32, Waiting>,
}

impl Default for Stacks {
    fn default() -> Stacks {
        Stacks {
            unwinder: Unwinder::new(PathBuf::from("/proc"), Box::new(Asked::default())),
            known: HashMap::new(),
            frames: 0,
            kernel: HashMap::new(),
            waiting: HashMap::new(),
        }
    }
}

impl Stacks {
    /// One record of their ring; None when it is of no known kind, or cut off.
    pub fn event(
        &mut self,
        bytes: &[u8],
        files: &Files,
        identities: &mut Identities,
        functions: NameFunctions<'_>,
        recording: &mut Recording,
    ) -> Option<Result<()>> {
        let header: event::Header = event::read(bytes)?;
        match header.kind {
            layout::EVENT_CODE => {
                self.code(&event::read(bytes)?, files, identities);
                Some(Ok(()))
            }
            layout::EVENT_USER_STACK => {
                let e: UserStack = event::read(bytes)?;
                let memory = bytes.get(size_of::<UserStack>()..)?;
                let memory = &memory[..memory.len().min(e.length as usize)];
                Some(self.sample(&e, memory, identities, functions, recording))
            }
            layout::EVENT_USER_WAIT => {
                let e: UserWait = event::read(bytes)?;
                let waiting = self.waiting.remove(&e.header.tid)?;
                let row = rows::StackSamples {
                    weight_ns: e.weight as i64,
                    ..waiting.row
                };
                (waiting.ts == e.ts).then(|| recording.push(row))
            }
            _ => None,
        }
    }

    /// Code was mapped, or a process begins.
    fn code(&mut self, e: &Code, files: &Files, identities: &mut Identities) {
        match u8::try_from(e.header.nr) {
            Ok(layout::CODE_EXEC) => self.unwinder.exec(e.tgid),
            Ok(layout::CODE_FORK) => self.unwinder.fork(e.parent, e.tgid),
            _ => {
                let file = FileId {
                    ino: e.ino,
                    dev: e.dev,
                    generation: e.generation,
                };
                let path = files.path((e.dev, identities.of(file)));
                let mapped = Mapped {
                    start: e.start,
                    end: e.end,
                    offset: e.offset,
                    dev: e.dev,
                    ino: e.ino,
                    path: path.unwrap_or_default().to_vec(),
                };
                self.unwinder.map(e.tgid, mapped);
            }
        }
    }

    fn sample(
        &mut self,
        e: &UserStack,
        memory: &[u8],
        identities: &mut Identities,
        functions: NameFunctions<'_>,
        recording: &mut Recording,
    ) -> Result<()> {
        let flag = |bit: u8| e.header.flags & bit != 0;
        let (user_stack_id, whole) = match flag(layout::SAMPLE_HAS_USER) {
            true => self.unwind(e, memory),
            false => (None, false),
        };
        let stack_id = match flag(layout::SAMPLE_OF_CPU) {
            true => self.kernel_stack(e, functions, recording)?,
            false => (e.stack >= 0).then_some(e.stack.into()),
        };
        let has_file = flag(layout::SAMPLE_HAS_FILE);
        let mut file = FileId {
            ino: e.ino,
            dev: e.dev,
            generation: e.generation,
        };
        crate::identity::Identified::identify(&mut file, identities);
        let call = flag(layout::SAMPLE_OF_CALL).then(|| Stands::of(e));
        let row = rows::StackSamples {
            ts_ns: e.ts as i64,
            tgid: e.tgid.into(),
            tid: e.header.tid.into(),
            kind: match e.header.flags {
                _ if call.is_some() => "call",
                _ if flag(layout::SAMPLE_OF_WAIT) => "wait",
                _ => "cpu",
            }
            .into(),
            syscall: calls::name(e.header.nr).map(Cow::Borrowed),
            stack_id,
            user_stack_id,
            whole,
            weight_ns: e.weight as i64,
            cpu_ns: call.map(|call| call.cpu_ns),
            runnable_ns: call.map(|call| call.runnable_ns),
            blocked_ns: call.map(|call| call.blocked_ns),
            sleeping_ns: call.map(|call| call.sleeping_ns),
            calls: call.map(|call| call.calls),
            transferred_bytes: call.and_then(|call| call.bytes),
            dev: has_file.then_some(file.dev.into()),
            ino: has_file.then_some(file.ino as i64),
        };
        if flag(layout::SAMPLE_OF_WAIT) {
            if self.waiting.len() < WAITING_MOST {
                self.waiting.insert(e.header.tid, Waiting { ts: e.ts, row });
            }
            return Ok(());
        }
        recording.push(row)
    }

    /// The number of its stack, which is new or was met before, and whether it is whole.
    fn unwind(&mut self, e: &UserStack, memory: &[u8]) -> (Option<i64>, bool) {
        let registers = Registers {
            ip: e.ip,
            sp: e.sp,
            fp: e.fp,
            lr: e.lr,
        };
        let stack = self.unwinder.unwind(e.tgid, &registers, memory, e.ts);
        let next = self.known.len() as i64;
        let room =
            self.known.len() < STACKS_MOST && self.frames + stack.frames.len() <= FRAMES_MOST;
        if stack.frames.is_empty() {
            return (None, false);
        }
        match self.known.entry(stack.frames.into()) {
            Entry::Occupied(known) => (Some(*known.get()), stack.whole),
            Entry::Vacant(place) if room => {
                self.frames += place.key().len();
                place.insert(next);
                (Some(next), stack.whole)
            }
            Entry::Vacant(_) => (None, false),
        }
    }

    /// The number of the kernel's stack; its row is written when it is new.
    fn kernel_stack(
        &mut self,
        e: &UserStack,
        functions: NameFunctions<'_>,
        recording: &mut Recording,
    ) -> Result<Option<i64>> {
        let addresses = &e.kernel[..(e.frames as usize).min(e.kernel.len())];
        if addresses.is_empty() {
            return Ok(None);
        }
        if let Some(known) = self.kernel.get(addresses) {
            return Ok(Some(*known));
        }
        if self.kernel.len() >= KERNEL_STACKS_MOST {
            return Ok(None);
        }
        let number = KERNEL_STACKS_FROM + self.kernel.len() as i64;
        self.kernel.insert(addresses.to_vec(), number);
        recording.push(rows::Stacks {
            stack_id: number,
            frames: functions(addresses).into_iter().map(Cow::Owned).collect(),
        })?;
        Ok(Some(number))
    }

    /// Writes the stacks themselves, and the modules that they lie in.
    pub fn finish(self, recording: &mut Recording) -> Result<()> {
        named_stacks::write(self.unwinder.into_modules(), self.known, recording)
    }
}

/// What the calls are that a call which was taken stands for; the four parts add up to its weight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stands {
    cpu_ns: i64,
    runnable_ns: i64,
    blocked_ns: i64,
    sleeping_ns: i64,
    calls: i64,
    bytes: Option<i64>,
}

impl Stands {
    fn of(e: &UserStack) -> Stands {
        let scaled = |part: u64| match e.dur {
            0 => part,
            dur => (u128::from(part) * u128::from(e.weight) / u128::from(dur)) as u64,
        };
        let off_cpu = [e.runnable, e.blocked, e.sleeping].map(|part| scaled(part) as i64);
        let moved = u64::try_from(e.ret).unwrap_or(0);
        Stands {
            cpu_ns: e.weight as i64 - off_cpu.iter().sum::<i64>(),
            runnable_ns: off_cpu[0],
            blocked_ns: off_cpu[1],
            sleeping_ns: off_cpu[2],
            calls: scaled(1).max(1) as i64,
            bytes: calls::moves_bytes(e.header.nr).then(|| scaled(moved) as i64),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_stands_for_as_many_as_fit_into_its_weight() {
        let read = (0..512).find(|n| calls::name(*n) == Some("read")).unwrap();
        let mut e = UserStack {
            weight: 1_000_000,
            dur: 10_000,
            blocked: 7_500,
            ret: 4096,
            ..UserStack::default()
        };
        e.header.nr = read;
        let stands = Stands::of(&e);
        assert_eq!((stands.cpu_ns, stands.calls), (250_000, 100));
        assert_eq!((stands.runnable_ns, stands.blocked_ns), (0, 750_000));
        assert_eq!(stands.bytes, Some(409_600));
        e.ret = -5;
        e.dur = 3_000_000;
        assert_eq!((Stands::of(&e).calls, Stands::of(&e).bytes), (1, Some(0)));
        e.dur = 0;
        assert_eq!(Stands::of(&e).calls, 1);
    }
}
