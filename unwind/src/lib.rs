//! User stacks: from the registers of a thread and the top of its stack to the addresses of its callers.
//!
//! The callers are found by the unwind tables of the files that the process has mapped (`.eh_frame`, which every
//! program that may throw or be debugged carries), by frame pointers where a place has none. What is read of files,
//! stacks and /proc is hostile input: every step is bounded, and a stack that does not lead to the start of its thread is
//! said to be not whole.

mod elf;
mod image;
mod maps;
mod modules;
mod space;
mod trampolines;

use std::collections::HashMap;
use std::path::PathBuf;
use std::rc::Rc;

use framehop::UnwindRegsNative;

use image::Caller;
pub use maps::Mapped;
use modules::Modules;
pub use modules::{Kind, Module, Served};
use space::Space;
use trampolines::Trampolines;

/// Frames of one stack that are kept.
pub const FRAMES_MOST: usize = 512;
/// Processes whose code is remembered.
const PROCESSES_MOST: usize = 8192;
/// Between two times that /proc is asked about one process, when an address is met that is not known.
const ASK_EVERY_NS: u64 = 50_000_000;

/// What a stack begins with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Registers {
    pub ip: u64,
    pub sp: u64,
    /// Frame pointer.
    pub fp: u64,
    /// Return address of the innermost function, where the architecture has a register for it.
    pub lr: u64,
}

/// A place in code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Frame {
    /// Number of the module; None: there are too many.
    pub module: Option<u32>,
    /// As the module's symbols count it, in memory without a file as the process does. Of a caller one byte before
    /// the return address, which lies in the call.
    pub address: u64,
}

/// A stack, innermost first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stack {
    pub frames: Vec<Frame>,
    /// It leads to the start of its thread.
    pub whole: bool,
}

/// The processes whose stacks are unwound.
pub struct Unwinder {
    proc: PathBuf,
    spaces: HashMap<u32, Rc<Space>>,
    modules: Modules,
    trampolines: Trampolines,
    served: Box<dyn Served>,
}

impl Unwinder {
    /// `proc`: where procfs is mounted; `served`: which files are not to be opened here, and who reads them.
    pub fn new(proc: PathBuf, served: Box<dyn Served>) -> Unwinder {
        Unwinder {
            proc,
            served,
            spaces: HashMap::new(),
            modules: Modules::default(),
            trampolines: Trampolines::default(),
        }
    }

    /// All modules that were met, by number.
    pub fn into_modules(self) -> Vec<Module> {
        self.modules.into_all()
    }

    /// A process begins a program: what it had mapped is gone.
    pub fn exec(&mut self, tgid: u32) {
        self.make_room();
        self.spaces.insert(tgid, Rc::default());
        self.rewritten(tgid);
    }

    /// A process begins as a copy of another.
    pub fn fork(&mut self, parent: u32, child: u32) {
        self.make_room();
        match self.spaces.get(&parent).cloned() {
            Some(space) => self.spaces.insert(child, space),
            None => self.spaces.remove(&child),
        };
    }

    /// A process maps code.
    pub fn map(&mut self, tgid: u32, mapped: Mapped) {
        if mapped.ino == 0 {
            self.rewritten(tgid);
        }
        // Of one that was never met all else is not known: /proc will be asked.
        if let Some(space) = self.spaces.get_mut(&tgid) {
            Rc::make_mut(space).map(mapped);
        }
    }

    /// A process has other code in memory without a file.
    fn rewritten(&mut self, tgid: u32) {
        if let Some(module) = self.modules.of_memory(tgid) {
            self.trampolines.forget(module);
        }
    }

    /// The stack of a thread whose memory from its stack pointer on is `memory`. Of the first thread of a process it
    /// ends with the first word of what its program begins with. `now_ns` only ever grows.
    pub fn unwind(&mut self, tgid: u32, from: &Registers, memory: &[u8], now_ns: u64) -> Stack {
        let stack = self.walk(tgid, from, memory);
        if stack.whole || !self.ask(tgid, now_ns) {
            return self.finished(stack);
        }
        let again = self.walk(tgid, from, memory);
        let better = again.whole || again.frames.len() >= stack.frames.len();
        self.finished(if better { again } else { stack })
    }

    /// Reads what a process has mapped; false where that is not to be had, or was read a moment ago.
    fn ask(&mut self, tgid: u32, now_ns: u64) -> bool {
        let asked = self.spaces.get(&tgid).map_or(0, |space| space.asked_ns);
        if asked != 0 && now_ns.saturating_sub(asked) < ASK_EVERY_NS {
            return false;
        }
        self.make_room();
        match maps::read(&mut *self.served, tgid) {
            Some(mapped) => {
                self.spaces
                    .insert(tgid, Rc::new(Space::of(mapped, now_ns.max(1))));
                true
            }
            None => {
                let space = self.spaces.entry(tgid).or_default();
                Rc::make_mut(space).asked_ns = now_ns.max(1);
                false
            }
        }
    }

    fn make_room(&mut self) {
        if self.spaces.len() >= PROCESSES_MOST {
            self.spaces.clear();
        }
    }

    fn finished(&mut self, stack: Stack) -> Stack {
        for frame in &stack.frames {
            if let Some(module) = frame.module.and_then(|number| self.modules.get_mut(number)) {
                module.used = true;
            }
        }
        stack
    }

    fn walk(&mut self, tgid: u32, from: &Registers, memory: &[u8]) -> Stack {
        let mut stack = Stack::default();
        let mut registers = registers(from);
        let end = from.sp.wrapping_add(memory.len() as u64);
        let mut read = |address: u64| {
            let at = usize::try_from(address.checked_sub(from.sp)?).ok()?;
            let bytes = memory.get(at..at.checked_add(8)?)?;
            Some(u64::from_le_bytes(bytes.try_into().ok()?))
        };
        let mut ip = from.ip;
        while stack.frames.len() < FRAMES_MOST {
            let first = stack.frames.is_empty();
            // One byte before where it returns to: a call can be the last instruction of its function.
            let looked_up = if first { ip } else { ip.wrapping_sub(1) };
            let Some((number, bias)) = self.locate(tgid, looked_up) else {
                return stack;
            };
            let address = looked_up.wrapping_sub(bias);
            stack.frames.push(Frame {
                module: number,
                address,
            });
            let known = number.and_then(|number| Some((number, self.modules.get_mut(number)?)));
            let Some((number, module)) = known else {
                return stack;
            };
            let written = module.kind == Kind::Jit;
            let trampoline = written
                .then(|| {
                    self.trampolines
                        .return_at(number, &mut *self.served, tgid, ip)
                })
                .flatten();
            let caller = match trampoline {
                Some(above) => step_up(above, &mut registers, &mut read),
                None => {
                    let in_file = ip.wrapping_sub(bias);
                    module.image.step(in_file, first, &mut registers, &mut read)
                }
            };
            match caller {
                Caller::At(address) => ip = address,
                Caller::None => {
                    stack.whole = true;
                    return stack;
                }
                Caller::Unknown => {
                    // Where a program begins there is nothing to return to: its stack begins at that place.
                    stack.whole = registers.sp().wrapping_add(8) == end;
                    return stack;
                }
            }
        }
        stack
    }

    /// The module at an address, and what is to be taken off to have the address as it states it; None: no code is there.
    fn locate(&mut self, tgid: u32, address: u64) -> Option<(Option<u32>, u64)> {
        let space = self.spaces.get_mut(&tgid)?;
        let known = space.at(address)?;
        // Most addresses are in modules that are known: then what other processes share is left as it is.
        if known.module.is_some() {
            return Some((known.module, known.bias));
        }
        let area = Rc::make_mut(space).at_mut(address)?;
        let number = self
            .modules
            .of(&self.proc, tgid, &area.mapped, &mut *self.served);
        area.module = number;
        let module = number.and_then(|number| self.modules.get_mut(number));
        let stated = module.and_then(|module| module.image.elf.address_of(area.mapped.offset));
        area.bias = stated.map_or(0, |stated| area.mapped.start.wrapping_sub(stated));
        Some((area.module, area.bias))
    }
}

/// To the caller whose address lies that far above the stack pointer.
#[cfg(target_arch = "x86_64")]
fn step_up(
    above: u64,
    registers: &mut UnwindRegsNative,
    read: &mut dyn FnMut(u64) -> Option<u64>,
) -> Caller {
    let at = registers.sp().wrapping_add(above);
    registers.set_sp(at.wrapping_add(8));
    match read(at) {
        Some(0) => Caller::None,
        Some(address) => Caller::At(address),
        None => Caller::Unknown,
    }
}

/// There are no such trampolines.
#[cfg(not(target_arch = "x86_64"))]
fn step_up(
    _above: u64,
    _registers: &mut UnwindRegsNative,
    _read: &mut dyn FnMut(u64) -> Option<u64>,
) -> Caller {
    Caller::Unknown
}

#[cfg(target_arch = "x86_64")]
fn registers(from: &Registers) -> UnwindRegsNative {
    UnwindRegsNative::new(from.ip, from.sp, from.fp)
}

/// Return addresses may be signed in the bits above those of user addresses.
#[cfg(target_arch = "aarch64")]
fn registers(from: &Registers) -> UnwindRegsNative {
    let mask = framehop::aarch64::PtrAuthMask((1 << 48) - 1);
    UnwindRegsNative::new_with_ptr_auth_mask(mask, from.lr, from.sp, from.fp)
}
