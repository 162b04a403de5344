-- title: An uninterruptible wait that is divided among intervals by its row
-- filtered as: waits
-- Where the recorder has divided them (interval_waits): those of undivided_waits. The
-- columns are those of classed_waits.
-- column key: number of the combination in wait_classes, number
-- column recorded_reason: as in waits_in_calls, text
-- when interval_waits and wait_sums
SELECT * FROM main.undivided_waits
-- else
SELECT * FROM main.classed_waits
