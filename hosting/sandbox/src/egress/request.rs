//! Handling of one proxy request.

use std::convert::Infallible;
use std::io;
use std::net::{IpAddr, UdpSocket};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request, Response, StatusCode, Uri, header};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

use super::{AttemptLog, ConnectionAttempt, EgressRules};

/// Timeout of a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Headers between the program and the proxy that are not forwarded.
const HOP_BY_HOP: [&str; 9] = [
    "connection",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

type ProxyResponse = Response<BoxBody<Bytes, hyper::Error>>;

pub(super) async fn handle(
    request: Request<Incoming>,
    rules: Arc<EgressRules>,
    log: AttemptLog,
) -> Result<ProxyResponse, Infallible> {
    let connect = request.method() == Method::CONNECT;
    let Some((host, port)) = target(request.uri(), connect) else {
        return Ok(response(StatusCode::BAD_REQUEST, "this is a proxy: name a host\n".to_string()));
    };
    let noted = |allowed| log.add(ConnectionAttempt { to: format!("{host}:{port}"), allowed });
    if !rules.allows(&host, port) {
        noted(false);
        let text = format!("{host}:{port} is not among the operator's `egress`\n");
        return Ok(response(StatusCode::FORBIDDEN, text));
    }
    let reached = tokio::time::timeout(CONNECT_TIMEOUT, connect_to(&host, port, &rules)).await;
    let inward = matches!(&reached, Ok(Err(ConnectError::LocalAddress)));
    noted(!inward);
    let stream = match reached {
        Ok(Ok(stream)) => stream,
        Ok(Err(error @ ConnectError::LocalAddress)) => {
            return Ok(response(StatusCode::FORBIDDEN, format!("could not connect to {host}:{port}: {error}\n")));
        }
        Ok(Err(error)) => {
            return Ok(response(StatusCode::BAD_GATEWAY, format!("could not connect to {host}:{port}: {error}\n")));
        }
        Err(_) => {
            return Ok(response(StatusCode::GATEWAY_TIMEOUT, format!("could not connect to {host}:{port} in time\n")));
        }
    };
    Ok(if connect { tunnel(request, stream) } else { forward(request, stream).await })
}

/// Returns host and port of the request.
fn target(uri: &Uri, connect: bool) -> Option<(String, u16)> {
    let authority = uri.authority()?;
    let plain = (uri.scheme_str() == Some("http")).then_some(80);
    let port = authority.port_u16().or(if connect { None } else { plain })?;
    Some((authority.host().to_string(), port))
}

/// Reason why an allowed host could not be connected.
#[derive(Debug, thiserror::Error)]
enum ConnectError {
    #[error(
        "the name resolves to an address of this machine or of a cloud metadata service; add the address to the allow list to permit it"
    )]
    LocalAddress,
    #[error("the name has no address")]
    NoAddress,
    #[error(transparent)]
    Io(#[from] io::Error),
}

async fn connect_to(host: &str, port: u16, rules: &EgressRules) -> Result<TcpStream, ConnectError> {
    let name = host.trim_start_matches('[').trim_end_matches(']');
    let mut refused = ConnectError::NoAddress;
    for address in tokio::net::lookup_host((name, port)).await? {
        if !rules.allows_address(host, port, address.ip(), &is_own) {
            refused = ConnectError::LocalAddress;
            continue;
        }
        match TcpStream::connect(address).await {
            Ok(stream) => return Ok(stream),
            Err(error) => refused = error.into(),
        }
    }
    Err(refused)
}

/// Whether an address belongs to this machine: only then can a socket be bound to it.
fn is_own(address: IpAddr) -> bool {
    UdpSocket::bind((address, 0)).is_ok()
}

/// Copies bytes in both directions without inspection.
fn tunnel(request: Request<Incoming>, mut stream: TcpStream) -> ProxyResponse {
    tokio::spawn(async move {
        if let Ok(upgraded) = hyper::upgrade::on(request).await {
            // Either side may close the connection.
            let _ = tokio::io::copy_bidirectional(&mut TokioIo::new(upgraded), &mut stream).await;
        }
    });
    response(StatusCode::OK, String::new())
}

async fn forward(mut request: Request<Incoming>, stream: TcpStream) -> ProxyResponse {
    let broken = |error: hyper::Error| response(StatusCode::BAD_GATEWAY, format!("the connection broke: {error}\n"));
    let (mut sender, connection) = match hyper::client::conn::http1::handshake(TokioIo::new(stream)).await {
        Ok(pair) => pair,
        Err(error) => return broken(error),
    };
    tokio::spawn(connection);
    let authority = request.uri().authority().map(ToString::to_string).unwrap_or_default();
    let path = request.uri().path_and_query().map_or("/", |path| path.as_str()).parse().unwrap_or_default();
    *request.uri_mut() = path;
    HOP_BY_HOP.iter().for_each(|name| drop(request.headers_mut().remove(*name)));
    // The rules were checked against this host, so a different `Host` header must not bypass them.
    match authority.parse() {
        Ok(host) => drop(request.headers_mut().insert(header::HOST, host)),
        Err(_) => {
            return response(
                StatusCode::BAD_REQUEST,
                "could not forward the request: the host is not a valid header value\n".to_string(),
            );
        }
    }
    match sender.send_request(request).await {
        Ok(mut response) => {
            HOP_BY_HOP.iter().for_each(|name| drop(response.headers_mut().remove(*name)));
            response.map(BodyExt::boxed)
        }
        Err(error) => broken(error),
    }
}

fn response(status: StatusCode, text: String) -> ProxyResponse {
    let body = Full::new(Bytes::from(text)).map_err(|never| match never {}).boxed();
    let mut response = Response::new(body);
    *response.status_mut() = status;
    response
}
