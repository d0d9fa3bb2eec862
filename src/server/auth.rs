//! Basic authentication against bcrypt hashes.
//!
//! bcrypt is expensive on purpose: a verification runs off the runtime's threads, one at a time,
//! and correct credentials are remembered as a digest. Users who were verified before do not wait;
//! others wait for one verification of each connection at most.
//!
//! An unknown user costs as much as the first known one. If all hashes have the same cost,
//! response times do not reveal which users exist.

use crate::support::lock::lock;
use axum::http::{HeaderMap, header};
use base64::{Engine, engine::general_purpose::STANDARD};
use ring::digest::{SHA256, digest};
use serde::Deserialize;
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, OnceLock},
};
use tokio::{sync, task::spawn_blocking};

/// `basic_auth_users`. Without a user, every request is admitted.
#[derive(Deserialize, Default)]
#[serde(transparent)]
pub struct Users {
    hashes: BTreeMap<String, PasswordHash>,
    /// The digests of correct credentials, each together with the secret hash.
    #[serde(skip)]
    verified: Mutex<BTreeSet<Vec<u8>>>,
    /// Locked during a verification.
    #[serde(skip)]
    verification: Arc<sync::Mutex<()>>,
    /// Done by the first refusal: a scraper with an outdated password would flood the log.
    #[serde(skip)]
    logged: OnceLock<()>,
}

/// A bcrypt hash of an accepted cost.
#[derive(Deserialize, Clone)]
#[serde(try_from = "String")]
struct PasswordHash(String);

impl TryFrom<String> for PasswordHash {
    type Error = &'static str;

    /// Parses a hash. The error shows no part of it.
    fn try_from(hash: String) -> Result<Self, Self::Error> {
        match hash.parse::<bcrypt::HashParts>() {
            // A verification at cost 14 takes about a second.
            Ok(parts) if (4..=14).contains(&parts.get_cost()) => Ok(Self(hash)),
            _ => Err(
                "not a bcrypt hash of cost 4 to 14 (with more, a verification takes longer than a \
                 scrape); make one with: htpasswd -nBC 10 \"\" | tr -d ':\\n'",
            ),
        }
    }
}

impl Users {
    /// Returns whether `headers` have the credentials of a user. A request waits for its turn for as
    /// long as its connection lasts.
    ///
    /// Cancel safe: a client that leaves no longer waits.
    pub async fn admit(&self, headers: &HeaderMap) -> bool {
        let Some(first) = self.hashes.values().next() else {
            return true;
        };
        let Some((user, password)) = credentials(headers) else {
            return false;
        };
        let known = self.hashes.get(&user);
        let PasswordHash(hash) = known.unwrap_or(first).clone();
        let secret = digest(&SHA256, format!("{hash}{user}:{password}").as_bytes())
            .as_ref()
            .to_vec();
        if lock(&self.verified).contains(&secret) {
            return true;
        }
        let turn = Arc::clone(&self.verification).lock_owned().await;
        let verified = spawn_blocking(move || {
            // The turn lasts until the work is done, even if the client has left.
            let _turn = turn;
            bcrypt::verify(password, &hash)
        });
        // Unknown users wait for the verification too, so that timing does not reveal them.
        let is_right = matches!(verified.await, Ok(Ok(true))) && known.is_some();
        if is_right {
            lock(&self.verified).insert(secret);
        } else {
            // The span of the connection names the client.
            self.logged.get_or_init(|| {
                tracing::warn!("wrong password; correct it there or in basic_auth_users");
            });
        }
        is_right
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
    use std::time::Duration;
    use tokio::time::timeout;

    /// Hashes a password at the lowest cost.
    fn hash_of(password: &str) -> String {
        bcrypt::hash(password, 4).unwrap()
    }

    fn users(hashes: &[(&str, String)]) -> Users {
        let hash = |(name, hash): &(&str, String)| {
            let hash = PasswordHash::try_from(hash.clone()).unwrap();
            ((*name).to_owned(), hash)
        };
        Users {
            hashes: hashes.iter().map(hash).collect(),
            ..Users::default()
        }
    }

    impl Users {
        async fn ask(&self, user: &str, password: &str) -> bool {
            let encoded = STANDARD.encode(format!("{user}:{password}"));
            self.ask_with(&format!("Basic {encoded}")).await
        }

        async fn ask_with(&self, authorization: &str) -> bool {
            let value = authorization.parse().unwrap();
            self.admit(&HeaderMap::from_iter([(header::AUTHORIZATION, value)]))
                .await
        }
    }

    #[tokio::test]
    async fn only_the_right_password_of_a_known_user_is_admitted() {
        let users = users(&[("alice", hash_of("correct")), ("bob", hash_of("b:ob"))]);
        for _ in 0..2 {
            assert!(users.ask("alice", "correct").await);
            assert!(users.ask("bob", "b:ob").await);
            for (user, password) in [
                ("alice", "wrong"),
                ("alice", ""),
                ("bob", "correct"),
                ("carol", "correct"),
                ("", ""),
                ("ALICE", "correct"),
            ] {
                let asked = users.ask(user, password).await;
                assert!(!asked, "{user} {password}");
            }
        }
    }

    #[tokio::test]
    async fn malformed_credentials_are_refused() {
        let users = users(&[("alice", hash_of("correct"))]);
        assert!(!users.admit(&HeaderMap::new()).await);
        for value in [
            "Basic",
            "Basic ",
            "Basic !!!",
            "Bearer YWxpY2U6Y29ycmVjdA==",
            "Basic YWxpY2U=",
        ] {
            assert!(!users.ask_with(value).await, "{value}");
        }
    }

    #[tokio::test]
    async fn an_unknown_user_waits_and_a_client_that_leaves_keeps_its_turn() {
        // Its verification outlasts the test.
        let expensive = "$2b$12$".to_owned() + &hash_of("correct")[7..];
        let users = users(&[("alice", expensive)]);
        let early = timeout(Duration::from_millis(1), users.ask("mallory", "correct"));
        assert!(
            early.await.is_err(),
            "the response preceded the verification"
        );
        assert!(users.verification.try_lock().is_err());
        drop(users.verification.lock().await);
    }

    #[tokio::test]
    async fn a_user_who_was_verified_before_does_not_wait() {
        let users = users(&[("alice", hash_of("correct"))]);
        assert!(users.ask("alice", "correct").await);
        // Stands in for a verification that never ends.
        let _busy = users.verification.lock().await;
        assert!(users.ask("alice", "correct").await);
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
