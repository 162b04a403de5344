-- title: An uninterruptible wait whose class or reason other rows decide
-- filtered as: waits
-- kept: table
-- What the recorder divided among intervals (interval_waits) is not enough of these. They are few, and asked for more
-- than once. The columns are those of classed_waits.
-- column key: number of the combination in wait_classes, number
-- column recorded_reason: as in waits_in_calls, text
-- when waits
-- Reasons are looked at first: what other rows need not decide is not read.
SELECT * FROM main.classed_waits WHERE recorded_reason = 'metadata_lock'
UNION ALL
SELECT * FROM main.classed_waits
WHERE class = 'collect' AND recorded_reason <> 'metadata_lock'
    AND recorded_reason IN (SELECT reason FROM main.wait_classes WHERE class = 'collect')
-- else
SELECT * FROM main.classed_waits WHERE class = 'collect'
