//! Helm installs, upgrades, rolls back and uninstalls a chart on the embedded server.
#![allow(clippy::unwrap_used)]

use switchboard_suite::embedded::SharedServer;
use switchboard_suite::tool::CliTool;

const CHART: &str = "tests/charts/shop";

#[test]
fn a_release_lives_through_install_upgrade_rollback_and_uninstall() {
    let served = SharedServer::start();
    let kubectl = CliTool::new("kubectl", served.kubeconfig(), "helm-shop");
    let helm = CliTool::new("helm", served.kubeconfig(), "helm-shop");
    let greeting = || kubectl.ok(&["get", "configmap", "shop-config", "-o", "jsonpath={.data.greeting} {.data.apps}"]);

    let installed = helm.ok(&["install", "shop", CHART, "--create-namespace"]);
    assert!(installed.contains("STATUS: deployed"), "{installed}");
    assert_eq!(greeting(), "hello yes");
    assert_ne!(helm.run(&["install", "shop", CHART]).code, 0, "the name is taken");

    helm.ok(&["upgrade", "shop", CHART, "--set", "greeting=bye,replicas=3"]);
    assert_eq!(greeting(), "bye yes");
    assert_eq!(kubectl.ok(&["get", "deployment", "shop", "-o", "jsonpath={.spec.replicas}"]), "3");
    let kept = kubectl.ok(&["get", "secret", "shop-hook", "-o", "jsonpath={.data.revision}"]);
    assert_eq!(kept, "Mg==", "the hook ran again for revision 2");

    let failed = helm.run(&["upgrade", "shop", CHART, "--set", "service.port=70000"]);
    assert_ne!(failed.code, 0, "a port out of range is refused");

    helm.ok(&["rollback", "shop", "1"]);
    assert_eq!(greeting(), "hello yes");
    let history = helm.ok(&["history", "shop"]);
    assert!(history.contains("Rollback to 1"), "{history}");
    let listed = helm.ok(&["list"]);
    assert!(listed.contains("shop-0.1.0"), "{listed}");
    assert!(helm.ok(&["get", "manifest", "shop"]).contains("kind: Deployment"));
    assert!(helm.ok(&["status", "shop"]).contains("STATUS: deployed"));

    // The three-way merge reverts changes by other clients.
    kubectl.ok(&[
        "patch",
        "configmap",
        "shop-config",
        "--type=merge",
        "-p",
        r#"{"data":{"greeting":"drift","own":"1"}}"#,
    ]);
    helm.ok(&["upgrade", "shop", CHART]);
    assert_eq!(greeting(), "hello yes");
    assert_eq!(kubectl.ok(&["get", "configmap", "shop-config", "-o", "jsonpath={.data.own}"]), "1");

    helm.ok(&["uninstall", "shop", "--wait"]);
    assert_ne!(kubectl.run(&["get", "deployment", "shop"]).code, 0);
    assert_eq!(helm.ok(&["list", "-q"]), "");
}
