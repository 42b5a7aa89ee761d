//! What a run asks a server for.
//!
//! Fields are asked for where the original asks for them: a field more that must not be null would make a bundle fail that
//! the original can read. `path` is never null on a datafile.

use serde_json::Value;

use super::files::Files;

/// What an answer is put into.
pub type Take = fn(&mut Files, Value);

/// The integrations and the schemas they may read.
pub const SCHEMAS: &str = "{ integrations: integrations_v1 { name description schemas } }";

/// All questions of a run: what they are about, the query, and what becomes of the answer.
pub const ALL: [(&str, &str, Take); 5] = [
    ("settings", SETTINGS, Files::settings),
    ("integrations", INTEGRATIONS, Files::integrations),
    ("accounts", ACCOUNTS, Files::accounts),
    ("organizations", ORGANIZATIONS, Files::organizations),
    ("clusters", CLUSTERS, Files::clusters),
];

const SETTINGS: &str = "query Settings { files: app_interface_settings_v1 { path hashLength } }";
const ACCOUNTS: &str = "query Accounts { files: awsaccounts_v1 { path name disable { integrations } } }";
const ORGANIZATIONS: &str = "query Organizations { files: ocm_instances_v1 { path name orgId } }";
const CLUSTERS: &str = "query Clusters { files: clusters_v1 { path name disable { integrations } } }";

const INTEGRATIONS: &str = "
fragment Resources on DeployResources_v1 {
  requests { cpu memory }
  limits { cpu memory }
}

query Integrations {
  files: integrations_v1 {
    path
    name
    upstream
    managed {
      namespace {
        path
        name
        environment { name parameters }
        cluster {
          name
          labels
          serverUrl
          insecureSkipTLSVerify
          automationToken { path field version format }
        }
      }
      spec {
        cache command disableUnleash environmentAware extraArgs
        extraEnv { secretName secretKey name value }
        internalCertificates
        logs { slack googleChat slackErrorFilter govSlack }
        resources { ...Resources }
        fluentdResources { ...Resources }
        sleepDurationSecs state storage storageClassName trigger cron dashdotdb concurrencyPolicy restartPolicy
        successfulJobHistoryLimit failedJobHistoryLimit imageRef enablePushgateway
      }
      sharding {
        strategy
        ... on StaticSharding_v1 { shards }
        ... on OpenshiftClusterSharding_v1 {
          shardSpecOverrides {
            shard { path }
            imageRef
            disabled
            resources { ...Resources }
            subSharding { strategy ... on StaticSubSharding_v1 { shards } }
          }
        }
        ... on OCMOrganizationSharding_v1 {
          shardSpecOverrides { shard { path } imageRef disabled resources { ...Resources } }
        }
        ... on AWSAccountSharding_v1 {
          shardSpecOverrides { shard { path } imageRef disabled resources { ...Resources } }
        }
      }
    }
  }
}
";
