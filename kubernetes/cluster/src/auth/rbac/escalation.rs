//! Nobody grants what they do not hold: the checks on writes of roles and bindings.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use switchboard_object::Value;
use switchboard_object::kind::GroupResource;
use switchboard_object::status::Status;

use super::{Authorizer, GROUP, Kind, Policy, RoleRef, Rule};
use crate::auth::{Attributes, Decision, MASTERS, User, quoted_list};

/// A write of a role or binding. `old` is what it replaces, `None` for a create.
#[derive(Clone, Copy, Debug)]
pub struct Write<'a> {
    /// Who writes.
    pub user: &'a User,
    /// What is written.
    pub kind: Kind,
    /// The namespace of the request, empty at the cluster scope.
    pub namespace: &'a str,
    /// The name in the request's path, empty for a create.
    pub request_name: &'a str,
    /// The object to be written.
    pub new: &'a Value,
    /// The object it replaces.
    pub old: Option<&'a Value>,
}

/// Refuses a write that grants more than the writer holds.
pub fn check(policy: &Policy, write: &Write<'_>) -> Result<(), Status> {
    if write.user.is_in(MASTERS) {
        return Ok(());
    }
    let is_role = matches!(write.kind, Kind::Role | Kind::ClusterRole);
    if is_role && is_allowed(policy, write, "escalate", write.kind.plural(), write.request_name) {
        return Ok(());
    }
    if write.old.is_some_and(|old| only_garbage_fields_differ(write.new, old)) {
        return Ok(());
    }
    if is_role { check_role(policy, write) } else { check_binding(policy, write) }
}

fn check_role(policy: &Policy, write: &Write<'_>) -> Result<(), Status> {
    confirm(policy, write, &rules(write.new)).map_err(|why| write.forbidden(&why))?;
    let aggregates = has_aggregation(write.new) || write.old.is_some_and(has_aggregation);
    if write.kind == Kind::ClusterRole && aggregates {
        let every = |verbs: &str| vec![verbs.to_string()];
        let full = [
            Rule { verbs: every("*"), api_groups: every("*"), resources: every("*"), ..Rule::default() },
            Rule { verbs: every("*"), non_resource_urls: every("*"), ..Rule::default() },
        ];
        confirm(policy, write, &full)
            .map_err(|_| write.forbidden("must have cluster-admin privileges to use the aggregationRule"))?;
    }
    Ok(())
}

fn check_binding(policy: &Policy, write: &Write<'_>) -> Result<(), Status> {
    let role = write.new.get("roleRef").and_then(|r| RoleRef::deserialize(r).ok()).unwrap_or_default();
    let resource = match role.kind.as_str() {
        "ClusterRole" => Some("clusterroles"),
        "Role" => Some("roles"),
        _ => None,
    };
    if resource.is_some_and(|resource| is_allowed(policy, write, "bind", resource, &role.name)) {
        return Ok(());
    }
    let rules = policy.role_rules(&role, write.namespace)?;
    confirm(policy, write, &rules).map_err(|why| write.forbidden(&why))
}

fn is_allowed(policy: &Policy, write: &Write<'_>, verb: &str, resource: &str, name: &str) -> bool {
    let mut attributes = Attributes::resource(write.user.clone(), verb, GROUP, resource).named(name);
    attributes.namespace = write.namespace.to_string();
    matches!(policy.decide(&attributes), Decision::Allow(_))
}

/// The writer holds all of `wanted`, or a text that says what is missing.
fn confirm(policy: &Policy, write: &Write<'_>, wanted: &[Rule]) -> Result<(), String> {
    let (held, errors) = policy.rules_for(write.user, write.namespace);
    let missing: Vec<Rule> =
        wanted.iter().flat_map(Rule::parts).filter(|part| !held.iter().any(|rule| rule.covers(part))).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let lines: BTreeSet<String> = compact(missing).iter().map(ToString::to_string).collect();
    let lines: Vec<String> = lines.into_iter().collect();
    let mut message = format!(
        "user {:?} (groups={}) is attempting to grant RBAC permissions not currently held:\n{}",
        write.user.name,
        quoted_list(&write.user.groups),
        lines.join("\n")
    );
    if !errors.is_empty() {
        message.push_str(&format!("; resolution errors: [{}]", super::aggregate(&errors)));
    }
    Err(message)
}

/// Joins the verbs of rules that differ in nothing else.
fn compact(rules: Vec<Rule>) -> Vec<Rule> {
    let mut joined: BTreeMap<Rule, Vec<String>> = BTreeMap::new();
    let mut rest = Vec::new();
    for rule in rules {
        if rule.non_resource_urls.is_empty() {
            let verbs = rule.verbs.clone();
            joined.entry(Rule { verbs: Vec::new(), ..rule }).or_default().extend(verbs);
        } else {
            rest.push(rule);
        }
    }
    rest.extend(joined.into_iter().map(|(rule, verbs)| Rule { verbs, ..rule }));
    rest
}

fn rules(role: &Value) -> Vec<Rule> {
    role.get("rules").and_then(|rules| Vec::<Rule>::deserialize(rules).ok()).unwrap_or_default()
}

fn has_aggregation(role: &Value) -> bool {
    role.pointer("/aggregationRule/clusterRoleSelectors").and_then(Value::as_array).is_some_and(|s| !s.is_empty())
}

/// The garbage collector may release an object it could not have written.
fn only_garbage_fields_differ(new: &Value, old: &Value) -> bool {
    let without = |object: &Value| {
        let mut copy = object.clone();
        if let Some(metadata) = copy.get_mut("metadata").and_then(Value::as_object_mut) {
            for field in ["ownerReferences", "finalizers", "selfLink", "managedFields"] {
                metadata.remove(field);
            }
        }
        copy
    };
    without(new) == without(old)
}

impl Write<'_> {
    fn forbidden(&self, why: &str) -> Status {
        let name = self.new.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
        Status::forbidden(&GroupResource::new(GROUP, self.kind.plural()), name, why)
    }
}
