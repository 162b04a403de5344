//! Workloads with known answers; see `iowhy_lab::work`.

fn main() -> std::process::ExitCode {
    iowhy_lab::work::main()
}
