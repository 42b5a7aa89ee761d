//! Tests of Switchboard's own chart: installed by Helm on kube-apiserver, and used with exactly the rights that it
//! grants.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use switchboard_object::yaml;
use switchboard_suite::embedded::SharedServer;
use switchboard_suite::process;
use switchboard_suite::real::RealCluster;
use switchboard_suite::tool::CliTool;

const CHART: &str = "deploy/chart";
const NAMESPACE: &str = "chart-of-switchboard";
const ACCOUNT: &str = "sb-switchboard";
/// Timeout of a step.
const TIMEOUT: Duration = Duration::from_secs(60);

struct KernelProcess(Child);

impl Drop for KernelProcess {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Writes a kubeconfig of the service account only.
fn account_kubeconfig(kubectl: &CliTool, file: &Path) {
    let view: Value =
        serde_json::from_str(&kubectl.ok(&["config", "view", "--raw", "--minify", "-o", "json"])).unwrap();
    let token = kubectl.ok(&["create", "token", ACCOUNT]);
    let own = serde_json::json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "own",
        "clusters": [{"name": "real", "cluster": view["clusters"][0]["cluster"]}],
        "users": [{"name": "account", "user": {"token": token.trim()}}],
        "contexts": [{"name": "own", "context": {"cluster": "real", "user": "account"}}],
    });
    fs::write(file, own.to_string()).unwrap();
}

fn switchboard(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(process::binary().unwrap());
    command.args(arguments).current_dir(folder).env_remove("KUBECONFIG").env("HOME", folder);
    command
}

/// Starts the kernel, and returns it with the addresses of its metrics and, if enabled, of its console.
fn run(folder: &Path) -> (KernelProcess, String, String) {
    let line = ["run", "--config", "switchboard.yaml", "--state-dir", "state", "--kubeconfig", "account.kubeconfig"];
    let mut child = switchboard(folder, &line).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
    let kernel = KernelProcess(child);
    let (mut address, mut hosting) = (String::new(), false);
    let wanted = fs::read_to_string(folder.join("switchboard.yaml")).unwrap().contains("hosts:");
    for line in lines.by_ref() {
        if let Some(rest) = line.strip_prefix("metrics at http://") {
            address = rest.trim_end_matches("/metrics").to_string();
        }
        hosting |= line.starts_with("running greeter");
        let console = line.strip_prefix("console at http://").and_then(|rest| rest.split('/').next());
        if hosting && (!wanted || console.is_some()) {
            let console = console.unwrap_or_default().to_string();
            std::thread::spawn(move || lines.for_each(drop));
            return (kernel, address, console);
        }
    }
    panic!("the kernel did not start");
}

/// Requests a health endpoint until it succeeds.
fn until_probe_succeeds(address: &str, path: &str) {
    let end = Instant::now() + TIMEOUT;
    loop {
        let mut stream = TcpStream::connect(address).unwrap();
        write!(stream, "GET {path} HTTP/1.1\r\nHost: kernel\r\nConnection: close\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        if answer.starts_with("HTTP/1.1 200") {
            return;
        }
        assert!(Instant::now() < end, "{path}: {answer}");
        std::thread::sleep(Duration::from_millis(100));
    }
}

#[test]
fn the_chart_gives_what_its_operators_need_and_nothing_else() {
    let real = RealCluster::start().unwrap();
    let kubectl = CliTool::new("kubectl", &real.kubeconfig(), NAMESPACE);
    let helm = CliTool::new("helm4", &real.kubeconfig(), NAMESPACE);
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let installed = helm.ok(&["install", "sb", CHART, "--create-namespace"]);
    assert!(installed.contains("STATUS: deployed") && installed.contains("Switchboard runs greeter."), "{installed}");
    kubectl.ok(&["get", "deployment,service,serviceaccount,pdb,networkpolicy", ACCOUNT]);

    account_kubeconfig(&kubectl, &folder.join("account.kubeconfig"));
    let config = kubectl.ok(&["get", "configmap", ACCOUNT, "-o", r"jsonpath={.data.switchboard\.yaml}"]);
    assert!(config.contains("listen: 0.0.0.0:9090"), "{config}");
    fs::write(folder.join("switchboard.yaml"), config.replace("0.0.0.0:9090", "127.0.0.1:0")).unwrap();

    let user = format!("system:serviceaccount:{NAMESPACE}:{ACCOUNT}");
    let may = |verb: &str, kind: &str| kubectl.run(&["auth", "can-i", verb, kind, "--as", &user]).code == 0;
    assert!(may("create", "configmaps") && may("watch", "configmaps") && may("create", "events"));
    for (verb, kind) in
        [("get", "secrets"), ("delete", "configmaps"), ("create", "pods"), ("impersonate", "serviceaccounts")]
    {
        assert!(!may(verb, kind), "the chart lets Switchboard {verb} {kind}, which no operator of it needs");
    }
    let doctor = || {
        let line =
            ["doctor", "--config", "switchboard.yaml", "--state-dir", "state", "--kubeconfig", "account.kubeconfig"];
        let output = switchboard(folder, &line).output().unwrap();
        (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let (code, report) = doctor();
    assert_eq!(code, Some(0), "{report}");

    let (kernel, address, _) = run(folder);
    let labelled = "greeter.example.com/greet=yes";
    kubectl.ok(&["create", "configmap", "ada", "--from-literal=name=Ada"]);
    kubectl.ok(&["label", "configmap", "ada", labelled]);
    kubectl.ok(&["create", "configmap", "greeting", "--from-literal=words=Good day"]);
    kubectl.ok(&["wait", "--for=create", "configmap/ada-greeting", "--timeout=60s"]);
    assert_eq!(kubectl.ok(&["get", "configmap", "ada-greeting", "-o", "jsonpath={.data.text}"]), "Good day, Ada!");
    until_probe_succeeds(&address, "/healthz");
    until_probe_succeeds(&address, "/readyz");
    drop(kernel);

    helm.ok(&["uninstall", "sb"]);
    for kind in ["clusterrole", "clusterrolebinding"] {
        assert_ne!(kubectl.run(&["get", kind, &format!("{NAMESPACE}-{ACCOUNT}")]).code, 0, "{kind} stays behind");
    }
    assert_ne!(kubectl.run(&["get", "serviceaccount", ACCOUNT]).code, 0);
    assert_eq!(doctor().0, Some(1), "without the account nothing works any more");
}

/// Values with an operator that has its own service account, with plugs, and with a console.
const WITH_ACCOUNTS: &str = "
config:
  operators:
    greeter: {serviceAccount: chart-with-accounts/greeter}
    plugs: {}
rbac:
  anyAccount: false
  impersonate: {chart-with-accounts: [greeter, default]}
console: {enabled: true}
";

const PLUG_AND_SOCKET: &str = r#"
apiVersion: integration.rock8s.com/v1beta1
kind: Socket
metadata: {name: db}
spec: {interface: {}}
---
apiVersion: integration.rock8s.com/v1beta1
kind: Plug
metadata: {name: web}
spec:
  socket: {name: db}
  resources:
    - template: {apiVersion: v1, kind: ConfigMap, metadata: {name: made}, data: {by: plug}}
"#;

/// Returns the HTTP status of a console response.
fn console_status(address: &str, token: Option<&str>) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    let token = token.map(|token| format!("Authorization: Bearer {token}\r\n")).unwrap_or_default();
    write!(stream, "GET /api/v1/state HTTP/1.0\r\nHost: {address}\r\n{token}\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer.lines().next().unwrap_or_default().to_string()
}

#[test]
fn the_charts_account_writes_as_the_accounts_it_was_given_and_reviews_tokens() {
    let real = RealCluster::start().unwrap();
    let namespace = "chart-with-accounts";
    let kubectl = CliTool::new("kubectl", &real.kubeconfig(), namespace);
    let helm = CliTool::new("helm4", &real.kubeconfig(), namespace);
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::write(folder.join("values.yaml"), WITH_ACCOUNTS).unwrap();
    let values = folder.join("values.yaml").display().to_string();
    helm.ok(&["install", "sb", CHART, "--create-namespace", "-f", &values]);
    account_kubeconfig(&kubectl, &folder.join("account.kubeconfig"));
    let config = kubectl.ok(&["get", "configmap", ACCOUNT, "-o", r"jsonpath={.data.switchboard\.yaml}"]);
    let config = config.replace("0.0.0.0:9090", "127.0.0.1:0").replace("0.0.0.0:7467", "0.0.0.0:0");
    fs::write(folder.join("switchboard.yaml"), config).unwrap();

    // Groups of a service account are implied, so the right to impersonate groups is neither needed nor granted.
    let user = format!("system:serviceaccount:{namespace}:{ACCOUNT}");
    let may = |verb: &str, kind: &str| kubectl.run(&["auth", "can-i", verb, kind, "--as", &user]).code == 0;
    assert!(may("impersonate", "serviceaccounts/greeter") && may("create", "tokenreviews.authentication.k8s.io"));
    for (verb, kind) in [("impersonate", "serviceaccounts/other"), ("impersonate", "groups"), ("impersonate", "users")]
    {
        assert!(!may(verb, kind), "the chart lets Switchboard {verb} {kind}");
    }
    let doctor = || {
        let line =
            ["doctor", "--config", "switchboard.yaml", "--state-dir", "state", "--kubeconfig", "account.kubeconfig"];
        String::from_utf8_lossy(&switchboard(folder, &line).output().unwrap().stdout).into_owned()
    };
    kubectl.ok(&["create", "serviceaccount", "greeter"]);
    let told = doctor();
    assert!(told.contains(&format!("as system:serviceaccount:{namespace}:greeter")), "it may nothing yet: {told}");
    let writes = ["--verb=get,create,patch,update,delete", "--resource=configmaps"];
    kubectl.ok(&[&["create", "clusterrole", "writes-maps"], &writes[..]].concat());
    for account in ["greeter", "default"] {
        let subject = format!("--serviceaccount={namespace}:{account}");
        kubectl.ok(&["create", "clusterrolebinding", account, "--clusterrole=writes-maps", &subject]);
    }
    let report = doctor();
    let greeter = report.lines().find(|line| line.contains("operator greeter")).unwrap_or_default();
    assert!(greeter.starts_with("ok "), "{report}");

    let (kernel, _, console) = run(folder);
    kubectl.ok(&["create", "configmap", "ada", "--from-literal=name=Ada"]);
    kubectl.ok(&["label", "configmap", "ada", "greeter.example.com/greet=yes"]);
    kubectl.ok(&["create", "configmap", "greeting", "--from-literal=words=Good day"]);
    kubectl.ok(&["wait", "--for=create", "configmap/ada-greeting", "--timeout=60s"]);
    let fed = kubectl.run_with_input(&["apply", "-f", "-"], PLUG_AND_SOCKET);
    assert_eq!(fed.code, 0, "{}", fed.err);
    kubectl.ok(&["wait", "--for=create", "configmap/made", "--timeout=60s"]);

    assert!(console_status(&console, None).contains(" 401 "));
    kubectl.ok(&["create", "serviceaccount", "reader"]);
    let token = kubectl.ok(&["create", "token", "reader"]);
    assert!(console_status(&console, Some(token.trim())).contains(" 403 "), "a token without the right is not enough");
    let role = "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: reads-console}, rules: [{apiGroups: [switchboard.dev], resources: [console], verbs: [get]}]}";
    assert_eq!(kubectl.run_with_input(&["apply", "-f", "-"], role).code, 0);
    let subject = format!("--serviceaccount={namespace}:reader");
    kubectl.ok(&["create", "clusterrolebinding", "reader", "--clusterrole=reads-console", &subject]);
    let end = Instant::now() + TIMEOUT;
    while !console_status(&console, Some(token.trim())).contains(" 200 ") {
        assert!(Instant::now() < end, "{}", console_status(&console, Some(token.trim())));
        std::thread::sleep(Duration::from_millis(200));
    }
    drop(kernel);
    helm.ok(&["uninstall", "sb"]);
}

#[test]
fn our_own_rendering_of_it_is_helms() {
    // Rendering needs no cluster.
    let helm = CliTool::new("helm4", Path::new("nowhere"), NAMESPACE);
    for values in [
        &["--set", "state.persistent=true"][..],
        &["--set", "config.operators.plugs.enabled=true,database.existingSecret=db"],
        &[
            "--set",
            "console.enabled=true,console.hosts[0]=c.example.org,networkPolicy.consoleFrom[0].podSelector.matchLabels.a=b",
        ],
        &[
            "--set",
            "config.gitops.agent=true,config.operators.engine.enabled=true,config.integrations.tokenNamespace=t",
        ],
        &[
            "--set",
            "config.gitops.agent=true,database.existingSecret=db,database.keysKey=keys,webhook.existingSecret=hook",
        ],
        // Not used in this test.
        &["--set", "webhook.existingSecret=hook"],
    ] {
        let line = [&["template", "sb", CHART, "--kube-version", "1.37"], values].concat();
        let output = switchboard(Path::new(env!("CARGO_MANIFEST_DIR")), &[&line[..], &["-n", NAMESPACE]].concat())
            .output()
            .unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stdout), helm.ok(&line));
    }
}

/// Values of a GitOps Service with all its Secrets.
const WITH_SECRETS: &str = "
config: {operators: {}, gitops: {namespace: argocd}}
database: {existingSecret: db, keysKey: keys}
webhook: {existingSecret: hook, key: token}
";

/// Returns the content of a Secret as the kubelet would provide it.
fn secret(name: &str, key: &str) -> &'static str {
    match (name, key) {
        ("db", "url") => "sqlite:there.db",
        ("db", "keys") => "key1:AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=\n",
        ("hook", "token") => "of-events\n",
        other => panic!("no Secret has {other:?}"),
    }
}

#[test]
fn the_charts_gitops_service_is_given_its_keys_and_the_secret_of_events() {
    let served = SharedServer::start();
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::write(folder.join("values.yaml"), WITH_SECRETS).unwrap();
    let values = folder.join("values.yaml").display().to_string();
    let helm = CliTool::new("helm4", Path::new("nowhere"), NAMESPACE);
    let rendered = helm.ok(&["template", "sb", CHART, "--kube-version", "1.37", "-f", &values]);
    let objects: Vec<Value> = yaml::read_all(&rendered).unwrap().into_iter().map(|document| document.value).collect();
    let of_kind = |kind: &str| objects.iter().find(|object| object["kind"] == kind).unwrap();
    let pod = &of_kind("Deployment")["spec"]["template"]["spec"];
    let all = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_string();

    // Variables and files from Secrets, as the kubelet provides them.
    let variables = all(&pod["containers"][0]["env"]);
    let variables: Vec<(String, &str)> = variables
        .iter()
        .filter_map(|one| Some((text(&one["name"]), one.pointer("/valueFrom/secretKeyRef")?)))
        .map(|(name, from)| (name, secret(&text(&from["name"]), &text(&from["key"]))))
        .collect();
    let volume = all(&pod["volumes"]).into_iter().find(|volume| volume["secret"].is_object()).unwrap();
    let mounts = all(&pod["containers"][0]["volumeMounts"]);
    let mount = mounts.iter().find(|mount| mount["name"] == volume["name"]).unwrap();
    let own = folder.join("webhook");
    let config = text(&of_kind("ConfigMap")["data"]["switchboard.yaml"]);
    let config = config.replace(&text(&mount["mountPath"]), &own.display().to_string());
    fs::write(folder.join("switchboard.yaml"), config.replace("0.0.0.0:9090", "127.0.0.1:0")).unwrap();

    let doctor = |variables: &[(String, &str)], area: &str| {
        let kubeconfig = served.kubeconfig().display().to_string();
        let line = ["doctor", "--config", "switchboard.yaml", "--state-dir", "state", "--kubeconfig", &kubeconfig];
        let mut command = switchboard(folder, &line);
        command.env_remove("SWITCHBOARD_GITOPS_DATABASE").env_remove("SWITCHBOARD_GITOPS_KEYS");
        let report = command.envs(variables.iter().cloned()).output().unwrap().stdout;
        let report = String::from_utf8(report).unwrap();
        report.lines().find(|line| line.contains(area)).unwrap_or_else(|| panic!("{area}: {report}")).to_string()
    };
    assert!(doctor(&variables, "gitops webhooks").starts_with("error "), "it looks for what is mounted");
    fs::create_dir(&own).unwrap();
    for item in all(&volume["secret"]["items"]) {
        let held = secret(&text(&volume["secret"]["secretName"]), &text(&item["key"]));
        fs::write(own.join(text(&item["path"])), held).unwrap();
    }
    assert!(doctor(&variables, "gitops webhooks").starts_with("ok "));
    assert!(doctor(&variables, "database").contains("there.db"));
    assert!(doctor(&variables, "gitops credentials").starts_with("ok "));
    let keyless: Vec<(String, &str)> =
        variables.into_iter().filter(|(name, _)| name == "SWITCHBOARD_GITOPS_DATABASE").collect();
    assert!(
        doctor(&keyless, "gitops credentials").contains("no encryption of credentials is configured"),
        "without, it is stuck"
    );
}

/// The plugin is the same binary under another name.
#[test]
fn kubectl_finds_it_as_a_plugin() {
    let served = SharedServer::start();
    let kubectl = CliTool::new("kubectl", served.kubeconfig(), "default");
    let folder = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(process::binary().unwrap(), folder.path().join("kubectl-switchboard")).unwrap();
    let path = format!("{}:{}", folder.path().display(), std::env::var("PATH").unwrap());
    let plugin = |arguments: &[&str]| {
        let mut command = kubectl.command(&[]);
        let program = command.get_program().to_os_string();
        // kubectl passes only the plugin's own arguments.
        command = Command::new(program);
        command.args(["switchboard"]).args(arguments).env("PATH", &path).env("KUBECONFIG", served.kubeconfig());
        command.output().unwrap()
    };
    let help = String::from_utf8(plugin(&["--help"]).stdout).unwrap();
    assert!(help.contains("Usage: kubectl switchboard <COMMAND>"), "{help}");
    fs::write(folder.path().join("c.yaml"), "operators: {greeter: {}}\n").unwrap();
    let config = folder.path().join("c.yaml").display().to_string();
    let state = folder.path().join("state").display().to_string();
    let doctor = plugin(&["doctor", "--config", &config, "--state-dir", &state]);
    let report = String::from_utf8_lossy(&doctor.stdout);
    assert!(report.contains("may read and write all declared types"), "{report}");
    let listed =
        Command::new(kubectl.command(&[]).get_program()).args(["plugin", "list"]).env("PATH", &path).output().unwrap();
    assert!(String::from_utf8_lossy(&listed.stdout).contains("kubectl-switchboard"));
}
