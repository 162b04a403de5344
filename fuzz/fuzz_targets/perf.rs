#![no_main]
libfuzzer_sys::fuzz_target!(|log: &[u8]| iowhy_fuzz::read_log("perf", log));
