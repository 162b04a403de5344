-- title: journal commits
-- unit: count
-- sensor: journal_jbd2
-- classes: sync
SELECT coalesce(sum(commits), 0) FROM journal_totals WHERE own AND kind = 'jbd2'
