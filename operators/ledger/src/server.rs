//! A PostgreSQL server for as long as a test runs, of the system's own programs: sockets in a temporary directory, or TLS on a free
//! port of this machine. It ends with the process that started it, however that ends.

use std::fs;
use std::io::{self, Write};
use std::net::TcpListener;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Where Debian has its servers, one directory a version.
const DEBIAN: &str = "/usr/lib/postgresql";

/// Says where else they are.
const BIN: &str = "SWITCHBOARD_POSTGRES_BIN";

/// PostgreSQL will not run as root: then it runs as `nobody`.
const NOBODY: u32 = 65534;

/// How long a server may take to start.
const START: Duration = Duration::from_secs(60);

/// Starts a server and stops it as it is told; when its input ends, whoever asked for it is gone, and its directory goes, too.
const KEEPER: &str = r#""$1" -D "$2/data" >"$2/data/log" 2>&1 & pid=$!
if read -r how; then kill -"$how" "$pid"; wait "$pid"; else kill -INT "$pid"; wait "$pid"; rm -rf "$2"; fi"#;

/// A running server.
pub struct Server {
    bin: PathBuf,
    folder: PathBuf,
    keeper: Option<Child>,
    port: Option<u16>,
}

impl Server {
    /// A new server with an empty database, on a socket.
    pub fn start() -> io::Result<Server> {
        Server::create(None)
    }

    /// A new server that speaks TLS only, on a port of 127.0.0.1, with this certificate and key, PEM.
    pub fn start_tls(certificate: &str, key: &str) -> io::Result<Server> {
        Server::create(Some((certificate, key)))
    }

    fn create(tls: Option<(&str, &str)>) -> io::Result<Server> {
        let bin = programs()?;
        let folder = std::env::temp_dir().join(format!("switchboard-pg-{}-{}", std::process::id(), unique()));
        fs::create_dir_all(&folder)?;
        own(&folder)?;
        let data = folder.join("data");
        let made = user(Command::new(bin.join("initdb")).arg("-D").arg(&data).args(["-U", "postgres", "-A", "trust"]))
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
                write_for(&data.join("server.crt"), certificate)?;
                write_for(&data.join("server.key"), key)?;
                fs::write(data.join("pg_hba.conf"), "local all all trust\nhostssl all all 127.0.0.1/32 trust\n")?;
            }
            _ => settings.push_str("listen_addresses = ''\n"),
        }
        let mut configuration = fs::OpenOptions::new().append(true).open(data.join("postgresql.conf"))?;
        configuration.write_all(settings.as_bytes())?;
        let mut server = Server { bin, folder, keeper: None, port };
        server.up()?;
        Ok(server)
    }

    /// Starts it again after [`Server::stop`].
    pub fn up(&mut self) -> io::Result<()> {
        let mut command = Command::new("sh");
        command.arg("-c").arg(KEEPER).arg("sh").arg(self.bin.join("postgres")).arg(&self.folder);
        let keeper = user(&mut command).stdin(Stdio::piped()).current_dir(&self.folder).process_group(0).spawn()?;
        self.keeper = Some(keeper);
        let deadline = Instant::now() + START;
        while self.psql("postgres", "select 1").is_err() {
            if Instant::now() > deadline {
                let log = fs::read_to_string(self.folder.join("data/log")).unwrap_or_default();
                return Err(io::Error::other(format!("postgres did not start: {log}")));
            }
            sleep(Duration::from_millis(20));
        }
        Ok(())
    }

    /// Stops it: `INT` ends all connections in order, `QUIT` as a crash does.
    pub fn stop(&mut self, how: &str) {
        if let Some(mut keeper) = self.keeper.take() {
            if let Some(mut input) = keeper.stdin.take() {
                let _ = writeln!(input, "{how}");
            }
            let _ = keeper.wait();
        }
    }

    /// Makes a database and gives its URL.
    pub fn database(&self, name: &str) -> io::Result<String> {
        self.psql("postgres", &format!("create database \"{name}\""))?;
        Ok(self.url(name))
    }

    /// The URL of a database: over the socket, or over the port if there is one.
    pub fn url(&self, name: &str) -> String {
        match self.port {
            Some(port) => format!("postgres://postgres@127.0.0.1:{port}/{name}"),
            None => format!("postgres://postgres@localhost/{name}?host={}", self.folder.display()),
        }
    }

    /// The file of its socket.
    pub fn socket(&self) -> PathBuf {
        self.folder.join(format!(".s.PGSQL.{}", self.port.unwrap_or(5432)))
    }

    /// Runs SQL as its owner; answers what psql prints, unaligned.
    pub fn psql(&self, database: &str, sql: &str) -> io::Result<String> {
        let mut command = Command::new(self.bin.join("psql"));
        command.args(["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-U", "postgres", "-d", database, "-h"]);
        command.arg(&self.folder).env("PGPORT", self.port.unwrap_or(5432).to_string()).arg("-c").arg(sql);
        let done = user(&mut command).current_dir(&self.folder).output()?;
        if done.status.success() {
            Ok(String::from_utf8_lossy(&done.stdout).trim().to_string())
        } else {
            Err(io::Error::other(String::from_utf8_lossy(&done.stderr).to_string()))
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop("INT");
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// The directory of PostgreSQL's programs: the newest version there is.
fn programs() -> io::Result<PathBuf> {
    if let Some(given) = std::env::var_os(BIN) {
        return Ok(given.into());
    }
    let mut versions: Vec<(u32, PathBuf)> = Vec::new();
    for entry in fs::read_dir(DEBIAN).into_iter().flatten().flatten() {
        let bin = entry.path().join("bin");
        if let (Ok(version), true) = (entry.file_name().to_string_lossy().parse(), bin.join("initdb").exists()) {
            versions.push((version, bin));
        }
    }
    versions.sort();
    let missing = || {
        io::Error::other(format!("no PostgreSQL: `tests/real/build` installs it, or {BIN} says where its programs are"))
    };
    versions.pop().map(|(_, bin)| bin).ok_or_else(missing)
}

fn is_root() -> bool {
    fs::metadata("/proc/self").is_ok_and(|me| std::os::unix::fs::MetadataExt::uid(&me) == 0)
}

fn user(command: &mut Command) -> &mut Command {
    if is_root() { command.uid(NOBODY).gid(NOBODY) } else { command }
}

fn own(path: &Path) -> io::Result<()> {
    if is_root() { chown(path, Some(NOBODY), Some(NOBODY)) } else { Ok(()) }
}

fn write_for(path: &Path, text: &str) -> io::Result<()> {
    fs::write(path, text)?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o600))?;
    own(path)
}

/// A number that no other server of this process has.
fn unique() -> u64 {
    static NEXT: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);
    NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed)
}
