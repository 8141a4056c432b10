package import Codecs
import RealTime
import Synchronization

/// A sound file that is open, for reading, writing or both: linear PCM, or packets of a codec.
///
/// A packet of linear PCM is a frame. Any thread may call; all calls may block.
package final class MediaFile: Sendable {
  enum Body: Sendable {
    case pcm(SoundFile)
    case reader(PacketFileReader)
    case writer(Writing)
  }
  /// A file of packets that is being made, for one caller at a time.
  final class Writing: Sendable {
    private struct Box: @unchecked Sendable {
      let writer: PacketFileWriter
    }
    private let box: Mutex<Box>
    let format: PacketFormat
    let container: Container

    init(_ writer: PacketFileWriter) {
      format = writer.format
      container = writer.container
      box = Mutex(Box(writer: writer))
    }

    deinit { with { try? $0.close() } }

    func with<Result: Sendable, Failure: Error>(
      _ body: (PacketFileWriter) throws(Failure) -> Result
    ) throws(Failure) -> Result {
      try box.withLock { box throws(Failure) in try body(box.writer) }
    }
  }
  let body: Body
  package let store: any ByteStore
  /// Where packets begin, once that was asked for.
  let places = Mutex<Places?>(nil)
  private let reserved = Mutex(0.0)

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
    let kind = try Container(contentOf: store) ?? hint
    guard let kind, !kind.holdsPCM else {
      do throws(SoundFileError) {
        return MediaFile(.pcm(try SoundFile(store)), store)
      } catch {
        // Kinds that hold linear PCM hold packets as well.
        guard case .unsupportedEncoding = error.kind else { throw error }
      }
      return MediaFile(.reader(try PacketFileReader(store, container: kind)), store)
    }
    return MediaFile(.reader(try PacketFileReader(store, container: kind)), store)
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
    case .packets(let format): PacketFileWriter.canWrite(format, in: container)
    }
  }

  /// Makes a file without sound in a store, which is emptied. Blocks.
  ///
  /// - Parameter dataAlignment: Sound of linear PCM begins at a multiple of so many bytes.
  package static func create(
    _ store: any ByteStore, container: Container, format: StreamFormat, dataAlignment: Int64 = 1
  ) throws(SoundFileError) -> MediaFile {
    try check(format, container, path: store.name)
    if try store.byteCount() > 0 { try store.setByteCount(0) }
    switch format {
    case .pcm(let format):
      let file = try SoundFile.create(
        in: store, container: container, format: format, dataAlignment: dataAlignment)
      return MediaFile(.pcm(file), store)
    case .packets(let format):
      let writer = try PacketFileWriter(store, container: container, format: format)
      return MediaFile(.writer(Writing(writer)), store)
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
      throw SoundFileError(.unwritable("\(format.words) in \(container) files"), path: path)
    }
  }

  /// Completes a file that was written. Later reads find nothing, later writes fail.
  package func close() throws(SoundFileError) {
    switch body {
    case .pcm(let file): try file.close()
    case .reader: break
    case .writer(let file):
      try file.with { file throws(SoundFileError) in try file.close() }
    }
  }

  /// Brings the file's head up to date, so that it can be opened with all that was written even if the
  /// program is killed.
  package func checkpoint() throws(SoundFileError) {
    switch body {
    case .pcm(let file): try file.checkpoint()
    case .reader: break
    case .writer(let file):
      try file.with { file throws(SoundFileError) in try file.checkpoint() }
    }
  }

  /// Rearranges the file so that nothing comes after its sound; one that is being made, when it is closed.
  /// A kill leaves the file in one order or the other. Only files with a name can be rearranged. Blocks.
  package func optimize() throws(SoundFileError) {
    switch body {
    case .pcm(let file): try file.optimize()
    case .reader(let file): try file.optimize()
    case .writer(let file):
      try file.with { file throws(SoundFileError) in try file.optimize() }
    }
  }

  var packetsAreWritten: SoundFileError {
    SoundFileError(
      .notSupported("files of packets can be read when they are complete"), path: path)
  }

  /// Files of packets are written once, from their first packet on.
  private var packetsAreRead: SoundFileError {
    SoundFileError(
      store.isWritable
        ? .notSupported("files of packets cannot be changed once they are made") : .notForWriting,
      path: path)
  }

  // MARK: What it is

  package var path: String { store.name }
  package var isWritable: Bool { store.isWritable }

  /// The file as one of linear PCM, with its chunks; nil if it holds packets.
  package var pcm: SoundFile? {
    switch body {
    case .pcm(let file): file
    case .reader, .writer: nil
    }
  }

  /// The file's chunks; nil if its kind has none.
  package var chunked: (any ChunkedFile)? {
    switch body {
    case .pcm(let file): return file.hasChunks ? file : nil
    case .reader(let file):
      guard file.container == .caf else { return nil }
      return CAFPacketChunks(
        store: store, sampleRate: file.format.sampleRate, stored: file.chunks, changing: nil)
    case .writer(let file):
      guard file.container == .caf else { return nil }
      return CAFPacketChunks(
        store: store, sampleRate: file.format.sampleRate, stored: [],
        changing: { change in file.with { change(&$0.chunks) } })
    }
  }

  package var container: Container {
    switch body {
    case .pcm(let file): file.container
    case .reader(let file): file.container
    case .writer(let file): file.container
    }
  }

  package var format: StreamFormat {
    switch body {
    case .pcm(let file): .pcm(file.format)
    case .reader(let file): .packets(file.format)
    case .writer(let file): .packets(file.format)
    }
  }

  package var packetCount: Int64 {
    get throws(SoundFileError) {
      switch body {
      case .pcm(let file): file.frames
      case .reader(let file): try file.packetCount
      case .writer(let file): file.with { $0.packetCount }
      }
    }
  }

  /// Bytes of all packets.
  package var byteCount: Int64 {
    get throws(SoundFileError) {
      switch body {
      case .pcm(let file): file.byteCount
      case .reader(let file): try file.byteCount
      case .writer(let file): file.with { $0.byteCount }
      }
    }
  }

  /// Bytes of the largest packet.
  package var maximumPacketBytes: Int {
    get throws(SoundFileError) {
      switch body {
      case .pcm(let file): file.format.bytesPerFrame
      case .reader(let file): try file.maximumPacketBytes
      case .writer(let file): file.with { $0.maximumPacketBytes }
      }
    }
  }

  /// Where the sound begins in the file.
  package var dataOffset: Int64 {
    get throws(SoundFileError) {
      switch body {
      case .pcm(let file): file.dataOffset
      case .reader(let file): try file.packetOffset(of: 0) ?? 0
      case .writer: throw packetsAreWritten
      }
    }
  }

  /// Frames of sound.
  package var frameCount: Int64 {
    get throws(SoundFileError) {
      switch body {
      case .pcm(let file): file.frames
      case .reader(let file): try file.validFrames
      case .writer(let file):
        file.with { $0.validFrames }
      }
    }
  }

  /// Significant bits of a sample of the sound that the file holds, before a codec took it; 0 if
  /// it does not say.
  package var sourceBits: Int {
    switch body {
    case .pcm(let file): file.sourceBits
    case .reader(let file): file.format.bitsPerSample
    case .writer(let file): file.format.bitsPerSample
    }
  }

  /// True if nothing comes after the sound that should stand before it, or will when the file is closed.
  /// Blocks.
  package var isOptimized: Bool {
    get throws(SoundFileError) {
      switch body {
      case .pcm(let file): file.isOptimized
      case .reader(let file): try file.isOptimized
      case .writer(let file): file.with { $0.isOptimized }
      }
    }
  }

  /// Whether sizes in the head wait for a checkpoint, the next second of sound, or the end.
  package var defersSizes: Bool {
    get { pcm?.defersSizes ?? true }
    set { pcm?.defersSizes = newValue }
  }

  /// Seconds of sound that will be written, as far as anybody said.
  package var reservedDuration: Double {
    get { reserved.withLock { $0 } }
    set { reserved.withLock { $0 = newValue } }
  }
  /// True until something is written.
  package var takesReservation: Bool { isWritable && (try? byteCount) == 0 }
  /// True for a file of packets that is being made.
  package var takesPackets: Bool { if case .writer = body { true } else { false } }

  /// The tag of ID3 that is in the file, if there is one.
  package var id3Tag: [UInt8]? {
    get throws(SoundFileError) {
      if let file = pcm {
        if let tag = try file.chunk("ID3 ", most: Self.mostTagBytes) { return tag }
        return try file.chunk("id3 ", most: Self.mostTagBytes)
      }
      let head = try store.bytes(at: 0, count: ID3Tag.headBytes) ?? []
      return try ID3Tag.byteCount(head).flatMap { size throws(SoundFileError) in
        try store.bytes(at: 0, count: size)
      }
    }
  }
  private static var mostTagBytes: Int64 { 256 << 20 }

  /// Says what the channels are for: see `SoundFile.setChannelLayout(words:mask:)`.
  package func setChannelLayout(
    words: [UInt32], mask: UInt32?, roles: [ChannelRole]?
  ) throws(SoundFileError) {
    switch body {
    case .pcm(let file): try file.setChannelLayout(words: words, mask: mask)
    case .reader: throw packetsAreRead
    case .writer(let file):
      guard let roles else {
        throw SoundFileError(
          .notSupported("the file has no place for this channel layout"), path: path)
      }
      file.with { $0.channelRoles = roles }
    }
  }

  /// Seconds.
  package var duration: Double {
    get throws(SoundFileError) {
      switch body {
      case .pcm(let file): file.duration
      case .reader(let file): try file.duration
      case .writer(let file):
        Double(try frameCount) / file.format.sampleRate
      }
    }
  }

  /// Bits per second.
  package var bitRate: Double {
    get throws(SoundFileError) {
      switch body {
      case .pcm(let file): file.format.sampleRate * Double(8 * file.format.bytesPerFrame)
      case .reader(let file): Double(try file.bitRate)
      case .writer:
        if try duration > 0 { Double(try byteCount) * 8 / (try duration) } else { 0 }
      }
    }
  }

  /// What the channels are for, if the file says so.
  package var channelRoles: [ChannelRole]? {
    switch body {
    case .pcm(let file): file.channelRoles ?? file.chunkRoles
    case .reader(let file): file.channelRoles
    case .writer(let file): file.with { $0.channelRoles }
    }
  }

  /// See `PacketFileReader.setupPackets(for:)`.
  func setupPackets(for packet: Int64) -> Range<Int64> {
    switch body {
    case .reader(let file): file.setupPackets(for: packet)
    case .pcm, .writer: 0..<0
    }
  }

  /// True if the packets can be written to another file as they are.
  package var hasPlainPackets: Bool {
    switch body {
    case .reader(let file): file.hasPlainPackets
    case .pcm, .writer: true
    }
  }

  /// One line on a file that was cut short, or is damaged, else nil.
  package var warning: String? {
    switch body {
    case .pcm(let file): file.warning
    case .reader(let file): file.warning
    case .writer: nil
    }
  }

  /// Bytes that a decoder needs first; empty if it needs none.
  package var cookie: [UInt8] {
    switch body {
    case .pcm: []
    case .reader(let file): file.cookie
    case .writer(let file): file.with { $0.cookie }
    }
  }

  package func setCookie(_ cookie: [UInt8]) throws(SoundFileError) {
    switch body {
    case .pcm: throw SoundFileError(.notSupported("linear PCM has no magic cookie"), path: path)
    case .reader: throw packetsAreRead
    case .writer(let file): file.with { $0.cookie = cookie }
    }
  }

  /// Which of the decoded frames are sound; nil if the file does not say.
  package var packetTable: PacketTable? {
    get throws(SoundFileError) {
      switch body {
      case .pcm: nil
      case .reader(let file): try file.packetTable
      case .writer(let file): file.with { $0.packetTable }
      }
    }
  }

  package func setPacketTable(_ table: PacketTable) throws(SoundFileError) {
    switch body {
    case .pcm: throw SoundFileError(.notSupported("linear PCM has no packet table"), path: path)
    case .reader: throw packetsAreRead
    case .writer(let file): file.with { $0.packetTable = table }
    }
  }

  /// What the file says of itself, by the keys of info dictionaries; nil if its kind has no place for
  /// that.
  package func tags() throws(SoundFileError) -> [String: String]? {
    switch body {
    case .pcm(let file): try file.tags()
    case .reader(let file): file.tags
    case .writer(let file): file.with { $0.tags }
    }
  }

  package func setTags(_ tags: [String: String]) throws(SoundFileError) {
    switch body {
    case .pcm(let file): try file.setTags(tags)
    case .reader: throw packetsAreRead
    case .writer(let file): file.with { $0.tags = tags }
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
    case .reader(let file):
      return try unsafe file.readPackets(
        from: packet, count: count, into: buffer, extents: &extents)
    case .writer: throw packetsAreWritten
    }
  }

  /// Reads bytes of the sound, as many as there are and as fit, and returns how many.
  package func readBytes(
    at position: Int64, into buffer: UnsafeMutableRawBufferPointer
  ) throws(SoundFileError) -> Int {
    switch body {
    case .pcm(let file): return try unsafe file.readBytes(at: position, into: buffer)
    case .reader: return try unsafe readPacketBytes(at: position, into: buffer)
    case .writer: throw packetsAreWritten
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
    case .reader: throw packetsAreRead
    case .writer(let file):
      let path = path
      try file.with { file throws(SoundFileError) in
        guard packet == file.packetCount else {
          throw SoundFileError(
            .notSupported("packet \(file.packetCount) comes next, not \(packet)"), path: path)
        }
        try unsafe file.append(buffer, extents)
      }
    }
  }

  /// Writes bytes of the sound. Only linear PCM takes that.
  package func writeBytes(
    at position: Int64, from buffer: UnsafeRawBufferPointer
  ) throws(SoundFileError) {
    switch body {
    case .pcm(let file): try unsafe file.writeBytes(at: position, from: buffer)
    case .reader: throw packetsAreRead
    case .writer:
      throw SoundFileError(.notSupported("packets are written as packets"), path: path)
    }
  }
}
