//! Replays the fuzzers' corpus on stable Rust, as a regression test.
#![allow(clippy::unwrap_used)]

use std::path::Path;

type FuzzTarget = (&'static str, fn(&[u8]));

/// Name and function of each fuzz target. A new target in tests/fuzz/ needs an entry here.
const TARGETS: &[FuzzTarget] = &[
    ("cel", switchboard_object::cel::fuzz),
    ("json", switchboard_object::fuzz::json),
    ("jsonpath", switchboard_object::fuzz::jsonpath),
    ("selectors", switchboard_object::fuzz::selectors),
    ("store_log", switchboard_cluster::store::disk::fuzz),
    ("template", switchboard_template::fuzz::template),
    ("yaml", switchboard_object::fuzz::yaml),
];

fn corpus() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fuzz/corpus")
}

#[test]
fn every_input_of_the_corpus_is_survived() {
    for (target, run) in TARGETS {
        let dir = corpus().join(target);
        let mut inputs = 0;
        for entry in std::fs::read_dir(&dir).unwrap() {
            run(&std::fs::read(entry.unwrap().path()).unwrap());
            inputs += 1;
        }
        assert!(inputs > 0, "{} is empty", dir.display());
    }
}

#[test]
fn every_fuzz_target_is_replayed() {
    let targets = std::fs::read_dir(corpus().with_file_name("fuzz_targets")).unwrap();
    for target in targets {
        let name = target.unwrap().path().file_stem().unwrap().to_str().unwrap().to_owned();
        assert!(TARGETS.iter().any(|(known, _)| *known == name), "{name} is not replayed");
    }
}
