#![allow(clippy::unwrap_used)]

use http::HeaderValue;

use super::*;

fn wanted() -> ApplicationInput {
    serde_json::from_value(json!({
        "tenant": "shop", "name": "web", "gitRepositoryURL": "https://git.example/shop/web", "gitPath": "deploy",
        "syncPolicyAutomatic": true,
    }))
    .unwrap()
}

#[test]
fn an_application_is_a_deployment() {
    assert_eq!(
        wanted().deployment().unwrap(),
        json!({
            "apiVersion": "managed-gitops.redhat.com/v1alpha1",
            "kind": "GitOpsDeployment",
            "metadata": { "name": "web", "namespace": "shop" },
            "spec": {
                "source": { "repoURL": "https://git.example/shop/web", "path": "deploy" },
                "destination": {},
                "type": "automated",
            },
        })
    );
    let kept =
        ApplicationInput { wait_for_removal: true, sync_policy_automatic: false, ..wanted() }.deployment().unwrap();
    assert_eq!(kept["metadata"]["finalizers"], json!([FINALIZER]));
    assert_eq!(kept["spec"]["type"], "manual");
}

#[test]
fn input_that_the_backend_rejects_is_rejected() {
    let cases: [(ApplicationInput, &str); 7] = [
        (ApplicationInput { git_path: "/".into(), ..wanted() }, "spec.source.path cannot be '/'"),
        (
            ApplicationInput { namespace: "x".into(), ..wanted() },
            "the environment field should not be empty when the namespace is non-empty",
        ),
        (
            ApplicationInput { destination_cluster: "prod".into(), ..wanted() },
            "the namespace specified in the destination field is invalid",
        ),
        (ApplicationInput { repository: String::new(), ..wanted() }, "gitRepositoryURL is empty"),
        (ApplicationInput { git_revision: "a\0b".into(), ..wanted() }, "gitRevision contains control characters"),
        (ApplicationInput { git_path: "x".repeat(3000), ..wanted() }, "gitPath is longer than 2048 characters"),
        (ApplicationInput { tenant: "../kube-system".into(), ..wanted() }, "tenant: "),
    ];
    for (wanted, why) in cases {
        let problem = wanted.deployment().unwrap_err();
        assert_eq!(problem.kind(), ProblemKind::Invalid);
        assert!(problem.detail().starts_with(why), "{}", problem.detail());
    }
}

#[test]
fn if_match_is_an_etag() {
    let of = |text: &'static str| {
        let mut headers = HeaderMap::new();
        headers.insert(IF_MATCH, HeaderValue::from_static(text));
        if_match(&headers)
    };
    assert_eq!(of("\"42\"").unwrap().as_deref(), Some("42"));
    assert_eq!(of("*").unwrap(), None);
    assert_eq!(if_match(&HeaderMap::new()).unwrap(), None);
    for bad in ["42", "\"\"", "W/\"42\"", "\"a\""] {
        assert_eq!(of(bad).unwrap_err().kind(), ProblemKind::Malformed, "{bad}");
    }
}

#[test]
fn the_login_of_a_repository_is_not_returned() {
    let mut object = wanted().deployment().unwrap();
    object["spec"]["source"]["repoURL"] = json!("https://robot:secret@git.example/shop/web");
    let shown = [
        serde_json::to_string(&application(&object, None).unwrap()).unwrap(),
        serde_json::to_string(&entry(&object).unwrap()).unwrap(),
    ];
    for shown in shown {
        assert!(shown.contains("https://git.example/shop/web") && !shown.contains("secret"), "{shown}");
    }
}
