//! Sends one HTTP request and waits for the response.

use std::io;
use std::sync::{Arc, OnceLock};

use ::http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HOST, USER_AGENT};
use ::http::{Request, Uri};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper::rt::{Read, Write};
use hyper_util::rt::TokioIo;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use rustls_platform_verifier::BuilderVerifierExt;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use super::{ApparatusCall, MAX_ANSWER_BYTES};
use crate::apparatus::answer::CallAnswer;

/// Header with the identifier of the event. A program uses it to detect an event that is sent again after a lost
/// response or a crash.
const MARK_HEADER: &str = "Idempotency-Key";

/// Sends a call and returns its status and response body.
pub(super) fn send(call: &ApparatusCall) -> (CallAnswer, Option<Vec<u8>>) {
    if tokio::runtime::Handle::try_current().is_err() {
        return wait(call);
    }
    // A decision on an event loop, as in fault tests, cannot run a second event loop on the same thread.
    let waited = std::thread::scope(|scope| scope.spawn(|| wait(call)).join());
    waited.unwrap_or_else(|_| (CallAnswer::Broken("the call was cancelled".to_string()), None))
}

fn wait(call: &ApparatusCall) -> (CallAnswer, Option<Vec<u8>>) {
    let broken = |error: io::Error| (CallAnswer::Broken(error.to_string()), None);
    // A runtime for each call: a decision may block its thread, and no connection outlives a call.
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return broken(error),
    };
    runtime.block_on(async {
        match tokio::time::timeout(call.timeout, exchange(call)).await {
            Err(_) => (CallAnswer::TimedOut, None),
            Ok(Err(answer)) => (answer, None),
            Ok(Ok((status, said))) => (CallAnswer::Status(status), Some(said)),
        }
    })
}

async fn exchange(call: &ApparatusCall) -> Result<(u16, Vec<u8>), CallAnswer> {
    let odd = |what: &str| CallAnswer::Broken(what.to_string());
    let uri: Uri = call.url.parse().map_err(|_| odd("the URL is invalid"))?;
    let host = uri.host().ok_or_else(|| odd("the URL has no host"))?.trim_matches(['[', ']']).to_string();
    let tls = uri.scheme_str() == Some("https");
    let port = uri.port_u16().unwrap_or(if tls { 443 } else { 80 });
    let stream = TcpStream::connect((host.as_str(), port)).await;
    let stream = stream.map_err(|error| CallAnswer::NotRunning(error.to_string()))?;
    let request = request(call, &uri)?;
    if !tls {
        return converse(TokioIo::new(stream), request).await;
    }
    let name = ServerName::try_from(host).map_err(|_| odd("the host of the URL is not a valid server name"))?;
    let connector = TlsConnector::from(verifying().map_err(|error| CallAnswer::Broken(error.to_string()))?);
    let stream = connector.connect(name, stream).await.map_err(|error| CallAnswer::Broken(error.to_string()))?;
    converse(TokioIo::new(stream), request).await
}

/// Returns a TLS configuration that trusts the system's certificates.
fn verifying() -> Result<Arc<ClientConfig>, rustls::Error> {
    static CONFIG: OnceLock<Arc<ClientConfig>> = OnceLock::new();
    if let Some(config) = CONFIG.get() {
        return Ok(config.clone());
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
    let config = Arc::new(builder.with_platform_verifier()?.with_no_client_auth());
    Ok(CONFIG.get_or_init(|| config).clone())
}

fn request(call: &ApparatusCall, uri: &Uri) -> Result<Request<Full<Bytes>>, CallAnswer> {
    let authority = uri.authority().map(|authority| authority.as_str()).unwrap_or_default();
    let (user, host) = authority.rsplit_once('@').map_or((None, authority), |(user, host)| (Some(user), host));
    let path = uri.path_and_query().map_or("/", |path| path.as_str());
    let mut request = Request::builder()
        .method(call.method())
        .uri(path)
        .header(HOST, host)
        .header(ACCEPT, "application/json")
        .header(USER_AGENT, concat!("switchboard/", env!("CARGO_PKG_VERSION")));
    if let Some(user) = user {
        request = request.header(AUTHORIZATION, format!("Basic {}", BASE64_STANDARD.encode(user)));
    }
    if let Some(mark) = &call.mark {
        request = request.header(MARK_HEADER, mark);
    }
    let body = match &call.body {
        Some(body) => {
            request = request.header(CONTENT_TYPE, "application/json");
            Bytes::from(body.to_string())
        }
        None => Bytes::new(),
    };
    request.body(Full::new(body)).map_err(|error| CallAnswer::Broken(error.to_string()))
}

async fn converse<T>(io: T, request: Request<Full<Bytes>>) -> Result<(u16, Vec<u8>), CallAnswer>
where
    T: Read + Write + Unpin + Send + 'static,
{
    let broken = |error: hyper::Error| CallAnswer::Broken(error.to_string());
    let (mut sender, connection) = hyper::client::conn::http1::handshake(io).await.map_err(broken)?;
    let driver = tokio::spawn(connection);
    let response = sender.send_request(request).await.map_err(broken)?;
    let status = response.status().as_u16();
    let said = Limited::new(response.into_body(), MAX_ANSWER_BYTES).collect().await;
    driver.abort();
    match said {
        Ok(said) => Ok((status, said.to_bytes().to_vec())),
        Err(error) => Err(CallAnswer::Broken(format!("the answer cannot be read: {error}"))),
    }
}
