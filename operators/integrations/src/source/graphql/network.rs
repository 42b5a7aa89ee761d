//! Transport over HTTP and HTTPS.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use super::{MAX_ANSWER_BYTES, ServerRequest, Transport};

/// HTTP transport. TLS certificates are verified with the system's CAs, or those of `SSL_CERT_FILE`.
#[derive(Debug, Default)]
pub struct HttpTransport {
    tls: OnceLock<Result<Arc<ClientConfig>, String>>,
}

impl Transport for HttpTransport {
    /// Blocks the calling thread. The async runtime runs on another thread, so the caller may have its own.
    fn call(&self, ask: &ServerRequest) -> Result<(u16, Vec<u8>), String> {
        std::thread::scope(|scope| {
            let asking = scope.spawn(|| {
                let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
                let runtime = runtime.map_err(|error| format!("could not start a runtime: {error}"))?;
                runtime.block_on(async {
                    let asked = tokio::time::timeout(ask.timeout, self.exchange(ask)).await;
                    asked.unwrap_or_else(|_| Err(format!("no response within {} s", ask.timeout.as_secs())))
                })
            });
            asking.join().unwrap_or_else(|_| Err("the request thread panicked".to_string()))
        })
    }

    fn pause(&self, duration: Duration) {
        std::thread::sleep(duration);
    }
}

impl HttpTransport {
    async fn exchange(&self, ask: &ServerRequest) -> Result<(u16, Vec<u8>), String> {
        let uri: http::Uri = ask.url.parse().map_err(|error| format!("{error}"))?;
        let secure = uri.scheme_str() == Some("https");
        let host = uri.host().ok_or("the address has no host")?.trim_matches(['[', ']']).to_string();
        let port = uri.port_u16().unwrap_or(if secure { 443 } else { 80 });
        let stream = TcpStream::connect((host.as_str(), port)).await;
        let stream = stream.map_err(|error| format!("could not connect to {host}:{port}: {error}"))?;
        let request = request(ask, &uri)?;
        if !secure {
            return send(stream, request).await;
        }
        let name = ServerName::try_from(host).map_err(|error| error.to_string())?;
        let connector = TlsConnector::from(self.tls()?);
        send(connector.connect(name, stream).await.map_err(|error| format!("TLS: {error}"))?, request).await
    }

    fn tls(&self) -> Result<Arc<ClientConfig>, String> {
        self.tls.get_or_init(authorities).clone()
    }
}

fn authorities() -> Result<Arc<ClientConfig>, String> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?;
    Ok(Arc::new(config.with_root_certificates(roots).with_no_client_auth()))
}

fn request(ask: &ServerRequest, uri: &http::Uri) -> Result<http::Request<Full<Bytes>>, String> {
    let authority = uri.authority().map(|authority| authority.as_str()).unwrap_or_default();
    let path = uri.path_and_query().map_or("/", |path| path.as_str());
    let method = if ask.body.is_some() { "POST" } else { "GET" };
    let mut request = http::Request::builder()
        .method(method)
        .uri(path)
        .header("Host", authority)
        .header("Accept", "application/json, */*;q=0.5")
        .header("User-Agent", concat!("switchboard/", env!("CARGO_PKG_VERSION")));
    if ask.body.is_some() {
        request = request.header("Content-Type", "application/json");
    }
    if let Some(secret) = &ask.authorization {
        let value = http::HeaderValue::from_str(secret.reveal());
        let mut value = value.map_err(|_| "the token contains characters that are invalid in a header".to_string())?;
        value.set_sensitive(true);
        request = request.header("Authorization", value);
    }
    let body = Full::new(Bytes::from(ask.body.clone().unwrap_or_default()));
    request.body(body).map_err(|error| error.to_string())
}

async fn send<S>(stream: S, request: http::Request<Full<Bytes>>) -> Result<(u16, Vec<u8>), String>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let (mut sender, connection) =
        http1::handshake(TokioIo::new(stream)).await.map_err(|error| format!("HTTP: {error}"))?;
    tokio::spawn(connection);
    let response = sender.send_request(request).await.map_err(|error| format!("HTTP: {error}"))?;
    let status = response.status().as_u16();
    let body = Limited::new(response.into_body(), MAX_ANSWER_BYTES).collect().await;
    let body = body.map_err(|error| format!("could not read the response: {error}"))?;
    Ok((status, body.to_bytes().to_vec()))
}
