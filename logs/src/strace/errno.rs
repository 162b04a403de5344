//! Errors by the names that strace prints, with this machine's numbers.

macro_rules! errors {
    ($($name:ident)*) => { &[$((stringify!($name), libc::$name)),*] };
}

#[rustfmt::skip]
const ERRORS: &[(&str, i32)] = errors!(
    EPERM ENOENT ESRCH EINTR EIO ENXIO E2BIG ENOEXEC EBADF ECHILD EAGAIN ENOMEM EACCES EFAULT ENOTBLK EBUSY
    EEXIST EXDEV ENODEV ENOTDIR EISDIR EINVAL ENFILE EMFILE ENOTTY ETXTBSY EFBIG ENOSPC ESPIPE EROFS EMLINK
    EPIPE EDOM ERANGE EDEADLK ENAMETOOLONG ENOLCK ENOSYS ENOTEMPTY ELOOP ENOMSG EIDRM ENODATA ETIME ENOLINK
    EPROTO EBADMSG EOVERFLOW EILSEQ ERESTART EUSERS ENOTSOCK EDESTADDRREQ EMSGSIZE EPROTOTYPE ENOPROTOOPT
    EPROTONOSUPPORT ESOCKTNOSUPPORT EOPNOTSUPP EPFNOSUPPORT EAFNOSUPPORT EADDRINUSE EADDRNOTAVAIL ENETDOWN
    ENETUNREACH ENETRESET ECONNABORTED ECONNRESET ENOBUFS EISCONN ENOTCONN ESHUTDOWN ETIMEDOUT ECONNREFUSED
    EHOSTDOWN EHOSTUNREACH EALREADY EINPROGRESS ESTALE EDQUOT ENOMEDIUM EMEDIUMTYPE ECANCELED ENOKEY
    EKEYEXPIRED EKEYREVOKED EKEYREJECTED EOWNERDEAD ENOTRECOVERABLE ERFKILL EHWPOISON
);

/// Results inside the kernel that a tracer sees (include/linux/errno.h): the call goes on.
const RESTARTS: &[(&str, i32)] = &[
    ("ERESTARTSYS", 512),
    ("ERESTARTNOINTR", 513),
    ("ERESTARTNOHAND", 514),
    ("ERESTART_RESTARTBLOCK", 516),
];

/// The number of an error, and whether the call failed with it (and is not only restarted).
pub fn number(name: &[u8]) -> Option<(i64, bool)> {
    let find = |table: &[(&str, i32)]| {
        table
            .iter()
            .find(|(known, _)| known.as_bytes() == name)
            .map(|&(_, n)| i64::from(n))
    };
    find(ERRORS)
        .map(|n| (n, true))
        .or_else(|| find(RESTARTS).map(|n| (n, false)))
}
