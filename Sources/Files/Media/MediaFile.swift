package import Codecs
import RealTime
import Synchronization

/// An open sound file, for reading, writing or both. It holds linear PCM or packets of a codec.
///
/// A packet of linear PCM is one frame. Any thread may call; all calls may block.
package final class MediaFile: Sendable {
  enum Body: Sendable {
    case pcm(SoundFile)
    case reader(PacketFileReader)
    case writer(Writing)
  }
  /// A file of packets that is being written. A lock admits one caller at a time.
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
  /// Start of each packet in frames and bytes; nil until first needed.
  let places = Mutex<Places?>(nil)
  let reserved = Mutex(0.0)

  private init(_ body: Body, _ store: any ByteStore) {
    self.body = body
    self.store = store
  }

  // MARK: Opening and closing

  /// Opens a file, also for writing if its store is writable. Blocks.
  ///
  /// - Parameter hint: The container to assume if the first bytes match none.
  package static func open(
    _ store: any ByteStore, hint: Container? = nil
  ) throws(SoundFileError) -> MediaFile {
    let kind = try Container(contentOf: store) ?? hint
    guard let kind, !kind.holdsPCM else {
      do throws(SoundFileError) {
        return MediaFile(.pcm(try SoundFile(store)), store)
      } catch {
        // Containers for linear PCM can hold packets too.
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

  /// Returns true if Cuejack can write sound of a format in a container.
  package static func canWrite(_ format: StreamFormat, in container: Container) -> Bool {
    switch format {
    case .pcm(let format): SoundFile.canHold(format, in: container)
    case .packets(let format): PacketFileWriter.canWrite(format, in: container)
    }
  }

  /// Creates a file without sound in a store. Existing contents are deleted. Blocks.
  ///
  /// - Parameter dataAlignment: Linear PCM begins at a multiple of this many bytes.
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

  /// Creates a file. Blocks.
  ///
  /// - Parameter isReplacing: False to fail if the file exists; true to truncate it. The file is
  ///   truncated only if the format can be written.
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

  /// Completes a written file. Later reads return nothing, and later writes fail.
  package func close() throws(SoundFileError) {
    switch body {
    case .pcm(let file): try file.close()
    case .reader: break
    case .writer(let file):
      try file.with { file throws(SoundFileError) in try file.close() }
    }
  }

  /// Updates the file's header, so that everything written so far can be read even if the process
  /// is killed.
  package func checkpoint() throws(SoundFileError) {
    switch body {
    case .pcm(let file): try file.checkpoint()
    case .reader: break
    case .writer(let file):
      try file.with { file throws(SoundFileError) in try file.checkpoint() }
    }
  }

  /// Rewrites the file so that nothing comes after its sound. A file being written is rewritten
  /// when it is closed. If the process is killed, the file has either the old or the new order.
  /// Only regular files support this. Blocks.
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

  /// A file of packets can only be written in one pass, from its first packet on.
  var packetsAreRead: SoundFileError {
    SoundFileError(
      store.isWritable
        ? .notSupported("files of packets cannot be changed once they are made") : .notForWriting,
      path: path)
  }

  // MARK: Reading and writing

  /// Reads consecutive packets starting at `packet`, up to `count`, as many as exist and fit.
  ///
  /// - Parameter extents: Receives the position of each packet in `buffer`. Empty for linear PCM.
  /// - Returns: Number of packets; 0 at the end.
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

  /// Reads bytes of the sound until the buffer is full or the sound ends. Returns the number read.
  package func readBytes(
    at position: Int64, into buffer: UnsafeMutableRawBufferPointer
  ) throws(SoundFileError) -> Int {
    switch body {
    case .pcm(let file): return try unsafe file.readBytes(at: position, into: buffer)
    case .reader: return try unsafe readPacketBytes(at: position, into: buffer)
    case .writer: throw packetsAreWritten
    }
  }

  /// Writes packets; `packet` is the number of the first. Linear PCM can be written at any frame,
  /// while packets of a codec can only be appended.
  ///
  /// - Parameter extents: Positions of the packets in `buffer`. Ignored for linear PCM, for which
  ///   all complete frames in the buffer are written.
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

  /// Writes bytes of the sound. Only linear PCM supports this.
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
