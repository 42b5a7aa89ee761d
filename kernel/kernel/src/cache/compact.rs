//! Bytes kept for an object: without `managedFields` unless an operator reads them, without spare capacity, and
//! unparsed.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::CacheError;
use crate::resource::TableKey;

/// Namespace, name and revision of an object.
pub struct Identity {
    pub namespace: String,
    pub name: String,
    pub revision: u64,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct HeaderMetadata {
    namespace: Option<String>,
    name: Option<String>,
    resource_version: Option<String>,
}

#[derive(Deserialize)]
struct ObjectHeader {
    metadata: HeaderMetadata,
}

/// Reads namespace, name and revision without keeping any of the bytes.
pub fn identity(table: &TableKey, bytes: &[u8]) -> Result<Identity, CacheError> {
    let unreadable = |source| CacheError::Unreadable { table: table.clone(), source };
    let incomplete = |field| CacheError::Incomplete { table: table.clone(), field };
    let ObjectHeader { metadata } = serde_json::from_slice(bytes).map_err(unreadable)?;
    let name = metadata.name.filter(|name| !name.is_empty()).ok_or_else(|| incomplete("name"))?;
    let revision = metadata.resource_version.and_then(|r| r.parse().ok());
    let revision = revision.ok_or_else(|| incomplete("resourceVersion"))?;
    Ok(Identity { namespace: metadata.namespace.unwrap_or_default(), name, revision })
}

/// Returns the bytes to keep for an object, with or without its `managedFields`.
pub fn compact(table: &TableKey, bytes: &[u8], managers: bool) -> Result<Arc<[u8]>, CacheError> {
    shrink(table, bytes, managers).map_err(|source| CacheError::Unreadable { table: table.clone(), source })
}

fn shrink(table: &TableKey, bytes: &[u8], managers: bool) -> Result<Arc<[u8]>, serde_json::Error> {
    let mut object: BTreeMap<String, &RawValue> = serde_json::from_slice(bytes)?;
    let metadata = object.get("metadata").map_or("{}", |raw| raw.get());
    let mut metadata: BTreeMap<String, &RawValue> = serde_json::from_str(metadata)?;
    if !managers {
        metadata.remove("managedFields");
    }
    let metadata = serde_json::value::to_raw_value(&metadata)?;
    object.insert("metadata".to_string(), &metadata);
    // List items have no `apiVersion` and `kind`, watch events have both. The kept bytes must be equal in both cases.
    let version = serde_json::value::to_raw_value(&table.resource.api_version())?;
    let kind = serde_json::value::to_raw_value(&table.resource.kind)?;
    object.entry("apiVersion".to_string()).or_insert(&version);
    object.entry("kind".to_string()).or_insert(&kind);
    Ok(Arc::from(serde_json::to_vec(&object)?))
}
