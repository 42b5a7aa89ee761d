//! Budgets, autoscalers, quotas, limits, leases and events.

use serde_json::Value;
use switchboard_object::field::FieldError;
use switchboard_object::name;

use super::super::builtin::Rules;
use super::super::check::each;
use super::super::{autoscaler, event, limits};
use super::text;
use crate::metadata::{self, IMMUTABLE, NameRule};

pub(super) const DISRUPTION_BUDGET: Rules = Rules {
    validate: limits::disruption_budget,
    validate_update: |new, _| limits::disruption_budget(new),
    ..Rules::NONE
};

pub(super) const AUTOSCALER: Rules =
    Rules { validate: autoscaler::validate, validate_update: |new, _| autoscaler::validate(new), ..Rules::NONE };

pub(super) const AUTOSCALER_V1: Rules =
    Rules { validate: autoscaler::validate_v1, validate_update: |new, _| autoscaler::validate_v1(new), ..Rules::NONE };

pub(super) const QUOTA: Rules = Rules {
    validate: limits::quota,
    validate_update: |new, old| {
        let mut errors = limits::quota(new);
        if new["spec"]["scopes"] != old["spec"]["scopes"] {
            errors.push(FieldError::invalid("spec.scopes", new["spec"]["scopes"].clone(), IMMUTABLE));
        }
        errors
    },
    ..Rules::NONE
};

pub(super) const LIMIT_RANGE: Rules = Rules {
    validate: limits::limit_range,
    validate_update: |new, _| {
        let mut errors = metadata::validate(&new["metadata"], true, NameRule::Subdomain, "metadata");
        errors.extend(limits::limit_range(new));
        errors
    },
    ..Rules::NONE
};

/// Coordinated leader election is off, so its two fields are not taken.
pub(super) const LEASE: Rules = Rules {
    create: |object, _| {
        coordinated(object);
        Ok(())
    },
    update: |new, _, _| {
        coordinated(new);
        Ok(())
    },
    validate: event::lease,
    validate_update: |new, _| event::lease(new),
    ..Rules::NONE
};

fn coordinated(lease: &mut Value) {
    for field in ["strategy", "preferredHolder"] {
        super::remove(&mut lease["spec"], field);
    }
}

pub(super) const EVENT: Rules = Rules {
    validate: |o| event::legacy(o, "reportingComponent"),
    validate_update: |new, _| event::legacy(new, "reportingComponent"),
    ..Rules::NONE
};

pub(super) const NEW_EVENT: Rules = Rules { validate: event::create, validate_update: event::update, ..Rules::NONE };

pub(super) const RUNTIME_CLASS: Rules = Rules {
    validate: runtime_class,
    validate_update: |new, old| {
        let changed = new["handler"] != old["handler"];
        changed.then(|| FieldError::invalid("handler", new["handler"].clone(), IMMUTABLE)).into_iter().collect()
    },
    ..Rules::NONE
};

fn runtime_class(object: &Value) -> Vec<FieldError> {
    let handler = text(object, "/handler");
    each(name::dns1123_label(handler), "handler", handler)
}
