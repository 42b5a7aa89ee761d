//! `switchboard individual`: one operator alone, live, so that a team can move one at a time.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use clap::Args;
use switchboard_kernel::config::{ClusterConfig, Config, ConsoleConfig, OperatorConfig, ProcessConfig};
use switchboard_kernel::operator::{OperatorName, ServiceAccount};
use switchboard_kernel::place::{ClusterName, Topology};
use switchboard_object::name;
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::failure::Failure;
use crate::kernel::{self, StateDir};
use crate::reach::Reach;
use crate::run::{self, Followed, Running};
use crate::talk::say;
use crate::{guests, operators};

/// The cluster that a kubeconfig on the command line is.
const ONLY: &str = "default";

/// Hosts one operator alone.
#[derive(Args)]
pub struct Individual {
    /// An operator of this binary or of the configuration, or the path of a program with the four commands
    #[arg(long, value_name = "NAME|PROGRAM")]
    operator: String,
    #[command(flatten)]
    reach: Reach,
    /// Where clusters, topology, limits and what is said of the operator are taken from
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Run the program's apply-configuration-live as well
    #[arg(long)]
    live: bool,
    /// Whom it writes as, as NAMESPACE/NAME
    #[arg(long, value_name = "ACCOUNT", value_parser = account)]
    service_account: Option<ServiceAccount>,
    /// Ask the clusters to pretend; nothing is written
    #[arg(long)]
    dry_run: bool,
    /// The kernel's state directory [default: individual/<operator> in the user's data directory]
    #[arg(long, value_name = "DIR")]
    state_dir: Option<PathBuf>,
}

/// Why there is nothing to host.
#[derive(Debug, thiserror::Error)]
enum IndividualError {
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

impl Individual {
    /// Runs until a signal comes.
    pub async fn run(self) -> Result<(), Failure> {
        let (mut interrupt, mut terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
        // Without a file there is nothing to look at anew, and the signal ends the process as it does others.
        let hangup = self.config.as_ref().map(|_| signal(SignalKind::hangup())).transpose()?;
        let (config, followed) = self.config()?;
        config.warnings().iter().for_each(|warning| say(format_args!("warning: {warning}")));
        let clusters = guests::clusters(&config).await?;
        let hosted = config.operators.iter().find(|(_, operator)| operator.enabled);
        let name = hosted.map(|(name, _)| name.to_string()).unwrap_or_default();
        let dir = StateDir::of(self.state_dir.clone()).or_alone(&name).path()?;
        let running = Running::start(&config, clusters, &dir, self.dry_run).await?;
        kernel::say_where(&dir);
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
            () = self.reload(followed, config, &running, hangup) => {}
        }
        run::stop(running, &mut interrupt, &mut terminate).await
    }

    /// What the command line says counts over the file, then as at the start.
    async fn reload(&self, followed: Option<Followed<'_>>, config: Config, running: &Running, hangup: Option<Signal>) {
        match (followed, hangup) {
            (Some(followed), Some(hangup)) => {
                run::reload(followed, |new| self.alone(new), config, running, hangup).await;
            }
            _ => std::future::pending().await,
        }
    }

    /// What is hosted, and the file it was read from.
    fn config(&self) -> Result<(Config, Option<Followed<'_>>), Failure> {
        let Some(file) = &self.config else { return Ok((self.alone(Config::default())?, None)) };
        let (config, text) = kernel::read_with_text(file)?;
        Ok((self.alone(config)?, Some(Followed::new(file, text))))
    }

    /// The one operator of a configuration.
    fn alone(&self, mut config: Config) -> Result<Config, Failure> {
        let (name, mut operator) = self.wanted(&mut config)?;
        operator.enabled = true;
        if self.service_account.is_some() {
            operator.service_account.clone_from(&self.service_account);
        }
        if self.live {
            let process = operator.process.as_mut().ok_or_else(|| IndividualError::NotLive(name.clone()))?;
            process.live = true;
        }
        narrow(&mut config, name, operator);
        if self.reach.kubeconfig.is_some() || self.reach.context.is_some() {
            let only = ClusterName::new(ONLY);
            let Reach { kubeconfig, context } = self.reach.clone();
            let cluster = ClusterConfig { kubeconfig, context };
            config.topology = Topology::standalone(&only);
            config.clusters = BTreeMap::from([(only, cluster)]);
        }
        Ok(config)
    }

    /// The operator in whichever form it is there.
    fn wanted(&self, config: &mut Config) -> Result<(OperatorName, OperatorConfig), IndividualError> {
        let name = OperatorName::new(&self.operator);
        if let Some(written) = config.operators.remove(&name) {
            return Ok((name, written));
        }
        if operators::names().any(|known| known == self.operator) {
            return Ok((name, OperatorConfig::default()));
        }
        if !self.operator.contains('/') {
            let known = operators::KNOWN.operators.join(", ");
            return Err(IndividualError::Unknown(self.operator.clone(), known));
        }
        let program = PathBuf::from(&self.operator);
        if !program.is_file() {
            return Err(IndividualError::NoProgram(self.operator.clone()));
        }
        let name = own_name(&program).ok_or_else(|| IndividualError::NoName(self.operator.clone()))?;
        let process = Some(ProcessConfig { program, ..ProcessConfig::default() });
        Ok((name, OperatorConfig { process, ..OperatorConfig::default() }))
    }
}

/// Leaves one operator in a configuration, and nothing that whoever runs by all of it has as well: the others would write
/// twice, and an address is taken once.
fn narrow(config: &mut Config, name: OperatorName, operator: OperatorConfig) {
    (config.integrations, config.gitops, config.listen) = (None, None, None);
    config.console = ConsoleConfig { off: config.console.off, ..ConsoleConfig::default() };
    // One of its family that is named by itself is hosted by itself, here as under `run`.
    config.operators.retain(|other, _| operators::head(&other.0) == Some(&*name.0));
    config.operators.values_mut().for_each(|other| other.enabled = false);
    config.operators.insert(name, operator);
}

/// A program's file name without its ending, when an operator may have that name.
fn own_name(program: &Path) -> Option<OperatorName> {
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
    struct Line {
        #[command(flatten)]
        individual: Individual,
    }

    fn config(arguments: &[&str]) -> Result<Config, String> {
        let line = Line::try_parse_from([&["individual"], arguments].concat()).map_err(|error| error.to_string())?;
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

    /// A `run` of the same file may stand beside it.
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
            run::hosted(config).iter().map(|(operator, _)| operator.name().to_string()).collect()
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
        assert!(alone("greeter").console.off);
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
