use ottla_derive::Message;

#[derive(Message)]
#[message(versions = 0..=3)]
#[message(flexible = 2)]
struct MessageTwice {
    a: i32,
}

#[derive(Message)]
struct MessageOnField {
    #[message(versions = 1..=2)]
    a: i32,
}

#[derive(Message)]
#[field(whatever)]
struct FieldOnStruct {
    a: i32,
}

#[derive(Message)]
struct NamedTwice {
    topic_name: i32,
    #[field(name = "topicName")]
    b: i32,
}

#[derive(Message)]
struct NamedNothing {
    #[field(name = "")]
    a: i32,
}

fn main() {}
