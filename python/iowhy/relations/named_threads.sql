-- title: A thread, once, whatever the filters leave
-- filtered as: nothing
-- column tgid: process, id
-- column tid: thread, id
-- column comm: name at the end, text
SELECT tgid, tid, max(comm) AS comm FROM main.threads GROUP BY tgid, tid
