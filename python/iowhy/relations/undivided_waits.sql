-- title: An uninterruptible wait whose class or reason other rows decide
-- filtered as: waits
-- kept: table
-- What the recorder divided among intervals (interval_waits) is not enough of these. They are few, and asked for more
-- than once. The columns are those of classed_waits.
-- column key: number of the combination in wait_classes, number
-- column recorded_reason: as in waits_in_calls, text
SELECT * FROM main.classed_waits WHERE class = 'collect' OR recorded_reason = 'metadata_lock'
