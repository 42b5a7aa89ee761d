//! Reads of a side, authorized as its service account.

use std::cell::{Cell, RefCell};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use switchboard_kernel::operator::{DecideError, ServiceAccount};
use switchboard_kernel::redact::Redactor;
use switchboard_kernel::resource::Resource;
use switchboard_kernel::view::View;

use crate::coupling::SECRETS;
use crate::kinds;
use crate::rbac::{self, ResourceAttributes};
use crate::redaction::SecretSource;
use crate::render::{ComputeError, CouplingSide, ObjectQuery, PerSide, ValueSource, Values};

/// Resource of ConfigMaps.
pub(crate) const CONFIG_MAPS: Resource = Resource::namespaced("", "v1", "ConfigMap", "configmaps");

/// Reads objects for both sides, each authorized as its service account, and collects secret values for redaction.
pub(crate) struct AuthorizedReader<'a> {
    view: &'a View,
    accounts: PerSide<ServiceAccount>,
    secrets: RefCell<Redactor>,
    has_read_secrets: Cell<bool>,
}

impl<'a> AuthorizedReader<'a> {
    pub fn new(view: &'a View, plug: ServiceAccount, socket: ServiceAccount) -> Self {
        Self {
            view,
            accounts: PerSide { plug, socket },
            secrets: RefCell::default(),
            has_read_secrets: Cell::new(false),
        }
    }

    /// Redacts all secret values that were read.
    pub fn redact(&self, words: &str) -> String {
        self.secrets.borrow().redact(words)
    }

    fn check_allowed(
        &self,
        side: CouplingSide,
        resource: &Resource,
        namespace: &str,
        name: &str,
    ) -> Result<(), ComputeError> {
        let act = ResourceAttributes { verb: "get", resource, namespace, name };
        let account = self.accounts.of(side);
        rbac::authorize(self.view, account, &act)?
            .map_err(|words| ComputeError::Invalid(rbac::with_hint(&words, account)))
    }
}

impl ValueSource for AuthorizedReader<'_> {
    fn config_map(&self, side: CouplingSide, namespace: &str, name: &str) -> Result<Values, ComputeError> {
        self.check_allowed(side, &CONFIG_MAPS, namespace, name)?;
        let found = self.view.get(&CONFIG_MAPS, namespace, name)?;
        let object = found.ok_or_else(|| not_found(&CONFIG_MAPS, name))?.value();
        let text = |(key, value): (&String, &Value)| (key.clone(), value.as_str().unwrap_or_default().to_string());
        Ok(object["data"].as_object().into_iter().flatten().map(text).collect())
    }

    fn secret(&self, side: CouplingSide, namespace: &str, name: &str) -> Result<Values, ComputeError> {
        self.check_allowed(side, &SECRETS, namespace, name)?;
        let object = self.view.get(&SECRETS, namespace, name)?.ok_or_else(|| not_found(&SECRETS, name))?.value();
        self.has_read_secrets.set(true);
        self.secrets.borrow_mut().add_object(&object);
        let text = |(key, value): (&String, &Value)| {
            let bytes = STANDARD.decode(value.as_str().unwrap_or_default()).unwrap_or_default();
            (key.clone(), String::from_utf8_lossy(&bytes).into_owned())
        };
        Ok(object["data"].as_object().into_iter().flatten().map(text).collect())
    }

    fn object(&self, side: CouplingSide, wanted: &ObjectQuery<'_>) -> Result<Value, ComputeError> {
        let Some(resource) = kinds::resource(self.view, wanted.api_version, wanted.kind)? else {
            return Err(not_served(wanted.api_version, wanted.kind));
        };
        let namespace = if resource.namespaced { wanted.namespace } else { "" };
        self.check_allowed(side, &resource, namespace, wanted.name)?;
        let found = self.view.get(&resource, namespace, wanted.name)?;
        let object = found.ok_or_else(|| not_found(&resource, wanted.name))?.value();
        self.has_read_secrets.set(self.has_read_secrets.get() || resource == SECRETS);
        self.secrets.borrow_mut().add_object(&object);
        Ok(object)
    }
}

impl SecretSource for AuthorizedReader<'_> {
    fn is_secret(&self, text: &str) -> bool {
        self.redact(text) != text
    }

    fn has_read_secrets(&self) -> bool {
        self.has_read_secrets.get()
    }
}

/// Returns an error in the format of the API server.
fn not_found(resource: &Resource, name: &str) -> ComputeError {
    ComputeError::Missing(format!("{resource} \"{name}\" not found; create it, or reference another"))
}

pub(super) fn not_served(api_version: &str, kind: &str) -> ComputeError {
    ComputeError::Missing(format!("no matches for kind \"{kind}\" in version \"{api_version}\""))
}

/// Returns the resource of a kind.
pub(super) fn resource_of(view: &View, api_version: &str, kind: &str) -> Result<Resource, ComputeError> {
    let found: Result<Option<Resource>, DecideError> = kinds::resource(view, api_version, kind);
    found?.ok_or_else(|| not_served(api_version, kind))
}
