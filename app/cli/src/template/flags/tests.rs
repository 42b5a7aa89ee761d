//! Flags are parsed like in Go.
#![allow(clippy::unwrap_used)]

use clap::{Args, Command, FromArgMatches};

use super::go::{boolean, csv, duration, pairs, wait};
use crate::template::TemplateCommand;

fn command() -> Command {
    TemplateCommand::augment_args(Command::new("template"))
}

fn parsed(arguments: &[&str]) -> Result<(), String> {
    let all = std::iter::once("template").chain(arguments.iter().copied());
    let matches = command().try_get_matches_from(all).map_err(|error| error.to_string())?;
    TemplateCommand::from_arg_matches(&matches).map(|_| ()).map_err(|error| error.to_string())
}

#[test]
fn every_flag_of_helm_is_known() {
    let all = [
        "api-versions",
        "atomic",
        "burst-limit",
        "ca-file",
        "cert-file",
        "color",
        "content-cache",
        "create-namespace",
        "debug",
        "dependency-update",
        "description",
        "devel",
        "disable-openapi-validation",
        "dry-run",
        "enable-dns",
        "force",
        "force-conflicts",
        "force-replace",
        "generate-name",
        "hide-notes",
        "include-crds",
        "insecure-skip-tls-verify",
        "is-upgrade",
        "key-file",
        "keyring",
        "kube-apiserver",
        "kube-as-group",
        "kube-as-user",
        "kube-ca-file",
        "kube-context",
        "kube-insecure-skip-tls-verify",
        "kube-tls-server-name",
        "kube-token",
        "kube-version",
        "kubeconfig",
        "labels",
        "name-template",
        "namespace",
        "no-hooks",
        "output-dir",
        "pass-credentials",
        "password",
        "plain-http",
        "post-renderer",
        "post-renderer-args",
        "qps",
        "registry-config",
        "release-name",
        "render-subchart-notes",
        "replace",
        "repo",
        "repository-cache",
        "repository-config",
        "rollback-on-failure",
        "server-side",
        "set",
        "set-file",
        "set-json",
        "set-literal",
        "set-string",
        "show-only",
        "skip-crds",
        "skip-schema-validation",
        "skip-tests",
        "take-ownership",
        "timeout",
        "username",
        "validate",
        "values",
        "verify",
        "version",
        "wait",
        "wait-for-jobs",
    ];
    let command = command();
    let known: Vec<&str> = command.get_arguments().filter_map(|arg| arg.get_long()).collect();
    let missing: Vec<&&str> = all.iter().filter(|flag| !known.contains(flag)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn switches_take_values_and_the_last_one_counts() {
    for good in [
        &["r", "c", "--no-hooks=false", "--no-hooks"][..],
        &["r", "c", "--skip-tests=T", "--server-side=0", "-g=false", "--colour", "never"],
        &["r", "c", "--dry-run", "--dry-run=server", "--wait", "--wait=legacy", "--timeout", "1h5m"],
        &["--set", "-a=b", "c", "-lx=y,z=1", "--qps", "1.5"],
    ] {
        parsed(good).unwrap_or_else(|error| panic!("{good:?}: {error}"));
    }
    for bad in [
        &["r", "c", "--no-hooks=nix"][..],
        &["r", "c", "--wait=nix"],
        &["r", "c", "--timeout", "5"],
        &["r", "c", "-l", "nix"],
        &["r", "c", "--validate", "--dry-run=client"],
        &["r", "c", "--force", "--force-conflicts"],
        &[],
    ] {
        assert!(parsed(bad).is_err(), "{bad:?}");
    }
}

#[test]
fn value_errors_match_go() {
    assert_eq!(csv("a,\"b,c\",,\"d\"\"e\"").unwrap().0, ["a", "b,c", "", "d\"e"]);
    assert_eq!(csv("x\"y").unwrap_err(), "parse error on line 1, column 2: bare \" in non-quoted-field");
    assert_eq!(boolean("nix").unwrap_err(), "strconv.ParseBool: parsing \"nix\": invalid syntax");
    assert_eq!(duration("5").unwrap_err(), "time: missing unit in duration \"5\"");
    assert_eq!(duration("5x").unwrap_err(), "time: unknown unit \"x\" in duration \"5x\"");
    assert_eq!(pairs("nix").unwrap_err(), "nix must be formatted as key=value");
    assert!(wait("nix").unwrap_err().starts_with("invalid wait input \"nix\""));
}
