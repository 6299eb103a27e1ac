use ottla_derive::Message;

#[derive(Message)]
#[message(versions = 0..=3, key = "seven")]
struct KeyAsText {
    a: i32,
}

#[derive(Message)]
#[message(versions = 0..=3, key = 40000)]
struct KeyTooLarge {
    a: i32,
}

#[derive(Message)]
#[message(versions = 0..=3, flexible = maybe)]
struct FlexibleWord {
    a: i32,
}

#[derive(Message)]
#[message(versions = 0..=3, advertised = ..)]
struct AdvertisedRange {
    a: i32,
}

#[derive(Message)]
#[message(versions = 0..=3, versions = 0..=4)]
struct VersionsTwice {
    a: i32,
}

#[derive(Message)]
struct VersionsAsText {
    #[field(versions = "1+")]
    a: i32,
}

#[derive(Message)]
struct NullableReversed {
    #[field(nullable = 3..=1)]
    a: Option<String>,
}

#[derive(Message)]
struct TagAsText {
    #[field(tag = "0")]
    a: i32,
}

#[derive(Message)]
struct NegativeTag {
    #[field(tag = -1)]
    a: i32,
}

#[derive(Message)]
struct NameAsWord {
    #[field(name = groupId)]
    a: i32,
}

#[derive(Message)]
struct DefaultWithoutValue {
    #[field(default)]
    a: i32,
}

#[derive(Message)]
struct IgnorableWithValue {
    #[field(ignorable = true)]
    a: i32,
}

#[derive(Message)]
struct InflexibleNumber {
    #[field(flexible = none)]
    a: i32,
}

#[derive(Message)]
struct ListWithElements {
    #[field(default = vec![1])]
    a: Vec<i32>,
}

#[derive(Message)]
struct SomeElements {
    #[field(nullable, default = Some(vec![1]))]
    a: Option<Vec<i32>>,
}

fn main() {}
