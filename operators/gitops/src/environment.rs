//! Managed environment: from a tenant's kubeconfig to credentials that Argo CD uses.
//!
//! Whether a cluster accepts the credentials is checked by the caller: the check is part of the decision, and its
//! result is part of the next input.

pub mod cluster;
mod cluster_check;
pub mod cluster_secret;
mod input;
pub mod kind;
pub mod kubeconfig;
pub(crate) mod operator;
pub(crate) mod rest;
pub mod service_account;
pub mod teardown;

use ring::digest::{SHA256, digest};
use serde_json::json;
use switchboard_sql::{DbTimestamp, RowChange, SecretString};

pub use cluster_check::{ClusterCheck, ClusterCheckResult, ClusterChecks};
pub use input::{EnvironmentInput, EnvironmentRows, KubeconfigSecret};

use crate::deployment::spec_field;
use crate::environment::kind::{CONDITION, EnvironmentReason, KIND, SECRET_KEY, SECRET_TYPE};
use crate::environment::kubeconfig::KubeconfigAccess;
use crate::flow::{DecisionTime, KubernetesWrite, ReconcileResult, WriteTarget};
use crate::ids::{
    ApiRelation, ApiResource, AppProjectManagedEnvironmentId, CredentialsId, EngineInstanceId, ManagedEnvironmentId,
    OperationId, OperationResource,
};
use crate::kinds::condition::{ConditionStatus, set_meta};
use crate::kinds::{self, ManagedEnvironment};
use crate::operation::{self, OperationRequest};
use crate::recheck::CheckSchedule;
use crate::rows::tenant_clusters::ServiceAccount;
use crate::rows::{
    ApiToDatabase, AppProjectManagedEnvironment, Application, ClusterCredentials, ManagedEnvironment as Row,
};
use crate::tenant;

/// Namespace of the service accounts that are created on clusters.
const SERVICE_ACCOUNT_NAMESPACE: &str = "kube-system";

/// Decides on the rows and the status of an environment, and returns the checks to execute.
///
/// # Guarantees
/// - A rotated credential and a changed request for a service account are detected.   // test: guarantees_a_rotation_is_detected
/// - A created service account is deleted before the credentials for doing so.        // test: guarantees_a_service_account_is_deleted_before_its_credentials
/// - Accepted credentials are rechecked periodically, and the result is reported.     // test: guarantees_working_credentials_are_rechecked
pub fn decide(input: &EnvironmentInput<'_>, mut id: impl FnMut() -> String) -> (ReconcileResult, ClusterChecks) {
    let mut decision = ReconcileResult::default();
    let live = input.environment.filter(|environment| !environment.metadata.is_deleted());
    for known in input.rows {
        if live.is_some_and(|live| live.metadata.id() == known.mapping.resource_uid) {
            continue;
        }
        delete_rows(input, known, &mut id, &mut decision);
    }
    let accounts = service_account::all(input, &mut id, &mut decision);
    let unwanted = accounts.iter().filter(|account| !service_account::is_wanted(account, live, input.rows));
    let retire = service_account::retire_unwanted(unwanted, input.retire_result, input.now.timestamp, &mut decision);
    let verify = live.map_or(CheckSchedule::Nothing, |live| reconcile(input, live, &accounts, &mut id, &mut decision));
    (decision, ClusterChecks { verify, retire })
}

/// Reports the result of a recheck. Everything else is unchanged since the last decision.
pub fn report_check(
    live: &ManagedEnvironment,
    answer: Option<&ClusterCheckResult>,
    now: DecisionTime<'_>,
) -> ReconcileResult {
    let mut decision = ReconcileResult::default();
    report_result(live, answer, now, &mut decision);
    decision
}

fn report_result(
    live: &ManagedEnvironment,
    answer: Option<&ClusterCheckResult>,
    now: DecisionTime<'_>,
    decision: &mut ReconcileResult,
) {
    match answer {
        Some(ClusterCheckResult::Refused { reason, message, .. }) => report(live, *reason, message, now, decision),
        _ => report(live, EnvironmentReason::Succeeded, "", now, decision),
    }
}

/// Deletes all rows of an environment. Its Applications are kept without a destination, every Argo CD instance deletes
/// its Secret, and the tenant's projects no longer permit it.
fn delete_rows(
    input: &EnvironmentInput<'_>,
    known: &EnvironmentRows,
    id: &mut impl FnMut() -> String,
    decision: &mut ReconcileResult,
) {
    for application in &known.applications {
        let spec_field = spec_field::without_target(&application.spec_field);
        let without = Application { environment: None, spec_field, ..application.clone() };
        decision.changes.push(RowChange::update(application, &without));
        request_operation(
            input,
            &application.instance,
            OperationResource::Application,
            application.id.as_str(),
            id,
            decision,
        );
    }
    for instance in instances(known) {
        request_operation(
            input,
            instance,
            OperationResource::ManagedEnvironment,
            known.environment.id.as_str(),
            id,
            decision,
        );
    }
    let changes = &mut decision.changes;
    changes.extend(tenant::request_project_checks(
        &input.user.id,
        input.instances,
        input.operations,
        &mut *id,
        input.now.timestamp,
    ));
    changes.extend(known.accesses.iter().map(RowChange::delete));
    changes.extend(known.permissions.iter().map(RowChange::delete));
    changes.extend([
        RowChange::delete(&known.mapping),
        RowChange::delete(&known.environment),
        RowChange::delete(&known.credentials),
    ]);
}

/// Returns the Argo CD instances that may have a Secret of the environment, with or without Applications.
fn instances(known: &EnvironmentRows) -> Vec<&EngineInstanceId> {
    let used = known.accesses.iter().map(|access| &access.instance);
    let mut all: Vec<&EngineInstanceId> = used.chain(known.applications.iter().map(|row| &row.instance)).collect();
    all.sort();
    all.dedup();
    all
}

fn request_operation(
    input: &EnvironmentInput<'_>,
    instance: &EngineInstanceId,
    resource: OperationResource,
    resource_id: &str,
    id: &mut impl FnMut() -> String,
    decision: &mut ReconcileResult,
) {
    let wish = OperationRequest { instance, resource, resource_id, owner: &input.user.id };
    decision.changes.push(operation::request_or_renew(
        input.operations,
        &wish,
        || OperationId::from(id()),
        input.now.timestamp,
    ));
}

fn reconcile(
    input: &EnvironmentInput<'_>,
    live: &ManagedEnvironment,
    accounts: &[ServiceAccount],
    id: &mut impl FnMut() -> String,
    decision: &mut ReconcileResult,
) -> CheckSchedule<ClusterCheck> {
    let (access, digest) = match desired_access(live, input.secret) {
        Ok(wanted) => wanted,
        Err((reason, message)) => {
            report(live, reason, &message, input.now, decision);
            return CheckSchedule::Nothing;
        }
    };
    let known = input.rows.iter().find(|known| known.mapping.resource_uid == live.metadata.id());
    let stored = known.filter(|known| known.credentials.source_digest.as_deref() == Some(digest.as_str()));
    let verify = |access: KubeconfigAccess, install: bool| ClusterCheck::Verify {
        digest: digest.clone(),
        uid: live.metadata.uid.clone(),
        host: live.spec.api_url.clone(),
        access,
        allow_insecure: live.spec.allow_insecure,
        namespace: live.spec.namespaces.iter().min().cloned(),
        install,
    };
    // Rechecks use the credentials that Argo CD uses.
    let used = |token: Option<&SecretString>| match (live.spec.create_new_service_account, token) {
        (true, Some(token)) => access.clone().as_account(token),
        _ => access.clone(),
    };
    let of_this = |answer: &&ClusterCheckResult| answer.digest() == Some(digest.as_str());
    match (input.check_result.filter(of_this), stored) {
        (answer, Some(stored)) => {
            let question = verify(used(stored.credentials.bearer_token.as_ref()), false);
            if answer.is_none() && is_refused(live) {
                return CheckSchedule::Now(question);
            }
            report_result(live, answer, input.now, decision);
            CheckSchedule::Later(question)
        }
        (Some(ClusterCheckResult::Verified { token, .. }), None) => {
            let question = verify(used(token.as_ref()), false);
            let credentials = credentials(input, live, access, digest.clone(), token.clone());
            store(input, live, known, credentials, id, decision);
            report(live, EnvironmentReason::Succeeded, "", input.now, decision);
            CheckSchedule::Later(question)
        }
        // The check is not repeated until the input changes or the caller decides to, so that clusters are not flooded
        // with requests.
        (Some(answer), None) => {
            report_result(live, Some(answer), input.now, decision);
            CheckSchedule::Nothing
        }
        (None, None) => {
            let install = live.spec.create_new_service_account;
            if install && !service_account::record(input, live, accounts, id, decision) {
                return CheckSchedule::Nothing;
            }
            CheckSchedule::Now(verify(access, install))
        }
    }
}

/// Whether the status reports an error.
fn is_refused(live: &ManagedEnvironment) -> bool {
    live.status.conditions.iter().any(|one| one.r#type == CONDITION && one.status != ConditionStatus::True)
}

/// Returns the access that the resource and its Secret describe, with a digest of both.
fn desired_access(
    live: &ManagedEnvironment,
    secret: Option<&KubeconfigSecret>,
) -> Result<(KubeconfigAccess, String), kubeconfig::EnvironmentProblem> {
    live.validate()?;
    let name = &live.spec.credentials_secret;
    // managed-gitops reports nothing if the Secret is missing.
    let Some(secret) = secret else {
        return Err((
            EnvironmentReason::KubernetesError,
            format!("secret '{name}' referenced by the managed environment was not found"),
        ));
    };
    if secret.r#type != SECRET_TYPE {
        return Err((EnvironmentReason::InvalidSecretType, format!("invalid secret type: {}", secret.r#type)));
    }
    let Some(text) = &secret.kubeconfig else {
        return Err((EnvironmentReason::MissingKubeConfigField, format!("missing {SECRET_KEY} field in Secret")));
    };
    let access = kubeconfig::read(text.expose(), &live.spec.api_url)?;
    if !access.has_login() {
        return Err(access.missing_login());
    }
    let all = json!([live.spec, text.expose()]).to_string();
    let digest = digest(&SHA256, all.as_bytes()).as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
    Ok((access, digest))
}

fn credentials(
    input: &EnvironmentInput<'_>,
    live: &ManagedEnvironment,
    access: KubeconfigAccess,
    digest: String,
    token: Option<SecretString>,
) -> ClusterCredentials {
    let own = live.spec.create_new_service_account;
    ClusterCredentials {
        id: CredentialsId::from(""),
        host: Some(live.spec.api_url.clone()),
        // The tenant's kubeconfig is only stored if it is needed to delete the created service account.
        kube_config: input.secret.filter(|_| own).and_then(|secret| secret.kubeconfig.clone()),
        kube_config_context: Some(access.context).filter(|_| own),
        bearer_token: if own { token } else { access.token },
        service_account_namespace: Some(SERVICE_ACCOUNT_NAMESPACE.to_string()),
        allow_insecure: live.spec.allow_insecure,
        namespaces: live.namespace_list(),
        cluster_resources: live.spec.cluster_resources,
        created_on: input.now.timestamp,
        ca_data: access.ca,
        client_certificate: access.client_certificate.filter(|_| !own),
        client_key: access.client_key.filter(|_| !own),
        own_service_account: own,
        source_digest: Some(digest),
    }
}

/// Writes the rows, and requests an update from every Argo CD instance that knows the environment.
fn store(
    input: &EnvironmentInput<'_>,
    live: &ManagedEnvironment,
    known: Option<&EnvironmentRows>,
    wanted: ClusterCredentials,
    id: &mut impl FnMut() -> String,
    decision: &mut ReconcileResult,
) {
    if let Some(known) = known {
        let old = &known.credentials;
        let new = ClusterCredentials { id: old.id.clone(), created_on: old.created_on, ..wanted };
        service_account::requeue_after_switch(old, &new, decision);
        decision.changes.push(RowChange::update(old, &new));
        for instance in instances(known) {
            request_operation(
                input,
                instance,
                OperationResource::ManagedEnvironment,
                known.environment.id.as_str(),
                id,
                decision,
            );
        }
        return;
    }
    let credentials = ClusterCredentials { id: CredentialsId::from(id()), ..wanted };
    let environment = Row {
        id: ManagedEnvironmentId::from(id()),
        name: live.metadata.name.clone(),
        credentials: credentials.id.clone(),
        created_on: input.now.timestamp,
    };
    let (mapping, permission) =
        (mapping(input, live, &environment), permission(input, &environment, id, input.now.timestamp));
    decision.changes.extend([
        RowChange::insert(&credentials),
        RowChange::insert(&environment),
        RowChange::insert(&mapping),
        RowChange::insert(&permission),
    ]);
}

fn mapping(input: &EnvironmentInput<'_>, live: &ManagedEnvironment, environment: &Row) -> ApiToDatabase {
    ApiToDatabase {
        resource: ApiResource::ManagedEnvironment,
        resource_uid: live.metadata.id(),
        name: live.metadata.name.clone(),
        namespace: input.namespace.name.clone(),
        namespace_uid: input.namespace.uid.clone(),
        relation: ApiRelation::ManagedEnvironment,
        relation_key: environment.id.as_str().to_string(),
    }
}

fn permission(
    input: &EnvironmentInput<'_>,
    environment: &Row,
    id: &mut impl FnMut() -> String,
    now: DbTimestamp,
) -> AppProjectManagedEnvironment {
    AppProjectManagedEnvironment {
        id: AppProjectManagedEnvironmentId::from(id()),
        user: input.user.id.clone(),
        environment: environment.id.clone(),
        created_on: now,
    }
}

fn report(
    live: &ManagedEnvironment,
    reason: EnvironmentReason,
    message: &str,
    now: DecisionTime<'_>,
    decision: &mut ReconcileResult,
) {
    let mut status = live.status.clone();
    set_meta(&mut status.conditions, CONDITION, reason.status(), reason.as_str(), message, now.text);
    if status != live.status {
        let target = WriteTarget {
            api_version: kinds::API_VERSION,
            kind: KIND,
            namespace: live.metadata.namespace.clone(),
            name: live.metadata.name.clone(),
        };
        decision.writes.push(KubernetesWrite::Status(target, json!(status)));
    }
}

#[cfg(test)]
mod tests;
