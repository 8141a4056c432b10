package import Codecs
import RealTime
import Synchronization

/// The properties of a sound file.
extension MediaFile {
  package var path: String { store.name }
  package var isWritable: Bool { store.isWritable }

  /// The file as linear PCM, with its chunks; nil if it holds packets.
  package var pcm: SoundFile? {
    switch body {
    case .pcm(let file): file
    case .reader, .writer: nil
    }
  }

  /// The file's chunks; nil if its container has none.
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

  /// Offset of the sound in the file.
  package var dataOffset: Int64 {
    get throws(SoundFileError) {
      switch body {
      case .pcm(let file): file.dataOffset
      case .reader(let file): try file.packetOffset(of: 0) ?? 0
      case .writer: throw packetsAreWritten
      }
    }
  }

  /// Valid frames.
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

  /// Significant bits of a sample of the sound, before any encoding; 0 if the file does not give
  /// them.
  package var sourceBits: Int {
    switch body {
    case .pcm(let file): file.sourceBits
    case .reader(let file): file.format.bitsPerSample
    case .writer(let file): file.format.bitsPerSample
    }
  }

  /// True if nothing comes after the sound that belongs before it, now or after the file is closed.
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

  /// True if sizes in the header are updated only at a checkpoint, after the next second of sound,
  /// or on closing.
  package var defersSizes: Bool {
    get { pcm?.defersSizes ?? true }
    set { pcm?.defersSizes = newValue }
  }

  /// Seconds of sound that the app intends to write; 0 if not set.
  package var reservedDuration: Double {
    get { reserved.withLock { $0 } }
    set { reserved.withLock { $0 = newValue } }
  }
  /// True until the first data is written.
  package var takesReservation: Bool { isWritable && (try? byteCount) == 0 }
  /// True for a file of packets that is being written.
  package var takesPackets: Bool { if case .writer = body { true } else { false } }

  /// The file's ID3 tag; nil if there is none. Blocks.
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

  /// Sets the channel layout: see `SoundFile.setChannelLayout(words:mask:)`.
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

  /// Duration in seconds.
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

  /// Roles of the channels; nil if the file does not give them.
  package var channelRoles: [ChannelRole]? {
    switch body {
    case .pcm(let file): file.channelRoles ?? file.chunkRoles
    case .reader(let file): file.channelRoles
    case .writer(let file): file.with { $0.channelRoles }
    }
  }

  /// Returns the setup packets for a packet: see `PacketFileReader.setupPackets(for:)`.
  func setupPackets(for packet: Int64) -> Range<Int64> {
    switch body {
    case .reader(let file): file.setupPackets(for: packet)
    case .pcm, .writer: 0..<0
    }
  }

  /// True if the packets can be copied to another file unchanged.
  package var hasPlainPackets: Bool {
    switch body {
    case .reader(let file): file.hasPlainPackets
    case .pcm, .writer: true
    }
  }

  /// One line about a truncated or damaged file; nil if it is intact.
  package var warning: String? {
    switch body {
    case .pcm(let file): file.warning
    case .reader(let file): file.warning
    case .writer: nil
    }
  }

  /// The decoder's magic cookie; empty if the decoder needs none.
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

  /// Counts of the valid, priming and remainder frames; nil if the file does not give them.
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

  /// Returns the file's metadata by the keys of info dictionaries; nil if the container cannot
  /// store any.
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
}
