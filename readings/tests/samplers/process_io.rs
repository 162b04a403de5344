//! I/O of processes, whose last reading is kept.

use std::path::Path;

use iowhy_readings::sampler::process_io::ProcessIo;
use iowhy_store::rows;

use crate::tree::Tree;

#[test]
fn process_io_keeps_the_last_reading() {
    let tree = Tree::new();
    let io = |n: i64| {
        format!(
            "rchar: {n}\nwchar: 2\nsyscr: 3\nsyscw: 4\nread_bytes: 5\nwrite_bytes: 6\n\
             cancelled_write_bytes: 7\n"
        )
    };
    tree.put("proc/self/io", io(0))
        .put("proc/10/io", io(1))
        .put("proc/11/io", "rchar: 9\n");
    let mut sampler = ProcessIo::new(&tree.roots()).unwrap();
    sampler.sample(100, [10, 11, 12]).unwrap();
    tree.put("proc/10/io", io(8));
    sampler.sample(200, [10]).unwrap();
    let row = sampler.take(10).unwrap();
    let expected = rows::ProcessIo {
        ts_ns: 200,
        tgid: 10,
        read_call_bytes: Some(8),
        write_call_bytes: Some(2),
        read_calls: Some(3),
        write_calls: Some(4),
        read_bytes: Some(5),
        written_bytes: Some(6),
        cancelled_bytes: Some(7),
    };
    assert_eq!(row, expected);
    assert_eq!(sampler.take(12), None);
    let rest = sampler.finish();
    assert_eq!(rest.len(), 1);
    assert_eq!(
        (rest[0].tgid, rest[0].read_call_bytes, rest[0].read_calls),
        (11, Some(9), None)
    );
    tree.put("proc/self/io", "rchar: -\n");
    let error = ProcessIo::new(&tree.roots()).unwrap_err().to_string();
    assert!(
        error.ends_with("proc/self/io:1: expected a count"),
        "{error}"
    );
    assert!(!Path::new(&tree.at("proc/12")).exists());
}
