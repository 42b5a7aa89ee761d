//! Acting as somebody else: `Impersonate-User`, `-Group`, `-Uid`, `-Extra-*`.
//!
//! Two ways lead there, tried in this order as upstream does since 1.36 (KEP-5284): the constrained modes, which ask for
//! `impersonate:<mode>` on the identity and for `impersonate-on:<mode>:<verb>` on what the request is about, and then
//! plain `impersonate`. When none allows it the client sees the first refusal.

mod headers;

use super::rbac::Authorizer;
use super::{
    ANONYMOUS, AUTHENTICATED, Attributes, Decision, MASTERS, UNAUTHENTICATED, User, is_subdomain,
    service_account_groups, split_service_account,
};
use http::HeaderMap;
use switchboard_object::status::Status;

/// The group of identities, in the constrained modes.
const AUTHENTICATION: &str = "authentication.k8s.io";
/// From this many groups or extra values on, one question for all of them is tried first.
const MANY: usize = 4;
/// Where a service account's `extra` names its node.
const NODE_NAME: &str = "authentication.kubernetes.io/node-name";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    AssociatedNode,
    ArbitraryNode,
    ServiceAccount,
    UserInfo,
    Legacy,
}

/// The user the request acts as: the impersonated one, when the headers ask for one and the requester may.
///
/// `request` is what is asked, with the requester as its user.
pub fn impersonate(authorizer: &dyn Authorizer, request: &Attributes, headers: &HeaderMap) -> Result<User, Status> {
    let Some(wanted) = headers::wanted(headers)? else { return Ok(request.user.clone()) };
    let modes = [Mode::AssociatedNode, Mode::ArbitraryNode, Mode::ServiceAccount, Mode::UserInfo, Mode::Legacy];
    let mut first = None;
    for mode in modes.into_iter().filter(|mode| mode.applies(&wanted, &request.user)) {
        match (Check { authorizer, mode, requester: &request.user }).run(&wanted, request) {
            Ok(user) => return Ok(user),
            Err(refused) => first = first.or(Some(refused)),
        }
    }
    Err(first.unwrap_or_else(|| Status::internal("all impersonation modes failed")))
}

impl Mode {
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

struct Check<'a> {
    authorizer: &'a dyn Authorizer,
    mode: Mode,
    requester: &'a User,
}

impl Check<'_> {
    fn run(&self, wanted: &User, request: &Attributes) -> Result<User, Status> {
        if self.mode != Mode::Legacy {
            let verb = format!("impersonate-on:{}:{}", self.mode.name(), request.verb);
            self.ask(&Attributes { verb, ..request.clone() })?;
        }
        let mut user = wanted.clone();
        self.name(wanted, &mut user)?;
        if !wanted.uid.is_empty() {
            self.ask(&self.identity(AUTHENTICATION, "uids").named(&wanted.uid))?;
        }
        self.groups(&wanted.groups)?;
        self.extra(wanted)?;
        add_fixed_group(&mut user);
        Ok(user)
    }

    fn name(&self, wanted: &User, user: &mut User) -> Result<(), Status> {
        let mut asked = self.identity(self.identity_group(), "users").named(&wanted.name);
        if let (true, Some(node)) = (self.mode != Mode::Legacy, node_name(&wanted.name)) {
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
        if self.mode == Mode::AssociatedNode {
            // The right is to be the node one runs on, whichever that is.
            asked.name = "*".into();
        }
        self.ask(&asked)
    }

    fn groups(&self, groups: &[String]) -> Result<(), Status> {
        let asked = self.identity(self.identity_group(), "groups");
        let constrained = self.mode != Mode::Legacy;
        if constrained && groups.iter().any(String::is_empty) {
            return Err(asked.forbidden("impersonating the empty string group is not allowed"));
        }
        if constrained && groups.iter().any(|group| group == MASTERS) {
            return Err(asked.named(MASTERS).forbidden("impersonating the system:masters group is not allowed"));
        }
        if constrained && groups.len() >= MANY && self.ask(&asked.clone().named("*")).is_ok() {
            return Ok(());
        }
        groups.iter().try_for_each(|group| self.ask(&asked.clone().named(group)))
    }

    fn extra(&self, wanted: &User) -> Result<(), Status> {
        let asked = self.identity(AUTHENTICATION, "userextras");
        let pairs: Vec<(&String, &String)> =
            wanted.extra.iter().flat_map(|(key, values)| values.iter().map(move |value| (key, value))).collect();
        if self.mode != Mode::Legacy && !wanted.extra.is_empty() {
            headers::validate_extra(&wanted.extra).map_err(|why| asked.forbidden(&why))?;
            let all = Attributes { subresource: "*".into(), ..asked.clone() }.named("*");
            if pairs.len() >= MANY && self.ask(&all).is_ok() {
                return Ok(());
            }
        }
        pairs.into_iter().try_for_each(|(key, value)| {
            self.ask(&Attributes { subresource: key.clone(), ..asked.clone() }.named(value))
        })
    }

    fn identity_group(&self) -> &'static str {
        if self.mode == Mode::Legacy { "" } else { AUTHENTICATION }
    }

    fn identity(&self, group: &str, resource: &str) -> Attributes {
        let mut asked = Attributes::resource(self.requester.clone(), &self.mode.verb(), group, resource);
        asked.version = "v1".into();
        asked
    }

    fn ask(&self, attributes: &Attributes) -> Result<(), Status> {
        match self.authorizer.decide(attributes) {
            Decision::Allow(_) => Ok(()),
            Decision::NoOpinion(reason) => Err(attributes.forbidden(&reason)),
        }
    }
}

fn add_fixed_group(user: &mut User) {
    let group = if user.name == ANONYMOUS { UNAUTHENTICATED } else { AUTHENTICATED };
    if !user.is_in(UNAUTHENTICATED) && !user.is_in(group) {
        user.groups.push(group.into());
    }
}

fn node_name(user: &str) -> Option<&str> {
    user.strip_prefix("system:node:").filter(|name| is_subdomain(name))
}

#[cfg(test)]
mod tests;
