//! Queries of a run.
//!
//! The queries contain the same fields as qontract-reconcile's: an additional non-null field could fail for bundles
//! that qontract-reconcile can read. `path` is never null.

use serde_json::Value;

use super::files::ServerFiles;
use crate::model;

/// Function that stores the files of an answer.
pub type StoreFiles = fn(&mut ServerFiles, Value);

/// Query for integrations and the schemas they may read.
pub const SCHEMAS: &str = "{ integrations: integrations_v1 { name description schemas } }";

/// Query of a run.
pub struct GraphqlQuery {
    /// Content, for messages.
    pub what: &'static str,
    /// Schema of the files.
    pub schema: &'static str,
    /// GraphQL text.
    pub text: &'static str,
    /// Function that stores the files of the answer.
    pub store: StoreFiles,
}

impl GraphqlQuery {
    const fn new(what: &'static str, schema: &'static str, text: &'static str, take: StoreFiles) -> Self {
        Self { what, schema, text, store: take }
    }

    /// Returns the server's field with the files.
    fn root(&self) -> &'static str {
        let behind = self.text.split_once("files: ").map_or("", |(_, behind)| behind);
        behind.split([' ', '(']).next().unwrap_or_default()
    }

    /// Returns a query for the paths of all files only, which cannot fail because of their content.
    pub fn paths(&self) -> String {
        format!("query Paths {{ files: {} {{ path }} }}", self.root())
    }

    /// Returns the query for a single file.
    pub fn of_path(&self, path: &str) -> String {
        let (root, path) = (self.root(), Value::from(path));
        self.text.replacen(&format!("files: {root} {{"), &format!("files: {root}(path: {path}) {{"), 1)
    }
}

/// All queries of a run.
pub const ALL: [GraphqlQuery; 5] = [
    GraphqlQuery::new("settings", "/app-interface/app-interface-settings-1.yml", SETTINGS, ServerFiles::settings),
    GraphqlQuery::new("integrations", model::INTEGRATION, INTEGRATIONS, ServerFiles::integrations),
    GraphqlQuery::new("accounts", model::AWS_ACCOUNT, ACCOUNTS, ServerFiles::accounts),
    GraphqlQuery::new("organizations", model::OCM_ORGANIZATION, ORGANIZATIONS, ServerFiles::organizations),
    GraphqlQuery::new("clusters", model::CLUSTER, CLUSTERS, ServerFiles::clusters),
];

/// Query for organizations with the integrations they disable, which newer servers support.
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
