//! Special rules by kind.

mod batch;
mod cluster;
mod config;
mod endpoints;
mod limit_ranger;
mod network;
mod node;
mod pod;
mod pod_admission;
mod policy;
mod rbac;
mod runtime_class;
mod service;
mod service_address;
mod storage;
mod validation_only;
mod webhooks;
mod workload;

use serde_json::Value;

use super::builtin::KindRules;

/// Returns the rules of a definition.
pub(super) fn of(definition: &str) -> KindRules {
    match definition {
        "api.core.v1.ConfigMap" => config::CONFIG_MAP,
        "api.core.v1.Secret" => config::SECRET,
        "api.core.v1.ServiceAccount" => config::SERVICE_ACCOUNT,
        "api.core.v1.Namespace" => cluster::NAMESPACE,
        "api.core.v1.Node" => node::NODE,
        "api.core.v1.Pod" => pod::POD,
        "api.core.v1.Service" => service::SERVICE,
        "api.core.v1.Endpoints" => endpoints::ENDPOINTS,
        "api.core.v1.PersistentVolume" => storage::VOLUME,
        "api.core.v1.PersistentVolumeClaim" => storage::CLAIM,
        "api.storage.v1.StorageClass" => storage::CLASS,
        "api.storage.v1.VolumeAttributesClass" => storage::ATTRIBUTES_CLASS,
        "api.apps.v1.Deployment" => workload::DEPLOYMENT,
        "api.apps.v1.ReplicaSet" => workload::REPLICA_SET,
        "api.apps.v1.StatefulSet" => workload::STATEFUL_SET,
        "api.apps.v1.DaemonSet" => workload::DAEMON_SET,
        "api.core.v1.ReplicationController" => workload::REPLICATION_CONTROLLER,
        "api.batch.v1.Job" => batch::JOB,
        "api.batch.v1.CronJob" => batch::CRON_JOB,
        "api.certificates.v1.CertificateSigningRequest" => cluster::SIGNING_REQUEST,
        "api.scheduling.v1.PriorityClass" => cluster::PRIORITY_CLASS,
        "api.rbac.v1.Role" => rbac::ROLE,
        "api.rbac.v1.ClusterRole" => rbac::CLUSTER_ROLE,
        "api.rbac.v1.RoleBinding" => rbac::ROLE_BINDING,
        "api.rbac.v1.ClusterRoleBinding" => rbac::CLUSTER_ROLE_BINDING,
        "apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinition" => cluster::CUSTOM_RESOURCE,
        "api.storage.v1.VolumeAttachment" => validation_only::ATTACHMENT,
        "api.storage.v1.CSIDriver" => validation_only::CSI_DRIVER,
        "api.flowcontrol.v1.FlowSchema" => validation_only::FLOW_SCHEMA,
        "api.flowcontrol.v1.PriorityLevelConfiguration" => validation_only::PRIORITY_LEVEL,
        "api.networking.v1.IPAddress" => validation_only::IP_ADDRESS,
        "api.networking.v1.ServiceCIDR" => validation_only::SERVICE_CIDR,
        "api.core.v1.PodTemplate" => validation_only::POD_TEMPLATE,
        "api.apps.v1.ControllerRevision" => validation_only::CONTROLLER_REVISION,
        "api.networking.v1.Ingress" => network::INGRESS,
        "api.networking.v1.IngressClass" => network::INGRESS_CLASS,
        "api.networking.v1.NetworkPolicy" => network::POLICY,
        "api.discovery.v1.EndpointSlice" => network::ENDPOINT_SLICE,
        "api.policy.v1.PodDisruptionBudget" => policy::DISRUPTION_BUDGET,
        "api.autoscaling.v1.HorizontalPodAutoscaler" => policy::AUTOSCALER_V1,
        "api.autoscaling.v2.HorizontalPodAutoscaler" => policy::AUTOSCALER,
        "api.core.v1.ResourceQuota" => policy::QUOTA,
        "api.core.v1.LimitRange" => policy::LIMIT_RANGE,
        "api.coordination.v1.Lease" => policy::LEASE,
        "api.core.v1.Event" => policy::EVENT,
        "api.events.v1.Event" => policy::NEW_EVENT,
        "api.node.v1.RuntimeClass" => policy::RUNTIME_CLASS,
        "api.admissionregistration.v1.MutatingWebhookConfiguration" => webhooks::WEBHOOKS,
        "api.admissionregistration.v1.ValidatingWebhookConfiguration" => webhooks::WEBHOOKS,
        "api.admissionregistration.v1.ValidatingAdmissionPolicy" => webhooks::POLICY,
        "api.admissionregistration.v1.ValidatingAdmissionPolicyBinding" => webhooks::BINDING,
        "kube-aggregator.pkg.apis.apiregistration.v1.APIService" => webhooks::API_SERVICE,
        _ => KindRules::NONE,
    }
}

/// Returns the text of a field, or an empty text.
fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or("")
}

/// Returns the items of a list, or none.
fn items<'a>(value: &'a Value, pointer: &str) -> &'a [Value] {
    value.pointer(pointer).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// Returns a field, or null.
fn at<'a>(value: &'a Value, pointer: &str) -> &'a Value {
    value.pointer(pointer).unwrap_or(&Value::Null)
}

/// Appends to a list, created if it does not exist.
fn push(list: &mut Value, item: Value) {
    match list {
        Value::Array(items) => items.push(item),
        _ => *list = Value::Array(vec![item]),
    }
}

fn remove(value: &mut Value, field: &str) {
    if let Some(map) = value.as_object_mut() {
        map.remove(field);
    }
}

/// Adds a finalizer, unless the object has it.
fn add_finalizer(object: &mut Value, finalizer: &str) {
    if !items(object, "/metadata/finalizers").iter().any(|f| f == finalizer) {
        push(&mut object["metadata"]["finalizers"], finalizer.into());
    }
}
