//! What says when to look.

use std::time::Duration;

use sqlx::postgres::PgListener;
use tokio::sync::watch;
use tokio::time::sleep;

use super::POLL;
use crate::ledger::Ledger;
use crate::pool::Pool;

/// The channel that the trigger rings on.
const CHANNEL: &str = "switchboard_ledger";

/// How long a listener is waited for before the log is polled.
const LISTEN_DEADLINE: Duration = Duration::from_secs(5);

pub enum Bell {
    /// This process is the only one that writes.
    Here(watch::Receiver<u64>),
    /// PostgreSQL tells.
    Listening(Box<PgListener>, Ledger),
    /// PostgreSQL cannot tell right now.
    Broken(Ledger),
}

impl Bell {
    pub async fn new(ledger: &Ledger) -> Bell {
        match &ledger.pool {
            Pool::Sqlite(_) => Bell::Here(ledger.bell.subscribe()),
            Pool::Postgres(_) => listen(ledger).await,
        }
    }

    /// Waits until it is time to look. Says whether something may have been missed.
    pub async fn rung(&mut self) -> bool {
        match self {
            Bell::Here(rung) => {
                // The sender lives as long as the ledger that this belongs to.
                let _ = rung.changed().await;
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
    let Pool::Postgres(pool) = &ledger.pool else { return Bell::Here(ledger.bell.subscribe()) };
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
