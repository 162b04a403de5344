//! A recording under way: what watches, what samples, and where the rows go.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::ExitStatus;
use std::rc::Rc;
use std::sync::mpsc::Receiver;
use std::time::Duration;

use anyhow::Result;
use iowhy_readings::running::Running;
use iowhy_readings::sampler::process_io::ProcessIo;
use iowhy_readings::sampler::{Samplers, Scope};
use iowhy_readings::{host, messages, Reading, Roots};
use iowhy_store::manifest::Sensor;
use iowhy_store::{rows, Limits, Owner, Recording};

use super::manifest::manifest;
use super::rest::{Rest, INTERVAL_NS, LOOK};
use super::statements::Databases;
use super::{load, own, Bounds, Request, Target};
use crate::collect::{Collector, Seen};
use crate::kernel::{NotAttached, Options, Probe};
use crate::process::spawn::Fate;
use crate::watch::{Shared, Watch};

/// How long the last records of a command that has ended are waited for.
const LAST_RECORDS_NS: i64 = 50_000_000;
/// Processes whose /proc/PID/io is read at each interval, at most.
const PROCESSES_READ: usize = 256;

/// A recording under way: what watches, what samples, and where the rows go.
pub struct Live {
    pub watch: Watch,
    pub collector: Shared,
    samplers: Samplers,
    process_io: Result<ProcessIo, String>,
    /// Processes whose /proc/PID/io was read and not yet written.
    read: BTreeSet<i64>,
    next_interval: i64,
    rest: Option<Rest>,
    running: Option<Running>,
    bounds: Bounds,
    /// None: statements are not asked for.
    pub(super) databases: Option<Databases>,
    pub(super) begun_ns: i64,
    /// The bound that ended the recording.
    pub bound: Option<String>,
    /// A block is recorded, which says itself where it begins and ends.
    pub block: bool,
    /// CPU time of this process before the command's time began.
    before_ns: i64,
}

/// What watches. A program that the kernel took and then does not run is left out, as one that it refuses.
fn watch(
    request: &Request,
    mut probe: Result<Probe, String>,
    mut options: Options,
    collector: &Shared,
) -> Result<Watch> {
    loop {
        let error = match probe {
            Ok(probe) => match Watch::programs(probe, collector) {
                Ok(watch) => return Ok(watch),
                Err(error) => error,
            },
            Err(why) => return Ok(Watch::proc(options.whole_machine, why, request.stacks)),
        };
        let NotAttached { program, words } = error.downcast()?;
        anyhow::ensure!(!options.refused.contains_key(&program), "{program} {words}");
        options.refused.insert(program, words);
        probe = load(request.backend, &options)?;
    }
}

impl Live {
    /// Samples the control groups of this process, also where it is moved to later.
    pub fn follow(&mut self, pid: u32) {
        if let Ok(pid) = i32::try_from(pid) {
            self.samplers.follow(&Roots::default(), pid);
        }
    }

    pub fn new(
        request: &Request,
        probe: Result<Probe, String>,
        options: Options,
        owner: Option<Owner>,
        containers: Seen,
    ) -> Result<Live> {
        let roots = Roots::default();
        let limits = request.close_every.map_or_else(Limits::default, |every| {
            Limits::read_along(i64::try_from(every.as_nanos()).unwrap_or(i64::MAX))
        });
        let recording = Recording::create_for(&request.out, manifest(request), owner, limits)?;
        let collector = Collector::new(recording, host::now_ns() as u64, containers);
        let collector = Rc::new(RefCell::new(collector));
        let whole_machine = matches!(request.target, Target::Machine { .. });
        let watch = watch(request, probe, options, &collector)?;
        let live = Live {
            watch,
            collector,
            samplers: Samplers::new(&roots, Scope::default()),
            process_io: ProcessIo::new(&roots).map_err(|error| format!("{error:#}")),
            read: BTreeSet::new(),
            next_interval: host::now_ns() + INTERVAL_NS,
            rest: whole_machine.then(|| Rest::new(request.close_every)),
            running: Running::new(&roots).ok(),
            bounds: request.bounds.clone(),
            databases: request.statements.then(Databases::default),
            begun_ns: host::now_ns(),
            bound: None,
            block: false,
            before_ns: 0,
        };
        live.collector
            .borrow_mut()
            .recording()
            .manifest_mut()
            .source = live.watch.source();
        if request.statements {
            let texts = request.statement_text;
            live.collector.borrow_mut().keep_statements(texts);
        }
        live.note_costs();
        live.note_sensors();
        live.note_parts();
        live.note_refusals();
        Ok(live)
    }

    /// The first readings, which take some milliseconds.
    pub fn prepare(&mut self) {
        self.sample(host::now_ns());
        self.before_ns = own::cpu_ns().unwrap_or(0);
    }

    /// The command's time begins now.
    pub fn begin(&mut self) {
        self.begin_at(host::now_ns());
    }

    /// The same at a time that has passed.
    pub fn begin_at(&mut self, now: i64) {
        let mut collector = self.collector.borrow_mut();
        self.begun_ns = now;
        collector.begin(now as u64);
        collector.recording().manifest_mut().command.start_ns = Some(now);
    }

    /// The command has ended, or is watched no longer.
    pub fn ended(&mut self, at_ns: i64, status: Option<ExitStatus>, io: Option<rows::ProcessIo>) {
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
        manifest.recorder.cpu_ns = own::cpu_ns().map(|ns| ns - self.before_ns);
        if let Some(status) = status {
            manifest.command.exit_status = status.code().map(i64::from);
            manifest.command.signal = status.signal().map(i64::from);
            if left > 0 {
                let note = format!("processes of the command that ran on after it: {left}");
                manifest.notes.push(note);
            }
        }
    }

    pub fn alive(&self) -> Vec<i64> {
        self.watch.alive(&self.collector)
    }

    /// Takes records until the command has ended (what it came to is returned), the time is over, or `stop`.
    pub fn until(
        &mut self,
        fate: &Receiver<Fate>,
        duration: Option<Duration>,
        stop: &dyn Fn(&Live) -> bool,
    ) -> Result<Option<Fate>> {
        let end = duration.map(|d| host::now_ns() + d.as_nanos() as i64);
        loop {
            let taken = self.watch.take(&self.collector)?;
            let now = host::now_ns();
            let woken = self.looks(taken);
            if now >= self.next_interval || woken {
                self.interval(now)?;
                self.bound = self.bound_reached(now);
                if self.bound.is_some() || stop(self) {
                    return Ok(None);
                }
            } else if self.watch.is_crowded() {
                self.watch.interval(&self.collector, now)?;
            } else if self.is_resting() && stop(self) {
                return Ok(None);
            }
            if end.is_some_and(|end| now >= end) {
                return Ok(None);
            }
            let pause = match self.is_resting() {
                true => LOOK,
                false => self.watch.pause(taken),
            };
            let pause = pause.min(self.until_interval());
            if let Ok(fate) = fate.recv_timeout(pause) {
                return Ok(Some(fate));
            }
        }
    }

    /// Takes the last records of a command that ended at `end_ns`.
    pub fn last_records(&mut self, end_ns: i64) -> Result<()> {
        loop {
            let taken = self.watch.take(&self.collector)?;
            let late = host::now_ns() > end_ns + LAST_RECORDS_NS;
            if taken == 0 && (late || self.watch.is_done(&self.collector)) {
                return Ok(self.collector.borrow_mut().failed()?);
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    fn until_interval(&self) -> Duration {
        let left_ns = self.next_interval - host::now_ns();
        Duration::from_nanos(u64::try_from(left_ns).unwrap_or(0))
    }

    fn interval(&mut self, now: i64) -> Result<()> {
        // Where a rest has ended early, the reading that was to end it is not waited for.
        let due = self.next_interval.min(now);
        self.next_interval = (due + INTERVAL_NS).max(now + INTERVAL_NS / 2);
        self.watch.interval(&self.collector, now)?;
        self.sample(now);
        self.probe_met();
        if let Some(every_ns) = self.rest.as_ref().and_then(Rest::every_ns) {
            self.next_interval = now + every_ns;
        }
        Ok(self.collector.borrow_mut().failed()?)
    }

    fn bound_reached(&self, now: i64) -> Option<String> {
        let age = Duration::from_nanos(u64::try_from(now - self.begun_ns).unwrap_or(0));
        let mut collector = self.collector.borrow_mut();
        let recording = collector.recording();
        self.bounds
            .reached(age, recording.written_bytes(), recording.place())
    }

    /// Says that a bound ended the recording, here and in its manifest, and what comes of it.
    pub fn note_bound(&self, bound: &str, then: &str) {
        self.note(&format!("{bound}: {then}"));
    }

    /// The command does not end when it is asked to.
    pub fn left(&mut self) {
        self.note("the command did not end when it was asked to: it runs on unrecorded");
        self.ended(host::now_ns(), None, None);
    }

    /// Says it, here and in the manifest.
    pub fn note(&self, text: &str) {
        messages::say(text);
        let mut collector = self.collector.borrow_mut();
        let notes = &mut collector.recording().manifest_mut().notes;
        notes.push(text.to_owned());
    }

    fn is_resting(&self) -> bool {
        self.rest.as_ref().and_then(Rest::every_ns).is_some()
    }

    /// After a look at the ring that took so many bytes: whether a rest ends. Where it is not known who runs, none lasts.
    fn looks(&mut self, taken: usize) -> bool {
        let running = &mut self.running;
        let others_run = || running.as_mut().and_then(Running::others) != Some(false);
        let rest = self.rest.as_mut();
        rest.is_some_and(|rest| rest.looks(taken, others_run))
    }

    /// One reading of every sampler.
    fn sample(&mut self, now: i64) {
        let alive = self.alive();
        let ran = self.watch.take_ran(&self.collector);
        if let (Some(rest), Some(ran)) = (&mut self.rest, &ran) {
            rest.read(now, ran.awake_ns);
        }
        let mut collector = self.collector.borrow_mut();
        self.samplers
            .sample(now, &mut |reading| collector.reading(reading));
        if let Ok(process_io) = &mut self.process_io {
            // Who has not run has read and written nothing: its last reading stands.
            let has_run = |tgid| ran.as_ref().is_none_or(|ran| ran.processes.contains(tgid));
            let watched: Vec<i64> = alive
                .iter()
                .take(PROCESSES_READ)
                .filter(|tgid| has_run(tgid) || !self.read.contains(tgid))
                .copied()
                .collect();
            if let Err(error) = process_io.sample(now, watched.iter().copied()) {
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

    fn note_costs(&self) {
        if let Some(costs) = self.watch.call_costs() {
            let mut collector = self.collector.borrow_mut();
            let recorder = &mut collector.recording().manifest_mut().recorder;
            recorder.call_ns = Some(costs.call_ns());
            recorder.call_passing_ns = Some(costs.passing_ns());
            recorder.call_lookup_ns = Some(costs.lookup_ns());
        }
    }

    fn note_sensors(&self) {
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

    /// Notes of the sensors that run what they lack on this kernel.
    fn note_parts(&self) {
        let mut collector = self.collector.borrow_mut();
        let manifest = collector.recording().manifest_mut();
        for sensor in manifest.sensors.iter().filter(|s| s.ran) {
            if let Some(why) = &sensor.why {
                manifest.notes.push(format!("{}: {why}", sensor.name));
            }
        }
    }

    /// Says which programs the kernel refuses, and what is not recorded for that.
    fn note_refusals(&self) {
        if let Some(why) = self.watch.refused_whole() {
            self.note(&format!("{why}; recorded from /proc alone"));
        }
        let sensors = self.watch.sensors();
        let refusals = self.watch.refusals().iter();
        for told in refusals.filter_map(|one| one.told(&sensors)) {
            self.note(&told);
        }
    }

    pub fn finish(mut self) -> Result<()> {
        self.interval(host::now_ns())?;
        self.note_sensors();
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
        recording.manifest_mut().recorder.memory_peak_bytes = own::memory_peak_bytes();
        Ok(recording.finish()?)
    }
}
