//! What libbpf and the verifier said of a program that the kernel did not take.

use std::sync::Mutex;

use iowhy_store::manifest::Sensor;
use libbpf_rs::PrintLevel;

/// Log level that shows how much work the verifier had (include/linux/bpf_verifier.h, BPF_LOG_STATS).
pub const VERIFIER_STATISTICS: u32 = 4;

/// What begins the reason of a refusal.
pub const BEGIN: &str = "this kernel refuses ";

/// A program that the kernel did not take, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    pub program: String,
    pub words: String,
    /// The verifier has looked at the program; it may have had no words for what is wrong.
    pub verified: bool,
}

impl From<(&String, &String)> for Refusal {
    fn from((program, words): (&String, &String)) -> Refusal {
        Refusal {
            program: program.clone(),
            words: words.clone(),
            verified: false,
        }
    }
}

impl Refusal {
    /// The beginning of the reason that a sensor gives which lacks the program.
    pub fn reason(program: &str) -> String {
        format!("{BEGIN}{program}: ")
    }

    /// Which sensors, or parts of them, it costs. None: another program replaces it.
    pub fn told(&self, sensors: &[Sensor]) -> Option<String> {
        let reason = Refusal::reason(&self.program);
        let lacks = |one: &&Sensor| one.why.as_ref().is_some_and(|why| why.contains(&reason));
        let named = |one: &Sensor| match one.ran {
            true => format!("part of {}", one.name),
            false => one.name.clone(),
        };
        let lost: Vec<String> = sensors.iter().filter(lacks).map(named).collect();
        let words = &self.words;
        (!lost.is_empty()).then(|| format!("{reason}{words}; recorded without {}", lost.join(", ")))
    }
}

/// What was heard last: a program with the verifier's words of it, and a refusal.
struct Heard {
    words: Option<(String, String)>,
    refusal: Option<Refusal>,
}

static HEARD: Mutex<Heard> = Mutex::new(Heard {
    words: None,
    refusal: None,
});

/// The last refusal, once.
pub fn take() -> Option<Refusal> {
    HEARD.lock().ok()?.refusal.take()
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
    let Some((program, said)) = text
        .strip_prefix("libbpf: prog '")
        .and_then(|rest| rest.split_once("': "))
    else {
        return;
    };
    if let Some((_, log)) = said.split_once("-- BEGIN PROG LOAD LOG --") {
        heard.words = Some((program.to_owned(), last_words(log)));
    } else if let Some(error) = said.strip_prefix("failed to load: ") {
        let log = heard.words.take().filter(|(of, _)| of == program);
        heard.refusal = Some(Refusal {
            program: program.to_owned(),
            verified: log.is_some(),
            words: log
                .map(|(_, words)| words)
                .filter(|words| !words.is_empty())
                .unwrap_or_else(|| error.trim().to_owned()),
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
    fn a_refusal_names_the_sensors_that_it_costs() {
        let refusal = Refusal {
            program: "on_b".into(),
            words: "R1 is bad".into(),
            verified: true,
        };
        let why = "this kernel refuses on_b: R1 is bad";
        let mut sensors = vec![Sensor::ran("waits"), Sensor::missing("lookups", why)];
        let told = refusal.told(&sensors).unwrap();
        assert!(
            told.ends_with("R1 is bad; recorded without lookups"),
            "{told}"
        );
        sensors[0].why = Some(format!("without x ({why})"));
        let told = refusal.told(&sensors).unwrap();
        assert!(told.ends_with(" part of waits, lookups"), "{told}");
        assert_eq!(refusal.told(&[Sensor::ran("waits")]), None);
    }

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
        // A verifier that says no more than how much work it had (Linux 6.17.5, calico#11302).
        hear(
            "libbpf: prog 'on_c': -- BEGIN PROG LOAD LOG --\n\
             processed 5 insns (limit 1000000) max_states_per_insn 0\n-- END PROG LOAD LOG --\n",
        );
        hear("libbpf: prog 'on_c': failed to load: -EINVAL\n");
        assert_eq!(take(), refusal("on_c", "-EINVAL", true));
        assert_eq!(take(), None);
    }
}
