//! What a run asks a server for.
//!
//! Fields are asked for where the original asks for them: a field more that must not be null would make a bundle fail that
//! the original can read. `path` is never null on a datafile.

use serde_json::Value;

use super::files::Files;
use crate::model;

/// What an answer is put into.
pub type Take = fn(&mut Files, Value);

/// The integrations and the schemas they may read.
pub const SCHEMAS: &str = "{ integrations: integrations_v1 { name description schemas } }";

/// A question of a run.
pub struct Question {
    /// What it is about.
    pub what: &'static str,
    /// The schema of the files it is about.
    pub schema: &'static str,
    /// The query.
    pub text: &'static str,
    /// What becomes of the answer.
    pub take: Take,
}

impl Question {
    const fn of(what: &'static str, schema: &'static str, text: &'static str, take: Take) -> Self {
        Self { what, schema, text, take }
    }

    /// The field of the server's that gives the files out.
    fn root(&self) -> &'static str {
        let behind = self.text.split_once("files: ").map_or("", |(_, behind)| behind);
        behind.split([' ', '(']).next().unwrap_or_default()
    }

    /// The paths of all its files, and nothing that could be wrong in one.
    pub fn paths(&self) -> String {
        format!("query Paths {{ files: {} {{ path }} }}", self.root())
    }

    /// The same of one file alone.
    pub fn of_path(&self, path: &str) -> String {
        let (root, path) = (self.root(), Value::from(path));
        self.text.replacen(&format!("files: {root} {{"), &format!("files: {root}(path: {path}) {{"), 1)
    }
}

/// All questions of a run.
pub const ALL: [Question; 5] = [
    Question::of("settings", "/app-interface/app-interface-settings-1.yml", SETTINGS, Files::settings),
    Question::of("integrations", model::INTEGRATION, INTEGRATIONS, Files::integrations),
    Question::of("accounts", model::AWS_ACCOUNT, ACCOUNTS, Files::accounts),
    Question::of("organizations", model::OCM_ORGANIZATION, ORGANIZATIONS, Files::organizations),
    Question::of("clusters", model::CLUSTER, CLUSTERS, Files::clusters),
];

/// What organizations can be asked for beside that: which integrations they disable, where the server's types have it.
pub const ORGANIZATIONS_THAT_DISABLE: &str =
    "query Organizations { files: ocm_instances_v1 { path name orgId disable { integrations } } }";

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
    schemas
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
