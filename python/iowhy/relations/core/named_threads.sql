-- title: A thread, once, whatever the filters leave
-- uses: threads
-- filtered as: nothing
-- column tgid: process, id
-- column tid: thread, id
-- column comm: name at the end, text
SELECT tgid, tid, max(comm) AS comm FROM threads GROUP BY tgid, tid
