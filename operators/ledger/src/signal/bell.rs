//! What says when to look.

use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use sqlx::SqlitePool;
use sqlx::postgres::PgListener;
use tokio::sync::watch;
use tokio::time::sleep;

use super::POLL;
use crate::ledger::Ledger;
use crate::pool::Pool;

/// The channel that the trigger rings on.
const CHANNEL: &str = "switchboard_ledger";

/// How often is looked whether another process has written to the file.
const LOOK_AT_FILE: Duration = Duration::from_millis(500);

/// Two writes that are nearer to each other may have one time.
const GRAIN: Duration = Duration::from_millis(50);

/// How long a listener is waited for before the log is polled.
const LISTEN_DEADLINE: Duration = Duration::from_secs(5);

pub enum Bell {
    /// This process writes, and others may to the same file.
    Here(Here),
    /// PostgreSQL tells.
    Listening(Box<PgListener>, Ledger),
    /// PostgreSQL cannot tell right now.
    Broken(Ledger),
}

impl Bell {
    pub async fn new(ledger: &Ledger) -> Bell {
        match &ledger.pool {
            Pool::Sqlite(pool) => Bell::Here(Here::new(ledger, pool)),
            Pool::Postgres(_) => listen(ledger).await,
        }
    }

    /// Waits until it is time to look. Says whether something may have been missed.
    pub async fn rung(&mut self) -> bool {
        match self {
            Bell::Here(here) => {
                here.rung().await;
                false
            }
            Bell::Listening(listener, ledger) => match listener.try_recv().await {
                Ok(Some(_)) => {
                    // One look is enough for all that rang meanwhile.
                    while listener.next_buffered().is_some() {}
                    false
                }
                // The connection was lost and made anew: nothing of what rang meanwhile was heard.
                Ok(None) => true,
                Err(error) => {
                    tracing::warn!(error = %error, poll_ms = POLL.as_millis() as u64, "could not listen, polls");
                    let ledger = ledger.clone();
                    *self = Bell::Broken(ledger);
                    true
                }
            },
            Bell::Broken(ledger) => {
                sleep(POLL).await;
                let ledger = ledger.clone();
                *self = listen(&ledger).await;
                false
            }
        }
    }
}

async fn listen(ledger: &Ledger) -> Bell {
    let pool = match &ledger.pool {
        Pool::Postgres(pool) => pool,
        Pool::Sqlite(pool) => return Bell::Here(Here::new(ledger, pool)),
    };
    let begin = async {
        let mut listener = PgListener::connect_with(pool).await?;
        listener.listen(CHANNEL).await?;
        Ok::<_, sqlx::Error>(listener)
    };
    match tokio::time::timeout(LISTEN_DEADLINE, begin).await {
        Ok(Ok(listener)) => Bell::Listening(Box::new(listener), ledger.clone()),
        _ => Bell::Broken(ledger.clone()),
    }
}

/// The bell of a SQLite file: it rings for what this process writes, and says when another one has. That costs no question to the
/// database, but a look at how old and how long its files are. They are never opened: to close one again would take away SQLite's
/// locks, which belong to the process and not to who opened the file.
pub struct Here {
    bell: watch::Receiver<u64>,
    /// The file, and the log beside it; neither is there for a database in memory.
    files: [PathBuf; 2],
    seen: Look,
}

type Stamp = Option<(SystemTime, u64)>;

/// How files stood, and whether what is written right after would be told from it.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Look {
    stamps: [Stamp; 2],
    is_settled: bool,
}

impl Here {
    fn new(ledger: &Ledger, pool: &SqlitePool) -> Here {
        let file = pool.connect_options().get_filename().to_path_buf();
        let mut log = file.clone().into_os_string();
        log.push("-wal");
        let files = [file, PathBuf::from(log)];
        Here { bell: ledger.bell.subscribe(), seen: look(&files), files }
    }

    async fn rung(&mut self) {
        loop {
            tokio::select! {
                // The sender lives as long as the ledger that this belongs to.
                _ = self.bell.changed() => break,
                () = sleep(LOOK_AT_FILE) => if !self.seen.is_settled || look(&self.files).stamps != self.seen.stamps { break },
            }
        }
        // Before what is written is read: what comes in between is seen then, or the next time.
        self.seen = look(&self.files);
    }
}

fn look(files: &[PathBuf; 2]) -> Look {
    let now = SystemTime::now();
    let stamps: [Stamp; 2] = std::array::from_fn(|at| {
        let found = std::fs::metadata(&files[at]).ok()?;
        Some((found.modified().ok()?, found.len()))
    });
    let is_old = |(modified, _): &(SystemTime, u64)| now.duration_since(*modified).is_ok_and(|age| age > GRAIN);
    Look { stamps, is_settled: stamps.iter().flatten().all(is_old) }
}
