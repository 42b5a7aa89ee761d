//! Kinds with validation only.

use switchboard_object::field::FieldError;

use super::super::builtin::KindRules;
use super::super::infrastructure;
use crate::metadata::IMMUTABLE;

pub(super) const ATTACHMENT: KindRules = KindRules {
    validate: infrastructure::attachment,
    validate_update: |new, old| {
        let changed = new["spec"] != old["spec"];
        changed.then(|| FieldError::invalid("spec", new["spec"].clone(), IMMUTABLE)).into_iter().collect()
    },
    ..KindRules::NONE
};

pub(super) const CSI_DRIVER: KindRules = KindRules {
    validate: infrastructure::csi_driver,
    validate_update: infrastructure::csi_driver_update,
    ..KindRules::NONE
};

pub(super) const FLOW_SCHEMA: KindRules = KindRules {
    validate: infrastructure::flow_schema,
    validate_update: |new, _| infrastructure::flow_schema(new),
    ..KindRules::NONE
};

pub(super) const PRIORITY_LEVEL: KindRules = KindRules {
    validate: infrastructure::priority_level,
    validate_update: |new, _| infrastructure::priority_level(new),
    ..KindRules::NONE
};

pub(super) const IP_ADDRESS: KindRules = KindRules {
    validate: infrastructure::ip_address,
    validate_update: infrastructure::ip_address_update,
    ..KindRules::NONE
};

pub(super) const SERVICE_CIDR: KindRules = KindRules {
    validate: infrastructure::service_cidr,
    validate_update: infrastructure::service_cidr_update,
    ..KindRules::NONE
};

pub(super) const POD_TEMPLATE: KindRules = KindRules {
    validate: infrastructure::pod_template,
    validate_update: |new, _| infrastructure::pod_template(new),
    ..KindRules::NONE
};

pub(super) const CONTROLLER_REVISION: KindRules = KindRules {
    validate: infrastructure::controller_revision,
    validate_update: |new, old| {
        let mut errors = infrastructure::controller_revision(new);
        if new["data"] != old["data"] {
            errors.push(FieldError::invalid("data", new["data"].clone(), IMMUTABLE));
        }
        errors
    },
    ..KindRules::NONE
};
