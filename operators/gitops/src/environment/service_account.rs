//! Service accounts that the service creates on clusters. Each has a row from before its creation until after its
//! deletion.
//!
//! ```text
//!  wanted: row ─▶ created, checked, used       unwanted: marked ─▶ deleted on the cluster ─▶ row deleted
//! ```

use switchboard_sql::{DbTimestamp, RowChange, SecretString};

use super::{ClusterCheck, ClusterCheckResult, EnvironmentInput, EnvironmentRows};
use crate::flow::ReconcileResult;
use crate::ids::ServiceAccountId;
use crate::kinds::ManagedEnvironment;
use crate::rows::ClusterCredentials;
use crate::rows::tenant_clusters::ServiceAccount;

/// Time after which the deletion of an account is abandoned, because the cluster no longer exists or rejects all
/// credentials.
pub const ABANDON_MS: i64 = 7 * 24 * 60 * 60 * 1000;

/// Returns the check that deletes the next unwanted account, and updates their rows.
pub fn retire_unwanted<'a>(
    accounts: impl IntoIterator<Item = &'a ServiceAccount>,
    answer: Option<&ClusterCheckResult>,
    now: DbTimestamp,
    decision: &mut ReconcileResult,
) -> Option<ClusterCheck> {
    let mut question = None;
    for account in accounts {
        if is_finished(account, answer, now) {
            decision.changes.push(RowChange::delete(account));
            continue;
        }
        if account.unused_since.is_none() {
            let left = ServiceAccount { unused_since: Some(now), ..account.clone() };
            decision.changes.push(RowChange::update(account, &left));
        }
        let is_kept = matches!(answer, Some(ClusterCheckResult::Kept { account: of }) if *of == account.id);
        // Accounts are deleted one at a time. A refused deletion is retried later.
        if question.is_none() && !is_kept {
            let account = ServiceAccount { unused_since: None, ..account.clone() };
            question = Some(ClusterCheck::Retire { account });
        }
    }
    question
}

/// Whether an account is deleted or abandoned.
fn is_finished(account: &ServiceAccount, answer: Option<&ClusterCheckResult>, now: DbTimestamp) -> bool {
    is_retired(account, answer) || is_abandoned(account, now)
}

/// Whether the cluster has deleted the account.
pub fn is_retired(account: &ServiceAccount, answer: Option<&ClusterCheckResult>) -> bool {
    matches!(answer, Some(ClusterCheckResult::Retired { account: of }) if *of == account.id)
}

/// Whether the deletion of an account is abandoned.
pub fn is_abandoned(account: &ServiceAccount, now: DbTimestamp) -> bool {
    account.unused_since.is_some_and(|since| now.since_ms(since) > ABANDON_MS)
}

/// Returns all accounts with their tokens, from the last check or from the credentials that Argo CD uses.
pub(crate) fn all(
    input: &EnvironmentInput<'_>,
    id: &mut impl FnMut() -> String,
    decision: &mut ReconcileResult,
) -> Vec<ServiceAccount> {
    let adopted = adopted(input.rows, input.accounts, id);
    decision.changes.extend(adopted.iter().map(RowChange::insert));
    let mut accounts: Vec<ServiceAccount> = input.accounts.iter().chain(&adopted).cloned().collect();
    for account in &mut accounts {
        let of = |known: &&EnvironmentRows| known.mapping.resource_uid == account.resource_uid && uses(known, account);
        let used = input.rows.iter().find(of).and_then(|known| known.credentials.bearer_token.clone());
        let token = token_from_check(input, account).or(used);
        if token.is_some() && token != account.token {
            let with_token = ServiceAccount { token, ..account.clone() };
            decision.changes.push(RowChange::update(account, &with_token));
            *account = with_token;
        }
    }
    accounts
}

/// Returns the token from the last check. A failed check may have created the account as well.
fn token_from_check(input: &EnvironmentInput<'_>, account: &ServiceAccount) -> Option<SecretString> {
    let live = input.environment?;
    let is_its = live.metadata.id() == account.resource_uid
        && live.spec.api_url == account.host
        && live.spec.create_new_service_account;
    let (of, token) = match input.check_result? {
        ClusterCheckResult::Verified { digest, token } | ClusterCheckResult::Refused { digest, token, .. }
            if is_its =>
        {
            (digest, token)
        }
        _ => return None,
    };
    // The result may be about another URL.
    let is_of_this = super::desired_access(live, input.secret).is_ok_and(|(_, digest)| digest == *of);
    token.clone().filter(|_| is_of_this)
}

/// Returns accounts without a row of their own, which an earlier version did not write.
fn adopted(
    known: &[EnvironmentRows],
    accounts: &[ServiceAccount],
    id: &mut impl FnMut() -> String,
) -> Vec<ServiceAccount> {
    let own = known.iter().filter(|known| known.credentials.own_service_account);
    let unknown = own.filter(|known| {
        let is_of =
            |account: &&ServiceAccount| account.resource_uid == known.mapping.resource_uid && uses(known, account);
        !accounts.iter().any(|account| is_of(&account))
    });
    let of = |known: &EnvironmentRows| ServiceAccount {
        id: ServiceAccountId::from(id()),
        resource_uid: known.mapping.resource_uid.clone(),
        name: known.mapping.name.clone(),
        namespace: known.mapping.namespace.clone(),
        namespace_uid: known.mapping.namespace_uid.clone(),
        host: known.credentials.host.clone().unwrap_or_default(),
        kube_config: known.credentials.kube_config.clone(),
        allow_insecure: known.credentials.allow_insecure,
        created_on: known.credentials.created_on,
        unused_since: None,
        token: known.credentials.bearer_token.clone(),
    };
    unknown.map(of).collect()
}

/// Whether the environment's credentials are those of the account.
fn uses(known: &EnvironmentRows, account: &ServiceAccount) -> bool {
    known.credentials.own_service_account && known.credentials.host.as_deref() == Some(account.host.as_str())
}

/// Whether an account is kept: its resource requests it, or Argo CD uses it until other credentials are verified.
pub(crate) fn is_wanted(
    account: &ServiceAccount,
    live: Option<&ManagedEnvironment>,
    known: &[EnvironmentRows],
) -> bool {
    let Some(live) = live.filter(|live| live.metadata.id() == account.resource_uid) else { return false };
    let is_asked_for =
        live.spec.create_new_service_account && live.spec.api_url == account.host && account.unused_since.is_none();
    let mut of_live = known.iter().filter(|known| known.mapping.resource_uid == account.resource_uid);
    is_asked_for || of_live.any(|known| uses(known, account))
}

/// Repeats the decision when Argo CD gets other credentials, because no event triggers the deletion of the old account.
pub(crate) fn requeue_after_switch(old: &ClusterCredentials, new: &ClusterCredentials, decision: &mut ReconcileResult) {
    if old.own_service_account && (!new.own_service_account || new.host != old.host) {
        decision.requeue_in(1);
    }
}

/// Records an account before it is created, with the credentials for deleting it. Returns false while an earlier
/// account with the same name is being deleted, which would delete the new one as well.
pub(crate) fn record(
    input: &EnvironmentInput<'_>,
    live: &ManagedEnvironment,
    accounts: &[ServiceAccount],
    id: &mut impl FnMut() -> String,
    decision: &mut ReconcileResult,
) -> bool {
    let kube_config: Option<SecretString> = input.secret.and_then(|secret| secret.kubeconfig.clone());
    let uid = live.metadata.id();
    let is_it = |account: &&ServiceAccount| {
        let is_there = !is_finished(account, input.retire_result, input.now.timestamp);
        is_there && account.resource_uid == uid && account.host == live.spec.api_url
    };
    let Some(before) = accounts.iter().find(is_it) else {
        decision.changes.push(RowChange::insert(&ServiceAccount {
            id: ServiceAccountId::from(id()),
            resource_uid: uid,
            name: live.metadata.name.clone(),
            namespace: input.namespace.name.clone(),
            namespace_uid: input.namespace.uid.clone(),
            host: live.spec.api_url.clone(),
            kube_config,
            allow_insecure: live.spec.allow_insecure,
            created_on: input.now.timestamp,
            unused_since: None,
            token: None,
        }));
        return true;
    };
    let now = ServiceAccount { kube_config, allow_insecure: live.spec.allow_insecure, ..before.clone() };
    if now != *before {
        decision.changes.push(RowChange::update(before, &now));
    }
    before.unused_since.is_none()
}
