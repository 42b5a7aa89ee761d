//! Defects of the original that show with its own chart's shape only; others have their tests beside the code.
#![allow(clippy::unwrap_used)]

use serde_json::Value;
use switchboard_integrations::chart::Chart;
use switchboard_integrations::desired::{Builder, Desired};
use switchboard_integrations::settings::Settings;
use switchboard_integrations::source::Bundle;

const RESOURCES: &str = "resources: {requests: {cpu: '1', memory: 1Mi}, limits: {cpu: '2', memory: 2Mi}}";

fn built(parameters: &str, integrations: &[(&str, &str, &str)]) -> Desired {
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
    let bundle = Bundle::of_texts(texts.iter().map(|(path, text)| (path.as_str(), text.as_str())));
    let desired = Builder::new(Chart::own(), Settings::default()).build(&bundle);
    assert_eq!(desired.problems(), []);
    desired
}

fn bodies(desired: &Desired) -> Vec<Value> {
    desired.targets.values().flat_map(|target| target.objects()).map(|object| object.body.clone()).collect()
}

/// Spec 8.3, 12: with two of them, what an environment says of a parameter that both declare was lost.
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

/// Spec 8.1, 1: one whole number of CPUs stopped an environment.
#[test]
fn whole_numbers_of_cpus_are_amounts() {
    let bodies = bodies(&built("", &[("a", "", "")]));
    let resources = &bodies[0]["spec"]["template"]["spec"]["containers"][0]["resources"];
    assert_eq!((&resources["requests"]["cpu"], &resources["limits"]["cpu"]), (&"1".into(), &"2".into()));
}

/// Spec 8.2, 6: unless it is asked for, all shards of an integration share one selector, as they always did: selectors cannot change,
/// and another one would be another hash for every object that runs today.
#[test]
fn shards_share_one_selector() {
    let bodies = bodies(&built("", &[("a", "", "  sharding: {strategy: static, shards: 2}\n")]));
    assert_eq!(bodies[0]["spec"]["selector"], bodies[1]["spec"]["selector"]);
}
