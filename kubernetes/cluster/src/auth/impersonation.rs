//! Impersonation: `Impersonate-User`, `-Group`, `-Uid`, `-Extra-*`.
//!
//! There are two ways, tried in this order like kube-apiserver since 1.36 (KEP-5284): the constrained modes, which
//! require `impersonate:<mode>` on the identity and `impersonate-on:<mode>:<verb>` on the target of the request; and
//! then plain `impersonate`. If none allows the impersonation, the client receives the first error.

mod headers;

use super::rbac::Authorizer;
use super::{
    ANONYMOUS, AUTHENTICATED, Attributes, AuthorizerDecision, MASTERS, UNAUTHENTICATED, User, is_subdomain,
    service_account_groups, split_service_account,
};
use http::HeaderMap;
use switchboard_object::status::Status;

/// API group of identities in the constrained modes.
const AUTHENTICATION: &str = "authentication.k8s.io";
/// From this number of groups or extra values on, one check for all of them is tried first.
const MANY: usize = 4;
/// Key of a service account's `extra` that names its node.
const NODE_NAME: &str = "authentication.kubernetes.io/node-name";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ImpersonationMode {
    AssociatedNode,
    ArbitraryNode,
    ServiceAccount,
    UserInfo,
    Legacy,
}

/// Returns the user the request acts as: the impersonated user, if the headers request one and the requester is allowed
/// to.
///
/// `request` has the requester as its user.
pub fn impersonate(authorizer: &dyn Authorizer, request: &Attributes, headers: &HeaderMap) -> Result<User, Status> {
    let Some(wanted) = headers::requested_user(headers)? else { return Ok(request.user.clone()) };
    let modes = [
        ImpersonationMode::AssociatedNode,
        ImpersonationMode::ArbitraryNode,
        ImpersonationMode::ServiceAccount,
        ImpersonationMode::UserInfo,
        ImpersonationMode::Legacy,
    ];
    let mut first = None;
    for mode in modes.into_iter().filter(|mode| mode.applies(&wanted, &request.user)) {
        match (ImpersonationCheck { authorizer, mode, requester: &request.user }).run(&wanted, request) {
            Ok(user) => return Ok(user),
            Err(refused) => first = first.or(Some(refused)),
        }
    }
    Err(first.unwrap_or_else(|| Status::internal("all impersonation modes failed")))
}

impl ImpersonationMode {
    fn name(self) -> &'static str {
        match self {
            Self::AssociatedNode => "associated-node",
            Self::ArbitraryNode => "arbitrary-node",
            Self::ServiceAccount => "serviceaccount",
            Self::UserInfo => "user-info",
            Self::Legacy => "",
        }
    }

    fn verb(self) -> String {
        if self == Self::Legacy { "impersonate".into() } else { format!("impersonate:{}", self.name()) }
    }

    fn applies(self, wanted: &User, requester: &User) -> bool {
        let only_name = wanted.uid.is_empty() && wanted.groups.is_empty() && wanted.extra.is_empty();
        let node = node_name(&wanted.name);
        match self {
            Self::AssociatedNode => {
                let own = requester.extra.get(NODE_NAME).and_then(|names| match names.as_slice() {
                    [one] => Some(one.as_str()),
                    _ => None,
                });
                only_name && node.is_some() && split_service_account(&requester.name).is_some() && own == node
            }
            Self::ArbitraryNode => only_name && node.is_some(),
            Self::ServiceAccount => only_name && split_service_account(&wanted.name).is_some(),
            Self::UserInfo => node.is_none() && split_service_account(&wanted.name).is_none(),
            Self::Legacy => true,
        }
    }
}

struct ImpersonationCheck<'a> {
    authorizer: &'a dyn Authorizer,
    mode: ImpersonationMode,
    requester: &'a User,
}

impl ImpersonationCheck<'_> {
    fn run(&self, wanted: &User, request: &Attributes) -> Result<User, Status> {
        if self.mode != ImpersonationMode::Legacy {
            let verb = format!("impersonate-on:{}:{}", self.mode.name(), request.verb);
            self.authorize(&Attributes { verb, ..request.clone() })?;
        }
        let mut user = wanted.clone();
        self.name(wanted, &mut user)?;
        if !wanted.uid.is_empty() {
            self.authorize(&self.identity(AUTHENTICATION, "uids").named(&wanted.uid))?;
        }
        self.groups(&wanted.groups)?;
        self.extra(wanted)?;
        add_fixed_group(&mut user);
        Ok(user)
    }

    fn name(&self, wanted: &User, user: &mut User) -> Result<(), Status> {
        let mut asked = self.identity(self.identity_group(), "users").named(&wanted.name);
        if let (true, Some(node)) = (self.mode != ImpersonationMode::Legacy, node_name(&wanted.name)) {
            asked.resource = "nodes".into();
            asked.name = node.into();
            user.groups = vec!["system:nodes".into()];
        }
        if let Some((namespace, name)) = split_service_account(&wanted.name) {
            asked.resource = "serviceaccounts".into();
            asked.namespace = namespace.into();
            asked.name = name.into();
            if wanted.groups.is_empty() {
                user.groups = service_account_groups(namespace);
            }
        }
        if self.mode == ImpersonationMode::AssociatedNode {
            // The right is to impersonate the associated node, whatever its name.
            asked.name = "*".into();
        }
        self.authorize(&asked)
    }

    fn groups(&self, groups: &[String]) -> Result<(), Status> {
        let asked = self.identity(self.identity_group(), "groups");
        let constrained = self.mode != ImpersonationMode::Legacy;
        if constrained && groups.iter().any(String::is_empty) {
            return Err(asked.forbidden("impersonating the empty string group is not allowed"));
        }
        if constrained && groups.iter().any(|group| group == MASTERS) {
            return Err(asked.named(MASTERS).forbidden("impersonating the system:masters group is not allowed"));
        }
        if constrained && groups.len() >= MANY && self.authorize(&asked.clone().named("*")).is_ok() {
            return Ok(());
        }
        groups.iter().try_for_each(|group| self.authorize(&asked.clone().named(group)))
    }

    fn extra(&self, wanted: &User) -> Result<(), Status> {
        let asked = self.identity(AUTHENTICATION, "userextras");
        let pairs: Vec<(&String, &String)> =
            wanted.extra.iter().flat_map(|(key, values)| values.iter().map(move |value| (key, value))).collect();
        if self.mode != ImpersonationMode::Legacy && !wanted.extra.is_empty() {
            headers::validate_extra(&wanted.extra).map_err(|why| asked.forbidden(&why))?;
            let all = Attributes { subresource: "*".into(), ..asked.clone() }.named("*");
            if pairs.len() >= MANY && self.authorize(&all).is_ok() {
                return Ok(());
            }
        }
        pairs.into_iter().try_for_each(|(key, value)| {
            self.authorize(&Attributes { subresource: key.clone(), ..asked.clone() }.named(value))
        })
    }

    fn identity_group(&self) -> &'static str {
        if self.mode == ImpersonationMode::Legacy { "" } else { AUTHENTICATION }
    }

    fn identity(&self, group: &str, resource: &str) -> Attributes {
        let mut asked = Attributes::resource(self.requester.clone(), &self.mode.verb(), group, resource);
        asked.version = "v1".into();
        asked
    }

    fn authorize(&self, attributes: &Attributes) -> Result<(), Status> {
        match self.authorizer.decide(attributes) {
            AuthorizerDecision::Allow(_) => Ok(()),
            AuthorizerDecision::NoOpinion(reason) => Err(attributes.forbidden(&reason)),
        }
    }
}

fn add_fixed_group(user: &mut User) {
    let group = if user.name == ANONYMOUS { UNAUTHENTICATED } else { AUTHENTICATED };
    if !user.is_member_of(UNAUTHENTICATED) && !user.is_member_of(group) {
        user.groups.push(group.into());
    }
}

fn node_name(user: &str) -> Option<&str> {
    user.strip_prefix("system:node:").filter(|name| is_subdomain(name))
}

#[cfg(test)]
mod tests;
