//! Operators that are programs, including misbehaving ones.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::LazyLock;

use k8s_openapi::api::core::v1::{Event, ServiceAccount};
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Api;
use kube::api::{DynamicObject, Patch, PatchParams, PostParams};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::process::{CONTEXT, run, stderr_text, switchboard};
use crate::up_process::{UpProcess, eventually};

/// Program that misbehaves on request, compiled once.
pub static STRAY: LazyLock<PathBuf> = LazyLock::new(|| {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/misbehaving/operator.rs");
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("stray");
    let rustc = std::env::var("RUSTC").unwrap_or("rustc".to_string());
    let compiled = Command::new(rustc).args(["--edition=2024", "-o"]).arg(&target).arg(source).status().unwrap();
    assert!(compiled.success());
    target
});

/// Returns a configuration with a program, hosted without delays.
fn operator(name: &str, env: &str, more: &str) -> String {
    let program = STRAY.display();
    format!(
        "- name: {name}\n  command: [{program}]\n  env: {{{env}}}\n  {more}\n  limits: {{debounce: 0s, coolDown: 0s, backoff: {{first: 100ms, max: 1s}}}}\n"
    )
}

async fn put_words(running: &UpProcess, words: &str) {
    let map =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "stray-in"}, "data": {"words": words}});
    running.maps().await.patch("stray-in", &PatchParams::apply("test").force(), &Patch::Apply(map)).await.unwrap();
}

/// Waits until a field of the operator's output matches.
async fn out(running: &UpProcess, field: &str, wanted: &str) {
    let maps = running.maps().await;
    eventually(wanted, || async {
        let data = maps.get_opt("stray-out").await.unwrap()?.data?;
        (data.get(field).map(String::as_str) == Some(wanted)).then_some(())
    })
    .await;
}

fn failing(reason: &'static str) -> impl Fn(&Value) -> bool {
    move |row| row["state"] == "Failing" && row["reason"].as_str().is_some_and(|text| text.contains(reason))
}

#[tokio::test]
async fn program_is_triggered_by_declared_inputs_and_replayed_without_running() {
    let running = UpProcess::up(&format!("operators:\n{}", operator("stray", "", "")));
    out(&running, "aloud", "nothing").await;
    put_words(&running, "good day").await;
    out(&running, "aloud", "good day").await;
    // An undeclared object does not trigger a run; a declared one does.
    running.guest("unrelated").await;
    put_words(&running, "good night").await;
    out(&running, "aloud", "good night").await;
    running.row("stray", |row| row["state"] == "Ready" && row["writes"] == 3).await;

    // The input may hold Secrets, so other users have no access.
    let work = running.folder.path().join("state/hosted/stray");
    let mode = |path: &Path| std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(path).unwrap().permissions());
    assert!(work.join("input/namespaces/default/core/configmaps.yaml").is_file());
    assert_eq!(mode(&work) & 0o777, 0o700);

    let why = running.json(&["why", "configmap/stray-out"]);
    let decision = why["lastWrite"]["decision"].as_u64().unwrap_or_else(|| panic!("{why}")).to_string();
    let UpProcess { serving, folder } = running;
    assert_eq!(serving.stop().0, Some(0));
    let replayed = crate::up_process::ask(&folder.path().join("state"), &["replay", &decision]);
    assert_eq!(replayed.status.code(), Some(0), "{replayed:?}");
    let journal = journal(folder.path());
    assert!(journal.contains("stray-in"), "{journal}");
    assert!(!journal.contains("unrelated"), "a run was caused by, or read, what is not declared: {journal}");
}

/// Returns the text of a state directory's journal.
fn journal(folder: &Path) -> String {
    let files = std::fs::read_dir(folder.join("state/journal")).unwrap();
    files.map(|file| String::from_utf8_lossy(&std::fs::read(file.unwrap().path()).unwrap()).into_owned()).collect()
}

#[tokio::test]
async fn a_program_that_misbehaves_changes_nothing_and_is_shown_failing_with_its_reason() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let target = listener.local_addr().unwrap();
    let reasons = [
        ("socket", "failed: Network is unreachable"),
        ("outside", "failed: nothing outside can be read or written"),
        ("forks", "failed: no more after "),
        ("fills", "MiB of disk full: its writes are discarded"),
        ("hoards", "MiB of memory and was killed: its writes are discarded"),
        ("shares", "failed: after 0 MiB: Operation not permitted"),
        ("sparse", "left an invalid output: its files have "),
        ("never", "exceeded its time limit and was killed: its writes are discarded"),
        ("panics", "controller stray-Speaker panicked, and its writes are skipped: boom"),
        ("killed", "was killed by signal 9 half-way: its writes are discarded"),
        ("crash", "exited with 2 without controller-results.yaml: its writes are discarded"),
        ("silent", "exited with 0 without controller-results.yaml: its writes are discarded"),
        ("deep", "its body could not be parsed: yaml: recursion limit exceeded"),
        ("bomb", "its body could not be parsed: yaml: document contains excessive aliasing"),
        ("binary", "its body could not be parsed: yaml: line 3: not UTF-8 text"),
        ("half", "its body could not be parsed: yaml: line 3: found unexpected end of stream"),
        ("odd", "its metadata file could not be parsed: resourceType.Resource is missing"),
        ("misshapen", "its metadata is not a map"),
        ("roundabout", "is not a valid path segment"),
        ("nested", "left an invalid output: its folders are nested deeper than 16 levels"),
        ("many", "exited with 0, with its 16 MiB of disk full: its writes are discarded"),
        ("link", "stray-out.yaml is neither a file nor a folder"),
    ];
    let mut config = "limits: {maxConcurrent: 2}\noperators:\n".to_string();
    for (mode, _) in reasons {
        let env = format!("STRAY: {mode}, STRAY_TARGET: \"{target}\"");
        let more = if mode == "never" { "timeout: 3s" } else { "memory: 128Mi\n  processes: 40\n  disk: 16Mi" };
        config += &operator(&format!("stray-{mode}"), &env, more);
    }
    let running = UpProcess::up(&config);
    for (mode, reason) in reasons {
        let name = format!("stray-{mode}");
        running.row(&name, failing(reason)).await;
        let printed = String::from_utf8(running.ask(&["why-not", &name]).stdout).unwrap();
        assert!(printed.contains("Failing"), "{printed}");
    }
    assert_eq!(running.maps().await.get_opt("stray-out").await.unwrap(), None);
    listener.set_nonblocking(true).unwrap();
    assert!(listener.accept().is_err(), "the program left the sandbox");

    // The journal has the output of programs after the kernel has stopped.
    let UpProcess { serving, folder } = running;
    assert_eq!(serving.stop().0, Some(0));
    let journal = journal(folder.path());
    for (_, reason) in reasons {
        assert!(journal.contains(reason), "the journal does not say: {reason}");
    }
}

#[tokio::test]
async fn undeclared_writes_are_refused_and_others_written() {
    let running = UpProcess::up(&format!("operators:\n{}", operator("stray", "STRAY: undeclared", "")));
    out(&running, "aloud", "nothing").await;
    running.row("stray", failing("configmaps/default/undeclared of the configuration cluster is not among")).await;
    assert_eq!(running.maps().await.get_opt("undeclared").await.unwrap(), None);
}

/// Returns the MiB of memory in a row of `top`.
fn held_mib(row: &Value) -> Option<u64> {
    row["reason"].as_str()?.split_once("used ")?.1.split_once(" MiB")?.0.parse().ok()
}

#[tokio::test]
async fn changed_limits_reach_a_program_without_a_restart() {
    let config =
        |memory: &str| format!("operators:\n{}", operator("stray", "STRAY: hoards", &format!("memory: {memory}")));
    let running = UpProcess::up(&config("96Mi"));
    let few = running.row("stray", |row| held_mib(row).is_some()).await;
    assert!(held_mib(&few).unwrap() < 256, "{few}");
    std::fs::write(running.file("switchboard.yaml"), config("256Mi")).unwrap();
    running.row("stray", |row| held_mib(row).is_some_and(|held_mib| held_mib >= 256)).await;
    assert!(running.log().contains("applied the changed configuration: limits of stray"), "{}", running.log());
}

#[tokio::test]
async fn run_only_applies_changed_limits() {
    let running = UpProcess::up(crate::up_process::NO_OPERATORS);
    let write = |memory: &str| {
        let one = operator("stray", "STRAY: hoards", &format!("memory: {memory}"));
        running.outside(&format!("operators:\n{one}"))
    };
    let config = write("96Mi");
    let (state, stderr_text) = (running.file("alone"), running.file("alone-said"));
    let mut command = switchboard(&["run", "--only", "stray", "--config"]);
    command.arg(config).arg("--state-dir").arg(&state).stdout(Stdio::null());
    let _alone = KillOnDrop(command.stderr(std::fs::File::create(&stderr_text).unwrap()).spawn().unwrap());
    let holds = |wanted: std::ops::Range<u64>| {
        let state = state.clone();
        async move {
            eventually(&format!("{wanted:?} MiB held"), || async {
                let top = crate::up_process::ask(&state, &["top", "-o", "json"]);
                let top: Value = serde_json::from_slice(&top.stdout).ok()?;
                held_mib(&top["operators"][0]).filter(|held_mib| wanted.contains(held_mib))
            })
            .await
        }
    };
    holds(96..256).await;
    // An invalid value changes nothing.
    write("96 elephants");
    let printed = |words: &'static str| {
        let stderr_text = stderr_text.clone();
        async move {
            eventually(words, || async {
                std::fs::read_to_string(&stderr_text).unwrap().contains(words).then_some(())
            })
            .await;
        }
    };
    printed("the previous configuration stays in effect").await;
    holds(96..256).await;
    write("256Mi");
    printed("applied the changed configuration: limits of stray").await;
    holds(256..1024).await;
}

#[tokio::test]
async fn a_type_that_is_served_later_is_noticed() {
    let running = UpProcess::up(&format!("operators:\n{}", operator("stray", "STRAY: widgets", "")));
    out(&running, "aloud", "no widget").await;
    let stderr_text = running.log();
    assert!(
        stderr_text
            .contains("stray declares widgets.stray.example.com of stray.example.com/v1, which no cluster serves"),
        "{stderr_text}"
    );
    let client = running.serving.client(CONTEXT).await;
    let names = json!({"kind": "Widget", "plural": "widgets", "singular": "widget", "listKind": "WidgetList"});
    let schema = json!({"openAPIV3Schema": {"type": "object"}});
    let definition = json!({"metadata": {"name": "widgets.stray.example.com"}, "spec": {"group": "stray.example.com",
        "scope": "Cluster", "names": names, "versions": [{"name": "v1", "served": true, "storage": true, "schema": schema}]}});
    create(Api::<CustomResourceDefinition>::all(client.clone()), definition).await;
    let widgets =
        kube::core::ApiResource::from_gvk(&kube::core::GroupVersionKind::gvk("stray.example.com", "v1", "Widget"));
    let widgets = Api::<DynamicObject>::all_with(client, &widgets);
    let one = json!({"apiVersion": "stray.example.com/v1", "kind": "Widget", "metadata": {"name": "one"}});
    eventually("a widget", || async {
        let object: DynamicObject = serde_json::from_value(one.clone()).unwrap();
        widgets.create(&PostParams::default(), &object).await.ok()
    })
    .await;
    out(&running, "aloud", "a widget").await;
    running.row("stray", |row| row["state"] == "Ready").await;
}

#[tokio::test]
async fn generate_name_creates_are_bounded() {
    let running = UpProcess::up(&format!("operators:\n{}", operator("stray", "STRAY: generates", "")));
    running.row("stray", failing("creates a new configmaps named stray-made-* in every run: 3 exist")).await;
    let maps = running.maps().await.list(&Default::default()).await.unwrap();
    let made = maps.items.iter().filter(|map| map.metadata.generate_name.as_deref() == Some("stray-made-"));
    assert_eq!(made.count(), 3);
}

/// The event names contain the time, like those of library-go's recorder.
#[tokio::test]
async fn repeated_event_is_one_event_with_a_count() {
    let running = UpProcess::up(&format!("operators:\n{}", operator("stray", "STRAY: tells", "")));
    // More events than seconds, so some of them share a time and a name.
    for number in 0..12 {
        let words = format!("good day {number}");
        put_words(&running, &words).await;
        out(&running, "aloud", &words).await;
    }
    running.row("stray", |row| row["state"] == "Ready").await;
    let events: Api<Event> = Api::default_namespaced(running.serving.client(CONTEXT).await);
    let printed = events.list(&Default::default()).await.unwrap().items;
    let printed: Vec<_> = printed.into_iter().filter(|event| event.reason.as_deref() == Some("Spoke")).collect();
    assert_eq!(printed.len(), 1, "{printed:?}");
    assert!(printed[0].count.unwrap() >= 12, "{printed:?}");
    assert!(printed[0].last_timestamp > printed[0].first_timestamp, "{printed:?}");
}

/// The time and the cost of a run always differ, and are no reason to write.
#[tokio::test]
async fn hot_loop_of_a_program_is_found_and_slowed() {
    let running = UpProcess::up(&format!("operators:\n{}", operator("stray", "STRAY: loops", "")));
    running.row("stray", failing("keeps writing .data.aloud of configmaps/default/stray-out")).await;
    running.waits("stray", "slowed").await;
}

/// library-go's recorder reports an unrecordable request with an error that looks like a server's.
#[tokio::test]
async fn unrecordable_writes_are_reported_once_with_a_hint() {
    let running = UpProcess::up(&format!("operators:\n{}", operator("stray", "STRAY: degraded", "")));
    let words = "could not record deletions in a namespace";
    let printed =
        |row: &Value| row["state"] == "Blocked" && row["reason"].as_str().is_some_and(|text| text.contains(words));
    running.row("stray", printed).await;
    put_words(&running, "again").await;
    running.row("stray", |row| row["runs"].as_u64() >= Some(2)).await;
    let why = String::from_utf8(running.ask(&["why-not", "stray"]).stdout).unwrap();
    assert!(why.contains(words) && why.contains("apply-configuration-live"), "{why}");
    let UpProcess { serving, folder } = running;
    assert_eq!(serving.stop().0, Some(0));
    let stderr_text = std::fs::read_to_string(folder.path().join("said")).unwrap();
    assert_eq!(stderr_text.matches(words).count(), 1, "{stderr_text}");
    assert!(journal(folder.path()).contains(words));
}

async fn create<K>(api: Api<K>, object: Value)
where
    K: kube::Resource + Clone + DeserializeOwned + serde::Serialize + std::fmt::Debug,
{
    api.create(&PostParams::default(), &serde_json::from_value(object).unwrap()).await.unwrap();
}

/// Lets a service account write ConfigMaps.
async fn let_write(client: &kube::Client, namespace: &str, account: &str) {
    let rule = json!({"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "create", "patch"]});
    create(Api::<ClusterRole>::all(client.clone()), json!({"metadata": {"name": "stray"}, "rules": [rule]})).await;
    let binding = json!({
        "metadata": {"name": "stray"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "stray"},
        "subjects": [{"kind": "ServiceAccount", "namespace": namespace, "name": account}],
    });
    create(Api::<ClusterRoleBinding>::all(client.clone()), binding).await;
}

/// The inputs and cost of the live command always differ: only the program itself triggers it.
#[tokio::test]
async fn hot_loop_of_a_live_command_is_found_and_slowed() {
    let account = "live: true\n  serviceAccount: kube-system/default";
    let running = UpProcess::up(&format!("operators:\n{}", operator("stray", "STRAY: answers", account)));
    let_write(&running.serving.client(CONTEXT).await, "kube-system", "default").await;
    running.row("stray", failing("keeps writing .data.live of configmaps/default/stray-out")).await;
    running.waits("stray", "slowed").await;
}

#[tokio::test]
async fn unchanged_live_runs_are_not_recorded() {
    let account = "live: true\n  serviceAccount: kube-system/default\n  resync: 1s";
    let running = UpProcess::up(&format!("operators:\n{}", operator("stray", "", account)));
    let_write(&running.serving.client(CONTEXT).await, "kube-system", "default").await;
    let row = running.row("stray", |row| row["state"] == "Ready").await;
    let runs = row["runs"].as_u64().unwrap();
    running.row("stray", |row| row["runs"].as_u64() >= Some(runs + 5)).await;
    let UpProcess { serving, folder } = running;
    assert_eq!(serving.stop().0, Some(0));
    let journal = journal(folder.path());
    // Runs that saw the written objects, and those that were buffered when the process ended.
    let kept = journal.matches("apply-configuration-live").count() as u64;
    assert!(journal.contains("proxy says 200") && kept <= runs + 1, "{kept} of {runs} and 5 more");
}

#[tokio::test]
async fn live_command_has_its_own_identity_and_uses_the_proxy() {
    let account = "live: true\n  serviceAccount: default/stray\n  egress: [login.example.com]";
    let running = UpProcess::up(&format!("operators:\n{}", operator("stray", "", account)));
    let client = running.serving.client(CONTEXT).await;
    // The program writes with its service account, which lacks the permission so far.
    running
        .row("stray", failing("could not apply configmaps/default/stray-out: configmaps \"stray-out\" is forbidden"))
        .await;
    assert_eq!(running.maps().await.get_opt("stray-out").await.unwrap(), None);
    let_write(&client, "default", "stray").await;
    // The offline command needs no token; the live command does.
    out(&running, "aloud", "nothing").await;
    running.row("stray", failing("could not get a token for service account default/stray")).await;
    create(Api::<ServiceAccount>::default_namespaced(client), json!({"metadata": {"name": "stray"}})).await;
    out(&running, "live", "proxy says 200, a token is there").await;
    running.row("stray", |row| row["state"] == "Ready").await;
}

#[tokio::test]
async fn live_command_reaches_nothing_else() {
    let account = "live: true\n  serviceAccount: kube-system/default\n  egress: [login.example.com]";
    let running = UpProcess::up(&format!("operators:\n{}", operator("stray", "STRAY: wanders", account)));
    running.row("stray", failing("may not connect to not-allowed.example.com:443")).await;
}

#[test]
fn invalid_programs_are_reported_before_the_start() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("switchboard.yaml");
    let start = |config: &str| {
        std::fs::write(&file, config).unwrap();
        let state = folder.path().join("state");
        let arguments = ["up", "--ephemeral", "--listen", "127.0.0.1:0", "--config", file.to_str().unwrap()];
        let output = run(&[&arguments[..], &["--state-dir", state.to_str().unwrap()]].concat());
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        stderr_text(&output)
    };
    let printed = start("operators: [{name: a, command: bin/missing}]\n");
    assert!(printed.contains("error: could not host a\n  program "), "{printed}");
    assert!(printed.contains("hint: set `command` to an absolute path"), "{printed}");
    let printed = start("operators: [{name: a, command: /bin/false}]\n");
    assert!(printed.contains("bin/false: input-resources exited with 1"), "{printed}");
    let printed = start("operators: [{name: a, command: /bin/true}]\n");
    assert!(printed.contains("bin/true: input-resources prints nothing"), "{printed}");
    let printed = start(&format!("operators: [{{name: a, command: {}, live: true}}]\n", STRAY.display()));
    assert!(printed.contains("`live` needs a `serviceAccount`"), "{printed}");
}

/// Both processes use their default directories, like a team that migrates operators one by one.
#[tokio::test]
async fn run_only_works_beside_another_run() {
    let running = UpProcess::up(crate::up_process::NO_OPERATORS);
    let data = running.file("data");
    let config = running.outside("operators: {}\n");
    let start = |arguments: &[&str], stderr_text: &str| {
        let stderr_text = std::fs::File::create(running.file(stderr_text)).unwrap();
        let mut command = switchboard(arguments);
        command.env("XDG_DATA_HOME", &data).stdout(Stdio::null()).stderr(stderr_text);
        KillOnDrop(command.spawn().unwrap())
    };
    let kubeconfig = running.serving.kubeconfig.display().to_string();
    let _run = start(&["run", "--config", config.to_str().unwrap()], "run");
    let _alone = start(&["run", "--only", "greeter", "--kubeconfig", &kubeconfig], "alone");
    running.words().await;
    running.guest("ada").await;
    assert_eq!(running.greeting("ada").await, "Good day, ada!");
    let printed = |name: &str| std::fs::read_to_string(running.file(name)).unwrap();
    eventually("a run beside it", || async { printed("run").contains("running no operators").then_some(()) }).await;
    let own = data.join("switchboard/only/greeter");
    assert!(
        printed("alone")
            .contains(&format!("hint: show its operators with `switchboard top --state-dir {}`", own.display()))
    );
    let top = crate::up_process::ask(&own, &["top"]);
    assert!(String::from_utf8_lossy(&top.stdout).contains("greeter"), "{top:?}");
}

/// Without a sandbox there is no process namespace that ends with the host.
#[tokio::test]
async fn a_program_without_a_sandbox_ends_with_its_host() {
    let running = UpProcess::up(crate::up_process::NO_OPERATORS);
    let loose = operator("loose", "STRAY: never", "sandbox: off\n  timeout: 10m");
    let config = running.outside(&format!("operators:\n{loose}"));
    let state = running.file("alone");
    let stderr_text = std::fs::File::create(running.file("said-alone")).unwrap();
    let mut command = switchboard(&["run", "--config", config.to_str().unwrap(), "--state-dir"]);
    let mut host = KillOnDrop(command.arg(&state).stdout(Stdio::null()).stderr(stderr_text).spawn().unwrap());
    let work = state.join("hosted/loose/run-").display().to_string();
    let processes = || {
        let commands = std::fs::read_dir("/proc").unwrap().flatten();
        let commands = commands.filter_map(|entry| std::fs::read_to_string(entry.path().join("cmdline")).ok());
        commands.filter(|command| command.contains(&work)).count()
    };
    eventually("a run", || async { (processes() > 0).then_some(()) }).await;
    assert!(Command::new("kill").arg(host.0.id().to_string()).status().unwrap().success());
    // Only writes are waited for.
    let printed = std::fs::read_to_string(running.file("said-alone")).unwrap();
    assert_eq!(host.0.wait().unwrap().code(), Some(0), "{printed}");
    eventually("the end of the program", || async { (processes() == 0).then_some(()) }).await;
    let left = std::fs::read_dir(state.join("hosted/loose")).unwrap().flatten();
    let left: Vec<_> = left.map(|entry| entry.path()).filter(|path| path.to_string_lossy().contains("run-")).collect();
    assert!(left.is_empty(), "{left:?}");
}

/// Process that is killed when the test ends.
struct KillOnDrop(std::process::Child);

impl Drop for KillOnDrop {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
