//! `switchboard individual`: runs one operator live, so that a team can migrate operators one by one.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use clap::Args;
use switchboard_kernel::config::{ClusterConfig, Config, ConsoleConfig, OperatorConfig, ProcessConfig};
use switchboard_kernel::operator::{OperatorName, ServiceAccount};
use switchboard_kernel::topology::{ClusterName, Topology};
use switchboard_object::name;
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::cluster_args::ClusterArgs;
use crate::failure::CommandError;
use crate::kernel::{self, StateDir};
use crate::run::{self, RunningKernel, WatchedConfig};
use crate::stderr::print_stderr;
use crate::{hosted, operators};

/// Cluster name for a kubeconfig on the command line.
const ONLY: &str = "default";

/// Run one operator
#[derive(Args)]
pub struct SingleOperator {
    /// Operator of this binary or of the configuration, or the path of a program with the four commands
    #[arg(long, value_name = "NAME|PROGRAM")]
    operator: String,
    #[command(flatten)]
    reach: ClusterArgs,
    /// Configuration file with clusters, topology, limits and settings of the operator
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Run the program's apply-configuration-live as well
    #[arg(long)]
    live: bool,
    /// Service account to write as, as NAMESPACE/NAME
    #[arg(long, value_name = "ACCOUNT", value_parser = account)]
    service_account: Option<ServiceAccount>,
    /// Send writes to the clusters as dry runs; write nothing
    #[arg(long)]
    dry_run: bool,
    /// State directory of the kernel [default: individual/<operator> in the user's data directory]
    #[arg(long, value_name = "DIR")]
    state_dir: Option<PathBuf>,
}

/// The operator cannot be hosted.
#[derive(Debug, thiserror::Error)]
enum SingleOperatorError {
    #[error(
        "there is no operator `{0}`\nhint: name one of {1}, one of the configuration, or a program by its path, such as ./{0}"
    )]
    Unknown(String, String),
    #[error("there is no program {0}\nhint: give the path of a binary with the four commands")]
    NoProgram(String),
    #[error("`{0}` is no name for an operator\nhint: name it in a configuration and give that with --config")]
    NoName(String),
    #[error("`{0}` is no program of its own, so it has no live command\nhint: leave out --live")]
    NotLive(OperatorName),
}

fn account(text: &str) -> Result<ServiceAccount, String> {
    let wanted = || format!("`{text}` is no NAMESPACE/NAME");
    let (namespace, account) = text.split_once('/').ok_or_else(wanted)?;
    if namespace.is_empty() || account.is_empty() || account.contains('/') {
        return Err(wanted());
    }
    Ok(ServiceAccount { namespace: namespace.to_string(), name: account.to_string() })
}

impl SingleOperator {
    /// Runs until a signal arrives.
    pub async fn run(self) -> Result<(), CommandError> {
        let (mut interrupt, mut terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
        // Without a configuration file there is nothing to reload, and SIGHUP ends the process as usual.
        let hangup = self.config.as_ref().map(|_| signal(SignalKind::hangup())).transpose()?;
        let (config, followed) = self.config()?;
        config.warnings().iter().for_each(|warning| print_stderr(format_args!("warning: {warning}")));
        let clusters = hosted::connect(&config).await?;
        let hosted = config.operators.iter().find(|(_, operator)| operator.enabled);
        let name = hosted.map(|(name, _)| name.to_string()).unwrap_or_default();
        let dir = StateDir::new(self.state_dir.clone()).or_for_operator(&name).path()?;
        let running = RunningKernel::start(&config, clusters, &dir, self.dry_run).await?;
        kernel::print_state_dir_hint(&dir);
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
            () = self.reload(followed, config, &running, hangup) => {}
        }
        run::stop(running, &mut interrupt, &mut terminate).await
    }

    /// Reloads the file; the flags of the command line still take precedence.
    async fn reload(
        &self,
        followed: Option<WatchedConfig<'_>>,
        config: Config,
        running: &RunningKernel,
        hangup: Option<Signal>,
    ) {
        match (followed, hangup) {
            (Some(followed), Some(hangup)) => {
                run::reload(followed, |new| self.single_config(new), config, running, hangup).await;
            }
            _ => std::future::pending().await,
        }
    }

    /// Returns the configuration and the file it was read from.
    fn config(&self) -> Result<(Config, Option<WatchedConfig<'_>>), CommandError> {
        let Some(file) = &self.config else { return Ok((self.single_config(Config::default())?, None)) };
        let (config, text) = kernel::read_with_text(file)?;
        Ok((self.single_config(config)?, Some(WatchedConfig::new(file, text))))
    }

    /// Reduces a configuration to the selected operator and applies the flags.
    fn single_config(&self, mut config: Config) -> Result<Config, CommandError> {
        let (name, mut operator) = self.operator_config(&mut config)?;
        operator.enabled = true;
        if self.service_account.is_some() {
            operator.service_account.clone_from(&self.service_account);
        }
        if self.live {
            let process = operator.process.as_mut().ok_or_else(|| SingleOperatorError::NotLive(name.clone()))?;
            process.live = true;
        }
        reduce_to(&mut config, name, operator);
        if self.reach.kubeconfig.is_some() || self.reach.context.is_some() {
            let only = ClusterName::new(ONLY);
            let ClusterArgs { kubeconfig, context } = self.reach.clone();
            let cluster = ClusterConfig { kubeconfig, context };
            config.topology = Topology::standalone(&only);
            config.clusters = BTreeMap::from([(only, cluster)]);
        }
        Ok(config)
    }

    /// Finds the operator in the configuration, in this binary, or as a program.
    fn operator_config(&self, config: &mut Config) -> Result<(OperatorName, OperatorConfig), SingleOperatorError> {
        let name = OperatorName::new(&self.operator);
        if let Some(written) = config.operators.remove(&name) {
            return Ok((name, written));
        }
        if operators::names().any(|known| known == self.operator) {
            return Ok((name, OperatorConfig::default()));
        }
        if !self.operator.contains('/') {
            let known = operators::KNOWN.operators.join(", ");
            return Err(SingleOperatorError::Unknown(self.operator.clone(), known));
        }
        let program = PathBuf::from(&self.operator);
        if !program.is_file() {
            return Err(SingleOperatorError::NoProgram(self.operator.clone()));
        }
        let name = operator_name(&program).ok_or_else(|| SingleOperatorError::NoName(self.operator.clone()))?;
        let process = Some(ProcessConfig { program, ..ProcessConfig::default() });
        Ok((name, OperatorConfig { process, ..OperatorConfig::default() }))
    }
}

/// Reduces a configuration to one operator, and drops what the main process already owns: writers and listen addresses.
fn reduce_to(config: &mut Config, name: OperatorName, operator: OperatorConfig) {
    (config.integrations, config.gitops, config.listen) = (None, None, None);
    config.console = ConsoleConfig { disabled: config.console.disabled, ..ConsoleConfig::default() };
    // A related operator with an entry of its own runs separately, as under `run`.
    config.operators.retain(|other, _| operators::family_head(&other.0) == Some(&*name.0));
    config.operators.values_mut().for_each(|other| other.enabled = false);
    config.operators.insert(name, operator);
}

/// Returns the file name of a program without its extension, if it is a valid operator name.
fn operator_name(program: &Path) -> Option<OperatorName> {
    let stem = program.file_stem()?.to_str()?;
    name::dns1123_label(stem).is_empty().then(|| OperatorName::new(stem))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use clap::Parser;
    use switchboard_kernel::config::PROCESS_MEMORY_BYTES;

    use super::*;

    #[derive(Parser)]
    struct TestArguments {
        #[command(flatten)]
        individual: SingleOperator,
    }

    fn config(arguments: &[&str]) -> Result<Config, String> {
        let line =
            TestArguments::try_parse_from([&["individual"], arguments].concat()).map_err(|error| error.to_string())?;
        line.individual.config().map(|(config, _)| config).map_err(|error| error.to_string())
    }

    #[test]
    fn a_native_operator_is_hosted_alone_on_the_cluster_of_the_kubeconfig() {
        let config = config(&["--operator", "greeter", "--kubeconfig", "k", "--service-account", "a/b"]).unwrap();
        assert_eq!(config.operators.keys().map(ToString::to_string).collect::<Vec<_>>(), ["greeter"]);
        let account = ServiceAccount { namespace: "a".into(), name: "b".into() };
        assert_eq!(config.operators.values().next().unwrap().service_account, Some(account));
        let clusters: Vec<_> = config.clusters.values().map(|cluster| cluster.kubeconfig.clone().unwrap()).collect();
        assert_eq!(clusters, [PathBuf::from("k")]);
        assert_eq!(config.topology, Topology::standalone(&ClusterName::new(ONLY)));
    }

    #[test]
    fn a_program_is_named_after_its_file() {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("auth-operator");
        std::fs::write(&program, "").unwrap();
        let config = config(&["--operator", program.to_str().unwrap(), "--live"]).unwrap();
        let (name, operator) = config.operators.iter().next().unwrap();
        assert_eq!(&*name.0, "auth-operator");
        let process = operator.process.as_ref().unwrap();
        assert_eq!((&process.program, process.live, process.sandbox), (&program, true, true));
        assert_eq!(operator.limits().memory_bytes, PROCESS_MEMORY_BYTES);
    }

    #[test]
    fn of_a_configuration_only_the_one_is_taken() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("switchboard.yaml");
        std::fs::write(&file, "operators: {greeter: {enabled: false, debounce: 3s}, rogue-red: {}}\n").unwrap();
        let config = config(&["--operator", "greeter", "--config", file.to_str().unwrap()]).unwrap();
        assert_eq!(config.operators.len(), 1);
        let greeter = config.operators.values().next().unwrap();
        assert!(greeter.enabled, "whoever names it wants it");
        assert_eq!(greeter.limits().debounce, std::time::Duration::from_secs(3));
    }

    /// A `run` with the same file may be active at the same time.
    #[test]
    fn of_a_configuration_nothing_else_is_hosted_or_listened_at() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("switchboard.yaml");
        let text = "operators: {greeter: {}, plugs: {}, sockets: {}}\nintegrations: {source: data}\ngitops: {}\n\
            listen: 127.0.0.1:9464\nconsole: {address: '127.0.0.1:7000', hosts: [console.example.org]}\n";
        std::fs::write(&file, text).unwrap();
        let alone = |operator| config(&["--operator", operator, "--config", file.to_str().unwrap()]).unwrap();
        let greeter = alone("greeter");
        assert_eq!((&greeter.integrations, &greeter.gitops, greeter.listen), (&None, &None, None));
        assert_eq!(greeter.console, ConsoleConfig::default(), "a free port when the usual one is taken");
        let hosted = |config: &Config| -> Vec<String> {
            run::configured_operators(config).iter().map(|(operator, _)| operator.name().to_string()).collect()
        };
        assert_eq!(hosted(&greeter), ["greeter"]);
        assert!(!hosted(&alone("plugs")).contains(&"sockets".to_string()), "which the file names by itself");
        assert_eq!(hosted(&alone("sockets")), ["sockets"]);
        std::fs::write(
            &file,
            format!("{text}\n")
                .replace("console: {address: '127.0.0.1:7000', hosts: [console.example.org]}", "console: off"),
        )
        .unwrap();
        assert!(alone("greeter").console.disabled);
    }

    #[test]
    fn what_cannot_be_hosted_is_said_with_what_to_do() {
        for (arguments, words) in [
            (vec!["--operator", "greater"], "hint: name one of deferredresources, engine, greeter"),
            (vec!["--operator", "./nowhere"], "there is no program ./nowhere"),
            (vec!["--operator", "greeter", "--live"], "hint: leave out --live"),
            (vec!["--operator", "greeter", "--service-account", "a"], "`a` is no NAMESPACE/NAME"),
        ] {
            let error = config(&arguments).unwrap_err();
            assert!(error.contains(words), "{error}");
        }
    }
}
