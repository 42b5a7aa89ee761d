//! The whole command line: first steps, completion, use as a plugin, and the error of each command.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use crate::process::{run, stderr_text, switchboard};
use crate::up_process::{NO_OPERATORS, UpProcess};

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
    assert_eq!(first.status.code(), Some(0), "{}", stderr_text(&first));
    assert!(
        stderr_text(&first).starts_with("wrote switchboard.yaml\nhint: `switchboard doctor "),
        "{}",
        stderr_text(&first)
    );
    let file = folder.path().join("switchboard.yaml");
    let text = fs::read_to_string(&file).unwrap();
    assert_eq!(printed(&within(folder.path(), &["init", "--config", "-"])), text);
    fs::write(&file, "mine").unwrap();
    let second = within(folder.path(), &["init"]);
    assert_eq!(second.status.code(), Some(1));
    assert!(stderr_text(&second).starts_with("error: could not write switchboard.yaml: file already exists\nhint: "));
    assert_eq!(fs::read_to_string(file).unwrap(), "mine");
}

pub fn doctor(running: &UpProcess, operators: &str, more: &[&str]) -> (Option<i32>, String) {
    let config = running.outside(operators);
    let mut command = switchboard(&["doctor", "--config"]);
    command.arg(config).arg("--state-dir").arg(running.file("elsewhere")).args(more);
    command.env_remove("SWITCHBOARD_GITOPS_DATABASE");
    let output = command.output().unwrap();
    (output.status.code(), printed(&output))
}

pub fn line<'a>(report: &'a str, check: &str) -> &'a str {
    let found = report.lines().find(|line| line.get(9..).is_some_and(|rest| rest.starts_with(check)));
    found.unwrap_or_else(|| panic!("nothing of {check} in\n{report}"))
}

#[tokio::test]
async fn doctor_passes_a_valid_configuration() {
    let running = UpProcess::up(NO_OPERATORS);
    let (code, report) = doctor(&running, "operators: {greeter: {}}\n", &[]);
    assert_eq!(code, Some(0), "{report}");
    assert!(line(&report, "configuration").starts_with("ok "), "{report}");
    assert!(line(&report, "state directory").contains(", will be created"), "{report}");
    assert!(line(&report, "cluster default").contains(" runs Kubernetes v1."), "{report}");
    assert!(line(&report, "operator greeter").ends_with("may read and write all declared types"), "{report}");
    assert!(line(&report, "database").contains("not configured"), "{report}");
    assert!(!running.file("elsewhere").exists(), "looking makes nothing");
    let (_, json) = doctor(&running, "operators: {greeter: {}}\n", &["-o", "json"]);
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["checks"][0]["check"], "configuration");
    assert_eq!(json["checks"][0]["state"], "ok");
}

#[tokio::test]
async fn doctor_names_missing_permissions() {
    let running = UpProcess::up(NO_OPERATORS);
    let (code, report) = doctor(&running, "operators: {greeter: {serviceAccount: default/stranger}}\n", &[]);
    assert_eq!(code, Some(1), "{report}");
    let denied = line(&report, "operator greeter");
    assert!(denied.starts_with("error "), "{report}");
    let words = "may not create, get, patch configmaps of cluster default, as system:serviceaccount:default:stranger";
    assert!(denied.ends_with(words), "{report}");
    assert!(report.contains("hint: grant the permission with a ClusterRole"), "{report}");
    assert!(report.ends_with("\n1 error, 0 warnings\n"), "{report}");
}

#[tokio::test]
async fn doctor_names_problems_of_clusters_ports_and_databases() {
    let running = UpProcess::up(NO_OPERATORS);
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let more = format!("listen: {}\noperators: {{greeter: {{}}}}\n", taken.local_addr().unwrap());
    let database = format!("sqlite:{}", running.file("empty.db").display());
    fs::write(running.file("empty.db"), "").unwrap();
    let (code, report) = doctor(&running, &more, &["--database", &database]);
    assert_eq!(code, Some(1));
    assert!(line(&report, "listen").starts_with("error "), "{report}");
    assert!(line(&report, "database").contains("is empty"), "{report}");
    assert!(report.contains("migrate it with `switchboard gitops migrate`"), "{report}");

    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let text = fs::read_to_string(&running.serving.kubeconfig).unwrap();
    let server = text.lines().find(|line| line.trim_start().starts_with("server:")).unwrap();
    let away = text.replace(server.trim(), &format!("server: https://{closed}"));
    fs::write(running.file("away"), away).unwrap();
    let config = running.file("away.yaml");
    fs::write(&config, "clusters: {hub: {kubeconfig: away}}\noperators: {greeter: {}}\n").unwrap();
    let output = switchboard(&["doctor", "--config"]).arg(config).arg("--state-dir").arg(running.file("s")).output();
    let report = printed(&output.unwrap());
    assert!(line(&report, "cluster hub").starts_with("error "), "{report}");
    assert!(report.contains("hint: check that the cluster is running, and the address"), "{report}");
    assert!(line(&report, "permissions").contains("cluster hub does not answer"), "{report}");
}

#[test]
fn doctor_reports_an_unreadable_configuration() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("switchboard.yaml"), "operatros: {}\n").unwrap();
    let output = within(folder.path(), &["doctor", "--state-dir", "state"]);
    assert_eq!(output.status.code(), Some(1));
    let report = printed(&output);
    assert!(line(&report, "configuration").starts_with("error "), "{report}");
    assert!(report.contains("switchboard.yaml:1:1: operatros: unknown field"), "{report}");
    assert!(report.contains("hint: did you mean `operators`?"), "{report}");
}

/// Output of a running command, line by line.
struct WatchOutput(std::process::Child, std::io::Lines<BufReader<std::process::ChildStdout>>);

impl WatchOutput {
    fn start(running: &UpProcess, arguments: &[&str]) -> Self {
        let mut command = switchboard(arguments);
        command.args(["--watch", "--interval", "1s", "--state-dir"]).arg(running.file("state"));
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
async fn watch_prints_changes() {
    let running = UpProcess::up("operators: {greeter: {debounce: 0s, coolDown: 0s}}\n");
    let mut top = WatchOutput::start(&running, &["top"]);
    let mut why_not = WatchOutput::start(&running, &["why-not", "greeter", "-o", "yaml"]);
    assert!(top.next("Ready").contains("greeter"));
    why_not.next("state: Ready");
    running.guest("ada").await;
    assert!(top.next("ConfigMap greeting to appear").contains("Waiting"));
    why_not.next("state: Waiting");
    let mut why = WatchOutput::start(&running, &["why", "configmap/ada-greeting"]);
    why.next("configmap");
    running.words().await;
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

/// Operators that misbehave on purpose are accepted by name only.
#[test]
fn completions_do_not_list_samples() {
    let script = |shell: &str| printed(&run(&["completion", shell]));
    for shell in ["bash", "zsh", "fish"] {
        assert!(!script(shell).contains("rogue"), "{shell}");
    }
    assert!(script("bash").contains("greeter"));
}

#[test]
fn closed_pipe_is_no_error() {
    let mut command = crate::process::switchboard(&["completion", "bash"]);
    let mut child = command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), String::from_utf8_lossy(&output.stderr).as_ref()), (Some(0), ""));
}

#[test]
fn kubectl_plugin_is_the_same_binary() {
    let folder = tempfile::tempdir().unwrap();
    let plugin = folder.path().join("kubectl-switchboard");
    symlink(BINARY, &plugin).unwrap();
    let output = Command::new(&plugin).args(["top", "--state-dir", "nowhere"]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(
        stderr_text(&output).starts_with("error: no kernel is running with state directory nowhere\nhint: "),
        "{}",
        stderr_text(&output)
    );
    let help = Command::new(&plugin).args(["top", "--help"]).output().unwrap();
    assert!(printed(&help).contains("Usage: kubectl switchboard top"), "{}", printed(&help));
}

#[test]
fn colors_are_only_for_terminals() {
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
    let text = format!("{}{}exit {}\n", printed(&output), stderr_text(&output), output.status.code().unwrap_or(-1));
    text.replace(&folder.display().to_string(), "DIR")
}

#[test]
fn every_command_reports_errors_with_hints() {
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
    assert!(made.status.success(), "{}", stderr_text(&made));
    let mut now = String::new();
    let mut tried: Vec<Vec<String>> = Vec::new();
    for line in recorded.lines().filter_map(|line| line.strip_prefix("$ ")) {
        let stderr_text = fail(line, folder);
        let code: i32 = stderr_text.lines().last().and_then(|line| line.strip_prefix("exit ")?.parse().ok()).unwrap();
        assert!(matches!(code, 1 | 64), "`{line}` did not fail:\n{stderr_text}");
        // `template` prints errors like Helm.
        assert!(stderr_text.lines().any(|line| line.to_lowercase().starts_with("error: ")), "`{line}`:\n{stderr_text}");
        assert!(stderr_text.lines().any(|line| line.starts_with("hint: ")), "`{line}` gives no hint:\n{stderr_text}");
        assert!(
            !stderr_text.contains("\nhint: `switchboard doctor` checks"),
            "`{line}` has no hint of its own:\n{stderr_text}"
        );
        tried.push(line.split_whitespace().skip(1).map(str::to_string).collect());
        now.push_str(&format!("$ {line}\n{stderr_text}\n"));
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
