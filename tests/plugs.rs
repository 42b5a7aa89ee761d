//! Conformance cases of Plug and Socket, on the embedded cluster, and with the feature `real` on kube-apiserver.
//!
//! `CASE=14` selects cases by the beginning of their names.
#![allow(clippy::unwrap_used)]

#[path = "plugs/api.rs"]
mod api;
#[path = "plugs/case.rs"]
mod case;
#[path = "plugs/case_run.rs"]
mod case_run;
#[path = "plugs/defects.rs"]
mod defects;
#[path = "plugs/examples.rs"]
mod examples;
#[path = "plugs/expect.rs"]
mod expect;
#[path = "plugs/fields.rs"]
mod fields;
#[path = "plugs/kernel.rs"]
mod kernel;
#[path = "plugs/kinds.rs"]
mod kinds;
#[path = "plugs/kubelet.rs"]
mod kubelet;
#[path = "plugs/server.rs"]
mod server;

use std::time::Duration;

use futures::stream::{self, StreamExt};
use kube::Client;
use serde_json::Value;
use switchboard_cluster::Cluster;

use api::send;
use case::PlugCase;
use case_run::CaseRun;
use kinds::list_path;

/// Maximum number of concurrent cases.
const MAX_CONCURRENT_CASES: usize = 4;

/// Timeout of a step. The longest step waits ten seconds for a program that has stopped.
const TIMEOUT: Duration = Duration::from_secs(20);

/// Timeout until a kind is served.
const SERVED_TIMEOUT: Duration = Duration::from_secs(60);

async fn install(client: &Client) {
    for crd in switchboard_plugs::crds::crds() {
        let path = format!(
            "{}/{}?fieldManager=case-admin",
            list_path("CustomResourceDefinition", ""),
            crd["metadata"]["name"].as_str().unwrap()
        );
        send(client, "APPLY", &path, crd.clone()).await.unwrap();
        // A kind is served shortly after its definition is created.
        let list = list_path(crd["spec"]["names"]["kind"].as_str().unwrap(), "default");
        let end = std::time::Instant::now() + SERVED_TIMEOUT;
        while let Err(error) = send(client, "GET", &list, Value::Null).await {
            assert!(std::time::Instant::now() < end, "{list}: {error}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
}

async fn run(client: Client, name: &str, case: &PlugCase, patience: Duration) -> Result<(), String> {
    let mut world = CaseRun::start(client, name, case, patience).await;
    let mut done = Ok(());
    let mut longest = (Duration::ZERO, 0);
    for (number, step) in case.steps.iter().enumerate() {
        let began = std::time::Instant::now();
        let stepped = world.step(step).await;
        longest = longest.max((began.elapsed(), number + 1));
        if let Err(problem) = stepped {
            let standing = world.status_summary().await;
            done = Err(format!("{name} ({}), step {}: {problem}{standing}", case.title, number + 1));
            break;
        }
    }
    world.stop().await;
    println!("{name}: its longest step, {}, took {:?}", longest.1, longest.0);
    done
}

fn selected_cases() -> Vec<(String, PlugCase)> {
    let wanted = std::env::var("CASE").unwrap_or_default();
    case::all().into_iter().filter(|(name, _)| name.starts_with(&wanted)).collect()
}

fn report(failed: Vec<String>, all: usize) {
    assert!(failed.is_empty(), "{} of {all} cases failed:\n{}", failed.len(), failed.join("\n"));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_cases_hold_on_the_embedded_cluster() {
    let cases = selected_cases();
    let one = |(name, case): &(String, PlugCase)| {
        let (name, case) = (name.clone(), case.clone());
        async move {
            let cluster = Cluster::ephemeral().await;
            cluster.start_controllers();
            install(&cluster.client()).await;
            run(cluster.client(), &name, &case, TIMEOUT).await.err()
        }
    };
    let failed: Vec<String> =
        stream::iter(&cases).map(one).buffered(MAX_CONCURRENT_CASES).filter_map(async |f| f).collect().await;
    report(failed, cases.len());
}

#[cfg(feature = "real")]
#[tokio::test(flavor = "multi_thread")]
async fn the_cases_hold_on_a_real_kube_apiserver() {
    let real = switchboard_suite::real::RealCluster::start().unwrap();
    let target = switchboard_suite::target::TestTarget::open(&real.kubeconfig()).await.unwrap();
    install(&target.admin).await;
    let cases = selected_cases();
    let mut failed = Vec::new();
    // Sequentially, because every operator sees all plugs of the cluster.
    for (name, case) in &cases {
        failed.extend(run(target.admin.clone(), name, case, TIMEOUT).await.err());
    }
    report(failed, cases.len());
}

#[test]
fn every_case_of_the_list_is_there() {
    let names: Vec<String> = case::all().into_iter().map(|(name, _)| name).collect();
    for number in 1..=29 {
        let beginning = format!("{number:02}-");
        assert!(names.iter().any(|name| name.starts_with(&beginning)), "no case {number}");
    }
}

/// Listed in line 207 of the specification; the README's samples are its examples.
#[test]
fn every_sample_of_the_existing_operator_has_a_case() {
    let names: Vec<String> = case::all().into_iter().map(|(name, _)| name).collect();
    let shipped = ["config-samples", "deferredresource", "full-loop", "v1alpha2"];
    let of_readme = ["readme-pair", "readme-interface", "readme-fragments", "readme-apparatus"];
    for sample in shipped.iter().chain(&of_readme) {
        assert!(names.contains(&format!("sample-{sample}")), "no case for {sample}");
    }
}

#[test]
fn cases_name_what_is_known() {
    for (name, case) in case::all() {
        assert!(!case.steps.is_empty(), "{name} does nothing");
        for target in case.steps.iter().flat_map(|step| step.until.keys().chain(step.patch.keys())) {
            kinds::resource_of(target.split('/').next().unwrap());
        }
        for object in case.steps.iter().flat_map(|step| &step.apply).filter_map(Value::as_str) {
            assert!(!case::objects(object).is_empty(), "{name}: {object} is empty");
        }
    }
}
