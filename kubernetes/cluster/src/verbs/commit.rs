//! Read, change, write, and again when somebody was faster.

use bytes::Bytes;
use switchboard_object::Value;
use switchboard_object::status::Status;

use super::Call;
use crate::store::{Expect, Record, WriteError};

/// How often a write is tried again when another one came first.
const MAX_TRIES: usize = 64;

/// What an update led to.
pub(crate) struct Updated {
    /// The object as it is now (or would be), encoded.
    pub bytes: Bytes,
}

impl Call {
    /// Changes the stored object `name` to what `make` makes of it. `make` must return an object that passed all steps;
    /// it is called again when somebody else wrote in between.
    pub(crate) async fn change(
        &self,
        name: &str,
        dry_run: bool,
        make: impl Fn(&Value) -> Result<Value, Status>,
    ) -> Result<Updated, Status> {
        let _alone = self.alone_with_addresses().await;
        let mut record = self.find(name)?;
        for _ in 0..MAX_TRIES {
            let live = self.read(&record);
            let new = make(&live)?;
            let bytes = if is_finished(&live, &new) {
                // The answer to an update that ends an object shows the revision it was based on.
                let last = self.template(&new).at(record.revision);
                // Watchers see the object as it last was stored.
                self.remove(name, &record, &live, dry_run).await.map(|_| last)
            } else if new == live {
                Ok(record.bytes.clone())
            } else {
                self.replace(name, &record, &new, dry_run).await
            };
            match bytes {
                Ok(bytes) => return Ok(Updated { bytes }),
                Err(Failed::Raced(current)) => {
                    record = current.ok_or_else(|| Status::not_found(&self.resource.group_resource(), name))?;
                }
                Err(Failed::Refused(status)) => return Err(status),
            }
        }
        Err(Status::new(504, "Timeout", "Timeout: the object is changed faster than this request can follow"))
    }

    /// Replaces the stored object.
    pub(super) async fn replace(
        &self,
        name: &str,
        record: &Record,
        new: &Value,
        dry_run: bool,
    ) -> Result<Bytes, Failed> {
        let template = self.template(new);
        if dry_run {
            return Ok(template.at(record.revision));
        }
        let written = self.inner.store.put(self.key(name), Expect::Revision(record.revision), |r| template.at(r)).await;
        let bytes = written.map_err(|e| self.failed(e))?.bytes;
        self.written(name).await;
        Ok(bytes)
    }

    /// Removes the stored object; `last` is its final state. Answers with that state.
    pub(super) async fn remove(
        &self,
        name: &str,
        record: &Record,
        last: &Value,
        dry_run: bool,
    ) -> Result<Bytes, Failed> {
        let template = self.template(last);
        if !dry_run {
            let removed = self.inner.store.delete(self.key(name), record.revision, |r| template.at(r)).await;
            let revision = removed.map_err(|e| self.failed(e))?;
            self.written(name).await;
            // A plain delete answers with the revision it made, as upstream's storage does.
            return Ok(template.at(revision));
        }
        Ok(template.at(record.revision))
    }

    fn failed(&self, error: WriteError) -> Failed {
        match error {
            WriteError::Conflict { current } => Failed::Raced(current),
            error => Failed::Refused(self.write_failed(&error)),
        }
    }
}

/// Why a write did not happen.
pub(super) enum Failed {
    /// Somebody else wrote first; this is what is stored now.
    Raced(Option<Record>),
    /// It is not allowed or not possible.
    Refused(Status),
}

/// The last finalizer of an object that waits for its deletion is gone.
fn is_finished(live: &Value, new: &Value) -> bool {
    let waits = new["metadata"]["finalizers"].as_array().is_some_and(|f| !f.is_empty());
    let grace = live["metadata"]["deletionGracePeriodSeconds"].as_i64().unwrap_or(0);
    // A namespace has finalizers of its own.
    let waits =
        waits || new["kind"] == "Namespace" && new["spec"]["finalizers"].as_array().is_some_and(|f| !f.is_empty());
    !waits && !live["metadata"]["deletionTimestamp"].is_null() && grace == 0
}
