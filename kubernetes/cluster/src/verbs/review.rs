//! Reviews and token requests: answered, never stored.

use bytes::Bytes;
use switchboard_object::kind::GroupVersionKind;
use switchboard_object::status::Status;

use super::{Call, decode};
use crate::answer::Answer;
use crate::auth::gate::Stored;
use crate::auth::rbac::Policy;
use crate::auth::review::{self, Context, token_request};
use crate::request::write::WriteOptions;

/// Answers a create of a review.
pub(super) fn review(call: &Call, sent: &Bytes) -> Result<Answer, Status> {
    let options = WriteOptions::create(&call.query)?;
    let mut object = decode::object(call, sent, options.field_validation)?;
    super::create::match_namespace(call, &mut object)?;
    // Two of the kinds are answered afresh, without what was sent.
    call.record_managers(None, &mut object, &options);
    let policy = call.logical.policy().read(&call.inner.store);
    let answer = call.with_context(&policy, |context| review::answer(&call.resource.kind, &object, context));
    Ok(Answer::value(201, &answer.ok_or_else(crate::server::method_not_allowed)??))
}

/// Answers a create of `serviceaccounts/<name>/token`.
pub(super) fn token(call: &Call, sent: &Bytes) -> Result<Answer, Status> {
    let options = WriteOptions::create(&call.query)?;
    let kind = GroupVersionKind::new("authentication.k8s.io", "v1", "TokenRequest");
    let call = call.speaking(kind);
    let mut request = decode::object(&call, sent, options.field_validation)?;
    token_request::default(&mut request);
    call.record_managers(None, &mut request, &options);
    let (name, id) = (call.info.name.clone(), call.inner.ambient.uid());
    let answer = call.with_context(&Policy::default(), |c| token_request::answer(&name, request, &id, c))?;
    Ok(Answer::value(201, &answer))
}

impl Call {
    /// The request is for a kind that is answered here.
    pub(super) fn is_review(&self) -> bool {
        self.resource.custom.is_none() && review::is_review(&self.resource.kind)
    }

    fn with_context<T>(&self, policy: &Policy, act: impl FnOnce(&Context<'_>) -> T) -> T {
        act(&Context {
            user: &self.user,
            namespace: &self.info.namespace,
            policy,
            authenticator: &self.inner.gate.authenticator,
            objects: &Stored { store: &self.inner.store, cluster: self.logical.name() },
            now: self.inner.ambient.now(),
        })
    }
}
