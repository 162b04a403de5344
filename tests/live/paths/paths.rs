// Three paths of generic functions and closures: what each waits in fsync is measured here and printed, as paths.c does.
use std::fs::{File, OpenOptions};
use std::hint::black_box;
use std::os::unix::fs::FileExt;
use std::time::{Duration, Instant};

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
fn path_of_a(file: &File) -> u128 {
    black_box(until(file, 200))
}

#[inline(never)]
fn path_of_b(file: &File) -> u128 {
    black_box(until(file, 300))
}

#[inline(never)]
fn path_of_c(file: &File) -> u128 {
    let mut times = vec![500].into_iter().map(|ms| until(file, ms));
    black_box(times.next().unwrap())
}

fn main() {
    let name = std::env::args().nth(1).unwrap();
    let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(name).unwrap();
    let paths: [(&str, fn(&File) -> u128); 3] =
        [("path_of_a", path_of_a), ("path_of_b", path_of_b), ("path_of_c", path_of_c)];
    for (name, path) in paths {
        println!("{name} {} 0", path(&file));
    }
}
