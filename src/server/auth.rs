//! Basic authentication against bcrypt hashes.
//!
//! bcrypt is expensive on purpose: a verification runs off the runtime's threads, one at a time.
//! The last correct password of each user is remembered as a keyed digest, which is useless outside
//! this process.
//!
//! An unknown user costs as much as the first known one. If all hashes have the same cost, response
//! times do not reveal which users exist.
//!
//! # Floods
//!
//! All passwords that have to be verified wait in one bounded queue. A flood of wrong ones fills
//! it, and costs new users a retry; users who were verified before do not wait.

use crate::support::lock::lock;
use axum::http::{HeaderMap, header};
use base64::{Engine, engine::general_purpose::STANDARD};
use ring::{hmac, rand::SystemRandom};
use serde::Deserialize;
use std::{
    borrow::Borrow,
    collections::BTreeMap,
    net::SocketAddr,
    sync::{Arc, Mutex},
    time::Duration,
};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::{Instant, timeout},
};

/// The highest accepted bcrypt cost. A verification at this cost takes about a second; a higher one
/// could outlast a scrape's timeout.
const MAX_COST: u32 = 14;

/// The longest wait for a verification. Together with the verification it stays below the usual
/// scrape timeout of 10 s.
const WAIT_TIMEOUT: Duration = Duration::from_secs(6);

/// Maximum number of waiting requests. Even at the usual cost of 10, more could not be verified in
/// time, and each waiting request holds its headers in memory.
const MAX_WAITING: usize = 100;

/// The shortest time between two log lines about refusals: a scraper with an outdated password
/// would flood the log.
const LOG_EVERY: Duration = Duration::from_secs(3600);

/// The outcome of an authentication.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    Admitted,
    /// The credentials are missing or wrong.
    Refused,
    /// Too many requests wait for a verification.
    Busy,
}

/// The hashes of `basic_auth_users` by user name. An empty map admits every request.
pub type Users = BTreeMap<UserName, PasswordHash>;

/// A user name that a client can send.
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

/// A bcrypt hash of an accepted cost.
#[derive(Deserialize, Clone)]
#[serde(try_from = "String")]
pub struct PasswordHash(String);

impl TryFrom<String> for PasswordHash {
    type Error = String;

    /// Parses a hash. The error says what to do, and shows no part of the hash.
    fn try_from(hash: String) -> Result<Self, String> {
        let what = match hash.parse::<bcrypt::HashParts>() {
            Ok(parts) if (4..=MAX_COST).contains(&parts.get_cost()) => {
                return Ok(Self(hash));
            }
            Ok(parts) => format!(
                "a bcrypt hash of cost {}, not of 4 to {MAX_COST}: with more, a verification takes \
                 longer than a scrape",
                parts.get_cost()
            ),
            Err(_) => "not a bcrypt hash".to_owned(),
        };
        Err(format!(
            "{what}; make one with: htpasswd -nBC 10 \"\" | tr -d ':\\n'"
        ))
    }
}

/// The verifier of passwords. It outlives reloads, which therefore keep verified passwords and the
/// queue.
#[derive(Debug)]
pub struct PasswordVerifier {
    /// The digest of each user's last correct password.
    verified: Mutex<BTreeMap<String, Vec<u8>>>,
    digest_key: hmac::Key,
    /// One permit for each request that may wait or be verified.
    places: Arc<Semaphore>,
    /// One permit: verifications run one at a time.
    verification: Arc<Semaphore>,
    /// The time of the last log line about a refusal.
    logged: Mutex<Option<Instant>>,
}

impl Default for PasswordVerifier {
    fn default() -> Self {
        let digest_key = hmac::Key::generate(hmac::HMAC_SHA256, &SystemRandom::new());
        Self {
            verified: Mutex::default(),
            digest_key: digest_key
                .expect("the system has random numbers: creating a HashMap needed some before"),
            places: Arc::new(Semaphore::new(MAX_WAITING)),
            verification: Arc::new(Semaphore::new(1)),
            logged: Mutex::default(),
        }
    }
}

impl PasswordVerifier {
    /// Verifies the credentials in `headers`, which `client` sent.
    ///
    /// Cancel safe: a client that leaves loses its place in the queue.
    pub async fn verify(&self, users: &Users, headers: &HeaderMap, client: SocketAddr) -> Verdict {
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
        // Comparing digests under a secret key leaks nothing about the password through timing.
        let is_verified = || known.is_some() && lock(&self.verified).get(&user) == Some(&digest);
        if is_verified() {
            return Verdict::Admitted;
        }
        let Some(permits) = self.wait().await else {
            return Verdict::Busy;
        };
        // Another request with the same credentials may have been verified in the meantime.
        if is_verified() {
            return Verdict::Admitted;
        }
        let verified = tokio::task::spawn_blocking(move || {
            let is_right = bcrypt::verify(password, &hash);
            // The permits are held until the work is done, even if the client has left.
            drop(permits);
            is_right
        });
        // Unknown users wait for the verification too, so that timing does not reveal them.
        let is_right = matches!(verified.await, Ok(Ok(true)));
        if known.is_none() || !is_right {
            self.log_refusal(client);
            return Verdict::Refused;
        }
        lock(&self.verified).insert(user, digest);
        Verdict::Admitted
    }

    /// Waits for the permits to hold during a verification. Returns `None` if the queue is full, or
    /// after [`WAIT_TIMEOUT`].
    async fn wait(&self) -> Option<[OwnedSemaphorePermit; 2]> {
        let place = Arc::clone(&self.places).try_acquire_owned().ok()?;
        let verification = Arc::clone(&self.verification).acquire_owned();
        let verification = timeout(WAIT_TIMEOUT, verification).await.ok()?.ok()?;
        Some([verification, place])
    }

    /// Logs a refusal, at most one an hour.
    fn log_refusal(&self, client: SocketAddr) {
        let mut logged = lock(&self.logged);
        if logged.is_none_or(|last| last.elapsed() >= LOG_EVERY) {
            *logged = Some(Instant::now());
            let client = client.ip().to_canonical();
            tracing::warn!(%client, "wrong password; correct it there or in basic_auth_users");
        }
    }

    /// Computes the digest of hash and password. Since it covers the hash, a changed hash
    /// invalidates a verified password.
    fn digest(&self, hash: &str, password: &str) -> Vec<u8> {
        // No hash has a colon, so the two parts are unambiguous.
        let both = format!("{hash}:{password}");
        hmac::sign(&self.digest_key, both.as_bytes())
            .as_ref()
            .to_vec()
    }
}

/// Returns user name and password of `Authorization: Basic` (RFC 7617).
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

    /// Hashes a password at the lowest cost.
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

    const HERE: SocketAddr =
        SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 1);

    /// Returns a hash whose verification outlasts the test.
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
        let verifier = PasswordVerifier::default();
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
    async fn malformed_credentials_are_refused() {
        let verifier = PasswordVerifier::default();
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
    async fn another_users_password_does_not_admit_an_unknown_user() {
        let verifier = PasswordVerifier::default();
        let users = users(&[("alice", hash_of("correct"))]);
        assert_eq!(
            verifier
                .verify(&users, &request("mallory", "correct"), HERE)
                .await,
            Verdict::Refused
        );
    }

    #[tokio::test]
    async fn an_unknown_user_waits_and_a_client_that_leaves_keeps_its_permit() {
        let verifier = PasswordVerifier::default();
        let users = users(&[("alice", expensive())]);
        let early = timeout(
            Duration::from_millis(1),
            verifier.verify(&users, &request("mallory", "correct"), HERE),
        )
        .await;
        assert!(early.is_err(), "the response preceded the verification");
        assert!(verifier.verification.try_acquire().is_err());
        drop(verifier.verification.acquire().await.unwrap());
    }

    #[tokio::test]
    async fn a_verified_password_is_forgotten_with_its_hash() {
        let verifier = PasswordVerifier::default();
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
        // Blocks all verifications from here on.
        let _busy = verifier.verification.acquire().await.unwrap();
        assert_eq!(
            verifier
                .verify(&after, &request("alice", "kept"), HERE)
                .await,
            Verdict::Admitted
        );
    }

    #[tokio::test(start_paused = true)]
    async fn a_full_queue_refuses_new_passwords_and_no_verified_one() {
        let verifier = Arc::new(PasswordVerifier::default());
        let users = users(&[("alice", hash_of("correct"))]);
        let right = request("alice", "correct");
        let admitted = verifier.verify(&users, &right, HERE).await;
        assert_eq!(admitted, Verdict::Admitted);
        // Stands in for a verification that never ends.
        let _busy = verifier.verification.acquire().await.unwrap();
        let flood: Vec<_> = (0..MAX_WAITING)
            .map(|number| {
                let (verifier, users) = (Arc::clone(&verifier), users.clone());
                let wrong = request("alice", &number.to_string());
                tokio::spawn(async move { verifier.verify(&users, &wrong, HERE).await })
            })
            .collect();
        while verifier.places.available_permits() > 0 {
            tokio::task::yield_now().await;
        }
        let wrong = request("alice", "one more");
        let one_more = verifier.verify(&users, &wrong, HERE).await;
        assert_eq!(one_more, Verdict::Busy);
        let known = verifier.verify(&users, &right, HERE).await;
        assert_eq!(known, Verdict::Admitted);
        // Clients that leave free their places.
        flood.iter().for_each(tokio::task::JoinHandle::abort);
        for one in flood {
            assert!(one.await.unwrap_err().is_cancelled());
        }
        assert_eq!(verifier.places.available_permits(), MAX_WAITING);
    }

    #[tokio::test(start_paused = true)]
    async fn a_wait_ends_before_a_scrape_times_out() {
        let verifier = PasswordVerifier::default();
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

    #[test]
    fn only_bcrypt_hashes_of_cost_4_to_14_are_accepted() {
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
