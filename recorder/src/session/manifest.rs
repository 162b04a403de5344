//! The manifest as it is when a recording begins.

use std::ffi::OsString;

use iowhy_readings::{accounts, host, Roots};
use iowhy_store::manifest::{Command, Manifest, Mode, Source};

use super::{Request, Target};

/// The machine, the clock and the command.
pub fn manifest(request: &Request) -> Manifest {
    let mut manifest = Manifest::new(Source::Live);
    manifest.host = host::host(&Roots::default());
    manifest.clock = host::clock();
    let text = |s: &OsString| iowhy_readings::names::escaped(s.as_encoded_bytes());
    let (mode, argv) = match &request.target {
        Target::Run(argv) => (Mode::Run, argv.iter().map(text).collect()),
        Target::Attach { .. } | Target::Groups { .. } => (Mode::Attach, Vec::new()),
        Target::Machine { .. } => (Mode::Machine, Vec::new()),
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
    let own = nix::unistd::geteuid().as_raw();
    Some(accounts::by_uid(own).ok()??.name)
}
