//! Authentication and authorization: certificates, tokens, impersonation, RBAC.
//!
//! ```text
//! connection ──peer──▶ authentication ──User──▶ impersonation ──User──▶ rbac ──▶ allowed, or a Status
//!   headers ─────────────▲                          ▲                    ▲
//!   store (service accounts, roles, bindings) ──────┴────────────────────┘
//! ```
//!
//! Every decision is a function of the request, the given time and the objects in the store; nothing here writes to the
//! store. Tokens and keys never reach a log: the types that hold them print a placeholder.

pub mod authentication;
pub mod certificates;
pub mod filters;
pub mod impersonation;
pub mod kubeconfig;
pub mod rbac;
pub mod review;
pub mod token;

use std::collections::BTreeMap;

use switchboard_object::kind::GroupResource;
use switchboard_object::quote::quote;
use switchboard_object::status::Status;

/// Group of every authenticated user.
pub const AUTHENTICATED: &str = "system:authenticated";
/// Group of every unauthenticated user.
pub const UNAUTHENTICATED: &str = "system:unauthenticated";
/// User name of requests without credentials.
pub const ANONYMOUS: &str = "system:anonymous";
/// Group that is allowed everything, regardless of roles.
pub const MASTERS: &str = "system:masters";

/// User of a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct User {
    /// Name: `alice`, `system:serviceaccount:shop:web`.
    pub name: String,
    /// Uid; empty if the credentials have none.
    pub uid: String,
    /// Groups, in the order of the credentials.
    pub groups: Vec<String>,
    /// Extra attributes, such as the pod a token is bound to.
    pub extra: BTreeMap<String, Vec<String>>,
}

/// Authorization attributes of a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Attributes {
    /// User of the request.
    pub user: User,
    /// `get`, `list`, `create`, ...; for paths the lowercase HTTP method.
    pub verb: String,
    /// API group; empty for the core group and for paths.
    pub group: String,
    /// API version.
    pub version: String,
    /// Plural resource name.
    pub resource: String,
    /// Subresource, or empty.
    pub subresource: String,
    /// Namespace, or empty at the cluster scope.
    pub namespace: String,
    /// Name of the object, or empty.
    pub name: String,
    /// Path, for requests that are not about a resource.
    pub path: String,
    /// Whether the request is about a resource, not a path.
    pub is_resource: bool,
    /// Field selector of a list or watch, or empty.
    pub field_selector: String,
    /// Label selector of a list or watch, or empty.
    pub label_selector: String,
}

/// Decision of an authorizer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AuthorizerDecision {
    /// Allowed, with the reason.
    Allow(String),
    /// Not allowed by any rule. The text names unresolved roles, and is empty otherwise.
    NoOpinion(String),
}

impl User {
    /// Creates a user without groups.
    pub fn named(name: impl Into<String>) -> Self {
        Self { name: name.into(), ..Self::default() }
    }

    /// Adds a group.
    pub fn with_group(mut self, group: impl Into<String>) -> Self {
        self.groups.push(group.into());
        self
    }

    /// Returns the user of requests without credentials.
    pub fn anonymous() -> Self {
        Self::named(ANONYMOUS).with_group(UNAUTHENTICATED)
    }

    /// Returns the user of the server itself, for its controllers and the in-process client.
    pub fn loopback() -> Self {
        Self::named("system:apiserver").with_group(MASTERS).with_group(AUTHENTICATED)
    }

    /// Returns the user of a service account, with its fixed groups.
    pub fn service_account(namespace: &str, name: &str, uid: &str) -> Self {
        Self {
            name: service_account_name(namespace, name),
            uid: uid.to_string(),
            groups: service_account_groups(namespace),
            extra: BTreeMap::new(),
        }
    }

    /// Whether the user is a member of the group.
    pub fn is_member_of(&self, group: &str) -> bool {
        self.groups.iter().any(|g| g == group)
    }
}

impl Attributes {
    /// Creates the attributes of a resource request. The caller sets the other fields.
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

    /// Creates the attributes of a path request.
    pub fn path(user: User, verb: &str, path: &str) -> Self {
        Self { user, verb: verb.into(), path: path.into(), ..Self::default() }
    }

    /// Sets the namespace.
    pub fn in_namespace(mut self, namespace: &str) -> Self {
        self.namespace = namespace.into();
        self
    }

    /// Sets the object's name.
    pub fn named(mut self, name: &str) -> Self {
        self.name = name.into();
        self
    }

    /// Returns the 403, with the authorizer's reason at its end.
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
            return format!("User {} cannot {verb} path {}", quote(user), quote(&self.path));
        }
        let resource = self.combined_resource();
        let place = match self.namespace.as_str() {
            "" => "at the cluster scope".to_string(),
            namespace => format!("in the namespace {}", quote(namespace)),
        };
        format!(
            "User {} cannot {verb} resource {} in API group {} {place}",
            quote(user),
            quote(&resource),
            quote(&self.group)
        )
    }

    /// Returns `pods`, or `pods/log`.
    pub fn combined_resource(&self) -> String {
        match self.subresource.as_str() {
            "" => self.resource.clone(),
            subresource => format!("{}/{subresource}", self.resource),
        }
    }
}

/// Formats a list of strings as Go's `%q`.
pub(crate) fn quoted_list(items: &[String]) -> String {
    let quoted: Vec<String> = items.iter().map(|item| quote(item)).collect();
    format!("[{}]", quoted.join(" "))
}

/// Escapes characters so that browsers do not read an error as HTML.
fn sanitized(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// Returns `system:serviceaccount:<namespace>:<name>`.
pub fn service_account_name(namespace: &str, name: &str) -> String {
    format!("system:serviceaccount:{namespace}:{name}")
}

/// Returns the groups of every service account in a namespace.
pub fn service_account_groups(namespace: &str) -> Vec<String> {
    vec!["system:serviceaccounts".to_string(), format!("system:serviceaccounts:{namespace}")]
}

/// Returns namespace and name of a service account's user name.
pub fn split_service_account(user: &str) -> Option<(&str, &str)> {
    let (namespace, name) = user.strip_prefix("system:serviceaccount:")?.split_once(':')?;
    (is_label(namespace) && is_subdomain(name)).then_some((namespace, name))
}

/// Whether the text is a DNS-1123 label of at most 63 characters.
fn is_label(text: &str) -> bool {
    let inner = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit() || c == b'-';
    let bytes = text.as_bytes();
    (1..=63).contains(&bytes.len())
        && bytes.iter().all(|c| inner(*c))
        && bytes.first() != Some(&b'-')
        && bytes.last() != Some(&b'-')
}

/// Whether the text is a DNS-1123 subdomain: labels joined by dots, at most 253 characters in total.
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
