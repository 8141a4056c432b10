import CAudioToolbox
import CoreFoundation
import Files

/// A builder for the bytes of a property value.
struct ValueBytes {
  private(set) var bytes: [UInt8] = []

  mutating func append<Value: BitwiseCopyable>(_ value: Value) {
    unsafe withUnsafeBytes(of: value) { unsafe bytes.append(contentsOf: $0) }
  }

  /// Appends a retained CFString, which the caller must release, or NULL.
  mutating func append(_ name: String?) {
    let string = unsafe name.map { unsafe Unmanaged.passRetained($0.cfString).toOpaque() }
    append(UInt(bitPattern: string))
  }
}

/// A sequential reader for the bytes of a property value.
struct ValueReader {
  private let bytes: [UInt8]
  private(set) var offset = 0

  init(_ bytes: [UInt8]) { self.bytes = bytes }

  var left: Int { bytes.count - offset }

  /// Reads a value; nil if too few bytes are left.
  mutating func read<Value: BitwiseCopyable>(_ type: Value.Type = Value.self) -> Value? {
    guard left >= MemoryLayout<Value>.size else { return nil }
    let value = unsafe bytes.withUnsafeBytes {
      unsafe $0.loadUnaligned(fromByteOffset: offset, as: type)
    }
    offset += MemoryLayout<Value>.size
    return value
  }

  /// Reads a CFString that the caller owns and that may be NULL. Nil if too few bytes are left.
  mutating func readName() -> String?? {
    guard let word = read(UInt.self) else { return nil }
    guard let pointer = unsafe UnsafeRawPointer(bitPattern: word) else { return .some(nil) }
    return unsafe Unmanaged<CFString>.fromOpaque(pointer).takeUnretainedValue().string
  }
}

/// Sizes in bytes of an AudioFileMarker, and of the headers of a region and of both lists.
private let markerBytes = unsafe MemoryLayout<AudioFileMarker>.stride
private let regionHeadBytes = unsafe MemoryLayout<AudioFileRegion>.stride - markerBytes
private let listHeadBytes = 8

extension MediaMarkers {
  /// The AudioFileMarkerList. The caller must release its strings.
  var copied: CopiedValue {
    CopiedValue(byteCount: listHeadBytes + markers.count * markerBytes) { value }
  }

  /// The bytes of the list.
  var value: [UInt8] {
    var value = ValueBytes()
    value.append(timeType)
    value.append(UInt32(markers.count))
    for marker in markers { marker.append(to: &value) }
    return value.bytes
  }

  /// Parses an AudioFileMarkerList; nil if the bytes are not one.
  init?(_ bytes: [UInt8]) {
    var reader = ValueReader(bytes)
    guard let timeType: UInt32 = reader.read(), let count: UInt32 = reader.read(),
      let markers = MediaMarker.read(Int(count), from: &reader)
    else { return nil }
    self.init(timeType: timeType, markers: markers)
  }
}

extension MediaRegions {
  /// The AudioFileRegionList. The caller must release its strings.
  var copied: CopiedValue {
    let byteCount = regions.reduce(listHeadBytes) {
      $0 + regionHeadBytes + $1.markers.count * markerBytes
    }
    return CopiedValue(byteCount: byteCount) { value }
  }

  /// The bytes of the list.
  var value: [UInt8] {
    var value = ValueBytes()
    value.append(timeType)
    value.append(UInt32(regions.count))
    for region in regions {
      value.append(region.id)
      value.append(UInt32(0))
      value.append(region.name)
      value.append(region.flags.rawValue)
      value.append(UInt32(region.markers.count))
      for marker in region.markers { marker.append(to: &value) }
    }
    return value.bytes
  }

  /// Parses an AudioFileRegionList; nil if the bytes are not one.
  init?(_ bytes: [UInt8]) {
    var reader = ValueReader(bytes)
    guard let timeType: UInt32 = reader.read(), let count: UInt32 = reader.read() else {
      return nil
    }
    var regions: [MediaRegion] = []
    for _ in 0..<count {
      guard let id: UInt32 = reader.read(), reader.read(UInt32.self) != nil,
        let name = reader.readName(), let flags: UInt32 = reader.read(),
        let count: UInt32 = reader.read(),
        let markers = MediaMarker.read(Int(count), from: &reader)
      else { return nil }
      regions.append(
        MediaRegion(id: id, name: name, flags: .init(rawValue: flags), markers: markers))
    }
    self.init(timeType: timeType, regions: regions)
  }
}

extension MediaMarker {
  /// Appends the marker as an AudioFileMarker.
  fileprivate func append(to value: inout ValueBytes) {
    value.append(position)
    value.append(name)
    value.append(id)
    value.append(smpte?.hours ?? -1)
    value.append(smpte?.minutes ?? .max)
    value.append(smpte?.seconds ?? .max)
    value.append(smpte?.frames ?? .max)
    value.append(smpte?.offset ?? .max)
    value.append(type)
    value.append(UInt16(0))
    value.append(channel)
    value.append(UInt32(0))
  }

  fileprivate static func read(_ count: Int, from reader: inout ValueReader) -> [MediaMarker]? {
    guard count <= reader.left / markerBytes else { return nil }
    var markers: [MediaMarker] = []
    for _ in 0..<count {
      guard let position: Double = reader.read(), let name = reader.readName(),
        let id: Int32 = reader.read(), let hours: Int8 = reader.read(),
        let minutes: UInt8 = reader.read(), let seconds: UInt8 = reader.read(),
        let frames: UInt8 = reader.read(), let offset: UInt32 = reader.read(),
        let type: UInt32 = reader.read(), reader.read(UInt16.self) != nil,
        let channel: UInt16 = reader.read(), reader.read(UInt32.self) != nil
      else { return nil }
      let isTimed = hours != -1 || minutes != .max || seconds != .max || frames != .max
      markers.append(
        MediaMarker(
          position: position, name: name, id: id, type: type, channel: channel,
          smpte: isTimed
            ? SMPTE(
              hours: hours, minutes: minutes, seconds: seconds, frames: frames, offset: offset)
            : nil))
    }
    return markers
  }
}
