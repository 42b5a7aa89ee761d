//! What is wrong with Jobs and CronJobs.

use serde_json::{Value, json};
use switchboard_object::field::FieldError;
use switchboard_object::name;

use super::check::{at, int, items, matches, nonnegative, selector, text};
use super::{cron, internal, podspec, warnings};
use crate::metadata::IMMUTABLE;

/// The most pods an indexed Job runs at a time.
const MAX_INDEXED_PARALLELISM: i64 = 100_000;
/// A CronJob's name leaves room for the time its Jobs are named after.
const MAX_CRON_JOB_NAME: usize = 52;

/// A Job.
pub(super) fn job(object: &Value) -> Vec<FieldError> {
    let mut errors = generated_labels(object);
    errors.extend(job_with_selector(&object["spec"], "spec"));
    let completions = at(object, "/spec/completions").as_i64().unwrap_or(0);
    if text(object, "/spec/completionMode") == "Indexed" && completions > 0 {
        let own = text(object, "/metadata/name");
        let host = format!("{own}-{}", completions - 1);
        if !name::dns1123_label(&host).is_empty() {
            let detail = format!("will not able to create pod with invalid DNS label: {host}");
            errors.push(FieldError::invalid("metadata.name", own, detail));
        }
    }
    errors
}

/// The labels the server generates may not be given another value.
fn generated_labels(object: &Value) -> Vec<FieldError> {
    if at(object, "/spec/manualSelector") == &json!(true) || !at(object, "/spec/selector").is_object() {
        return Vec::new();
    }
    let mut errors = Vec::new();
    let labels = at(object, "/spec/template/metadata/labels");
    let (uid, own) = (text(object, "/metadata/uid"), text(object, "/metadata/name"));
    let expected = json!({
        "controller-uid": uid, "job-name": own,
        "batch.kubernetes.io/controller-uid": uid, "batch.kubernetes.io/job-name": own,
    });
    for key in ["controller-uid", "job-name", "batch.kubernetes.io/controller-uid", "batch.kubernetes.io/job-name"] {
        let wanted = &expected[key];
        if labels.get(key) != Some(wanted) {
            let path = format!("spec.template.metadata.labels[{key}]");
            let detail = format!("must be '{}'", wanted.as_str().unwrap_or(""));
            errors.push(FieldError::invalid(path, labels.clone(), detail));
        }
    }
    if !matches(at(object, "/spec/selector"), &expected) {
        let detail = "`selector` not auto-generated";
        errors.push(internal::invalid("spec.selector", "v1.LabelSelector", at(object, "/spec/selector"), detail));
    }
    errors
}

fn job_with_selector(spec: &Value, path: &str) -> Vec<FieldError> {
    let mut errors = job_spec(spec, path);
    if spec["selector"].is_object() {
        errors.extend(selector(&spec["selector"], &format!("{path}.selector")));
    } else {
        errors.push(FieldError::required(format!("{path}.selector"), ""));
    }
    let labels = at(spec, "/template/metadata/labels");
    if !spec["selector"].is_object() || !matches(&spec["selector"], labels) {
        let detail = "`selector` does not match template `labels`";
        errors.push(FieldError::invalid(format!("{path}.template.metadata.labels"), labels.clone(), detail));
    }
    errors
}

fn job_spec(spec: &Value, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for field in [
        "parallelism",
        "completions",
        "activeDeadlineSeconds",
        "backoffLimit",
        "ttlSecondsAfterFinished",
        "backoffLimitPerIndex",
        "maxFailedIndexes",
    ] {
        errors.extend(nonnegative(&spec[field], format!("{path}.{field}")));
    }
    let per_index = spec["backoffLimitPerIndex"].as_i64();
    let failed = spec["maxFailedIndexes"].as_i64();
    if failed.is_some() && per_index.is_none() {
        let detail = "when maxFailedIndexes is specified";
        errors.push(FieldError::required(format!("{path}.backoffLimitPerIndex"), detail));
    }
    let mode = text(spec, "/completionMode");
    let known = ["NonIndexed", "Indexed"];
    if !known.contains(&mode) {
        errors.push(FieldError::not_supported(format!("{path}.completionMode"), mode, &known));
    }
    if mode == "Indexed" {
        if spec["completions"].is_null() {
            errors.push(FieldError::required(format!("{path}.completions"), "when completion mode is Indexed"));
        }
        let parallelism = int(spec, "/parallelism");
        if parallelism > MAX_INDEXED_PARALLELISM {
            let detail =
                format!("must be less than or equal to {MAX_INDEXED_PARALLELISM} when completion mode is Indexed");
            errors.push(FieldError::invalid(format!("{path}.parallelism"), parallelism, detail));
        }
        if let (Some(failed), Some(all)) = (failed, spec["completions"].as_i64())
            && failed > all
        {
            let detail = "must be less than or equal to completions";
            errors.push(FieldError::invalid(format!("{path}.maxFailedIndexes"), failed, detail));
        }
    } else if mode == "NonIndexed" {
        for field in ["backoffLimitPerIndex", "maxFailedIndexes"] {
            if let Some(value) = spec[field].as_i64() {
                errors.push(FieldError::invalid(format!("{path}.{field}"), value, "requires indexed completion mode"));
            }
        }
    }
    errors.extend(podspec::template(&spec["template"], &format!("{path}.template")));
    errors.extend(restart_policy(spec, path));
    errors
}

fn restart_policy(spec: &Value, path: &str) -> Option<FieldError> {
    let path = format!("{path}.template.spec.restartPolicy");
    match text(spec, "/template/spec/restartPolicy") {
        "Always" | "" => Some(FieldError::required(path, "valid values: \"OnFailure\", \"Never\"")),
        "OnFailure" if spec["podFailurePolicy"].is_object() => {
            let detail = "only \"Never\" is supported when podFailurePolicy is specified";
            Some(FieldError::invalid(path, "OnFailure", detail))
        }
        "OnFailure" | "Never" => None,
        other => Some(FieldError::not_supported(path, other, &["OnFailure", "Never"])),
    }
}

/// An update of a Job.
pub(super) fn job_update(new: &Value, old: &Value) -> Vec<FieldError> {
    let (is, was) = (&new["spec"], &old["spec"]);
    let mut errors = job_with_selector(is, "spec");
    if is["completions"] != was["completions"] {
        if text(is, "/completionMode") != "Indexed" {
            errors.push(FieldError::invalid("spec.completions", is["completions"].clone(), IMMUTABLE));
        } else if !is["completions"].is_null() && is["completions"] != is["parallelism"] {
            let detail = "can only be modified in tandem with spec.parallelism";
            errors.push(FieldError::invalid("spec.completions", is["completions"].clone(), detail));
        }
    }
    if is["selector"] != was["selector"] {
        errors.push(internal::invalid("spec.selector", "v1.LabelSelector", &is["selector"], IMMUTABLE));
    }
    errors.extend(fixed_template(new, old));
    for field in ["completionMode", "podFailurePolicy", "backoffLimitPerIndex", "managedBy", "successPolicy"] {
        if is[field] != was[field] {
            errors.push(FieldError::invalid(format!("spec.{field}"), is[field].clone(), IMMUTABLE));
        }
    }
    errors
}

/// The template may not change, but where pods run may while a Job is suspended and has no pods.
fn fixed_template(new: &Value, old: &Value) -> Option<FieldError> {
    let (is, mut was) = (&new["spec"]["template"], old["spec"]["template"].clone());
    let paused = |c: &Value| c["type"] == "Suspended" && c["status"] == "True";
    let suspended = old["spec"]["suspend"] == true && items(old, "/status/conditions").iter().any(paused);
    if suspended && int(old, "/status/active") == 0 {
        for field in ["nodeSelector", "tolerations", "schedulingGates", "affinity"] {
            was["spec"][field] = is["spec"][field].clone();
        }
        was["metadata"] = is["metadata"].clone();
        for list in ["containers", "initContainers"] {
            for (index, container) in
                was["spec"].get_mut(list).and_then(Value::as_array_mut).into_iter().flatten().enumerate()
            {
                container["resources"] = is["spec"][list][index]["resources"].clone();
            }
        }
        was["spec"].as_object_mut().into_iter().for_each(|m| m.retain(|_, v| !v.is_null()));
    }
    (*is != was).then(|| internal::invalid("spec.template", "core.PodTemplateSpec", is, IMMUTABLE))
}

/// A CronJob.
pub(super) fn cron_job(object: &Value) -> Vec<FieldError> {
    let mut errors = cron_spec(&object["spec"], None);
    let own = text(object, "/metadata/name");
    if own.len() > MAX_CRON_JOB_NAME {
        errors.push(FieldError::invalid("metadata.name", own, "must be no more than 52 characters"));
    }
    errors
}

/// An update of a CronJob.
pub(super) fn cron_job_update(new: &Value, old: &Value) -> Vec<FieldError> {
    cron_spec(&new["spec"], Some(&old["spec"]))
}

fn cron_spec(spec: &Value, old: Option<&Value>) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let schedule = text(spec, "/schedule");
    if schedule.is_empty() {
        errors.push(FieldError::required("spec.schedule", ""));
    } else {
        if let Err(detail) = cron::parse(schedule) {
            errors.push(FieldError::invalid("spec.schedule", schedule, detail));
        }
        let tolerated = old.is_some_and(|o| text(o, "/schedule").contains("TZ"));
        if schedule.contains("TZ") && !tolerated {
            let detail = "cannot use TZ or CRON_TZ in schedule, use timeZone field instead";
            errors.push(FieldError::invalid("spec.schedule", schedule, detail));
        } else if schedule.contains("TZ") && !spec["timeZone"].is_null() {
            let detail = "cannot use both timeZone field and TZ or CRON_TZ in schedule";
            errors.push(FieldError::invalid("spec.schedule", schedule, detail));
        }
    }
    errors.extend(nonnegative(&spec["startingDeadlineSeconds"], "spec.startingDeadlineSeconds"));
    if let Some(zone) = spec["timeZone"].as_str() {
        errors.extend(time_zone(zone));
    }
    let policy = text(spec, "/concurrencyPolicy");
    let known = ["Allow", "Forbid", "Replace"];
    if !known.contains(&policy) {
        errors.push(FieldError::not_supported("spec.concurrencyPolicy", policy, &known));
    }
    let template = &spec["jobTemplate"]["spec"];
    errors.extend(template_spec(template));
    for field in ["successfulJobsHistoryLimit", "failedJobsHistoryLimit"] {
        errors.extend(nonnegative(&spec[field], format!("spec.{field}")));
    }
    errors
}

fn time_zone(zone: &str) -> Option<FieldError> {
    let path = "spec.timeZone";
    if zone.is_empty() {
        return Some(FieldError::invalid(path, zone, "timeZone must be nil or non-empty string"));
    }
    let odd = |part: &str| {
        matches!(part, "." | "..")
            || part.starts_with('-')
            || !part.chars().all(|c| c.is_ascii_alphanumeric() || "_+-".contains(c))
    };
    if zone.split('/').any(odd) {
        return Some(FieldError::invalid(path, zone, format!("unknown time zone {zone}")));
    }
    let detail = "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones";
    zone.eq_ignore_ascii_case("local").then(|| FieldError::invalid(path, zone, detail))
}

fn template_spec(spec: &Value) -> Vec<FieldError> {
    let path = "spec.jobTemplate.spec";
    // A template has no completion mode until it becomes a Job.
    let mut with_mode = spec.clone();
    if with_mode["completionMode"].is_null() {
        with_mode["completionMode"] = json!("NonIndexed");
    }
    let mut errors = job_spec(&with_mode, path);
    if spec["selector"].is_object() {
        let detail = "`selector` will be auto-generated";
        errors.push(internal::invalid(&format!("{path}.selector"), "v1.LabelSelector", &spec["selector"], detail));
    }
    if spec["manualSelector"] == true {
        errors.push(FieldError::not_supported(format!("{path}.manualSelector"), true, &["nil", "false"]));
    }
    errors
}

/// Warnings of a CronJob.
pub(super) fn cron_job_warnings(new: &Value, old: Option<&Value>) -> Vec<String> {
    let mut warnings = named_warnings(new, old);
    warnings.extend(warnings::template(new, old, "/spec/jobTemplate/spec/template", "spec.jobTemplate.spec.template"));
    warnings
}

/// Pods are named after the Job: a name that is no DNS label surprises.
pub(super) fn named_warnings(new: &Value, old: Option<&Value>) -> Vec<String> {
    let wrong = name::dns1123_label(text(new, "/metadata/name"));
    if old.is_some() || wrong.is_empty() {
        return Vec::new();
    }
    vec![format!(
        "metadata.name: this is used in Pod names and hostnames, which can result in surprising behavior; a DNS label is recommended: [{}]",
        wrong.join(" ")
    )]
}
