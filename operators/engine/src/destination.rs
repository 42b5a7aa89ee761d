//! Resolution of an Application's destination: the cluster it lives on, or one declared by a Secret in its namespace.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use switchboard_object::quote::quote;

use crate::object_fields::text;
use crate::target::ResourceKey;

/// Argo CD's address of the cluster it runs on.
pub const IN_CLUSTER_SERVER: &str = "https://kubernetes.default.svc";
/// Argo CD's name of the cluster it runs on.
pub const IN_CLUSTER: &str = "in-cluster";
/// Label with the purpose of a Secret.
pub const SECRET_TYPE: &str = "argocd.argoproj.io/secret-type";

/// Cluster that Applications can be deployed to.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct DestinationCluster {
    /// Name of the cluster.
    pub name: String,
    /// API server address.
    pub server: String,
    /// Namespace and name of the Secret that declares the cluster; `None` for the cluster the Applications live on.
    pub secret: Option<(String, String)>,
    /// Namespaces that may be deployed to; empty for all.
    pub namespaces: Vec<String>,
    /// Whether cluster-scoped kinds are deployed although the namespaces are restricted.
    pub cluster_resources: bool,
}

impl DestinationCluster {
    /// Returns the cluster the Applications live on.
    pub fn in_cluster() -> Self {
        let (name, server) = (IN_CLUSTER.to_string(), IN_CLUSTER_SERVER.to_string());
        Self { name, server, secret: None, namespaces: Vec::new(), cluster_resources: false }
    }

    /// Reads the cluster that a Secret declares, or `None` if the Secret has no server address.
    pub fn from_secret(secret: &Value) -> Option<Self> {
        let server = secret_value(secret, "server").trim_end_matches('/').to_string();
        let key = (text(secret, "/metadata/namespace").to_string(), text(secret, "/metadata/name").to_string());
        let is_here = server == IN_CLUSTER_SERVER;
        let namespaces = secret_value(secret, "namespaces");
        let namespaces = if namespaces.is_empty() { Vec::new() } else { namespaces.split(',').map(trimmed).collect() };
        (!server.is_empty()).then(|| Self {
            name: secret_value(secret, "name"),
            server,
            secret: (!is_here).then_some(key),
            namespaces,
            cluster_resources: secret_value(secret, "clusterResources") == "true",
        })
    }

    /// Whether objects of a namespace are deployed; the empty namespace stands for cluster-scoped kinds.
    pub fn manages(&self, namespace: &str) -> bool {
        let is_named = self.namespaces.iter().any(|one| one == namespace);
        self.namespaces.is_empty() || is_named || (namespace.is_empty() && self.cluster_resources)
    }

    /// Returns the reason why an object is not deployed, with the message of Argo CD's library, or `None` if it is.
    pub fn refusal_reason(&self, key: &ResourceKey) -> Option<String> {
        let ResourceKey { kind, namespace, name, .. } = key;
        match (self.manages(namespace), namespace.is_empty()) {
            (true, _) => None,
            (_, true) => {
                Some(format!("Cluster level {kind} {} can not be managed when in namespaced mode", quote(name)))
            }
            _ => Some(format!("Namespace {} for {kind} {} is not managed", quote(namespace), quote(name))),
        }
    }
}

fn trimmed(text: &str) -> String {
    text.trim().to_string()
}

/// Decodes a value of a Secret.
pub(crate) fn secret_value(secret: &Value, key: &str) -> String {
    let coded = secret["data"].get(key).and_then(Value::as_str).unwrap_or_default();
    STANDARD.decode(coded).ok().and_then(|bytes| String::from_utf8(bytes).ok()).unwrap_or_default()
}

/// Finds the cluster of a destination among those that Secrets declare.
///
/// # Errors
/// If there is no such cluster, with Argo CD's message.
pub fn resolve(destination: &Value, named: &[DestinationCluster]) -> Result<DestinationCluster, String> {
    let (server, name) = (text(destination, "/server").trim_end_matches('/'), text(destination, "/name"));
    let here = DestinationCluster::in_cluster();
    let all = || named.iter().chain(named.iter().all(|one| one.server != here.server).then_some(&here));
    match (server, name) {
        ("", "") => Err("Destination server missing from app spec".to_string()),
        ("", name) => {
            let found: Vec<&DestinationCluster> = all().filter(|one| one.name == name).collect();
            match found[..] {
                [] => Err(format!("there are no clusters with this name: {name}")),
                [one] => Ok(one.clone()),
                _ => {
                    let servers: Vec<&str> = found.iter().map(|one| one.server.as_str()).collect();
                    Err(format!("there are {} clusters with the same name: [{}]", found.len(), servers.join(" ")))
                }
            }
        }
        (server, "") => all().find(|one| one.server == server).cloned().ok_or_else(|| {
            format!(
                "error getting cluster by server {}: rpc error: code = NotFound desc = cluster {} not found",
                quote(server),
                quote(server)
            )
        }),
        (server, name) => {
            Err(format!("application destination can't have both name and server defined: {name} {server}"))
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use serde_json::json;

    use super::*;

    fn secret(name: &str, server: &str) -> Value {
        json!({"metadata": {"name": name, "namespace": "argocd"},
            "data": {"name": STANDARD.encode(name), "server": STANDARD.encode(server)}})
    }

    #[test]
    fn a_destination_is_the_own_cluster_or_one_of_a_secret() {
        let named =
            [DestinationCluster::from_secret(&secret("managed-env-1", "https://a/clusters/x?managedEnvironment=1"))
                .unwrap()];
        assert_eq!(resolve(&json!({"name": "in-cluster"}), &named), Ok(DestinationCluster::in_cluster()));
        assert_eq!(
            resolve(&json!({"server": "https://kubernetes.default.svc/"}), &named),
            Ok(DestinationCluster::in_cluster())
        );
        let env = resolve(&json!({"name": "managed-env-1", "namespace": "x"}), &named).unwrap();
        assert_eq!(env.secret, Some(("argocd".into(), "managed-env-1".into())));
        assert_eq!(resolve(&json!({"server": env.server.clone()}), &named), Ok(env));
    }

    #[test]
    fn a_cluster_with_namespaces_rejects_everything_else() {
        let of = |more: Value| {
            let mut secret = secret("managed-env-1", "https://a");
            for (key, value) in more.as_object().unwrap() {
                secret["data"][key] = json!(STANDARD.encode(value.as_str().unwrap()));
            }
            DestinationCluster::from_secret(&secret).unwrap()
        };
        let told = |cluster: &DestinationCluster, kind: &str, namespace: &str| {
            let key =
                ResourceKey { group: String::new(), kind: kind.into(), namespace: namespace.into(), name: "x".into() };
            cluster.refusal_reason(&key)
        };
        let all = of(json!({}));
        assert_eq!((told(&all, "ConfigMap", "any"), told(&all, "Namespace", "")), (None, None));
        let some = of(json!({"namespaces": "allowed, also"}));
        assert_eq!((told(&some, "ConfigMap", "allowed"), told(&some, "ConfigMap", "also")), (None, None));
        let words = "Namespace \"forbidden\" for ConfigMap \"x\" is not managed";
        assert_eq!(told(&some, "ConfigMap", "forbidden").as_deref(), Some(words));
        let words = "Cluster level Namespace \"x\" can not be managed when in namespaced mode";
        assert_eq!(told(&some, "Namespace", "").as_deref(), Some(words));
        let wide = of(json!({"namespaces": "allowed", "clusterResources": "true"}));
        assert_eq!(told(&wide, "Namespace", ""), None);
        assert!(told(&wide, "ConfigMap", "forbidden").is_some());
    }

    #[test]
    fn errors_have_argo_cds_messages() {
        let twice = [
            DestinationCluster::from_secret(&secret("a", "https://1")).unwrap(),
            DestinationCluster::from_secret(&secret("a", "https://2")).unwrap(),
        ];
        for (destination, told) in [
            (json!({}), "Destination server missing from app spec"),
            (json!({"name": "x"}), "there are no clusters with this name: x"),
            (json!({"name": "a"}), "there are 2 clusters with the same name: [https://1 https://2]"),
            (
                json!({"name": "a", "server": "https://1"}),
                "application destination can't have both name and server defined: a https://1",
            ),
        ] {
            assert_eq!(resolve(&destination, &twice), Err(told.to_string()));
        }
        assert!(resolve(&json!({"server": "https://9"}), &twice).is_err());
    }
}
