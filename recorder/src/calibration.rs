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

/// Of so many rounds the lower quartile counts: others may take the CPU, or its caches, in some.
const ROUNDS: usize = 16;
const CALLS_A_ROUND: u32 = 300;

/// What the process is asked for: so many picoseconds a call takes now.
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
    let mut nothing = Measured {
        without: child.ask(Asked::Nothing)?,
        ..Measured::default()
    };
    let mut read = Measured {
        without: child.ask(Asked::CachedRead)?,
        ..Measured::default()
    };
    let ring = probe.ring(|_| ())?;
    let attached = probe.attach_to_calls(pid.as_raw().unsigned_abs())?;
    let clocks = [
        clock_of(probe, pid)?,
        child.measure(Asked::Nothing, &mut nothing, probe, pid)?,
        child.measure(Asked::CachedRead, &mut read, probe, pid)?,
    ];
    drop(attached);
    ring.consume_raw();
    probe.forget_all();
    for (measured, pair) in [&mut nothing, &mut read].into_iter().zip(clocks.windows(2)) {
        measured.add_times(&pair[0], &pair[1])?;
    }
    Ok(CallCosts::of(&nothing, &read))
}

/// The process that measures, as its parent sees it.
struct Child {
    asking: File,
    answers: File,
}

impl Child {
    /// Picoseconds that a call takes now.
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

    /// The same with the programs; gives its clock when it was done.
    fn measure(
        &mut self,
        what: Asked,
        into: &mut Measured,
        probe: &Probe,
        pid: Pid,
    ) -> Result<Clock> {
        into.with = self.ask(what)?;
        clock_of(probe, pid)
    }
}

fn clock_of(probe: &Probe, pid: Pid) -> Result<Clock> {
    let pid = pid.as_raw().unsigned_abs();
    let samples = probe.sample()?;
    let found = samples.iter().find(|sample| sample.clock.tgid == pid);
    Ok(found
        .context("the process that measures is not seen")?
        .clock)
}

impl Measured {
    fn add_times(&mut self, before: &Clock, after: &Clock) -> Result<()> {
        let (from, to) = (before.own, after.own);
        let (calls, timed) = (to.calls - from.calls, to.timed - from.timed);
        ensure!(
            calls > 0 && timed > 0,
            "no call of the process that measures was seen"
        );
        let in_calls = |clock: &Clock| clock.states[usize::from(layout::ON_CPU_KERNEL)];
        self.inside = (in_calls(after) - in_calls(before)) * 1000 / calls;
        self.entry = (to.entry_ns - from.entry_ns) * 1000 / timed;
        self.end = (to.end_ns - from.end_ns) * 1000 / timed;
        Ok(())
    }
}

/// In the child: an answer to each question, until there are none.
fn answer_all(cached: &File, questions: &mut File, answers: &mut File) -> io::Result<()> {
    let mut asked = [0];
    while questions.read(&mut asked)? > 0 {
        let ps = match asked[0] {
            // SAFETY: getppid takes nothing.
            1 => usual_length(|| unsafe { libc::syscall(libc::SYS_getppid) } >= 0),
            _ => usual_length(|| is_read(cached)),
        };
        answers.write_all(&ps.to_ne_bytes())?;
    }
    Ok(())
}

/// Picoseconds that a call takes, by the lower quartile of some rounds; u64::MAX where it failed.
fn usual_length(call: impl Fn() -> bool) -> u64 {
    let mut rounds = [u64::MAX; ROUNDS];
    for round in &mut rounds {
        let begin = host::now_ns();
        if (0..CALLS_A_ROUND).all(|_| call()) {
            let ns = (host::now_ns() - begin).unsigned_abs();
            *round = ns * 1000 / u64::from(CALLS_A_ROUND);
        }
    }
    rounds.sort_unstable();
    rounds[ROUNDS / 4]
}

fn is_read(file: &File) -> bool {
    let mut byte = 0_u8;
    // SAFETY: there is room for the one byte that is asked for.
    unsafe { libc::pread(file.as_raw_fd(), std::ptr::from_mut(&mut byte).cast(), 1, 0) == 1 }
}
