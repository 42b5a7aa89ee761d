//! Repository credential: from a tenant's Secret to one that Argo CD uses.

pub mod kind;
pub(crate) mod operator;
pub mod repository_secret;

use std::collections::BTreeSet;

use ring::digest::{SHA256, digest};
use serde_json::json;
use switchboard_sql::{RowChange, SecretString};

use crate::credential::kind::{CredentialOutcome, KIND, SECRET_TYPE, conditions};
use crate::flow::{DecisionTime, KubernetesWrite, ReconcileResult, WriteTarget};
use crate::ids::{ApiRelation, ApiResource, EngineInstanceId, OperationId, OperationResource, RepositoryCredentialsId};
use crate::kinds::condition::{ConditionStatus, ERROR_OCCURRED};
use crate::kinds::{self, RepositoryCredential, field};
use crate::operation::{self, OperationRequest};
use crate::recheck::CheckSchedule;
use crate::repository::{RepositoryLogin, has_login, login};
use crate::rows::{ApiToDatabase, ClusterUser, EngineInstance, Operation, RepositoryCredentials as Row};
use crate::tenant::TenantNamespace;

/// Input of a decision about a credential.
pub struct CredentialInput<'a> {
    /// Current time.
    pub now: DecisionTime<'a>,
    /// Namespace of the tenant.
    pub namespace: &'a TenantNamespace,
    /// Tenant.
    pub user: &'a ClusterUser,
    /// Resource; `None` if it is deleted.
    pub credential: Option<&'a RepositoryCredential>,
    /// Secret that the resource names, if it exists.
    pub secret: Option<&'a CredentialSecret>,
    /// Rows of this resource and of earlier resources with its namespace and name.
    pub rows: &'a [CredentialRows],
    /// Argo CD instance that gets a new credential.
    pub instance: &'a EngineInstance,
    /// Argo CD instances that have a placement of the tenant; each of them gets the credential.
    pub used_by: &'a BTreeSet<EngineInstanceId>,
    /// Operations about the row.
    pub operations: &'a [Operation],
    /// Result of the last check, if there is one.
    pub check_result: Option<&'a CredentialCheckResult>,
}

/// Relevant content of a tenant's Secret.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CredentialSecret {
    /// Type of the Secret.
    pub r#type: String,
    /// User name.
    pub username: String,
    /// Password.
    pub password: SecretString,
    /// Private key.
    pub ssh_key: SecretString,
}

/// Rows of a credential.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CredentialRows {
    /// Mapping from the resource to the row.
    pub mapping: ApiToDatabase,
    /// Row of the credential.
    pub row: Row,
}

/// Check whether a repository accepts a login.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CredentialCheck {
    /// Digest of the checked values, which is returned with the result.
    pub digest: String,
    /// Repository URL as written by the tenant.
    pub url: String,
    /// Login to check.
    pub login: RepositoryLogin,
}

/// Result of a credential check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CredentialCheckResult {
    /// Digest of the checked values.
    pub digest: String,
    /// Outcome of the check.
    pub outcome: CredentialOutcome,
}

/// Decides on the rows and the status of a credential, and returns the check to execute.
///
/// # Guarantees
/// - A repository that rejected a login is not checked again until the input changes. // test: guarantees_a_rejected_login_is_not_rechecked
/// - An accepted login is rechecked periodically, and the result is reported.         // test: guarantees_working_credentials_are_rechecked
/// - A rotated credential is sent to the agents of the Argo CDs that use it.          // test: guarantees_a_rotated_credential_is_sent
pub fn decide(
    input: &CredentialInput<'_>,
    mut id: impl FnMut() -> String,
) -> (ReconcileResult, CheckSchedule<CredentialCheck>) {
    let mut decision = ReconcileResult::default();
    let live = input.credential.filter(|credential| !credential.metadata.is_deleted());
    for known in input.rows {
        if live.is_none_or(|live| live.metadata.id() != known.mapping.resource_uid) {
            decision.changes.extend([RowChange::delete(&known.mapping), RowChange::delete(&known.row)]);
            request_operations(input, &known.row.instance, &known.row.id, &mut id, &mut decision);
        }
    }
    let asking = live.map_or(CheckSchedule::Nothing, |live| reconcile(input, live, &mut id, &mut decision));
    (decision, asking)
}

/// Reports the result of a recheck. Everything else is unchanged since the last decision.
pub fn report_check(
    live: &RepositoryCredential,
    answer: Option<&CredentialCheckResult>,
    now: DecisionTime<'_>,
) -> ReconcileResult {
    let mut decision = ReconcileResult::default();
    report(live, answer.map_or(&CredentialOutcome::Valid, |answer| &answer.outcome), now, &mut decision);
    decision
}

fn reconcile(
    input: &CredentialInput<'_>,
    live: &RepositoryCredential,
    id: &mut impl FnMut() -> String,
    decision: &mut ReconcileResult,
) -> CheckSchedule<CredentialCheck> {
    let judged = live.validate().map_err(CredentialOutcome::UnsupportedUrl);
    let login = match judged.and_then(|()| desired_login(live, input.secret)) {
        Ok(login) => login,
        Err(outcome) => {
            report(live, &outcome, input.now, decision);
            return CheckSchedule::Nothing;
        }
    };
    let known = input.rows.iter().find(|known| known.mapping.resource_uid == live.metadata.id());
    let row = row(input, live, known, &login);
    let is_stored = known.is_some_and(|known| known.row == row);
    let question =
        CredentialCheck { digest: digest_of(&live.spec.repository, &login), url: live.spec.repository.clone(), login };
    match input.check_result.filter(|answer| answer.digest == question.digest) {
        // The last reported result is about other values or is an error.
        None if !is_stored || is_refused(live) => CheckSchedule::Now(question),
        None => {
            report(live, &CredentialOutcome::Valid, input.now, decision);
            CheckSchedule::Later(question)
        }
        Some(CredentialCheckResult { outcome: CredentialOutcome::Valid, .. }) => {
            if !is_stored {
                store(input, live, known, row, id, decision);
            }
            report(live, &CredentialOutcome::Valid, input.now, decision);
            CheckSchedule::Later(question)
        }
        // A rejected login is not stored: Argo CD keeps the one that worked.
        Some(answer) => {
            report(live, &answer.outcome, input.now, decision);
            if is_stored { CheckSchedule::Later(question) } else { CheckSchedule::Nothing }
        }
    }
}

/// Whether the status reports an error.
fn is_refused(live: &RepositoryCredential) -> bool {
    let conditions = &live.status.conditions;
    conditions.iter().any(|one| one.r#type == ERROR_OCCURRED && one.status == ConditionStatus::True)
}

fn desired_login(
    live: &RepositoryCredential,
    secret: Option<&CredentialSecret>,
) -> Result<RepositoryLogin, CredentialOutcome> {
    if has_login(&live.spec.repository) {
        return Err(CredentialOutcome::LoginInUrl);
    }
    if live.spec.secret.is_empty() {
        return Err(CredentialOutcome::SecretNotSpecified);
    }
    let secret = secret.ok_or(CredentialOutcome::SecretNotFound)?;
    if secret.r#type != SECRET_TYPE {
        return Err(CredentialOutcome::SecretInvalidType);
    }
    let (password, key) = (secret.password.expose(), secret.ssh_key.expose());
    let login =
        login(&live.spec.repository, &secret.username, password, key).ok_or(CredentialOutcome::InvalidCredentials)?;
    check_storable(&login).map_err(CredentialOutcome::Unchecked)?;
    Ok(login)
}

/// Checks that the login fits the columns of its row.
fn check_storable(login: &RepositoryLogin) -> Result<(), String> {
    let kept = |what: &str, text: &str, column| {
        field::check_storable(&format!("{what} of the Secret"), text, <Row as switchboard_sql::Row>::TABLE, column)
    };
    match login {
        RepositoryLogin::Password { username, password } => {
            kept("username", username, "repo_cred_user")?;
            kept("password", password.expose(), "repo_cred_pass")
        }
        RepositoryLogin::Key(key) => kept("sshPrivateKey", key.expose(), "repo_cred_ssh"),
    }
}

fn digest_of(url: &str, login: &RepositoryLogin) -> String {
    let parts = match login {
        RepositoryLogin::Password { username, password } => json!([url, username, password.expose()]),
        RepositoryLogin::Key(key) => json!([url, key.expose()]),
    };
    digest(&SHA256, parts.to_string().as_bytes()).as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}

fn row(
    input: &CredentialInput<'_>,
    live: &RepositoryCredential,
    known: Option<&CredentialRows>,
    login: &RepositoryLogin,
) -> Row {
    let (username, password, ssh_key) = match login {
        RepositoryLogin::Password { username, password } => {
            (Some(username.clone()).filter(|name| !name.is_empty()), Some(password.clone()), None)
        }
        RepositoryLogin::Key(key) => (None, None, Some(key.clone())),
    };
    Row {
        id: known.map_or_else(|| RepositoryCredentialsId::from(""), |known| known.row.id.clone()),
        user: input.user.id.clone(),
        url: live.spec.repository.clone(),
        username,
        password,
        ssh_key,
        secret: live.spec.secret.clone(),
        instance: known.map_or(&input.instance.id, |known| &known.row.instance).clone(),
        created_on: known.map_or(input.now.timestamp, |known| known.row.created_on),
    }
}

fn store(
    input: &CredentialInput<'_>,
    live: &RepositoryCredential,
    known: Option<&CredentialRows>,
    wanted: Row,
    id: &mut impl FnMut() -> String,
    decision: &mut ReconcileResult,
) {
    let row = match known {
        Some(known) => {
            decision.changes.push(RowChange::update(&known.row, &wanted));
            wanted
        }
        None => {
            let row = Row { id: RepositoryCredentialsId::from(id()), ..wanted };
            let mapping = ApiToDatabase {
                resource: ApiResource::RepositoryCredential,
                resource_uid: live.metadata.id(),
                name: live.metadata.name.clone(),
                namespace: input.namespace.name.clone(),
                namespace_uid: input.namespace.uid.clone(),
                relation: ApiRelation::RepositoryCredential,
                relation_key: row.id.as_str().to_string(),
            };
            decision.changes.extend([RowChange::insert(&row), RowChange::insert(&mapping)]);
            row
        }
    };
    request_operations(input, &row.instance, &row.id, id, decision);
}

/// Requests an Operation from the instance in the row and from all others that the tenant uses. managed-gitops sends
/// updates to the tenant's namespace, which no agent watches.
fn request_operations(
    input: &CredentialInput<'_>,
    instance: &EngineInstanceId,
    row: &RepositoryCredentialsId,
    id: &mut impl FnMut() -> String,
    decision: &mut ReconcileResult,
) {
    let all: BTreeSet<&EngineInstanceId> = input.used_by.iter().chain([instance]).collect();
    for instance in all {
        let wish = OperationRequest {
            instance,
            resource: OperationResource::RepositoryCredentials,
            resource_id: row.as_str(),
            owner: &input.user.id,
        };
        decision.changes.push(operation::request_or_renew(
            input.operations,
            &wish,
            || OperationId::from(id()),
            input.now.timestamp,
        ));
    }
}

fn report(
    live: &RepositoryCredential,
    outcome: &CredentialOutcome,
    now: DecisionTime<'_>,
    decision: &mut ReconcileResult,
) {
    let updated = conditions(live, outcome, now.text);
    if updated != live.status.conditions {
        let target = WriteTarget {
            api_version: kinds::API_VERSION,
            kind: KIND,
            namespace: live.metadata.namespace.clone(),
            name: live.metadata.name.clone(),
        };
        decision.writes.push(KubernetesWrite::Status(target, json!({ "conditions": updated })));
    }
}

#[cfg(test)]
mod tests;
