/// A parser and builder of CAF's marker, region, string and information chunks.
enum CAFChunks {
  private static var markerBytes: Int { 28 }

  // MARK: Reading. A truncated chunk yields the entries that are complete.

  static func markers(_ chunk: [UInt8], names: [UInt32: String]) -> MediaMarkers {
    let bytes = Bytes(chunk)
    let count = min(number(bytes, 4), max(0, chunk.count - 8) / markerBytes)
    return MediaMarkers(
      timeType: UInt32(number(bytes, 0)),
      markers: (0..<count).map { marker(bytes, at: 8 + $0 * markerBytes, names) })
  }

  static func regions(_ chunk: [UInt8], names: [UInt32: String]) -> MediaRegions {
    let bytes = Bytes(chunk)
    var result = MediaRegions(timeType: UInt32(number(bytes, 0)), regions: [])
    var offset = 8
    for _ in 0..<number(bytes, 4) {
      guard chunk.count - offset >= 12 else { break }
      let id = UInt32(number(bytes, offset))
      let count = min(number(bytes, offset + 8), (chunk.count - offset - 12) / markerBytes)
      result.regions.append(
        MediaRegion(
          id: id, name: names[id], flags: .init(rawValue: UInt32(number(bytes, offset + 4))),
          markers: (0..<count).map { marker(bytes, at: offset + 12 + $0 * markerBytes, names) }))
      offset += 12 + count * markerBytes
    }
    return result
  }

  private static func marker(
    _ bytes: Bytes, at offset: Int, _ names: [UInt32: String]
  ) -> MediaMarker {
    let id = UInt32(number(bytes, offset + 12))
    let time = bytes.slice(at: offset + 16, count: 4)
    // Four 0xFF bytes stand for "no time".
    let isTimed = time != [0xFF, 0xFF, 0xFF, 0xFF] && time.count == 4
    return MediaMarker(
      position: bytes.double(at: offset + 4), name: names[id], id: Int32(bitPattern: id),
      type: UInt32(number(bytes, offset)),
      channel: UInt16(clamping: number(bytes, offset + 24)),
      smpte: isTimed
        ? MediaMarker.SMPTE(
          hours: Int8(bitPattern: time[0]), minutes: time[1], seconds: time[2], frames: time[3],
          offset: UInt32(number(bytes, offset + 20))) : nil)
  }

  /// Returns the strings of a 'strg' chunk by the ids of the objects that they name.
  static func names(_ chunk: [UInt8]) -> [UInt32: String] {
    let bytes = Bytes(chunk)
    let count = min(number(bytes, 0), max(0, chunk.count - 4) / 12)
    var names: [UInt32: String] = [:]
    for index in 0..<count {
      let entry = 4 + 12 * index
      let offset = bytes.unsigned(at: entry + 4, bytes: 8, bigEndian: true)
      guard offset < chunk.count else { continue }
      names[UInt32(number(bytes, entry))] = bytes.text(at: 4 + 12 * count + Int(offset))
    }
    return names
  }

  static func tags(_ chunk: [UInt8]) -> [String: String] {
    var tags: [String: String] = [:]
    let words = chunk.dropFirst(4).split(separator: 0, omittingEmptySubsequences: false)
      .map { FileText.decoded($0) }
    for index in stride(from: 0, to: words.count - 1, by: 2) where !words[index].isEmpty {
      tags[words[index]] = words[index + 1]
    }
    return tags
  }

  private static func number(_ bytes: Bytes, _ offset: Int) -> Int {
    Int(bytes.unsigned(at: offset, bytes: 4, bigEndian: true))
  }

  // MARK: Writing

  static func chunk(_ list: MediaMarkers) -> [UInt8] {
    number(list.timeType) + number(list.markers.count) + list.markers.flatMap(marker)
  }

  static func chunk(_ list: MediaRegions) -> [UInt8] {
    number(list.timeType) + number(list.regions.count)
      + list.regions.flatMap { region in
        number(region.id) + number(region.flags.rawValue) + number(region.markers.count)
          + region.markers.flatMap(marker)
      }
  }

  private static func marker(_ marker: MediaMarker) -> [UInt8] {
    let time = marker.smpte
    let smpte: [UInt8] =
      time.map { [UInt8(bitPattern: $0.hours), $0.minutes, $0.seconds, $0.frames] }
      ?? [0xFF, 0xFF, 0xFF, 0xFF]
    var bytes = number(marker.type)
    bytes += [UInt8](bigEndian: marker.position)
    bytes += number(marker.id)
    bytes += smpte
    bytes += number(time?.offset ?? UInt32.max)
    bytes += number(marker.channel)
    return bytes
  }

  static func chunk(names: [UInt32: String]) -> [UInt8] {
    let sorted = names.sorted { $0.key < $1.key }
    var entries: [UInt8] = []
    var texts: [UInt8] = []
    for (id, name) in sorted {
      entries += number(id) + [UInt8](texts.count, count: 8, bigEndian: true)
      texts += text(name)
    }
    return number(sorted.count) + entries + texts
  }

  static func chunk(tags: [String: String]) -> [UInt8] {
    let sorted = tags.sorted { $0.key < $1.key }
    return number(sorted.count) + sorted.flatMap { text($0.key) + text($0.value) }
  }

  private static func text(_ text: String) -> [UInt8] { text.utf8.filter { $0 != 0 } + [0] }

  private static func number(_ value: some BinaryInteger) -> [UInt8] {
    [UInt8](value, count: 4, bigEndian: true)
  }
}
