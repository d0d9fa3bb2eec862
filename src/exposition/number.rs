//! Numbers, in the fewest digits that read back as the same number.
//!
//! That is what prometheus-client writes too, save rare numbers to which it gives a digit or two more.

use crate::model::Timestamp;

/// Appends a finite `value`.
pub(super) fn push_f64(out: &mut Vec<u8>, value: f64) {
    const MILLION: f64 = 1e6;
    // Most completions are a few decimals. A double that is the nearest to n / 10^6, for an n of at most 12 digits, is
    // the nearest to no other decimal that short, so that the digits of n are those of the shortest form.
    if value.is_sign_positive() && value < MILLION {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 <= value < 10^6")]
        let millionths = (value * MILLION + 0.5) as u64;
        #[expect(clippy::cast_precision_loss, reason = "at most 10^12")]
        let is_exact = (millionths as f64 / MILLION).to_bits() == value.to_bits();
        if is_exact {
            return push_decimal(out, millionths / 1_000_000, millionths % 1_000_000);
        }
    }
    out.extend_from_slice(zmij::Buffer::new().format_finite(value).as_bytes());
}

/// Appends `at` as seconds since the Unix epoch.
pub(super) fn push_timestamp(out: &mut Vec<u8>, at: Timestamp) {
    match u64::try_from(at.as_millis()) {
        // Up to here, which is the year 33658, the digits are those of the shortest form; see push_f64.
        Ok(millis) if millis < 1_000_000_000_000_000 => push_decimal(out, millis / 1000, millis % 1000 * 1000),
        _ => push_f64(out, at.as_seconds()),
    }
}

/// Appends `count`.
pub(super) fn push_integer(out: &mut Vec<u8>, count: usize) {
    out.extend_from_slice(itoa::Buffer::new().format(count).as_bytes());
}

/// Appends `whole` + `millionths` / 10^6, with at least one decimal and no zero beyond it.
fn push_decimal(out: &mut Vec<u8>, whole: u64, millionths: u64) {
    match whole {
        0..10 => out.extend_from_slice(&[three_digits(whole)[2], b'.']),
        // Timestamps of our times.
        1_000_000_000..10_000_000_000 => {
            let mut text = [b'.'; 11];
            text[0] = three_digits(whole / 1_000_000_000)[2];
            text[1..4].copy_from_slice(&three_digits(whole / 1_000_000 % 1000));
            text[4..7].copy_from_slice(&three_digits(whole / 1000 % 1000));
            text[7..10].copy_from_slice(&three_digits(whole % 1000));
            out.extend_from_slice(&text);
        }
        _ => {
            out.extend_from_slice(itoa::Buffer::new().format(whole).as_bytes());
            out.push(b'.');
        }
    }
    let (high, low) = (millionths / 1000, millionths % 1000);
    let mut decimals = [0; 6];
    decimals[..3].copy_from_slice(&three_digits(high));
    decimals[3..].copy_from_slice(&three_digits(low));
    let needless = if low == 0 { 3 + zeros_at_end(high).min(2) } else { zeros_at_end(low) };
    // All of them at once, and then off with the needless: a copy of a fixed size is far quicker.
    out.extend_from_slice(&decimals);
    out.truncate(out.len() - needless);
}

/// The digits of each number below 1000, zeros in front.
static THREE_DIGITS: [[u8; 3]; 1000] = {
    let mut digits = [[b'0'; 3]; 1000];
    let mut number = 0;
    while number < 1000 {
        #[expect(clippy::cast_possible_truncation, reason = "single digits")]
        {
            digits[number] = [b'0' + (number / 100) as u8, b'0' + (number / 10 % 10) as u8, b'0' + (number % 10) as u8];
        }
        number += 1;
    }
    digits
};

/// `number` is below 1000.
#[expect(clippy::cast_possible_truncation, reason = "below 1000")]
fn three_digits(number: u64) -> [u8; 3] {
    THREE_DIGITS[number as usize % 1000]
}

/// How many of the three digits of `number` are zeros with no other digit behind them.
fn zeros_at_end(number: u64) -> usize {
    usize::from(number.is_multiple_of(10)) + usize::from(number.is_multiple_of(100)) + usize::from(number == 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn written(push: impl FnOnce(&mut Vec<u8>)) -> String {
        let mut out = Vec::new();
        push(&mut out);
        String::from_utf8(out).unwrap()
    }

    /// How many digits count.
    fn digits(number: &str) -> usize {
        let mantissa = number.split('e').next().unwrap().trim_start_matches('-');
        mantissa.replace('.', "").trim_start_matches('0').trim_end_matches('0').len()
    }

    /// The standard library writes the fewest digits there are.
    fn assert_shortest_round_trip(text: &str, value: f64) {
        assert_eq!(text.parse::<f64>().unwrap().to_bits(), value.to_bits(), "{text} for {value:?}");
        assert_eq!(digits(text), digits(&format!("{value:e}")), "{text} for {value:?}");
    }

    #[test]
    fn numbers_are_written_as_people_expect_them() {
        for (value, expected) in [
            (0.0, "0.0"),
            (-0.0, "-0.0"),
            (1.0, "1.0"),
            (0.5, "0.5"),
            (0.734, "0.734"),
            (0.000_649, "0.000649"),
            (1.1, "1.1"),
            (-0.25, "-0.25"),
            (1e-6, "0.000001"),
            (1.0 / 3.0, "0.3333333333333333"),
            (999_999.999_999, "999999.999999"),
            (1e21, "1e+21"),
        ] {
            assert_eq!(written(|out| push_f64(out, value)), expected);
        }
    }

    #[test]
    fn timestamps_are_seconds_exact_to_the_millisecond() {
        for (millis, expected) in [
            (1_795_224_645_123, "1795224645.123"),
            (1_795_224_645_120, "1795224645.12"),
            (1_795_224_645_000, "1795224645.0"),
            (7, "0.007"),
            (0, "0.0"),
            (-1500, "-1.5"),
        ] {
            assert_eq!(written(|out| push_timestamp(out, Timestamp::from_millis(millis))), expected);
        }
    }

    #[test]
    fn numbers_of_few_decimals_are_written_in_those() {
        for n in 0..100_000_u32 {
            for divisor in [1e6, 1e5, 1e3, 100.0] {
                let value = f64::from(n) / divisor;
                assert_shortest_round_trip(&written(|out| push_f64(out, value)), value);
            }
        }
    }

    proptest! {
        #[test]
        fn any_number_reads_back_from_the_fewest_digits(value in any::<f64>().prop_filter("finite", |v| v.is_finite())) {
            assert_shortest_round_trip(&written(|out| push_f64(out, value)), value);
        }

        #[test]
        fn any_ratio_reads_back_from_the_fewest_digits(value in 0.0..2.0_f64) {
            assert_shortest_round_trip(&written(|out| push_f64(out, value)), value);
        }

        #[test]
        fn any_timestamp_reads_back_from_the_fewest_digits(
            millis in prop_oneof![any::<i64>(), 0..4_000_000_000_000_i64]
        ) {
            let at = Timestamp::from_millis(millis);
            assert_shortest_round_trip(&written(|out| push_timestamp(out, at)), at.as_seconds());
        }
    }
}
