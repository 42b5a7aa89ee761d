//! Examples of the two seed documents, verbatim except for completed fields.

use switchboard_integrations::chart::IntegrationsChart;
use switchboard_integrations::desired::{DesiredBuilder, DesiredObjects};
use switchboard_integrations::lint::{LintRule, lint};
use switchboard_integrations::meta::IntegrationMeta;
use switchboard_integrations::settings::RenderSettings;
use switchboard_integrations::source::Bundle;

const NAMESPACE: &str = "{$schema: /openshift/namespace-1.yml, name: testing, cluster: {$ref: /cluster.yml}, environment: {$ref: /env.yml}}";

fn with(integration: &str) -> Bundle {
    Bundle::from_texts([
        ("/integration.yml", integration),
        ("/path/to/namespace/file.yml", NAMESPACE),
        ("/clusters/appint-ex-01/namespaces/testing.yml", NAMESPACE),
        ("/cluster.yml", "{$schema: /openshift/cluster-1.yml, name: appint-ex-01, serverUrl: 'https://appint-ex-01'}"),
        ("/env.yml", "{$schema: /app-sre/environment-1.yml, name: testing}"),
        ("/aws/app-int-example-01/account.yml", "{$schema: /aws/account-1.yml, name: app-int-example-01}"),
        ("/aws/app-int-example-02/account.yml", "{$schema: /aws/account-1.yml, name: app-int-example-02}"),
    ])
}

fn desired(bundle: &Bundle) -> DesiredObjects {
    let desired = DesiredBuilder::new(IntegrationsChart::builtin(), RenderSettings::default()).build(bundle);
    assert_eq!(desired.problems(), [], "aliases are accepted");
    desired
}

/// Returns the names of objects with the image tag of the integration's container.
fn images(desired: &DesiredObjects) -> Vec<(String, String)> {
    let objects = desired.namespaces.values().flat_map(|target| target.objects());
    let images = objects.filter_map(|object| {
        let image = object.body.pointer("/spec/template/spec/containers/0/image")?.as_str()?;
        Some((object.name.clone(), image.rsplit_once(':')?.1.to_string()))
    });
    images.collect()
}

fn renamed(bundle: &Bundle) -> Vec<String> {
    let findings = lint(bundle, &IntegrationMeta::default());
    findings.iter().filter(|one| one.rule == LintRule::RenamedField).map(|one| one.problem.field.clone()).collect()
}

#[test]
fn operate_of_the_first_seed_is_managed() {
    let bundle = with(include_str!("seeds/operate.yml"));
    assert_eq!(images(&desired(&bundle)), [("qontract-reconcile-aws-ami-share".to_string(), "latest".to_string())]);
    assert_eq!(renamed(&bundle), ["operate", "operate[0].spec.shards"]);
}

#[test]
fn overrides_of_the_second_seed_are_overrides() {
    for (text, one, others) in [
        (include_str!("seeds/override.yml"), "foo", "latest"),
        (include_str!("seeds/staged.yml"), "superdangerous", "stable"),
    ] {
        let bundle = with(text);
        let expected = [
            ("qontract-reconcile-terraform-resources-app-int-example-01".to_string(), one.to_string()),
            ("qontract-reconcile-terraform-resources-app-int-example-02".to_string(), others.to_string()),
        ];
        assert_eq!(images(&desired(&bundle)), expected);
        assert_eq!(renamed(&bundle), ["managed[0].shardSpecOverride", "managed[0].spec.shardingStrategy"]);
    }
}

/// qontract-reconcile ignores these names, and so does the compatibility mode.
#[test]
fn compatibility_mode_ignores_outdated_names() {
    let mut settings = RenderSettings::default();
    settings.scope.compat = true;
    let desired =
        DesiredBuilder::new(IntegrationsChart::builtin(), settings).build(&with(include_str!("seeds/operate.yml")));
    assert!(desired.is_empty());
}
