//! Rules about operators: one trait, and decisions without I/O and memory.

use regex::Regex;

use crate::production::production;
use crate::source::code;
use crate::{none, rust_files};

/// Files and folders with the decisions of operators.
const DECISIONS: &[&str] = &[
    "examples",
    "hosting/hosted/src/generated.rs",
    "hosting/hosted/src/hosted_operator.rs",
    "hosting/hosted/src/inputs.rs",
    "hosting/hosted/src/plan.rs",
    "operators/engine/src",
    "operators/gitops/src",
    "operators/integrations/src/operator.rs",
    "operators/integrations/src/operator",
    "operators/plugs/src",
];

/// Files and folders among them that are no decisions, with the reason.
const EXCEPTIONS: &[(&str, &str)] = &[
    ("examples/rogue", "misbehaves on purpose, also with memory"),
    (
        "operators/engine/src/operator/destination_operators.rs",
        "the host records started operators; a question reads them",
    ),
    ("operators/engine/src/source.rs", "answers questions for repositories, with a cache"),
    ("operators/integrations/src/operator/desired_store.rs", "the host replaces the desired state; questions read it"),
    ("operators/plugs/src/apparatus/call", "answers questions for apparatuses: sends their requests"),
    ("operators/plugs/src/apparatus/call_limit.rs", "limits these requests"),
    ("operators/gitops/src/agent.rs", UNTIL_ROWS),
    ("operators/gitops/src/agent/row_events.rs", UNTIL_ROWS),
    ("operators/gitops/src/argocd/engine_client.rs", "requests of commands and moves to Argo CD's cluster"),
    ("operators/gitops/src/backend.rs", UNTIL_ROWS),
    ("operators/gitops/src/backend/row_events.rs", UNTIL_ROWS),
    ("operators/gitops/src/backup/adoption.rs", "a command of the user"),
    ("operators/gitops/src/deployment/failed_deployments.rs", UNTIL_ROWS),
    ("operators/gitops/src/deployment/unplaced.rs", UNTIL_ROWS),
    ("operators/gitops/src/environment/cluster.rs", "answers checks of clusters"),
    ("operators/gitops/src/external_checks.rs", UNTIL_ROWS),
    ("operators/gitops/src/family.rs", "opens an empty database for declarations and replays"),
    ("operators/gitops/src/instance/fleet.rs", "commands of the user"),
    ("operators/gitops/src/metrics.rs", "answers scrapes"),
    ("operators/gitops/src/moves/execution.rs", UNTIL_ROWS),
    ("operators/gitops/src/network.rs", UNTIL_ROWS),
    ("operators/gitops/src/operation/open_operations.rs", UNTIL_ROWS),
    ("operators/gitops/src/operation/upkeep.rs", UNTIL_ROWS),
    ("operators/gitops/src/rest/webhook.rs", "names the type of a client's address"),
    ("operators/gitops/src/store.rs", UNTIL_ROWS),
    ("operators/gitops/src/tenant/settled_namespaces.rs", UNTIL_ROWS),
];

/// Reason of the exceptions that end when views have rows.
const UNTIL_ROWS: &str = "its questions read, decide and commit rows until its operators read rows from views";

/// State between decisions, concurrency, processes, clocks and connections.
const BANNED: &str = r"\b(Mutex|RwLock|Condvar|Atomic[A-Z]\w*|mpsc|oneshot|Instant|SystemTime|TcpStream|TcpListener|UnixStream|UdpSocket)\b|\bstd::(thread|process|net)\b|\bthread_local\b|\btokio\b|\b(Timestamp|Zoned)::now\b";

fn banned(code: &str) -> Vec<(usize, String)> {
    let word = Regex::new(BANNED).unwrap();
    let lines = code.lines().enumerate();
    lines.filter_map(|(number, line)| Some((number + 1, word.find(line)?.as_str().to_string()))).collect()
}

#[test]
fn decisions_hold_no_state_and_do_no_io() {
    let mut breaches = Vec::new();
    for (path, text) in DECISIONS.iter().flat_map(|decisions| production(decisions)) {
        if !EXCEPTIONS.iter().any(|(exception, _)| path.starts_with(exception)) {
            // Comments span whole lines, so the numbers of lines are kept.
            let found = banned(&code(&text)).into_iter();
            breaches.extend(found.map(|(number, word)| format!("{}:{number}: {word}", path.display())));
        }
    }
    none(breaches, "move it behind a question: the function that `View::ask` calls performs the I/O");
}

#[test]
fn exceptions_are_needed() {
    let is_needed = |exception: &str| production(exception).iter().any(|(_, text)| !banned(&code(text)).is_empty());
    let stale = EXCEPTIONS.iter().filter(|(exception, _)| !is_needed(exception));
    none(stale.map(|(exception, _)| exception.to_string()).collect(), "remove the row from EXCEPTIONS");
}

/// Traits for operators that code declares or implements.
fn operator_traits(code: &str) -> Vec<String> {
    let declared = Regex::new(r"\btrait\s+(\w*Operator)\b").unwrap();
    let implemented = Regex::new(r"\bimpl(?:<[^{;]*?>)?\s+(?:\w+::)*(\w*Operator)(?:<[^{;]*?>)?\s+for\b").unwrap();
    [declared, implemented]
        .iter()
        .flat_map(|pattern| pattern.captures_iter(code).map(|found| found[1].to_string()).collect::<Vec<_>>())
        .collect()
}

#[test]
fn operators_implement_one_trait() {
    let mut breaches = Vec::new();
    for (path, text) in rust_files() {
        let other = operator_traits(&code(&text)).into_iter().filter(|name| name != "Operator");
        breaches.extend(other.map(|name| format!("{}: trait {name}", path.display())));
    }
    none(breaches, "implement `Operator`; for I/O, ask a `Question` of the view");
}

#[test]
fn operator_traits_and_state_are_found() {
    assert_eq!(operator_traits("pub trait DistantOperator: Send {}"), ["DistantOperator"]);
    assert_eq!(operator_traits("impl<T: A<B>> kernel::Operator for C<T> {}"), ["Operator"]);
    assert_eq!(operator_traits("impl DistantOperator<u8> for C {}"), ["DistantOperator"]);
    assert_eq!(operator_traits("impl From<HostedOperator> for C {} struct GreetOperator;"), Vec::<String>::new());
    assert_eq!(banned("let a = 1;\nstatic B: Mutex<u8>;"), [(2, "Mutex".to_string())]);
    for allowed in ["let instant = now;", "process(value)", "Instantly::new()", "thread.name()"] {
        assert_eq!(banned(allowed), [], "{allowed}");
    }
}
