//! Failures from the user's view: an error that names the cause, a hint, and never a panic.

use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::process::{ServerProcess, run, stderr_text, switchboard};

/// Creates a data directory by a start and a stop.
fn data_directory() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    assert_eq!(up_in(directory.path()).stop().0, Some(0));
    directory
}

fn up_in(directory: &Path) -> ServerProcess {
    let mut command = switchboard(&["up", "--data-dir"]);
    command.arg(directory);
    ServerProcess::start(command)
}

/// Asserts that the command exits with 1, prints nothing to stdout, and prints `what` and `hint`.
#[track_caller]
fn refused(mut command: Command, what: &str, hint: &str) {
    let output = command.output().unwrap();
    let stderr_text = stderr_text(&output);
    assert_eq!(output.status.code(), Some(1), "{stderr_text}");
    assert!(output.stdout.is_empty());
    let error = stderr_text
        .lines()
        .find(|line| line.starts_with("error: "))
        .unwrap_or_else(|| panic!("no error in {stderr_text}"));
    assert!(error.contains(what), "{stderr_text}");
    assert!(stderr_text.lines().last().unwrap().starts_with("hint: ") && stderr_text.contains(hint), "{stderr_text}");
}

#[track_caller]
fn up_is_refused(directory: &Path, what: &str, hint: &str) {
    let mut command = switchboard(&["up", "--listen", "127.0.0.1:0", "--data-dir"]);
    command.arg(directory);
    refused(command, what, hint);
}

fn log_of(directory: &Path) -> PathBuf {
    let mut files = fs::read_dir(directory.join("store")).unwrap().map(|entry| entry.unwrap().path());
    files.find(|path| path.file_name().unwrap().to_str().unwrap().starts_with("log-")).unwrap()
}

#[test]
fn a_directory_in_use() {
    let directory = tempfile::tempdir().unwrap();
    let _first = up_in(directory.path());
    up_is_refused(directory.path(), "the data directory is in use", "stop the other process");
}

#[test]
fn damaged_and_removed_files_of_a_data_directory() {
    let directory = data_directory();
    let (certificates, log) = (directory.path().join("certificates.pem"), log_of(directory.path()));
    let (whole, written) = (fs::read(&certificates).unwrap(), fs::read(&log).unwrap());

    fs::write(&certificates, &whole[..100]).unwrap();
    up_is_refused(directory.path(), "certificates.pem does not hold", "restore the file from a backup");
    fs::write(&certificates, whole).unwrap();

    let mut damaged = written.clone();
    damaged[200] ^= 1;
    fs::write(&log, damaged).unwrap();
    up_is_refused(directory.path(), "is damaged at byte", "restore the data directory from a backup");

    fs::remove_file(&log).unwrap();
    up_is_refused(directory.path(), "is missing", "restore the data directory from a backup");

    let store = directory.path().join("store");
    fs::remove_dir_all(&store).unwrap();
    up_is_refused(directory.path(), "store is missing, but certificates.pem", "restore it from a backup");
    assert!(!store.exists(), "what may be restored is not recreated");

    fs::create_dir(&store).unwrap();
    fs::write(log, written).unwrap();
    fs::write(store.join("lock"), "").unwrap();
    assert_eq!(up_in(directory.path()).stop().0, Some(0), "put back it works again");
}

#[test]
fn a_file_where_the_data_directory_should_be() {
    let file = tempfile::NamedTempFile::new().unwrap();
    up_is_refused(file.path(), "could not create the data directory", "pass the path of a directory");
}

#[test]
fn data_is_private_and_readable_keys_are_warned_about() {
    let within = tempfile::tempdir().unwrap();
    let directory = within.path().join("data");
    assert_eq!(up_in(&directory).stop().0, Some(0));
    let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&directory), 0o700);
    let key = directory.join("service-account.key");
    fs::set_permissions(&key, fs::Permissions::from_mode(0o640)).unwrap();
    let (code, stderr_text) = up_in(&directory).stop();
    assert_eq!(code, Some(0));
    assert!(
        stderr_text.contains(&format!("warning: other users can read {}: its mode is 0640", key.display())),
        "{stderr_text}"
    );
    assert!(stderr_text.contains(&format!("hint: chmod 600 {}", key.display())), "{stderr_text}");
}

#[test]
fn full_temporary_directory() {
    let mut command = switchboard(&["up", "--ephemeral", "--listen", "127.0.0.1:0"]);
    command.env("TMPDIR", "/no/such/directory");
    refused(command, "could not create a temporary folder in /no/such/directory", "set TMPDIR");
}

#[test]
fn a_kubeconfig_that_cannot_be_written() {
    let mut command = switchboard(&["up", "--ephemeral", "--listen", "127.0.0.1:0", "--kubeconfig"]);
    command.arg("/dev/null/kubeconfig");
    refused(command, "could not write kubeconfig /dev/null/kubeconfig", "--kubeconfig FILE");
}

#[test]
fn invalid_log_filter() {
    let output = switchboard(&["up", "--ephemeral"]).env("SWITCHBOARD_LOG", "switchboard=loud").output().unwrap();
    assert_eq!(output.status.code(), Some(64));
    let stderr_text = stderr_text(&output);
    assert!(
        stderr_text.starts_with("error: could not parse SWITCHBOARD_LOG\n") && stderr_text.contains("\nhint: "),
        "{stderr_text}"
    );
}

#[test]
fn localhost_is_accepted_and_other_names_are_not() {
    let (code, said_of_it) =
        ServerProcess::start(switchboard(&["up", "--ephemeral", "--listen", "localhost:0"])).stop();
    assert_eq!(code, Some(0));
    assert!(said_of_it.contains("\nserving at https://127.0.0.1:"), "{said_of_it}");
    let output = run(&["up", "--ephemeral", "--listen", "example.com:0"]);
    assert_eq!(output.status.code(), Some(64));
    assert!(stderr_text(&output).contains("such as 127.0.0.1:6443"), "{}", stderr_text(&output));
}

#[test]
fn closed_stdout() {
    let full = || Stdio::from(File::options().write(true).open("/dev/full").unwrap());
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    for stdout in [full(), writer.into()] {
        let mut command = switchboard(&["up", "--ephemeral", "--listen", "127.0.0.1:0"]);
        let child = command.stdout(stdout).stderr(Stdio::piped()).spawn().unwrap();
        let output = child.wait_with_output().unwrap();
        let stderr_text = stderr_text(&output);
        assert_eq!(output.status.code(), Some(1), "{stderr_text}");
        assert!(stderr_text.contains("error: could not write the kubeconfig's path to stdout\n"), "{stderr_text}");
    }
}

#[test]
fn closed_stderr() {
    let full = || Stdio::from(File::options().write(true).open("/dev/full").unwrap());
    let mut command = switchboard(&["up", "--ephemeral"]);
    // Log lines cannot be written either.
    command.env("SWITCHBOARD_LOG", "trace");
    let serving = ServerProcess::start_with(command, full());
    assert!(serving.kubeconfig.exists(), "the work goes on");
    assert_eq!(serving.stop().0, Some(0));
    let failed = switchboard(&["serve", "no-such-dump"]).stderr(full()).output().unwrap();
    assert_eq!(failed.status.code(), Some(1), "and failing is still failing, not a panic");
}

#[test]
fn leftovers_of_a_killed_process_are_removed() {
    let within = tempfile::tempdir().unwrap();
    let start = || {
        let mut command = switchboard(&["up", "--ephemeral"]);
        command.env("TMPDIR", within.path());
        ServerProcess::start(command)
    };
    let killed = start();
    let left = killed.kubeconfig.clone();
    drop(killed); // SIGKILL
    assert!(left.exists());
    let next = start();
    assert!(!left.exists(), "the next start takes it away");
    let other = start();
    assert!(next.kubeconfig.exists(), "but not what a living process uses");
    assert_eq!((next.stop().0, other.stop().0), (Some(0), Some(0)));
    assert_eq!(fs::read_dir(within.path()).unwrap().count(), 0);
}
