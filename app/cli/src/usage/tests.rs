//! The whole command line: its generated reference, and checks of every command.
#![allow(clippy::unwrap_used)]

use std::path::Path;

use super::*;

/// Reference of the command line in the documentation; `UPDATE=1` rewrites it.
const REFERENCE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/CLI.md");
/// Head of the reference.
const HEAD: &str = "# The command line\n\n\
    Generated from the binary; `UPDATE=1 cargo test -p switchboard usage` rewrites it.\n\n\
    All commands share these conventions: data is printed to stdout and messages to stderr; `-o table|wide|json|yaml` sets the output format; `--watch`\n\
    prints changes until interrupted; `--kubeconfig`, `--context` and `-n` work like kubectl's. An error states what failed, the cause, and a `hint:`.\n\n";

/// Lists every command with its path, in the order of the help.
fn verbs(command: &Command, path: &[String], out: &mut Vec<(Vec<String>, Command)>) {
    for sub in command.get_subcommands().filter(|sub| sub.get_name() != "help" && !sub.is_hide_set()) {
        let path = [path, &[sub.get_name().to_string()]].concat();
        out.push((path.clone(), sub.clone()));
        verbs(sub, &path, out);
    }
}

fn all() -> Vec<(Vec<String>, Command)> {
    let mut root = command("switchboard");
    root.build();
    let mut out = vec![(Vec::new(), root.clone())];
    verbs(&root, &[], &mut out);
    out
}

/// Renders the help of a command without values of this process's environment.
fn help(command: Command) -> String {
    let mut command = command.mut_args(|argument| argument.hide_env_values(true)).color(clap::ColorChoice::Never);
    let text = command.render_long_help().to_string();
    text.lines().map(|line| format!("{}\n", line.trim_end())).collect()
}

#[test]
fn reference_matches_the_binary() {
    let mut text = HEAD.to_string();
    for (path, command) in all() {
        let name = [&["switchboard".to_string()], &path[..]].concat().join(" ");
        text.push_str(&format!("## {name}\n\n```text\n{}```\n\n", help(command)));
    }
    let text = format!("{}\n", text.trim_end());
    if std::env::var_os("UPDATE").is_some() {
        std::fs::create_dir_all(Path::new(REFERENCE).parent().unwrap()).unwrap();
        std::fs::write(REFERENCE, &text).unwrap();
    }
    let written = std::fs::read_to_string(REFERENCE).unwrap_or_default();
    let stale = written.lines().zip(text.lines()).find(|(old, new)| old != new);
    assert!(
        written == text,
        "docs/reference/CLI.md is stale: {stale:?}\nhint: UPDATE=1 cargo test -p switchboard usage"
    );
}

#[test]
fn every_command_and_argument_has_help() {
    let mut silent = Vec::new();
    for (path, command) in all() {
        if command.get_about().is_none() && command.get_long_about().is_none() {
            silent.push(path.join(" "));
        }
        let arguments = command.get_arguments().filter(|one| !one.is_hide_set());
        let speechless = arguments.filter(|one| one.get_help().is_none() && one.get_long_help().is_none());
        silent.extend(speechless.map(|one| format!("{} {}", path.join(" "), one.get_id())));
    }
    assert_eq!(silent, Vec::<String>::new());
}

/// A flag has the same meaning in all commands.
#[test]
fn options_of_the_same_name_have_the_same_meaning() {
    let mut odd = Vec::new();
    for (path, command) in all() {
        for argument in command.get_arguments() {
            let name = format!("{} --{}", path.join(" "), argument.get_id());
            let value = argument.get_value_names().map(|names| names.join(" ")).unwrap_or_default();
            match argument.get_id().as_str() {
                "output" if argument.get_long() == Some("output") => {
                    let known: Vec<String> =
                        argument.get_possible_values().iter().map(|v| v.get_name().to_string()).collect();
                    // A drawing is not a report.
                    let picture = path.join(" ") == "plugs graph";
                    if argument.get_short() != Some('o') || !(picture || known.iter().any(|v| v == "json")) {
                        odd.push(format!("{name}: {known:?}"));
                    }
                }
                "namespace" if argument.get_short() != Some('n') => odd.push(name),
                "kubeconfig" | "config" if value != "FILE" => odd.push(format!("{name} {value}")),
                "context" if value != "NAME" => odd.push(format!("{name} {value}")),
                "watch" if argument.get_short() != Some('w') => odd.push(name),
                "state_dir" if value != "DIR" => odd.push(format!("{name} {value}")),
                _ => {}
            }
        }
    }
    assert_eq!(odd, Vec::<String>::new());
}

fn refused(line: &[&str]) -> String {
    let line = line.iter().map(OsString::from);
    match parse(line) {
        Err(error) => text(&error, false),
        Ok(_) => panic!("it is understood"),
    }
}

#[test]
fn usage_errors_have_a_hint_for_every_command() {
    for (path, _) in all() {
        let mut line = vec!["switchboard"];
        line.extend(path.iter().map(String::as_str));
        line.push("--no-such-option");
        let stderr_text = refused(&line);
        assert!(stderr_text.starts_with("error: "), "{line:?}: {stderr_text}");
        assert!(stderr_text.lines().last().unwrap().starts_with("hint: "), "{line:?}: {stderr_text}");
    }
    assert!(refused(&["switchboard"]).starts_with("error: no command was given\n"));
    assert!(refused(&["switchboard", "whi"]).contains("a similar subcommand exists: 'why'"));
}

#[test]
fn kubectl_plugin_prints_usage_as_kubectl() {
    let stderr_text = refused(&["/usr/bin/kubectl-switchboard", "why"]);
    assert!(stderr_text.contains("Usage: kubectl switchboard why"), "{stderr_text}");
    assert!(refused(&["./switchboard", "why"]).contains("Usage: switchboard why"));
}
