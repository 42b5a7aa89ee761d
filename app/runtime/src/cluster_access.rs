//! Cluster selection like kubectl's: `--kubeconfig`, `--context`, `KUBECONFIG`, `~/.kube/config`, or the service
//! account of the pod.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use kube::config::{InClusterError, KubeConfigOptions, Kubeconfig, KubeconfigError};
use switchboard_cluster::request::DEFAULT_CLUSTER;
use switchboard_kernel::config::{ClusterConfig, Config};
use switchboard_object::causes::root_cause;

use crate::failure::CommandError;
use crate::local_ca;
use crate::state_dir::StateDir;
use crate::storage_location::StorageLocation;

/// Reason why no cluster could be selected.
#[derive(Debug, thiserror::Error)]
pub enum ClusterAccessError {
    /// The kubeconfig file does not exist.
    #[error("could not find the kubeconfig {}\nhint: check the path; `switchboard up` prints the path of its kubeconfig, `kubectl config view` shows yours", .0.display())]
    Missing(PathBuf),
    /// The kubeconfig file cannot be read or parsed.
    #[error("could not read the kubeconfig {}{place}\nhint: `kubectl --kubeconfig {} config view` shows what is wrong with it", file.display(), file.display())]
    Read {
        /// Path of the kubeconfig.
        file: PathBuf,
        /// Position of the parse error, as the end of the message. It never quotes the text: a kubeconfig holds tokens.
        place: String,
        /// I/O error of the read.
        #[source]
        source: Option<io::Error>,
    },
    /// The kubeconfig has no context of this name.
    #[error("{} has no context {name}\nhint: {}", display_name(file), context_names(known))]
    NoContext {
        /// The kubeconfig; `None` if several files were merged.
        file: Option<PathBuf>,
        /// Name of the missing context.
        name: String,
        /// Names of the existing contexts.
        known: Vec<String>,
    },
    /// The kubeconfig has no current context.
    #[error("{} has no current context\nhint: pass --context NAME; {}", display_name(file), context_names(known))]
    NoCurrent {
        /// The kubeconfig; `None` if several files were merged.
        file: Option<PathBuf>,
        /// Names of the existing contexts.
        known: Vec<String>,
    },
    /// Neither a flag, a variable, a kubeconfig nor a pod names a cluster.
    #[error(
        "could not select a cluster: there is no kubeconfig\nhint: pass --kubeconfig FILE, or set KUBECONFIG; `switchboard up` starts a cluster and prints the path of its kubeconfig"
    )]
    Nowhere,
    /// The settings of the kubeconfig cannot be used.
    #[error("could not use the kubeconfig\nhint: `kubectl get --raw /version` with the same kubeconfig shows details")]
    Use(#[source] CommandError),
}

fn display_name(file: &Option<PathBuf>) -> String {
    file.as_ref().map_or_else(|| "the kubeconfig".to_string(), |file| format!("the kubeconfig {}", file.display()))
}

fn context_names(known: &[String]) -> String {
    if known.is_empty() { "there are no contexts".to_string() } else { format!("contexts: {}", known.join(", ")) }
}

/// Access to a cluster by the settings of a configuration or by flags.
#[derive(Clone, Debug, Default)]
pub struct ClusterAccess(pub ClusterConfig);

impl ClusterAccess {
    /// Reads the client configuration of the selected cluster.
    pub async fn config(&self) -> Result<kube::Config, ClusterAccessError> {
        let Some((file, kubeconfig)) = self.read()? else {
            let pod = std::env::var_os("KUBERNETES_SERVICE_HOST").is_some();
            let why = |error: InClusterError| {
                if pod { ClusterAccessError::Use(error.into()) } else { ClusterAccessError::Nowhere }
            };
            return kube::Config::incluster().map_err(why);
        };
        let known: Vec<String> = kubeconfig.contexts.iter().map(|context| context.name.clone()).collect();
        let current = kubeconfig.current_context.as_ref().filter(|name| !name.is_empty());
        match (&self.0.context, current) {
            (Some(name), _) | (None, Some(name)) if !known.contains(name) => {
                return Err(ClusterAccessError::NoContext { file, name: name.clone(), known });
            }
            (None, None) => return Err(ClusterAccessError::NoCurrent { file, known }),
            _ => {}
        }
        let options = KubeConfigOptions { context: self.0.context.clone(), ..KubeConfigOptions::default() };
        let config = kube::Config::from_custom_kubeconfig(kubeconfig, &options).await;
        config.map_err(|error| ClusterAccessError::Use(error.into()))
    }

    /// Builds a client for the selected cluster.
    pub async fn client(&self) -> Result<kube::Client, ClusterAccessError> {
        kube::Client::try_from(self.config().await?).map_err(|error| ClusterAccessError::Use(error.into()))
    }

    /// Applies the access to the clusters of a configuration that set neither kubeconfig nor context.
    pub fn apply_to(&self, config: &mut Config) {
        let is_set = self.0.kubeconfig.is_some() || self.0.context.is_some();
        for cluster in config.clusters.values_mut().filter(|one| is_set && **one == ClusterConfig::default()) {
            *cluster = self.0.clone();
        }
    }

    /// Like [`ClusterAccess::apply_to`]. If kubectl would find no cluster, the clusters are those of the `up` with this
    /// state directory: the default cluster and its logical clusters.
    pub fn apply_with_up(&self, config: &mut Config, state: &StateDir) {
        self.apply_to(config);
        if self.0.kubeconfig.is_some() || self.0.context.is_some() {
            return;
        }
        let Some(kubeconfig) = state.path().ok().and_then(|dir| up_kubeconfig(&dir)) else { return };
        for (name, cluster) in config.clusters.iter_mut().filter(|(_, one)| **one == ClusterConfig::default()) {
            let logical = Some(name.to_string()).filter(|name| name != DEFAULT_CLUSTER);
            *cluster = ClusterConfig { kubeconfig: Some(kubeconfig.clone()), context: logical };
        }
    }

    /// Falls back to the cluster of `switchboard up` if kubectl would find no cluster.
    #[must_use]
    pub fn or_up_cluster(self) -> Self {
        let kubeconfig = self.0.kubeconfig.or_else(|| up_kubeconfig(&StateDir::default().path().ok()?));
        Self(ClusterConfig { kubeconfig, ..self.0 })
    }

    /// Reads the kubeconfig and the path of its file. `None` if there is no kubeconfig; the path is `None` if several
    /// files were merged.
    fn read(&self) -> Result<Option<(Option<PathBuf>, Kubeconfig)>, ClusterAccessError> {
        if let Some(file) = &self.0.kubeconfig {
            return read_file(file).map(Some);
        }
        // Like kubectl: missing files of the list are skipped, unless the list has one entry.
        if let Some(list) = std::env::var_os("KUBECONFIG").filter(|list| !list.is_empty()) {
            let files: Vec<PathBuf> =
                std::env::split_paths(&list).filter(|path| !path.as_os_str().is_empty()).collect();
            if let [file] = files.as_slice() {
                return read_file(file).map(Some);
            }
            let read = Kubeconfig::from_env().map_err(|error| read_error(Path::new(&list), error))?;
            return Ok(read.map(|kubeconfig| (None, kubeconfig)));
        }
        match std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".kube/config")) {
            Some(file) if file.exists() => read_file(&file).map(Some),
            _ => Ok(None),
        }
    }
}

fn read_file(file: &Path) -> Result<(Option<PathBuf>, Kubeconfig), ClusterAccessError> {
    match std::fs::metadata(file) {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return Err(ClusterAccessError::Missing(file.to_path_buf()));
        }
        _ => {}
    }
    let read = Kubeconfig::read_from(file).map_err(|error| read_error(file, error))?;
    Ok((Some(file.to_path_buf()), read))
}

fn read_error(file: &Path, error: KubeconfigError) -> ClusterAccessError {
    let (place, source) = match error {
        KubeconfigError::ReadConfig(source, _) => (String::new(), Some(source)),
        other => (parse_position(&root_cause(&other)), None),
    };
    ClusterAccessError::Read { file: file.to_path_buf(), place, source }
}

/// Extracts the position from a parser's message, as in `: invalid at line 2, column 9`, and drops the rest.
fn parse_position(message: &str) -> String {
    let number = |word: &str| {
        let rest = message.split(&format!("{word} ")).nth(1)?;
        let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
        (!digits.is_empty()).then_some(digits)
    };
    match (number("line"), number("column")) {
        (Some(line), Some(column)) => format!(": invalid at line {line}, column {column}"),
        _ => ": invalid content".to_string(),
    }
}

/// Returns the kubeconfig of the `up` with this state directory if kubectl would find no cluster.
fn up_kubeconfig(dir: &Path) -> Option<PathBuf> {
    let home = std::env::var_os("HOME").map(PathBuf::from);
    let has = std::env::var_os("KUBECONFIG").is_some_and(|list| !list.is_empty())
        || std::env::var_os("KUBERNETES_SERVICE_HOST").is_some()
        || home.is_some_and(|home| home.join(".kube/config").exists());
    let is_default = || StateDir::default().path().is_ok_and(|default| default == dir);
    let own = || StorageLocation::default_path().map(|data| data.join("kubeconfig")).filter(|_| is_default());
    if has { None } else { local_ca::kubeconfig(dir).or_else(own).filter(|file| file.exists()) }
}

#[cfg(test)]
mod tests;
