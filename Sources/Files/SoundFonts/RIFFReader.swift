/// A reader of the chunks of a RIFF file.
struct RIFFReader {
  private let store: FileStore

  init(_ store: FileStore) { self.store = store }

  /// A chunk: its name, for lists that of the list, and its content.
  struct Chunk {
    let name: String
    let content: Range<Int64>
  }

  /// Returns the four characters that say what the file is; nil if it is no RIFF file.
  func kind() throws(SoundFileError) -> String? {
    let head = Bytes(try store.bytes(at: 0, count: Int(min(12, store.byteCount()))) ?? [])
    return head.name(at: 0) == "RIFF" ? head.name(at: 8) : nil
  }

  /// Returns the chunks of the file. Fails if it is cut off.
  func chunks() throws(SoundFileError) -> [Chunk] {
    let size = try store.byteCount()
    let head = Bytes(try store.bytes(at: 0, count: 12) ?? [])
    let end = 8 + Int64(head.unsigned(at: 4, bytes: 4, bigEndian: false))
    guard end <= size else { throw failure("it ends after \(size) of its \(end) bytes") }
    return try chunks(12..<max(12, end))
  }

  private func failure(_ reason: String) -> SoundFileError {
    SoundFileError(.notSupported(reason), path: store.name)
  }

  private func chunks(_ range: Range<Int64>) throws(SoundFileError) -> [Chunk] {
    var found: [Chunk] = []
    var place = range.lowerBound
    while place + 8 <= range.upperBound {
      let head = Bytes(
        try store.bytes(at: place, count: Int(min(12, range.upperBound - place))) ?? [])
      let size = Int64(head.unsigned(at: 4, bytes: 4, bigEndian: false))
      guard size <= range.upperBound - place - 8 else {
        throw failure("its chunk “\(head.name(at: 0))” at byte \(place) is cut off")
      }
      let isList = head.name(at: 0) == "LIST" && size >= 4
      found.append(
        Chunk(
          name: head.name(at: isList ? 8 : 0),
          content: place + (isList ? 12 : 8)..<place + 8 + size))
      place += 8 + size + size % 2
    }
    return found
  }

  /// Returns the content of the first chunk of a name, up to a number of bytes; nil if there is none.
  func content(_ name: String, of chunks: [Chunk], most: Int = 1 << 24) throws(SoundFileError)
    -> [UInt8]?
  {
    guard let chunk = chunks.first(where: { $0.name == name }) else { return nil }
    return try store.bytes(at: chunk.content.lowerBound, count: min(most, chunk.content.count))
  }

  /// Returns the chunks in a list; none if there is no such list.
  func list(_ name: String, of chunks: [Chunk]) throws(SoundFileError) -> [Chunk] {
    guard let list = chunks.first(where: { $0.name == name }) else { return [] }
    return try parts(of: list)
  }

  func parts(of list: Chunk) throws(SoundFileError) -> [Chunk] { try chunks(list.content) }

  func text(_ name: String, of chunks: [Chunk]) throws(SoundFileError) -> String? {
    let text = try content(name, of: chunks, most: 256).map { Bytes($0).text(at: 0) }
    return text?.isEmpty == false ? text : nil
  }
}
