//! A timing model on the real clock: takes requests with their answers, and gives each answer when the
//! model says that the disk is done.

use std::collections::HashMap;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde::Serialize;

use super::model::{Device, Done, Id, Kind, Mechanics, Request};

/// What gives an answer, told whether the request failed: called on the disk's own thread, or at once while the pace is off.
pub type Answer = Box<dyn FnOnce(bool) + Send>;

/// What the disk was asked for, to be held against what a recorder saw.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Asked {
    /// Read requests.
    pub reads: u64,
    /// Their bytes.
    pub read_bytes: u64,
    /// Write requests.
    pub writes: u64,
    /// Their bytes.
    pub written_bytes: u64,
    /// Flush requests.
    pub flushes: u64,
    /// Requests that it failed.
    pub failed: u64,
}

/// One moment's counts.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Statistics {
    /// What it was asked for.
    #[serde(flatten)]
    pub asked: Asked,
    /// What its mechanism did.
    #[serde(flatten)]
    pub mechanics: Mechanics,
    /// Requests that have no answer yet.
    pub in_flight: usize,
    /// Whether answers take their time.
    pub paced: bool,
}

struct State {
    device: Box<dyn Device>,
    answers: HashMap<Id, (Answer, bool)>,
    next_id: Id,
    asked: Asked,
    paced: bool,
    stopped: bool,
}

/// A disk that takes its time.
pub struct PacedDisk {
    state: Mutex<State>,
    changed: Condvar,
}

/// CLOCK_MONOTONIC in nanoseconds.
fn now_ns() -> u64 {
    let now = nix::time::clock_gettime(nix::time::ClockId::CLOCK_MONOTONIC)
        .expect("the monotonic clock can always be read");
    now.tv_sec() as u64 * 1_000_000_000 + now.tv_nsec() as u64
}

impl PacedDisk {
    /// A disk at rest. Nothing is answered in time before [`PacedDisk::run`] runs.
    pub fn new(device: Box<dyn Device>, paced: bool) -> Self {
        Self {
            state: Mutex::new(State {
                device,
                answers: HashMap::new(),
                next_id: 0,
                asked: Asked::default(),
                paced,
                stopped: false,
            }),
            changed: Condvar::new(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // No code panics while it holds the lock; a poisoned state is as good as any.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a request; `answer` is called once, when the disk is done with it.
    pub fn submit(&self, kind: Kind, offset: u64, bytes: u64, answer: Answer) {
        let mut state = self.lock();
        let asked = &mut state.asked;
        match kind {
            Kind::Read => {
                asked.reads += 1;
                asked.read_bytes += bytes;
            }
            Kind::Write => {
                asked.writes += 1;
                asked.written_bytes += bytes;
            }
            Kind::Flush => asked.flushes += 1,
        }
        if !state.paced {
            drop(state);
            answer(false);
            return;
        }
        let now = now_ns();
        let mut done = Vec::new();
        state.device.advance(now, &mut done);
        let before = state.device.next_ns();
        let id = state.next_id;
        state.next_id += 1;
        let request = Request {
            id,
            kind,
            offset,
            bytes,
        };
        let failed = state.device.fails(&request);
        state.asked.failed += u64::from(failed);
        state.answers.insert(id, (answer, failed));
        state.device.submit(now, request);
        let sooner = match (before, state.device.next_ns()) {
            (Some(before), Some(after)) => after < before,
            (before, after) => before != after,
        };
        let answers = take_answers(&mut state, &done);
        drop(state);
        if sooner {
            self.changed.notify_one();
        }
        for (answer, failed) in answers {
            answer(failed);
        }
    }

    /// Answers nobody for a while from now on.
    pub fn stall(&self, length_ns: u64) {
        self.lock().device.stall(now_ns(), length_ns);
        self.changed.notify_one();
    }

    /// Turns the timing on or off. What is under way keeps its times.
    pub fn set_paced(&self, paced: bool) {
        self.lock().paced = paced;
    }

    /// The counts now.
    pub fn statistics(&self) -> Statistics {
        let state = self.lock();
        Statistics {
            asked: state.asked,
            mechanics: state.device.mechanics(),
            in_flight: state.answers.len(),
            paced: state.paced,
        }
    }

    /// Makes [`PacedDisk::run`] return.
    pub fn stop(&self) {
        self.lock().stopped = true;
        self.changed.notify_one();
    }

    /// Gives the answers in time, asleep in between, until [`PacedDisk::stop`].
    ///
    /// A late wake-up delays its answer but not the ones after: the model counts on from the time at which
    /// the disk was done, not from when the answer went out.
    pub fn run(&self) {
        // Timers of this thread may fire exactly, not up to 50 us late, which is a flash disk's whole access.
        let _ = nix::sys::prctl::set_timerslack(1);
        let mut done = Vec::new();
        let mut state = self.lock();
        while !state.stopped {
            let now = now_ns();
            done.clear();
            state.device.advance(now, &mut done);
            if !done.is_empty() {
                let answers = take_answers(&mut state, &done);
                drop(state);
                for (answer, failed) in answers {
                    answer(failed);
                }
                state = self.lock();
                continue;
            }
            state = match state.device.next_ns() {
                Some(next) => {
                    let pause = Duration::from_nanos(next.saturating_sub(now));
                    let woken = self.changed.wait_timeout(state, pause);
                    woken.unwrap_or_else(PoisonError::into_inner).0
                }
                None => self
                    .changed
                    .wait(state)
                    .unwrap_or_else(PoisonError::into_inner),
            };
        }
    }
}

fn take_answers(state: &mut State, done: &[Done]) -> Vec<(Answer, bool)> {
    done.iter()
        .filter_map(|one| state.answers.remove(&one.id))
        .collect()
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::sync::Arc;

    use super::*;
    use crate::disk::profile::{Changes, Profile};

    #[test]
    fn every_request_is_answered_once_and_counted() {
        let changes = Changes {
            access_us: Some(1.0),
            flush_ms: Some(0.01),
            ..Changes::default()
        };
        let disk = Arc::new(PacedDisk::new(Profile::Ssd.device(1 << 30, &changes), true));
        let runner = std::thread::spawn({
            let disk = Arc::clone(&disk);
            move || disk.run()
        });
        let (sender, receiver) = mpsc::channel();
        for id in 0..300u64 {
            let sender = sender.clone();
            let kind = [Kind::Read, Kind::Write, Kind::Flush][(id % 3) as usize];
            let answer = Box::new(move |_| sender.send(id).expect("the test listens"));
            disk.submit(
                kind,
                id * 4096,
                if kind == Kind::Flush { 0 } else { 4096 },
                answer,
            );
        }
        drop(sender);
        let mut answered: Vec<u64> = receiver.iter().collect();
        answered.sort_unstable();
        assert_eq!(answered, (0..300).collect::<Vec<_>>());
        let asked = disk.statistics().asked;
        assert_eq!((asked.reads, asked.writes, asked.flushes), (100, 100, 100));
        assert_eq!(asked.read_bytes, 409_600);
        disk.stop();
        runner.join().expect("the disk's thread ends");
    }

    #[test]
    fn without_pace_the_answer_comes_at_once() {
        let disk = PacedDisk::new(Profile::Hdd.device(1 << 30, &Changes::default()), false);
        let (sender, receiver) = mpsc::channel();
        disk.submit(
            Kind::Read,
            1 << 29,
            4096,
            Box::new(move |_| sender.send(()).unwrap()),
        );
        assert!(receiver.try_recv().is_ok());
    }
}
