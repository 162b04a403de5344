//! What the fuzz targets share: a scratch folder in memory, and a log read in every way that its format has.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use iowhy_logs::Error;

/// A folder of this process in memory, which the caller empties (`tools/fuzz` removes it).
pub fn scratch() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let folder =
            std::env::var_os("IOWHY_FUZZ_SCRATCH").map_or("/dev/shm".into(), PathBuf::from);
        let folder = folder.join(format!("iowhy-fuzz-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        folder
    })
}

/// Takes a log apart; panics where that fails for another reason than damage that is to be reported.
pub fn read_log(format: &str, log: &[u8]) {
    let path = scratch().join("log");
    std::fs::write(&path, log).unwrap();
    let words = [format, path.to_str().unwrap(), scratch().to_str().unwrap()];
    let mut words: Vec<String> = words.map(String::from).into();
    loop {
        match iowhy_logs::run(&words, std::io::sink()) {
            Ok(()) => {}
            Err(Error::Damaged(_)) if format == "perfetto" => {}
            Err(error) => panic!("{error}"),
        }
        if words.len() > 3 || !matches!(format, "perf" | "ftrace") {
            return;
        }
        words.push("--sort".into());
    }
}
