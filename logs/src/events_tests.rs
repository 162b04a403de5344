use super::*;

fn perf_line(text: &str) -> Option<(String, i32, Option<i32>, i64, String, String)> {
    told(parse(Dialect::Perf, text.as_bytes()))
}

fn ftrace_line(text: &str) -> Option<(String, i32, Option<i32>, i64, String, String)> {
    told(parse(Dialect::Ftrace, text.as_bytes()))
}

fn told(event: Option<Event>) -> Option<(String, i32, Option<i32>, i64, String, String)> {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    event.map(|e| {
        (
            text(e.comm),
            e.tid,
            e.tgid,
            e.ts_ns,
            text(e.name),
            text(e.args),
        )
    })
}

#[test]
fn lines_of_perf_script() {
    let wanted = |comm: &str, tid, tgid, ts, name: &str, args: &str| {
        Some((
            comm.to_owned(),
            tid,
            tgid,
            ts,
            name.to_owned(),
            args.to_owned(),
        ))
    };
    assert_eq!(
        perf_line("  my db 12/13 [001]  5.000001:          1 sched:sched_waking: comm=a pid=1"),
        wanted(
            "my db",
            13,
            Some(12),
            5_000_001_000,
            "sched_waking",
            "comm=a pid=1"
        ),
    );
    assert_eq!(
        perf_line("a:b 7 10.5: block:block_rq_issue: 8,0 R 4096 () 8 + 8 [x]"),
        wanted(
            "a:b",
            7,
            None,
            10_500_000_000,
            "block_rq_issue",
            "8,0 R 4096 () 8 + 8 [x]"
        ),
    );
    assert_eq!(
        perf_line("db 7 [000] d..2. 1.000000002: raw_syscalls:sys_exit: NR 1 = 2 "),
        wanted("db", 7, None, 1_000_000_002, "sys_exit", "NR 1 = 2"),
    );
    assert_eq!(
        perf_line(":-1 -1 [000] 1.5: sched:sched_stat_iowait: x"),
        wanted(":-1", -1, None, 1_500_000_000, "sched_stat_iowait", "x"),
    );
    for bad in [
        "",
        "nothing",
        "db 7 5.0: sched_waking: x",
        "db x [000] 5.0: a:b: c",
        "7 5.0: a:b: c",
        "db 7 [000] 1234567890.0: a:b: c",
        "db 99999999999 [000] 5.0: a:b: c",
    ] {
        assert_eq!(perf_line(bad), None, "{bad}");
    }
}

#[test]
fn lines_of_ftrace() {
    let wanted = |comm: &str, tid, tgid, ts, name: &str, args: &str| {
        Some((
            comm.to_owned(),
            tid,
            tgid,
            ts,
            name.to_owned(),
            args.to_owned(),
        ))
    };
    assert_eq!(
        ftrace_line("  kworker/u8:2-wq-94   ( 1234) [003] d..2.  7.25: a_b: x: y "),
        wanted(
            "kworker/u8:2-wq",
            94,
            Some(1234),
            7_250_000_000,
            "a_b",
            "x: y"
        ),
    );
    assert_eq!(
        ftrace_line(" <...>-9 (-----) [001] .... 1.000001: sched_process_exit: comm=x"),
        wanted(
            "<...>",
            9,
            None,
            1_000_001_000,
            "sched_process_exit",
            "comm=x"
        ),
    );
    assert_eq!(
        ftrace_line("jbd2/loo-26985   1...1.  2710.134897: block_rq_insert:      7,0 W"),
        wanted(
            "jbd2/loo",
            26985,
            None,
            2_710_134_897_000,
            "block_rq_insert",
            "7,0 W"
        ),
    );
    assert_eq!(
        ftrace_line("two words-9 [001] 5.000001: sys_write(fd: 1, count: 1000)"),
        wanted(
            "two words",
            9,
            None,
            5_000_001_000,
            "sys_write",
            "fd: 1, count: 1000)"
        ),
    );
    assert_eq!(
        ftrace_line("dd-9 [001] ..... 5.000002: sys_write -> 0x1000"),
        wanted("dd", 9, None, 5_000_002_000, "sys_write", "0x1000"),
    );
    for bad in [
        "",
        "# tracer: nop",
        "a-9 [001] 5: x: y",
        "a-b [001] 5.0: x: y",
        "9 5.0: x: y",
    ] {
        assert_eq!(ftrace_line(bad), None, "{bad}");
    }
}

#[test]
fn texts_of_events() {
    let request = parse_request(b"8,16 WSM 4096 () 2048 + 8 be,0,4 [jbd2/sda1-8]").unwrap();
    assert_eq!(
        (request.dev, request.bytes, request.sector),
        (8 << 20 | 16, 4096, 2048)
    );
    assert_eq!(
        (request.rwbs, request.rest),
        (&b"WSM"[..], &b"jbd2/sda1-8"[..])
    );
    let request = parse_request(b"7,0 FF () 18446744073709551615 + 0 0x0,0,0 [-5]").unwrap();
    assert_eq!(
        (request.bytes, request.sector, signed(request.rest)),
        (0, UNKNOWN, Some(-5))
    );
    let request = parse_request(b"8,0 R 64 + 8 [dd]").unwrap();
    assert_eq!((request.bytes, request.sector), (4096, 64));
    assert!(parse_request(b"8,0 R (a b) x").is_none());

    assert_eq!(
        numbers(b"NR 17 (3, ffffffffffffffff, 1000, 0, 0, 0)")[..3],
        [3, -1, 4096]
    );
    assert_eq!(
        named(b"fd: 0x3, buf: 0x7f, count: 0x340")[..3],
        [3, 127, 832]
    );
    assert_eq!(
        field(b"dev 8,0 ino 12 len 5 block 99 lblk 7", b"block"),
        Some(99)
    );
    assert_eq!(field(b"bdi 8:0: ino=77 wrote=24", b"ino"), Some(77));
    assert_eq!(woken(b"kworker/u8:2:6943 [120] CPU:000"), Some(6943));
    let switch = parse_switch(b"jbd2/loop0-8:26985 [120] D ==> kworker/1:0H:24 [100]").unwrap();
    assert_eq!((switch.prev, switch.state, switch.next), (26985, b'D', 24));
    assert_eq!(
        kernel_symbol(b"\tffffffff821f8b58 __schedule+0x618 ([kernel.kallsyms])"),
        Some(&b"__schedule"[..])
    );
    assert_eq!(
        kernel_symbol(b"\t    7f00deadbeef fsync+0x17 (/usr/lib/libc.so.6)"),
        None
    );
}

proptest::proptest! {
    #[test]
    fn no_line_stops_the_reader(
        lines in proptest::collection::vec(
            "[ -~]{0,80}|a-7 \\[000\\] [0-9]{1,3}\\.[0-9]{1,9}: [a-z_]{1,20}: [ -~]{0,60}|\
             a 7 \\[000\\] [0-9]{1,3}\\.[0-9]: sched:sched_switch: [ -~]{0,60}",
            0..40,
        ),
    ) {
        let text = lines.join("\n");
        for dialect in [Dialect::Perf, Dialect::Ftrace] {
            let mut bytes = Vec::new();
            read(text.as_bytes(), dialect, &mut Frames::new(&mut bytes)).unwrap();
            read_sorted(text.as_bytes(), dialect, &mut Frames::new(&mut bytes)).unwrap();
        }
    }
}
