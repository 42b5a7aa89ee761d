//! Role-based access control: roles, bindings and authorization.
//!
//! A [`Policy`] is the parsed form of the four RBAC resources of one logical cluster. It changes object by object, so a
//! request never parses a role: see [`Policy::put`] and [`Policy::remove`].

pub mod escalation;
mod rule;

pub use rule::PolicyRule;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Deserialize;
use switchboard_object::kind::GroupResource;
use switchboard_object::quote::quote;
use switchboard_object::status::Status;

use super::{Attributes, AuthorizerDecision, MASTERS, User, split_service_account};

/// API group of roles and bindings.
pub const GROUP: &str = "rbac.authorization.k8s.io";

/// Authorizer of requests.
pub trait Authorizer {
    /// Returns the decision with its reason.
    fn decide(&self, attributes: &Attributes) -> AuthorizerDecision;
}

/// RBAC resources.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RbacKind {
    /// `clusterroles`
    ClusterRole,
    /// `clusterrolebindings`
    ClusterRoleBinding,
    /// `roles`
    Role,
    /// `rolebindings`
    RoleBinding,
}

/// All roles and bindings, parsed.
#[derive(Clone, Debug, Default)]
pub struct Policy {
    cluster_roles: BTreeMap<String, Arc<[PolicyRule]>>,
    roles: BTreeMap<String, BTreeMap<String, Arc<[PolicyRule]>>>,
    cluster_bindings: BTreeMap<String, RbacBinding>,
    bindings: BTreeMap<String, BTreeMap<String, RbacBinding>>,
}

/// Reference to a role, from a binding or an escalation check.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RoleRef {
    /// API group; always [`GROUP`] in stored objects.
    pub api_group: String,
    /// `Role` or `ClusterRole`.
    pub kind: String,
    /// Name of the role.
    pub name: String,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct RbacBinding {
    role_ref: RoleRef,
    #[serde(deserialize_with = "rule::null_is_empty")]
    subjects: Vec<RbacSubject>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct RbacSubject {
    kind: String,
    name: String,
    namespace: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct RbacRole {
    #[serde(deserialize_with = "rule::null_is_empty")]
    rules: Vec<PolicyRule>,
}

impl RbacKind {
    /// All four kinds.
    pub const ALL: [Self; 4] = [Self::ClusterRole, Self::ClusterRoleBinding, Self::Role, Self::RoleBinding];

    /// Returns the plural resource name.
    pub fn plural(self) -> &'static str {
        match self {
            Self::ClusterRole => "clusterroles",
            Self::ClusterRoleBinding => "clusterrolebindings",
            Self::Role => "roles",
            Self::RoleBinding => "rolebindings",
        }
    }
}

impl Policy {
    /// Adds or replaces a stored object. An object that cannot be parsed grants nothing.
    pub fn put(&mut self, kind: RbacKind, namespace: &str, name: &str, object: &[u8]) {
        let rules = || serde_json::from_slice::<RbacRole>(object).unwrap_or_default().rules.into();
        let binding = || serde_json::from_slice::<RbacBinding>(object).unwrap_or_default();
        match kind {
            RbacKind::ClusterRole => drop(self.cluster_roles.insert(name.into(), rules())),
            RbacKind::ClusterRoleBinding => drop(self.cluster_bindings.insert(name.into(), binding())),
            RbacKind::Role => drop(self.roles.entry(namespace.into()).or_default().insert(name.into(), rules())),
            RbacKind::RoleBinding => {
                drop(self.bindings.entry(namespace.into()).or_default().insert(name.into(), binding()));
            }
        }
    }

    /// Removes a deleted object.
    pub fn remove(&mut self, kind: RbacKind, namespace: &str, name: &str) {
        fn forget<T>(by_namespace: &mut BTreeMap<String, BTreeMap<String, T>>, namespace: &str, name: &str) {
            if let Some(inner) = by_namespace.get_mut(namespace) {
                inner.remove(name);
                if inner.is_empty() {
                    by_namespace.remove(namespace);
                }
            }
        }
        match kind {
            RbacKind::ClusterRole => drop(self.cluster_roles.remove(name)),
            RbacKind::ClusterRoleBinding => drop(self.cluster_bindings.remove(name)),
            RbacKind::Role => forget(&mut self.roles, namespace, name),
            RbacKind::RoleBinding => forget(&mut self.bindings, namespace, name),
        }
    }

    /// Returns the rules of a role. `namespace` is the binding's, empty for a cluster role binding.
    pub fn role_rules(&self, role: &RoleRef, namespace: &str) -> Result<Arc<[PolicyRule]>, Status> {
        let (found, word) = match role.kind.as_str() {
            "ClusterRole" => (self.cluster_roles.get(&role.name), "clusterrole"),
            "Role" => (self.roles.get(namespace).and_then(|roles| roles.get(&role.name)), "role"),
            other => return Err(Status::internal(format!("unsupported role reference kind: {}", quote(other)))),
        };
        found.cloned().ok_or_else(|| Status::not_found(&GroupResource::new(GROUP, word), &role.name))
    }

    /// Returns every rule that applies to the user in the namespace, and the roles that could not be resolved.
    pub fn rules_for(&self, user: &User, namespace: &str) -> (Vec<PolicyRule>, Vec<String>) {
        let (mut rules, mut errors) = (Vec::new(), Vec::new());
        self.visit(user, namespace, |found| {
            match found {
                Ok((_, rule)) => rules.push(rule.clone()),
                Err(error) => errors.push(error.message),
            }
            false
        });
        (rules, errors)
    }

    /// Calls `found` with every rule that applies, until it returns true.
    fn visit(
        &self,
        user: &User,
        namespace: &str,
        mut found: impl FnMut(Result<(&dyn Fn() -> String, &PolicyRule), Status>) -> bool,
    ) {
        let cluster = self.cluster_bindings.iter().map(|(name, binding)| (name, binding, ""));
        let local = self.bindings.get(namespace).filter(|_| !namespace.is_empty());
        let local = local.into_iter().flatten().map(|(name, binding)| (name, binding, namespace));
        for (name, binding, namespace) in cluster.chain(local) {
            let Some(subject) = binding.subjects.iter().find(|s| s.is(user, namespace)) else { continue };
            let rules = match self.role_rules(&binding.role_ref, namespace) {
                Ok(rules) => rules,
                Err(error) => {
                    if found(Err(error)) {
                        return;
                    }
                    continue;
                }
            };
            let source = || binding.describe(name, namespace, subject);
            if rules.iter().any(|rule| found(Ok((&source, rule)))) {
                return;
            }
        }
    }
}

impl Authorizer for Policy {
    fn decide(&self, attributes: &Attributes) -> AuthorizerDecision {
        if attributes.user.is_member_of(MASTERS) {
            return AuthorizerDecision::Allow(String::new());
        }
        let (mut allowed, mut errors) = (None, Vec::new());
        self.visit(&attributes.user, &attributes.namespace, |found| match found {
            Ok((source, rule)) if rule.allows(attributes) => {
                allowed = Some(format!("RBAC: allowed by {}", source()));
                true
            }
            Ok(_) => false,
            Err(error) => {
                errors.push(error.message);
                false
            }
        });
        match allowed {
            Some(reason) => AuthorizerDecision::Allow(reason),
            None if errors.is_empty() => AuthorizerDecision::NoOpinion(String::new()),
            None => AuthorizerDecision::NoOpinion(format!("RBAC: {}", aggregate(&errors))),
        }
    }
}

/// Joins errors into one line, each once.
pub(crate) fn aggregate(errors: &[String]) -> String {
    let mut said: Vec<&str> = Vec::new();
    for error in errors {
        if !said.contains(&error.as_str()) {
            said.push(error);
        }
    }
    match said.as_slice() {
        [one] => (*one).to_string(),
        many => format!("[{}]", many.join(", ")),
    }
}

impl RbacBinding {
    fn describe(&self, name: &str, namespace: &str, subject: &RbacSubject) -> String {
        let (kind, name) = match namespace {
            "" => ("ClusterRoleBinding", name.to_string()),
            namespace => ("RoleBinding", format!("{name}/{namespace}")),
        };
        let whom = match subject.kind.as_str() {
            "ServiceAccount" if subject.namespace.is_empty() => format!("{}/{namespace}", subject.name),
            "ServiceAccount" => format!("{}/{}", subject.name, subject.namespace),
            _ => subject.name.clone(),
        };
        let role = &self.role_ref;
        format!("{kind} {} of {} {} to {} {}", quote(&name), role.kind, quote(&role.name), subject.kind, quote(&whom))
    }
}

impl RbacSubject {
    fn is(&self, user: &User, namespace: &str) -> bool {
        match self.kind.as_str() {
            "User" => self.name == user.name,
            "Group" => user.is_member_of(&self.name),
            "ServiceAccount" => {
                let namespace = if self.namespace.is_empty() { namespace } else { &self.namespace };
                !namespace.is_empty() && split_service_account(&user.name) == Some((namespace, &self.name))
            }
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests;
