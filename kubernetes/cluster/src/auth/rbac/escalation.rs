//! Privilege escalation checks on writes of roles and bindings: users cannot grant rights they do not have.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use switchboard_object::Value;
use switchboard_object::kind::GroupResource;
use switchboard_object::quote::quote;
use switchboard_object::status::Status;

use super::{Authorizer, GROUP, Policy, PolicyRule, RbacKind, RoleRef};
use crate::auth::{Attributes, AuthorizerDecision, MASTERS, User, quoted_list};

/// Write of a role or binding.
#[derive(Clone, Copy, Debug)]
pub struct RbacWrite<'a> {
    /// User who writes.
    pub user: &'a User,
    /// Kind of the written object.
    pub kind: RbacKind,
    /// Namespace of the request, empty at the cluster scope.
    pub namespace: &'a str,
    /// Name in the request's path, empty for a create.
    pub request_name: &'a str,
    /// New object.
    pub new: &'a Value,
    /// Previous object; `None` for a create.
    pub old: Option<&'a Value>,
}

/// Returns an error if a write grants more rights than the user has.
pub fn check(policy: &Policy, write: &RbacWrite<'_>) -> Result<(), Status> {
    if write.user.is_member_of(MASTERS) {
        return Ok(());
    }
    let is_role = matches!(write.kind, RbacKind::Role | RbacKind::ClusterRole);
    if is_role && is_allowed(policy, write, "escalate", write.kind.plural(), write.request_name) {
        return Ok(());
    }
    if write.old.is_some_and(|old| only_garbage_fields_differ(write.new, old)) {
        return Ok(());
    }
    if is_role { check_role(policy, write) } else { check_binding(policy, write) }
}

fn check_role(policy: &Policy, write: &RbacWrite<'_>) -> Result<(), Status> {
    check_covered(policy, write, &rules(write.new)).map_err(|why| write.forbidden(&why))?;
    let aggregates = has_aggregation(write.new) || write.old.is_some_and(has_aggregation);
    if write.kind == RbacKind::ClusterRole && aggregates {
        let every = |verbs: &str| vec![verbs.to_string()];
        let full = [
            PolicyRule { verbs: every("*"), api_groups: every("*"), resources: every("*"), ..PolicyRule::default() },
            PolicyRule { verbs: every("*"), non_resource_urls: every("*"), ..PolicyRule::default() },
        ];
        check_covered(policy, write, &full)
            .map_err(|_| write.forbidden("must have cluster-admin privileges to use the aggregationRule"))?;
    }
    Ok(())
}

fn check_binding(policy: &Policy, write: &RbacWrite<'_>) -> Result<(), Status> {
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
    check_covered(policy, write, &rules).map_err(|why| write.forbidden(&why))
}

fn is_allowed(policy: &Policy, write: &RbacWrite<'_>, verb: &str, resource: &str, name: &str) -> bool {
    let mut attributes = Attributes::resource(write.user.clone(), verb, GROUP, resource).named(name);
    attributes.namespace = write.namespace.to_string();
    matches!(policy.decide(&attributes), AuthorizerDecision::Allow(_))
}

/// Checks that the user has all rights in `wanted`. The error names the missing ones.
fn check_covered(policy: &Policy, write: &RbacWrite<'_>, wanted: &[PolicyRule]) -> Result<(), String> {
    let (held, errors) = policy.rules_for(write.user, write.namespace);
    let missing: Vec<PolicyRule> = wanted
        .iter()
        .flat_map(PolicyRule::single_value_rules)
        .filter(|part| !held.iter().any(|rule| rule.covers(part)))
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    let lines: BTreeSet<String> = merge_verbs(missing).iter().map(ToString::to_string).collect();
    let lines: Vec<String> = lines.into_iter().collect();
    let mut message = format!(
        "user {} (groups={}) is attempting to grant RBAC permissions not currently held:\n{}",
        quote(&write.user.name),
        quoted_list(&write.user.groups),
        lines.join("\n")
    );
    if !errors.is_empty() {
        message.push_str(&format!("; resolution errors: [{}]", super::aggregate(&errors)));
    }
    Err(message)
}

/// Merges rules that differ only in their verbs.
fn merge_verbs(rules: Vec<PolicyRule>) -> Vec<PolicyRule> {
    let mut joined: BTreeMap<PolicyRule, Vec<String>> = BTreeMap::new();
    let mut rest = Vec::new();
    for rule in rules {
        if rule.non_resource_urls.is_empty() {
            let verbs = rule.verbs.clone();
            joined.entry(PolicyRule { verbs: Vec::new(), ..rule }).or_default().extend(verbs);
        } else {
            rest.push(rule);
        }
    }
    rest.extend(joined.into_iter().map(|(rule, verbs)| PolicyRule { verbs, ..rule }));
    rest
}

fn rules(role: &Value) -> Vec<PolicyRule> {
    role.get("rules").and_then(|rules| Vec::<PolicyRule>::deserialize(rules).ok()).unwrap_or_default()
}

fn has_aggregation(role: &Value) -> bool {
    role.pointer("/aggregationRule/clusterRoleSelectors").and_then(Value::as_array).is_some_and(|s| !s.is_empty())
}

/// Whether only fields of the garbage collector differ. It may release an object that it could not have written.
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

impl RbacWrite<'_> {
    fn forbidden(&self, why: &str) -> Status {
        let name = self.new.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
        Status::forbidden(&GroupResource::new(GROUP, self.kind.plural()), name, why)
    }
}
