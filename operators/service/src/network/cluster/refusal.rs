//! What a tenant is told of a cluster that cannot be used.

use switchboard_gitops::kinds::environment::Reason;
use switchboard_gitops::repository::without_login;

use crate::error::told;

/// Why a cluster cannot be used, and what its tenant is told.
pub type Failed = (Reason, String);

/// The original's sentences, which programs and people look for; what was met follows them.
const NOT_VALID: &str = "Unable to validate the credentials provided in the ManagedEnvironment Secret. Verify the API URL, and service account token are correct.";
const NOT_PERMITTED: &str = "Provided service account does not have permission to access resources in the cluster. Verify that the service account has the correct Role and RoleBinding.";
const NOT_TRUSTED: &str = "Certificate signed by unknown authority. Note that the '.spec.allowInsecureSkipTLSVerify' field can be used to ignore this error.";

/// The code of an answer to somebody who is known and may not.
const FORBIDDEN: u16 = 403;
/// How a name that nobody knows is told of, by one resolver or another.
const UNKNOWN_NAME: [&str; 4] =
    ["failed to lookup address", "Name or service not known", "No address associated", "dns error"];
/// How a certificate is told of that nobody vouches for; the second is one that vouches for itself.
const UNTRUSTED: [&str; 2] = ["UnknownIssuer", "CaUsedAsEndEntity"];

/// What a tenant is told. What the cluster itself said is its own; a cluster that was not found is told as the original does.
pub(super) fn failed(host: &str, error: &kube::Error, refused: Reason) -> Failed {
    if let kube::Error::Api(status) = error {
        let said = match refused {
            Reason::UnableToValidateClusterCredentials if status.code == FORBIDDEN => {
                with(NOT_PERMITTED, &status.message)
            }
            Reason::UnableToValidateClusterCredentials => with(NOT_VALID, &status.message),
            _ => status.message.clone(),
        };
        return (refused, said);
    }
    // What the client met is whole without the client's word for it, which repeats it.
    let why = if let kube::Error::Service(met) = error { told(met.as_ref()) } else { told(error) };
    let host = without_login(host);
    let has = |words: &[&str]| words.iter().any(|words| why.contains(words));
    let said = |why: &str| format!("Get \"{host}/api?timeout=32s\": {why}");
    if has(&UNKNOWN_NAME) {
        let name = host.trim_start_matches("https://").split([':', '/']).next().unwrap_or_default();
        return (Reason::UnableToCreateClient, said(&format!("dial tcp: lookup {name}: no such host")));
    }
    if has(&UNTRUSTED) {
        return (refused, with(NOT_TRUSTED, &said(&why)));
    }
    (Reason::UnableToCreateClient, said(&why))
}

fn with(sentence: &str, detail: &str) -> String {
    if detail.is_empty() { sentence.to_string() } else { format!("{sentence} ({detail})") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answered(code: u16, message: &str) -> kube::Error {
        kube::Error::Api(Box::new(kube::core::Status { code, message: message.into(), ..Default::default() }))
    }

    #[test]
    fn credentials_that_are_refused_are_told_in_the_originals_words_and_why() {
        let validate = Reason::UnableToValidateClusterCredentials;
        for (error, sentence, detail) in [
            (answered(401, "Unauthorized"), NOT_VALID, "Unauthorized"),
            (answered(404, "namespaces \"a\" not found"), NOT_VALID, "namespaces \"a\" not found"),
            (answered(403, "namespaces is forbidden"), NOT_PERMITTED, "namespaces is forbidden"),
            (
                kube::Error::Service("invalid peer certificate: UnknownIssuer".into()),
                NOT_TRUSTED,
                "Get \"https://h/api?timeout=32s\": invalid peer certificate: UnknownIssuer",
            ),
        ] {
            let (reason, said) = failed("https://h", &error, validate);
            assert_eq!(reason, validate, "{said}");
            assert!(said.starts_with(sentence) && said.ends_with(&format!("{detail})")), "{said}");
        }
        assert_eq!(failed("https://h", &answered(503, ""), validate).1, NOT_VALID);
        let install = Reason::UnableToInstallServiceAccount;
        assert_eq!(failed("https://h", &answered(403, "no"), install), (install, "no".to_string()));
    }

    #[test]
    fn a_login_in_an_address_is_not_repeated() {
        for why in ["dns error", "connection refused"] {
            let error = kube::Error::Service(why.into());
            let (_, said) = failed("https://bob:hunter2@api.example:6443", &error, Reason::UnknownError);
            assert!(said.starts_with("Get \"https://api.example:6443/api?timeout=32s\": "), "{said}");
            assert!(!said.contains("bob") && !said.contains("hunter2"), "{said}");
        }
    }
}
