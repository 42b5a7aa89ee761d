//! Fields that an endpoint resets to their previous values, so that no manager owns them through that endpoint.

use super::set::FieldSet;

/// Fields an endpoint resets: `status` for a resource with a status endpoint, `spec` for the status endpoint itself.
#[derive(Clone, Debug, Default)]
pub struct ResetFields {
    /// The only version the fields are reset in; `None` for all versions.
    version: Option<String>,
    set: FieldSet<'static>,
}

const METADATA: &[&str] = &["metadata"];
const SPEC: &[&str] = &["spec"];
const STATUS: &[&str] = &["status"];

impl ResetFields {
    /// Returns the fields that a custom resource's endpoint resets. `has_status` is whether the version has the status
    /// subresource.
    pub fn custom(api_version: &str, subresource: &str, has_status: bool) -> Self {
        match subresource {
            "status" => Self { version: None, set: FieldSet::of_fields(&[METADATA, SPEC]) },
            "" if has_status => Self { version: Some(api_version.into()), set: FieldSet::of_fields(&[STATUS]) },
            _ => Self::default(),
        }
    }

    /// Returns the fields that an endpoint of a built-in kind resets.
    pub fn built_in(group: &str, kind: &str, subresource: &str) -> Self {
        Self { version: None, set: FieldSet::of_fields(fields(group, kind, subresource)) }
    }

    /// Removes the reset fields from a set of the given version.
    pub(crate) fn filter(&self, api_version: &str, set: &mut FieldSet<'_>) {
        if self.version.as_deref().is_none_or(|only| only == api_version) {
            set.subtract_below(&self.set);
        }
    }
}

/// Returns the fields that the strategies of kube-apiserver reset.
fn fields(group: &str, kind: &str, subresource: &str) -> &'static [&'static [&'static str]] {
    let metadata_too = matches!(
        (group, kind),
        ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy")
            | ("apiregistration.k8s.io", "APIService")
            | ("flowcontrol.apiserver.k8s.io", "FlowSchema" | "PriorityLevelConfiguration")
            | ("internal.apiserver.k8s.io", "StorageVersion")
            | ("networking.k8s.io", "ServiceCIDR")
            | ("resource.k8s.io", "DeviceTaintRule" | "ResourceClaim" | "ResourcePoolStatusRequest")
            | ("scheduling.k8s.io", "PodGroup")
            | ("storagemigration.k8s.io", "StorageVersionMigration")
    );
    let spec_only = matches!(
        (group, kind),
        ("apiextensions.k8s.io", "CustomResourceDefinition")
            | ("apps", "DaemonSet" | "ReplicaSet" | "StatefulSet")
            | ("autoscaling", "HorizontalPodAutoscaler")
            | ("batch", "CronJob" | "Job")
            | ("networking.k8s.io", "Ingress")
            | ("policy", "PodDisruptionBudget")
    ) || group.is_empty()
        && matches!(
            kind,
            "Namespace"
                | "Node"
                | "PersistentVolume"
                | "PersistentVolumeClaim"
                | "ReplicationController"
                | "ResourceQuota"
                | "Service"
        );
    match (group, kind, subresource) {
        ("certificates.k8s.io", "CertificateSigningRequest", "") => &[SPEC, STATUS],
        ("certificates.k8s.io", "CertificateSigningRequest", "status") => &[SPEC, &["status", "conditions"]],
        ("certificates.k8s.io", "CertificateSigningRequest", "approval") => &[SPEC, &["status", "certificate"]],
        ("certificates.k8s.io", "PodCertificateRequest", "status") => &[SPEC],
        ("apps", "Deployment", "") | ("", "Pod", "") => &[STATUS],
        ("apps", "Deployment", "status") => &[SPEC, &["metadata", "labels"]],
        ("", "Pod", "status") => &[SPEC, &["metadata", "deletionTimestamp"], &["metadata", "ownerReferences"]],
        ("", "Namespace", "finalize") => &[STATUS],
        (_, _, "") if metadata_too || spec_only => &[STATUS],
        (_, _, "status") if metadata_too => &[METADATA, SPEC],
        (_, _, "status") if spec_only => &[SPEC],
        _ => &[],
    }
}
