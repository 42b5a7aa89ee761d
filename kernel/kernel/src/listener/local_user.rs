//! Local user at the other end of a connection to the socket.

use tokio::net::UnixStream;

/// File with the names of the local users.
const PASSWD: &str = "/etc/passwd";

/// Local user of a connection, as the operating system reports it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LocalUser(Option<u32>);

impl LocalUser {
    /// Returns the user who opened the connection.
    pub fn of(stream: &UnixStream) -> Self {
        Self(stream.peer_cred().ok().map(|credentials| credentials.uid()))
    }

    /// Returns the name of the user, or `uid 1000` if the machine has no name for that number, as in most containers.
    pub fn name(self) -> String {
        let Some(uid) = self.0 else { return "an unknown local user".to_string() };
        let names = std::fs::read_to_string(PASSWD).unwrap_or_default();
        name_in(&names, uid).map_or_else(|| format!("uid {uid}"), str::to_string)
    }
}

/// Finds the name of a user in the format of passwd(5).
fn name_in(passwd: &str, uid: u32) -> Option<&str> {
    let entries = passwd.lines().map(|line| line.split(':'));
    entries.into_iter().find_map(|mut fields| {
        let name = fields.next()?;
        (fields.nth(1)?.parse() == Ok(uid)).then_some(name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_user_is_that_of_its_number() {
        let passwd = "root:x:0:0:root:/root:/bin/bash\nbroken\nada:x:1000:100:,,,:/home/ada:/bin/sh\n";
        assert_eq!(name_in(passwd, 1000), Some("ada"));
        assert_eq!(name_in(passwd, 0), Some("root"));
        assert_eq!(name_in(passwd, 100), None, "a number of a group");
        assert_eq!(LocalUser(Some(u32::MAX)).name(), "uid 4294967295");
    }
}
