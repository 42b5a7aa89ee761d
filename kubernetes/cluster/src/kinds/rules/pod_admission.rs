//! Default admission plugins for Pods: service account and token, priority, tolerations.

use serde_json::{Value, json};
use switchboard_object::kind::GroupResource;
use switchboard_object::quote::quote;
use switchboard_object::status::Status;

use super::super::WriteContext;
use super::cluster::default_priority_class;
use super::{at, items, limit_ranger, push, runtime_class, text};

const TOKEN_PATH: &str = "/var/run/secrets/kubernetes.io/serviceaccount";
/// One hour and seven seconds, so that kubelets can distinguish these tokens from ones that users requested.
const TOKEN_SECONDS: u32 = 3607;
const UNREADY_SECONDS: u32 = 300;

pub(super) fn admit(pod: &mut Value, old: Option<&Value>, env: &WriteContext<'_>) -> Result<(), Status> {
    match old {
        None => {
            limit_ranger::admit_pod(pod, env);
            service_account(pod, env)?;
            priority(pod, env)?;
        }
        Some(old) => {
            for field in ["priority", "preemptionPolicy"] {
                if pod["spec"][field].is_null() && !old["spec"][field].is_null() {
                    pod["spec"][field] = old["spec"][field].clone();
                }
            }
        }
    }
    tolerations(pod);
    if old.is_none() {
        runtime_class::admit(pod, env)?;
    }
    Ok(())
}

/// Returns the error of an admission plugin.
pub(super) fn forbidden(pod: &Value, message: &str) -> Status {
    Status::forbidden(&GroupResource::new("", "pods"), text(pod, "/metadata/name"), message)
}

fn service_account(pod: &mut Value, env: &WriteContext<'_>) -> Result<(), Status> {
    if !at(pod, "/metadata/annotations/kubernetes.io~1config.mirror").is_null() {
        if !text(pod, "/spec/serviceAccountName").is_empty() {
            return Err(forbidden(pod, "a mirror pod may not reference service accounts"));
        }
        return Ok(());
    }
    if text(pod, "/spec/serviceAccountName").is_empty() {
        pod["spec"]["serviceAccountName"] = json!("default");
    }
    let (namespace, name) = (text(pod, "/metadata/namespace"), text(pod, "/spec/serviceAccountName"));
    let Some(account) = env.cluster.get("serviceaccounts", namespace, name) else {
        let why = format!("serviceaccount {} not found", quote(name));
        return Err(forbidden(pod, &format!("error looking up service account {namespace}/{name}: {why}")));
    };
    let automount = [at(pod, "/spec/automountServiceAccountToken"), &account["automountServiceAccountToken"]];
    if automount.iter().find_map(|v| v.as_bool()).unwrap_or(true) {
        mount_token(pod, env);
    }
    if items(pod, "/spec/imagePullSecrets").is_empty() && !items(&account, "/imagePullSecrets").is_empty() {
        let secrets: Vec<Value> =
            items(&account, "/imagePullSecrets").iter().map(|s| json!({"name": s["name"]})).collect();
        pod["spec"]["imagePullSecrets"] = json!(secrets);
    }
    Ok(())
}

fn mount_token(pod: &mut Value, env: &WriteContext<'_>) {
    let is_token = |v: &&Value| text(v, "/name").starts_with("kube-api-access-");
    let existing = items(pod, "/spec/volumes").iter().find(is_token).map(|v| text(v, "/name").to_string());
    let name = existing.clone().unwrap_or_else(|| format!("kube-api-access-{}", suffix(env.random)));
    let mut needed = false;
    for list in ["initContainers", "containers"] {
        for container in pod["spec"][list].as_array_mut().into_iter().flatten() {
            if items(container, "/volumeMounts").iter().any(|m| m["mountPath"] == TOKEN_PATH) {
                continue;
            }
            let mount = json!({"name": name, "readOnly": true, "mountPath": TOKEN_PATH});
            push(&mut container["volumeMounts"], mount);
            needed = true;
        }
    }
    if needed && existing.is_none() {
        push(
            &mut pod["spec"]["volumes"],
            json!({"name": name, "projected": {"defaultMode": 420, "sources": [
                {"serviceAccountToken": {"path": "token", "expirationSeconds": TOKEN_SECONDS}},
                {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
                {"downwardAPI": {"items": [
                    {"path": "namespace", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}}]}},
            ]}}),
        );
    }
}

/// Returns five letters and digits that spell no words, as in generated names.
fn suffix(random: u64) -> String {
    const ALPHABET: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
    let base = ALPHABET.len() as u64;
    (0..5).map(|i| ALPHABET[((random / base.pow(i)) % base) as usize] as char).collect()
}

fn priority(pod: &mut Value, env: &WriteContext<'_>) -> Result<(), Status> {
    let name = text(pod, "/spec/priorityClassName").to_string();
    let class = if name.is_empty() {
        default_priority_class(env)
    } else {
        let found = env.cluster.get("priorityclasses.scheduling.k8s.io", "", &name);
        if found.is_none() {
            return Err(forbidden(pod, &format!("no PriorityClass with name {name} was found")));
        }
        found
    };
    let value = class.as_ref().and_then(|c| c["value"].as_i64()).unwrap_or(0);
    let policy = class.as_ref().map_or(json!("PreemptLowerPriority"), |c| c["preemptionPolicy"].clone());
    if let Some(class) = class.filter(|_| name.is_empty()) {
        pod["spec"]["priorityClassName"] = class["metadata"]["name"].clone();
    }
    if let Some(given) = at(pod, "/spec/priority").as_i64().filter(|given| *given != value) {
        return Err(forbidden(
            pod,
            &format!(
                "the integer value of priority ({given}) must not be provided in pod spec; priority admission controller computed {value} from the given PriorityClass name"
            ),
        ));
    }
    pod["spec"]["priority"] = json!(value);
    if let Some(policy) = policy.as_str() {
        if let Some(given) = at(pod, "/spec/preemptionPolicy").as_str().filter(|given| *given != policy) {
            return Err(forbidden(
                pod,
                &format!(
                    "the string value of PreemptionPolicy ({given}) must not be provided in pod spec; priority admission controller computed {policy} from the given PriorityClass name"
                ),
            ));
        }
        pod["spec"]["preemptionPolicy"] = json!(policy);
    }
    Ok(())
}

fn tolerations(pod: &mut Value) {
    for taint in ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"] {
        let tolerated = items(pod, "/spec/tolerations").iter().any(|t| {
            matches!(text(t, "/effect"), "" | "NoExecute") && (text(t, "/key").is_empty() || t["key"] == taint)
        });
        if !tolerated {
            let seconds = UNREADY_SECONDS;
            let toleration =
                json!({"key": taint, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": seconds});
            push(&mut pod["spec"]["tolerations"], toleration);
        }
    }
}
