"""From what use of the CPUs on the work counts as serial or as short of CPUs."""

#: Threads that want a CPU at once, on average in a cell, up to which the work is serial: one, and a
#: little for what a second one does in passing (a flusher, a parent that reaps).
SERIAL_CORES = 1.15
#: Share of the CPUs in use from which a cell counts as saturated: the rest is lost between
#: wake-ups and to the sampling of 100 ms.
SATURATED = 0.9
#: Of the time that threads want a CPU, the share spent waiting for one that shows a shortage even
#: while some CPU idles (pinned threads, cpusets).
SHORTAGE = 0.15
#: Share of the machine's CPU time that is idle in a cell, from which threads that wait for a CPU do not wait because
#: all are busy: a quarter is more than wake-ups leave between two that take turns.
LEFT_OVER = 0.25
