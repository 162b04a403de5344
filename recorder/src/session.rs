//! A recording from its start to its end.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::rc::Rc;
use std::sync::mpsc::{channel, Receiver};
use std::time::Duration;

use anyhow::{Context, Result};
use iowhy_readings::sampler::process_io::ProcessIo;
use iowhy_readings::sampler::{Samplers, Scope};
use iowhy_readings::symbols::Symbols;
use iowhy_readings::{host, Reading, Roots};
use iowhy_store::manifest::{Command, Manifest, Mode, Sensor, Source};
use iowhy_store::{rows, Recording};
use nix::sys::resource::{getrusage, UsageWho};
use nix::sys::time::TimeVal;

use crate::collect::Collector;
use crate::parent::Parent;
use crate::probe::{Options, Probe};
use crate::signals::Signals;
use crate::spawn::{self, Account, Fate};
use crate::watch::{Shared, Watch};

/// Between two readings of every clock and sampler.
const INTERVAL_NS: i64 = 100_000_000;
/// How long the last records of a command that has ended are waited for.
const LAST_WORDS_NS: i64 = 50_000_000;

/// Processes whose /proc/PID/io is read at each interval, at most.
const PROCESSES_READ: usize = 256;
/// Exit status when the recording could not be made.
const BROKEN: i32 = 125;

/// What is asked for.
#[derive(Clone, Debug)]
pub struct Request {
    pub out: PathBuf,
    pub what: What,
    pub by: By,
    pub user: Option<String>,
    pub without: Vec<String>,
    /// Where to write what each program has cost the kernel, as JSON.
    pub program_stats: Option<PathBuf>,
}

/// What it is recorded by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum By {
    /// eBPF programs; an error where they cannot run
    Bpf,
    /// /proc alone
    Proc,
    /// eBPF programs where they can run, else /proc
    Auto,
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
    /// Empty when it was said already.
    pub message: String,
    pub status: i32,
    /// Nothing was recorded: there was no command or no process to record.
    ran_nothing: bool,
}

impl From<anyhow::Error> for Failure {
    fn from(error: anyhow::Error) -> Failure {
        Failure {
            message: format!("{error:#}"),
            status: BROKEN,
            ran_nothing: false,
        }
    }
}

/// Records as asked; gives the exit status.
pub fn record(request: &Request) -> Result<i32, Failure> {
    let signals = Signals::catch()?;
    let parent = Parent::named();
    let account = request.user.as_deref().map(Account::of).transpose()?;
    let probe = load(request)?;
    let existed = request.out.exists();
    let mut live = Live::new(request, probe)?;
    let status = match &request.what {
        What::Run(argv) => run(&mut live, argv, account.as_ref(), &signals, &parent),
        What::Attach { pids, duration } => attach(&mut live, pids, *duration, &signals, &parent),
        What::Machine { duration } => machine(&mut live, *duration, &signals, &parent),
    };
    match status {
        Ok(status) => {
            if let Some(path) = &request.program_stats {
                write_costs(&live.watch, path)?;
            }
            live.finish()?;
            Ok(status)
        }
        Err(failure) => {
            drop(live);
            if failure.ran_nothing {
                remove(&request.out, existed);
            }
            Err(failure)
        }
    }
}

/// The programs, or why they are not used.
fn load(request: &Request) -> Result<Result<Probe, String>, Failure> {
    if request.by == By::Proc {
        return Ok(Err("/proc alone was asked for (--mode proc)".into()));
    }
    let options = Options {
        whole_machine: matches!(request.what, What::Machine { .. }),
        without: request.without.clone(),
    };
    match Probe::load(&options) {
        Ok(probe) => Ok(Ok(probe)),
        Err(error) if request.by == By::Bpf => Err(not_allowed(error).into()),
        Err(error) => Ok(Err(format!("{:#}", not_allowed(error)))),
    }
}

/// Says what the kernel's EPERM means to somebody who is not root.
fn not_allowed(error: anyhow::Error) -> anyhow::Error {
    let refused = format!("{error:#}").contains("Operation not permitted");
    if refused && !nix::unistd::geteuid().is_root() {
        return anyhow::anyhow!("only root may load eBPF programs (CAP_BPF and CAP_PERFMON)");
    }
    error
}

fn run(
    live: &mut Live,
    argv: &[OsString],
    account: Option<&Account>,
    signals: &Signals,
    parent: &Parent,
) -> Result<i32, Failure> {
    let (fates, fate) = channel();
    let held = spawn::hold(argv, account, fates).map_err(|error| {
        let message = match fate.recv() {
            Ok(Fate::Failed(why)) => format!("the command could not be started: {why}"),
            _ => format!("{error:#}"),
        };
        Failure {
            message,
            status: BROKEN,
            ran_nothing: true,
        }
    })?;
    live.collector.borrow_mut().set_main(held.pid);
    live.follow(held.pid);
    signals.pass_to(held.pid);
    held.settle();
    live.prepare();
    live.watch
        .adopt(&[held.pid])
        .context("cannot watch the command")?;
    if signals.count() > 0 {
        // Whoever ended it before it began was heard by nobody else; at the closed gate the command ends.
        return Err(Failure {
            message: "interrupted before the command ran".into(),
            status: 130,
            ran_nothing: true,
        });
    }
    // It was held until now, however long it took to take it into scope.
    live.begin();
    held.release();
    let ended = live.until(&fate, None, &|live| {
        signals.count() >= 2 || parent.died() && parent.outlived_by(&live.alive())
    });
    let ended = ended.map_err(|error| outlived(error, &fate))?;
    signals.pass_no_more();
    match ended {
        Some(Fate::Failed(error)) => {
            let (message, status) = spawn::not_run(&argv[0], &error);
            Err(Failure {
                message,
                status,
                ran_nothing: true,
            })
        }
        Some(Fate::Ended { status, at_ns, io }) => {
            live.last_words(at_ns)?;
            live.ended(at_ns, Some(status), io);
            Ok(spawn::shell_status(status))
        }
        None => {
            live.ended(host::now_ns(), None, None);
            Ok(130)
        }
    }
}

/// The recording broke off (a full disk): the command is not ours to end, so it is waited for.
fn outlived(error: anyhow::Error, fate: &Receiver<Fate>) -> Failure {
    eprintln!("iowhy: {error:#}; the command runs on unrecorded");
    let status = match fate.recv() {
        Ok(Fate::Ended { status, .. }) if !status.success() => spawn::shell_status(status),
        _ => BROKEN,
    };
    Failure {
        message: String::new(),
        status,
        ran_nothing: false,
    }
}

fn attach(
    live: &mut Live,
    pids: &[u32],
    duration: Option<Duration>,
    signals: &Signals,
    parent: &Parent,
) -> Result<i32, Failure> {
    for pid in pids {
        if !Path::new(&format!("/proc/{pid}")).exists() {
            let message = format!("--pid {pid}: there is no such process");
            return Err(Failure {
                message,
                status: 2,
                ran_nothing: true,
            });
        }
    }
    if let Some(pid) = pids.first() {
        live.follow(*pid);
    }
    live.prepare();
    live.begin();
    live.watch
        .adopt(pids)
        .context("cannot watch the processes")?;
    let (_never, fate) = channel();
    live.until(&fate, duration, &|live| {
        signals.count() > 0 || parent.died() || live.alive().is_empty()
    })?;
    live.ended(host::now_ns(), None, None);
    Ok(0)
}

fn machine(
    live: &mut Live,
    duration: Option<Duration>,
    signals: &Signals,
    parent: &Parent,
) -> Result<i32, Failure> {
    live.prepare();
    live.begin();
    live.watch.adopt(&[]).context("cannot watch the machine")?;
    let (_never, fate) = channel();
    live.until(&fate, duration, &|_| signals.count() > 0 || parent.died())?;
    live.ended(host::now_ns(), None, None);
    Ok(0)
}

/// A recording under way: what watches, what samples, and where the rows go.
struct Live {
    watch: Watch,
    collector: Shared,
    samplers: Samplers,
    process_io: Result<ProcessIo, String>,
    /// Processes whose /proc/PID/io was read and not yet told.
    read: BTreeSet<i64>,
    next_interval: i64,
    /// CPU time of this process before the command's time began.
    before_ns: i64,
}

impl Live {
    /// Samples the control groups of this process, also where it is moved to later.
    fn follow(&mut self, pid: u32) {
        if let Ok(pid) = i32::try_from(pid) {
            self.samplers.follow(&Roots::default(), pid);
        }
    }

    fn new(request: &Request, probe: Result<Probe, String>) -> Result<Live> {
        let roots = Roots::default();
        let recording = Recording::create(&request.out, manifest(request))?;
        let collector = Collector::new(recording, Symbols::new(&roots), host::now_ns() as u64)?;
        let collector = Rc::new(RefCell::new(collector));
        let whole_machine = matches!(request.what, What::Machine { .. });
        let watch = match probe {
            Ok(probe) => Watch::programs(probe, &collector)?,
            Err(why) => Watch::proc(whole_machine, why),
        };
        let live = Live {
            watch,
            collector,
            samplers: Samplers::new(&roots, Scope::default()),
            process_io: ProcessIo::new(&roots).map_err(|error| format!("{error:#}")),
            read: BTreeSet::new(),
            next_interval: host::now_ns() + INTERVAL_NS,
            before_ns: 0,
        };
        live.collector
            .borrow_mut()
            .recording()
            .manifest_mut()
            .source = live.watch.source();
        live.tell_sensors();
        live.tell_parts();
        Ok(live)
    }

    /// The first readings, which take some milliseconds.
    fn prepare(&mut self) {
        self.sample(host::now_ns());
        self.before_ns = own_cpu_ns().unwrap_or(0);
    }

    /// The command's time begins.
    fn begin(&mut self) {
        let now = host::now_ns();
        let mut collector = self.collector.borrow_mut();
        collector.begin(now as u64);
        collector.recording().manifest_mut().command.start_ns = Some(now);
    }

    /// The command has ended, or is watched no longer.
    fn ended(&mut self, at_ns: i64, status: Option<ExitStatus>, io: Option<rows::ProcessIo>) {
        // What /proc showed a moment ago may have ended, the command itself first of all.
        let runs = |pid: &i64| Path::new(&format!("/proc/{pid}")).exists();
        let left = self.alive().iter().filter(|pid| runs(pid)).count();
        let mut collector = self.collector.borrow_mut();
        if let Some(row) = io {
            self.read.remove(&row.tgid);
            collector.reading(Reading::ProcessIo(row));
        }
        let manifest = collector.recording().manifest_mut();
        manifest.command.end_ns = Some(at_ns);
        // What loading and finishing cost the command did not feel.
        manifest.recorder.cpu_ns = own_cpu_ns().map(|ns| ns - self.before_ns);
        if let Some(status) = status {
            manifest.command.exit_status = status.code().map(i64::from);
            manifest.command.signal = status.signal().map(i64::from);
            if left > 0 {
                let note = format!("processes of the command that ran on after it: {left}");
                manifest.notes.push(note);
            }
        }
    }

    fn alive(&self) -> Vec<i64> {
        self.watch.alive(&self.collector)
    }

    /// Takes records until the command has ended (what it came to is returned), the time is over, or `stop`.
    fn until(
        &mut self,
        fate: &Receiver<Fate>,
        duration: Option<Duration>,
        stop: &dyn Fn(&Live) -> bool,
    ) -> Result<Option<Fate>> {
        let end = duration.map(|d| host::now_ns() + d.as_nanos() as i64);
        loop {
            let taken = self.watch.take(&self.collector)?;
            let now = host::now_ns();
            if now >= self.next_interval {
                self.interval(now)?;
                if stop(self) {
                    return Ok(None);
                }
            } else if self.watch.is_crowded() {
                self.watch.interval(&self.collector, now)?;
            }
            if end.is_some_and(|end| now >= end) {
                return Ok(None);
            }
            if let Ok(fate) = fate.recv_timeout(pause(taken)) {
                return Ok(Some(fate));
            }
        }
    }

    /// Takes the last records of a command that ended at `end_ns`.
    fn last_words(&mut self, end_ns: i64) -> Result<()> {
        loop {
            let taken = self.watch.take(&self.collector)?;
            let late = host::now_ns() > end_ns + LAST_WORDS_NS;
            if taken <= 0 && (late || self.watch.is_done(&self.collector)) {
                return self.collector.borrow_mut().failed();
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    fn interval(&mut self, now: i64) -> Result<()> {
        self.next_interval = (self.next_interval + INTERVAL_NS).max(now + INTERVAL_NS / 2);
        self.watch.interval(&self.collector, now)?;
        self.sample(now);
        self.collector.borrow_mut().failed()
    }

    /// One reading of every sampler.
    fn sample(&mut self, now: i64) {
        let alive = self.alive();
        let mut collector = self.collector.borrow_mut();
        self.samplers
            .sample(now, &mut |reading| collector.reading(reading));
        if let Ok(process_io) = &mut self.process_io {
            let watched = alive.iter().copied().take(PROCESSES_READ);
            if let Err(error) = process_io.sample(now, watched.clone()) {
                self.process_io = Err(format!("{error:#}"));
                return;
            }
            let ended: Vec<i64> = self
                .read
                .iter()
                .copied()
                .filter(|tgid| alive.binary_search(tgid).is_err())
                .collect();
            for tgid in ended {
                self.read.remove(&tgid);
                if let Some(row) = process_io.take(tgid) {
                    collector.reading(Reading::ProcessIo(row));
                }
            }
            self.read.extend(watched);
        }
    }

    fn tell_sensors(&self) {
        let process_io = match &self.process_io {
            Ok(_) => Sensor::ran("process_io"),
            Err(why) => Sensor::missing("process_io", why.as_str()),
        };
        let mut collector = self.collector.borrow_mut();
        collector.recording().manifest_mut().sensors = [
            self.watch.sensors(),
            self.samplers.sensors(),
            vec![process_io],
        ]
        .concat();
    }

    /// Says of the sensors that run what they do not tell on this kernel.
    fn tell_parts(&self) {
        let mut collector = self.collector.borrow_mut();
        let manifest = collector.recording().manifest_mut();
        for sensor in manifest.sensors.iter().filter(|s| s.ran) {
            if let Some(why) = &sensor.why {
                manifest.notes.push(format!("{}: {why}", sensor.name));
            }
        }
    }

    fn finish(mut self) -> Result<()> {
        self.interval(host::now_ns())?;
        self.tell_sensors();
        self.watch.finish(&self.collector)?;
        let Ok(collector) = Rc::try_unwrap(self.collector) else {
            unreachable!("the ring, which held the other reference, is gone");
        };
        let mut collector = collector.into_inner();
        if let Ok(process_io) = self.process_io {
            for row in process_io.finish() {
                collector.reading(Reading::ProcessIo(row));
            }
        }
        let (mut recording, extents) = collector.into_recording()?;
        recording.manifest_mut().sensors.push(extents);
        recording.manifest_mut().recorder.memory_peak_bytes = own_memory_peak_bytes();
        recording.finish()
    }
}

/// `[{"name", "runs", "ns", "missed"}, …]` of the programs in the kernel.
fn write_costs(watch: &Watch, path: &Path) -> Result<()> {
    let json = serde_json::to_vec(&watch.costs())?;
    std::fs::write(path, json).with_context(|| path.display().to_string())
}

/// How long to leave the ring alone after this many records. It holds 64 MiB, about 600,000 records; to look at
/// it seldom costs the command fewest of its turns on a CPU.
fn pause(taken: i32) -> Duration {
    Duration::from_millis(match taken {
        100_000.. => 0,
        10_000.. => 5,
        _ => 25,
    })
}

/// CPU time of all threads of this process.
fn own_cpu_ns() -> Option<i64> {
    let usage = getrusage(UsageWho::RUSAGE_SELF).ok()?;
    let ns = |t: TimeVal| t.tv_sec() * 1_000_000_000 + t.tv_usec() * 1000;
    Some(ns(usage.user_time()) + ns(usage.system_time()))
}

/// The most memory that this process has held (proc(5), VmHWM). getrusage's figure is no use: over an exec
/// it keeps that of the process that started this one.
fn own_memory_peak_bytes() -> Option<i64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:"))?;
    let kibibytes: i64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes * 1024)
}

fn manifest(request: &Request) -> Manifest {
    let mut manifest = Manifest::new(Source::Live);
    manifest.host = host::host(&Roots::default());
    manifest.clock = host::clock();
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
