//! How a cluster is reached, as kubectl has it: `--kubeconfig`, `--context`, `KUBECONFIG`, `~/.kube/config`, or the pod's own
//! service account.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use clap::Args;
use kube::config::{InClusterError, KubeConfigOptions, Kubeconfig, KubeconfigError};
use switchboard_kernel::config::{ClusterConfig, Config};

use crate::failure::Failure;
use crate::place::Place;

/// Which cluster is meant.
#[derive(Args, Clone, Debug, Default)]
pub struct Reach {
    /// The kubeconfig [default: as kubectl does]
    #[arg(long, value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,
    /// A context of the kubeconfig [default: its current one]
    #[arg(long, value_name = "NAME")]
    pub context: Option<String>,
}

/// Why no cluster is reached.
#[derive(Debug, thiserror::Error)]
pub enum ReachError {
    /// The file is not there.
    #[error("there is no kubeconfig {}\nhint: check the path; `switchboard up` prints the path of its own, and `kubectl config view` shows yours", .0.display())]
    Missing(PathBuf),
    /// The file cannot be read or understood.
    #[error("could not read the kubeconfig {}{place}\nhint: `kubectl --kubeconfig {} config view` says what is wrong with it", file.display(), file.display())]
    Read {
        /// Which.
        file: PathBuf,
        /// Where in it, as the end of the sentence; a kubeconfig holds tokens, so nothing of its text is told.
        place: String,
        /// What the system said.
        #[source]
        source: Option<io::Error>,
    },
    /// There is no such context.
    #[error("{} has no context {name}\nhint: {}", whose(file), others(known))]
    NoContext {
        /// The file; none when several were merged.
        file: Option<PathBuf>,
        /// The context.
        name: String,
        /// Those there are.
        known: Vec<String>,
    },
    /// No context is the current one.
    #[error("{} has no current context\nhint: name one with --context NAME: {}", whose(file), others(known))]
    NoCurrent {
        /// The file; none when several were merged.
        file: Option<PathBuf>,
        /// Those there are.
        known: Vec<String>,
    },
    /// Nothing says where a cluster is.
    #[error(
        "no cluster is known: there is no kubeconfig\nhint: give one with --kubeconfig FILE, or set KUBECONFIG; `switchboard up` starts a cluster and prints the path of one"
    )]
    Nowhere,
    /// What the kubeconfig says cannot be used.
    #[error("could not use the kubeconfig\nhint: `kubectl get --raw /version` with the same kubeconfig says more")]
    Use(#[source] Failure),
}

fn whose(file: &Option<PathBuf>) -> String {
    file.as_ref().map_or_else(|| "the kubeconfig".to_string(), |file| format!("the kubeconfig {}", file.display()))
}

fn others(known: &[String]) -> String {
    if known.is_empty() { "it has none".to_string() } else { format!("it has {}", known.join(", ")) }
}

impl Reach {
    /// What a client is made of.
    pub async fn config(&self) -> Result<kube::Config, ReachError> {
        let Some((file, kubeconfig)) = self.read()? else {
            let pod = std::env::var_os("KUBERNETES_SERVICE_HOST").is_some();
            let why = |error: InClusterError| if pod { ReachError::Use(error.into()) } else { ReachError::Nowhere };
            return kube::Config::incluster().map_err(why);
        };
        let known: Vec<String> = kubeconfig.contexts.iter().map(|context| context.name.clone()).collect();
        let current = kubeconfig.current_context.as_ref().filter(|name| !name.is_empty());
        match (&self.context, current) {
            (Some(name), _) | (None, Some(name)) if !known.contains(name) => {
                return Err(ReachError::NoContext { file, name: name.clone(), known });
            }
            (None, None) => return Err(ReachError::NoCurrent { file, known }),
            _ => {}
        }
        let options = KubeConfigOptions { context: self.context.clone(), ..KubeConfigOptions::default() };
        let config = kube::Config::from_custom_kubeconfig(kubeconfig, &options).await;
        config.map_err(|error| ReachError::Use(error.into()))
    }

    /// A client.
    pub async fn client(&self) -> Result<kube::Client, ReachError> {
        kube::Client::try_from(self.config().await?).map_err(|error| ReachError::Use(error.into()))
    }

    /// Where the clusters of a configuration are that do not say it themselves.
    pub fn fill(&self, config: &mut Config) {
        let given = self.kubeconfig.is_some() || self.context.is_some();
        for cluster in config.clusters.values_mut().filter(|one| given && **one == ClusterConfig::default()) {
            let Self { kubeconfig, context } = self.clone();
            *cluster = ClusterConfig { kubeconfig, context };
        }
    }

    /// The same, or the cluster of `switchboard up` when kubectl would have none.
    #[must_use]
    pub fn or_own(self) -> Self {
        let kubeconfig = self.kubeconfig.or_else(own);
        Self { kubeconfig, ..self }
    }

    /// The kubeconfig and the one file it is from; nothing when there is none.
    fn read(&self) -> Result<Option<(Option<PathBuf>, Kubeconfig)>, ReachError> {
        if let Some(file) = &self.kubeconfig {
            return read_file(file).map(Some);
        }
        // As kubectl: files of the list that are not there are left out, unless it is a list of one.
        if let Some(list) = std::env::var_os("KUBECONFIG").filter(|list| !list.is_empty()) {
            let files: Vec<PathBuf> =
                std::env::split_paths(&list).filter(|path| !path.as_os_str().is_empty()).collect();
            if let [file] = files.as_slice() {
                return read_file(file).map(Some);
            }
            let read = Kubeconfig::from_env().map_err(|error| unread(Path::new(&list), error))?;
            return Ok(read.map(|kubeconfig| (None, kubeconfig)));
        }
        match std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".kube/config")) {
            Some(file) if file.exists() => read_file(&file).map(Some),
            _ => Ok(None),
        }
    }
}

fn read_file(file: &Path) -> Result<(Option<PathBuf>, Kubeconfig), ReachError> {
    match std::fs::metadata(file) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Err(ReachError::Missing(file.to_path_buf())),
        _ => {}
    }
    let read = Kubeconfig::read_from(file).map_err(|error| unread(file, error))?;
    Ok((Some(file.to_path_buf()), read))
}

fn unread(file: &Path, error: KubeconfigError) -> ReachError {
    let (place, source) = match error {
        KubeconfigError::ReadConfig(source, _) => (String::new(), Some(source)),
        other => (place(&deepest(&other)), None),
    };
    ReachError::Read { file: file.to_path_buf(), place, source }
}

/// What all began with.
fn deepest(error: &(dyn std::error::Error + 'static)) -> String {
    std::iter::successors(Some(error), |error| error.source()).last().map(ToString::to_string).unwrap_or_default()
}

/// `: it is not understood at line 2, column 9`, and nothing else of what a parser says.
fn place(said: &str) -> String {
    let number = |word: &str| {
        let rest = said.split(&format!("{word} ")).nth(1)?;
        let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
        (!digits.is_empty()).then_some(digits)
    };
    match (number("line"), number("column")) {
        (Some(line), Some(column)) => format!(": it is not understood at line {line}, column {column}"),
        _ => ": it is not understood".to_string(),
    }
}

/// The kubeconfig of `switchboard up`, when kubectl would have none.
fn own() -> Option<PathBuf> {
    let home = std::env::var_os("HOME").map(PathBuf::from);
    let has = std::env::var_os("KUBECONFIG").is_some()
        || std::env::var_os("KUBERNETES_SERVICE_HOST").is_some()
        || home.is_some_and(|home| home.join(".kube/config").exists());
    let own = Place::default_path()?.join("kubeconfig");
    (!has && own.exists()).then_some(own)
}

#[cfg(test)]
mod tests;
