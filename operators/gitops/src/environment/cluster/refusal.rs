//! Messages for tenants about a cluster that cannot be used.

use switchboard_object::causes::error_chain;

use crate::environment::kind::EnvironmentReason;
use crate::repository::without_login;

/// Reason and message of a cluster that cannot be used.
pub type ClusterFailure = (EnvironmentReason, String);

/// Messages of managed-gitops, which programs and users search for. The cause follows in parentheses.
const NOT_VALID: &str = "Unable to validate the credentials provided in the ManagedEnvironment Secret. Verify the API URL, and service account token are correct.";
const NOT_PERMITTED: &str = "Provided service account does not have permission to access resources in the cluster. Verify that the service account has the correct Role and RoleBinding.";
const NOT_TRUSTED: &str = "Certificate signed by unknown authority. Note that the '.spec.allowInsecureSkipTLSVerify' field can be used to ignore this error.";

/// Status code for insufficient permissions.
const FORBIDDEN: u16 = 403;
/// Messages of resolvers for an unknown host.
const DNS_ERRORS: [&str; 4] =
    ["failed to lookup address", "Name or service not known", "No address associated", "dns error"];
/// Messages for an untrusted certificate; the second one is for a self-signed certificate.
const CERTIFICATE_ERRORS: [&str; 2] = ["UnknownIssuer", "CaUsedAsEndEntity"];

/// Translates an error to a reason and a message. Messages of the API server are quoted; unknown hosts are reported as
/// in managed-gitops.
pub(crate) fn cluster_failure(host: &str, error: &kube::Error, refused: EnvironmentReason) -> ClusterFailure {
    if let kube::Error::Api(status) = error {
        let said = match refused {
            EnvironmentReason::UnableToValidateClusterCredentials if status.code == FORBIDDEN => {
                with_detail(NOT_PERMITTED, &status.message)
            }
            EnvironmentReason::UnableToValidateClusterCredentials => with_detail(NOT_VALID, &status.message),
            _ => status.message.clone(),
        };
        return (refused, said);
    }
    // The prefix of the client error repeats its source.
    let why = if let kube::Error::Service(met) = error { error_chain(met.as_ref()) } else { error_chain(error) };
    let host = without_login(host);
    let has = |words: &[&str]| words.iter().any(|words| why.contains(words));
    let said = |why: &str| format!("Get \"{host}/api?timeout=32s\": {why}");
    if has(&DNS_ERRORS) {
        let name = host.trim_start_matches("https://").split([':', '/']).next().unwrap_or_default();
        return (EnvironmentReason::UnableToCreateClient, said(&format!("dial tcp: lookup {name}: no such host")));
    }
    if has(&CERTIFICATE_ERRORS) {
        return (refused, with_detail(NOT_TRUSTED, &said(&why)));
    }
    (EnvironmentReason::UnableToCreateClient, said(&why))
}

fn with_detail(sentence: &str, detail: &str) -> String {
    if detail.is_empty() { sentence.to_string() } else { format!("{sentence} ({detail})") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn api_error(code: u16, message: &str) -> kube::Error {
        kube::Error::Api(Box::new(kube::core::Status { code, message: message.into(), ..Default::default() }))
    }

    #[test]
    fn rejected_credentials_are_reported_like_managed_gitops() {
        let validate = EnvironmentReason::UnableToValidateClusterCredentials;
        for (error, sentence, detail) in [
            (api_error(401, "Unauthorized"), NOT_VALID, "Unauthorized"),
            (api_error(404, "namespaces \"a\" not found"), NOT_VALID, "namespaces \"a\" not found"),
            (api_error(403, "namespaces is forbidden"), NOT_PERMITTED, "namespaces is forbidden"),
            (
                kube::Error::Service("invalid peer certificate: UnknownIssuer".into()),
                NOT_TRUSTED,
                "Get \"https://h/api?timeout=32s\": invalid peer certificate: UnknownIssuer",
            ),
        ] {
            let (reason, said) = cluster_failure("https://h", &error, validate);
            assert_eq!(reason, validate, "{said}");
            assert!(said.starts_with(sentence) && said.ends_with(&format!("{detail})")), "{said}");
        }
        assert_eq!(cluster_failure("https://h", &api_error(503, ""), validate).1, NOT_VALID);
        let install = EnvironmentReason::UnableToInstallServiceAccount;
        assert_eq!(cluster_failure("https://h", &api_error(403, "no"), install), (install, "no".to_string()));
    }

    #[test]
    fn a_login_in_a_url_is_not_repeated() {
        for why in ["dns error", "connection refused"] {
            let error = kube::Error::Service(why.into());
            let (_, said) =
                cluster_failure("https://bob:hunter2@api.example:6443", &error, EnvironmentReason::UnknownError);
            assert!(said.starts_with("Get \"https://api.example:6443/api?timeout=32s\": "), "{said}");
            assert!(!said.contains("bob") && !said.contains("hunter2"), "{said}");
        }
    }
}
