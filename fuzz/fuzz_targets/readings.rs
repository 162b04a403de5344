#![no_main]
#[path = "../../readings/tests/hostile/read_tree.rs"]
mod read_tree;

libfuzzer_sys::fuzz_target!(|texts: &[u8]| {
    read_tree::read(iowhy_fuzz::scratch(), texts);
});
