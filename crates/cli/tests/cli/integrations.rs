//! `switchboard integrations` on the example data, and the manager under `up`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use kube::Client;
use kube::config::{KubeConfigOptions, Kubeconfig};
use serde_json::Value;

use crate::board::{Board, eventually};
use crate::process::{CONTEXT, switchboard};

fn example() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/integrations")
}

/// A copy of the example's data that may be changed.
pub fn copied() -> tempfile::TempDir {
    fn copy(from: &Path, to: &Path) {
        fs::create_dir_all(to).unwrap();
        for entry in fs::read_dir(from).unwrap() {
            let entry = entry.unwrap();
            let to = to.join(entry.file_name());
            if entry.file_type().unwrap().is_dir() {
                copy(&entry.path(), &to)
            } else {
                fs::copy(entry.path(), to).unwrap();
            }
        }
    }
    let folder = tempfile::tempdir().unwrap();
    copy(&example().join("data"), folder.path());
    folder
}

fn integrations(arguments: &[&str]) -> Output {
    let mut command = switchboard(&["integrations"]);
    for name in ["ENVIRONMENT_NAME", "INTEGRATIONS_MANAGER_UPSTREAM", "INTEGRATIONS_MANAGER_IMAGE"] {
        command.env_remove(name);
    }
    command.args(arguments).output().unwrap()
}

fn text(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {}", text(output)))
}

pub fn edit(folder: &Path, file: &str, from: &str, to: &str) {
    let path = folder.join(file);
    let before = fs::read_to_string(&path).unwrap();
    assert!(before.contains(from), "{before}");
    fs::write(path, before.replace(from, to)).unwrap();
}

#[test]
fn the_example_is_rendered_the_same_from_directory_and_bundle() {
    let of = |from: &Path| {
        integrations(&["render", "--no-variables", "--compat", "-o", "json", "--from", from.to_str().unwrap()])
    };
    let (directory, bundle) = (of(&example().join("data")), of(&example().join("bundle.json")));
    let (directory, bundle) = (json(&directory), json(&bundle));
    let hashes = |all: &Value| -> Vec<String> {
        let objects =
            all["targets"].as_array().unwrap().iter().flat_map(|target| target["objects"].as_array().unwrap());
        objects.map(|object| object["metadata"]["annotations"]["qontract.sha256sum"].to_string()).collect()
    };
    assert!(hashes(&bundle).len() > 30);
    let stage = |all: &Value| {
        all["targets"].as_array().unwrap().iter().find(|one| one["environment"] == "stage").unwrap()["values"].clone()
    };
    assert_eq!(stage(&bundle), stage(&directory));
}

#[test]
fn files_are_written_by_cluster_and_namespace() {
    let out = tempfile::tempdir().unwrap();
    let folder = out.path().to_str().unwrap();
    let done = integrations(&[
        "render",
        "--from",
        example().join("data").to_str().unwrap(),
        "--environment",
        "stage",
        "--output-dir",
        folder,
    ]);
    assert!(done.status.success(), "{}", text(&done));
    let namespace = out.path().join("stage-01/integrations");
    assert!(
        namespace.join("values.json").is_file() && namespace.join("Service-qontract-reconcile.yaml").is_file(),
        "{}",
        text(&done)
    );
    assert!(namespace.join("parameters.json").is_file());
}

#[test]
fn a_change_of_one_image_is_told_with_its_shards_and_exit_code_2() {
    let (before, after) = (copied(), copied());
    let from = |folder: &tempfile::TempDir| folder.path().to_str().unwrap().to_string();
    let same = integrations(&["diff", "--from", &from(&before), "--to", &from(&after)]);
    assert_eq!((same.status.code(), text(&same).as_str()), (Some(0), "# Nothing changes\n"));
    edit(after.path(), "integrations/quay-mirror.yml", "memory: 400Mi", "memory: 500Mi");
    let differs = integrations(&["diff", "--from", &from(&before), "--to", &from(&after)]);
    assert_eq!(differs.status.code(), Some(2), "{}", text(&differs));
    assert!(text(&differs).contains("quay-mirror: changed"), "{}", text(&differs));
    let differs = integrations(&["diff", "-o", "json", "--from", &from(&before), "--to", &from(&after)]);
    assert_eq!(json(&differs)["groups"][0]["fate"], "changed");
}

#[test]
fn an_override_in_progress_is_told() {
    let who = integrations(&[
        "who",
        "--from",
        example().join("data").to_str().unwrap(),
        "--different",
        "--integration",
        "terraform-resources",
    ]);
    assert!(text(&who).contains("app-int-example-01"), "{}", text(&who));
}

#[test]
fn one_bad_file_is_told_and_the_rest_is_rendered() {
    let data = copied();
    edit(data.path(), "integrations/quay-mirror.yml", "$ref: /services", "$ref: /gone");
    let done = integrations(&["render", "-o", "json", "--from", data.path().to_str().unwrap()]);
    assert_eq!(done.status.code(), Some(1));
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    assert!(said.contains("error: /integrations/quay-mirror.yml:") && said.contains("which does not exist"), "{said}");
    assert!(json(&done)["targets"].as_array().unwrap().len() > 2);
}

#[test]
fn lint_has_nothing_against_the_example_and_tells_the_line_of_what_is_wrong() {
    let clean = integrations(&["lint", "--strict", "--from", example().to_str().unwrap()]);
    assert_eq!((clean.status.code(), text(&clean).as_str()), (Some(0), "0 errors, 0 warnings\n"));
    let data = copied();
    edit(data.path(), "integrations/quay-mirror.yml", "$ref: /services", "$ref: /gone");
    edit(data.path(), "integrations/aws-ami-share.yml", "logs:", "log:");
    let from = data.path().to_str().unwrap();
    let told = integrations(&["lint", "--from", from]);
    assert_eq!(told.status.code(), Some(1));
    let said = text(&told);
    assert!(
        said.contains("error: /integrations/quay-mirror.yml:1")
            && said.contains("managed[0].namespace: refers to /gone"),
        "{said}"
    );
    assert!(
        said.contains(
            "managed[0].spec.log: is not known, and does nothing (unknown-field)\nhint: did you mean `logs`?"
        ),
        "{said}"
    );
    let findings = json(&integrations(&["lint", "-o", "json", "--from", from]));
    assert!(
        findings.as_array().unwrap().iter().any(|one| one["rule"] == "unknown-field" && one["severity"] == "warning")
    );
}

#[test]
fn wrong_references_are_a_wrong_command_line() {
    let wrong = integrations(&["render", "--from", ".", "-r", "stage"]);
    assert_eq!(wrong.status.code(), Some(64), "{}", text(&wrong));
}

async fn logical(board: &Board, name: &str) -> Client {
    let options = KubeConfigOptions { context: Some(CONTEXT.to_string()), ..KubeConfigOptions::default() };
    let file = Kubeconfig::read_from(&board.serving.kubeconfig).unwrap();
    let mut config = kube::Config::from_custom_kubeconfig(file, &options).await.unwrap();
    config.cluster_url = format!("{}clusters/{name}", config.cluster_url).parse().unwrap();
    Client::try_from(config).unwrap()
}

async fn image(client: &Client, name: &str) -> Option<String> {
    let path = format!("/apis/apps/v1/namespaces/integrations/deployments/{name}");
    let object: Value = client.request(http::Request::get(path).body(Vec::new()).unwrap()).await.ok()?;
    Some(object["spec"]["template"]["spec"]["containers"][0]["image"].as_str()?.to_string())
}

#[tokio::test(flavor = "multi_thread")]
async fn under_up_the_data_is_followed_and_every_cluster_of_it_looked_after() {
    let data = copied();
    let section = format!(
        "operators: {{}}\nintegrations:\n  source: {}\n  interval: 1h\n  environment: stage\n",
        data.path().display()
    );
    let board = Board::up(&section);
    let client = logical(&board, "stage-01").await;
    let first = eventually("a Deployment", || image(&client, "qontract-reconcile-aws-ami-share")).await;
    edit(data.path(), "integrations/aws-ami-share.yml", "spec: &spec\n", "spec: &spec\n    imageRef: next\n");
    // Noticed at once: the interval is an hour.
    let next = eventually("another image", || async {
        image(&client, "qontract-reconcile-aws-ami-share").await.filter(|image| *image != first)
    })
    .await;
    assert!(next.ends_with(":next"), "{next}");
    board.row("integrations@stage-01", |row| row["word"] == "Ready").await;
}
