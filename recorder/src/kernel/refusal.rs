//! What libbpf and the verifier said of a program that the kernel did not take.

use std::sync::Mutex;

use libbpf_rs::PrintLevel;

/// Log level that shows how much work the verifier had (include/linux/bpf_verifier.h, BPF_LOG_STATS).
pub const VERIFIER_STATISTICS: u32 = 4;

/// A program that the kernel did not take, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    pub program: String,
    pub words: String,
    /// The words are the verifier's: it has looked at the program.
    pub verified: bool,
}

/// The verifier's words that came last, and the last refusal.
static HEARD: Mutex<(String, Option<Refusal>)> = Mutex::new((String::new(), None));

/// The last refusal, once.
pub fn take() -> Option<Refusal> {
    HEARD.lock().ok()?.1.take()
}

/// libbpf's own messages would mix with the command's output; what they say of a refused program is kept.
/// IOWHY_BPF_LOG=1 shows them, the verifier's words among them.
pub fn listen() {
    if std::env::var_os("IOWHY_BPF_LOG").is_some() {
        libbpf_rs::set_print(Some((PrintLevel::Debug, |_, text| {
            eprint!("{text}");
            hear(&text);
        })));
    } else {
        libbpf_rs::set_print(Some((PrintLevel::Warn, |_, text| hear(&text))));
    }
}

/// libbpf prints first the verifier's log of a program, then that the program failed to load.
fn hear(text: &str) {
    let Ok(mut heard) = HEARD.lock() else {
        return;
    };
    if let Some((_, log)) = text.split_once("-- BEGIN PROG LOAD LOG --") {
        heard.0 = last_words(log);
    } else if let Some((program, error)) = text
        .strip_prefix("libbpf: prog '")
        .and_then(|rest| rest.split_once("': failed to load: "))
    {
        let log = std::mem::take(&mut heard.0);
        let verified = !log.is_empty();
        heard.1 = Some(Refusal {
            program: program.to_owned(),
            words: if verified {
                log
            } else {
                error.trim().to_owned()
            },
            verified,
        });
    }
}

/// The line of a verifier's log that says what is wrong: the last one before its statistics.
fn last_words(log: &str) -> String {
    const STATISTICS: &[&str] = &[
        "processed ",
        "verification time",
        "stack depth",
        "subprog ",
        "--",
        "libbpf",
    ];
    log.lines()
        .map(str::trim)
        .rfind(|line| !line.is_empty() && !STATISTICS.iter().any(|s| line.starts_with(s)))
        .unwrap_or_default()
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_libbpf_says_of_a_refused_program_is_kept() {
        hear("libbpf: prog 'on_a': BPF program load failed: -EACCES\n");
        hear(
            "libbpf: prog 'on_a': -- BEGIN PROG LOAD LOG --\n\
             func 'jbd2_start_commit' arg1 has btf_id 113668 type STRUCT 'transaction_s'\n\
             R6 pointer arithmetic on trusted_ptr_or_null_ prohibited, null-check it first\n\
             verification time 4438 usec\nstack depth 80\nsubprog 0 (on_a) main insns_self 31\n\
             processed 23 insns (limit 1000000) max_states_per_insn 0\n-- END PROG LOAD LOG --\n",
        );
        hear("libbpf: prog 'on_a': failed to load: -EACCES\n");
        hear("libbpf: failed to load object 'recorder_bpf'\n");
        let words = "R6 pointer arithmetic on trusted_ptr_or_null_ prohibited, null-check it first";
        let refusal = |program: &str, words: &str, verified| {
            let (program, words) = (program.into(), words.into());
            Some(Refusal {
                program,
                words,
                verified,
            })
        };
        assert_eq!(take(), refusal("on_a", words, true));
        // One that the kernel has no type for never comes to the verifier.
        hear("libbpf: prog 'on_b': failed to load: -ESRCH\n");
        assert_eq!(take(), refusal("on_b", "-ESRCH", false));
        assert_eq!(take(), None);
    }
}
