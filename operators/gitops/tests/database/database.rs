//! A database for each case.

use switchboard_gitops::SCHEMA;

use switchboard_sql::{Address, DatabaseSchema, Ledger, Sealer};

/// Database of a case.
pub struct TestDatabase {
    pub url: String,
    _folder: tempfile::TempDir,
}

/// Returns a line of a key file.
pub fn key(number: u8) -> String {
    use base64::Engine as _;
    format!("k{number}:{}", base64::engine::general_purpose::STANDARD.encode([number; 32]))
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
        // The server ends with this process; the operating system removes its directory.
        static SERVER: OnceLock<PostgresServer> = OnceLock::new();
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let server = SERVER.get_or_init(|| PostgresServer::start().unwrap());
        let url = server.database(&format!("case{}", NEXT.fetch_add(1, Ordering::Relaxed))).unwrap();
        TestDatabase { url, _folder: tempfile::tempdir().unwrap() }
    }

    pub async fn open(&self, sealing: Sealer) -> Ledger {
        self.open_as(&SCHEMA, sealing).await
    }

    /// Opens the database with the schema of another version.
    pub async fn open_as(&self, schema: &'static DatabaseSchema, sealing: Sealer) -> Ledger {
        Ledger::open(schema, &Address::parse(&self.url).unwrap(), sealing).await.unwrap()
    }

    /// Creates another database of the same kind.
    pub fn another(&self) -> TestDatabase {
        #[cfg(feature = "real")]
        if !self.url.starts_with("sqlite:") {
            return TestDatabase::postgres();
        }
        TestDatabase::sqlite()
    }

    /// Opens the database with its tables, and credentials in plaintext.
    pub async fn ready(&self) -> Ledger {
        let ledger = self.open(Sealer::plain()).await;
        ledger.migrate().await.unwrap();
        ledger
    }

    /// Runs SQL outside of the ledger, like another client.
    pub async fn execute_sql(&self, sql: &'static str) {
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

    /// Returns the steps of SQLite's plan of a query.
    pub async fn query_plan(&self, explained: String) -> String {
        let file = self.url.strip_prefix("sqlite:").unwrap();
        let options = sqlx::sqlite::SqliteConnectOptions::new().filename(file);
        let pool = sqlx::SqlitePool::connect_with(options).await.unwrap();
        let steps: Vec<(i64, i64, i64, String)> =
            sqlx::query_as(sqlx::AssertSqlSafe(explained)).fetch_all(&pool).await.unwrap();
        pool.close().await;
        steps.into_iter().map(|(.., step)| step).collect::<Vec<_>>().join("; ")
    }

    /// Returns a single text, as stored.
    pub async fn query_text(&self, sql: &'static str) -> Option<String> {
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
            $(#[tokio::test(flavor = "multi_thread")] async fn $case() { super::$case(crate::database::TestDatabase::sqlite()).await })*
        }
        #[cfg(feature = "real")]
        mod postgres {
            $(#[tokio::test(flavor = "multi_thread")] async fn $case() { super::$case(crate::database::TestDatabase::postgres()).await })*
        }
    };
}

pub(crate) use on_both;
