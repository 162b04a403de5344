//! `iowhy-record`: records a command, running processes or the whole machine.

mod aggregate;
mod alone;
mod names;

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::time::Duration;

use clap::{Parser, Subcommand};
use iowhy_readings::containers::Wanted;
use iowhy_readings::messages;
use iowhy_recorder::session::{record, Backend, Block, Bounds, Request, Target};

#[derive(Parser)]
#[command(
    name = "iowhy-record",
    version,
    about = "Records what programs do in the Linux I/O stack, for `iowhy why` to say why they are slow",
    after_help = alone::EXAMPLES
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run a command and record it and all that it starts
    Run {
        #[command(flatten)]
        common: Common,
        /// User that the command runs as; through sudo, the one who called it
        #[arg(long, value_name = "NAME")]
        user: Option<String>,
        /// The command and its arguments
        #[arg(required = true, last = true, value_name = "CMD")]
        argv: Vec<OsString>,
    },
    /// Record running processes
    Attach {
        #[command(flatten)]
        common: Common,
        /// Process numbers, separated by commas
        #[arg(
            long = "pid",
            required = true,
            value_delimiter = ',',
            value_name = "PID"
        )]
        pids: Vec<u32>,
        /// With the processes that these have started already
        #[arg(long)]
        descendants: bool,
        /// A block of the process, which says itself where it begins and ends: its thread and number
        #[arg(long, hide = true, value_parser = block, value_name = "TID:NUMBER")]
        block: Option<Block>,
        /// Seconds to record; without it until they end, or Ctrl-C
        #[arg(long, value_parser = seconds, value_name = "SECONDS")]
        duration: Option<Duration>,
    },
    /// Record what runs in control groups: containers, pods, services
    #[command(group(clap::ArgGroup::new("which").required(true).multiple(true)
        .args(["cgroups", "containers", "pods"])))]
    Group {
        #[command(flatten)]
        common: Common,
        /// Directory of a control group, or its path as /proc/PID/cgroup has it
        #[arg(long = "cgroup", value_name = "PATH")]
        cgroups: Vec<String>,
        /// Name or id of a container, or name of a systemd service
        #[arg(long = "container", value_name = "NAME")]
        containers: Vec<String>,
        /// Name of a pod, or NAMESPACE/NAME
        #[arg(long = "pod", value_name = "NAME")]
        pods: Vec<String>,
        /// Seconds to record; without it until the groups are gone, or Ctrl-C
        #[arg(long, value_parser = seconds, value_name = "SECONDS")]
        duration: Option<Duration>,
    },
    /// Record the whole machine
    Machine {
        #[command(flatten)]
        common: Common,
        /// Seconds to record; without it until Ctrl-C
        #[arg(long, value_parser = seconds, value_name = "SECONDS")]
        duration: Option<Duration>,
    },
    /// Count and time I/O in the kernel, always on, as recordings of an hour (for `iowhy agent`)
    Aggregate(aggregate::Arguments),
    /// Name addresses of modules, asked as JSON on stdin (for `iowhy symbolize`)
    #[command(hide = true)]
    Names {
        #[arg(long, value_parser = seconds, value_name = "SECONDS")]
        most: Duration,
    },
    /// Read names for another process of this program, which limits what this one takes
    #[command(name = iowhy_symbols::worker::COMMAND, hide = true)]
    ReadNames,
    /// Ask filesystems that may not answer, for another process of this program
    #[command(name = iowhy_readings::reach::COMMAND, hide = true)]
    AskFilesystems,
    /// Print which sensors can run here, as JSON
    Probe {
        #[arg(long, hide = true)]
        without: Vec<String>,
    },
}

#[derive(clap::Args)]
struct Common {
    /// Directory of the recording, which must not hold anything yet; without it CMD.iowhy and the like
    #[arg(short = 'o', long = "out", value_name = "DIR")]
    out: Option<PathBuf>,
    /// What gives the sensors
    #[arg(long = "mode", value_name = "MODE", value_enum, default_value_t = Backend::Auto)]
    backend: Backend,
    /// Seconds after which the recording ends; the command runs on
    #[arg(long, value_parser = seconds, value_name = "SECONDS")]
    max_time: Option<Duration>,
    /// Bytes after which the recording ends; the command runs on
    #[arg(long, value_name = "BYTES")]
    max_size: Option<u64>,
    /// Seconds after which what was recorded can be read, for who reads along; by itself 3, and more as it grows older
    #[arg(long, value_parser = seconds, value_name = "SECONDS")]
    close_every: Option<Duration>,
    /// Take user stacks as well: whose code calls, waits and runs
    #[arg(long)]
    stacks: bool,
    /// Take statements of SQLite and PostgreSQL by probes in the programs that run them
    #[arg(long)]
    statements: bool,
    /// With --statements: keep the literals of statements, too
    #[arg(long, requires = "statements")]
    statement_text: bool,
    /// Record as on a kernel without this tracepoint (for tests)
    #[arg(long, hide = true)]
    without: Vec<String>,
    /// Record as on a kernel whose verifier refuses this program (for tests)
    #[arg(long, hide = true)]
    spoil: Vec<String>,
    /// Write what each program cost the kernel to this file, as JSON (for benchmarks)
    #[arg(long, hide = true)]
    program_stats: Option<PathBuf>,
}

fn seconds(text: &str) -> Result<Duration, String> {
    let number = text.strip_suffix('s').unwrap_or(text);
    number
        .parse::<f64>()
        .ok()
        .and_then(|s| Duration::try_from_secs_f64(s).ok())
        .filter(|d| !d.is_zero())
        .ok_or_else(|| "give a number of seconds that is more than 0".to_owned())
}

fn block(text: &str) -> Result<Block, String> {
    let read = |(tid, number): (&str, &str)| {
        Some(Block {
            tid: tid.parse().ok()?,
            number: number.parse().ok()?,
        })
    };
    text.split_once(':')
        .and_then(read)
        .ok_or_else(|| "give the number of a thread and that of the block".to_owned())
}

fn main() {
    let (common, user, target) = match Cli::parse().command {
        Command::Run { common, user, argv } => (common, user, Target::Run(argv)),
        Command::Attach {
            common,
            pids,
            descendants,
            block,
            duration,
        } => {
            let target = Target::Attach {
                pids,
                descendants,
                duration,
                block,
            };
            (common, None, target)
        }
        Command::Group {
            common,
            cgroups,
            containers,
            pods,
            duration,
        } => {
            let groups = cgroups.into_iter().map(Wanted::Group);
            let containers = containers.into_iter().map(Wanted::Container);
            let pods = pods.into_iter().map(Wanted::Pod);
            let wanted = groups.chain(containers).chain(pods).collect();
            (common, None, Target::Groups { wanted, duration })
        }
        Command::Machine { common, duration } => (common, None, Target::Machine { duration }),
        Command::Aggregate(arguments) => return aggregate::run(arguments),
        Command::Names { most } => return or_exit(names::answer(most)),
        Command::ReadNames => return or_exit(iowhy_symbols::worker::serve()),
        Command::AskFilesystems => return or_exit(iowhy_readings::reach::serve()),
        Command::Probe { without } => {
            println!("{}", iowhy_recorder::session::probe(&without));
            return;
        }
    };
    let named = common.out.is_some();
    let behind = alone::user_behind_sudo();
    let request = request(common, user.or(behind), target);
    let status = record(&request).unwrap_or_else(|failure| {
        if !failure.message.is_empty() {
            messages::say(&failure.message);
        }
        failure.status
    });
    if !named {
        alone::say_where(&request.out, request.backend != Backend::Proc);
    }
    std::process::exit(status);
}

fn or_exit(done: std::io::Result<()>) {
    if let Err(error) = done {
        messages::say(&error.to_string());
        std::process::exit(2);
    }
}

fn request(common: Common, user: Option<String>, target: Target) -> Request {
    let Common {
        out,
        backend,
        max_time,
        max_size,
        close_every,
        without,
        spoil,
        stacks,
        statements,
        statement_text,
        program_stats,
    } = common;
    Request {
        out: out.unwrap_or_else(|| alone::free_name(&named_after(&target))),
        target,
        backend,
        user,
        without,
        spoil,
        stacks,
        statements,
        statement_text,
        bounds: Bounds {
            size_bytes: max_size,
            time: max_time,
        },
        close_every,
        program_stats,
    }
}

/// What gives a recording its name.
fn named_after(target: &Target) -> OsString {
    match target {
        Target::Run(argv) => argv[0].clone(),
        Target::Attach { pids, .. } => format!("pid-{}", pids[0]).into(),
        Target::Groups { wanted, .. } => match &wanted[0] {
            Wanted::Group(name) | Wanted::Container(name) | Wanted::Pod(name) => {
                OsStr::new(name.trim_end_matches('/')).into()
            }
        },
        Target::Machine { .. } => "machine".into(),
    }
}
