-- title: A pause of a writer of the recording by the dirty limits
-- uses: dirty_throttle, main.threads
-- What others were paused for is left out, and what the kernel let pass without a pause. Its columns are
-- those of dirty_throttle.
-- column pause_ns: length asked for by the kernel, more than 0, ns
SELECT *
FROM dirty_throttle
WHERE pause_ns > 0
    AND (tgid IN (SELECT tgid FROM main.threads) OR NOT EXISTS (SELECT 1 FROM main.threads))
