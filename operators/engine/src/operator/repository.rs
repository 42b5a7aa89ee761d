//! Which login a repository is read with: that of a Secret beside the Application, if its project may use it.

use serde_json::{Value, json};
use switchboard_kernel::operator::Stop;
use switchboard_kernel::resource::{Resource, Selection};
use switchboard_kernel::view::View;

use crate::destination::{SECRET_TYPE, datum};
use crate::field::text;
use crate::kinds::SECRETS;
use crate::project::normalised;
use crate::source::Sources;

const CONFIG_MAPS: Resource = Resource::namespaced("", "v1", "ConfigMap", "configmaps");
/// Where Argo CD keeps the keys of ssh servers.
const KNOWN_HOSTS: &str = "argocd-ssh-known-hosts-cm";

/// The Secret whose login is used, as it stands in a question; null for none. The login itself goes another way: questions are
/// recorded.
pub(super) fn credential(
    view: &View,
    sources: &Sources,
    namespace: &str,
    project: &str,
    url: &str,
) -> Result<Value, Stop> {
    let labels = format!("{SECRET_TYPE} in (repository, repo-creds)");
    let secrets = view.list(&SECRETS, &Selection::namespace(namespace).labelled(&labels))?;
    let mut secrets: Vec<Value> = secrets.iter().map(|secret| secret.value()).collect();
    secrets.retain(|secret| {
        let own = datum(secret, "project");
        own.is_empty() || own == project
    });
    let Some(secret) = fitting(&secrets, url) else { return Ok(Value::Null) };
    let name = text(secret, "/metadata/name");
    let key = datum(secret, "sshPrivateKey");
    let hosts = match key.is_empty() {
        true => None,
        false => view.get(&CONFIG_MAPS, namespace, KNOWN_HOSTS)?.map(|hosts| hosts.value()),
    };
    let hosts = hosts.as_ref().map_or("", |hosts| text(hosts, "/data/ssh_known_hosts"));
    let who = (namespace.to_string(), name.to_string());
    sources.learn(who, &datum(secret, "username"), &datum(secret, "password"), &key, hosts);
    Ok(json!({"namespace": namespace, "name": name}))
}

/// The Secret of the repository itself, or of the longest beginning of its address.
fn fitting<'a>(secrets: &'a [Value], url: &str) -> Option<&'a Value> {
    let wanted = normalised(url);
    let of = |kind: &'static str| secrets.iter().filter(move |one| one["metadata"]["labels"][SECRET_TYPE] == kind);
    let own = of("repository").find(|secret| normalised(&datum(secret, "url")) == wanted);
    own.or_else(|| {
        let begins = of("repo-creds").filter(|secret| {
            let beginning = datum(secret, "url");
            !beginning.is_empty() && wanted.starts_with(&normalised(&beginning))
        });
        begins.max_by_key(|secret| datum(secret, "url").len())
    })
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;

    use super::*;

    fn secret(name: &str, kind: &str, url: &str) -> Value {
        json!({"metadata": {"name": name, "labels": {SECRET_TYPE: kind}}, "data": {"url": STANDARD.encode(url)}})
    }

    #[test]
    fn the_repositorys_own_secret_comes_before_the_longest_beginning() {
        let secrets = [
            secret("host", "repo-creds", "https://git.example"),
            secret("team", "repo-creds", "https://git.example/team"),
            secret("app", "repository", "https://Git.example/team/app.git"),
        ];
        let found = |url: &str| fitting(&secrets, url).map(|one| text(one, "/metadata/name"));
        assert_eq!(found("https://git.example/team/app"), Some("app"));
        assert_eq!(found("https://git.example/team/other.git"), Some("team"));
        assert_eq!(found("https://git.example/x"), Some("host"));
        assert_eq!(found("https://other.example/x"), None);
    }
}
