//! What a tenant's kubeconfig says of one cluster. Nothing is read from files it names: they would be ours.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use switchboard_ledger::rows::ClusterCredentials;
use switchboard_ledger::{Row, Secret};
use switchboard_object::yaml;

use crate::kinds::environment::Reason;
use crate::kinds::field;
use crate::repository::without_login;

/// How to reach a cluster, and as whom.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Access {
    /// The context that says so.
    pub context: String,
    /// A token.
    pub token: Option<Secret>,
    /// Certificates of the server's authority, PEM.
    pub ca: Option<String>,
    /// A certificate of the tenant's, PEM.
    pub client_certificate: Option<String>,
    /// Its key, PEM.
    pub client_key: Option<Secret>,
}

impl Access {
    /// The same cluster, as whose token this is.
    #[must_use]
    pub fn as_account(self, token: &Secret) -> Access {
        Access { token: Some(token.clone()), client_certificate: None, client_key: None, ..self }
    }
}

/// Why a kubeconfig will not do: the word and the text of the condition.
pub type Refusal = (Reason, String);

/// The access of the first context that uses the cluster of this URL.
pub fn read(text: &str, api_url: &str) -> Result<Access, Refusal> {
    let config = match yaml::read(text) {
        Ok(document) if document.value.is_object() => document.value,
        // As client-go begins; tests look for the second half.
        Ok(_) => return Err(unreadable("it is not an object")),
        // The line alone: what the parser says of it may repeat what stands there.
        Err(error) => return Err(unreadable(&format!("yaml: line {} cannot be read", error.line))),
    };
    let same =
        |cluster: &&Value| cluster["cluster"]["server"].as_str().is_some_and(|s| s.eq_ignore_ascii_case(api_url));
    let Some(cluster) = entries(&config, "clusters").find(same) else {
        // Rows of a former version may hold a login.
        let shown = without_login(api_url);
        let said = format!("the kubeconfig did not have a cluster entry that matched the API URL '{shown}'");
        return Err((Reason::UnableToLocateContext, said));
    };
    let name = cluster["name"].as_str().unwrap_or_default();
    let Some(context) = entries(&config, "contexts").find(|context| context["context"]["cluster"] == name) else {
        let said = format!(
            "the kubeconfig did not have a context that matched the cluster specified in the API URL of the \
             GitOpsDeploymentManagedEnvironment. Context was expected to reference cluster '{name}'"
        );
        return Err((Reason::UnableToLocateContext, said));
    };
    let context_name = context["name"].as_str().unwrap_or_default();
    let Some(user) = entries(&config, "users").find(|user| user["name"] == context["context"]["user"]) else {
        let said = format!(
            "unable to extract remote cluster configuration from kubeconfig, missing auth info for {context_name}"
        );
        return Err((Reason::UnableToParseKubeconfigData, said));
    };
    let (cluster, user) = (&cluster["cluster"], &user["user"]);
    kept("the name of the context", context_name, "kube_config_context")?;
    kept("the token", user["token"].as_str().unwrap_or_default(), "serviceaccount_bearer_token")?;
    Ok(Access {
        context: context_name.to_string(),
        token: user["token"].as_str().filter(|token| !token.is_empty()).map(Secret::from),
        ca: pem(cluster, "certificate-authority-data")?,
        client_certificate: pem(user, "client-certificate-data")?,
        client_key: pem(user, "client-key-data")?.map(Secret::from),
    })
}

impl Access {
    /// Whether there is anything to show to the cluster.
    pub fn has_login(&self) -> bool {
        self.token.is_some() || (self.client_certificate.is_some() && self.client_key.is_some())
    }

    /// What is said when there is not.
    pub fn no_login(&self) -> Refusal {
        let said = format!(
            "kubeconfig must have a service account token for the user in context \"{}\", or a client certificate and its key as data.",
            self.context
        );
        (Reason::UnableToParseKubeconfigData, said)
    }
}

fn unreadable(why: &str) -> Refusal {
    let said = format!("unable to parse kubeconfig data: couldn't get version/kind; json parse error: {why}");
    (Reason::UnableToParseKubeconfigData, said)
}

/// Whether a row holds it.
fn kept(what: &str, text: &str, column: &str) -> Result<(), Refusal> {
    field::judge_kept(&format!("{what} in the kubeconfig"), text, ClusterCredentials::TABLE, column)
        .map_err(|said| (Reason::UnableToCreateClusterCredentials, said))
}

fn entries<'a>(config: &'a Value, list: &str) -> impl Iterator<Item = &'a Value> {
    config[list].as_array().into_iter().flatten()
}

fn pem(from: &Value, key: &str) -> Result<Option<String>, Refusal> {
    let Some(encoded) = from[key].as_str().filter(|encoded| !encoded.is_empty()) else { return Ok(None) };
    let compact: String = encoded.split_whitespace().collect();
    let decoded = STANDARD.decode(compact).ok().and_then(|bytes| String::from_utf8(bytes).ok());
    let refused = || {
        (Reason::UnableToRetrieveRestConfig, format!("unable to read {key} of the kubeconfig: it is not PEM as base64"))
    };
    decoded.map(Some).ok_or_else(refused)
}

#[cfg(test)]
mod tests;
