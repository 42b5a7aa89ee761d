//! A database of its own for a case.

use switchboard_ledger::{Address, Ledger, Sealing};

/// Where a case keeps its database.
pub struct Base {
    pub url: String,
    _folder: tempfile::TempDir,
}

/// A key that seals, by its number.
pub fn key(number: u8) -> String {
    use base64::Engine as _;
    format!("k{number}:{}", base64::engine::general_purpose::STANDARD.encode([number; 32]))
}

impl Base {
    pub fn sqlite() -> Base {
        let folder = tempfile::tempdir().unwrap();
        Base { url: format!("sqlite:{}", folder.path().join("gitops.db").display()), _folder: folder }
    }

    #[cfg(feature = "real")]
    pub fn postgres() -> Base {
        use std::sync::OnceLock;
        use std::sync::atomic::{AtomicU64, Ordering};
        use switchboard_ledger::server::Server;
        // It ends when this process does; its directory is the system's to remove.
        static SERVER: OnceLock<Server> = OnceLock::new();
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let server = SERVER.get_or_init(|| Server::start().unwrap());
        let url = server.database(&format!("case{}", NEXT.fetch_add(1, Ordering::Relaxed))).unwrap();
        Base { url, _folder: tempfile::tempdir().unwrap() }
    }

    pub async fn open(&self, sealing: Sealing) -> Ledger {
        Ledger::open(&Address::parse(&self.url).unwrap(), sealing).await.unwrap()
    }

    /// With its tables, and credentials in clear.
    pub async fn ready(&self) -> Ledger {
        let ledger = self.open(Sealing::plain()).await;
        ledger.migrate().await.unwrap();
        ledger
    }

    /// Runs SQL beside the ledger, as somebody else would.
    pub async fn raw(&self, sql: &'static str) {
        match self.url.strip_prefix("sqlite:") {
            Some(file) => {
                let options = sqlx::sqlite::SqliteConnectOptions::new().filename(file).create_if_missing(true);
                let pool = sqlx::SqlitePool::connect_with(options).await.unwrap();
                sqlx::raw_sql(sql).execute(&pool).await.unwrap();
                pool.close().await;
            }
            None => {
                let pool = sqlx::PgPool::connect(&self.url).await.unwrap();
                sqlx::raw_sql(sql).execute(&pool).await.unwrap();
                pool.close().await;
            }
        }
    }

    /// One text that is stored, as it is stored.
    pub async fn stored(&self, sql: &'static str) -> Option<String> {
        match self.url.strip_prefix("sqlite:") {
            Some(file) => {
                let pool = sqlx::SqlitePool::connect_with(sqlx::sqlite::SqliteConnectOptions::new().filename(file));
                let pool = pool.await.unwrap();
                let text = sqlx::query_scalar(sql).fetch_one(&pool).await.unwrap();
                pool.close().await;
                text
            }
            None => {
                let pool = sqlx::PgPool::connect(&self.url).await.unwrap();
                let text = sqlx::query_scalar(sql).fetch_one(&pool).await.unwrap();
                pool.close().await;
                text
            }
        }
    }
}

/// Runs each case on each database.
macro_rules! on_both {
    ($($case:ident)*) => {
        mod sqlite {
            $(#[tokio::test(flavor = "multi_thread")] async fn $case() { super::$case(crate::base::Base::sqlite()).await })*
        }
        #[cfg(feature = "real")]
        mod postgres {
            $(#[tokio::test(flavor = "multi_thread")] async fn $case() { super::$case(crate::base::Base::postgres()).await })*
        }
    };
}

pub(crate) use on_both;
