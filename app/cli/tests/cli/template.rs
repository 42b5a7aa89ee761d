//! `switchboard template` on the charts of `helm/chart/tests/charts`, with recorded results of Helm.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn charts() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../helm/chart/tests/charts")
}

/// Lists the cases below a folder of charts: folders with a file `args`, one argument a line.
pub fn cases(charts: &Path) -> Vec<PathBuf> {
    let mut cases = Vec::new();
    for chart in fs::read_dir(charts).unwrap() {
        for case in fs::read_dir(chart.unwrap().path().join("cases")).unwrap() {
            cases.push(case.unwrap().path());
        }
    }
    cases.sort();
    cases
}

fn arguments(case: &Path) -> Vec<String> {
    fs::read_to_string(case.join("args")).unwrap().lines().map(str::to_string).collect()
}

/// Removes the settings of this machine: kubeconfig and namespace.
pub fn alone(command: &mut Command) {
    command.env("KUBECONFIG", "nowhere").env_remove("HELM_NAMESPACE").env_remove("HELM_DEBUG");
}

fn template(case: &Path, with: &dyn Fn(&mut Command)) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_switchboard"));
    command.arg("template").args(arguments(case)).current_dir(case);
    alone(&mut command);
    with(&mut command);
    command.output().unwrap()
}

/// Returns the difference to Helm's output, if any.
fn difference(case: &Path, with: &dyn Fn(&mut Command)) -> Option<String> {
    let output = template(case, with);
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    if let Ok(wanted) = fs::read_to_string(case.join("expected.yaml")) {
        return (stdout != wanted).then(|| format!("printed:\n{stdout}\ninstead of:\n{wanted}\nand said:\n{stderr}"));
    }
    let wanted = fs::read_to_string(case.join("expected.err")).unwrap();
    let failed = output.status.code() == Some(1) && stderr.contains(wanted.trim());
    (!failed).then(|| format!("said:\n{stderr}\ninstead of:\n{wanted}\nand printed:\n{stdout}"))
}

/// Fails with all differences.
pub fn differences(cases: &[PathBuf], with: &dyn Fn(&mut Command)) {
    let differences = cases.iter().filter_map(|case| Some((case, difference(case, with)?)));
    let shown_text: Vec<String> =
        differences.map(|(case, difference)| format!("{}: {difference}", case.display())).collect();
    assert!(shown_text.is_empty(), "{} cases differ:\n{}", shown_text.len(), shown_text.join("\n"));
}

#[test]
fn charts_render_as_with_helm() {
    let cases = cases(&charts());
    assert!(cases.len() > 100, "{}", cases.len());
    if std::env::var_os("UPDATE").is_some() {
        cases.iter().for_each(|case| record(case, &|_| {}));
    }
    differences(&cases, &|_| {});
}

/// Records the output of Helm 4, built by `tests/real/build`.
pub fn record(case: &Path, with: &dyn Fn(&mut Command)) {
    let mut command = Command::new(Path::new(&std::env::var("SWITCHBOARD_REAL_BIN").unwrap()).join("helm4"));
    command.arg("template").args(arguments(case)).current_dir(case);
    alone(&mut command);
    with(&mut command);
    let output = command.output().unwrap();
    let _ = fs::remove_file(case.join("expected.yaml"));
    let _ = fs::remove_file(case.join("expected.err"));
    if output.status.success() {
        fs::write(case.join("expected.yaml"), output.stdout).unwrap();
    } else {
        let stderr_text = String::from_utf8_lossy(&output.stderr).into_owned();
        let lines: Vec<&str> = stderr_text
            .split('\n')
            .filter(|line| !line.starts_with("level=") && !line.starts_with("Flag --"))
            .collect();
        fs::write(case.join("expected.err"), lines.join("\n")).unwrap();
    }
}

#[test]
fn files_are_written_one_for_each_template() {
    let folder = tempfile::tempdir().unwrap();
    let chart = charts().join("manifests/chart");
    let mut command = Command::new(env!("CARGO_BIN_EXE_switchboard"));
    command.args(["template", "rel"]).arg(chart).args(["--release-name", "--include-crds", "--output-dir"]);
    let output = command.arg(folder.path()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        printed.contains(&format!("wrote {}/rel/manifests/templates/hooks.yaml", folder.path().display())),
        "{printed}"
    );
    let hooks = fs::read_to_string(folder.path().join("rel/manifests/templates/hooks.yaml")).unwrap();
    assert_eq!(hooks.matches("# Source: manifests/templates/hooks.yaml").count(), 4, "{hooks}");
    assert!(folder.path().join("manifests/crds/a.yaml").exists());
}

#[test]
fn source_of_a_document_is_reported_with_a_hint() {
    let output = template(&charts().join("error-second-doc/cases/err"), &|_| {});
    let stderr_text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(stderr_text.contains("e/templates/a.yaml:5:6"), "{stderr_text}");
    assert!(stderr_text.contains("hint: quote it: {{ .Values.v | quote }}"), "{stderr_text}");
}
