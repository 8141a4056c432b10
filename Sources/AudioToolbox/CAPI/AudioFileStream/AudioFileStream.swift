public import CAudioToolbox
import Codecs
import CoreFoundation
import Files
import Logging
import RealTime
import Synchronization

private let openStreams = HandleTable<FileStream>()

/// The reason why a stream call fails. The text goes to the log, the code to the caller.
private enum FileStreamFailure: PropertyFailure {
  case badArgument(String)
  case stream(StreamFailure)
  case noSuchPacket(Int64)
  case unsupportedProperty(AudioFileStreamPropertyID)
  case readOnlyProperty(AudioFileStreamPropertyID)
  /// The stream does not contain the value, or has not delivered it yet.
  case unknownValue(AudioFileStreamPropertyID, isReady: Bool)
  case wrongSize(UInt32, needed: Int, size: Int)
  case notReady

  var status: OSStatus {
    switch self {
    case .badArgument: kAudio_ParamError
    case .noSuchPacket: kAudioFileStreamError_InvalidPacketOffset
    case .unsupportedProperty, .readOnlyProperty: kAudioFileStreamError_UnsupportedProperty
    case .unknownValue(_, let isReady):
      isReady ? kAudioFileStreamError_ValueUnknown : kAudioFileStreamError_DataUnavailable
    case .wrongSize: kAudioFileStreamError_BadPropertySize
    case .notReady: kAudioFileStreamError_DataUnavailable
    case .stream(let failure):
      switch failure {
      case .unsupportedContainer: kAudioFileStreamError_UnsupportedFileType
      case .unsupportedEncoding: kAudioFileStreamError_UnsupportedDataFormat
      case .notOptimized: kAudioFileStreamError_NotOptimized
      case .damaged: kAudioFileStreamError_InvalidFile
      case .lostSync: kAudioFileStreamError_DiscontinuityCantRecover
      case .busy: kAudioFileStreamError_IllegalOperation
      }
    }
  }

  var reason: String {
    switch self {
    case .badArgument(let text): text
    case .stream(let failure): "the stream cannot be read: \(failure)"
    case .noSuchPacket(let packet): "there is no packet \(packet), or nothing tells where it is"
    case .unsupportedProperty(let id): "there is no property '\(fourCharacters(id))'"
    case .readOnlyProperty(let id): "property '\(fourCharacters(id))' cannot be set"
    case .unknownValue(let id, _): "property '\(fourCharacters(id))' is not known"
    case .wrongSize(_, let size, let room): "the value has \(size) bytes, the memory \(room)"
    case .notReady: "the stream's head has not come yet"
    }
  }

  /// A request for an unknown value is normal: programs ask for all properties.
  var level: Logger.Level {
    switch self {
    case .unsupportedProperty, .unknownValue, .notReady: .debug
    default: .warning
    }
  }
}

private func stream(_ handle: AudioFileStreamID) throws(FileStreamFailure) -> FileStream {
  guard let stream = openStreams.object(UInt(bitPattern: handle)) else {
    throw .badArgument("this is not an open AudioFileStreamID")
  }
  return stream
}

/// The object behind an `AudioFileStreamID`. Use from one thread at a time, but for `close()`.
@safe
private final class FileStream: @unchecked Sendable {
  typealias Entry = PropertyEntry<FileStreamFailure>

  /// The app's callbacks. Their client data pointer may be NULL, even though the header declares it
  /// nonnull.
  typealias Listener =
    @convention(c) (
      UnsafeMutableRawPointer?, AudioFileStreamID, AudioFileStreamPropertyID,
      UnsafeMutablePointer<AudioFileStreamPropertyFlags>
    ) -> Void
  typealias Packets =
    @convention(c) (
      UnsafeMutableRawPointer?, UInt32, UInt32, UnsafeRawPointer,
      UnsafeMutablePointer<AudioStreamPacketDescription>?
    ) -> Void

  let parser: StreamParser
  private let reference: AudioFileStreamID
  private let listener: Listener
  private let packets: Packets
  private let clientData: UnsafeMutableRawPointer?
  private let isClosed = Atomic(false)

  init(
    _ parser: StreamParser, _ reference: AudioFileStreamID, _ listener: Listener,
    _ packets: Packets, _ clientData: UnsafeMutableRawPointer?
  ) {
    self.parser = parser
    unsafe self.reference = reference
    unsafe self.listener = listener
    unsafe self.packets = packets
    unsafe self.clientData = clientData
  }

  /// Prevents further callbacks.
  func close() { isClosed.store(true, ordering: .relaxed) }

  func parse(_ piece: UnsafeRawBufferPointer, isDiscontinuous: Bool) throws(StreamFailure) {
    try unsafe parser.parse(
      piece, isDiscontinuous: isDiscontinuous,
      ready: {
        for id in announcedProperties where hasValue(id) && !isClosed.load(ordering: .relaxed) {
          var flags: AudioFileStreamPropertyFlags = .propertyIsCached
          unsafe listener(clientData, reference, id, &flags)
        }
      },
      packets: { data, count, extents in
        guard !isClosed.load(ordering: .relaxed), let start = data.baseAddress else { return }
        var descriptions = (extents ?? []).map { extent in
          AudioStreamPacketDescription(
            mStartOffset: Int64(extent.offset),
            mVariableFramesInPacket: UInt32(clamping: extent.frames),
            mDataByteSize: UInt32(extent.bytes))
        }
        unsafe descriptions.withUnsafeMutableBufferPointer { descriptions in
          unsafe packets(
            clientData, UInt32(data.count), UInt32(count), start,
            extents == nil ? nil : descriptions.baseAddress)
        }
      })
  }

  private func hasValue(_ id: AudioFileStreamPropertyID) -> Bool {
    (try? entry(PropertyInput(id)).read?()) != nil
  }

  /// The properties reported to the listener, in order.
  private let announcedProperties = [
    kAudioFileStreamProperty_FileFormat, kAudioFileStreamProperty_DataFormat,
    kAudioFileStreamProperty_FormatList, kAudioFileStreamProperty_MagicCookieData,
    kAudioFileStreamProperty_ChannelLayout, kAudioFileStreamProperty_DataOffset,
    kAudioFileStreamProperty_AudioDataByteCount, kAudioFileStreamProperty_AudioDataPacketCount,
    kAudioFileStreamProperty_MaximumPacketSize, kAudioFileStreamProperty_PacketSizeUpperBound,
    kAudioFileStreamProperty_PacketTableInfo, kAudioFileStreamProperty_AverageBytesPerPacket,
    kAudioFileStreamProperty_BitRate, kAudioFileStreamProperty_RestrictsRandomAccess,
    kAudioFileStreamProperty_InfoDictionary,
    kAudioFileStreamProperty_ReadyToProducePackets,
  ]

  // MARK: Properties

  /// Returns the entry of a property.
  func entry(_ input: PropertyInput<FileStreamFailure>) throws(FileStreamFailure) -> Entry {
    func known<Value: BitwiseCopyable>(_ value: Value?) -> Entry {
      .copied(value.map { CopiedValue($0) })
    }
    let (parser, details) = (parser, parser.details)
    return switch input.id {
    case kAudioFileStreamProperty_ReadyToProducePackets: .flag(details != nil)
    case kAudioFileStreamProperty_FileFormat: known(details?.container.typeID)
    case kAudioFileStreamProperty_DataFormat: known(details?.format.streamDescription)
    case kAudioFileStreamProperty_FormatList:
      .copied(details.map { CopiedValue(whole: $0.formatList) })
    case kAudioFileStreamProperty_MagicCookieData:
      .copied(details.flatMap { $0.cookie.isEmpty ? nil : CopiedValue(bytes: $0.cookie) })
    case kAudioFileStreamProperty_AudioDataByteCount:
      known(details?.dataBytes.map { UInt64(clamping: $0) })
    case kAudioFileStreamProperty_AudioDataPacketCount:
      known(details?.packetCount.map { UInt64(clamping: $0) })
    case kAudioFileStreamProperty_MaximumPacketSize:
      known(details?.maximumPacketBytes.map { UInt32(clamping: $0) })
    case kAudioFileStreamProperty_DataOffset: known(details?.dataOffset)
    case kAudioFileStreamProperty_ChannelLayout:
      .copied((details?.channelRoles).map { CopiedValue(bytes: ChannelLayout(roles: $0).bytes) })
    case kAudioFileStreamProperty_PacketTableInfo:
      known(details?.packetTable.map { AudioFilePacketTableInfo($0) })
    case kAudioFileStreamProperty_PacketSizeUpperBound:
      known(details.map { UInt32(clamping: $0.packetBytesLimit) })
    case kAudioFileStreamProperty_AverageBytesPerPacket:
      known(details == nil ? nil : parser.averagePacketBytes)
    case kAudioFileStreamProperty_BitRate: known(details?.bitRate.map { UInt32(clamping: $0) })
    case kAudioFileStreamProperty_RestrictsRandomAccess: known(details.map { _ in UInt32(0) })
    case kAudioFileStreamProperty_InfoDictionary:
      .copied(
        details.flatMap { details in
          details.tags.isEmpty
            ? nil : CopiedValue(object: makeDictionary(details.tags.map { ($0, $1.cfString) }))
        })
    case kAudioFileStreamProperty_PacketToFrame:
      .answer(input) { (ask: AudioFramePacketTranslation) in
        parser.frame(ofPacket: ask.mPacket).map { location in
          AudioFramePacketTranslation(
            mFrame: location.position, mPacket: location.packet,
            mFrameOffsetInPacket: ask.mFrameOffsetInPacket)
        }
      }
    case kAudioFileStreamProperty_FrameToPacket:
      .answer(input) { (ask: AudioFramePacketTranslation) in
        parser.packet(ofFrame: ask.mFrame).map { location in
          AudioFramePacketTranslation(
            mFrame: location.position, mPacket: location.packet,
            mFrameOffsetInPacket: UInt32(clamping: location.rest))
        }
      }
    case kAudioFileStreamProperty_PacketToByte:
      .answer(input) { (ask: AudioBytePacketTranslation) in
        parser.location(ofPacket: ask.mPacket).map { location in
          AudioBytePacketTranslation(
            mByte: location.position, mPacket: location.packet,
            mByteOffsetInPacket: ask.mByteOffsetInPacket,
            mFlags: location.isEstimated ? AudioBytePacketTranslationFlags.estimate : [])
        }
      }
    case kAudioFileStreamProperty_ByteToPacket:
      .answer(input) { (ask: AudioBytePacketTranslation) in
        parser.location(ofByte: ask.mByte).map { location in
          AudioBytePacketTranslation(
            mByte: location.position, mPacket: location.packet,
            mByteOffsetInPacket: UInt32(clamping: location.rest),
            mFlags: location.isEstimated ? AudioBytePacketTranslationFlags.estimate : [])
        }
      }
    default: throw .unsupportedProperty(input.id)
    }
  }

  /// The failure for a property that has no value now.
  func unknownValue(_ id: AudioFileStreamPropertyID) -> FileStreamFailure {
    .unknownValue(id, isReady: parser.details != nil)
  }
}

extension AudioBytePacketTranslationFlags {
  /// Swift cannot shorten the name of this enum's only member.
  fileprivate static let estimate = Self(rawValue: 1)
}

extension StreamParser.Details {
  /// The formats that the stream can be decoded as, best first.
  fileprivate var formatList: [AudioFormatListItem] {
    switch format {
    case .packets(let format): AudioToolbox.formatList(of: format, cookie: cookie)
    case .pcm(let format):
      [
        AudioFormatListItem(
          mASBD: format.streamDescription,
          mChannelLayoutTag: (channelRoles.map { ChannelLayout(roles: $0) }
            ?? ChannelLayout(channels: format.channels)).tag)
      ]
    }
  }
}

// MARK: The functions of AudioFileStream.h

/// See AudioFileStreamOpen in AudioFileStream.h.
@c @implementation
public func AudioFileStreamOpen(
  _ inClientData: UnsafeMutableRawPointer?,
  _ inPropertyListenerProc: @escaping AudioFileStream_PropertyListenerProc,
  _ inPacketsProc: @escaping AudioFileStream_PacketsProc, _ inFileTypeHint: AudioFileTypeID,
  _ outAudioFileStream: UnsafeMutablePointer<AudioFileStreamID?>
) -> OSStatus {
  unsafe answer("AudioFileStreamOpen", needs: outAudioFileStream) {
    () throws(FileStreamFailure) in
    unsafe outAudioFileStream.pointee = nil
    let listener = unsafe unsafeBitCast(inPropertyListenerProc, to: FileStream.Listener?.self)
    let packets = unsafe unsafeBitCast(inPacketsProc, to: FileStream.Packets?.self)
    guard let listener = unsafe listener, let packets = unsafe packets else {
      throw .badArgument("a function is NULL")
    }
    let parser = StreamParser(hint: Container(typeID: inFileTypeHint))
    let handle = openStreams.add { handle in
      unsafe FileStream(
        parser, AudioFileStreamID(bitPattern: handle)!, listener, packets, inClientData)
    }
    unsafe outAudioFileStream.pointee = AudioFileStreamID(bitPattern: handle)
  }
}

/// See AudioFileStreamParseBytes in AudioFileStream.h.
@c @implementation
public func AudioFileStreamParseBytes(
  _ inAudioFileStream: AudioFileStreamID, _ inDataByteSize: UInt32, _ inData: UnsafeRawPointer?,
  _ inFlags: AudioFileStreamParseFlags
) -> OSStatus {
  answer("AudioFileStreamParseBytes") { () throws(FileStreamFailure) in
    let stream = try unsafe stream(inAudioFileStream)
    guard unsafe inData != nil || inDataByteSize == 0 else {
      throw .badArgument("the data is NULL")
    }
    let piece = unsafe UnsafeRawBufferPointer(start: inData, count: Int(inDataByteSize))
    do throws(StreamFailure) {
      try unsafe stream.parse(piece, isDiscontinuous: inFlags.contains(.discontinuity))
    } catch {
      throw .stream(error)
    }
  }
}

/// See AudioFileStreamSeek in AudioFileStream.h.
@c @implementation
public func AudioFileStreamSeek(
  _ inAudioFileStream: AudioFileStreamID, _ inPacketOffset: Int64,
  _ outDataByteOffset: UnsafeMutablePointer<Int64>,
  _ ioFlags: UnsafeMutablePointer<AudioFileStreamSeekFlags>
) -> OSStatus {
  unsafe answer("AudioFileStreamSeek", needs: outDataByteOffset, ioFlags) {
    () throws(FileStreamFailure) in
    let parser = try unsafe stream(inAudioFileStream).parser
    guard parser.details != nil else { throw .notReady }
    guard let location = parser.seek(toPacket: inPacketOffset) else {
      throw .noSuchPacket(inPacketOffset)
    }
    unsafe outDataByteOffset.pointee = location.position
    unsafe ioFlags.pointee = location.isEstimated ? .offsetIsEstimated : []
  }
}

/// See AudioFileStreamGetPropertyInfo in AudioFileStream.h.
@c @implementation
public func AudioFileStreamGetPropertyInfo(
  _ inAudioFileStream: AudioFileStreamID, _ inPropertyID: AudioFileStreamPropertyID,
  _ outPropertyDataSize: UnsafeMutablePointer<UInt32>?,
  _ outWritable: UnsafeMutablePointer<Bool>?
) -> OSStatus {
  answer("AudioFileStreamGetPropertyInfo") { () throws(FileStreamFailure) in
    unsafe outPropertyDataSize?.pointee = 0
    unsafe outWritable?.pointee = false
    let stream = try unsafe stream(inAudioFileStream)
    let size = try stream.entry(PropertyInput(inPropertyID)).presentSize(
      missing: stream.unknownValue(inPropertyID))
    unsafe outPropertyDataSize?.pointee = UInt32(size)
  }
}

/// See AudioFileStreamGetProperty in AudioFileStream.h.
@c @implementation
public func AudioFileStreamGetProperty(
  _ inAudioFileStream: AudioFileStreamID, _ inPropertyID: AudioFileStreamPropertyID,
  _ ioPropertyDataSize: UnsafeMutablePointer<UInt32>, _ outPropertyData: UnsafeMutableRawPointer
) -> OSStatus {
  unsafe answer("AudioFileStreamGetProperty", needs: ioPropertyDataSize, outPropertyData) {
    () throws(FileStreamFailure) in
    let stream = try unsafe stream(inAudioFileStream)
    let input = unsafe PropertyInput<FileStreamFailure>(
      inPropertyID, outPropertyData, ioPropertyDataSize.pointee)
    try unsafe input.copy(
      stream.entry(input), ioPropertyDataSize, missing: stream.unknownValue(inPropertyID))
  }
}

/// See AudioFileStreamSetProperty in AudioFileStream.h.
@c @implementation
public func AudioFileStreamSetProperty(
  _ inAudioFileStream: AudioFileStreamID, _ inPropertyID: AudioFileStreamPropertyID,
  _ inPropertyDataSize: UInt32, _ inPropertyData: UnsafeRawPointer
) -> OSStatus {
  answer("AudioFileStreamSetProperty") { () throws(FileStreamFailure) in
    _ = try unsafe stream(inAudioFileStream)
    throw .readOnlyProperty(inPropertyID)
  }
}

/// See AudioFileStreamClose in AudioFileStream.h.
@c @implementation
public func AudioFileStreamClose(_ inAudioFileStream: AudioFileStreamID) -> OSStatus {
  answer("AudioFileStreamClose") { () throws(FileStreamFailure) in
    try unsafe stream(inAudioFileStream).close()
    openStreams.remove(UInt(bitPattern: inAudioFileStream))
  }
}
