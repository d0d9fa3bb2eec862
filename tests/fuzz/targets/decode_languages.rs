#![no_main]

#[path = "../inputs.rs"]
#[allow(dead_code, reason = "each target uses one of them")]
mod inputs;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| inputs::decode_languages(bytes));
