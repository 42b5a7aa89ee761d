//! What a side may read of the cluster.

use std::cell::{Cell, RefCell};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use switchboard_kernel::operator::{ServiceAccount, Stop};
use switchboard_kernel::redact::Secrets;
use switchboard_kernel::resource::Resource;
use switchboard_kernel::view::View;

use crate::authority::{self, Act};
use crate::coupling::SECRETS;
use crate::kinds;
use crate::render::{Both, Source, Trouble, Values, Wanted, Who};

const CONFIG_MAPS: Resource = Resource::namespaced("", "v1", "ConfigMap", "configmaps");

/// Reads for both sides, each as its service account; remembers the secrets it saw, to keep them out of what is told.
pub(crate) struct Reading<'a> {
    view: &'a View,
    accounts: Both<ServiceAccount>,
    secrets: RefCell<Secrets>,
    has_read_secrets: Cell<bool>,
}

impl<'a> Reading<'a> {
    pub fn new(view: &'a View, plug: ServiceAccount, socket: ServiceAccount) -> Self {
        Self { view, accounts: Both { plug, socket }, secrets: RefCell::default(), has_read_secrets: Cell::new(false) }
    }

    /// The words without any secret that was read.
    pub fn scrub(&self, words: &str) -> String {
        self.secrets.borrow().scrub(words)
    }

    /// Whether a text holds a secret that was read.
    pub fn is_secret(&self, text: &str) -> bool {
        self.scrub(text) != text
    }

    /// Whether a Secret was among what was read.
    pub fn has_read_secrets(&self) -> bool {
        self.has_read_secrets.get()
    }

    fn allowed(&self, who: Who, resource: &Resource, namespace: &str, name: &str) -> Result<(), Trouble> {
        let act = Act { verb: "get", resource, namespace, name };
        let account = self.accounts.of(who);
        authority::may(self.view, account, &act)?
            .map_err(|words| Trouble::Wrong(authority::with_way_out(&words, account)))
    }
}

impl Source for Reading<'_> {
    fn config_map(&self, who: Who, namespace: &str, name: &str) -> Result<Values, Trouble> {
        self.allowed(who, &CONFIG_MAPS, namespace, name)?;
        let found = self.view.get(&CONFIG_MAPS, namespace, name)?;
        let object = found.ok_or_else(|| not_found(&CONFIG_MAPS, name))?.value();
        let text = |(key, value): (&String, &Value)| (key.clone(), value.as_str().unwrap_or_default().to_string());
        Ok(object["data"].as_object().into_iter().flatten().map(text).collect())
    }

    fn secret(&self, who: Who, namespace: &str, name: &str) -> Result<Values, Trouble> {
        self.allowed(who, &SECRETS, namespace, name)?;
        let object = self.view.get(&SECRETS, namespace, name)?.ok_or_else(|| not_found(&SECRETS, name))?.value();
        self.has_read_secrets.set(true);
        self.secrets.borrow_mut().learn(&object);
        let text = |(key, value): (&String, &Value)| {
            let bytes = STANDARD.decode(value.as_str().unwrap_or_default()).unwrap_or_default();
            (key.clone(), String::from_utf8_lossy(&bytes).into_owned())
        };
        Ok(object["data"].as_object().into_iter().flatten().map(text).collect())
    }

    fn object(&self, who: Who, wanted: &Wanted<'_>) -> Result<Value, Trouble> {
        let Some(resource) = kinds::kind(self.view, wanted.api_version, wanted.kind)? else {
            return Err(not_served(wanted.api_version, wanted.kind));
        };
        let namespace = if resource.namespaced { wanted.namespace } else { "" };
        self.allowed(who, &resource, namespace, wanted.name)?;
        let found = self.view.get(&resource, namespace, wanted.name)?;
        let object = found.ok_or_else(|| not_found(&resource, wanted.name))?.value();
        self.has_read_secrets.set(self.has_read_secrets.get() || resource == SECRETS);
        self.secrets.borrow_mut().learn(&object);
        Ok(object)
    }
}

/// In the API server's words.
fn not_found(resource: &Resource, name: &str) -> Trouble {
    Trouble::Missing(format!("{resource} \"{name}\" not found; create it, or name another"))
}

pub(super) fn not_served(api_version: &str, kind: &str) -> Trouble {
    Trouble::Missing(format!("no matches for kind \"{kind}\" in version \"{api_version}\""))
}

/// Where an object of a kind is served.
pub(super) fn kind_of(view: &View, api_version: &str, kind: &str) -> Result<Resource, Trouble> {
    let found: Result<Option<Resource>, Stop> = kinds::kind(view, api_version, kind);
    found?.ok_or_else(|| not_served(api_version, kind))
}
