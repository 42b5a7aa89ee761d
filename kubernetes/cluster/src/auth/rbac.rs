//! Role based access control: roles, bindings, and what they allow.
//!
//! A [`Policy`] is the parsed form of the four RBAC resources of one logical cluster. It changes object by object, so a
//! request never parses a role: see [`Policy::put`] and [`Policy::remove`].

pub mod escalation;
mod rule;

pub use rule::Rule;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Deserialize;
use switchboard_object::kind::GroupResource;
use switchboard_object::status::Status;

use super::{Attributes, Decision, MASTERS, User, split_service_account};

/// The API group of roles and bindings.
pub const GROUP: &str = "rbac.authorization.k8s.io";

/// Says whether a request is allowed.
pub trait Authorizer {
    /// The answer, and why.
    fn decide(&self, attributes: &Attributes) -> Decision;
}

/// The four RBAC resources.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `clusterroles`
    ClusterRole,
    /// `clusterrolebindings`
    ClusterRoleBinding,
    /// `roles`
    Role,
    /// `rolebindings`
    RoleBinding,
}

/// Every role and binding, ready to be asked.
#[derive(Clone, Debug, Default)]
pub struct Policy {
    cluster_roles: BTreeMap<String, Arc<[Rule]>>,
    roles: BTreeMap<String, BTreeMap<String, Arc<[Rule]>>>,
    cluster_bindings: BTreeMap<String, Binding>,
    bindings: BTreeMap<String, BTreeMap<String, Binding>>,
}

/// A role that a binding or an escalation check refers to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RoleRef {
    /// Always [`GROUP`] in what the server stores.
    pub api_group: String,
    /// `Role` or `ClusterRole`.
    pub kind: String,
    /// Its name.
    pub name: String,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Binding {
    role_ref: RoleRef,
    #[serde(deserialize_with = "rule::null_is_empty")]
    subjects: Vec<Subject>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct Subject {
    kind: String,
    name: String,
    namespace: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Role {
    #[serde(deserialize_with = "rule::null_is_empty")]
    rules: Vec<Rule>,
}

impl Kind {
    /// All four.
    pub const ALL: [Self; 4] = [Self::ClusterRole, Self::ClusterRoleBinding, Self::Role, Self::RoleBinding];

    /// The resource name.
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
    /// Takes in a created or changed object, as it is stored. What cannot be parsed grants nothing.
    pub fn put(&mut self, kind: Kind, namespace: &str, name: &str, object: &[u8]) {
        let rules = || serde_json::from_slice::<Role>(object).unwrap_or_default().rules.into();
        let binding = || serde_json::from_slice::<Binding>(object).unwrap_or_default();
        match kind {
            Kind::ClusterRole => drop(self.cluster_roles.insert(name.into(), rules())),
            Kind::ClusterRoleBinding => drop(self.cluster_bindings.insert(name.into(), binding())),
            Kind::Role => drop(self.roles.entry(namespace.into()).or_default().insert(name.into(), rules())),
            Kind::RoleBinding => {
                drop(self.bindings.entry(namespace.into()).or_default().insert(name.into(), binding()));
            }
        }
    }

    /// Forgets a deleted object.
    pub fn remove(&mut self, kind: Kind, namespace: &str, name: &str) {
        fn forget<T>(by_namespace: &mut BTreeMap<String, BTreeMap<String, T>>, namespace: &str, name: &str) {
            if let Some(inner) = by_namespace.get_mut(namespace) {
                inner.remove(name);
                if inner.is_empty() {
                    by_namespace.remove(namespace);
                }
            }
        }
        match kind {
            Kind::ClusterRole => drop(self.cluster_roles.remove(name)),
            Kind::ClusterRoleBinding => drop(self.cluster_bindings.remove(name)),
            Kind::Role => forget(&mut self.roles, namespace, name),
            Kind::RoleBinding => forget(&mut self.bindings, namespace, name),
        }
    }

    /// The rules of a role. `namespace` is the binding's, empty for a cluster role binding.
    pub fn role_rules(&self, role: &RoleRef, namespace: &str) -> Result<Arc<[Rule]>, Status> {
        let (found, word) = match role.kind.as_str() {
            "ClusterRole" => (self.cluster_roles.get(&role.name), "clusterrole"),
            "Role" => (self.roles.get(namespace).and_then(|roles| roles.get(&role.name)), "role"),
            other => return Err(Status::internal(format!("unsupported role reference kind: {other:?}"))),
        };
        found.cloned().ok_or_else(|| Status::not_found(&GroupResource::new(GROUP, word), &role.name))
    }

    /// Every rule that applies to the user in the namespace, and what could not be resolved.
    pub fn rules_for(&self, user: &User, namespace: &str) -> (Vec<Rule>, Vec<String>) {
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

    /// Shows every rule that applies until `found` says it has seen enough.
    fn visit(
        &self,
        user: &User,
        namespace: &str,
        mut found: impl FnMut(Result<(&dyn Fn() -> String, &Rule), Status>) -> bool,
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
    fn decide(&self, attributes: &Attributes) -> Decision {
        if attributes.user.is_in(MASTERS) {
            return Decision::Allow(String::new());
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
            Some(reason) => Decision::Allow(reason),
            None if errors.is_empty() => Decision::NoOpinion(String::new()),
            None => Decision::NoOpinion(format!("RBAC: {}", aggregate(&errors))),
        }
    }
}

/// Several errors as one line, each said once.
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

impl Binding {
    fn describe(&self, name: &str, namespace: &str, subject: &Subject) -> String {
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
        format!("{kind} {name:?} of {} {:?} to {} {whom:?}", role.kind, role.name, subject.kind)
    }
}

impl Subject {
    fn is(&self, user: &User, namespace: &str) -> bool {
        match self.kind.as_str() {
            "User" => self.name == user.name,
            "Group" => user.is_in(&self.name),
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
