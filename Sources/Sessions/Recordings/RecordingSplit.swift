import Glibc

/// The length at which a recording goes on in another file.
package enum RecordingSplit: Equatable, Sendable {
  case frames(Int64)
  /// Bytes of the file, which linear PCM does not exceed, and which packets exceed by a fraction of a
  /// second.
  case bytes(Int64)
}
