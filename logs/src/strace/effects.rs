//! What a call does to threads and descriptors.

#[derive(Clone, Copy, PartialEq)]
pub enum Effect {
    None,
    Open,
    /// On a file by its name.
    Named,
    Close,
    Duplicate,
    /// Returns a descriptor that is no file's.
    OtherFd,
    Clone,
    Exec,
    Rename,
}

/// The effect of the call of a name.
pub fn effect(name: &[u8]) -> Effect {
    match name {
        b"open" | b"openat" | b"openat2" | b"creat" => Effect::Open,
        b"truncate" | b"unlink" | b"unlinkat" | b"rename" | b"renameat" | b"renameat2" => {
            Effect::Named
        }
        b"close" => Effect::Close,
        b"dup" | b"dup2" | b"dup3" | b"fcntl" => Effect::Duplicate,
        b"socket" | b"accept" | b"accept4" | b"epoll_create" | b"epoll_create1" | b"eventfd"
        | b"eventfd2" | b"timerfd_create" | b"memfd_create" | b"signalfd4" | b"inotify_init1"
        | b"userfaultfd" | b"io_uring_setup" | b"perf_event_open" => Effect::OtherFd,
        b"clone" | b"clone3" | b"fork" | b"vfork" => Effect::Clone,
        b"execve" | b"execveat" => Effect::Exec,
        b"prctl" => Effect::Rename,
        _ => Effect::None,
    }
}
