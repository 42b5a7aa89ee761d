#![allow(clippy::unwrap_used)]

use serde_json::json;
use switchboard_object::cel::CelRules;
use switchboard_object::schema::Schema;

use super::condition::{self, ConditionStatus, ERROR_OCCURRED};
use super::*;
use crate::credential::kind as credential;
use crate::credential::kind::{CredentialOutcome, conditions};
use crate::deployment::kind::{self as deployment_kind, *};
use crate::environment::kind as environment;
use crate::operation::kind as operation;
use crate::sync_run::kind as sync_run;

fn deployment(path: &str, environment: &str, namespace: &str) -> GitOpsDeployment {
    GitOpsDeployment {
        metadata: ObjectMeta::new("shop", "web", "uid"),
        spec: DeploymentSpec {
            source: DeploymentSource {
                repo_url: "https://h/r".into(),
                path: path.into(),
                target_revision: String::new(),
            },
            destination: DeploymentDestination { environment: environment.into(), namespace: namespace.into() },
            sync_policy: None,
            r#type: "automated".into(),
        },
        status: DeploymentStatus::default(),
    }
}

#[test]
fn a_resource_is_read_and_written_in_the_kubernetes_format() {
    let object = json!({
        "metadata": { "name": "web", "namespace": "shop", "uid": "u", "generation": 3 },
        "spec": {
            "source": { "repoURL": "https://h/r", "path": "p", "targetRevision": "main" },
            "destination": { "environment": "stage", "namespace": "n" },
            "syncPolicy": { "syncOptions": ["CreateNamespace=true"] },
            "type": "manual",
        },
        "status": {
            "conditions": [{ "type": "SyncError", "status": "True", "reason": "SyncError", "message": "m" }],
            "sync": { "status": "Synced", "revision": "abc" },
            "health": { "status": "Healthy" },
            "reconciledState": {
                "source": { "path": "p", "repoURL": "https://h/r", "branch": "main" },
                "destination": { "name": "", "namespace": "n" },
            },
        },
    });
    let read: GitOpsDeployment = serde_json::from_value(object.clone()).unwrap();
    assert_eq!(read.mode(), Some(SyncMode::Manual));
    assert_eq!(serde_json::to_value(&read).unwrap(), object);
}

#[test]
fn input_is_validated_with_the_messages_of_managed_gitops() {
    assert_eq!(deployment("", "", "").validate().unwrap_err(), PATH_REQUIRED);
    assert_eq!(deployment("/", "", "").validate().unwrap_err(), PATH_SLASH);
    assert_eq!(deployment("p", "", "n").validate().unwrap_err(), NAMESPACE_WITHOUT_ENVIRONMENT);
    assert_eq!(deployment("p", "stage", "").validate().unwrap_err(), BAD_NAMESPACE);
    assert_eq!(deployment("p", "stage", "Not A Name").validate().unwrap_err(), BAD_NAMESPACE);
    assert_eq!(deployment("p", "stage", "n").validate(), Ok(()));
    for nothing in ["", " "] {
        let mut odd = deployment("p", "", "");
        odd.spec.source.repo_url = nothing.into();
        assert_eq!(odd.validate().unwrap_err(), REPOSITORY_REQUIRED);
    }
    let mut odd = deployment("p", "", "");
    odd.spec.r#type = "sometimes".into();
    assert_eq!(odd.validate().unwrap_err(), BAD_TYPE);
    odd.spec.r#type = "Automated".into();
    odd.spec.sync_policy = Some(SyncPolicy { sync_options: vec!["Prune=true".into()] });
    assert_eq!(odd.validate().unwrap_err(), BAD_SYNC_OPTION);
}

/// Defect 16: managed-gitops removes characters and deploys something else.
#[test]
fn characters_are_rejected_or_kept_and_never_removed() {
    for kept in ["a&b", "100%", "a b", "ä/ö", "$x"] {
        assert_eq!(deployment(kept, "", "").validate(), Ok(()), "{kept}");
    }
    for refused in ["a'b", "a\"b", "a`b", "a;b", "a\nb", "a\rb", "a\u{7}b"] {
        let said = deployment(refused, "", "").validate().unwrap_err();
        assert!(said.starts_with("spec.source.path contains a character that is not supported"), "{said}");
    }
}

/// A project permits the URLs of its deployments: a pattern would permit other repositories.
#[test]
fn a_pattern_as_url_is_rejected() {
    let judged = |url: &str| {
        let mut asked = deployment("p", "", "");
        asked.spec.source.repo_url = url.into();
        asked.validate()
    };
    for url in [
        "*",
        "https://git.example/*",
        "https://git.example/?",
        "https://git.example/[a-z]",
        "!https://h/r",
        "https://{a,b}/r",
    ] {
        let said = judged(url).unwrap_err();
        assert!(said.starts_with("spec.source.repoURL must name a single repository, but contains"), "{said}");
        let mut credential = crate::kinds::RepositoryCredential::default();
        credential.spec.repository = url.into();
        let said = credential.validate().unwrap_err();
        assert!(said.starts_with("spec.repository must name a single repository, but contains"), "{said}");
    }
    for url in ["git.example", "ext::sh", "ftp://git.example/r", "https:///r", "--upload-pack=x"] {
        let said = judged(url).unwrap_err();
        assert!(said.starts_with("spec.source.repoURL is not the address of a git repository: "), "{url}: {said}");
    }
    for url in ["https://git.example:8443/a/b.git", "git@git.example:a/b", "ssh://git@git.example/a", "file:///srv/a"] {
        assert_eq!(judged(url), Ok(()), "{url}");
    }
}

/// URLs are stored in plaintext, credentials are not.
#[test]
fn a_url_with_a_login_is_rejected() {
    for (url, is_refused) in [
        ("https://robot:hunter2@git.example/web", true),
        ("https://ghp_token@git.example/web", true),
        ("ssh://git:hunter2@git.example/web", true),
        ("ssh://git@git.example/web", false),
        ("git@git.example:web", false),
        ("https://git.example/a@b", false),
    ] {
        let mut asked = deployment("p", "", "");
        asked.spec.source.repo_url = url.into();
        let said = asked.validate().err();
        assert_eq!(said.as_deref(), is_refused.then_some(LOGIN_IN_URL), "{url}");
    }
}

/// The URL of a cluster is stored in plaintext, and appears in logs and conditions.
#[test]
fn a_cluster_url_with_a_login_is_rejected_without_repeating_it() {
    for (url, is_refused) in [
        ("https://bob:hunter2@api.example:6443", true),
        ("https://hunter2@api.example", true),
        ("https://api.example/clusters/a@b", false),
    ] {
        let mut asked = ManagedEnvironment::default();
        asked.spec.api_url = url.into();
        let said = asked.validate().err();
        let wanted = (environment::EnvironmentReason::UnsupportedApiUrl, environment::LOGIN_IN_URL.to_string());
        assert_eq!(said, is_refused.then_some(wanted), "{url}");
    }
}

/// An unreachable server does not mean that the repository is missing; only "not found" does.
#[test]
fn an_unreachable_repository_is_not_reported_as_missing() {
    let credential = RepositoryCredential {
        spec: credential::CredentialSpec { repository: "https://h/r".into(), secret: "s".into() },
        ..Default::default()
    };
    let told = conditions(&credential, &CredentialOutcome::Unchecked("no route to h".into()), "1");
    let told: Vec<_> = told.iter().map(|c| (c.r#type.as_str(), c.status, c.reason.as_str())).collect();
    assert_eq!(
        told,
        [
            ("ErrorOccurred", ConditionStatus::True, "InvalidCredentials"),
            ("ValidRepositoryCredential", ConditionStatus::False, "InvalidCredentials"),
            ("ValidRepositoryURL", ConditionStatus::Unknown, "InvalidCredentials"),
        ]
    );
}

/// Any client with access may write a status; the spec must be readable nevertheless.
#[test]
fn an_invalid_status_does_not_affect_the_spec() {
    let with = |status: serde_json::Value| -> GitOpsDeployment {
        serde_json::from_value(json!({"metadata": {"name": "web"}, "spec": {"source": {"repoURL": "https://h/r", "path": "p"}, "type": "manual"}, "status": status})).unwrap()
    };
    let odd = with(json!({"conditions": [{"type": "X", "status": "Maybe"}], "sync": {"status": "Synced"}}));
    assert_eq!(
        (odd.status.conditions[0].status, odd.status.sync.status.as_str()),
        (ConditionStatus::Unknown, "Synced")
    );
    for odd in [json!({"conditions": [{"type": "X"}]}), json!({"conditions": "x"}), json!("x"), json!(null)] {
        let read = with(odd);
        assert_eq!((read.spec.source.path.as_str(), read.status), ("p", DeploymentStatus::default()));
    }
    let run = json!({"metadata": {}, "spec": {"gitopsDeploymentName": "web"}, "status": {"conditions": [7]}});
    assert!(serde_json::from_value::<SyncRun>(run).is_ok());
}

/// Kubernetes rejects a status with a longer message.
#[test]
fn a_long_message_is_truncated_in_the_middle() {
    let long = format!("at first {} in the end", "ß".repeat(40_000));
    let (mut conditions, mut of_kubernetes) = (Vec::new(), Vec::new());
    for now in ["1", "2"] {
        condition::set(&mut conditions, ERROR_OCCURRED, ConditionStatus::True, "x", &long, now);
        condition::set_meta(&mut of_kubernetes, environment::CONDITION, ConditionStatus::False, "x", &long, now);
    }
    for said in [&conditions[0].message, &of_kubernetes[0].message] {
        assert_eq!(said.chars().count(), 32_768);
        assert!(said.starts_with("at first ß") && said.ends_with("ß in the end"), "{said}");
    }
    assert_eq!(of_kubernetes[0].last_transition_time, "1", "the same is not told again");
    assert_eq!(conditions[0].last_transition_time.as_deref(), Some("1"));
    // A message of the maximum length is not truncated.
    let whole = "ß".repeat(32_768);
    condition::set(&mut conditions, "ComparisonError", ConditionStatus::True, "x", &whole, "3");
    condition::set_meta(&mut of_kubernetes, "other", ConditionStatus::False, "x", &whole, "3");
    assert!(conditions[1].message == whole && of_kubernetes[1].message == whole);
}

/// A value that does not fit its column is reported instead of retried.
#[test]
fn overlong_values_are_rejected() {
    let long = |chars: usize| "x".repeat(chars);
    let mut asked = deployment(&long(2048), "", "");
    asked.spec.source.repo_url = format!("https://h/{}", long(2038));
    asked.spec.source.target_revision = long(2048);
    assert_eq!(asked.validate(), Ok(()));
    for (at, field) in ["spec.source.repoURL", "spec.source.path", "spec.source.targetRevision"].into_iter().enumerate()
    {
        let mut asked = deployment("p", "", "");
        let source = &mut asked.spec.source;
        *[&mut source.repo_url, &mut source.path, &mut source.target_revision][at] = long(2049);
        let said = asked.validate().unwrap_err();
        assert_eq!(said, format!("{field} has 2049 characters, and at most 2048 are supported"));
    }
    asked.spec.sync_policy = Some(SyncPolicy { sync_options: vec!["CreateNamespace=true".into(); 17] });
    assert_eq!(
        asked.validate().unwrap_err(),
        "spec.syncPolicy.syncOptions has 17 entries, and at most 16 are supported"
    );
    let mut asked = ManagedEnvironment::default();
    asked.spec.api_url = format!("https://{}", long(2041));
    let (reason, said) = asked.validate().unwrap_err();
    assert_eq!(reason.as_str(), "UnsupportedAPIURL");
    assert_eq!(said, "spec.apiURL has 2049 characters, and at most 2048 are supported");
    asked.spec.api_url = "https://h".into();
    asked.spec.namespaces = (0..2000).map(|at| format!("n{at:050}")).collect();
    assert_eq!(asked.validate().unwrap_err().0.as_str(), "InvalidNamespaceList");
}

#[test]
fn an_environment_is_validated() {
    let environment = |url: &str, namespaces: &[&str]| ManagedEnvironment {
        spec: environment::EnvironmentSpec {
            api_url: url.into(),
            namespaces: namespaces.iter().map(ToString::to_string).collect(),
            ..Default::default()
        },
        ..Default::default()
    };
    let reason = |e: &ManagedEnvironment| e.validate().unwrap_err().0.as_str();
    assert_eq!(reason(&environment("http://h", &[])), "UnsupportedAPIURL");
    assert_eq!(environment("https://h?x=1", &[]).validate().unwrap_err().1, environment::URL_WITH_QUERY);
    assert_eq!(reason(&environment("https://h", &["UPPER"])), "InvalidNamespaceList");
    let good = environment("https://h", &["b", "a", "b"]);
    assert_eq!((good.validate(), good.namespace_list().as_deref()), (Ok(()), Some("a,b")));
    assert_eq!(environment("https://h", &[]).namespace_list(), None);
    assert_eq!(environment("http://h", &[]).admit(), Err(environment::NOT_HTTPS));
}

/// The statuses are those of managed-gitops, on which programs depend.
#[test]
fn every_reason_has_its_status() {
    let statuses = environment::EnvironmentReason::ALL.map(|reason| (reason.as_str(), reason.status()));
    assert_eq!(
        statuses,
        [
            ("Succeeded", ConditionStatus::True),
            ("UnsupportedAPIURL", ConditionStatus::Unknown),
            ("KubernetesError", ConditionStatus::False),
            ("DatabaseError", ConditionStatus::Unknown),
            ("InvalidSecretType", ConditionStatus::False),
            ("MissingKubeConfigField", ConditionStatus::False),
            ("UnableToCreateClient", ConditionStatus::False),
            ("UnableToCreateClusterCredentials", ConditionStatus::Unknown),
            ("UnableToInstallServiceAccount", ConditionStatus::False),
            ("UnableToValidateClusterCredentials", ConditionStatus::Unknown),
            ("UnableToLocateContext", ConditionStatus::False),
            ("UnableToParseKubeconfigData", ConditionStatus::False),
            ("InvalidNamespaceList", ConditionStatus::Unknown),
            ("UnableToRetrieveRestConfig", ConditionStatus::False),
            ("UnknownError", ConditionStatus::Unknown),
        ]
    );
    assert_eq!(
        environment::EnvironmentReason::parse("InvalidSecretType"),
        Some(environment::EnvironmentReason::InvalidSecretType)
    );
    assert_eq!(environment::EnvironmentReason::parse("Other"), None);
}

#[test]
fn an_unchanged_condition_keeps_its_times() {
    let mut all = Vec::new();
    condition::set(&mut all, ERROR_OCCURRED, ConditionStatus::True, ERROR_OCCURRED, "m", "1");
    let once = all.clone();
    condition::set(&mut all, ERROR_OCCURRED, ConditionStatus::True, ERROR_OCCURRED, "m", "2");
    assert_eq!(all, once);
    condition::resolve(&mut all, ERROR_OCCURRED, "3");
    let c = &all[0];
    assert_eq!(
        (c.status, c.reason.as_str(), c.message.as_str()),
        (ConditionStatus::False, "ErrorOccurredResolved", "")
    );
    assert_eq!(c.last_transition_time.as_deref(), Some("3"));
    let mut none = Vec::new();
    condition::resolve(&mut none, "SyncError", "3");
    assert!(none.is_empty());
}

#[test]
fn a_credential_has_three_conditions_sorted_by_type() {
    let mut credential = RepositoryCredential {
        spec: credential::CredentialSpec { repository: "https://h/r".into(), secret: "s".into() },
        ..Default::default()
    };
    let told = |conditions: &[MetaCondition]| -> Vec<String> {
        conditions.iter().map(|c| format!("{} {:?} {} {}", c.r#type, c.status, c.reason, c.message)).collect()
    };
    credential.status.conditions = conditions(&credential, &CredentialOutcome::Valid, "1");
    assert_eq!(
        told(&credential.status.conditions),
        [
            "ErrorOccurred False RepositoryCredentialUpToDate RepositoryCredentials are Valid",
            "ValidRepositoryCredential True RepositoryCredentialUpToDate Repository Credentials provided s for Repository https://h/r are valid",
            "ValidRepositoryURL True ValidRepositoryUrl Repository https://h/r exists",
        ]
    );
    let refused = conditions(&credential, &CredentialOutcome::InvalidCredentials, "2");
    assert_eq!(
        told(&refused),
        [
            "ErrorOccurred True InvalidCredentials Repository Credentials provided s for Repository https://h/r are invalid",
            "ValidRepositoryCredential False InvalidCredentials Repository Credentials provided s for Repository https://h/r are invalid",
            "ValidRepositoryURL True ValidRepositoryUrl Repository https://h/r exists",
        ]
    );
    assert_eq!(refused[2].last_transition_time, "1", "it says what it said");
    let missing = conditions(&credential, &CredentialOutcome::SecretNotFound, "3");
    assert_eq!(told(&missing)[2], "ValidRepositoryURL False SecretNotFound Secret specified not found");
}

#[test]
fn the_definitions_match_the_kinds() {
    let kinds: Vec<String> = CRDS
        .iter()
        .map(|text| {
            let crd = switchboard_object::yaml::read(text).unwrap().value;
            assert_eq!(crd["spec"]["group"], GROUP);
            crd["spec"]["names"]["kind"].as_str().unwrap().to_string()
        })
        .collect();
    assert_eq!(kinds, [deployment_kind::KIND, sync_run::KIND, environment::KIND, credential::KIND, operation::KIND]);
}

#[test]
fn the_definitions_have_the_messages_of_the_kinds() {
    let all = CRDS.concat();
    for words in [
        REPOSITORY_REQUIRED,
        BAD_TYPE,
        BAD_SYNC_OPTION,
        NAMESPACE_WITHOUT_ENVIRONMENT,
        environment::NOT_HTTPS,
        credential::BAD_SCHEME,
    ] {
        assert!(all.contains(words), "{words}");
    }
}

/// managed-gitops's webhook rejects `git@host:path`, but its backend supports it, so resources may contain it if the
/// webhook is disabled.
#[test]
fn a_repository_may_have_the_scp_like_form() {
    let definition = switchboard_object::yaml::read(CRDS[3]).unwrap().value;
    let schema = Schema::from_json(&definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]);
    let rules = CelRules::new(schema.into());
    for (url, is_taken) in [
        ("", true),
        ("https://git.example/a", true),
        ("ssh://git@git.example/a", true),
        ("git@git.example:a/b.git", true),
        ("git@git.example:/srv/a", true),
        ("http://git.example/a", false),
        ("git.example:a", false),
        ("git@git.example", false),
        ("git@git.example:", false),
        ("git@git.example::a", false),
        ("@git.example:a", false),
        ("git@:a", false),
        ("bob:hunter2@git.example:a", false),
        ("a/git@git.example:a", false),
        ("git@git example:a", false),
    ] {
        let spec = credential::CredentialSpec { repository: url.into(), secret: "s".into() };
        let (said, _) = rules.validate(&json!({ "metadata": { "name": "a" }, "spec": spec }), None);
        assert_eq!(said.is_empty(), is_taken, "{url}: {said:?}");
        let credential = RepositoryCredential { spec, ..Default::default() };
        assert_eq!(credential.admit(), if is_taken { Ok(()) } else { Err(credential::BAD_SCHEME) }, "{url}");
        if is_taken {
            assert_eq!(credential.validate(), Ok(()), "{url}");
        }
    }
}
