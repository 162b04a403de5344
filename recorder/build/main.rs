//! Compiles the BPF programs (clang, target bpf), generates their skeleton, and takes from the compiler what both sides
//! must agree on: the layout of the records that the programs emit.

mod layout;
mod relocated;
mod sources;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use libbpf_cargo::SkeletonBuilder;

const SOURCE: &str = "bpf/recorder.bpf.c";

fn main() -> Result<()> {
    println!("cargo:rerun-if-changed=bpf");
    println!("cargo:rerun-if-changed=build");
    println!("cargo:rerun-if-changed=src/rows");
    let out = PathBuf::from(std::env::var("OUT_DIR")?);
    let include = out.join("include");
    std::fs::create_dir_all(&include)?;
    let found = sources::find(Path::new("bpf"))?;
    write(
        &include.join("generated.h"),
        &sources::generated_header(&found),
    )?;
    write(&include.join("sensors.h"), &sources::sensors_header(&found))?;
    write(&out.join("rows.rs"), &sources::converters(&found)?)?;

    let arguments = compiler_arguments(&include)?;
    let object = out.join("recorder.bpf.o");
    SkeletonBuilder::new()
        .source(SOURCE)
        .obj(&object)
        .clang_args(&arguments)
        .build_and_generate(out.join("recorder.skel.rs"))
        .with_context(|| format!("cannot build {SOURCE}: clang 14 or later is needed"))?;
    write(&out.join("relocated.rs"), &relocated::rust(&object)?)?;

    // The types alone, so that the compiler keeps all of them, used by a map or not.
    let (source, object) = (out.join("layout.bpf.c"), out.join("layout.bpf.o"));
    write(&source, &layout::source(&found))?;
    SkeletonBuilder::new()
        .source(&source)
        .obj(&object)
        .clang_args(&arguments)
        .build()
        .context("cannot build the layout of the records")?;
    write(&out.join("layout.rs"), &layout::rust(&object, &found)?)
}

fn write(path: &Path, text: &str) -> Result<()> {
    std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}

fn compiler_arguments(include: &Path) -> Result<Vec<String>> {
    let architecture = match std::env::var("CARGO_CFG_TARGET_ARCH")?.as_str() {
        "x86_64" => "x86",
        "aarch64" => "arm64",
        other => anyhow::bail!("no recorder for {other}: x86_64 and aarch64 are supported"),
    };
    let here = std::env::current_dir()?;
    let mut arguments = vec![
        format!("-D__TARGET_ARCH_{architecture}"),
        "-mcpu=v3".into(),
        "-Wall".into(),
        "-Werror".into(),
        "-Ibpf".into(),
        format!("-I{}", include.display()),
        // The programs have names of files: none depends on the folder that this is built in.
        format!("-fdebug-prefix-map={}=generated", include.display()),
        format!("-fdebug-prefix-map={}=recorder", here.display()),
    ];
    // Debian keeps asm/types.h, which linux/bpf.h includes, in a folder per architecture.
    let triple = format!("/usr/include/{}-linux-gnu", std::env::consts::ARCH);
    if Path::new(&triple).is_dir() {
        arguments.push(format!("-I{triple}"));
    }
    Ok(arguments)
}
