"""Numbers that more than one cause decides by, each with the reason for its value."""

from iowhy.whys.cause import Threshold

#: Mean extent below which a file counts as fragmented: reading or writing it takes about 1 ms on
#: a disk of 130 MB/s, where the way to the next one takes 8 ms or more.
EXTENT_BYTES = 128 * 1024
#: Extents below which the layout cannot matter: a run that is slow has thousands of requests.
EXTENTS_MIN = 32
#: A seek and half a turn of a disk take 4 to 12 ms, flash and memory answer below 1 ms: from 2 ms
#: on, the way to the data is paid for, not the data.
SEEK_NS = 2e6
#: Bytes made durable by a sync, up to which its fixed price (commit and flush, 1 to 10 ms) is the
#: larger part: moving 1 MiB takes as long at 100 MB/s.
BYTES_PER_SYNC = 1024 * 1024
#: Half of the requests elsewhere than where the last one ended: then the way dominates.
JUMPS = 0.5
#: Jumps on disk from what lies next to it in the file, below which the file's layout does not make them. A file whose
#: pages are asked for at random has none; one in pieces that is written in order has four fifths (a request's first page
#: is not always its begin: merged from behind).
ADJACENT = 0.25
#: A finding below this share of the time is not listed, and less of a wait is not looked at: nobody
#: changes a thing for less.
LISTED = 0.05
#: From this share on a finding leads the answer, even if more of the time has no known reason: it
#: is a quarter of the time that can be had. Waits for something known, but without a cause, are said
#: first when they are more.
LEADS = 0.25
#: From this share of rows of numbers that could not be read, what is left shows no cause.
TOO_MANY = 0.2
#: Of the time of all requests on a device, the share of other processes' up to which it counts as the
#: command's own: with more, what is seen of the device is their doing too.
OTHERS = 0.3
#: Requests or calls that jump, up to which they are in order: readers and writers of one stream go back
#: now and then, for metadata or a header.
IN_ORDER = 0.3

#: What several causes decide by, for the documentation.
SHARED = (
    Threshold("share of the time, at least", LISTED, "share", "nobody changes a thing for less"),
    Threshold(
        "device time of others, for its own device, below", OTHERS, "share",
        "with more, what is seen of the device is their doing too",
    ),
    Threshold(
        "requests or calls that jump, for in order, below", IN_ORDER, "share",
        "readers and writers of one stream go back now and then, for metadata or a header",
    ),
    Threshold(
        "requests or calls that jump, for jumping, at least", JUMPS, "share",
        "then the device spends more of its moves on the way than on the data",
    ),
    Threshold(
        "service time of a device that seeks, at least", SEEK_NS, "ns",
        "a seek and half a turn of a disk take 4 to 12 ms, flash and memory answer below 1 ms",
    ),
    Threshold(
        "mean extent of a file in pieces, below", EXTENT_BYTES, "bytes",
        "1 ms of transfer at 130 MB/s, against 8 ms and more of the way to the next one",
    ),
    Threshold(
        "extents of a file in pieces, at least", EXTENTS_MIN, "extents",
        "a few jumps cost nothing next to thousands of requests",
    ),
    Threshold(
        "bytes per sync call of a sync of little, at most", BYTES_PER_SYNC, "bytes",
        "a commit and flush take 1 to 10 ms, as long as moving 1 MiB at 100 MB/s",
    ),
)  # fmt: skip
