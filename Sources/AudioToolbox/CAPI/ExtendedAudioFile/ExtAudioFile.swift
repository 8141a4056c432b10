public import CAudioToolbox
import Codecs
import Files
import Glibc
import Logging
import System

/// Runs an AudioFile operation and converts its error.
private func onAudioFile<Result>(_ call: @autoclosure () throws(AudioFileFailure) -> Result)
  throws(ExtAudioFileError) -> Result
{
  do throws(AudioFileFailure) { return try call() } catch { throw .audioFile(error) }
}

private func file(_ handle: ExtAudioFileRef) throws(ExtAudioFileError) -> ExtAudioFileCore {
  guard let core = ExtAudioFileCore.all.object(UInt(bitPattern: handle)) else { throw .noFile }
  if core.file.isCalling { throw .audioFile(.busy) }
  return core
}

/// Runs the body of a C function with the file behind `handle`. If an earlier asynchronous write
/// has failed, the call only reports that failure.
private func withFile(
  _ handle: ExtAudioFileRef, _ function: String, needs pointers: UnsafeRawPointer?...,
  body: (ExtAudioFileCore) throws(ExtAudioFileError) -> Void
) -> OSStatus {
  answer(function) { () throws(ExtAudioFileError) in
    let core = try unsafe file(handle)
    if unsafe hasNull(pointers) { throw .badArgument("a pointer is NULL") }
    try core.call { () throws(ExtAudioFileError) in try body(core) }
  }
}

/// Creates an object that owns its file, and an AudioFileID for the file.
private func own(
  _ media: any MediaFile, isWriting: Bool, lacksRate: Bool = false, layout: ChannelLayout? = nil
) throws(ExtAudioFileError) -> ExtAudioFileCore {
  let handle = OpenFile.all.add { _ in OpenFile(media: media, isReadable: true) }
  do throws(ExtAudioFileError) {
    let core = try ExtAudioFileCore(
      media, handle: handle, ownsFile: true, isWriting: isWriting, lacksRate: lacksRate)
    if let layout { try core.setFileLayout(layout) }
    return core
  } catch {
    OpenFile.all.remove(handle)
    throw error
  }
}

// MARK: Opening and closing

/// See ExtAudioFileOpenURL in ExtendedAudioFile.h. On Linux, Swift cannot declare a C function with
/// a CFURL parameter, so this one takes a raw pointer.
@c(ExtAudioFileOpenURL)
public func openExtAudioFile(
  _ inURL: UnsafeRawPointer?, _ outExtAudioFile: UnsafeMutablePointer<OpaquePointer?>?
) -> OSStatus {
  answer("ExtAudioFileOpenURL") { () throws(ExtAudioFileError) in
    try unsafe putHandle(in: outExtAudioFile, of: ExtAudioFileCore.all) {
      () throws(ExtAudioFileError) in
      let path = try unsafe onAudioFile(path(of: inURL))
      let media = try onAudioFile(onFile(MediaFiles.open(path: path, decodesOthers: true)))
      if let warning = media.warning { log.warning("ExtAudioFileOpenURL: \(warning)") }
      return try own(media, isWriting: false)
    }
  }
}

/// See ExtAudioFileWrapAudioFileID in ExtendedAudioFile.h.
@c @implementation
public func ExtAudioFileWrapAudioFileID(
  _ inFileID: AudioFileID, _ inForWriting: Bool,
  _ outExtAudioFile: UnsafeMutablePointer<ExtAudioFileRef?>
) -> OSStatus {
  answer("ExtAudioFileWrapAudioFileID") { () throws(ExtAudioFileError) in
    try unsafe putHandle(in: outExtAudioFile, of: ExtAudioFileCore.all) {
      () throws(ExtAudioFileError) in
      let media = try unsafe onAudioFile(
        inForWriting ? OpenFile.find(inFileID).media : OpenFile.readable(inFileID))
      guard media.isWritable || !inForWriting else {
        throw .audioFile(.file(SoundFileError(.notForWriting, path: media.path)))
      }
      return try ExtAudioFileCore(
        media, handle: UInt(bitPattern: inFileID), ownsFile: false, isWriting: inForWriting)
    }
  }
}

/// Returns the channel layout for a new file; nil if none was given.
private func layout(
  at memory: UnsafePointer<AudioChannelLayout>?, channels: Int
) throws(ExtAudioFileError) -> ChannelLayout? {
  guard let memory = unsafe memory else { return nil }
  guard let layout = unsafe ChannelLayout(at: UnsafeRawPointer(memory)),
    layout.channels == channels
  else { throw .channels("the layout is not one of \(channels) channels") }
  return layout
}

/// Returns the type and format of a new file. A codec without a sample rate gets a provisional one, and
/// the client's later.
private func newKindOrRate(
  _ type: AudioFileTypeID, _ format: UnsafePointer<AudioStreamBasicDescription>?
) throws(AudioFileFailure) -> (kind: (container: Container, format: StreamFormat), lacksRate: Bool)
{
  guard var description = unsafe format?.pointee, description.mSampleRate == 0,
    description.mFormatID != kAudioFormatLinearPCM
  else { return (try unsafe newKind(type, format), false) }
  for rate in [44_100.0, 48_000, 16_000, 8_000] {
    description.mSampleRate = rate
    if let kind = try? unsafe newKind(type, &description) { return (kind, true) }
  }
  return (try unsafe newKind(type, format), false)
}

/// See ExtAudioFileCreateWithURL in ExtendedAudioFile.h.
@c(ExtAudioFileCreateWithURL)
public func createExtAudioFile(
  _ inURL: UnsafeRawPointer?, _ inFileType: UInt32,
  _ inStreamDesc: UnsafePointer<AudioStreamBasicDescription>?,
  _ inChannelLayout: UnsafePointer<AudioChannelLayout>?, _ inFlags: UInt32,
  _ outExtAudioFile: UnsafeMutablePointer<OpaquePointer?>?
) -> OSStatus {
  answer("ExtAudioFileCreateWithURL") { () throws(ExtAudioFileError) in
    try unsafe putHandle(in: outExtAudioFile, of: ExtAudioFileCore.all) {
      () throws(ExtAudioFileError) in
      let (kind, lacksRate) = try unsafe onAudioFile(newKindOrRate(inFileType, inStreamDesc))
      let layout = try unsafe layout(at: inChannelLayout, channels: kind.format.channels)
      let filePath = try unsafe onAudioFile(path(of: inURL))
      if let layout, !kind.container.canStore(layout, with: kind.format) {
        // Checked first, so that an existing file is not erased in vain.
        throw .audioFile(
          .file(
            SoundFileError(
              .notSupported("the file cannot store this channel layout"), path: filePath)))
      }
      let flags = AudioFileFlags(rawValue: inFlags)
      let media = try onAudioFile(
        onFile(
          MediaFiles.create(
            path: filePath, container: kind.container, format: kind.format,
            isReplacing: flags.contains(.eraseFile), dataAlignment: flags.dataAlignment)))
      do throws(ExtAudioFileError) {
        return try own(media, isWriting: true, lacksRate: lacksRate, layout: layout)
      } catch {
        // No other code has a reference to the file, and it is empty.
        (media.store as? FileStore)?.remove()
        throw error
      }
    }
  }
}

/// See ExtAudioFileDispose in ExtendedAudioFile.h.
@c @implementation
public func ExtAudioFileDispose(_ inExtAudioFile: ExtAudioFileRef) -> OSStatus {
  answer("ExtAudioFileDispose") { () throws(ExtAudioFileError) in
    let core = try unsafe file(inExtAudioFile)
    guard ExtAudioFileCore.all.remove(UInt(bitPattern: inExtAudioFile)) != nil else {
      throw .noFile
    }
    try core.close()
  }
}

// MARK: Reading and writing

/// See ExtAudioFileRead in ExtendedAudioFile.h.
@c @implementation
public func ExtAudioFileRead(
  _ inExtAudioFile: ExtAudioFileRef, _ ioNumberFrames: UnsafeMutablePointer<UInt32>,
  _ ioData: UnsafeMutablePointer<AudioBufferList>
) -> OSStatus {
  unsafe withFile(inExtAudioFile, "ExtAudioFileRead", needs: ioNumberFrames, ioData) {
    (core) throws(ExtAudioFileError) in
    let frames = unsafe Int(ioNumberFrames.pointee)
    unsafe ioNumberFrames.pointee = 0
    unsafe ioNumberFrames.pointee = UInt32(try core.read(BufferList(ioData), frames: frames))
  }
}

/// See ExtAudioFileWrite in ExtendedAudioFile.h.
@c @implementation
public func ExtAudioFileWrite(
  _ inExtAudioFile: ExtAudioFileRef, _ inNumberFrames: UInt32,
  _ ioData: UnsafePointer<AudioBufferList>
) -> OSStatus {
  unsafe withFile(inExtAudioFile, "ExtAudioFileWrite", needs: ioData) {
    (core) throws(ExtAudioFileError) in
    let list = unsafe BufferList(UnsafeMutablePointer(mutating: ioData))
    try core.write(list, frames: Int(inNumberFrames))
  }
}

/// See ExtAudioFileWriteAsync in ExtendedAudioFile.h.
@c @implementation
public func ExtAudioFileWriteAsync(
  _ inExtAudioFile: ExtAudioFileRef, _ inNumberFrames: UInt32,
  _ ioData: UnsafePointer<AudioBufferList>?
) -> OSStatus {
  answer("ExtAudioFileWriteAsync") { () throws(ExtAudioFileError) in
    let core = try unsafe file(inExtAudioFile)
    guard let ioData = unsafe ioData else {
      guard inNumberFrames == 0 else { throw .badArgument("a pointer is NULL") }
      return try core.call(core.prepareAsync)
    }
    let list = unsafe BufferList(UnsafeMutablePointer(mutating: ioData))
    if try core.pushAsync(list, frames: Int(inNumberFrames)) { return }
    // The first write starts the worker thread.
    try core.call { () throws(ExtAudioFileError) in
      try core.prepareAsync()
      _ = try core.pushAsync(list, frames: Int(inNumberFrames))
    }
  }
}

/// See ExtAudioFileSeek in ExtendedAudioFile.h.
@c @implementation
public func ExtAudioFileSeek(_ inExtAudioFile: ExtAudioFileRef, _ inFrameOffset: Int64) -> OSStatus
{
  unsafe withFile(inExtAudioFile, "ExtAudioFileSeek") { (core) throws(ExtAudioFileError) in
    try core.seek(inFrameOffset)
  }
}

/// See ExtAudioFileTell in ExtendedAudioFile.h.
@c @implementation
public func ExtAudioFileTell(
  _ inExtAudioFile: ExtAudioFileRef, _ outFrameOffset: UnsafeMutablePointer<Int64>
) -> OSStatus {
  unsafe withFile(inExtAudioFile, "ExtAudioFileTell", needs: outFrameOffset) {
    (core) throws(ExtAudioFileError) in
    unsafe outFrameOffset.pointee = core.position
  }
}

// MARK: Properties

/// See ExtAudioFileGetPropertyInfo in ExtendedAudioFile.h.
@c @implementation
public func ExtAudioFileGetPropertyInfo(
  _ inExtAudioFile: ExtAudioFileRef, _ inPropertyID: ExtAudioFilePropertyID,
  _ outSize: UnsafeMutablePointer<UInt32>?, _ outWritable: UnsafeMutablePointer<Bool>?
) -> OSStatus {
  unsafe withFile(inExtAudioFile, "ExtAudioFileGetPropertyInfo") {
    (core) throws(ExtAudioFileError) in
    let input = PropertyInput<ExtAudioFileError>(inPropertyID)
    guard let entry = ExtAudioFileProperty(file: core, input: input).entry() else {
      throw .invalidProperty(inPropertyID)
    }
    let size = try entry.presentSize(missing: .invalidProperty(inPropertyID))
    unsafe outSize?.pointee = UInt32(size)
    unsafe outWritable?.pointee = entry.write != nil
  }
}

/// See ExtAudioFileGetProperty in ExtendedAudioFile.h.
@c @implementation
public func ExtAudioFileGetProperty(
  _ inExtAudioFile: ExtAudioFileRef, _ inPropertyID: ExtAudioFilePropertyID,
  _ ioPropertyDataSize: UnsafeMutablePointer<UInt32>, _ outPropertyData: UnsafeMutableRawPointer
) -> OSStatus {
  unsafe withFile(
    inExtAudioFile, "ExtAudioFileGetProperty", needs: ioPropertyDataSize, outPropertyData
  ) { (core) throws(ExtAudioFileError) in
    let input = unsafe PropertyInput<ExtAudioFileError>(
      inPropertyID, outPropertyData, ioPropertyDataSize.pointee)
    try unsafe input.copy(
      ExtAudioFileProperty(file: core, input: input).entry(), ioPropertyDataSize,
      missing: .invalidProperty(inPropertyID))
  }
}

/// See ExtAudioFileSetProperty in ExtendedAudioFile.h.
@c @implementation
public func ExtAudioFileSetProperty(
  _ inExtAudioFile: ExtAudioFileRef, _ inPropertyID: ExtAudioFilePropertyID,
  _ inPropertyDataSize: UInt32, _ inPropertyData: UnsafeRawPointer
) -> OSStatus {
  unsafe withFile(inExtAudioFile, "ExtAudioFileSetProperty") {
    (core) throws(ExtAudioFileError) in
    let input = try unsafe PropertyInput<ExtAudioFileError>(
      inPropertyID, given: inPropertyData, inPropertyDataSize)
    guard let write = ExtAudioFileProperty(file: core, input: input).entry()?.write else {
      throw .invalidProperty(inPropertyID)
    }
    try write()
  }
}

/// A property of an extended audio file, and what the app passes with it.
private struct ExtAudioFileProperty {
  typealias Entry = PropertyEntry<ExtAudioFileError>

  let file: ExtAudioFileCore
  let input: PropertyInput<ExtAudioFileError>

  /// Returns the property's entry; nil if there is no such property.
  func entry() -> Entry? {
    switch input.id {
    case kExtAudioFileProperty_FileDataFormat: .value(file.fileDescription)
    case kExtAudioFileProperty_FileChannelLayout:
      .copied(file.fileLayout.map { CopiedValue(bytes: $0.bytes) }).setting(
        try file.setFileLayout(layout()))
    case kExtAudioFileProperty_ClientDataFormat:
      // The client format defaults to the file's format.
      .value(file.client?.streamDescription ?? file.fileDescription).setting(
        try setClient(input.value()))
    case kExtAudioFileProperty_ClientChannelLayout:
      .copied(file.layoutOfClient.map { CopiedValue(bytes: $0.bytes) }).setting(
        try file.setClientLayout(layout()))
    case kExtAudioFileProperty_CodecManufacturer:
      .value(kAppleSoftwareAudioCodecManufacturer).setting(try checkManufacturer(input.value()))
    case kExtAudioFileProperty_ConverterConfig:
      .unreadable(bytes: MemoryLayout<UInt>.size).setting(try checkConfiguration(input.value()))
    case kExtAudioFileProperty_AudioConverter: .value(file.handleOfConverter)
    case kExtAudioFileProperty_AudioFile: .value(file.fileHandle)
    case kExtAudioFileProperty_FileMaxPacketSize:
      .value(UInt32(clamping: try maximumPacketBytes()))
    case kExtAudioFileProperty_ClientMaxPacketSize: .value(UInt32(try clientPacketBytes()))
    case kExtAudioFileProperty_FileLengthFrames: .value(try file.length)
    case kExtAudioFileProperty_IOBufferSizeBytes:
      .value(UInt32(file.reader?.bufferBytes ?? file.writer?.bufferBytes ?? 0)).setting(
        try setBufferBytes(input.number()))
    case kExtAudioFileProperty_PacketTable:
      .copied(try packetTable().map { CopiedValue(AudioFilePacketTableInfo($0)) }).setting(
        if: hasPackets, try setPacketTable(input.value()))
    default: nil
    }
  }

  private var hasPackets: Bool {
    if case .packets = file.file.format { true } else { false }
  }

  private func maximumPacketBytes() throws(ExtAudioFileError) -> Int {
    let bytes =
      file.writer != nil && hasPackets
      ? file.converter?.maximumOutputPacketBytes ?? 0
      : try onAudioFile(onFile(file.file.maximumPacketBytes))
    guard bytes > 0 else { throw .packetSizeUnknown }
    return bytes
  }

  private func clientPacketBytes() throws(ExtAudioFileError) -> Int {
    guard let client = file.client else {
      throw .order("the client's format is to be set before its packets are known")
    }
    return client.bytesPerPacket
  }

  private func packetTable() throws(ExtAudioFileError) -> PacketTable? {
    if let table = file.reader?.table ?? file.writer?.table { return table }
    return try onAudioFile(onFile(file.file.packetTable))
  }

  // MARK: Setting

  private func layout() throws(ExtAudioFileError) -> ChannelLayout {
    guard let layout = ChannelLayout(input.array()) else {
      throw .propertySize(input.id, input.byteCount)
    }
    return layout
  }

  private func setClient(_ description: AudioStreamBasicDescription) throws(ExtAudioFileError) {
    guard description.mFormatID == kAudioFormatLinearPCM else { throw .clientNotPCM }
    guard let format = ConverterFormat(description) else {
      throw .format("the client's format contradicts itself, or cannot be converted")
    }
    try file.setClient(format)
  }

  private func checkManufacturer(_ manufacturer: UInt32) throws(ExtAudioFileError) {
    guard [0, kAppleSoftwareAudioCodecManufacturer].contains(manufacturer) else {
      throw .converter(
        .formatNotSupported("there are no codecs of '\(fourCharacters(manufacturer))'"))
    }
  }

  /// The converter's settings are read for every packet, so there is nothing to update.
  private func checkConfiguration(_ configuration: UInt) throws(ExtAudioFileError) {
    guard configuration == 0 else {
      throw .badArgument("the only configuration is NULL: set the converter's properties")
    }
  }

  private func setBufferBytes(_ size: Int) throws(ExtAudioFileError) {
    guard (1...1 << 28).contains(size) else { throw .badArgument("a buffer of \(size) bytes") }
    try file.endAsync()
    file.reader?.bufferBytes = size
    file.writer?.bufferBytes = size
  }

  private func setPacketTable(_ info: AudioFilePacketTableInfo) throws(ExtAudioFileError) {
    guard info.mNumberValidFrames >= 0, info.mPrimingFrames >= 0, info.mRemainderFrames >= 0,
      info.mNumberValidFrames < 1 << 48
    else { throw .badArgument("a packet table has negative frames, or too many") }
    try file.endAsync()
    let table = PacketTable(
      validFrames: info.mNumberValidFrames, primingFrames: Int(info.mPrimingFrames),
      remainderFrames: Int(info.mRemainderFrames))
    file.reader?.table = table
    file.writer?.table = table
  }
}
