//! Which cluster an Application is deployed to: the one it lives on, or one that a Secret beside it names.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use crate::field::text;
use crate::target::Key;

/// The address Argo CD has for the cluster it runs on.
pub const IN_CLUSTER_SERVER: &str = "https://kubernetes.default.svc";
/// And its name.
pub const IN_CLUSTER: &str = "in-cluster";
/// The label that says what a Secret is for.
pub const SECRET_TYPE: &str = "argocd.argoproj.io/secret-type";

/// A cluster that can be deployed to.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cluster {
    /// Its name.
    pub name: String,
    /// Its address.
    pub server: String,
    /// Namespace and name of the Secret that names it; absent for the cluster Applications live on.
    pub secret: Option<(String, String)>,
    /// The namespaces that are deployed to; none is all.
    pub namespaces: Vec<String>,
    /// Whether kinds without a namespace are deployed though namespaces are named.
    pub cluster_resources: bool,
}

impl Cluster {
    /// The cluster Applications live on.
    pub fn here() -> Self {
        let (name, server) = (IN_CLUSTER.to_string(), IN_CLUSTER_SERVER.to_string());
        Self { name, server, secret: None, namespaces: Vec::new(), cluster_resources: false }
    }

    /// The cluster that a Secret names; none if it has no address.
    pub fn of(secret: &Value) -> Option<Self> {
        let server = datum(secret, "server").trim_end_matches('/').to_string();
        let key = (text(secret, "/metadata/namespace").to_string(), text(secret, "/metadata/name").to_string());
        let is_here = server == IN_CLUSTER_SERVER;
        let namespaces = datum(secret, "namespaces");
        let namespaces = if namespaces.is_empty() { Vec::new() } else { namespaces.split(',').map(named).collect() };
        (!server.is_empty()).then(|| Self {
            name: datum(secret, "name"),
            server,
            secret: (!is_here).then_some(key),
            namespaces,
            cluster_resources: datum(secret, "clusterResources") == "true",
        })
    }

    /// Whether objects of a namespace are deployed; without one, of kinds that have none.
    pub fn manages(&self, namespace: &str) -> bool {
        let is_named = self.namespaces.iter().any(|one| one == namespace);
        self.namespaces.is_empty() || is_named || (namespace.is_empty() && self.cluster_resources)
    }

    /// Why an object is not deployed, in the words of Argo CD's library; nothing when it is.
    pub fn refuses(&self, key: &Key) -> Option<String> {
        let Key { kind, namespace, name, .. } = key;
        match (self.manages(namespace), namespace.is_empty()) {
            (true, _) => None,
            (_, true) => Some(format!("Cluster level {kind} {name:?} can not be managed when in namespaced mode")),
            _ => Some(format!("Namespace {namespace:?} for {kind} {name:?} is not managed")),
        }
    }
}

fn named(text: &str) -> String {
    text.trim().to_string()
}

/// A value of a Secret, decoded.
pub(crate) fn datum(secret: &Value, key: &str) -> String {
    let coded = secret["data"].get(key).and_then(Value::as_str).unwrap_or_default();
    STANDARD.decode(coded).ok().and_then(|bytes| String::from_utf8(bytes).ok()).unwrap_or_default()
}

/// The cluster that a destination means, of those that Secrets name.
///
/// # Errors
/// In Argo CD's words.
pub fn resolve(destination: &Value, named: &[Cluster]) -> Result<Cluster, String> {
    let (server, name) = (text(destination, "/server").trim_end_matches('/'), text(destination, "/name"));
    let here = Cluster::here();
    let all = || named.iter().chain(named.iter().all(|one| one.server != here.server).then_some(&here));
    match (server, name) {
        ("", "") => Err("Destination server missing from app spec".to_string()),
        ("", name) => {
            let found: Vec<&Cluster> = all().filter(|one| one.name == name).collect();
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
            format!("error getting cluster by server {server:?}: rpc error: code = NotFound desc = cluster {server:?} not found")
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
    fn a_destination_is_this_cluster_or_one_of_a_secret() {
        let named = [Cluster::of(&secret("managed-env-1", "https://a/clusters/x?managedEnvironment=1")).unwrap()];
        assert_eq!(resolve(&json!({"name": "in-cluster"}), &named), Ok(Cluster::here()));
        assert_eq!(resolve(&json!({"server": "https://kubernetes.default.svc/"}), &named), Ok(Cluster::here()));
        let env = resolve(&json!({"name": "managed-env-1", "namespace": "x"}), &named).unwrap();
        assert_eq!(env.secret, Some(("argocd".into(), "managed-env-1".into())));
        assert_eq!(resolve(&json!({"server": env.server.clone()}), &named), Ok(env));
    }

    #[test]
    fn a_cluster_with_namespaces_takes_nothing_else() {
        let of = |more: Value| {
            let mut secret = secret("managed-env-1", "https://a");
            for (key, value) in more.as_object().unwrap() {
                secret["data"][key] = json!(STANDARD.encode(value.as_str().unwrap()));
            }
            Cluster::of(&secret).unwrap()
        };
        let told = |cluster: &Cluster, kind: &str, namespace: &str| {
            let key = Key { group: String::new(), kind: kind.into(), namespace: namespace.into(), name: "x".into() };
            cluster.refuses(&key)
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
    fn what_is_wrong_is_said_as_argo_cd_says_it() {
        let twice = [Cluster::of(&secret("a", "https://1")).unwrap(), Cluster::of(&secret("a", "https://2")).unwrap()];
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
