-- title: A device and the filesystem of the files that its requests are of
-- uses: request_sums
-- filtered as: nothing
-- kept: table
-- column dev: block device, id
-- column owner_dev: filesystem; NULL for requests that no file owns, id
SELECT DISTINCT dev, owner_dev FROM request_sums
