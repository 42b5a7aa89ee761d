//! Jobs and CronJobs.

use serde_json::{Value, json};

use super::super::builtin::KindRules;
use super::super::{batch, warnings};
use super::{at, text};

pub(super) const JOB: KindRules = KindRules {
    create: |object, _| {
        generate_selector(object);
        Ok(())
    },
    validate: batch::job,
    validate_update: batch::job_update,
    warnings: |new, old| {
        let mut all = batch::named_warnings(new, old);
        all.extend(warnings::template(new, old, "/spec/template", "spec.template"));
        all
    },
    ..KindRules::NONE
};

pub(super) const CRON_JOB: KindRules = KindRules {
    validate: batch::cron_job,
    validate_update: batch::cron_job_update,
    warnings: batch::cron_job_warnings,
    ..KindRules::NONE
};

/// Sets the selector: a Job selects its pods by its own uid, unless the user sets the selector manually.
fn generate_selector(job: &mut Value) {
    if at(job, "/spec/manualSelector") == &json!(true) {
        return;
    }
    let (uid, name) = (text(job, "/metadata/uid").to_string(), text(job, "/metadata/name").to_string());
    let borrowed = job["metadata"]["labels"] == job["spec"]["template"]["metadata"]["labels"];
    if let Some(labels) = entry(&mut job["spec"]["template"]["metadata"], "labels") {
        for key in ["controller-uid", "batch.kubernetes.io/controller-uid"] {
            labels.entry(key).or_insert(json!(uid));
        }
        for key in ["job-name", "batch.kubernetes.io/job-name"] {
            labels.entry(key).or_insert(json!(name));
        }
    }
    // A Job without labels shares its template's: in Go both are the same map.
    if borrowed {
        job["metadata"]["labels"] = job["spec"]["template"]["metadata"]["labels"].clone();
    }
    let labels = entry(&mut job["spec"], "selector").map(|s| s.entry("matchLabels").or_insert(json!({})));
    if let Some(labels) = labels.and_then(Value::as_object_mut) {
        labels.entry("batch.kubernetes.io/controller-uid").or_insert(json!(uid));
    }
}

fn entry<'a>(value: &'a mut Value, field: &str) -> Option<&'a mut serde_json::Map<String, Value>> {
    if value[field].is_null() {
        value[field] = json!({});
    }
    value[field].as_object_mut()
}
