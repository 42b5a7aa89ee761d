#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::contract::{ContractRules, ControllerResults};

fn configmaps() -> ResourceType {
    ResourceType::new("", "v1", "configmaps")
}

fn create(name: &str) -> Mutation {
    let body = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "shop"}});
    Mutation::object(OutputCluster::Management, Action::Create, &configmaps(), &body)
}

fn laid_out(mutations: &[Mutation], naming: Naming) -> (BTreeMap<String, Vec<u8>>, String) {
    let mut layout = Layout::new(naming);
    let (mut files, mut order) = (BTreeMap::new(), String::new());
    for mutation in mutations {
        let laid_out = layout.add(mutation);
        order.push_str(&index::line(&laid_out.body));
        files.extend(laid_out.files);
    }
    (files, order)
}

#[test]
fn a_create_becomes_two_files() {
    let (files, order) = laid_out(&[create("web").with_controller("Demo")], Naming::default());
    let folder = "Management/Create/namespaces/shop/core/configmaps";
    let body = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: web\n  namespace: shop\n";
    let metadata = "action: Create\ncontrollerInstanceName: Demo\ngenerateName: \"\"\nname: web\nnamespace: shop\nresourceType:\n  Group: \"\"\n  Resource: configmaps\n  Version: v1\n";
    let expected: BTreeMap<String, Vec<u8>> = [
        (format!("{folder}/f6e7-body-web.yaml"), body.into()),
        (format!("{folder}/f6e7-metadata-web.yaml"), metadata.into()),
    ]
    .into();
    assert_eq!(files, expected);
    assert_eq!(order, format!("- {folder}/f6e7-body-web.yaml\n"));
}

#[test]
fn mame_is_written_on_request_and_always_read() {
    for key in [NameKey::Name, NameKey::Mame, NameKey::Both] {
        let (files, _) = laid_out(&[create("web")], Naming { key, ..Naming::default() });
        let metadata = files.iter().find(|(path, _)| path.contains("metadata")).unwrap().1;
        let text = String::from_utf8_lossy(metadata);
        assert_eq!(
            (text.contains("\nname: web"), text.contains("\nmame: web")),
            (key != NameKey::Mame, key != NameKey::Name)
        );
        assert_eq!(read_files(&files, None).mutations, [create("web")]);
    }
}

#[test]
fn mutations_with_the_same_path_are_all_kept() {
    let of = ResourceType::new("operator.example.com", "v1", "widgets");
    let body = json!({"apiVersion": "operator.example.com/v1", "kind": "Widget", "metadata": {"name": "cluster"}});
    let apply = |manager: &str| {
        let apply = Mutation::object(OutputCluster::Management, Action::ApplyStatus, &of, &body);
        apply.with_options(&json!({"fieldManager": manager, "force": true}))
    };
    let merge = |form: &str| {
        Mutation::patch(OutputCluster::Management, Action::Patch, &of, ("", "cluster"), form, br#"{"a":1}"#).unwrap()
    };
    let all = [
        apply("B"),
        apply("A"),
        merge("application/merge-patch+json"),
        merge("application/strategic-merge-patch+json"),
        apply("B"),
    ];
    let (files, order) = laid_out(&all, Naming::default());
    let read = read_files(&files, Some(&order));
    assert_eq!(read.mutations, all);
    assert!(read.ordered && read.problems.is_empty());
    assert_eq!(read_files(&files, None).mutations.len(), 4);
    let (files, _) = laid_out(&all, Naming { rules: ContractRules::MultiOperatorManager, ..Naming::default() });
    assert_eq!(read_files(&files, None).mutations, [apply("B"), merge("application/strategic-merge-patch+json")]);
}

#[test]
fn merge_patches_are_kept_and_json_patches_become_yaml() {
    let sent = br#"[{"value":"x","op":"test","path":"/a"}]"#;
    let json = Mutation::patch(
        OutputCluster::Management,
        Action::Patch,
        &configmaps(),
        ("shop", "web"),
        "application/json-patch+json",
        sent,
    );
    assert_eq!(json.unwrap().body, b"- op: test\n  path: /a\n  value: x\n");
    let sent = br#"{"z":1,  "a":2}"#;
    let merge = Mutation::patch(
        OutputCluster::Management,
        Action::Patch,
        &configmaps(),
        ("shop", "web"),
        "application/merge-patch+json",
        sent,
    );
    assert_eq!(merge.unwrap().body, sent);
}

#[test]
fn readers_are_tolerant() {
    let metadata =
        "ACTION: Create\nMAME: x-body-y\nresourcetype: {group: '', RESOURCE: configmaps, version: v1}\nwhatever: 1\n";
    let files: BTreeMap<String, Vec<u8>> = [
        ("Management/Create/a/002-metadata-x-body-y.yaml".into(), metadata.into()),
        ("Management/Create/a/002-body-x-body-y.yaml".into(), br#"{"apiVersion":"v1","kind":"ConfigMap"}"#.into()),
        ("Management/Create/a/0d96-metadata-.yaml".into(), "resourceType: {Resource: reviews}".into()),
        ("Management/Create/a/0d96-body-.yaml".into(), "kind: Review".into()),
        ("stdout.log".into(), b"talk".into()),
    ]
    .into();
    let read = read_files(&files, None);
    assert_eq!(read.problems, []);
    let names: Vec<(&str, &str)> = read.mutations.iter().map(|m| (&*m.name, &*m.kind)).collect();
    assert_eq!(names, [("x-body-y", "ConfigMap"), ("", "Review")]);
}

#[test]
fn invalid_parts_are_reported_and_the_rest_is_read() {
    let (mut files, _) = laid_out(&[create("web")], Naming::default());
    let metadata = "resourceType: {Resource: configmaps}";
    let further: [(&str, &str); 7] = [
        ("Management/Create/a/1-body-x.yaml", "kind: X"),
        ("Management/Create/a/2-metadata-x.yaml", metadata),
        ("Management/Create/a/3-body-x.yaml", "{"),
        ("Management/Create/a/3-metadata-x.yaml", metadata),
        ("README.md", "hello"),
        ("Management/Rename/a/1-body-x.yaml", "kind: X"),
        ("controller-results.yaml", "controllerResults: 1"),
    ];
    files.extend(further.map(|(path, text)| (path.to_string(), text.into())));
    let read = read_files(&files, None);
    assert_eq!(read.mutations, [create("web")]);
    let problems: Vec<String> = read.problems.iter().map(|p| format!("{}: {}", p.file, p.message)).collect();
    assert_eq!(problems.len(), 6, "{problems:#?}");
    assert!(problems.contains(&"Management/Create/a/1-body-x.yaml: has no metadata file".to_string()));
    assert!(problems.contains(&"Management/Create/a/2-metadata-x.yaml: has no body file".to_string()));
}

#[test]
fn a_patched_namespace_has_no_namespace() {
    let of = ResourceType::new("", "v1", "namespaces");
    let patch = Mutation::patch(
        OutputCluster::Management,
        Action::Patch,
        &of,
        ("", "shop"),
        "application/merge-patch+json",
        b"{}",
    )
    .unwrap();
    let as_original = Mutation { namespace: "shop".into(), ..patch.clone() };
    let (files, _) = laid_out(&[as_original], Naming::default());
    assert!(files.keys().all(|path| path.starts_with("Management/Patch/namespaces/shop/core/namespaces/")));
    assert_eq!(read_files(&files, None).mutations, [patch]);
}

#[test]
fn names_become_file_names_that_stay_in_the_directory() {
    let (files, order) = laid_out(&[create("system:x/../y"), create(&"ä".repeat(200))], Naming::default());
    let names: Vec<&str> = files.keys().map(|path| path.rsplit('/').next().unwrap()).collect();
    assert!(names.iter().all(|name| name.len() <= 255));
    assert!(names.iter().any(|name| name.ends_with("-body-system-COLON-x-SLASH-..-SLASH-y.yaml")), "{names:?}");
    assert_eq!(read_files(&files, Some(&order)).mutations, [create("system:x/../y"), create(&"ä".repeat(200))]);
    let mut outside = create("x");
    outside.namespace = "..".into();
    let (files, _) = laid_out(&[outside], Naming::default());
    assert!(files.keys().all(|path| path.split('/').all(|part| part != "..")));
}

#[test]
fn a_directory_is_written_and_read_with_its_index_beside_it() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let results = ControllerResults::read("controllerResults: [{controllerName: a, status: Succeeded}]").unwrap();
    let all = [create("b"), create("a"), create("b")];
    write_directory(&out, &all, Some(&results), Naming::default()).unwrap();
    let mut roots: Vec<_> = std::fs::read_dir(folder.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
    roots.sort();
    assert_eq!(roots, ["out", "out.index.yaml"]);
    let read = read_directory(&out).unwrap();
    assert_eq!((read.mutations, read.results), (all.to_vec(), Some(results)));
    // If the directory was changed after the index was written, the index is ignored.
    std::fs::remove_dir_all(out.join("Management/Create")).unwrap();
    let read = read_directory(&out).unwrap();
    assert!(read.mutations.is_empty() && !read.ordered && read.problems.len() == 1);
}

#[test]
fn links_are_not_followed() {
    let folder = tempfile::tempdir().unwrap();
    let (out, secret) = (folder.path().join("out"), folder.path().join("secret"));
    write_directory(&out, &[create("a")], None, Naming::default()).unwrap();
    std::fs::write(&secret, "kind: X").unwrap();
    std::os::unix::fs::symlink(&secret, out.join("Management/Create/1-body-x.yaml")).unwrap();
    let read = read_directory(&out).unwrap();
    assert_eq!(read.mutations, [create("a")]);
    assert_eq!(read.problems[0].message, "skipped: not a regular file");
}

fn read_one(metadata: &str, body: &str) -> MutationDirectory {
    let folder = "Configuration/Patch/namespaces/shop/core/configmaps";
    let files = [
        (format!("{folder}/0a1b-metadata-web.yaml"), metadata.into()),
        (format!("{folder}/0a1b-body-web.yaml"), body.into()),
    ];
    read_files(&files.into(), None)
}

#[test]
fn a_type_or_subresource_that_leads_elsewhere_is_refused() {
    let of =
        |of: &str| format!("name: web\nnamespace: shop\npatchType: application/merge-patch+json\nresourceType: {of}\n");
    assert_eq!(read_one(&of("{Resource: configmaps/status, Version: v1}"), "{}").problems, []);
    let wrong = [
        ("{Resource: configmaps/../secrets, Version: v1}", "its subresource \"../secrets\" may not contain '/'"),
        ("{Resource: configmaps/.., Version: v1}", "its subresource \"..\" may not be '..'"),
        ("{Resource: .., Version: v1}", "its Resource \"..\" may not be '..'"),
        ("{Group: ../api, Resource: configmaps, Version: v1}", "its Group \"../api\" may not contain '/'"),
        ("{Resource: configmaps, Version: v1%2F..}", "its Version \"v1%2F..\" may not contain '%'"),
    ];
    for (resource, why) in wrong {
        let read = read_one(&of(resource), "{}");
        assert_eq!(read.mutations, [], "{resource}");
        assert_eq!(read.problems[0].message, format!("its metadata file could not be parsed: {why}"));
    }
}

#[test]
fn bodies_of_the_wrong_type_are_rejected_with_their_file() {
    let metadata = |action: &str, form: &str| {
        format!(
            "action: {action}\nname: web\nnamespace: shop\npatchType: {form}\n\
             resourceType: {{Resource: configmaps, Version: v1}}\n"
        )
    };
    let (create, merge) = (metadata("Create", ""), metadata("Patch", "application/merge-patch+json"));
    let (json, strategic) = ("application/json-patch+json", "application/strategic-merge-patch+json");
    let wrong = [
        (&create, "{apiVersion: v1, kind: ConfigMap, metadata: 5}", "its metadata is not a map"),
        (&merge, r#"{"metadata":"x"}"#, "its metadata is not a map"),
        (&merge, "[]", "its body is not a map"),
        (&metadata("Patch", strategic), "5", "its body is not a map"),
        (&metadata("Patch", json), "{}", "its body is not a list, as a JSON patch requires"),
    ];
    for (metadata, body, why) in wrong {
        let read = read_one(metadata, body);
        let [problem] = &read.problems[..] else { panic!("{body}: {:?}", read.problems) };
        assert_eq!((problem.message.as_str(), read.mutations.len()), (why, 0), "{body}");
        assert!(problem.file.ends_with("0a1b-body-web.yaml"), "{}", problem.file);
    }
    let right =
        [(&create, "{kind: ConfigMap, metadata: null}"), (&merge, "{data: {a: b}}"), (&metadata("Patch", json), "[]")];
    for (metadata, body) in right {
        assert_eq!(read_one(metadata, body).problems, [], "{body}");
    }
}

#[test]
fn ids_match_multi_operator_manager() {
    assert_eq!(create("web").id(), "Create-ConfigMap.v1./web[shop]");
    let of = ResourceType::new("apps", "v1", "deployments");
    let patch = Mutation::patch(
        OutputCluster::Management,
        Action::Patch,
        &of,
        ("shop", "web"),
        "application/merge-patch+json",
        b"{}",
    );
    assert_eq!(patch.unwrap().id(), "Patch-../web[shop]");
}

fn word() -> impl Strategy<Value = String> {
    prop_oneof!["[a-z0-9:.-]{1,12}", Just("system:x-body-y".to_string()), "\\PC{1,8}"]
}

fn any_mutation() -> impl Strategy<Value = Mutation> {
    let types = (prop_oneof![Just(String::new()), "[a-z]{1,3}\\.io"], "v[12]", "[a-z]{1,9}s");
    let kinds = (prop::sample::select(&OutputCluster::ALL[..]), prop::sample::select(&Action::ALL[..]));
    let names = (
        prop_oneof![Just(String::new()), word()],
        prop_oneof![Just(String::new()), word()],
        prop_oneof![Just(String::new()), word()],
    );
    let rest = (
        prop_oneof![Just(String::new()), word()],
        prop_oneof![Just(String::new()), Just("scale".to_string())],
        0..3u8,
        0..3u8,
    );
    (types, kinds, names, rest).prop_map(
        |((group, version, resource), (place, action), (ns, name, generate), (by, sub, content, options))| {
            let of = ResourceType::new(&group, &version, &resource);
            let mutation = match action {
                Action::Patch | Action::PatchStatus => {
                    let form = [
                        "application/json-patch+json",
                        "application/merge-patch+json",
                        "application/strategic-merge-patch+json",
                    ];
                    let sent: &[u8] = if content == 0 { br#"[{"op":"remove","path":"/a"}]"# } else { br#"{"a" : 1}"# };
                    Mutation::patch(place, action, &of, (&ns, &name), form[usize::from(content)], sent).unwrap()
                }
                Action::Delete => {
                    Mutation::delete(place, &of, (&ns, &name), &json!({"kind": "DeleteOptions", "n": content}))
                }
                _ => {
                    let metadata = json!({"namespace": ns, "name": name, "generateName": generate});
                    Mutation::object(
                        place,
                        action,
                        &of,
                        &json!({"kind": "Thing", "apiVersion": of.api_version(), "metadata": metadata, "n": content}),
                    )
                }
            };
            let options = [json!({}), json!({"fieldManager": "x"}), json!({"fieldManager": "y", "force": true})]
                [usize::from(options)]
            .clone();
            mutation.with_options(&options).with_controller(&by).with_subresource(&sub)
        },
    )
}

/// The second mutation with the same name gets a number, with which another name may begin.
#[test]
fn numbers_of_duplicates_are_not_part_of_the_name() {
    let patch = |name: &str, manager: &str| {
        let named = ("shop", name);
        let made = Mutation::patch(
            OutputCluster::Management,
            Action::Patch,
            &configmaps(),
            named,
            "application/merge-patch+json",
            b"{}",
        );
        made.unwrap().with_options(&json!({"fieldManager": manager}))
    };
    let plan = vec![patch("x", "a"), patch("x", "b"), patch("2-x", "a")];
    let (files, order) = laid_out(&plan, Naming::default());
    let read = read_files(&files, Some(&order));
    assert_eq!((read.problems, read.mutations), (vec![], plan));
}

/// Go's emitter breaks the line behind these characters.
#[test]
fn names_with_line_ends_of_yaml_are_found_in_the_index() {
    let plan = ["\u{2028}", "a\u{2029}b", "\u{85}", "\"\u{2028}\\"].map(|name| {
        let named = ("shop", name);
        let (cluster, action, kind) = (OutputCluster::Management, Action::Patch, "application/merge-patch+json");
        Mutation::patch(cluster, action, &configmaps(), named, kind, b"{}").unwrap()
    });
    let (files, order) = laid_out(&plan, Naming::default());
    let read = read_files(&files, Some(&order));
    assert_eq!((read.problems, read.mutations), (vec![], plan.to_vec()));
}

proptest! {
    #[test]
    fn write_then_read_of_any_plan_is_the_identity(plan in prop::collection::vec(any_mutation(), 0..12)) {
        let (files, order) = laid_out(&plan, Naming::default());
        let read = read_files(&files, Some(&order));
        prop_assert_eq!(read.problems, vec![]);
        prop_assert_eq!(read.mutations, plan);
    }
}

/// A lossy conversion would be written as if it were intended.
#[test]
fn non_utf8_files_are_not_read() {
    let (files, _) = laid_out(&[create("web")], Naming::default());
    for role in ["-body-", "-metadata-"] {
        let mut files = files.clone();
        let content = files.iter_mut().find(|(path, _)| path.contains(role)).unwrap().1;
        let at = content.len() - 2;
        content[at] = 0xff;
        let directory = read_files(&files, None);
        assert!(directory.mutations.is_empty(), "{role}");
        assert!(directory.problems[0].message.contains("not UTF-8 text"), "{:?}", directory.problems);
    }
    let results = BTreeMap::from([("controller-results.yaml".to_string(), b"controllerResults: [\xff]".to_vec())]);
    let directory = read_files(&results, None);
    assert_eq!((directory.results, directory.problems.len()), (None, 1));
}
