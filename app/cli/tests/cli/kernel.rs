//! `run`, `plan`, `why`, `why-not`, `top` and `replay`.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use serde_json::{Value, json};

use crate::process::{run, stderr_text, switchboard};
use crate::up_process::{NO_OPERATORS, UpProcess, ask, eventually, masked};

const GREETER: &str = "operators:\n  greeter: {debounce: 0s, coolDown: 0s}\n";

/// Starts a greeter that waits for its text and then greets.
async fn greeted() -> UpProcess {
    let running = UpProcess::up(GREETER);
    running.guest("ada").await;
    running.row("greeter", |row| row["state"] == "Waiting").await;
    running.words().await;
    assert_eq!(running.greeting("ada").await, "Good day, ada!");
    running.row("greeter", |row| row["state"] == "Ready").await;
    // The journal is written by a separate thread.
    eventually("the decision in the journal", || async {
        let why = running.json(&["why", "configmap/ada-greeting"]);
        (!why["lastWrite"].is_null()).then_some(())
    })
    .await;
    running
}

/// `switchboard run`, stopped when the test ends.
struct RunFixture(Child);

impl RunFixture {
    fn start(config: &Path, state: &Path, more: &[&str]) -> Self {
        let mut command = switchboard(&["run", "--config"]);
        command.arg(config).arg("--state-dir").arg(state).args(more);
        Self(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap())
    }

    fn stop(mut self) -> Option<i32> {
        Command::new("kill").args(["-INT", &self.0.id().to_string()]).status().unwrap();
        self.0.wait().unwrap().code()
    }
}

impl Drop for RunFixture {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[tokio::test]
async fn why_names_the_writer_the_trigger_and_the_inputs() {
    let running = greeted().await;
    let why = masked(&running.ask(&["why", "configmap/ada-greeting", "-n", "default"]));
    let expected = "\
configmaps/default/ada-greeting was last written by greeter default/ada, SPAN ago (TIME)
  because  configmaps/default/greeting changed (revision N)
  write    apply configmaps/default/ada-greeting, revision N, decision N
  reads    configmaps/default/ada at revision N
           configmaps/default/ada-greeting, which did not exist
           configmaps/default/greeting at revision N
  owners   greeter (Apply, TIME)
";
    assert_eq!(why, expected);
    let field = masked(&running.ask(&["why", "configmap/ada-greeting", "--field", ".data.text"]));
    let expected = "\
.data.text of configmaps/default/ada-greeting was last changed by greeter default/ada, SPAN ago (TIME)
  because  configmaps/default/greeting changed (revision N)
  write    apply configmaps/default/ada-greeting, revision N, decision N, to \"Good day, ada!\"
  reads    configmaps/default/ada at revision N
           configmaps/default/ada-greeting, which did not exist
           configmaps/default/greeting at revision N
  owners   greeter (Apply, TIME)
";
    assert_eq!(field, expected);
    for text in [why, field] {
        assert!(text.lines().take(5).any(|line| line.starts_with("  because ")), "{text}");
    }
    let json = running.json(&["why", "configmap/ada-greeting", "--field", ".data.text"]);
    assert_eq!(json["lastWrite"]["operator"], "greeter");
    assert_eq!(json["lastWrite"]["value"], "Good day, ada!");
}

#[tokio::test]
async fn why_reports_foreign_objects_and_awaited_inputs() {
    let running = UpProcess::up(GREETER);
    running.guest("ada").await;
    running.row("greeter", |row| row["state"] == "Waiting").await;
    let printed = eventually("the decision in the journal", || async {
        let printed = masked(&running.ask(&["why", "configmap/ada"]));
        printed.contains("journal  reaches back").then_some(printed)
    })
    .await;
    let first = printed.lines().next().unwrap();
    assert!(first.starts_with("configmap/ada was not written by a Switchboard operator"), "{printed}");
    let waiting = "  waiting  greeter default/ada Waiting: ConfigMap greeting to appear, since SPAN ago (TIME)";
    assert!(printed.lines().take(5).any(|line| line == waiting), "{printed}");
}

#[tokio::test]
async fn why_of_an_unknown_kind_is_an_error() {
    let running = greeted().await;
    let printed = running.ask(&["why", "confgmap/ada"]);
    assert_eq!(printed.status.code(), Some(1));
    let error = String::from_utf8(printed.stderr).unwrap();
    let hint = "no operator here uses a kind confgmap\nhint: kinds: configmaps";
    assert!(error.contains(hint), "{error}");
}

/// Every cluster serves built-in kinds, whether or not an operator watches them.
#[tokio::test]
async fn why_of_an_unwatched_built_in_kind_reads_the_cluster() {
    let running = greeted().await;
    for (object, within) in [
        ("deployment/web", " in namespace default"),
        ("job/nope", " in namespace default"),
        ("po/nope", " in namespace default"),
        ("node/nope", ""),
        ("namespace/nope", ""),
    ] {
        let printed = running.ask(&["why", object]);
        let expected = format!("error: could not explain {object}: it does not exist{within}, and no decision");
        assert_eq!(printed.status.code(), Some(1), "{object}");
        assert!(stderr_text(&printed).starts_with(&expected), "{}", stderr_text(&printed));
        assert_eq!(stderr_text(&printed).contains("-n NAMESPACE"), !within.is_empty(), "{}", stderr_text(&printed));
    }
    let existing = running.ask(&["why", "ns/default"]);
    let text = String::from_utf8(existing.stdout).unwrap();
    assert_eq!(existing.status.code(), Some(0), "{text}");
    assert!(text.starts_with("ns/default was not written by a Switchboard operator"), "{text}");
}

/// The journal has a decision a moment after its writes.
#[tokio::test]
async fn why_waits_for_the_journal() {
    let running = UpProcess::up(GREETER);
    running.guest("ada").await;
    running.row("greeter", |row| row["state"] == "Waiting").await;
    running.words().await;
    running.greeting("ada").await;
    let why = masked(&running.ask(&["why", "configmap/ada-greeting", "--field", ".data.text"]));
    assert!(why.contains("\n  because  configmaps/default/greeting changed (revision N)\n"), "{why}");
}

/// Returns the first line of `why` for the greeting.
fn first(running: &UpProcess, more: &[&str]) -> String {
    let printed = masked(&running.ask(&[&["why", "configmap/ada-greeting"], more].concat()));
    printed.lines().next().unwrap().to_string()
}

#[tokio::test]
async fn why_names_a_field_conflict_and_a_deleted_object() {
    let running = greeted().await;
    let maps = running.maps().await;
    let mine = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "ada-greeting"}, "data": {"text": "Mine!"}
    });
    maps.patch("ada-greeting", &PatchParams::apply("me").force(), &Patch::Apply(mine)).await.unwrap();
    assert_eq!(
        first(&running, &["--field", ".data.text"]),
        ".data.text of configmaps/default/ada-greeting was last changed by me (Apply, TIME), which is not a Switchboard operator; before that by greeter default/ada, SPAN ago (TIME)"
    );
    // Times of the API server have a resolution of seconds, so two writes may have the same time.
    eventually("a later write", || async {
        let tick = json!({"metadata": {"annotations": {"at": format!("{:?}", std::time::Instant::now())}}});
        let params = PatchParams { field_manager: Some("kubectl-patch".to_string()), ..PatchParams::default() };
        maps.patch("ada-greeting", &params, &Patch::Merge(tick)).await.unwrap();
        let line = first(&running, &[]);
        line.starts_with("configmaps/default/ada-greeting was last written by kubectl-patch (Update, TIME), which is not a Switchboard operator; before that by greeter default/ada,").then_some(())
    })
    .await;

    // Otherwise the greeting would be recreated at once.
    assert_eq!(running.ask(&["pause", "greeter"]).status.code(), Some(0));
    maps.delete("ada-greeting", &DeleteParams::default()).await.unwrap();
    let gone = "configmaps/default/ada-greeting does not exist now; it was last written by greeter default/ada, SPAN ago (TIME)";
    assert_eq!(first(&running, &[]), gone);

    let UpProcess { serving, folder } = running;
    assert_eq!(serving.stop().0, Some(0));
    let unasked = masked(&ask(&folder.path().join("state"), &["why", "configmap/ada-greeting"]));
    assert!(unasked.starts_with("configmaps/default/ada-greeting was last written by greeter"), "{unasked}");
}

#[tokio::test]
async fn why_reads_live_objects_of_watched_kinds() {
    let running = greeted().await;
    let other = json!({"metadata": {"name": "other"}, "data": {"a": "b"}});
    let params = PostParams { field_manager: Some("other-writer".to_string()), ..PostParams::default() };
    running.maps().await.create(&params, &serde_json::from_value(other).unwrap()).await.unwrap();
    let printed = masked(&running.ask(&["why", "cm/other"]));
    assert!(
        printed
            .starts_with("cm/other was not written by a Switchboard operator; `other-writer` wrote it last, at TIME\n"),
        "{printed}"
    );
    assert!(printed.ends_with("  owners   other-writer (Update, TIME)\n"), "{printed}");
    let absent = running.ask(&["why", "cm/absent", "-n", "default"]);
    assert_eq!(absent.status.code(), Some(1));
    let expected = "error: could not explain cm/absent: it does not exist in namespace default, and no decision";
    assert!(stderr_text(&absent).starts_with(expected), "{}", stderr_text(&absent));
}

#[tokio::test]
async fn top_and_replay_after_a_greeting() {
    let running = greeted().await;
    // The third run reads its own greeting.
    running.row("greeter", |row| row["runs"] == 3).await;
    let top = masked(&running.ask(&["top"]));
    let squeezed: Vec<String> = top.lines().map(|l| l.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    assert_eq!(squeezed[0], "OPERATOR STATE UNITS RUNS FAILED P50 P99 WRITES CACHE REASON");
    assert_eq!(squeezed[1], "greeter Ready 1 3 0 SPAN SPAN 1 SIZE");
    let json = running.json(&["top"]);
    assert_eq!((&json["operators"][0]["writes"], &json["operators"][0]["units"]), (&1.into(), &1.into()));

    let decision = running.json(&["why", "configmap/ada-greeting"])["lastWrite"]["decision"].to_string();
    let replayed = running.ask(&["replay", &decision]);
    assert_eq!(masked(&replayed), "decision N of greeter default/ada: the replay has the same result\n");
    assert_eq!(replayed.status.code(), Some(0));
    assert_eq!(running.json(&["replay", &decision])["replay"], "same");

    let gone = running.ask(&["replay", "999"]);
    assert_eq!(gone.status.code(), Some(1));
    assert!(stderr_text(&gone).starts_with("error: could not replay decision 999: "), "{}", stderr_text(&gone));
    assert!(gone.stdout.is_empty());
}

#[tokio::test]
async fn journal_works_without_a_kernel() {
    let running = greeted().await;
    let UpProcess { serving, folder } = running;
    assert_eq!(serving.stop().0, Some(0));
    let state = folder.path().join("state");
    let why = ask(&state, &["why", "configmap/ada-greeting"]);
    assert!(masked(&why).contains("\n  because  configmaps/default/greeting changed (revision N)\n"));
    assert!(stderr_text(&why).starts_with("note: no kernel is running here"), "{}", stderr_text(&why));
    for arguments in [&["top"][..], &["why-not", "greeter"]] {
        let output = ask(&state, arguments);
        assert_eq!(output.status.code(), Some(1));
        assert!(
            stderr_text(&output).starts_with("error: no kernel is running with state directory "),
            "{}",
            stderr_text(&output)
        );
        assert!(stderr_text(&output).contains("\nhint: "), "{}", stderr_text(&output));
    }
}

#[tokio::test]
async fn why_not_waiting_for_an_input() {
    let running = UpProcess::up(GREETER);
    running.guest("ada").await;
    running.row("greeter", |row| row["state"] == "Waiting").await;
    let expected = "\
greeter is Waiting: 1 of 1 unit waiting
greeter default/ada: nothing it read has changed
  status   Waiting: ConfigMap greeting to appear, since SPAN ago (TIME)
  last     decision N
  hint     change something it reads, or run `switchboard reconcile greeter default/ada`
";
    assert_eq!(running.waits("greeter", "nothingChanged").await, expected);
    let missing = running.ask(&["why-not", "stranger"]);
    assert_eq!(missing.status.code(), Some(1));
    assert_eq!(stderr_text(&missing), "error: no operator stranger is running\nhint: operators: greeter\n");
}

#[tokio::test]
async fn why_not_debounced() {
    let running = UpProcess::up("operators:\n  greeter: {debounce: 1h}\n");
    // Runs caused by the first list are a consequence of the start; ada must be created after it.
    running.row("greeter", |row| row["cacheShareBytes"].as_u64() > Some(0)).await;
    running.guest("ada").await;
    let expected = "\
greeter is Working: 1 of 1 unit waiting
greeter default/ada: debounced: collects changes, runs in SPAN (TIME)
  status   Working: not decided yet, since SPAN ago (TIME)
  causes   configmaps/default/ada changed (revision N)
  hint     wait, or set a shorter `debounce` in switchboard.yaml
";
    assert_eq!(running.waits("greeter", "debounced").await, expected);
}

#[tokio::test]
async fn why_not_cooling_down() {
    let running = UpProcess::up("operators:\n  greeter: {debounce: 0s, coolDown: 1h}\n");
    running.guest("ada").await;
    running.row("greeter", |row| row["state"] == "Waiting").await;
    running.words().await;
    let expected = "\
greeter is Waiting: 1 of 1 unit waiting
greeter default/ada: cooling down: it just ran; runs in SPAN (TIME)
  status   Waiting: ConfigMap greeting to appear, since SPAN ago (TIME)
  causes   configmaps/default/greeting changed (revision N)
  last     decision N
  hint     wait, or set a shorter `coolDown` in switchboard.yaml
";
    assert_eq!(running.waits("greeter", "coolingDown").await, expected);
}

#[tokio::test]
async fn why_not_out_of_budget() {
    let running = UpProcess::up("operators:\n  greeter: {debounce: 0s, coolDown: 0s, writesPerMinute: 1}\n");
    running.words().await;
    running.guest("ada").await;
    running.greeting("ada").await;
    running.guest("bob").await;
    let printed = running.waits("greeter", "outOfBudget").await;
    assert!(printed.contains("out of budget: its operator may write again in SPAN (TIME)\n"), "{printed}");
    assert!(printed.contains("  hint     wait, or set a larger write budget in switchboard.yaml\n"), "{printed}");
}

#[tokio::test]
async fn a_dry_run_is_recorded_and_writes_nothing() {
    let running = UpProcess::up(NO_OPERATORS);
    running.words().await;
    running.guest("ada").await;
    let (config, state) = (running.outside(GREETER), running.file("dry"));
    let dry = RunFixture::start(&config, &state, &["--dry-run"]);
    let tried = eventually("a decision of the dry run", || async {
        let why: Value =
            serde_json::from_slice(&ask(&state, &["why", "configmap/ada-greeting", "-o", "json"]).stdout).ok()?;
        why["failedWrite"]["result"].as_str().map(str::to_string)
    })
    .await;
    assert!(tried.contains("dry run"), "{tried}");
    assert_eq!(dry.stop(), Some(0));
    assert!(running.maps().await.get_opt("ada-greeting").await.unwrap().is_none(), "a plan wrote");
}

#[tokio::test]
async fn plan_shows_a_diff_and_writes_nothing() {
    let running = UpProcess::up(NO_OPERATORS);
    running.words().await;
    running.guest("ada").await;
    let config = running.outside(GREETER);
    let plan = |more: &[&str]| run(&[&["plan", "--config", config.to_str().unwrap()], more].concat());
    let output = plan(&[]);
    let expected = "\
apply configmaps/default/ada-greeting by greeter default/ada
  +apiVersion: v1
  +data:
  +  text: Good day, ada!
  +kind: ConfigMap
  +metadata:
  +  name: ada-greeting
  +  namespace: default
  +  ownerReferences:
  +  - apiVersion: v1
  +    kind: ConfigMap
  +    name: ada
  +    uid: UID
1 write would be sent
";
    assert_eq!((masked(&output).as_str(), output.status.code()), (expected, Some(2)), "{}", stderr_text(&output));
    let json: Value = serde_json::from_slice(&plan(&["-o", "json", "--operator", "greeter"]).stdout).unwrap();
    assert_eq!(json["writes"][0]["write"], "apply configmaps/default/ada-greeting");

    assert!(running.maps().await.get_opt("ada-greeting").await.unwrap().is_none(), "a plan wrote");

    let hosting = RunFixture::start(&config, &running.file("real"), &[]);
    assert_eq!(running.greeting("ada").await, "Good day, ada!");
    assert_eq!(hosting.stop(), Some(0));
    let output = plan(&[]);
    assert_eq!((masked(&output).as_str(), output.status.code()), ("nothing would be written\n", Some(0)));

    let unknown = plan(&["--operator", "stranger"]);
    assert_eq!(unknown.status.code(), Some(1));
    assert!(stderr_text(&unknown).ends_with("\nhint: operators: greeter\n"), "{}", stderr_text(&unknown));
}

#[tokio::test]
async fn plan_reports_undecided_units() {
    let running = UpProcess::up(NO_OPERATORS);
    let config = running.outside("operators: {rogue-panics: }\n");
    let output = run(&["plan", "--config", config.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(1), "{}", stderr_text(&output));
    assert!(stderr_text(&output).contains("could not plan 1 unit"), "{}", stderr_text(&output));
}

#[test]
fn a_bad_configuration_is_refused_with_line_and_hint_before_anything_starts() {
    let folder = tempfile::tempdir().unwrap();
    let (file, state) = (folder.path().join("switchboard.yaml"), folder.path().join("state"));
    fs::write(&file, "operators:\n  greeter:\n    debonce: 1s\n").unwrap();
    let (config, state_dir) = (file.to_str().unwrap(), state.to_str().unwrap());
    for arguments in [
        &["run", "--config", config, "--state-dir", state_dir][..],
        &["up", "--ephemeral", "--listen", "127.0.0.1:0", "--config", config, "--state-dir", state_dir],
        &["plan", "--config", config],
    ] {
        let output = run(arguments);
        assert_eq!(output.status.code(), Some(1), "{arguments:?}");
        let expected = format!(
            "error: could not read {config}\n  {config}:3:5: operators.greeter.debonce: unknown field\n\
             hint: did you mean `debounce`?\n"
        );
        assert_eq!(stderr_text(&output), expected);
        assert!(output.stdout.is_empty() && !state.exists(), "something started");
    }
}

#[tokio::test]
async fn changed_limits_are_applied_and_an_invalid_file_changes_nothing() {
    let running = UpProcess::up("operators:\n  greeter: {debounce: 1h}\n");
    let file = running.file("switchboard.yaml");
    running.words().await;
    running.guest("ada").await;
    running.waits("greeter", "debounced").await;

    fs::write(&file, "operators:\n  greeter: {debounce: soon}\n").unwrap();
    eventually("a word of the bad file", || async {
        running.log().contains("\nthe previous configuration stays in effect\n").then_some(())
    })
    .await;
    assert!(running.log().contains("switchboard.yaml:2:23: operators.greeter.debounce: "), "{}", running.log());
    assert!(running.waits("greeter", "debounced").await.contains("debounced: "));

    fs::write(&file, "operators:\n  greeter: {debounce: 0s}\n  rogue-red:\n").unwrap();
    assert_eq!(running.greeting("ada").await, "Good day, ada!");
    let stderr_text = running.log();
    assert!(stderr_text.contains("\napplied the changed configuration: limits of greeter\n"), "{stderr_text}");
    assert!(stderr_text.contains("\nhint: restart to apply it\n"), "{stderr_text}");

    // A setting that equals the one at the start needs no restart.
    fs::write(&file, "operators:\n  greeter: {debounce: 1s}\n").unwrap();
    let since = |received: &str| received[stderr_text.len()..].to_string();
    let received = eventually("a word of the last file", || async {
        let received = since(&running.log());
        received.contains("applied the changed configuration: limits of greeter\n").then_some(received)
    })
    .await;
    // The next message must come after all messages about this file.
    fs::write(&file, "operators:\n  greeter: {debounce: soon}\n").unwrap();
    let received = eventually("a word of the next file", || async {
        let later = since(&running.log());
        (later.len() > received.len() && later.contains("stays in effect\n")).then_some(later)
    })
    .await;
    assert!(!received.contains("restart"), "{received}");
}

#[tokio::test]
async fn one_state_directory_is_for_one_kernel_and_outlives_a_kill() {
    let running = UpProcess::up(NO_OPERATORS);
    running.words().await;
    running.guest("ada").await;
    let (config, state) = (running.outside(GREETER), running.file("shared"));
    let first = RunFixture::start(&config, &state, &[]);
    running.greeting("ada").await;
    let second = ask(&state, &["run", "--config", config.to_str().unwrap()]);
    assert_eq!(second.status.code(), Some(1));
    assert!(stderr_text(&second).starts_with("error: another process writes the journal "), "{}", stderr_text(&second));
    assert!(stderr_text(&second).contains("--state-dir DIR"), "{}", stderr_text(&second));
    // SIGKILL leaves the socket behind.
    drop(first);
    assert!(state.join("kernel.sock").exists());
    assert_eq!(ask(&state, &["top"]).status.code(), Some(1));
    let _third = RunFixture::start(&config, &state, &[]);
    running.guest("bob").await;
    running.greeting("bob").await;
    assert_eq!(ask(&state, &["top"]).status.code(), Some(0));
}

#[tokio::test]
async fn a_cluster_that_cannot_be_reached_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let kubeconfig = "apiVersion: v1\nkind: Config\ncurrent-context: a\n\
        clusters: [{name: a, cluster: {server: 'http://127.0.0.1:1'}}]\n\
        contexts: [{name: a, context: {cluster: a, user: a}}]\nusers: [{name: a, user: {}}]\n";
    fs::write(folder.path().join("kubeconfig"), kubeconfig).unwrap();
    let (config, state) = (folder.path().join("switchboard.yaml"), folder.path().join("state"));
    fs::write(&config, format!("clusters:\n  default: {{kubeconfig: kubeconfig}}\n{GREETER}")).unwrap();
    let output = run(&["plan", "--timeout", "1s", "--config", config.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        stderr_text(&output).contains("configmaps of default: could not reach the API server: Connection refused"),
        "{}",
        stderr_text(&output)
    );
    assert!(!stderr_text(&output).contains("kube_client"), "{}", stderr_text(&output));

    let hosting = RunFixture::start(&config, &state, &[]);
    let printed = eventually("a word of the cluster", || async {
        let printed = String::from_utf8(ask(&state, &["why-not", "greeter"]).stdout).unwrap();
        printed.contains("could not reach").then_some(printed)
    })
    .await;
    let expected = "greeter is Waiting: 0 of 0 units waiting\n  configmaps of cluster default: not cached yet: could not reach the API server";
    assert!(printed.starts_with(expected), "{printed}");
    assert_eq!(hosting.stop(), Some(0));
}

#[test]
fn invalid_arguments_are_usage_errors() {
    for arguments in [
        &["why"][..],
        &["why", "web"],
        &["why", "a/b/c"],
        &["why", "configmap/web", "-o", "xml"],
        &["why-not"],
        &["replay", "x"],
        &["top", "more"],
        &["plan", "--timeout", "0"],
        &["plan", "--timeout", "18446744073709551615"],
        &["run", "--nonsense"],
        &["pause"],
        &["resume"],
        &["reconcile"],
    ] {
        let output = run(arguments);
        assert_eq!(output.status.code(), Some(64), "{arguments:?}");
        assert!(output.stdout.is_empty(), "{arguments:?}");
    }
}

#[test]
fn a_missing_configuration_is_named_with_a_hint() {
    let output = run(&["run", "--config", "no-such-file.yaml"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr_text(&output).starts_with("error: could not read no-such-file.yaml\n"), "{}", stderr_text(&output));
    assert!(stderr_text(&output).contains("\nhint: pass a file with --config FILE"), "{}", stderr_text(&output));
}

#[tokio::test]
async fn up_prints_the_flag_for_its_state_directory() {
    let running = UpProcess::up(GREETER);
    let state = running.file("state");
    assert!(
        running
            .log()
            .contains(&format!("hint: show its operators with `switchboard top --state-dir {}`\n", state.display()))
    );
}
