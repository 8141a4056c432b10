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

  /// A list of chunks; nothing at all if there are none.
  func list(_ name: ChunkID, _ chunks: [(id: ChunkID, bytes: [UInt8])]) -> [UInt8] {
    let grammar = ChunkGrammar.riff(bigEndian: isBigEndian)
    return chunks.isEmpty
      ? [] : name.bytes + chunks.flatMap { grammar.chunk($0.id, $0.bytes) }
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

  /// The chunks that are about places in the sound; those that are empty are not needed.
  struct Places {
    var cue: [UInt8]
    /// The list of notes.
    var notes: [UInt8]
    var sampler: [UInt8]
  }

  /// A cue point or a loop, as it stands in its chunk: its id comes first.
  private struct Entry {
    var id: UInt32
    var bytes: Bytes
  }

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

  private static var entryBytes: Int { 24 }
  private static var samplerHeadBytes: Int { 36 }

  private func points(_ cue: [UInt8]) -> [Entry] { entries(cue, countAt: 0, from: 4) }
  private func loops(_ sampler: [UInt8]) -> [Entry] {
    entries(sampler, countAt: 28, from: Self.samplerHeadBytes)
  }
  private func entries(_ chunk: [UInt8], countAt place: Int, from start: Int) -> [Entry] {
    let bytes = Bytes(chunk)
    let count = min(number(bytes, place), max(0, chunk.count - start) / Self.entryBytes)
    return (0..<count).map { index in
      let entry = Bytes(bytes.slice(at: start + Self.entryBytes * index, count: Self.entryBytes))
      return Entry(id: UInt32(number(entry, 0)), bytes: entry)
    }
  }

  private func position(_ point: Entry) -> Double { Double(number(point.bytes, 20)) }

  /// The cue points that no stretch begins at.
  func markers(_ places: Places) -> MediaMarkers {
    let notes = self.notes(places.notes)
    return MediaMarkers(
      markers: points(places.cue).filter { notes.lengths[$0.id] == nil }.map {
        MediaMarker(
          position: position($0), name: notes.names[$0.id], id: Int32(bitPattern: $0.id))
      })
  }

  /// Stretches after cue points, and a sampler's loops.
  func regions(_ places: Places) -> MediaRegions {
    let notes = self.notes(places.notes)
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
    let stretches = points(places.cue).compactMap { point in
      notes.lengths[point.id].map {
        region(point.id, position(point), position(point) + Double($0), [])
      }
    }
    let loops = loops(places.sampler).map { loop in
      // A loop's last frame is part of it.
      region(
        loop.id, Double(number(loop.bytes, 8)), Double(number(loop.bytes, 12) + 1),
        Self.direction(number(loop.bytes, 4)).union(.loops))
    }
    return MediaRegions(regions: stretches + loops)
  }

  private static func direction(_ kind: Int) -> MediaRegion.Flags {
    switch kind {
    case 1: [.playsForward, .playsBackward]
    case 2: .playsBackward
    default: .playsForward
    }
  }

  private func frame(_ position: Double) -> UInt32 {
    position.isFinite ? UInt32(min(max(position.rounded(), 0), Double(UInt32.max))) : 0
  }

  /// The chunks with other markers. What else is in them stays, but for notes on markers that went.
  func set(_ markers: [MediaMarker], in places: Places) -> Places {
    let points = points(places.cue)
    let stretches = Set(notes(places.notes).lengths.keys)
    let ids = markers.map { UInt32(bitPattern: $0.id) }
    var new = places
    new.cue = cue(
      zip(ids, markers).map { id, marker in
        point(id, marker.position, like: points.first { $0.id == id })
      } + points.filter { stretches.contains($0.id) }.map { $0.bytes.slice(at: 0, count: .max) })
    new.notes = list(
      "adtl",
      renamed(
        list(places.notes), names: zip(ids, markers).map { ($0, $1.name) },
        replacing: Set(points.map(\.id)).subtracting(stretches),
        beside: stretches.union(loops(places.sampler).map(\.id))))
    return new
  }

  /// The chunks with other regions. What else is in them stays, but for notes on regions that went.
  func set(_ regions: [MediaRegion], in places: Places, sampleRate: Double) -> Places {
    let points = points(places.cue)
    let loops = loops(places.sampler)
    let oldNotes = list(places.notes)
    let stretches = Set(notes(places.notes).lengths.keys)
    let isStretch = { (id: ChunkID, bytes: [UInt8]) in
      id == "ltxt" && number(Bytes(bytes), 4) > 0
    }
    var newPoints: [[UInt8]] = []
    var newLoops: [[UInt8]] = []
    var newNotes = renamed(
      oldNotes.filter { !isStretch($0.id, $0.bytes) }, names: regions.map { ($0.id, $0.name) },
      replacing: stretches.union(loops.map(\.id)),
      beside: Set(points.map(\.id)).subtracting(stretches))
    for region in regions {
      guard let start = region.markers.first, let end = region.markers.last else { continue }
      let first = frame(start.position)
      let past = max(first, frame(end.position))
      if region.flags.contains(.loops) {
        let old = loops.first { $0.id == region.id }
        newLoops.append(
          loop(region, first, last: max(first, past &- 1), like: old))
      } else {
        newPoints.append(
          point(region.id, start.position, like: points.first { $0.id == region.id }))
        let old = oldNotes.first {
          isStretch($0.id, $0.bytes) && number(Bytes($0.bytes), 0) == region.id
        }
        // No country, language or page.
        let rest =
          old.map { Array($0.bytes.dropFirst(8)) } ?? ChunkID("rgn ").bytes + number(0) + number(0)
        newNotes.append(("ltxt", number(region.id) + number(past - first) + rest))
      }
    }
    let kept = points.filter { !stretches.contains($0.id) }
    return Places(
      cue: cue(kept.map { $0.bytes.slice(at: 0, count: .max) } + newPoints),
      notes: list("adtl", newNotes),
      sampler: sampler(newLoops, like: places.sampler, sampleRate: sampleRate))
  }

  private func cue(_ points: [[UInt8]]) -> [UInt8] {
    points.isEmpty ? [] : number(points.count) + points.flatMap { $0 }
  }

  /// A cue point, with all that an old one of its id tells but for the place.
  private func point(_ id: UInt32, _ position: Double, like old: Entry?) -> [UInt8] {
    let place = number(frame(position))
    // The chunk that it is in, and two starts that are not used.
    let others = old?.bytes.slice(at: 8, count: 12) ?? ChunkID("data").bytes + number(0) + number(0)
    return number(id) + place + others + place
  }

  /// A loop, with all that an old one of its id tells but for the place and the direction.
  private func loop(
    _ region: MediaRegion, _ first: UInt32, last: UInt32, like old: Entry?
  ) -> [UInt8] {
    var kind =
      !region.flags.contains(.playsBackward) ? 0 : region.flags.contains(.playsForward) ? 1 : 2
    if let old {
      // There are kinds that a sampler's maker chose.
      let known = number(old.bytes, 4)
      if Self.direction(known) == Self.direction(kind) { kind = known }
    }
    // A fraction of a frame, and how often it is played.
    let rest = old?.bytes.slice(at: 16, count: 8) ?? number(0) + number(0)
    return number(region.id) + number(kind) + number(first) + number(last) + rest
  }

  private func sampler(
    _ loops: [[UInt8]], like old: [UInt8], sampleRate: Double
  ) -> [UInt8] {
    guard !loops.isEmpty || !old.isEmpty else { return [] }
    let period = Int((1e9 / max(1, sampleRate)).rounded())
    // No maker or product; the length of a frame in ns; the middle C; no SMPTE offset.
    var head = [0, 0, period, 60, 0, 0, 0, 0, 0].flatMap { number($0) }
    var rest: ArraySlice<UInt8> = []
    if old.count >= Self.samplerHeadBytes {
      head = Array(old[..<Self.samplerHeadBytes])
      rest = old[(Self.samplerHeadBytes + Self.entryBytes * self.loops(old).count)...]
    }
    head.replaceSubrange(28..<32, with: number(loops.count))
    return head + loops.flatMap { $0 } + rest
  }

  /// Notes with the names of other markers or regions.
  ///
  /// - Parameters:
  ///   - names: Of the new ones, by their ids.
  ///   - replacing: The ids of the old ones.
  ///   - others: Ids of what stays.
  private func renamed(
    _ notes: [(id: ChunkID, bytes: [UInt8])], names: [(id: UInt32, name: String?)],
    replacing old: Set<UInt32>, beside others: Set<UInt32>
  ) -> [(id: ChunkID, bytes: [UInt8])] {
    let named = Set(names.filter { $0.name != nil }.map(\.id))
    let gone = old.subtracting(others)
    let present = Set(names.map(\.id))
    let kept = notes.filter { note in
      let id = UInt32(number(Bytes(note.bytes), 0))
      switch note.id {
      case "labl": return !named.contains(id) && !gone.contains(id)
      case "note", "ltxt", "file": return present.contains(id) || !gone.contains(id)
      default: return true
      }
    }
    return kept
      + names.compactMap { id, name in
        name.map { ("labl", number(id) + $0.utf8.filter { $0 != 0 } + [0]) }
      }
  }
}
