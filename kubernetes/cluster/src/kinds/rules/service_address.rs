//! Allocation of a Service's addresses and ports: cluster IPs, node ports, IP families.
//!
//! The cluster has one range of IPv4 addresses. The allocations of other Services are read from the cluster.

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr};

use serde_json::{Value, json};
use switchboard_object::field::FieldError;
use switchboard_object::kind::GroupVersionKind;
use switchboard_object::status::Status;

use super::super::WriteContext;
use super::super::checks::int;
use super::{at, items, push, remove, text};

/// Cluster IPs are 10.0.0.1 to 10.0.0.254.
const RANGE: [u8; 3] = [10, 0, 0];
/// The lower 16 addresses are allocated only on request, or once all others are in use.
const RESERVED: u8 = 16;
const NODE_PORTS: std::ops::RangeInclusive<i64> = 30000..=32767;

/// Allocations of other Services.
struct AllocatedAddresses {
    addresses: BTreeSet<String>,
    ports: BTreeSet<i64>,
}

/// Allocates missing values of a Service. `old` is the stored Service of an update.
pub(super) fn allocate(service: &mut Value, old: Option<&Value>, env: &WriteContext<'_>) -> Result<(), Status> {
    normalize(service, old);
    if text(service, "/spec/type") == "ExternalName" {
        return Ok(());
    }
    families(service, old)?;
    let taken = allocated_addresses(service, env);
    cluster_ips(service, old, &taken, env)?;
    node_ports(service, old, &taken, env)
}

fn allocated_addresses(service: &Value, env: &WriteContext<'_>) -> AllocatedAddresses {
    let others = env.cluster.list("services", "");
    let same = |o: &&Value| {
        o["metadata"]["name"] == service["metadata"]["name"]
            && o["metadata"]["namespace"] == service["metadata"]["namespace"]
    };
    let mut taken = AllocatedAddresses { addresses: BTreeSet::new(), ports: BTreeSet::new() };
    for other in others.iter().filter(|o| !same(o)) {
        taken.addresses.insert(text(other, "/spec/clusterIP").to_string());
        taken.addresses.extend(items(other, "/spec/clusterIPs").iter().filter_map(Value::as_str).map(String::from));
        taken.ports.extend(items(other, "/spec/ports").iter().map(|p| int(p, "/nodePort")));
        taken.ports.insert(int(other, "/spec/healthCheckNodePort"));
    }
    taken
}

/// Synchronizes `clusterIP` and `clusterIPs`.
fn normalize(service: &mut Value, old: Option<&Value>) {
    let one = at(service, "/spec/clusterIP").clone();
    let many = at(service, "/spec/clusterIPs").clone();
    let Some(old) = old else {
        if one.is_string() && many.is_null() {
            service["spec"]["clusterIPs"] = json!([one]);
        }
        return;
    };
    let (was_one, was_many) = (at(old, "/spec/clusterIP"), at(old, "/spec/clusterIPs"));
    if !was_many.is_null() && many.is_null() && *was_one == one {
        service["spec"]["clusterIPs"] = was_many.clone();
    }
    if *was_one != one && *was_many == many {
        if one.is_null() {
            remove(&mut service["spec"], "clusterIPs");
        } else {
            service["spec"]["clusterIPs"] = json!([one]);
        }
    }
}

/// Keeps allocated values that the client omitted.
pub(super) fn keep_allocated(new: &mut Value, old: &Value) {
    let typed = |v: &Value| text(v, "/spec/type").to_string();
    if typed(new) != "ExternalName" && typed(old) != "ExternalName" {
        for field in ["clusterIP", "clusterIPs"] {
            if new["spec"][field].is_null() && !old["spec"][field].is_null() {
                new["spec"][field] = old["spec"][field].clone();
            }
        }
    }
    let exposed = |v: &Value| matches!(text(v, "/spec/type"), "NodePort" | "LoadBalancer");
    if exposed(new) && exposed(old) {
        keep_ports(new, old);
    }
    if wants_health_check(new) && wants_health_check(old) && int(new, "/spec/healthCheckNodePort") == 0 {
        new["spec"]["healthCheckNodePort"] = at(old, "/spec/healthCheckNodePort").clone();
    }
}

fn keep_ports(new: &mut Value, old: &Value) {
    let ports = |v: &Value| -> BTreeSet<i64> { items(v, "/spec/ports").iter().map(|p| int(p, "/nodePort")).collect() };
    let used: BTreeSet<i64> = ports(new).intersection(&ports(old)).copied().collect();
    for port in new["spec"]["ports"].as_array_mut().into_iter().flatten() {
        let before = items(old, "/spec/ports").iter().filter(|p| text(p, "/name") == text(port, "/name"));
        let before = before.map(|p| int(p, "/nodePort")).next_back().unwrap_or(0);
        if int(port, "/nodePort") == 0 && before != 0 && !used.contains(&before) {
            port["nodePort"] = json!(before);
        }
    }
}

pub(super) fn wants_health_check(service: &Value) -> bool {
    text(service, "/spec/type") == "LoadBalancer" && text(service, "/spec/externalTrafficPolicy") == "Local"
}

fn invalid(service: &Value, errors: Vec<FieldError>) -> Status {
    Status::invalid(&GroupVersionKind::new("", "v1", "Service"), text(service, "/metadata/name"), &errors)
}

fn families(service: &mut Value, old: Option<&Value>) -> Result<(), Status> {
    let headless = text(service, "/spec/clusterIP") == "None";
    let selectorless = service["spec"]["selector"].as_object().is_none_or(|s| s.is_empty());
    if at(service, "/spec/ipFamilyPolicy").is_null() {
        let before = old.map(|o| at(o, "/spec/ipFamilyPolicy").clone()).filter(|p| !p.is_null());
        let policy = if headless && selectorless { "RequireDualStack" } else { "SingleStack" };
        service["spec"]["ipFamilyPolicy"] = before.unwrap_or(json!(policy));
    }
    let errors = super::service::cluster_ip_fields(service);
    if !errors.is_empty() {
        return Err(invalid(service, errors));
    }
    let policy = text(service, "/spec/ipFamilyPolicy").to_string();
    for (index, ip) in items(&service.clone(), "/spec/clusterIPs").iter().filter_map(Value::as_str).enumerate() {
        if ip == "None" {
            break;
        }
        if index >= items(service, "/spec/ipFamilies").len() {
            if ip.contains(':') {
                let path = format!("spec.clusterIPs[{index}]");
                let ips = at(service, "/spec/clusterIPs").clone();
                let detail = "IPv6 is not configured on this cluster";
                return Err(invalid(service, vec![FieldError::invalid(path, ips, detail)]));
            }
            push(&mut service["spec"]["ipFamilies"], json!("IPv4"));
        }
    }
    if items(service, "/spec/ipFamilies").is_empty() {
        service["spec"]["ipFamilies"] = json!(["IPv4"]);
    }
    if headless && selectorless {
        if items(service, "/spec/ipFamilies").len() < 2 && policy != "SingleStack" {
            let second = if service["spec"]["ipFamilies"][0] == "IPv4" { "IPv6" } else { "IPv4" };
            push(&mut service["spec"]["ipFamilies"], json!(second));
        }
        return Ok(());
    }
    let mut errors = Vec::new();
    if policy == "RequireDualStack" {
        let detail = "this cluster is not configured for dual-stack services";
        errors.push(FieldError::invalid("spec.ipFamilyPolicy", policy.as_str(), detail));
    }
    for (index, family) in items(service, "/spec/ipFamilies").iter().enumerate().filter(|(_, f)| *f == "IPv6") {
        let path = format!("spec.ipFamilies[{index}]");
        errors.push(FieldError::invalid(path, family.clone(), "not configured on this cluster"));
    }
    if errors.is_empty() { Ok(()) } else { Err(invalid(service, errors)) }
}

fn cluster_ips(
    service: &mut Value,
    old: Option<&Value>,
    taken: &AllocatedAddresses,
    env: &WriteContext<'_>,
) -> Result<(), Status> {
    let asked = text(service, "/spec/clusterIP").to_string();
    // A Service keeps its address. A request for another address is refused for that reason, whatever else is wrong
    // with it.
    let has = old.is_some_and(|o| text(o, "/spec/type") != "ExternalName" && !text(o, "/spec/clusterIP").is_empty());
    if asked == "None" || has && !asked.is_empty() {
        return Ok(());
    }
    if asked.is_empty() {
        let Some(free) = free_address(taken, env.random) else {
            let detail = "failed to allocate a serviceIP: range is full";
            return Err(Status::internal(detail));
        };
        service["spec"]["clusterIP"] = json!(free);
        service["spec"]["clusterIPs"] = json!([free]);
        return Ok(());
    }
    let refuse = |detail: String| {
        let ips = at(service, "/spec/clusterIPs").clone();
        Err(invalid(service, vec![FieldError::invalid("spec.clusterIPs", ips, detail)]))
    };
    let inside =
        matches!(asked.parse(), Ok(IpAddr::V4(ip)) if ip.octets()[..3] == RANGE && !matches!(ip.octets()[3], 0 | 255));
    if !inside {
        return refuse(format!("failed to allocate IP {asked}: the provided network does not match the current range"));
    }
    if taken.addresses.contains(&asked) {
        return refuse(format!("failed to allocate IP {asked}: provided IP is already allocated"));
    }
    Ok(())
}

/// Returns a random address of the upper part of the range, or of the lower part if the upper one is full.
fn free_address(taken: &AllocatedAddresses, random: u64) -> Option<String> {
    let pick = |low: u8, high: u8| {
        let count = u64::from(high - low) + 1;
        (0..count).map(|i| low + ((random + i) % count) as u8).find_map(|last| {
            let address = Ipv4Addr::new(RANGE[0], RANGE[1], RANGE[2], last).to_string();
            (!taken.addresses.contains(&address)).then_some(address)
        })
    };
    pick(RESERVED + 1, 254).or_else(|| pick(1, RESERVED))
}

fn node_ports(
    service: &mut Value,
    old: Option<&Value>,
    taken: &AllocatedAddresses,
    env: &WriteContext<'_>,
) -> Result<(), Status> {
    let kind = text(service, "/spec/type");
    let allocate = kind == "NodePort"
        || (kind == "LoadBalancer" && at(service, "/spec/allocateLoadBalancerNodePorts") != &json!(false));
    let mut mine: BTreeSet<i64> =
        old.into_iter().flat_map(|o| items(o, "/spec/ports")).map(|p| int(p, "/nodePort")).collect();
    mine.extend(old.map(|o| int(o, "/spec/healthCheckNodePort")));
    let mut held = taken.ports.clone();
    let asked: Vec<i64> = items(service, "/spec/ports").iter().map(|p| int(p, "/nodePort")).collect();
    for (index, port) in asked.iter().enumerate().filter(|(_, p)| **p != 0) {
        let path = format!("spec.ports[{index}].nodePort");
        check_port(service, *port, path, &held, &mine)?;
    }
    held.extend(asked);
    let mut random = env.random;
    if allocate {
        for port in service["spec"]["ports"].as_array_mut().into_iter().flatten() {
            if int(port, "/nodePort") == 0 {
                let free = free_port(&held, &mut random);
                held.insert(free);
                port["nodePort"] = json!(free);
            }
        }
    }
    if wants_health_check(service) {
        match int(service, "/spec/healthCheckNodePort") {
            0 => service["spec"]["healthCheckNodePort"] = json!(free_port(&held, &mut random)),
            port => check_port(service, port, "spec.healthCheckNodePort".into(), &taken.ports, &mine)?,
        }
    }
    Ok(())
}

fn check_port(
    service: &Value,
    port: i64,
    path: String,
    held: &BTreeSet<i64>,
    mine: &BTreeSet<i64>,
) -> Result<(), Status> {
    let detail = if !NODE_PORTS.contains(&port) {
        format!(
            "provided port is not in the valid range. The range of valid ports is {}-{}",
            NODE_PORTS.start(),
            NODE_PORTS.end()
        )
    } else if held.contains(&port) && !mine.contains(&port) {
        "provided port is already allocated".to_string()
    } else {
        return Ok(());
    };
    Err(invalid(service, vec![FieldError::invalid(path, port, detail)]))
}

fn free_port(held: &BTreeSet<i64>, random: &mut u64) -> i64 {
    let (low, count) = (*NODE_PORTS.start(), (NODE_PORTS.end() - NODE_PORTS.start() + 1) as u64);
    let start = *random % count;
    *random = random.rotate_left(17).wrapping_add(1);
    let mut candidates = (0..count).map(|i| low + ((start + i) % count) as i64);
    candidates.find(|p| !held.contains(p)).unwrap_or(low)
}
