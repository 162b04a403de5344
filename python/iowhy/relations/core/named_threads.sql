-- title: A thread, once, whatever the filters leave
-- uses: threads
-- filtered as: nothing
-- column tgid: process, id
-- column tid: thread, id
-- column comm: name at the end; of a first thread its process's title if it wrote one, text
SELECT tgid, tid, coalesce(max(title), max(comm)) AS comm FROM threads GROUP BY tgid, tid
