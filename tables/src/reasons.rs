//! Reasons of waits, and how they are seen on a kernel stack (reasons.toml).

/// The reason of a wait whose stack matches no rule, or is not known.
pub const OTHER: &str = "other";

/// The reason of one that a signal may end, for nothing that a filesystem does.
pub const SLEEP: &str = "interruptible_sleep";

/// One of `any` is on the stack and, where it has `also`, one of those. A name that ends in * stands for every name
/// with that beginning.
#[derive(Debug)]
pub struct Rule {
    pub reason: &'static str,
    pub any: &'static [&'static str],
    pub also: &'static [&'static str],
}

include!(concat!(env!("OUT_DIR"), "/reasons.rs"));

/// The reason for a stack of function names, innermost first: that of the first rule that matches.
pub fn of<T: AsRef<str>>(frames: &[T]) -> &'static str {
    let frames: Vec<&str> = frames.iter().map(|f| bare(f.as_ref())).collect();
    let on_stack = |names: &[&str]| names.iter().any(|n| frames.iter().any(|f| is(n, f)));
    RULES
        .iter()
        .find(|rule| on_stack(rule.any) && (rule.also.is_empty() || on_stack(rule.also)))
        .map_or(OTHER, |rule| rule.reason)
}

/// The reason where a signal may end the wait, as it may end what is none: that of the stack, where its waits are such.
pub fn of_any_kind<T: AsRef<str>>(frames: &[T]) -> &'static str {
    let reason = of(frames);
    if INTERRUPTIBLE.contains(&reason) {
        reason
    } else {
        SLEEP
    }
}

/// Whether a frame is the tracing's or the scheduler's own, which every wait's stack begins with.
pub fn is_scheduler(frame: &str) -> bool {
    const BEGINNINGS: [&str; 5] = ["bpf_", "__bpf_", "__traceiter_", "__schedule", "trace_"];
    BEGINNINGS.iter().any(|b| bare(frame).starts_with(b))
}

/// Without a compiler's suffix (.isra.0, .constprop.0).
fn bare(frame: &str) -> &str {
    frame.split('.').next().unwrap_or(frame)
}

fn is(name: &str, frame: &str) -> bool {
    match name.strip_suffix('*') {
        Some(beginning) => frame.starts_with(beginning),
        None => name == frame,
    }
}

#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_of_writes;
