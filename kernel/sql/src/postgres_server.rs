//! PostgreSQL server for tests, of the programs installed on the system: on a socket in a temporary directory, or with
//! TLS on a free port of this machine. The server ends with the process that started it, even if that process is
//! killed.

use std::fs;
use std::io::{self, Write};
use std::net::TcpListener;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Directory with one subdirectory per PostgreSQL version on Debian.
const DEBIAN_SERVERS: &str = "/usr/lib/postgresql";

/// Environment variable with another directory of the programs.
const BIN_VARIABLE: &str = "SWITCHBOARD_POSTGRES_BIN";

/// Unprivileged user id, because PostgreSQL refuses to run as root.
const UNPRIVILEGED_ID: u32 = 65534;

/// Deadline for the start of a server.
const START_DEADLINE: Duration = Duration::from_secs(60);

/// Starts a server and stops it with the signal read from standard input. At the end of the input, the test process has
/// exited, and the script removes the server's directory.
const SUPERVISOR_SCRIPT: &str = r#""$1" -D "$2/data" >"$2/data/log" 2>&1 & pid=$!
if read -r how; then kill -"$how" "$pid"; wait "$pid"; else kill -INT "$pid"; wait "$pid"; rm -rf "$2"; fi"#;

/// Running server.
pub struct PostgresServer {
    bin: PathBuf,
    folder: PathBuf,
    supervisor: Option<Child>,
    port: Option<u16>,
}

impl PostgresServer {
    /// Starts a new server with an empty database, on a socket.
    pub fn start() -> io::Result<PostgresServer> {
        PostgresServer::create(None)
    }

    /// Starts a new server that accepts TLS only, on a port of 127.0.0.1, with this certificate and key, PEM.
    pub fn start_tls(certificate: &str, key: &str) -> io::Result<PostgresServer> {
        PostgresServer::create(Some((certificate, key)))
    }

    fn create(tls: Option<(&str, &str)>) -> io::Result<PostgresServer> {
        let bin = find_programs()?;
        let folder = std::env::temp_dir().join(format!("switchboard-pg-{}-{}", std::process::id(), unique()));
        fs::create_dir_all(&folder)?;
        give_to_postgres_user(&folder)?;
        let data = folder.join("data");
        let made = as_postgres_user(
            Command::new(bin.join("initdb")).arg("-D").arg(&data).args(["-U", "postgres", "-A", "trust"]),
        )
        .args(["--no-sync", "--encoding=UTF8", "--locale=C"])
        .current_dir(&folder)
        .output()?;
        if !made.status.success() {
            return Err(io::Error::other(format!("initdb: {}", String::from_utf8_lossy(&made.stderr))));
        }
        let port =
            tls.map(|_| TcpListener::bind("127.0.0.1:0")?.local_addr()).transpose()?.map(|address| address.port());
        let mut settings = format!("\nunix_socket_directories = '{}'\nmax_connections = 200\n", folder.display());
        match (tls, port) {
            (Some((certificate, key)), Some(port)) => {
                settings.push_str(&format!("listen_addresses = '127.0.0.1'\nport = {port}\nssl = on\n"));
                write_private(&data.join("server.crt"), certificate)?;
                write_private(&data.join("server.key"), key)?;
                fs::write(data.join("pg_hba.conf"), "local all all trust\nhostssl all all 127.0.0.1/32 trust\n")?;
            }
            _ => settings.push_str("listen_addresses = ''\n"),
        }
        let mut configuration = fs::OpenOptions::new().append(true).open(data.join("postgresql.conf"))?;
        configuration.write_all(settings.as_bytes())?;
        let mut server = PostgresServer { bin, folder, supervisor: None, port };
        server.restart()?;
        Ok(server)
    }

    /// Restarts the server after [`PostgresServer::stop`].
    pub fn restart(&mut self) -> io::Result<()> {
        let mut command = Command::new("sh");
        command.arg("-c").arg(SUPERVISOR_SCRIPT).arg("sh").arg(self.bin.join("postgres")).arg(&self.folder);
        let supervisor =
            as_postgres_user(&mut command).stdin(Stdio::piped()).current_dir(&self.folder).process_group(0).spawn()?;
        self.supervisor = Some(supervisor);
        let deadline = Instant::now() + START_DEADLINE;
        while self.psql("postgres", "select 1").is_err() {
            if Instant::now() > deadline {
                let log = fs::read_to_string(self.folder.join("data/log")).unwrap_or_default();
                return Err(io::Error::other(format!("could not start PostgreSQL: {log}")));
            }
            sleep(Duration::from_millis(20));
        }
        Ok(())
    }

    /// Stops the server: `INT` is a fast shutdown, `QUIT` an immediate one, like a crash.
    pub fn stop(&mut self, how: &str) {
        if let Some(mut supervisor) = self.supervisor.take() {
            if let Some(mut input) = supervisor.stdin.take() {
                let _ = writeln!(input, "{how}");
            }
            let _ = supervisor.wait();
        }
    }

    /// Creates a database and returns its URL.
    pub fn database(&self, name: &str) -> io::Result<String> {
        self.psql("postgres", &format!("create database \"{name}\""))?;
        Ok(self.url(name))
    }

    /// Returns the URL of a database: over the socket, or over the port if there is one.
    pub fn url(&self, name: &str) -> String {
        match self.port {
            Some(port) => format!("postgres://postgres@127.0.0.1:{port}/{name}"),
            None => format!("postgres://postgres@localhost/{name}?host={}", self.folder.display()),
        }
    }

    /// Returns the path of the socket.
    pub fn socket(&self) -> PathBuf {
        self.folder.join(format!(".s.PGSQL.{}", self.port.unwrap_or(5432)))
    }

    /// Runs SQL as the owner and returns the unaligned output of psql.
    pub fn psql(&self, database: &str, sql: &str) -> io::Result<String> {
        let mut command = Command::new(self.bin.join("psql"));
        command.args(["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-U", "postgres", "-d", database, "-h"]);
        command.arg(&self.folder).env("PGPORT", self.port.unwrap_or(5432).to_string()).arg("-c").arg(sql);
        let done = as_postgres_user(&mut command).current_dir(&self.folder).output()?;
        if done.status.success() {
            Ok(String::from_utf8_lossy(&done.stdout).trim().to_string())
        } else {
            Err(io::Error::other(String::from_utf8_lossy(&done.stderr).to_string()))
        }
    }
}

impl Drop for PostgresServer {
    fn drop(&mut self) {
        self.stop("INT");
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Returns the directory of PostgreSQL's programs, of the newest version.
fn find_programs() -> io::Result<PathBuf> {
    if let Some(given) = std::env::var_os(BIN_VARIABLE) {
        return Ok(given.into());
    }
    let mut versions: Vec<(u32, PathBuf)> = Vec::new();
    for entry in fs::read_dir(DEBIAN_SERVERS).into_iter().flatten().flatten() {
        let bin = entry.path().join("bin");
        if let (Ok(version), true) = (entry.file_name().to_string_lossy().parse(), bin.join("initdb").exists()) {
            versions.push((version, bin));
        }
    }
    versions.sort();
    let missing = || {
        io::Error::other(format!(
            "could not find PostgreSQL\nhint: run `tests/real/build`, or set {BIN_VARIABLE} to the directory of its programs"
        ))
    };
    versions.pop().map(|(_, bin)| bin).ok_or_else(missing)
}

fn is_root() -> bool {
    fs::metadata("/proc/self").is_ok_and(|me| std::os::unix::fs::MetadataExt::uid(&me) == 0)
}

fn as_postgres_user(command: &mut Command) -> &mut Command {
    if is_root() { command.uid(UNPRIVILEGED_ID).gid(UNPRIVILEGED_ID) } else { command }
}

fn give_to_postgres_user(path: &Path) -> io::Result<()> {
    if is_root() { chown(path, Some(UNPRIVILEGED_ID), Some(UNPRIVILEGED_ID)) } else { Ok(()) }
}

fn write_private(path: &Path, text: &str) -> io::Result<()> {
    fs::write(path, text)?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o600))?;
    give_to_postgres_user(path)
}

/// Returns a number that is unique among the servers of this process.
fn unique() -> u64 {
    static NEXT: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);
    NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed)
}
