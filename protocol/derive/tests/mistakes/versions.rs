use ottla_derive::Message;

#[derive(Message)]
#[message(key = 3)]
struct Missing {
    a: i32,
}

#[derive(Message)]
#[message(versions = 3..)]
struct Endless {
    a: i32,
}

#[derive(Message)]
#[message(versions = 5..=3)]
struct Reversed {
    a: i32,
}

#[derive(Message)]
#[message(versions = 0..3)]
struct HalfOpen {
    a: i32,
}

#[derive(Message)]
#[message(versions = 0..=3, flexible = 4)]
struct NeverFlexible {
    a: i32,
}

#[derive(Message)]
#[message(versions = 2..=3)]
struct Removed {
    #[field(versions = ..=1)]
    a: i32,
}

#[derive(Message)]
#[message(versions = 2..=3)]
struct BeyondTheNewest {
    #[field(versions = 2..=4)]
    a: i32,
}

#[derive(Message)]
#[message(versions = 2..=3)]
struct BeforeTheOldest {
    #[field(versions = 1..)]
    a: i32,
}

#[derive(Message)]
#[message(versions = 2..=3, advertised = 3)]
struct AdvertisedTooLate {
    a: i32,
}

fn main() {}
