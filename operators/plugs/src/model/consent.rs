//! Rules for the use of a socket.

use regex::Regex;
use switchboard_object::Map;
use switchboard_object::selector::LabelSelector;

use super::field::{ModelError, SpecField};

/// Namespaces that may use a socket.
#[derive(Clone, Debug, Default)]
pub struct Consent {
    /// Namespaces by name and by label; absent if not specified.
    grant: Option<NamespaceGrant>,
    /// Regular expressions of integration-operator, one of which a namespace must match.
    allowed: Option<Vec<Regex>>,
    /// Regular expressions of integration-operator that a namespace must not match.
    forbidden: Vec<Regex>,
}

#[derive(Clone, Debug)]
struct NamespaceGrant {
    namespaces: Vec<String>,
    selector: Option<LabelSelector>,
}

/// Error for a plug in a namespace that may not use the socket.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("namespace {0} may not use the socket: the owner of the socket must allow the namespace in spec.consent")]
pub struct ConsentDenied(pub String);

impl Consent {
    pub(super) fn read(spec: &SpecField<'_>) -> Result<Self, ModelError> {
        let validation = spec.at("validation");
        let allowed = validation.at("namespaceWhitelist");
        Ok(Self {
            grant: NamespaceGrant::read(&spec.at("consent"))?,
            allowed: allowed.is_set().then(|| patterns(&allowed)).transpose()?,
            forbidden: patterns(&validation.at("namespaceBlacklist"))?,
        })
    }

    /// Whether any rule is specified.
    pub fn is_stated(&self) -> bool {
        self.grant.is_some() || self.allowed.is_some() || !self.forbidden.is_empty()
    }

    /// Whether the rules depend on the labels of a namespace.
    pub fn needs_labels(&self) -> bool {
        self.grant.as_ref().is_some_and(|grant| grant.selector.is_some())
    }

    /// Checks whether plugs of a namespace may use the socket. Without rules, all namespaces may, or in strict mode
    /// only the socket's own namespace.
    ///
    /// # Errors
    /// [`ConsentDenied`] if they may not.
    pub fn check(&self, namespace: &str, labels: Option<&Map>, own: &str, strict: bool) -> Result<(), ConsentDenied> {
        let any = |patterns: &[Regex]| patterns.iter().any(|pattern| pattern.is_match(namespace));
        let allowed = match (&self.grant, &self.allowed) {
            (None, None) => !strict || namespace == own || !self.forbidden.is_empty(),
            (grant, allowed) => {
                grant.as_ref().is_some_and(|grant| grant.covers(namespace, labels))
                    || allowed.as_deref().is_some_and(any)
            }
        };
        if allowed && !any(&self.forbidden) { Ok(()) } else { Err(ConsentDenied(namespace.to_string())) }
    }
}

impl NamespaceGrant {
    fn read(field: &SpecField<'_>) -> Result<Option<Self>, ModelError> {
        if !field.is_set() {
            return Ok(None);
        }
        let names = field.at("namespaces").items()?;
        let namespaces = names.iter().filter_map(|item| item.text().transpose()).collect::<Result<_, _>>()?;
        let selector = field.at("namespaceSelector");
        let read = |value| LabelSelector::from_object(Some(value)).map_err(|error| selector.error(error.to_string()));
        let selector = selector.value().map(read).transpose()?;
        Ok(Some(Self { namespaces, selector }))
    }

    fn covers(&self, namespace: &str, labels: Option<&Map>) -> bool {
        self.namespaces.iter().any(|name| name == namespace)
            || self.selector.as_ref().is_some_and(|selector| selector.matches(labels))
    }
}

/// Anchors the patterns to the whole name. integration-operator searches them anywhere in the name, so that `app`
/// matches `my-app-evil`.
fn patterns(field: &SpecField<'_>) -> Result<Vec<Regex>, ModelError> {
    let one = |item: &SpecField<'_>| {
        let text = item.text()?.unwrap_or_default();
        Regex::new(&format!("^(?:{text})$")).map_err(|_| item.error("must be a valid regular expression"))
    };
    field.items()?.iter().map(one).collect()
}
