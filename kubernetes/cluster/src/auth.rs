//! Who is asking, and may they: certificates, tokens, impersonation, RBAC.
//!
//! ```text
//! connection ──peer──▶ authentication ──User──▶ impersonation ──User──▶ rbac ──▶ allowed, or a Status
//!   headers ─────────────▲                          ▲                    ▲
//!   store (service accounts, roles, bindings) ──────┴────────────────────┘
//! ```
//!
//! Every answer is a function of the request, the clock that is passed in and the objects in the store; nothing here
//! writes to the store. Tokens and keys never reach a log: the types that hold them print a placeholder.

pub mod authentication;
pub mod certificates;
pub mod gate;
pub mod impersonation;
pub mod kubeconfig;
pub mod rbac;
pub mod review;
pub mod token;

use std::collections::BTreeMap;

use switchboard_object::kind::GroupResource;
use switchboard_object::status::Status;

/// The group of everyone with credentials.
pub const AUTHENTICATED: &str = "system:authenticated";
/// The group of everyone without.
pub const UNAUTHENTICATED: &str = "system:unauthenticated";
/// The name of everyone without credentials.
pub const ANONYMOUS: &str = "system:anonymous";
/// The group that may do everything, whatever the roles say.
pub const MASTERS: &str = "system:masters";

/// Who makes a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct User {
    /// The name: `alice`, `system:serviceaccount:shop:web`.
    pub name: String,
    /// The uid; empty when the credentials carry none.
    pub uid: String,
    /// The groups, in the order the credentials give them.
    pub groups: Vec<String>,
    /// Further facts, such as the pod a token is bound to.
    pub extra: BTreeMap<String, Vec<String>>,
}

/// What a request asks for, in the words of authorization.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Attributes {
    /// Who asks.
    pub user: User,
    /// `get`, `list`, `create`, ...; for paths the lowercase HTTP method.
    pub verb: String,
    /// The API group; empty for the core group and for paths.
    pub group: String,
    /// The API version.
    pub version: String,
    /// The plural resource name.
    pub resource: String,
    /// The subresource, or empty.
    pub subresource: String,
    /// The namespace, or empty at the cluster scope.
    pub namespace: String,
    /// The object's name, or empty.
    pub name: String,
    /// The path, for requests that are not about a resource.
    pub path: String,
    /// The request is about a resource, not a path.
    pub is_resource: bool,
    /// The field selector of a list or watch, or empty.
    pub field_selector: String,
    /// The label selector of a list or watch, or empty.
    pub label_selector: String,
}

/// What an authorizer says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Yes, and why.
    Allow(String),
    /// Nothing allows it. The text names what could not be resolved on the way, and is empty otherwise.
    NoOpinion(String),
}

impl User {
    /// A user without groups.
    pub fn named(name: impl Into<String>) -> Self {
        Self { name: name.into(), ..Self::default() }
    }

    /// The same user with one more group.
    pub fn in_group(mut self, group: impl Into<String>) -> Self {
        self.groups.push(group.into());
        self
    }

    /// The user a request without credentials has.
    pub fn anonymous() -> Self {
        Self::named(ANONYMOUS).in_group(UNAUTHENTICATED)
    }

    /// The server itself: the controllers and the in-process client write as this user.
    pub fn loopback() -> Self {
        Self::named("system:apiserver").in_group(MASTERS).in_group(AUTHENTICATED)
    }

    /// The user a service account is, with its fixed groups.
    pub fn service_account(namespace: &str, name: &str, uid: &str) -> Self {
        Self {
            name: service_account_name(namespace, name),
            uid: uid.to_string(),
            groups: service_account_groups(namespace),
            extra: BTreeMap::new(),
        }
    }

    /// Is a member of the group.
    pub fn is_in(&self, group: &str) -> bool {
        self.groups.iter().any(|g| g == group)
    }
}

impl Attributes {
    /// A request about a resource; the other fields are set by the caller.
    pub fn resource(user: User, verb: &str, group: &str, resource: &str) -> Self {
        Self {
            user,
            verb: verb.into(),
            group: group.into(),
            resource: resource.into(),
            is_resource: true,
            ..Self::default()
        }
    }

    /// A request about a path.
    pub fn path(user: User, verb: &str, path: &str) -> Self {
        Self { user, verb: verb.into(), path: path.into(), ..Self::default() }
    }

    /// The same request in a namespace.
    pub fn in_namespace(mut self, namespace: &str) -> Self {
        self.namespace = namespace.into();
        self
    }

    /// The same request for one object.
    pub fn named(mut self, name: &str) -> Self {
        self.name = name.into();
        self
    }

    /// The refusal, with the authorizer's reason behind it.
    pub fn forbidden(&self, reason: &str) -> Status {
        let mut message = sanitized(&self.sentence());
        if !reason.is_empty() {
            message.push_str(": ");
            message.push_str(reason);
        }
        Status::forbidden(&GroupResource::new(self.group.as_str(), self.resource.as_str()), &self.name, &message)
    }

    fn sentence(&self) -> String {
        let (user, verb) = (&self.user.name, &self.verb);
        if !self.is_resource {
            return format!("User {user:?} cannot {verb} path {:?}", self.path);
        }
        let resource = self.combined_resource();
        let place = match self.namespace.as_str() {
            "" => "at the cluster scope".to_string(),
            namespace => format!("in the namespace {namespace:?}"),
        };
        format!("User {user:?} cannot {verb} resource {resource:?} in API group {:?} {place}", self.group)
    }

    /// `pods`, or `pods/log`.
    pub fn combined_resource(&self) -> String {
        match self.subresource.as_str() {
            "" => self.resource.clone(),
            subresource => format!("{}/{subresource}", self.resource),
        }
    }
}

/// A list of strings as Go's `%q` prints one.
pub(crate) fn quoted_list(items: &[String]) -> String {
    let quoted: Vec<String> = items.iter().map(|item| format!("{item:?}")).collect();
    format!("[{}]", quoted.join(" "))
}

/// A refusal must not read as HTML in a browser.
fn sanitized(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// `system:serviceaccount:<namespace>:<name>`.
pub fn service_account_name(namespace: &str, name: &str) -> String {
    format!("system:serviceaccount:{namespace}:{name}")
}

/// The groups every service account of a namespace is in.
pub fn service_account_groups(namespace: &str) -> Vec<String> {
    vec!["system:serviceaccounts".to_string(), format!("system:serviceaccounts:{namespace}")]
}

/// Namespace and name of a service account's user name.
pub fn split_service_account(user: &str) -> Option<(&str, &str)> {
    let (namespace, name) = user.strip_prefix("system:serviceaccount:")?.split_once(':')?;
    (is_label(namespace) && is_subdomain(name)).then_some((namespace, name))
}

/// A DNS-1123 label of at most 63 characters.
fn is_label(text: &str) -> bool {
    let inner = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit() || c == b'-';
    let bytes = text.as_bytes();
    (1..=63).contains(&bytes.len())
        && bytes.iter().all(|c| inner(*c))
        && bytes.first() != Some(&b'-')
        && bytes.last() != Some(&b'-')
}

/// A DNS-1123 subdomain: labels joined by dots, of any length up to 253 together.
pub(crate) fn is_subdomain(text: &str) -> bool {
    text.len() <= 253
        && text.split('.').all(|part| {
            let bytes = part.as_bytes();
            !bytes.is_empty()
                && bytes.iter().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || *c == b'-')
                && bytes.first() != Some(&b'-')
                && bytes.last() != Some(&b'-')
        })
}

#[cfg(test)]
mod tests;
