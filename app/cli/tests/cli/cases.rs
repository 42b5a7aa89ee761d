//! `switchboard test` and `switchboard operator`: declarative test cases.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::process::{run, stderr_text, switchboard};

/// Folder with cases, and an operator as a shell script.
struct CaseDir {
    root: tempfile::TempDir,
}

/// Operator that parses the directories from its arguments, and writes a ConfigMap with `$VALUE`.
const SCRIPT: &str = r#"#!/bin/sh
command=$1; shift
while [ $# -gt 0 ]; do
  case $1 in
    --input-dir) input=$2 ;; --output-dir) output=$2 ;; --now) now=$2 ;; --controllers) controllers=$2 ;;
  esac
  shift 2
done
write() {
  folder=$output/Management/Create/namespaces/shop/core/configmaps
  mkdir -p $folder
  printf 'apiVersion: v1\ndata:\n  value: %s\nkind: ConfigMap\nmetadata:\n  name: web\n  namespace: shop\n' "$1" > $folder/1-body-web.yaml
  printf 'action: Create\ncontrollerInstanceName: desk\ngenerateName: ""\nname: web\nnamespace: shop\nresourceType:\n  Group: ""\n  Resource: configmaps\n  Version: v1\n' > $folder/1-metadata-web.yaml
}
results() { printf 'controllerResults:\n- controllerName: desk\n  status: %s\n' "$1" > $output/controller-results.yaml; }
"#;

const BODY: &str =
    "apiVersion: v1\ndata:\n  value: hello\nkind: ConfigMap\nmetadata:\n  name: web\n  namespace: shop\n";

impl CaseDir {
    fn new() -> Self {
        Self { root: tempfile::tempdir().unwrap() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    /// Creates a case whose operator ends with these shell lines.
    fn case(&self, name: &str, script: &str) -> &Self {
        let folder = self.path("cases").join(name);
        fs::create_dir_all(folder.join("input-dir")).unwrap();
        let program = folder.join("operator");
        fs::write(&program, format!("{SCRIPT}{script}\n")).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        let text = format!(
            "binaryName: {}\ntestName: {name}\ndescription: a\ntestType: ApplyConfiguration\nnow: 2026-01-02T03:04:05Z\n",
            program.display()
        );
        fs::write(folder.join("test.yaml"), text).unwrap();
        self
    }

    fn add(&self, case: &str, lines: &str) -> &Self {
        let path = self.path("cases").join(case).join("test.yaml");
        let text = fs::read_to_string(&path).unwrap();
        fs::write(path, format!("{text}{lines}\n")).unwrap();
        self
    }

    /// Sets the expected ConfigMap of a case.
    fn expects(&self, case: &str, body: &str) -> &Self {
        let folder = self.path("cases").join(case).join("expected-output");
        let deep = folder.join("Management/Create/namespaces/shop/core/configmaps");
        fs::create_dir_all(&deep).unwrap();
        fs::write(deep.join("9-body-web.yaml"), body).unwrap();
        let metadata = "action: Create\ncontrollerInstanceName: desk\ngenerateName: \"\"\nmame: web\nnamespace: shop\nresourceType: {Group: \"\", Resource: configmaps, Version: v1}\n";
        fs::write(deep.join("9-metadata-web.yaml"), metadata).unwrap();
        fs::write(
            folder.join("controller-results.yaml"),
            "controllerResults:\n- controllerName: desk\n  status: Succeeded\n",
        )
        .unwrap();
        self
    }

    fn test(&self, options: &[&str]) -> Output {
        let cases = self.path("cases").display().to_string();
        run(&[&["test", &cases], options].concat())
    }

    /// Runs the replacement of multi-operator-manager's test runner.
    fn original(&self, directory: &str, options: &[&str]) -> Output {
        let (cases, output) = (self.path(directory).display().to_string(), self.path("out").display().to_string());
        run(&[&["test", "apply-configuration", "--test-dir", &cases, "--output-dir", &output], options].concat())
    }

    fn junit(&self) -> String {
        fs::read_to_string(self.path("out/junit.xml")).unwrap()
    }
}

fn out(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// Returns the verdicts by case, without durations.
fn verdicts(output: &Output) -> Vec<String> {
    let lines = out(output);
    let of_cases = lines.lines().filter(|line| ["PASS", "FAIL", "TIMEOUT"].iter().any(|word| line.starts_with(word)));
    of_cases.map(|line| line.split_whitespace().take(2).collect::<Vec<_>>().join(" ")).collect()
}

#[test]
fn differences_are_printed_below_their_case() {
    let desk = CaseDir::new();
    desk.case("good", "write hello; results Succeeded").expects("good", BODY);
    desk.case("bad", "write bye; results Succeeded").expects("bad", BODY);
    desk.case("none", "write hello; results Succeeded");
    desk.case("nothing", "results Succeeded");
    let output = desk.test(&[]);
    assert_eq!(output.status.code(), Some(1), "{}", stderr_text(&output));
    assert_eq!(verdicts(&output), ["FAIL bad", "PASS good", "FAIL none", "PASS nothing"], "{}", out(&output));
    let printed = out(&output);
    assert!(printed.contains("differs: Management: Create configmaps/shop/web by desk\n"), "{printed}");
    assert!(printed.contains("      -  value: hello\n      +  value: bye\n"), "{printed}");
    assert!(printed.contains("unexpected: Management: Create configmaps/shop/web by desk\n"), "{printed}");
    assert!(printed.ends_with("4 cases: 2 passed, 2 failed\n"), "{printed}");
    // The progress must not repeat the report in a log.
    assert!(!["PASS", "FAIL"].iter().any(|word| stderr_text(&output).contains(word)), "{}", stderr_text(&output));
    let json: serde_json::Value = serde_json::from_slice(&desk.test(&["-o", "json"]).stdout).unwrap();
    assert_eq!((&json["cases"][0]["verdict"], &json["cases"][1]["verdict"]), (&"failed".into(), &"passed".into()));
}

#[test]
fn comparison_is_semantic_unless_strict() {
    let desk = CaseDir::new();
    let other = "{kind: ConfigMap, apiVersion: v1, data: {value: 'hello'}, metadata: {creationTimestamp: null, namespace: shop, name: web}}";
    desk.case("a", "write hello; results Succeeded").expects("a", other);
    assert_eq!(verdicts(&desk.test(&[])), ["PASS a"]);
    assert_eq!(verdicts(&desk.test(&["--strict"])), ["FAIL a"]);
}

#[test]
fn nondeterminism_is_found_by_repeating_and_may_be_masked() {
    let desk = CaseDir::new();
    desk.case("a", "write $$; results Succeeded").expects("a", BODY).add("a", "masks: [{path: data.value}]");
    assert_eq!(verdicts(&desk.test(&["--repeat", "3"])), ["PASS a"], "what is masked may differ");
    desk.case("a", "write hello; [ -e $input/ran ] && results Failed || results Succeeded; touch $input/ran || true");
    desk.expects("a", BODY);
    // In a sandbox, the program cannot change its input.
    assert_eq!(verdicts(&desk.test(&["--repeat", "3"])), ["PASS a"]);
    let output = desk.test(&["--repeat", "3", "--no-sandbox"]);
    assert_eq!(verdicts(&output), ["FAIL a"]);
    assert!(out(&output).contains("run 2 differs from run 1: controller-results.yaml differs"), "{}", out(&output));
}

#[test]
fn program_under_test_has_no_network_by_default() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let desk = CaseDir::new();
    desk.case("a", "").expects("a", BODY);
    desk.add("a", &format!("env: {{STRAY: socket, STRAY_TARGET: '{}'}}", listener.local_addr().unwrap()));
    fs::copy(&*crate::hosted_programs::STRAY, desk.path("cases/a/operator")).unwrap();
    let output = desk.test(&[]);
    assert!(out(&output).contains("Network is unreachable"), "{}", out(&output));
    assert!(listener.accept().is_err(), "the program left the sandbox");
    desk.test(&["--no-sandbox"]);
    assert!(listener.accept().is_ok(), "without one it may");
}

#[test]
fn missing_directory_is_named_with_a_hint() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).display().to_string();
    for (arguments, hint) in [
        (vec!["test", &at("none")], "hint: pass the directory with the cases"),
        (vec!["test", "apply-configuration", "--test-dir", &at("none"), "--output-dir", &at("out")], "hint: pass "),
        (vec!["gather", "prune", "--operator", "greeter", "--from", &at("none"), "--to", &at("to")], "hint: pass "),
        (vec!["gather", "apply", "--from", &at("none")], "hint: pass "),
    ] {
        let output = run(&arguments);
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        assert!(
            stderr_text(&output).starts_with("error: could not find ") && stderr_text(&output).contains(hint),
            "{}",
            stderr_text(&output)
        );
        assert!(!folder.path().join("out").exists() && !folder.path().join("to").exists(), "nothing was made");
    }
}

#[test]
fn endless_run_is_reported_as_a_timeout() {
    let desk = CaseDir::new();
    desk.case("hangs", "echo working >&2; write hello; while :; do :; done").expects("hangs", BODY);
    let output = desk.test(&["--timeout", "1s"]);
    assert_eq!(verdicts(&output), ["TIMEOUT hangs"]);
    assert!(out(&output).contains("took longer than 1 s and was killed\n      working\n"), "{}", out(&output));
    assert!(out(&output).ends_with("1 case: 0 passed, 1 timed out\n"), "{}", out(&output));
}

#[test]
fn exit_code_must_match() {
    let desk = CaseDir::new();
    desk.case("fails", "echo broken >&2; exit 3").case("should", "exit 0").add("should", "desiredError: NonZeroReturn");
    desk.case("does", "exit 1").add("does", "desiredError: NonZeroReturn");
    desk.case("gone", "").add("gone", "");
    fs::remove_file(desk.path("cases/gone/operator")).unwrap();
    let output = desk.test(&[]);
    assert_eq!(verdicts(&output), ["PASS does", "FAIL fails", "FAIL gone", "FAIL should"]);
    let printed = out(&output);
    assert!(
        printed.contains("  exited with 3\n      broken\n") && printed.contains("exited with 0, but should fail"),
        "{printed}"
    );
    let hint = "hint: check the path, which is relative to the working directory; use `operator: NAME` for an operator in this binary";
    assert!(printed.contains(hint), "{printed}");
}

#[test]
fn environment_is_defined_by_the_case() {
    let desk = CaseDir::new();
    let script = "write \"${IMAGE-none} ${OUTER-none}\"; results Succeeded";
    desk.case("a", script).expects("a", &BODY.replace("hello", "web:1 none")).add("a", "env: {IMAGE: 'web:1'}");
    let cases = desk.path("cases").display().to_string();
    let output = switchboard(&["test", &cases]).env("OUTER", "secret").output().unwrap();
    assert_eq!(verdicts(&output), ["PASS a"], "{}", out(&output));
    // multi-operator-manager passes its own environment on.
    desk.expects("a", &BODY.replace("hello", "outer secret"));
    let output = switchboard(&["test", "apply-configuration", "--test-dir", &cases, "--output-dir"])
        .arg(desk.path("out"))
        .envs([("OUTER", "secret"), ("IMAGE", "outer")])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr_text(&output));
}

#[test]
fn unreadable_cases_are_named() {
    let desk = CaseDir::new();
    desk.case("a", "");
    fs::write(desk.path("cases/a/test.yaml"), "testName: a\n").unwrap();
    let output = desk.test(&[]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr_text(&output).contains("  `binaryName` is missing\n"), "{}", stderr_text(&output));
    fs::create_dir(desk.path("empty")).unwrap();
    let empty = run(&["test", &desk.path("empty").display().to_string()]);
    assert!(stderr_text(&empty).starts_with("error: could not find a case below"), "{}", stderr_text(&empty));
    assert_eq!(run(&["test"]).status.code(), Some(64));
}

#[test]
fn compatible_runner_writes_junit() {
    let desk = CaseDir::new();
    desk.case("good", "write hello; results Succeeded").expects("good", BODY);
    let output = desk.original("cases", &[]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr_text(&output));
    assert!(!desk.path("out/good").exists(), "what passed is taken away");
    let name = format!(
        "good [Binary:&#34;{0}/operator&#34;] [Controllers:[]] [Directory:&#34;{0}&#34;]",
        desk.path("cases/good").display()
    );
    assert!(desk.junit().contains(&format!("<testcase name=\"{name}\" time=\"0\"></testcase>")), "{}", desk.junit());
    assert!(desk.junit().starts_with("<testsuite name=\"\" tests=\"3\" "), "{}", desk.junit());
    desk.original("cases", &["--preserve-policy=KeepAlways", "--compat"]);
    assert!(desk.path("out/good/Management").is_dir() && desk.path("out/good/stdout.log").is_file());
    assert!(desk.junit().starts_with("<testsuite name=\"\" tests=\"0\" "), "{}", desk.junit());
    desk.expects("good", &BODY.replace("value: hello", "value: 'hello'"));
    let output = desk.original("cases", &[]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr_text(&output).contains("expected results mismatch 1 times"), "{}", stderr_text(&output));
    assert!(stderr_text(&output).contains("\nerror: 1 tests failed\nhint: "), "{}", stderr_text(&output));
    assert!(desk.path("out/good/Management").is_dir(), "what failed is kept");
}

#[test]
fn test_may_be_the_whole_directory() {
    let desk = CaseDir::new();
    desk.case("good", "write hello; results Succeeded").expects("good", BODY);
    let output = desk.original("cases/good", &[]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr_text(&output));
    let left: Vec<_> = fs::read_dir(desk.path("out")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["junit.xml"]);
}

#[test]
fn expected_output_is_updated() {
    let desk = CaseDir::new();
    desk.case("a", "write hello; results Failed; exit 1").add("a", "desiredError: NonZeroReturn");
    assert_eq!(desk.original("cases", &[]).status.code(), Some(1), "nothing is expected yet");
    let output = desk.original("cases", &["--replace-expected-output=true"]);
    assert_eq!((output.status.code(), stderr_text(&output).as_str()), (Some(0), ""));
    let expected = desk.path("cases/a/expected-output");
    assert!(expected.join("controller-results.yaml").is_file() && !expected.join("stdout.log").exists());
    assert_eq!(desk.original("cases", &["--replace-expected-output=false"]).status.code(), Some(0));
    assert_eq!(verdicts(&desk.test(&["--strict"])), ["PASS a"]);
}

#[test]
fn the_makefile_fragment_runs_and_updates_tests() {
    let desk = CaseDir::new();
    desk.case("a", "write hello; results Succeeded");
    let fragment = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../hosting/switchboard.mk");
    fs::write(desk.path("Makefile"), format!("build:\n\t@true\ninclude {}\n", fragment.display())).unwrap();
    let make = |target: &str| {
        let mut command = Command::new("make");
        command.arg(target).current_dir(desk.root.path()).env("MOM_CMD", env!("CARGO_BIN_EXE_switchboard"));
        command
            .env("APPLY_CONFIG_INPUT_DIR", "./cases")
            .env_remove("ARTIFACT_DIR")
            .env_remove("MAKEFLAGS")
            .output()
            .unwrap()
    };
    assert!(!make("test-operator-integration").status.success(), "nothing is expected yet");
    assert!(make("update-test-operator-integration").status.success());
    let output = make("test-operator-integration");
    assert!(output.status.success(), "{}", stderr_text(&output));
    assert!(desk.path("test-output/junit.xml").is_file());
}

fn greeter() -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/greeter/test-data").display().to_string()
}

#[test]
fn native_operators_have_cases_as_well() {
    let output = run(&["test", &greeter(), "--strict", "--repeat", "2"]);
    assert_eq!(verdicts(&output), ["PASS greets", "PASS waits"], "{}", out(&output));
    let output = run(&["test", &format!("{}/greets", greeter()), "--fault-test"]);
    assert_eq!(verdicts(&output), ["PASS ."], "{}", out(&output));
}

#[test]
fn native_operator_fails_its_fault_test() {
    let desk = CaseDir::new();
    desk.case("a", "");
    let text =
        "operator: rogue-loops\ntestName: a\ndescription: a\ntestType: ApplyConfiguration\nmasks: [{path: data}]\n";
    fs::write(desk.path("cases/a/test.yaml"), text).unwrap();
    desk.original("cases", &["--replace-expected-output"]);
    assert_eq!(verdicts(&desk.test(&[])), ["PASS a"]);
    let output = desk.test(&["--fault-test"]);
    assert_eq!(verdicts(&output), ["FAIL a"]);
    assert!(out(&output).contains("fault test: none: writes although nothing changed"), "{}", out(&output));
}

#[test]
fn a_native_operator_speaks_the_contract() {
    let inputs = run(&["operator", "greeter", "input-resources"]);
    assert!(
        out(&inputs).contains("labelSelectedResources:\n  - group: \"\"\n    labelSelector: {}\n"),
        "{}",
        out(&inputs)
    );
    let outputs = run(&["operator", "greeter", "output-resources"]);
    assert!(out(&outputs).contains("exactResources:\n  - group: \"\"\n    name: '*'\n"), "{}", out(&outputs));
    let desk = CaseDir::new();
    let (input, output) = (format!("{}/greets/input-dir", greeter()), desk.path("out").display().to_string());
    let apply = |operator: &str, command: &str, more: &[&str]| {
        run(&[&["operator", operator, command, "--input-dir", &input, "--output-dir", &output], more].concat())
    };
    let done = apply("greeter", "apply-configuration", &["--now", "2026-01-02T03:04:05Z"]);
    assert_eq!((done.status.code(), stderr_text(&done).as_str()), (Some(0), ""));
    assert!(desk.path("out.index.yaml").is_file(), "the order stands beside it");
    let folder = desk.path("out/Configuration/Apply/namespaces/shop/core/configmaps");
    assert_eq!(fs::read_dir(folder).unwrap().count(), 3, "body, metadata and options");
    let skipped = apply("greeter", "apply-configuration", &["--controllers", "*,-greeter"]);
    assert_eq!(skipped.status.code(), Some(0), "{}", stderr_text(&skipped));
    let unknown = apply("greeter", "apply-configuration", &["--controllers=stranger"]);
    assert_eq!(unknown.status.code(), Some(1));
    assert!(stderr_text(&unknown).contains("unknown controller `stranger`"), "{}", stderr_text(&unknown));
    let live = apply("greeter", "apply-configuration-live", &["--kubeconfig", "/no/such/file"]);
    assert_eq!(live.status.code(), Some(1), "a kubeconfig that cannot be read is refused");
    let dead = desk.path("dead.kubeconfig");
    let text = "{apiVersion: v1, kind: Config, current-context: a, clusters: [{name: a, cluster: {server: 'http://127.0.0.1:1'}}], contexts: [{name: a, context: {cluster: a, user: a}}], users: [{name: a, user: {}}]}";
    fs::write(&dead, text).unwrap();
    let live = apply("greeter", "apply-configuration-live", &["--kubeconfig", &dead.display().to_string()]);
    assert!(
        stderr_text(&live).contains("error: could not discover the types of the cluster"),
        "it is used: {}",
        stderr_text(&live)
    );
    assert_eq!(apply("greeter", "apply-configuration-live", &[]).status.code(), Some(64));
    assert_eq!(apply("greeter", "apply-configuration", &["--now", "noon"]).status.code(), Some(64));
}

/// Returns the text of all metadata files below a directory.
fn metadata(directory: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut waiting = vec![directory.to_path_buf()];
    while let Some(folder) = waiting.pop() {
        for entry in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            match entry.is_dir() {
                true => waiting.push(entry),
                false if entry.to_string_lossy().contains("-metadata-") => {
                    found.push(fs::read_to_string(entry).unwrap())
                }
                false => {}
            }
        }
    }
    found
}

/// Libraries of 2024 do not read the key `name`; all libraries read both keys.
#[test]
fn name_key_applies_to_every_written_directory() {
    let desk = CaseDir::new();
    let keys =
        |text: &String| ["name", "mame"].map(|key| text.lines().any(|line| line.starts_with(&format!("{key}: "))));
    for (key, wanted) in [("name", [true, false]), ("mame", [false, true]), ("both", [true, true])] {
        let (input, made) = (format!("{}/greets/input-dir", greeter()), desk.path(key));
        let arguments = ["operator", "greeter", "apply-configuration", "--name-key", key];
        let done = run(&[&arguments[..], &["--input-dir", &input, "--output-dir", made.to_str().unwrap()]].concat());
        assert_eq!(done.status.code(), Some(0), "{}", stderr_text(&done));
        let texts = metadata(&made);
        assert!(!texts.is_empty() && texts.iter().all(|text| keys(text) == wanted), "{key}: {texts:?}");
        // The comparison accepts any key; kept output uses the requested key.
        let kept = desk.path(&format!("kept-{key}"));
        let tested = run(&["test", &greeter(), "--strict", "--name-key", key, "--output-dir", kept.to_str().unwrap()]);
        assert_eq!(tested.status.code(), Some(0), "{}", out(&tested));
        assert!(metadata(&kept).iter().all(|text| keys(text) == wanted));
        let replaced = desk.path(&format!("cases-{key}"));
        assert!(Command::new("cp").arg("-rL").arg(greeter()).arg(&replaced).status().unwrap().success());
        let cases = format!("cases-{key}");
        let done = desk.original(&cases, &["--replace-expected-output", "--name-key", key]);
        assert_eq!(done.status.code(), Some(0), "{}", stderr_text(&done));
        let texts = metadata(&replaced);
        assert!(!texts.is_empty() && texts.iter().all(|text| keys(text) == wanted), "{key}: {texts:?}");
    }
}

#[test]
fn panic_of_a_native_operator_is_in_its_results() {
    let desk = CaseDir::new();
    let output = desk.path("out").display().to_string();
    let done =
        run(&["operator", "rogue-panics", "apply-configuration", "--input-dir", "/no/such", "--output-dir", &output]);
    assert_eq!(done.status.code(), Some(1));
    assert_eq!(stderr_text(&done), "error: controller `rogue-panics` panicked: this operator panics on purpose\n");
    let results = fs::read_to_string(desk.path("out/controller-results.yaml")).unwrap();
    assert!(results.contains("status: Panicked"), "{results}");
}
