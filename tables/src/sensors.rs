//! Sensors and their programs (sensors.toml).

/// What gives a sensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backend {
    /// eBPF.
    Programs,
    /// /proc and /sys.
    Samples,
    /// What is asked of files at the end.
    Files,
}

/// A sensor: its name, its tables, its programs (without which it does not run), and what else it emits where the
/// kernel has tracepoints for it.
#[derive(Debug)]
pub struct Sensor {
    pub name: &'static str,
    pub tables: &'static [&'static str],
    pub backend: Backend,
    /// /proc alone gives it, too.
    pub from_proc: bool,
    /// The event of its programs that becomes a row of its first table.
    pub event: Option<&'static str>,
    pub programs: &'static [&'static str],
    pub parts: &'static [Part],
}

/// Something that a sensor emits only on some kernels.
#[derive(Debug)]
pub struct Part {
    /// Programs that emit it, the best first: one of them runs.
    pub programs: &'static [&'static str],
    /// What the sensor does not know where none of them can run.
    pub lacking: &'static str,
    /// Only to be missed where this program can run (the part is about one filesystem).
    pub required_by: Option<&'static str>,
}

include!(concat!(env!("OUT_DIR"), "/sensors.rs"));
