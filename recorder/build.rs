//! Compiles the BPF programs (clang, target bpf) and generates their skeleton.

use std::path::PathBuf;

use anyhow::{Context, Result};
use libbpf_cargo::SkeletonBuilder;

const SOURCE: &str = "bpf/recorder.bpf.c";

fn main() -> Result<()> {
    println!("cargo:rerun-if-changed=bpf");
    let out = PathBuf::from(std::env::var("OUT_DIR")?).join("recorder.skel.rs");
    let architecture = match std::env::var("CARGO_CFG_TARGET_ARCH")?.as_str() {
        "x86_64" => "x86",
        "aarch64" => "arm64",
        other => anyhow::bail!("no recorder for {other}: x86_64 and aarch64 are supported"),
    };
    let mut arguments = vec![
        format!("-D__TARGET_ARCH_{architecture}"),
        "-mcpu=v3".into(),
        "-Wall".into(),
        "-Werror".into(),
    ];
    // Debian keeps asm/types.h, which linux/bpf.h includes, in a folder per architecture.
    let triple = format!("/usr/include/{}-linux-gnu", std::env::consts::ARCH);
    if std::path::Path::new(&triple).is_dir() {
        arguments.push(format!("-I{triple}"));
    }
    SkeletonBuilder::new()
        .source(SOURCE)
        .clang_args(arguments)
        .build_and_generate(&out)
        .with_context(|| format!("cannot build {SOURCE}: clang 14 or later is needed"))
}
