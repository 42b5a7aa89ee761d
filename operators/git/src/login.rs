//! Credentials for repositories.

use std::fmt;
use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use crate::address::{RepositoryAddress, Scheme};
use crate::error::GitError;

/// Credential for a repository. Never printed.
#[derive(Clone, PartialEq, Eq, Hash, Default)]
pub enum Login {
    /// Anonymous access.
    #[default]
    None,
    /// User name and password or token, for https.
    Password {
        /// User name; most servers accept any name with a token.
        username: String,
        /// Password or token.
        password: String,
    },
    /// Private key, for ssh.
    Key {
        /// Key in OpenSSH or PEM format.
        private_key: String,
        /// Verification of the server's host key.
        hosts: HostKeys,
    },
}

/// Verification of SSH host keys.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub enum HostKeys {
    /// Accepts the hosts of these `known_hosts` lines only.
    KnownHosts(String),
    /// Accepts the first key of a host, records it in this file, and rejects any other key from then on.
    AcceptNew(PathBuf),
    /// Accepts any key. For tests.
    #[default]
    AcceptAny,
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

/// Environment variables that pass the credential to git's credential helper.
const USERNAME: &str = "SWITCHBOARD_GIT_USERNAME";
const PASSWORD: &str = "SWITCHBOARD_GIT_PASSWORD";
/// Credential helper that git runs through the shell with the argument `get`, `store` or `erase`.
const HELPER: &str = concat!(
    r#"!f() { test "$1" = get && printf 'username=%s\npassword=%s\n' "$SWITCHBOARD_GIT_USERNAME" "#,
    r#""$SWITCHBOARD_GIT_PASSWORD"; }; f"#
);

/// Git configuration and environment variables for a login.
#[derive(Default)]
pub(crate) struct LoginEnvironment {
    pub(crate) settings: Vec<(String, String)>,
    pub(crate) variables: Vec<(&'static str, String)>,
    /// Texts to redact in git's output.
    pub(crate) secrets: Vec<String>,
}

/// Returns the login to use: the given one, or the one in the address if none is given.
pub(crate) fn effective_login<'a>(address: &'a RepositoryAddress, login: &'a Login) -> &'a Login {
    address.login().filter(|_| *login == Login::None).unwrap_or(login)
}

/// Prepares a login. `scratch` is a folder that only the current user can read and that is deleted after the run.
pub(crate) fn login_environment(
    address: &RepositoryAddress,
    login: &Login,
    scratch: &Path,
) -> Result<LoginEnvironment, GitError> {
    match effective_login(address, login) {
        Login::None => Ok(if address.scheme() == Scheme::Ssh {
            ssh_environment(None, &HostKeys::AcceptAny, scratch)?
        } else {
            LoginEnvironment::default()
        }),
        Login::Password { username, password } => password_environment(address, username, password),
        Login::Key { private_key, hosts } if address.scheme() == Scheme::Ssh => {
            ssh_environment(Some(private_key), hosts, scratch)
        }
        Login::Key { .. } => Err(GitError::Login("a private key requires an ssh address")),
    }
}

fn password_environment(
    address: &RepositoryAddress,
    username: &str,
    password: &str,
) -> Result<LoginEnvironment, GitError> {
    let Some(server) = address.http_origin() else {
        return Err(GitError::Login("a user name and password require an https address"));
    };
    if username.contains(['\n', '\r', '\0']) || password.contains(['\n', '\r', '\0']) {
        return Err(GitError::Login("it contains a line break"));
    }
    // Limited to this server, so that a redirect does not send the password to another one.
    Ok(LoginEnvironment {
        settings: vec![(format!("credential.{server}.helper"), HELPER.to_string())],
        variables: vec![(USERNAME, username.to_string()), (PASSWORD, password.to_string())],
        secrets: [password].into_iter().filter(|text| !text.is_empty()).map(ToString::to_string).collect(),
    })
}

fn ssh_environment(key: Option<&str>, hosts: &HostKeys, scratch: &Path) -> Result<LoginEnvironment, GitError> {
    let broken = |error| GitError::Cache(scratch.to_path_buf(), error);
    let mut command =
        "ssh -F /dev/null -o BatchMode=yes -o IdentitiesOnly=yes -o IdentityAgent=none -o ConnectTimeout=20 \
                       -o PasswordAuthentication=no -o GlobalKnownHostsFile=/dev/null"
            .to_string();
    if let Some(key) = key {
        let file = scratch.join("key");
        // ssh rejects a key without its final line break.
        write_private(&file, &format!("{}\n", key.trim())).map_err(broken)?;
        command.push_str(&format!(" -i {}", quoted(&file)?));
    } else {
        command.push_str(" -i /dev/null");
    }
    let (check, file) = match hosts {
        HostKeys::KnownHosts(lines) => {
            let file = scratch.join("known_hosts");
            write_private(&file, lines).map_err(broken)?;
            ("yes", file)
        }
        HostKeys::AcceptNew(file) => ("accept-new", file.clone()),
        HostKeys::AcceptAny => ("no", PathBuf::from("/dev/null")),
    };
    command.push_str(&format!(" -o StrictHostKeyChecking={check} -o UserKnownHostsFile={}", quoted(&file)?));
    Ok(LoginEnvironment { settings: Vec::new(), variables: vec![("GIT_SSH_COMMAND", command)], secrets: Vec::new() })
}

fn quoted(path: &Path) -> Result<String, GitError> {
    let text = path.to_str().filter(|text| !text.contains(['\'', '"', ' ', '\\', '%']));
    let text =
        text.ok_or(GitError::Login("the path of the key folder contains characters that ssh does not support"))?;
    Ok(format!("'{text}'"))
}

fn write_private(path: &Path, text: &str) -> std::io::Result<()> {
    OpenOptions::new().create_new(true).write(true).mode(0o600).open(path)?.write_all(text.as_bytes())
}
