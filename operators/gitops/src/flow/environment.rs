//! A managed environment: from a tenant's kubeconfig to credentials that Argo CD uses.
//!
//! Whether a cluster takes the credentials is asked of the cluster, and that is not done in here: what is to be asked is part of what
//! is decided, and the answer is part of what is known the next time.

pub mod account;
pub mod parting;
mod question;

use std::collections::BTreeSet;

use ring::digest::{SHA256, digest};
use serde_json::json;
use switchboard_ledger::Change;
use switchboard_ledger::ids::{
    ApiRelation, ApiResource, AppProjectManagedEnvironmentId, CredentialsId, EngineInstanceId, ManagedEnvironmentId,
    OperationId, OperationResource,
};
use switchboard_ledger::rows::left::ServiceAccount;
use switchboard_ledger::rows::{
    ApiToDatabase, AppProjectManagedEnvironment, Application, ClusterAccess, ClusterCredentials, ClusterUser,
    ManagedEnvironment as Row, Operation,
};
use switchboard_ledger::{Moment, Secret};

pub use question::{Answer, Question, Questions};

use super::operation::{self, Wish};
use super::recheck::Asking;
use super::tenant::{self, Namespace};
use super::{Decision, Now, Target, Write};
use crate::argo::spec_field;
use crate::kinds::condition::{Truth, set_meta};
use crate::kinds::environment::{CONDITION, KIND, Reason, SECRET_KEY, SECRET_TYPE};
use crate::kinds::{self, ManagedEnvironment};
use crate::kubeconfig::{self, Access};

/// Where service accounts of ours are made.
const OWN_NAMESPACE: &str = "kube-system";

/// Everything that is known when an environment is decided on.
pub struct Input<'a> {
    /// When.
    pub now: Now<'a>,
    /// The tenant's namespace.
    pub namespace: &'a Namespace,
    /// The tenant.
    pub user: &'a ClusterUser,
    /// The resource; none if it is gone.
    pub environment: Option<&'a ManagedEnvironment>,
    /// The Secret it names, if there is one.
    pub secret: Option<&'a SecretData>,
    /// Rows of this and of earlier resources of its namespace and name.
    pub known: &'a [Known],
    /// Operations about its row, about its Applications and about the tenant's project.
    pub operations: &'a [Operation],
    /// Every Argo CD that knows the tenant.
    pub instances: &'a BTreeSet<EngineInstanceId>,
    /// Service accounts of ours of this and of earlier resources of its namespace and name.
    pub accounts: &'a [ServiceAccount],
    /// What came of the question whether credentials work, if it was asked.
    pub answer: Option<&'a Answer>,
    /// What came of the question to let a service account go, if it was asked.
    pub retired: Option<&'a Answer>,
}

/// What is needed of a tenant's Secret.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SecretData {
    /// Its type.
    pub r#type: String,
    /// Its kubeconfig.
    pub kubeconfig: Option<Secret>,
}

/// An environment as the database knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Known {
    /// Which resource is which row.
    pub mapping: ApiToDatabase,
    /// That row.
    pub environment: Row,
    /// How it is reached.
    pub credentials: ClusterCredentials,
    /// Whose project may use it.
    pub permissions: Vec<AppProjectManagedEnvironment>,
    /// Through which Argo CD it is used.
    pub accesses: Vec<ClusterAccess>,
    /// What is deployed to it.
    pub applications: Vec<Application>,
}

/// Decides. With the decision comes what is to be asked, if anything.
///
/// # Guarantees
/// - A credential that was rotated, and a changed wish for a service account, are noticed. // test: guarantees_a_rotation_is_noticed
/// - What is ours on a target is removed before what it takes to do so is forgotten.       // test: guarantees_what_is_ours_is_removed_first
/// - What works is tried now and then, and what comes of it is told.       // test: guarantees_what_worked_is_tried_again
pub fn decide(input: &Input<'_>, mut id: impl FnMut() -> String) -> (Decision, Questions) {
    let mut decision = Decision::default();
    let live = input.environment.filter(|environment| !environment.metadata.is_deleted());
    for known in input.known {
        if live.is_some_and(|live| live.metadata.id() == known.mapping.resource_uid) {
            continue;
        }
        forget(input, known, &mut id, &mut decision);
    }
    let accounts = account::all(input, &mut id, &mut decision);
    let unwanted = accounts.iter().filter(|account| !account::is_wanted(account, live, input.known));
    let retire = account::leave(unwanted, input.retired, input.now.moment, &mut decision);
    let verify = live.map_or(Asking::Nothing, |live| keep(input, live, &accounts, &mut id, &mut decision));
    (decision, Questions { verify, retire })
}

/// Tells how it stands, of what rows say already: nothing else is known to have changed.
pub fn retell(live: &ManagedEnvironment, answer: Option<&Answer>, now: Now<'_>) -> Decision {
    let mut decision = Decision::default();
    tell_answer(live, answer, now, &mut decision);
    decision
}

fn tell_answer(live: &ManagedEnvironment, answer: Option<&Answer>, now: Now<'_>, decision: &mut Decision) {
    match answer {
        Some(Answer::Refused { reason, message, .. }) => tell(live, *reason, message, now, decision),
        _ => tell(live, Reason::Succeeded, "", now, decision),
    }
}

/// Removes all rows of an environment; Applications stay, without a target, and every Argo CD that knew it forgets it. No project
/// of the tenant's may deploy there any longer.
fn forget(input: &Input<'_>, known: &Known, id: &mut impl FnMut() -> String, decision: &mut Decision) {
    for application in &known.applications {
        let spec_field = spec_field::without_target(&application.spec_field);
        let without = Application { environment: None, spec_field, ..application.clone() };
        decision.changes.push(Change::update(application, &without));
        ask(input, &application.instance, OperationResource::Application, application.id.as_str(), id, decision);
    }
    for instance in instances(known) {
        ask(input, instance, OperationResource::ManagedEnvironment, known.environment.id.as_str(), id, decision);
    }
    let changes = &mut decision.changes;
    changes.extend(tenant::look_at_project(
        &input.user.id,
        input.instances,
        input.operations,
        &mut *id,
        input.now.moment,
    ));
    changes.extend(known.accesses.iter().map(Change::delete));
    changes.extend(known.permissions.iter().map(Change::delete));
    changes.extend([
        Change::delete(&known.mapping),
        Change::delete(&known.environment),
        Change::delete(&known.credentials),
    ]);
}

/// Every Argo CD that may hold a Secret of it, with Applications or without.
fn instances(known: &Known) -> Vec<&EngineInstanceId> {
    let used = known.accesses.iter().map(|access| &access.instance);
    let mut all: Vec<&EngineInstanceId> = used.chain(known.applications.iter().map(|row| &row.instance)).collect();
    all.sort();
    all.dedup();
    all
}

fn ask(
    input: &Input<'_>,
    instance: &EngineInstanceId,
    resource: OperationResource,
    resource_id: &str,
    id: &mut impl FnMut() -> String,
    decision: &mut Decision,
) {
    let wish = Wish { instance, resource, resource_id, owner: &input.user.id };
    decision.changes.push(operation::ask_anew(input.operations, &wish, || OperationId::from(id()), input.now.moment));
}

fn keep(
    input: &Input<'_>,
    live: &ManagedEnvironment,
    accounts: &[ServiceAccount],
    id: &mut impl FnMut() -> String,
    decision: &mut Decision,
) -> Asking<Question> {
    let (access, digest) = match wanted(live, input.secret) {
        Ok(wanted) => wanted,
        Err((reason, message)) => {
            tell(live, reason, &message, input.now, decision);
            return Asking::Nothing;
        }
    };
    let known = input.known.iter().find(|known| known.mapping.resource_uid == live.metadata.id());
    let stored = known.filter(|known| known.credentials.source_digest.as_deref() == Some(digest.as_str()));
    let verify = |access: Access, install: bool| Question::Verify {
        digest: digest.clone(),
        uid: live.metadata.uid.clone(),
        host: live.spec.api_url.clone(),
        access,
        allow_insecure: live.spec.allow_insecure,
        namespace: live.spec.namespaces.iter().min().cloned(),
        install,
    };
    // What is tried again is what Argo CD uses.
    let used = |token: Option<&Secret>| match (live.spec.create_new_service_account, token) {
        (true, Some(token)) => access.clone().as_account(token),
        _ => access.clone(),
    };
    let of_this = |answer: &&Answer| answer.digest() == Some(digest.as_str());
    match (input.answer.filter(of_this), stored) {
        (answer, Some(stored)) => {
            let question = verify(used(stored.credentials.bearer_token.as_ref()), false);
            if answer.is_none() && is_refused(live) {
                return Asking::Now(question);
            }
            tell_answer(live, answer, input.now, decision);
            Asking::Later(question)
        }
        (Some(Answer::Verified { token, .. }), None) => {
            let question = verify(used(token.as_ref()), false);
            let credentials = credentials(input, live, access, digest.clone(), token.clone());
            store(input, live, known, credentials, id, decision);
            tell(live, Reason::Succeeded, "", input.now, decision);
            Asking::Later(question)
        }
        // It is not asked again until something changes, or whoever asks decides to: clusters are not to be hammered.
        (Some(answer), None) => {
            tell_answer(live, Some(answer), input.now, decision);
            Asking::Nothing
        }
        (None, None) => {
            let install = live.spec.create_new_service_account;
            if install && !account::note(input, live, accounts, id, decision) {
                return Asking::Nothing;
            }
            Asking::Now(verify(access, install))
        }
    }
}

/// Whether a tenant was told that something is wrong.
fn is_refused(live: &ManagedEnvironment) -> bool {
    live.status.conditions.iter().any(|one| one.r#type == CONDITION && one.status != Truth::True)
}

/// What the tenant's wish and Secret say, and a digest of all of it.
fn wanted(live: &ManagedEnvironment, secret: Option<&SecretData>) -> Result<(Access, String), kubeconfig::Refusal> {
    live.judge()?;
    let name = &live.spec.credentials_secret;
    // The original says nothing at all of a Secret that is missing.
    let Some(secret) = secret else {
        return Err((
            Reason::KubernetesError,
            format!("secret '{name}' referenced by the managed environment was not found"),
        ));
    };
    if secret.r#type != SECRET_TYPE {
        return Err((Reason::InvalidSecretType, format!("invalid secret type: {}", secret.r#type)));
    }
    let Some(text) = &secret.kubeconfig else {
        return Err((Reason::MissingKubeConfigField, format!("missing {SECRET_KEY} field in Secret")));
    };
    let access = kubeconfig::read(text.expose(), &live.spec.api_url)?;
    if !access.has_login() {
        return Err(access.no_login());
    }
    let all = json!([live.spec, text.expose()]).to_string();
    let digest = digest(&SHA256, all.as_bytes()).as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
    Ok((access, digest))
}

fn credentials(
    input: &Input<'_>,
    live: &ManagedEnvironment,
    access: Access,
    digest: String,
    token: Option<Secret>,
) -> ClusterCredentials {
    let own = live.spec.create_new_service_account;
    ClusterCredentials {
        id: CredentialsId::from(""),
        host: Some(live.spec.api_url.clone()),
        // To remove what is ours there takes what the tenant gave; otherwise nothing more is kept than is used.
        kube_config: input.secret.filter(|_| own).and_then(|secret| secret.kubeconfig.clone()),
        kube_config_context: Some(access.context).filter(|_| own),
        bearer_token: if own { token } else { access.token },
        service_account_namespace: Some(OWN_NAMESPACE.to_string()),
        allow_insecure: live.spec.allow_insecure,
        namespaces: live.namespace_list(),
        cluster_resources: live.spec.cluster_resources,
        created_on: input.now.moment,
        ca_data: access.ca,
        client_certificate: access.client_certificate.filter(|_| !own),
        client_key: access.client_key.filter(|_| !own),
        own_service_account: own,
        source_digest: Some(digest),
    }
}

/// Writes the rows, and has every Argo CD that knows the environment look at it at once.
fn store(
    input: &Input<'_>,
    live: &ManagedEnvironment,
    known: Option<&Known>,
    wanted: ClusterCredentials,
    id: &mut impl FnMut() -> String,
    decision: &mut Decision,
) {
    if let Some(known) = known {
        let old = &known.credentials;
        let new = ClusterCredentials { id: old.id.clone(), created_on: old.created_on, ..wanted };
        account::follow(old, &new, decision);
        decision.changes.push(Change::update(old, &new));
        for instance in instances(known) {
            ask(input, instance, OperationResource::ManagedEnvironment, known.environment.id.as_str(), id, decision);
        }
        return;
    }
    let credentials = ClusterCredentials { id: CredentialsId::from(id()), ..wanted };
    let environment = Row {
        id: ManagedEnvironmentId::from(id()),
        name: live.metadata.name.clone(),
        credentials: credentials.id.clone(),
        created_on: input.now.moment,
    };
    let (mapping, permission) =
        (mapping(input, live, &environment), permission(input, &environment, id, input.now.moment));
    decision.changes.extend([
        Change::insert(&credentials),
        Change::insert(&environment),
        Change::insert(&mapping),
        Change::insert(&permission),
    ]);
}

fn mapping(input: &Input<'_>, live: &ManagedEnvironment, environment: &Row) -> ApiToDatabase {
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
    input: &Input<'_>,
    environment: &Row,
    id: &mut impl FnMut() -> String,
    now: Moment,
) -> AppProjectManagedEnvironment {
    AppProjectManagedEnvironment {
        id: AppProjectManagedEnvironmentId::from(id()),
        user: input.user.id.clone(),
        environment: environment.id.clone(),
        created_on: now,
    }
}

fn tell(live: &ManagedEnvironment, reason: Reason, message: &str, now: Now<'_>, decision: &mut Decision) {
    let mut status = live.status.clone();
    set_meta(&mut status.conditions, CONDITION, reason.status(), reason.as_str(), message, now.text);
    if status != live.status {
        let target = Target {
            api_version: kinds::API_VERSION,
            kind: KIND,
            namespace: live.metadata.namespace.clone(),
            name: live.metadata.name.clone(),
        };
        decision.writes.push(Write::Status(target, json!(status)));
    }
}
