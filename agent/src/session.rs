//! The agent's recordings, one after another, until it is told to end.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;
use iowhy_readings::sampler::{Samplers, Scope};
use iowhy_readings::{host, Roots};
use iowhy_recorder::kernel::write_costs;
use iowhy_recorder::process::lifeline::Lifeline;
use iowhy_recorder::process::signals::Signals;
use iowhy_store::manifest::{Manifest, Mode, Sensor, Source};
use iowhy_store::{Limits, Recording};
use nix::poll::{poll, PollFd, PollFlags};

use crate::folder;
use crate::groups::Groups;
use crate::interval::{self, Interval, Line};
use crate::levels::{Levels, Since};
use crate::places::Places;
use crate::programs::Programs;
use crate::sink::Sink;

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
const LOOK_EVERY: Duration = Duration::from_millis(LOOK_EVERY_MS as u64);
const LOOK_EVERY_MS: u16 = 250;

/// The present recording, which is in the sink.
struct Open {
    path: PathBuf,
    began_ns: i64,
    day: i64,
}

/// What goes on over all recordings.
struct Agent<'a> {
    request: &'a Request,
    programs: Programs,
    samplers: Samplers,
    levels: Levels,
    groups: Groups,
    places: Places,
    sink: Sink,
    /// None: none can be written now.
    open: Option<Open>,
}

/// Records until a signal, or until nobody holds its lifeline. Each interval is a line of JSON on `out`.
pub fn run(request: &Request, out: impl Write + AsFd) -> Result<()> {
    let signals = Signals::catch()?;
    let lifeline = Lifeline::named()?;
    let ends = || signals.count() > 0 || lifeline.is_cut();
    let mut out = Heard { out, ends: &ends };
    let mut programs = Programs::load(request.calls)?;
    programs.attach()?;
    let mut agent = Agent {
        request,
        programs,
        samplers: Samplers::new(&Roots::default(), Scope::default()),
        levels: Levels::default(),
        groups: Groups::of_machine(),
        places: Places::default(),
        sink: Sink::default(),
        open: None,
    };
    agent.open()?;
    // Counted before the first interval began; the samplers' first readings are what the next ones are counted from.
    agent.programs.drain();
    let mut start_ns = host::now_ns();
    agent.sample(start_ns);
    loop {
        wait_until(start_ns + nanoseconds(request.every), &ends);
        let ends = ends();
        let mut line = agent.interval(&mut start_ns)?;
        line.failed = agent.sink.failure();
        if ends || line.failed.is_some() || agent.is_over() {
            line.closed.extend(agent.close());
        }
        line.failed = line.failed.or_else(|| agent.sink.failure());
        // Who followed is gone: what was recorded is written.
        if say(&mut out, &line).is_err() || ends {
            agent.close();
            return agent.end();
        }
        if agent.open.is_none() {
            if let Err(error) = agent.open() {
                agent.sink.fail(format!("{error:#}"));
            }
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

/// Standard output, which nobody may read: who is to end does not wait for that.
struct Heard<'a, W> {
    out: W,
    ends: &'a dyn Fn() -> bool,
}

impl<W: Write + AsFd> Write for Heard<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // Of a pipe that is ready so much fits (pipe(7)).
        let some = &bytes[..bytes.len().min(libc::PIPE_BUF)];
        loop {
            let mut one = [PollFd::new(self.out.as_fd(), PollFlags::POLLOUT)];
            match poll(&mut one, LOOK_EVERY_MS) {
                Ok(0) if (self.ends)() => return Err(io::ErrorKind::TimedOut.into()),
                Ok(0) => {}
                _ => break,
            }
        }
        let written = self.out.write(some)?;
        self.out.flush()?;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn say(out: &mut impl Write, line: &Line) -> Result<()> {
    let mut text = serde_json::to_vec(line)?;
    text.push(b'\n');
    Ok(out.write_all(&text)?)
}

fn today() -> i64 {
    folder::day(host::clock().wall_ns.unwrap_or(0))
}

impl Agent<'_> {
    /// Begins a recording.
    fn open(&mut self) -> Result<()> {
        let path = folder::free(&self.request.root)?;
        let mut manifest = Manifest::new(Source::Live);
        manifest.host = host::host(&Roots::default());
        manifest.clock = host::clock();
        manifest.command.mode = Mode::Machine;
        manifest.command.start_ns = Some(host::now_ns());
        manifest.sensors = self.sensors();
        let limits = Limits::read_along(nanoseconds(self.request.every));
        let recording = Recording::create_with(&path, manifest, limits).inspect_err(|_| {
            // Nothing of it can be read.
            let _ = std::fs::remove_dir_all(&path);
        })?;
        self.sink.open(recording);
        self.groups.begin_recording();
        self.places.begin_recording(&mut self.sink)?;
        self.open = Some(Open {
            path,
            began_ns: host::now_ns(),
            day: today(),
        });
        Ok(())
    }

    fn sensors(&self) -> Vec<Sensor> {
        [self.programs.sensors.clone(), self.samplers.sensors()].concat()
    }

    fn lacking(&self) -> BTreeMap<String, String> {
        let missing = self.sensors().into_iter().filter(|sensor| !sensor.ran);
        missing
            .map(|sensor| (sensor.name, sensor.why.unwrap_or_default()))
            .collect()
    }

    fn is_over(&self) -> bool {
        self.open.as_ref().is_some_and(|open| {
            let age_ns = host::now_ns() - open.began_ns;
            age_ns >= nanoseconds(self.request.rotate) || today() != open.day
        })
    }

    /// Ends the interval that began at `start_ns`, which is then the start of the next.
    fn interval(&mut self, start_ns: &mut i64) -> Result<Line> {
        let (found, lost) = self.programs.drain();
        let now = host::now_ns();
        let interval = Interval {
            start_ns: *start_ns,
            length_ns: now - *start_ns,
        };
        *start_ns = now;
        let (latencies, counts) = interval::rows(interval, found, &mut self.groups, &mut self.sink);
        self.sink.lost("agent_latencies", lost);
        let knows = |s: &Sensor| s.name == "agent_waits" && s.ran;
        let known = self.programs.sensors.iter().any(knows);
        let waiting = known.then(|| self.programs.waiting());
        if let Some(threads) = waiting {
            self.sink.push(interval::waiting(interval, threads));
        }
        let Since { pressure, disks } = self.sample(now);
        let disks_seen = disks.iter().map(|disk| disk.dev);
        self.places.know(disks_seen, &mut self.sink)?;
        self.sink.tick(now);
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
            failed: None,
            lacking: self.lacking(),
        })
    }

    fn sample(&mut self, now_ns: i64) -> Since {
        let mut since = Since::default();
        self.samplers.sample(now_ns, &mut |reading| {
            self.levels.take(&reading, &mut since);
            self.sink.reading(reading);
        });
        since
    }

    /// Ends the recording, whole or as far as it got, and gives its path.
    fn close(&mut self) -> Option<String> {
        let path = self.open.take()?.path;
        let sensors = self.sensors();
        let mut recording = self.sink.take()?;
        let manifest = recording.manifest_mut();
        manifest.command.end_ns = Some(host::now_ns());
        manifest.sensors = sensors;
        if let Err(error) = recording.finish() {
            self.sink.fail(error.to_string());
        }
        Some(path.display().to_string())
    }

    fn end(&self) -> Result<()> {
        match &self.request.program_stats {
            Some(path) => write_costs(&self.programs.costs(), path),
            None => Ok(()),
        }
    }
}
