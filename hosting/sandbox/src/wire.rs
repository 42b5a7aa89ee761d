//! What host and launcher tell each other: one message a packet, folders and sockets with it.

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

use crate::job::{RunEnd, RunUsage, SandboxLimits};

/// The longest message; a packet holds it whole.
const MAX_MESSAGE_BYTES: usize = 160 << 10;
/// How many open files come with one message at most.
const MAX_FILES: usize = 2;

/// What the launcher is to do. Sent to its inner part.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct LaunchSpec {
    pub program: PathBuf,
    pub arguments: Vec<String>,
    pub env: Vec<(String, String)>,
    pub readable: Vec<PathBuf>,
    pub input: Option<PathBuf>,
    pub kubeconfig: Option<String>,
    /// An empty folder to build the root on.
    pub root: PathBuf,
    pub proxy: bool,
    /// The user the program becomes; whoever runs the host when absent.
    pub user: Option<u32>,
    pub bounds: SandboxLimits,
}

/// What the host says.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum HostMessage {
    /// The namespaces know their users now.
    Mapped,
    /// What is to run: the sandbox is made for it.
    Make(Box<LaunchSpec>),
    /// Its input is there: it may start.
    Start,
}

/// What the launcher says.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum LauncherMessage {
    /// It is in namespaces of its own. The host, when it is root, gives them users.
    Unshared,
    /// All but the program stands. With it come the output folder and, if asked for, the proxy's listener.
    Ready,
    /// The program ended.
    Ended { end: RunEnd, usage: RunUsage },
    /// The program is not there or cannot be started.
    NoProgram { error: String },
    /// The kernel does not give what a sandbox needs.
    Unsupported { what: String },
    /// Something else went wrong.
    Failed { act: String, error: String },
}

/// Two ends of a line.
pub(crate) fn socket_pair() -> io::Result<(OwnedFd, OwnedFd)> {
    Ok(socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?)
}

pub(crate) fn send(line: impl AsFd, message: &impl Serialize, files: &[BorrowedFd<'_>]) -> io::Result<()> {
    let bytes = serde_json::to_vec(message)?;
    if bytes.len() > MAX_MESSAGE_BYTES {
        let text =
            format!("environment, arguments and kubeconfig take {} bytes together, which is too much", bytes.len());
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

/// The next message; `None` when the other end is gone.
pub(crate) fn receive<T: DeserializeOwned>(line: impl AsFd) -> io::Result<Option<(T, Vec<OwnedFd>)>> {
    let mut bytes = vec![0; MAX_MESSAGE_BYTES];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_FILES))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let got = recvmsg(line, &mut [IoSliceMut::new(&mut bytes)], &mut control, RecvFlags::CMSG_CLOEXEC);
    let got = match got {
        Ok(got) => got.bytes,
        // Its end was closed with our message still unread in it.
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

/// Whether there is something to read, or the other end is gone, within that time.
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
