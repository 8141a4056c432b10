/// What stands in the chunks of WAVE and RF64 files that tell of the sound.
struct WaveChunks {
  let isBigEndian: Bool

  private func number(_ value: some BinaryInteger) -> [UInt8] {
    [UInt8](value, count: 4, bigEndian: isBigEndian)
  }
  private func number(_ bytes: Bytes, _ offset: Int) -> Int {
    Int(bytes.unsigned(at: offset, bytes: 4, bigEndian: isBigEndian))
  }

  /// The chunks inside a list, whose own name comes first.
  func list(_ chunk: [UInt8]) -> [(id: ChunkID, bytes: [UInt8])] {
    let bytes = Bytes(chunk)
    var found: [(ChunkID, [UInt8])] = []
    var offset = 4
    while chunk.count - offset >= 8 {
      let size = number(bytes, offset + 4)
      found.append((ChunkID(bytes, at: offset), bytes.slice(at: offset + 8, count: size)))
      offset += 8 + size + size % 2
    }
    return found
  }

  func list(_ name: ChunkID, _ chunks: [(id: ChunkID, bytes: [UInt8])]) -> [UInt8] {
    let grammar = ChunkGrammar.riff(bigEndian: isBigEndian)
    return name.bytes + chunks.flatMap { grammar.chunk($0.id, $0.bytes) }
  }

  // MARK: Tags

  static let tagNames: [(id: ChunkID, key: String)] = [
    ("INAM", "title"), ("IART", "artist"), ("IPRD", "album"), ("ICMT", "comments"),
    ("ICOP", "copyright"), ("ICRD", "year"), ("IGNR", "genre"), ("ITRK", "track number"),
    ("IPRT", "track number"), ("ISFT", "encoding application"),
  ]

  func tags(_ chunk: [UInt8]) -> [String: String] {
    var tags: [String: String] = [:]
    for (id, bytes) in list(chunk) {
      guard let key = Self.tagNames.first(where: { $0.id == id })?.key else { continue }
      tags[key] = Bytes(bytes).text(at: 0)
    }
    return tags
  }

  func chunk(tags: [String: String]) -> [UInt8] {
    var written: Set<String> = []
    return list(
      "INFO",
      Self.tagNames.compactMap { id, key in
        guard let value = tags[key], written.insert(key).inserted else { return nil }
        return (id, value.utf8.filter { $0 != 0 } + [0])
      })
  }

  // MARK: Markers and regions

  /// A stretch after a cue point, and what points and stretches are called.
  private struct Notes {
    var names: [UInt32: String] = [:]
    var lengths: [UInt32: Int] = [:]
  }

  private func notes(_ chunk: [UInt8]) -> Notes {
    var notes = Notes()
    for (id, content) in list(chunk) {
      let bytes = Bytes(content)
      let point = UInt32(number(bytes, 0))
      if id == "labl" { notes.names[point] = bytes.text(at: 4) }
      if id == "ltxt", number(bytes, 4) > 0 { notes.lengths[point] = number(bytes, 4) }
    }
    return notes
  }

  private func points(_ chunk: [UInt8]) -> [MediaMarker] {
    let bytes = Bytes(chunk)
    let count = min(number(bytes, 0), max(0, chunk.count - 4) / 24)
    return (0..<count).map { index in
      let point = 4 + 24 * index
      return MediaMarker(
        position: Double(number(bytes, point + 20)),
        id: Int32(truncatingIfNeeded: number(bytes, point)))
    }
  }

  /// The cue points that no stretch begins at.
  func markers(cue: [UInt8], notes: [UInt8]) -> MediaMarkers {
    let notes = self.notes(notes)
    return MediaMarkers(
      markers: points(cue).compactMap { point in
        let id = UInt32(bitPattern: point.id)
        guard notes.lengths[id] == nil else { return nil }
        var point = point
        point.name = notes.names[id]
        return point
      })
  }

  /// Stretches after cue points, and a sampler's loops.
  func regions(cue: [UInt8], notes: [UInt8], sampler: [UInt8]) -> MediaRegions {
    let notes = self.notes(notes)
    func region(_ id: UInt32, _ start: Double, _ end: Double, _ flags: MediaRegion.Flags)
      -> MediaRegion
    {
      MediaRegion(
        id: id, name: notes.names[id], flags: flags,
        markers: [
          MediaMarker(position: start, id: Int32(bitPattern: id)),
          MediaMarker(position: end, id: Int32(bitPattern: id)),
        ])
    }
    let stretches = points(cue).compactMap { point -> MediaRegion? in
      let id = UInt32(bitPattern: point.id)
      return notes.lengths[id].map { region(id, point.position, point.position + Double($0), []) }
    }
    let bytes = Bytes(sampler)
    let count = min(number(bytes, 28), max(0, sampler.count - 36) / 24)
    let loops = (0..<count).map { index in
      let loop = 36 + 24 * index
      let direction: MediaRegion.Flags =
        switch number(bytes, loop + 4) {
        case 1: [.playsForward, .playsBackward]
        case 2: .playsBackward
        default: .playsForward
        }
      // A loop's last frame is part of it.
      return region(
        UInt32(number(bytes, loop)), Double(number(bytes, loop + 8)),
        Double(number(bytes, loop + 12) + 1), direction.union(.loops))
    }
    return MediaRegions(regions: stretches + loops)
  }

  /// The chunks for all markers and regions; empty ones are not needed.
  func chunks(
    _ markers: [MediaMarker], _ regions: [MediaRegion], sampleRate: Double
  ) -> (cue: [UInt8], notes: [UInt8], sampler: [UInt8]) {
    var points: [UInt8] = []
    var notes: [(id: ChunkID, bytes: [UInt8])] = []
    var loops: [UInt8] = []
    func frame(_ position: Double) -> UInt32 {
      position.isFinite ? UInt32(min(max(position.rounded(), 0), Double(UInt32.max))) : 0
    }
    func add(_ id: UInt32, _ position: Double) {
      // The place in the order of play, the chunk, two unused starts, and the frame.
      points += number(id)
      points += number(frame(position))
      points += ChunkID("data").bytes
      points += number(0)
      points += number(0)
      points += number(frame(position))
    }
    func name(_ id: UInt32, _ name: String?) {
      guard let name else { return }
      notes.append(("labl", number(id) + name.utf8.filter { $0 != 0 } + [0]))
    }
    for marker in markers {
      add(UInt32(bitPattern: marker.id), marker.position)
      name(UInt32(bitPattern: marker.id), marker.name)
    }
    for region in regions {
      guard let start = region.markers.first, let end = region.markers.last else { continue }
      let (first, past) = (frame(start.position), max(frame(start.position), frame(end.position)))
      name(region.id, region.name)
      if region.flags.contains(.loops) {
        let direction =
          !region.flags.contains(.playsBackward) ? 0 : region.flags.contains(.playsForward) ? 1 : 2
        loops += number(region.id)
        loops += number(direction)
        loops += number(first)
        loops += number(max(first, past &- 1))
        loops += number(0)
        loops += number(0)
      } else {
        add(region.id, start.position)
        var note = number(region.id)
        note += number(past - first)
        note += ChunkID("rgn ").bytes
        // No country, language or page.
        note += number(0)
        note += number(0)
        notes.append(("ltxt", note))
      }
    }
    let period = Int((1e9 / max(1, sampleRate)).rounded())
    // No maker or product; the length of a frame in ns; the middle C; no SMPTE offset.
    let sampler = [0, 0, period, 60, 0, 0, 0, loops.count / 24, 0].flatMap { number($0) } + loops
    return (
      points.isEmpty ? [] : number(points.count / 24) + points,
      notes.isEmpty ? [] : list("adtl", notes), loops.isEmpty ? [] : sampler
    )
  }
}
