//! Label and field selectors of lists and watches.

mod fields;

use std::borrow::Cow;

use bytes::Bytes;
use serde::Deserialize;
use switchboard_object::Map;
use switchboard_object::selector::{FieldSelector, LabelSelector};
use switchboard_object::status::Status;

use super::ApiCall;
use crate::request::list::ListOptions;
use crate::store::StoreKey;

/// Selectors of one list or watch.
#[derive(Clone, Debug)]
pub(super) struct ListSelector {
    labels: LabelSelector,
    fields: FieldSelector,
    /// Name in the path of a single object: `/api/v1/watch/namespaces/shop/pods/web`.
    name: Option<String>,
}

#[derive(Deserialize)]
struct ObjectHead {
    #[serde(default)]
    metadata: HeadMetadata,
}

#[derive(Default, Deserialize)]
struct HeadMetadata {
    #[serde(default)]
    labels: Option<Map>,
}

impl ListSelector {
    /// Parses the selectors. Fields that the resource does not support are refused.
    pub fn parse(call: &ApiCall, options: &ListOptions) -> Result<Self, Status> {
        let labels = LabelSelector::parse(&options.label_selector).map_err(|e| Status::bad_request(e.to_string()))?;
        let fields = FieldSelector::parse(&options.field_selector).map_err(|e| Status::bad_request(e.to_string()))?;
        for term in fields.terms() {
            fields::check(&call.resource, &term.field).map_err(Status::bad_request)?;
        }
        let name = Some(call.info.name.clone()).filter(|name| !name.is_empty());
        if let (Some(name), false) = (&name, fields.is_everything())
            && fields.exact("metadata.name") != Some(name)
        {
            return Err(Status::bad_request("fieldSelector metadata.name doesn't match requested name"));
        }
        Ok(Self { labels, fields, name })
    }

    /// Whether all objects are selected.
    pub fn is_everything(&self) -> bool {
        self.labels.is_everything() && self.fields.is_everything() && self.name.is_none()
    }

    /// Whether the object is selected. Parses only as much of it as the selectors need.
    pub fn matches(&self, key: &StoreKey, stored: &Bytes) -> bool {
        let named = self.name.as_deref().is_none_or(|name| name == key.name());
        named && self.matches_fields(key, stored) && self.matches_labels(stored)
    }

    fn matches_labels(&self, stored: &Bytes) -> bool {
        if self.labels.is_everything() {
            return true;
        }
        let head: Result<ObjectHead, _> = serde_json::from_slice(stored);
        head.is_ok_and(|head| self.labels.matches(head.metadata.labels.as_ref()))
    }

    fn matches_fields(&self, key: &StoreKey, stored: &Bytes) -> bool {
        let of_key = |field: &str| match field {
            "metadata.name" => Some(key.name()),
            "metadata.namespace" => Some(key.namespace()),
            _ => None,
        };
        if self.fields.terms().iter().all(|term| of_key(&term.field).is_some()) {
            return self.fields.matches(|field| Cow::Borrowed(of_key(field).unwrap_or_default()));
        }
        let object = crate::wire::parse(stored);
        self.fields.matches(|field| match of_key(field) {
            Some(value) => Cow::Borrowed(value),
            None => fields::value(&object, field),
        })
    }
}
