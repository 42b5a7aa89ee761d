//! Read-modify-write with retries on conflicts.

use bytes::Bytes;
use switchboard_object::Value;
use switchboard_object::status::Status;

use super::ApiCall;
use crate::store::{ExpectedState, StoredObject, WriteError};

/// Number of retries of a write after conflicts.
const MAX_TRIES: usize = 64;

/// Result of an update.
pub(crate) struct UpdateResult {
    /// Encoded object after the update (also for a dry run).
    pub bytes: Bytes,
}

impl ApiCall {
    /// Changes the stored object `name` with `make`, which must return an object that passed all steps. `make` is
    /// called again if another client wrote in between.
    pub(crate) async fn change(
        &self,
        name: &str,
        dry_run: bool,
        make: impl Fn(&Value) -> Result<Value, Status>,
    ) -> Result<UpdateResult, Status> {
        let _alone = self.lock_addresses().await;
        let mut record = self.find(name)?;
        for _ in 0..MAX_TRIES {
            let live = self.read(&record);
            let new = make(&live)?;
            let bytes = if is_finished(&live, &new) {
                // The response to an update that removes an object has the revision on which the update was based.
                let last = self.template(&new).with_revision(record.revision);
                // Watchers receive the object as last stored.
                self.remove(name, &record, &live, dry_run).await.map(|_| last)
            } else if new == live {
                Ok(record.bytes.clone())
            } else {
                self.replace(name, &record, &new, dry_run).await
            };
            match bytes {
                Ok(bytes) => return Ok(UpdateResult { bytes }),
                Err(CommitError::Raced(current)) => {
                    record = current.ok_or_else(|| Status::not_found(&self.resource.group_resource(), name))?;
                }
                Err(CommitError::Refused(status)) => return Err(status),
            }
        }
        Err(Status::new(504, "Timeout", "Timeout: the object is changed faster than this request can follow"))
    }

    /// Replaces the stored object.
    pub(super) async fn replace(
        &self,
        name: &str,
        record: &StoredObject,
        new: &Value,
        dry_run: bool,
    ) -> Result<Bytes, CommitError> {
        let template = self.template(new);
        if dry_run {
            return Ok(template.with_revision(record.revision));
        }
        let written = self
            .inner
            .store
            .put(self.key(name), ExpectedState::Revision(record.revision), |r| template.with_revision(r))
            .await;
        let bytes = written.map_err(|e| self.failed(e))?.bytes;
        self.after_write(name).await;
        Ok(bytes)
    }

    /// Removes the stored object with the final state `last`. Returns that state.
    pub(super) async fn remove(
        &self,
        name: &str,
        record: &StoredObject,
        last: &Value,
        dry_run: bool,
    ) -> Result<Bytes, CommitError> {
        let template = self.template(last);
        if !dry_run {
            let removed = self.inner.store.delete(self.key(name), record.revision, |r| template.with_revision(r)).await;
            let revision = removed.map_err(|e| self.failed(e))?;
            self.after_write(name).await;
            // A plain delete returns the revision of the delete, like kube-apiserver's storage.
            return Ok(template.with_revision(revision));
        }
        Ok(template.with_revision(record.revision))
    }

    fn failed(&self, error: WriteError) -> CommitError {
        match error {
            WriteError::Conflict { current } => CommitError::Raced(current),
            error => CommitError::Refused(self.write_failed(&error)),
        }
    }
}

/// Error of a write.
pub(super) enum CommitError {
    /// Another client wrote first; this is the object stored now.
    Raced(Option<StoredObject>),
    /// The write is not allowed or not possible.
    Refused(Status),
}

/// Whether the last finalizer of an object that is being deleted was removed.
fn is_finished(live: &Value, new: &Value) -> bool {
    let waits = new["metadata"]["finalizers"].as_array().is_some_and(|f| !f.is_empty());
    let grace = live["metadata"]["deletionGracePeriodSeconds"].as_i64().unwrap_or(0);
    // Namespaces have finalizers in their spec, too.
    let waits =
        waits || new["kind"] == "Namespace" && new["spec"]["finalizers"].as_array().is_some_and(|f| !f.is_empty());
    !waits && !live["metadata"]["deletionTimestamp"].is_null() && grace == 0
}
