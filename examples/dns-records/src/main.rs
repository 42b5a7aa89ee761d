//! Binary with the operator of DNS records and every command of Switchboard.

mod operator;
mod provider;
mod record;

use switchboard_sdk::ExitCode;

fn main() -> ExitCode {
    switchboard_sdk::main([operator::DnsRecords])
}
