//! How connections end: a value to log and to count, since none of these is an error of the server.

/// How a connection ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// The peer closed it.
    PeerClosed,
    /// Reading or writing failed, for instance since the peer reset it.
    ConnectionFailed,
    /// The peer announced a frame that is not accepted.
    BadLength,
    /// Nothing happened for as long as is allowed.
    Idle,
    /// A frame held memory and did not move on.
    ReadStalled,
    /// The peer did not read its replies.
    WriteStalled,
    /// The service asked for it.
    ServiceClosed,
    /// The service panicked.
    Panicked,
    /// A file was shorter than a reply had announced.
    FileCut,
    /// A file could not be read.
    FileFailed,
    /// A reply was longer than a length can say.
    ReplyTooLong,
    /// The server stopped, everything was answered.
    Drained,
    /// The server stopped, and the time was over; or the task failed.
    CutOff,
}

impl End {
    /// How many there are.
    pub const COUNT: usize = Self::ALL.len();

    /// All of them, by index.
    pub const ALL: [Self; 13] = [
        Self::PeerClosed,
        Self::ConnectionFailed,
        Self::BadLength,
        Self::Idle,
        Self::ReadStalled,
        Self::WriteStalled,
        Self::ServiceClosed,
        Self::Panicked,
        Self::FileCut,
        Self::FileFailed,
        Self::ReplyTooLong,
        Self::Drained,
        Self::CutOff,
    ];

    /// A word for it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::PeerClosed => "peer_closed",
            Self::ConnectionFailed => "connection_failed",
            Self::BadLength => "bad_length",
            Self::Idle => "idle",
            Self::ReadStalled => "read_stalled",
            Self::WriteStalled => "write_stalled",
            Self::ServiceClosed => "closed_by_broker",
            Self::Panicked => "panicked",
            Self::FileCut => "file_cut",
            Self::FileFailed => "file_failed",
            Self::ReplyTooLong => "reply_too_long",
            Self::Drained => "drained",
            Self::CutOff => "cut_off",
        }
    }

    /// Its place in an array of counters.
    #[must_use]
    pub const fn index(self) -> usize {
        self as usize
    }

    /// The stream is in order as far as it was written, so it is closed, not torn.
    pub(super) const fn is_orderly(self) -> bool {
        matches!(self, Self::BadLength | Self::Idle | Self::ServiceClosed | Self::Drained)
    }
}
