import Timeline

/// A parser and builder of the metadata chunks of WAVE and RF64 files.
struct WaveChunks {
  let isBigEndian: Bool

  private func number(_ value: some BinaryInteger) -> [UInt8] {
    [UInt8](value, count: 4, bigEndian: isBigEndian)
  }
  private func number(_ bytes: Bytes, _ offset: Int) -> Int {
    Int(bytes.unsigned(at: offset, bytes: 4, bigEndian: isBigEndian))
  }

  /// Returns the chunks inside a 'LIST' chunk. The list's own type comes first in its content.
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

  /// Returns the content of a 'LIST' chunk; empty if there are no chunks.
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

  /// The chunks with positions in the sound. An empty one is not written.
  struct CueChunks {
    var cue: [UInt8]
    /// Content of the 'adtl' list.
    var notes: [UInt8]
    var sampler: [UInt8]
  }

  /// A cue point or a loop as stored in its chunk, with its id first.
  private struct Entry {
    var id: UInt32
    var bytes: Bytes
  }

  /// The names of cue points and regions, and the lengths of regions that begin at cue points.
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
  private func entries(_ chunk: [UInt8], countAt position: Int, from start: Int) -> [Entry] {
    let bytes = Bytes(chunk)
    let count = min(number(bytes, position), max(0, chunk.count - start) / Self.entryBytes)
    return (0..<count).map { index in
      let entry = Bytes(bytes.slice(at: start + Self.entryBytes * index, count: Self.entryBytes))
      return Entry(id: UInt32(number(entry, 0)), bytes: entry)
    }
  }

  private func position(_ point: Entry) -> Double { Double(number(point.bytes, 20)) }

  /// Returns the cue points that no region begins at.
  func markers(_ chunks: CueChunks) -> MediaMarkers {
    let notes = self.notes(chunks.notes)
    return MediaMarkers(
      markers: points(chunks.cue).filter { notes.lengths[$0.id] == nil }.map {
        MediaMarker(
          position: position($0), name: notes.names[$0.id], id: Int32(bitPattern: $0.id))
      })
  }

  /// Returns the regions that begin at cue points, and the sampler's loops.
  func regions(_ chunks: CueChunks) -> MediaRegions {
    let notes = self.notes(chunks.notes)
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
    let stretches = points(chunks.cue).compactMap { point in
      notes.lengths[point.id].map {
        region(point.id, position(point), position(point) + Double($0), [])
      }
    }
    let loops = loops(chunks.sampler).map { loop in
      // A loop includes its last frame.
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
    UInt32(held: position.rounded())
  }

  /// Returns the chunks with the markers replaced. Everything else stays, except notes on removed
  /// markers.
  func set(_ markers: [MediaMarker], in chunks: CueChunks) -> CueChunks {
    let points = points(chunks.cue)
    let stretches = Set(notes(chunks.notes).lengths.keys)
    let ids = markers.map { UInt32(bitPattern: $0.id) }
    var new = chunks
    new.cue = cue(
      zip(ids, markers).map { id, marker in
        point(id, marker.position, like: points.first { $0.id == id })
      } + points.filter { stretches.contains($0.id) }.map { $0.bytes.slice(at: 0, count: .max) })
    new.notes = list(
      "adtl",
      renamed(
        list(chunks.notes), names: zip(ids, markers).map { ($0, $1.name) },
        replacing: Set(points.map(\.id)).subtracting(stretches),
        beside: stretches.union(loops(chunks.sampler).map(\.id))))
    return new
  }

  /// Returns the chunks with the regions replaced. Everything else stays, except notes on removed
  /// regions.
  func set(_ regions: [MediaRegion], in chunks: CueChunks, sampleRate: Double) -> CueChunks {
    let points = points(chunks.cue)
    let loops = loops(chunks.sampler)
    let oldNotes = list(chunks.notes)
    let stretches = Set(notes(chunks.notes).lengths.keys)
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
        // No country, language, dialect or code page.
        let rest =
          old.map { Array($0.bytes.dropFirst(8)) } ?? ChunkID("rgn ").bytes + number(0) + number(0)
        newNotes.append(("ltxt", number(region.id) + number(past - first) + rest))
      }
    }
    let kept = points.filter { !stretches.contains($0.id) }
    return CueChunks(
      cue: cue(kept.map { $0.bytes.slice(at: 0, count: .max) } + newPoints),
      notes: list("adtl", newNotes),
      sampler: sampler(newLoops, like: chunks.sampler, sampleRate: sampleRate))
  }

  private func cue(_ points: [[UInt8]]) -> [UInt8] {
    points.isEmpty ? [] : number(points.count) + points.flatMap { $0 }
  }

  /// Returns a cue point. All other fields come from the old cue point with the same id, if there
  /// is one.
  private func point(_ id: UInt32, _ position: Double, like old: Entry?) -> [UInt8] {
    let frameBytes = number(frame(position))
    // The chunk id of the sound, and two unused offsets.
    let others = old?.bytes.slice(at: 8, count: 12) ?? ChunkID("data").bytes + number(0) + number(0)
    return number(id) + frameBytes + others + frameBytes
  }

  /// Returns a loop. All fields except range and direction come from the old loop with the same id.
  private func loop(
    _ region: MediaRegion, _ first: UInt32, last: UInt32, like old: Entry?
  ) -> [UInt8] {
    var kind =
      !region.flags.contains(.playsBackward) ? 0 : region.flags.contains(.playsForward) ? 1 : 2
    if let old {
      // Sampler makers may define loop types of their own; keep one if the direction matches.
      let known = number(old.bytes, 4)
      if Self.direction(known) == Self.direction(kind) { kind = known }
    }
    // A fraction of a frame, and the play count.
    let rest = old?.bytes.slice(at: 16, count: 8) ?? number(0) + number(0)
    return number(region.id) + number(kind) + number(first) + number(last) + rest
  }

  private func sampler(
    _ loops: [[UInt8]], like old: [UInt8], sampleRate: Double
  ) -> [UInt8] {
    guard !loops.isEmpty || !old.isEmpty else { return [] }
    let period = Int(held: (1e9 / max(1, sampleRate)).rounded())
    // No manufacturer or product; a frame's length in ns; middle C; no SMPTE offset.
    var head = [0, 0, period, 60, 0, 0, 0, 0, 0].flatMap { number($0) }
    var rest: ArraySlice<UInt8> = []
    if old.count >= Self.samplerHeadBytes {
      head = Array(old[..<Self.samplerHeadBytes])
      rest = old[(Self.samplerHeadBytes + Self.entryBytes * self.loops(old).count)...]
    }
    head.replaceSubrange(28..<32, with: number(loops.count))
    return head + loops.flatMap { $0 } + rest
  }

  /// Replaces the names of markers or regions in the notes.
  ///
  /// - Parameters:
  ///   - names: Ids and names of the new markers or regions.
  ///   - replacing: Ids of the old ones.
  ///   - others: Ids of the objects that stay.
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
