//! Questions to the provider, over HTTP.

use serde::{Deserialize, Serialize};
use switchboard_sdk::Question;

use crate::record::DnsRecordSpec;

/// Question for the published address of a host.
#[derive(Serialize)]
pub struct Lookup {
    url: String,
}

/// Request to publish an address. Repeating it changes nothing.
#[derive(Serialize)]
pub struct Publish {
    url: String,
    entry: Entry,
}

/// Request to withdraw a host. Repeating it changes nothing.
#[derive(Serialize)]
pub struct Withdraw {
    url: String,
}

/// Entry of the provider.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// Address of the host.
    pub address: String,
}

impl Question for Lookup {
    type Answer = Option<Entry>;
    const KIND: &'static str = "lookup";

    fn acts(&self) -> bool {
        false
    }
}

impl Question for Publish {
    type Answer = ();
    const KIND: &'static str = "publish";
}

impl Question for Withdraw {
    type Answer = ();
    const KIND: &'static str = "withdraw";
}

impl Lookup {
    /// Creates the question about a record.
    pub fn of(spec: &DnsRecordSpec) -> Self {
        Self { url: url(spec) }
    }

    /// Sends the question.
    pub fn send(self) -> Result<Option<Entry>, String> {
        match ureq::get(&self.url).call() {
            Ok(mut response) => response.body_mut().read_json().map(Some).map_err(|error| error.to_string()),
            Err(ureq::Error::StatusCode(404)) => Ok(None),
            Err(error) => Err(format!("could not look up {}: {error}", self.url)),
        }
    }
}

impl Publish {
    /// Creates the request for a record.
    pub fn of(spec: &DnsRecordSpec) -> Self {
        Self { url: url(spec), entry: Entry { address: spec.address.clone() } }
    }

    /// Sends the request.
    pub fn send(self) -> Result<(), String> {
        let sent = ureq::put(&self.url).send_json(&self.entry);
        sent.map(|_| ()).map_err(|error| format!("could not publish {}: {error}", self.url))
    }
}

impl Withdraw {
    /// Creates the request for a record.
    pub fn of(spec: &DnsRecordSpec) -> Self {
        Self { url: url(spec) }
    }

    /// Sends the request.
    pub fn send(self) -> Result<(), String> {
        let sent = ureq::delete(&self.url).call();
        sent.map(|_| ()).map_err(|error| format!("could not withdraw {}: {error}", self.url))
    }
}

fn url(spec: &DnsRecordSpec) -> String {
    format!("{}/records/{}", spec.provider.trim_end_matches('/'), spec.host)
}
