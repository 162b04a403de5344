// Three paths of generic functions and closures: what each waits in fsync and computes is measured here and printed, as paths.c does.
// paths FILE [UNIT], where UNIT is as there.
use std::fs::{File, OpenOptions};
use std::hint::black_box;
use std::os::unix::fs::FileExt;
use std::time::{Duration, Instant};

const CLOCK_THREAD_CPUTIME_ID: i32 = 3;

extern "C" {
    fn clock_gettime(clock: i32, at: *mut [i64; 2]) -> i32;
}

fn on_cpu() -> Duration {
    let mut at = [0; 2];
    // SAFETY: a timespec of Linux on 64 bits is two of these.
    assert_eq!(unsafe { clock_gettime(CLOCK_THREAD_CPUTIME_ID, &mut at) }, 0);
    Duration::new(at[0] as u64, at[1] as u32)
}

trait Sync {
    fn sync_once(&self) -> Duration;
}

impl Sync for File {
    #[inline(never)]
    fn sync_once(&self) -> Duration {
        self.write_all_at(b"x", 0).unwrap();
        let before = Instant::now();
        self.sync_all().unwrap();
        before.elapsed()
    }
}

#[inline(never)]
fn until<S: Sync>(on: &S, ms: u64) -> u128 {
    let mut sum = Duration::ZERO;
    let mut syncs = 0;
    while syncs < 40 || sum < Duration::from_millis(ms) {
        sum += on.sync_once();
        syncs += 1;
    }
    sum.as_nanos()
}

#[inline(never)]
fn compute<N: Into<u64> + Copy>(numbers: &[N], unit: Duration) {
    let before = on_cpu();
    while on_cpu() - before < unit {
        for _ in 0..20_000 {
            black_box(numbers.iter().map(|&n| black_box(n.into())).sum::<u64>());
        }
    }
}

#[inline(never)]
fn path_of_a(file: &File, unit: Duration) -> u128 {
    let synced = until(file, 200);
    compute(&[1_u8, 2, 3], unit);
    black_box(synced)
}

#[inline(never)]
fn path_of_b(file: &File, unit: Duration) -> u128 {
    let synced = until(file, 300);
    compute(&[1_u16, 2, 3], 2 * unit);
    black_box(synced)
}

#[inline(never)]
fn path_of_c(file: &File, unit: Duration) -> u128 {
    let mut times = vec![500].into_iter().map(|ms| until(file, ms));
    let synced = times.next().unwrap();
    compute(&[1_u32, 2, 3], 7 * unit);
    black_box(synced)
}

fn main() {
    let name = std::env::args().nth(1).unwrap();
    let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(name).unwrap();
    let unit = Duration::from_millis(std::env::args().nth(2).map_or(0, |ms| ms.parse().unwrap()));
    let paths: [(&str, fn(&File, Duration) -> u128); 3] =
        [("path_of_a", path_of_a), ("path_of_b", path_of_b), ("path_of_c", path_of_c)];
    for (name, path) in paths {
        let before = on_cpu();
        let synced = path(&file, unit);
        println!("{name} {synced} {}", (on_cpu() - before).as_nanos());
    }
}
