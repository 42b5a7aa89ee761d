//! Volumes, claims and their classes.

use serde_json::{Value, json};
use switchboard_object::field::FieldError;
use switchboard_object::kind::GroupResource;
use switchboard_object::quantity::Quantity;
use switchboard_object::status::Status;

use super::super::WriteContext;
use super::super::builtin::KindRules;
use super::{add_finalizer, at, limit_ranger, text};
use crate::metadata::IMMUTABLE;

const DEFAULT_CLASS: &str = "storageclass.kubernetes.io/is-default-class";

pub(super) const VOLUME: KindRules = KindRules {
    admit: |object, old, _| {
        if old.is_none() {
            add_finalizer(object, "kubernetes.io/pv-protection");
        }
        Ok(())
    },
    create: |object, env| {
        object["status"] = json!({"phase": "Pending", "lastPhaseTransitionTime": env.now});
        Ok(())
    },
    status: |new, old, env| {
        const CHANGED: &str = "lastPhaseTransitionTime";
        let (is, was) = (&new["status"][CHANGED], &old["status"][CHANGED]);
        let same = new["status"]["phase"] == old["status"]["phase"];
        if same && is.is_null() {
            new["status"][CHANGED] = was.clone();
        } else if !same && (is.is_null() || is == was) {
            new["status"][CHANGED] = json!(env.now);
        }
    },
    validate: super::super::storage::volume,
    validate_update: super::super::storage::volume_update,
    ..KindRules::NONE
};

pub(super) const CLAIM: KindRules = KindRules {
    admit: admit_claim,
    review: |claim, old, env| {
        limit_ranger::review_claim(claim, env)?;
        old.map_or(Ok(()), |old| may_grow(claim, old, env))
    },
    create: |object, _| {
        normalize_sources(object);
        Ok(())
    },
    update: |new, _, _| {
        normalize_sources(new);
        Ok(())
    },
    validate: super::super::storage::claim,
    validate_update: super::super::storage::claim_update,
    ..KindRules::NONE
};

fn admit_claim(object: &mut Value, old: Option<&Value>, env: &WriteContext<'_>) -> Result<(), Status> {
    if old.is_some() {
        return Ok(());
    }
    let annotated = text(object, "/metadata/annotations/volume.beta.kubernetes.io~1storage-class");
    let unset = annotated.is_empty() && at(object, "/spec/storageClassName").is_null();
    if let Some(class) = default_class(env).filter(|_| unset) {
        object["spec"]["storageClassName"] = class["metadata"]["name"].clone();
    }
    add_finalizer(object, "kubernetes.io/pvc-protection");
    Ok(())
}

/// Checks that only a bound claim of an expandable class grows.
fn may_grow(new: &Value, old: &Value, env: &WriteContext<'_>) -> Result<(), Status> {
    let size = |v: &Value| Quantity::from_value(at(v, "/spec/resources/requests/storage")).ok();
    if size(new) <= size(old) || !at(new, "/metadata/deletionTimestamp").is_null() {
        return Ok(());
    }
    let refuse = |why: &str| {
        let resource = GroupResource::new("", "persistentvolumeclaims");
        Err(Status::forbidden(&resource, text(new, "/metadata/name"), why))
    };
    if text(old, "/status/phase") != "Bound" {
        return refuse("Only bound persistent volume claims can be expanded");
    }
    let class = env.cluster.get("storageclasses.storage.k8s.io", "", text(old, "/spec/storageClassName"));
    if class.is_some_and(|c| c["allowVolumeExpansion"] == true) {
        return Ok(());
    }
    refuse(
        "only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize",
    )
}

/// Returns the newest default class; of several of the same age, the first by name.
fn default_class(env: &WriteContext<'_>) -> Option<Value> {
    let mut classes = env.cluster.list("storageclasses.storage.k8s.io", "");
    classes.retain(|c| {
        let marked = |key: &str| c["metadata"]["annotations"][key] == "true";
        marked(DEFAULT_CLASS) || marked("storageclass.beta.kubernetes.io/is-default-class")
    });
    classes.sort_by(|a, b| {
        let age = |c: &Value| text(c, "/metadata/creationTimestamp").to_string();
        let name = |c: &Value| text(c, "/metadata/name").to_string();
        age(b).cmp(&age(a)).then(name(a).cmp(&name(b)))
    });
    classes.into_iter().next()
}

/// Synchronizes `dataSource` and `dataSourceRef`.
fn normalize_sources(object: &mut Value) {
    let spec = &mut object["spec"];
    let (source, reference) = (spec["dataSource"].clone(), spec["dataSourceRef"].clone());
    let own = at(&reference, "/namespace").as_str().unwrap_or("").is_empty();
    match (source.is_null(), reference.is_null()) {
        (false, true) => spec["dataSourceRef"] = source,
        (true, false) if own => {
            let group = text(&reference, "/apiGroup");
            let snapshot = group == "snapshot.storage.k8s.io" && text(&reference, "/kind") == "VolumeSnapshot";
            let claim = group.is_empty() && text(&reference, "/kind") == "PersistentVolumeClaim";
            if snapshot || claim {
                spec["dataSource"] = reference;
            }
        }
        _ => {}
    }
    if let Some(map) = spec.as_object_mut() {
        map.retain(|_, v| !v.is_null());
    }
}

pub(super) const CLASS: KindRules = KindRules {
    validate: class,
    validate_update: |new, old| {
        let fixed = ["parameters", "provisioner", "reclaimPolicy", "volumeBindingMode"];
        let changed = fixed.into_iter().filter(|f| new[*f] != old[*f]);
        changed.map(|f| FieldError::invalid(f, new[f].clone(), IMMUTABLE)).collect()
    },
    ..KindRules::NONE
};

fn class(object: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let provisioner = text(object, "/provisioner");
    if provisioner.is_empty() {
        errors.push(FieldError::required("provisioner", provisioner));
    } else {
        let wrong = switchboard_object::name::qualified_name(&provisioner.to_lowercase());
        errors.extend(wrong.into_iter().map(|m| FieldError::invalid("provisioner", provisioner, m)));
    }
    let policy = text(object, "/reclaimPolicy");
    if !matches!(policy, "" | "Delete" | "Retain") {
        errors.push(FieldError::not_supported("reclaimPolicy", policy, &["Delete", "Retain"]));
    }
    let mode = text(object, "/volumeBindingMode");
    if !matches!(mode, "Immediate" | "WaitForFirstConsumer") {
        errors.push(FieldError::not_supported("volumeBindingMode", mode, &["Immediate", "WaitForFirstConsumer"]));
    }
    errors
}

pub(super) const ATTRIBUTES_CLASS: KindRules = KindRules {
    admit: |object, old, _| {
        if old.is_none() {
            add_finalizer(object, "kubernetes.io/vac-protection");
        }
        Ok(())
    },
    validate: |object| {
        let mut errors = Vec::new();
        if text(object, "/driverName").is_empty() {
            errors.push(FieldError::required("driverName", ""));
        }
        if object["parameters"].as_object().is_none_or(|p| p.is_empty()) {
            errors.push(FieldError::required("parameters", "must contain at least one key/value pair"));
        }
        errors
    },
    validate_update: |new, old| {
        let changed = ["driverName", "parameters"].into_iter().filter(|f| new[*f] != old[*f]);
        changed.map(|f| FieldError::forbidden(f, format!("updates to {f} are forbidden."))).collect()
    },
    whole: true,
    ..KindRules::NONE
};
