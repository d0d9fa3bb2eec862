//! Basic authentication against bcrypt hashes.
//!
//! A hash is expensive on purpose, so it is computed off the runtime's threads and one at a time, and the last right
//! password of each user is remembered, as a keyed digest that is useless outside this process. An unknown user costs as
//! much as the first known one, so that where all hashes have the same cost the time reveals nothing.
//!
//! Each client has one request at the front of its own queue, and only those take part in the common one. So a flood from
//! one client delays another by one verification; a flood from many clients by one of each.

use crate::support::lock::lock;
use axum::http::{HeaderMap, header};
use base64::{Engine, engine::general_purpose::STANDARD};
use ring::{hmac, rand::SystemRandom};
use serde::Deserialize;
use std::{
    borrow::Borrow,
    collections::{BTreeMap, HashMap},
    net::IpAddr,
    sync::{Arc, Mutex},
    time::Duration,
};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::{Instant, timeout},
};

/// A verification at this cost takes about a second. A higher one could take longer than a scrape.
const MAX_COST: u32 = 14;

/// How long a request waits: with its own verification, less than the usual 10 seconds of a scrape.
const WAIT_TIMEOUT: Duration = Duration::from_secs(6);

/// The requests of one client that wait at most. More could not be verified in time, even at the
/// usual cost of 10, and each keeps its headers.
const MAX_WAITING: usize = 100;

/// A client whose passwords are refused is logged again when none was for so long.
const REFUSALS_END: Duration = Duration::from_secs(3600);

/// How many such clients are remembered; more are not logged.
const MAX_REFUSED: usize = 1000;

/// What to do with a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    Admitted,
    /// No credentials, or wrong ones.
    Refused,
    /// Too many credentials are waiting to be verified.
    Busy,
}

/// The hashes of `basic_auth_users` by name. If there are none, nobody needs a password.
pub type Users = BTreeMap<UserName, PasswordHash>;

/// A name that a client can give.
#[derive(Debug, Deserialize, Clone, PartialEq, Eq, PartialOrd, Ord)]
#[serde(try_from = "String")]
pub struct UserName(String);

impl TryFrom<String> for UserName {
    type Error = &'static str;

    fn try_from(name: String) -> Result<Self, Self::Error> {
        if name.is_empty() {
            return Err("a user name is empty; give one");
        }
        if name.contains(':') {
            return Err(
                "a user name has a colon, which no client can send (RFC 7617); leave it out",
            );
        }
        Ok(Self(name))
    }
}

impl Borrow<str> for UserName {
    fn borrow(&self) -> &str {
        &self.0
    }
}

/// A hash that can be verified against.
#[derive(Deserialize, Clone)]
#[serde(try_from = "String")]
pub struct PasswordHash(String);

impl TryFrom<String> for PasswordHash {
    type Error = String;

    /// The error says what to do, and shows nothing of the hash.
    fn try_from(hash: String) -> Result<Self, String> {
        let what = match hash.parse::<bcrypt::HashParts>() {
            Ok(parts) if (4..=MAX_COST).contains(&parts.get_cost()) => {
                return Ok(Self(hash));
            }
            Ok(parts) => format!(
                "a bcrypt hash of cost {}, not of 4 to {MAX_COST}: with more, a verification takes longer than a scrape",
                parts.get_cost()
            ),
            Err(_) => "not a bcrypt hash".to_owned(),
        };
        Err(format!(
            "{what}; make one with: htpasswd -nBC 10 \"\" | tr -d ':\\n'"
        ))
    }
}

/// Verifies passwords. It outlives reloads, so that they forget no password and its queues stay as they are.
#[derive(Debug)]
pub struct Verifier {
    /// The digest of the last right password of each user.
    verified: Mutex<BTreeMap<String, Vec<u8>>>,
    digest_key: hmac::Key,
    /// The permit of a verification.
    verification: Arc<Semaphore>,
    /// A client whose queue is empty is forgotten when the next request comes.
    queues: Mutex<HashMap<IpAddr, Queue>>,
    /// When a password of a client was refused last.
    refused: Mutex<HashMap<IpAddr, Instant>>,
}

/// The queue of one client.
#[derive(Debug, Clone)]
struct Queue {
    /// A permit for each request that may wait.
    places: Arc<Semaphore>,
    /// The permit of the one request that takes part in the common queue.
    front: Arc<Semaphore>,
}

impl Default for Verifier {
    fn default() -> Self {
        let digest_key = hmac::Key::generate(hmac::HMAC_SHA256, &SystemRandom::new());
        Self {
            verified: Mutex::default(),
            digest_key: digest_key.expect(
                "without random numbers of the system no HashMap could have been made either",
            ),
            verification: Arc::new(Semaphore::new(1)),
            queues: Mutex::default(),
            refused: Mutex::default(),
        }
    }
}

impl Verifier {
    /// Verifies the credentials of a request of this client.
    pub async fn verify(&self, users: &Users, headers: &HeaderMap, client: IpAddr) -> Verdict {
        let Some(first) = users.values().next() else {
            return Verdict::Admitted;
        };
        let Some((user, password)) = credentials(headers) else {
            if headers.contains_key(header::AUTHORIZATION) {
                self.log_refusal(client);
            }
            return Verdict::Refused;
        };
        let known = users.get(&*user);
        let PasswordHash(hash) = known.unwrap_or(first).clone();
        let digest = self.digest(&hash, &password);
        // Both sides are digests under a secret key, so a partial match reveals nothing about the password.
        let is_verified = || known.is_some() && lock(&self.verified).get(&user) == Some(&digest);
        if is_verified() {
            return Verdict::Admitted;
        }
        let Some(place) = self.wait(client).await else {
            return Verdict::Busy;
        };
        // Another request with the same credentials may have been verified in the meantime.
        if is_verified() {
            return Verdict::Admitted;
        }
        let verified = tokio::task::spawn_blocking(move || {
            let is_right = bcrypt::verify(password, &hash);
            // It lasts as long as the work, even if the client is gone.
            drop(place);
            is_right
        });
        // Awaited for unknown users too, so that both take the same time.
        let is_right = matches!(verified.await, Ok(Ok(true)));
        if known.is_none() || !is_right {
            self.log_refusal(client);
            return Verdict::Refused;
        }
        lock(&self.verified).insert(user, digest);
        Verdict::Admitted
    }

    /// Returns the permits to hold while a password is verified. `None` if too many requests of the
    /// client wait, or if its turn would come too late.
    async fn wait(&self, client: IpAddr) -> Option<[OwnedSemaphorePermit; 3]> {
        let Queue { places, front } = self.queue(client);
        let place = places.try_acquire_owned().ok()?;
        let waiting = async {
            let front = front.acquire_owned().await.ok()?;
            let verification = Arc::clone(&self.verification).acquire_owned().await.ok()?;
            // They are given back in this order.
            Some([verification, front, place])
        };
        timeout(WAIT_TIMEOUT, waiting).await.ok()?
    }

    fn queue(&self, client: IpAddr) -> Queue {
        let mut queues = lock(&self.queues);
        queues.retain(|_, queue| queue.places.available_permits() < MAX_WAITING);
        let new = || Queue {
            places: Arc::new(Semaphore::new(MAX_WAITING)),
            front: Arc::new(Semaphore::new(1)),
        };
        queues.entry(client).or_insert_with(new).clone()
    }

    /// Once for all requests of a client, which may be a scraper with an old password.
    fn log_refusal(&self, client: IpAddr) {
        let mut refused = lock(&self.refused);
        let now = Instant::now();
        refused.retain(|_, last| now - *last < REFUSALS_END);
        if refused.len() < MAX_REFUSED && refused.insert(client, now).is_none() {
            tracing::warn!(%client, "refusing the password of a client; correct it there, or basic_auth_users");
        }
    }

    /// Of the hash too, so that a password has to be verified again once its user has another.
    fn digest(&self, hash: &str, password: &str) -> Vec<u8> {
        // No hash has a colon, so the two parts are unambiguous.
        let both = format!("{hash}:{password}");
        hmac::sign(&self.digest_key, both.as_bytes())
            .as_ref()
            .to_vec()
    }
}

/// User and password of `Authorization: Basic` (RFC 7617).
fn credentials(headers: &HeaderMap) -> Option<(String, String)> {
    let value = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, encoded) = value.split_once(' ')?;
    if !scheme.eq_ignore_ascii_case("basic") {
        return None;
    }
    let decoded = String::from_utf8(STANDARD.decode(encoded.trim()).ok()?).ok()?;
    let (user, password) = decoded.split_once(':')?;
    Some((user.to_owned(), password.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// At the lowest cost.
    fn hash_of(password: &str) -> String {
        bcrypt::hash(password, 4).unwrap()
    }

    fn users(hashes: &[(&str, String)]) -> Users {
        hashes
            .iter()
            .map(|(name, hash)| {
                let hash = PasswordHash::try_from(hash.clone()).unwrap();
                (UserName((*name).to_owned()), hash)
            })
            .collect()
    }

    const HERE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);
    const ELSEWHERE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 1));

    /// Expensive enough not to be verified while a test looks at it.
    fn expensive() -> String {
        "$2b$12$".to_owned() + &hash_of("correct")[7..]
    }

    fn request(user: &str, password: &str) -> HeaderMap {
        let mut headers = HeaderMap::new();
        let encoded = STANDARD.encode(format!("{user}:{password}"));
        headers.insert(
            header::AUTHORIZATION,
            format!("Basic {encoded}").parse().unwrap(),
        );
        headers
    }

    #[tokio::test]
    async fn only_the_right_password_of_a_known_user_is_admitted() {
        let verifier = Verifier::default();
        let users = users(&[("alice", hash_of("correct")), ("bob", hash_of("b:ob"))]);
        for _ in 0..2 {
            assert_eq!(
                verifier
                    .verify(&users, &request("alice", "correct"), HERE)
                    .await,
                Verdict::Admitted
            );
            assert_eq!(
                verifier.verify(&users, &request("bob", "b:ob"), HERE).await,
                Verdict::Admitted
            );
            for (user, password) in [
                ("alice", "wrong"),
                ("alice", ""),
                ("bob", "correct"),
                ("carol", "correct"),
                ("", ""),
                ("ALICE", "correct"),
            ] {
                assert_eq!(
                    verifier
                        .verify(&users, &request(user, password), HERE)
                        .await,
                    Verdict::Refused,
                    "{user} {password}"
                );
            }
        }
    }

    #[tokio::test]
    async fn what_are_no_credentials_is_refused() {
        let verifier = Verifier::default();
        let users = users(&[("alice", hash_of("correct"))]);
        assert_eq!(
            verifier.verify(&users, &HeaderMap::new(), HERE).await,
            Verdict::Refused
        );
        for value in [
            "Basic",
            "Basic ",
            "Basic !!!",
            "Bearer YWxpY2U6Y29ycmVjdA==",
            "Basic YWxpY2U=",
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(header::AUTHORIZATION, value.parse().unwrap());
            assert_eq!(
                verifier.verify(&users, &headers, HERE).await,
                Verdict::Refused,
                "{value}"
            );
        }
    }

    #[tokio::test]
    async fn an_unknown_user_costs_what_a_known_one_costs_and_is_refused_even_with_the_password_of_another()
     {
        let verifier = Verifier::default();
        let users = users(&[("alice", hash_of("correct"))]);
        assert_eq!(
            verifier
                .verify(&users, &request("mallory", "correct"), HERE)
                .await,
            Verdict::Refused
        );
    }

    #[tokio::test]
    async fn a_verification_is_waited_for_also_of_an_unknown_user_and_keeps_others_waiting_where_the_client_goes_away()
     {
        let verifier = Verifier::default();
        let users = users(&[("alice", expensive())]);
        let early = timeout(
            Duration::from_millis(1),
            verifier.verify(&users, &request("mallory", "correct"), HERE),
        )
        .await;
        assert!(early.is_err(), "it is not answered before the work is done");
        assert!(verifier.verification.try_acquire().is_err());
        drop(verifier.verification.acquire().await.unwrap());
    }

    #[tokio::test]
    async fn a_password_counts_as_verified_only_for_as_long_as_its_user_has_the_same_hash() {
        let verifier = Verifier::default();
        let (kept, changed) = (hash_of("kept"), hash_of("changed"));
        let before = users(&[
            ("alice", kept.clone()),
            ("bob", changed.clone()),
            ("carol", changed),
        ]);
        for (user, password) in [("alice", "kept"), ("bob", "changed"), ("carol", "changed")] {
            assert_eq!(
                verifier
                    .verify(&before, &request(user, password), HERE)
                    .await,
                Verdict::Admitted
            );
        }
        let after = users(&[("alice", kept), ("bob", hash_of("other"))]);
        assert_eq!(
            verifier
                .verify(&after, &request("bob", "changed"), HERE)
                .await,
            Verdict::Refused
        );
        assert_eq!(
            verifier
                .verify(&after, &request("carol", "changed"), HERE)
                .await,
            Verdict::Refused
        );
        // From now on nothing is verified.
        let _busy = verifier.verification.acquire().await.unwrap();
        assert_eq!(
            verifier
                .verify(&after, &request("alice", "kept"), HERE)
                .await,
            Verdict::Admitted
        );
    }

    #[tokio::test]
    async fn a_flood_from_one_address_keeps_no_other_out_and_its_own_queue_is_bounded() {
        let verifier = Arc::new(Verifier::default());
        let users = users(&[("alice", hash_of("correct"))]);
        // As if a verification were under way all the time.
        let busy = Arc::clone(&verifier.verification).acquire_owned().await;
        let flood: Vec<_> = (0..MAX_WAITING)
            .map(|number| {
                let (verifier, users) = (Arc::clone(&verifier), users.clone());
                tokio::spawn(async move {
                    verifier
                        .verify(&users, &request("alice", &number.to_string()), HERE)
                        .await
                })
            })
            .collect();
        let free = || {
            let queues = lock(&verifier.queues);
            let queue = queues.get(&HERE)?;
            Some(queue.places.available_permits())
        };
        while free() != Some(0) {
            tokio::task::yield_now().await;
        }
        assert_eq!(
            verifier
                .verify(&users, &request("alice", "one more"), HERE)
                .await,
            Verdict::Busy
        );
        let elsewhere = {
            let (verifier, users) = (Arc::clone(&verifier), users.clone());
            tokio::spawn(async move {
                verifier
                    .verify(&users, &request("alice", "correct"), ELSEWHERE)
                    .await
            })
        };
        while !lock(&verifier.queues).contains_key(&ELSEWHERE) {
            tokio::task::yield_now().await;
        }
        drop(busy);
        assert_eq!(elsewhere.await.unwrap(), Verdict::Admitted);
        let waiting = flood
            .iter()
            .filter(|request| !request.is_finished())
            .count();
        assert!(waiting > 50, "it had not to wait for them: {waiting}");
        flood.iter().for_each(tokio::task::JoinHandle::abort);
    }

    #[tokio::test(start_paused = true)]
    async fn nobody_waits_as_long_as_a_scrape_may_take() {
        let verifier = Verifier::default();
        let users = users(&[("alice", hash_of("correct"))]);
        let _busy = verifier.verification.acquire().await.unwrap();
        let begin = tokio::time::Instant::now();
        assert_eq!(
            verifier
                .verify(&users, &request("alice", "correct"), HERE)
                .await,
            Verdict::Busy
        );
        assert!(
            begin.elapsed() < Duration::from_secs(8),
            "{:?}",
            begin.elapsed()
        );
    }

    #[tokio::test]
    async fn a_client_without_a_request_is_forgotten_when_the_next_comes() {
        let verifier = Verifier::default();
        drop(verifier.wait(HERE).await);
        let _place = verifier.wait(ELSEWHERE).await;
        assert!(lock(&verifier.queues).keys().eq([&ELSEWHERE]));
    }

    #[test]
    fn what_is_no_bcrypt_hash_is_refused() {
        let good = hash_of("x");
        let is_usable = |hash: &str| PasswordHash::try_from(hash.to_owned()).is_ok();
        for prefix in ["$2a$", "$2b$", "$2y$"] {
            assert!(is_usable(&good.replacen("$2b$", prefix, 1)), "{prefix}");
        }
        for bad in [
            "",
            "secret",
            "$1$abc",
            &good[1..],
            &good.replacen("$04$", "$03$", 1),
            &good.replacen("$04$", "$32$", 1),
            &good.replacen("$04$", "$15$", 1),
        ] {
            assert!(!is_usable(bad), "{bad}");
        }
        assert!(is_usable(&good.replacen("$04$", "$14$", 1)));
    }
}
