//! The manifest as it is when a recording begins.

use std::ffi::OsString;

use iowhy_readings::containers::Wanted;
use iowhy_readings::{accounts, host, Roots};
use iowhy_store::manifest::{Command, Manifest, Mode, Source};

use super::{Request, Target};

/// The machine, the clock and the command.
pub fn manifest(request: &Request) -> Manifest {
    let mut manifest = Manifest::new(Source::Live);
    manifest.host = host::host(&Roots::default());
    manifest.clock = host::clock();
    let text = |s: &OsString| iowhy_readings::names::escaped(s.as_encoded_bytes());
    let (mode, argv, groups) = match &request.target {
        Target::Run(argv) => (Mode::Run, argv.iter().map(text).collect(), Vec::new()),
        Target::Attach { block: Some(_), .. } => (Mode::Block, Vec::new(), Vec::new()),
        Target::Attach { .. } => (Mode::Attach, Vec::new(), Vec::new()),
        Target::Groups { wanted, .. } => (Mode::Attach, Vec::new(), named(wanted)),
        Target::Machine { .. } => (Mode::Machine, Vec::new(), Vec::new()),
    };
    manifest.command = Command {
        mode,
        argv,
        groups,
        cwd: std::env::current_dir()
            .ok()
            .map(|d| text(&d.into_os_string())),
        user: request.user.clone().or_else(own_name),
        ..Command::default()
    };
    manifest
}

/// Control groups as `iowhy run` takes them.
fn named(wanted: &[Wanted]) -> Vec<String> {
    let words = wanted.iter().flat_map(|one| match one {
        Wanted::Group(path) => ["--cgroup", path],
        Wanted::Container(name) => ["--container", name],
        Wanted::Pod(name) => ["--pod", name],
    });
    words.map(str::to_owned).collect()
}

fn own_name() -> Option<String> {
    let own = nix::unistd::geteuid().as_raw();
    Some(accounts::by_uid(own).ok()??.name)
}
