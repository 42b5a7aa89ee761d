//! A database of its own for a case.

use switchboard_ledger::{Address, Ledger, Sealing};

/// Where a case keeps its database.
pub struct Base {
    url: String,
    _folder: tempfile::TempDir,
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
        Base::of(server, &format!("case{}", NEXT.fetch_add(1, Ordering::Relaxed)))
    }

    /// Of a server of the case's own.
    #[cfg(feature = "real")]
    pub fn of(server: &switchboard_ledger::server::Server, name: &str) -> Base {
        Base { url: server.database(name).unwrap(), _folder: tempfile::tempdir().unwrap() }
    }

    /// Runs SQL beside the ledger, as somebody else would.
    pub async fn raw(&self, sql: String) {
        let sql = sqlx::AssertSqlSafe(sql);
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

    pub fn is_sqlite(&self) -> bool {
        self.url.starts_with("sqlite:")
    }

    /// With its tables.
    pub async fn ready(&self) -> Ledger {
        let ledger = Ledger::open(&Address::parse(&self.url).unwrap(), Sealing::plain()).await.unwrap();
        ledger.migrate().await.unwrap();
        ledger
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
