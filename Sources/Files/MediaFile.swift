package import Codecs
import RealTime

/// A sound file that is open, for reading, writing or both: linear PCM, or packets of a codec.
///
/// A packet of linear PCM is a frame. Any thread may call; all calls may block.
package final class MediaFile: Sendable {
  private enum Body: Sendable {
    case pcm(SoundFile)
  }
  private let body: Body
  package let store: any ByteStore

  private init(_ body: Body, _ store: any ByteStore) {
    self.body = body
    self.store = store
  }

  // MARK: Opening and closing

  /// Opens a file, also for writing if its store takes that. Blocks.
  ///
  /// - Parameter hint: The kind that it is taken for if its first bytes leave that open.
  package static func open(
    _ store: any ByteStore, hint: Container? = nil
  ) throws(SoundFileError) -> MediaFile {
    MediaFile(.pcm(try SoundFile(store)), store)
  }

  package static func open(
    path: String, isWritable: Bool = false, hint: Container? = nil
  ) throws(SoundFileError) -> MediaFile {
    try open(
      FileStore(path: path, isWritable: isWritable), hint: hint ?? Container(forPath: path))
  }

  /// True if a kind of file can hold sound of a format, and we can write it.
  package static func canWrite(_ format: StreamFormat, in container: Container) -> Bool {
    switch format {
    case .pcm(let format): SoundFile.canHold(format, in: container)
    case .packets: false
    }
  }

  /// Makes a file without sound in a store, which should be empty. Blocks.
  ///
  /// - Parameter dataAlignment: Sound of linear PCM begins at a multiple of so many bytes.
  package static func create(
    _ store: any ByteStore, container: Container, format: StreamFormat, dataAlignment: Int64 = 1
  ) throws(SoundFileError) -> MediaFile {
    try check(format, container, path: store.name)
    switch format {
    case .pcm(let format):
      let file = try SoundFile.create(
        in: store, container: container, format: format, dataAlignment: dataAlignment)
      return MediaFile(.pcm(file), store)
    case .packets(let format):
      throw SoundFileError(.unsupportedEncoding(format.codec.rawValue), path: store.name)
    }
  }

  /// Makes a file.
  ///
  /// - Parameter isReplacing: False to fail if there is a file of that name; true to empty it, which
  ///   happens only if the format is one that can be written.
  package static func create(
    path: String, container: Container, format: StreamFormat, isReplacing: Bool,
    dataAlignment: Int64 = 1
  ) throws(SoundFileError) -> MediaFile {
    try check(format, container, path: path)
    return try create(
      FileStore(creating: path, isReplacing: isReplacing), container: container, format: format,
      dataAlignment: dataAlignment)
  }

  private static func check(
    _ format: StreamFormat, _ container: Container, path: String
  ) throws(SoundFileError) {
    guard canWrite(format, in: container) else {
      let words =
        switch format {
        case .pcm(let format): format.words
        case .packets(let format): "\(format.codec)"
        }
      throw SoundFileError(.unsupportedEncoding("\(words) in \(container) files"), path: path)
    }
  }

  /// Completes a file that was written. Later reads find nothing, later writes fail.
  package func close() throws(SoundFileError) {
    switch body {
    case .pcm(let file): try file.close()
    }
  }

  /// Brings the file's head up to date, so that it can be opened with all that was written even if the
  /// program is killed.
  package func checkpoint() throws(SoundFileError) {
    switch body {
    case .pcm(let file): try file.checkpoint()
    }
  }

  /// Rearranges the file so that nothing comes after its sound.
  package func optimize() throws(SoundFileError) {
    switch body {
    case .pcm(let file): try file.optimize()
    }
  }

  // MARK: What it is

  package var path: String { store.name }
  package var isWritable: Bool { store.isWritable }

  /// The file as one of linear PCM, with its chunks; nil if it holds packets.
  package var pcm: SoundFile? {
    switch body {
    case .pcm(let file): file
    }
  }

  package var container: Container {
    switch body {
    case .pcm(let file): file.container
    }
  }

  package var format: StreamFormat {
    switch body {
    case .pcm(let file): .pcm(file.format)
    }
  }

  package var packetCount: Int64 {
    switch body {
    case .pcm(let file): file.frames
    }
  }

  /// Bytes of all packets.
  package var byteCount: Int64 {
    switch body {
    case .pcm(let file): file.byteCount
    }
  }

  /// Bytes of the largest packet.
  package var maximumPacketBytes: Int {
    switch body {
    case .pcm(let file): file.format.bytesPerFrame
    }
  }

  /// Bytes that no packet exceeds.
  package var packetSizeUpperBound: Int { maximumPacketBytes }

  /// Where the sound begins in the file.
  package var dataOffset: Int64 {
    switch body {
    case .pcm(let file): file.dataOffset
    }
  }

  /// Seconds.
  package var duration: Double {
    switch body {
    case .pcm(let file): file.duration
    }
  }

  /// Bits per second.
  package var bitRate: Double {
    switch body {
    case .pcm(let file): file.format.sampleRate * Double(8 * file.format.bytesPerFrame)
    }
  }

  /// What the channels are for, if the file says so.
  package var channelRoles: [ChannelRole]? {
    switch body {
    case .pcm(let file): file.channelRoles
    }
  }

  /// One line on a file that was cut short, else nil.
  package var warning: String? {
    switch body {
    case .pcm(let file): file.warning
    }
  }

  /// Bytes that a decoder needs first; empty if it needs none.
  package var cookie: [UInt8] {
    switch body {
    case .pcm: []
    }
  }

  package func setCookie(_ cookie: [UInt8]) throws(SoundFileError) {
    switch body {
    case .pcm: throw SoundFileError(.notSupported("linear PCM has no magic cookie"), path: path)
    }
  }

  /// Which of the decoded frames are sound; nil if the file does not say.
  package var packetTable: PacketTable? {
    switch body {
    case .pcm: nil
    }
  }

  package func setPacketTable(_ table: PacketTable) throws(SoundFileError) {
    switch body {
    case .pcm: throw SoundFileError(.notSupported("linear PCM has no packet table"), path: path)
    }
  }

  /// What the file says of itself, by the keys of info dictionaries; nil if its kind has no place for
  /// that.
  package func tags() throws(SoundFileError) -> [String: String]? {
    switch body {
    case .pcm(let file): try file.tags()
    }
  }

  package func setTags(_ tags: [String: String]) throws(SoundFileError) {
    switch body {
    case .pcm(let file): try file.setTags(tags)
    }
  }

  // MARK: Reading and writing

  /// Reads packets from `packet` on: as many as there are, as fit and as are asked for, one behind the
  /// other.
  ///
  /// - Parameter extents: Where each of them lies in `buffer`. Empty for linear PCM.
  /// - Returns: How many; 0 at the end.
  package func readPackets(
    from packet: Int64, count: Int, into buffer: UnsafeMutableRawBufferPointer,
    extents: inout [PacketExtent]
  ) throws(SoundFileError) -> Int {
    extents = []
    switch body {
    case .pcm(let file):
      return try unsafe file.readRaw(startingAt: packet, frames: count, into: buffer)
    }
  }

  /// Reads bytes of the sound, as many as there are and as fit, and returns how many.
  package func readBytes(
    at position: Int64, into buffer: UnsafeMutableRawBufferPointer
  ) throws(SoundFileError) -> Int {
    switch body {
    case .pcm(let file): return try unsafe file.readBytes(at: position, into: buffer)
    }
  }

  /// Writes packets, `packet` being the number of the first. Linear PCM takes any number; packets of
  /// codecs can only be appended.
  ///
  /// - Parameter extents: Where the packets lie in `buffer`. Not looked at for linear PCM, of which all
  ///   whole frames in the buffer are written.
  package func writePackets(
    at packet: Int64, from buffer: UnsafeRawBufferPointer, extents: [PacketExtent]
  ) throws(SoundFileError) {
    switch body {
    case .pcm(let file):
      let bytesPerFrame = file.format.bytesPerFrame
      let (position, isOver) = packet.multipliedReportingOverflow(by: Int64(bytesPerFrame))
      guard !isOver else { throw SoundFileError(.tooLong, path: path) }
      let whole = buffer.count / bytesPerFrame * bytesPerFrame
      try unsafe file.writeBytes(at: position, from: .init(rebasing: buffer[..<whole]))
    }
  }

  /// Writes bytes of the sound. Only linear PCM takes that.
  package func writeBytes(
    at position: Int64, from buffer: UnsafeRawBufferPointer
  ) throws(SoundFileError) {
    switch body {
    case .pcm(let file): try unsafe file.writeBytes(at: position, from: buffer)
    }
  }
}
