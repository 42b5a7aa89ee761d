//! OpenAPI documents for `kubectl explain`, client-side validation and code generators.
//!
//! ```text
//! Registry ─▶ operations ─▶ v3: one document per group and version, JSON
//!   │                    └▶ v2: one document for everything, JSON or gnostic's protobuf
//!   └▶ definitions: built-in ones from the data files, custom ones from their CRDs
//! ```
//!
//! Built-in definitions have the descriptions of kube-apiserver, which are decompressed for each document; those of
//! CRDs are served as in the CRD.

mod custom;
mod definitions;
mod operations;
mod protobuf;
#[cfg(test)]
mod tests;
mod v2;
mod v3;

use ring::digest::{SHA512, digest};
use serde_json::json;
use switchboard_object::schema::Descriptions;
use switchboard_object::{Map, Value};

use crate::registry::{ApiGroup, GroupVersionResources, Registry};

pub use protobuf::encode as encode_v2;
pub use v2::document as v2_document;
pub use v3::document as v3_document;

/// Media type of the v2 document's protobuf form, as client-go requests it.
pub const PROTOBUF_V2: &str = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";

/// Returns `/openapi/v3`: the URLs of the documents. Each URL has a hash of the document's inputs, so that clients can
/// cache the document until the hash changes.
pub fn v3_index(registry: &Registry) -> Value {
    let mut paths = Map::new();
    for group in registry.groups() {
        for version in &group.versions {
            let path = v3_path(group, version);
            let hash = content_hash(group, version);
            let url = format!("/openapi/v3/{path}?hash={hash}");
            paths.insert(path, json!({"serverRelativeURL": url}));
        }
    }
    json!({ "paths": paths })
}

/// Returns the hash of a group and version in [`v3_index`].
pub fn content_hash(group: &ApiGroup, version: &GroupVersionResources) -> String {
    let mut text = format!("{} {}/{}", crate::version::GIT_VERSION, group.name, version.name);
    for resource in &version.resources {
        text.push_str(&format!(" {} {:?}", resource.plural, resource.subresources));
        if resource.custom.is_some() {
            text.push_str(&resource.schema.published_schema().unwrap_or_default().to_string());
        }
    }
    let hashed = [text.as_bytes(), Descriptions::checksum()].concat();
    digest(&SHA512, &hashed).as_ref().iter().map(|b| format!("{b:02X}")).collect()
}

/// Returns `api/v1` or `apis/apps/v1`.
fn v3_path(group: &ApiGroup, version: &GroupVersionResources) -> String {
    match &*group.name {
        "" => format!("api/{}", version.name),
        name => format!("apis/{name}/{}", version.name),
    }
}
