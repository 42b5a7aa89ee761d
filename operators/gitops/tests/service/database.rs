//! One database per test.

use switchboard_sql::{Address, Ledger, Sealer};

/// Location of a test's database.
pub struct TestDatabase {
    url: String,
    _folder: tempfile::TempDir,
}

impl TestDatabase {
    pub fn sqlite() -> TestDatabase {
        let folder = tempfile::tempdir().unwrap();
        TestDatabase { url: format!("sqlite:{}", folder.path().join("gitops.db").display()), _folder: folder }
    }

    #[cfg(feature = "real")]
    pub fn postgres() -> TestDatabase {
        use std::sync::OnceLock;
        use std::sync::atomic::{AtomicU64, Ordering};
        use switchboard_sql::postgres_server::PostgresServer;
        // The server stops with this process; the system removes its directory.
        static SERVER: OnceLock<PostgresServer> = OnceLock::new();
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let server = SERVER.get_or_init(|| PostgresServer::start().unwrap());
        TestDatabase::of(server, &format!("case{}", NEXT.fetch_add(1, Ordering::Relaxed)))
    }

    /// Database on a server that the test owns.
    #[cfg(feature = "real")]
    pub fn of(server: &switchboard_sql::postgres_server::PostgresServer, name: &str) -> TestDatabase {
        TestDatabase { url: server.database(name).unwrap(), _folder: tempfile::tempdir().unwrap() }
    }

    /// Runs SQL outside the ledger, as another client would.
    pub async fn execute_sql(&self, sql: String) {
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

    /// Opens the database and creates the tables.
    pub async fn ready(&self) -> Ledger {
        let ledger = Ledger::open(&switchboard_gitops::SCHEMA, &Address::parse(&self.url).unwrap(), Sealer::plain())
            .await
            .unwrap();
        ledger.migrate().await.unwrap();
        ledger
    }
}

/// Runs each test on each database.
macro_rules! on_both {
    ($($case:ident)*) => {
        mod sqlite {
            $(#[tokio::test(flavor = "multi_thread")] async fn $case() { super::$case(crate::database::TestDatabase::sqlite()).await })*
        }
        #[cfg(feature = "real")]
        mod postgres {
            $(#[tokio::test(flavor = "multi_thread")] async fn $case() { super::$case(crate::database::TestDatabase::postgres()).await })*
        }
    };
}

pub(crate) use on_both;
