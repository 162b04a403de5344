-- title: paused by the dirty limits
-- unit: ns
-- sensor: dirty_throttle
-- classes: throttled
SELECT coalesce(sum(pause_ns), 0) FROM dirty_pauses
