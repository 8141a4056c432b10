public import CAudioToolbox
import Codecs
import CoreFoundation
import Files
import RealTime

/// The value of a property. Its Core Foundation objects are created when it is copied.
enum PropertyValue {
  case bytes([UInt8])
  case string(String)
  case data([UInt8])
  case strings([String])
  case dictionary([String: String])
  case markers(MediaMarkers)
  case regions(MediaRegions)

  static func number<Number: BitwiseCopyable>(_ number: Number) -> PropertyValue {
    var value = ValueBytes()
    value.append(number)
    return .bytes(value.bytes)
  }

  static func words(_ words: [UInt32]) -> PropertyValue {
    var value = ValueBytes()
    for word in words { value.append(word) }
    return .bytes(value.bytes)
  }

  static func descriptions(_ list: [AudioStreamBasicDescription]) -> PropertyValue {
    var value = ValueBytes()
    for description in list { value.append(description) }
    return .bytes(value.bytes)
  }

  var byteCount: Int {
    switch self {
    case .bytes(let bytes): bytes.count
    case .string, .data, .strings, .dictionary: MemoryLayout<UInt>.size
    case .markers(let list): list.byteCount
    case .regions(let list): list.byteCount
    }
  }

  /// Copies the value to memory with room for `size` bytes, and sets `size` to the size of the
  /// value.
  func copy(
    to memory: UnsafeMutableRawPointer, size: UnsafeMutablePointer<UInt32>
  ) throws(AudioFileFailure) {
    let room = unsafe size.pointee
    guard byteCount <= Int(room) else { throw .propertyTooLarge(size: byteCount, room: room) }
    let bytes = self.bytes
    unsafe memory.copyMemory(from: bytes, byteCount: bytes.count)
    unsafe size.pointee = UInt32(bytes.count)
  }

  private var bytes: [UInt8] {
    switch self {
    case .bytes(let bytes): bytes
    case .string(let text): Self.object(text.cfString)
    case .data(let bytes): unsafe Self.object(CFDataCreate(nil, bytes, bytes.count))
    case .strings(let texts):
      unsafe withUnsafePointer(to: kCFTypeArrayCallBacks) {
        let array = unsafe CFArrayCreateMutable(nil, 0, $0)
        for text in texts {
          let string = text.cfString
          unsafe CFArrayAppendValue(array, Unmanaged.passUnretained(string).toOpaque())
        }
        return Self.object(array)
      }
    case .dictionary(let entries):
      unsafe withUnsafePointer(to: kCFTypeDictionaryKeyCallBacks) { keys in
        unsafe withUnsafePointer(to: kCFTypeDictionaryValueCallBacks) { values in
          let dictionary = unsafe CFDictionaryCreateMutable(nil, 0, keys, values)
          for (key, text) in entries {
            let (key, string) = (key.cfString, text.cfString)
            unsafe CFDictionarySetValue(
              dictionary, Unmanaged.passUnretained(key).toOpaque(),
              Unmanaged.passUnretained(string).toOpaque())
          }
          return Self.object(dictionary)
        }
      }
    case .markers(let list): list.value
    case .regions(let list): list.value
    }
  }

  /// Returns the bytes of a retained object pointer. The caller must release the object.
  private static func object(_ object: AnyObject?) -> [UInt8] {
    var value = ValueBytes()
    let pointer = unsafe object.map { unsafe Unmanaged.passRetained($0).toOpaque() }
    value.append(UInt(bitPattern: pointer))
    return value.bytes
  }
}

// MARK: Reading properties

private func value(
  of id: AudioFilePropertyID, in media: any MediaFile
) throws(AudioFileFailure) -> PropertyValue {
  let value = try onFile(knownValue(of: id, in: media))
  guard let value else { throw .unsupportedProperty(id) }
  return value
}

/// Returns the value of a property; nil if the file does not have it.
private func knownValue(
  of id: AudioFilePropertyID, in media: any MediaFile
) throws(SoundFileError) -> PropertyValue? {
  switch id {
  case kAudioFilePropertyFileFormat: return .number(media.container.typeID)
  case kAudioFilePropertyDataFormat: return .number(media.format.streamDescription)
  case kAudioFilePropertyFormatList:
    var list: [AudioFormatListItem] =
      switch media.format {
      case .packets(let format): formatList(of: format, cookie: media.cookie)
      case .pcm(let format):
        [
          AudioFormatListItem(
            mASBD: format.streamDescription,
            mChannelLayoutTag: kAudioChannelLayoutTag_Unknown | UInt32(format.channels))
        ]
      }
    if let layout = try media.layout { list[0].mChannelLayoutTag = layout.tag }
    return .bytes(PropertyBytes.of(list))
  case kAudioFilePropertyDataFormatName: return .string(media.format.streamDescription.name)
  case kAudioFilePropertyIsOptimized: return .number(UInt32(try media.isOptimized ? 1 : 0))
  case kAudioFilePropertyMagicCookieData:
    return media.cookie.isEmpty ? nil : .bytes(media.cookie)
  case kAudioFilePropertyAudioDataByteCount: return .number(UInt64(try media.byteCount))
  case kAudioFilePropertyAudioDataPacketCount: return .number(UInt64(try media.packetCount))
  case kAudioFilePropertyMaximumPacketSize, kAudioFilePropertyPacketSizeUpperBound:
    return .number(UInt32(clamping: try media.maximumPacketBytes))
  case kAudioFilePropertyDataOffset: return .number(try media.dataOffset)
  case kAudioFilePropertyChannelLayout: return try media.layout.map { .bytes($0.bytes) }
  case kAudioFilePropertyDeferSizeUpdates: return .number(UInt32(media.defersSizes ? 1 : 0))
  case kAudioFilePropertyMarkerList:
    return try media.chunked?.markers().map(PropertyValue.markers)
  case kAudioFilePropertyRegionList:
    return try media.chunked?.regions().map(PropertyValue.regions)
  case kAudioFilePropertyRestrictsRandomAccess: return .number(UInt32(0))
  case kAudioFilePropertyChunkIDs:
    return media.chunked.map { .words($0.chunkIDs.map(\.code)) }
  case kAudioFilePropertyInfoDictionary:
    guard var tags = try media.tags() else { return nil }
    tags[kAFInfoDictionary_ApproximateDurationInSeconds] = String(try media.duration)
    return .dictionary(tags)
  case kAudioFilePropertyPacketTableInfo:
    return try media.packetTable.map { .number(AudioFilePacketTableInfo($0)) }
  case kAudioFilePropertyReserveDuration: return .number(media.reservedDuration)
  case kAudioFilePropertyEstimatedDuration: return .number(try media.duration)
  case kAudioFilePropertyBitRate:
    return .number(UInt32(clamping: Int64(clamping: try media.bitRate)))
  case kAudioFilePropertyID3Tag: return try media.id3Tag.map(PropertyValue.bytes)
  case kAudioFilePropertyAlbumArtwork: return try media.artwork.map(PropertyValue.data)
  case kAudioFilePropertySourceBitDepth:
    guard media.sourceBits > 0 else { return nil }
    if case .pcm(let format) = media.format, format.kind == .float {
      return .number(-Int32(media.sourceBits))
    }
    return .number(Int32(media.sourceBits))
  case kAudioFilePropertyAudioTrackCount: return .number(UInt32(1))
  case kAudioFilePropertyUseAudioTrack: return .number(UInt32(0))
  default: return nil
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
        var bytes = ValueBytes()
        for word in words { bytes.append(word) }
        if let layout = ChannelLayout(bytes.bytes) { return layout }
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
    let media = try unsafe OpenFile.find(inAudioFile).media
    let isSettable = media.isSettable(inPropertyID)
    if let size = translationBytes(inPropertyID) {
      unsafe outDataSize?.pointee = UInt32(size)
      return
    }
    let value = try onFile(knownValue(of: inPropertyID, in: media))
    // A property that can be set may have no value yet.
    guard value != nil || isSettable else { throw .unsupportedProperty(inPropertyID) }
    unsafe outDataSize?.pointee = UInt32(value?.byteCount ?? 0)
    unsafe isWritable?.pointee = isSettable ? 1 : 0
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
    let media = try unsafe OpenFile.find(inAudioFile).media
    if let size = translationBytes(inPropertyID) {
      let room = unsafe ioDataSize.pointee
      guard room >= size else { throw .propertyTooLarge(size: size, room: room) }
      let bytes = unsafe [UInt8](UnsafeRawBufferPointer(start: outPropertyData, count: size))
      let value = try translation(inPropertyID, bytes, media)
      return try unsafe value.copy(to: outPropertyData, size: ioDataSize)
    }
    try unsafe value(of: inPropertyID, in: media).copy(to: outPropertyData, size: ioDataSize)
  }
}

// MARK: Position translations

/// Returns the size in bytes of the structure that a translation property takes. Nil for other
/// properties.
private func translationBytes(_ id: AudioFilePropertyID) -> Int? {
  switch id {
  case kAudioFilePropertyPacketToFrame, kAudioFilePropertyFrameToPacket:
    MemoryLayout<AudioFramePacketTranslation>.stride
  case kAudioFilePropertyPacketToByte, kAudioFilePropertyByteToPacket:
    MemoryLayout<AudioBytePacketTranslation>.stride
  case kAudioFilePropertyNextIndependentPacket:
    MemoryLayout<AudioIndependentPacketTranslation>.stride
  default: nil
  }
}

private func translation(
  _ id: AudioFilePropertyID, _ bytes: [UInt8], _ media: any MediaFile
) throws(AudioFileFailure) -> PropertyValue {
  id == kAudioFilePropertyNextIndependentPacket
    ? try independentPacket(bytes, media) : try translate(id, bytes, media)
}

/// Translates to the next independent packet. In all supported formats every packet is independent.
private func independentPacket(
  _ bytes: [UInt8], _ media: any MediaFile
) throws(AudioFileFailure) -> PropertyValue {
  var reader = ValueReader(bytes)
  let packet = reader.read(Int64.self) ?? 0
  guard packet >= 0 else { throw .negativePosition(packet) }
  let count = try onFile(media.packetCount)
  var value = ValueBytes()
  value.append(packet)
  value.append(packet < count - 1 ? packet + 1 : -1)
  return .bytes(value.bytes)
}

/// Translates between frames, bytes and packets. Both structures consist of two positions, an
/// offset and flags. The result is always exact.
private func translate(
  _ id: AudioFilePropertyID, _ bytes: [UInt8], _ media: any MediaFile
) throws(AudioFileFailure) -> PropertyValue {
  var reader = ValueReader(bytes)
  var position = reader.read(Int64.self) ?? 0
  var packet = reader.read(Int64.self) ?? 0
  var offset = reader.read(UInt32.self) ?? 0
  let isPacketAsked =
    id == kAudioFilePropertyFrameToPacket || id == kAudioFilePropertyByteToPacket
  let asked = isPacketAsked ? position : packet
  guard asked >= 0 else { throw .negativePosition(asked) }
  do throws(SoundFileError) {
    switch id {
    case kAudioFilePropertyPacketToFrame: position = try media.frame(ofPacket: packet)
    case kAudioFilePropertyPacketToByte: position = try media.byte(ofPacket: packet)
    case kAudioFilePropertyFrameToPacket:
      let found = try media.packet(atFrame: position)
      (packet, offset) = (found.packet, UInt32(clamping: found.offset))
    default:
      let found = try media.packet(atByte: position)
      (packet, offset) = (found.packet, UInt32(clamping: found.offset))
    }
  } catch { throw .file(error) }
  var value = ValueBytes()
  value.append(position)
  value.append(packet)
  value.append(offset)
  value.append(UInt32(0))
  return .bytes(value.bytes)
}

// MARK: Setting properties

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
  /// Writes the channel layout to the file.
  func setLayout(_ layout: ChannelLayout) throws(SoundFileError) {
    try setChannelLayout(words: layout.words, mask: layout.speakers, roles: layout.roles)
  }

  func isSettable(_ id: AudioFilePropertyID) -> Bool {
    let holdsPCM = pcm != nil
    switch id {
    case kAudioFilePropertyUseAudioTrack: return true
    case kAudioFilePropertyDeferSizeUpdates: return isWritable
    case kAudioFilePropertyMagicCookieData, kAudioFilePropertyPacketTableInfo:
      return takesPackets
    case kAudioFilePropertyReserveDuration: return takesReservation
    case kAudioFilePropertyChannelLayout:
      return takesPackets || (holdsPCM && isWritable && container != .next)
    case kAudioFilePropertyInfoDictionary:
      return takesPackets || (holdsPCM && isWritable && container != .next && container != .wave64)
    case kAudioFilePropertyMarkerList:
      switch container {
      case .aiff, .aifc, .wave, .rf64: return holdsPCM && isWritable
      case .caf: return takesPackets || (holdsPCM && isWritable)
      default: return false
      }
    case kAudioFilePropertyRegionList:
      switch container {
      case .wave, .rf64: return holdsPCM && isWritable
      case .caf: return takesPackets || (holdsPCM && isWritable)
      default: return false
      }
    default: return false
    }
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
    guard let bytes = unsafe copyBytes(at: inPropertyData, count: inDataSize) else {
      throw .badArgument("the value is NULL")
    }
    // Programs pass on the cookie of every recording, and that of linear PCM is empty.
    if inPropertyID == kAudioFilePropertyMagicCookieData, bytes.isEmpty, media.isWritable,
      case .pcm = media.format
    {
      return
    }
    guard media.isSettable(inPropertyID) else {
      let isKnown = (try? value(of: inPropertyID, in: media)) != nil
      if isKnown, !media.isWritable {
        throw .file(SoundFileError(.notForWriting, path: media.path))
      }
      throw isKnown ? .notSettable(inPropertyID) : .unsupportedProperty(inPropertyID)
    }
    try set(inPropertyID, bytes, in: media)
  }
}

private func set(
  _ id: AudioFilePropertyID, _ bytes: [UInt8], in media: any MediaFile
) throws(AudioFileFailure) {
  var reader = ValueReader(bytes)
  let badSize = AudioFileFailure.badPropertySize(id, bytes.count)
  switch id {
  case kAudioFilePropertyDeferSizeUpdates:
    guard let value: UInt32 = reader.read() else { throw badSize }
    media.defersSizes = value != 0
  case kAudioFilePropertyUseAudioTrack:
    guard let track: UInt32 = reader.read() else { throw badSize }
    guard track == 0 else { throw .badArgument("there is no track \(track)") }
  case kAudioFilePropertyReserveDuration:
    guard let seconds: Double = reader.read() else { throw badSize }
    guard seconds.isFinite, seconds >= 0 else {
      throw .badArgument("\(seconds) seconds cannot be reserved")
    }
    media.reservedDuration = seconds
  case kAudioFilePropertyMagicCookieData:
    try onFile(media.setCookie(bytes))
  case kAudioFilePropertyPacketTableInfo:
    guard let valid: Int64 = reader.read(), let priming: Int32 = reader.read(),
      let remainder: Int32 = reader.read()
    else { throw badSize }
    guard valid >= 0, priming >= 0, remainder >= 0 else {
      throw .badArgument("a number of frames is negative")
    }
    try onFile(
      media.setPacketTable(
        PacketTable(
          validFrames: valid, primingFrames: Int(priming), remainderFrames: Int(remainder))))
  case kAudioFilePropertyChannelLayout:
    guard let layout = ChannelLayout(bytes) else { throw badSize }
    guard layout.channels == media.format.channels else {
      throw .badArgument(
        "the layout has \(layout.channels) channels, the file \(media.format.channels)")
    }
    try onFile(media.setLayout(layout))
  case kAudioFilePropertyInfoDictionary:
    guard let word: UInt = reader.read(),
      let pointer = unsafe UnsafeRawPointer(bitPattern: word)
    else { throw badSize }
    let dictionary = unsafe Unmanaged<CFDictionary>.fromOpaque(pointer).takeUnretainedValue()
    var tags = entries(of: dictionary)
    tags[kAFInfoDictionary_ApproximateDurationInSeconds] = nil
    try onFile(media.setTags(tags))
  case kAudioFilePropertyMarkerList:
    guard let list = MediaMarkers(bytes) else { throw badSize }
    try onFile(media.chunked?.setMarkers(list))
  case kAudioFilePropertyRegionList:
    guard let list = MediaRegions(bytes) else { throw badSize }
    try onFile(media.chunked?.setRegions(list))
  default: throw .notSettable(id)
  }
}

/// Returns the strings and numbers of a dictionary as strings.
private func entries(of dictionary: CFDictionary) -> [String: String] {
  let count = CFDictionaryGetCount(dictionary)
  var keys = unsafe [UnsafeRawPointer?](repeating: nil, count: count)
  var values = unsafe [UnsafeRawPointer?](repeating: nil, count: count)
  unsafe CFDictionaryGetKeysAndValues(dictionary, &keys, &values)
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
  if CFNumberIsFloatType(number) {
    var value = 0.0
    return unsafe CFNumberGetValue(number, .doubleType, &value) ? String(value) : nil
  }
  var value: Int64 = 0
  return unsafe CFNumberGetValue(number, .sInt64Type, &value) ? String(value) : nil
}
