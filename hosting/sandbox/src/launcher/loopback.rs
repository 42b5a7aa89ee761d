//! Activation of the loopback interface, which is down in a new network namespace.

use std::io;

use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, send, socket_with};

const RTM_NEWLINK: u16 = 16;
const NLM_F_REQUEST: u16 = 1;
const NLM_F_ACK: u16 = 4;
const NLMSG_ERROR: u16 = 2;
const IFF_UP: u32 = 1;
/// Index of the loopback interface, the first one of every namespace.
const LOOPBACK: u32 = 1;
/// Size of `struct nlmsghdr` and `struct ifinfomsg`.
const MESSAGE_BYTES: u32 = 16 + 16;

pub(super) fn raise() -> io::Result<()> {
    // Protocol 0 is NETLINK_ROUTE, which includes interfaces.
    let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, None)?;
    send(&socket, &request(), SendFlags::empty())?;
    let mut answer = [0; 4096];
    let (_, got) = recv(&socket, &mut answer, RecvFlags::empty())?;
    match refusal(&answer[..got]) {
        Some(0) => Ok(()),
        Some(code) => Err(io::Error::from_raw_os_error(-code)),
        None => Err(io::Error::new(io::ErrorKind::InvalidData, "the response of the kernel is invalid")),
    }
}

fn request() -> Vec<u8> {
    let mut bytes = Vec::new();
    bytes.extend(MESSAGE_BYTES.to_ne_bytes());
    bytes.extend(RTM_NEWLINK.to_ne_bytes());
    bytes.extend((NLM_F_REQUEST | NLM_F_ACK).to_ne_bytes());
    bytes.extend([0; 8]); // sequence, port
    bytes.extend([0; 4]); // family, padding, type
    bytes.extend(LOOPBACK.to_ne_bytes());
    bytes.extend(IFF_UP.to_ne_bytes()); // flags
    bytes.extend(IFF_UP.to_ne_bytes()); // which of them change
    bytes
}

/// Returns the error number of an answer; zero means success.
fn refusal(answer: &[u8]) -> Option<i32> {
    let kind = u16::from_ne_bytes(answer.get(4..6)?.try_into().ok()?);
    let code = i32::from_ne_bytes(answer.get(16..20)?.try_into().ok()?);
    (kind == NLMSG_ERROR).then_some(code)
}
