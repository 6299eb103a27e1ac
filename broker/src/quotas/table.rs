//! Which quota holds for whom: Kafka's order of precedence over what the metadata say. Counts nothing.

use std::collections::HashMap;
use std::net::{IpAddr, ToSocketAddrs as _};

use compact_str::CompactString;
use ottla_cluster::{KeptRecords, QuotaKey};

/// What is limited.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Limited {
    /// `producer_byte_rate`.
    Produce,
    /// `consumer_byte_rate`.
    Fetch,
    /// `request_percentage`: of the time of one thread.
    Time,
    /// `controller_mutation_rate`: partitions that are made and deleted.
    Mutations,
}

/// Somebody who asks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Who<'a> {
    pub(crate) user: &'a str,
    pub(crate) client: &'a str,
}

impl<'a> Who<'a> {
    /// Somebody of whom only the client's id is known, as on a listener without authentication.
    pub(crate) const fn anonymous(client: &'a str) -> Self {
        Self { user: "ANONYMOUS", client }
    }
}

/// What is counted together: all that share one quota.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Counted {
    pub(crate) limited: Limited,
    user: Option<CompactString>,
    client: Option<CompactString>,
}

/// A name, the default of all, or not a part of the entity.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Part {
    None,
    Default,
    Named(CompactString),
}

/// The quotas of an image.
#[derive(Debug, Default)]
pub(crate) struct QuotaTable {
    quotas: HashMap<(Limited, Part, Part), f64>,
    addresses: HashMap<IpAddr, f64>,
    address_default: Option<f64>,
}

impl QuotaTable {
    /// Reads them. Names of hosts are looked up, which may take its time.
    pub(crate) fn of(kept: &KeptRecords) -> Self {
        let mut table = Self::default();
        for (QuotaKey { entity, key }, record) in &kept.quotas {
            let part = |kind: &str| match entity.iter().find(|(of, _)| of == kind) {
                None => Part::None,
                Some((_, None)) => Part::Default,
                Some((_, Some(name))) => Part::Named(name.clone()),
            };
            let limited = match key.as_str() {
                "producer_byte_rate" => Limited::Produce,
                "consumer_byte_rate" => Limited::Fetch,
                "request_percentage" => Limited::Time,
                "controller_mutation_rate" => Limited::Mutations,
                "connection_creation_rate" => {
                    table.add_address(&part("ip"), record.value);
                    continue;
                }
                _ => continue,
            };
            table.quotas.insert((limited, part("user"), part("client-id")), record.value);
        }
        table
    }

    fn add_address(&mut self, part: &Part, value: f64) {
        match part {
            Part::None => {}
            Part::Default => self.address_default = Some(value),
            Part::Named(name) => {
                let found = (name.as_str(), 0).to_socket_addrs();
                let found = found.inspect_err(|error| {
                    tracing::warn!(host = %name, %error, "a quota's host has no address: it holds for nobody");
                });
                self.addresses.extend(found.into_iter().flatten().map(|address| (address.ip(), value)));
            }
        }
    }

    /// Whether there is none for requests.
    pub(crate) fn is_empty(&self) -> bool {
        self.quotas.is_empty()
    }

    /// The quota of somebody, and what is counted for it: the most particular one, the user counting for more than the
    /// client's id.
    pub(crate) fn find(&self, limited: Limited, who: Who<'_>) -> Option<(f64, Counted)> {
        let (user, client) = (CompactString::from(who.user), CompactString::from(who.client));
        let (of_user, of_client) = (Part::Named(user.clone()), Part::Named(client.clone()));
        let places = [
            (of_user.clone(), of_client.clone()),
            (of_user.clone(), Part::Default),
            (of_user, Part::None),
            (Part::Default, of_client.clone()),
            (Part::Default, Part::Default),
            (Part::Default, Part::None),
            (Part::None, of_client),
            (Part::None, Part::Default),
        ];
        places.into_iter().find_map(|(by_user, by_client)| {
            let counted = Counted {
                limited,
                user: (by_user != Part::None).then(|| user.clone()),
                client: (by_client != Part::None).then(|| client.clone()),
            };
            let quota = self.quotas.get(&(limited, by_user, by_client))?;
            Some((*quota, counted))
        })
    }

    /// How many connections an address may make a second.
    pub(crate) fn connections(&self, address: IpAddr) -> Option<f64> {
        self.addresses.get(&address.to_canonical()).copied().or(self.address_default)
    }
}

#[cfg(test)]
mod tests {
    use ottla_protocol::metadata::ClientQuotaRecord;

    use super::*;

    type Quota<'a> = (&'a [(&'a str, Option<&'a str>)], &'a str, f64);

    fn table(quotas: &[Quota<'_>]) -> QuotaTable {
        let mut kept = KeptRecords::default();
        for (entity, key, value) in quotas {
            let entity = entity.iter().map(|(kind, name)| ((*kind).into(), name.map(Into::into))).collect();
            let record = ClientQuotaRecord { value: *value, ..ClientQuotaRecord::default() };
            kept.quotas.insert(QuotaKey { entity, key: (*key).into() }, record);
        }
        QuotaTable::of(&kept)
    }

    #[test]
    fn the_most_particular_quota_holds_and_what_shares_it_is_counted_together() {
        const KEY: &str = "producer_byte_rate";
        let all: Vec<Quota<'_>> = vec![
            (&[("client-id", None)], KEY, 8.0),
            (&[("client-id", Some("c"))], KEY, 7.0),
            (&[("user", None)], KEY, 6.0),
            (&[("client-id", None), ("user", None)], KEY, 5.0),
            (&[("client-id", Some("c")), ("user", None)], KEY, 4.0),
            (&[("user", Some("u"))], KEY, 3.0),
            (&[("client-id", None), ("user", Some("u"))], KEY, 2.0),
            (&[("client-id", Some("c")), ("user", Some("u"))], KEY, 1.0),
        ];
        let who = Who { user: "u", client: "c" };
        for count in 1..=all.len() {
            let (quota, counted) = table(&all[..count]).find(Limited::Produce, who).unwrap();
            assert_eq!(quota, all[count - 1].2, "each goes before those above it");
            let by_user = count > 2;
            let by_client = ![3, 6].contains(&count);
            assert_eq!((counted.user.is_some(), counted.client.is_some()), (by_user, by_client));
        }
        assert!(table(&all).find(Limited::Fetch, who).is_none());
        let default = table(&all).find(Limited::Produce, Who { user: "v", client: "d" }).unwrap();
        assert_eq!(default.0, 5.0);
        assert_eq!(default.1.client.as_deref(), Some("d"), "each client has the default for itself");
    }

    #[test]
    fn addresses_have_quotas_of_their_own_and_a_default() {
        const KEY: &str = "connection_creation_rate";
        let found = table(&[(&[("ip", None)], KEY, 9.0), (&[("ip", Some("127.0.0.1"))], KEY, 7.0)]);
        assert_eq!(found.connections("127.0.0.1".parse().unwrap()), Some(7.0));
        assert_eq!(found.connections("::ffff:127.0.0.1".parse().unwrap()), Some(7.0));
        assert_eq!(found.connections("192.0.2.1".parse().unwrap()), Some(9.0));
        assert!(found.is_empty());
        assert_eq!(QuotaTable::default().connections("192.0.2.1".parse().unwrap()), None);
    }
}
