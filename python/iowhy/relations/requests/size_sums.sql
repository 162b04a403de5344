-- title: How many of the command's reads or writes of data of one file on one device have one length
-- uses: block_requests
-- Of all that are in scope, those too that are seen again on a device below. There are few lengths, whatever the number of requests.
SELECT dev, op, owner_dev, owner_ino, bytes, count(*) AS requests
FROM block_requests
WHERE in_scope AND op IN ('read', 'write') AND bytes > 0
GROUP BY dev, op, owner_dev, owner_ino, bytes
