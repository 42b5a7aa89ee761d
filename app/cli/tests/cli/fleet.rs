//! `switchboard gitops fleet`, `backup`, `restore` and `metrics`, with a cluster and a database.

use std::io::{BufRead, BufReader};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

use crate::gitops_verbs::GitopsCluster;
use crate::process::{said, switchboard};

/// Returns a command for the database, and for the cluster of the Argo CD instances if requested.
fn command(ground: &GitopsCluster, arguments: &[&str], with_cluster: bool) -> Command {
    let mut command = switchboard(&["gitops"]);
    for variable in ["SWITCHBOARD_GITOPS_DATABASE", "SWITCHBOARD_GITOPS_KEYS", "DB_ADDR", "DB_PASS"] {
        command.env_remove(variable);
    }
    command.args(arguments).args(["--database", "sqlite:g.db", "--plaintext-credentials"]).current_dir(ground.folder());
    if with_cluster {
        command.arg("--kubeconfig").arg(ground.kubeconfig());
    }
    command
}

async fn run(ground: &GitopsCluster, arguments: &[&str], with_cluster: bool) -> Output {
    let mut command = command(ground, arguments, with_cluster);
    tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap()
}

async fn told(ground: &GitopsCluster, arguments: &[&str], with_cluster: bool) -> String {
    let output = run(ground, arguments, with_cluster).await;
    assert!(output.status.success(), "{}", said(&output));
    String::from_utf8(output.stdout).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn instances_are_added_listed_cordoned_and_removed() {
    let ground = GitopsCluster::bare().await;
    told(&ground, &["migrate"], false).await;
    let missing = run(&ground, &["fleet", "add", "argocd"], true).await;
    assert_eq!(missing.status.code(), Some(1));
    assert!(said(&missing).starts_with("error: could not find namespace `argocd`\n"), "{}", said(&missing));
    assert!(said(&missing).contains("--create-namespace"), "{}", said(&missing));
    let added = told(&ground, &["fleet", "add", "argocd", "--create-namespace"], true).await;
    assert_eq!(added, "Namespace  State   Applications  Units   Moving\nargocd     active  0/1000        0/1000  0\n");
    told(&ground, &["fleet", "add", "argocd-2", "--create-namespace", "--max-applications", "5"], true).await;
    told(&ground, &["fleet", "cordon", "argocd-2"], true).await;
    let listed: Value = serde_json::from_str(&told(&ground, &["fleet", "list", "-o", "json"], true).await).unwrap();
    let states: Vec<(&str, &str)> = listed
        .as_array()
        .unwrap()
        .iter()
        .map(|one| (one["namespace"].as_str().unwrap(), one["state"].as_str().unwrap()))
        .collect();
    assert_eq!(states, [("argocd", "active"), ("argocd-2", "cordoned")]);
    assert_eq!(listed[1]["maxApplications"], 5);
    assert!(told(&ground, &["fleet", "uncordon", "argocd-2"], true).await.contains("active"));
    let nobody = run(&ground, &["fleet", "move", "shop", "--to", "argocd-2"], true).await;
    assert!(said(&nobody).starts_with("error: could not find what tenant `shop` deploys"), "{}", said(&nobody));
    let unknown = run(&ground, &["fleet", "cordon", "nowhere"], true).await;
    assert!(said(&unknown).contains("hint: `switchboard gitops fleet list` names them"), "{}", said(&unknown));
    assert_eq!(told(&ground, &["fleet", "remove", "argocd-2"], true).await, "instance argocd-2 removed\n");
    assert_eq!(told(&ground, &["fleet", "list"], true).await.lines().count(), 2);
    // The configuration of Argo CD stays.
    assert!(ground.get("/api/v1/namespaces/argocd-2/configmaps/argocd-cm").await.is_some());
}

/// Fleet commands accept the common flags of all commands.
#[tokio::test(flavor = "multi_thread")]
async fn a_fleet_is_told_in_every_form_and_watched() {
    let ground = GitopsCluster::bare().await;
    told(&ground, &["migrate"], false).await;
    let none = run(&ground, &["fleet", "list"], true).await;
    assert!(none.stdout.is_empty() && said(&none).starts_with("no instances\nhint: "), "{}", said(&none));
    assert_eq!(told(&ground, &["fleet", "list", "-o", "json"], true).await, "[]\n");
    let added = told(&ground, &["fleet", "add", "argocd", "--create-namespace", "-o", "json"], true).await;
    let added: Value = serde_json::from_str(&added).unwrap();
    assert_eq!((&added["namespace"], &added["state"]), (&"argocd".into(), &"active".into()));
    let id = added["id"].as_str().unwrap();
    let wide = told(&ground, &["fleet", "list", "-o", "wide"], true).await;
    assert!(wide.starts_with("Namespace  State   Applications  Units   Moving  Id ") && wide.contains(id), "{wide}");
    let none = run(&ground, &["fleet", "list", "--units"], true).await;
    assert!(none.stdout.is_empty() && said(&none).starts_with("no units\nhint: "), "{}", said(&none));
    assert_eq!(told(&ground, &["fleet", "list", "--units", "-o", "json"], true).await, "[]\n");
    let yaml = told(&ground, &["fleet", "cordon", "argocd", "-o", "yaml"], true).await;
    assert!(yaml.contains("\nstate: cordoned\n"), "{yaml}");
    let odd = run(&ground, &["fleet", "list", "-o", "xml"], true).await;
    assert_eq!(odd.status.code(), Some(64));

    let mut watching = command(&ground, &["fleet", "list", "--watch", "--interval", "1"], true);
    let mut watching = watching.stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(watching.stdout.take().unwrap()).lines().map_while(Result::ok);
    assert!(lines.any(|line| line.contains("cordoned")));
    told(&ground, &["fleet", "uncordon", "argocd"], true).await;
    assert!(lines.any(|line| line.starts_with("argocd     active")));
    Command::new("kill").args(["-INT", &watching.id().to_string()]).status().unwrap();
    assert_eq!(watching.wait().unwrap().code(), Some(0));
    let removed = told(&ground, &["fleet", "remove", "argocd", "-o", "json"], true).await;
    assert_eq!(serde_json::from_str::<Value>(&removed).unwrap()["id"], id);
}

/// Namespaces with one name on two clusters in one database: the output shows the requested one.
#[tokio::test(flavor = "multi_thread")]
async fn an_instance_is_told_of_the_cluster_that_was_asked_about() {
    let (ground, other) = (GitopsCluster::bare().await, GitopsCluster::bare().await);
    told(&ground, &["migrate"], false).await;
    let about = async |of: &GitopsCluster, arguments: &[&str]| -> Value {
        let mut command = command(&ground, &[&["fleet"], arguments].concat(), false);
        command.args(["-o", "json", "--kubeconfig"]).arg(of.kubeconfig());
        let output = tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap();
        assert!(output.status.success(), "{}", said(&output));
        serde_json::from_slice(&output.stdout).unwrap()
    };
    let mut ids = Vec::new();
    for (of, most) in [(&ground, "5"), (&other, "7")] {
        let added = about(of, &["add", "argocd", "--create-namespace", "--max-applications", most]).await;
        assert_eq!(added["maxApplications"].to_string(), most);
        let system = of.get("/api/v1/namespaces/kube-system").await.unwrap();
        assert_eq!(added["cluster"], system["metadata"]["uid"]);
        ids.push(added["id"].clone());
    }
    for (of, id) in [(&ground, &ids[0]), (&other, &ids[1])] {
        let cordoned = about(of, &["cordon", "argocd"]).await;
        assert_eq!((&cordoned["id"], &cordoned["state"]), (id, &"cordoned".into()));
        let again = about(of, &["uncordon", "argocd"]).await;
        assert_eq!((&again["id"], &again["state"]), (id, &"active".into()));
    }
    let wide = told(&ground, &["fleet", "list", "-o", "wide"], true).await;
    assert!(wide.lines().next().is_some_and(|line| line.ends_with("  Cluster")) && wide.lines().count() == 3, "{wide}");
    for (of, id) in [(&other, &ids[1]), (&ground, &ids[0])] {
        assert_eq!(about(of, &["remove", "argocd"]).await["id"], *id);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_are_kept_in_a_file_and_come_back_and_are_counted() {
    let ground = GitopsCluster::bare().await;
    told(&ground, &["migrate"], false).await;
    told(&ground, &["fleet", "add", "argocd", "--create-namespace"], true).await;
    told(&ground, &["backup", "rows.backup"], false).await;
    let mode =
        std::os::unix::fs::PermissionsExt::mode(&ground.folder().join("rows.backup").metadata().unwrap().permissions());
    assert_eq!(mode & 0o777, 0o600, "there may be credentials in it");
    let taken = run(&ground, &["backup", "rows.backup"], false).await;
    assert!(said(&taken).starts_with("error: could not write the backup `rows.backup`: there is such a file\n"));
    told(&ground, &["backup", "rows.backup", "--force"], false).await;
    told(&ground, &["fleet", "remove", "argocd"], true).await;
    let restored: Value =
        serde_json::from_str(&told(&ground, &["restore", "rows.backup", "-o", "json"], true).await).unwrap();
    assert_eq!((&restored["moved"], &restored["instances"]), (&0.into(), &0.into()));
    assert!(restored["rows"].as_u64().unwrap() >= 5, "{restored}");
    assert_eq!(told(&ground, &["fleet", "list"], true).await.lines().count(), 2);
    let again = told(&ground, &["restore", "rows.backup"], true).await;
    let rows = restored["rows"].as_u64().unwrap();
    assert!(again.starts_with(&format!("rows       {rows}\ninstances  0 ")), "{again}");
    let page = told(&ground, &["metrics"], true).await;
    for line in [
        "total_number_of_operationDB_rows 0",
        "active_gitopsDeployments{gitopsDeployment=\"success\"} 0",
        "gitops_argocd_apps_reconciled_percent 100",
        "switchboard_gitops_metrics_ok 1",
    ] {
        assert!(page.lines().any(|one| one == line), "{line} is not in\n{page}");
    }
    let limit = "switchboard_gitops_instance_applications_limit{argocd_namespace=\"argocd\",cluster=\"";
    let is_limit = |one: &str| one.starts_with(limit) && one.ends_with("\",state=\"active\"} 1000");
    assert!(page.lines().any(is_limit), "{page}");
    std::fs::write(ground.folder().join("other"), "something else\n").unwrap();
    let wrong = run(&ground, &["restore", "other"], true).await;
    assert!(said(&wrong).starts_with("error: could not read line 1 of the backup\n"), "{}", said(&wrong));
    assert!(said(&wrong).contains("\nhint: give a whole file that `switchboard gitops backup`"), "{}", said(&wrong));
    let mut into =
        switchboard(&["gitops", "restore", "other", "--database", "sqlite:made.db", "--plaintext-credentials"]);
    into.arg("--kubeconfig").arg(ground.kubeconfig()).current_dir(ground.folder());
    let wrong = tokio::task::spawn_blocking(move || into.output().unwrap()).await.unwrap();
    assert!(said(&wrong).starts_with("error: could not read line 1 of the backup\n"), "{}", said(&wrong));
    assert!(!ground.folder().join("made.db").exists(), "nothing is made for what is no backup");
}

/// A mistyped path creates no database, and is not reported as a database to migrate.
#[tokio::test(flavor = "multi_thread")]
async fn a_database_that_is_not_there_is_not_made() {
    let ground = GitopsCluster::bare().await;
    for arguments in [
        &["fleet", "list"][..],
        &["fleet", "add", "argocd", "--create-namespace"],
        &["fleet", "cordon", "argocd"],
        &["metrics"],
        &["backup", "rows.backup"],
    ] {
        let output = run(&ground, arguments, arguments[0] != "backup").await;
        assert_eq!(output.status.code(), Some(1), "{arguments:?}");
        assert_eq!(
            said(&output),
            "error: could not open SQLite in g.db: there is no such file\n\
             hint: check the path in --database; `switchboard gitops migrate` makes a new database\n",
            "{arguments:?}"
        );
        assert!(!ground.folder().join("g.db").exists(), "{arguments:?}");
        assert!(!ground.folder().join("rows.backup").exists(), "{arguments:?}");
    }
}

/// Unknown facts are reported before anything is created.
#[tokio::test(flavor = "multi_thread")]
async fn a_restore_without_its_cluster_says_what_it_could_not_list_and_makes_nothing() {
    let ground = GitopsCluster::bare().await;
    told(&ground, &["migrate"], false).await;
    told(&ground, &["backup", "rows.backup"], false).await;
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let config = std::fs::read_to_string(ground.kubeconfig()).unwrap();
    let server = config.split("server: ").nth(1).and_then(|rest| rest.split('\n').next()).unwrap();
    let away = config.replace(server, &format!("https://{closed}"));
    std::fs::write(ground.folder().join("away"), away).unwrap();
    let mut command = switchboard(&["gitops", "restore", "rows.backup", "--kubeconfig", "away"]);
    command.args(["--database", "sqlite:made.db", "--plaintext-credentials"]).current_dir(ground.folder());
    let output = tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap();
    assert_eq!(output.status.code(), Some(1));
    let said = said(&output);
    assert!(
        said.starts_with("error: could not list the Applications of the cluster of the Argo CD instances\n"),
        "{said}"
    );
    assert!(said.contains("\nhint: does the cluster run") && !said.contains("``"), "{said}");
    assert!(!ground.folder().join("made.db").exists(), "nothing was made");
}

/// Like a backend; otherwise the error would appear only at a deployment.
#[tokio::test(flavor = "multi_thread")]
async fn an_agent_with_another_key_does_not_start() {
    let ground = GitopsCluster::bare().await;
    for (file, byte) in [("keys", b'a'), ("others", b'b')] {
        let key = base64::Engine::encode(&base64::engine::general_purpose::STANDARD, [byte; 32]);
        std::fs::write(ground.folder().join(file), format!("key1:{key}\n")).unwrap();
    }
    let with = |arguments: &[&str], keys: &str| {
        let mut command = switchboard(&["gitops"]);
        for variable in ["SWITCHBOARD_GITOPS_DATABASE", "SWITCHBOARD_GITOPS_KEYS", "DB_ADDR", "DB_PASS"] {
            command.env_remove(variable);
        }
        command.args(arguments).args(["--database", "sqlite:k.db", "--credentials-key-file", keys]);
        command.current_dir(ground.folder()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().unwrap()
    };
    let ended = async |child: std::process::Child| {
        tokio::task::spawn_blocking(move || child.wait_with_output().unwrap()).await.unwrap()
    };
    assert!(ended(with(&["migrate"], "keys")).await.status.success());
    let kubeconfig = ground.kubeconfig().to_str().unwrap().to_string();
    let add = ["fleet", "add", "argocd", "--create-namespace", "--kubeconfig", &kubeconfig];
    let added = ended(with(&add, "keys")).await;
    assert!(added.status.success(), "{}", said(&added));
    let agent = with(&["agent", "--engine-kubeconfig", &kubeconfig, "--state-dir", "state"], "others");
    let id = agent.id().to_string();
    let stopping = tokio::spawn(async move {
        tokio::time::sleep(std::time::Duration::from_secs(20)).await;
        let _ = Command::new("kill").arg(id).status();
    });
    let refused = ended(agent).await;
    stopping.abort();
    assert_eq!(refused.status.code(), Some(1), "{}", said(&refused));
    assert!(said(&refused).contains("it was not sealed there with that key"), "{}", said(&refused));
    assert!(said(&refused).contains("hint: is it the right key file?"), "{}", said(&refused));
}
