//! The watcher over a made-up /proc, where every time is known, and over real children.

use std::io::Write;
use std::path::Path;

use iowhy_readings::host::now_ns;
use iowhy_readings::watcher::ProcWatcher;
use iowhy_readings::{Reading, Roots};
use iowhy_store::rows::{ThreadTime, Threads};

const MS: i64 = 1_000_000;

fn put(root: &Path, path: &str, text: &str) {
    let path = root.join("proc").join(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

struct State<'a> {
    tgid: i64,
    tid: i64,
    state: char,
    start_ticks: i64,
    ticks: (i64, i64),
    run_ms: i64,
    runnable_ms: i64,
    children: &'a str,
}

fn thread(root: &Path, at: State<'_>) {
    let State {
        tgid,
        tid,
        state,
        start_ticks,
        ticks: (user, kernel),
        ..
    } = at;
    let zeros = "0 ".repeat(29);
    let stat = format!(
        "{tid} (a b) {state} 1 1 1 0 -1 0 0 0 0 0 {user} {kernel} 0 0 20 0 1 0 {start_ticks} {zeros}256\n"
    );
    let directory = format!("{tgid}/task/{tid}");
    put(root, &format!("{directory}/stat"), &stat);
    let schedstat = format!("{} {} 9\n", at.run_ms * MS, at.runnable_ms * MS);
    put(root, &format!("{directory}/schedstat"), &schedstat);
    put(root, &format!("{directory}/children"), at.children);
}

fn split(readings: Vec<Reading>) -> (Vec<ThreadTime>, Vec<Threads>) {
    let (mut times, mut threads) = (Vec::new(), Vec::new());
    for reading in readings {
        match reading {
            Reading::ThreadTime(row) => times.push(row),
            Reading::Thread(row) => threads.push(row),
            other => panic!("{other:?}"),
        }
    }
    (times, threads)
}

fn sum(row: &ThreadTime) -> i64 {
    [
        row.cpu_user_ns,
        row.cpu_kernel_ns,
        row.runnable_ns,
        row.blocked_ns,
        row.sleeping_ns,
    ]
    .into_iter()
    .flatten()
    .sum()
}

const START: i64 = 5_000_000_000_000;

/// Process 10 under the watch in a made-up /proc. It was there before, and has used time that does not count.
struct Watched {
    proc: tempfile::TempDir,
    watcher: ProcWatcher,
    rows: Vec<Reading>,
}

impl Watched {
    fn new() -> Watched {
        let proc = tempfile::tempdir().unwrap();
        let roots = Roots {
            proc: proc.path().join("proc"),
            sys: proc.path().join("sys"),
            ..Roots::default()
        };
        let mut watched = Watched {
            proc,
            watcher: ProcWatcher::new(&roots, [10], None, START),
            rows: Vec::new(),
        };
        watched.put(10, 'D', (70, 30), (1_000, 500), "");
        watched.poll(0);
        watched
    }

    /// How a thread stands: ticks in user mode and in the kernel, ms on a CPU and runnable, all since it began.
    fn put(&self, tid: i64, state: char, ticks: (i64, i64), ms: (i64, i64), children: &str) {
        let at = State {
            tgid: tid,
            tid,
            state,
            start_ticks: if tid == 10 { 0 } else { 1 << 40 },
            ticks,
            run_ms: ms.0,
            runnable_ms: ms.1,
            children,
        };
        thread(self.proc.path(), at);
    }

    fn poll(&mut self, at_ms: i64) {
        let rows = &mut self.rows;
        self.watcher
            .sample(START + at_ms * MS, &mut |row| rows.push(row))
            .unwrap();
    }

    fn finish(mut self, at_ms: i64) -> (Vec<ThreadTime>, Vec<Threads>) {
        let rows = &mut self.rows;
        self.watcher
            .finish(START + at_ms * MS, &mut |row| rows.push(row))
            .unwrap();
        split(self.rows)
    }
}

#[test]
fn times_by_state_of_a_thread() {
    let mut watched = Watched::new();
    // In 100 ms: 40 ms on a CPU (3 of 4 ticks user), 20 ms runnable, the rest asleep: 2 polls D, 1 S.
    watched.put(10, 'D', (72, 30), (1_020, 510), "");
    watched.poll(50);
    assert!(watched.rows.is_empty());
    watched.put(10, 'S', (73, 31), (1_040, 520), "");
    watched.poll(100);
    let (times, threads) = split(watched.rows);
    assert_eq!(threads, []);
    let expected = ThreadTime {
        ts_ns: START,
        interval_ns: 100 * MS,
        tgid: 10,
        tid: 10,
        cpu_user_ns: Some(28 * MS), // (3 + ½) of (4 + 1) ticks
        cpu_kernel_ns: Some(12 * MS),
        runnable_ns: Some(20 * MS),
        blocked_ns: Some(26_666_666),
        sleeping_ns: Some(13_333_334),
        ..ThreadTime::default()
    };
    assert_eq!(times, [expected]);
}

#[test]
fn a_child_that_spins_and_ends() {
    let mut watched = Watched::new();
    watched.put(10, 'S', (73, 31), (1_040, 520), "11 ");
    watched.put(11, 'R', (0, 0), (0, 0), "");
    watched.poll(100);
    assert_eq!(watched.watcher.tgids(), [10, 11]);
    // The kernel's books lag behind by a tick of 4 ms, which is reported ahead, once.
    watched.put(11, 'R', (10, 0), (96, 0), "");
    watched.poll(200);
    watched.put(11, 'Z', (20, 0), (196, 0), "");
    watched.poll(300);
    assert_eq!(watched.watcher.tgids(), [10]);
    std::fs::remove_dir_all(watched.proc.path().join("proc/11")).unwrap();
    let (times, mut threads) = watched.finish(310);
    let cpu: Vec<i64> = times
        .iter()
        .filter(|row| row.tid == 11)
        .map(|row| row.cpu_user_ns.unwrap() + row.cpu_kernel_ns.unwrap())
        .collect();
    assert_eq!(cpu, [100 * MS, 100 * MS - 4 * MS + 4 * MS]);
    assert!(
        times.iter().all(|row| sum(row) == row.interval_ns),
        "{times:?}"
    );
    threads.sort_by_key(|row| row.tid);
    let common = Threads {
        ppid: Some(1),
        comm: "a b".into(),
        ..Default::default()
    };
    let expected = [
        Threads {
            tid: 10,
            tgid: 10,
            start_ns: START,
            ..common.clone()
        },
        Threads {
            tid: 11,
            tgid: 11,
            start_ns: START + 100 * MS,
            end_ns: Some(START + 300 * MS),
            exit_code: Some(256),
            ..common
        },
    ];
    assert_eq!(threads, expected);
}

/// Kernels without CONFIG_PROC_CHILDREN: the children are found by their parent's number.
#[test]
fn children_without_children_files() {
    let temporary = tempfile::tempdir().unwrap();
    let root = temporary.path();
    let roots = Roots {
        proc: root.join("proc"),
        sys: root.join("sys"),
        ..Roots::default()
    };
    for (pid, parent) in [(10, 1), (11, 10), (12, 11), (13, 1)] {
        let stat = format!("{pid} (x) S {parent} 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 5 0 0\n");
        put(
            root,
            &format!("{pid}/status"),
            &format!("Name:\tx\nPPid:\t{parent}\n"),
        );
        put(root, &format!("{pid}/task/{pid}/stat"), &stat);
    }
    let mut watcher = ProcWatcher::new(&roots, [10], None, 0);
    watcher.sample(MS, &mut |_| ()).unwrap();
    assert_eq!(watcher.tgids(), [10, 11, 12]);
    // And those of a subreaper, which is not watched itself.
    let mut watcher = ProcWatcher::new(&roots, [], Some(10), 0);
    watcher.sample(MS, &mut |_| ()).unwrap();
    assert_eq!(watcher.tgids(), [11, 12]);
}

/// A real child whose own child waits to be let go, burns CPU and exits; then the child exits 3.
#[test]
fn real_children() {
    let start = now_ns();
    let spin = "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done";
    let mut child = std::process::Command::new("sh")
        .args(["-c", &format!("(read line; {spin}); exit 3")])
        .stdin(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let pid = i64::from(child.id());
    let mut rows = Vec::new();
    let mut watcher = ProcWatcher::new(&Roots::default(), [pid], None, start);
    let mut poll = |watcher: &mut ProcWatcher| {
        std::thread::sleep(std::time::Duration::from_millis(5));
        watcher.sample(now_ns(), &mut |row| rows.push(row)).unwrap();
        watcher.tgids().len()
    };
    while poll(&mut watcher) < 2 {}
    child.stdin.take().unwrap().write_all(b"go\n").unwrap();
    while poll(&mut watcher) > 0 {}
    child.wait().unwrap();
    watcher.finish(now_ns(), &mut |row| rows.push(row)).unwrap();
    let (times, threads) = split(rows);
    assert!(
        times.iter().all(|row| sum(row) == row.interval_ns),
        "{times:?}"
    );
    let own = threads.iter().find(|row| row.tid == pid).unwrap();
    assert_eq!((own.exit_code, own.comm.as_ref()), (Some(3 << 8), "sh"));
    assert!(own.end_ns.unwrap() > own.start_ns && own.start_ns >= start);
    let grandchild = threads
        .iter()
        .find(|row| row.ppid == Some(pid))
        .expect("the grandchild");
    let burnt = times.iter().filter(|row| row.tid == grandchild.tid);
    assert!(burnt.filter_map(|row| row.cpu_user_ns).sum::<i64>() > 0);
}
