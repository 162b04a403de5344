//! A recording from its start to its end.

use std::cell::RefCell;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::mpsc::{channel, Receiver, RecvTimeoutError};
use std::time::Duration;

use anyhow::{Context, Result};
use iowhy_readings::sampler::{Samplers, Scope};
use iowhy_readings::symbols::Symbols;
use iowhy_readings::{host, Roots};
use iowhy_store::manifest::{Command, Manifest, Mode, Source};
use iowhy_store::Recording;
use libbpf_rs::RingBuffer;

use crate::collect::Collector;
use crate::probe::{Options, Probe};
use crate::signals::Signals;
use crate::spawn::{self, Account, Fate};

/// Between two readings of every clock and sampler.
const INTERVAL_NS: i64 = 100_000_000;
/// How long the last records of a command that has ended are waited for.
const LAST_WORDS_NS: i64 = 50_000_000;

/// What is asked for.
#[derive(Clone, Debug)]
pub struct Request {
    pub out: PathBuf,
    pub what: What,
    pub user: Option<String>,
    pub without: Vec<String>,
}

#[derive(Clone, Debug)]
pub enum What {
    Run(Vec<OsString>),
    Attach {
        pids: Vec<u32>,
        duration: Option<Duration>,
    },
    Machine {
        duration: Option<Duration>,
    },
}

/// A failure with the status that the recorder exits with.
#[derive(Debug)]
pub struct Failure {
    pub message: String,
    pub status: i32,
}

impl From<anyhow::Error> for Failure {
    fn from(error: anyhow::Error) -> Failure {
        Failure {
            message: format!("{error:#}"),
            status: 125,
        }
    }
}

/// Records as asked; gives the exit status.
pub fn record(request: &Request) -> Result<i32, Failure> {
    let signals = Signals::catch()?;
    let account = request.user.as_deref().map(Account::of).transpose()?;
    let mut probe = Probe::load(&Options {
        whole_machine: matches!(request.what, What::Machine { .. }),
        without: request.without.clone(),
    })?;
    let existed = request.out.exists();
    let recording = Recording::create(&request.out, manifest(request, &probe))?;
    probe.attach()?;
    let mut live = Live::new(probe, recording)?;
    let status = match &request.what {
        What::Run(argv) => run(&mut live, argv, account.as_ref(), &signals),
        What::Attach { pids, duration } => attach(&mut live, pids, *duration, &signals),
        What::Machine { duration } => machine(&mut live, *duration, &signals),
    };
    match status {
        Ok(status) => {
            live.finish()?;
            Ok(status)
        }
        Err(failure) => {
            drop(live);
            remove(&request.out, existed);
            Err(failure)
        }
    }
}

fn run(
    live: &mut Live,
    argv: &[OsString],
    account: Option<&Account>,
    signals: &Signals,
) -> Result<i32, Failure> {
    let (fates, fate) = channel();
    let held = spawn::hold(argv, account, fates)?;
    live.collector.borrow_mut().set_main(held.pid);
    live.probe
        .adopt(&[held.pid])
        .context("cannot watch the command")?;
    signals.pass_to(held.pid);
    live.start();
    held.release();
    let ended = live.until(&fate, None, &|_| signals.count() >= 2)?;
    signals.pass_no_more();
    let end_ns = match &ended {
        Some(Fate::Ended(_, at)) => *at,
        _ => host::now_ns(),
    };
    live.last_words(end_ns)?;
    let mut collector = live.collector.borrow_mut();
    let manifest = collector.recording().manifest_mut();
    manifest.command.end_ns = Some(end_ns);
    match ended {
        Some(Fate::Failed(error)) => {
            let (message, status) = spawn::not_run(&argv[0], &error);
            Err(Failure { message, status })
        }
        Some(Fate::Ended(status, _)) => {
            use std::os::unix::process::ExitStatusExt;
            manifest.command.exit_status = status.code().map(i64::from);
            manifest.command.signal = status.signal().map(i64::from);
            let left = collector.alive();
            if !left.is_empty() {
                let note = format!("{} processes of the command ran on after it", left.len());
                collector.recording().manifest_mut().notes.push(note);
            }
            Ok(spawn::shell_status(status))
        }
        None => Ok(130),
    }
}

fn attach(
    live: &mut Live,
    pids: &[u32],
    duration: Option<Duration>,
    signals: &Signals,
) -> Result<i32, Failure> {
    for pid in pids {
        if !Path::new(&format!("/proc/{pid}")).exists() {
            let message = format!("--pid {pid}: there is no such process");
            return Err(Failure { message, status: 2 });
        }
    }
    live.start();
    live.probe
        .adopt(pids)
        .context("cannot watch the processes")?;
    let (_never, fate) = channel();
    live.until(&fate, duration, &|c| {
        signals.count() > 0 || c.alive().is_empty()
    })?;
    live.end_now();
    Ok(0)
}

fn machine(live: &mut Live, duration: Option<Duration>, signals: &Signals) -> Result<i32, Failure> {
    live.start();
    live.probe.adopt(&[]).context("cannot watch the machine")?;
    let (_never, fate) = channel();
    live.until(&fate, duration, &|_| signals.count() > 0)?;
    live.end_now();
    Ok(0)
}

/// The programs at work, and where their records go.
struct Live {
    probe: Probe,
    ring: RingBuffer<'static>,
    collector: Rc<RefCell<Collector>>,
    samplers: Samplers,
    next_interval: i64,
}

impl Live {
    fn new(probe: Probe, recording: Recording) -> Result<Live> {
        let roots = Roots::default();
        let collector = Collector::new(recording, Symbols::new(&roots), host::now_ns() as u64)?;
        let collector = Rc::new(RefCell::new(collector));
        let (target, stacks) = (collector.clone(), probe.stacks()?);
        let ring =
            probe.ring(move |bytes| target.borrow_mut().event(bytes, &|id| stacks.read(id)))?;
        let samplers = Samplers::new(&roots, Scope::default());
        Ok(Live {
            probe,
            ring,
            collector,
            samplers,
            next_interval: host::now_ns() + INTERVAL_NS,
        })
    }

    /// The command's time begins.
    fn start(&mut self) {
        let now = host::now_ns();
        self.sample(now);
        let mut collector = self.collector.borrow_mut();
        collector.begin(now as u64);
        collector.recording().manifest_mut().command.start_ns = Some(now);
    }

    fn end_now(&mut self) {
        let mut collector = self.collector.borrow_mut();
        collector.recording().manifest_mut().command.end_ns = Some(host::now_ns());
    }

    /// Takes records until the command has ended (what it came to is returned), the time is over, or `stop`.
    fn until(
        &mut self,
        fate: &Receiver<Fate>,
        duration: Option<Duration>,
        stop: &dyn Fn(&Collector) -> bool,
    ) -> Result<Option<Fate>> {
        let end = duration.map(|d| host::now_ns() + d.as_nanos() as i64);
        loop {
            let taken = self.ring.consume_raw();
            let now = host::now_ns();
            if now >= self.next_interval {
                self.interval(now)?;
                if stop(&self.collector.borrow()) {
                    return Ok(None);
                }
            }
            if end.is_some_and(|end| now >= end) {
                return Ok(None);
            }
            match fate.recv_timeout(pause(taken)) {
                Ok(fate) => return Ok(Some(fate)),
                Err(RecvTimeoutError::Timeout) => {}
                // Nobody tells a fate when processes are attached to.
                Err(RecvTimeoutError::Disconnected) => std::thread::sleep(pause(taken)),
            }
        }
    }

    /// Takes the last records of a command that ended at `end_ns`.
    fn last_words(&mut self, end_ns: i64) -> Result<()> {
        loop {
            let taken = self.ring.consume_raw();
            let ended = self.collector.borrow().main_ended();
            if taken <= 0 && (ended || host::now_ns() > end_ns + LAST_WORDS_NS) {
                return self.collector.borrow_mut().failed();
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    fn interval(&mut self, now: i64) -> Result<()> {
        self.next_interval = (self.next_interval + INTERVAL_NS).max(now + INTERVAL_NS / 2);
        let samples = self.probe.sample()?;
        let drained = self.probe.drain();
        // What the programs wrote before the switch belongs to this interval.
        self.ring.consume_raw();
        let lost = self.probe.lost();
        let mut collector = self.collector.borrow_mut();
        collector.interval(&samples, drained, lost, now as u64)?;
        collector.failed()?;
        drop(collector);
        self.sample(now);
        Ok(())
    }

    fn sample(&mut self, now: i64) {
        let mut collector = self.collector.borrow_mut();
        let recording = collector.recording();
        self.samplers.sample(now, &mut |reading| {
            let _ = reading.push(recording);
        });
    }

    fn finish(mut self) -> Result<()> {
        let now = host::now_ns();
        self.interval(now)?;
        let samples = self.probe.sample()?;
        self.ring.consume_raw();
        let unfinished = self.probe.unfinished();
        let mut collector = self.collector.borrow_mut();
        collector.finish(&samples, &unfinished)?;
        let drained = self.probe.drain();
        collector.interval(&[], drained, self.probe.lost(), host::now_ns() as u64)?;
        let manifest = collector.recording().manifest_mut();
        manifest.sensors = [self.probe.sensors.clone(), self.samplers.sensors()].concat();
        (
            manifest.recorder.cpu_ns,
            manifest.recorder.memory_peak_bytes,
        ) = own_cost();
        drop(collector);
        drop(self.ring);
        drop(self.probe);
        match Rc::try_unwrap(self.collector) {
            Ok(collector) => collector.into_inner().into_recording().finish(),
            Err(_) => unreachable!("the ring, which held the other reference, is gone"),
        }
    }
}

/// How long to leave the ring alone after this many records.
fn pause(taken: i32) -> Duration {
    Duration::from_millis(match taken {
        20_000.. => 0,
        2_000.. => 2,
        _ => 10,
    })
}

/// CPU time and most memory of this process.
fn own_cost() -> (Option<i64>, Option<i64>) {
    use nix::sys::resource::{getrusage, UsageWho};
    let Ok(usage) = getrusage(UsageWho::RUSAGE_SELF) else {
        return (None, None);
    };
    let ns = |t: nix::sys::time::TimeVal| t.tv_sec() * 1_000_000_000 + t.tv_usec() * 1000;
    (
        Some(ns(usage.user_time()) + ns(usage.system_time())),
        Some(usage.max_rss() * 1024),
    )
}

fn manifest(request: &Request, probe: &Probe) -> Manifest {
    let mut manifest = Manifest::new(Source::Live);
    manifest.host = host::host(&Roots::default());
    manifest.clock = host::clock();
    manifest.sensors = probe.sensors.clone();
    let text = |s: &OsString| iowhy_readings::names::escaped(s.as_encoded_bytes());
    let (mode, argv) = match &request.what {
        What::Run(argv) => (Mode::Run, argv.iter().map(text).collect()),
        What::Attach { .. } => (Mode::Attach, Vec::new()),
        What::Machine { .. } => (Mode::Machine, Vec::new()),
    };
    manifest.command = Command {
        mode,
        argv,
        cwd: std::env::current_dir()
            .ok()
            .map(|d| text(&d.into_os_string())),
        user: request.user.clone().or_else(own_name),
        ..Command::default()
    };
    manifest
}

fn own_name() -> Option<String> {
    let user = nix::unistd::User::from_uid(nix::unistd::geteuid()).ok()??;
    Some(user.name)
}

/// Which sensors can run here, as JSON.
pub fn probe(without: &[String]) -> String {
    let options = Options {
        whole_machine: false,
        without: without.to_vec(),
    };
    let sensors = match Probe::load(&options) {
        Ok(probe) => probe.sensors.clone(),
        Err(error) => crate::sensors::none(&format!("{error:#}")),
    };
    let samplers = Samplers::new(&Roots::default(), Scope::default());
    let sensors = [sensors, samplers.sensors()].concat();
    serde_json::json!({ "sensors": sensors }).to_string()
}

/// Takes away a recording of a command that never ran.
fn remove(out: &Path, existed: bool) {
    if existed {
        let _ = std::fs::remove_file(out.join("manifest.json"));
    } else {
        let _ = std::fs::remove_dir_all(out);
    }
}
