//! `run --only`: hosts one operator, so that a team can migrate operators one by one.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use clap::Args;
use switchboard_kernel::config::{ClusterConfig, Config, ConsoleConfig, OperatorConfig, ProcessConfig};
use switchboard_kernel::operator::{OperatorName, ServiceAccount};
use switchboard_kernel::topology::{ClusterName, Topology};
use switchboard_object::name;

use crate::cluster_args::ClusterArgs;

/// Cluster name for a kubeconfig on the command line.
const ONLY: &str = "default";

/// Flags that reduce `run` to one operator.
#[derive(Args)]
pub struct OnlyArgs {
    /// Run only one operator: a name from this binary or the configuration, or the path of a program
    #[arg(long = "only", value_name = "OPERATOR")]
    operator: Option<String>,
    /// Run the program's apply-configuration-live as well
    #[arg(long, requires = "operator")]
    live: bool,
    /// Service account for writes, as NAMESPACE/NAME
    #[arg(long, value_name = "ACCOUNT", value_parser = account, requires = "operator")]
    service_account: Option<ServiceAccount>,
}

/// The operator cannot be hosted.
#[derive(Debug, thiserror::Error)]
pub enum OnlyError {
    /// The operator is unknown.
    #[error(
        "unknown operator `{0}`\nhint: pass one of {1}, an operator of the configuration, or the path of a program, such as ./{0}"
    )]
    Unknown(String, String),
    /// The program does not exist.
    #[error("could not find the program {0}\nhint: pass the path of a binary with the four commands")]
    NoProgram(String),
    /// The file name of the program is not a valid operator name.
    #[error(
        "`{0}` is not a valid operator name\nhint: name the operator in a configuration, and pass it with --config"
    )]
    NoName(String),
    /// The operator is native.
    #[error("`{0}` is not a program, so it has no live command\nhint: remove --live")]
    NotLive(OperatorName),
}

fn account(text: &str) -> Result<ServiceAccount, String> {
    let invalid = || format!("expected NAMESPACE/NAME instead of `{text}`");
    let (namespace, account) = text.split_once('/').ok_or_else(invalid)?;
    if namespace.is_empty() || account.is_empty() || account.contains('/') {
        return Err(invalid());
    }
    Ok(ServiceAccount { namespace: namespace.to_string(), name: account.to_string() })
}

impl OnlyArgs {
    /// Whether `--only` is set.
    pub fn is_set(&self) -> bool {
        self.operator.is_some()
    }

    /// Reduces a configuration to the operator of `--only`, if set, and applies the flags.
    pub fn apply_to(&self, config: &mut Config, cluster_args: &ClusterArgs) -> Result<(), OnlyError> {
        let Some(only) = &self.operator else { return Ok(()) };
        let (name, mut operator) = operator_config(only, config)?;
        operator.enabled = true;
        if self.service_account.is_some() {
            operator.service_account.clone_from(&self.service_account);
        }
        if self.live {
            let process = operator.process.as_mut().ok_or_else(|| OnlyError::NotLive(name.clone()))?;
            process.live = true;
        }
        reduce_to(config, name, operator);
        if cluster_args.kubeconfig.is_some() || cluster_args.context.is_some() {
            let cluster_name = ClusterName::new(ONLY);
            let ClusterArgs { kubeconfig, context } = cluster_args.clone();
            config.topology = Topology::standalone(&cluster_name);
            config.clusters = BTreeMap::from([(cluster_name, ClusterConfig { kubeconfig, context })]);
        }
        Ok(())
    }
}

/// Finds an operator in the configuration, in this binary, or as a program.
fn operator_config(only: &str, config: &mut Config) -> Result<(OperatorName, OperatorConfig), OnlyError> {
    let name = OperatorName::new(only);
    if let Some(configured) = config.operators.remove(&name) {
        return Ok((name, configured));
    }
    if config.families.operators().contains(&only) || config.families.samples().contains(&only) {
        return Ok((name, OperatorConfig::default()));
    }
    if !only.contains('/') {
        return Err(OnlyError::Unknown(only.to_string(), config.families.operators().join(", ")));
    }
    let program = PathBuf::from(only);
    if !program.is_file() {
        return Err(OnlyError::NoProgram(only.to_string()));
    }
    let name = operator_name(&program).ok_or_else(|| OnlyError::NoName(only.to_string()))?;
    let process = Some(ProcessConfig { program, ..ProcessConfig::default() });
    Ok((name, OperatorConfig { process, ..OperatorConfig::default() }))
}

/// Reduces a configuration to one operator, and drops what the main process already owns: writers and listen addresses.
fn reduce_to(config: &mut Config, name: OperatorName, operator: OperatorConfig) {
    config.sections.clear();
    config.listen = None;
    config.console = ConsoleConfig { disabled: config.console.disabled, ..ConsoleConfig::default() };
    // A related operator with an entry of its own runs separately, as under `run`.
    let families = config.families;
    config.operators.retain(|other, _| families.head_of(&other.0) == Some(&*name.0));
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
    use switchboard_runtime::families::FAMILIES;
    use switchboard_runtime::{config_file, run};

    use super::*;
    use crate::run::RunCommand;

    #[derive(Parser)]
    struct TestArguments {
        #[command(flatten)]
        run: RunCommand,
    }

    fn config(arguments: &[&str]) -> Result<Config, String> {
        let line = TestArguments::try_parse_from([&["run"], arguments].concat()).map_err(|error| error.to_string())?;
        let file = line.run.config_file().map_or_else(
            || Ok(Config { families: FAMILIES, ..Config::default() }),
            |file| config_file::read_config(FAMILIES, file),
        );
        file.and_then(|config| line.run.with_flags(config)).map_err(|error| error.to_string())
    }

    #[test]
    fn native_operator_runs_alone_on_the_cluster_of_the_kubeconfig() {
        let config = config(&["--only", "greeter", "--kubeconfig", "k", "--service-account", "a/b"]).unwrap();
        assert_eq!(config.operators.keys().map(ToString::to_string).collect::<Vec<_>>(), ["greeter"]);
        let account = ServiceAccount { namespace: "a".into(), name: "b".into() };
        assert_eq!(config.operators.values().next().unwrap().service_account, Some(account));
        let clusters: Vec<_> = config.clusters.values().map(|cluster| cluster.kubeconfig.clone().unwrap()).collect();
        assert_eq!(clusters, [PathBuf::from("k")]);
        assert_eq!(config.topology, Topology::standalone(&ClusterName::new(ONLY)));
    }

    #[test]
    fn program_is_named_after_its_file() {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("auth-operator");
        std::fs::write(&program, "").unwrap();
        let config = config(&["--only", program.to_str().unwrap(), "--live"]).unwrap();
        let (name, operator) = config.operators.iter().next().unwrap();
        assert_eq!(&*name.0, "auth-operator");
        let process = operator.process.as_ref().unwrap();
        assert_eq!((&process.program, process.live, process.sandbox), (&program, true, true));
        assert_eq!(operator.limits().memory_bytes, PROCESS_MEMORY_BYTES);
    }

    #[test]
    fn only_the_selected_operator_of_a_configuration_runs() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("switchboard.yaml");
        std::fs::write(&file, "operators: {greeter: {enabled: false, debounce: 3s}, rogue-red: {}}\n").unwrap();
        let config = config(&["--only", "greeter", "--config", file.to_str().unwrap()]).unwrap();
        assert_eq!(config.operators.len(), 1);
        let greeter = config.operators.values().next().unwrap();
        assert!(greeter.enabled, "--only enables the operator");
        assert_eq!(greeter.limits().debounce, std::time::Duration::from_secs(3));
    }

    /// A `run` with the same file may be active at the same time.
    #[test]
    fn nothing_else_of_a_configuration_runs_or_listens() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("switchboard.yaml");
        let text = "operators: {greeter: {}, plugs: {}, sockets: {}}\nintegrations: {source: data}\ngitops: {}\n\
            listen: 127.0.0.1:9464\nconsole: {address: '127.0.0.1:7000', hosts: [console.example.org]}\n";
        std::fs::write(&file, text).unwrap();
        let alone = |operator| config(&["--only", operator, "--config", file.to_str().unwrap()]).unwrap();
        let greeter = alone("greeter");
        assert!(greeter.sections.is_empty() && greeter.listen.is_none());
        assert_eq!(greeter.console, ConsoleConfig::default(), "the console falls back to a free port");
        let hosted = |config: &Config| -> Vec<String> {
            run::configured_operators(config).iter().map(|(operator, _)| operator.name().to_string()).collect()
        };
        assert_eq!(hosted(&greeter), ["greeter"]);
        assert!(!hosted(&alone("plugs")).contains(&"sockets".to_string()), "sockets has an entry of its own");
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
    fn errors_name_the_operator_and_a_hint() {
        for (arguments, words) in [
            (vec!["--only", "greater"], "hint: pass one of deferredresources, engine, greeter"),
            (vec!["--only", "./nowhere"], "could not find the program ./nowhere"),
            (vec!["--live"], "--only <OPERATOR>"),
            (vec!["--only", "greeter", "--live"], "hint: remove --live"),
            (vec!["--only", "greeter", "--service-account", "a"], "expected NAMESPACE/NAME instead of `a`"),
        ] {
            let error = config(&arguments).unwrap_err();
            assert!(error.contains(words), "{error}");
        }
    }
}
