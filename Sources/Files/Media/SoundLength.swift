/// The number of frames of a sound.
package enum SoundLength: Equatable, Sendable {
  case exact(Int64)
  /// An estimate, from the size of the file for example.
  case estimated(Int64)
  case unknown
}
