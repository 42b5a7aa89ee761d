//! `top`: one line per operator, with the names that users gave and the cause of each state.

use std::collections::{BTreeMap, BTreeSet};

use clap::Args;
use serde_json::json;
use switchboard_gitops::argocd::deployment_of;
use switchboard_gitops::resources::DEPLOYMENTS;
use switchboard_gitops::state::root_cause;
use switchboard_kernel::explain::{self, TopReport, TopRow};

use super::render_report;
use crate::failure::CommandError;
use crate::output_format::OutputFormat;
use crate::state_args::StateArgs;
use crate::watch_loop::WatchArgs;

/// Show the activity of every operator
#[derive(Args)]
pub struct Top {
    /// Output format
    #[arg(short, long, value_enum, default_value_t)]
    output: OutputFormat,
    #[command(flatten)]
    watch: WatchArgs,
    #[command(flatten)]
    pub state: StateArgs,
}

/// Deployments as `namespace/name`, by uid.
type DeploymentNames = BTreeMap<String, String>;

impl Top {
    /// Prints the report.
    pub async fn run(self) -> Result<(), CommandError> {
        self.watch.show(|| self.look()).await
    }

    async fn look(&self) -> Result<String, CommandError> {
        let mut report = explain::report(&self.state.dir().state().await?);
        if self.output.is_table() {
            let names = self.deployment_names(&report).await;
            for row in &mut report.operators {
                row.reason = with_names(&row.reason, &names);
                if self.output == OutputFormat::Table {
                    row.reason = brief(row);
                }
            }
        }
        render_report(&report, self.output, &self.state.dir())
    }

    /// Returns the names of the deployments whose Applications the reasons name. Without an answer, they keep the
    /// generated names.
    async fn deployment_names(&self, report: &TopReport) -> DeploymentNames {
        let reasons = report.operators.iter().flat_map(|row| row.reason.split(' '));
        let uids: BTreeSet<String> = reasons.filter_map(deployment_uid).collect();
        if uids.is_empty() {
            return DeploymentNames::new();
        }
        let body = json!({"kind": DEPLOYMENTS.to_string(), "uids": uids}).to_string();
        self.state.dir().request("POST", "/api/v1/names", body).await.unwrap_or_default()
    }
}

/// Splits a word from the punctuation at its end.
fn split_punctuation(word: &str) -> (&str, &str) {
    word.split_at(word.trim_end_matches([':', ',', ';', '.']).len())
}

/// Returns the uid of the deployment for which a unit `namespace/gitopsdepl-UID` exists.
fn deployment_uid(word: &str) -> Option<String> {
    let (_, name) = split_punctuation(word).0.split_once('/')?;
    deployment_of(name).map(|uid| uid.to_string())
}

/// Replaces generated names of Applications by the names of their deployments.
fn with_names(reason: &str, names: &DeploymentNames) -> String {
    let word = |word: &str| match deployment_uid(word).and_then(|uid| names.get(&uid)) {
        Some(name) => format!("{name}{}", split_punctuation(word).1),
        None => word.to_string(),
    };
    reason.split(' ').map(word).collect::<Vec<_>>().join(" ")
}

/// Shortens a reason of Argo CD to its unit and root cause.
fn brief(row: &TopRow) -> String {
    let (reason, root) = (row.reason.as_str(), root_cause(&row.reason));
    // The reason of a paused operator begins with the pause.
    if root.len() == reason.len() || row.paused.is_some() {
        return reason.to_string();
    }
    match reason.split_once(": ") {
        Some((unit, _)) if !unit.contains(' ') => format!("{unit}: {root}"),
        _ => root.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use switchboard_kernel::state::{KernelState, OperatorState};

    use super::*;

    const UID: &str = "2b211f51-18da-4f6f-a9e9-f1b401d438d8";

    fn row(reason: String) -> TopRow {
        let operator = OperatorState { reason, ..OperatorState::default() };
        explain::report(&KernelState { operators: vec![operator], ..KernelState::default() }).operators.remove(0)
    }

    #[test]
    fn a_reason_names_the_deployment_and_the_cause() {
        let reason = format!(
            "gitops-service-argocd/gitopsdepl-{UID}: Failed to load target state: failed to generate manifest for source 1 of 1: rpc error: code = Unknown desc = nope: app path does not exist"
        );
        assert_eq!(reason.split(' ').find_map(deployment_uid).as_deref(), Some(UID));
        let names = DeploymentNames::from([(UID.to_string(), "team/badpath".to_string())]);
        let named = with_names(&reason, &names);
        assert!(named.starts_with("team/badpath: Failed to load"), "{named}");
        assert_eq!(brief(&row(named)), "team/badpath: nope: app path does not exist");
        assert!(with_names(&reason, &DeploymentNames::new()) == reason, "an unknown deployment keeps its name");
    }

    #[test]
    fn other_reasons_are_kept() {
        for reason in ["", "shop/web: ConfigMap greeting to appear", "could not watch pods of cluster a: no answer"] {
            assert_eq!(brief(&row(with_names(reason, &DeploymentNames::new()))), reason);
        }
    }
}
