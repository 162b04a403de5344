//! Compiles the BPF programs (clang, target bpf) and generates their skeleton. What they share with the recorder's comes
//! from its headers.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use libbpf_cargo::SkeletonBuilder;

const SOURCE: &str = "bpf/agent.bpf.c";
const SHARED: &str = "../recorder/bpf";

fn main() -> Result<()> {
    println!("cargo:rerun-if-changed=bpf");
    println!("cargo:rerun-if-changed={SHARED}");
    let out = PathBuf::from(std::env::var("OUT_DIR")?);
    SkeletonBuilder::new()
        .source(SOURCE)
        .clang_args(&compiler_arguments()?)
        .build_and_generate(out.join("agent.skel.rs"))
        .with_context(|| format!("cannot build {SOURCE}: clang 14 or later is needed"))
}

fn compiler_arguments() -> Result<Vec<String>> {
    let architecture = match std::env::var("CARGO_CFG_TARGET_ARCH")?.as_str() {
        "x86_64" => "x86",
        "aarch64" => "arm64",
        other => anyhow::bail!("no programs for {other}: x86_64 and aarch64 are supported"),
    };
    let mut arguments = vec![
        format!("-D__TARGET_ARCH_{architecture}"),
        "-mcpu=v3".into(),
        "-Wall".into(),
        "-Werror".into(),
        // The recorder's headers have more than is used here.
        "-Wno-unused-function".into(),
    ];
    for folder in ["bpf", SHARED] {
        arguments.push(format!("-I{folder}"));
    }
    // The programs have names of files: none depends on the folder that this is built in.
    let here = std::env::current_dir()?;
    arguments.push(format!("-fdebug-prefix-map={}=agent", here.display()));
    // Debian keeps asm/types.h, which linux/bpf.h includes, in a folder per architecture.
    let triple = format!("/usr/include/{}-linux-gnu", std::env::consts::ARCH);
    if Path::new(&triple).is_dir() {
        arguments.push(format!("-I{triple}"));
    }
    Ok(arguments)
}
