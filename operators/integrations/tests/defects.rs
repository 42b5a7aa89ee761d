//! Defects of qontract-reconcile that only appear with its chart. Tests of other defects are beside the code.
#![allow(clippy::unwrap_used)]

use serde_json::Value;
use switchboard_integrations::chart::IntegrationsChart;
use switchboard_integrations::desired::{DesiredBuilder, DesiredObjects};
use switchboard_integrations::settings::RenderSettings;
use switchboard_integrations::source::Bundle;

const RESOURCES: &str = "resources: {requests: {cpu: '1', memory: 1Mi}, limits: {cpu: '2', memory: 2Mi}}";

fn built(parameters: &str, integrations: &[(&str, &str, &str)]) -> DesiredObjects {
    let lean = format!(
        "$schema: /openshift/lean-namespace-1.yml\nname: ns\ncluster: {{name: c, serverUrl: u}}\n\
         environment: {{name: e, parameters: {{{parameters}}}}}\n"
    );
    let mut texts = vec![("/ns.yml".to_string(), lean)];
    for (name, spec, sharding) in integrations {
        let text = format!(
            "$schema: /app-sre/integration-1.yml\nname: {name}\nmanaged:\n- namespace: {{$ref: /ns.yml}}\n  \
             spec: {{{RESOURCES}{spec}}}\n{sharding}"
        );
        texts.push((format!("/{name}.yml"), text));
    }
    let bundle = Bundle::from_texts(texts.iter().map(|(path, text)| (path.as_str(), text.as_str())));
    let desired = DesiredBuilder::new(IntegrationsChart::builtin(), RenderSettings::default()).build(&bundle);
    assert_eq!(desired.problems(), []);
    desired
}

fn bodies(desired: &DesiredObjects) -> Vec<Value> {
    desired.namespaces.values().flat_map(|target| target.objects()).map(|object| object.body.clone()).collect()
}

/// Spec 8.3, 12: an environment's value was lost if two integrations declared the parameter.
#[test]
fn a_parameter_that_several_integrations_declare_can_be_set() {
    let logs = ", logs: {slack: true, slackErrorFilter: true}";
    let desired = built("SLACK_RECONCILE_ERR_CHANNEL_NAME: mine", &[("a", logs, ""), ("b", logs, "")]);
    for body in bodies(&desired).iter().filter(|body| body["kind"] == "Deployment") {
        let env = body["spec"]["template"]["spec"]["initContainers"][0]["env"].as_array().unwrap();
        let channel = env.iter().find(|one| one["name"] == "SLACK_RECONCILE_ERR_CHANNEL_NAME").unwrap();
        assert_eq!(channel["value"], "mine");
    }
}

/// Spec 8.1, 1: a whole number of CPUs stopped the reconciliation of an environment.
#[test]
fn whole_numbers_of_cpus_are_quantities() {
    let bodies = bodies(&built("", &[("a", "", "")]));
    let resources = &bodies[0]["spec"]["template"]["spec"]["containers"][0]["resources"];
    assert_eq!((&resources["requests"]["cpu"], &resources["limits"]["cpu"]), (&"1".into(), &"2".into()));
}

/// Spec 8.2, 6: by default, all shards of an integration share one selector, as in qontract-reconcile: selectors are
/// immutable, and another one would change the hash of every existing object.
#[test]
fn shards_share_one_selector() {
    let bodies = bodies(&built("", &[("a", "", "  sharding: {strategy: static, shards: 2}\n")]));
    assert_eq!(bodies[0]["spec"]["selector"], bodies[1]["spec"]["selector"]);
}
