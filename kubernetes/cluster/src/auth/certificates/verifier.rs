//! Client certificates: requested, not required, and verified after the handshake.

use std::sync::Arc;

use rustls::client::danger::HandshakeSignatureValid;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{DigitallySignedStruct, DistinguishedName, Error, RootCertStore, SignatureScheme};

use super::CertificateError;

/// Verifier of client certificates against one authority.
///
/// The handshake only checks that the client holds the key of its certificate. [`ClientCertificateVerifier::trusts`]
/// checks the authority per request, because kube-apiserver responds 401 to a foreign certificate, and still accepts a
/// bearer token sent with it.
#[derive(Debug)]
pub struct ClientCertificateVerifier {
    inner: Arc<dyn ClientCertVerifier>,
}

impl ClientCertificateVerifier {
    /// Creates a verifier for the authority with this certificate.
    pub(super) fn new(authority: &str) -> Result<Self, CertificateError> {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_slice(authority.as_bytes())?)?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let inner =
            WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider).allow_unauthenticated().build()?;
        Ok(Self { inner })
    }

    /// Whether the chain ends at this authority, is valid at `seconds` since the epoch and is meant for clients.
    pub fn trusts(&self, chain: &[CertificateDer<'_>], seconds: u64) -> bool {
        let now = UnixTime::since_unix_epoch(std::time::Duration::from_secs(seconds));
        chain
            .split_first()
            .is_some_and(|(leaf, intermediates)| self.inner.verify_client_cert(leaf, intermediates, now).is_ok())
    }
}

impl ClientCertVerifier for ClientCertificateVerifier {
    fn offer_client_auth(&self) -> bool {
        true
    }

    fn client_auth_mandatory(&self) -> bool {
        false
    }

    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        self.inner.root_hint_subjects()
    }

    fn verify_client_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        Ok(ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.inner.verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.inner.verify_tls13_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.inner.supported_verify_schemes()
    }
}
