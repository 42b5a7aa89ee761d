//! Check that the clusters of a configuration answer.

use std::collections::BTreeMap;
use std::error::Error;
use std::time::{Duration, Instant};

use serde_json::Value;
use switchboard_kernel::config::{ClusterConfig, Config};
use switchboard_kernel::topology::ClusterName;
use switchboard_object::causes::{causes, root_cause};

use super::report::{DoctorCheck, DoctorReport};
use crate::cluster_access::ClusterAccessError;
use crate::failure::message;
use crate::hosted::ClusterClients;
use crate::run;

/// Timeout for the answer of a cluster.
const PATIENCE: Duration = Duration::from_secs(10);
/// Hint for a configuration that is checked without any cluster.
const NOWHERE: &str = "start it with `switchboard up --config FILE`, or pass --kubeconfig FILE";

/// Requests the version of each cluster, and returns clients for those that answer.
pub async fn check(config: &Config, report: &mut DoctorReport) -> ClusterClients {
    let mut clusters = ClusterClients { clients: BTreeMap::new(), ..ClusterClients::default() };
    for (name, cluster) in &config.clusters {
        let check = format!("cluster {name}");
        let (client, settings) = match run::client(name, cluster).await {
            Ok(connected) => connected,
            // Only a cluster of its own settings can be missing by mistake: `up` serves the others itself.
            Err(error) if is_nowhere(&*error) && *cluster == ClusterConfig::default() => {
                let found = "no kubeconfig names it; `up` serves this cluster itself, `run` needs one";
                report.add(DoctorCheck::warning(check, found, NOWHERE));
                continue;
            }
            Err(error) => {
                report.add(DoctorCheck::failed(check, &message(&*error)));
                continue;
            }
        };
        let started = Instant::now();
        match tokio::time::timeout(PATIENCE, version(&client)).await {
            Ok(Ok(version)) => {
                let took = started.elapsed().as_millis();
                report.add(DoctorCheck::ok(
                    check,
                    format!("{} runs Kubernetes {version}, answered in {took} ms", settings.cluster_url),
                ));
                clusters.clients.insert(name.clone(), client);
                clusters.configs.insert(name.clone(), settings);
            }
            Ok(Err(error)) => {
                let hint = hint(name, &error);
                report.add(DoctorCheck::error(
                    check,
                    format!("{}: {}", settings.cluster_url, root_cause(&error)),
                    hint,
                ));
            }
            Err(_) => report.add(DoctorCheck::error(
                check,
                format!("{}: no answer within {} s", settings.cluster_url, PATIENCE.as_secs()),
                "check address, proxy and firewall",
            )),
        }
    }
    clusters
}

/// Whether an error states that there is no kubeconfig at all.
fn is_nowhere(error: &(dyn Error + 'static)) -> bool {
    causes(error).any(|cause| matches!(cause.downcast_ref::<ClusterAccessError>(), Some(ClusterAccessError::Nowhere)))
}

async fn version(client: &kube::Client) -> Result<String, kube::Error> {
    let request = http::Request::get("/version").body(Vec::new()).map_err(kube::Error::HttpError)?;
    let version: Value = client.request(request).await?;
    Ok(version["gitVersion"].as_str().unwrap_or("of unknown version").to_string())
}

fn hint(name: &ClusterName, error: &kube::Error) -> String {
    match error {
        kube::Error::Api(status) if status.code == 401 => {
            format!("check the credentials of `clusters.{name}`: they may be expired, or for another cluster")
        }
        kube::Error::Api(status) if status.code == 403 => {
            format!("bind the user of `clusters.{name}` to the ClusterRole system:discovery")
        }
        _ => format!("check that the cluster is running, and the address in the kubeconfig of `clusters.{name}`"),
    }
}
