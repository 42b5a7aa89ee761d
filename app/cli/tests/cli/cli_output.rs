//! The whole command line: first steps, completion, use as a plugin, and the error of each command.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use crate::process::{run, said, switchboard};
use crate::up_process::{NOBODY, UpProcess};

const BINARY: &str = env!("CARGO_BIN_EXE_switchboard");

fn within(folder: &Path, arguments: &[&str]) -> Output {
    switchboard(arguments).current_dir(folder).output().unwrap()
}

pub fn printed(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

#[test]
fn init_writes_a_configuration_once() {
    let folder = tempfile::tempdir().unwrap();
    let first = within(folder.path(), &["init"]);
    assert_eq!(first.status.code(), Some(0), "{}", said(&first));
    assert!(said(&first).starts_with("wrote switchboard.yaml\nhint: `switchboard doctor "), "{}", said(&first));
    let file = folder.path().join("switchboard.yaml");
    let text = fs::read_to_string(&file).unwrap();
    assert_eq!(printed(&within(folder.path(), &["init", "--config", "-"])), text);
    fs::write(&file, "mine").unwrap();
    let second = within(folder.path(), &["init"]);
    assert_eq!(second.status.code(), Some(1));
    assert!(said(&second).starts_with("error: switchboard.yaml is there already, and is left as it is\nhint: "));
    assert_eq!(fs::read_to_string(file).unwrap(), "mine");
}

pub fn doctor(board: &UpProcess, operators: &str, more: &[&str]) -> (Option<i32>, String) {
    let config = board.outside(operators);
    let mut command = switchboard(&["doctor", "--config"]);
    command.arg(config).arg("--state-dir").arg(board.file("elsewhere")).args(more);
    command.env_remove("SWITCHBOARD_GITOPS_DATABASE");
    let output = command.output().unwrap();
    (output.status.code(), printed(&output))
}

pub fn line<'a>(report: &'a str, check: &str) -> &'a str {
    let found = report.lines().find(|line| line.get(9..).is_some_and(|rest| rest.starts_with(check)));
    found.unwrap_or_else(|| panic!("nothing of {check} in\n{report}"))
}

#[tokio::test]
async fn doctor_finds_a_configuration_in_order() {
    let board = UpProcess::up(NOBODY);
    let (code, report) = doctor(&board, "operators: {greeter: {}}\n", &[]);
    assert_eq!(code, Some(0), "{report}");
    assert!(line(&report, "configuration").starts_with("ok "), "{report}");
    assert!(line(&report, "state directory").contains("which will be made"), "{report}");
    assert!(line(&report, "cluster default").contains(" is Kubernetes v1."), "{report}");
    assert!(line(&report, "operator greeter").ends_with("may read and write all it declares"), "{report}");
    assert!(line(&report, "database").contains("none is named"), "{report}");
    assert!(!board.file("elsewhere").exists(), "looking makes nothing");
    let (_, json) = doctor(&board, "operators: {greeter: {}}\n", &["-o", "json"]);
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["checks"][0]["check"], "configuration");
    assert_eq!(json["checks"][0]["state"], "ok");
}

#[tokio::test]
async fn doctor_names_rights_that_are_missing() {
    let board = UpProcess::up(NOBODY);
    let (code, report) = doctor(&board, "operators: {greeter: {serviceAccount: default/nobody}}\n", &[]);
    assert_eq!(code, Some(1), "{report}");
    let denied = line(&report, "operator greeter");
    assert!(denied.starts_with("wrong "), "{report}");
    let words = "may not create, get, patch configmaps of cluster default, as system:serviceaccount:default:nobody";
    assert!(denied.ends_with(words), "{report}");
    assert!(report.contains("hint: grant it with a ClusterRole"), "{report}");
    assert!(report.ends_with(" to know of\n") && report.contains("\n1 to fix, "), "{report}");
}

#[tokio::test]
async fn doctor_names_clusters_ports_and_databases_that_are_in_the_way() {
    let board = UpProcess::up(NOBODY);
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let more = format!("listen: {}\noperators: {{greeter: {{}}}}\n", taken.local_addr().unwrap());
    let database = format!("sqlite:{}", board.file("empty.db").display());
    fs::write(board.file("empty.db"), "").unwrap();
    let (code, report) = doctor(&board, &more, &["--database", &database]);
    assert_eq!(code, Some(1));
    assert!(line(&report, "listen").starts_with("wrong "), "{report}");
    assert!(line(&report, "database").contains("holds nothing"), "{report}");
    assert!(report.contains("`switchboard gitops migrate` makes what is missing"), "{report}");

    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let text = fs::read_to_string(&board.serving.kubeconfig).unwrap();
    let server = text.lines().find(|line| line.trim_start().starts_with("server:")).unwrap();
    let away = text.replace(server.trim(), &format!("server: https://{closed}"));
    fs::write(board.file("away"), away).unwrap();
    let config = board.file("away.yaml");
    fs::write(&config, "clusters: {hub: {kubeconfig: away}}\noperators: {greeter: {}}\n").unwrap();
    let output = switchboard(&["doctor", "--config"]).arg(config).arg("--state-dir").arg(board.file("s")).output();
    let report = printed(&output.unwrap());
    assert!(line(&report, "cluster hub").starts_with("wrong "), "{report}");
    assert!(report.contains("hint: does the cluster run, and is the address"), "{report}");
    assert!(line(&report, "operator greeter").contains("cluster hub does not answer"), "{report}");
}

#[test]
fn doctor_tells_of_a_configuration_that_cannot_be_read() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("switchboard.yaml"), "operatros: {}\n").unwrap();
    let output = within(folder.path(), &["doctor", "--state-dir", "state"]);
    assert_eq!(output.status.code(), Some(1));
    let report = printed(&output);
    assert!(line(&report, "configuration").starts_with("wrong "), "{report}");
    assert!(report.contains("switchboard.yaml:1:1: operatros: unknown field"), "{report}");
    assert!(report.contains("hint: did you mean `operators`?"), "{report}");
}

/// Output of a running command, line by line.
struct WatchOutput(std::process::Child, std::io::Lines<BufReader<std::process::ChildStdout>>);

impl WatchOutput {
    fn start(board: &UpProcess, arguments: &[&str]) -> Self {
        let mut command = switchboard(arguments);
        command.args(["--watch", "--interval", "1", "--state-dir"]).arg(board.file("state"));
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self(child, lines)
    }

    /// Returns the next line that contains a text.
    fn next(&mut self, words: &str) -> String {
        self.1.by_ref().map_while(Result::ok).find(|line| line.contains(words)).unwrap()
    }

    fn stop(mut self) -> Option<i32> {
        Command::new("kill").args(["-INT", &self.0.id().to_string()]).status().unwrap();
        self.0.wait().unwrap().code()
    }
}

#[tokio::test]
async fn what_is_watched_is_printed_again_when_it_has_changed() {
    let board = UpProcess::up("operators: {greeter: {debounce: 0s, coolDown: 0s}}\n");
    let mut top = WatchOutput::start(&board, &["top"]);
    let mut why_not = WatchOutput::start(&board, &["why-not", "greeter", "-o", "yaml"]);
    assert!(top.next("Ready").contains("greeter"));
    why_not.next("word: Ready");
    board.guest("ada").await;
    assert!(top.next("ConfigMap greeting to appear").contains("Waiting"));
    why_not.next("word: Waiting");
    let mut why = WatchOutput::start(&board, &["why", "configmap/ada-greeting"]);
    why.next("configmap");
    board.words().await;
    why.next("was last written by greeter default/ada");
    assert_eq!((top.stop(), why_not.stop(), why.stop()), (Some(0), Some(0), Some(0)));
}

#[test]
fn completions_are_for_three_shells() {
    let script = |shell: &str| {
        let output = run(&["completion", shell]);
        assert_eq!(output.status.code(), Some(0));
        printed(&output)
    };
    assert!(script("zsh").starts_with("#compdef switchboard"));
    assert!(script("fish").contains("complete -c switchboard"));
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("switchboard.bash"), script("bash")).unwrap();
    let complete = |words: &str, last: usize| {
        let line = format!(
            "source switchboard.bash; COMP_WORDS=({words}); COMP_CWORD={last}; _switchboard switchboard \
             \"${{COMP_WORDS[{last}]}}\" \"${{COMP_WORDS[{last}-1]}}\"; echo \"${{COMPREPLY[@]}}\""
        );
        printed(&Command::new("bash").args(["-c", &line]).current_dir(folder.path()).output().unwrap())
    };
    assert_eq!(complete("switchboard why-n", 1), "why-not\n");
    assert_eq!(complete("switchboard plugs stat", 2), "status\n");
    assert_eq!(complete("switchboard top --outp", 2), "--output\n");
    assert_eq!(complete("switchboard top --output ya", 3), "yaml\n");
    assert_eq!(run(&["completion", "tcsh"]).status.code(), Some(64));
}

#[test]
fn who_reads_no_further_is_told_of_no_error() {
    let mut command = crate::process::switchboard(&["completion", "bash"]);
    let mut child = command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), String::from_utf8_lossy(&output.stderr).as_ref()), (Some(0), ""));
}

#[test]
fn as_a_plugin_of_kubectl_it_is_the_same_binary() {
    let folder = tempfile::tempdir().unwrap();
    let plugin = folder.path().join("kubectl-switchboard");
    symlink(BINARY, &plugin).unwrap();
    let output = Command::new(&plugin).args(["top", "--state-dir", "nowhere"]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(said(&output).starts_with("error: no kernel runs on nowhere\nhint: "), "{}", said(&output));
    let help = Command::new(&plugin).args(["top", "--help"]).output().unwrap();
    assert!(printed(&help).contains("Usage: kubectl switchboard top"), "{}", printed(&help));
}

#[test]
fn data_for_programs_and_terminals_has_no_colours_elsewhere() {
    for arguments in [vec!["--help"], vec!["top", "--no-such"], vec!["plugs", "crds"]] {
        let output = switchboard(&arguments).env("CLICOLOR_FORCE", "1").output().unwrap();
        assert!(!output.stdout.contains(&0x1b) && !output.stderr.contains(&0x1b), "{arguments:?}");
    }
}

/// Lists every command with its path, from the help texts.
fn verbs(path: &[String], out: &mut Vec<Vec<String>>) {
    let mut arguments: Vec<&str> = path.iter().map(String::as_str).collect();
    arguments.push("--help");
    let help = printed(&run(&arguments));
    let listed = help.split("\nCommands:\n").nth(1).unwrap_or_default().split("\n\n").next().unwrap_or_default();
    let names = listed.lines().filter_map(|line| line.strip_prefix("  ")?.split(' ').next().filter(|n| !n.is_empty()));
    let names: Vec<String> = names.filter(|name| *name != "help").map(str::to_string).collect();
    if names.is_empty() {
        out.push(path.to_vec());
    }
    names.iter().for_each(|name| verbs(&[path, std::slice::from_ref(name)].concat(), out));
}

/// Recorded errors: each line `$ …` is run, and its output follows. `UPDATE=1` rewrites the file.
const ERRORS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cli/errors.txt");

/// Variables that would change the output on another machine.
const OF_THE_MACHINE: [&str; 9] = [
    "KUBECONFIG",
    "KUBERNETES_SERVICE_HOST",
    "SWITCHBOARD_GITOPS_DATABASE",
    "SWITCHBOARD_GITOPS_KEYS",
    "DB_ADDR",
    "DB_PASS",
    "ARGO_CD_NAMESPACE",
    "ENABLE_APPPROJECT_ISOLATION",
    "ENVIRONMENT_NAME",
];

fn fail(line: &str, folder: &Path) -> String {
    let words: Vec<&str> = line.split_whitespace().skip(1).collect();
    let mut command = switchboard(&words);
    for name in OF_THE_MACHINE {
        command.env_remove(name);
    }
    let home = folder.join("home");
    let output = command.current_dir(folder).env("HOME", &home).env("XDG_DATA_HOME", &home).output().unwrap();
    let text = format!("{}{}exit {}\n", printed(&output), said(&output), output.status.code().unwrap_or(-1));
    text.replace(&folder.display().to_string(), "DIR")
}

#[test]
fn every_verb_says_what_failed_and_what_helps() {
    let recorded = fs::read_to_string(ERRORS).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::create_dir_all(folder.join("folder")).unwrap();
    fs::write(folder.join("nothing"), "").unwrap();
    fs::write(folder.join("greeter.yaml"), "operators: {greeter: {}}\n").unwrap();
    fs::write(folder.join("typo.yaml"), "operatros: {}\n").unwrap();
    let contexts = "kind: Config\ncontexts: [{name: one, context: {cluster: c, user: u}}]\n";
    fs::write(folder.join("kubeconfig"), contexts).unwrap();
    fs::write(folder.join("key"), "one:AQEB\n").unwrap();
    let made = within(folder, &["gitops", "migrate", "--database", "sqlite:made.db", "--plaintext-credentials"]);
    assert!(made.status.success(), "{}", said(&made));
    let mut now = String::new();
    let mut tried: Vec<Vec<String>> = Vec::new();
    for line in recorded.lines().filter_map(|line| line.strip_prefix("$ ")) {
        let said = fail(line, folder);
        let code: i32 = said.lines().last().and_then(|line| line.strip_prefix("exit ")?.parse().ok()).unwrap();
        assert!(matches!(code, 1 | 64), "`{line}` did not fail:\n{said}");
        // `template` prints errors like Helm.
        assert!(said.lines().any(|line| line.to_lowercase().starts_with("error: ")), "`{line}`:\n{said}");
        assert!(said.lines().any(|line| line.starts_with("hint: ")), "`{line}` gives no hint:\n{said}");
        assert!(!said.contains("\nhint: `switchboard doctor` checks"), "`{line}` has no hint of its own:\n{said}");
        tried.push(line.split_whitespace().skip(1).map(str::to_string).collect());
        now.push_str(&format!("$ {line}\n{said}\n"));
    }
    let now = now.trim_end().to_string() + "\n";
    if std::env::var_os("UPDATE").is_some() {
        fs::write(ERRORS, &now).unwrap();
    } else {
        let stale = recorded.lines().zip(now.lines()).find(|(old, new)| old != new);
        assert!(recorded == now, "{stale:?}\nhint: UPDATE=1 cargo test -p switchboard --test cli words");
    }
    let mut all = Vec::new();
    verbs(&[], &mut all);
    // Words between those of a command are its arguments: `operator greeter input-resources`.
    let is_of = |line: &[String], verb: &[String]| {
        let mut words = line.iter();
        verb.iter().all(|word| words.any(|other| other == word))
    };
    let untried: Vec<String> =
        all.iter().filter(|verb| !tried.iter().any(|line| is_of(line, verb))).map(|verb| verb.join(" ")).collect();
    assert_eq!(untried, Vec::<String>::new(), "hint: add a line `$ switchboard VERB …` that fails to {ERRORS}");
}
