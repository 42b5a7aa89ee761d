#![allow(clippy::unwrap_used)]

use super::*;
use crate::kinds::Requester;

/// Cluster with these Services.
struct FixtureServices(Vec<Value>);

impl crate::kinds::ClusterReader for FixtureServices {
    fn get(&self, _resource: &str, _namespace: &str, _name: &str) -> Option<Value> {
        None
    }
    fn list(&self, resource: &str, _namespace: &str) -> Vec<Value> {
        if resource == "services" { self.0.clone() } else { Vec::new() }
    }
}

fn holding(addresses: std::ops::Range<u8>) -> FixtureServices {
    let service = |n: u8| json!({"metadata": {"name": format!("s{n}")}, "spec": {"clusterIP": format!("10.0.0.{n}")}});
    FixtureServices(addresses.map(service).collect())
}

fn allocated(fixture: &FixtureServices, random: u64, mut service: Value) -> Result<Value, Status> {
    let env = WriteContext { now: "", random, user: Requester::default(), cluster: fixture };
    allocate(&mut service, None, &env)?;
    Ok(service["spec"].clone())
}

#[test]
fn addresses_come_from_the_upper_part_first() {
    for random in [0, 5, 300, u64::MAX] {
        let spec = allocated(&holding(0..0), random, json!({"spec": {"type": "ClusterIP"}})).unwrap();
        let last: u8 = text(&spec, "/clusterIP").rsplit('.').next().unwrap().parse().unwrap();
        assert!(last > RESERVED && last < 255, "{last}");
    }
}

#[test]
fn the_lower_part_is_used_when_the_upper_is_full() {
    let spec = allocated(&holding(17..255), 3, json!({"spec": {"type": "ClusterIP"}})).unwrap();
    let last: u8 = text(&spec, "/clusterIP").rsplit('.').next().unwrap().parse().unwrap();
    assert!((1..=RESERVED).contains(&last));
}

#[test]
fn a_full_range_is_an_error() {
    let refused = allocated(&holding(1..255), 3, json!({"spec": {"type": "ClusterIP"}})).unwrap_err();
    assert!(refused.message.contains("range is full"));
}

#[test]
fn ports_of_one_service_differ() {
    let ports: Vec<Value> = (0..50).map(|n| json!({"name": format!("p{n}"), "port": n + 1})).collect();
    let spec = allocated(&holding(0..0), 9, json!({"spec": {"type": "NodePort", "ports": ports}})).unwrap();
    let given: BTreeSet<i64> = items(&spec, "/ports").iter().map(|p| int(p, "/nodePort")).collect();
    assert_eq!(given.len(), 50);
    assert!(given.iter().all(|p| NODE_PORTS.contains(p)));
}

#[test]
fn an_external_name_gets_no_address() {
    let spec = json!({"type": "ExternalName", "externalName": "a.b"});
    assert_eq!(allocated(&holding(0..0), 9, json!({"spec": spec})).unwrap(), spec);
}
