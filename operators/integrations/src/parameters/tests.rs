#![allow(clippy::unwrap_used)]

use serde_json::json;

use super::*;
use crate::settings::{DEFAULT_IMAGE, DEFAULT_UPSTREAM};

const SHA: &str = "0123456789abcdef0123456789abcdef01234567";

fn environment(parameters: Value) -> IntegrationEnvironment {
    IntegrationEnvironment { name: "stage".into(), parameters: parameters.as_object().unwrap().clone() }
}

fn settings(compat: bool) -> RenderSettings {
    let mut settings = RenderSettings::default();
    settings.scope.compat = compat;
    settings
}

fn collected(parameters: Value, settings: &RenderSettings) -> BTreeMap<String, String> {
    let known = BTreeSet::from(["IMAGE", "IMAGE_TAG", "IMAGE_DIGEST", "DRY_RUN"]);
    let collected = collect(&known, &environment(parameters), settings, 7).unwrap();
    collected.into_iter().map(|(name, parameter)| (name, parameter.value)).collect()
}

#[test]
fn the_source_with_higher_precedence_wins() {
    let mut settings = settings(true);
    let file = json!({"IMAGE": "from-file", "IMAGE_TAG": "from-file", "DRY_RUN": "from-file", "OTHER": "kept"});
    let given = collected(file.clone(), &settings);
    assert_eq!((&*given["IMAGE"], &*given["IMAGE_TAG"], &*given["OTHER"]), (DEFAULT_IMAGE, "from-file", "kept"));
    let variables = [("IMAGE", "from-env"), ("IMAGE_TAG", "from-env"), ("OTHER", "unknown to the chart")];
    settings.variables = variables.map(|(name, value)| (name.to_string(), value.to_string())).into();
    let given = collected(file.clone(), &settings);
    assert_eq!((&*given["IMAGE"], &*given["IMAGE_TAG"], &*given["OTHER"]), (DEFAULT_IMAGE, "from-env", "kept"));
    let repos = json!({UPSTREAM_REPOS: [{"repo": "https://else", "ref": "x"}, {"repo": DEFAULT_UPSTREAM, "ref": SHA}]});
    assert_eq!(collected(repos.clone(), &settings)["IMAGE_TAG"], SHA[..7]);
    settings.commits.insert((DEFAULT_UPSTREAM.into(), "main".into()), "f".repeat(40));
    settings.image_tag_from_ref = BTreeMap::from([("stage".into(), "main".into()), ("prod".into(), "gone".into())]);
    assert_eq!(collected(repos, &settings)["IMAGE_TAG"], "fffffff");
    settings.image = Some("mine".into());
    assert_eq!(collected(json!({}), &settings)["IMAGE"], "mine");
}

#[test]
fn a_reference_without_a_known_commit_is_an_error() {
    let mut settings = settings(true);
    settings.image_tag_from_ref.insert("stage".into(), "main".into());
    let error = collect(&BTreeSet::new(), &environment(json!({})), &settings, 7).unwrap_err();
    assert!(error.contains("`main`"), "{error}");
    // If integrations are rendered separately, only those that use the image fail.
    settings.scope.compat = false;
    let tag = collected(json!({}), &settings)["IMAGE_TAG"].clone();
    assert!(tag.starts_with(UNKNOWN) && tag.contains("`main`") && tag.contains("--commit main="), "{tag}");
}

/// Spec 8.3, 12: values are formatted as JSON, or as Python in compatibility mode.
#[test]
fn values_are_formatted_as_json_or_python() {
    let file = json!({"A": true, "B": null, "C": [1, "x'y", {"k": false}], "D": 1.0, "E": 1e16});
    let as_was = collected(file.clone(), &settings(true));
    assert_eq!((&*as_was["A"], &*as_was["B"], &*as_was["D"], &*as_was["E"]), ("True", "None", "1.0", "1e+16"));
    assert_eq!(as_was["C"], r#"[1, "x'y", {'k': False}]"#);
    let now = collected(file, &settings(false));
    assert_eq!((&*now["A"], now.get("B"), &*now["C"]), ("true", None, r#"[1,"x'y",{"k":false}]"#));
}

/// Spec 8.3, 9: a digest of another image does not override the tag of a reference.
#[test]
fn a_tag_from_a_reference_drops_the_digest_it_does_not_belong_to() {
    let digest = |compat| {
        let mut settings = settings(compat);
        settings.variables.insert("IMAGE_DIGEST".into(), "sha256:old".into());
        settings.image_tag_from_ref.insert("stage".into(), SHA.into());
        collected(json!({}), &settings)["IMAGE_DIGEST"].clone()
    };
    assert_eq!((digest(true).as_str(), digest(false).as_str()), ("sha256:old", ""));
}

/// Spec 8.3, 12: the source shows whether a variable became a parameter by coincidence.
#[test]
fn the_source_of_a_parameter_is_recorded() {
    let mut settings = settings(false);
    settings.variables.insert("DRY_RUN".into(), "--no-dry-run".into());
    let known = BTreeSet::from(["DRY_RUN"]);
    let given = collect(&known, &environment(json!({"X": "1"})), &settings, 7).unwrap();
    assert_eq!(
        (given["DRY_RUN"].from, given["X"].from, given["IMAGE"].from),
        (ParameterSource::Variable, ParameterSource::Environment, ParameterSource::Image)
    );
}

#[test]
fn invalid_parameter_names_are_rejected_in_compatibility_mode() {
    assert!(collect(&BTreeSet::new(), &environment(json!({"1a": "x"})), &settings(true), 7).is_err());
    assert!(collect(&BTreeSet::new(), &environment(json!({"1a": "x"})), &settings(false), 7).is_ok());
}
