//! What it costs a system call to pass the programs on this machine: measured before the recording begins, by a process of
//! our own.
//!
//! It makes cheap calls without the programs, and then with those that a call passes; what these do is timed in the kernel
//! (bpf/cost.h) and taken off. What is left is the way there and back, a third of the whole, of which the kernel's own
//! statistics of programs know nothing. Those also make each event dearer, for everybody who uses BPF.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;

use anyhow::{ensure, Context, Result};
use iowhy_readings::host;
use nix::sys::wait::waitpid;
use nix::unistd::{fork, pipe, ForkResult, Pid};

use crate::event::{layout, Clock};
use crate::kernel::Probe;
use crate::rows::own_cost::{CallCosts, Measured};

/// Of so many rounds the quicker half counts: others may take the CPU, or its caches, in some.
const ROUNDS: usize = 16;
const CALLS_A_ROUND: u32 = 400;

/// What the process is asked for: a round of these calls, of which it answers what one took.
#[derive(Clone, Copy)]
enum Asked {
    Nothing = 1,
    CachedRead = 2,
}

/// What calls pay here; an error says why that cannot be measured. The programs must not be attached yet.
pub fn call_costs(probe: &mut Probe) -> Result<CallCosts> {
    ensure!(probe.times_calls, "not on this kernel");
    // A page of the running program is in the cache.
    let cached = File::open("/proc/self/exe")?;
    let (mut questions, asking) = pipe_of_files()?;
    let (answers, mut answering) = pipe_of_files()?;
    // SAFETY: the child makes system calls on what is open and on its stack, and ends: it allocates nothing and takes no
    // lock that another thread may have held.
    match unsafe { fork() }.context("cannot start the process that measures")? {
        ForkResult::Child => {
            drop((asking, answers));
            let _ = answer_all(&cached, &mut questions, &mut answering);
            // SAFETY: ends this process without what the parent does at its end.
            unsafe { libc::_exit(0) }
        }
        ForkResult::Parent { child } => {
            drop((questions, answering));
            // Its end of the pipe is closed with this, which ends the child.
            let found = compare(probe, child, Child { asking, answers });
            let _ = waitpid(child, None);
            found
        }
    }
}

/// Its end that is read, and the one that is written.
fn pipe_of_files() -> Result<(File, File)> {
    let (read, write) = pipe()?;
    Ok((read.into(), write.into()))
}

fn compare(probe: &mut Probe, pid: Pid, mut child: Child) -> Result<CallCosts> {
    let nothing = child.usual_length(Asked::Nothing)?;
    let read = child.usual_length(Asked::CachedRead)?;
    let ring = probe.ring(|_| ())?;
    let attached = probe.attach_to_calls(pid.as_raw().unsigned_abs())?;
    let nothing = child.measure(Asked::Nothing, nothing, probe, pid)?;
    let read = child.measure(Asked::CachedRead, read, probe, pid)?;
    drop(attached);
    ring.consume_raw();
    probe.forget_all();
    Ok(CallCosts::of(&nothing, &read))
}

/// The process that measures, as its parent sees it.
struct Child {
    asking: File,
    answers: File,
}

impl Child {
    /// Picoseconds that a call takes in a round.
    fn ask(&mut self, what: Asked) -> Result<u64> {
        let mut bytes = [0; 8];
        self.asking.write_all(&[what as u8])?;
        self.answers
            .read_exact(&mut bytes)
            .context("the process that measures gave no answer")?;
        let ps = u64::from_ne_bytes(bytes);
        ensure!(ps != u64::MAX, "a call of the process that measures failed");
        Ok(ps)
    }

    /// Picoseconds that a call takes without the programs.
    fn usual_length(&mut self, what: Asked) -> Result<u64> {
        let lengths = (0..ROUNDS)
            .map(|_| self.ask(what))
            .collect::<Result<Vec<_>>>()?;
        let rounds = lengths.into_iter().map(|with| Measured {
            with,
            ..Measured::default()
        });
        Ok(usual(rounds.collect()).with)
    }

    /// The same with the programs, and what they tell. Each round tells its own: where others slow one down, both the length of
    /// its calls and what was timed in them are of that round, and their difference stays what it is.
    fn measure(&mut self, what: Asked, without: u64, probe: &Probe, pid: Pid) -> Result<Measured> {
        let mut rounds = Vec::with_capacity(ROUNDS);
        let mut before = clock_of(probe, pid)?;
        for _ in 0..ROUNDS {
            let with = self.ask(what)?;
            let after = clock_of(probe, pid)?;
            rounds.extend(round(with, &before, &after));
            before = after;
        }
        ensure!(
            rounds.len() > ROUNDS / 2,
            "too few calls of the process that measures were seen"
        );
        Ok(Measured {
            without,
            ..usual(rounds)
        })
    }
}

/// The average of the quicker half of the rounds.
fn usual(mut rounds: Vec<Measured>) -> Measured {
    rounds.sort_unstable_by_key(|round| round.with);
    rounds.truncate(rounds.len().div_ceil(2));
    let mean = |of: fn(&Measured) -> u64| rounds.iter().map(of).sum::<u64>() / rounds.len() as u64;
    Measured {
        without: mean(|round| round.without),
        with: mean(|round| round.with),
        inside: mean(|round| round.inside),
        entry: mean(|round| round.entry),
        end: mean(|round| round.end),
    }
}

/// What a round tells by the clocks before and after it; none where none of its calls was timed.
fn round(with: u64, before: &Clock, after: &Clock) -> Option<Measured> {
    let (from, to) = (before.own, after.own);
    let (calls, timed) = (to.calls - from.calls, to.timed - from.timed);
    let in_calls = |clock: &Clock| clock.states[usize::from(layout::ON_CPU_KERNEL)];
    (calls > 0 && timed > 0).then(|| Measured {
        without: 0,
        with,
        inside: (in_calls(after) - in_calls(before)) * 1000 / calls,
        entry: (to.entry_ns - from.entry_ns) * 1000 / timed,
        end: (to.end_ns - from.end_ns) * 1000 / timed,
    })
}

fn clock_of(probe: &Probe, pid: Pid) -> Result<Clock> {
    let pid = pid.as_raw().unsigned_abs();
    let samples = probe.sample()?;
    let found = samples.iter().find(|sample| sample.clock.tgid == pid);
    Ok(found
        .context("the process that measures is not seen")?
        .clock)
}

/// In the child: an answer to each question, until there are none.
fn answer_all(cached: &File, questions: &mut File, answers: &mut File) -> io::Result<()> {
    let mut asked = [0];
    while questions.read(&mut asked)? > 0 {
        let ps = match asked[0] {
            // SAFETY: getppid takes nothing.
            1 => length(|| unsafe { libc::syscall(libc::SYS_getppid) } >= 0),
            _ => length(|| is_read(cached)),
        };
        answers.write_all(&ps.to_ne_bytes())?;
    }
    Ok(())
}

/// Picoseconds that a call takes; u64::MAX where one failed.
fn length(call: impl Fn() -> bool) -> u64 {
    let begin = host::now_ns();
    if !(0..CALLS_A_ROUND).all(|_| call()) {
        return u64::MAX;
    }
    (host::now_ns() - begin).unsigned_abs() * 1000 / u64::from(CALLS_A_ROUND)
}

fn is_read(file: &File) -> bool {
    let mut byte = 0_u8;
    // SAFETY: there is room for the one byte that is asked for.
    unsafe { libc::pread(file.as_raw_fd(), std::ptr::from_mut(&mut byte).cast(), 1, 0) == 1 }
}
