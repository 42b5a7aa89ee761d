//! Webhook configurations and APIServices.

use super::super::builtin::KindRules;
use super::super::{admission, webhook};

pub(super) const WEBHOOKS: KindRules = KindRules {
    validate: webhook::configuration,
    validate_update: |new, _| webhook::configuration(new),
    ..KindRules::NONE
};

pub(super) const API_SERVICE: KindRules = KindRules {
    validate: webhook::api_service,
    validate_update: |new, _| webhook::api_service(new),
    ..KindRules::NONE
};

pub(super) const POLICY: KindRules =
    KindRules { validate: admission::policy, validate_update: |new, _| admission::policy(new), ..KindRules::NONE };

pub(super) const BINDING: KindRules =
    KindRules { validate: admission::binding, validate_update: |new, _| admission::binding(new), ..KindRules::NONE };
