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
    let isConfig = inPropertyID == kExtAudioFileProperty_ConverterConfig
    let isSettable = core.isSettable(inPropertyID)
    var size = isConfig ? MemoryLayout<UInt>.size : 0
    do throws(ExtAudioFileError) {
      if !isConfig { size = try core.property(inPropertyID).count }
    } catch {
      // A property that can be set may have no value yet.
      guard isSettable, case .invalidProperty = error else { throw error }
    }
    unsafe outSize?.pointee = UInt32(size)
    unsafe outWritable?.pointee = isSettable
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
    let room = unsafe Int(ioPropertyDataSize.pointee)
    let value = try core.property(inPropertyID)
    guard value.count <= room else { throw .propertySize(inPropertyID, room) }
    unsafe outPropertyData.copyMemory(from: value, byteCount: value.count)
    unsafe ioPropertyDataSize.pointee = UInt32(value.count)
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
    guard let bytes = unsafe copyBytes(at: inPropertyData, count: inPropertyDataSize) else {
      throw .badArgument("the value is NULL")
    }
    try core.setProperty(inPropertyID, bytes)
  }
}

extension ExtAudioFileCore {
  fileprivate func isSettable(_ id: ExtAudioFilePropertyID) -> Bool {
    switch id {
    case kExtAudioFileProperty_FileChannelLayout, kExtAudioFileProperty_ClientDataFormat,
      kExtAudioFileProperty_ClientChannelLayout, kExtAudioFileProperty_CodecManufacturer,
      kExtAudioFileProperty_ConverterConfig, kExtAudioFileProperty_IOBufferSizeBytes:
      return true
    case kExtAudioFileProperty_PacketTable:
      if case .packets = file.format { return true }
      return false
    default: return false
    }
  }

  /// Returns the bytes of a property's value.
  fileprivate func property(_ id: ExtAudioFilePropertyID) throws(ExtAudioFileError) -> [UInt8] {
    switch id {
    case kExtAudioFileProperty_FileDataFormat:
      return PropertyBytes.of([fileDescription])
    case kExtAudioFileProperty_FileChannelLayout:
      guard let fileLayout else { throw .invalidProperty(id) }
      return fileLayout.bytes
    case kExtAudioFileProperty_ClientDataFormat:
      // The client format defaults to the file's format.
      return PropertyBytes.of([client?.streamDescription ?? fileDescription])
    case kExtAudioFileProperty_ClientChannelLayout:
      guard let layout = layoutOfClient else { throw .invalidProperty(id) }
      return layout.bytes
    case kExtAudioFileProperty_CodecManufacturer:
      return PropertyBytes.of([kAppleSoftwareAudioCodecManufacturer])
    case kExtAudioFileProperty_AudioConverter: return PropertyBytes.of([handleOfConverter])
    case kExtAudioFileProperty_AudioFile: return PropertyBytes.of([fileHandle])
    case kExtAudioFileProperty_FileMaxPacketSize:
      return PropertyBytes.of([UInt32(clamping: try maximumPacketBytes)])
    case kExtAudioFileProperty_ClientMaxPacketSize:
      guard let client else {
        throw .order("the client's format is to be set before its packets are known")
      }
      return PropertyBytes.of([UInt32(client.bytesPerPacket)])
    case kExtAudioFileProperty_FileLengthFrames: return PropertyBytes.of([try length])
    case kExtAudioFileProperty_IOBufferSizeBytes:
      return PropertyBytes.of([UInt32(reader?.bufferBytes ?? writer?.bufferBytes ?? 0)])
    case kExtAudioFileProperty_PacketTable:
      guard let table = try packetTable else { throw .invalidProperty(id) }
      return PropertyBytes.of([AudioFilePacketTableInfo(table)])
    default: throw .invalidProperty(id)
    }
  }

  private var maximumPacketBytes: Int {
    get throws(ExtAudioFileError) {
      let bytes: Int
      if writer != nil, case .packets = file.format {
        bytes = converter?.maximumOutputPacketBytes ?? 0
      } else {
        do throws(SoundFileError) { bytes = try file.maximumPacketBytes } catch {
          throw .audioFile(.file(error))
        }
      }
      guard bytes > 0 else { throw .packetSizeUnknown }
      return bytes
    }
  }

  private var packetTable: PacketTable? {
    get throws(ExtAudioFileError) {
      if let table = reader?.table ?? writer?.table { return table }
      do throws(SoundFileError) { return try file.packetTable } catch {
        throw .audioFile(.file(error))
      }
    }
  }

  fileprivate func setProperty(_ id: ExtAudioFilePropertyID, _ bytes: [UInt8])
    throws(ExtAudioFileError)
  {
    func value<Value: BitwiseCopyable>(_ type: Value.Type) throws(ExtAudioFileError) -> Value {
      guard bytes.count >= MemoryLayout<Value>.size else { throw .propertySize(id, bytes.count) }
      return unsafe bytes.withUnsafeBytes { unsafe $0.loadUnaligned(as: Value.self) }
    }
    switch id {
    case kExtAudioFileProperty_ClientDataFormat:
      let description = try value(AudioStreamBasicDescription.self)
      guard description.mFormatID == kAudioFormatLinearPCM else { throw .clientNotPCM }
      guard let format = ConverterFormat(description) else {
        throw .format("the client's format contradicts itself, or cannot be converted")
      }
      try setClient(format)
    case kExtAudioFileProperty_ClientChannelLayout:
      guard let layout = ChannelLayout(bytes) else { throw .propertySize(id, bytes.count) }
      try setClientLayout(layout)
    case kExtAudioFileProperty_FileChannelLayout:
      guard let layout = ChannelLayout(bytes) else { throw .propertySize(id, bytes.count) }
      try setFileLayout(layout)
    case kExtAudioFileProperty_CodecManufacturer:
      let manufacturer = try value(UInt32.self)
      guard [0, kAppleSoftwareAudioCodecManufacturer].contains(manufacturer) else {
        throw .converter(
          .formatNotSupported("there are no codecs of '\(fourCharacters(manufacturer))'"))
      }
    case kExtAudioFileProperty_ConverterConfig:
      // The converter's settings are read for every packet, so there is nothing to update.
      guard try value(UInt.self) == 0 else {
        throw .badArgument("the only configuration is NULL: set the converter's properties")
      }
    case kExtAudioFileProperty_IOBufferSizeBytes:
      let size = Int(try value(UInt32.self))
      guard (1...1 << 28).contains(size) else { throw .badArgument("a buffer of \(size) bytes") }
      try endAsync()
      reader?.bufferBytes = size
      writer?.bufferBytes = size
    case kExtAudioFileProperty_PacketTable:
      let info = try value(AudioFilePacketTableInfo.self)
      guard info.mNumberValidFrames >= 0, info.mPrimingFrames >= 0, info.mRemainderFrames >= 0,
        info.mNumberValidFrames < 1 << 48
      else { throw .badArgument("a packet table has negative frames, or too many") }
      guard case .packets = file.format else { throw .invalidProperty(id) }
      try endAsync()
      let table = PacketTable(
        validFrames: info.mNumberValidFrames, primingFrames: Int(info.mPrimingFrames),
        remainderFrames: Int(info.mRemainderFrames))
      reader?.table = table
      writer?.table = table
    default: throw .invalidProperty(id)
    }
  }
}
