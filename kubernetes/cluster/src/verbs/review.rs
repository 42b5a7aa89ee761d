//! Reviews and token requests, which are answered and never stored.

use bytes::Bytes;
use switchboard_object::kind::GroupVersionKind;
use switchboard_object::status::Status;

use super::{ApiCall, decode};
use crate::auth::filters::StoreTokenObjects;
use crate::auth::rbac::Policy;
use crate::auth::review::{self, ReviewContext, token_request};
use crate::request::write::WriteOptions;
use crate::response::ApiResponse;

/// Answers a create of a review.
pub(super) fn review(call: &ApiCall, sent: &Bytes) -> Result<ApiResponse, Status> {
    let options = WriteOptions::create(&call.query)?;
    let mut object = decode::object(call, sent, options.field_validation)?;
    super::create::match_namespace(call, &mut object)?;
    // Two of the kinds are answered with a new object, without the content of the request.
    call.record_managers(None, &mut object, &options);
    let policy = call.logical.policy().read(&call.inner.store);
    let answer = call.with_context(&policy, |context| review::answer(&call.resource.kind, &object, context));
    Ok(ApiResponse::value(201, &answer.ok_or_else(crate::server::method_not_allowed)??))
}

/// Answers a create of `serviceaccounts/<name>/token`.
pub(super) fn token(call: &ApiCall, sent: &Bytes) -> Result<ApiResponse, Status> {
    let options = WriteOptions::create(&call.query)?;
    let kind = GroupVersionKind::new("authentication.k8s.io", "v1", "TokenRequest");
    let call = call.with_kind(kind);
    let mut request = decode::object(&call, sent, options.field_validation)?;
    token_request::default(&mut request);
    call.record_managers(None, &mut request, &options);
    let (name, id) = (call.info.name.clone(), call.inner.clock_and_rng.uid());
    let answer = call.with_context(&Policy::default(), |c| token_request::answer(&name, request, &id, c))?;
    Ok(ApiResponse::value(201, &answer))
}

impl ApiCall {
    /// Whether the request is for a kind that is answered here.
    pub(super) fn is_review(&self) -> bool {
        self.resource.custom.is_none() && review::is_review(&self.resource.kind)
    }

    fn with_context<T>(&self, policy: &Policy, act: impl FnOnce(&ReviewContext<'_>) -> T) -> T {
        act(&ReviewContext {
            user: &self.user,
            namespace: &self.info.namespace,
            policy,
            authenticator: &self.inner.auth_keys.authenticator,
            objects: &StoreTokenObjects { store: &self.inner.store, cluster: self.logical.name() },
            now: self.inner.clock_and_rng.now(),
        })
    }
}
