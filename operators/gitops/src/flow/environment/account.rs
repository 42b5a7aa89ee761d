//! Service accounts of ours on targets: each has a row before it is made, and until it is gone.
//!
//! ```text
//!  wanted: row ─▶ made, checked, used       not wanted: marked ─▶ removed on the target ─▶ row gone
//! ```

use switchboard_ledger::ids::ServiceAccountId;
use switchboard_ledger::rows::ClusterCredentials;
use switchboard_ledger::rows::left::ServiceAccount;
use switchboard_ledger::{Change, Moment, Secret};

use super::{Answer, Input, Known, Question};
use crate::flow::Decision;
use crate::kinds::ManagedEnvironment;

/// How long a target is asked to let an account go that does not. Then it is given up: such a cluster is gone, or takes nothing
/// from us any more.
pub const GIVE_UP_MS: i64 = 7 * 24 * 60 * 60 * 1000;

/// What is to be asked about accounts that nobody wants, if anything, and what becomes of their rows.
pub fn leave<'a>(
    accounts: impl IntoIterator<Item = &'a ServiceAccount>,
    answer: Option<&Answer>,
    now: Moment,
    decision: &mut Decision,
) -> Option<Question> {
    let mut question = None;
    for account in accounts {
        if is_over(account, answer, now) {
            decision.changes.push(Change::delete(account));
            continue;
        }
        if account.left_on.is_none() {
            let left = ServiceAccount { left_on: Some(now), ..account.clone() };
            decision.changes.push(Change::update(account, &left));
        }
        let is_kept = matches!(answer, Some(Answer::Kept { account: of }) if *of == account.id);
        // One at a time. Whoever said no is asked again when it is time.
        if question.is_none() && !is_kept {
            let account = ServiceAccount { left_on: None, ..account.clone() };
            question = Some(Question::Retire { account });
        }
    }
    question
}

/// Whether an account is gone, or given up.
fn is_over(account: &ServiceAccount, answer: Option<&Answer>, now: Moment) -> bool {
    is_gone(account, answer) || is_given_up(account, now)
}

/// Whether its target let an account go.
pub fn is_gone(account: &ServiceAccount, answer: Option<&Answer>) -> bool {
    matches!(answer, Some(Answer::Retired { account: of }) if *of == account.id)
}

/// Whether a target was asked for long enough to let an account go.
pub fn is_given_up(account: &ServiceAccount, now: Moment) -> bool {
    account.left_on.is_some_and(|since| now.since_ms(since) > GIVE_UP_MS)
}

/// Every account there is, with its token as far as that is known: from the last answer, or from the credentials that Argo CD uses.
pub(super) fn all(input: &Input<'_>, id: &mut impl FnMut() -> String, decision: &mut Decision) -> Vec<ServiceAccount> {
    let adopted = adopted(input.known, input.accounts, id);
    decision.changes.extend(adopted.iter().map(Change::insert));
    let mut accounts: Vec<ServiceAccount> = input.accounts.iter().chain(&adopted).cloned().collect();
    for account in &mut accounts {
        let of = |known: &&Known| known.mapping.resource_uid == account.resource_uid && uses(known, account);
        let used = input.known.iter().find(of).and_then(|known| known.credentials.bearer_token.clone());
        let token = made(input, account).or(used);
        if token.is_some() && token != account.token {
            let with_token = ServiceAccount { token, ..account.clone() };
            decision.changes.push(Change::update(account, &with_token));
            *account = with_token;
        }
    }
    accounts
}

/// The token that came with an answer, also with a no: then the account is there all the same.
fn made(input: &Input<'_>, account: &ServiceAccount) -> Option<Secret> {
    let live = input.environment?;
    let is_its = live.metadata.id() == account.resource_uid
        && live.spec.api_url == account.host
        && live.spec.create_new_service_account;
    let (of, token) = match input.answer? {
        Answer::Verified { digest, token } | Answer::Refused { digest, token, .. } if is_its => (digest, token),
        _ => return None,
    };
    // One of another URL is no concern of this host's.
    let is_of_this = super::wanted(live, input.secret).is_ok_and(|(_, digest)| digest == *of);
    token.clone().filter(|_| is_of_this)
}

/// Accounts of these rows that have no row of their own: an earlier version kept none.
fn adopted(known: &[Known], accounts: &[ServiceAccount], id: &mut impl FnMut() -> String) -> Vec<ServiceAccount> {
    let own = known.iter().filter(|known| known.credentials.own_service_account);
    let unknown = own.filter(|known| {
        let is_of =
            |account: &&ServiceAccount| account.resource_uid == known.mapping.resource_uid && uses(known, account);
        !accounts.iter().any(|account| is_of(&account))
    });
    let of = |known: &Known| ServiceAccount {
        id: ServiceAccountId::from(id()),
        resource_uid: known.mapping.resource_uid.clone(),
        name: known.mapping.name.clone(),
        namespace: known.mapping.namespace.clone(),
        namespace_uid: known.mapping.namespace_uid.clone(),
        host: known.credentials.host.clone().unwrap_or_default(),
        kube_config: known.credentials.kube_config.clone(),
        allow_insecure: known.credentials.allow_insecure,
        created_on: known.credentials.created_on,
        left_on: None,
        token: known.credentials.bearer_token.clone(),
    };
    unknown.map(of).collect()
}

/// Whether the rows of an environment are reached as this account.
fn uses(known: &Known, account: &ServiceAccount) -> bool {
    known.credentials.own_service_account && known.credentials.host.as_deref() == Some(account.host.as_str())
}

/// Whether an account is to stay: its resource wants it, or Argo CD is it until something else is verified.
pub(super) fn is_wanted(account: &ServiceAccount, live: Option<&ManagedEnvironment>, known: &[Known]) -> bool {
    let Some(live) = live.filter(|live| live.metadata.id() == account.resource_uid) else { return false };
    let is_asked_for =
        live.spec.create_new_service_account && live.spec.api_url == account.host && account.left_on.is_none();
    let mut of_live = known.iter().filter(|known| known.mapping.resource_uid == account.resource_uid);
    is_asked_for || of_live.any(|known| uses(known, account))
}

/// Argo CD is another from now on: an account that it was can go, and nothing else says so.
pub(super) fn follow(old: &ClusterCredentials, new: &ClusterCredentials, decision: &mut Decision) {
    if old.own_service_account && (!new.own_service_account || new.host != old.host) {
        decision.again_in(1);
    }
}

/// Notes an account that is about to be made, with what it takes to remove it. False while an earlier one of its names is being
/// removed: what is made meanwhile would go with it.
pub(super) fn note(
    input: &Input<'_>,
    live: &ManagedEnvironment,
    accounts: &[ServiceAccount],
    id: &mut impl FnMut() -> String,
    decision: &mut Decision,
) -> bool {
    let kube_config: Option<Secret> = input.secret.and_then(|secret| secret.kubeconfig.clone());
    let uid = live.metadata.id();
    let is_it = |account: &&ServiceAccount| {
        let is_there = !is_over(account, input.retired, input.now.moment);
        is_there && account.resource_uid == uid && account.host == live.spec.api_url
    };
    let Some(before) = accounts.iter().find(is_it) else {
        decision.changes.push(Change::insert(&ServiceAccount {
            id: ServiceAccountId::from(id()),
            resource_uid: uid,
            name: live.metadata.name.clone(),
            namespace: input.namespace.name.clone(),
            namespace_uid: input.namespace.uid.clone(),
            host: live.spec.api_url.clone(),
            kube_config,
            allow_insecure: live.spec.allow_insecure,
            created_on: input.now.moment,
            left_on: None,
            token: None,
        }));
        return true;
    };
    let now = ServiceAccount { kube_config, allow_insecure: live.spec.allow_insecure, ..before.clone() };
    if now != *before {
        decision.changes.push(Change::update(before, &now));
    }
    before.left_on.is_none()
}
