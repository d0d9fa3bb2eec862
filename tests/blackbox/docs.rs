//! The table of outputs in the docs, compared with the program.

use crate::support::Setup;
use std::collections::BTreeSet;

#[test]
fn the_table_of_outputs_is_what_once_offers() {
    let page = include_str!("../../docs/reports.md");
    let (_, table) = page.split_once("| `--output` |").unwrap();
    let rows = table.lines().skip(2).take_while(|row| row.starts_with('|'));
    let outputs = rows.flat_map(|row| row.split('|').nth(1).unwrap().split(", "));
    let documented: BTreeSet<_> = outputs
        .map(|output| {
            output
                .trim()
                .trim_end_matches(" (default)")
                .trim_matches('`')
        })
        .collect();
    let help = Setup::new(&["once", "--help"]).run().stdout;
    let (_, offered) = help.split_once("--output <FORMAT>").unwrap();
    let (offered, _) = offered.split_once(';').unwrap();
    let offered = offered.split(',').map(str::trim).collect();
    assert_eq!(documented, offered);
}
