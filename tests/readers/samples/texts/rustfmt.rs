/// The Kingfisher gauge, über Nacht.
pub fn level() -> i32 {
    let a = 1;
    a
}
