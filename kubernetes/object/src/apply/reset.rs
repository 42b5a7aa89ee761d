//! Fields that an endpoint puts back to what they were, so that nobody comes to own them there.

use super::set::Set;

/// The fields an endpoint resets: `status` of a resource that has a status endpoint, `spec` of that endpoint.
#[derive(Clone, Debug, Default)]
pub struct ResetFields {
    /// The only version the fields are reset in; `None` for all.
    version: Option<String>,
    set: Set<'static>,
}

const METADATA: &[&str] = &["metadata"];
const SPEC: &[&str] = &["spec"];
const STATUS: &[&str] = &["status"];

impl ResetFields {
    /// The fields a custom resource's endpoint resets. `has_status` tells whether the version has the status subresource.
    pub fn custom(api_version: &str, subresource: &str, has_status: bool) -> Self {
        match subresource {
            "status" => Self { version: None, set: Set::of_fields(&[METADATA, SPEC]) },
            "" if has_status => Self { version: Some(api_version.into()), set: Set::of_fields(&[STATUS]) },
            _ => Self::default(),
        }
    }

    /// The fields an endpoint of a built-in kind resets.
    pub fn built_in(group: &str, kind: &str, subresource: &str) -> Self {
        Self { version: None, set: Set::of_fields(fields(group, kind, subresource)) }
    }

    /// Takes the reset fields out of a set of that version.
    pub(crate) fn filter(&self, api_version: &str, set: &mut Set<'_>) {
        if self.version.as_deref().is_none_or(|only| only == api_version) {
            set.subtract_below(&self.set);
        }
    }
}

/// Which fields the strategies of kube-apiserver name.
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
