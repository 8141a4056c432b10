public import CAudioToolbox
import Codecs
import CoreFoundation
import Files
import RealTime

/// A property of an open sound file, and what the app passes with it.
private struct FileProperty {
  typealias Entry = PropertyEntry<AudioFileFailure>

  let media: any MediaFile
  let input: PropertyInput<AudioFileFailure>

  /// Returns the property's entry; nil if no file has it.
  func entry() -> Entry? {
    let (media, takesPackets) = (media, media.takesPackets)
    return switch input.id {
    case kAudioFilePropertyFileFormat: .value(media.container.typeID)
    case kAudioFilePropertyDataFormat: .value(media.format.streamDescription)
    case kAudioFilePropertyFormatList: .copied(CopiedValue(whole: try formatList()))
    case kAudioFilePropertyDataFormatName: .string(media.format.streamDescription.name)
    case kAudioFilePropertyIsOptimized: .flag(try onFile(media.isOptimized))
    case kAudioFilePropertyMagicCookieData:
      .copied(media.cookie.isEmpty ? nil : CopiedValue(bytes: media.cookie)).setting(
        if: takesPackets, try onFile(media.setCookie(input.array())))
    case kAudioFilePropertyAudioDataByteCount: .value(UInt64(try onFile(media.byteCount)))
    case kAudioFilePropertyAudioDataPacketCount: .value(UInt64(try onFile(media.packetCount)))
    case kAudioFilePropertyMaximumPacketSize, kAudioFilePropertyPacketSizeUpperBound:
      .value(UInt32(clamping: try onFile(media.maximumPacketBytes)))
    case kAudioFilePropertyDataOffset: .value(try onFile(media.dataOffset))
    case kAudioFilePropertyChannelLayout:
      .copied(try onFile(media.layout).map { CopiedValue(bytes: $0.bytes) }).setting(
        if: media.takesLayout, try setLayout())
    case kAudioFilePropertyDeferSizeUpdates:
      .flag(media.defersSizes).setting(
        if: media.isWritable, media.defersSizes = try input.flag())
    case kAudioFilePropertyMarkerList:
      .copied(try onFile(media.chunked?.markers()).map(\.copied)).setting(
        if: takesLists(in: [.aiff, .aifc, .wave, .rf64]), try setMarkers())
    case kAudioFilePropertyRegionList:
      .copied(try onFile(media.chunked?.regions()).map(\.copied)).setting(
        if: takesLists(in: [.wave, .rf64]), try setRegions())
    case kAudioFilePropertyRestrictsRandomAccess: .flag(false)
    case kAudioFilePropertyChunkIDs:
      .copied(media.chunked.map { CopiedValue(whole: $0.chunkIDs.map(\.code)) })
    case kAudioFilePropertyInfoDictionary:
      .copied(try info()).setting(
        if: takesPackets || takesPCM && media.container != .next && media.container != .wave64,
        try setInfo())
    case kAudioFilePropertyPacketTableInfo:
      .copied(try onFile(media.packetTable).map { CopiedValue(AudioFilePacketTableInfo($0)) })
        .setting(if: takesPackets, try setPacketTable(input.value()))
    case kAudioFilePropertyReserveDuration:
      .value(media.reservedDuration).setting(
        if: media.takesReservation, try reserve(input.value()))
    case kAudioFilePropertyEstimatedDuration: .value(try onFile(media.duration))
    case kAudioFilePropertyBitRate:
      .value(UInt32(clamping: Int64(clamping: try onFile(media.bitRate))))
    case kAudioFilePropertyID3Tag:
      .copied(try onFile(media.id3Tag).map { CopiedValue(bytes: $0) })
    case kAudioFilePropertyAlbumArtwork:
      .copied(
        try onFile(media.artwork).map {
          CopiedValue(object: unsafe CFDataCreate(nil, $0, $0.count))
        })
    case kAudioFilePropertySourceBitDepth: .copied(sourceBits.map { CopiedValue($0) })
    case kAudioFilePropertyAudioTrackCount: .value(UInt32(1))
    case kAudioFilePropertyUseAudioTrack:
      .value(UInt32(0)).setting(try checkTrack(input.value()))
    default: nil
    }
  }

  /// True for linear PCM that can be changed.
  private var takesPCM: Bool { media.pcm != nil && media.isWritable }

  /// True if the file takes lists of markers or regions. Any CAF file does, of other files those of linear PCM
  /// in some containers.
  private func takesLists(in containers: [Container]) -> Bool {
    media.container == .caf
      ? media.takesPackets || takesPCM : takesPCM && containers.contains(media.container)
  }

  // MARK: Values

  private func formatList() throws(AudioFileFailure) -> [AudioFormatListItem] {
    var list: [AudioFormatListItem] =
      switch media.format {
      case .packets(let format): AudioToolbox.formatList(of: format, cookie: media.cookie)
      case .pcm(let format):
        [
          AudioFormatListItem(
            mASBD: format.streamDescription,
            mChannelLayoutTag: kAudioChannelLayoutTag_Unknown | UInt32(format.channels))
        ]
      }
    if let layout = try onFile(media.layout) { list[0].mChannelLayoutTag = layout.tag }
    return list
  }

  private func info() throws(AudioFileFailure) -> CopiedValue? {
    guard var tags = try onFile(media.tags()) else { return nil }
    tags[kAFInfoDictionary_ApproximateDurationInSeconds] = String(try onFile(media.duration))
    return CopiedValue(object: makeDictionary(tags.map { ($0, $1.cfString) }))
  }

  private var sourceBits: Int32? {
    guard media.sourceBits > 0 else { return nil }
    if case .pcm(let format) = media.format, format.kind == .float {
      return -Int32(media.sourceBits)
    }
    return Int32(media.sourceBits)
  }

  // MARK: Setting

  private func checkTrack(_ track: UInt32) throws(AudioFileFailure) {
    guard track == 0 else { throw .badArgument("there is no track \(track)") }
  }

  private func reserve(_ seconds: Double) throws(AudioFileFailure) {
    guard seconds.isFinite, seconds >= 0 else {
      throw .badArgument("\(seconds) seconds cannot be reserved")
    }
    media.reservedDuration = seconds
  }

  private func setPacketTable(_ info: AudioFilePacketTableInfo) throws(AudioFileFailure) {
    guard info.mNumberValidFrames >= 0, info.mPrimingFrames >= 0, info.mRemainderFrames >= 0 else {
      throw .badArgument("a number of frames is negative")
    }
    try onFile(
      media.setPacketTable(
        PacketTable(
          validFrames: info.mNumberValidFrames, primingFrames: Int(info.mPrimingFrames),
          remainderFrames: Int(info.mRemainderFrames))))
  }

  private func setLayout() throws(AudioFileFailure) {
    guard let layout = ChannelLayout(input.array()) else { throw badSize }
    guard layout.channels == media.format.channels else {
      throw .badArgument(
        "the layout has \(layout.channels) channels, the file \(media.format.channels)")
    }
    try onFile(media.setLayout(layout))
  }

  private func setInfo() throws(AudioFileFailure) {
    guard let pointer = unsafe try input.value(UnsafeRawPointer?.self) else { throw badSize }
    var tags = entries(of: unsafe Unmanaged.fromOpaque(pointer).takeUnretainedValue())
    tags[kAFInfoDictionary_ApproximateDurationInSeconds] = nil
    try onFile(media.setTags(tags))
  }

  private func setMarkers() throws(AudioFileFailure) {
    guard let list = MediaMarkers(input.array()) else { throw badSize }
    try onFile(media.chunked?.setMarkers(list))
  }

  private func setRegions() throws(AudioFileFailure) {
    guard let list = MediaRegions(input.array()) else { throw badSize }
    try onFile(media.chunked?.setRegions(list))
  }

  private var badSize: AudioFileFailure { .badPropertySize(input.id, input.byteCount) }

  // MARK: Translations of positions

  /// Returns the entry of a property that translates a position exactly; nil for other ones.
  func translation() -> Entry? {
    let media = media
    switch input.id {
    case kAudioFilePropertyPacketToFrame:
      return .answer(input) { (asked: AudioFramePacketTranslation) throws(AudioFileFailure) in
        let packet = try Self.checked(asked.mPacket)
        var answer = asked
        answer.mFrame = try onFile(media.frame(ofPacket: packet))
        return answer
      }
    case kAudioFilePropertyPacketToByte:
      return .answer(input) { (asked: AudioBytePacketTranslation) throws(AudioFileFailure) in
        let packet = try Self.checked(asked.mPacket)
        var answer = asked
        answer.mByte = try onFile(media.byte(ofPacket: packet))
        answer.mFlags = []
        return answer
      }
    case kAudioFilePropertyFrameToPacket:
      return .answer(input) { (asked: AudioFramePacketTranslation) throws(AudioFileFailure) in
        let frame = try Self.checked(asked.mFrame)
        let found = try onFile(media.packet(atFrame: frame))
        return AudioFramePacketTranslation(
          mFrame: asked.mFrame, mPacket: found.packet,
          mFrameOffsetInPacket: UInt32(clamping: found.offset))
      }
    case kAudioFilePropertyByteToPacket:
      return .answer(input) { (asked: AudioBytePacketTranslation) throws(AudioFileFailure) in
        let byte = try Self.checked(asked.mByte)
        let found = try onFile(media.packet(atByte: byte))
        return AudioBytePacketTranslation(
          mByte: asked.mByte, mPacket: found.packet,
          mByteOffsetInPacket: UInt32(clamping: found.offset), mFlags: [])
      }
    case kAudioFilePropertyNextIndependentPacket:
      // In all supported formats every packet is independent.
      return .answer(input) { (asked: AudioIndependentPacketTranslation) throws(AudioFileFailure) in
        var answer = asked
        let packet = try Self.checked(asked.mPacket)
        let isLast = packet >= (try onFile(media.packetCount)) - 1
        answer.mIndependentlyDecodablePacket = isLast ? -1 : packet + 1
        return answer
      }
    default: return nil
    }
  }

  private static func checked(_ position: Int64) throws(AudioFileFailure) -> Int64 {
    guard position >= 0 else { throw .negativePosition(position) }
    return position
  }
}

extension AudioFilePacketTableInfo {
  init(_ table: PacketTable) {
    self.init(
      mNumberValidFrames: table.validFrames, mPrimingFrames: Int32(clamping: table.primingFrames),
      mRemainderFrames: Int32(clamping: table.remainderFrames))
  }
}

extension Int64 {
  /// Rounds towards zero and clamps to -2^62...2^62. NaN becomes 0.
  fileprivate init(clamping value: Double) {
    self = value.isNaN ? 0 : Int64(Swift.min(Swift.max(value, -0x1p62), 0x1p62))
  }
}

extension MediaFile {
  /// The channel layout; nil if the file does not contain one.
  var layout: ChannelLayout? {
    get throws(SoundFileError) {
      if let words = try pcm?.channelLayoutWords() {
        let bytes = unsafe words.withUnsafeBytes { unsafe Array($0) }
        if let layout = ChannelLayout(bytes) { return layout }
      }
      if let mask = pcm?.channelMask {
        let roles = (0..<18).filter { mask >> $0 & 1 == 1 }.compactMap { bit in
          ChannelRole.allCases.first { $0.label == UInt32(bit) + 1 }
        }
        return ChannelLayout(roles: roles)
      }
      return channelRoles.map { ChannelLayout(roles: $0) }
    }
  }
}

/// See AudioFileGetPropertyInfo in AudioFile.h.
@c @implementation
public func AudioFileGetPropertyInfo(
  _ inAudioFile: AudioFileID, _ inPropertyID: AudioFilePropertyID,
  _ outDataSize: UnsafeMutablePointer<UInt32>?, _ isWritable: UnsafeMutablePointer<UInt32>?
) -> OSStatus {
  answer("AudioFileGetPropertyInfo") { () throws(AudioFileFailure) in
    unsafe outDataSize?.pointee = 0
    unsafe isWritable?.pointee = 0
    let property = unsafe FileProperty(
      media: try OpenFile.find(inAudioFile).media, input: PropertyInput(inPropertyID))
    guard let entry = property.entry() ?? property.translation() else {
      throw .unsupportedProperty(inPropertyID)
    }
    let size = try entry.presentSize(missing: .unsupportedProperty(inPropertyID))
    unsafe outDataSize?.pointee = UInt32(size)
    unsafe isWritable?.pointee = entry.write == nil ? 0 : 1
  }
}

/// See AudioFileGetProperty in AudioFile.h.
@c @implementation
public func AudioFileGetProperty(
  _ inAudioFile: AudioFileID, _ inPropertyID: AudioFilePropertyID,
  _ ioDataSize: UnsafeMutablePointer<UInt32>, _ outPropertyData: UnsafeMutableRawPointer
) -> OSStatus {
  unsafe answer("AudioFileGetProperty", needs: ioDataSize, outPropertyData) {
    () throws(AudioFileFailure) in
    let property = unsafe FileProperty(
      media: try OpenFile.find(inAudioFile).media,
      input: PropertyInput(inPropertyID, outPropertyData, ioDataSize.pointee))
    try unsafe property.input.copy(
      property.entry() ?? property.translation(), ioDataSize,
      missing: .unsupportedProperty(inPropertyID))
  }
}

/// See AudioFileSetProperty in AudioFile.h.
@c @implementation
public func AudioFileSetProperty(
  _ inAudioFile: AudioFileID, _ inPropertyID: AudioFilePropertyID, _ inDataSize: UInt32,
  _ inPropertyData: UnsafeRawPointer
) -> OSStatus {
  answer("AudioFileSetProperty") { () throws(AudioFileFailure) in
    let media = try unsafe OpenFile.find(inAudioFile).media
    let input = try unsafe PropertyInput<AudioFileFailure>(
      inPropertyID, given: inPropertyData, inDataSize)
    // Programs pass on the cookie of every recording, and that of linear PCM is empty.
    if inPropertyID == kAudioFilePropertyMagicCookieData, input.isEmpty, media.isWritable,
      case .pcm = media.format
    {
      return
    }
    let entry = FileProperty(media: media, input: input).entry()
    if let write = entry?.write { return try write() }
    let isKnown = (try? entry?.read?()) != nil
    if isKnown, !media.isWritable {
      throw .file(SoundFileError(.notForWriting, path: media.path))
    }
    throw isKnown ? .notSettable(inPropertyID) : .unsupportedProperty(inPropertyID)
  }
}

extension Container {
  /// Returns false if a new file of a format cannot be created with this channel layout. Formats
  /// without any field for a layout ignore it.
  func canStore(_ layout: ChannelLayout, with format: StreamFormat) -> Bool {
    switch format {
    case .packets: layout.roles != nil
    case .pcm:
      ![.wave, .rf64, .wave64].contains(self) || layout.speakers.map { $0 < 1 << 18 } == true
    }
  }
}

extension MediaFile {
  /// True if the channel layout can be written to the file.
  var takesLayout: Bool { takesPackets || pcm != nil && isWritable && container != .next }

  /// Writes the channel layout to the file.
  func setLayout(_ layout: ChannelLayout) throws(SoundFileError) {
    try setChannelLayout(words: layout.words, mask: layout.speakers, roles: layout.roles)
  }
}

/// Returns the strings and numbers of a dictionary as strings.
private func entries(of dictionary: CFDictionary) -> [String: String] {
  let count = CFDictionaryGetCount(dictionary)
  var keys = unsafe [UnsafeRawPointer?](repeating: nil, count: count)
  var values = unsafe [UnsafeRawPointer?](repeating: nil, count: count)
  unsafe CFDictionaryGetKeysAndValues(dictionary._core, &keys, &values)
  var entries: [String: String] = [:]
  for index in 0..<count {
    if let key = unsafe text(keys[index]), let value = unsafe text(values[index]) {
      entries[key] = value
    }
  }
  return entries
}

private func text(_ pointer: UnsafeRawPointer?) -> String? {
  guard let pointer = unsafe pointer else { return nil }
  let object = unsafe Unmanaged<AnyObject>.fromOpaque(pointer).takeUnretainedValue()
  let type = CFGetTypeID(object)
  if type == CFStringGetTypeID() {
    return unsafe Unmanaged<CFString>.fromOpaque(pointer).takeUnretainedValue().string
  }
  guard type == CFNumberGetTypeID() else { return nil }
  let number = unsafe Unmanaged<CFNumber>.fromOpaque(pointer).takeUnretainedValue()
  if CFNumberIsFloatType(number._core) {
    var value = 0.0
    return unsafe CFNumberGetValue(number, .doubleType, &value) ? String(value) : nil
  }
  var value: Int64 = 0
  return unsafe CFNumberGetValue(number, .sInt64Type, &value) ? String(value) : nil
}
