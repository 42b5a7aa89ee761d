//! Authentication over the socket: certificates, tokens, no credentials.
#![allow(clippy::unwrap_used)]

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use jiff::Timestamp;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use serde_json::{Value, json};
use switchboard_cluster::Cluster;
use switchboard_cluster::auth::authentication::Authenticator;
use switchboard_cluster::auth::certificates::{CertificatePair, Certificates};
use switchboard_cluster::auth::filters::AuthKeys;
use switchboard_cluster::auth::token::TokenKey;
use switchboard_cluster::clock_and_rng::ClockAndRng;
use switchboard_cluster::listener::{BoundPort, Listener};
use switchboard_cluster::store::{ObjectStore, StoreLimits};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

/// Server on loopback with a clock controlled by the test.
struct TlsServer {
    certificates: Certificates,
    listener: Listener,
    clock: Arc<AtomicI64>,
}

struct TlsClient<'a> {
    trusted: &'a Certificates,
    certificate: Option<CertificatePair>,
    token: Option<String>,
}

impl TlsServer {
    async fn start() -> Self {
        let port = BoundPort::bind("127.0.0.1:0".parse().unwrap()).await.unwrap();
        let now = Timestamp::now();
        let certificates = Certificates::ephemeral(&[port.address().ip()], now).unwrap();
        let auth_keys = AuthKeys {
            authenticator: Authenticator::new(TokenKey::ephemeral().unwrap(), Some("static-secret".into())),
            authority: certificates.authority.certificate.clone(),
        };
        let clock = Arc::new(AtomicI64::new(now.as_second()));
        let (hand, system) = (clock.clone(), ClockAndRng::system());
        let clock_and_rng = ClockAndRng::new(
            move || Timestamp::from_second(hand.load(Ordering::Relaxed)).unwrap(),
            move |bytes| system.fill(bytes),
        );
        let cluster =
            Cluster::with_keys(auth_keys, ObjectStore::in_memory(StoreLimits::default()), clock_and_rng).await;
        cluster.start_controllers();
        let listener = cluster.listen(port, &certificates).unwrap();
        Self { certificates, listener, clock }
    }

    fn client(&self) -> TlsClient<'_> {
        TlsClient { trusted: &self.certificates, certificate: None, token: None }
    }

    fn admin(&self) -> TlsClient<'_> {
        TlsClient { certificate: Some(self.certificates.admin.clone()), ..self.client() }
    }

    async fn ask(&self, client: &TlsClient<'_>, method: &str, path: &str, body: Value) -> Result<(u16, Value), String> {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let mut head = format!(
            "{method} {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-type: application/json\r\n\
             content-length: {}\r\n",
            body.len()
        );
        if let Some(token) = &client.token {
            head += &format!("authorization: Bearer {token}\r\n");
        }
        let stream = TcpStream::connect(self.listener.address()).await.unwrap();
        let name = ServerName::try_from("localhost").unwrap();
        let mut stream = client.tls().connect(name, stream).await.map_err(|e| e.to_string())?;
        stream.write_all(format!("{head}\r\n{body}").as_bytes()).await.unwrap();
        let mut answer = Vec::new();
        // The server may close the connection without a TLS close notification.
        let _ = stream.read_to_end(&mut answer).await;
        let answer = String::from_utf8(answer).unwrap();
        let code = answer.split(' ').nth(1).unwrap().parse().unwrap();
        let body = answer.split_once("\r\n\r\n").unwrap().1;
        let json = body.find('{').and_then(|at| {
            let mut values = serde_json::Deserializer::from_str(&body[at..]).into_iter::<Value>();
            values.next()?.ok()
        });
        Ok((code, json.unwrap_or_default()))
    }

    async fn code(&self, client: &TlsClient<'_>, path: &str) -> u16 {
        self.ask(client, "GET", path, Value::Null).await.unwrap().0
    }

    async fn token(&self, account: &str) -> String {
        let accounts = "/api/v1/namespaces/default/serviceaccounts";
        let named = json!({"metadata": {"name": account}});
        let (code, _) = self.ask(&self.admin(), "POST", accounts, named).await.unwrap();
        assert_eq!(code, 201);
        let path = format!("{accounts}/{account}/token");
        let (_, made) = self.ask(&self.admin(), "POST", &path, json!({"spec": {}})).await.unwrap();
        made["status"]["token"].as_str().unwrap().to_string()
    }
}

impl TlsClient<'_> {
    fn tls(&self) -> TlsConnector {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_slice(self.trusted.authority.certificate.as_bytes()).unwrap()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
        let config = config.with_root_certificates(roots);
        let config = match &self.certificate {
            None => config.with_no_client_auth(),
            Some(pair) => {
                let chain = vec![CertificateDer::from_pem_slice(pair.certificate.as_bytes()).unwrap()];
                let key = PrivateKeyDer::from_pem_slice(pair.key.as_bytes()).unwrap();
                config.with_client_auth_cert(chain, key).unwrap()
            }
        };
        TlsConnector::from(Arc::new(config))
    }

    fn with_token(self, token: &str) -> Self {
        Self { token: Some(token.into()), ..self }
    }
}

#[tokio::test]
async fn without_credentials_only_health_and_version_are_visible() {
    let server = TlsServer::start().await;
    let anonymous = server.client();
    for path in ["/healthz", "/livez", "/readyz", "/version"] {
        assert_eq!(server.code(&anonymous, path).await, 200, "{path}");
    }
    let unauthorized = json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": "Unauthorized", "reason": "Unauthorized", "code": 401,
    });
    for path in
        ["/", "/api", "/apis", "/openapi/v3", "/api/v1/namespaces", "/api/v1/secrets", "/clusters/x/api", "/metrics"]
    {
        let answer = server.ask(&anonymous, "GET", path, Value::Null).await.unwrap();
        assert_eq!(answer, (401, unauthorized.clone()), "{path}");
    }
    assert_eq!(server.code(&server.client().with_token("wrong"), "/healthz").await, 401);
}

#[tokio::test]
async fn a_client_certificate_of_another_authority_is_refused() {
    let server = TlsServer::start().await;
    assert_eq!(server.code(&server.admin(), "/api/v1/namespaces").await, 200);
    let foreign = Certificates::ephemeral(&[], Timestamp::now()).unwrap();
    let stranger = |token| TlsClient { certificate: Some(foreign.admin.clone()), token, ..server.client() };
    assert_eq!(server.code(&stranger(None), "/api/v1/namespaces").await, 401);
    assert_eq!(server.code(&stranger(None), "/healthz").await, 401);
    assert_eq!(server.code(&stranger(Some("static-secret".into())), "/api/v1/namespaces").await, 200);
    let careful = TlsClient { trusted: &foreign, ..server.client() };
    assert!(
        server.ask(&careful, "GET", "/healthz", Value::Null).await.is_err(),
        "our certificate is not trusted by all"
    );
}

#[tokio::test]
async fn a_certificate_gives_its_users_rights_and_no_more() {
    let server = TlsServer::start().await;
    let alice = server.certificates.client("alice", Some("devs"), Timestamp::now()).unwrap();
    let alice = TlsClient { certificate: Some(alice), ..server.client() };
    let (code, answer) = server.ask(&alice, "GET", "/api/v1/namespaces", Value::Null).await.unwrap();
    assert_eq!(code, 403);
    assert_eq!(
        answer["message"],
        "namespaces is forbidden: User \"alice\" cannot list resource \"namespaces\" in API group \"\" at the cluster scope"
    );
    // Discovery is allowed for every authenticated user.
    assert_eq!(server.code(&alice, "/api").await, 200);
}

#[tokio::test]
async fn a_token_ends_with_its_time_and_with_its_account() {
    let server = TlsServer::start().await;
    let token = server.token("web").await;
    let web = server.client().with_token(&token);
    assert_eq!(server.code(&web, "/api").await, 200);
    server.clock.fetch_add(3600 + 61, Ordering::Relaxed);
    assert_eq!(server.code(&web, "/api").await, 401);

    let token = server.token("shop").await;
    let shop = server.client().with_token(&token);
    assert_eq!(server.code(&shop, "/api").await, 200);
    let path = "/api/v1/namespaces/default/serviceaccounts/shop";
    server.ask(&server.admin(), "DELETE", path, Value::Null).await.unwrap();
    assert_eq!(server.code(&shop, "/api").await, 401);
    server.token("shop").await;
    assert_eq!(server.code(&shop, "/api").await, 401, "an account of the same name is another one");
}

/// Subscriber that keeps every log line of this process.
struct LogCapture;

fn recorded() -> &'static Mutex<String> {
    static LINES: OnceLock<Mutex<String>> = OnceLock::new();
    LINES.get_or_init(Mutex::default)
}

struct LogText;

impl tracing::field::Visit for LogText {
    fn record_debug(&mut self, field: &tracing::field::Field, value: &dyn std::fmt::Debug) {
        recorded().lock().unwrap().push_str(&format!("{field}={value:?}\n"));
    }
}

impl tracing::Subscriber for LogCapture {
    fn enabled(&self, _: &tracing::Metadata<'_>) -> bool {
        true
    }
    fn new_span(&self, span: &tracing::span::Attributes<'_>) -> tracing::span::Id {
        span.record(&mut LogText);
        tracing::span::Id::from_u64(1)
    }
    fn record(&self, _: &tracing::span::Id, values: &tracing::span::Record<'_>) {
        values.record(&mut LogText);
    }
    fn record_follows_from(&self, _: &tracing::span::Id, _: &tracing::span::Id) {}
    fn event(&self, event: &tracing::Event<'_>) {
        event.record(&mut LogText);
    }
    fn enter(&self, _: &tracing::span::Id) {}
    fn exit(&self, _: &tracing::span::Id) {}
}

#[tokio::test]
async fn secrets_never_reach_a_log() {
    tracing::subscriber::set_global_default(LogCapture).unwrap();
    tracing::info!("recording");
    let server = TlsServer::start().await;
    let token = server.token("quiet").await;
    server.code(&server.client().with_token(&token), "/api").await;
    server.code(&server.client().with_token(&format!("{token}x")), "/api").await;
    server.code(&server.client().with_token("static-secret"), "/api").await;
    let secret = json!({"metadata": {"name": "s"}, "stringData": {"password": "hunter-two"}});
    server.ask(&server.admin(), "POST", "/api/v1/namespaces/default/secrets", secret).await.unwrap();
    let lines = recorded().lock().unwrap().clone();
    assert!(lines.contains("recording"));
    for secret in [token.as_str(), "static-secret", "hunter-two", "PRIVATE KEY"] {
        assert!(!lines.contains(secret), "{secret}");
    }
}
