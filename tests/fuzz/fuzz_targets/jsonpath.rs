#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| switchboard_object::fuzz::jsonpath(bytes));
