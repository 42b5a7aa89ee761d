#![allow(clippy::unwrap_used)]

use serde_json::json;
use switchboard_object::cel::Rules;
use switchboard_object::schema::Schema;

use super::condition::{self, ERROR_OCCURRED, Truth};
use super::credential::{Outcome, conditions};
use super::deployment::*;
use super::*;

fn deployment(path: &str, environment: &str, namespace: &str) -> Deployment {
    Deployment {
        metadata: Meta::named("shop", "web", "uid"),
        spec: DeploymentSpec {
            source: Source { repo_url: "https://h/r".into(), path: path.into(), target_revision: String::new() },
            destination: Destination { environment: environment.into(), namespace: namespace.into() },
            sync_policy: None,
            r#type: "automated".into(),
        },
        status: DeploymentStatus::default(),
    }
}

#[test]
fn a_resource_is_read_and_written_as_kubernetes_has_it() {
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
    let read: Deployment = serde_json::from_value(object.clone()).unwrap();
    assert_eq!(read.mode(), Some(Mode::Manual));
    assert_eq!(serde_json::to_value(&read).unwrap(), object);
}

#[test]
fn input_is_judged_in_the_words_tests_look_for() {
    assert_eq!(deployment("", "", "").judge().unwrap_err(), PATH_REQUIRED);
    assert_eq!(deployment("/", "", "").judge().unwrap_err(), PATH_SLASH);
    assert_eq!(deployment("p", "", "n").judge().unwrap_err(), NAMESPACE_WITHOUT_ENVIRONMENT);
    assert_eq!(deployment("p", "stage", "").judge().unwrap_err(), BAD_NAMESPACE);
    assert_eq!(deployment("p", "stage", "Not A Name").judge().unwrap_err(), BAD_NAMESPACE);
    assert_eq!(deployment("p", "stage", "n").judge(), Ok(()));
    for nothing in ["", " "] {
        let mut odd = deployment("p", "", "");
        odd.spec.source.repo_url = nothing.into();
        assert_eq!(odd.judge().unwrap_err(), REPOSITORY_REQUIRED);
    }
    let mut odd = deployment("p", "", "");
    odd.spec.r#type = "sometimes".into();
    assert_eq!(odd.judge().unwrap_err(), BAD_TYPE);
    odd.spec.r#type = "Automated".into();
    odd.spec.sync_policy = Some(SyncPolicy { sync_options: vec!["Prune=true".into()] });
    assert_eq!(odd.judge().unwrap_err(), BAD_SYNC_OPTION);
}

/// Defect 16: the original deletes characters and deploys something else.
#[test]
fn characters_are_refused_or_kept_and_never_deleted() {
    for kept in ["a&b", "100%", "a b", "ä/ö", "$x"] {
        assert_eq!(deployment(kept, "", "").judge(), Ok(()), "{kept}");
    }
    for refused in ["a'b", "a\"b", "a`b", "a;b", "a\nb", "a\rb", "a\u{7}b"] {
        let said = deployment(refused, "", "").judge().unwrap_err();
        assert!(said.starts_with("spec.source.path contains a character that is not supported"), "{said}");
    }
}

/// A tenant's project permits what stands there: a pattern would permit every repository.
#[test]
fn a_url_of_many_repositories_is_refused() {
    let judged = |url: &str| {
        let mut asked = deployment("p", "", "");
        asked.spec.source.repo_url = url.into();
        asked.judge()
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
        assert!(said.starts_with("spec.source.repoURL is to name one repository, and contains"), "{said}");
        let mut credential = crate::kinds::RepositoryCredential::default();
        credential.spec.repository = url.into();
        let said = credential.judge().unwrap_err();
        assert!(said.starts_with("spec.repository is to name one repository, and contains"), "{said}");
    }
    for url in ["git.example", "ext::sh", "ftp://git.example/r", "https:///r", "--upload-pack=x"] {
        let said = judged(url).unwrap_err();
        assert!(said.starts_with("spec.source.repoURL is no address of a git repository: "), "{url}: {said}");
    }
    for url in ["https://git.example:8443/a/b.git", "git@git.example:a/b", "ssh://git@git.example/a", "file:///srv/a"] {
        assert_eq!(judged(url), Ok(()), "{url}");
    }
}

/// A URL is kept in clear wherever it is; credentials are not.
#[test]
fn a_url_with_a_login_is_refused() {
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
        let said = asked.judge().err();
        assert_eq!(said.as_deref(), is_refused.then_some(LOGIN_IN_URL), "{url}");
    }
}

/// That of a cluster is kept in clear in rows, and told in logs and conditions.
#[test]
fn a_cluster_with_a_login_in_its_url_is_refused_without_repeating_it() {
    for (url, is_refused) in [
        ("https://bob:hunter2@api.example:6443", true),
        ("https://hunter2@api.example", true),
        ("https://api.example/clusters/a@b", false),
    ] {
        let mut asked = ManagedEnvironment::default();
        asked.spec.api_url = url.into();
        let said = asked.judge().err();
        let wanted = (environment::Reason::UnsupportedApiUrl, environment::LOGIN_IN_URL.to_string());
        assert_eq!(said, is_refused.then_some(wanted), "{url}");
    }
}

/// A server that cannot be reached says nothing of a repository: only "not found" does.
#[test]
fn a_repository_that_nobody_reached_is_not_said_to_be_missing() {
    let credential = RepositoryCredential {
        spec: credential::CredentialSpec { repository: "https://h/r".into(), secret: "s".into() },
        ..Default::default()
    };
    let told = conditions(&credential, &Outcome::Unchecked("no route to h".into()), "1");
    let told: Vec<_> = told.iter().map(|c| (c.r#type.as_str(), c.status, c.reason.as_str())).collect();
    assert_eq!(
        told,
        [
            ("ErrorOccurred", Truth::True, "InvalidCredentials"),
            ("ValidRepositoryCredential", Truth::False, "InvalidCredentials"),
            ("ValidRepositoryURL", Truth::Unknown, "InvalidCredentials"),
        ]
    );
}

/// Whoever may write a status may write anything into it; what the tenant wants is read all the same.
#[test]
fn an_odd_status_hides_nothing_of_the_spec() {
    let with = |status: serde_json::Value| -> Deployment {
        serde_json::from_value(json!({"metadata": {"name": "web"}, "spec": {"source": {"repoURL": "https://h/r", "path": "p"}, "type": "manual"}, "status": status})).unwrap()
    };
    let odd = with(json!({"conditions": [{"type": "X", "status": "Maybe"}], "sync": {"status": "Synced"}}));
    assert_eq!((odd.status.conditions[0].status, odd.status.sync.status.as_str()), (Truth::Unknown, "Synced"));
    for odd in [json!({"conditions": [{"type": "X"}]}), json!({"conditions": "x"}), json!("x"), json!(null)] {
        let read = with(odd);
        assert_eq!((read.spec.source.path.as_str(), read.status), ("p", DeploymentStatus::default()));
    }
    let run = json!({"metadata": {}, "spec": {"gitopsDeploymentName": "web"}, "status": {"conditions": [7]}});
    assert!(serde_json::from_value::<SyncRun>(run).is_ok());
}

/// Kubernetes refuses a status with a longer one, and with it all that is told.
#[test]
fn a_message_that_is_too_long_loses_its_middle() {
    let long = format!("at first {} in the end", "ß".repeat(40_000));
    let (mut conditions, mut of_kubernetes) = (Vec::new(), Vec::new());
    for now in ["1", "2"] {
        condition::set(&mut conditions, ERROR_OCCURRED, Truth::True, "x", &long, now);
        condition::set_meta(&mut of_kubernetes, environment::CONDITION, Truth::False, "x", &long, now);
    }
    for said in [&conditions[0].message, &of_kubernetes[0].message] {
        assert_eq!(said.chars().count(), 32_768);
        assert!(said.starts_with("at first ß") && said.ends_with("ß in the end"), "{said}");
    }
    assert_eq!(of_kubernetes[0].last_transition_time, "1", "the same is not told again");
    assert_eq!(conditions[0].last_transition_time.as_deref(), Some("1"));
    // As long as it may be, it is whole.
    let whole = "ß".repeat(32_768);
    condition::set(&mut conditions, "ComparisonError", Truth::True, "x", &whole, "3");
    condition::set_meta(&mut of_kubernetes, "other", Truth::False, "x", &whole, "3");
    assert!(conditions[1].message == whole && of_kubernetes[1].message == whole);
}

/// What no row holds is told, and not tried again and again.
#[test]
fn what_is_too_long_is_refused() {
    let long = |chars: usize| "x".repeat(chars);
    let mut asked = deployment(&long(2048), "", "");
    asked.spec.source.repo_url = format!("https://h/{}", long(2038));
    asked.spec.source.target_revision = long(2048);
    assert_eq!(asked.judge(), Ok(()));
    for (at, field) in ["spec.source.repoURL", "spec.source.path", "spec.source.targetRevision"].into_iter().enumerate()
    {
        let mut asked = deployment("p", "", "");
        let source = &mut asked.spec.source;
        *[&mut source.repo_url, &mut source.path, &mut source.target_revision][at] = long(2049);
        let said = asked.judge().unwrap_err();
        assert_eq!(said, format!("{field} has 2049 characters, and at most 2048 are supported"));
    }
    asked.spec.sync_policy = Some(SyncPolicy { sync_options: vec!["CreateNamespace=true".into(); 17] });
    assert_eq!(asked.judge().unwrap_err(), "spec.syncPolicy.syncOptions has 17 entries, and at most 16 are supported");
    let mut asked = ManagedEnvironment::default();
    asked.spec.api_url = format!("https://{}", long(2041));
    let (reason, said) = asked.judge().unwrap_err();
    assert_eq!(reason.as_str(), "UnsupportedAPIURL");
    assert_eq!(said, "spec.apiURL has 2049 characters, and at most 2048 are supported");
    asked.spec.api_url = "https://h".into();
    asked.spec.namespaces = (0..2000).map(|at| format!("n{at:050}")).collect();
    assert_eq!(asked.judge().unwrap_err().0.as_str(), "InvalidNamespaceList");
}

#[test]
fn an_environment_is_judged() {
    let environment = |url: &str, namespaces: &[&str]| ManagedEnvironment {
        spec: environment::EnvironmentSpec {
            api_url: url.into(),
            namespaces: namespaces.iter().map(ToString::to_string).collect(),
            ..Default::default()
        },
        ..Default::default()
    };
    let reason = |e: &ManagedEnvironment| e.judge().unwrap_err().0.as_str();
    assert_eq!(reason(&environment("http://h", &[])), "UnsupportedAPIURL");
    assert_eq!(environment("https://h?x=1", &[]).judge().unwrap_err().1, environment::URL_WITH_QUERY);
    assert_eq!(reason(&environment("https://h", &["UPPER"])), "InvalidNamespaceList");
    let good = environment("https://h", &["b", "a", "b"]);
    assert_eq!((good.judge(), good.namespace_list().as_deref()), (Ok(()), Some("a,b")));
    assert_eq!(environment("https://h", &[]).namespace_list(), None);
    assert_eq!(environment("http://h", &[]).admit(), Err(environment::NOT_HTTPS));
}

/// As the original has them, which programs look at.
#[test]
fn every_reason_has_its_status() {
    let statuses = environment::Reason::ALL.map(|reason| (reason.as_str(), reason.status()));
    assert_eq!(
        statuses,
        [
            ("Succeeded", Truth::True),
            ("UnsupportedAPIURL", Truth::Unknown),
            ("KubernetesError", Truth::False),
            ("DatabaseError", Truth::Unknown),
            ("InvalidSecretType", Truth::False),
            ("MissingKubeConfigField", Truth::False),
            ("UnableToCreateClient", Truth::False),
            ("UnableToCreateClusterCredentials", Truth::Unknown),
            ("UnableToInstallServiceAccount", Truth::False),
            ("UnableToValidateClusterCredentials", Truth::Unknown),
            ("UnableToLocateContext", Truth::False),
            ("UnableToParseKubeconfigData", Truth::False),
            ("InvalidNamespaceList", Truth::Unknown),
            ("UnableToRetrieveRestConfig", Truth::False),
            ("UnknownError", Truth::Unknown),
        ]
    );
    assert_eq!(environment::Reason::named("InvalidSecretType"), Some(environment::Reason::InvalidSecretType));
    assert_eq!(environment::Reason::named("Other"), None);
}

#[test]
fn a_condition_that_says_the_same_keeps_its_times() {
    let mut all = Vec::new();
    condition::set(&mut all, ERROR_OCCURRED, Truth::True, ERROR_OCCURRED, "m", "1");
    let once = all.clone();
    condition::set(&mut all, ERROR_OCCURRED, Truth::True, ERROR_OCCURRED, "m", "2");
    assert_eq!(all, once);
    condition::resolve(&mut all, ERROR_OCCURRED, "3");
    let c = &all[0];
    assert_eq!((c.status, c.reason.as_str(), c.message.as_str()), (Truth::False, "ErrorOccurredResolved", ""));
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
    credential.status.conditions = conditions(&credential, &Outcome::Valid, "1");
    assert_eq!(
        told(&credential.status.conditions),
        [
            "ErrorOccurred False RepositoryCredentialUpToDate RepositoryCredentials are Valid",
            "ValidRepositoryCredential True RepositoryCredentialUpToDate Repository Credentials provided s for Repository https://h/r are valid",
            "ValidRepositoryURL True ValidRepositoryUrl Repository https://h/r exists",
        ]
    );
    let refused = conditions(&credential, &Outcome::InvalidCredentials, "2");
    assert_eq!(
        told(&refused),
        [
            "ErrorOccurred True InvalidCredentials Repository Credentials provided s for Repository https://h/r are invalid",
            "ValidRepositoryCredential False InvalidCredentials Repository Credentials provided s for Repository https://h/r are invalid",
            "ValidRepositoryURL True ValidRepositoryUrl Repository https://h/r exists",
        ]
    );
    assert_eq!(refused[2].last_transition_time, "1", "it says what it said");
    let missing = conditions(&credential, &Outcome::SecretNotFound, "3");
    assert_eq!(told(&missing)[2], "ValidRepositoryURL False SecretNotFound Secret specified not found");
}

#[test]
fn the_definitions_are_of_these_kinds() {
    let kinds: Vec<String> = CRDS
        .iter()
        .map(|text| {
            let crd = switchboard_object::yaml::read(text).unwrap().value;
            assert_eq!(crd["spec"]["group"], GROUP);
            crd["spec"]["names"]["kind"].as_str().unwrap().to_string()
        })
        .collect();
    assert_eq!(kinds, [deployment::KIND, sync_run::KIND, environment::KIND, credential::KIND, operation::KIND]);
}

#[test]
fn the_definitions_refuse_in_the_words_of_the_kinds() {
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

/// The original's webhook refuses `git@host:path`; its backend takes it, and where the webhook is off it is written so.
#[test]
fn a_repository_may_be_written_in_the_short_form_of_ssh() {
    let definition = switchboard_object::yaml::read(CRDS[3]).unwrap().value;
    let schema = Schema::from_json(&definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]);
    let rules = Rules::new(schema.into());
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
            assert_eq!(credential.judge(), Ok(()), "{url}");
        }
    }
}
