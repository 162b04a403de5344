//! Files of a process that the kernel may show when it likes, read in a thread, with a deadline.
//!
//! Of a process that runs exec the kernel shows most of them (stat, io, exe, maps) when that is done, which a filesystem may keep it
//! from for ever (it closes files meanwhile). Who keeps a thread waiting is left to it, and is not asked about before it has
//! answered. A signal that kills this process ends such a thread, too.

use std::collections::{HashMap, VecDeque};
use std::sync::mpsc::{channel, Receiver, RecvTimeoutError, Sender, TryRecvError};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How long one process is waited for.
const PATIENCE: Duration = Duration::from_millis(250);

/// Answers questions about processes.
#[derive(Debug)]
pub(crate) struct Aside<Q, A> {
    answer: fn(Q) -> A,
    reader: Option<Reader<Q, A>>,
    /// Processes that keep a reader waiting, and that reader.
    held: HashMap<i64, Reader<Q, A>>,
}

/// A thread that reads.
#[derive(Debug)]
struct Reader<Q, A> {
    work: Arc<Mutex<Work<Q, A>>>,
    begin: Sender<()>,
    done: Receiver<()>,
}

#[derive(Debug)]
struct Work<Q, A> {
    asked: VecDeque<(i64, Q)>,
    /// The process that it is at.
    at: Option<i64>,
    said: Vec<A>,
}

impl<Q: Send + 'static, A: Send + 'static> Aside<Q, A> {
    pub fn new(answer: fn(Q) -> A) -> Aside<Q, A> {
        Aside {
            answer,
            reader: None,
            held: HashMap::new(),
        }
    }

    /// The answers about these processes that are to be had, and those that came late; in any order.
    pub fn ask(&mut self, asked: impl IntoIterator<Item = (i64, Q)>) -> Vec<A> {
        let mut said = self.late();
        let asked = asked.into_iter().filter(|(of, _)| !self.is_held(*of));
        let mut asked: VecDeque<(i64, Q)> = asked.collect();
        while !asked.is_empty() {
            // Where no thread can be had, nothing is.
            let Some(reader) = self.reader.take().or_else(|| Reader::start(self.answer)) else {
                break;
            };
            match reader.read(&mut asked, &mut said) {
                None => self.reader = Some(reader),
                Some(process) => {
                    asked.retain(|(of, _)| *of != process);
                    self.held.insert(process, reader);
                }
            }
        }
        said
    }

    /// Whether a process keeps a reader waiting.
    pub fn is_held(&self, process: i64) -> bool {
        self.held.contains_key(&process)
    }

    /// How many processes do so.
    pub fn held(&self) -> usize {
        self.held.len()
    }

    /// It has ended.
    pub fn forget(&mut self, process: i64) {
        self.held.remove(&process);
    }

    fn late(&mut self) -> Vec<A> {
        let mut late = Vec::new();
        self.held.retain(|_, reader| {
            let waits = matches!(reader.done.try_recv(), Err(TryRecvError::Empty));
            if !waits {
                late.append(&mut reader.work().said);
            }
            waits
        });
        late
    }
}

impl<Q: Send + 'static, A: Send + 'static> Reader<Q, A> {
    fn start(answer: fn(Q) -> A) -> Option<Reader<Q, A>> {
        let (begin, begun) = channel();
        let (says, done) = channel();
        let work = Arc::new(Mutex::new(Work {
            asked: VecDeque::new(),
            at: None,
            said: Vec::new(),
        }));
        let reader = Reader { work, begin, done };
        let work = reader.work.clone();
        let thread = std::thread::Builder::new().name("iowhy-proc".into());
        let started = thread.spawn(move || {
            for () in begun {
                while let Some(one) = next(&work) {
                    let said = answer(one);
                    let mut work = lock(&work);
                    work.said.push(said);
                    work.at = None;
                }
                if says.send(()).is_err() {
                    return;
                }
            }
        });
        started.ok().map(|_| reader)
    }

    fn work(&self) -> MutexGuard<'_, Work<Q, A>> {
        lock(&self.work)
    }

    /// Takes what is asked, and says it; the process that keeps it waiting, with which it leaves the rest.
    fn read(&self, asked: &mut VecDeque<(i64, Q)>, said: &mut Vec<A>) -> Option<i64> {
        self.work().asked.append(asked);
        let _ = self.begin.send(());
        let mut before = 0;
        let held = loop {
            match self.done.recv_timeout(PATIENCE) {
                Err(RecvTimeoutError::Timeout) => {
                    let work = self.work();
                    if work.at.is_some() && work.said.len() == before {
                        break work.at;
                    }
                    before = work.said.len();
                }
                Ok(()) => break None,
                // It is gone, with the question that it was at.
                Err(RecvTimeoutError::Disconnected) => break self.work().at,
            }
        };
        let mut work = self.work();
        asked.append(&mut work.asked);
        said.append(&mut work.said);
        held
    }
}

fn next<Q, A>(work: &Mutex<Work<Q, A>>) -> Option<Q> {
    let mut work = lock(work);
    let (process, one) = work.asked.pop_front()?;
    work.at = Some(process);
    Some(one)
}

fn lock<T>(work: &Mutex<T>) -> MutexGuard<'_, T> {
    work.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Waits for the other end of the channel, if it is given one.
    fn answer((number, waits): (u32, Option<Receiver<()>>)) -> u32 {
        if let Some(waits) = waits {
            let _ = waits.recv();
        }
        number
    }

    #[test]
    fn who_keeps_it_waiting_costs_no_other_its_answer() {
        let mut aside = Aside::new(answer);
        let (lets_go, waits) = channel();
        let asked = [
            (1, (10, None)),
            (2, (20, Some(waits))),
            (2, (21, None)),
            (3, (30, None)),
        ];
        assert_eq!(aside.ask(asked), [10, 30]);
        assert!(aside.is_held(2) && !aside.is_held(3));
        assert_eq!(aside.ask([(2, (22, None)), (3, (31, None))]), [31]);
        drop(lets_go);
        let mut said = Vec::new();
        while said.is_empty() {
            said = aside.ask([]);
        }
        assert_eq!(said, [20]);
        assert_eq!(aside.ask([(2, (23, None))]), [23]);
    }

    #[test]
    fn who_has_ended_is_forgotten() {
        let mut aside = Aside::new(answer);
        let (_lets_go, waits) = channel();
        assert!(aside.ask([(2, (20, Some(waits)))]).is_empty());
        aside.forget(2);
        assert_eq!(aside.ask([(2, (21, None))]), [21]);
    }
}
