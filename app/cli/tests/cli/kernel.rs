//! `run`, `plan`, `why`, `why-not`, `top` and `replay`.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use serde_json::{Value, json};

use crate::process::{run, said, switchboard};
use crate::up_process::{NOBODY, UpProcess, ask, eventually, masked};

const GREETER: &str = "operators:\n  greeter: {debounce: 0s, coolDown: 0s}\n";

/// Starts a greeter that waits for its text and then greets.
async fn greeted() -> UpProcess {
    let board = UpProcess::up(GREETER);
    board.guest("ada").await;
    board.row("greeter", |row| row["word"] == "Waiting").await;
    board.words().await;
    assert_eq!(board.greeting("ada").await, "Good day, ada!");
    board.row("greeter", |row| row["word"] == "Ready").await;
    // The journal is written by a separate thread.
    eventually("the decision in the journal", || async {
        let why = board.json(&["why", "configmap/ada-greeting"]);
        (!why["written"].is_null()).then_some(())
    })
    .await;
    board
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
async fn why_names_who_wrote_because_of_what_and_from_what() {
    let board = greeted().await;
    let why = masked(&board.ask(&["why", "configmap/ada-greeting", "-n", "default"]));
    let expected = "\
configmaps/default/ada-greeting was last written by greeter default/ada, SPAN ago (TIME)
  because  configmaps/default/greeting changed (revision N)
  did      apply configmaps/default/ada-greeting, revision N, decision N
  from     configmaps/default/ada at revision N
           configmaps/default/ada-greeting, which was not there
           configmaps/default/greeting at revision N
  owned by greeter (Apply, TIME)
";
    assert_eq!(why, expected);
    let field = masked(&board.ask(&["why", "configmap/ada-greeting", "--field", ".data.text"]));
    let expected = "\
.data.text of configmaps/default/ada-greeting was last changed by greeter default/ada, SPAN ago (TIME)
  because  configmaps/default/greeting changed (revision N)
  did      apply configmaps/default/ada-greeting, revision N, decision N, to \"Good day, ada!\"
  from     configmaps/default/ada at revision N
           configmaps/default/ada-greeting, which was not there
           configmaps/default/greeting at revision N
  owned by greeter (Apply, TIME)
";
    assert_eq!(field, expected);
    for text in [why, field] {
        assert!(text.lines().take(5).any(|line| line.starts_with("  because ")), "{text}");
    }
    let json = board.json(&["why", "configmap/ada-greeting", "--field", ".data.text"]);
    assert_eq!(json["written"]["operator"], "greeter");
    assert_eq!(json["written"]["value"], "Good day, ada!");
}

#[tokio::test]
async fn why_tells_of_what_no_operator_wrote_and_what_is_awaited() {
    let board = UpProcess::up(GREETER);
    board.guest("ada").await;
    board.row("greeter", |row| row["word"] == "Waiting").await;
    let told = eventually("the decision in the journal", || async {
        let told = masked(&board.ask(&["why", "configmap/ada"]));
        told.contains("journal  reaches back").then_some(told)
    })
    .await;
    let first = told.lines().next().unwrap();
    assert!(first.starts_with("configmap/ada was written by no operator here"), "{told}");
    let awaited = "  awaited  greeter default/ada Waiting: ConfigMap greeting to appear, since SPAN ago (TIME)";
    assert!(told.lines().take(5).any(|line| line == awaited), "{told}");
}

#[tokio::test]
async fn why_of_a_kind_that_nobody_has_heard_of_is_an_error() {
    let board = greeted().await;
    let told = board.ask(&["why", "confgmap/ada"]);
    assert_eq!(told.status.code(), Some(1));
    let error = String::from_utf8(told.stderr).unwrap();
    let hint = "no operator here reads or writes a kind confgmap\nhint: they read and write configmaps";
    assert!(error.contains(hint), "{error}");
    assert!(board.ask(&["why", "deployment/web"]).status.success(), "every cluster has those");
}

/// Returns the first line of `why` for the greeting.
fn first(board: &UpProcess, more: &[&str]) -> String {
    let told = masked(&board.ask(&[&["why", "configmap/ada-greeting"], more].concat()));
    told.lines().next().unwrap().to_string()
}

#[tokio::test]
async fn why_names_who_took_a_field_from_the_operator_and_tells_when_the_object_is_gone() {
    let board = greeted().await;
    let maps = board.maps().await;
    let mine = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "ada-greeting"}, "data": {"text": "Mine!"}
    });
    maps.patch("ada-greeting", &PatchParams::apply("me").force(), &Patch::Apply(mine)).await.unwrap();
    assert_eq!(
        first(&board, &["--field", ".data.text"]),
        ".data.text of configmaps/default/ada-greeting was last changed by me (Apply, TIME), which is no operator here; before that by greeter default/ada, SPAN ago (TIME)"
    );
    // Times of the API server have a resolution of seconds, so two writes may have the same time.
    eventually("a later write", || async {
        let tick = json!({"metadata": {"annotations": {"at": format!("{:?}", std::time::Instant::now())}}});
        let params = PatchParams { field_manager: Some("kubectl-patch".to_string()), ..PatchParams::default() };
        maps.patch("ada-greeting", &params, &Patch::Merge(tick)).await.unwrap();
        let line = first(&board, &[]);
        line.starts_with("configmaps/default/ada-greeting was last written by kubectl-patch (Update, TIME), which is no operator here; before that by greeter default/ada,").then_some(())
    })
    .await;

    // Otherwise the greeting would be recreated at once.
    assert_eq!(board.ask(&["pause", "greeter"]).status.code(), Some(0));
    maps.delete("ada-greeting", &DeleteParams::default()).await.unwrap();
    let gone =
        "configmaps/default/ada-greeting is not there now; it was last written by greeter default/ada, SPAN ago (TIME)";
    assert_eq!(first(&board, &[]), gone);

    let UpProcess { serving, folder } = board;
    assert_eq!(serving.stop().0, Some(0));
    let unasked = masked(&ask(&folder.path().join("state"), &["why", "configmap/ada-greeting"]));
    assert!(unasked.starts_with("configmaps/default/ada-greeting was last written by greeter"), "{unasked}");
}

#[tokio::test]
async fn why_asks_for_objects_of_watched_kinds_that_nobody_here_read() {
    let board = greeted().await;
    let other = json!({"metadata": {"name": "other"}, "data": {"a": "b"}});
    let params = PostParams { field_manager: Some("somebody".to_string()), ..PostParams::default() };
    board.maps().await.create(&params, &serde_json::from_value(other).unwrap()).await.unwrap();
    let told = masked(&board.ask(&["why", "cm/other"]));
    assert!(
        told.starts_with("cm/other was written by no operator here; `somebody` wrote it last, at TIME\n"),
        "{told}"
    );
    assert!(told.ends_with("  owned by somebody (Update, TIME)\n"), "{told}");
    let absent = masked(&board.ask(&["why", "cm/absent", "-n", "default"]));
    assert!(absent.starts_with("cm/default/absent is not there now;"), "{absent}");
}

#[tokio::test]
async fn top_and_replay_after_a_greeting() {
    let board = greeted().await;
    // The third run reads its own greeting.
    board.row("greeter", |row| row["runs"] == 3).await;
    let top = masked(&board.ask(&["top"]));
    let squeezed: Vec<String> = top.lines().map(|l| l.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    assert_eq!(squeezed[0], "OPERATOR STATE UNITS RUNS FAILED P50 P99 WRITES CACHE REASON");
    assert_eq!(squeezed[1], "greeter Ready 1 3 0 SPAN SPAN 1 SIZE");
    let json = board.json(&["top"]);
    assert_eq!((&json["operators"][0]["writes"], &json["operators"][0]["units"]), (&1.into(), &1.into()));

    let decision = board.json(&["why", "configmap/ada-greeting"])["written"]["decision"].to_string();
    let replayed = board.ask(&["replay", &decision]);
    assert_eq!(masked(&replayed), "decision N of greeter default/ada: the same is decided again\n");
    assert_eq!(replayed.status.code(), Some(0));
    assert_eq!(board.json(&["replay", &decision])["replay"], "same");

    let gone = board.ask(&["replay", "999"]);
    assert_eq!(gone.status.code(), Some(1));
    assert!(said(&gone).starts_with("error: decision 999 cannot be replayed"), "{}", said(&gone));
    assert!(gone.stdout.is_empty());
}

#[tokio::test]
async fn the_journal_answers_when_the_kernel_is_gone() {
    let board = greeted().await;
    let UpProcess { serving, folder } = board;
    assert_eq!(serving.stop().0, Some(0));
    let state = folder.path().join("state");
    let why = ask(&state, &["why", "configmap/ada-greeting"]);
    assert!(masked(&why).contains("\n  because  configmaps/default/greeting changed (revision N)\n"));
    assert!(said(&why).starts_with("note: no kernel runs here"), "{}", said(&why));
    for arguments in [&["top"][..], &["why-not", "greeter"]] {
        let output = ask(&state, arguments);
        assert_eq!(output.status.code(), Some(1));
        assert!(said(&output).starts_with("error: no kernel runs on "), "{}", said(&output));
        assert!(said(&output).contains("\nhint: "), "{}", said(&output));
    }
}

#[tokio::test]
async fn why_not_waiting_for_an_input() {
    let board = UpProcess::up(GREETER);
    board.guest("ada").await;
    board.row("greeter", |row| row["word"] == "Waiting").await;
    let expected = "\
greeter is Waiting: 1 of 1 unit wait
greeter default/ada: nothing it read has changed
  stands   Waiting: ConfigMap greeting to appear, since SPAN ago (TIME)
  last     decision N
  helps    change something it reads; or `switchboard wake greeter default/ada` asks for a run
";
    assert_eq!(board.waits("greeter", "nothingChanged").await, expected);
    let nobody = board.ask(&["why-not", "nobody"]);
    assert_eq!(nobody.status.code(), Some(1));
    assert_eq!(said(&nobody), "error: no operator nobody is hosted\nhint: there are: greeter\n");
}

#[tokio::test]
async fn why_not_debounced() {
    let board = UpProcess::up("operators:\n  greeter: {debounce: 1h}\n");
    // Runs caused by the first list are a consequence of the start; ada must be created after it.
    board.row("greeter", |row| row["cacheShareBytes"].as_u64() > Some(0)).await;
    board.guest("ada").await;
    let expected = "\
greeter is Working: 1 of 1 unit wait
greeter default/ada: debounced: collects changes, runs in SPAN (TIME)
  stands   Working: not decided yet, since SPAN ago (TIME)
  woken by configmaps/default/ada changed (revision N)
  helps    wait; a shorter debounce in switchboard.yaml runs it sooner
";
    assert_eq!(board.waits("greeter", "debounced").await, expected);
}

#[tokio::test]
async fn why_not_cooling_down() {
    let board = UpProcess::up("operators:\n  greeter: {debounce: 0s, coolDown: 1h}\n");
    board.guest("ada").await;
    board.row("greeter", |row| row["word"] == "Waiting").await;
    board.words().await;
    let expected = "\
greeter is Waiting: 1 of 1 unit wait
greeter default/ada: cooling down: it just ran; runs in SPAN (TIME)
  stands   Waiting: ConfigMap greeting to appear, since SPAN ago (TIME)
  woken by configmaps/default/greeting changed (revision N)
  last     decision N
  helps    wait; a shorter cool-down in switchboard.yaml runs it sooner
";
    assert_eq!(board.waits("greeter", "coolingDown").await, expected);
}

#[tokio::test]
async fn why_not_out_of_budget() {
    let board = UpProcess::up("operators:\n  greeter: {debounce: 0s, coolDown: 0s, writesPerMinute: 1}\n");
    board.words().await;
    board.guest("ada").await;
    board.greeting("ada").await;
    board.guest("bob").await;
    let told = board.waits("greeter", "outOfBudget").await;
    assert!(told.contains("out of budget: its operator may write again in SPAN (TIME)\n"), "{told}");
    assert!(told.contains("  helps    wait; a larger write budget in switchboard.yaml runs it sooner\n"), "{told}");
}

#[tokio::test]
async fn a_dry_run_is_recorded_and_writes_nothing() {
    let board = UpProcess::up(NOBODY);
    board.words().await;
    board.guest("ada").await;
    let (config, state) = (board.outside(GREETER), board.file("dry"));
    let dry = RunFixture::start(&config, &state, &["--dry-run"]);
    let tried = eventually("a decision of the dry run", || async {
        let why: Value =
            serde_json::from_slice(&ask(&state, &["why", "configmap/ada-greeting", "-o", "json"]).stdout).ok()?;
        why["tried"]["result"].as_str().map(str::to_string)
    })
    .await;
    assert!(tried.contains("dry run"), "{tried}");
    assert_eq!(dry.stop(), Some(0));
    assert!(board.maps().await.get_opt("ada-greeting").await.unwrap().is_none(), "somebody wrote");
}

#[tokio::test]
async fn plan_shows_a_diff_and_writes_nothing() {
    let board = UpProcess::up(NOBODY);
    board.words().await;
    board.guest("ada").await;
    let config = board.outside(GREETER);
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
1 write would be made
";
    assert_eq!((masked(&output).as_str(), output.status.code()), (expected, Some(2)), "{}", said(&output));
    let json: Value = serde_json::from_slice(&plan(&["-o", "json", "--operator", "greeter"]).stdout).unwrap();
    assert_eq!(json["writes"][0]["write"], "apply configmaps/default/ada-greeting");

    assert!(board.maps().await.get_opt("ada-greeting").await.unwrap().is_none(), "somebody wrote");

    let hosting = RunFixture::start(&config, &board.file("real"), &[]);
    assert_eq!(board.greeting("ada").await, "Good day, ada!");
    assert_eq!(hosting.stop(), Some(0));
    let output = plan(&[]);
    assert_eq!((masked(&output).as_str(), output.status.code()), ("nothing would be written\n", Some(0)));

    let unknown = plan(&["--operator", "nobody"]);
    assert_eq!(unknown.status.code(), Some(1));
    assert!(said(&unknown).ends_with("\nhint: it hosts greeter\n"), "{}", said(&unknown));
}

#[tokio::test]
async fn plan_does_not_say_nothing_when_it_cannot_tell() {
    let board = UpProcess::up(NOBODY);
    let config = board.outside("operators: {rogue-panics: }\n");
    let output = run(&["plan", "--config", config.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    assert!(said(&output).contains("could not plan 1 of the units"), "{}", said(&output));
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
        assert_eq!(said(&output), expected);
        assert!(output.stdout.is_empty() && !state.exists(), "something started");
    }
}

#[tokio::test]
async fn changed_limits_are_taken_up_and_a_bad_file_changes_nothing() {
    let board = UpProcess::up("operators:\n  greeter: {debounce: 1h}\n");
    let file = board.file("switchboard.yaml");
    board.words().await;
    board.guest("ada").await;
    board.waits("greeter", "debounced").await;

    fs::write(&file, "operators:\n  greeter: {debounce: soon}\n").unwrap();
    eventually("a word of the bad file", || async {
        board.said().contains("\nthe configuration before it stays in force\n").then_some(())
    })
    .await;
    assert!(board.said().contains("switchboard.yaml:2:23: operators.greeter.debounce: "), "{}", board.said());
    assert!(board.waits("greeter", "debounced").await.contains("debounced: "));

    fs::write(&file, "operators:\n  greeter: {debounce: 0s}\n  rogue-red:\n").unwrap();
    assert_eq!(board.greeting("ada").await, "Good day, ada!");
    let said = board.said();
    assert!(said.contains("\ntook up the changed configuration: limits of greeter\n"), "{said}");
    assert!(said.contains("\nhint: restart to take it up\n"), "{said}");

    // A setting that equals the one at the start needs no restart.
    fs::write(&file, "operators:\n  greeter: {debounce: 1s}\n").unwrap();
    let since = |heard: &str| heard[said.len()..].to_string();
    let heard = eventually("a word of the last file", || async {
        let heard = since(&board.said());
        heard.contains("took up the changed configuration: limits of greeter\n").then_some(heard)
    })
    .await;
    // The next message must come after all messages about this file.
    fs::write(&file, "operators:\n  greeter: {debounce: soon}\n").unwrap();
    let heard = eventually("a word of the next file", || async {
        let later = since(&board.said());
        (later.len() > heard.len() && later.contains("stays in force\n")).then_some(later)
    })
    .await;
    assert!(!heard.contains("restart"), "{heard}");
}

#[tokio::test]
async fn one_state_directory_is_for_one_kernel_and_outlives_a_kill() {
    let board = UpProcess::up(NOBODY);
    board.words().await;
    board.guest("ada").await;
    let (config, state) = (board.outside(GREETER), board.file("shared"));
    let first = RunFixture::start(&config, &state, &[]);
    board.greeting("ada").await;
    let second = ask(&state, &["run", "--config", config.to_str().unwrap()]);
    assert_eq!(second.status.code(), Some(1));
    assert!(said(&second).starts_with("error: another process writes the journal "), "{}", said(&second));
    assert!(said(&second).contains("--state-dir DIR"), "{}", said(&second));
    // SIGKILL leaves the socket behind.
    drop(first);
    assert!(state.join("kernel.sock").exists());
    assert_eq!(ask(&state, &["top"]).status.code(), Some(1));
    let _third = RunFixture::start(&config, &state, &[]);
    board.guest("bob").await;
    board.greeting("bob").await;
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
    let output = run(&["plan", "--timeout", "1", "--config", config.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(1));
    assert!(said(&output).contains("configmaps of default: the API server cannot be reached"), "{}", said(&output));
    assert!(!said(&output).contains("kube_client"), "{}", said(&output));

    let hosting = RunFixture::start(&config, &state, &[]);
    let told = eventually("a word of the cluster", || async {
        let told = String::from_utf8(ask(&state, &["why-not", "greeter"]).stdout).unwrap();
        told.contains("cannot be reached").then_some(told)
    })
    .await;
    let expected = "greeter is Waiting: 0 of 0 units wait\n  configmaps of cluster default to be read: the API server";
    assert!(told.starts_with(expected), "{told}");
    assert_eq!(hosting.stop(), Some(0));
}

#[test]
fn what_is_not_understood_is_a_usage_error() {
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
        &["wake"],
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
    assert!(said(&output).starts_with("error: could not read no-such-file.yaml\n"), "{}", said(&output));
    assert!(said(&output).contains("\nhint: name a file with --config FILE"), "{}", said(&output));
}

#[tokio::test]
async fn up_says_how_to_ask_when_nobody_would_look_there() {
    let board = UpProcess::up(GREETER);
    let state = board.file("state");
    assert!(board.said().contains(&format!("hint: ask it with `switchboard top --state-dir {}`\n", state.display())));
}
