-- title: Worst recordings
-- question: Which recordings are worth opening first?
-- reads: verdicts findings
-- about: host gain_ns elapsed_ns cause share recording
-- column host: the machine's name, text
-- column recording: the recording, text
-- column started: when it began, UTC, text
-- column cause: cause that leads its verdict, text
-- column share: of its elapsed time, share
-- column gain_ns: what the first remedies of all its causes can save at most, ns
-- column elapsed_ns: how long it took, ns
-- column confidence: of the first cause, share
-- column answer: its verdict in a sentence, text
-- By what could be saved: a cause with much time that no remedy shortens is not a reason to look there first.
WITH gains AS (
    SELECT f.fleet_no, max(f.gain_ns) AS most_ns, least(sum(f.gain_ns), max(v.judged_ns)) AS gain_ns
    FROM findings f
    JOIN verdicts v ON v.fleet_no = f.fleet_no
    GROUP BY f.fleet_no
)
SELECT
    r.host,
    r.recording,
    r.started,
    f.cause,
    f.share,
    CAST(g.gain_ns AS BIGINT) AS gain_ns,
    r.elapsed_ns,
    f.confidence,
    v.answer
FROM findings f
JOIN gains g ON g.fleet_no = f.fleet_no
JOIN recordings r ON r.fleet_no = f.fleet_no
JOIN verdicts v ON v.fleet_no = f.fleet_no
WHERE f.place = 1
ORDER BY g.gain_ns DESC NULLS LAST, g.most_ns DESC NULLS LAST, r.recording
