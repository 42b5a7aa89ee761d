//! qontract-server as a source, queried with GraphQL for one of its bundles.
//!
//! ```text
//! GET /sha256 ─▶ sha ─▶ POST /graphqlsha/<sha>, several times ─▶ Bundle
//! ```
//!
//! The server may load new bundles at any time, so a run reads the SHA once and queries that bundle only. The server
//! returns objects with inlined references; they are converted back to datafiles, so that a run does not depend on its
//! source.

mod files;
pub mod network;
mod query;
mod request;
mod response;

use std::time::Duration;

use serde_json::Value;

use super::Bundle;
use crate::model::OCM_ORGANIZATION;
use files::ServerFiles;
use query::GraphqlQuery;
pub use request::{ATTEMPTS, AuthorizationHeader, PAUSE, RequestError, ServerRequest, Transport};
use request::{excerpt, send_with_retries};
use response::{GraphqlData, parse_file_list, parse_response};

/// Timeout for the SHA of the bundle.
pub const SHA_TIMEOUT: Duration = Duration::from_secs(60);
/// Timeout for a query.
pub const QUERY_TIMEOUT: Duration = Duration::from_secs(30);
/// Maximum size of a response.
pub const MAX_ANSWER_BYTES: usize = 256 << 20;

/// Error of reading a bundle from a server.
#[derive(Debug, thiserror::Error)]
pub enum GraphqlError {
    /// The address is invalid.
    #[error("{0:?} is not the address of a qontract-server\nhint: use https://host/graphql")]
    Address(String),
    /// The address contains a login, which is not repeated.
    #[error(
        "the address of the qontract-server contains a login\nhint: use https://host/graphql, and put the `Authorization` header into the file named by `integrations.authorization` or into QONTRACT_AUTHORIZATION"
    )]
    Login,
    /// All attempts of a request failed.
    #[error("could not request {what} from {url}")]
    Ask {
        /// URL of the request.
        url: String,
        /// Content of the request.
        what: &'static str,
        /// Error of the last attempt.
        #[source]
        source: RequestError,
    },
    /// The requesting integration has no datafile, and so no schemas it may read.
    #[error(
        "integration not found: {0}\nhint: add a file with `$schema: /app-sre/integration-1.yml`, `name: {0}` and the schemas it reads"
    )]
    NotFound(String),
    /// The response contains schemas that the requesting integration's file does not list.
    #[error("forbidden schemas: {1:?}\nhint: list them under `schemas` in the file of the integration {0}")]
    Forbidden(String, Vec<String>),
}

/// qontract-server with the identity of the client.
#[derive(Clone, Debug)]
pub struct QontractServer {
    base: String,
    authorization: Option<AuthorizationHeader>,
    integration: Option<String>,
}

impl QontractServer {
    /// Creates a client for an address in qontract-reconcile's format, `https://host/graphql`, whose path is replaced.
    ///
    /// # Errors
    /// If the address is not an http or https URL.
    pub fn new(address: &str) -> Result<Self, GraphqlError> {
        let no_address = || GraphqlError::Address(address.to_string());
        let (scheme, rest) = address.split_once("://").ok_or_else(no_address)?;
        let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
        // A login in the address would appear in every error; the token belongs in the header.
        if host.contains('@') {
            return Err(GraphqlError::Login);
        }
        if !["http", "https"].contains(&scheme) || host.is_empty() || host.contains(' ') {
            return Err(no_address());
        }
        Ok(Self { base: format!("{scheme}://{host}"), authorization: None, integration: None })
    }

    /// Sets the `Authorization` header.
    #[must_use]
    pub fn authorized(mut self, authorization: Option<AuthorizationHeader>) -> Self {
        self.authorization = authorization;
        self
    }

    /// Sets the integration that reads the data, and may read only the schemas in its datafile.
    #[must_use]
    pub fn reading_as(mut self, integration: &str) -> Self {
        self.integration = Some(integration.to_string());
        self
    }

    /// Returns the SHA of the current bundle, to detect a new one with a small request.
    ///
    /// # Errors
    /// If all attempts fail.
    pub fn sha(&self, transport: &dyn Transport) -> Result<String, GraphqlError> {
        let ask = self.request("/sha256", None, SHA_TIMEOUT);
        send_with_retries(transport, &ask, "the SHA of its bundle", |body| {
            let text = String::from_utf8_lossy(body).trim().to_string();
            // The SHA becomes part of URLs.
            match !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric()) {
                true => Ok(text),
                false => Err(RequestError::Answer(format!("{:?} is not a SHA", excerpt(body)))),
            }
        })
    }

    /// Reads all data of the current bundle that a run needs.
    ///
    /// # Errors
    /// If a query fails, or the integration may not read the data.
    pub fn fetch(&self, transport: &dyn Transport) -> Result<Bundle, GraphqlError> {
        let sha = self.sha(transport)?;
        self.fetch_sha(transport, &sha)
    }

    /// Reads the data of a bundle that the server still has.
    ///
    /// # Errors
    /// The errors of [`QontractServer::fetch`].
    pub fn fetch_sha(&self, transport: &dyn Transport, sha: &str) -> Result<Bundle, GraphqlError> {
        let commit = self.commit(transport, sha)?;
        let allowed = self.allowed(transport, sha)?;
        let mut files = ServerFiles::default();
        for question in query::ALL {
            for answer in self.answers(transport, sha, &question, &mut files)? {
                if let (Some(name), Some(allowed)) = (&self.integration, &allowed) {
                    let other: Vec<String> = answer.schemas.into_iter().filter(|s| !allowed.contains(s)).collect();
                    if !other.is_empty() {
                        return Err(GraphqlError::Forbidden(name.clone(), other));
                    }
                }
                (question.store)(&mut files, answer.data);
            }
        }
        Ok(files.finish(sha).with_commit(commit))
    }

    /// Returns the answers to a query. If one file makes the server reject the query, each file is queried separately.
    fn answers(
        &self,
        transport: &dyn Transport,
        sha: &str,
        question: &GraphqlQuery,
        files: &mut ServerFiles,
    ) -> Result<Vec<GraphqlData>, GraphqlError> {
        if question.schema == OCM_ORGANIZATION {
            // Only newer servers have the field; others reject the query before executing it.
            let better = self.query_or_errors(transport, sha, question.what, query::ORGANIZATIONS_THAT_DISABLE)?;
            if let Ok(answer) = better {
                return Ok(vec![answer]);
            }
        }
        let refused = match self.query(transport, sha, question.what, question.text, parse_file_list) {
            Err(GraphqlError::Ask { source: RequestError::Reported(said), url, what }) => (said, url, what),
            answer => return answer.map(|answer| vec![answer]),
        };
        let Ok(Ok(paths)) = self.query_or_errors(transport, sha, question.what, &question.paths()) else {
            let (said, url, what) = refused;
            return Err(GraphqlError::Ask { url, what, source: RequestError::Reported(said) });
        };
        let mut answers = Vec::new();
        for path in paths.data["files"].as_array().into_iter().flatten().filter_map(|file| file["path"].as_str()) {
            match self.query_or_errors(transport, sha, question.what, &question.of_path(path))? {
                Ok(answer) => answers.push(answer),
                Err(said) => files.unreadable(path, question.schema, &said),
            }
        }
        Ok(answers)
    }

    /// Returns a list of files, or the errors that the server reports, which are permanent for a bundle.
    fn query_or_errors(
        &self,
        transport: &dyn Transport,
        sha: &str,
        what: &'static str,
        text: &str,
    ) -> Result<Result<GraphqlData, Vec<String>>, GraphqlError> {
        self.query(transport, sha, what, text, |body| match parse_file_list(body) {
            Err(RequestError::Reported(said)) => Ok(Err(said)),
            answer => answer.map(Ok),
        })
    }

    fn commit(&self, transport: &dyn Transport, sha: &str) -> Result<Option<String>, GraphqlError> {
        let ask = self.request(&format!("/git-commit-info/{sha}"), None, SHA_TIMEOUT);
        send_with_retries(transport, &ask, "the commit of its bundle", |body| {
            let said: Value = serde_json::from_slice(body).map_err(|error| RequestError::Answer(error.to_string()))?;
            Ok(said["commit"].as_str().filter(|commit| !commit.is_empty()).map(str::to_string))
        })
    }

    /// Returns the schemas that the requesting integration may read; `None` without such an integration.
    fn allowed(&self, transport: &dyn Transport, sha: &str) -> Result<Option<Vec<String>>, GraphqlError> {
        let Some(name) = &self.integration else { return Ok(None) };
        let answer = self.query(transport, sha, "the schemas of integrations", query::SCHEMAS, parse_response)?;
        let all = answer.data["integrations"].as_array().map_or(&[][..], Vec::as_slice);
        let own = all.iter().find(|one| one["name"] == name.as_str());
        let schemas = own.and_then(|one| one["schemas"].as_array()).into_iter().flatten();
        let schemas: Vec<String> = schemas.filter_map(Value::as_str).map(str::to_string).collect();
        if schemas.is_empty() {
            return Err(GraphqlError::NotFound(name.clone()));
        }
        Ok(Some(schemas))
    }

    /// Queries the bundle with this SHA and parses the response.
    fn query<T>(
        &self,
        transport: &dyn Transport,
        sha: &str,
        what: &'static str,
        text: &str,
        read: impl Fn(&[u8]) -> Result<T, RequestError>,
    ) -> Result<T, GraphqlError> {
        let body = serde_json::json!({ "query": text }).to_string();
        send_with_retries(
            transport,
            &self.request(&format!("/graphqlsha/{sha}"), Some(body), QUERY_TIMEOUT),
            what,
            read,
        )
    }

    fn request(&self, path: &str, body: Option<String>, timeout: Duration) -> ServerRequest {
        ServerRequest { url: format!("{}{path}", self.base), authorization: self.authorization.clone(), body, timeout }
    }
}

#[cfg(test)]
mod tests;
