//! As whom a repository is read.

use std::fmt;
use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use crate::address::{Address, Scheme};
use crate::error::GitError;

/// As whom a repository is read. Never printed.
#[derive(Clone, PartialEq, Eq, Hash, Default)]
pub enum Login {
    /// As anybody.
    #[default]
    None,
    /// A name and a password or token, for https.
    Password {
        /// Who; any name does for most tokens.
        username: String,
        /// The password or token.
        password: String,
    },
    /// A private key, for ssh.
    Key {
        /// In OpenSSH's or PEM form.
        private_key: String,
        /// Which servers are believed to be who they say.
        hosts: HostKeys,
    },
}

/// Which ssh servers are believed to be who they say.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub enum HostKeys {
    /// Those of these lines, in the form of `known_hosts`; no others.
    Known(String),
    /// Whoever answers first under a name; kept in this file, and from then on no other.
    First(PathBuf),
    /// Anybody. For tests.
    #[default]
    Any,
}

impl fmt::Debug for Login {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Login::None => "Login::None",
            Login::Password { .. } => "Login::Password(…)",
            Login::Key { .. } => "Login::Key(…)",
        })
    }
}

/// The variables by which git's credential helper gets what it hands on.
const USERNAME: &str = "SWITCHBOARD_GIT_USERNAME";
const PASSWORD: &str = "SWITCHBOARD_GIT_PASSWORD";
/// Git runs it through the shell, and reads lines from it; it is told `get`, `store` or `erase`.
const HELPER: &str = concat!(
    r#"!f() { test "$1" = get && printf 'username=%s\npassword=%s\n' "$SWITCHBOARD_GIT_USERNAME" "#,
    r#""$SWITCHBOARD_GIT_PASSWORD"; }; f"#
);

/// What git is given for a login: settings, and variables of its environment.
#[derive(Default)]
pub(crate) struct Means {
    pub(crate) settings: Vec<(String, String)>,
    pub(crate) variables: Vec<(&'static str, String)>,
    /// What must not be told, in whatever git says.
    pub(crate) hidden: Vec<String>,
}

/// As whom a repository is read: whoever stands in its address, unless another is given.
pub(crate) fn whose<'a>(address: &'a Address, login: &'a Login) -> &'a Login {
    address.login().filter(|_| *login == Login::None).unwrap_or(login)
}

/// Prepares a login. `scratch` is a folder that only this user can look into, and that goes with the run.
pub(crate) fn means(address: &Address, login: &Login, scratch: &Path) -> Result<Means, GitError> {
    match whose(address, login) {
        Login::None => {
            Ok(if address.scheme() == Scheme::Ssh { ssh(None, &HostKeys::Any, scratch)? } else { Means::default() })
        }
        Login::Password { username, password } => password_means(address, username, password),
        Login::Key { private_key, hosts } if address.scheme() == Scheme::Ssh => ssh(Some(private_key), hosts, scratch),
        Login::Key { .. } => Err(GitError::Login("a private key is for ssh")),
    }
}

fn password_means(address: &Address, username: &str, password: &str) -> Result<Means, GitError> {
    let Some(server) = address.web_server() else {
        return Err(GitError::Login("a name and a password are for https"));
    };
    if username.contains(['\n', '\r', '\0']) || password.contains(['\n', '\r', '\0']) {
        return Err(GitError::Login("it has a line break in it"));
    }
    // For this server alone: one that sends us elsewhere does not send the password along.
    Ok(Means {
        settings: vec![(format!("credential.{server}.helper"), HELPER.to_string())],
        variables: vec![(USERNAME, username.to_string()), (PASSWORD, password.to_string())],
        hidden: [password].into_iter().filter(|text| !text.is_empty()).map(ToString::to_string).collect(),
    })
}

fn ssh(key: Option<&str>, hosts: &HostKeys, scratch: &Path) -> Result<Means, GitError> {
    let broken = |error| GitError::Cache(scratch.to_path_buf(), error);
    let mut command =
        "ssh -F /dev/null -o BatchMode=yes -o IdentitiesOnly=yes -o IdentityAgent=none -o ConnectTimeout=20 \
                       -o PasswordAuthentication=no -o GlobalKnownHostsFile=/dev/null"
            .to_string();
    if let Some(key) = key {
        let file = scratch.join("key");
        // ssh does not read a key without its last line break.
        write_private(&file, &format!("{}\n", key.trim())).map_err(broken)?;
        command.push_str(&format!(" -i {}", quoted(&file)?));
    } else {
        command.push_str(" -i /dev/null");
    }
    let (check, file) = match hosts {
        HostKeys::Known(lines) => {
            let file = scratch.join("known_hosts");
            write_private(&file, lines).map_err(broken)?;
            ("yes", file)
        }
        HostKeys::First(file) => ("accept-new", file.clone()),
        HostKeys::Any => ("no", PathBuf::from("/dev/null")),
    };
    command.push_str(&format!(" -o StrictHostKeyChecking={check} -o UserKnownHostsFile={}", quoted(&file)?));
    Ok(Means { settings: Vec::new(), variables: vec![("GIT_SSH_COMMAND", command)], hidden: Vec::new() })
}

fn quoted(path: &Path) -> Result<String, GitError> {
    let text = path.to_str().filter(|text| !text.contains(['\'', '"', ' ', '\\', '%']));
    let text = text.ok_or(GitError::Login("the folder for keys has a name that ssh cannot be told"))?;
    Ok(format!("'{text}'"))
}

fn write_private(path: &Path, text: &str) -> std::io::Result<()> {
    OpenOptions::new().create_new(true).write(true).mode(0o600).open(path)?.write_all(text.as_bytes())
}
