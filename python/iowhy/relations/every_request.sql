-- title: A block request, whatever the filters leave
-- filtered as: nothing
-- Flushes and the heads of devices belong to everybody. Its columns are those of block_requests.
-- column dev: block device, id
SELECT * FROM main.block_requests
