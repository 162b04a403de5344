-- title: A request of the command: a read or write of data, once, and whether it jumps
-- uses: command_data_requests
-- filtered as: block_requests
-- The requests of command_data_requests. A jump is a request that does not begin
-- where the command's request before it ended, of the same direction on the same device, in the
-- order in which they were queued: what others do in between makes no jump, and what a scheduler sorts jumps as it was asked.
-- What the device had to do for it is in seek_bytes, and for anybody in request_sequence.
-- column dev: block device, id
-- column op: read or write, text
-- column bytes: length, bytes
-- column sector: where it begins; NULL where the source does not say, number
-- column queue_ns: when it was queued, ns
-- column sent_ns: when it was handed to the driver, else queued, ns
-- column complete_ns: when the device was done; NULL: not seen, ns
-- column error: errno; 0 when it succeeded, number
-- column tgid: process that submitted it, id
-- column tid: thread that submitted it, id
-- column owner_dev: filesystem of the file that it is of, id
-- column owner_ino: inode of that file, id
-- column owner_page: its first page in the file; NULL for direct I/O, number
-- column owner_kind: data, journal, metadata, swap, device or unknown, text
-- column jump_bytes: from the end of the command's request before it, as they were queued, to its begin; 0 is in order, bytes
-- column seek_bytes: the same as they were sent: the way of the device, bytes
SELECT
    *,
    sector * 512 - lag(sector * 512 + bytes) OVER (PARTITION BY dev, op ORDER BY queue_ns, sector)
        AS jump_bytes,
    sector * 512 - lag(sector * 512 + bytes) OVER (PARTITION BY dev, op ORDER BY sent_ns, sector)
        AS seek_bytes
FROM command_data_requests
