//! Nothing that /proc and /sys may hold stops a reader. `fuzz/corpus/readings` is what coverage-guided fuzzing
//! begins with (`make fuzz`).

mod read_tree;

use std::path::Path;

#[test]
fn what_fuzzing_begins_with_stops_no_reader() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/corpus/readings");
    let mut rows = 0;
    for entry in std::fs::read_dir(corpus).unwrap() {
        let folder = tempfile::tempdir().unwrap();
        rows += read_tree::read(
            folder.path(),
            &std::fs::read(entry.unwrap().path()).unwrap(),
        );
    }
    assert!(rows > 0, "the corpus is there, and some of it makes sense");
}
