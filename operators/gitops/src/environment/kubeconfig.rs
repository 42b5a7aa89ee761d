//! Access to one cluster from a tenant's kubeconfig. Referenced files are not read, because they would be files of the
//! service.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use switchboard_object::yaml;
use switchboard_sql::{Row, SecretString};

use crate::environment::kind::EnvironmentReason;
use crate::kinds::field;
use crate::repository::without_login;
use crate::rows::ClusterCredentials;

/// Credentials of a cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KubeconfigAccess {
    /// Name of the context.
    pub context: String,
    /// Bearer token.
    pub token: Option<SecretString>,
    /// CA certificates of the server, PEM.
    pub ca: Option<String>,
    /// Client certificate, PEM.
    pub client_certificate: Option<String>,
    /// Key of the client certificate, PEM.
    pub client_key: Option<SecretString>,
}

impl KubeconfigAccess {
    /// Replaces the login by a token of the same cluster.
    #[must_use]
    pub fn as_account(self, token: &SecretString) -> KubeconfigAccess {
        KubeconfigAccess { token: Some(token.clone()), client_certificate: None, client_key: None, ..self }
    }
}

/// Reason and message for the condition of an unusable kubeconfig.
pub type EnvironmentProblem = (EnvironmentReason, String);

/// Reads the first context that uses the cluster with this URL.
pub fn read(text: &str, api_url: &str) -> Result<KubeconfigAccess, EnvironmentProblem> {
    let config = match yaml::read(text) {
        Ok(document) if document.value.is_object() => document.value,
        // The message begins like client-go's; tests look for the second half.
        Ok(_) => return Err(unreadable("it is not an object")),
        // The parser's message may repeat a secret, so only the line is reported.
        Err(error) => return Err(unreadable(&format!("yaml: line {} cannot be read", error.line))),
    };
    let same =
        |cluster: &&Value| cluster["cluster"]["server"].as_str().is_some_and(|s| s.eq_ignore_ascii_case(api_url));
    let Some(cluster) = entries(&config, "clusters").find(same) else {
        // Rows of an earlier version may contain a login.
        let shown = without_login(api_url);
        let said = format!("the kubeconfig did not have a cluster entry that matched the API URL '{shown}'");
        return Err((EnvironmentReason::UnableToLocateContext, said));
    };
    let name = cluster["name"].as_str().unwrap_or_default();
    let Some(context) = entries(&config, "contexts").find(|context| context["context"]["cluster"] == name) else {
        let said = format!(
            "the kubeconfig did not have a context that matched the cluster specified in the API URL of the \
             GitOpsDeploymentManagedEnvironment. Context was expected to reference cluster '{name}'"
        );
        return Err((EnvironmentReason::UnableToLocateContext, said));
    };
    let context_name = context["name"].as_str().unwrap_or_default();
    let Some(user) = entries(&config, "users").find(|user| user["name"] == context["context"]["user"]) else {
        let said = format!(
            "unable to extract remote cluster configuration from kubeconfig, missing auth info for {context_name}"
        );
        return Err((EnvironmentReason::UnableToParseKubeconfigData, said));
    };
    let (cluster, user) = (&cluster["cluster"], &user["user"]);
    check_storable("the name of the context", context_name, "kube_config_context")?;
    check_storable("the token", user["token"].as_str().unwrap_or_default(), "serviceaccount_bearer_token")?;
    Ok(KubeconfigAccess {
        context: context_name.to_string(),
        token: user["token"].as_str().filter(|token| !token.is_empty()).map(SecretString::from),
        ca: pem(cluster, "certificate-authority-data")?,
        client_certificate: pem(user, "client-certificate-data")?,
        client_key: pem(user, "client-key-data")?.map(SecretString::from),
    })
}

impl KubeconfigAccess {
    /// Whether the access contains a login.
    pub fn has_login(&self) -> bool {
        self.token.is_some() || (self.client_certificate.is_some() && self.client_key.is_some())
    }

    /// Returns the error for an access without login.
    pub fn missing_login(&self) -> EnvironmentProblem {
        let said = format!(
            "kubeconfig must have a service account token for the user in context \"{}\", or a client certificate and its key as data.",
            self.context
        );
        (EnvironmentReason::UnableToParseKubeconfigData, said)
    }
}

fn unreadable(why: &str) -> EnvironmentProblem {
    let said = format!("unable to parse kubeconfig data: couldn't get version/kind; json parse error: {why}");
    (EnvironmentReason::UnableToParseKubeconfigData, said)
}

/// Checks that a value fits its column.
fn check_storable(what: &str, text: &str, column: &str) -> Result<(), EnvironmentProblem> {
    field::check_storable(&format!("{what} in the kubeconfig"), text, ClusterCredentials::TABLE, column)
        .map_err(|said| (EnvironmentReason::UnableToCreateClusterCredentials, said))
}

fn entries<'a>(config: &'a Value, list: &str) -> impl Iterator<Item = &'a Value> {
    config[list].as_array().into_iter().flatten()
}

fn pem(from: &Value, key: &str) -> Result<Option<String>, EnvironmentProblem> {
    let Some(encoded) = from[key].as_str().filter(|encoded| !encoded.is_empty()) else { return Ok(None) };
    let compact: String = encoded.split_whitespace().collect();
    let decoded = STANDARD.decode(compact).ok().and_then(|bytes| String::from_utf8(bytes).ok());
    let refused = || {
        (
            EnvironmentReason::UnableToRetrieveRestConfig,
            format!("unable to read {key} of the kubeconfig: it is not base64-encoded PEM"),
        )
    };
    decoded.map(Some).ok_or_else(refused)
}

#[cfg(test)]
mod tests;
