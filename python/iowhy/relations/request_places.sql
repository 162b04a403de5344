-- title: A device and the filesystem of the files that its requests are of
-- filtered as: nothing
-- kept: table
-- column dev: block device, id
-- column owner_dev: filesystem; NULL for requests that no file owns, id
-- when request_sums
SELECT DISTINCT dev, owner_dev FROM main.request_sums
-- else
SELECT DISTINCT dev, owner_dev FROM main.block_requests
