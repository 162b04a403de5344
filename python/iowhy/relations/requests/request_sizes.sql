-- title: How many of the command's requests of one file on one device have one length
-- uses: counted_devices, size_sums
-- column dev: block device, id
-- column op: read or write, text
-- column owner_dev: filesystem of the file, id
-- column owner_ino: inode of the file, id
-- column bytes: length of each, bytes
-- column requests: requests, count
SELECT s.dev, s.op, s.owner_dev, s.owner_ino, s.bytes, s.requests
FROM size_sums s
JOIN counted_devices c ON c.dev = s.dev AND c.owner_dev IS NOT DISTINCT FROM s.owner_dev
WHERE c.counted
