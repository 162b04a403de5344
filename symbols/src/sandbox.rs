//! The process that reads names can do nothing else: no file is written, no program started, nobody connected to or signalled,
//! whatever a file made of a library (landlock(7), seccomp(2)). What the kernel does not have is left out.

use std::collections::BTreeMap;
use std::error::Error;

use landlock::{Access, AccessFs, AccessNet, Ruleset, RulesetAttr, Scope, ABI};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule,
};

/// The newest version of Landlock whose rights are asked for; an older kernel has some of them.
const NEWEST: ABI = ABI::V6;
/// openat's flags that make or change a file.
const WRITES: libc::c_int = libc::O_ACCMODE | libc::O_CREAT | libc::O_TRUNC | libc::O_TMPFILE;

/// From here on this thread, and those that it starts, only read files, compute, and say what they found.
pub fn enter() -> Result<(), Box<dyn Error>> {
    Ruleset::default()
        .handle_access(AccessFs::from_write(NEWEST) | AccessFs::Execute)?
        .handle_access(AccessNet::from_all(NEWEST))?
        .scope(Scope::from_all(NEWEST))?
        .create()?
        .restrict_self()?;
    let refused = SeccompAction::Errno(libc::EPERM as u32);
    let machine = std::env::consts::ARCH.try_into()?;
    let filter: BpfProgram =
        SeccompFilter::new(allowed()?, refused, SeccompAction::Allow, machine)?.try_into()?;
    Ok(seccompiler::apply_filter(&filter)?)
}

/// By number, what an argument has to be; nothing: whatever it is.
fn allowed() -> Result<BTreeMap<i64, Vec<SeccompRule>>, seccompiler::BackendError> {
    let mut calls: BTreeMap<i64, Vec<SeccompRule>> = [FILES, MEMORY, THREADS]
        .concat()
        .into_iter()
        .map(|call| (call, Vec::new()))
        .collect();
    let only = |argument, is, value| {
        let condition = SeccompCondition::new(argument, SeccompCmpArgLen::Dword, is, value)?;
        Ok(vec![SeccompRule::new(vec![condition])?])
    };
    let read_only = SeccompCmpOp::MaskedEq(WRITES as u64);
    calls.insert(libc::SYS_openat, only(2, read_only, libc::O_RDONLY as u64)?);
    // With which abort ends a process.
    calls.insert(
        libc::SYS_tgkill,
        only(0, SeccompCmpOp::Eq, std::process::id().into())?,
    );
    Ok(calls)
}

/// openat2's flags lie in memory: what it may open is Landlock's.
const FILES: &[i64] = &[
    libc::SYS_openat2,
    libc::SYS_read,
    libc::SYS_readv,
    libc::SYS_pread64,
    libc::SYS_lseek,
    libc::SYS_write,
    libc::SYS_writev,
    libc::SYS_close,
    libc::SYS_fstat,
    libc::SYS_newfstatat,
    libc::SYS_statx,
    libc::SYS_readlinkat,
    libc::SYS_fcntl,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_poll,
    libc::SYS_ppoll,
];
const MEMORY: &[i64] = &[
    libc::SYS_mmap,
    libc::SYS_munmap,
    libc::SYS_mremap,
    libc::SYS_mprotect,
    libc::SYS_madvise,
    libc::SYS_brk,
];
const THREADS: &[i64] = &[
    libc::SYS_clone,
    libc::SYS_clone3,
    libc::SYS_futex,
    libc::SYS_set_robust_list,
    libc::SYS_rseq,
    libc::SYS_prctl,
    libc::SYS_sched_getaffinity,
    libc::SYS_sched_yield,
    libc::SYS_clock_gettime,
    libc::SYS_clock_nanosleep,
    libc::SYS_nanosleep,
    libc::SYS_getrandom,
    libc::SYS_gettid,
    libc::SYS_getpid,
    libc::SYS_sigaltstack,
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_restart_syscall,
    libc::SYS_exit,
    libc::SYS_exit_group,
];

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, UdpSocket};
    use std::path::Path;
    use std::process::Command;
    use std::{fs, io, thread};

    /// Runs what is below, in a process that may be bound.
    #[test]
    fn nothing_else_can_be_done() {
        let folder = tempfile::tempdir().unwrap();
        let program = std::env::current_exe().unwrap();
        let mut command = Command::new(program);
        command.args([
            "--exact",
            "sandbox::tests::within",
            "--ignored",
            "--nocapture",
        ]);
        let out = command.env("TRIED_IN", folder.path()).output().unwrap();
        let said = String::from_utf8_lossy(&out.stdout);
        assert!(
            said.contains("1 passed"),
            "{said}{}",
            String::from_utf8_lossy(&out.stderr)
        );
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    fn is_refused<T>(result: io::Result<T>) -> bool {
        let refused = |error: &io::Error| {
            [Some(libc::EPERM), Some(libc::EACCES)].contains(&error.raw_os_error())
        };
        result.as_ref().err().is_some_and(refused)
    }

    #[test]
    #[ignore = "binds its process"]
    fn within() {
        let folder = std::env::var("TRIED_IN").unwrap();
        let (made, own) = (Path::new(&folder).join("made"), Path::new("/proc/self/exe"));
        super::enter().unwrap();
        assert!(fs::read(own).is_ok() && thread::spawn(|| 1).join().is_ok());
        assert!(is_refused(fs::write(&made, "x")));
        assert!(is_refused(fs::create_dir(&made)));
        assert!(is_refused(std::os::unix::fs::symlink(own, &made)));
        assert!(is_refused(UdpSocket::bind("127.0.0.1:0")));
        assert!(is_refused(TcpListener::bind("127.0.0.1:0")));
        assert!(is_refused(Command::new("/bin/true").status()));
        // SAFETY: plain system calls on numbers, and on structures and paths of our own.
        unsafe {
            let parent = libc::getppid();
            let failed = |result: libc::c_long| {
                assert!(is_refused(if result < 0 {
                    Err(io::Error::last_os_error())
                } else {
                    Ok(())
                }))
            };
            failed(libc::kill(parent, 0).into());
            failed(libc::syscall(libc::SYS_tgkill, parent, parent, 0));
            failed(libc::ptrace(libc::PTRACE_ATTACH, parent, 0, 0));
            failed(libc::syscall(libc::SYS_io_uring_setup, 1, 0));
            let mut how: libc::open_how = std::mem::zeroed();
            how.flags = (libc::O_WRONLY | libc::O_CREAT) as u64;
            let path = std::ffi::CString::new(made.to_str().unwrap()).unwrap();
            let size = std::mem::size_of::<libc::open_how>();
            failed(libc::syscall(
                libc::SYS_openat2,
                libc::AT_FDCWD,
                path.as_ptr(),
                &how,
                size,
            ));
        }
    }
}
