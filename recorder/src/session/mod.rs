//! A recording from its start to its end.

mod attached;
mod bounds;
mod control_groups;
pub(crate) mod libraries;
mod live;
mod manifest;
mod own;
mod removed;
mod rest;
mod statements;
mod unrecorded;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::mpsc::channel;
use std::time::Duration;

use anyhow::{Context, Result};
use iowhy_readings::containers::{Containers, Wanted};
use iowhy_readings::sampler::{Samplers, Scope};
use iowhy_readings::{host, messages, Roots};
use iowhy_store::Owner;

use crate::collect::Seen;
use crate::groups::Groups;
pub use crate::kernel::Block;
use crate::kernel::{choice, write_costs, LoadError, Options, Probe};
use crate::process::inherited::Inherited;
use crate::process::spawn::{self, Account, Fate};
use crate::process::{lifeline::Lifeline, owner, ready, signals::Signals};
use crate::watch::processes;
pub use bounds::Bounds;
use live::Live;
use removed::{remove, remove_empty};
use unrecorded::{outlived, RunsOn};

/// Exit status when the recording could not be made.
pub const BROKEN: i32 = 125;

/// What is asked for.
#[derive(Clone, Debug)]
pub struct Request {
    pub out: PathBuf,
    pub target: Target,
    pub backend: Backend,
    pub user: Option<String>,
    pub without: Vec<String>,
    pub spoil: Vec<String>,
    pub stacks: bool,
    /// Functions of databases are probed, and what they run is kept; with its literals where texts are wanted.
    pub statements: bool,
    pub statement_text: bool,
    pub bounds: Bounds,
    pub close_every: Option<Duration>,
    /// Where to write what each program has cost the kernel, as JSON.
    pub program_stats: Option<PathBuf>,
}

/// What gives the sensors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Backend {
    /// eBPF programs; an error where they cannot run
    Bpf,
    /// /proc alone
    Proc,
    /// eBPF programs where they can run, else /proc
    Auto,
}

/// What is recorded.
#[derive(Clone, Debug)]
pub enum Target {
    Run(Vec<OsString>),
    Attach {
        pids: Vec<u32>,
        /// With those that they have started already.
        descendants: bool,
        duration: Option<Duration>,
        /// A block of the first of them alone.
        block: Option<Block>,
    },
    /// What runs in control groups, whole containers or pods.
    Groups {
        wanted: Vec<Wanted>,
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
    let inherited = Inherited::from_caller().context("the caller's signals")?;
    let signals = Signals::catch()?;
    let lifeline = Lifeline::named()?;
    let account = request.user.as_deref().map(Account::of).transpose()?;
    let groups = control_groups::asked(&request.target)?;
    let containers = control_groups::containers(&groups);
    let options = options(request, &groups, containers.as_ref());
    let probe = load(request.backend, &options)?;
    let owner = owner::named();
    let existed = Owner::acting(owner.as_ref(), || request.out.exists());
    let seen = Seen::new(containers);
    let live = Live::new(request, probe, options, owner.clone(), seen);
    let mut live = live.inspect_err(|_| remove_empty(&request.out, owner.as_ref(), existed))?;
    let status = match &request.target {
        Target::Run(argv) => run(
            &mut live,
            argv,
            account.as_ref(),
            inherited,
            &signals,
            &lifeline,
        ),
        Target::Attach {
            pids,
            descendants,
            duration,
            block,
        } => {
            live.block = block.is_some();
            attached::attach(
                &mut live,
                pids,
                *descendants,
                *duration,
                &signals,
                &lifeline,
            )
        }
        Target::Groups { duration, .. } => {
            in_groups(&mut live, &groups, *duration, &signals, &lifeline)
        }
        Target::Machine { duration } => machine(&mut live, *duration, &signals, &lifeline),
    };
    match status {
        Ok(ended) => {
            if let Some(path) = &request.program_stats {
                write_costs(&live.watch.costs(), path)?;
            }
            Ok(close(live, ended, &request.target, &lifeline))
        }
        Err(failure) => {
            drop(live);
            if failure.ran_nothing {
                Owner::acting(owner.as_ref(), || remove(&request.out, existed));
            }
            Err(failure)
        }
    }
}

/// Closes the recording; gives the exit status, which is a command's own whatever became of its recording.
fn close(live: Live, ended: Ended, target: &Target, lifeline: &Lifeline) -> i32 {
    let whole = live.finish();
    if let Err(error) = &whole {
        messages::say(&format!("{error:#}"));
    }
    match ended {
        Ended::With(_) if whole.is_err() && !matches!(target, Target::Run(_)) => BROKEN,
        Ended::With(status) => status,
        Ended::RunsOn(command) => command.wait(lifeline),
    }
}

/// How what was recorded ended.
enum Ended {
    /// The exit status.
    With(i32),
    /// The recording reached a bound; the command is still to be waited for.
    RunsOn(RunsOn),
}

fn options(request: &Request, groups: &Groups, containers: Option<&Containers>) -> Options {
    Options {
        whole_machine: matches!(request.target, Target::Machine { .. }),
        by_group: groups.hierarchy().is_some(),
        group_controller: containers.and_then(|c| c.hierarchy().controller()),
        without: request.without.clone(),
        spoil: request.spoil.clone(),
        refused: BTreeMap::new(),
        stacks: request.stacks,
        statements: request.statements,
        block: match request.target {
            Target::Attach { block, .. } => block,
            _ => None,
        },
    }
}

/// The programs, or why they are not used.
fn load(backend: Backend, options: &Options) -> Result<Result<Probe, String>> {
    if backend == Backend::Proc {
        return Ok(Err("/proc alone was asked for (--mode proc)".into()));
    }
    match Probe::load(options) {
        Ok(probe) => Ok(Ok(probe)),
        Err(error) if backend == Backend::Bpf => Err(anyhow::anyhow!(why(error))),
        Err(error) => Ok(Err(why(error))),
    }
}

/// Why no program runs, in words for who can change it.
fn why(error: LoadError) -> String {
    if matches!(error, LoadError::NotPermitted) && !nix::unistd::geteuid().is_root() {
        return "only root may load eBPF programs (CAP_BPF and CAP_PERFMON)".into();
    }
    format!("{:#}", anyhow::Error::from(error))
}

// long: the order of these steps is what matters, and is read here: held, watched, let go, ended.
fn run(
    live: &mut Live,
    argv: &[OsString],
    account: Option<&Account>,
    inherited: Inherited,
    signals: &Signals,
    lifeline: &Lifeline,
) -> Result<Ended, Failure> {
    let (fates, fate) = channel();
    let leave = || signals.count() > 0 || lifeline.is_cut();
    let held = match spawn::hold(argv, account, inherited, fates, &leave) {
        Ok(Some(held)) => held,
        Ok(None) => return Err(interrupted()),
        Err(error) => {
            let message = match fate.try_recv() {
                Ok(Fate::Failed(why)) => format!("the command could not be started: {why}"),
                _ => format!("{error:#}"),
            };
            return Err(Failure {
                message,
                status: BROKEN,
                ran_nothing: true,
            });
        }
    };
    let pid = held.pid;
    live.collector.borrow_mut().set_main(pid);
    live.follow(held.pid);
    signals.pass_to(held.pid);
    held.settle();
    live.prepare();
    live.watch
        .adopt(&[held.pid], &Groups::default())
        .context("cannot watch the command")?;
    if leave() {
        // Whoever ended it before it began was heard by nobody else; at the closed gate the command ends.
        return Err(interrupted());
    }
    live.probe_first(argv, &[]);
    // It was held until now, however long it took to take it into scope.
    live.begin();
    held.release();
    let ended = live.until(&fate, None, &|live| {
        signals.end_it(|| live.alive()) || lifeline.outlived_by(&live.alive())
    });
    let ended = match ended {
        Ok(ended) => ended,
        Err(error) => return Err(outlived(error, RunsOn::new(fate, pid, signals), lifeline)),
    };
    if let Some(bound) = live.bound.take() {
        // Signals are still passed on: it is the command that is waited for.
        live.note_bound(&bound, "the command runs on unrecorded");
        live.ended(host::now_ns(), None, None);
        return Ok(Ended::RunsOn(RunsOn::new(fate, pid, signals)));
    }
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
            // What fails here fails again, and is said, when the recording is closed.
            let _ = live.last_records(at_ns);
            live.ended(at_ns, Some(status), io);
            Ok(Ended::With(spawn::shell_status(status)))
        }
        Some(Fate::Asked) | None => {
            live.left();
            Ok(Ended::With(130))
        }
    }
}

fn interrupted() -> Failure {
    Failure {
        message: "interrupted before the command ran".into(),
        status: 130,
        ran_nothing: true,
    }
}

/// Until the time is over or the groups are gone; that nothing runs in one at a time is no end.
fn in_groups(
    live: &mut Live,
    groups: &Groups,
    duration: Option<Duration>,
    signals: &Signals,
    lifeline: &Lifeline,
) -> Result<Ended, Failure> {
    if let Some(first) = groups.processes().first() {
        live.follow(u32::try_from(*first).unwrap_or(0));
    }
    live.prepare();
    live.begin();
    live.watch
        .adopt(&[], groups)
        .context("cannot watch the control group")?;
    let running: Vec<i64> = groups.processes().into_iter().collect();
    live.probe_first(&[], &running);
    ready::say();
    let fate = signals.wakes();
    live.until(&fate, duration, &|live| {
        signals.count() > 0 || lifeline.is_cut() || live.alive().is_empty() && !groups.exist()
    })?;
    if let Some(bound) = live.bound.take() {
        live.note_bound(&bound, "it ends here");
    }
    live.ended(host::now_ns(), None, None);
    Ok(Ended::With(0))
}

/// What was to be recorded is not there.
fn absent(message: String) -> Failure {
    Failure {
        message,
        status: 2,
        ran_nothing: true,
    }
}

fn machine(
    live: &mut Live,
    duration: Option<Duration>,
    signals: &Signals,
    lifeline: &Lifeline,
) -> Result<Ended, Failure> {
    live.prepare();
    live.begin();
    live.watch
        .adopt(&[], &Groups::default())
        .context("cannot watch the machine")?;
    live.probe_first(&[], &processes()?);
    ready::say();
    let fate = signals.wakes();
    live.until(&fate, duration, &|_| {
        signals.count() > 0 || lifeline.is_cut()
    })?;
    if let Some(bound) = live.bound.take() {
        live.note_bound(&bound, "it ends here");
    }
    live.ended(host::now_ns(), None, None);
    Ok(Ended::With(0))
}

/// Which sensors can run here, as JSON.
pub fn probe(without: &[String]) -> String {
    let options = Options {
        without: without.to_vec(),
        stacks: true,
        statements: true,
        ..Options::default()
    };
    let sensors = match Probe::load(&options) {
        Ok(probe) => probe.sensors.clone(),
        Err(error) => choice::none(&why(error)),
    };
    let sampled = Samplers::new(&Roots::default(), Scope::default()).sensors();
    serde_json::json!({ "sensors": ([sensors, sampled].concat()) }).to_string()
}
