//! The reference of the configuration has every field of every family.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use switchboard_gitops::family::GitopsFamily;
use switchboard_greeter::Greeter;
use switchboard_integrations::family::IntegrationsFamily;
use switchboard_kernel::config::ConfigErrors;
use switchboard_kernel::family::SingleOperator;

use super::*;

/// Families of the example in the reference.
const EXAMPLE: Families = Families(&[
    &SingleOperator { name: &["greeter"], create: || Arc::new(Greeter) },
    &SingleOperator { name: &["tenants"], create: || Arc::new(Greeter) },
    &IntegrationsFamily,
    &GitopsFamily,
]);

fn parse(text: &str) -> Result<Config, ConfigErrors> {
    Config::parse("switchboard.yaml", text, EXAMPLE)
}

#[test]
fn the_example_of_the_reference_is_read() {
    let document = include_str!("../../../../docs/reference/configuration.md");
    let example = document.split("```yaml\n").nth(1).unwrap().split("```").next().unwrap();
    let config = parse(example).unwrap();
    assert_eq!(config.operators.len(), 3);
    // The example contains every field, so that the reference is complete and correct.
    for field in FIELDS {
        let key = field.rsplit('.').next().unwrap();
        assert!(example.contains(&format!("{key}:")), "the example does not show `{field}`");
        assert!(document.contains(&format!("| `{field}` |")), "the reference has no row for `{field}`");
    }
}

/// All fields.
const FIELDS: [&str; 75] = [
    "gitops.backend",
    "gitops.agent",
    "gitops.database",
    "gitops.credentialsKeyFile",
    "gitops.plaintextCredentials",
    "gitops.namespace",
    "gitops.isolation",
    "gitops.sharedDatabase",
    "gitops.webhookSecretFile",
    "gitops.limits",
    "clusters",
    "clusters.*.kubeconfig",
    "clusters.*.context",
    "topology.configuration",
    "topology.management",
    "topology.userWorkload",
    "topology.namespaces.configuration",
    "topology.namespaces.management",
    "topology.namespaces.userWorkload",
    "topology.namespaces.*.prefix",
    "topology.namespaces.*.named",
    "topology.namespaces",
    "limits.maxConcurrent",
    "limits.requestsPerSecond",
    "limits.processMemory",
    "journal.maxBytes",
    "journal.maxAge",
    "listen",
    "console.address",
    "console.hosts",
    "operators",
    "operators.*.enabled",
    "operators.*.debounce",
    "operators.*.coolDown",
    "operators.*.writesPerSecond",
    "operators.*.writesPerMinute",
    "operators.*.resync",
    "operators.*.backoff.first",
    "operators.*.backoff.max",
    "operators.*.timeout",
    "operators.*.maxConcurrent",
    "operators.*.memory",
    "operators.*.serviceAccount",
    "operators.*.settings",
    "operators.*.limits",
    "operators.*.name",
    "operators.*.command",
    "operators.*.live",
    "operators.*.env",
    "operators.*.files",
    "operators.*.egress",
    "operators.*.controllers",
    "operators.*.sandbox",
    "operators.*.disk",
    "operators.*.processes",
    "integrations.source",
    "integrations.authorization",
    "integrations.interval",
    "integrations.environment",
    "integrations.upstream",
    "integrations.image",
    "integrations.imageTagFromRef",
    "integrations.commits",
    "integrations.chart",
    "integrations.options",
    "integrations.compat",
    "integrations.takeOver",
    "integrations.deleteShare",
    "integrations.deleteFloor",
    "integrations.allowDeletes",
    "integrations.shardLabels",
    "integrations.tokens",
    "integrations.tokenNamespace",
    "integrations.limits",
    "topology",
];

#[test]
fn the_reference_knows_every_field() {
    let sections = [
        ("", "zzzzzzzzz: 1"),
        ("clusters.*.", "clusters: {a: {zzzzzzzzz: 1}}"),
        ("topology.", "topology: {zzzzzzzzz: 1}"),
        ("topology.namespaces.", "topology: {namespaces: {zzzzzzzzz: 1}}"),
        ("topology.namespaces.*.", "topology: {namespaces: {management: {zzzzzzzzz: 1}}}"),
        ("limits.", "limits: {zzzzzzzzz: 1}"),
        ("journal.", "journal: {zzzzzzzzz: 1}"),
        ("integrations.", "integrations: {source: x, zzzzzzzzz: 1}"),
        ("operators.*.", "integrations: {source: x, limits: {zzzzzzzzz: 1}}"),
        ("gitops.", "gitops: {zzzzzzzzz: 1}"),
        ("operators.*.", "gitops: {limits: {zzzzzzzzz: 1}}"),
        ("operators.*.", "gitops: {}\noperators: {gitops-tenants: {zzzzzzzzz: 1}}"),
        ("operators.*.", "operators: {greeter: {zzzzzzzzz: 1}}"),
        ("operators.*.", "operators: [{name: greeter, zzzzzzzzz: 1}]"),
        ("operators.*.", "operators: {greeter: {limits: {zzzzzzzzz: 1}}}"),
        ("operators.*.backoff.", "operators: {greeter: {backoff: {zzzzzzzzz: 1}}}"),
    ];
    for (section, text) in sections {
        let hint = parse(text).unwrap_err().errors.remove(0).hint.unwrap();
        let named = hint.strip_prefix("valid names: ").unwrap().split(", ");
        // A hint lists only as many words as fit.
        for field in named.filter(|field| !field.starts_with("and ")) {
            let path = format!("{section}{field}");
            let inner = format!("{path}.");
            assert!(FIELDS.iter().any(|f| *f == path || f.starts_with(&inner)), "FIELDS lacks `{path}`");
        }
    }
}
