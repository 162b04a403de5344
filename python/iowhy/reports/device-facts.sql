-- title: What the devices are
-- question: Which devices and filesystems were there, how are they made, and what are their limits?
-- stands in for: lsblk -t, findmnt
-- of the whole run: these facts are read once
-- about: device filesystem mount rotational write_cache scheduler free_bytes
-- column device: block device, text
-- column filesystem: filesystem on it that held files of the recording, one row for each, text
-- column mount: where that is mounted, text
-- column filesystem_bytes: room for data that the filesystem has, bytes
-- column free_bytes: of it, what was left at the end for others than root, bytes
-- column model: model, as the device says it, text
-- column rotational: whether the kernel takes it for a disk that turns, bool
-- column size_bytes: size, bytes
-- column write_cache: write back: what is written may be in its cache until a flush; write through: it is not, text
-- column scheduler: I/O scheduler, text
-- column max_request_bytes: largest request, bytes
-- column queue_requests: requests that the scheduler may hold, count
-- column driver_requests: requests that its driver gives it at a time, count
-- column raid_level: level of an md array, text
-- column nvme_namespace: namespace of an NVMe device, id
-- column lies_on: device below it, text
-- column options: how the filesystem is mounted, text
-- As they were when the recording was made; a device that says nothing of a fact has NULL.
SELECT
    d.name AS device,
    f.kind AS filesystem,
    f.mount,
    f.size_bytes AS filesystem_bytes,
    f.free_bytes,
    d.model,
    d.rotational,
    d.size_bytes,
    d.write_cache,
    d.scheduler,
    d.max_request_bytes,
    d.queue_requests,
    d.driver_requests,
    d.raid_level,
    d.nvme_namespace,
    b.name AS lies_on,
    f.options
FROM devices d
LEFT JOIN filesystems f ON f.disk_dev = d.dev
LEFT JOIN devices b ON b.dev = d.below_dev
WHERE f.dev IS NOT NULL OR d.dev IN (SELECT dev FROM block_requests)
ORDER BY d.name, f.mount
