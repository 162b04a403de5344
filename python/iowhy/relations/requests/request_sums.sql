-- title: The sums of the requests of one device, by what they do, whose they are and what they are of
-- uses: _request_rows
-- kept: table
SELECT
    dev,
    op,
    in_scope,
    owner_kind,
    owner_dev,
    owner_ino,
    empty,
    count(*) AS requests,
    sum(bytes) AS bytes,
    sum(time_ns) AS time_ns,
    sum(unseen) AS unseen,
    sum(failed) AS failed
FROM _request_rows
GROUP BY dev, op, in_scope, owner_kind, owner_dev, owner_ino, empty
