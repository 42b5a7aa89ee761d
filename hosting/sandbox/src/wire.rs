//! Messages between host and launcher: one per packet, with attached folders and sockets.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, SocketFlags, SocketType, recvmsg, sendmsg, socketpair,
};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::job::{ProgramEnd, RunUsage, SandboxLimits};

/// Maximum size of a message, which must fit into a packet.
const MAX_MESSAGE_BYTES: usize = 160 << 10;
/// Maximum number of attached files.
const MAX_FILES: usize = 2;

/// Specification for the inner launcher.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct LaunchSpec {
    pub program: PathBuf,
    pub arguments: Vec<String>,
    pub env: Vec<(String, String)>,
    pub readable: Vec<PathBuf>,
    pub input: Option<PathBuf>,
    pub kubeconfig: Option<String>,
    /// Empty folder to build the root on.
    pub root: PathBuf,
    pub proxy: bool,
    /// User id of the program; the host's user if absent.
    pub user: Option<u32>,
    pub bounds: SandboxLimits,
}

/// Message of the host.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum HostMessage {
    /// The user mapping is complete.
    Mapped,
    /// Create the sandbox for this specification.
    Make(Box<LaunchSpec>),
    /// The input is complete: start the program.
    Start,
}

/// Message of the launcher.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum LauncherMessage {
    /// The launcher is in new namespaces. If the host is root, it writes the user mapping.
    Unshared,
    /// The sandbox is complete. Attached are the output folder and, if requested, the proxy's listener.
    Ready,
    /// The program has ended.
    Ended { end: ProgramEnd, usage: RunUsage },
    /// The program does not exist or cannot be executed.
    NoProgram { error: String },
    /// The kernel lacks a required feature.
    Unsupported { what: String },
    /// Another step failed.
    Failed { act: String, error: String },
}

/// Creates a pair of connected sockets.
pub(crate) fn socket_pair() -> io::Result<(OwnedFd, OwnedFd)> {
    Ok(socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?)
}

pub(crate) fn send(line: impl AsFd, message: &impl Serialize, files: &[BorrowedFd<'_>]) -> io::Result<()> {
    let bytes = serde_json::to_vec(message)?;
    if bytes.len() > MAX_MESSAGE_BYTES {
        let text = format!(
            "environment, arguments and kubeconfig take {} bytes together, and at most {MAX_MESSAGE_BYTES} are allowed",
            bytes.len()
        );
        return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
    }
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_FILES))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !files.is_empty() {
        control.push(SendAncillaryMessage::ScmRights(files));
    }
    sendmsg(line, &[IoSlice::new(&bytes)], &mut control, SendFlags::NOSIGNAL)?;
    Ok(())
}

/// Receives the next message; `None` if the other end is closed.
pub(crate) fn receive<T: DeserializeOwned>(line: impl AsFd) -> io::Result<Option<(T, Vec<OwnedFd>)>> {
    let mut bytes = vec![0; MAX_MESSAGE_BYTES];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_FILES))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let got = recvmsg(line, &mut [IoSliceMut::new(&mut bytes)], &mut control, RecvFlags::CMSG_CLOEXEC);
    let got = match got {
        Ok(got) => got.bytes,
        // The other end was closed with an unread message.
        Err(rustix::io::Errno::CONNRESET) => 0,
        Err(error) => return Err(error.into()),
    };
    let mut files = Vec::new();
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(more) = message {
            files.extend(more);
        }
    }
    if got == 0 {
        return Ok(None);
    }
    Ok(Some((serde_json::from_slice(&bytes[..got])?, files)))
}

/// Waits until data or the end of the stream can be read, up to a timeout.
pub(crate) fn readable(file: impl AsFd, within: Duration) -> io::Result<bool> {
    let timeout = Timespec {
        tv_sec: i64::try_from(within.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: i64::from(within.subsec_nanos()),
    };
    let mut files = [PollFd::from_borrowed_fd(file.as_fd(), PollFlags::IN)];
    match poll(&mut files, Some(&timeout)) {
        Ok(ready) => Ok(ready > 0),
        Err(rustix::io::Errno::INTR) => Ok(false),
        Err(error) => Err(error.into()),
    }
}
