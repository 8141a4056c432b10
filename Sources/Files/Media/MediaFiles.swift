package import Codecs
import RealTime

/// Opens and creates sound files of all formats. Any thread; blocks.
package enum MediaFiles {
  /// Opens a file, also for writing if its store is writable.
  ///
  /// - Parameters:
  ///   - hint: The container to assume if the first bytes match none.
  ///   - decodesOthers: True to open also the file types and encodings that Core Audio has no id for, as
  ///     linear PCM.
  package static func open(
    _ store: any ByteStore, hint: Container? = nil, decodesOthers: Bool = false
  ) throws(SoundFileError) -> any MediaFile {
    if decodesOthers, let file = try DecodedFile(store) { return file }
    let kind = try Container(contentOf: store)
    var store = store
    if kind?.passesOverTags == false { store = try store.behindTags() }
    do throws(SoundFileError) {
      return try open(store, as: kind ?? hint, decodesOthers: decodesOthers)
    } catch {
      let isForLibrary =
        switch error.kind {
        case .notASoundFile, .unsupportedContainer, .unsupportedEncoding: true
        // If only the file's name told the container, its content may be something else. libavformat
        // says this of encodings that it does not know, too.
        case .damaged: kind?.holdsPCM ?? true
        default: false
        }
      guard decodesOthers, isForLibrary, let file = DecodedFile(store, container: kind) else {
        throw error
      }
      return file
    }
  }

  private static func open(
    _ store: any ByteStore, as kind: Container?, decodesOthers: Bool
  ) throws(SoundFileError) -> any MediaFile {
    if let kind, !kind.holdsPCM {
      if [.mp1, .mp2].contains(kind), case let first = try ID3Tag.end(in: store),
        let start = try store.bytes(
          at: first, count: Int(min(store.byteCount() - first, Int64(FreeFormat.tellingBytes)))),
        FreeFormat(start) != nil
      {
        // libavcodec decodes Layer III only.
        throw SoundFileError(.unsupportedEncoding(FreeFormat.name), path: store.name)
      }
      let reader = try PacketFileReader(store, container: kind)
      try reader.requirePackets()
      return PacketInputFile(reader, store)
    }
    do throws(SoundFileError) {
      return LinearPCMFile(try SoundFile(store), store)
    } catch {
      // Containers for linear PCM can hold packets too.
      guard let kind, case .unsupportedEncoding = error.kind else { throw error }
      let reader = try PacketFileReader(store, container: kind)
      // libavformat takes NMS ADPCM in WAVE files for AMR.
      if decodesOthers, kind == .wave, reader.format.codec == .amrNarrow,
        let file = DecodedFile(store, container: kind)
      {
        return file
      }
      try reader.requirePackets()
      return PacketInputFile(reader, store)
    }
  }

  package static func open(
    path: String, isWritable: Bool = false, hint: Container? = nil, decodesOthers: Bool = false
  ) throws(SoundFileError) -> any MediaFile {
    try open(
      FileStore(path: path, isWritable: isWritable), hint: hint ?? Container(forPath: path),
      decodesOthers: decodesOthers)
  }

  /// Opens a file of any type that a library in use reads, or one that comes through a pipe: see
  /// `PipedFile`.
  package static func openAny(path: String) throws(SoundFileError) -> any MediaFile {
    guard PipedFile.isPipe(path) else { return try open(path: path, decodesOthers: true) }
    return try open(
      PipedFile.store(path), hint: Container(forPath: path), decodesOthers: true)
  }

  /// Bytes at the end of a stream that the writer of a container corrects when the stream is complete; nil if
  /// sound of this format can be written into the container only where positions exist.
  package static func correctedBytes(
    of format: StreamFormat, inStream container: Container
  ) -> Int? {
    switch format {
    case .packets(let format) where container == .caf: CAFBody.isListed(format) ? nil : 0
    case .pcm where container == .caf: 0
    default: container == .ogg ? OggPage.maximumBytes : container.isStreamable ? 0 : nil
    }
  }

  /// Returns true if Cuejack can write sound of a format in a container.
  package static func canWrite(_ format: StreamFormat, in container: Container) -> Bool {
    switch format {
    case .pcm(let format): SoundFile.canHold(format, in: container)
    case .packets(let format): PacketFileWriter.canWrite(format, in: container)
    }
  }

  /// Creates a file without sound in a store. Existing contents are deleted.
  ///
  /// - Parameter dataAlignment: Linear PCM begins at a multiple of this many bytes.
  package static func create(
    _ store: any ByteStore, container: Container, format: StreamFormat, dataAlignment: Int64 = 1
  ) throws(SoundFileError) -> any MediaFile {
    try check(format, container, path: store.name)
    if try store.byteCount() > 0 { try store.setByteCount(0) }
    switch format {
    case .pcm(let format):
      let file = try SoundFile.create(
        in: store, container: container, format: format, dataAlignment: dataAlignment)
      return LinearPCMFile(file, store)
    case .packets(let format):
      let writer = try PacketFileWriter(store, container: container, format: format)
      return PacketOutputFile(writer, store)
    }
  }

  /// Creates a file.
  ///
  /// - Parameter isReplacing: False to fail if the file exists; true to truncate it. The file is
  ///   truncated only if the format can be written.
  package static func create(
    path: String, container: Container, format: StreamFormat, isReplacing: Bool,
    dataAlignment: Int64 = 1
  ) throws(SoundFileError) -> any MediaFile {
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
}
