//! Schema of the GitOps Service's database.

use crate::rows::{self, fleet, settings, tenant_clusters};
use switchboard_sql::{AdoptedProgram, DatabaseSchema, MigrationStep};

/// Tables and migration steps of the GitOps Service. The first step consists of the tables of managed-gitops.
pub static SCHEMA: DatabaseSchema = DatabaseSchema {
    tables: &[rows::TABLES, fleet::TABLES, tenant_clusters::TABLES, settings::TABLES],
    steps: STEPS,
    adopts: Some(AdoptedProgram { name: "managed-gitops", version: 20 }),
};

/// A released step never changes: its digest is stored. Add a new step instead.
const STEPS: &[MigrationStep] = &[
    MigrationStep {
        version: 1,
        name: "tables of managed-gitops",
        postgres: include_str!("../migrations/postgres/0001_managed_gitops.sql"),
        sqlite: include_str!("../migrations/sqlite/0001_managed_gitops.sql"),
    },
    MigrationStep {
        version: 2,
        name: "wider columns, indexes, log of changes",
        postgres: include_str!("../migrations/postgres/0002_switchboard.sql"),
        sqlite: include_str!("../migrations/sqlite/0002_switchboard.sql"),
    },
    MigrationStep {
        version: 3,
        name: "instances, placements and moves",
        postgres: include_str!("../migrations/postgres/0003_fleet.sql"),
        sqlite: include_str!("../migrations/sqlite/0003_fleet.sql"),
    },
    MigrationStep {
        version: 4,
        name: "service accounts on tenants' clusters",
        postgres: include_str!("../migrations/postgres/0004_service_accounts.sql"),
        sqlite: include_str!("../migrations/sqlite/0004_service_accounts.sql"),
    },
    MigrationStep {
        version: 5,
        name: "settings of the backend",
        postgres: include_str!("../migrations/postgres/0005_settings.sql"),
        sqlite: include_str!("../migrations/sqlite/0005_settings.sql"),
    },
    MigrationStep {
        version: 6,
        name: "tokens of these service accounts",
        postgres: include_str!("../migrations/postgres/0006_service_account_tokens.sql"),
        sqlite: include_str!("../migrations/sqlite/0006_service_account_tokens.sql"),
    },
    MigrationStep {
        version: 7,
        name: "log of changes by statement",
        postgres: include_str!("../migrations/postgres/0007_statements.sql"),
        sqlite: include_str!("../migrations/sqlite/0007_statements.sql"),
    },
    MigrationStep {
        version: 8,
        name: "names of move steps",
        postgres: include_str!("../migrations/postgres/0008_move_steps.sql"),
        sqlite: include_str!("../migrations/sqlite/0008_move_steps.sql"),
    },
    MigrationStep {
        version: 9,
        name: "indexes",
        postgres: include_str!("../migrations/postgres/0009_indexes.sql"),
        sqlite: include_str!("../migrations/sqlite/0009_indexes.sql"),
    },
];
