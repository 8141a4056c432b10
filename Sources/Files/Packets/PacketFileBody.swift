/// The writer of one container family's packets and tables.
protocol PacketFileBody: AnyObject {
  /// True if several packets of one size may come in one call, because nothing is stored per
  /// packet.
  var takesRuns: Bool { get }
  /// Appends a packet, or several of one size.
  func append(
    _ run: UnsafeRawBufferPointer, packets: Int, frames: Int
  ) throws(SoundFileError)
  /// Writes everything that completes the file as it is, so that only a power failure could lose
  /// it.
  func checkpoint(_ facts: PacketFileFacts) throws(SoundFileError)
  /// Completes the file.
  func finish(_ facts: PacketFileFacts) throws(SoundFileError)
}
