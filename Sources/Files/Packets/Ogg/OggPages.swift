/// The pages of an Ogg file in order. Bytes outside pages and damaged pages are skipped.
struct OggPages {
  private let store: any ByteStore
  private var offset: Int64 = 0
  /// Bytes before the latest page that belong to no valid page.
  private(set) var skippedBytes: Int64 = 0
  /// Number of false page headers found.
  private var mistakes = 0

  /// Limit on false page headers, for damaged data that is full of them.
  private static let mostMistakes = 10_000

  init(_ store: any ByteStore) { self.store = store }

  /// True if a page begins where the last one ended, and the file ends within it.
  var isCut: Bool {
    get throws(SoundFileError) {
      let total = try store.byteCount()
      guard let head = try store.bytes(at: offset, count: OggPage.headBytes),
        head.starts(with: "OggS".utf8)
      else { return false }
      let laces = try store.bytes(at: offset + Int64(head.count), count: Int(head[26])) ?? []
      let bytes = laces.reduce(OggPage.headBytes + Int(head[26])) { $0 + Int($1) }
      return laces.isEmpty || offset + Int64(bytes) > total
    }
  }

  /// Returns the next page; nil at the end.
  mutating func next() throws(SoundFileError) -> OggPage? {
    var position = offset
    while true {
      if let page = try OggPage(at: position, in: store) {
        skippedBytes += position - offset
        offset = position + Int64(page.bytes.count)
        return page
      }
      mistakes += 1
      guard mistakes < Self.mostMistakes, let next = try beginning(from: position + 1) else {
        return nil
      }
      position = next
    }
  }

  /// Returns the first possible start of a page at or after an offset; nil if there is none.
  private func beginning(from offset: Int64) throws(SoundFileError) -> Int64? {
    let name = Array("OggS".utf8)
    let total = try store.byteCount()
    var start = offset
    while total - start >= OggPage.headBytes {
      let count = Int(min(total - start, 1 << 16))
      guard let block = try store.bytes(at: start, count: count) else { return nil }
      for i in 0...count - name.count
      where block[i] == name[0] && block[i + 1] == name[1] && block[i..<i + 4].elementsEqual(name) {
        return start + Int64(i)
      }
      // The capture pattern may span two blocks.
      start += Int64(count - name.count + 1)
    }
    return nil
  }
}
