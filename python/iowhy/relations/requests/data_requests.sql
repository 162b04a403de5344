-- title: A read or write of data that has a place on its device, anybody's
-- uses: counted_requests
-- filtered as: block_requests
-- The columns are those of counted_requests.
-- column sent_ns: when it was handed to the driver, else queued, ns
SELECT * FROM counted_requests WHERE op IN ('read', 'write') AND bytes > 0 AND sector IS NOT NULL
