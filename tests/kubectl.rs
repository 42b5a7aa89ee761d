//! kubectl behaves on the embedded server as on kube-apiserver.
//!
//! `SWITCHBOARD_CLIENT_KUBECONFIG` runs the same tests against another server, for example kube-apiserver.
#![allow(clippy::unwrap_used)]

use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::time::{Duration, Instant};

use switchboard_suite::embedded::SharedServer;
use switchboard_suite::tool::CliTool;

const TIMEOUT: Duration = Duration::from_secs(30);

const DEPLOYMENT: &str = "
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {app: web}}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - {name: c, image: 'nginx:1.27', ports: [{containerPort: 80}]}
";

const WIDGETS: &str = "
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.kubectl.example.com}
spec:
  group: kubectl.example.com
  scope: Namespaced
  names: {plural: widgets, singular: widget, kind: Widget, shortNames: [wd], categories: [all]}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    additionalPrinterColumns:
    - {name: Size, type: integer, jsonPath: .spec.size}
    schema:
      openAPIV3Schema:
        type: object
        description: A widget turns.
        properties:
          spec:
            type: object
            properties:
              size: {type: integer, description: How big it is., minimum: 1}
          status: {type: object, x-kubernetes-preserve-unknown-fields: true}
";

/// Returns kubectl with a namespace of its own.
fn kubectl(namespace: &str) -> (SharedServer, CliTool) {
    let served = SharedServer::start();
    let tool = CliTool::new("kubectl", served.kubeconfig(), namespace);
    tool.ok(&["create", "namespace", namespace]);
    (served, tool)
}

fn config_map(data: &str) -> String {
    format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: a}}\ndata: {data}\n")
}

#[track_caller]
fn contains(text: &str, part: &str) {
    assert!(text.contains(part), "{part:?} is not in:\n{text}");
}

#[track_caller]
fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let end = Instant::now() + TIMEOUT;
    while !holds() {
        assert!(Instant::now() < end, "in vain: {what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn apply_client_side_creates_changes_and_removes() {
    let (_server, k) = kubectl("kubectl-apply");
    let apply = ["apply", "-f", "-"];
    assert_eq!(k.ok_with(&apply, &config_map("{k: v, l: w}")), "configmap/a created\n");
    assert_eq!(k.ok_with(&apply, &config_map("{k: v, l: w}")), "configmap/a unchanged\n");
    assert_eq!(k.ok_with(&apply, &config_map("{k: x}")), "configmap/a configured\n");
    assert_eq!(k.ok(&["get", "configmap", "a", "-o", "jsonpath={.data}"]), r#"{"k":"x"}"#);
    assert_eq!(k.ok_with(&apply, DEPLOYMENT), "deployment.apps/web created\n");
    assert_eq!(k.ok_with(&apply, DEPLOYMENT), "deployment.apps/web unchanged\n");
    let bad = k.run_with_input(&apply, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\nnonsense: 1\n");
    assert_ne!(bad.code, 0);
    contains(&bad.err, r#"unknown field "nonsense""#);
    contains(&k.ok(&["apply", "view-last-applied", "configmap/a"]), "k: x");
}

#[test]
fn apply_server_side_reports_conflicts_and_forces() {
    let (_server, k) = kubectl("kubectl-ssa");
    let one = ["apply", "--server-side", "--field-manager=one", "-f", "-"];
    let two = ["apply", "--server-side", "--field-manager=two", "-f", "-"];
    assert_eq!(k.ok_with(&one, &config_map("{k: v}")), "configmap/a serverside-applied\n");
    let conflict = k.run_with_input(&two, &config_map("{k: w}"));
    assert_ne!(conflict.code, 0);
    contains(&conflict.err, "Apply failed with 1 conflict: conflict with \"one\": .data.k");
    k.ok_with(
        &["apply", "--server-side", "--field-manager=two", "--force-conflicts", "-f", "-"],
        &config_map("{k: w}"),
    );
    assert_eq!(k.ok(&["get", "configmap", "a", "-o", "jsonpath={.data.k}"]), "w");
    // Migrates ownership from client-side to server-side apply, like kubectl.
    k.ok_with(&["apply", "-f", "-"], DEPLOYMENT);
    assert_eq!(
        k.ok_with(&["apply", "--server-side", "-f", "-"], DEPLOYMENT),
        "deployment.apps/web serverside-applied\n"
    );
    k.ok_with(&["apply", "--server-side", "-f", "-"], &DEPLOYMENT.replace("1.27", "1.28"));
}

#[test]
fn diff_tells_what_an_apply_would_change() {
    let (_server, k) = kubectl("kubectl-diff");
    k.ok_with(&["apply", "-f", "-"], &config_map("{k: v}"));
    assert_eq!(k.run_with_input(&["diff", "-f", "-"], &config_map("{k: v}")).code, 0);
    let changed = k.run_with_input(&["diff", "-f", "-"], &config_map("{k: w}"));
    assert_eq!(changed.code, 1, "{}", changed.err);
    contains(&changed.out, "-  k: v");
    contains(&changed.out, "+  k: w");
    assert_eq!(k.run_with_input(&["diff", "--server-side", "-f", "-"], DEPLOYMENT).code, 1);
}

#[test]
fn patch_scale_label_and_set() {
    let (_server, k) = kubectl("kubectl-patch");
    k.ok_with(&["apply", "-f", "-"], DEPLOYMENT);
    let image = "jsonpath={.spec.template.spec.containers[0].image}";
    let strategic = r#"{"spec":{"template":{"spec":{"containers":[{"name":"c","image":"b"}]}}}}"#;
    assert_eq!(k.ok(&["patch", "deployment", "web", "-p", strategic]), "deployment.apps/web patched\n");
    assert_eq!(k.ok(&["get", "deployment", "web", "-o", image]), "b");
    k.ok(&[
        "patch",
        "deployment",
        "web",
        "--type=json",
        "-p",
        r#"[{"op":"replace","path":"/spec/replicas","value":4}]"#,
    ]);
    k.ok(&["patch", "deployment", "web", "--type=merge", "-p", r#"{"metadata":{"annotations":{"x":"y"}}}"#]);
    assert_eq!(k.ok(&["scale", "deployment", "web", "--replicas=7"]), "deployment.apps/web scaled\n");
    assert_eq!(k.ok(&["get", "deployment", "web", "-o", "jsonpath={.spec.replicas}"]), "7");
    assert_ne!(k.run(&["scale", "deployment", "web", "--current-replicas=1", "--replicas=2"]).code, 0);
    assert_eq!(k.ok(&["label", "deployment", "web", "tier=front"]), "deployment.apps/web labeled\n");
    assert_eq!(k.ok(&["annotate", "deployment", "web", "note=hello"]), "deployment.apps/web annotated\n");
    assert_eq!(k.ok(&["set", "image", "deployment/web", "c=d"]), "deployment.apps/web image updated\n");
    assert_eq!(k.ok(&["get", "deployment", "-l", "tier=front", "-o", "name"]), "deployment.apps/web\n");
    contains(&k.ok(&["rollout", "history", "deployment/web"]), "deployment.apps/web");
    assert_eq!(k.ok(&["rollout", "restart", "deployment/web"]), "deployment.apps/web restarted\n");
}

#[test]
fn wait_sees_conditions_values_and_deletion() {
    let (_server, k) = kubectl("kubectl-wait");
    k.ok_with(&["apply", "-f", "-"], DEPLOYMENT);
    let mut waiting = k.command(&["wait", "deployment/web", "--for=condition=Available", "--timeout=30s"]);
    let waiting = waiting.stdout(Stdio::piped()).spawn().unwrap();
    let available = r#"{"status":{"conditions":[{"type":"Available","status":"True"}]}}"#;
    k.ok(&["patch", "deployment", "web", "--subresource=status", "--type=merge", "-p", available]);
    let output = waiting.wait_with_output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "deployment.apps/web condition met\n");
    k.ok(&["wait", "deployment/web", "--for=jsonpath={.spec.replicas}=2", "--timeout=30s"]);
    assert_ne!(k.run(&["wait", "deployment/web", "--for=condition=Progressing", "--timeout=1s"]).code, 0);
    let waiting = k.command(&["wait", "deployment/web", "--for=delete", "--timeout=30s"]).spawn().unwrap();
    k.ok(&["delete", "deployment", "web"]);
    assert!(waiting.wait_with_output().unwrap().status.success());
}

#[test]
fn explain_knows_built_in_and_custom_kinds() {
    let (_server, k) = kubectl("kubectl-explain");
    let pods = k.ok(&["explain", "pods.spec.containers"]);
    contains(&pods, "KIND:       Pod");
    contains(&pods, "image\t<string>");
    contains(&pods, "Container image name.");
    contains(&k.ok(&["explain", "configmap"]), "ConfigMap holds configuration data for pods to consume.");
    contains(&k.ok(&["explain", "deployment", "--recursive"]), "matchLabels\t<map[string]string>");
    k.ok_with(&["apply", "-f", "-"], &WIDGETS.replace("widget", "gadget").replace("Widget", "Gadget"));
    k.ok(&["wait", "crd/gadgets.kubectl.example.com", "--for=condition=Established", "--timeout=30s"]);
    eventually("the gadgets are explained", || {
        let explained = k.run(&["explain", "gadgets.spec"]);
        explained.code == 0 && explained.out.contains("How big it is.")
    });
    contains(&k.ok(&["explain", "gadgets"]), "A gadget turns.");
}

#[test]
fn custom_resources_behave_like_built_in_ones() {
    let (_server, k) = kubectl("kubectl-crd");
    let widgets = WIDGETS.replace("kubectl.example.com", "crd.kubectl.example.com");
    k.ok_with(&["apply", "-f", "-"], &widgets);
    k.ok(&["wait", "crd/widgets.crd.kubectl.example.com", "--for=condition=Established", "--timeout=30s"]);
    let widget = "apiVersion: crd.kubectl.example.com/v1\nkind: Widget\nmetadata: {name: w}\nspec: {size: 3}\n";
    eventually("a widget is applied", || k.run_with_input(&["apply", "-f", "-"], widget).code == 0);
    contains(&k.ok(&["get", "widgets.crd.kubectl.example.com"]), "NAME   SIZE\nw      3\n");
    let bad = k.run_with_input(&["apply", "-f", "-"], &widget.replace('3', "0"));
    contains(&bad.err, "spec.size: Invalid value: 0: spec.size in body should be greater than or equal to 1");
    contains(&k.ok(&["describe", "widgets.crd.kubectl.example.com", "w"]), "Size:  3");
    k.ok(&[
        "patch",
        "widgets.crd.kubectl.example.com",
        "w",
        "--subresource=status",
        "--type=merge",
        "-p",
        r#"{"status":{"up":true}}"#,
    ]);
    contains(&k.ok(&["api-resources", "--api-group=crd.kubectl.example.com"]), "wd");
    k.ok(&["delete", "crd", "widgets.crd.kubectl.example.com"]);
    eventually("the widgets are gone", || k.run(&["get", "widgets.crd.kubectl.example.com"]).code != 0);
}

#[test]
fn rights_are_asked_and_tokens_made() {
    let (_server, k) = kubectl("kubectl-auth");
    assert_eq!(k.ok(&["auth", "can-i", "delete", "nodes"]), "yes\n");
    let no = k.run(&["auth", "can-i", "get", "configmaps", "--as=jane"]);
    assert_eq!((no.code, no.out.as_str()), (1, "no\n"));
    k.ok(&["create", "role", "reader", "--verb=get,list", "--resource=configmaps"]);
    k.ok(&["create", "rolebinding", "reader", "--role=reader", "--user=jane", "--serviceaccount=kubectl-auth:robot"]);
    eventually("jane may read", || k.run(&["auth", "can-i", "get", "configmaps", "--as=jane"]).out == "yes\n");
    contains(&k.ok(&["auth", "can-i", "--list", "--as=jane"]), "configmaps");
    k.ok(&["create", "serviceaccount", "robot"]);
    let token = k.ok(&["create", "token", "robot", "--duration=10m"]);
    let token = token.trim();
    assert_eq!(token.split('.').count(), 3);
    let review = review_file(token);
    let path = review.path().to_string_lossy();
    let who = k.ok(&["create", "--raw", "/apis/authentication.k8s.io/v1/tokenreviews", "-f", &path]);
    contains(&who, "system:serviceaccount:kubectl-auth:robot");
    contains(&k.ok(&["auth", "whoami", "--as=jane", "--as-group=team"]), "jane");
}

fn review_file(token: &str) -> tempfile::NamedTempFile {
    let file = tempfile::NamedTempFile::new().unwrap();
    let review =
        format!(r#"{{"apiVersion":"authentication.k8s.io/v1","kind":"TokenReview","spec":{{"token":"{token}"}}}}"#);
    std::fs::write(file.path(), review).unwrap();
    file
}

#[test]
fn get_watch_prints_changes_as_they_come() {
    let (_server, k) = kubectl("kubectl-watch");
    k.ok(&["create", "configmap", "first", "--from-literal=a=b"]);
    let mut command = k.command(&["get", "configmaps", "-w", "--output-watch-events", "--no-headers"]);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    let mut seen = Vec::new();
    while !seen.iter().any(|line: &String| line.contains("first")) {
        seen.push(lines.next().unwrap());
    }
    k.ok(&["create", "configmap", "second"]);
    k.ok(&["delete", "configmap", "first"]);
    let rest: Vec<String> = lines.by_ref().filter(|line| !line.contains("kube-root-ca.crt")).take(2).collect();
    child.kill().unwrap();
    child.wait().unwrap();
    let tidy: Vec<Vec<&str>> = rest.iter().map(|line| line.split_whitespace().take(3).collect()).collect();
    assert_eq!(tidy, [["ADDED", "second", "0"], ["DELETED", "first", "1"]]);
}

#[test]
fn delete_cascades_in_background_foreground_or_not() {
    let (_server, k) = kubectl("kubectl-delete");
    for (cascade, survives) in [("background", false), ("foreground", false), ("orphan", true)] {
        k.ok(&["create", "configmap", "owner"]);
        let uid = k.ok(&["get", "configmap", "owner", "-o", "jsonpath={.metadata.uid}"]);
        let child = format!(
            "apiVersion: v1\nkind: Secret\nmetadata:\n  name: child\n  ownerReferences:\n  - {{apiVersion: v1, kind: ConfigMap, name: owner, uid: {uid}}}\n"
        );
        k.ok_with(&["create", "-f", "-"], &child);
        // The garbage collector of kube-apiserver must have observed the child before the owner is deleted.
        eventually("the child is seen", || k.run(&["get", "secret", "child"]).code == 0);
        let flag = format!("--cascade={cascade}");
        assert_eq!(
            k.ok(&["delete", "configmap", "owner", &flag, "--timeout=30s"]),
            "configmap \"owner\" deleted from kubectl-delete namespace\n"
        );
        if survives {
            let owners = k.ok(&["get", "secret", "child", "-o", "jsonpath={.metadata.ownerReferences}"]);
            assert_eq!(owners, "");
        } else {
            eventually("the child is gone", || k.run(&["get", "secret", "child"]).code != 0);
        }
    }
    k.ok(&["delete", "secret", "--all"]);
    k.ok(&["delete", "configmap", "none", "--ignore-not-found"]);
    k.ok(&["delete", "namespace", "kubectl-delete", "--timeout=60s"]);
}

#[test]
fn get_prints_every_form() {
    let (_server, k) = kubectl("kubectl-get");
    k.ok(&["create", "deployment", "web", "--image=nginx"]);
    k.ok(&["create", "service", "clusterip", "web", "--tcp=80:8080"]);
    k.ok(&["create", "secret", "generic", "s", "--from-literal=a=b"]);
    contains(&k.ok(&["get", "deployments"]), "NAME   READY   UP-TO-DATE   AVAILABLE   AGE");
    contains(&k.ok(&["get", "deployments", "-o", "wide"]), "CONTAINERS   IMAGES   SELECTOR");
    contains(&k.ok(&["get", "service", "web"]), "ClusterIP");
    contains(&k.ok(&["get", "all"]), "service/web");
    contains(&k.ok(&["get", "secret", "s", "-o", "yaml"]), "a: Yg==");
    contains(&k.ok(&["get", "secret", "s", "-o", "json"]), r#""a": "Yg==""#);
    contains(&k.ok(&["get", "deployment", "web", "-o", "custom-columns=N:.metadata.name"]), "N\nweb\n");
    contains(&k.ok(&["get", "namespaces", "--show-labels"]), "kubernetes.io/metadata.name=kubectl-get");
    contains(&k.ok(&["describe", "deployment", "web"]), "Replicas:");
    contains(&k.ok(&["describe", "service", "web"]), "TargetPort:");
    contains(&k.ok(&["api-resources"]), "deployments");
    contains(&k.ok(&["api-versions"]), "apps/v1");
    contains(&k.ok(&["version"]), "Server Version: v1.36");
    contains(&k.ok(&["cluster-info"]), "is running at");
    contains(&k.ok(&["get", "--raw", "/readyz"]), "ok");
    assert_eq!(k.ok(&["get", "configmap", "none", "--ignore-not-found"]), "");
    contains(&k.run(&["get", "configmap", "none"]).err, "Error from server (NotFound): configmaps \"none\" not found");
    contains(&k.run(&["get", "nonsense"]).err, "the server doesn't have a resource type \"nonsense\"");
    let paged = k.ok(&["get", "clusterroles", "--chunk-size=5", "-o", "name"]);
    contains(&paged, "clusterrole.rbac.authorization.k8s.io/cluster-admin");
}

#[test]
fn replace_create_and_dry_run() {
    let (_server, k) = kubectl("kubectl-replace");
    let made = k.run_with_input(&["create", "-f", "-", "--dry-run=server"], &config_map("{k: v}"));
    assert_eq!(made.out, "configmap/a created (server dry run)\n");
    assert_ne!(k.run(&["get", "configmap", "a"]).code, 0);
    k.ok_with(&["create", "-f", "-"], &config_map("{k: v}"));
    contains(&k.run_with_input(&["create", "-f", "-"], &config_map("{k: v}")).err, "AlreadyExists");
    assert_eq!(k.ok_with(&["replace", "-f", "-"], &config_map("{k: w}")), "configmap/a replaced\n");
    assert_eq!(k.ok(&["get", "configmap", "a", "-o", "jsonpath={.data.k}"]), "w");
    k.ok(&["run", "p", "--image=nginx"]);
    contains(&k.ok(&["get", "pods"]), "Pending");
    k.ok(&["create", "job", "j", "--image=busybox"]);
    k.ok(&["create", "cronjob", "cj", "--image=busybox", "--schedule=*/5 * * * *"]);
    k.ok(&["create", "ingress", "i", "--rule=a.example.com/*=web:80"]);
    k.ok(&["create", "quota", "q", "--hard=pods=10"]);
    k.ok(&["create", "poddisruptionbudget", "b", "--selector=app=web", "--min-available=1"]);
    k.ok(&["expose", "pod", "p", "--port=80"]);
    contains(&k.ok(&["events"]), "");
    k.ok(&["delete", "pod", "p", "--now"]);
}
