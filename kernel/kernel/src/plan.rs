//! What an operator wants written: mutations as data.

mod terms;

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::operator::ServiceAccount;
use crate::place::Place;
use crate::resource::Resource;
pub use terms::Terms;

/// What is to be written for one unit, and what the unit says of itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Plan {
    /// In the order the operator named them; the arbiter brings them into the order they are carried out in.
    pub mutations: Vec<Mutation>,
    /// Where the unit stands once they are carried out.
    #[serde(default)]
    pub standing: Standing,
    /// Run again after that time even if nothing changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub again: Option<Duration>,
    /// The writes are carried out in the order given, each for itself. For operators whose steps follow from each other; the
    /// arbiter orders and squashes all others.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ordered: bool,
}

/// Where a unit stands, in its own words. Words hold no secret.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Standing {
    /// All is as it should be.
    #[default]
    Ready,
    /// Something else must happen first; nobody needs to act.
    Waiting(String),
    /// A person must act.
    Blocked(String),
    /// Something went wrong that does not keep the writes from being right: the unit is tried again later.
    Failing(String),
}

/// One write.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Mutation {
    /// On which cluster.
    pub place: Place,
    /// Of which kind.
    pub resource: Resource,
    /// Its namespace; empty when the kind has none.
    pub namespace: String,
    /// Its name; empty for a create that leaves the name to `generateName`.
    pub name: String,
    /// `status` or `scale`; absent for the object itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subresource: Option<String>,
    /// What is done.
    pub act: Act,
    /// What must still hold.
    #[serde(default)]
    pub expect: Expect,
    /// What a deletion asks beside that in its own words; nothing for any other act.
    #[serde(default, skip_serializing_if = "Terms::is_empty")]
    pub terms: Terms,
    /// The field manager; the operator's name when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field_manager: Option<String>,
    /// What the server does with fields it does not know: `Ignore`, `Warn` or `Strict`; as it is used to when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field_validation: Option<String>,
    /// Whom this write is made as; as the operator's others when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<ServiceAccount>,
}

/// What is done to an object.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Act {
    /// Make it.
    Create(Value),
    /// Replace it; the body carries the `resourceVersion` it was read at.
    Update(Value),
    /// Server-side apply.
    Apply {
        /// The fields wanted.
        body: Value,
        /// Take fields from other managers.
        force: bool,
    },
    /// Change parts of it.
    Patch {
        /// How the body is read.
        form: PatchForm,
        /// The patch.
        body: Value,
    },
    /// Remove it.
    Delete {
        /// `Background`, `Foreground` or `Orphan`; the kind's default when absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        propagation: Option<String>,
    },
}

/// How a patch is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum PatchForm {
    /// RFC 6902.
    Json,
    /// RFC 7396.
    Merge,
    /// Kubernetes' own.
    Strategic,
}

/// What must still hold when a write is carried out; when it does not, the unit decides again.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Expect {
    /// The object is the one that was read, at the revision it was read at. Nothing when it was not read.
    #[default]
    Seen,
    /// Nothing: the write is right whatever has happened since.
    Anything,
    /// Exactly this: what the arbiter makes of `Seen`.
    Exactly {
        /// The object's uid.
        uid: String,
        /// Its revision.
        revision: u64,
    },
}

impl Standing {
    /// The same in other words.
    #[must_use]
    pub(crate) fn in_words(self, other: &dyn Fn(&str) -> String) -> Self {
        match self {
            Standing::Ready => Standing::Ready,
            Standing::Waiting(on) => Standing::Waiting(other(&on)),
            Standing::Blocked(needs) => Standing::Blocked(other(&needs)),
            Standing::Failing(why) => Standing::Failing(other(&why)),
        }
    }
}

impl Plan {
    /// Nothing to write.
    pub fn nothing() -> Self {
        Self::default()
    }

    /// Nothing to write yet; what will be is carried out in the order given.
    pub fn in_order() -> Self {
        Self { ordered: true, ..Self::default() }
    }

    /// Adds a write.
    pub fn push(&mut self, mutation: Mutation) -> &mut Self {
        self.mutations.push(mutation);
        self
    }

    /// Nothing more to do until something else happens: says what, and who does it.
    #[must_use]
    pub fn waiting(mut self, on: impl Into<String>) -> Self {
        self.standing = Standing::Waiting(on.into());
        self
    }

    /// Nothing more to do until a person acts: says how.
    #[must_use]
    pub fn blocked(mut self, needs: impl Into<String>) -> Self {
        self.standing = Standing::Blocked(needs.into());
        self
    }

    /// The writes are right as far as they go, but something failed: says what.
    #[must_use]
    pub fn failing(mut self, why: impl Into<String>) -> Self {
        self.standing = Standing::Failing(why.into());
        self
    }

    /// Runs the unit again after that time even if nothing changes.
    #[must_use]
    pub fn again_after(mut self, wait: Duration) -> Self {
        self.again = Some(wait);
        self
    }
}

impl Mutation {
    fn of(resource: &Resource, namespace: &str, name: &str, act: Act) -> Self {
        Self {
            place: Place::default(),
            resource: resource.clone(),
            namespace: namespace.to_string(),
            name: name.to_string(),
            subresource: None,
            act,
            expect: Expect::default(),
            terms: Terms::default(),
            field_manager: None,
            field_validation: None,
            user: None,
        }
    }

    fn of_body(resource: &Resource, mut body: Value, act: impl FnOnce(Value) -> Act) -> Self {
        let text = |pointer: &str| body.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_string();
        let (namespace, name) = (text("/metadata/namespace"), text("/metadata/name"));
        if let Value::Object(fields) = &mut body {
            fields.entry("apiVersion").or_insert_with(|| resource.api_version().into());
            fields.entry("kind").or_insert_with(|| resource.kind.as_ref().into());
        }
        Self::of(resource, &namespace, &name, act(body))
    }

    /// Makes an object; name and namespace are those of the body's metadata, `apiVersion` and `kind` may be left out.
    pub fn create(resource: &Resource, body: Value) -> Self {
        Self::of_body(resource, body, Act::Create)
    }

    /// Replaces an object that was read.
    pub fn update(resource: &Resource, body: Value) -> Self {
        Self::of_body(resource, body, Act::Update)
    }

    /// Server-side apply of the fields wanted. Fields of others are conflicts unless [`Mutation::forced`].
    pub fn apply(resource: &Resource, body: Value) -> Self {
        Self::of_body(resource, body, |body| Act::Apply { body, force: false })
    }

    /// Changes parts of an object.
    pub fn patch(resource: &Resource, namespace: &str, name: &str, form: PatchForm, body: Value) -> Self {
        Self::of(resource, namespace, name, Act::Patch { form, body })
    }

    /// Removes an object.
    pub fn delete(resource: &Resource, namespace: &str, name: &str) -> Self {
        Self::of(resource, namespace, name, Act::Delete { propagation: None })
    }

    /// On another cluster.
    #[must_use]
    pub fn at(self, place: Place) -> Self {
        Self { place, ..self }
    }

    /// The status of the object instead of the object.
    #[must_use]
    pub fn status(self) -> Self {
        Self { subresource: Some("status".to_string()), ..self }
    }

    /// Takes fields from other managers.
    #[must_use]
    pub fn forced(mut self) -> Self {
        if let Act::Apply { force, .. } = &mut self.act {
            *force = true;
        }
        self
    }

    /// As another service account than the operator's.
    #[must_use]
    pub fn acting_as(self, user: ServiceAccount) -> Self {
        Self { user: Some(user), ..self }
    }

    /// With a field manager of its own.
    #[must_use]
    pub fn managed_by(self, manager: impl Into<String>) -> Self {
        Self { field_manager: Some(manager.into()), ..self }
    }

    /// Whatever has happened since the object was read.
    #[must_use]
    pub fn regardless(self) -> Self {
        Self { expect: Expect::Anything, ..self }
    }

    /// Whether it is the same write, for whichever place.
    pub fn is_same_elsewhere(&self, other: &Self) -> bool {
        // Named in full, so that whatever comes to a write must be thought of here.
        let Self {
            place: _,
            resource,
            namespace,
            name,
            subresource,
            act,
            expect,
            terms,
            field_manager,
            field_validation,
            user,
        } = self;
        (name, namespace, resource, subresource) == (&other.name, &other.namespace, &other.resource, &other.subresource)
            && (expect, terms, user) == (&other.expect, &other.terms, &other.user)
            && (field_manager, field_validation) == (&other.field_manager, &other.field_validation)
            && act == &other.act
    }

    /// What it does, as one word.
    pub fn verb(&self) -> &'static str {
        match self.act {
            Act::Create(_) => "create",
            Act::Update(_) => "update",
            Act::Apply { .. } => "apply",
            Act::Patch { .. } => "patch",
            Act::Delete { .. } => "delete",
        }
    }
}

/// `apply configmaps/shop/web`, `update plugs.example.com/shop/web status`.
impl fmt::Display for Mutation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}/", self.verb(), self.resource)?;
        if !self.namespace.is_empty() {
            write!(f, "{}/", self.namespace)?;
        }
        f.write_str(if self.name.is_empty() { "?" } else { &self.name })?;
        self.subresource.as_ref().map_or(Ok(()), |s| write!(f, " {s}"))
    }
}
