//! Security contexts.

use serde_json::{Value, json};
use switchboard_object::field::FieldError;
use switchboard_object::name;

use super::super::checks::{items, text};

/// User and group ids have 31 bits.
const MAX_ID: i64 = i32::MAX as i64;

fn id(value: &Value, path: String) -> Option<FieldError> {
    let id = value.as_i64()?;
    (!(0..=MAX_ID).contains(&id)).then(|| FieldError::invalid(path, id, name::inclusive_range_error(0, MAX_ID)))
}

/// Validates `securityContext` of a pod, and the host flags next to it.
pub(super) fn pod(spec: &Value, path: &str) -> Vec<FieldError> {
    let context = &spec["securityContext"];
    let at = format!("{path}.securityContext");
    let mut errors = Vec::new();
    for field in ["fsGroup", "runAsUser", "runAsGroup"] {
        errors.extend(id(&context[field], format!("{at}.{field}")));
    }
    for (index, group) in items(context, "/supplementalGroups").iter().enumerate() {
        errors.extend(id(group, format!("{at}.supplementalGroups[{index}]")));
    }
    if spec["shareProcessNamespace"] == true && spec["hostPID"] == true {
        let detail = "ShareProcessNamespace and HostPID cannot both be enabled";
        errors.push(FieldError::invalid(format!("{at}.shareProcessNamespace"), true, detail));
    }
    if let Some(policy) = context["fsGroupChangePolicy"].as_str().filter(|p| !matches!(*p, "Always" | "OnRootMismatch"))
    {
        let known = ["Always", "OnRootMismatch"];
        errors.push(FieldError::not_supported(format!("{at}.fsGroupChangePolicy"), policy, &known));
    }
    errors.extend(seccomp(&context["seccompProfile"], &format!("{at}.seccompProfile")));
    errors
}

/// Validates `securityContext` of a container.
pub(super) fn container(context: &Value, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for field in ["runAsUser", "runAsGroup"] {
        errors.extend(id(&context[field], format!("{path}.{field}")));
    }
    errors.extend(seccomp(&context["seccompProfile"], &format!("{path}.seccompProfile")));
    if context["allowPrivilegeEscalation"] == false {
        if context["privileged"] == true {
            let detail = "cannot set `allowPrivilegeEscalation` to false and `privileged` to true";
            errors.push(super::super::internal::invalid(path, "core.SecurityContext", context, detail));
        }
        if items(context, "/capabilities/add").contains(&json!("CAP_SYS_ADMIN")) {
            let detail = "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN";
            errors.push(super::super::internal::invalid(path, "core.SecurityContext", context, detail));
        }
    }
    errors
}

fn seccomp(profile: &Value, path: &str) -> Vec<FieldError> {
    if !profile.is_object() {
        return Vec::new();
    }
    let kind = text(profile, "/type");
    let local = profile["localhostProfile"].as_str();
    match (kind, local) {
        ("", _) => vec![FieldError::required(format!("{path}.type"), "type is required when seccompProfile is set")],
        ("Localhost", None) => {
            let detail = "must be set when seccomp type is Localhost";
            vec![FieldError::required(format!("{path}.localhostProfile"), detail)]
        }
        ("Localhost", Some(_)) | ("RuntimeDefault" | "Unconfined", None) => Vec::new(),
        ("RuntimeDefault" | "Unconfined", Some(local)) => {
            let detail = "can only be set when seccomp type is Localhost";
            vec![FieldError::invalid(format!("{path}.localhostProfile"), local, detail)]
        }
        (other, _) => {
            let known = ["Localhost", "RuntimeDefault", "Unconfined"];
            vec![FieldError::not_supported(format!("{path}.type"), other, &known)]
        }
    }
}
