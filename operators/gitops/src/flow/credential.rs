//! A repository credential: from a tenant's Secret to one that Argo CD uses.

use std::collections::BTreeSet;

use ring::digest::{SHA256, digest};
use serde_json::json;
use switchboard_ledger::ids::{
    ApiRelation, ApiResource, EngineInstanceId, OperationId, OperationResource, RepositoryCredentialsId,
};
use switchboard_ledger::rows::{ApiToDatabase, ClusterUser, EngineInstance, Operation, RepositoryCredentials as Row};
use switchboard_ledger::{Change, Secret};

use super::operation::{self, Wish};
use super::recheck::Asking;
use super::tenant::Namespace;
use super::{Decision, Now, Target, Write};
use crate::kinds::condition::{ERROR_OCCURRED, Truth};
use crate::kinds::credential::{KIND, Outcome, SECRET_TYPE, conditions};
use crate::kinds::{self, RepositoryCredential, field};
use crate::repository::{Login, has_login, login};

/// Everything that is known when a credential is decided on.
pub struct Input<'a> {
    /// When.
    pub now: Now<'a>,
    /// The tenant's namespace.
    pub namespace: &'a Namespace,
    /// The tenant.
    pub user: &'a ClusterUser,
    /// The resource; none if it is gone.
    pub credential: Option<&'a RepositoryCredential>,
    /// The Secret it names, if there is one.
    pub secret: Option<&'a SecretData>,
    /// Rows of this and of earlier resources of its namespace and name.
    pub known: &'a [Known],
    /// The Argo CD that is to use it, if it is new.
    pub instance: &'a EngineInstance,
    /// Every Argo CD that has a unit of the tenant: each is to use it.
    pub used_by: &'a BTreeSet<EngineInstanceId>,
    /// Operations about its row.
    pub operations: &'a [Operation],
    /// What came of a question, if one was asked.
    pub answer: Option<&'a Answer>,
}

/// What is needed of a tenant's Secret.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SecretData {
    /// Its type.
    pub r#type: String,
    /// A name.
    pub username: String,
    /// A password.
    pub password: Secret,
    /// A private key.
    pub ssh_key: Secret,
}

/// A credential as the database knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Known {
    /// Which resource is which row.
    pub mapping: ApiToDatabase,
    /// That row.
    pub row: Row,
}

/// What is to be asked of a repository: does it answer to this?
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// Of what this was taken; it comes back with the answer.
    pub digest: String,
    /// The repository, as the tenant wrote it.
    pub url: String,
    /// As whom.
    pub login: Login,
}

/// What came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Of what was asked.
    pub digest: String,
    /// How it went.
    pub outcome: Outcome,
}

/// Decides. With the decision comes what is to be asked, if anything.
///
/// # Guarantees
/// - A repository that refused is asked again only about something else.  // test: guarantees_a_repository_is_not_hammered
/// - What works is tried now and then, and what comes of it is told.      // test: guarantees_what_worked_is_tried_again
/// - A rotated credential reaches the agent of the Argo CD that uses it.   // test: guarantees_a_rotated_credential_is_sent
pub fn decide(input: &Input<'_>, mut id: impl FnMut() -> String) -> (Decision, Asking<Question>) {
    let mut decision = Decision::default();
    let live = input.credential.filter(|credential| !credential.metadata.is_deleted());
    for known in input.known {
        if live.is_none_or(|live| live.metadata.id() != known.mapping.resource_uid) {
            decision.changes.extend([Change::delete(&known.mapping), Change::delete(&known.row)]);
            ask(input, &known.row.instance, &known.row.id, &mut id, &mut decision);
        }
    }
    let asking = live.map_or(Asking::Nothing, |live| keep(input, live, &mut id, &mut decision));
    (decision, asking)
}

/// Tells how it stands, of what rows say already: nothing else is known to have changed.
pub fn retell(live: &RepositoryCredential, answer: Option<&Answer>, now: Now<'_>) -> Decision {
    let mut decision = Decision::default();
    tell(live, answer.map_or(&Outcome::Valid, |answer| &answer.outcome), now, &mut decision);
    decision
}

fn keep(
    input: &Input<'_>,
    live: &RepositoryCredential,
    id: &mut impl FnMut() -> String,
    decision: &mut Decision,
) -> Asking<Question> {
    let judged = live.judge().map_err(Outcome::UnsupportedUrl);
    let login = match judged.and_then(|()| wanted(live, input.secret)) {
        Ok(login) => login,
        Err(outcome) => {
            tell(live, &outcome, input.now, decision);
            return Asking::Nothing;
        }
    };
    let known = input.known.iter().find(|known| known.mapping.resource_uid == live.metadata.id());
    let row = row(input, live, known, &login);
    let is_stored = known.is_some_and(|known| known.row == row);
    let question =
        Question { digest: digest_of(&live.spec.repository, &login), url: live.spec.repository.clone(), login };
    match input.answer.filter(|answer| answer.digest == question.digest) {
        // What it was told last was something else, or that it works no longer.
        None if !is_stored || is_refused(live) => Asking::Now(question),
        None => {
            tell(live, &Outcome::Valid, input.now, decision);
            Asking::Later(question)
        }
        Some(Answer { outcome: Outcome::Valid, .. }) => {
            if !is_stored {
                store(input, live, known, row, id, decision);
            }
            tell(live, &Outcome::Valid, input.now, decision);
            Asking::Later(question)
        }
        // What a repository refuses is not stored: Argo CD keeps what worked.
        Some(answer) => {
            tell(live, &answer.outcome, input.now, decision);
            if is_stored { Asking::Later(question) } else { Asking::Nothing }
        }
    }
}

/// Whether a tenant was told that something is wrong.
fn is_refused(live: &RepositoryCredential) -> bool {
    let told = &live.status.conditions;
    told.iter().any(|one| one.r#type == ERROR_OCCURRED && one.status == Truth::True)
}

fn wanted(live: &RepositoryCredential, secret: Option<&SecretData>) -> Result<Login, Outcome> {
    if has_login(&live.spec.repository) {
        return Err(Outcome::LoginInUrl);
    }
    if live.spec.secret.is_empty() {
        return Err(Outcome::SecretNotSpecified);
    }
    let secret = secret.ok_or(Outcome::SecretNotFound)?;
    if secret.r#type != SECRET_TYPE {
        return Err(Outcome::SecretInvalidType);
    }
    let (password, key) = (secret.password.expose(), secret.ssh_key.expose());
    let login = login(&live.spec.repository, &secret.username, password, key).ok_or(Outcome::InvalidCredentials)?;
    judge_kept(&login).map_err(Outcome::Unchecked)?;
    Ok(login)
}

/// Whether a row holds it.
fn judge_kept(login: &Login) -> Result<(), String> {
    let kept = |what: &str, text: &str, column| {
        field::judge_kept(&format!("{what} of the Secret"), text, <Row as switchboard_ledger::Row>::TABLE, column)
    };
    match login {
        Login::Password { username, password } => {
            kept("username", username, "repo_cred_user")?;
            kept("password", password.expose(), "repo_cred_pass")
        }
        Login::Key(key) => kept("sshPrivateKey", key.expose(), "repo_cred_ssh"),
    }
}

fn digest_of(url: &str, login: &Login) -> String {
    let parts = match login {
        Login::Password { username, password } => json!([url, username, password.expose()]),
        Login::Key(key) => json!([url, key.expose()]),
    };
    digest(&SHA256, parts.to_string().as_bytes()).as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}

fn row(input: &Input<'_>, live: &RepositoryCredential, known: Option<&Known>, login: &Login) -> Row {
    let (username, password, ssh_key) = match login {
        Login::Password { username, password } => {
            (Some(username.clone()).filter(|name| !name.is_empty()), Some(password.clone()), None)
        }
        Login::Key(key) => (None, None, Some(key.clone())),
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
        created_on: known.map_or(input.now.moment, |known| known.row.created_on),
    }
}

fn store(
    input: &Input<'_>,
    live: &RepositoryCredential,
    known: Option<&Known>,
    wanted: Row,
    id: &mut impl FnMut() -> String,
    decision: &mut Decision,
) {
    let row = match known {
        Some(known) => {
            decision.changes.push(Change::update(&known.row, &wanted));
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
            decision.changes.extend([Change::insert(&row), Change::insert(&mapping)]);
            row
        }
    };
    ask(input, &row.instance, &row.id, id, decision);
}

/// Always to the Argo CD that the row names, and to all others that the tenant uses; the original sends an update to the tenant's
/// namespace, where nobody listens.
fn ask(
    input: &Input<'_>,
    instance: &EngineInstanceId,
    row: &RepositoryCredentialsId,
    id: &mut impl FnMut() -> String,
    decision: &mut Decision,
) {
    let all: BTreeSet<&EngineInstanceId> = input.used_by.iter().chain([instance]).collect();
    for instance in all {
        let wish = Wish {
            instance,
            resource: OperationResource::RepositoryCredentials,
            resource_id: row.as_str(),
            owner: &input.user.id,
        };
        decision.changes.push(operation::ask_anew(
            input.operations,
            &wish,
            || OperationId::from(id()),
            input.now.moment,
        ));
    }
}

fn tell(live: &RepositoryCredential, outcome: &Outcome, now: Now<'_>, decision: &mut Decision) {
    let told = conditions(live, outcome, now.text);
    if told != live.status.conditions {
        let target = Target {
            api_version: kinds::API_VERSION,
            kind: KIND,
            namespace: live.metadata.namespace.clone(),
            name: live.metadata.name.clone(),
        };
        decision.writes.push(Write::Status(target, json!({ "conditions": told })));
    }
}
