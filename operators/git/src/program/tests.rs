#![allow(clippy::unwrap_used)]

use super::*;

/// Writes a shell script that replaces git. If this process wrote the program itself, a child of another test could
/// still have it open for writing, and it could not be executed; so another process writes it.
fn script(folder: &Path, text: &str) -> PathBuf {
    let path = folder.join("git");
    std::fs::write(folder.join("text"), text).unwrap();
    let made = std::process::Command::new("sh")
        .args(["-c", r#"printf '#!/bin/sh\n. "%s/text"\n' "$1" >"$1/git" && chmod 755 "$1/git""#, "sh"])
        .arg(folder)
        .status();
    assert!(made.unwrap().success());
    path
}

fn run(text: &str, means: &LoginEnvironment, deadline: Duration, output_bytes: usize) -> Result<Vec<u8>, GitError> {
    let folder = tempfile::tempdir().unwrap();
    let git = script(folder.path(), text);
    let program = GitProgram { git: &git, allowed: &[Scheme::Https], config: None, folder: folder.path() };
    let run =
        GitCommand { action: "look", arguments: &["x"], input: vec![], output_bytes, deadline, watchdog: &|| Ok(()) };
    program.run(run, means)
}

const LONG: Duration = Duration::from_secs(60);

#[test]
fn a_hanging_command_is_killed_with_its_children() {
    let ended = run("sleep 600 & sleep 600", &LoginEnvironment::default(), Duration::from_millis(300), 100);
    assert!(matches!(ended, Err(GitError::Timeout { .. })), "{ended:?}");
}

#[test]
fn a_command_with_too_much_output_fails() {
    let ended = run("head -c 2000 /dev/zero", &LoginEnvironment::default(), LONG, 1000);
    assert!(matches!(ended, Err(GitError::TooLarge { .. })), "{ended:?}");
}

#[test]
fn guarantees_a_password_is_never_revealed() {
    let means = LoginEnvironment {
        variables: vec![("SWITCHBOARD_GIT_PASSWORD", "hunter2".into())],
        secrets: vec!["hunter2".into()],
        ..LoginEnvironment::default()
    };
    let told = run(r#"echo "fatal: $SWITCHBOARD_GIT_PASSWORD and $0 $@" >&2; exit 1"#, &means, LONG, 100).unwrap_err();
    assert!(!format!("{told} {told:?}").contains("hunter2"), "{told}");
    assert!(told.to_string().contains("fatal: …"), "{told}");
}

#[test]
fn only_network_settings_are_inherited() {
    let told = run("env | cut -d= -f1 | sort", &LoginEnvironment::default(), LONG, 100_000).unwrap();
    let told = String::from_utf8(told).unwrap();
    let odd: Vec<&str> = told
        .lines()
        .filter(|name| !name.starts_with("GIT_") && !INHERITED_VARIABLES.contains(name))
        .filter(|name| !["HOME", "LC_ALL", "PWD", "OLDPWD", "SHLVL", "_"].contains(name))
        .collect();
    assert_eq!(odd, Vec::<&str>::new());
    assert!(told.contains("GIT_CONFIG_NOSYSTEM") && told.contains("GIT_ALLOW_PROTOCOL"));
}

#[test]
fn missing_git_is_an_error_with_a_hint() {
    let folder = tempfile::tempdir().unwrap();
    let nowhere = folder.path().join("nowhere");
    let program = GitProgram { git: &nowhere, allowed: &[], config: None, folder: folder.path() };
    let run = GitCommand {
        action: "look",
        arguments: &[],
        input: vec![],
        output_bytes: 1,
        deadline: LONG,
        watchdog: &|| Ok(()),
    };
    let told = program.run(run, &LoginEnvironment::default()).unwrap_err();
    assert!(matches!(told, GitError::NoGit) && told.to_string().contains("hint: install git"), "{told}");
}
