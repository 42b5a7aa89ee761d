#![allow(clippy::unwrap_used)]

use super::*;

const NAMESPACE: &str = "{$schema: /openshift/lean-namespace-1.yml, name: ns, cluster: {name: c, serverUrl: u}, \
                         environment: {name: stage}}";
const ACCOUNT: &str = "{$schema: /aws/account-1.yml, name: one}";

/// Returns a bundle with one integration, whose `managed` list has one element with this content.
fn with(element: &str) -> Bundle {
    let indented: String = element.lines().map(|line| format!("  {line}\n")).collect();
    let text = format!(
        "$schema: /app-sre/integration-1.yml\nlabels: {{}}\nname: terraform-resources\ndescription: d\nschemas: [/x]\n\
         managed:\n- namespace: {{$ref: /ns.yml}}\n{indented}"
    );
    Bundle::from_texts([("/ns.yml", NAMESPACE), ("/account.yml", ACCOUNT), ("/int.yml", &text)])
}

const SPEC: &str = "spec:\n  resources: {requests: {cpu: 100m, memory: 1Mi}, limits: {memory: 2Mi}}\n";

fn findings(bundle: &Bundle) -> Vec<String> {
    lint(bundle, &IntegrationMeta::default()).iter().map(ToString::to_string).collect()
}

#[track_caller]
fn check(element: &str, expected: &[&str]) {
    assert_eq!(findings(&with(element)), expected, "{element}");
}

#[test]
fn valid_data_has_no_findings() {
    check(SPEC, &[]);
    check(
        &format!(
            "{SPEC}sharding: {{strategy: per-aws-account, shardSpecOverrides: [{{shard: {{$ref: /account.yml}}}}]}}"
        ),
        &[],
    );
}

#[test]
fn unknown_fields_are_reported_with_suggestions() {
    check(
        &format!("{SPEC}  extraArg: --x\n  replicas: 3\n"),
        &[
            "warning: /int.yml:10: managed[0].spec.extraArg: is unknown and has no effect (unknown-field)\n\
             hint: did you mean `extraArgs`?",
            "warning: /int.yml:11: managed[0].spec.replicas: is unknown and has no effect (unknown-field)\n\
             hint: known fields are cache, command, concurrencyPolicy, cron, dashdotdb, disableUnleash, enablePushgateway, \
             environmentAware, extraArgs, extraEnv, failedJobHistoryLimit, fluentdResources, imageRef, \
             internalCertificates, logs, resources, restartPolicy, sleepDurationSecs, state, storage, storageClassName, \
             successfulJobHistoryLimit, trigger",
        ],
    );
}

#[test]
fn outdated_names_are_reported_with_their_replacements() {
    let old = format!(
        "shardSpecOverride:\n- {{imageRef: a, awsAccount: {{$ref: /account.yml}}}}\n{SPEC}  shardingStrategy: per-aws-account\n"
    );
    let told = findings(&with(&old));
    let renamed: Vec<&str> = told.iter().map(|one| one.split(": ").nth(2).unwrap()).collect();
    let fields = [
        "managed[0].shardSpecOverride",
        "managed[0].shardSpecOverride[0].awsAccount",
        "managed[0].spec.shardingStrategy",
    ];
    assert_eq!(renamed, fields, "{told:?}");
    assert!(told.iter().all(|one| one.contains("(renamed-field)\nhint: use `")), "{told:?}");
}

#[test]
fn an_override_that_matches_nothing_is_an_error_with_a_hint() {
    check(
        &format!(
            "{SPEC}sharding:\n  strategy: per-aws-account\n  shardSpecOverrides:\n  - {{shard: two, imageRef: x}}\n"
        ),
        &["error: /int.yml:13: managed[0].sharding.shardSpecOverrides[0]: unknown shard `two` (sharding)\n\
           hint: its shards are one"],
    );
}

#[test]
fn broken_references_are_errors_where_they_are_needed_and_warnings_elsewhere() {
    let bundle = Bundle::from_texts([
        (
            "/ns.yml",
            "$schema: /openshift/namespace-1.yml\nname: ns\napp: {$ref: /gone.yml}\ncluster: {$ref: /c.yml}\nenvironment: {$ref: /e.yml}\n",
        ),
        ("/c.yml", "{$schema: /openshift/cluster-1.yml, name: c, serverUrl: u}"),
        ("/e.yml", "{$schema: /app-sre/environment-1.yml, name: e}"),
        (
            "/int.yml",
            "$schema: /app-sre/integration-1.yml\nname: x\nlabels: {}\ndescription: d\nschemas: []\nmanaged:\n- namespace: {$ref: /nss.yml}\n- namespace: {$ref: /ns.yml}\n  spec: {resources: {requests: {cpu: 1, memory: 1}, limits: {memory: 1}}}\n",
        ),
    ]);
    assert_eq!(
        findings(&bundle),
        [
            "error: /int.yml:7: managed[0].namespace: refers to /nss.yml, which does not exist (unusable)",
            "warning: /ns.yml:3: app: refers to /gone.yml, which does not exist (broken-reference)",
        ]
    );
}

#[test]
fn cycles_are_reported_once() {
    let environment =
        |next: &str| format!("$schema: /app-sre/environment-1.yml\nname: {next}\ndependsOn: {{$ref: /{next}.yml}}\n");
    let (a, b) = (environment("b"), environment("a"));
    let bundle = Bundle::from_texts([
        ("/a.yml", a.as_str()),
        ("/b.yml", b.as_str()),
        (
            "/ns.yml",
            "$schema: /openshift/namespace-1.yml\nname: n\nself: {$ref: /ns.yml}\nenvironment: {$ref: /a.yml}\n",
        ),
    ]);
    assert_eq!(
        findings(&bundle),
        [
            "warning: /b.yml:3: dependsOn: is part of a cycle: /a.yml → /b.yml → /a.yml (cycle)",
            "warning: /ns.yml:3: self: is part of a cycle: /ns.yml → /ns.yml (cycle)",
        ]
    );
}

#[test]
fn duplicate_names_are_errors() {
    let integration = "{$schema: /app-sre/integration-1.yml, name: x, labels: {}, description: d, schemas: []}";
    let bundle = Bundle::from_texts([
        ("/a.yml", integration),
        ("/b.yml", integration),
        ("/n1.yml", NAMESPACE),
        ("/n2.yml", NAMESPACE),
        ("/a1.yml", ACCOUNT),
        ("/a2.yml", ACCOUNT),
    ]);
    let told = findings(&bundle);
    for (file, what) in [
        ("/b.yml", "the integration `x` is also defined in /a.yml"),
        ("/n2.yml", "the namespace `ns` of the cluster `c` is also defined in /n1.yml"),
        ("/a2.yml", "the account `one` is also defined in /a1.yml"),
    ] {
        let found = told.iter().find(|one| one.contains(what)).unwrap_or_else(|| panic!("{what}: {told:?}"));
        assert!(found.starts_with(&format!("error: {file}:1: name: ")), "{found}");
    }
}

#[test]
fn an_integration_is_once_in_a_namespace() {
    let text = "$schema: /app-sre/integration-1.yml\nlabels: {}\nname: x\ndescription: d\nschemas: []\nmanaged:\n\
                - {namespace: {$ref: /ns.yml}, spec: &s {resources: {requests: {cpu: 1, memory: 1}, limits: {memory: 1}}}}\n\
                - {namespace: {$ref: /ns.yml}, spec: *s}\n";
    assert_eq!(
        findings(&Bundle::from_texts([("/ns.yml", NAMESPACE), ("/int.yml", text)])),
        [
            "error: /int.yml:8: managed[1]: is for the same namespace as managed[0], /ns.yml (duplicate-name)\nhint: keep one of them"
        ]
    );
}

#[test]
fn invalid_values_are_reported() {
    for (spec, expected) in [
        (
            "cron: 61 * * * *",
            "error: /int.yml:10: managed[0].spec.cron: `61 * * * *` is not a valid schedule: `61` is not a minute from 0 to 59 (bad-value)",
        ),
        (
            "cron: '* * *'",
            "error: /int.yml:10: managed[0].spec.cron: `* * *` is not a valid schedule: it has 3 fields instead of five (bad-value)",
        ),
        (
            "sleepDurationSecs: 5m",
            "error: /int.yml:10: managed[0].spec.sleepDurationSecs: `5m` is not a number of seconds (bad-value)",
        ),
        ("storage: 1Gi", "warning: /int.yml:10: managed[0].spec.storage: has no effect without `cache` (no-effect)"),
        (
            "{cache: true, storageClassName: gp4}",
            "warning: /int.yml:10: managed[0].spec.storageClassName: `gp4` is not a known value (bad-value)\nhint: did you mean `gp2`?",
        ),
        (
            "{cron: '@daily', restartPolicy: Always}",
            "error: /int.yml:10: managed[0].spec.restartPolicy: a CronJob does not support this restart policy (bad-value)\nhint: use OnFailure or Never",
        ),
        (
            "{cron: 5 0-6/2 1,15 jan-mar mon, state: true}",
            "warning: /int.yml:10: managed[0].spec.state: has no effect on a CronJob (no-effect)",
        ),
    ] {
        let lines = spec
            .trim_matches(['{', '}'])
            .replace(", state", "\nstate")
            .replace(", restart", "\nrestart")
            .replace(", storage", "\nstorage");
        let lines: String = lines.lines().map(|line| format!("  {line}\n")).collect();
        let told = findings(&with(&format!("{SPEC}{lines}")));
        let expected =
            if lines.lines().count() == 2 { expected.replace("yml:10", "yml:11") } else { expected.to_string() };
        assert_eq!(told, [expected], "{spec}");
    }
}

#[test]
fn quantities_are_valid_and_requests_within_limits() {
    let resources = |requests: &str, limits: &str| {
        format!("spec:\n  resources: {{requests: {{{requests}}}, limits: {{{limits}}}}}\n")
    };
    check(
        &resources("cpu: 1, memory: 2Gi", "memory: 1Gi"),
        &["error: /int.yml:9: managed[0].spec.resources.requests.memory: exceeds its limit (bad-value)"],
    );
    check(
        &resources("cpu: lots, memory: 1Gi", "memory: 1Gi"),
        &["error: /int.yml:9: managed[0].spec.resources.requests.cpu: `lots` is not a quantity (bad-value)\n\
           hint: use a quantity such as 250m, 2, 512Mi or 1Gi"],
    );
}

#[test]
fn wrong_types_are_reported_by_field_and_disable_only_their_part() {
    let told = findings(&with("spec: {resources: 3}"));
    assert_eq!(told, ["error: /int.yml:8: managed[0].spec.resources: must be a map of fields, not `3` (unusable)"]);
    assert_eq!(
        self::findings(&Bundle::from_texts([(
            "/a.yml",
            "{$schema: /app-sre/integration-1.yml, name: [], labels: {}, description: d, schemas: []}"
        )])),
        ["error: /a.yml:1: name: must be a text, not a list (unusable)"]
    );
}

/// Spec 8.2, 7: names that the API server rejects are reported before a request.
#[test]
fn invalid_object_names_are_errors() {
    let long = "a".repeat(40);
    let named = |name: &str, more: &str| {
        let text = format!(
            "$schema: /app-sre/integration-1.yml\nlabels: {{}}\nname: {name}\ndescription: d\nschemas: []\nmanaged:\n\
             - namespace: {{$ref: /ns.yml}}\n  spec: {{resources: {{requests: {{cpu: 1, memory: 1}}, limits: {{memory: 1}}}}{more}}}\n"
        );
        findings(&Bundle::from_texts([("/ns.yml", NAMESPACE), ("/int.yml", &text)]))
    };
    assert_eq!(named(&long, ""), Vec::<String>::new());
    let error = &named(&long, ", cron: '@daily'")[0];
    let expected = format!(
        "error: /int.yml:7: managed[0]: CronJob \"qontract-reconcile-{long}\" has an invalid name: it has 59 characters"
    );
    assert!(error.starts_with(&expected), "{error}");
    assert!(named("Upper", "")[0].contains("Deployment \"qontract-reconcile-Upper\" has an invalid name"));
}

#[test]
fn missing_fields_of_app_interface_are_reported() {
    let told = findings(&Bundle::from_texts([(
        "/a.yml",
        "{$schema: /app-sre/integration-1.yml, name: x, labels: {}, schemas: []}",
    )]));
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].contains("has no `description`, which app-interface requires (missing-field)"), "{told:?}");
}

#[test]
fn findings_are_bounded() {
    let many: String = (0..MAX_FINDINGS + 10).map(|n| format!("unknown{n}: 1\n")).collect();
    let text =
        format!("$schema: /app-sre/integration-1.yml\nname: x\nlabels: {{}}\ndescription: d\nschemas: []\n{many}");
    assert_eq!(lint(&Bundle::from_texts([("/a.yml", text.as_str())]), &IntegrationMeta::default()).len(), MAX_FINDINGS);
}
