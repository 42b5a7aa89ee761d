//! Which cluster an Application is deployed to: the one it lives on, or one that a Secret beside it names.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use crate::field::text;

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
}

impl Cluster {
    /// The cluster Applications live on.
    pub fn here() -> Self {
        Self { name: IN_CLUSTER.to_string(), server: IN_CLUSTER_SERVER.to_string(), secret: None }
    }

    /// The cluster that a Secret names; none if it has no address.
    pub fn of(secret: &Value) -> Option<Self> {
        let server = datum(secret, "server").trim_end_matches('/').to_string();
        let key = (text(secret, "/metadata/namespace").to_string(), text(secret, "/metadata/name").to_string());
        let is_here = server == IN_CLUSTER_SERVER;
        (!server.is_empty()).then(|| Self { name: datum(secret, "name"), server, secret: (!is_here).then_some(key) })
    }
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
