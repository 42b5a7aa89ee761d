#![allow(clippy::unwrap_used)]

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use switchboard_gitops::config::GitopsConfig;
use switchboard_gitops::family::declared_operators;
use switchboard_kernel::host::{Host, HostSettings};
use switchboard_kernel::journal::{Journal, JournalLimits};
use switchboard_kernel::limits::Limits;
use switchboard_kernel::operator::{DecideError, Declaration, Unit, UnitId, Units};
use switchboard_kernel::plan::Plan;
use switchboard_kernel::state::Wait;
use switchboard_kernel::view::View;

use super::*;
use crate::families::FAMILIES;

fn config(text: &str) -> Config {
    Config::parse("switchboard.yaml", text, FAMILIES).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// Configurations that set the limits of an operator, by prefix of its name.
const PLACES: [(&str, &str); 5] = [
    ("integrations@", "integrations: {source: x, limits: LIMITS}\n"),
    ("gitops-", "gitops: {limits: LIMITS}\n"),
    ("engine", "operators: {engine: {limits: LIMITS}}\n"),
    ("program", "operators: {program: {command: ./program, limits: LIMITS}}\n"),
    ("", "operators: {NAME: {limits: LIMITS}}\n"),
];
/// Configurations that set the limits of one part of a service or engine by its own name.
const OWN_PLACES: [(&str, &str); 3] = [
    ("integrations@", "integrations: {source: x}\noperators: {NAME: LIMITS}\n"),
    ("gitops-", "gitops: {}\noperators: {NAME: LIMITS}\n"),
    ("engine@", "operators: {engine: , NAME: {limits: LIMITS}}\n"),
];

/// Returns the names of all operators that `run` and `up` can host, with one example for operators of clusters.
async fn all() -> BTreeSet<String> {
    let section = GitopsConfig::default();
    let service = declared_operators(&section).await.unwrap();
    let service = service.iter().map(|operator| operator.name().to_string());
    let native = FAMILIES.operators().into_iter().chain(FAMILIES.samples()).map(String::from);
    let of_clusters = ["engine@argocd.one", "integrations@east", "program"].map(String::from);
    service.chain(native).chain(of_clusters).collect()
}

fn text_for(places: &[(&str, &str)], name: &str, limits: &str) -> Option<String> {
    let (_, text) = places.iter().find(|(prefix, _)| name.starts_with(prefix))?;
    Some(text.replace("NAME", name).replace("LIMITS", limits))
}

/// Returns a value for every limit that differs from the defaults of all operators.
fn every_limit() -> (&'static str, Limits) {
    let text = "{debounce: 11s, coolDown: 12s, writesPerSecond: 13, writesPerMinute: 14, resync: 15s, \
                backoff: {first: 16s, max: 17s}, timeout: 18s, maxConcurrent: 19, memory: 20Mi}";
    let seconds = Duration::from_secs;
    let limits = Limits {
        debounce: seconds(11),
        cool_down: seconds(12),
        writes_per_second: 13,
        writes_per_minute: 14,
        resync: Some(seconds(15)),
        backoff_first: seconds(16),
        backoff_max: seconds(17),
        timeout: seconds(18),
        max_concurrent: 19,
        memory_bytes: 20 << 20,
    };
    (text, limits)
}

#[tokio::test]
async fn every_limit_is_configurable_and_reloaded() {
    let (text, wanted) = every_limit();
    let all = all().await;
    assert!(all.len() > 20, "{all:?}");
    for name in &all {
        let places = [text_for(&PLACES, name, text), text_for(&OWN_PLACES, name, text)];
        for entry in places.into_iter().flatten() {
            let (before, after) = (config(&entry.replace(text, "{}")), config(&entry));
            assert_eq!(after.limits_of(name), wanted, "{name} by\n{entry}");
            assert_ne!(before.limits_of(name), wanted, "{name}");
            let taken_up = changed(&before, &after, [&**name].into_iter());
            assert_eq!(taken_up, [(OperatorName::new(name), wanted.clone())], "{name} by\n{entry}");
            assert!(before.changes(&after).needs_restart.is_empty(), "{entry}");
        }
    }
}

#[tokio::test]
async fn start_and_reload_give_the_same_limits() {
    let text = "operators:\n  greeter: {coolDown: 3s}\n  plugs: {coolDown: 4s}\n  sockets: {coolDown: 5s}\n";
    let config = config(text);
    let hosted = crate::run::configured_operators(&config);
    let seconds: Vec<(&str, u64)> = hosted.iter().map(|(one, l)| (one.name(), l.cool_down.as_secs())).collect();
    assert_eq!(seconds, [("greeter", 3), ("plugs", 4), ("deferredresources", 4), ("sockets", 5)]);
    assert!(hosted.iter().all(|(one, limits)| config.limits_of(one.name()) == *limits));
}

#[test]
fn limits_of_an_operator_override_global_limits() {
    let config = config("operators: {engine: {coolDown: 3s}, engine@argocd.one: {coolDown: 4s}}");
    let seconds = |name| config.limits_of(name).cool_down.as_secs();
    assert_eq!([seconds("engine"), seconds("engine@argocd.one"), seconds("engine@argocd.two")], [3, 4, 3]);
    // The engine has a longer default timeout, since it fetches repositories.
    assert!(config.limits_of("engine").timeout > Limits::default().timeout);
}

/// Operator of a cluster from a cluster Secret.
struct EngineStub;

impl Operator for EngineStub {
    fn name(&self) -> &str {
        "engine@argocd.one"
    }

    fn declaration(&self) -> Declaration {
        Declaration { inputs: BTreeSet::new(), outputs: BTreeSet::new(), service_account: None, units: Units::Whole }
    }

    fn decide(&self, _unit: &Unit, _view: &View) -> Result<Plan, DecideError> {
        Ok(Plan::nothing())
    }
}

#[tokio::test]
async fn operator_added_after_a_reload_has_current_limits() {
    let (old, new) = (config("operators: {engine: {debounce: 0s}}"), config("operators: {engine: {debounce: 1h}}"));
    let settings = HostSettings {
        clusters: BTreeMap::new(),
        topology: old.topology.clone(),
        global: old.limits.clone(),
        journal: Journal::in_memory(JournalLimits::default()),
        dry_run: false,
    };
    let (host, handle) = Host::new(settings, Vec::new());
    let running = tokio::spawn(host.run());
    let in_force = CurrentConfig::new(old);
    assert!(in_force.replace(new, &handle).await.unwrap().is_empty(), "no operator runs yet");
    in_force.add(&handle, Arc::new(EngineStub), None).await.unwrap();
    let unit = UnitId { operator: OperatorName::new(EngineStub.name()), unit: Unit::Whole };
    let unit = handle.unit(unit).await.unwrap().unwrap();
    assert!(matches!(unit.wait, Wait::Debounced { until } if until.0 > 0), "{:?}", unit.wait);
    handle.stop().await;
    running.await.unwrap();
}
