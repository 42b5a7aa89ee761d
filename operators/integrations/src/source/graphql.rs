//! A live qontract-server: GraphQL over one bundle of it.
//!
//! ```text
//! GET /sha256 ─▶ sha ─▶ POST /graphqlsha/<sha>, several times ─▶ Bundle
//! ```
//!
//! The server goes on to new bundles while we ask; a run asks for the sha once and then of that bundle alone. What it gives
//! out are objects with what they refer to inside of them; here they become datafiles again, so that a run does not
//! know where its data came from.

mod answer;
mod ask;
mod files;
pub mod network;
mod query;

use std::time::Duration;

use serde_json::Value;

use super::Bundle;
use crate::model::OCM_ORGANIZATION;
use answer::{Answered, answered, listed};
pub use ask::{ATTEMPTS, Ask, AskError, PAUSE, Secret, Transport};
use ask::{retried, told};
use files::Files;
use query::Question;

/// How long the sha of the bundle may take.
pub const SHA_TIMEOUT: Duration = Duration::from_secs(60);
/// How long a query may take.
pub const QUERY_TIMEOUT: Duration = Duration::from_secs(30);
/// The largest answer that is read.
pub const MAX_ANSWER_BYTES: usize = 256 << 20;

/// Why a server gives no bundle.
#[derive(Debug, thiserror::Error)]
pub enum GraphqlError {
    /// The address is none.
    #[error("{0:?} is no address of a qontract-server\nhint: write it as https://host/graphql")]
    Address(String),
    /// A user or password stands in the address; it is not repeated.
    #[error(
        "the address of a qontract-server holds a login\nhint: write it as https://host/graphql; what it wants as `Authorization` stands in the file that `integrations.authorization` names, or in QONTRACT_AUTHORIZATION"
    )]
    Login,
    /// No answer, or not a good one, however often it was asked.
    #[error("could not ask {url} for {what}")]
    Ask {
        /// The address.
        url: String,
        /// What was asked for.
        what: &'static str,
        /// What came of the last attempt.
        #[source]
        source: AskError,
    },
    /// The integration that asks has no datafile, and so no schemas it may read.
    #[error(
        "integration not found: {0}\nhint: add a file with `$schema: /app-sre/integration-1.yml`, `name: {0}` and the schemas it reads"
    )]
    NotFound(String),
    /// Schemas were read that the asking integration's file does not list.
    #[error("forbidden schemas: {1:?}\nhint: list them under `schemas` in the file of the integration {0}")]
    Forbidden(String, Vec<String>),
}

/// A server and who asks it.
#[derive(Clone, Debug)]
pub struct Server {
    base: String,
    authorization: Option<Secret>,
    integration: Option<String>,
}

impl Server {
    /// The server at an address as the original's configuration has it: of `https://host/graphql` the path is ours to say.
    ///
    /// # Errors
    /// When it is no http or https address.
    pub fn new(address: &str) -> Result<Self, GraphqlError> {
        let no_address = || GraphqlError::Address(address.to_string());
        let (scheme, rest) = address.split_once("://").ok_or_else(no_address)?;
        let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
        // A user and password here would be told with every error; the token is the place for them.
        if host.contains('@') {
            return Err(GraphqlError::Login);
        }
        if !["http", "https"].contains(&scheme) || host.is_empty() || host.contains(' ') {
            return Err(no_address());
        }
        Ok(Self { base: format!("{scheme}://{host}"), authorization: None, integration: None })
    }

    /// With what stands in the `Authorization` header.
    #[must_use]
    pub fn authorized(mut self, authorization: Option<Secret>) -> Self {
        self.authorization = authorization;
        self
    }

    /// As an integration that may read the schemas its own datafile lists, and no others.
    #[must_use]
    pub fn reading_as(mut self, integration: &str) -> Self {
        self.integration = Some(integration.to_string());
        self
    }

    /// The sha of the bundle the server is at: whether there is something new costs one small question.
    ///
    /// # Errors
    /// When the server does not say.
    pub fn sha(&self, transport: &dyn Transport) -> Result<String, GraphqlError> {
        let ask = self.ask("/sha256", None, SHA_TIMEOUT);
        retried(transport, &ask, "the sha of its bundle", |body| {
            let text = String::from_utf8_lossy(body).trim().to_string();
            // It becomes a part of every further address.
            match !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric()) {
                true => Ok(text),
                false => Err(AskError::Answer(format!("{:?} is no sha", told(body)))),
            }
        })
    }

    /// All that a run needs, of the bundle the server is at.
    ///
    /// # Errors
    /// When a question has failed, or is not allowed to the integration that asks.
    pub fn fetch(&self, transport: &dyn Transport) -> Result<Bundle, GraphqlError> {
        let sha = self.sha(transport)?;
        self.fetch_sha(transport, &sha)
    }

    /// The same of one bundle, which the server still has.
    ///
    /// # Errors
    /// As [`Server::fetch`].
    pub fn fetch_sha(&self, transport: &dyn Transport, sha: &str) -> Result<Bundle, GraphqlError> {
        let commit = self.commit(transport, sha)?;
        let allowed = self.allowed(transport, sha)?;
        let mut files = Files::default();
        for question in query::ALL {
            for answer in self.answers(transport, sha, &question, &mut files)? {
                if let (Some(name), Some(allowed)) = (&self.integration, &allowed) {
                    let other: Vec<String> = answer.schemas.into_iter().filter(|s| !allowed.contains(s)).collect();
                    if !other.is_empty() {
                        return Err(GraphqlError::Forbidden(name.clone(), other));
                    }
                }
                (question.take)(&mut files, answer.data);
            }
        }
        Ok(files.finish(sha).of_commit(commit))
    }

    /// What answers a question. Where one file makes the server refuse all of them, each is asked for alone.
    fn answers(
        &self,
        transport: &dyn Transport,
        sha: &str,
        question: &Question,
        files: &mut Files,
    ) -> Result<Vec<Answered>, GraphqlError> {
        if question.schema == OCM_ORGANIZATION {
            // Not every server's types have it; one that has not refuses the question before it runs.
            let better = self.said(transport, sha, question.what, query::ORGANIZATIONS_THAT_DISABLE)?;
            if let Ok(answer) = better {
                return Ok(vec![answer]);
            }
        }
        let refused = match self.query(transport, sha, question.what, question.text, listed) {
            Err(GraphqlError::Ask { source: AskError::Reported(said), url, what }) => (said, url, what),
            answer => return answer.map(|answer| vec![answer]),
        };
        let Ok(Ok(paths)) = self.said(transport, sha, question.what, &question.paths()) else {
            let (said, url, what) = refused;
            return Err(GraphqlError::Ask { url, what, source: AskError::Reported(said) });
        };
        let mut answers = Vec::new();
        for path in paths.data["files"].as_array().into_iter().flatten().filter_map(|file| file["path"].as_str()) {
            match self.said(transport, sha, question.what, &question.of_path(path))? {
                Ok(answer) => answers.push(answer),
                Err(said) => files.reported(path, question.schema, &said),
            }
        }
        Ok(answers)
    }

    /// A list of files, or what a server that does not like the question says: over one bundle it says that each time.
    fn said(
        &self,
        transport: &dyn Transport,
        sha: &str,
        what: &'static str,
        text: &str,
    ) -> Result<Result<Answered, Vec<String>>, GraphqlError> {
        self.query(transport, sha, what, text, |body| match listed(body) {
            Err(AskError::Reported(said)) => Ok(Err(said)),
            answer => answer.map(Ok),
        })
    }

    fn commit(&self, transport: &dyn Transport, sha: &str) -> Result<Option<String>, GraphqlError> {
        let ask = self.ask(&format!("/git-commit-info/{sha}"), None, SHA_TIMEOUT);
        retried(transport, &ask, "the commit of its bundle", |body| {
            let said: Value = serde_json::from_slice(body).map_err(|error| AskError::Answer(error.to_string()))?;
            Ok(said["commit"].as_str().filter(|commit| !commit.is_empty()).map(str::to_string))
        })
    }

    /// The schemas the asking integration may read, when it is to be asked about that.
    fn allowed(&self, transport: &dyn Transport, sha: &str) -> Result<Option<Vec<String>>, GraphqlError> {
        let Some(name) = &self.integration else { return Ok(None) };
        let answer = self.query(transport, sha, "the schemas of integrations", query::SCHEMAS, answered)?;
        let all = answer.data["integrations"].as_array().map_or(&[][..], Vec::as_slice);
        let own = all.iter().find(|one| one["name"] == name.as_str());
        let schemas = own.and_then(|one| one["schemas"].as_array()).into_iter().flatten();
        let schemas: Vec<String> = schemas.filter_map(Value::as_str).map(str::to_string).collect();
        if schemas.is_empty() {
            return Err(GraphqlError::NotFound(name.clone()));
        }
        Ok(Some(schemas))
    }

    /// Asks the bundle of a hash, and reads what comes back.
    fn query<T>(
        &self,
        transport: &dyn Transport,
        sha: &str,
        what: &'static str,
        text: &str,
        read: impl Fn(&[u8]) -> Result<T, AskError>,
    ) -> Result<T, GraphqlError> {
        let body = serde_json::json!({ "query": text }).to_string();
        retried(transport, &self.ask(&format!("/graphqlsha/{sha}"), Some(body), QUERY_TIMEOUT), what, read)
    }

    fn ask(&self, path: &str, body: Option<String>, timeout: Duration) -> Ask {
        Ask { url: format!("{}{path}", self.base), authorization: self.authorization.clone(), body, timeout }
    }
}

#[cfg(test)]
mod tests;
