#![allow(clippy::unwrap_used)]

use super::*;

const CONFIG: &str = "
apiVersion: v1
kind: Config
clusters:
- name: other
  cluster: {server: https://other.example}
- name: stage
  cluster: {server: https://API.example:6443, certificate-authority-data: Q0E=, certificate-authority: /etc/passwd}
contexts:
- {name: elsewhere, context: {cluster: other, user: me}}
- {name: to-stage, context: {cluster: stage, user: me}}
users:
- name: me
  user: {token: tok, client-certificate-data: Q0VSVA==, client-key-data: S0VZ, tokenFile: /etc/passwd}
";

#[test]
fn the_access_of_the_context_that_uses_the_cluster_is_found() {
    let access = read(CONFIG, "https://api.example:6443").unwrap();
    assert_eq!(access.context, "to-stage");
    assert_eq!(access.token.as_ref().unwrap().expose(), "tok");
    assert_eq!(access.ca.as_deref(), Some("CA"));
    assert_eq!(access.client_certificate.as_deref(), Some("CERT"));
    assert_eq!(access.client_key.as_ref().unwrap().expose(), "KEY");
    assert!(access.has_login());
}

#[test]
fn errors_have_the_messages_of_managed_gitops() {
    let refused = |text: &str, url: &str| read(text, url).unwrap_err();
    let (reason, said) = refused(CONFIG, "https://stranger");
    assert_eq!(reason, EnvironmentReason::UnableToLocateContext);
    assert!(said.contains("the kubeconfig did not have a cluster entry that matched the API URL"));
    let (_, said) = refused(CONFIG, "https://bob:hunter2@stranger");
    assert!(said.contains("'https://stranger'"), "{said}");
    for broken in ["{", "just words", "[1]"] {
        let (reason, said) = refused(broken, "https://x");
        assert_eq!(reason, EnvironmentReason::UnableToParseKubeconfigData);
        assert!(said.contains("json parse error"), "{said}");
    }
    for (telling, line) in [
        ("users:\n- name: me\n  user: {token: *SUPERSECRETTOKEN}\n", 3),
        ("users:\n- user:\n    token: *SUPERSECRETTOKEN\n", 3),
        ("SUPERSECRETTOKEN", 0),
    ] {
        let (reason, said) = refused(telling, "https://x");
        assert_eq!(reason, EnvironmentReason::UnableToParseKubeconfigData);
        assert!(!said.contains("SUPERSECRET"), "{said}");
        assert!(said.contains("json parse error"), "{said}");
        assert!(line == 0 || said.contains(&format!("line {line}")), "{said}");
    }
    let alone = "clusters: [{name: c, cluster: {server: https://x}}]\n";
    assert!(refused(alone, "https://x").1.contains("expected to reference cluster 'c'"));
    let without_user = format!("{alone}contexts: [{{name: k, context: {{cluster: c, user: u}}}}]\n");
    assert!(refused(&without_user, "https://x").1.contains("missing auth info for k"));
    let empty = format!("{without_user}users: [{{name: u, user: {{tokenFile: /etc/passwd}}}}]\n");
    let access = read(&empty, "https://x").unwrap();
    assert!(!access.has_login(), "files are not read");
    assert!(
        access
            .missing_login()
            .1
            .starts_with("kubeconfig must have a service account token for the user in context \"k\"")
    );
    let odd = CONFIG.replace("Q0E=", "a$b");
    assert_eq!(refused(&odd, "https://api.example:6443").0, EnvironmentReason::UnableToRetrieveRestConfig);
}
