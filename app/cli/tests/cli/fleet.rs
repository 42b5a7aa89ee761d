//! `switchboard gitops fleet`, `backup`, `restore` and `metrics`, with a cluster and a database.

use std::io::{BufRead, BufReader};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

use crate::gitops_verbs::GitopsCluster;
use crate::process::{stderr_text, switchboard};

/// Returns a command for the database, and for the cluster of the Argo CD instances if requested.
fn command(cluster: &GitopsCluster, arguments: &[&str], with_cluster: bool) -> Command {
    let mut command = switchboard(&["gitops"]);
    for variable in ["SWITCHBOARD_GITOPS_DATABASE", "SWITCHBOARD_GITOPS_KEYS", "DB_ADDR", "DB_PASS"] {
        command.env_remove(variable);
    }
    command
        .args(arguments)
        .args(["--database", "sqlite:g.db", "--plaintext-credentials"])
        .current_dir(cluster.folder());
    if with_cluster {
        command.arg("--kubeconfig").arg(cluster.kubeconfig());
    }
    command
}

async fn run(cluster: &GitopsCluster, arguments: &[&str], with_cluster: bool) -> Output {
    let mut command = command(cluster, arguments, with_cluster);
    tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap()
}

async fn printed(cluster: &GitopsCluster, arguments: &[&str], with_cluster: bool) -> String {
    let output = run(cluster, arguments, with_cluster).await;
    assert!(output.status.success(), "{}", stderr_text(&output));
    String::from_utf8(output.stdout).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn instances_are_added_listed_cordoned_and_removed() {
    let cluster = GitopsCluster::bare().await;
    printed(&cluster, &["migrate"], false).await;
    let missing = run(&cluster, &["fleet", "add", "argocd"], true).await;
    assert_eq!(missing.status.code(), Some(1));
    assert!(
        stderr_text(&missing).starts_with("error: could not find namespace `argocd`\n"),
        "{}",
        stderr_text(&missing)
    );
    assert!(stderr_text(&missing).contains("--create-namespace"), "{}", stderr_text(&missing));
    let added = printed(&cluster, &["fleet", "add", "argocd", "--create-namespace"], true).await;
    assert_eq!(
        added,
        "Namespace  State   Applications  Placements  Moving\nargocd     active  0/1000        0/1000      0\n"
    );
    printed(&cluster, &["fleet", "add", "argocd-2", "--create-namespace", "--max-applications", "5"], true).await;
    printed(&cluster, &["fleet", "cordon", "argocd-2"], true).await;
    let listed: Value = serde_json::from_str(&printed(&cluster, &["fleet", "list", "-o", "json"], true).await).unwrap();
    let states: Vec<(&str, &str)> = listed
        .as_array()
        .unwrap()
        .iter()
        .map(|one| (one["namespace"].as_str().unwrap(), one["state"].as_str().unwrap()))
        .collect();
    assert_eq!(states, [("argocd", "active"), ("argocd-2", "cordoned")]);
    assert_eq!(listed[1]["maxApplications"], 5);
    assert!(printed(&cluster, &["fleet", "uncordon", "argocd-2"], true).await.contains("active"));
    let absent = run(&cluster, &["fleet", "move", "shop", "--to", "argocd-2"], true).await;
    assert!(
        stderr_text(&absent).starts_with("error: could not find a placement of tenant `shop`"),
        "{}",
        stderr_text(&absent)
    );
    let unknown = run(&cluster, &["fleet", "cordon", "nowhere"], true).await;
    assert!(
        stderr_text(&unknown).contains("hint: list the instances with `switchboard gitops fleet list`"),
        "{}",
        stderr_text(&unknown)
    );
    assert_eq!(printed(&cluster, &["fleet", "remove", "argocd-2"], true).await, "instance argocd-2 removed\n");
    assert_eq!(printed(&cluster, &["fleet", "list"], true).await.lines().count(), 2);
    // The configuration of Argo CD stays.
    assert!(cluster.get("/api/v1/namespaces/argocd-2/configmaps/argocd-cm").await.is_some());
}

/// Fleet commands accept the common flags of all commands.
#[tokio::test(flavor = "multi_thread")]
async fn fleet_is_printed_in_every_format_and_watched() {
    let cluster = GitopsCluster::bare().await;
    printed(&cluster, &["migrate"], false).await;
    let none = run(&cluster, &["fleet", "list"], true).await;
    assert!(none.stdout.is_empty() && stderr_text(&none).starts_with("no instances\nhint: "), "{}", stderr_text(&none));
    assert_eq!(printed(&cluster, &["fleet", "list", "-o", "json"], true).await, "[]\n");
    let added = printed(&cluster, &["fleet", "add", "argocd", "--create-namespace", "-o", "json"], true).await;
    let added: Value = serde_json::from_str(&added).unwrap();
    assert_eq!((&added["namespace"], &added["state"]), (&"argocd".into(), &"active".into()));
    let id = added["id"].as_str().unwrap();
    let wide = printed(&cluster, &["fleet", "list", "-o", "wide"], true).await;
    assert!(
        wide.starts_with("Namespace  State   Applications  Placements  Moving  Id ") && wide.contains(id),
        "{wide}"
    );
    let none = run(&cluster, &["fleet", "list", "--placements"], true).await;
    assert!(
        none.stdout.is_empty() && stderr_text(&none).starts_with("no placements\nhint: "),
        "{}",
        stderr_text(&none)
    );
    assert_eq!(printed(&cluster, &["fleet", "list", "--placements", "-o", "json"], true).await, "[]\n");
    let yaml = printed(&cluster, &["fleet", "cordon", "argocd", "-o", "yaml"], true).await;
    assert!(yaml.contains("\nstate: cordoned\n"), "{yaml}");
    let odd = run(&cluster, &["fleet", "list", "-o", "xml"], true).await;
    assert_eq!(odd.status.code(), Some(64));

    let mut watching = command(&cluster, &["fleet", "list", "--watch", "--interval", "1s"], true);
    let mut watching = watching.stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(watching.stdout.take().unwrap()).lines().map_while(Result::ok);
    assert!(lines.any(|line| line.contains("cordoned")));
    printed(&cluster, &["fleet", "uncordon", "argocd"], true).await;
    assert!(lines.any(|line| line.starts_with("argocd     active")));
    Command::new("kill").args(["-INT", &watching.id().to_string()]).status().unwrap();
    assert_eq!(watching.wait().unwrap().code(), Some(0));
    let removed = printed(&cluster, &["fleet", "remove", "argocd", "-o", "json"], true).await;
    assert_eq!(serde_json::from_str::<Value>(&removed).unwrap()["id"], id);
}

/// Namespaces with one name on two clusters in one database: the output shows the requested one.
#[tokio::test(flavor = "multi_thread")]
async fn shown_instance_is_on_the_selected_cluster() {
    let (cluster, other) = (GitopsCluster::bare().await, GitopsCluster::bare().await);
    printed(&cluster, &["migrate"], false).await;
    let about = async |of: &GitopsCluster, arguments: &[&str]| -> Value {
        let mut command = command(&cluster, &[&["fleet"], arguments].concat(), false);
        command.args(["-o", "json", "--kubeconfig"]).arg(of.kubeconfig());
        let output = tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap();
        assert!(output.status.success(), "{}", stderr_text(&output));
        serde_json::from_slice(&output.stdout).unwrap()
    };
    let mut ids = Vec::new();
    for (of, most) in [(&cluster, "5"), (&other, "7")] {
        let added = about(of, &["add", "argocd", "--create-namespace", "--max-applications", most]).await;
        assert_eq!(added["maxApplications"].to_string(), most);
        let system = of.get("/api/v1/namespaces/kube-system").await.unwrap();
        assert_eq!(added["cluster"], system["metadata"]["uid"]);
        ids.push(added["id"].clone());
    }
    for (of, id) in [(&cluster, &ids[0]), (&other, &ids[1])] {
        let cordoned = about(of, &["cordon", "argocd"]).await;
        assert_eq!((&cordoned["id"], &cordoned["state"]), (id, &"cordoned".into()));
        let again = about(of, &["uncordon", "argocd"]).await;
        assert_eq!((&again["id"], &again["state"]), (id, &"active".into()));
    }
    let wide = printed(&cluster, &["fleet", "list", "-o", "wide"], true).await;
    assert!(wide.lines().next().is_some_and(|line| line.ends_with("  Cluster")) && wide.lines().count() == 3, "{wide}");
    for (of, id) in [(&other, &ids[1]), (&cluster, &ids[0])] {
        assert_eq!(about(of, &["remove", "argocd"]).await["id"], *id);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn backup_is_restored_and_rows_are_counted() {
    let cluster = GitopsCluster::bare().await;
    printed(&cluster, &["migrate"], false).await;
    printed(&cluster, &["fleet", "add", "argocd", "--create-namespace"], true).await;
    printed(&cluster, &["backup", "rows.backup"], false).await;
    let mode = std::os::unix::fs::PermissionsExt::mode(
        &cluster.folder().join("rows.backup").metadata().unwrap().permissions(),
    );
    assert_eq!(mode & 0o777, 0o600, "there may be credentials in it");
    let taken = run(&cluster, &["backup", "rows.backup"], false).await;
    assert!(stderr_text(&taken).starts_with("error: could not write the backup `rows.backup`: file already exists\n"));
    printed(&cluster, &["backup", "rows.backup", "--force"], false).await;
    printed(&cluster, &["fleet", "remove", "argocd"], true).await;
    let restored: Value =
        serde_json::from_str(&printed(&cluster, &["restore", "rows.backup", "-o", "json"], true).await).unwrap();
    assert_eq!((&restored["moved"], &restored["instances"]), (&0.into(), &0.into()));
    assert!(restored["rows"].as_u64().unwrap() >= 5, "{restored}");
    assert_eq!(printed(&cluster, &["fleet", "list"], true).await.lines().count(), 2);
    let again = printed(&cluster, &["restore", "rows.backup"], true).await;
    let rows = restored["rows"].as_u64().unwrap();
    assert!(again.starts_with(&format!("rows       {rows}\ninstances  0 ")), "{again}");
    let page = printed(&cluster, &["metrics"], true).await;
    for line in [
        "total_number_of_operationDB_rows 0",
        "active_gitopsDeployments{gitopsDeployment=\"success\"} 0",
        "gitops_argocd_apps_reconciled_percent 100",
        "switchboard_gitops_scrape_success 1",
    ] {
        assert!(page.lines().any(|one| one == line), "{line} is not in\n{page}");
    }
    let limit = "switchboard_gitops_instance_applications_limit{argocd_namespace=\"argocd\",cluster=\"";
    let is_limit = |one: &str| one.starts_with(limit) && one.ends_with("\",state=\"active\"} 1000");
    assert!(page.lines().any(is_limit), "{page}");
    std::fs::write(cluster.folder().join("other"), "something else\n").unwrap();
    let wrong = run(&cluster, &["restore", "other"], true).await;
    assert!(stderr_text(&wrong).starts_with("error: could not read line 1 of the backup\n"), "{}", stderr_text(&wrong));
    assert!(
        stderr_text(&wrong).contains("\nhint: pass a complete file that `switchboard gitops backup`"),
        "{}",
        stderr_text(&wrong)
    );
    let mut into =
        switchboard(&["gitops", "restore", "other", "--database", "sqlite:made.db", "--plaintext-credentials"]);
    into.arg("--kubeconfig").arg(cluster.kubeconfig()).current_dir(cluster.folder());
    let wrong = tokio::task::spawn_blocking(move || into.output().unwrap()).await.unwrap();
    assert!(stderr_text(&wrong).starts_with("error: could not read line 1 of the backup\n"), "{}", stderr_text(&wrong));
    assert!(!cluster.folder().join("made.db").exists(), "nothing is made for what is no backup");
}

/// A mistyped path creates no database, and is not reported as a database to migrate.
#[tokio::test(flavor = "multi_thread")]
async fn missing_database_is_not_created() {
    let cluster = GitopsCluster::bare().await;
    for arguments in [
        &["fleet", "list"][..],
        &["fleet", "add", "argocd", "--create-namespace"],
        &["fleet", "cordon", "argocd"],
        &["metrics"],
        &["backup", "rows.backup"],
    ] {
        let output = run(&cluster, arguments, arguments[0] != "backup").await;
        assert_eq!(output.status.code(), Some(1), "{arguments:?}");
        assert_eq!(
            stderr_text(&output),
            "error: could not open SQLite in g.db: file does not exist\n\
             hint: check the path in --database; `switchboard gitops migrate` creates a new database\n",
            "{arguments:?}"
        );
        assert!(!cluster.folder().join("g.db").exists(), "{arguments:?}");
        assert!(!cluster.folder().join("rows.backup").exists(), "{arguments:?}");
    }
}

/// Commands need no flags for the service of `switchboard up`: its database and key are in the state directory beside its
/// kubeconfig.
#[tokio::test(flavor = "multi_thread")]
async fn database_of_switchboard_up_is_found() {
    let cluster = GitopsCluster::bare().await;
    let (kubeconfig, state) = (cluster.kubeconfig().display().to_string(), cluster.folder().join("kernel"));
    let bare = |arguments: &[&str]| {
        let mut command = switchboard(&["gitops"]);
        for variable in ["SWITCHBOARD_GITOPS_DATABASE", "SWITCHBOARD_GITOPS_KEYS", "DB_ADDR", "DB_PASS", "KUBECONFIG"] {
            command.env_remove(variable);
        }
        command.env("HOME", cluster.folder().join("home")).env_remove("XDG_DATA_HOME");
        command.args(arguments).current_dir(cluster.folder());
        command
    };
    let output =
        async |mut command: Command| tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap();
    let none = output(bare(&["fleet", "list", "--kubeconfig", &kubeconfig])).await;
    assert_eq!(none.status.code(), Some(1));
    let home = cluster.folder().join("home/.local/share/switchboard/kernel");
    assert_eq!(
        stderr_text(&none),
        format!(
            "error: no database is configured, and there is no gitops.db in {} or {}\n\
             hint: pass --state-dir DIR of `switchboard up` or `run`, or --database URL with \
             --credentials-key-file FILE or --plaintext-credentials\n",
            state.display(),
            home.display()
        )
    );

    std::fs::create_dir(&state).unwrap();
    let key = base64::Engine::encode(&base64::engine::general_purpose::STANDARD, [1; 32]);
    std::fs::write(state.join("gitops.keys"), format!("key1:{key}\n")).unwrap();
    let file = "sqlite:kernel/gitops.db";
    let migrate = ["migrate", "--database", file, "--credentials-key-file", "kernel/gitops.keys"];
    assert!(output(bare(&migrate)).await.status.success());
    // Commands in hints find the same database.
    let flag = format!("--state-dir {}", state.display());
    let kernel = state.display().to_string();
    for (command, hint) in [
        (&["cordon", "nowhere"][..], format!("`switchboard gitops fleet list {flag}`")),
        (&["list"], format!("`switchboard gitops fleet add NAMESPACE {flag}` adds one")),
    ] {
        let arguments = [&["fleet"], command, &["--kubeconfig", &kubeconfig, "--state-dir", &kernel]].concat();
        let hinted = stderr_text(&output(bare(&arguments)).await);
        assert!(hinted.contains(&hint), "{hinted}");
    }
    let used = format!("using the database {}\n", state.join("gitops.db").display());
    let add = ["fleet", "add", "argocd", "--create-namespace", "--kubeconfig", &kubeconfig];
    for arguments in
        [&add[..], &["fleet", "list", "--kubeconfig", &kubeconfig], &["metrics", "--kubeconfig", &kubeconfig]]
    {
        let done = output(bare(arguments)).await;
        assert!(done.status.success(), "{arguments:?}: {}", stderr_text(&done));
        assert_eq!(stderr_text(&done), used, "{arguments:?}");
    }
    let mut by_variable = bare(&["fleet", "list"]);
    by_variable.env("KUBECONFIG", &kubeconfig);
    let listed = output(by_variable).await;
    assert!(String::from_utf8_lossy(&listed.stdout).contains("argocd     active"), "{}", stderr_text(&listed));
    for arguments in [&["backup", "one", "--state-dir", "kernel"][..], &["backup", "two", "--database", file]] {
        let done = output(bare(arguments)).await;
        assert!(done.status.success(), "{arguments:?}: {}", stderr_text(&done));
    }
}

/// Unknown facts are reported before anything is created.
#[tokio::test(flavor = "multi_thread")]
async fn restore_without_its_cluster_reports_and_creates_nothing() {
    let cluster = GitopsCluster::bare().await;
    printed(&cluster, &["migrate"], false).await;
    printed(&cluster, &["backup", "rows.backup"], false).await;
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let config = std::fs::read_to_string(cluster.kubeconfig()).unwrap();
    let server = config.split("server: ").nth(1).and_then(|rest| rest.split('\n').next()).unwrap();
    let away = config.replace(server, &format!("https://{closed}"));
    std::fs::write(cluster.folder().join("away"), away).unwrap();
    let mut command = switchboard(&["gitops", "restore", "rows.backup", "--kubeconfig", "away"]);
    command.args(["--database", "sqlite:made.db", "--plaintext-credentials"]).current_dir(cluster.folder());
    let output = tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap();
    assert_eq!(output.status.code(), Some(1));
    let stderr_text = stderr_text(&output);
    assert!(
        stderr_text.starts_with("error: could not list the Applications of the cluster of the Argo CD instances\n"),
        "{stderr_text}"
    );
    assert!(
        stderr_text.contains("\nhint: check that the cluster is running") && !stderr_text.contains("``"),
        "{stderr_text}"
    );
    assert!(!cluster.folder().join("made.db").exists(), "nothing was made");
}

/// Like a backend; otherwise the error would appear only at a deployment.
#[tokio::test(flavor = "multi_thread")]
async fn an_agent_with_another_key_does_not_start() {
    let cluster = GitopsCluster::bare().await;
    for (file, byte) in [("keys", b'a'), ("others", b'b')] {
        let key = base64::Engine::encode(&base64::engine::general_purpose::STANDARD, [byte; 32]);
        std::fs::write(cluster.folder().join(file), format!("key1:{key}\n")).unwrap();
    }
    let with = |arguments: &[&str], keys: &str| {
        let mut command = switchboard(&["gitops"]);
        for variable in ["SWITCHBOARD_GITOPS_DATABASE", "SWITCHBOARD_GITOPS_KEYS", "DB_ADDR", "DB_PASS"] {
            command.env_remove(variable);
        }
        command.args(arguments).args(["--database", "sqlite:k.db", "--credentials-key-file", keys]);
        command.current_dir(cluster.folder()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().unwrap()
    };
    let ended = async |child: std::process::Child| {
        tokio::task::spawn_blocking(move || child.wait_with_output().unwrap()).await.unwrap()
    };
    assert!(ended(with(&["migrate"], "keys")).await.status.success());
    let kubeconfig = cluster.kubeconfig().to_str().unwrap().to_string();
    let add = ["fleet", "add", "argocd", "--create-namespace", "--kubeconfig", &kubeconfig];
    let added = ended(with(&add, "keys")).await;
    assert!(added.status.success(), "{}", stderr_text(&added));
    let agent = with(&["agent", "--engine-kubeconfig", &kubeconfig, "--state-dir", "state"], "others");
    let id = agent.id().to_string();
    let stopping = tokio::spawn(async move {
        tokio::time::sleep(std::time::Duration::from_secs(20)).await;
        let _ = Command::new("kill").arg(id).status();
    });
    let refused = ended(agent).await;
    stopping.abort();
    assert_eq!(refused.status.code(), Some(1), "{}", stderr_text(&refused));
    assert!(
        stderr_text(&refused).contains("it was encrypted with another key or for another row"),
        "{}",
        stderr_text(&refused)
    );
    assert!(stderr_text(&refused).contains("hint: check the key file"), "{}", stderr_text(&refused));
}
