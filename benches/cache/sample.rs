//! ConfigMaps of one kilobyte, as received from an API server without managed fields.

use std::sync::Arc;

use bytes::Bytes;
use switchboard_kernel::resource::{Resource, TableKey};
use switchboard_kernel::topology::ClusterName;

const OBJECT_BYTES: usize = 1_024;
pub const PER_NAMESPACE: usize = 1_000;

pub const CONFIG_MAPS: Resource = Resource::namespaced("", "v1", "ConfigMap", "configmaps");
pub const SECRETS: Resource = Resource::namespaced("", "v1", "Secret", "secrets");

pub fn cluster() -> ClusterName {
    ClusterName::new("main")
}

pub fn table(resource: &Resource) -> TableKey {
    TableKey { cluster: cluster(), resource: Arc::new(resource.clone()) }
}

pub fn namespace(index: usize) -> String {
    format!("team-{:03}", index / PER_NAMESPACE)
}

pub fn name(index: usize) -> String {
    format!("settings-{index:06}")
}

/// Returns the JSON of a ConfigMap, exactly [`OBJECT_BYTES`] long for every revision.
pub fn config_map(index: usize, revision: u64) -> Bytes {
    let (namespace, name) = (namespace(index), name(index));
    let head = format!(
        "{{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{{\"creationTimestamp\":\"2026-01-01T00:00:00Z\",\
         \"labels\":{{\"app\":\"shop\"}},\"name\":\"{name}\",\"namespace\":\"{namespace}\",\
         \"resourceVersion\":\"{revision:010}\",\"uid\":\"5f1c1f5e-0000-4000-8000-{index:012}\"}},\"data\":{{\"settings\":\""
    );
    let tail = "\"}}";
    let filling = OBJECT_BYTES - head.len() - tail.len();
    Bytes::from(format!("{head}{}{tail}", "x".repeat(filling)))
}
