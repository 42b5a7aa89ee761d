//! Webhook configurations and APIServices.

use super::super::builtin::Rules;
use super::super::{admission, webhook};

pub(super) const WEBHOOKS: Rules =
    Rules { validate: webhook::configuration, validate_update: |new, _| webhook::configuration(new), ..Rules::NONE };

pub(super) const API_SERVICE: Rules =
    Rules { validate: webhook::api_service, validate_update: |new, _| webhook::api_service(new), ..Rules::NONE };

pub(super) const POLICY: Rules =
    Rules { validate: admission::policy, validate_update: |new, _| admission::policy(new), ..Rules::NONE };

pub(super) const BINDING: Rules =
    Rules { validate: admission::binding, validate_update: |new, _| admission::binding(new), ..Rules::NONE };
