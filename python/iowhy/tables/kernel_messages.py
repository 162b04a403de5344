"""What the kernel's messages say of disks, filesystems and servers.

Sources of the texts: block/blk-core.c, drivers/ata/libata-eh.c, drivers/nvme/host/pci.c, drivers/scsi/sd.c, drivers/mmc/core,
fs/ext4/super.c, fs/xfs/xfs_log.c, fs/btrfs/messages.c.
"""

import re

#: Event → (what it is called, pattern with the device's name).
EVENTS = (
    ("io_errors", re.compile(r"(?:critical \w+ error|I/O error), dev (\S+?),? ")),
    ("io_errors", re.compile(r"Buffer I/O error on (?:dev(?:ice)? )?(\S+?),")),
    ("link_resets", re.compile(r"(ata\d+)(?:\.\d+)?: (?:hard|soft) resetting link")),
    ("command_failures", re.compile(r"(ata\d+)(?:\.\d+)?: failed command")),
    ("media_errors", re.compile(r"(ata\d+)(?:\.\d+)?: error: \{.*\bUNC\b")),
    ("command_timeouts", re.compile(r"nvme (nvme\d+): I/O (?:tag )?\d+.*timeout")),
    # NVMe over a network.
    (
        "server_timeouts",
        re.compile(r"nvme (nvme\d+): (?:queue \d+: timeout request|failed nvme_keep_alive_end_io)"),
    ),
    ("lost_paths", re.compile(r"block (nvme\d+n\d+): no usable path")),
    (
        "command_timeouts",
        re.compile(r"sd [\d:]+: \[(sd\w+)\].*(?:timing out|timed out|hostbyte=DID_TIME_OUT)"),
    ),
    (
        "gone",
        re.compile(
            r"nvme (nvme\d+): (?:Removing after probe failure|controller is down|Device not ready)"
        ),
    ),
    (
        "gone",
        re.compile(
            r"(mmcblk\d+|mmc\d+): card [0-9a-f]+ removed|sd [\d:]+: \[(sd\w+)\] .*(?:Device offlined|rejecting I/O to offline device)"
        ),
    ),
    ("command_timeouts", re.compile(r"(mmcblk\d+|mmc\d+): (?:Timeout waiting|error -110)")),
    ("io_errors", re.compile(r"(mmcblk\d+|mmc\d+): error -(?!110)\d+")),
    ("filesystem_errors", re.compile(r"EXT4-fs (?:error|warning) \(device (\S+?)\)")),
    (
        "filesystem_errors",
        re.compile(r"XFS \((\S+?)\): .*(?:error|corruption|shutdown|Shutting)", re.I),
    ),
    ("filesystem_errors", re.compile(r"BTRFS (?:error|critical|warning) \(device (\S+?)[:)]")),
    ("out_of_memory", re.compile(r"^(\S.{0,15}?) invoked oom-killer: ")),
    ("server_timeouts", re.compile(r"nfs: server (\S+) not responding")),
)


def event_of(text: str) -> tuple[str, str] | None:
    """What a message is called, and the name of the device in it; None of any other message."""
    for kind, pattern in EVENTS:
        if match := pattern.search(text):
            device = next(group for group in match.groups() if group)
            return kind, device.strip(",:")
    return None
