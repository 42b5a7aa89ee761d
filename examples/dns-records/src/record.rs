//! Kind `DnsRecord`.

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Finalizer of every record that the provider may know.
pub const FINALIZER: &str = "dns.example.com/withdraw";

/// DNS record of one host.
#[derive(CustomResource, Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[kube(group = "dns.example.com", version = "v1", kind = "DnsRecord", namespaced, status = "DnsRecordStatus")]
#[kube(derive = "PartialEq")]
#[serde(rename_all = "camelCase")]
pub struct DnsRecordSpec {
    /// URL of the provider.
    pub provider: String,
    /// Host name.
    pub host: String,
    /// Address of the host.
    pub address: String,
}

/// State of a record.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DnsRecordStatus {
    /// Address that the provider publishes.
    pub published: String,
    /// Generation of the spec that was published.
    pub observed_generation: Option<i64>,
}

#[cfg(test)]
mod tests;
