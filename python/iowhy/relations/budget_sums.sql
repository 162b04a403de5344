-- title: Time of one class by the call and reason behind it, before rounding
-- column origin: threads, or the evidence of pasted_sums, text
-- column class: key of the class, text
-- column syscall: call, text
-- column reason: reason, text
-- column mode: how the CPUs were used then, where it is time on or for a CPU, text
-- column thread_parts: time of all threads in sixteenths of a nanosecond; NULL where nothing counts threads, number
-- column elapsed_parts: what falls to it of the elapsed time; all add up to that, number
-- when thread_time and elapsed
SELECT 'threads' AS origin, class, syscall, reason, mode, thread_parts, elapsed_parts FROM recorded_sums
-- else
SELECT origin, class, syscall, reason, mode, thread_parts, elapsed_parts FROM pasted_sums
