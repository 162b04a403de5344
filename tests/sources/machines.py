"""A machine whose truth is known, as each sampling tool prints it."""

import json
from collections.abc import Callable
from dataclasses import dataclass

SAMPLES = 5
PAGE_KIB = 4


@dataclass(frozen=True)
class Machine:
    """Percent of all CPUs' time; rates are those of one disk, in requests of 4 KiB; swap in KiB a second each way."""

    cpus: int
    user: int
    system: int
    iowait: int
    read_kib: int = 0
    written_kib: int = 0
    busy: int = 0
    depth: float = 0.0
    wait_ms: float = 0.0
    runnable: int = 0
    blocked: int = 0
    swap_kib: int = 0
    steal: int = 0
    name: str = "host"

    @property
    def idle(self) -> int:
        return 100 - self.user - self.system - self.iowait - self.steal


def vmstat(of: Machine) -> str:
    text = "procs -----------memory---------- ---swap-- -----io---- -system-- ------cpu-----\n"
    text += " r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st\n"
    row = f"{of.runnable} {of.blocked} 0 90000 1000 500000 {of.swap_kib} {of.swap_kib} {of.read_kib} {of.written_kib} "
    row += f"100 200 {of.user} {of.system} {of.idle} {of.iowait} {of.steal}\n"
    return text + row * (SAMPLES + 1)


def banner(of: Machine) -> str:
    return f"Linux 6.1.0 ({of.name}) \t01/02/2023 \t_x86_64_\t({of.cpus} CPU)\n\n"


def iostat(of: Machine) -> str:
    text = "avg-cpu:  %user   %nice %system %iowait  %steal   %idle\n"
    text += f"  {of.user}.0 0.0 {of.system}.0 {of.iowait}.0 {of.steal}.0 {of.idle}.0\n\n"
    text += "Device r/s w/s rkB/s wkB/s r_await w_await aqu-sz %util\n"
    text += f"sda {of.read_kib / 4} {of.written_kib / 4} {of.read_kib} {of.written_kib} {of.wait_ms} {of.wait_ms} "
    return banner(of) + (text + f"{of.depth} {of.busy}.0\n\n") * (SAMPLES + 1)


def mpstat(of: Machine) -> str:
    text = banner(of)
    text += "10:00:00 CPU %usr %nice %sys %iowait %irq %soft %steal %guest %gnice %idle\n"
    row = f"all {of.user}.0 0.0 {of.system}.0 {of.iowait}.0 0 0 {of.steal}.0 0 0 {of.idle}.0\n"
    return text + "".join(f"10:00:{at + 1:02} {row}" for at in range(SAMPLES))


def sar(of: Machine) -> str:
    """sar -u -W -q."""
    text = banner(of)
    tables = {
        "CPU %user %nice %system %iowait %steal %idle":
            f"all {of.user}.0 0.0 {of.system}.0 {of.iowait}.0 {of.steal}.0 {of.idle}.0",
        "pswpin/s pswpout/s": f"{of.swap_kib / PAGE_KIB} {of.swap_kib / PAGE_KIB}",
        "runq-sz plist-sz ldavg-1 ldavg-5 ldavg-15 blocked": f"{of.runnable} 200 4.0 2.0 1.0 {of.blocked}",
    }  # fmt: skip
    for head, row in tables.items():
        text += f"10:00:00 {head}\n"
        text += "".join(f"10:00:{at + 1:02} {row}\n" for at in range(SAMPLES)) + "\n"
    return text


def sadf(of: Machine) -> str:
    """sadf -j -- -u -W -q -d."""
    swap = of.swap_kib / PAGE_KIB
    load = {"cpu": "all", "user": of.user, "nice": 0, "system": of.system, "iowait": of.iowait, "steal": of.steal,
            "idle": of.idle}  # fmt: skip
    disk = {"disk-device": "sda", "tps": (of.read_kib + of.written_kib) / 4, "rkB": of.read_kib, "wkB": of.written_kib,
            "await": of.wait_ms, "aqu-sz": of.depth, "util-percent": of.busy}  # fmt: skip
    stamps = [
        {"timestamp": {"date": "2023-01-02", "time": f"10:00:{at + 1:02}", "utc": 1, "interval": 1},
         "cpu-load": [load], "swap-pages": {"pswpin": swap, "pswpout": swap},
         "queue": {"runq-sz": of.runnable, "blocked": of.blocked}, "disk": [disk]}
        for at in range(SAMPLES)
    ]  # fmt: skip
    host = {
        "nodename": of.name,
        "release": "6.1.0",
        "number-of-cpus": of.cpus,
        "file-date": "2023-01-02",
    }
    return json.dumps({"sysstat": {"hosts": [host | {"statistics": stamps}]}}, indent=1)


def pidstat(of: Machine) -> str:
    """pidstat -u -d: one process that does all of it, in percent of one CPU."""
    user, system = of.user * of.cpus, of.system * of.cpus
    text = banner(of)
    for at in range(SAMPLES):
        text += f"10:00:{at:02} UID PID %usr %system %guest %wait %CPU CPU Command\n"
        text += f"10:00:{at + 1:02} 0 4711 {user}.0 {system}.0 0.0 0.0 {user + system}.0 1 app\n\n"
        text += f"10:00:{at:02} UID PID kB_rd/s kB_wr/s kB_ccwr/s iodelay Command\n"
        text += (
            f"10:00:{at + 1:02} 0 4711 {of.read_kib}.0 {of.written_kib}.0 0.0 {of.iowait} app\n\n"
        )
    return text


def top(of: Machine) -> str:
    text = ""
    for at in range(SAMPLES):
        text += f"top - 10:00:{3 * at:02} up 1 day,  2 users,  load average: 4.10, 2.22, 1.03\n"
        text += f"%Cpu(s): {of.user}.0 us, {of.system}.0 sy, 0.0 ni, {of.idle}.0 id, {of.iowait}.0 wa, 0.0 hi, "
        text += f"0.0 si, {of.steal}.0 st\n\n"
    return text


def one_screen(of: Machine) -> str:
    return top(of).split("\n\n")[0] + "\n"


def freebsd_vmstat(of: Machine) -> str:
    """BSD counts waiting for I/O as idle, and has no time stolen."""
    text = " procs      memory      page                   disks     faults      cpu\n"
    text += " r b w     avm    fre  flt  re  pi  po  fr  sr ad4 da0   in   sy   cs us sy id\n"
    row = f" {of.runnable} {of.blocked} 0 17952 396524 173 0 0 0 199 0 0 {of.read_kib // 4} 354 385 630 "
    return text + (row + f"{of.user} {of.system} {of.idle + of.iowait + of.steal}\n") * (
        SAMPLES + 1
    )


def freebsd_iostat(of: Machine) -> str:
    text = "                        extended device statistics\n"
    text += "device       r/s     w/s     kr/s     kw/s  ms/r  ms/w  ms/o  ms/t qlen  %b\n"
    text += f"ada0 {of.read_kib // 4} {of.written_kib // 4} {of.read_kib}.0 {of.written_kib}.0 {of.wait_ms:.0f} "
    text += f"{of.wait_ms:.0f} 0 {of.wait_ms:.0f} {of.depth:.0f} {of.busy}\n"
    return text * (SAMPLES + 1)


def freebsd_top(of: Machine) -> str:
    text = "last pid:  2211;  load averages:  1.86,  1.20,  0.62    up 0+00:41:20  12:31:05\n"
    text += "58 processes:  2 running, 56 sleeping\n"
    text += f"CPU: {of.user}.0% user,  0.0% nice, {of.system}.0% system,  0.0% interrupt, "
    return text + f"{of.idle + of.iowait + of.steal}.0% idle\n"


def aix_vmstat(of: Machine) -> str:
    text = f"System configuration: lcpu={of.cpus} mem=8192MB\n\n"
    text += "kthr    memory              page              faults        cpu\n"
    text += " r  b   avm   fre  re  pi  po  fr   sr  cy  in   sy  cs us sy id wa\n"
    swap = of.swap_kib // PAGE_KIB
    row = f" {of.runnable}  {of.blocked} 401230 98012   0   {swap}   {swap}   0    0   0  12  345  67 "
    return text + (row + f"{of.user} {of.system} {of.idle + of.steal} {of.iowait}\n") * (
        SAMPLES + 1
    )


def aix_iostat(of: Machine) -> str:
    text = "tty:      tin         tout    avg-cpu: % user % sys % idle % iowait\n"
    text += f"  0.0  20.1  {of.user}.0 {of.system}.0 {of.idle + of.steal}.0 {of.iowait}.0\n\n"
    text += "Disks:        % tm_act     Kbps      tps    Kb_read   Kb_wrtn\n"
    text += (
        f"hdisk2 {of.busy}.0 {of.read_kib + of.written_kib}.0 {(of.read_kib + of.written_kib) / 4} "
    )
    text += f"{of.read_kib} {of.written_kib}\n\n"
    return f"System configuration: lcpu={of.cpus} drives=1 paths=1 vdisks=0\n\n" + text * (
        SAMPLES + 1
    )


def solaris_iostat(of: Machine) -> str:
    text = "                    extended device statistics              \n"
    text += "    r/s    w/s   kr/s   kw/s wait actv wsvc_t asvc_t  %w  %b device\n"
    text += f"{of.read_kib / 4} {of.written_kib / 4} {of.read_kib}.0 {of.written_kib}.0 0.0 {of.depth} 0.0 {of.wait_ms} "
    return (text + f"0 {of.busy} c0t0d0\n") * (SAMPLES + 1)


def zpool_iostat(of: Machine) -> str:
    text = "              capacity     operations     bandwidth    total_wait     disk_wait\n"
    text += "pool        alloc   free   read  write   read  write   read  write   read  write\n"
    text += "----------  -----  -----  -----  -----  -----  -----  -----  -----  -----  -----\n"
    row = f"tank 10.5T 22.0T {of.read_kib // 4} {of.written_kib // 4} {of.read_kib}K {of.written_kib}K "
    wait = f"{of.wait_ms:.0f}ms "
    return text + (row + wait * 4 + "\n") * (SAMPLES + 1)


def proc_files(of: Machine) -> str:
    """Copies of /proc/stat and /proc/diskstats, a second apart: ticks of 10 ms, sectors of 512 bytes."""
    text = ""
    for at in range(SAMPLES):
        shares = (of.user, 0, of.system, of.idle, of.iowait, 0, 0, of.steal)
        text += "cpu  " + " ".join(str(at * share * of.cpus) for share in shares) + " 0 0\n"
        for cpu in range(of.cpus):
            text += f"cpu{cpu} " + " ".join(str(at * share) for share in shares) + " 0 0\n"
        text += f"ctxt {at * 200}\nprocesses 5\nprocs_running {of.runnable}\nprocs_blocked {of.blocked}\n"
    text += "\n"
    for at in range(SAMPLES):
        reads, writes = at * (of.read_kib // 4), at * (of.written_kib // 4)
        text += f"   8       0 sda {reads} 0 {at * of.read_kib * 2} {round(reads * of.wait_ms)} "
        text += f"{writes} 0 {at * of.written_kib * 2} {round(writes * of.wait_ms)} {of.depth:.0f} "
        text += f"{at * of.busy * 10} {round(at * of.depth * 1000)}\n\n"
    return text


def dstat(of: Machine) -> str:
    text = "----total-cpu-usage---- -dsk/total- ---procs--- ---paging--\n"
    text += "usr sys idl wai stl| read  writ|run blk new|  in   out\n"
    row = (
        f"{of.user} {of.system} {of.idle} {of.iowait} {of.steal}|{of.read_kib}k {of.written_kib}k|"
    )
    return text + (row + f"{of.runnable} {of.blocked} 0|{of.swap_kib}k {of.swap_kib}k\n") * (
        SAMPLES + 1
    )


def atop(of: Machine) -> str:
    text = ""
    for at in range(SAMPLES):
        text += (
            f"ATOP - {of.name}   2026/11/22  11:30:{at + 1:02}   -----------------   1s elapsed\n"
        )
        text += f"CPU | sys {of.system * of.cpus}% | user {of.user * of.cpus}% | irq 0% | idle {of.idle * of.cpus}% | "
        text += f"wait {of.iowait * of.cpus}% | steal {of.steal * of.cpus}% |\n"
        text += (
            f"PAG | scan 0 | swin {of.swap_kib // PAGE_KIB} | swout {of.swap_kib // PAGE_KIB} |\n"
        )
        text += f"DSK | sda | busy {of.busy}% | read {of.read_kib // 4} | write {of.written_kib // 4} | "
        text += f"KiB/r 4 | KiB/w 4 | MBr/s 0.0 | MBw/s 0.0 | avq {of.depth} | avio 1 ms |\n\n"
    return text


def collectl(of: Machine) -> str:
    """collectl -scD --verbose."""
    text = ""
    for at in range(SAMPLES):
        text += f"### RECORD    {at + 1} >>> {of.name} <<< ({1795347069 + at}.0) (Sun Nov 22 11:31:09 2026) ###\n\n"
        text += "# CPU SUMMARY (INTR, CTXSW & PROC /sec)\n"
        text += "# User  Nice   Sys  Wait   IRQ  Soft Steal Guest NiceG  Idle  CPUs  Intr  Ctxsw  Proc  RunQ   Run\n"
        text += f"{of.user} 0 {of.system} {of.iowait} 0 0 {of.steal} 0 0 {of.idle} {of.cpus} 1 2 3 4 5\n\n"
        text += "# DISK STATISTICS (/sec)\n"
        text += "#Name  KBytes Merged  IOs Size  Wait  KBytes Merged  IOs Size  Wait  RWSize  QLen  Wait SvcTim Util\n"
        wait = round(of.wait_ms)
        text += f"sda {of.read_kib} 0 {of.read_kib // 4} 4 {wait} {of.written_kib} 0 {of.written_kib // 4} 4 {wait} "
        text += f"4 0 {wait} 1 {of.busy}\n\n"
    return text


def nmon(of: Machine) -> str:
    text = f"AAA,progname,nmon\nAAA,host,{of.name}\nAAA,interval,1\nAAA,cpus,{of.cpus}\n"
    text += "CPU_ALL,CPU Total host,User%,Sys%,Wait%,Idle%,Steal%,Busy,CPUs\nPROC,Processes host,Runnable,Blocked\n"
    text += "VM,Paging and Virtual Memory,pswpin,pswpout\nDISKBUSY,Disk %Busy host,sda\nDISKXFER,Disk transfers,sda\n"
    text += "DISKREAD,Disk Read KB/s host,sda\nDISKWRITE,Disk Write KB/s host,sda\n"
    for at in range(1, SAMPLES + 1):
        swap = of.swap_kib // PAGE_KIB
        text += f"ZZZZ,T{at:04},11:30:{at:02},22-NOV-2026\n"
        text += f"CPU_ALL,T{at:04},{of.user}.0,{of.system}.0,{of.iowait}.0,{of.idle}.0,{of.steal}.0,,{of.cpus}\n"
        text += f"PROC,T{at:04},{of.runnable},{of.blocked}\nVM,T{at:04},{swap},{swap}\nDISKBUSY,T{at:04},{of.busy}.0\n"
        text += f"DISKXFER,T{at:04},{(of.read_kib + of.written_kib) / 4}\nDISKREAD,T{at:04},{of.read_kib}.0\n"
        text += f"DISKWRITE,T{at:04},{of.written_kib}.0\n"
    return text


def macos_iostat(of: Machine) -> str:
    """Waiting counts as idle, and nothing is stolen."""
    text = "              disk0       cpu    load average\n    KB/t  tps  MB/s  us sy id   1m   5m   15m\n"
    row = f"    4.00 {of.read_kib // 4} {of.read_kib / 1024:.2f}  {of.user} {of.system} "
    return text + (row + f"{of.idle + of.iowait + of.steal}  1.70 1.60 1.50\n") * (SAMPLES + 1)


def gstat(of: Machine) -> str:
    text = "dT: 1.000s  w: 1.000s\n"
    text += " L(q)  ops/s    r/s   kBps   ms/r    w/s   kBps   ms/w   %busy Name\n"
    reads, writes = of.read_kib // 4, of.written_kib // 4
    text += f"{of.depth:.0f} {reads + writes} {reads} {of.read_kib} {of.wait_ms} {writes} {of.written_kib} {of.wait_ms} "
    return (text + f"{of.busy}.0| ada0\n") * SAMPLES


@dataclass(frozen=True)
class Tool:
    """A writer, and what its text has: CPUs' use, waiting for I/O, the number of CPUs, disks, swap, time stolen."""

    text: Callable[[Machine], str]
    cpu: bool = True
    iowait: bool = True
    cpus: bool = False
    disk: bool = False
    swap: bool = False
    steal: bool = True


TOOLS = {
    "vmstat": Tool(vmstat, swap=True),
    "iostat": Tool(iostat, cpus=True, disk=True),
    "mpstat": Tool(mpstat, cpus=True),
    "sar": Tool(sar, cpus=True, swap=True),
    "sadf": Tool(sadf, cpus=True, swap=True),
    "pidstat": Tool(pidstat, cpu=False, iowait=False, steal=False),
    "top": Tool(top),
    "screen": Tool(one_screen),
    "freebsd-vmstat": Tool(freebsd_vmstat, iowait=False, steal=False),
    "freebsd-iostat": Tool(freebsd_iostat, cpu=False, iowait=False, disk=True, steal=False),
    "freebsd-top": Tool(freebsd_top, iowait=False, steal=False),
    "aix-vmstat": Tool(aix_vmstat, cpus=True, swap=True, steal=False),
    "aix-iostat": Tool(aix_iostat, cpus=True, steal=False),
    "solaris-iostat": Tool(solaris_iostat, cpu=False, iowait=False, disk=True, steal=False),
    "zpool-iostat": Tool(zpool_iostat, cpu=False, iowait=False, steal=False),
    "dstat": Tool(dstat, swap=True),
    "atop": Tool(atop, cpus=True, disk=True, swap=True),
    "collectl": Tool(collectl, cpus=True, disk=True),
    "nmon": Tool(nmon, cpus=True, swap=True),
    "macos-iostat": Tool(macos_iostat, iowait=False, steal=False),
    "gstat": Tool(gstat, cpu=False, iowait=False, disk=True, steal=False),
    "proc": Tool(proc_files, cpus=True, disk=True),
}
