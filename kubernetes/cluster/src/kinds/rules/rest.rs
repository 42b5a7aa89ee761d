//! Kinds with no rules but what is valid.

use switchboard_object::field::FieldError;

use super::super::builtin::Rules;
use super::super::rest;
use crate::metadata::IMMUTABLE;

pub(super) const ATTACHMENT: Rules = Rules {
    validate: rest::attachment,
    validate_update: |new, old| {
        let changed = new["spec"] != old["spec"];
        changed.then(|| FieldError::invalid("spec", new["spec"].clone(), IMMUTABLE)).into_iter().collect()
    },
    ..Rules::NONE
};

pub(super) const CSI_DRIVER: Rules =
    Rules { validate: rest::csi_driver, validate_update: rest::csi_driver_update, ..Rules::NONE };

pub(super) const FLOW_SCHEMA: Rules =
    Rules { validate: rest::flow_schema, validate_update: |new, _| rest::flow_schema(new), ..Rules::NONE };

pub(super) const PRIORITY_LEVEL: Rules =
    Rules { validate: rest::priority_level, validate_update: |new, _| rest::priority_level(new), ..Rules::NONE };

pub(super) const IP_ADDRESS: Rules =
    Rules { validate: rest::ip_address, validate_update: rest::ip_address_update, ..Rules::NONE };

pub(super) const SERVICE_CIDR: Rules =
    Rules { validate: rest::service_cidr, validate_update: rest::service_cidr_update, ..Rules::NONE };

pub(super) const POD_TEMPLATE: Rules =
    Rules { validate: rest::pod_template, validate_update: |new, _| rest::pod_template(new), ..Rules::NONE };

pub(super) const CONTROLLER_REVISION: Rules = Rules {
    validate: rest::controller_revision,
    validate_update: |new, old| {
        let mut errors = rest::controller_revision(new);
        if new["data"] != old["data"] {
            errors.push(FieldError::invalid("data", new["data"].clone(), IMMUTABLE));
        }
        errors
    },
    ..Rules::NONE
};
