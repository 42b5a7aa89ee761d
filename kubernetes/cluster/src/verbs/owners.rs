//! Deduplication of owner references.

use std::collections::BTreeSet;

use switchboard_object::Value;

use super::RequestWarnings;

/// Drops owner references with a duplicate uid, and warns.
pub(super) fn dedup(object: &mut Value, warnings: &RequestWarnings) {
    let Some(references) = object.pointer_mut("/metadata/ownerReferences").and_then(Value::as_array_mut) else {
        return;
    };
    let (mut seen, mut duplicates) = (BTreeSet::new(), Vec::new());
    references.retain(|reference| {
        let uid = reference["uid"].as_str().unwrap_or_default().to_string();
        let first = seen.insert(uid.clone());
        if !first && !duplicates.contains(&uid) {
            duplicates.push(uid);
        }
        first
    });
    if !duplicates.is_empty() {
        warnings.add(format!(
            ".metadata.ownerReferences contains duplicate entries; API server dedups owner references in 1.20+, and may \
             reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: {}",
            duplicates.join(", ")
        ));
    }
}
