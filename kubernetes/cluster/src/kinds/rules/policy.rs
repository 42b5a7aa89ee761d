//! Budgets, autoscalers, quotas, limits, leases and events.

use serde_json::Value;
use switchboard_object::field::FieldError;
use switchboard_object::name;

use super::super::builtin::KindRules;
use super::super::checks::name_errors;
use super::super::{autoscaler, event, limits};
use super::text;
use crate::metadata::{self, IMMUTABLE, NameRule};

pub(super) const DISRUPTION_BUDGET: KindRules = KindRules {
    validate: limits::disruption_budget,
    validate_update: |new, _| limits::disruption_budget(new),
    ..KindRules::NONE
};

pub(super) const AUTOSCALER: KindRules = KindRules {
    validate: autoscaler::validate,
    validate_update: |new, _| autoscaler::validate(new),
    ..KindRules::NONE
};

pub(super) const AUTOSCALER_V1: KindRules = KindRules {
    validate: autoscaler::validate_v1,
    validate_update: |new, _| autoscaler::validate_v1(new),
    ..KindRules::NONE
};

pub(super) const QUOTA: KindRules = KindRules {
    validate: limits::quota,
    validate_update: |new, old| {
        let mut errors = limits::quota(new);
        if new["spec"]["scopes"] != old["spec"]["scopes"] {
            errors.push(FieldError::invalid("spec.scopes", new["spec"]["scopes"].clone(), IMMUTABLE));
        }
        errors
    },
    ..KindRules::NONE
};

pub(super) const LIMIT_RANGE: KindRules = KindRules {
    validate: limits::limit_range,
    validate_update: |new, _| {
        let mut errors = metadata::validate(&new["metadata"], true, NameRule::Subdomain, "metadata");
        errors.extend(limits::limit_range(new));
        errors
    },
    ..KindRules::NONE
};

/// Rules of Leases. Coordinated leader election is off, so its two fields are dropped.
pub(super) const LEASE: KindRules = KindRules {
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
    ..KindRules::NONE
};

fn coordinated(lease: &mut Value) {
    for field in ["strategy", "preferredHolder"] {
        super::remove(&mut lease["spec"], field);
    }
}

pub(super) const EVENT: KindRules = KindRules {
    validate: |o| event::legacy(o, "reportingComponent"),
    validate_update: |new, _| event::legacy(new, "reportingComponent"),
    ..KindRules::NONE
};

pub(super) const NEW_EVENT: KindRules =
    KindRules { validate: event::create, validate_update: event::update, ..KindRules::NONE };

pub(super) const RUNTIME_CLASS: KindRules = KindRules {
    validate: runtime_class,
    validate_update: |new, old| {
        let changed = new["handler"] != old["handler"];
        changed.then(|| FieldError::invalid("handler", new["handler"].clone(), IMMUTABLE)).into_iter().collect()
    },
    ..KindRules::NONE
};

fn runtime_class(object: &Value) -> Vec<FieldError> {
    let handler = text(object, "/handler");
    name_errors(name::dns1123_label(handler), "handler", handler)
}
