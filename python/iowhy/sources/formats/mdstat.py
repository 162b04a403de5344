"""/proc/mdstat and `mdadm --detail`: Linux' software RAID: members that are missing, and its background work (resync, recovery, check, reshape).

drivers/md/md.c (md_seq_show, status_resync): blocks of 1 KiB, [members wanted/working], U for each that works and _ for
one that does not; the speed of a resync is that of one member.
"""

import re

from iowhy.sources.format import Block, Parsed
from iowhy.sources.numbers import KIB, number

NAME = "mdstat"
TOOL = "cat /proc/mdstat"
HINT = r"^Personalities :|^md\S{1,32} : (?:active|inactive)|^/dev/md\S{1,32}:$"
BEGINS = "Personalities"

_ARRAY = re.compile(r"(md\S{1,32}) : (active|inactive)\b(.*)")
_MEMBERS = re.compile(r"\[(\d{1,4})/(\d{1,4})\]")
_WORK = re.compile(r"(resync|recovery|check|reshape|repair)\s*=\s*([\d.]{1,6})%")
_SPEED = re.compile(r"finish=([\d.]{1,12})min speed=(\d{1,12})K/sec")
_LATER = re.compile(r"(resync|recovery|check|reshape)\s*=\s*(?:DELAYED|PENDING)")
_FAILED = re.compile(r"(\S{1,32})\[\d+\]\(F\)")
_DETAIL = re.compile(r"/dev/(md\S{1,32}):")
_DETAILED = re.compile(
    r"(Raid Devices|Active Devices|(?:Rebuild|Resync|Reshape|Check) Status) : (\d{1,4})(?:% complete)?"
)
_OTHER = re.compile(
    r"Personalities|\s+[A-Z]\w[\w ]* : |\s+Number +Major|\s+\d+ +\d+ +\d+ |unused devices|read_ahead|Event:|\s*bitmap:|\(\d+/\d+\)|.*\bblocks\b|\s*\[[=>.]+\]"
)


def read(block: Block) -> Parsed:
    """Into measurements: subject is the array."""
    parsed = Parsed(TOOL, units="K/sec are KiB per second of one member")
    name = ""
    work = ""
    wanted = 0
    for at, line in parsed.lines(block):
        text = line.strip()
        known = False
        if match := _ARRAY.match(text):
            name, work, known = match[1], "", True
            block.names.disk(name)
            if match[2] == "inactive":
                parsed.note(f"{name} is not active")
            for failed in _FAILED.findall(match[3]):
                parsed.note(f"{name}: its member {failed} has failed")
        if match := _DETAIL.fullmatch(text):
            name, known = match[1], True
            block.names.disk(name)
        if name and (match := _DETAILED.fullmatch(text)):
            known = True
            if match[1] == "Raid Devices":
                wanted = int(match[2])
            elif match[1] == "Active Devices":
                _members(parsed, name, wanted, int(match[2]))
            else:
                parsed.note(f"{name} is at work: {match[1].split()[0].lower()}, {match[2]} % done")
        if name and (match := _MEMBERS.search(text)):
            known = True
            _members(parsed, name, int(match[1]), int(match[2]))
        if name and (match := _WORK.search(text)):
            known, work = True, match[1]
            done = number(match[2])
            if done is not None and done <= 100:
                parsed.measure(name, f"{work}_done_share", done / 100)
                parsed.note(f"{name} is at work: {work}, {done:g} % done")
        if name and work and (match := _SPEED.search(text)):
            known = True
            parsed.measure(name, f"{work}_bytes_per_s", float(match[2]) * KIB)
            parsed.measure(name, f"{work}_left_s", number(match[1]), unit=60)
        if name and (match := _LATER.search(text)):
            known = True
            parsed.note(f"{name}: its {match[1]} waits for another one")
        if not known and not _OTHER.match(line):
            parsed.reject(at, line)
    return parsed


def _members(parsed: Parsed, name: str, wanted: int, working: int) -> None:
    parsed.measure(name, "members", float(wanted))
    missing = wanted - working
    if missing >= 0:
        parsed.measure(name, "missing_members", float(missing))
    if missing > 0:
        parsed.note(f"{name} is degraded: {working} of its {wanted} members work")
