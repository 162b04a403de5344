//! The agent's recordings, one after another, until it is told to end.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use iowhy_readings::sampler::{Samplers, Scope};
use iowhy_readings::{host, Roots};
use iowhy_recorder::process::parent::Parent;
use iowhy_recorder::process::signals::Signals;
use iowhy_store::manifest::{Manifest, Mode, Sensor, Source};
use iowhy_store::{Limits, Recording};

use crate::folder::{Moment, Place};
use crate::groups::Groups;
use crate::interval::{self, Interval, Line};
use crate::levels::{Levels, Since};
use crate::places::Places;
use crate::programs::Programs;

/// What is asked for.
#[derive(Clone, Debug)]
pub struct Request {
    /// The folder of the recordings.
    pub root: PathBuf,
    /// Length of an interval.
    pub every: Duration,
    /// Length of a recording, at most; each day (UTC) begins a new one.
    pub rotate: Duration,
    /// Every I/O call is timed.
    pub calls: bool,
    /// Where to write what each program has cost the kernel, as JSON.
    pub program_stats: Option<PathBuf>,
}

/// How often it is looked whether to end.
const LOOK_EVERY: Duration = Duration::from_millis(250);

/// The present recording.
struct Open {
    recording: Recording,
    place: Place,
    began_ns: i64,
    began: Moment,
}

/// What goes on over all recordings.
struct Agent<'a> {
    request: &'a Request,
    host: String,
    programs: Programs,
    samplers: Samplers,
    levels: Levels,
    groups: Groups,
    places: Places,
}

/// Records until a signal, or until the process that started it is gone. Each interval is a line of JSON on `out`.
pub fn run(request: &Request, mut out: impl Write) -> Result<()> {
    let signals = Signals::catch()?;
    let parent = Parent::named();
    let mut programs = Programs::load(request.calls)?;
    programs.attach()?;
    let mut agent = Agent {
        request,
        host: host::host(&Roots::default())
            .name
            .unwrap_or_else(|| "unknown".into()),
        programs,
        samplers: Samplers::new(&Roots::default(), Scope::default()),
        levels: Levels::default(),
        groups: Groups::of_machine(),
        places: Places::default(),
    };
    let mut open = agent.open()?;
    // Counted before the first interval began; the samplers' first readings are what the next ones are counted from.
    agent.programs.drain();
    let mut start_ns = host::now_ns();
    agent.sample(start_ns, &mut open.recording)?;
    loop {
        let ends = || signals.count() > 0 || parent.died();
        wait_until(start_ns + nanoseconds(request.every), &ends);
        let ends = ends();
        let mut line = agent.interval(&mut start_ns, &mut open.recording)?;
        if ends || agent.is_over(&open) {
            line.closed.push(agent.close(open)?.display().to_string());
            // Who followed is gone: what was recorded is written.
            let said = say(&mut out, &line);
            if ends || said.is_err() {
                return agent.end();
            }
            open = agent.open()?;
        } else if say(&mut out, &line).is_err() {
            agent.close(open)?;
            return agent.end();
        }
    }
}

fn nanoseconds(duration: Duration) -> i64 {
    i64::try_from(duration.as_nanos()).unwrap_or(i64::MAX)
}

fn wait_until(end_ns: i64, ends: &dyn Fn() -> bool) {
    while !ends() {
        let left = end_ns - host::now_ns();
        if left <= 0 {
            return;
        }
        std::thread::sleep(Duration::from_nanos(left as u64).min(LOOK_EVERY));
    }
}

fn say(out: &mut impl Write, line: &Line) -> Result<()> {
    serde_json::to_writer(&mut *out, line)?;
    out.write_all(b"\n")?;
    Ok(out.flush()?)
}

fn wall_now() -> Moment {
    Moment::of(host::clock().wall_ns.unwrap_or(0).div_euclid(1_000_000_000))
}

impl Agent<'_> {
    fn open(&mut self) -> Result<Open> {
        let began = wall_now();
        let place = Place::new(&self.request.root, &self.host, &began, "agent")?;
        let mut manifest = Manifest::new(Source::Live);
        manifest.host = host::host(&Roots::default());
        manifest.clock = host::clock();
        manifest.command.mode = Mode::Machine;
        manifest.command.start_ns = Some(host::now_ns());
        manifest.sensors = self.sensors();
        let limits = Limits::read_along(nanoseconds(self.request.every));
        let mut recording = Recording::create_with(&place.open, manifest, limits)?;
        self.groups.begin_recording();
        self.places.begin_recording(&mut recording)?;
        Ok(Open {
            recording,
            place,
            began_ns: host::now_ns(),
            began,
        })
    }

    fn sensors(&self) -> Vec<Sensor> {
        [self.programs.sensors.clone(), self.samplers.sensors()].concat()
    }

    fn is_over(&self, open: &Open) -> bool {
        let age_ns = host::now_ns() - open.began_ns;
        age_ns >= nanoseconds(self.request.rotate) || wall_now().date != open.began.date
    }

    /// Ends the interval that began at `start_ns`, which is then the start of the next.
    fn interval(&mut self, start_ns: &mut i64, recording: &mut Recording) -> Result<Line> {
        let (found, lost) = self.programs.drain();
        let now = host::now_ns();
        let interval = Interval {
            start_ns: *start_ns,
            length_ns: now - *start_ns,
        };
        *start_ns = now;
        let (latencies, counts) = interval::rows(interval, found, &mut self.groups, recording)?;
        recording.lost("agent_latencies", lost);
        let knows = |s: &Sensor| s.name == "agent_waits" && s.ran;
        let known = self.programs.sensors.iter().any(knows);
        let waiting = known.then(|| self.programs.waiting());
        if let Some(threads) = waiting {
            recording.push(interval::waiting(interval, threads))?;
        }
        let Since { pressure, disks } = self.sample(now, recording)?;
        self.places
            .know(disks.iter().map(|disk| disk.dev), recording)?;
        recording.tick(now)?;
        Ok(Line {
            at_ns: now,
            interval_ns: interval.length_ns,
            latencies,
            counts,
            pressure,
            disks,
            waiting,
            lost,
            devices: self.places.devices.clone(),
            mounts: self.places.mounts.clone(),
            closed: Vec::new(),
        })
    }

    fn sample(&mut self, now_ns: i64, recording: &mut Recording) -> Result<Since> {
        let (mut since, mut failed) = (Since::default(), None);
        self.samplers.sample(now_ns, &mut |reading| {
            self.levels.take(&reading, &mut since);
            if let Err(error) = reading.push(recording) {
                failed = Some(error);
            }
        });
        failed.map_or(Ok(since), |error| Err(error.into()))
    }

    fn close(&self, mut open: Open) -> Result<PathBuf> {
        let manifest = open.recording.manifest_mut();
        manifest.command.end_ns = Some(host::now_ns());
        manifest.sensors = self.sensors();
        open.recording.finish()?;
        open.place.close()
    }

    fn end(&self) -> Result<()> {
        match &self.request.program_stats {
            Some(path) => write_costs(&self.programs, path),
            None => Ok(()),
        }
    }
}

fn write_costs(programs: &Programs, path: &Path) -> Result<()> {
    let json = serde_json::to_vec(&programs.costs())?;
    std::fs::write(path, json).with_context(|| path.display().to_string())
}
