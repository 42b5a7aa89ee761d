//! Webhook configurations and APIServices.

use super::super::builtin::Rules;
use super::super::webhook;

pub(super) const WEBHOOKS: Rules =
    Rules { validate: webhook::configuration, validate_update: |new, _| webhook::configuration(new), ..Rules::NONE };

pub(super) const API_SERVICE: Rules =
    Rules { validate: webhook::api_service, validate_update: |new, _| webhook::api_service(new), ..Rules::NONE };
