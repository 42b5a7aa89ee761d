//! The page on troubleshooting has a heading for every message that users search for. The messages are those of the code.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use regex::Regex;
use switchboard_gitops::credential::kind::{VALID_CREDENTIAL, VALID_URL};
use switchboard_gitops::environment::kind::{CONDITION, EnvironmentReason};
use switchboard_gitops::kinds::condition::ERROR_OCCURRED;
use switchboard_kernel::explain::describe_wait;
use switchboard_kernel::resource::{ObjectKey, Resource, TableKey};
use switchboard_kernel::state::{OperatorPause, Wait};
use switchboard_kernel::timestamp::Timestamp;
use switchboard_kernel::topology::ClusterName;

use super::root;

const PAGE: &str = "docs/how-to/troubleshooting.md";
/// Files of the operators of plugs and of the GitOps Service that write conditions and warning events, with the name of
/// the page's section.
const CONDITIONS: [&str; 9] = [
    "operators/plugs/src/coupling/condition.rs",
    "operators/plugs/src/deferred.rs",
    "operators/plugs/src/plug/decoupling.rs",
    "operators/plugs/src/plug/integration.rs",
    "operators/plugs/src/plug/legacy_record.rs",
    "operators/plugs/src/socket.rs",
    "operators/plugs/src/socket/calls.rs",
    "operators/plugs/src/socket/summary.rs",
    "operators/gitops/src/credential/kind.rs",
];
/// Other words in the same form: kinds, values of fields, and the reason of success.
const NO_REASONS: [&str; 6] =
    ["Background", "ConfigMap", "False", "GitOpsDeploymentRepositoryCredential", "Succeeded", "True"];

fn page() -> String {
    std::fs::read_to_string(root().join(PAGE)).unwrap()
}

/// Returns a section of the page, without its subsections' siblings.
fn section(title: &str) -> String {
    let page = page();
    let (_, rest) = page.split_once(&format!("\n## {title}\n")).unwrap_or_else(|| panic!("{PAGE} has no `{title}`"));
    rest.split("\n## ").next().unwrap().to_string()
}

fn headings(text: &str) -> BTreeSet<String> {
    text.lines().filter_map(|line| line.strip_prefix("### ")).map(str::to_string).collect()
}

/// Returns one wait of each kind. The match makes a new kind a build error here.
fn waits() -> Vec<Wait> {
    let until = Timestamp(1000);
    let resource = Arc::new(Resource::namespaced("", "v1", "ConfigMap", "configmaps"));
    let table = TableKey { cluster: ClusterName::new("hub"), resource };
    let object = ObjectKey { table: table.clone(), namespace: "shop".into(), name: "web".into() };
    let all = vec![
        Wait::NothingChanged,
        Wait::Running { since: until },
        Wait::Debounced { until },
        Wait::CoolingDown { until },
        Wait::OutOfBudget { until },
        Wait::BackingOff { until, failures: 2 },
        Wait::Slowed { until },
        Wait::Full { running: 3 },
        Wait::RequestsSpent { until },
        Wait::MemorySpent,
        Wait::NotCached { missing: vec![table] },
        Wait::AwaitingCache { object, until },
        Wait::Paused(OperatorPause { by: "ada".to_string(), since: until }),
    ];
    for wait in &all {
        match wait {
            Wait::NothingChanged
            | Wait::Running { .. }
            | Wait::Debounced { .. }
            | Wait::CoolingDown { .. }
            | Wait::OutOfBudget { .. }
            | Wait::BackingOff { .. }
            | Wait::Slowed { .. }
            | Wait::Full { .. }
            | Wait::RequestsSpent { .. }
            | Wait::MemorySpent
            | Wait::NotCached { .. }
            | Wait::AwaitingCache { .. }
            | Wait::Paused(_) => {}
        }
    }
    all
}

#[test]
fn every_reason_of_why_not_has_a_heading() {
    let headings = headings(&section("Reasons of why-not"));
    for wait in waits() {
        let reason = describe_wait(&wait, Timestamp(0));
        assert!(
            headings.iter().any(|heading| reason.starts_with(heading.as_str())),
            "{PAGE} has no heading for `{reason}`"
        );
    }
}

/// Returns the sources of `doctor`, without their tests.
fn doctor_sources() -> Vec<PathBuf> {
    let folder = root().join("app/runtime/src/doctor");
    let below = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let all = below.filter(|path| path.is_file() && !path.ends_with("tests.rs") && !path.ends_with("report.rs"));
    all.chain([root().join("app/runtime/src/doctor.rs")]).collect()
}

fn captures(source: &str, pattern: &str) -> Vec<String> {
    let pattern = Regex::new(pattern).unwrap();
    pattern.captures_iter(source).map(|found| found[1].trim().to_string()).filter(|found| !found.is_empty()).collect()
}

#[test]
fn every_line_of_doctor_has_a_heading() {
    let text = section("Lines of doctor");
    let headings = headings(&text);
    let mut found = 0;
    for path in doctor_sources() {
        let source = std::fs::read_to_string(&path).unwrap();
        let names = [
            r#"DoctorCheck::\w+\(\s*(?:format!\(\s*)?"([^"{]+)"#,
            r#"const [A-Z]+: &str = "([a-z ]+)";"#,
            r#"let (?:check|name) = (?:format!\()?"([^"{]+)"#,
        ];
        for name in names.iter().flat_map(|pattern| captures(&source, pattern)) {
            assert!(headings.contains(&name), "{PAGE} has no heading for doctor's line `{name}`");
            found += 1;
        }
        // The message itself is in the section, as far as it does not depend on the machine.
        let messages = [
            r#"DoctorCheck::(?:warning|error)\(\s*(?:"[^"]*"|\w+),\s*(?:format!\(\s*)?"([^"]+)""#,
            r#"let found = (?:format!\(\s*)?"([^"]+)""#,
        ];
        for message in messages.iter().flat_map(|pattern| captures(&source, pattern)) {
            let fixed = message.split(['{', '}', ':', ';']).max_by_key(|part| part.len()).unwrap_or_default().trim();
            assert!(fixed.split(' ').count() < 3 || text.contains(fixed), "{PAGE} lacks doctor's message `{fixed}`");
        }
    }
    assert!(found > 10, "{found} lines of doctor were found");
}

#[test]
fn every_condition_and_reason_of_our_kinds_has_a_heading() {
    let all = headings(&page());
    let mut reasons: BTreeSet<String> =
        [ERROR_OCCURRED, VALID_URL, VALID_CREDENTIAL, CONDITION].map(str::to_string).into();
    reasons.extend(EnvironmentReason::ALL.iter().map(|reason| reason.as_str().to_string()));
    for file in CONDITIONS {
        let source = std::fs::read_to_string(root().join(Path::new(file))).unwrap();
        let source = source.split("\nmod tests {").next().unwrap();
        let found = captures(source, r#""((?:[A-Z][a-z]+)+)""#);
        assert!(!found.is_empty(), "{file} has no reasons");
        reasons.extend(found);
    }
    let missing: Vec<&String> =
        reasons.iter().filter(|reason| !NO_REASONS.contains(&reason.as_str()) && !all.contains(*reason)).collect();
    assert_eq!(missing, Vec::<&String>::new(), "hint: give it a heading in {PAGE}");
}

#[test]
fn every_event_of_the_kernel_has_a_heading() {
    let headings = headings(&section("Warning events"));
    let source = std::fs::read_to_string(root().join("kernel/kernel/src/host/event.rs")).unwrap();
    let reasons = captures(&source, r#"Finding::\w+ \{ at, \.\. \} => \("(\w+)""#);
    assert_eq!(reasons.len(), 2, "{reasons:?}");
    for reason in reasons {
        assert!(headings.iter().any(|heading| heading.starts_with(&reason)), "{PAGE} has no heading for `{reason}`");
    }
}

/// Messages about an operator of another name, with the file that has them and the form of their heading.
const UNKNOWN_OPERATOR: [(&str, &str, &str); 2] = [
    ("app/cli/src/explain.rs", "no operator {} is running", "no operator NAME is running"),
    ("app/cli/src/run/only.rs", "unknown operator `{0}`", "unknown operator"),
];

#[test]
fn every_message_about_an_unknown_operator_has_a_heading() {
    let headings = headings(&page());
    for (file, message, heading) in UNKNOWN_OPERATOR {
        assert!(std::fs::read_to_string(root().join(file)).unwrap().contains(message), "{file} lacks `{message}`");
        assert!(headings.contains(heading), "{PAGE} has no heading `{heading}`");
    }
}
