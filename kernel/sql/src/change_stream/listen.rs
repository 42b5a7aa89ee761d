//! Notifications that the change log has new entries.

use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use sqlx::SqlitePool;
use sqlx::postgres::PgListener;
use tokio::sync::watch;
use tokio::time::sleep;

use super::POLL_INTERVAL;
use crate::ledger::Ledger;
use crate::pool::Pool;

/// Channel of the trigger's NOTIFY.
const CHANNEL: &str = "switchboard_sql";

/// Interval of checks whether another process has written to the file.
const FILE_POLL_INTERVAL: Duration = Duration::from_millis(500);

/// Two writes within this time may have the same modification time.
const MTIME_RESOLUTION: Duration = Duration::from_millis(50);

/// Deadline for the start of a listener, after which the log is polled.
const LISTEN_DEADLINE: Duration = Duration::from_secs(5);

pub enum ChangeListener {
    /// Watch channel of this process, and checks of the file for other processes.
    Sqlite(SqliteListener),
    /// Connection that listens for NOTIFY.
    Postgres(Box<PgListener>, Ledger),
    /// No connection can listen at the moment.
    Polling(Ledger),
}

impl ChangeListener {
    pub async fn new(ledger: &Ledger) -> ChangeListener {
        match &ledger.pool {
            Pool::Sqlite(pool) => ChangeListener::Sqlite(SqliteListener::new(ledger, pool)),
            Pool::Postgres(_) => listen(ledger).await,
        }
    }

    /// Waits until the log should be read. Returns whether notifications may have been missed.
    pub async fn wait(&mut self) -> bool {
        match self {
            ChangeListener::Sqlite(sqlite) => {
                sqlite.wait().await;
                false
            }
            ChangeListener::Postgres(listener, ledger) => match listener.try_recv().await {
                Ok(Some(_)) => {
                    // One read serves all notifications so far.
                    while listener.next_buffered().is_some() {}
                    false
                }
                // The connection was re-established; notifications in between were lost.
                Ok(None) => true,
                Err(error) => {
                    tracing::warn!(error = %error, poll_ms = POLL_INTERVAL.as_millis() as u64, "could not listen for changes; polling instead");
                    let ledger = ledger.clone();
                    *self = ChangeListener::Polling(ledger);
                    true
                }
            },
            ChangeListener::Polling(ledger) => {
                sleep(POLL_INTERVAL).await;
                let ledger = ledger.clone();
                *self = listen(&ledger).await;
                false
            }
        }
    }
}

async fn listen(ledger: &Ledger) -> ChangeListener {
    let pool = match &ledger.pool {
        Pool::Postgres(pool) => pool,
        Pool::Sqlite(pool) => return ChangeListener::Sqlite(SqliteListener::new(ledger, pool)),
    };
    let begin = async {
        let mut listener = PgListener::connect_with(pool).await?;
        listener.listen(CHANNEL).await?;
        Ok::<_, sqlx::Error>(listener)
    };
    match tokio::time::timeout(LISTEN_DEADLINE, begin).await {
        Ok(Ok(listener)) => ChangeListener::Postgres(Box::new(listener), ledger.clone()),
        _ => ChangeListener::Polling(ledger.clone()),
    }
}

/// Listener of a SQLite file, for writes of this process and of others. Detecting the latter takes no query, only the
/// modification time and the length of the files. The files are never opened: closing one again would release SQLite's
/// locks, which belong to the process.
pub struct SqliteListener {
    commits: watch::Receiver<u64>,
    /// Database file and its write-ahead log; neither exists for a database in memory.
    files: [PathBuf; 2],
    last_stamps: FileStamps,
}

type FileStamp = Option<(SystemTime, u64)>;

/// Modification times and lengths of the files, and whether a write right after would change them.
#[derive(Clone, Copy, PartialEq, Eq)]
struct FileStamps {
    stamps: [FileStamp; 2],
    is_settled: bool,
}

impl SqliteListener {
    fn new(ledger: &Ledger, pool: &SqlitePool) -> SqliteListener {
        let file = pool.connect_options().get_filename().to_path_buf();
        let mut log = file.clone().into_os_string();
        log.push("-wal");
        let files = [file, PathBuf::from(log)];
        SqliteListener { commits: ledger.commit_notifier.subscribe(), last_stamps: read_stamps(&files), files }
    }

    async fn wait(&mut self) {
        loop {
            tokio::select! {
                // The sender lives as long as the ledger that owns this listener.
                _ = self.commits.changed() => break,
                () = sleep(FILE_POLL_INTERVAL) => if !self.last_stamps.is_settled || read_stamps(&self.files).stamps != self.last_stamps.stamps { break },
            }
        }
        // Before the read of the log: a write in between is found by that read or by the next check.
        self.last_stamps = read_stamps(&self.files);
    }
}

fn read_stamps(files: &[PathBuf; 2]) -> FileStamps {
    let now = SystemTime::now();
    let stamps: [FileStamp; 2] = std::array::from_fn(|at| {
        let found = std::fs::metadata(&files[at]).ok()?;
        Some((found.modified().ok()?, found.len()))
    });
    let is_old =
        |(modified, _): &(SystemTime, u64)| now.duration_since(*modified).is_ok_and(|age| age > MTIME_RESOLUTION);
    FileStamps { stamps, is_settled: stamps.iter().flatten().all(is_old) }
}
