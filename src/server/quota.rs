//! What is scarce, shared between clients: connections, and memory for responses. Nobody waits for it or is refused; where
//! there is too little, connections of the client that has most are ended.
//!
//! That keeps out of the way of others a flood from one address, or a few. With as many addresses as connections it does
//! not help.

use crate::server::activity::Activity;
use crate::support::lock::lock;
use std::{
    cmp::Reverse,
    collections::HashMap,
    net::{IpAddr, Ipv6Addr, SocketAddr},
    sync::{Arc, Mutex, Weak},
};

#[derive(Debug)]
pub struct Quota {
    capacity: u64,
    /// Of those who have a share; one that was given back is gone at the next look.
    held: Mutex<Vec<Weak<Share>>>,
}

/// A connection's share, which is given back when it is dropped.
#[derive(Debug)]
pub struct Share {
    activity: Arc<Activity>,
    amount: u64,
}

impl Quota {
    pub fn of(capacity: u64) -> Self {
        Self {
            capacity,
            held: Mutex::default(),
        }
    }

    /// Gives the connection a share, and ends others until it fits.
    pub fn take(&self, activity: &Arc<Activity>, amount: u64) -> Arc<Share> {
        let mut held = lock(&self.held);
        let mut all: Vec<_> = held.iter().filter_map(Weak::upgrade).collect();
        while all.iter().map(|share| share.amount).sum::<u64>() + amount > self.capacity
            && let Some(least) = least_important(&all)
        {
            let ended = &all.swap_remove(least).activity;
            tracing::debug!(peer = %ended.peer, "closing a connection: its client has more than its share");
            ended.end.cancel();
        }
        let activity = Arc::clone(activity);
        let share = Arc::new(Share { activity, amount });
        all.push(Arc::clone(&share));
        *held = all.iter().map(Arc::downgrade).collect();
        share
    }
}

/// Of the client that has most: a connection without a request under way, or else the one that was last active the longest
/// ago.
fn least_important(all: &[Arc<Share>]) -> Option<usize> {
    let client = |share: &Share| client_of(share.activity.peer);
    let mut sums = HashMap::<_, u64>::new();
    for share in all {
        *sums.entry(client(share)).or_default() += share.amount;
    }
    (0..all.len()).min_by_key(|index| {
        let share = &all[*index];
        (Reverse(sums[&client(share)]), share.activity.importance())
    })
}

/// Whom an address counts as: itself, or over IPv6 its network of 64 bits, which one host can have all of.
pub fn client_of(peer: SocketAddr) -> IpAddr {
    match peer.ip().to_canonical() {
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() >> 64 << 64).into(),
        address @ IpAddr::V4(_) => address,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::activity::UnderWay;
    use axum::http::Request;

    fn connection(address: &str) -> Arc<Activity> {
        Activity::new(SocketAddr::new(address.parse().unwrap(), 1))
    }

    fn ended(connections: &[&Arc<Activity>]) -> Vec<bool> {
        let ended = connections.iter().map(|one| one.end.is_cancelled());
        ended.collect()
    }

    #[tokio::test]
    async fn the_client_that_has_most_makes_room_first_with_what_is_idle_then_with_what_is_least_active()
     {
        let share = Quota::of(4);
        let mut flood = [(); 3].map(|()| connection("192.0.2.1"));
        let other = connection("192.0.2.2");
        let _taken = [&other, &flood[0], &flood[1], &flood[2]].map(|one| share.take(one, 1));
        let _busy = [0, 2].map(|number| UnderWay::new(&flood[number], &Request::new(())));
        flood.swap(0, 1);
        let all = [&flood[0], &flood[1], &flood[2], &other];
        for (address, end) in [
            ("192.0.2.3", [true, false, false, false]),
            ("192.0.2.4", [true, true, false, false]),
            ("192.0.2.5", [true, true, false, true]),
        ] {
            let another = connection(address);
            std::mem::forget(share.take(&another, 1));
            assert_eq!(ended(&all), end);
        }
    }

    #[test]
    fn what_is_given_back_is_free_again_and_what_fits_ends_nothing() {
        let share = Quota::of(10);
        let (first, second) = (connection("192.0.2.1"), connection("192.0.2.1"));
        drop(share.take(&first, 4));
        let _taken = [share.take(&first, 6), share.take(&second, 4)];
        assert_eq!(ended(&[&first, &second]), [false, false]);
        let third = connection("192.0.2.1");
        let _third = share.take(&third, 10);
        assert_eq!(ended(&[&first, &second, &third]), [true, true, false]);
    }

    #[test]
    fn a_client_is_an_address_or_over_ipv6_a_network_of_64_bits() {
        for (address, client) in [
            ("192.0.2.1", "192.0.2.1"),
            ("::ffff:192.0.2.1", "192.0.2.1"),
            ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::"),
            ("::1", "::"),
        ] {
            let peer = SocketAddr::new(address.parse().unwrap(), 1);
            assert_eq!(client_of(peer).to_string(), client, "{address}");
        }
    }
}
