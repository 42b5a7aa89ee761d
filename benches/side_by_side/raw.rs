//! Client with minimal cost: TLS, and the minimum of HTTP/1.1 that separates responses.
//!
//! Client and server share the cores of the machine. The parsing cost of an ordinary client would count as time of both
//! servers and hide the difference between them.

use std::sync::Arc;

use kube::Config;
use kube::client::ConfigExt;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::measure::BoxError;

/// More than the size of a TLS record.
const READ_BYTES: usize = 64 << 10;
const HEAD_END: &[u8] = b"\r\n\r\n";

/// Address and credentials, read once from a kubeconfig.
#[derive(Clone)]
pub struct RawEndpoint {
    address: String,
    name: ServerName<'static>,
    tls: TlsConnector,
}

/// One connection.
pub struct RawConnection {
    stream: TlsStream<TcpStream>,
    buffer: Vec<u8>,
}

impl RawEndpoint {
    pub fn new(config: &Config) -> Result<RawEndpoint, BoxError> {
        let host = config.cluster_url.host().ok_or("the kubeconfig names no host")?;
        let port = config.cluster_url.port_u16().ok_or("the kubeconfig names no port")?;
        let tls = TlsConnector::from(Arc::new(config.rustls_client_config()?));
        Ok(RawEndpoint { address: format!("{host}:{port}"), name: ServerName::try_from(host.to_owned())?, tls })
    }

    pub async fn connect(&self) -> Result<RawConnection, BoxError> {
        let stream = TcpStream::connect(&self.address).await?;
        stream.set_nodelay(true)?;
        let stream = self.tls.connect(self.name.clone(), stream).await?;
        Ok(RawConnection { stream, buffer: Vec::with_capacity(READ_BYTES) })
    }
}

impl RawConnection {
    /// Posts JSON, and returns the body of the response, which must be `201 Created`.
    pub async fn post(&mut self, path: &str, body: &str) -> Result<&[u8], BoxError> {
        let length = body.len();
        let request = format!(
            "POST {path} HTTP/1.1\r\nhost: bench\r\nuser-agent: bench\r\ncontent-type: application/json\r\n\
             content-length: {length}\r\n\r\n{body}"
        );
        self.send(&request).await?;
        let head = self.head(b"HTTP/1.1 201 ").await?;
        let length = content_length(&self.buffer[..head])?;
        while self.buffer.len() < head + length {
            self.read().await?;
        }
        Ok(&self.buffer[head..])
    }

    /// Sends a GET, reads until the server closes the connection, and returns the number of bytes.
    pub async fn get_all(mut self, path: &str) -> Result<usize, BoxError> {
        self.send_get(path, "close").await?;
        self.head(b"HTTP/1.1 200 ").await?;
        let mut total = self.buffer.len();
        loop {
            self.buffer.clear();
            match self.stream.read_buf(&mut self.buffer).await {
                Ok(0) => return Ok(total),
                Ok(read) => total += read,
                // A server may omit the TLS close notification, because the HTTP framing shows the end.
                Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => return Ok(total),
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Starts a watch, and returns after the response headers.
    pub async fn watch(&mut self, path: &str) -> Result<(), BoxError> {
        self.send_get(path, "keep-alive").await?;
        let head = self.head(b"HTTP/1.1 200 ").await?;
        if self.buffer.len() > head { Err("a watch without changes begins with an event".into()) } else { Ok(()) }
    }

    /// Reads bytes of a watch, and returns the number of completed events.
    pub async fn events(&mut self) -> Result<usize, BoxError> {
        // The end of an event may be split between two reads.
        let last = self.buffer.last().copied();
        self.buffer.clear();
        self.buffer.extend(last);
        self.read().await?;
        Ok(self.buffer.windows(2).filter(|pair| pair == b"}\n").count())
    }

    async fn send_get(&mut self, path: &str, connection: &str) -> Result<(), BoxError> {
        let request =
            format!("GET {path} HTTP/1.1\r\nhost: bench\r\nuser-agent: bench\r\nconnection: {connection}\r\n\r\n");
        self.send(&request).await
    }

    async fn send(&mut self, request: &str) -> Result<(), BoxError> {
        self.stream.write_all(request.as_bytes()).await?;
        // A TLS write is only buffered until it is flushed.
        self.stream.flush().await?;
        self.buffer.clear();
        Ok(())
    }

    /// Reads the headers, and returns the beginning of the body.
    async fn head(&mut self, expected: &[u8]) -> Result<usize, BoxError> {
        loop {
            self.read().await?;
            if let Some(at) = self.buffer.windows(HEAD_END.len()).position(|window| window == HEAD_END) {
                if !self.buffer.starts_with(expected) {
                    return Err(format!("refused: {}", String::from_utf8_lossy(&self.buffer)).into());
                }
                return Ok(at + HEAD_END.len());
            }
        }
    }

    async fn read(&mut self) -> Result<(), BoxError> {
        match self.stream.read_buf(&mut self.buffer).await? {
            0 => Err("the server closed the connection".into()),
            _ => Ok(()),
        }
    }
}

fn content_length(head: &[u8]) -> Result<usize, BoxError> {
    let head = std::str::from_utf8(head)?.to_ascii_lowercase();
    let length =
        head.lines().find_map(|line| line.strip_prefix("content-length:")).ok_or("an answer without length")?;
    Ok(length.trim().parse()?)
}
