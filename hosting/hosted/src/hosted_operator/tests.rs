#![allow(clippy::unwrap_used)]

use super::*;

#[test]
fn a_file_that_is_not_there_is_refused_by_its_path() {
    let folder = tempfile::tempdir().unwrap();
    let program = |files: &[&Path]| {
        let files = files.iter().map(|file| file.to_path_buf()).collect();
        let process = ProcessConfig { program: "/bin/sh".into(), files, ..ProcessConfig::default() };
        ProgramSpec::of("one", &OperatorConfig::default(), &process, folder.path())
    };
    let there = folder.path().canonicalize().unwrap();
    assert_eq!(program(&[&there]).unwrap().files, std::slice::from_ref(&there));
    for gone in [there.join("typo"), there.join("typo/nothing")] {
        let error = program(&[&there, &gone]).unwrap_err();
        assert!(matches!(&error, HostingError::NoFile(path) if *path == gone), "{error}");
        assert!(error.to_string().contains(gone.to_str().unwrap()), "{error}");
    }
}
