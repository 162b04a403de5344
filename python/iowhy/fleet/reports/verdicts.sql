-- title: Verdicts
-- question: What does each recording's own verdict say?
-- reads: verdicts findings
-- about: host recording place cause share gain
-- column host: the machine's name, text
-- column recording: the recording, text
-- column started: when it began, UTC, text
-- column place: place of the finding in its verdict; unknown if there is none, number
-- column cause: cause, text
-- column share: of the recording's elapsed time, share
-- column gain: of the same, what its first remedy can save at most, share
-- column confidence: how sure it is, share
-- column elapsed_ns: elapsed time that it explains, ns
-- column thread_ns: time of threads that it explains, ns
-- column answer: the verdict in a sentence, text
SELECT
    r.host,
    r.recording,
    r.started,
    f.place,
    f.cause,
    f.share,
    f.gain,
    f.confidence,
    f.elapsed_ns,
    f.thread_ns,
    v.answer
FROM recordings r
JOIN verdicts v ON v.fleet_no = r.fleet_no
LEFT JOIN findings f ON f.fleet_no = r.fleet_no
ORDER BY r.fleet_no, f.place
