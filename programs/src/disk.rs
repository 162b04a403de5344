//! The emulated disk of the lab; see `iowhy_lab::disk`.

fn main() -> std::process::ExitCode {
    iowhy_lab::disk::main()
}
