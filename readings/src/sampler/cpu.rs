//! /proc/stat, its cpu lines: time of each CPU by what it did (proc_stat(5)).

use crate::error::Result;
use iowhy_store::rows::CpuSamples;

use crate::proc_file::Text;

/// One row per CPU, and one of all (cpu -1). `tick_ns` is the unit of the kernel's counts (1/USER_HZ).
pub(crate) fn rows(
    stat: Text<'_>,
    ts_ns: i64,
    tick_ns: i64,
    mut out: impl FnMut(CpuSamples),
) -> Result<()> {
    let mut found = false;
    for line in stat.lines() {
        let mut words = line.words();
        let Some(of) = words.next().and_then(|word| word.strip_prefix(b"cpu")) else {
            break; // the cpu lines come first
        };
        let cpu = if of.is_empty() {
            -1
        } else {
            crate::proc_file::number(of).ok_or_else(|| line.error("expected cpuN"))?
        };
        let mut ticks = |what| words.number(what).map(|n| n.saturating_mul(tick_ns));
        let (user, nice) = (ticks("user time")?, ticks("nice time")?);
        let (system, idle) = (ticks("system time")?, ticks("idle time")?);
        let iowait = ticks("iowait time")?;
        let mut later = |what| {
            words
                .optional(what)
                .map(|n| n.map(|n| n.saturating_mul(tick_ns)))
        };
        let (irq, softirq) = (later("irq time")?, later("softirq time")?);
        out(CpuSamples {
            ts_ns,
            cpu,
            user_ns: user.saturating_add(nice),
            system_ns: system,
            idle_ns: idle,
            iowait_ns: Some(iowait),
            irq_ns: irq
                .zip(softirq)
                .map(|(hard, soft)| hard.saturating_add(soft)),
            steal_ns: later("steal time")?,
        });
        found = true;
    }
    if found {
        Ok(())
    } else {
        Err(stat.first_line().error("no cpu line"))
    }
}
