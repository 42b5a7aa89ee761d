#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| switchboard_cluster::store::disk::fuzz(bytes));
