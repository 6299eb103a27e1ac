use ottla_derive::Message;

#[derive(Message)]
#[message(versions = 0..=3)]
struct Inflexible {
    #[field(tag = 0)]
    a: i32,
}

#[derive(Message)]
#[message(versions = 0..=3, flexible = 2)]
struct TooEarly {
    #[field(versions = 1.., tag = 0)]
    a: i32,
}

#[derive(Message)]
struct Twice {
    #[field(tag = 0)]
    a: i32,
    #[field(tag = 0)]
    b: i32,
}

#[derive(Message)]
struct PartlyNullable {
    #[field(versions = 1.., nullable = 2.., tag = 0)]
    a: Option<String>,
}

#[derive(Message)]
struct FlexibleFrom {
    #[field(nullable, flexible = 3)]
    a: Option<String>,
}

#[derive(Message)]
struct InflexibleTag {
    #[field(nullable, tag = 0, flexible = none)]
    a: Option<String>,
}

fn main() {}
