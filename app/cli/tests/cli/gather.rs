//! `switchboard gather` and `switchboard serve --record`.

use std::fs;
use std::path::Path;

use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Secret};
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::{Api, ResourceExt as _};
use serde_json::json;

use crate::process::{CONTEXT, ServerProcess, run, stderr_text, switchboard};

const INPUTS: &str = "applyConfigurationResources:
  exactResources: [{group: '', version: v1, resource: namespaces, name: shop}]
  labelSelectedResources: [{group: '', version: v1, resource: configmaps, namespace: shop, labelSelector: {matchExpressions: [{key: app, operator: Exists}]}}]
  resourceReferences:
  - referringResource: {group: '', version: v1, resource: configmaps, namespace: shop, name: web}
    type: ImplicitNamespacedReference
    implicitNamespacedReference: {group: '', version: v1, resource: secrets, namespace: shop, nameJSONPath: $.data.secret}
  - referringResource: {group: '', version: v1, resource: configmaps, namespace: shop, name: web}
    type: ImplicitNamespacedReference
    implicitNamespacedReference: {group: '', version: v1, resource: secrets, namespace: shop, nameJSONPath: $.data.optional}
";

fn write(root: &Path, path: &str, text: &str) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn dump(root: &Path) {
    write(root, "inputs.yaml", INPUTS);
    write(
        root,
        "dump/cluster-scoped-resources/core/namespaces.yaml",
        "{apiVersion: v1, kind: NamespaceList, items: [{metadata: {name: shop}}]}",
    );
    write(
        root,
        "dump/namespaces/shop/core/configmaps.yaml",
        "{apiVersion: v1, kind: ConfigMapList, items: [{metadata: {name: web, namespace: shop, labels: {app: web}}, data: {secret: cert}}, {metadata: {name: other, namespace: shop}}]}",
    );
    write(
        root,
        "dump/namespaces/shop/core/secrets/cert.yaml",
        "{apiVersion: v1, kind: Secret, metadata: {name: cert, namespace: shop}, data: {key: c2VjcmV0}}",
    );
    write(root, "dump/namespaces/README.txt", "stray");
}

fn prune(root: &Path, to: &str, more: &[&str]) -> std::process::Output {
    let mut command =
        switchboard(&["gather", "prune", "--input-resources", "inputs.yaml", "--from", "dump", "--to", to]);
    command.args(more).current_dir(root).output().unwrap()
}

#[test]
fn dump_is_pruned_to_declared_inputs() {
    let folder = tempfile::tempdir().unwrap();
    dump(folder.path());
    let output = prune(folder.path(), "input", &["--redact"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr_text(&output));
    assert!(stderr_text(&output).contains("warning: namespaces/README.txt: skipped"), "{}", stderr_text(&output));
    assert!(stderr_text(&output).contains("wrote 3 objects to 5 files"), "{}", stderr_text(&output));
    let text = |path: &str| fs::read_to_string(folder.path().join("input").join(path)).unwrap();
    assert!(text("namespaces/shop/shop.yaml").contains("kind: Namespace"));
    let maps = text("namespaces/shop/core/configmaps.yaml");
    assert!(maps.contains("name: web") && !maps.contains("name: other"), "{maps}");
    let secrets = text("namespaces/shop/core/secrets.yaml");
    assert!(secrets.contains("key: cmVkYWN0ZWQ=") && !secrets.contains("c2VjcmV0"), "{secrets}");
    assert!(text("aggregated-discovery-api.yaml").contains("configmaps"));
    let again = prune(folder.path(), "input", &[]);
    assert_eq!(again.status.code(), Some(1));
    assert!(
        stderr_text(&again).starts_with("error: could not write to `input`: the directory is not empty\nhint: "),
        "{}",
        stderr_text(&again)
    );
}

/// A program that lists a type missing in its discovery documents never returns.
#[test]
fn declared_types_in_the_dump_are_resolved() {
    let folder = tempfile::tempdir().unwrap();
    dump(folder.path());
    let one =
        |resource: &str, name: &str| format!("{{group: acme.io, version: v1, resource: {resource}, name: {name}}}");
    let declared = [one("lamps", "a"), one("bulbs", "b"), one("fuses", "c")].join(", ");
    write(folder.path(), "inputs.yaml", &format!("applyConfigurationResources: {{exactResources: [{declared}]}}"));
    let crd = "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: lamps.acme.io}, spec: {group: acme.io, scope: Cluster, names: {plural: lamps, kind: Lamp}, versions: [{name: v1, served: true}]}}";
    write(
        folder.path(),
        "dump/img/cluster-scoped-resources/apiextensions.k8s.io/customresourcedefinitions/lamps.acme.io.yaml",
        crd,
    );
    let bulb = "{apiVersion: acme.io/v1, kind: Bulb, metadata: {name: b}}";
    write(folder.path(), "dump/img/cluster-scoped-resources/acme.io/bulbs/b.yaml", bulb);
    let output = prune(folder.path(), "input", &[]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr_text(&output));
    let warned = "warning: fuses.acme.io of acme.io/v1 is declared, but not served here\n";
    assert!(
        stderr_text(&output).contains(warned) && !stderr_text(&output).contains("lamps"),
        "{}",
        stderr_text(&output)
    );
    let documents = fs::read_to_string(folder.path().join("input/aggregated-discovery-apis.yaml")).unwrap();
    assert!(documents.contains("kind: Lamp\n") && documents.contains("kind: Bulb\n"));
    assert!(documents.contains("resource: deployments\n"), "and what is usual");
}

#[test]
fn compat_mode_fails_on_missing_inputs() {
    let folder = tempfile::tempdir().unwrap();
    dump(folder.path());
    let output = prune(folder.path(), "input", &["--compat"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        stderr_text(&output).contains("error: could not gather the declared inputs\n  "),
        "{}",
        stderr_text(&output)
    );
    assert!(!folder.path().join("input").exists(), "nothing is written when something is missing");
}

#[test]
fn invalid_declaration_is_reported_with_its_path() {
    let folder = tempfile::tempdir().unwrap();
    dump(folder.path());
    write(folder.path(), "inputs.yaml", "applyConfigurationResources: {exactResources: [{resource: x}]}");
    let output = prune(folder.path(), "input", &[]);
    let expected = "error: could not use the declared inputs\n  applyConfigurationResources.exactResources[0].version: Required value: must be present\n  applyConfigurationResources.exactResources[0].name: Required value: must be present\nhint: see docs/reference/gather.md for the output of `input-resources`\n";
    assert_eq!((output.status.code(), stderr_text(&output).as_str()), (Some(1), expected));
    assert_eq!(run(&["gather", "prune", "--from", "x", "--to", "y"]).status.code(), Some(64));
}

/// Runs a script as an operator for its declared inputs. `HUSH` is a variable of the caller.
fn requested(root: &Path, script: &str, more: &[&str]) -> std::process::Output {
    write(root, "operator", &format!("#!/bin/sh\n[ \"$1\" = input-resources ] || exit 9\n{script}"));
    let path = root.join("operator");
    fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let _ = fs::remove_dir_all(root.join("input"));
    let mut command = switchboard(&["gather", "prune", "--operator", "./operator", "--from", "dump", "--to", "input"]);
    command.args(more).env("HUSH", "hush").current_dir(root).output().unwrap()
}

fn declares() -> String {
    format!("cat <<YAML\n{}YAML\n", INPUTS.replace('$', "\\$"))
}

#[test]
fn inputs_come_from_the_operator() {
    let folder = tempfile::tempdir().unwrap();
    dump(folder.path());
    for more in [&[][..], &["--no-sandbox"]] {
        let output = requested(folder.path(), &declares(), more);
        assert_eq!(output.status.code(), Some(0), "{}", stderr_text(&output));
        assert!(stderr_text(&output).contains("wrote 3 objects"), "{}", stderr_text(&output));
        let output = requested(folder.path(), "echo it is broken >&2\nexit 3\n", more);
        assert!(
            stderr_text(&output).contains("`input-resources` exited with 3\n  it is broken\n"),
            "{}",
            stderr_text(&output)
        );
    }
}

#[test]
fn operator_is_queried_in_its_sandbox() {
    let folder = tempfile::tempdir().unwrap();
    dump(folder.path());
    let curious = format!("[ -z \"$HUSH\" ] || exit 7\n[ -e '{}' ] && exit 8\n", folder.path().join("dump").display());
    let output = requested(folder.path(), &format!("{curious}{}", declares()), &[]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr_text(&output));
    let output = requested(folder.path(), &format!("[ -z \"$HUSH\" ] || exit 7\n{}", declares()), &["--no-sandbox"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr_text(&output));
}

/// A child process keeps the pipes open; it is not waited for.
#[test]
fn processes_left_behind_are_not_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    dump(folder.path());
    for more in [&[][..], &["--no-sandbox"]] {
        let begin = std::time::Instant::now();
        let output = requested(folder.path(), &format!("sleep 100 &\n{}", declares()), more);
        assert_eq!(output.status.code(), Some(0), "{}", stderr_text(&output));
        assert!(begin.elapsed() < std::time::Duration::from_secs(60));
    }
}

#[tokio::test]
async fn writes_to_a_dump_are_recorded_and_applied_elsewhere() {
    let folder = tempfile::tempdir().unwrap();
    dump(folder.path());
    let out = folder.path().join("out");
    let mut command = switchboard(&["serve", "dump", "--name-key", "both", "--record"]);
    command.arg(&out).current_dir(folder.path());
    let serving = ServerProcess::start(command);
    let maps: Api<ConfigMap> = Api::namespaced(serving.client(CONTEXT).await, "shop");
    let namespaces: Api<Namespace> = Api::all(serving.client(CONTEXT).await);
    let made = json!({"metadata": {"name": "made", "namespace": "shop"}, "data": {"a": "b"}});
    maps.create(&PostParams::default(), &serde_json::from_value(made).unwrap()).await.unwrap();
    let apply = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "web"}, "data": {"x": "y"}});
    maps.patch("web", &PatchParams::apply("me").force(), &Patch::Apply(&apply)).await.unwrap();
    maps.delete("other", &DeleteParams::default()).await.unwrap();
    // A dry run like `kubectl delete --dry-run=server` must not be recorded.
    maps.delete("web", &DeleteParams { dry_run: true, ..DeleteParams::default() }).await.unwrap();
    namespaces
        .patch(
            "shop",
            &PatchParams::apply("me"),
            &Patch::Apply(&json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}})),
        )
        .await
        .unwrap();
    let (code, talk) = serving.stop();
    assert_eq!(code, Some(0));
    assert!(talk.contains("recorded 4 mutations"), "{talk}");
    let made =
        fs::read_dir(out.join("Create/namespaces/shop/core/configmaps")).unwrap().map(|file| file.unwrap().path());
    let metadata =
        made.filter(|path| path.to_string_lossy().contains("-metadata-")).map(|path| fs::read_to_string(path).unwrap());
    assert!(metadata.into_iter().all(|text| text.contains("\nname: made\n") && text.contains("\nmame: made\n")));

    let cluster = ServerProcess::start(switchboard(&["up", "--ephemeral"]));
    let kubeconfig = cluster.kubeconfig.to_string_lossy().into_owned();
    let apply = |more: &[&str]| {
        let mut command = switchboard(&["gather", "apply", "--kubeconfig", &kubeconfig, "--from"]);
        command.arg(&out).args(more).output().unwrap()
    };
    let pretended = apply(&["--dry-run"]);
    assert_eq!(pretended.status.code(), Some(0), "{}", stderr_text(&pretended));
    let lines = String::from_utf8(pretended.stdout).unwrap();
    assert!(lines.starts_with("would be written\tapply namespaces/shop\n"), "{lines}");
    let carried = apply(&[]);
    assert_eq!(carried.status.code(), Some(0), "{}", stderr_text(&carried));
    let expected = "written\tapply namespaces/shop\nwritten\tcreate configmaps/shop/made\nwritten\tapply configmaps/shop/web\nunchanged\tdelete configmaps/shop/other\n";
    assert_eq!(String::from_utf8(carried.stdout).unwrap(), expected);
    let live: Api<ConfigMap> = Api::namespaced(cluster.client(CONTEXT).await, "shop");
    assert_eq!(live.get("made").await.unwrap().data.unwrap()["a"], "b");
    for flags in [&[][..], &["--dry-run"]] {
        let again = apply(flags);
        assert_eq!(again.status.code(), Some(0), "what is there already is done: {}", stderr_text(&again));
        // After an apply without changes, the server records the manager of all other fields on the next write.
        let lines = String::from_utf8(again.stdout).unwrap();
        let (_, rest) = expected.split_once('\n').unwrap();
        assert_eq!(lines.split_once('\n').unwrap().1, rest.replace("written", "unchanged"));
    }
    let other = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "made"}, "data": {"a": "c"}});
    live.patch("made", &PatchParams::apply("other-writer").force(), &Patch::Apply(&other)).await.unwrap();
    let again = apply(&[]);
    assert_eq!(again.status.code(), Some(1), "{}", stderr_text(&again));
    let printed = "error: could not create configmaps/shop/made\n  it exists already and differs at `.data.a`\nhint: ";
    assert!(stderr_text(&again).contains(printed), "{}", stderr_text(&again));
    assert_eq!(live.get("made").await.unwrap().data.unwrap()["a"], "c", "and stays what it is");
}

/// Output of a program that declares an object for two clusters.
#[tokio::test]
async fn writes_for_two_types_of_one_cluster_are_applied_once() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    for place in ["Configuration", "UserWorkload"] {
        let create = |name: &str, metadata: &str| {
            let file = |part: &str| {
                format!("out/{place}/Create/cluster-scoped-resources/core/namespaces/0001-{part}-{name}.yaml")
            };
            let kind = "kind: {group: \"\", version: v1, kind: Namespace}\nresourceType: {Group: \"\", Version: v1, Resource: namespaces}\n";
            write(folder.path(), &file("metadata"), &format!("action: Create\n{kind}{metadata}\n"));
            write(folder.path(), &file("body"), &format!("apiVersion: v1\nkind: Namespace\nmetadata:\n  {metadata}\n"));
        };
        create("shop", "name: shop");
        create("made-", "generateName: made-");
    }
    write(
        folder.path(),
        "out/controller-results.yaml",
        "controllerResults: [{controllerName: a, status: Succeeded}]\n",
    );
    let cluster = ServerProcess::start(switchboard(&["up", "--ephemeral"]));
    for first in ["written", "unchanged"] {
        let mut command = switchboard(&["gather", "apply", "--kubeconfig"]);
        let output = command.arg(&cluster.kubeconfig).arg("--from").arg(&out).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", stderr_text(&output));
        let lines = String::from_utf8(output.stdout.clone()).unwrap();
        assert_eq!(lines.lines().filter(|line| line.starts_with(first)).count(), 2, "{lines}");
        assert!(stderr_text(&output).contains("applied 2 of 2 mutations"), "{}", stderr_text(&output));
    }
    let namespaces: Api<Namespace> = Api::all(cluster.client(CONTEXT).await);
    let all = namespaces.list(&ListParams::default()).await.unwrap();
    assert_eq!(all.iter().filter(|one| one.name_any().starts_with("made-")).count(), 1);
}

#[test]
fn directory_without_results_is_not_applied() {
    let folder = tempfile::tempdir().unwrap();
    let apply = || {
        let mut command = switchboard(&["gather", "apply", "--kubeconfig", "none", "--from"]);
        let output = command.arg(folder.path()).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        stderr_text(&output)
    };
    assert!(apply().contains(" is not a mutation directory\nhint: pass the --output-dir "), "{}", apply());
    (0..30).for_each(|n| write(folder.path(), &format!("src/{n}.rs"), ""));
    assert!(apply().contains(" is not a mutation directory\nhint: pass the --output-dir "), "{}", apply());
    write(folder.path(), "controller-results.yaml", "controllerResults: []\n");
    let printed = apply();
    assert!(printed.contains("nothing was written") && printed.contains("\n  and 10 more"), "{printed}");
}

#[tokio::test]
async fn inputs_are_gathered_from_a_live_cluster() {
    let folder = tempfile::tempdir().unwrap();
    dump(folder.path());
    let cluster = ServerProcess::start(switchboard(&["up", "--ephemeral"]));
    let client = cluster.client(CONTEXT).await;
    let namespaces: Api<Namespace> = Api::all(client.clone());
    namespaces
        .create(&PostParams::default(), &serde_json::from_value(json!({"metadata": {"name": "shop"}})).unwrap())
        .await
        .unwrap();
    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), "shop");
    let web = json!({"metadata": {"name": "web", "labels": {"app": "web"}}, "data": {"secret": "cert"}});
    maps.create(&PostParams::default(), &serde_json::from_value(web).unwrap()).await.unwrap();
    let secrets: Api<Secret> = Api::namespaced(client, "shop");
    let cert = json!({"metadata": {"name": "cert"}, "stringData": {"key": "hush"}});
    secrets.create(&PostParams::default(), &serde_json::from_value(cert).unwrap()).await.unwrap();
    let mut command =
        switchboard(&["gather", "collect", "--input-resources", "inputs.yaml", "--to", "input", "--kubeconfig"]);
    let output = command.arg(&cluster.kubeconfig).current_dir(folder.path()).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr_text(&output));
    let text = |path: &str| fs::read_to_string(folder.path().join("input").join(path)).unwrap();
    assert!(text("namespaces/shop/core/secrets.yaml").contains("key: aHVzaA=="));
    assert!(text("namespaces/shop/core/configmaps.yaml").contains("kind: ConfigMap\n"));
    assert!(text("namespaces/shop/shop.yaml").contains("phase: Active"));
    assert!(text("aggregated-discovery-apis.yaml").contains("deployments"));
}

/// A request for a Secret without a name would list all Secrets with their values.
#[tokio::test]
async fn empty_name_in_a_list_collects_no_secrets() {
    let folder = tempfile::tempdir().unwrap();
    let inputs = "applyConfigurationResources:
  resourceReferences:
  - referringResource: {group: rbac.authorization.k8s.io, version: v1, resource: roles, namespace: shop, name: reader}
    type: ImplicitNamespacedReference
    implicitNamespacedReference: {group: '', version: v1, resource: secrets, namespace: shop, nameJSONPath: '$.rules[0].resourceNames'}
";
    write(folder.path(), "inputs.yaml", inputs);
    let cluster = ServerProcess::start(switchboard(&["up", "--ephemeral"]));
    let client = cluster.client(CONTEXT).await;
    let made = |path: &str, value: serde_json::Value| {
        let request = http::Request::post(path).header("Content-Type", "application/json");
        let (client, request) = (client.clone(), request.body(value.to_string().into_bytes()).unwrap());
        async move { client.request::<serde_json::Value>(request).await.unwrap() }
    };
    made("/api/v1/namespaces", json!({"metadata": {"name": "shop"}})).await;
    for name in ["tok", "other"] {
        let secret = json!({"metadata": {"name": name}, "stringData": {"key": "hush"}});
        made("/api/v1/namespaces/shop/secrets", secret).await;
    }
    let rule = json!({"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"], "resourceNames": ["", "tok"]});
    let role = json!({"metadata": {"name": "reader"}, "rules": [rule]});
    made("/apis/rbac.authorization.k8s.io/v1/namespaces/shop/roles", role).await;
    let mut command =
        switchboard(&["gather", "collect", "--input-resources", "inputs.yaml", "--to", "input", "--redact"]);
    let output = command.arg("--kubeconfig").arg(&cluster.kubeconfig).current_dir(folder.path()).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr_text(&output));
    assert!(stderr_text(&output).contains("wrote 2 objects to 4 files"), "{}", stderr_text(&output));
    let secrets = fs::read_to_string(folder.path().join("input/namespaces/shop/core/secrets.yaml")).unwrap();
    assert!(secrets.contains("name: tok") && !secrets.contains("name: other"), "{secrets}");
    assert!(secrets.contains("key: cmVkYWN0ZWQ=") && !secrets.contains("aHVzaA=="), "{secrets}");
}
