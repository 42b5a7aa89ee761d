//! Selection of the credential for a repository: a Secret in the Application's namespace that its project may use.

use serde_json::Value;
use switchboard_git::Login;
use switchboard_kernel::operator::DecideError;
use switchboard_kernel::resource::{Resource, Selection};
use switchboard_kernel::view::View;

use crate::destination::{SECRET_TYPE, secret_value};
use crate::kinds::SECRETS;
use crate::object_fields::text;
use crate::project::normalized;
use crate::source::{CredentialSecret, RepositorySources};

const CONFIG_MAPS: Resource = Resource::namespaced("", "v1", "ConfigMap", "configmaps");
/// ConfigMap with Argo CD's known SSH hosts.
const KNOWN_HOSTS: &str = "argocd-ssh-known-hosts-cm";

/// Returns the Secret whose login is used, and the login, which travels beside the recorded question.
pub(super) fn credential(
    view: &View,
    sources: &RepositorySources,
    namespace: &str,
    project: &str,
    url: &str,
) -> Result<(Option<CredentialSecret>, Login), DecideError> {
    let labels = format!("{SECRET_TYPE} in (repository, repo-creds)");
    let secrets = view.list(&SECRETS, &Selection::namespace(namespace).with_labels(&labels))?;
    let mut secrets: Vec<Value> = secrets.iter().map(|secret| secret.value()).collect();
    secrets.retain(|secret| {
        let own = secret_value(secret, "project");
        own.is_empty() || own == project
    });
    let Some(secret) = matching_secret(&secrets, url) else { return Ok((None, Login::None)) };
    let key = secret_value(secret, "sshPrivateKey");
    let hosts = match key.is_empty() {
        true => None,
        false => view.get(&CONFIG_MAPS, namespace, KNOWN_HOSTS)?.map(|hosts| hosts.value()),
    };
    let hosts = hosts.as_ref().map_or("", |hosts| text(hosts, "/data/ssh_known_hosts"));
    let login = sources.login(&secret_value(secret, "username"), &secret_value(secret, "password"), &key, hosts);
    let name = text(secret, "/metadata/name").to_string();
    Ok((Some(CredentialSecret { namespace: namespace.to_string(), name }), login))
}

/// Finds the Secret of the repository itself, or the one with the longest matching address prefix.
fn matching_secret<'a>(secrets: &'a [Value], url: &str) -> Option<&'a Value> {
    let wanted = normalized(url);
    let of = |kind: &'static str| secrets.iter().filter(move |one| one["metadata"]["labels"][SECRET_TYPE] == kind);
    let own = of("repository").find(|secret| normalized(&secret_value(secret, "url")) == wanted);
    own.or_else(|| {
        let begins = of("repo-creds").filter(|secret| {
            let beginning = secret_value(secret, "url");
            !beginning.is_empty() && wanted.starts_with(&normalized(&beginning))
        });
        begins.max_by_key(|secret| secret_value(secret, "url").len())
    })
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    use serde_json::json;

    use super::*;

    fn secret(name: &str, kind: &str, url: &str) -> Value {
        json!({"metadata": {"name": name, "labels": {SECRET_TYPE: kind}}, "data": {"url": STANDARD.encode(url)}})
    }

    #[test]
    fn the_repositorys_own_secret_precedes_the_longest_prefix() {
        let secrets = [
            secret("host", "repo-creds", "https://git.example"),
            secret("team", "repo-creds", "https://git.example/team"),
            secret("app", "repository", "https://Git.example/team/app.git"),
        ];
        let found = |url: &str| matching_secret(&secrets, url).map(|one| text(one, "/metadata/name"));
        assert_eq!(found("https://git.example/team/app"), Some("app"));
        assert_eq!(found("https://git.example/team/other.git"), Some("team"));
        assert_eq!(found("https://git.example/x"), Some("host"));
        assert_eq!(found("https://other.example/x"), None);
    }
}
